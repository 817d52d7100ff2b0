"""Reports, lines, palettes, looks, steps and stacks as views show them."""

from __future__ import annotations

import math
import re
import time
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

import explorer
from explorer.analysis.session import Session
from explorer.decoding.models.load import load_model
from explorer.decoding.models.model import Prompt, Reading
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint, regex
from explorer.languages.grammar.functions import grammar
from explorer.vocabulary import Vocabulary
from tests.decoding.models import hash_model
from tests.widgets.page import Held, Page
from widgets import kinds
from widgets.cursor import MOST_LINES, Cursor
from widgets.figures.drawing import svg
from widgets.lessons import TokenRow, bar_picture, token_picture
from widgets.looks import QUIET_SECONDS, Looks
from widgets.toy import ToyModel, toy_constraint
from widgets.views.explorer import Explorer

# The figures of a sweep: what they say, and no markup of a model in them.


HOSTILE = "</script><img src=x onerror=alert(1)>"


class Loud:
    """A model whose name and prompts are markup."""

    name = "<b>loud</b>"
    vocabulary = hash_model().vocabulary

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        return hash_model().encode_prompt(prompt)

    def read(self, tokens: Any) -> Reading:
        return hash_model().read(tokens)


@cache
def table() -> Any:
    texts = {HOSTILE: explorer.regex("[<>&\"'/a-z]{4,9}"), "digits": explorer.regex("[0-9]{1,9}")}
    bad = explorer.literal("z" * 40)
    return explorer.sweep(
        ["a", HOSTILE], texts | {"never": bad}, Loud(), max_tokens=12
    ).table  # fmt: skip


def said(figure: Any) -> str:
    return f"{figure.layout.title.text}: {figure.layout.title.subtitle.text}"


def test_the_figures_are_those_of_the_table() -> None:
    (first,) = explorer.report(table())
    assert said(first).startswith("Conformance: 4 of 6 rows are texts of their constraint")
    assert "2 failed" in said(first) and "can write no word" in said(first)
    shares = {bar.name: list(bar.x) for bar in first.data}
    assert shares["failed"] == [0.0, 0.0, 1.0]
    for k in range(3):
        assert sum(values[k] for values in shares.values()) == pytest.approx(1)


def test_nothing_of_a_model_is_markup() -> None:
    for figure in explorer.report(table()):
        shown = [said(figure), *figure.layout.yaxis.ticktext, *(bar.name for bar in figure.data)]
        assert "<" not in " ".join(shown)


def test_a_folder_is_reported_like_its_sweep(tmp_path: Path) -> None:
    done = explorer.sweep("a", explorer.regex("[a-z]{3}"), "tiny", folder=tmp_path / "runs")
    assert explorer.report(done) == explorer.report(tmp_path / "runs")


def test_a_table_of_something_else_is_refused() -> None:
    with pytest.raises(ExplorerError, match="no column 'text'"):
        explorer.report(table().drop_columns(["text"]))


# Lines of a cursor: forks, what an edit leaves, another seed, and sampling again.


def test_lines_are_limited_and_reset_forgets_them() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    cursor.step()
    for _ in range(MOST_LINES + 3):
        made = cursor.fork()
        assert cursor.session is made
    assert len(cursor.lines) == MOST_LINES
    with pytest.raises(ExplorerError, match="no line"):
        cursor.switch(MOST_LINES)
    cursor.reset()
    assert len(cursor.lines) == 1
    assert (cursor.session.index, cursor.session.length) == (0, 0)


def test_lines_that_edits_leave_have_names_of_their_own() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    cursor.step()
    cursor.edit(constraint=kinds.constraint_of_kind("regex", "food"))
    cursor.step()
    cursor.edit(constraint=kinds.constraint_of_kind("regex", "(foo)+"))
    cursor.switch(0)
    cursor.edit(constraint=kinds.constraint_of_kind("regex", "ffood"))
    names = [name for name, _ in cursor.lines]
    assert len(set(names)) == len(names)
    assert "line 1 before edit 1" in names and "line 1 before edit 2" in names


