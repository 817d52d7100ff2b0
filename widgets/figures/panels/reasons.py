"""Why tokens are masked: one in two or three words, and all of them in a dozen groups.

The reasons themselves come from `explorer.analysis`. A bar needs only the verdict, which takes
microseconds, in words that fit a column of 104 pixels: ``r: expects o``, ``not complete``. The
groups are shown beside the mask; the group of each id is a byte, sent only when a person wants to
see a group's tokens (34 kB at 131,072 ids).

The explanation of one token is sent in three packets. The verdict opens the panel: a sentence, the
token's bytes with the one that fails, and the parts of the pattern that expect something else.
Everything that needs a search comes in a second packet, and the change of the pattern, which is
proved by compiling it, in a third.

A trap has the danger, the evidence in a few lines, and the remedy. A trap of a run has a position
of the token strip; a trap of the constraint alone has no position. Tokens in the evidence stay ids,
because the page shows tokens as boxes.

Cost: less than a millisecond for the verdict, tens of milliseconds for the second packet, up to
four compilations for the third.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from explorer.analysis import Explanation, MaskReasons, Trap
from explorer.analysis.characters.display import (
    half_characters,
    show_bytes,
    show_characters,
    show_text,
)
from explorer.analysis.explaining.groups import EXAMPLES
from explorer.analysis.explaining.searched import budget_sentence
from explorer.analysis.verdict.background import background_of
from explorer.analysis.verdict.verdict import Verdict, judge
from explorer.analysis.wording.words import show_control
from explorer.errors import BudgetExceeded
from explorer.tokens.machine import TokenMachine
from widgets.figures.drawing.labels import byte_text, character_text, shorten
from widgets.figures.machines.character_fsa import character_view

MOST: Final = 36
"""The longest short reason, in characters; the page wraps it."""


def short_reasons(machine: TokenMachine, state: int, prefix: bytes) -> Callable[[int], str | None]:
    """A function from a token to why a state masks it; ``None`` for an allowed token.

    All its answers share one copy of the machine and one second; later ones are ``"masked"``.

    Example:
        >>> import explorer
        >>> toy = [b"f", b"oo", b"foo", b"for", b"food"]
        >>> vocab = explorer.Vocabulary.from_bytes(toy, eos_ids=[5])
        >>> dfa = explorer.compile(explorer.regex("(foo)+d"), vocab)
        >>> [*map(short_reasons(dfa, dfa.walk([2])[-1], b"foo"), (3, 5, 1, 0))]
        ['r: expects o', 'not complete', 'expects d or f', None]
    """

    try:
        background = background_of(machine)
    except BudgetExceeded:
        return lambda token: "masked"

    def reason(token: int) -> str | None:
        try:
            return in_short(judge(background, state, token, prefix))
        except BudgetExceeded:
            return "masked"

    return reason


def in_short(verdict: Verdict) -> str | None:
    """A verdict in two or three words; ``None`` for an allowed token."""
    match verdict.stage:
        case "allowed":
            return None
        case "beyond_vocabulary":
            return "no such token"
        case "not_text":
            only = show_control(verdict.control)
            return shorten(f"expects {only}", MOST) if only else "special token"
        case "empty_token":
            return "writes nothing"
        case "end_of_text":
            return "not complete"
        case "dead_end":
            return "cannot finish"
        case "filtered":
            refusal = verdict.refusal
            return (refusal.short if refusal is not None else "") or "another spelling"
        case "constraint":
            return _constraint(verdict)


def _constraint(verdict: Verdict) -> str:
    expected = verdict.expected_chars
    begun = f"{_offered(verdict)}: " if verdict.byte_offset else ""
    if verdict.mark == "id" and not verdict.expected:
        return shorten(f"{begun}expects {show_control(verdict.control)}", MOST)
    if not verdict.expected:
        return "must end here" if begun or verdict.may_end else "no text begins so"
    words = show_characters(expected) if expected.ranges else _bytes(verdict.expected)
    return shorten(f"{begun}expects {words}", MOST)


def _offered(verdict: Verdict) -> str:
    """The character that fails, or its byte if the token does not hold the whole character."""
    written = verdict.prefix + (verdict.data or b"")
    rest = written[verdict.char_begin :][:4]
    for end in range(1, len(rest) + 1):
        try:
            return character_text(ord(rest[:end].decode()))
        except (UnicodeDecodeError, TypeError):
            continue
    return byte_text(verdict.failing_byte or 0)


def _bytes(expected: bytes) -> str:
    shown = " ".join(byte_text(byte) for byte in expected[:3])
    return f"{shown} …" if len(expected) > 3 else shown


@dataclass(frozen=True, eq=False)
class Grouped:
    """The reasons at one position as the page shows them, including the token budget.

    Args:
        packet: The values that are shown: ``width``, ``allowed``, ``z`` and ``groups``, heaviest
            first.
        members: uint8[width], one more than the number of an id's group; 0 for allowed ids.
    """

    packet: dict[str, object]
    members: NDArray[np.uint8]


def grouped(
    reasons: MaskReasons, mask: NDArray[np.bool_], probabilities: NDArray[np.floating] | None
) -> Grouped:
    """The reasons for the page; tokens that only the token budget masks are a separate group.

    The counts of the groups and of the allowed ids add up to the width, and their probabilities
    to 1.

    Args:
        mask: bool[ids], the mask at the position.
        probabilities: float[width], the model's; ``None`` if they are not known.

    Example:
        >>> import explorer
        >>> from explorer.analysis import explain_all
        >>> vocab = explorer.Vocabulary.from_bytes([b"1", b"-", b"a", b"bc"], eos_ids=[4])
        >>> dfa = explorer.compile(explorer.regex("[0-9]-[0-9]"), vocab)
        >>> found = grouped(explain_all(dfa, dfa.start), dfa.allowed(dfa.start), None)
        >>> found.members.tolist()
        [0, 3, 1, 1, 2]
    """
    members = (reasons.group + 1).astype(np.uint8)
    groups = [
        {
            "reason": group.reason,
            "count": group.count,
            "mass": group.mass,
            "examples": list(group.examples),
        }
        for group in reasons.groups
    ]
    kept = np.zeros(len(members), np.bool_)
    size = min(len(mask), len(members))
    kept[:size] = mask[:size]
    late = np.flatnonzero((members == 0) & ~kept)
    z = reasons.z
    if len(late):
        weights = None if probabilities is None else np.asarray(probabilities)[late]
        mass = None if weights is None else float(weights.sum())
        order = late if weights is None else late[np.argsort(-weights, kind="stable")]
        groups.append(
            {
                "reason": "would not be complete within the token budget",
                "count": len(late),
                "mass": mass,
                "examples": order[:EXAMPLES].tolist(),
            }
        )
        members[late] = len(groups)
        z = None if z is None or mass is None else z - mass
    packet: dict[str, object] = {
        "width": len(members),
        "allowed": int((members == 0).sum()),
        "z": z,
        "groups": groups,
    }
    return Grouped(packet, members)


MOST_PARTS: Final = 3
"""The most parts of a constraint's source that are shown."""

