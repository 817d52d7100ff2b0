"""Texts of a grammar drawn from its rules as they are written, without the machine of it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from explorer.automata.machine import Dfa
from explorer.automata.tree.nodes import (
    Branch,
    Call,
    Class,
    Concat,
    Deferred,
    Dot,
    Empty,
    Group,
    Literal,
    Node,
    Repeat,
)
from explorer.budget import Meter
from explorer.languages.grammar.notations.reading import WrittenRule
from tests.languages.sampling import sampled

FAR = 1_000_000


class Sampler:
    """Draws words of a grammar.

    Args:
        rules: Its rules, as a reader gives them.
        chance: Where choices come from.
        letters: Preferred characters for classes that hold them.
    """

    def __init__(
        self, rules: tuple[WrittenRule, ...], chance: random.Random, letters: str = ""
    ) -> None:
        self.bodies: Mapping[str, Node] = {rule.name: rule.body for rule in rules}
        self.chance = chance
        self.letters = letters
        self.machines: dict[int, Dfa] = {}
        self.height = dict.fromkeys(self.bodies, FAR)
        changed = True
        while changed:
            found = {name: 1 + self.least(body) for name, body in self.bodies.items()}
            changed = found != self.height
            self.height = found

    def least(self, node: Node) -> int:
        """The least depth to which calls must go."""
        match node:
            case Call():
                return self.height[node.name]
            case Concat():
                return max(map(self.least, node.items))
            case Branch():
                return min(map(self.least, node.options))
            case Group():
                return self.least(node.body)
            case Repeat():
                return 0 if node.minimum == 0 else self.least(node.body)
            case _:
                return 0

    def word(self, name: str = "root", depth: int = 12) -> str:
        """A text of a rule whose calls go about so deep."""
        return self._drawn(self.bodies[name], depth)

    def _drawn(self, node: Node, depth: int) -> str:
        match node:
            case Call():
                return self._drawn(self.bodies[node.name], depth - 1)
            case Concat():
                return "".join(self._drawn(item, depth) for item in node.items)
            case Branch():
                able = [option for option in node.options if self.least(option) < depth]
                lowest = min(map(self.least, node.options))
                return self._drawn(
                    self.chance.choice(
                        able or [o for o in node.options if self.least(o) == lowest]
                    ),
                    depth,
                )
            case Group():
                return self._drawn(node.body, depth)
            case Repeat():
                count = node.minimum
                most = count + 3 if node.maximum is None else node.maximum
                if self.least(node.body) < depth:
                    while count < most and self.chance.random() < 0.45:
                        count += 1
                return "".join(self._drawn(node.body, depth) for _ in range(count))
            case Literal() | Class() | Dot():
                return self._character(node.chars.ranges)
            case Deferred():
                return self._walked(node)
            case Empty():
                return ""
            case _:
                raise TypeError(type(node).__name__)

    def _character(self, ranges: tuple[tuple[int, int], ...]) -> str:
        wanted = [c for c in self.letters if any(low <= ord(c) <= high for low, high in ranges)]
        if wanted and self.chance.random() < 0.95:
            return self.chance.choice(wanted)
        low, high = self.chance.choice(ranges)
        while 0xD800 <= (code := self.chance.randint(low, high)) <= 0xDFFF:
            pass
        return chr(code)

    def _walked(self, node: Deferred) -> str:
        if id(node) not in self.machines:
            self.machines[id(node)] = node.make(Meter())
        machine = self.machines[id(node)]
        return next(sampled(machine, 1, self.chance.randrange(1 << 30), 8))


def mutated(tokens: list[str], chance: random.Random, pieces: Sequence[str]) -> list[str]:
    """Tokens of which one to three were replaced, left out, swapped or put in.

    Args:
        tokens: The tokens of a text.
        chance: Where choices come from.
        pieces: What may be put in.
    """
    tokens = [*tokens]
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(tokens) + 1)
        match chance.randrange(4):
            case 0:
                tokens.insert(at, chance.choice(pieces))
            case 1:
                del tokens[at : at + 1]
            case 2:
                tokens[at : at + 1] = [chance.choice(pieces)]
            case _:
                tokens[at : at + 2] = reversed(tokens[at : at + 2])
    return tokens