def test_a_fork_of_a_line_without_tokens_leaves_no_empty_line() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    assert cursor.fork() is cursor.session
    assert [name for name, _ in cursor.lines] == ["line 1"]
    cursor.step()
    cursor.back()
    cursor.fork()  # There is one ahead, so this is another line.
    assert [session.length for _, session in cursor.lines] == [1, 0]


def test_lines_put_aside_come_back_or_nothing_changes() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    cursor.step()
    cursor.fork()
    lines, kept = cursor.lines, cursor.aside()
    cursor.replace(Session(ToyModel(), toy_constraint()))
    other = cursor.lines
    with pytest.raises(ExplorerError):
        cursor.restore(kept, prompt=cast("str", 7))
    assert cursor.lines == other
    cursor.restore(kept)
    assert (cursor.lines, cursor.current) == (lines, 1)


def test_sampling_again_draws_other_tokens_and_keeps_the_line() -> None:
    made = Explorer("tiny", regex("[a-z ]{20}"), "Once ", sampler=Sampler(1.0), seed=3)
    page = Page(made)
    assert made.sampler["seed"] == 3
    page.ask("run", tokens=64)
    first = made.session.text
    page.ask("reset")
    page.ask("run", tokens=64)
    assert made.session.text == first  # The same numbers, the same text.
    page.ask("again")
    assert (made.session.index, made.sampler["seed"]) == (0, 4)
    page.ask("run", tokens=64)
    second = made.session.text
    assert second != first
    assert [line.text for _, line in made.cursor.lines] == [first, second]
    page.ask("jump", k=2)
    kept = made.session.ids
    page.ask("again")  # From here on, because the text has not ended here.
    assert (made.session.ids, made.session.seed) == (kept, 5)
    assert len(made.cursor.lines) == 3
    made.close()


def test_another_seed_keeps_what_stands_and_counts_from_then_on() -> None:
    made = Explorer("tiny", regex("[a-z ]{20}"), "Once ", sampler=Sampler(1.0))
    page = Page(made)
    page.ask("run", tokens=4)
    page.ask("jump", k=2)
    ids, ahead = made.session.ids, made.session.length
    assert page.ask("sampler", temperature=1.0, seed=9)["ok"]
    assert (made.session.ids, made.session.length, made.sampler["seed"]) == (ids, ahead, 9)
    page.ask("reset")
    page.ask("run", tokens=64)
    wanted = explorer.Session(
        load_model("tiny"), regex("[a-z ]{20}"), "Once ", sampler=Sampler(1.0), seed=9
    )
    wanted.run(64)
    assert made.session.ids == wanted.ids
    assert not page.ask("sampler", temperature=1.0, seed=-1)["ok"]
    assert Explorer(seed=2**60).sampler["seed"] == str(2**60)
    made.close()


def test_tokens_that_cannot_all_follow_change_nothing() -> None:
    """A masked token midway: neither the kernel nor the page moves."""
    page = Page(Explorer())
    page.ask("step")
    cursor, before = page.made.cursor, page.made.cursor.session
    answer = page.ask("follow", tokens=[2, 3])  # foo is allowed after foo, for is not.
    assert not answer["ok"]
    assert (cursor.session, cursor.session.text, len(cursor.lines)) == (before, "foo", 1)
    assert page.line["index"] == cursor.session.index == page.position["k"] == 1
    assert page.ask("follow", tokens=[2, 4])["ok"]
    assert (cursor.session.text, len(cursor.lines)) == ("foofoofood", 2)
    assert page.line["index"] == page.position["k"] == 3
    page.made.close()


def test_tokens_on_a_fork_of_an_empty_line_replace_it() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    assert cursor.fork([2, 4]).text == "foofood"
    assert cursor.selected is None
    assert [name for name, _ in cursor.lines] == ["line 1"]


def test_a_listener_that_fails_leaves_no_other_behind() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    cursor.subscribe(lambda: [][0])
    page = Page(Explorer(cursor=cursor))
    with pytest.raises(IndexError):
        cursor.step()
    assert page.position["k"] == cursor.session.index == 1
    page.made.close()


