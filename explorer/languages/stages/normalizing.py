"""A tokenizer's own functions, run on each text of a constraint that has few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from explorer.automata.machine import Dfa
from explorer.automata.tree.build import build
from explorer.automata.tree.nodes import Texts
from explorer.automata.words import is_finite, words
from explorer.budget import Meter

MOST_TEXTS: Final = 4096
"""The most texts of a constraint that are rewritten one by one."""


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
