"""The error that teaches: a text with two stacks, both derivations, and what a rewrite looks like.

By default a grammar is to lead to one stack after every text (decision 29 says what that means and
why). This file puts what `explorer.automata.grammar.diagnosis.conflicts` finds into words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from explorer.automata.grammar.diagnosis.conflicts import AmbiguousText, shortest_ambiguous
from explorer.automata.grammar.diagnosis.places import GrammarPlaces, RulePlace
from explorer.automata.grammar.machine import decided
from explorer.automata.grammar.notations.reading import WrittenRule
from explorer.automata.grammar.rules.moves import Actions
from explorer.automata.tree.nodes import Rules
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, GrammarError

LIMITS: Final = Budget(states=200_000, arcs=20_000_000, seconds=30.0)
"""For the check that comes with reading a grammar."""

_LOOSE: Final = "Or give ambiguous=True, and every stack is followed."

_REWRITES: Final = {
    "left recursion": (
        "A rule that begins with itself has a stack for every number of times that it may do so. "
        "Write the repetition instead: e ::= t (\"+\" t)* for e ::= e \"+\" t | t."
    ),
    "end or go on": (
        "Let what follows tell the two apart: give the inner rule an end of its own, such as "
        "\"fi\" after if ... else ..., or write one rule for what may stand before it and one for "
        "the rest (matched and unmatched), or a repetition for a rule that calls itself twice: "
        "s ::= x+ for s ::= s s | x."
    ),
    "begin alike": (
        "Write what they share once, before the choice: s ::= a (\"x\" | \"y\") for "
        "s ::= a \"x\" | a \"y\"."
    ),
}  # fmt: skip


def check_deterministic(text: str, rules: Sequence[WrittenRule], node: Rules) -> None:
    """Refuse a grammar some text of which leads to two stacks.

    Args:
        text: The grammar.
        rules: Its rules.
        node: Their tree.

    Raises:
        GrammarError: There is such a text; the message has a shortest one.
        BudgetExceeded: The grammar is too large to find out.
    """
    meter = Meter(LIMITS)
    found = decided(node, meter)
    if found is None:
        return
    network, looks, actions = found
    if isinstance(actions, Actions):
        return
    shortest = shortest_ambiguous(network, looks, actions, meter)
    place = next((rule for rule in rules if rule.name == shortest.rule), rules[0])
    where = "At the start" if not shortest.prefix else f"After {_shown(shortest.prefix)}"
    raise GrammarError(
        f"{where} {_shown(bytes([shortest.byte]))} can be read with two stacks: {_ways(shortest)}",
        text=text, start=place.start, end=place.end, more=_derivations(shortest, text, node),
        remedy=f"{_REWRITES[shortest.kind]} {_LOOSE}",
        evidence={"prefix": shortest.prefix, "byte": shortest.byte, "kind": shortest.kind},
    )  # fmt: skip


def _ways(found: AmbiguousText) -> str:
    """The clause that says what the rule may do."""
    said: dict[str, None] = {}
    names = iter(found.others)
    for what, _, after in found.moves:
        if what == "read":
            said["read it itself"] = None
        elif what == "end":
            said["end, so that what follows it reads it"] = None
        else:
            name = next(names)
            again = "call" if f"call {name!r}" not in said else "call once more"
            said[f"{again} {name!r}"] = None
        _ = after
    return f"the rule {found.rule!r} can {' or '.join(said)}"


def _derivations(found: AmbiguousText, text: str, node: Rules) -> str:
    """Two ways to read the byte, each as the rules that are open."""
    try:
        places = GrammarPlaces(node, LIMITS).ways(found.prefix, found.byte, 2)
    except BudgetExceeded:
        return ""
    lines = [f"  {_line(text, place)}\n" for place in places]
    if len(set(lines)) == 1:  # What differs is where the rules are called.
        lines = [f"  {_line(text, place, calls=True)}\n" for place in places]
    return f"Two derivations:\n{''.join(lines)}" if len(lines) == 2 else ""


def _line(text: str, place: RulePlace, *, calls: bool = False) -> str:
    outermost_first = list(reversed(place.stack))
    names = [place.stack[-1].rule] if place.stack else [place.rule]
    for frame in outermost_first:
        names.append(f"{frame.called} ({_at(text, frame.start)})" if calls else frame.called)
    written = text[place.origin.start : place.origin.end]
    return f"{' → '.join(names)}, which reads {written} in {_at(text, place.origin.start)}"


def _at(text: str, start: int) -> str:
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    return f"line {line}, column {column}"


def _shown(data: bytes) -> str:
    return repr(data.decode(errors="backslashreplace"))
