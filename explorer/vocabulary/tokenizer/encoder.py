"""Encodes with a tokenizer of the `tokenizers` library that finds no special tokens in a text.

A second tokenizer shares the model, the normalizer and the pre-tokenizer, but has no special
tokens, no post-processor and no truncation: so the name of a special token in a text is text. One
trap remains. Some models list those names among their pieces (every converted Unigram model does)
and find them in text themselves. If that happens, or seems to, the model is rebuilt once with those
pieces hidden.

Added tokens are found before the model sees a text, in two passes: first, in the text as written,
those that are not normalized; then, in the normalized rest, the others, whose content is normalized
too (`AddedTokens`). Each part between them is then cut and encoded by itself, so their positions
decide which parts get a dummy prefix. The search itself (longest first, flags for spaces and word
boundaries) is the library's, in a tokenizer that has only these tokens.

Sharing the model is free. Rebuilding takes as long as loading it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, cast

from tokenizers import AddedToken, Tokenizer, models

from explorer.errors import UnsupportedTokenizer, VocabularyError
from explorer.vocabulary.guards.library import library_call
from explorer.vocabulary.tokenizer.decoder import PieceReader, clean_up
from explorer.vocabulary.tokenizer.model_facts import ModelFacts, model_state
from explorer.vocabulary.tokenizer.preprocessing import Declaration


@dataclass(frozen=True)
class TextPart:
    """A part of a text: an added token, or the text between two of them.

    Attributes:
        text: Its characters; normalized, unless it is an added token.
        token: The id of the added token, or None.
        first: Whether it starts the text.
    """

    text: str
    token: int | None
    first: bool


class AddedTokens:
    """The added tokens of a tokenizer that are text, and the search for them."""

    def __init__(self, entries: Mapping[int, AddedToken], normalize: Callable[[str], str]) -> None:
        self._normalize = normalize
        written = {t: (e.content, e) for t, e in entries.items() if not e.normalized}
        normalized = {t: (normalize(e.content), e) for t, e in entries.items() if e.normalized}
        self._in_writing = _Finder(written) if written else None
        self._in_normalized = _Finder(normalized) if normalized else None

    def parts(self, text: str) -> list[TextPart]:
        """The parts of a text in order; those between added tokens are normalized."""
        parts: list[TextPart] = []
        for outer in _find(self._in_writing, text):
            if outer.token is not None:
                parts.append(outer)
                continue
            normalized = self._normalize(outer.text)
            # If the normalizer drops the first character, the library does not regard the rest as
            # the start of the text, and gives it no dummy prefix of a first part.
            starts = outer.first and (
                outer.text == normalized or self._normalize(outer.text[1:]) != normalized
            )
            parts += (
                TextPart(inner.text, inner.token, starts and inner.first)
                for inner in _find(self._in_normalized, normalized)
            )
        return parts


class _Finder:
    """A search for added tokens: a tokenizer with these tokens only, under their spellings."""

    def __init__(self, tokens: Mapping[int, tuple[str, AddedToken]]) -> None:
        self._tokenizer = Tokenizer(models.WordLevel({"": 0}, unk_token=""))
        entries = [
            AddedToken(
                spelling,
                single_word=entry.single_word,
                lstrip=entry.lstrip,
                rstrip=entry.rstrip,
                normalized=False,
                special=False,
            )
            for spelling, entry in tokens.values()
            if spelling
        ]
        self._tokenizer.add_tokens(entries)  # pyright: ignore[reportUnknownMemberType]  # a bare list in the stubs
        numbers = {spelling: token for token, (spelling, _) in tokens.items()}
        own = self._tokenizer.get_added_tokens_decoder()
        self._ids = {number: numbers[entry.content] for number, entry in own.items()}

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """The (id, start, end) of each token found, in characters."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return [
            (self._ids[number], start, end)
            for number, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
            if number in self._ids
        ]


def _find(finder: _Finder | None, text: str) -> list[TextPart]:
    parts: list[TextPart] = []
    done = 0
    for token, start, end in finder.spans(text) if finder else ():
        if start > done:
            parts.append(TextPart(text[done:start], None, done == 0))
        parts.append(TextPart(text[start:end], token, start == 0))
        done = end
    if done < len(text):
        parts.append(TextPart(text[done:], None, done == 0))
    return parts


