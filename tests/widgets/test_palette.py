"""The colours stay apart for people who see fewer of them, and no meaning hangs on a colour alone.

Dichromacy is simulated with the matrices of Machado, Oliveira and Fernandes (2009) at full
severity, on linear RGB; distances are those of CIE 1976, where about 2.3 can just be seen.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path

import pytest

from widgets.figures.drawing import svg
from widgets.lessons import TokenRow, bar_picture, token_picture

CSS = (Path(__file__).parents[2] / "widgets" / "static" / "explorer.css").read_text("utf-8")
SEEN = {
    "everything": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}  # fmt: skip
THEMES = ("light", "dark")


def palette(theme: str) -> dict[str, str]:
    """The colours of a theme by name; the first block of the style sheet is the light one."""
    blocks = [dict(re.findall(r"--lmx-(\w+):\s*(#\w{6})", block)) for block in CSS.split("}")]
    found = [block for block in blocks if {"ok", "no", "now"} <= set(block)]
    assert len(found) >= 2
    return found[THEMES.index(theme)]


def lab(colour: str, seen: str) -> tuple[float, float, float]:
    """A colour as CIE L*a*b*, D65, as a given person sees it."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    r, g, b = (
        min(1.0, max(0.0, sum(m * v for m, v in zip(row, linear, strict=True))))
        for row in SEEN[seen]
    )
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def apart(one: str, other: str, seen: str) -> float:
    """The distance of two colours as a given person sees them."""
    return math.dist(lab(one, seen), lab(other, seen))


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("theme", THEMES)
def test_allowed_masked_and_current_stay_apart(theme: str, seen: str) -> None:
    of = palette(theme)
    assert apart(of["ok"], of["no"], seen) > 70
    assert apart(of["ok"], of["now"], seen) > 70
    # Amber and red are close for some: masked marks are dashed or hatched as well, see below.
    assert apart(of["no"], of["now"], seen) > 14
    assert apart(of["ok"], of["soft"], seen) > 17
    assert apart(of["no"], of["soft"], seen) > 50
    assert apart(of["nowbg"], of["panel"], seen) > 16
    assert apart(of["okbg"], of["nobg"], seen) > 15


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("theme", THEMES)
def test_more_surprise_is_darker_or_lighter_for_everybody(theme: str, seen: str) -> None:
    """The purple of surprisal is read by its lightness; it never says allowed or masked."""
    of = palette(theme)
    lightness = [lab(of[f"s{k}"], seen)[0] for k in range(1, 5)]
    steps = [b - a for a, b in pairwise(lightness)]
    assert all(step < -3 for step in steps) or all(step > 3 for step in steps)


def test_the_simulation_makes_known_pairs_alike() -> None:
    assert apart("#ff0000", "#00ff00", "everything") > 150
    assert apart("#d04020", "#7a7a00", "everything") > 60
    assert apart("#d04020", "#7a7a00", "deuteranopia") < 5
    assert apart("#ffffff", "#ffffff", "tritanopia") == 0


@pytest.mark.parametrize(
    ("mark", "rule"),
    [
        (r"\.lmx-row\.masked \.pair b", "repeating-linear-gradient"),  # A masked bar is hatched,
        (r"\.lmx-row\.masked \.lmx-tok", "0 3px 0 var(--lmx-no)"),  # its token underlined,
        (r"\.lmx \.lmx-cell", "repeating-linear-gradient"),  # and its cell in the mask hatched.
        (r"\.lmx \.a\.no:not\(\.go\) \.line", "stroke-dasharray"),  # Masked arcs are dashed,
        (r"\.lmx \.n\.ko circle", "stroke-dasharray"),  # a state where a token fails is dotted,
        (r"\.lmx \.n\.now circle", "stroke-width: 2.4"),  # the current one has a thick ring,
        (r"\.lmx \.n\.ghost circle", "stroke-dasharray"),  # a lost one a dashed ring.
        (r"[^{}]*\.before", "stroke-dasharray"),  # The model's own line over time is dashed.
    ],
    ids=["bar", "token", "cell", "arc", "failing", "current", "ghost", "line"],
)
def test_what_a_colour_says_a_mark_says_too(mark: str, rule: str) -> None:
    assert any(rule in block for block in re.findall(rf"{mark}[^{{}}]*\{{([^}}]*)\}}", CSS))


@pytest.mark.parametrize("sign", ["forced", "intervention", "rejected", "user"])
def test_what_a_token_box_says_by_colour_it_says_by_a_sign(sign: str) -> None:
    legend = (Path(__file__).parents[2] / "widgets" / "static" / "legend.js").read_text("utf-8")
    found = re.search(rf'^  {sign}: \["([^"]+)"', legend, re.MULTILINE)
    assert found is not None and not found[1].isalnum()


def test_pictures_have_the_dark_colours_of_the_style_sheet() -> None:
    light, dark = palette("light"), palette("dark")
    of = {svg.PANEL: "panel", svg.LINE: "line", svg.SOFT: "soft", svg.OK: "ok"}
    of |= {svg.OK_PAPER: "okbg", svg.NO_PAPER: "nobg", svg.NOW_PAPER: "nowbg"}
    of |= {shade: f"s{k}" for k, shade in enumerate(svg.SHADES) if k}
    assert {colour: light[name] for colour, name in of.items()} == {colour: colour for colour in of}
    assert {colour: svg.DARK[colour] for colour in of} == {c: dark[name] for c, name in of.items()}
    assert (svg.DARK[svg.NO], svg.DARK[svg.NOW]) == (dark["no"], dark["now"])


def test_a_picture_names_a_dark_colour_for_each_that_it_uses() -> None:
    """Under the two conditions: the reader's system for a file, JupyterLab's theme for a page."""
    row = TokenRow("a", ("b", "c"), end="refused", masked=True, shades=(1.0, 8.0))
    for drawn in (token_picture("Two", [row]).svg, bar_picture("Bars", {"x": (1, 2)}, "ab").svg):
        sheet, _, content = drawn.partition("</style>")
        used = set(re.findall(r'(?:fill|stroke)="(#\w{6})"', content))
        assert used <= set(svg.DARK)
        for colour in used:
            assert sheet.count(f'"{colour}"]') >= 2
        assert sheet.count("prefers-color-scheme:dark") == 1
