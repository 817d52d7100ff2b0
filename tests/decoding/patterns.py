"""Random patterns that `re` reads as we do, for sweeps over (pattern, seed)."""

from __future__ import annotations

import random

ATOMS = [
    "[a-f]", "[0-9]", r"\d", "[^a-z]", "yes", "no", "foo", "é", "[éü王]", r"\.", '"', "-", "[A-Z]",
    r"[\w ]", "(?i:ok)", "food",
]  # fmt: skip
REPEATS = ["*", "+", "?", "{2}", "{1,3}", "{0,4}"]


def random_pattern(draw: random.Random, depth: int = 3) -> str:
    """A pattern of a few atoms."""
    kind = draw.random()
    if depth == 0 or kind < 0.25:
        return draw.choice(ATOMS)
    if kind < 0.6:
        return "".join(random_pattern(draw, depth - 1) for _ in range(draw.randint(2, 3)))
    inner = random_pattern(draw, depth - 1)
    if kind < 0.8:
        return f"({inner}|{random_pattern(draw, depth - 1)})"
    return f"({inner}){draw.choice(REPEATS)}"
