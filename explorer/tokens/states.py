"""The names of the states that are not in the machine, and of the classes that always exist.

A decoding state is an int. A state of the token DFA is 0 or more; the three others are
negative, each with one meaning, and are compared, never used as an index.
"""

from __future__ import annotations

from typing import Final

DEAD: Final = -1
"""No continuation: every token is masked. The table's entry where a token is not allowed."""

DONE: Final = -2
"""The text is complete and its end was written: only EOS again, staying here."""

FREE: Final = -3
"""No constraint: every id of the vocabulary is allowed, staying here."""

DEAD_CLASS: Final = 0
"""The class of tokens that no state allows, ids that are not text included."""

EOS_CLASS: Final = 1
"""The class of the ids that end the text."""

NUM_FIXED_CLASSES: Final = 2