@pytest.mark.parametrize("setting", [{"seed": 7}, {"max_tokens": 3}, {"sampler": Sampler(1.0)}])
def test_a_setting_beside_a_cursor_is_refused(setting: dict[str, Any]) -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    with pytest.raises(ExplorerError, match=f"{next(iter(setting))} cannot be given with cursor"):
        Explorer(cursor=cursor, **setting)


# The colours stay apart for people who see fewer of them, and no meaning hangs on a colour alone.
#
# Dichromacy is simulated with the matrices of Machado, Oliveira and Fernandes (2009) at full
# severity, on linear RGB; distances are those of CIE 1976, where about 2.3 can just be seen.


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


# The conditions under which a page looks ahead by itself, or only after a press.


def test_one_slow_look_does_not_end_them_but_two_in_a_row_do() -> None:
    slow, model = QUIET_SECONDS + 0.1, Held()
    session, looks = Session(model, toy_constraint()), Looks()
    taken = list[bool]()
    for seconds in (slow, 0.0, slow, slow, 0.0):
        model.before = partial(time.sleep, seconds)
        taken.append(looks.ahead(session, asked=False) is not None)
        model.before = None
        session.step(token=2)  # foo, again and again.
    assert taken == [True, True, True, True, False]
    assert looks.seconds > QUIET_SECONDS


# The figure of one step, against the trace and the look ahead.


STOPS = explorer.choice([" New York", " Boston"])


def night() -> Explorer:
    return Explorer("tiny", STOPS, "The night train stops at")


def test_the_bars_are_those_of_the_position() -> None:
    view = night()
    figure = view.figure("step")
    model, kept, ahead = figure.data
    session = view.session
    names = list(figure.layout.yaxis.ticktext)
    here = session.position.distribution
    assert here is not None and len(names) == len(model.x) == len(kept.x)
    by_token = {entry.token: entry for entry in session.ahead()}
    bars = {bar["text"]: bar for bar in view.position["top"]}
    for name, of_model, constrained, hatch in zip(
        names, model.x, kept.x, model.marker.pattern.shape, strict=True
    ):
        bar = bars[re.sub(r" \(\d+\)$", "", name)]
        assert of_model == pytest.approx(bar["model"], abs=1e-4)
        assert (constrained is None) == (not bar["allowed"]) == (hatch == "/")
    new = names.index("␣New")
    token = session.vocabulary.ids_of(b" New")[0]
    mass = by_token[token].mass
    assert mass is not None and ahead.x[new] == mass < 0.01
    assert "feasible mass 0.7" in figure.layout.title.text or "mass 0.8" in figure.layout.title.text


# The stack of a grammar on the page: rows, what a token pushes and pops, slow motion, exports.


TOY = Vocabulary.from_bytes([b"a", b"b", b"bb", b"aaab"], eos_ids=[4])
NESTED = grammar('root ::= "a" root "b" | ""')
SUMS = grammar('root ::= e\ne ::= "(" e ")" | t ("+" t)*\nt ::= [0-9]+')


def run(constraint: Constraint, ids: list[int], vocabulary: Vocabulary = TOY) -> Explorer:
    return Explorer(cursor=Cursor(Session.from_ids(vocabulary, constraint, ids)))


def stack(shown: Explorer, k: int) -> dict[str, Any]:
    shown.cursor.jump(k)
    return shown.position["stack"]


def test_what_a_token_pushes_and_pops() -> None:
    shown = run(NESTED, [0, 3, 2, 1, 4])
    every = [stack(shown, k) for k in range(5)]
    told = [(s["symbols"], s["pushed"], s.get("gone", 0)) for s in every]
    # a · aaab · bb · b: the first a has no rule around it, so it pushes nothing.
    assert told == [(0, 0, 0), (0, 0, 0), (2, 2, 0), (0, 0, 2), (0, 0, 0)]
    assert [row["rule"] for row in stack(shown, 3)["popped"]] == ["root", "root"]
    rows = stack(shown, 2)["rows"]
    assert [row["expects"] for row in rows] == ["b", "b", "b"]
    assert [row["read"] for row in rows] == ["aab", "aaab", "aaaab"]
    assert "ended" in stack(shown, 5)["said"]
    shown.close()


