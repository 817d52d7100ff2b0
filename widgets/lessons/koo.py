"""The small machines of Koo, Liu and He (2024), Figures 1 to 5 and 9, as values to be compared.

They are written down by hand from what the captions say, so that they are independent of the
engine; the tests compare each of them with what the engine or pynini builds, state by state and
arc by arc. Figures 6 and 7, which have a stack, stand in
`widgets.figures.machines.pushdown_figure`, and `widgets.lessons.stacked` compares them.
"""

from __future__ import annotations

from typing import Final

from explorer.languages.stages.stage import DrawnTransducer
from widgets.lessons.lettered import acceptor

FIGURE_1: Final = {
    "ab": acceptor(3, [(0, "a", 1), (1, "b", 2)], [2]),
    "a(aa)*": acceptor(2, [(0, "a", 1), (1, "a", 0)], [1]),
    "a+|b+": acceptor(3, [(0, "a", 1), (1, "a", 1), (0, "b", 2), (2, "b", 2)], [1, 2]),
}
"""By pattern: the text ab, an odd number of a, and a run of a or a run of b."""

FIGURE_2: Final = (
    acceptor(4, [(0, "a", 1), (1, "a", 1), (0, "a", 2), (2, "b", 3)], [1, 3]),
    acceptor(4, [(0, "a", 1), (1, "a", 2), (2, "a", 2), (1, "b", 3)], [1, 2, 3]),
)
"""``a+|ab`` before and after determinization."""

FIGURE_3: Final = {
    "ab to x": DrawnTransducer(3, ((0, "a", "x", 1), (1, "b", "", 2)), frozenset([2])),
    "an odd number of a to xoxo…x": DrawnTransducer(
        2, ((0, "a", "x", 1), (1, "a", "o", 0)), frozenset([1])
    ),
    "a run of a or b in brackets": DrawnTransducer(
        5,
        (
            (0, "", "[", 1),
            (1, "a", "a", 2),
            (2, "a", "a", 2),
            (1, "b", "b", 3),
            (3, "b", "b", 3),
            (2, "", "]", 4),
            (3, "", "]", 4),
        ),
        frozenset([4]),
    ),
}
"""By what they do."""

FIGURE_4: Final = DrawnTransducer(
    5,
    (
        (0, "f", "f", 0), (0, "", "f", 1), (1, "", "o", 2),
        (2, "foo", "o", 0), (2, "for", "r", 0), (2, "", "o", 3), (3, "food", "d", 0),
        (0, "", "o", 4), (4, "oo", "o", 0),
    ),
    frozenset([0]),
)  # fmt: skip
"""The detokenizing transducer of {f, oo, foo, for, food}, compact: a state is a proper prefix."""

FIGURE_5: Final = acceptor(
    4,
    [
        (0, "f", 1), (0, "foo", 2), (0, "food", 3),
        (1, "oo", 2),
        (2, "f", 1), (2, "foo", 2), (2, "food", 3),
    ],
    [3],
)  # fmt: skip
"""``(foo)+d`` over those tokens: the composition, determinized."""

FIGURE_9: Final = (
    DrawnTransducer(
        9,
        (
            (0, "f", "f", 0),
            (0, "", "o", 1), (1, "oo", "o", 0),
            (0, "", "f", 2), (2, "", "o", 3), (3, "foo", "o", 0),
            (0, "", "f", 4), (4, "", "o", 5), (5, "for", "r", 0),
            (0, "", "f", 6), (6, "", "o", 7), (7, "", "o", 8), (8, "food", "d", 0),
        ),
        frozenset([0]),
    ),
    FIGURE_4,
)  # fmt: skip
"""The same transducer as Algorithm 1 builds it, with three arcs ε : f, and its compact form."""