MOST_BYTES: Final = 96
"""The most bytes of a token that are shown."""


def verdict_packet(explanation: Explanation) -> dict[str, object]:
    """The verdict on a token, without the parts that need a search.

    Returns:
        Plain values for JSON. ``failed_at`` is an offset into ``bytes``, ``None`` if no byte fails;
        ``allowed`` is the bit of the mask, including the token budget.

    Example:
        >>> import explorer
        >>> toy = [b"f", b"oo", b"foo", b"for", b"food"]
        >>> vocab = explorer.Vocabulary.from_bytes(toy, eos_ids=[5])
        >>> dfa = explorer.compile(explorer.regex("(foo)+d"), vocab)
        >>> packet = verdict_packet(explorer.explain(dfa, dfa.walk([2])[-1], 3))
        >>> packet["sentence"], packet["failed_at"], packet["parts"][0]["spans"]
        ("It starts well: 'fo'. Then the constraint expects o; this token writes r.", 2, [[3, 4]])
    """
    verdict = explanation.verdict
    data = (verdict.data or b"")[:MOST_BYTES]
    over = explanation.over_budget
    # If the constraint allows the token but the budget does not, the budget is the reason.
    said = explanation.prose if over is None or not verdict.allowed else budget_sentence(over)
    return {
        "token": explanation.token,
        "stage": explanation.stage,
        "allowed": explanation.allowed and explanation.over_budget is None,
        "over_budget": explanation.over_budget is not None,
        "message": explanation.message,
        "sentence": said,
        "notes": _notes(explanation),
        "bytes": list(data),
        "failed_at": explanation.byte_offset,
        "spans": [list(span) for span in explanation.spans],
        "parts": [
            {
                "role": part.role,
                "pattern": marked.text,
                "spans": [list(span) for span in marked.spans],
                "label": next((place.label for place in part.positions if place.label), ""),
            }
            for part in explanation.parts
            for marked in part.marked
        ][:MOST_PARTS],
    }


def _notes(explanation: Explanation) -> list[str]:
    """Remarks that need no search: half a character, ids with the same bytes."""
    notes: list[str] = []
    data = explanation.verdict.data
    if data and (half := half_characters(data)):
        notes.append(f"Its bytes are {show_bytes(data[:8])}: {half}.")
    if explanation.same_bytes:
        ids = ", ".join(map(str, explanation.same_bytes[:8]))
        noun = "id" if len(explanation.same_bytes) == 1 else "ids"
        notes.append(f"The same bytes are also {noun} {ids}.")
    return notes


