"""Rules that are Python objects, written out as a text in GBNF.

Texts, patterns, choices and the constraints put together from them have a form in GBNF. Any other
constraint is written as ``<1: its kind>`` in the text and kept beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError
from explorer.languages.grammar.parts import (
    GrammarRule,
    RuleChain,
    RulePart,
    RuleRepeats,
    RuleTerminal,
)
from explorer.languages.regex.source import Regex
from explorer.languages.sources.algebra import Concatenation, Repetition, Union
from explorer.languages.sources.choice import Choice
from explorer.languages.sources.registry import name_of

WIDEST: Final = 16
"""The longest name that is padded with blanks, so that the bodies are aligned."""

_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}

_ALTERNATIVES, _SEQUENCE, _PIECE = range(3)
"""The precedence of a piece, which decides where it needs parentheses."""


@dataclass(frozen=True, slots=True)
class RulesText:
    """Rules written as a text.

    Args:
        terminals: The constraints without a form in GBNF; ``<1: ...>`` stands for the first.
    """

    text: str
    terminals: tuple[Source, ...]


def written_rules(rules: Sequence[GrammarRule]) -> RulesText:
    """The text of some rules and of those that they call.

    Args:
        rules: The rules, at least one; the first is the start. A rule without a body is looked up
            by name among all of them.

    Raises:
        ConstraintError: A rule is named and not defined, or two rules have one name.
    """
    writer = _Writer()
    for each in rules:
        writer.call(each)
    bodies = writer.bodies()
    first = rules[0].name
    if first != "root" and "root" in bodies:
        raise ConstraintError(
            f"The grammar begins with {rules[0]!r}, and another rule is called 'root'.",
            remedy="Begin with that one, or rename it: root is the name of the first rule.",
        )
    lines = bodies if first == "root" else {"root": first, **bodies}
    width = max(len(name) for name in lines if len(name) <= WIDEST or name == first)
    text = "".join(f"{name.ljust(width)} ::= {body}\n" for name, body in lines.items())
    return RulesText(text, tuple(writer.terminals))


class _Writer:
    """Rules that are being written."""

    def __init__(self) -> None:
        self.terminals: list[Source] = []
        self.callers: dict[str, str] = {}
        self.caller = ""
        self.waiting: list[GrammarRule] = []
        self.seen: dict[int, GrammarRule] = {}

    def bodies(self) -> dict[str, str]:
        """The bodies of the waiting rules and of all rules that they call, by name."""
        bodies: dict[str, str] = {}
        for each in self.waiting:  # The list grows while it is read.
            body = each.body()
            if body is None:
                continue
            begun, self.caller = len(self.waiting), each.name
            written = self.part(body, _ALTERNATIVES)
            if each.name not in bodies:
                bodies[each.name] = written
                continue
            if bodies[each.name] != written:
                raise ConstraintError(
                    f"Two rules are called {each.name!r}: {bodies[each.name]} and {written}.",
                    remedy=f'Join them with |, or rename one. rule("{each.name}") alone calls it.',
                    evidence={"rule": each.name},
                )
            # A function may make new rules at every call, without end.
            known = {rule.name for rule in self.waiting[:begun] if rule.given is not None}
            self.waiting[begun:] = [r for r in self.waiting[begun:] if r.name not in known]
        for name, caller in self.callers.items():
            if name not in bodies:
                close = get_close_matches(name, bodies, 1)
                raise ConstraintError(
                    f"The rule {name!r} has no body"
                    + (f"; {caller!r} calls it." if caller else "."),
                    remedy=f"Did you mean {close[0]!r}?" if close
                    else f'Write rule("{name}", body), and give it to grammar([...]) if no other '
                    "rule holds it.",
                    evidence={"rule": name, "caller": caller},
                )  # fmt: skip
        return bodies

    def call(self, rule: GrammarRule) -> str:
        """The call of a rule, whose body is written later."""
        self.callers.setdefault(rule.name, self.caller)
        if id(rule) not in self.seen:
            self.seen[id(rule)] = rule
            self.waiting.append(rule)
        return rule.name

    def part(self, part: RulePart | Source, place: int) -> str:
        """The text of a part of a body, or of a constraint in it."""
        match part:
            case GrammarRule():
                return self.call(part)
            case RuleTerminal():
                return self.part(part.source, place)
            case RuleChain(sign="+", parts=parts) | Concatenation(parts=parts):
                items = [self.part(each, _PIECE) for each in parts]
                return _bracketed(" ".join(items), _SEQUENCE, place)
            case RuleChain(parts=parts) | Union(parts=parts):
                options = [self.part(each, _SEQUENCE) for each in parts]
                return _bracketed(" | ".join(options), _ALTERNATIVES, place)
            case Choice(texts=texts):
                what = _PIECE if len(texts) == 1 else _ALTERNATIVES
                return _bracketed(" | ".join(map(_quoted, texts)), what, place)
            case (
                RuleRepeats(part=inner, fewest=fewest, most=most)
                | Repetition(part=inner, minimum=fewest, maximum=most)
            ):
                return _repeated(self.part(inner, _PIECE), fewest, most)
            case Regex(pattern=pattern) if "\n" not in pattern:
                return f"/{_slashes_escaped(pattern)}/"
            case Source():
                return self.terminal(part)
            case _:
                raise TypeError(f"{type(part).__name__} has no form in GBNF")

    def terminal(self, source: Source) -> str:
        """The mark of a constraint without a form in GBNF."""
        for number, known in enumerate(self.terminals):
            if known is source or known == source:
                return f"<{number + 1}: {name_of(source)}>"
        self.terminals.append(source)
        return f"<{len(self.terminals)}: {name_of(source)}>"


def _bracketed(text: str, what: int, place: int) -> str:
    return f"({text})" if what < place else text


def _repeated(inner: str, fewest: int, most: int | None) -> str:
    exactly = f"{{{fewest}}}" if fewest == most else f"{{{fewest},{'' if most is None else most}}}"
    sign = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((fewest, most), exactly)
    return f"({inner}){sign}" if inner[-1] in "*+?}" else f"{inner}{sign}"


def _quoted(text: str) -> str:
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _slashes_escaped(pattern: str) -> str:
    """A pattern as written between slashes, with every slash escaped."""
    return re.sub(r"\\.|/", lambda each: "\\/" if each[0] == "/" else each[0], pattern)
