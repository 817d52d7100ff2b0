"""Faults of a grammar that can be seen in its rules alone, each with its place.

Undefined names, names defined twice, a missing root, rules that derive no text, and rules that
derive themselves and nothing else (a cycle of ε) are errors. A rule that is never used is not an
error, because it changes no text, and is named in a remark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from explorer.automata.rules.pieces import components, reached
from explorer.automata.tree.nodes import (
    Assertion,
    Branch,
    Call,
    Concat,
    Empty,
    Group,
    Node,
    Repeat,
    Texts,
    Whole,
    Written,
    inside,
    walk,
)
from explorer.budget import Meter
from explorer.errors import GrammarError
from explorer.languages.grammar.notations.reading import WrittenRule


def check_rules(
    text: str, rules: Sequence[WrittenRule], root: str, *, circles: bool = False,
    elsewhere: Mapping[str, str] = MappingProxyType({}), meter: Meter | None = None,
) -> None:  # fmt: skip
    """Refuse a grammar with a fault.

    Args:
        circles: Whether rules may derive themselves and nothing else.
        elsewhere: The remedies for names that are known but not defined in the text.

    Raises:
        BudgetExceeded: The time is up.
        GrammarError: There is a fault.
    """
    meter = meter or Meter()
    known: dict[str, WrittenRule] = {}
    for rule in rules:
        if rule.name in known:
            line = text.count("\n", 0, known[rule.name].start) + 1
            raise GrammarError(
                f"The {rule.what} {rule.name!r} is defined twice, first in line {line}", text=text,
                start=rule.start, end=rule.end, remedy="Join the two with |, or rename one.",
            )  # fmt: skip
        known[rule.name] = rule
    if root not in known:
        first = rules[0] if rules else None
        raise GrammarError(
            f"There is no rule {root!r}, with which a text begins", text=text,
            start=first.start if first else 0, end=first.end if first else None,
            remedy=f"Name one rule {root}, or give start=... the name of another.",
        )  # fmt: skip
    calls = {rule.name: list(_calls(rule.body)) for rule in rules}
    for of_rule in calls.values():
        for call in of_rule:
            if call.name not in known:
                close = get_close_matches(call.name, known, 1)
                raise GrammarError(
                    f"The name {call.name!r} is not defined", text=text, start=call.start,
                    end=call.end, remedy=elsewhere.get(call.name) or (
                        f"Did you mean {close[0]!r}?" if close else "Add a rule of that name."
                    ),
                )  # fmt: skip
    used = _used(known, calls, root)
    known = {name: rule for name, rule in known.items() if name in used}
    calls = {name: calls[name] for name in known}
    _check_productive(text, known, calls, meter)
    if not circles:
        _check_circles(text, known, calls, meter)


def _calls(body: Node) -> Iterator[Call]:
    return (node for node in walk(body) if isinstance(node, Call))


def unused_rules(rules: Sequence[WrittenRule], root: str) -> tuple[WrittenRule, ...]:
    """The rules that the root never reaches."""
    known = {rule.name: rule for rule in rules}
    used = _used(known, {rule.name: list(_calls(rule.body)) for rule in rules}, root)
    return tuple(rule for rule in rules if rule.name not in used)


def _used(known: Mapping[str, WrittenRule], calls: Mapping[str, list[Call]], root: str) -> set[str]:
    names = {name: k for k, name in enumerate(known)}
    following = {
        names[name]: [*(names[call.name] for call in called),
                      *(names[each] for each in known[name].also if each in names)]
        for name, called in calls.items()
    }  # fmt: skip
    used = reached([names[root]], following)
    return {name for name, k in names.items() if k in used}


def _check_productive(
    text: str, known: dict[str, WrittenRule], calls: dict[str, list[Call]], meter: Meter
) -> None:
    able = _fixpoint(known, calls, lambda body, able: _holds(body, able, lambda leaf: True), meter)
    # Name a rule that never ends by itself, not one that only calls such a rule.
    lost = [name for name in known if name not in able]
    number = {name: k for k, name in enumerate(lost)}
    following = [[number[c.name] for c in calls[name] if c.name in number] for name in lost]
    for component in components(following):
        rule = known[lost[min(component)]]
        raise GrammarError(
            f"The {rule.what} {rule.name!r} derives no text: it never ends", text=text,
            start=rule.start, end=rule.end,
            remedy="Give it an alternative that does not call it again.",
        )  # fmt: skip


def _fixpoint(
    known: dict[str, WrittenRule],
    calls: dict[str, list[Call]],
    holds: Callable[[Node, set[str]], bool],
    meter: Meter,
) -> set[str]:
    """The least set of rules for which a property holds that depends on the rules they call.

    Rules come after those that they call, so that most are looked at once.
    """
    names = list(known)
    number = {name: k for k, name in enumerate(names)}
    following = [list({number[call.name] for call in calls[name]}) for name in names]
    callers: list[list[int]] = [[] for _ in names]
    for k, callees in enumerate(following):
        for callee in callees:
            callers[callee].append(k)
    able: set[str] = set()
    waiting = dict.fromkeys(k for component in reversed(components(following)) for k in component)
    while waiting:
        k, _ = waiting.popitem()
        meter.check_time("Checking the rules of the grammar")
        if names[k] not in able and holds(known[names[k]].body, able):
            able.add(names[k])
            waiting.update(dict.fromkeys(callers[k]))
    return able


def _holds(node: Node, able: set[str], of_leaf: Callable[[Node], bool]) -> bool:
    """Whether a property holds of a body, given the leaves and the called rules that have it."""
    match node:
        case Call():
            return node.name in able
        case Concat():
            return all(_holds(item, able, of_leaf) for item in node.items)
        case Branch():
            return any(_holds(option, able, of_leaf) for option in node.options)
        case Group() | Written() | Whole():
            return _holds(node.body, able, of_leaf)
        case Repeat():
            return node.minimum == 0 or _holds(node.body, able, of_leaf)
        case _:
            return of_leaf(node)


def _may_be_empty(node: Node, empty: set[str]) -> bool:
    """Whether a body derives the empty text, given the rules that are known to derive it."""
    return _holds(
        node,
        empty,
        lambda leaf: (
            isinstance(leaf, Empty | Assertion) or (isinstance(leaf, Texts) and "" in leaf.texts)
        ),
    )


def _check_circles(
    text: str, known: dict[str, WrittenRule], calls: dict[str, list[Call]], meter: Meter
) -> None:
    empty = _fixpoint(known, calls, _may_be_empty, meter)
    rules = list(known)
    names = {name: k for k, name in enumerate(rules)}
    alone = {
        name: [call for call in _calls_alone(rule.body, empty)] for name, rule in known.items()
    }
    following = [[names[call.name] for call in alone[name]] for name in known]
    for component in components(following):
        inside = set(component)
        circle = [
            (name, call)
            for k in component
            for name in [rules[k]]
            for call in alone[name]
            if names[call.name] in inside and (len(component) > 1 or call.name == name)
        ]
        if circle:
            name, call = min(circle, key=lambda each: each[1].start)
            way = f"{name!r} derives {call.name!r}, and that {name!r} again"
            if call.name == name:
                way = f"{name!r} derives itself"
            raise GrammarError(
                f"{way}, and nothing is read on the way (a circle of ε)", text=text,
                start=call.start, end=call.end,
                remedy=_without_circle(text, name, call, known[name].body),
            )  # fmt: skip


def _without_circle(text: str, name: str, call: Call, body: Node) -> str:
    """A remedy that loses no texts.

    An alternative that is the rule itself adds none. A rule that may be empty and has itself twice
    as an alternative has what its other alternatives have, repeated.
    """
    whole = inside(body)
    options = [inside(each) for each in whole.options] if isinstance(whole, Branch) else []
    if any(each is call for each in options) and call.name == name:
        return "Leave this alternative out: it adds no text. Or leave ambiguous=False out."
    twice = [
        each
        for each in options
        if isinstance(each, Concat)
        and len(each.items) == 2
        and all(isinstance(it, Call) and it.name == name for it in map(inside, each.items))
    ]
    others = [each for each in options if each not in twice and not isinstance(each, Empty)]
    spelled = " | ".join(_spelled(text, each) for each in others)
    if twice and others:
        mended = f"Write the alternatives of {name} but this one as ({spelled})*."
        return f"{mended} Or leave ambiguous=False out."
    return _AMBIGUOUS


_AMBIGUOUS: Final = "Leave ambiguous=False out."
_QUOTES: Final = ('"', "'")


def _spelled(text: str, node: Node) -> str:
    """A part of a rule as it is written; the quotes of a literal are not in its span."""
    start, end = node.start, node.end
    start -= text[start - 1 : start] in _QUOTES
    return text[start : end + (text[end : end + 1] in _QUOTES)]


def _calls_alone(node: Node, empty: set[str]) -> Iterator[Call]:
    """The calls of a body that may be all it derives: everything beside them may be empty."""
    match node:
        case Call():
            yield node
        case Concat():
            reading = [item for item in node.items if not _may_be_empty(item, empty)]
            for item in reading if len(reading) == 1 else () if reading else node.items:
                yield from _calls_alone(item, empty)
        case Branch():
            for option in node.options:
                yield from _calls_alone(option, empty)
        case Group() | Written() | Repeat():
            yield from _calls_alone(node.body, empty)
        case _:
            return
