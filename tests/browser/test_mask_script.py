"""The mask's script by itself, in a page that holds nothing else, compared with numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from widgets.views import bundle

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def masks(bare: Page) -> Page:
    bare.add_script_tag(content=bundle.script("mask"))
    return bare


MACHINE = "const machine = {classOf: Uint32Array.from(classOf), num_classes: n, key: 'k'};"


def by_class(class_of: np.ndarray) -> list[int]:
    """The ids by class: EOS (1) first, then the largest, the dead class (0) last."""
    sizes = np.bincount(class_of)
    rank = [(c == 0, c != 1, -int(size), c) for c, size in enumerate(sizes)]
    return sorted(range(len(class_of)), key=lambda token: (rank[class_of[token]], token))


def test_by_class_the_end_comes_first_and_the_dead_last(masks: Page) -> None:
    draw = np.random.default_rng(2)
    class_of = draw.integers(0, 40, 3000)
    found = masks.evaluate(
        f"([classOf, n]) => {{ {MACHINE} return [...tokenOrder(machine, 'class')]; }}",
        [class_of.tolist(), 40],
    )
    assert found == by_class(class_of)


def test_few_allowed_cells_are_found_and_many_are_left_as_they_are(masks: Page) -> None:
    found = masks.evaluate(
        """() => {
            const some = new Set([3, 4, 9, 10, 11, 57]);
            const long = new Set(Array.from({length: 30}, (_, i) => 100 + i));
            return [lonely(500, 10, (i) => some.has(i)), lonely(500, 100, (i) => long.has(i)),
                    lonely(5000, 100, (i) => i % 2)];
        }"""
    )
    # A run ends with its line.
    assert found == [[[3, 2], [9, 1], [10, 2], [57, 1]], [], []]
