"""The explanation as the page shows it: the verdict at once, the rest when it has been found.

The verdict has what the panel opens with: a sentence for a person, the token's bytes with the one
that fails, and the parts of the pattern that expect something else. What must be searched for comes
in a second packet, and the change of the pattern, which is proved by compiling it, in a third.

Cost: the verdict under a millisecond; the second some tens; the third up to four compilations.
"""

from __future__ import annotations

from typing import Final

from explorer.analysis import Explanation
from explorer.analysis.characters.display import half_characters, show_bytes, show_text
from explorer.languages.sources.registry import name_of
from explorer.languages.stages.staged import unstaged

MOST_PARTS: Final = 3
"""How many parts of a constraint's source are shown."""

MOST_BYTES: Final = 96
"""How many bytes of a token are shown."""


def verdict_packet(found: Explanation) -> dict[str, object]:
    """The verdict on a token, without what must be searched for.

    Args:
        found: The explanation.

    Returns:
        Plain values for JSON. ``failed_at`` is an offset into ``bytes``, ``None`` where no byte
        fails; ``allowed`` is what the mask says, the token budget included.

    Example:
        >>> import explorer
        >>> toy = [b"f", b"oo", b"foo", b"for", b"food"]
        >>> vocab = explorer.Vocabulary.from_bytes(toy, eos_ids=[5])
        >>> dfa = explorer.compile(explorer.regex("(foo)+d"), vocab)
        >>> packet = verdict_packet(explorer.explain(dfa, dfa.walk([2])[-1], 3))
        >>> packet["sentence"], packet["failed_at"], packet["parts"][0]["spans"]
        ("It starts well: 'fo'. Then the constraint expects o; this token writes r.", 2, [[3, 4]])
    """
    verdict = found.verdict
    data = (verdict.data or b"")[:MOST_BYTES]
    return {
        "token": found.token,
        "stage": found.stage,
        "allowed": found.allowed and found.over_budget is None,
        "over_budget": found.over_budget is not None,
        "message": found.message,
        "sentence": found.prose,
        "notes": _notes(found),
        "bytes": list(data),
        "failed_at": found.byte_offset,
        "spans": [list(span) for span in found.spans],
        "parts": [
            {"role": part.role, "pattern": marked.text, "spans": [list(s) for s in marked.spans]}
            for part in found.parts
            for marked in part.marked
        ][:MOST_PARTS],
    }


def _notes(found: Explanation) -> list[str]:
    """Remarks that need no search: half a character, ids with the same bytes."""
    notes: list[str] = []
    data = found.verdict.data
    if data and (half := half_characters(data)):
        notes.append(f"Its bytes are {show_bytes(data[:8])}: {half}.")
    if found.same_bytes:
        ids = ", ".join(map(str, found.same_bytes[:8]))
        noun = "id" if len(found.same_bytes) == 1 else "ids"
        notes.append(f"The same bytes are also {noun} {ids}.")
    return notes


def more_packet(found: Explanation) -> dict[str, object]:
    """The parts that must be searched for, without the change of the pattern.

    Args:
        found: The explanation.

    Returns:
        Plain values for JSON: ``after`` (ids; ``None``: never from here), ``earlier``, ``nearest``
        and, for an allowed token, ``completion``; ``stopped``, the sentences about searches that
        stopped at a limit, of which nothing is known.
    """
    stopped = found.stopped
    earlier = found.earlier
    completion = None if stopped else found.completion
    after = None if stopped else found.after
    text = found.stage in ("constraint", "dead_end", "end_of_text")
    return {
        "after": list(after) if after is not None else None,
        "nowhere": after is None and text and not stopped,
        "stopped": list(stopped),
        "earlier": None
        if earlier is None or found.allowed
        else {"position": earlier.position, "chosen": earlier.chosen},
        "nearest": [] if found.allowed else list(found.nearest),
        "completion": None
        if completion is None
        else {
            "tokens": list(completion.tokens),
            "text": show_text(completion.text),
            "forced": show_text(completion.forced) if completion.forced else "",
        },
    }


def widening_packet(found: Explanation) -> dict[str, object] | None:
    """The smallest change of the pattern that lets the token through, proved by compiling it.

    Args:
        found: The explanation.

    Returns:
        ``None`` if there is none. ``whole`` tells whether the changed pattern is the whole
        constraint, so that it can be used in its place.
    """
    change = found.widening
    if change is None:
        return None
    return {
        "from": change.pattern[change.start : change.end],
        "to": change.replacement,
        "changed": change.changed,
        "whole": unstaged(change.constraint.source).text == change.changed,
        "kind": name_of(unstaged(change.constraint.source)),
    }
