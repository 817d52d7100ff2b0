"""Normalizers that look at several characters, as relations between texts.

Most steps of a normalizer change each character by itself, and so does NFC where no mark can follow
a letter. Otherwise the whole language is brought into the normal form
(`explorer.languages.stages.forms.recomposed`), or, if it is finite, each of its texts.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Final, Literal

from explorer.automata.interchange.interegular_bridge import alphabet_of
from explorer.automata.machine import NO_ARC, Dfa
from explorer.automata.tree.build import build
from explorer.automata.tree.charset import CharSet
from explorer.automata.tree.nodes import Texts
from explorer.automata.words import is_finite, words
from explorer.budget import Meter
from explorer.errors import UnsupportedTokenizer
from explorer.languages.stages.forms.normal_forms import Form, decompositions
from explorer.languages.stages.forms.recomposed import in_normal_form
from explorer.languages.stages.forms.replaced import characters_replaced
from explorer.languages.stages.relation import character_map

MOST_TEXTS: Final = 4096
"""The most texts of a constraint that are rewritten one by one."""


@dataclass(frozen=True)
class InForm:
    """The relation between a text and its normal form."""

    form: Form

    def image(self, machine: Dfa, meter: Meter) -> Dfa:
        """The texts that the words of a machine become.

        Args:
            machine: The language before; minimal, over valid UTF-8.

        Raises:
            UnsupportedTokenizer: Marks would have to be ordered, which is not finite-state here.
            BudgetExceeded: A limit was reached.
        """
        rewritten = in_normal_form(self.form, machine, meter)
        if rewritten is not None:
            return rewritten
        if few_texts(machine, meter):
            return EachText(lambda text: unicodedata.normalize(self.form, text)).image(
                machine, meter
            )
        raise UnsupportedTokenizer(
            f"preprocessing.{self.form}",
            "it puts combining marks in order, and texts of this constraint hold so many of them "
            "out of order that no small machine does that",
            remedy=f"Allow only texts that are in this form: c.normalized({self.form!r})"
            ".preprocessed(tokenizer).",
        )

    def origins(self, machine: Dfa, image: Dfa, meter: Meter) -> Dfa:
        """The words of a machine whose normal form is one of the first two words of another one.

        Two are enough to see that there is more than one original.

        Args:
            image: A machine of some of the normal forms.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        originals: set[str] = set()
        apart: Literal["NFD", "NFKD"] = "NFKD" if "K" in self.form else "NFD"
        for data in islice(words(image, meter), 2):
            originals.update(_originals(machine, apart, data.decode(), meter))
        return build(Texts(0, 0, tuple(sorted(originals))), meter)


@dataclass(frozen=True)
class EachCharacter:
    """The relation that replaces many characters, each by itself."""

    changes: Mapping[int, str]
    others: CharSet

    def image(self, machine: Dfa, meter: Meter) -> Dfa:
        """The texts that the words of a machine become.

        Args:
            machine: The language before; minimal, over valid UTF-8.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        return characters_replaced(self.changes, machine, meter).over_bytes(meter)

    def origins(self, machine: Dfa, image: Dfa, meter: Meter) -> Dfa:
        """The words of a machine that become words of another one.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        wanted = alphabet_of(image)
        changed = [
            (chr(code), text)
            for code, text in self.changes.items()
            if all(ord(char) in wanted for char in text)
        ]
        return character_map(changed, self.others).origins(machine, image, meter)


@dataclass(frozen=True)
class EachText:
    """The relation of a function on texts, for languages of few texts."""

    rewrite: Callable[[str], str]

    def image(self, machine: Dfa, meter: Meter) -> Dfa:
        """The images of the words of a machine, which has finitely many."""
        texts = {self.rewrite(data.decode()) for data in words(machine, meter)}
        return build(Texts(0, 0, tuple(sorted(texts))), meter)

    def origins(self, machine: Dfa, image: Dfa, meter: Meter) -> Dfa:
        """The words of a machine that become words of another one."""
        texts = [data.decode() for data in words(machine, meter)]
        kept = [text for text in texts if image.accepts(self.rewrite(text).encode())]
        return build(Texts(0, 0, tuple(kept)), meter)


def few_texts(machine: Dfa, meter: Meter) -> bool:
    """Whether a machine has at most `MOST_TEXTS` words."""
    if not is_finite(machine, meter):
        return False
    return sum(1 for _ in islice(words(machine, meter), MOST_TEXTS + 1)) <= MOST_TEXTS


@cache
def _by_first(form: Literal["NFD", "NFKD"]) -> Mapping[str, list[tuple[str, str]]]:
    """The characters that are decomposed, each with its parts, by the first part."""
    by_first: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for code, parts in decompositions(form).items():
        by_first[parts[0]].append((chr(code), parts))
    return by_first


def _originals(
    machine: Dfa, form: Literal["NFD", "NFKD"], text: str, meter: Meter
) -> Iterator[str]:
    """The words of a machine with the same decomposition as a text."""
    characters = _by_first(form)
    # The text so far, the state of the machine after it, and what is left of the decomposition.
    waiting = [("", machine.start, unicodedata.normalize(form, text))]
    while waiting:
        written, state, left = waiting.pop()
        meter.check("Looking for the texts that a normal form stands for", states=len(waiting))
        if not left:
            if machine.is_accepting(state):
                yield written
            continue
        for first in _may_come_first(left):
            for char, parts in ((first, first), *characters.get(first, ())):
                after = _without(left, parts)
                if after is None:
                    continue
                target = state
                for byte in char.encode():
                    target = machine.step(target, byte)
                if target != NO_ARC:
                    waiting.append((written + char, target, after))


def _may_come_first(left: str) -> list[str]:
    """The characters that may come first in a text if marks of different classes may swap."""
    by_class: dict[int, str] = {}
    for char in left:
        order = unicodedata.combining(char)
        if not order:
            return [*by_class.values()] or [char]
        by_class.setdefault(order, char)
    return [*by_class.values()]


def _without(left: str, parts: str) -> str | None:
    """A text after removing characters that may come first; ``None`` if one may not."""
    for char in parts:
        if char not in _may_come_first(left):
            return None
        place = left.index(char)
        left = left[:place] + left[place + 1 :]
    return left
