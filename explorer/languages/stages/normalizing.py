"""Normalizers that look at several characters, as relations between texts.

Most steps of a normalizer change each character by itself, and so does NFC where no mark can follow
a letter. Otherwise the whole language is brought into the normal form
(`explorer.languages.stages.forms.recomposed`), or, if it is finite, each of its texts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from itertools import groupby, islice
from typing import Final

from explorer.automata.interchange.interegular_bridge import alphabet_of
from explorer.automata.machine import Dfa
from explorer.automata.tree.build import build
from explorer.automata.tree.charset import CharSet, char_set, character, characters, without
from explorer.automata.tree.nodes import (
    Branch,
    Class,
    Concat,
    Empty,
    Intersect,
    Literal,
    Node,
    Repeat,
    Texts,
    letters,
)
from explorer.automata.words import is_finite, words
from explorer.budget import Meter
from explorer.errors import UnsupportedTokenizer
from explorer.languages.stages.forms.normal_forms import Form, decomposed_form, decompositions
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
        apart = decomposed_form(self.form)
        texts = [data.decode() for data in islice(words(image, meter), 2)]
        orders = [_in_any_order(unicodedata.normalize(apart, text)) for text in texts]
        changes = decompositions(apart)
        others = without(alphabet_of(machine), char_set((code, code) for code in changes))
        decomposed = build(Branch(0, 0, tuple(orders)), meter)
        return EachCharacter(changes, others).origins(machine, decomposed, meter)


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


def _in_any_order(text: str) -> Node:
    """The texts that become a decomposed one when the marks after each character are put in order.

    Marks of different classes may change places, so the marks of each class are held to their order
    while all others may stand between them.
    """
    pieces: list[Node] = []
    for marks, run in groupby(text, lambda char: unicodedata.combining(char) > 0):
        chars = "".join(run)
        orders = {unicodedata.combining(char) for char in chars}
        if not marks or len(orders) == 1:
            pieces.append(letters(chars, lambda _: (0, 0)))
            continue
        ways: list[Node] = []
        for order in orders:
            mine = [char for char in chars if unicodedata.combining(char) == order]
            between = Class(0, 0, characters(char for char in chars if char not in mine))
            rest = Repeat(0, 0, between, 0, None, False)
            kept = (Concat(0, 0, (Literal(0, 0, character(char)), rest)) for char in mine)
            ways.append(Concat(0, 0, (rest, *kept)))
        pieces.append(reduce(partial(Intersect, 0, 0), ways))
    return Concat(0, 0, (Empty(0, 0), *pieces))
