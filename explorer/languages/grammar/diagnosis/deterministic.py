"""The error that teaches: a text with two stacks, both derivations, and what a rewrite looks like.

By default a grammar is to lead to one stack after every text (decision 29 says what that means and
why). This file puts what `explorer.languages.grammar.diagnosis.conflicts` finds into words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from explorer.alphabet import shown_letters
from explorer.automata.rules.moves import Actions
from explorer.automata.stacks.of_grammar import decided
from explorer.automata.tree.nodes import Rules
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, GrammarError
from explorer.languages.grammar.diagnosis.conflicts import AmbiguousText, shortest_ambiguous
from explorer.languages.grammar.diagnosis.rewrites import rewrite_of
from explorer.languages.grammar.notations.reading import WrittenRule
from explorer.languages.written.configuration import Configurations, LivePlace

LIMITS: Final = Budget(states=200_000, arcs=20_000_000, seconds=30.0)
"""For the check that comes with reading a grammar, unless a budget is given."""

MOST_LOOKED_AT: Final = 300
"""Up to so many bytes of an ambiguous text are looked through for a keyword."""

LONGEST_QUOTED: Final = 60
"""The most characters of a pattern that a message quotes."""

MOST_COMPARED: Final = 8
"""The most ways to read a byte that are compared for that."""


def check_deterministic(
    text: str, rules: Sequence[WrittenRule], node: Rules, dialect: str, given: Meter | None = None
) -> None:
    """Refuse a grammar some text of which leads to two stacks.

    Args:
        dialect: How it is written, for `rewrites`.
        given: Of the budget that the reader gave; without one, `LIMITS` hold.

    Raises:
        GrammarError: There is such a text; the message has a shortest one.
        BudgetExceeded: The grammar is too large to find out.
    """
    meter = given or Meter(LIMITS)
    known = decided(node, meter)
    if known is None:
        return
    network, actions = known
    if isinstance(actions, Actions):
        return
    shortest = shortest_ambiguous(network, actions, meter)
    place = next((rule for rule in rules if rule.name == shortest.rule), rules[0])
    where = "At the start" if not shortest.prefix else f"After {_shown(shortest.prefix)}"
    byte = _shown(bytes([shortest.byte]))
    ways, keyword = _found(shortest, text, node)
    kind = "keyword" if keyword and shortest.kind != "left recursion" else shortest.kind
    raise GrammarError(
        f"{where}, the text {byte} can be read with two stacks: {_ways(shortest)}",
        text=text, start=place.start, end=place.end, more=f"{_derivations(ways, text)}{keyword}",
        remedy=rewrite_of(kind, dialect),
        evidence={
            "prefix": shortest.prefix, "byte": shortest.byte, "kind": shortest.kind,
            "rewrite": kind,
        },
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


def _found(found: AmbiguousText, text: str, node: Rules) -> tuple[list[LivePlace], str]:
    """Two ways to read the byte, and a line that says which word is a keyword and a name in them;
    nothing where finding them took too long.
    """
    try:
        written = Configurations(node, LIMITS)
        ways = _ways_to_read(written, found.prefix, found.byte, 2)
        return ways, _keyword(written, found.prefix + bytes([found.byte]), text)
    except BudgetExceeded:
        return [], ""


def _keyword(written: Configurations, data: bytes, text: str) -> str:
    """A line about the last letters that were read both as they stand and as letters of a class."""
    if len(data) > MOST_LOOKED_AT:
        return ""
    word = b""
    said: tuple[LivePlace, LivePlace] | None = None
    for at in range(len(data) - 1, -1, -1):
        ways = _ways_to_read(written, data[:at], data[at], MOST_COMPARED)
        classes = [way for way in ways if _is_class(text[way.origin.start : way.origin.end])]
        letters = [way for way in ways if way not in classes]
        if classes and letters:
            word, said = data[at : at + 1] + word, (letters[0], classes[0])
        elif said is not None:
            break
    if said is None:
        return ""
    letter, other = said
    return (
        f"{_shown(word)} is read as it stands in {_at(text, letter.origin.start)}, and by "
        f"{_cut(text[other.origin.start : other.origin.end])} in {_at(text, other.origin.start)}.\n"
    )


def _ways_to_read(written: Configurations, text: bytes, byte: int, most: int) -> list[LivePlace]:
    """The shortest different ways in which a byte can be read after a text."""
    here = written.after(text)
    return [] if here is None else here.ways(byte, most)


def _is_class(written: str) -> bool:
    """Whether a place is a class, a pattern or an imported terminal, not a letter of a text."""
    return len(written) > 1 and (written.startswith(("[", "/")) or written.isidentifier())


def _derivations(places: Sequence[LivePlace], text: str) -> str:
    """Two ways to read the byte, each as the rules that are open."""
    lines = [f"  {_line(text, place)}\n" for place in places]
    if len(set(lines)) == 1:  # What differs is where the rules are called.
        lines = [f"  {_line(text, place, calls=True)}\n" for place in places]
    return f"Two derivations:\n{''.join(lines)}" if len(lines) == 2 else ""


def _line(text: str, place: LivePlace, *, calls: bool = False) -> str:
    outermost_first = list(reversed(place.stack))
    names = [place.stack[-1].rule] if place.stack else [place.rule]
    for frame in outermost_first:
        names.append(f"{frame.called} ({_at(text, frame.start)})" if calls else frame.called)
    written = _cut(text[place.origin.start : place.origin.end])
    return f"{' → '.join(names)}, which reads {written} in {_at(text, place.origin.start)}"


def _cut(written: str) -> str:
    """The text of a part as it was written, cut if it is long."""
    return written if len(written) <= LONGEST_QUOTED else f"{written[: LONGEST_QUOTED - 1]}…"


def _at(text: str, start: int) -> str:
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    return f"line {line}, column {column}"


def _shown(data: bytes) -> str:
    return repr(shown_letters(data, "backslashreplace"))