def test_a_row_is_the_rule_as_it_was_written() -> None:
    vocabulary = Vocabulary.from_bytes([b"(", b")", b"12", b"+"], eos_ids=[4])
    shown = run(SUMS, [0, 0, 2], vocabulary)
    rows = stack(shown, 3)["rows"]
    pieces = [row["text"][slice(*row["call"])] if row["call"] else None for row in rows]
    assert [row["rule"] for row in rows] == ["t", "e", "e", "e", "root"]
    assert [row["text"] for row in rows] == ["[0-9]+", 't ("+" t)*', '"(" e ")"', '"(" e ")"', "e"]
    assert pieces == [None, "t", "e", "e", "e"]
    # The next byte is for the number, for the sum around it, or for the bracket around that.
    assert stack(shown, 3)["live"] == 3
    source = SUMS.source.text
    for row in rows:
        (start, end), *_ = row["spans"]
        assert source[start:end] == row["text"]
    shown.close()


def test_slow_motion_shows_the_stack_after_every_byte() -> None:
    shown = run(NESTED, [3, 1, 4])
    shown.cursor.jump(0)
    walk = Page(shown).ask("walk", token=3)["walk"]
    steps = walk["stack"]["steps"]
    assert [(s["open"], s["pushed"], s["gone"]) for s in steps] == [
        (1, 0, 0), (2, 1, 0), (3, 1, 0), (2, 0, 1),
    ]  # fmt: skip
    whole = stack(shown, 1)
    last = [walk["stack"]["rows"][i] for i in steps[-1]["rows"]]
    assert last == whole["rows"]
    # A token that fails has the stacks of the bytes that can be read.
    shown.cursor.jump(2)
    masked = Page(shown).ask("walk", token=2)["walk"]
    assert masked["failed_at"] == 1 and len(masked["stack"]["steps"]) == 1
    shown.close()


def test_a_deep_stack_is_sent_in_part() -> None:
    shown = run(NESTED, [0] * 40)
    found = stack(shown, 40)
    assert found["open"] == 40 and found["symbols"] == 39
    assert len(found["rows"]) == 12 and found["hidden"] == 28
    assert found["rows"][-1]["read"].startswith("…")
    assert len(found["tree"]) <= 62
    shown.close()


def test_the_tree_has_open_and_closed_rules_with_their_text() -> None:
    vocabulary = Vocabulary.from_bytes([b"(", b")", b"12", b"+"], eos_ids=[4])
    shown = run(SUMS, [0, 2, 3, 2], vocabulary)
    assert stack(shown, 4)["tree"] == [
        [0, "root", True, "(12+12"], [1, "e", True, "(12+12"], [2, "e", True, "12+12"],
        [3, "t", False, "12"], [3, "t", True, "12"],
    ]  # fmt: skip
    shown.close()


def test_every_stack_at_once_has_no_symbols() -> None:
    rules = 'root ::= x | y | ""\nx ::= "a" root "b"\ny ::= "a" root "bb"'
    shown = run(grammar(rules, ambiguous=True), [0, 0, 1])
    found = stack(shown, 3)
    assert found["symbols"] is None and found["several"]
    assert all(row["symbol"] is None for row in found["rows"])
    shown.close()


def test_the_reason_for_a_token_names_the_rule_on_the_stack() -> None:
    vocabulary = Vocabulary.from_bytes([b"(", b")", b"12", b"+", b"x", b")x"], eos_ids=[6])
    shown = run(SUMS, [0, 2], vocabulary)
    shown.cursor.jump(2)
    ask = Page(shown).ask
    told = {token: ask("why", token=token)["explanation"]["stack"] for token in range(6)}
    expects = (
        """After '(12' the rule e → "(" e ")" on the stack expects ')', '+' or 0-9: ')' itself, """
        """'+' in e → t ("+" t)*, a digit 0-9 in t → [0-9]+."""
    )
    assert told[4] == {"sentence": expects, "rows": [0, 1, 2]}  # x: none of the three.
    assert [told[token]["rows"] for token in (1, 2, 3)] == [[2], [0], [1]]
    # After its bracket `)x` is behind the outermost rule.
    assert told[5]["rows"] == []
    assert told[5]["sentence"] == "After '(12)' the rule root → e expects the end."
    shown.close()
