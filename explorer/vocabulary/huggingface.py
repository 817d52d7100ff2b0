"""Tokenizers of the `tokenizers` library: every ``tokenizer.json`` and transformers' fast ones.

Bytes come from the model's pieces through the declared decoder; an added token that is not special
is literally its content, whatever the decoder would make of it (but a character that stands for a
space stands for one there too). An added token that is a piece of the model as well, with other
bytes, would mean two things: such a tokenizer is refused. Ids the library calls special, and the
unknown token, are not text.

To encode, a second tokenizer shares the model and has the same normalizer and pre-tokenizer but no
special tokens, no post-processor, no truncation: so the name of a special token in a text is text.
One trap remains. Some models hold those names among their pieces (every converted Unigram model
does), and find them in text by themselves. Then the model is rebuilt once without them.

Cost: about 2 µs for each piece. Sharing the model is free, and the caller's object stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

from tokenizers import AddedToken, Tokenizer, models

from explorer.errors import UnsupportedTokenizer, VocabularyError
from explorer.vocabulary.added_tokens import AddedTokens, Part
from explorer.vocabulary.byte_alphabet import BYTE_OF
from explorer.vocabulary.decoder import PieceReader, clean_up, piece_reader
from explorer.vocabulary.image import Declaration, declaration, parse_component
from explorer.vocabulary.reading import Reading, checked_width

T = TypeVar("T")


def read_tokenizer(
    tokenizer: Tokenizer,
    also_special: Mapping[int, str] | None = None,
    special_names: Iterable[str] = (),
) -> Reading:
    """Read a tokenizer of the `tokenizers` library.

    Args:
        tokenizer: The tokenizer; left as it is.
        also_special: Ids that its owner calls special beyond the tokenizer's own flags.
        special_names: Pieces or added tokens that its owner calls special, by name.

    Raises:
        UnsupportedTokenizer: A component does not leave each piece its own bytes.
        VocabularyError: Ids are out of range, or one id has two pieces.
    """
    model = _Model.of(tokenizer)
    declared = declaration(tokenizer)
    reader = _reader(tokenizer, model)
    added = tokenizer.get_added_tokens_decoder()
    pieces = tokenizer.get_vocab(with_added_tokens=False)
    width = checked_width(max([*pieces.values(), *added, -1]), "The tokenizer")

    names: list[str | None] = [None] * width
    contents = ((entry.content, token) for token, entry in added.items())
    for piece, token in (*pieces.items(), *contents):
        if names[token] not in (None, piece):
            raise VocabularyError(
                f"The id {token} belongs to two pieces, {names[token]!r} and {piece!r}.",
                remedy="Give every piece an id of its own.",
                evidence={"id": token, "pieces": (names[token], piece)},
            )
        names[token] = piece
    # A piece that stands twice (Unigram lists may) keeps both ids; the dictionary has one.
    if len(pieces) < width:
        for token, name in enumerate(names):
            if name is None:
                names[token] = tokenizer.id_to_token(token)

    tokens = [None if name is None else reader.read(name) for name in names]
    known = {**pieces, **{entry.content: token for token, entry in added.items()}}
    special = {token: name for token, name in (also_special or {}).items() if token < width}
    special.update({known[name]: name for name in special_names if name in known})
    if model.unknown is not None:
        special.setdefault(model.unknown, names[model.unknown] or "<unk>")
    special.update({token: entry.content for token, entry in added.items() if entry.special})
    notes = [*declared.notes, *reader.notes]
    differing: list[int] = []
    for token, entry in added.items():
        if token not in special:
            tokens[token] = declared.literal(entry.content)
            if reader.read(entry.content) != tokens[token]:
                if entry.content in pieces and reader.joins == "none":
                    raise UnsupportedTokenizer(
                        f"added_token {entry.content!r}",
                        f"its id {token} is also a piece of the model, where it stands for "
                        f"{reader.read(entry.content)!r}",
                    )
                differing.append(token)
            found = declared.normalize(entry.content) if entry.normalized else entry.content
            if entry.lstrip or entry.rstrip or declared.literal(found) != tokens[token]:
                notes.append(
                    f"The added token {entry.content!r} is found as {found!r}"
                    + " with the spaces beside it" * (entry.lstrip or entry.rstrip)
                    + ", which is not what it writes."
                )
    if differing:
        notes.append(
            f"{len(differing)} added tokens (the first is {differing[0]}) are their literal "
            f"content here; the decoder would print them otherwise."
        )
    if model.unknown is not None:
        notes.append(
            f"Text without a piece becomes the unknown token {special[model.unknown]!r} "
            f"(id {model.unknown}), which writes nothing."
        )
    elif model.kind == "BPE" and not _covers_bytes(reader, pieces):
        notes.append("Text without a piece is dropped when it is encoded, without a trace.")
    for token in special:
        tokens[token] = None

    literal = {token: entry for token, entry in added.items() if token not in special}
    return Reading(
        tokens=tokens,
        special=special,
        pieces=known,
        notes=tuple(dict.fromkeys(notes)),
        encoder=TokenizersEncoder(
            tokenizer, model, reader, declared, literal, frozenset(special) - {model.unknown}
        ),
        probes=tuple(
            text
            for text in (*special.values(), *(entry.content for entry in literal.values()))
            if text
        ),
    )


@dataclass(frozen=True)
class _Model:
    """The few facts about a model that its pieces alone do not tell."""

    kind: str
    unknown: int | None
    byte_fallback: bool
    prefix: str
    suffix: str

    @staticmethod
    def of(tokenizer: Tokenizer) -> _Model:
        model = tokenizer.model
        prefix = suffix = ""
        unknown: int | None = None
        byte_fallback = False
        if isinstance(model, models.BPE):
            prefix = model.continuing_subword_prefix or ""
            suffix = model.end_of_word_suffix or ""
            byte_fallback = model.byte_fallback
            unknown = model.token_to_id(model.unk_token) if model.unk_token else None
        elif isinstance(model, models.Unigram):
            # The object tells neither; the state that it pickles as does.
            state = _state(tokenizer)
            unknown, byte_fallback = state.get("unk_id"), bool(state.get("byte_fallback"))
        elif isinstance(model, models.WordPiece):
            prefix = model.continuing_subword_prefix
            unknown = model.token_to_id(model.unk_token)
        elif isinstance(model, models.WordLevel):
            unknown = model.token_to_id(model.unk_token)
        else:
            raise UnsupportedTokenizer(
                f"model.{type(model).__name__}", "a model of an unknown kind"
            )
        return _Model(type(model).__name__, unknown, byte_fallback, prefix, suffix)


def _state(tokenizer: Tokenizer) -> dict[str, Any]:
    return json.loads(tokenizer.model.__getstate__())


def _reader(tokenizer: Tokenizer, model: _Model) -> PieceReader:
    """The declared decoder's reader, where it fits the model."""
    declared = parse_component(tokenizer.decoder, "decoder")
    if declared is None and model.kind == "WordLevel":
        # One piece is one whole word, and without a decoder the library puts a space between two.
        note = "Every word writes a space before it; a text's first word does not print it."
        return PieceReader(lambda piece: f" {piece}".encode(), (note,), joins="before")
    reader = piece_reader(declared)
    if model.byte_fallback and not reader.byte_fallback:
        raise UnsupportedTokenizer(
            f"model.{model.kind}.byte_fallback",
            "the model writes bytes as <0xNN>, but the decoder does not read them back",
        )
    if model.suffix != reader.suffix:
        raise UnsupportedTokenizer(
            f"model.{model.kind}.end_of_word_suffix",
            f"words end in {model.suffix!r} for the model and in {reader.suffix!r} for the decoder",
        )
    if model.prefix != reader.prefix:
        raise UnsupportedTokenizer(
            f"model.{model.kind}.continuing_subword_prefix",
            f"words go on with {model.prefix!r} for the model and {reader.prefix!r} for the "
            f"decoder",
        )
    return reader


