"""The places of the added tokens of a tokenizer in a text.

Added tokens are found before the model sees a text, in two passes: those that are not normalized
in the text as it is written, then those that are in what the normalizer makes of the rest, where
their own content is normalized too. Only then is each part between them cut and encoded, by
itself: so where they lie decides which parts get a dummy prefix.

The search itself (longest first, flags for spaces and word boundaries) is the library's, by a
tokenizer that has these tokens and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tokenizers import AddedToken, Tokenizer, models


@dataclass(frozen=True)
class TextPart:
    """A part of a text.

    Attributes:
        text: Its characters; normalized, unless it is an added token.
        token: The id of the added token that it is, or None.
        first: Whether it starts the text.
    """

    text: str
    token: int | None
    first: bool


class AddedTokens:
    """The added tokens of a tokenizer that are text."""

    def __init__(self, entries: Mapping[int, AddedToken], normalize: Callable[[str], str]) -> None:
        self._normalize = normalize
        written = {t: (e.content, e) for t, e in entries.items() if not e.normalized}
        normalized = {t: (normalize(e.content), e) for t, e in entries.items() if e.normalized}
        self._in_writing = _Finder(written) if written else None
        self._in_normalized = _Finder(normalized) if normalized else None

    def parts(self, text: str) -> list[TextPart]:
        """The parts of a text in order, those between added tokens normalized."""
        parts: list[TextPart] = []
        for outer in _find(self._in_writing, text):
            if outer.token is not None:
                parts.append(outer)
                continue
            normalized = self._normalize(outer.text)
            # A text whose first character the normalizer drops does not start at its start: so
            # the library sees it, and puts no dummy prefix where only a first part has one.
            starts = outer.first and (
                outer.text == normalized or self._normalize(outer.text[1:]) != normalized
            )
            parts += (
                TextPart(inner.text, inner.token, starts and inner.first)
                for inner in _find(self._in_normalized, normalized)
            )
        return parts


class _Finder:
    """A tokenizer that knows nothing but these tokens, each under the spelling it is found by."""

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
        """(id, start, end) of each token found, in characters."""
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
