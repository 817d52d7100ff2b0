"""The expected explanations, computed from a finite set of words and nothing else.

A language is all its words, found with ``re.fullmatch`` and encoded to bytes; a vocabulary is a
list of byte strings. Every question of the explainer is then a question about that set. No
automaton takes part, and nothing is imported from the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, cached_property


class ReasonOracle:
    """Stage, failing offset, expected and writable bytes, and the shortest way to a token.

    Args:
        words: The language as bytes.
        tokens: Token bytes by id; ``None`` is not text, ``b""`` a token that writes nothing.
        eos_ids: Ids that end the text.
    """

    def __init__(
        self,
        words: Iterable[bytes],
        tokens: Sequence[bytes | None],
        eos_ids: Sequence[int],
    ) -> None:
        self.words = sorted(set(words))
        self.tokens = tokens
        self.eos_ids = frozenset(eos_ids)
        self.pieces = {token for token in tokens if token}
        self.after_prefix: dict[bytes, set[int]] = {}
        for word in self.words:
            for cut in range(len(word)):
                self.after_prefix.setdefault(word[:cut], set()).add(word[cut])
            self.after_prefix.setdefault(word, set())

        @cache
        def spells(rest: bytes) -> bool:
            return not rest or any(
                rest.startswith(piece) and spells(rest[len(piece) :]) for piece in self.pieces
            )

        self.spells = spells
        self._writable: dict[bytes, dict[bytes, set[int]]] = {}

    def expected(self, prefix: bytes) -> bytes:
        """The bytes that may follow in some word."""
        return bytes(sorted(self.after_prefix.get(prefix, ())))

    def writable(self, prefix: bytes, read: bytes) -> bytes:
        """The bytes that may follow in some word whose rest, from the prefix on, tokens spell."""
        known = self._writable.get(prefix)
        if known is None:
            known = self._writable[prefix] = {}
            for word in self.words:
                if word.startswith(prefix) and self.spells(word[len(prefix) :]):
                    for cut in range(len(prefix), len(word)):
                        known.setdefault(word[:cut], set()).add(word[cut])
        return bytes(sorted(known.get(prefix + read, ())))

    @cached_property
    def complete(self) -> frozenset[bytes]:
        """The words."""
        return frozenset(self.words)

    @cached_property
    def finishable(self) -> frozenset[bytes]:
        """The prefixes of words from whose end tokens can spell the rest."""
        return frozenset(
            word[:cut]
            for word in self.words
            for cut in range(len(word) + 1)
            if self.spells(word[cut:])
        )

    def failing_offset(self, prefix: bytes, data: bytes) -> int | None:
        """The least i such that no word starts with ``prefix + data[:i + 1]``."""
        for i in range(len(data)):
            if prefix + data[: i + 1] not in self.after_prefix:
                return i
        return None

    def stage(self, prefix: bytes, token: int) -> str:
        """The first thing that decides, in the documented order."""
        if not 0 <= token < len(self.tokens):
            return "beyond_vocabulary"
        data = self.tokens[token]
        if token in self.eos_ids:
            return "allowed" if prefix in self.complete else "end_of_text"
        if not data:
            return "not_text" if data is None else "empty_token"
        if self.failing_offset(prefix, data) is not None:
            return "constraint"
        return "allowed" if prefix + data in self.finishable else "dead_end"

    def steps_to(self, prefix: bytes, token: int) -> int | None:
        """The fewest tokens after which a token is allowed, by trying all sequences."""
        layer = {prefix}
        count = 0
        while layer:
            if any(self.stage(text, token) == "allowed" for text in layer):
                return count
            layer = {
                text + piece
                for text in layer
                for piece in self.pieces
                if text + piece in self.finishable
            }
            count += 1
        return None

    def char_offset(self, prefix: bytes, data: bytes, offset: int) -> int:
        """The number of characters that end within the token before that with the failing byte."""
        text = prefix + data[:offset]
        # Whole characters so far, less those that ended with the text before the token.
        return len(text.decode(errors="ignore")) - len(prefix.decode(errors="ignore"))
