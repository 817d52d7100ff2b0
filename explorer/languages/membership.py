"""The texts of a source: whether a text is one, and the machine that is asked.

A text is in an intersection exactly if it is in both parts. So nobody has to know whether the
whole has any words, which of two grammars together nobody can.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from explorer.alphabet import shown_letters, without_letters
from explorer.automata.discovered.discover import PAIRED, discover, small_or_discovered
from explorer.automata.machine import ByteMachine
from explorer.automata.tree.build import build_over_tokens, texts_are_those_of, texts_of
from explorer.automata.tree.nodes import Source
from explorer.automata.valid_utf8 import any_text
from explorer.automata.words import accepts, check_word
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, ConstraintError, NotRegular, caret


def built_or_discovered(
    build: Callable[[Meter], ByteMachine], meter: Meter, source: Source
) -> ByteMachine:
    """A closed machine, or where rules recurse the machine that discovers its states.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    try:
        return build(meter)
    except NotRegular:
        return discover(source.tree, meter.budget, meter)


@dataclass(frozen=True)
class Membership:
    """The texts of a source; its machine is made when it is first asked, and kept.

    Example:
        >>> from explorer import regex
        >>> Membership((regex("a*") & regex("..")).source).has(b"aa")
        True
    """

    source: Source

    @cached_property
    def machine(self) -> ByteMachine:
        """The machine of the texts: closed where it is small, else one that is discovered.

        Where a part speaks about tokens, its texts are those that can be cut into tokens somehow.
        """
        tree = self.source.tree
        if self.source.over_tokens and not texts_are_those_of(tree):
            meter = Meter()
            return texts_of(build_over_tokens(tree, meter), meter)
        try:
            return small_or_discovered(tree)
        except NotRegular:
            raise
        except BudgetExceeded as error:
            raise self.source.why_large(error, Budget().seconds) from error

    @cached_property
    def _asked(self) -> dict[int, Membership]:
        """The parts that decide together, by the id of their source; empty where none do."""
        asked: dict[int, Membership] = {}

        def note(part: Source) -> bool:
            asked[id(part)] = Membership(part)
            return True

        if not self.source.over_tokens:
            self.source.by_parts(note)
        return asked

    def __getstate__(self) -> dict[str, object]:
        """All but the parts, which are known by identities that a copy does not share."""
        return {name: value for name, value in vars(self).items() if name != "_asked"}

    def has(self, text: bytes) -> bool:
        """Whether a text is a word of the source."""
        if not self._asked:
            return accepts(self.machine, text)
        told = self.source.by_parts(lambda part: self._asked[id(part)].has(text))
        return bool(told) and any_text().accepts(without_letters(text))

    def check(self, text: bytes) -> None:
        """Raise an error at the first wrong character of a text that is not a word.

        Of a combination whose machine is too large it is the first character that a part refuses.

        Raises:
            ConstraintError: The text is not a word; ``evidence`` has the ``offset`` in characters.
        """
        if self.has(text):
            return
        if not self._asked:
            check_word(self.machine, text)
        # A part whose refusal makes the whole refuse must itself have the text.
        alone = [self.source.by_parts(lambda part, a=a: id(part) != a) for a in self._asked]
        needed = [
            part for part, whole in zip(self._asked.values(), alone, strict=True) if not whole
        ]
        if len(self._asked) > 1 or not needed:
            with suppress(BudgetExceeded):
                check_word(self._small_machine, text)
        check_word(any_text(), without_letters(text))
        refusals: list[ConstraintError] = []
        for part in needed:
            try:
                part.check(text)
            except ConstraintError as error:
                refusals.append(error)
        if refusals:
            raise min(refusals, key=lambda error: cast("int", error.evidence["offset"]))
        whole = shown_letters(text)
        raise ConstraintError(
            f"A part of the constraint excludes this text:\n{caret(whole, 0, len(whole))}\n",
            remedy="Write another text, or leave that part out.",
            evidence={"offset": len(whole)},
        )

    @cached_property
    def _small_machine(self) -> ByteMachine:
        return small_or_discovered(self.source.tree, PAIRED)
