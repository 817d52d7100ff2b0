"""The names of the states that are not in the machine, and of the classes that always exist.

A decoding state is an int. A state of the token DFA is 0 or more; the three others are
negative, each with one meaning, and are compared, never used as an index.
"""

from __future__ import annotations

from typing import Final

from explorer.arguments import shown, whole_number
from explorer.errors import ExplorerError

DEAD: Final = -1
"""No continuation: every token is masked. The table's entry where a token is not allowed."""

DONE: Final = -2
"""The text is complete and its end was written: only EOS again, staying here."""

FREE: Final = -3
"""No constraint: every id of the vocabulary is allowed, staying here."""

SENTINEL_DISTANCE: Final[dict[int, int | None]] = {DEAD: None, DONE: 0, FREE: 1}
"""The fewest tokens from a sentinel to the end of the text, EOS included; ``None`` for no way."""

DEAD_CLASS: Final = 0
"""The class of tokens that no state allows, ids that are not text included."""

EOS_CLASS: Final = 1
"""The class of the ids that end the text."""

NUM_FIXED_CLASSES: Final = 2


def checked_state(state: int, num_states: int) -> int:
    """A state as a plain int; one that the machine does not have is refused.

    Args:
        state: A state or a sentinel.
        num_states: How many states the machine has, or has met so far.

    Raises:
        ExplorerError: It is not a whole number, or there is no such state.
    """
    if type(state) is not int:  # The plain case comes first: this is asked at every step.
        state = whole_number("state", state, None)
    if 0 <= state < num_states or state in (DEAD, DONE, FREE):
        return state
    known = f"states 0 to {num_states - 1}, " if num_states else ""
    raise ExplorerError(
        f"There is no state {shown(state)}: the machine has {known}"
        f"DEAD ({DEAD}), DONE ({DONE}) and FREE ({FREE}).",
        remedy="Take states from `start` and `step`.",
        evidence={"state": state, "num_states": num_states},
    )