def more_packet(explanation: Explanation) -> dict[str, object]:
    """The parts that need a search.

    Returns:
        Plain values for JSON. ``cause``: its words, or ``None``. ``after``: the ids after which the
        token is allowed; ``None`` if it never is from here; empty if the cause is not about
        something missing, or if the token's first bytes are read here, because after them the
        token would mean something else. ``earlier``, ``nearest`` and, for an allowed token,
        ``completion``. ``stopped``: sentences about searches that stopped at a limit without a
        result.
    """
    stopped = explanation.stopped
    earlier = explanation.earlier
    completion = None if stopped else explanation.completion
    after = None if stopped else explanation.after
    cause = explanation.cause
    said = cause.change if cause is not None and cause.is_everyday else None
    if said is not None and (not said.missing or explanation.byte_offset):
        after = ()
    text = explanation.stage in ("constraint", "dead_end", "end_of_text")
    return {
        "cause": None if cause is None else cause.to_dict(),
        "after": list(after) if after is not None else None,
        "nowhere": after is None and text and not stopped,
        "stopped": list(stopped),
        "earlier": None
        if earlier is None or explanation.allowed
        else {"position": earlier.position, "chosen": earlier.chosen},
        "nearest": [] if explanation.allowed else list(explanation.nearest),
        "completion": None
        if completion is None
        else {
            "tokens": list(completion.tokens),
            "text": show_text(completion.text),
            "forced": show_text(completion.forced) if completion.forced else "",
        },
    }


NAMES: Final[Mapping[str, str]] = {
    "whitespace_loop": "White space for ever",
    "endless": "No limit to its length",
    "shared_first_token": "Choices share a first token",
    "byte_by_byte": "A character in parts",
    "visited_only": "Not all states were looked at",
    "tiny_mass": "The model means something else",
    "greedy_trap": "Greedy trap",
    "prompt_boundary": "The prompt ends inside a token",
    "unlikely_end": "The end is never likely",
}
"""The heading of each kind of trap."""

SHOWN: Final = 8
"""The most values of a list of evidence that are shown."""

_LABELS: Final[Mapping[str, str]] = {
    "log_prob": "its log-probability, nats",
    "may_end": "may the text end there?",
    "only_whitespace": "is only white space allowed?",
    "share_of_mask": "share of the mask",
    "wished": "the model's first choice after it",
    "z": "feasible mass",
    "z_after": "feasible mass after it",
}
_TOKENS: Final = frozenset({"token", "tokens", "wished"})
_SAID: Final = frozenset({"what", "traps", "places"})
"""Evidence that is in the message of a trap already."""


def trap_packet(trap: Trap, machine: TokenMachine) -> dict[str, object]:
    """A trap as plain values for JSON.

    Args:
        machine: Its machine; a token state is named as it is drawn, by its character state.

    Returns:
        ``facts`` are the evidence: each has a ``label`` and either ``tokens`` (ids) or ``text``.

    Example:
        >>> import explorer
        >>> from explorer.analysis import machine_traps
        >>> vocab = explorer.Vocabulary.from_bytes([b" ", b"x"], eos_ids=[2])
        >>> dfa = explorer.compile(explorer.regex(" *x"), vocab)
        >>> packet = trap_packet(machine_traps(dfa)[0], dfa)
        >>> packet["title"], packet["facts"][-1]
        ('White space for ever', {'label': 'tokens', 'tokens': [0]})
    """
    return {
        "kind": trap.kind,
        "title": NAMES[trap.kind],
        "message": trap.message,
        "remedy": trap.remedy,
        "position": trap.position,
        "facts": [
            _fact(name, value)
            for name, value in {**trap.evidence, **_drawn(trap, machine)}.items()
            if value not in ((), "") and name not in _SAID
        ],
    }


def _drawn(trap: Trap, machine: TokenMachine) -> dict[str, object]:
    """The states of the evidence with their numbers in the pictures; dots have no number."""
    states = trap.evidence.get("states")
    if not isinstance(states, tuple):
        return {}
    named = character_view(machine).arcs
    chars = {machine.byte_state(state) for state in cast("tuple[int, ...]", states)}
    return {"states": tuple(sorted(char for char in chars if char in named))}


def _fact(name: str, value: object) -> dict[str, object]:
    label = _LABELS.get(name, name.replace("_", " "))
    values = list(cast("Iterable[object]", value)) if isinstance(value, tuple) else [value]
    if name in _TOKENS:
        return {"label": label, "tokens": values[:SHOWN]}
    shown = ", ".join(map(_text, values[:SHOWN]))
    return {"label": label, "text": f"{shown}, …" if len(values) > SHOWN else shown}


def _text(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3g}"
        case bytes():
            return repr(value)[1:]
        case str():
            return repr(value)
        case _:
            return str(value)