def _covers_bytes(reader: PieceReader, pieces: Mapping[str, int]) -> bool:
    """Whether every byte has a piece, so that there is no text without one."""
    if reader.byte_fallback:
        return all(f"<0x{byte:02X}>" in pieces for byte in range(256))
    return reader.byte_level and all(character in pieces for character in BYTE_OF)


class TokenizersEncoder:
    """A tokenizer of the `tokenizers` library that knows no special tokens.

    Args:
        tokenizer: The caller's tokenizer.
        model: Facts about its model.
        reader: Its decoder's reading of pieces.
        declared: Its normalizer and pre-tokenizer.
        literal: Its added tokens that are text, by id.
        controls: Ids that text must never become.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        model: _Model,
        reader: PieceReader,
        declared: Declaration,
        literal: Mapping[int, AddedToken],
        controls: frozenset[int],
    ) -> None:
        self._tokenizer = tokenizer
        self._model = model
        self._reader = reader
        self._declared = declared
        self._literal = literal
        self._controls = controls
        self._added = AddedTokens(literal, declared.normalize)
        self._plain, self._ids = _with_added(Tokenizer(tokenizer.model), tokenizer, literal)

    @property
    def greedy(self) -> bool:
        """Whether a word may be called unknown that other pieces could spell."""
        return self._model.kind == "WordPiece"

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of ``text``, all of it read as text.

        Raises:
            VocabularyError: The tokenizer has no token for some of it, and no unknown token.
        """
        ids = _run(self._plain, text)
        if not self._controls.isdisjoint(self._ids.get(token, token) for token in ids):
            plain, moved = self._without_controls
            return tuple(moved.get(token, token) for token in _run(plain, text))
        return tuple(self._ids.get(token, token) for token in ids) if self._ids else tuple(ids)

    def image(self, text: str) -> bytes:
        """The declared image of ``text``: added tokens are themselves, the rest is normalized."""
        image = bytearray()
        for part in self._added.parts(text):
            if part.token is None:
                image += self._part_image(part)
            else:
                image += self._declared.literal(self._literal[part.token].content)
        return bytes(image)

    def loses(self, text: str) -> bool:
        """Whether some of ``text`` becomes the unknown token, or nothing at all."""
        try:
            ids = self.encode(text)
        except VocabularyError:
            return True
        if self._model.unknown is not None:
            return self._model.unknown in ids
        # A BPE model without an unknown token drops the characters that it has no piece for.
        return self._model.kind == "BPE" and not self._covers(text)

    def _covers(self, text: str) -> bool:
        splitter = self._tokenizer.pre_tokenizer
        for part in self._added.parts(text):
            if part.token is None:
                words = [part.text]
                if splitter is not None:
                    words = [word for word, _ in splitter.pre_tokenize_str(part.text)]
                if not all(self._has(character) for word in words for character in word):
                    return False
        return True

    def _has(self, character: str) -> bool:
        model = self._model
        lookup = self._tokenizer.model.token_to_id
        forms = {a + character + z for a in ("", model.prefix) for z in ("", model.suffix)}
        if any(lookup(form) is not None for form in forms):
            return True
        return model.byte_fallback and all(
            lookup(f"<0x{byte:02X}>") is not None for byte in character.encode()
        )

    def _part_image(self, part: Part) -> bytes:
        segments = self._declared.segments(part.text, part.first)
        to_bytes = self._declared.to_bytes
        match self._reader.joins:
            case "none":
                return to_bytes("".join(segments))
            case "after":
                return b"".join(to_bytes(segment) + b" " for segment in segments)
            case "before":
                return b"".join(map(self._word_image, segments))

    def _word_image(self, word: str) -> bytes:
        if not self._reader.cleanup:
            return f" {word}".encode()
        # The clean-up sees one piece at a time, so what counts is the word's first piece: the
        # longest that it starts with.
        lookup = self._tokenizer.model.token_to_id
        longest = next((n for n in range(len(word), 0, -1) if lookup(word[:n]) is not None), 0)
        return (clean_up(f" {word[:longest]}") + word[longest:]).encode()

    @cached_property
    def _without_controls(self) -> tuple[Tokenizer, dict[int, int]]:
        """The plain tokenizer over a model that cannot find control pieces in a text."""
        state = _state(self._tokenizer)

        def hidden(token: int) -> str:
            # Noncharacters, which no text in interchange holds, keep the entry but hide it.
            return f"\uffff{token}\ufffe"

        vocab = state["vocab"]
        if isinstance(vocab, list):
            scored = cast(list[list[object]], vocab)
            state["vocab"] = [
                [hidden(token) if token in self._controls else piece, score]
                for token, (piece, score) in enumerate(scored)
            ]
        else:
            pieces = cast(dict[str, int], vocab)
            kept = {p: t for p, t in pieces.items() if t not in self._controls}
            state["vocab"] = {hidden(t) if t in self._controls else p: t for p, t in pieces.items()}
            if "merges" in state:
                merges = cast(list[Sequence[str]], state["merges"])
                cut = len(self._model.prefix)
                state["merges"] = [
                    [a, b] for a, b in merges if a in kept and b in kept and a + b[cut:] in kept
                ]
        shell: dict[str, object] = {"version": "1.0", "added_tokens": [], "model": state}
        rebuilt = Tokenizer.from_str(json.dumps(shell))
        return _with_added(rebuilt, self._tokenizer, self._literal)


