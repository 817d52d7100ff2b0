"""Templates of Lark: rules with parameters, such as ``list{item}: item ("," item)*``.

Each use with other arguments is a rule of its own, which is named as it is used: ``list{NAME}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from explorer.arguments import counted
from explorer.automata.tree.nodes import Call, Concat, Node, children, with_children
from explorer.errors import GrammarError
from explorer.languages.grammar.notations.reading import WrittenRule

MOST_USES: Final = 10_000
"""The most uses of templates with different arguments."""


@dataclass(frozen=True, slots=True)
class RuleTemplate:
    """A rule with parameters."""

    name: str
    start: int
    end: int
    parameters: tuple[str, ...]
    body: Node


class Templates:
    """The templates of a grammar and their uses.

    Args:
        text: The grammar.
        wrong: Makes an error of a reason, a remedy and a span.
    """

    def __init__(self, text: str, wrong: Callable[[str, str, int, int], GrammarError]) -> None:
        self._text = text
        self._wrong = wrong
        self._uses: dict[str, tuple[str, tuple[Node, ...], Call]] = {}
        self.defined: dict[str, RuleTemplate] = {}

    def used(self, name: str, arguments: tuple[Node, ...], start: int, end: int) -> Call:
        """The call of a template with some arguments."""
        key = f"{name}{{{', '.join(map(self._written, arguments))}}}"
        call = Call(start, end, key)
        self._uses.setdefault(key, (name, arguments, call))
        return call

    def _written(self, argument: Node) -> str:
        """An argument as it was written, without the ignored text after it."""
        if isinstance(argument, Call):
            return argument.name
        first = argument.items[0] if isinstance(argument, Concat) else argument
        if isinstance(first, Call):
            return first.name
        return self._text[argument.start : argument.end]

    def instances(self, rules: list[WrittenRule]) -> list[WrittenRule]:
        """The rules, and one for each use of a template that they come to."""
        made: dict[str, WrittenRule] = {}
        waiting = [rule.body for rule in rules]
        while waiting:
            node = waiting.pop()
            waiting += children(node)
            if not isinstance(node, Call) or node.name not in self._uses or node.name in made:
                continue
            rule = made[node.name] = self._instance(node.name)
            if len(made) > MOST_USES:
                raise self._wrong(
                    f"Templates are used with more than {MOST_USES:,} different arguments",
                    "A template that calls itself must do so with its own parameters.",
                    node.start, node.end,
                )  # fmt: skip
            waiting.append(rule.body)
        return [*rules, *made.values()]

    def _instance(self, key: str) -> WrittenRule:
        name, arguments, call = self._uses[key]
        template = self.defined.get(name)
        if template is None:
            raise self._wrong(
                f"There is no template {name!r}", f"Write {name}{{item}}: body.", call.start,
                call.end,
            )  # fmt: skip
        names = template.parameters
        if len(names) != len(arguments):
            raise self._wrong(
                f"{name!r} takes {counted(len(names), 'argument')}, not {len(arguments)}",
                f"Write {name}{{{', '.join(names)}}}.", call.start, call.end,
            )  # fmt: skip
        body = self._filled(template.body, dict(zip(names, arguments, strict=True)))
        return WrittenRule(key, template.start, template.end, body)

    def _filled(self, node: Node, arguments: Mapping[str, Node]) -> Node:
        """A body with the arguments in the places of its parameters."""
        if isinstance(node, Call):
            if node.name in self._uses:
                name, given, _ = self._uses[node.name]
                filled = tuple(self._filled(each, arguments) for each in given)
                return self.used(name, filled, node.start, node.end)
            return arguments.get(node.name, node)
        below = children(node)
        return with_children(node, tuple(self._filled(each, arguments) for each in below))
