"""An Earley recognizer for the tests, which shares no code with the engine.

Productions are tuples of symbols; a symbol that is a key of the grammar is a nonterminal, any other
is one character. In a grammar without useless rules a prefix is the beginning of some word exactly
if its last set of items is not empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Productions = Mapping[str, Sequence[tuple[str, ...]]]

Item = tuple[str, tuple[str, ...], int, int]


class Earley:
    """A grammar, and whether texts and prefixes belong to it.

    Args:
        rules: The productions.
        root: The start symbol.
    """

    def __init__(self, rules: Productions, root: str = "root") -> None:
        self.rules = rules
        self.root = root
        empty: set[str] = set()
        while True:
            more = {
                name
                for name, options in rules.items()
                if name not in empty and any(all(s in empty for s in option) for option in options)
            }
            if not more:
                break
            empty |= more
        self.empty = empty

    def _completed(self, sets: list[set[Item]], at: int) -> None:
        waiting = list(sets[at])
        while waiting:
            name, option, dot, origin = waiting.pop()
            new: list[Item] = []
            if dot == len(option):
                for other, rest, place, begin in list(sets[origin]):
                    if place < len(rest) and rest[place] == name:
                        new.append((other, rest, place + 1, begin))
            elif option[dot] in self.rules:
                new += [(option[dot], each, 0, at) for each in self.rules[option[dot]]]
                if option[dot] in self.empty:
                    new.append((name, option, dot + 1, origin))
            for item in new:
                if item not in sets[at]:
                    sets[at].add(item)
                    waiting.append(item)

    def sets(self, text: str) -> list[set[Item]] | None:
        """The sets of items after each character; ``None`` if no word begins with the text."""
        sets: list[set[Item]] = [{(self.root, option, 0, 0) for option in self.rules[self.root]}]
        self._completed(sets, 0)
        for at, character in enumerate(text):
            sets.append(
                {
                    (name, option, dot + 1, origin)
                    for name, option, dot, origin in sets[at]
                    if dot < len(option) and option[dot] == character
                }
            )
            if not sets[-1]:
                return None
            self._completed(sets, at + 1)
        return sets

    def viable(self, text: str) -> bool:
        """Whether some word begins with a text."""
        return self.sets(text) is not None

    def accepts(self, text: str) -> bool:
        """Whether a text is a word."""
        sets = self.sets(text)
        return sets is not None and any(
            name == self.root and dot == len(option) and origin == 0
            for name, option, dot, origin in sets[-1]
        )


def as_gbnf(rules: Productions) -> str:
    """The grammar in GBNF; its characters need no escapes."""

    def shown(option: tuple[str, ...]) -> str:
        return " ".join(s if s in rules else f'"{s}"' for s in option) or '""'

    return "\n".join(f"{name} ::= {' | '.join(map(shown, rules[name]))}" for name in rules)