def _with_added(
    plain: Tokenizer, source: Tokenizer, literal: Mapping[int, AddedToken]
) -> tuple[Tokenizer, dict[int, int]]:
    """``plain`` with the source's normalizer, pre-tokenizer and literal added tokens.

    Returns:
        The tokenizer, and how its ids of added tokens map to the source's.
    """
    # Unset and None differ: the library's setters refuse None for a component never set.
    if source.normalizer is not None:
        plain.normalizer = source.normalizer
    if source.pre_tokenizer is not None:
        plain.pre_tokenizer = source.pre_tokenizer
    plain.add_tokens([literal[token] for token in sorted(literal)])  # pyright: ignore[reportUnknownMemberType]  # a bare list in the stubs
    ids = {entry.content: token for token, entry in literal.items()}
    moved = {
        token: ids[entry.content]
        for token, entry in plain.get_added_tokens_decoder().items()
        if ids[entry.content] != token
    }
    return plain, moved


def _run(tokenizer: Tokenizer, text: str) -> list[int]:
    encoded = library_call(
        lambda: tokenizer.encode(text, add_special_tokens=False), f"encode {text[:40]!r}"
    )
    return encoded.ids


def library_call(call: Callable[[], T], purpose: str) -> T:
    """A call into the library's compiled code, with its errors as ours.

    Args:
        call: The call.
        purpose: What it is for, as the end of "The tokenizer cannot …".

    Raises:
        VocabularyError: The library raised, or its compiled code panicked.
    """
    try:
        return call()
    except BaseException as error:
        # A panic of compiled code is a BaseException that no name can be imported for.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise VocabularyError(
            f"The tokenizer cannot {purpose}: {error}.", evidence={"library": str(error)}
        ) from error
