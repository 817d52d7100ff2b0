"""The vocabulary of a language model: the exact bytes that every token id writes.

Everything after this module works on `Vocabulary.tokens` alone: a constraint on text becomes a
constraint on tokens only if the text of a sequence of tokens is the concatenation of their bytes.
So bytes come from the tokenizer's own definition, they are proved by encoding if the tokenizer is
available, and what is not lossless is stated in `Vocabulary.notes`.

Tokens are bytes, not characters, because a token may hold half a character. An id that writes no
text has the entry None, not ``b""``: a token without bytes could be repeated for ever.
`Vocabulary.empty_ids` lists the ids whose text is empty, so that an explanation can say why they
are never allowed. Several ids may write the same bytes; they stay distinct, because the model
distinguishes them.

Cost for 131,072 tokens, beyond loading the file: 0.1 s to 0.6 s of CPU by format.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, cast, runtime_checkable

from tokenizers import Tokenizer
from tokenizers.decoders import Decoder

from explorer.alphabet import letter
from explorer.arguments import (
    check_whole_characters,
    file_path,
    instance,
    listed,
    shown,
    whole_number,
    wrong,
)
from explorer.errors import VocabularyError
from explorer.files import file_errors
from explorer.vocabulary.assemble import Parts, checked_ids, extend_to, vocabulary_parts
from explorer.vocabulary.configs import Beside, read_beside
from explorer.vocabulary.reading import Encoder, checked_width
from explorer.vocabulary.transducer import TokenTransducer


@runtime_checkable
class FastTokenizer(Protocol):
    """The used parts of a fast tokenizer of transformers, which is not imported for them."""

    @property
    def backend_tokenizer(self) -> Tokenizer:
        """The wrapped tokenizer of the `tokenizers` library."""
        ...

    @property
    def all_special_ids(self) -> Sequence[int]:
        """The ids of all its named special tokens."""
        ...

    @property
    def eos_token_id(self) -> int | Sequence[int] | None:
        """Its end of text, or several."""
        ...

    @property
    def name_or_path(self) -> str:
        """The name or the folder that it was loaded from."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """Token ids and the bytes they write: frozen, and equal if their `fingerprint` is equal.

    Made by `from_tokenizer`, `from_file` or `from_bytes`.

    Attributes:
        tokens: The bytes of each id, by id. None if the id is not text: special, control, unknown,
            without a piece, or writing nothing.
        eos_ids: The ids that end a text, sorted. Their entries in ``tokens`` are None.
        notes: What is not lossless between text and tokens, one sentence each; empty if nothing.
        special: The names of ids that are not text, for display.
        empty_ids: The ids that a text could hold but that write no bytes. They are never allowed,
            because a text could hold any number of them; their entries in ``tokens`` are None.
        usable: The number of ids that the model can produce; higher ids are never allowed. ``None``
            for all (see `with_width`).
        rewrites: The fingerprint of the original vocabulary, if these are its ids with other bytes;
            otherwise empty (see `writing`).

    Raises:
        VocabularyError: ``tokens`` is not a list, an entry is neither bytes nor None, an end of
            text is missing, out of range or also text, or an entry of ``empty_ids`` is not an id,
            is text, or ends a text.

    Example:
        >>> vocab = Vocabulary.from_bytes([b"f", b"oo", b"foo"], eos_ids=[3])
        >>> vocab
        Vocabulary(4 ids, 3 text, end of text 3 '<eos>')
        >>> vocab.ids_of(b"foo"), vocab.encode("foo")
        ((2,), None)
    """

    tokens: tuple[bytes | None, ...]
    eos_ids: tuple[int, ...]
    notes: tuple[str, ...] = ()
    special: Mapping[int, str] = field(default_factory=dict[int, str])
    empty_ids: frozenset[int] = frozenset()
    _encoder: Encoder | None = None
    usable: int | None = None
    rewrites: str = ""

    def __post_init__(self) -> None:
        entries = listed("tokens", self.tokens, "a list of bytes", error=VocabularyError)
        object.__setattr__(self, "tokens", tuple(entries))
        checked_width(len(self.tokens) - 1, "The vocabulary")
        for token, data in enumerate(self.tokens):
            if data is not None and (type(data) is not bytes or not data):
                raise VocabularyError(
                    f"The id {token} has {shown(data)}: an entry is some bytes, or None.",
                    remedy="Use None for an id that writes no text.",
                    evidence={"id": token, "entry": data},
                )
        object.__setattr__(self, "eos_ids", checked_ids(self.eos_ids))
        extend_to([None] * len(self.tokens), self.eos_ids, allowed=False)
        for token in self.eos_ids:
            if self.tokens[token] is not None:
                raise VocabularyError(
                    f"The end of text {token} has the bytes {self.tokens[token]!r}.",
                    remedy="Make its entry None.",
                    evidence={"id": token},
                )
        instance(
            "special", self.special, Mapping, "a mapping of ids to names", error=VocabularyError
        )
        given = listed("empty_ids", self.empty_ids, "a set of ids", error=VocabularyError)
        empty_ids = frozenset(
            whole_number("an entry of empty_ids", token, None, error=VocabularyError)
            for token in given
        )
        for token in empty_ids:
            outside = not 0 <= token < len(self.tokens) or self.tokens[token] is not None
            if outside or token in self.eos_ids:
                raise VocabularyError(
                    f"The id {token} cannot be empty: it is not an id, or it writes or ends a "
                    f"text.",
                    remedy="Name in empty_ids only ids whose entry is None.",
                    evidence={"id": token},
                )
        object.__setattr__(self, "empty_ids", empty_ids)
        object.__setattr__(self, "special", MappingProxyType(dict(self.special)))

    def __reduce__(self) -> tuple[object, ...]:
        # Only the fields are pickled, without cached properties. A mapping proxy cannot be pickled,
        # so the mapping under it is.
        parts = (self.tokens, self.eos_ids, self.notes, dict(self.special), self.empty_ids)
        return type(self), (*parts, self._encoder, self.usable, self.rewrites)

    # --- makers -------------------------------------------------------------------------------

    @classmethod
    def from_tokenizer(
        cls,
        tokenizer: Tokenizer | FastTokenizer | object,
        eos_ids: Iterable[int] | None = None,
        *,
        decoder: Decoder | None = None,
    ) -> Vocabulary:
        """The vocabulary of a tokenizer object.

        Args:
            tokenizer: A fast tokenizer of transformers, or a `tokenizers.Tokenizer`; not changed.
            eos_ids: The ids that end a text. By default the tokenizer's own, and those of the
                generation config in the folder that it was loaded from, if there is one.
            decoder: The decoder of its pieces, for a tokenizer that declares none.

        Raises:
            VocabularyError: It is not such a tokenizer, no end of text is known, or a decoder is
                given to a tokenizer that declares one.
            UnsupportedTokenizer: The bytes of its tokens cannot be known exactly, or the proof
                fails; the component and the reason are named.

        Example:
            >>> from tokenizers import Tokenizer, decoders, models, pre_tokenizers
            >>> pair = Tokenizer(models.BPE({"a": 0, "Ġ": 1, "Ġa": 2, "!": 3}, [("Ġ", "a")]))
            >>> pair.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            >>> pair.decoder = decoders.ByteLevel()
            >>> Vocabulary.from_tokenizer(pair, eos_ids=[3]).tokens
            (b'a', b' ', b' a', None)
        """
        from explorer.vocabulary.readers.huggingface import declared_decoder, read_tokenizer

        declared = declared_decoder(decoder)
        if isinstance(tokenizer, Tokenizer):
            reading = read_tokenizer(tokenizer, decoder=declared)
            return cls._from_parts(vocabulary_parts(reading, Beside(), eos_ids))
        if not isinstance(tokenizer, FastTokenizer):
            raise wrong(
                "tokenizer",
                tokenizer,
                "a fast tokenizer",
                error=VocabularyError,
                remedy=(
                    "Give the vocabulary of the model: lm.vocabulary."
                    if isinstance(getattr(tokenizer, "vocabulary", None), Vocabulary)
                    else "Give a tokenizers.Tokenizer or a fast tokenizer of transformers, or read "
                    "its files with Vocabulary.from_file(folder)."
                ),
            )
        backend = tokenizer.backend_tokenizer
        named = {token: backend.id_to_token(token) or "" for token in tokenizer.all_special_ids}
        reading = read_tokenizer(backend, also_special=named, decoder=declared)
        end = tokenizer.eos_token_id
        own = [] if end is None else [end] if isinstance(end, int) else list(end)
        folder = Path(tokenizer.name_or_path) if tokenizer.name_or_path else None
        beside = read_beside(folder) if folder is not None and folder.is_dir() else Beside()
        # The object has read its own configuration; only the generation config adds ends of text.
        beside = Beside(eos_ids=beside.eos_ids)
        reading = replace(reading, eos_ids=frozenset(own))
        return cls._from_parts(vocabulary_parts(reading, beside, eos_ids))

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        eos_ids: Iterable[int] | None = None,
        *,
        decoder: Decoder | None = None,
    ) -> Vocabulary:
        """The vocabulary of a tokenizer's file, or of the folder that holds it.

        Args:
            path: ``tokenizer.json``, a SentencePiece ``.model``, a tiktoken rank file, Mistral's
                ``tekken.json``, a ``.gguf``, or a folder with one of them. With transformers also
                ``encoder.json`` with ``vocab.bpe``, ``vocab.txt``, and the files of the class that
                a configuration file beside them names, where transformers makes a fast tokenizer
                of them.
            eos_ids: The ids that end a text. By default those named by the file and by the
                configuration files beside it. An id may lie past the end of the file.
            decoder: The decoder of its pieces, for a ``tokenizer.json`` that declares none.

        Raises:
            VocabularyError: There is no file at the path, its format is not known, or no end of
                text is known.
            FileError: The system refuses the path.
            DamagedFile: A file is truncated or contradicts its format; the place is named.
            UnsupportedTokenizer: The bytes of its tokens cannot be known exactly, or the proof
                fails.
        """
        from explorer.vocabulary.files import read_path
        from explorer.vocabulary.readers.huggingface import declared_decoder

        given = file_path("path", path)
        with file_errors(given):
            reading, beside = read_path(given, declared_decoder(decoder))
        return cls._from_parts(vocabulary_parts(reading, beside, eos_ids))

    @classmethod
    def from_bytes(cls, tokens: Iterable[bytes | None], *, eos_ids: Iterable[int]) -> Vocabulary:
        """A vocabulary written by hand.

        Args:
            tokens: The bytes of each id, by id; None for an id that is not text, ``b""`` for one
                that writes nothing (see `empty_ids`). The entry of an end of text is only its name.
            eos_ids: The ids that end a text. An id past the end extends the vocabulary with ids
                that are not text.

        Example:
            >>> Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5]).tokens
            (b'f', b'oo', b'foo', b'for', b'food', None)
        """
        entries = listed("tokens", tokens, "a list of bytes", error=VocabularyError)
        texts_ = cast("list[bytes | None]", entries)
        ends = checked_ids(eos_ids)
        extend_to(texts_, ends, allowed=True)
        special = {
            token: data.decode(errors="replace")
            if isinstance(data := texts_[token], bytes) and data
            else "<eos>"
            for token in ends
        }
        for token in ends:
            texts_[token] = None
        empty = frozenset(
            token for token, data in enumerate(texts_) if isinstance(data, bytes) and not data
        )
        texts = tuple(None if token in empty else data for token, data in enumerate(texts_))
        return cls(texts, ends, special=special, empty_ids=empty)

    @classmethod
    def _from_parts(cls, parts: Parts) -> Vocabulary:
        return cls(
            parts.tokens, parts.eos_ids, parts.notes, parts.special, parts.empty_ids, parts.encoder
        )

    # --- the value ----------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of ids, text or not."""
        return len(self.tokens)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self is other or self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        text = sum(data is not None for data in self.tokens)
        ends = ", ".join(f"{token} {self.special.get(token, '')!r}" for token in self.eos_ids[:4])
        more = ", …" if len(self.eos_ids) > 4 else ""
        return f"Vocabulary({len(self):,} ids, {text:,} text, end of text {ends}{more})"

    @cached_property
    def not_text(self) -> tuple[int, ...]:
        """The control tokens: ids that are not text and do not end a text, ascending.

        Example:
            >>> Vocabulary.from_bytes([b"a", None, b"b"], eos_ids=[3]).not_text
            (1,)
        """
        usable = len(self) if self.usable is None else self.usable
        other = self.empty_ids.union(self.eos_ids)
        silent = (t for t, data in enumerate(self.tokens[:usable]) if data is None)
        return tuple(token for token in silent if token not in other)

    @cached_property
    def letters(self) -> Mapping[int, bytes]:
        """The letter (`explorer.alphabet.letter`) of each id of `not_text`, read by machines."""
        return MappingProxyType(
            {token: letter(self.special.get(token, ""), token) for token in self.not_text}
        )

    def written(self, ids: Iterable[int]) -> bytes:
        """The bytes of some ids, with control tokens as letters, for `Constraint.accepts`.

        Example:
            >>> vocab = Vocabulary((b"a", None, None), (2,), special={1: "<think>"})
            >>> vocab.written([0, 1, 0, 2])
            b'a\\xf8<think>\\xf9\\x80\\x80\\x80\\x81a'
        """
        given = listed("ids", ids, "a list of token ids", error=VocabularyError)
        last = len(self) - 1
        chosen = [whole_number("id", token, 0, last, error=VocabularyError) for token in given]
        letters = self.letters
        return b"".join(self.tokens[token] or letters.get(token, b"") for token in chosen)

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the bytes of every id and the ends of text, in hexadecimal.

        It is the same for the same tokens and ends of text on every machine; notes and names do not
        matter. An id that writes nothing differs from one that is not text. Cost: 20 ms for 131,072
        tokens, once.
        """
        empty = self.empty_ids
        lengths = (
            b"%d" % len(data) if data is not None else b"0" if token in empty else b"-"
            for token, data in enumerate(self.tokens)
        )  # fmt: skip
        digest = hashlib.sha256(f"explorer vocabulary 1 {len(self)} {self.eos_ids}\n".encode())
        # Lengths first: without them, ["ab", "c"] and ["a", "bc"] would be one vocabulary.
        digest.update(b" ".join(lengths))
        digest.update(b"\n")
        digest.update(b"".join(data for data in self.tokens if data is not None))
        if self.usable is not None:
            digest.update(f"\nusable {self.usable}".encode())
        return digest.hexdigest()

    @property
    def transducer(self) -> TokenTransducer:
        """The detokenizing transducer T_V: a loop for each token, which writes its bytes.

        Change it and give it to `explorer.compile`.

        Example:
            >>> Vocabulary.from_bytes([b"f", b"oo"], eos_ids=[2]).transducer.arcs
            ((0, 0, b'f', 0), (0, 1, b'oo', 0))
        """
        return TokenTransducer(self)

    def writing(self, tokens: Sequence[bytes | None]) -> Vocabulary:
        """A vocabulary of the same ids with other bytes, usable with the same model.

        Args:
            tokens: The bytes of each id; None for an id that is never allowed, ``b""`` for one that
                writes nothing.

        Raises:
            VocabularyError: Their number differs, or an end of text has bytes.
        """
        given = listed("tokens", tokens, "a list of bytes", error=VocabularyError)
        texts = cast("list[bytes | None]", given)
        if len(texts) != len(self):
            raise VocabularyError(
                f"There are {len(texts):,} entries for {len(self):,} ids.",
                remedy="Give one for each id, None for an id that is not text.",
            )
        if tuple(texts) == self.tokens:
            return self
        return replace(
            self,
            tokens=tuple(data or None for data in texts),
            empty_ids=frozenset(token for token, data in enumerate(texts) if data == b""),
            notes=(*self.notes, "Tokens write what a transducer of the user's says."),
            rewrites=self.id_space,
            _encoder=None,
        )

    @property
    def id_space(self) -> str:
        """The fingerprint of the original vocabulary; vocabularies with equal ones share models."""
        return self.rewrites or self.fingerprint

    @cached_property
    def _ids_by_bytes(self) -> Mapping[bytes, tuple[int, ...]]:
        by_bytes: dict[bytes, list[int]] = {}
        for token, data in enumerate(self.tokens):
            if data is not None:
                by_bytes.setdefault(data, []).append(token)
        return {data: tuple(ids) for data, ids in by_bytes.items()}

    def ids_of(self, data: bytes) -> tuple[int, ...]:
        """All ids that write exactly these bytes, in order.

        Example:
            >>> Vocabulary.from_bytes([b" ", b"a", b" "], eos_ids=[3]).ids_of(b" ")
            (0, 2)
        """
        if not isinstance(data, bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise wrong("data", data, "bytes", remedy="Encode a text first: text.encode().")
        return self._ids_by_bytes.get(bytes(data), ())

    def encode(self, text: str) -> tuple[int, ...] | None:
        """The ids that the tokenizer returns for a text, or None if no tokenizer is available.

        No special tokens are added, and their names in the text are text. To encode a prompt with
        special tokens, use the tokenizer itself. The `notes` about encoding, such as a dummy
        prefix, apply.

        Raises:
            VocabularyError: The text holds half of a surrogate pair, or the tokenizer refuses it.
        """
        text = instance("text", text, str, "a text", error=VocabularyError)
        if self._encoder is None:
            return None
        check_whole_characters("The text", text, error=VocabularyError)
        return self._encoder.encode(text)

    @property
    def encoder(self) -> Encoder | None:
        """The tokenizer, if it is available and its ids are the model's own."""
        return self._encoder

    def with_width(self, width: int) -> Vocabulary:
        """This vocabulary for a model with fewer logits than ids.

        Args:
            width: The number of logits. Ids from ``width`` on neither write nor end a text; the
                number of ids stays the same.

        Raises:
            VocabularyError: No end of text is left, or ``width`` is not positive.

        Example:
            >>> Vocabulary.from_bytes([b"a", None, b"b"], eos_ids=[1]).with_width(2).tokens
            (b'a', None, None)
        """
        width = whole_number("width", width, None, error=VocabularyError)
        if width >= len(self):
            return self
        kept = tuple(token for token in self.eos_ids if token < width)
        if width < 1 or not kept:
            raise VocabularyError(
                f"A model with {width:,} logits cannot give any end of text of this vocabulary.",
                remedy="Check that the tokenizer belongs to the model.",
                evidence={"width": width, "eos_ids": self.eos_ids},
            )
        return replace(
            self,
            tokens=self.tokens[:width] + (None,) * (len(self) - width),
            eos_ids=kept,
            empty_ids=frozenset(token for token in self.empty_ids if token < width),
            usable=width if self.usable is None else min(width, self.usable),
            notes=(*self.notes, f"The model has {width:,} logits: ids from there on are not used."),
        )
