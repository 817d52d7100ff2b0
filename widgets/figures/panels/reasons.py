"""Why tokens are masked: one in two or three words, and all of them in a dozen groups.

The whole reason is `explorer.analysis`'s. For the end of a bar only the verdict is asked, which
takes microseconds, and said as briefly as a column of 104 pixels allows: ``r: expects o``,
``not complete``. The groups go beside the mask; the group of each id is a byte, sent only when
someone wants to see a group's tokens (34 kB at 131,072 ids).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.analysis import MaskReasons
from explorer.analysis.characters.display import show_characters
from explorer.analysis.explaining.groups import EXAMPLES
from explorer.analysis.verdict.background import background_of
from explorer.analysis.verdict.verdict import Verdict, judge
from explorer.tokens.machine import TokenMachine
from widgets.figures.drawing.labels import byte_text, character_text, shorten

MOST: Final = 36
"""The longest short reason, in characters; the page wraps it."""


def short_reason(machine: TokenMachine, state: int, token: int, prefix: bytes) -> str | None:
    """The reason for a masked token, or ``None`` for an allowed one.

    Args:
        machine: The token machine.
        state: The state.
        token: An id.
        prefix: The text so far, in bytes.

    Example:
        >>> import explorer
        >>> toy = [b"f", b"oo", b"foo", b"for", b"food"]
        >>> vocab = explorer.Vocabulary.from_bytes(toy, eos_ids=[5])
        >>> dfa = explorer.compile(explorer.regex("(foo)+d"), vocab)
        >>> [short_reason(dfa, dfa.walk([2])[-1], token, b"foo") for token in (3, 5, 1, 0)]
        ['r: expects o', 'not complete', 'expects d or f', None]
    """
    return in_short(judge(background_of(machine), state, token, prefix))


def in_short(verdict: Verdict) -> str | None:
    """A verdict in two or three words; ``None`` for an allowed token."""
    match verdict.stage:
        case "allowed":
            return None
        case "beyond_vocabulary":
            return "no such token"
        case "not_text":
            return "special token"
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
    if not verdict.expected:
        return "must end here"
    if verdict.byte_offset == 0:
        words = show_characters(expected) if expected.ranges else _bytes(verdict.expected)
        return shorten(f"expects {words}", MOST)
    words = show_characters(expected) if expected.ranges else _bytes(verdict.expected)
    return shorten(f"{_offered(verdict)}: expects {words}", MOST)


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
    """The reasons at one position as the page shows them, the token budget included.

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
    """Reasons for the page: what the token budget takes is a group of its own.

    Counts of the groups and the allowed ids are the width, and their probabilities are all of it.

    Args:
        reasons: Of the constraint.
        mask: bool[ids], what the mask allows there.
        probabilities: float[width], the model's; ``None`` where it is not known.

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