class TokenizersEncoder:
    """An encoder that runs a tokenizer of the `tokenizers` library without its special tokens.

    Args:
        literal: The added tokens that are text, by id.
        controls: Ids that no text may encode to, the unknown token included.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        model: ModelFacts,
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

    def __reduce__(self) -> tuple[object, ...]:
        # Everything else is derived from these parts.
        literal = [(token, _flags(entry)) for token, entry in self._literal.items()]
        parts = (self._model, self._reader, self._declared, literal, self._controls)
        return _restored, (self._tokenizer, *parts)

    @property
    def tokenizer(self) -> Tokenizer:
        """The caller's tokenizer."""
        return self._tokenizer

    @property
    def literal(self) -> Mapping[int, AddedToken]:
        """The added tokens that are text, by id."""
        return self._literal

    @property
    def joins(self) -> Literal["none", "before", "after"]:
        """The side on which the decoder gives each word a space."""
        return self._reader.joins

    def tight_starts(self) -> list[str]:
        """The beginnings of words before which the decoder's clean-up removes the space.

        The clean-up sees a word's first piece, the longest that the word starts with. So a word
        loses its space if it starts with a piece that does; only the shortest such are returned.

        Raises:
            UnsupportedTokenizer: The clean-up changes a piece in another way.
        """
        if not self._reader.cleanup:
            return []
        starts: list[str] = []
        for piece in sorted(self._tokenizer.get_vocab(with_added_tokens=False)):
            tidy = clean_up(f" {piece}")
            if tidy == f" {piece}" or any(piece.startswith(start) for start in starts):
                continue
            if tidy != piece:
                raise UnsupportedTokenizer(
                    "decoder.cleanup",
                    f"it changes the piece {piece!r} into {tidy!r}, so what a word becomes does "
                    f"not follow from its start",
                    remedy="Leave out preprocessed(...), and write the pattern for what the tokens "
                    "spell.",
                )
            starts.append(piece)
        return starts

    @property
    def greedy(self) -> bool:
        """Whether a word may be reported as unknown that other pieces could spell."""
        return self._model.kind == "WordPiece"

    @property
    def apart(self) -> frozenset[int]:
        """The added tokens that are text."""
        return frozenset(self._literal)

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of ``text``; names of special tokens in it are text.

        Raises:
            VocabularyError: The tokenizer has no token for some of it, and no unknown token.
        """
        ids = _run(self._plain, text)
        if not self._controls.isdisjoint(self._ids.get(token, token) for token in ids):
            plain, moved = self._without_controls
            return tuple(moved.get(token, token) for token in _run(plain, text))
        return tuple(self._ids.get(token, token) for token in ids) if self._ids else tuple(ids)

    def image(self, text: str) -> bytes:
        """The declared image of ``text``: its added tokens unchanged, the rest normalized."""
        image = bytearray()
        for part in self._added.parts(text):
            if part.token is None:
                image += self._part_image(part)
            elif self._reader.joins == "before":
                # If the decoder joins words with spaces, an added token counts as a word.
                image += self._reader.read(self._literal[part.token].content)
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

    def _part_image(self, part: TextPart) -> bytes:
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
        # The clean-up sees one piece at a time, so only the word's first piece matters: the longest
        # that it starts with.
        lookup = self._tokenizer.model.token_to_id
        longest = next((n for n in range(len(word), 0, -1) if lookup(word[:n]) is not None), 0)
        return (clean_up(f" {word[:longest]}") + word[longest:]).encode()

    @cached_property
    def _without_controls(self) -> tuple[Tokenizer, dict[int, int]]:
        """The plain tokenizer over a model that cannot find control pieces in a text."""
        state = model_state(self._tokenizer)

        def hidden(token: int) -> str:
            # Noncharacters, which no exchanged text contains, keep the entry but hide it.
            return f"\uffff{token}\ufffe"

        vocab = state["vocab"]
        if isinstance(vocab, list):
            scored = [
                (hidden(token) if token in self._controls else piece, score)
                for token, (piece, score) in enumerate(cast(list[tuple[str, float]], vocab))
            ]
            model = models.Unigram(scored, state["unk_id"], bool(state.get("byte_fallback")))
            return _with_added(Tokenizer(model), self._tokenizer, self._literal)
        pieces = cast(dict[str, int], vocab)
        kept = {p: t for p, t in pieces.items() if t not in self._controls}
        state["vocab"] = {hidden(t) if t in self._controls else p: t for p, t in pieces.items()}
        if state.get("unk_token") in pieces:
            unknown = pieces[state["unk_token"]]
            state["unk_token"] = hidden(unknown) if unknown in self._controls else None
        if "merges" in state:
            merges = cast(list[Sequence[str]], state["merges"])
            cut = len(self._model.prefix)
            state["merges"] = [
                [a, b] for a, b in merges if a in kept and b in kept and a + b[cut:] in kept
            ]
        shell: dict[str, object] = {"version": "1.0", "added_tokens": [], "model": state}
        rebuilt = Tokenizer.from_str(json.dumps(shell))
        return _with_added(rebuilt, self._tokenizer, self._literal)


_FLAGS: Final = ("content", "single_word", "lstrip", "rstrip", "normalized", "special")


def _flags(entry: AddedToken) -> dict[str, object]:
    return {name: getattr(entry, name) for name in _FLAGS}


def _restored(
    tokenizer: Tokenizer,
    model: ModelFacts,
    reader: PieceReader,
    declared: Declaration,
    literal: Sequence[tuple[int, dict[str, Any]]],
    controls: frozenset[int],
) -> TokenizersEncoder:
    entries = {token: AddedToken(**flags) for token, flags in literal}
    return TokenizersEncoder(tokenizer, model, reader, declared, entries, controls)


def _with_added(
    plain: Tokenizer, source: Tokenizer, literal: Mapping[int, AddedToken]
) -> tuple[Tokenizer, dict[int, int]]:
    """``plain`` with the source's normalizer, pre-tokenizer and literal added tokens.

    Returns:
        The tokenizer, and the source's id for each of its added tokens with another id.
    """
    # The library's setters refuse None.
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
