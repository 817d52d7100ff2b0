"""The number of examples of a property: few in each run, many in ``make test-long``.

`EXPLORER_LONG_EXAMPLES` is the number of a long run for a property that asks for nothing else. One
whose examples are cheap or dear asks for its own number, and gets as many times more in a long run.
"""

from __future__ import annotations

import os
from typing import Final

LONG: Final = int(os.environ.get("EXPLORER_LONG_EXAMPLES") or 0)
"""Examples of a property in a long run; 0 in a short one."""

SHORT: Final = 40
"""Examples of a property in a short run. The mutants of the oracles are found with as many."""


def examples(number: int) -> int:
    """The examples of a property in this run.

    Args:
        number: The examples of a short run.
    """
    return max(1, number * LONG // SHORT) if LONG else number
