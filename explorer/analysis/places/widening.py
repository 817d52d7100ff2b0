"""The smallest change to one literal or class of a pattern that would let a token through.

Tried, fewest characters first: the offending character added to the class (a literal becomes a
class of two); every remaining character of the token added; the literal or class made optional; the
rest of the token as an alternative to it. A change counts only if the changed constraint, compiled
again for the same vocabulary, allows the token after the same text.

What it does not do: change two places, or say that the change is what a user wants.
Cost: up to four compilations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from explorer.analysis.places.positions import Position
from explorer.analysis.places.spans import Part
from explorer.analysis.verdict.verdict import Verdict
from explorer.automata.constraint import Constraint
from explorer.automata.machine import NO_ARC
from explorer.automata.source import (
    Complement,
    Concatenation,
    Difference,
    Intersection,
    Regex,
    Repetition,
    Source,
    Union,
)
from explorer.budget import Budget, Meter
from explorer.errors import ExplorerError
from explorer.tokens.compile import compile
from explorer.tokens.failing import run
from explorer.tokens.token_dfa import TokenDFA

LIMITS: Final = Budget(states=200_000, seconds=5.0)

_NAMES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\v": "\\v"}
_RANGE: Final = re.compile(r"(\w)-(\w)")


@dataclass(frozen=True)
class Widening:
    """A change of one place of a pattern.

    Args:
        pattern: The pattern as it was.
        start, end: The span that changes.
        replacement: What stands there then.
        constraint: The whole constraint with the change; it allows the token.
    """

    pattern: str
    start: int
    end: int
    replacement: str
    constraint: Constraint

    @property
    def changed(self) -> str:
        """The pattern with the change."""
        return self.pattern[: self.start] + self.replacement + self.pattern[self.end :]


def widen(dfa: TokenDFA, verdict: Verdict, parts: Sequence[Part]) -> Widening | None:
    """The smallest change that lets a token through, where exactly one place is live.

    Args:
        dfa: The token DFA that masks it.
        verdict: Why; only `constraint` can be widened.
        parts: What of the source decides.

    Returns:
        ``None`` where more or less than one literal or class is live, where the token does not
        write whole characters, or where no change of the place helps.
    """
    if verdict.stage != "constraint" or len(parts) != 1 or parts[0].role != "expects":
        return None
    part = parts[0]
    if len(part.positions) != 1 or not isinstance(part.source, Regex):
        return None
    place = part.positions[0]
    if place.start is None or place.end is None:
        return None
    try:
        rest = (verdict.prefix + (verdict.data or b""))[verdict.char_begin :].decode()
    except UnicodeDecodeError:
        return None
    written = verdict.prefix + (verdict.data or b"")
    # Where white space is not read, it must be escaped; elsewhere that is harder to read.
    verbose = "(?" in part.source.pattern and "x" in part.source.pattern
    for replacement in _replacements(place, rest, verbose):
        changed = part.source.pattern[: place.start] + replacement
        changed += part.source.pattern[place.end :]
        try:
            node = Regex(changed)
            constraint = Constraint(_put(dfa.constraint.source, part.path, node))
            machine = constraint.build(Meter(LIMITS))
            if machine.start == NO_ARC or run(machine, machine.start, written)[-1] == NO_ARC:
                continue
            compiled = compile(constraint, dfa.vocabulary, LIMITS)
            here = int(run(machine, machine.start, verdict.prefix)[-1])
            state = {int(q): k for k, q in enumerate(compiled.char_state)}.get(here)
        except ExplorerError:
            continue  # The change made no pattern, or too large a machine: not this one.
        if state is not None and verdict.token is not None:
            if compiled.step(state, verdict.token) is None:
                continue
            return Widening(part.source.pattern, place.start, place.end, replacement, constraint)
    return None


def _replacements(place: Position, rest: str, verbose: bool) -> list[str]:
    """What could stand in the place, fewest characters first."""
    leaf = place.text
    found = [
        _with(leaf, rest[:1]),
        _with(leaf, "".join(dict.fromkeys(rest))),
        f"(?:{leaf}?)",
        f"(?:{leaf}|{''.join(c if c == ' ' and not verbose else _escaped(c) for c in rest)})",
    ]
    return sorted(dict.fromkeys(found), key=len)


def _with(leaf: str, characters: str) -> str:
    """A class or literal with some characters more."""
    for character in characters:
        leaf = _reaching(leaf, character) or _having(leaf, character)
    return leaf


def _reaching(leaf: str, character: str) -> str:
    """A class one of whose ranges ends beside a character, with that range a character longer."""
    plain = leaf.startswith("[") and not leaf.startswith("[^") and "\\" not in leaf
    if not plain or not character.isalnum():
        return ""
    for found in _RANGE.finditer(leaf):
        low, high = found.groups()
        if ord(character) in (ord(low) - 1, ord(high) + 1):
            ends = f"{min(low, character)}-{max(high, character)}"
            return leaf[: found.start()] + ends + leaf[found.end() :]
    return ""


def _having(leaf: str, character: str) -> str:
    """A class or literal with one character more."""
    added = _member(character)
    if leaf.startswith("[") and not leaf.startswith("[^"):
        if leaf[-2] != "-":
            return f"{leaf[:-1]}{added}]"
        # In front, where no hyphen can make a range of it; what came first there loses its place.
        body = leaf[1:]
        return f"[{added}{chr(92) if body[0] in ']-' else ''}{body}"
    if leaf.startswith("[") or leaf == ".":
        return f"(?:{leaf}|[{added}])"
    return f"[{leaf if len(leaf) > 1 else _member(leaf)}{added}]"


def _member(character: str) -> str:
    """A character as one would write it in a class."""
    return f"\\{character}" if character in "\\]^-[&~|#" else _NAMES.get(character, character)


def _escaped(character: str) -> str:
    """A character as one would write it in a pattern, in verbose ones too."""
    return _NAMES.get(character) or re.escape(character)


def _put(source: Source, path: tuple[int, ...], new: Source) -> Source:
    """The tree with one part replaced."""
    if not path:
        return new
    k, rest = path[0], path[1:]
    match source:
        case Union() | Concatenation():
            items = tuple(
                _put(item, rest, new) if n == k else item for n, item in enumerate(source.parts)
            )
            return replace(source, parts=items)
        case Intersection() | Difference():
            if k == 0:
                return replace(source, left=_put(source.left, rest, new))
            return replace(source, right=_put(source.right, rest, new))
        case Complement() | Repetition():
            return replace(source, part=_put(source.part, rest, new))
        case _:
            return source
