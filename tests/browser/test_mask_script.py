"""The mask's script by itself, in a page that holds nothing else, compared with numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.evidence import few
from widgets.figures.panels.mask import order_packet, token_order
from widgets.views import bundle

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def masks(bare: Page) -> Page:
    bare.add_script_tag(content=bundle.script("mask"))
    return bare


MACHINE = "const machine = {classOf: Uint32Array.from(classOf), num_classes: n, key: 'k'};"


@pytest.mark.parametrize(("classes", "width"), few([(12, 300), (200, 560), (3000, 300)], 2))
def test_history_columns_against_counting_tokens(masks: Page, classes: int, width: int) -> None:
    draw = np.random.default_rng(classes)
    # Sizes from one token to thousands; class 2 has none, class 0 is the dead.
    class_of = np.repeat(np.arange(classes), np.maximum(1, draw.geometric(0.02, classes)))
    class_of = draw.permutation(np.concatenate([class_of[class_of != 2], np.zeros(5000, int)]))
    columns: list[list[int]] = masks.evaluate(
        f"([classOf, n, width]) => {{ {MACHINE} return historyColumns(machine, width); }}",
        [class_of.tolist(), classes, width],
    )
    assert len(columns) == width and all(columns)
    sizes = np.bincount(class_of, minlength=classes)  # Tokens of each class.
    living = {c for c in range(1, classes) if sizes[c]}
    assert {c for column in columns for c in column} == living
    # In class order, EOS first, the largest next.
    order = list(dict.fromkeys(class_of[token_order("class", class_of)].tolist()))
    place = {c: i for i, c in enumerate(order)}
    flat = [place[c] for column in columns for c in column]
    assert flat == sorted(flat)
    if len(living) < width / 2:
        wide = {c: sum(c in column for column in columns) for c in living}
        for one in living - {1}:
            for other in living - {1}:
                if sizes[one] >= 2 * sizes[other] > 0:
                    assert wide[one] >= wide[other] - 1
    for share in (0.0, 0.01, 0.4, 1.0):
        row = draw.random(classes) < share
        row[0] = False
        shares = masks.evaluate(
            f"""([classOf, n, width, bits]) => {{ {MACHINE}
                const row = new Uint8Array(Math.ceil(n / 8));
                bits.forEach((on, i) => on && (row[i >> 3] |= 128 >> (i & 7)));
                return [...historyShares(machine, historyColumns(machine, width), row)];
            }}""",
            [class_of.tolist(), classes, width, row.tolist()],
        )
        for column, told in zip(columns, shares, strict=True):
            allowed = sizes[column][row[column]].sum()
            assert told == pytest.approx(allowed / sizes[column].sum())
            assert (told > 0) == (allowed > 0)


def test_the_orders_are_those_of_the_figures(masks: Page) -> None:
    draw = np.random.default_rng(2)
    class_of = draw.integers(0, 40, 3000)
    found = masks.evaluate(
        f"([classOf, n]) => {{ {MACHINE} return [...tokenOrder(machine, 'class')]; }}",
        [class_of.tolist(), 40],
    )
    assert found == token_order("class", class_of).tolist()
    logits = draw.normal(0, 5, 70_000).astype(np.float32)
    logits[::7] = -np.inf
    ids, chance = masks.evaluate(
        """async (packet) => {
            const {ids, chance} = await readOrder(packet);
            return [[...ids], [...chance]];
        }""",
        order_packet(logits, 70_000),
    )
    assert ids == np.argsort(-logits, kind="stable").tolist()
    weights = np.exp(logits.astype(np.float64))
    assert chance == pytest.approx((weights / weights.sum()).tolist(), rel=2e-3, abs=1e-300)


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
