"""Parts of the view in cells of their own, and two sides compared."""

from __future__ import annotations

import base64
import gc
import json
import re
import weakref
import zlib
from pathlib import Path
from typing import Any

import pytest

import widgets
from explorer.analysis.session import Session
from explorer.decoding.models.load import load_model
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from explorer.languages.constraint import regex
from tests.evidence import calls_of
from tests.widgets.page import Page
from widgets.cursor import Cursor
from widgets.lessons.invasive import scheme_texts
from widgets.shown_place import PageData, ShownPlace
from widgets.toy import EOS, ToyModel, toy_constraint
from widgets.views import bundle
from widgets.views.compare import Compare
from widgets.views.explorer import (
    ConstraintEditor,
    Distribution,
    Explorer,
    Machines,
    Mask,
    OverTime,
    Pipeline,
    Reasons,
    SamplerControls,
    Stack,
    Stepper,
    TokenStrip,
)
from widgets.views.view import View

# The parts as widgets of their own: what each sends, and that those on one cursor agree.


PARTS = (
    ConstraintEditor, Distribution, Machines, Mask, OverTime, Pipeline, Reasons, SamplerControls,
    Stack, Stepper, TokenStrip,
)  # fmt: skip
FOO, FOR, FOOD = 2, 3, 4


def ask(view: View, type: str, /, **content: object) -> dict[str, Any]:
    return Page(view).ask(type, **content)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_takes_what_the_explorer_takes(part: type[View]) -> None:
    lm = load_model("tiny")
    made = part(
        lm, regex("[0-9]{4}"), "The year is ", sampler=Sampler(1.0), seed=3, max_tokens=9, top_k=4
    )
    other = Session(
        lm, regex("[0-9]{4}"), "The year is ", sampler=Sampler(1.0), seed=3, max_tokens=9
    )
    for _ in range(2):
        assert ask(made, "step")["ok"]
        other.step()
    assert made.session.ids == other.ids
    assert made.position["k"] == made.line["index"] == 2
    assert made.position["allowed"] == int(other.allowed().sum())
    made.close()


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_exported_and_its_module_stands_alone(part: type[View]) -> None:
    assert getattr(widgets, part.__name__) is part
    packed = re.search(r'atob\("([^"]+)"\)', part.__dict__["_esm"])
    assert packed is not None
    module = zlib.decompress(base64.b64decode(packed[1])).decode()
    assert "import " not in module.split("export default")[0].replace("important", "")
    assert module.rstrip().splitlines()[-1].startswith("export default { render: standalone(")
    assert "renderExplorer" not in module


def test_every_view_is_a_part() -> None:
    modules = {part.__dict__["_esm"] for part in PARTS}
    assert modules == {bundle.module(view) for view in bundle.VIEWS}


def test_only_what_a_page_shows_is_sent() -> None:
    steps, time = Stepper(), OverTime()
    assert not steps.history and not steps.offered
    assert time.history["allowed"] == [3]
    assert steps.editor == steps.sampler == {}
    assert SamplerControls().sampler["temperature"] == 0.0
    assert ConstraintEditor().editor["text"] == "(foo)+d"
    for made in (steps, time):
        made.close()


def test_a_page_that_draws_no_machine_gets_none() -> None:
    mask = Mask()
    bare = ask(mask, "machine", figures=False)["machine"]
    whole = ask(mask, "machine")["machine"]
    assert isinstance(bare, dict)
    assert isinstance(whole, dict)
    assert "layouts" not in bare
    assert {name: whole[name] for name in bare} == bare
    free = Mask(cursor=Cursor(Session(ToyModel(), None)))
    assert ask(free, "machine", figures=False)["machine"] == {"key": ""}


def test_those_on_one_cursor_follow_each_other() -> None:
    steps = Stepper()
    others = [part(cursor=steps.cursor) for part in PARTS]
    whole = Explorer(cursor=steps.cursor)
    ask(steps, "take", token=FOO)
    ask(others[3], "take", token=FOOD)
    for view in (*others, whole):
        assert view.session.ids == (FOO, FOOD)
        assert view.position == steps.position
        assert view.place == steps.place
    alone = Stepper()
    assert (alone.position["k"], alone.place == steps.place) == (0, False)


def test_those_on_one_cursor_share_what_was_written_and_worked_out() -> None:
    editor = ConstraintEditor()
    strip, mask = Mask(cursor=editor.cursor), Explorer(cursor=editor.cursor)
    assert editor.shown is strip.shown
    assert ask(editor, "edit", kind="choices", text="foo\nfood", prompt="")["ok"]
    for view in (mask, editor):
        assert (view.editor["kind"], view.editor["text"]) == ("choices", "foo\nfood")
    assert mask.page_data is strip.page_data


def test_a_place_is_worked_out_once_for_all() -> None:
    steps = Stepper()
    others = [Mask(cursor=steps.cursor), TokenStrip(cursor=steps.cursor)]
    assert calls_of(steps.cursor.step, PageData.position) == 1
    others[0].close()
    steps.cursor.step()
    assert (others[0].position["k"], others[1].position["k"]) == (1, 2)


def test_a_cursor_that_nobody_shows_is_forgotten() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint()))
    place = ShownPlace.of(cursor)
    stop = place.follow(lambda _: None)
    assert ShownPlace.of(cursor) is place
    stop()
    cursor.step()
    gone = weakref.ref(cursor)
    del cursor, place, stop
    gc.collect()
    assert gone() is None


def test_no_text_of_a_script_spans_lines() -> None:
    # Indentation is left out of what travels, so it must not be part of a text.
    scripts = sorted(Path(bundle.__file__).parents[1].glob("static/*.js"))
    assert scripts
    for path in scripts:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert line.count("`") % 2 == 0, (path.name, number)


@pytest.mark.parametrize("part", [*PARTS, Explorer])
def test_a_cursor_is_one_and_stands_alone(part: Any) -> None:
    steps = Explorer()
    for other in (5, "cursor", steps, steps.session):
        with pytest.raises(ExplorerError, match=r"cursor is .*, not a Cursor"):
            part(cursor=other)
    for given, name in (
        ((ToyModel(),), "lm"),
        ((None, regex("a")), "constraint"),
        ((ToyModel(), regex("a"), "b"), "lm and constraint and prompt"),
    ):
        with pytest.raises(ExplorerError, match=f"^{name} cannot be given with cursor="):
            part(*given, cursor=steps.cursor)
    assert part(cursor=steps.cursor).cursor is steps.cursor


@pytest.mark.parametrize("view", bundle.WHOLES)
def test_the_files_of_a_view_declare_each_name_once(view: str) -> None:
    # They are joined into one module, in which a name that is declared twice is an error.
    declared = re.compile(
        r"^(?:export )?(?:async )?(?:const|let|function|class) (\w+)", re.MULTILINE
    )
    parts = bundle.WHOLES[view][1]
    files = [*bundle.EVERY, *parts, view]
    for part in parts:
        files += bundle.VIEWS[part].needs if part in bundle.VIEWS else ()
    names = [
        name
        for file in dict.fromkeys(files)
        for name in declared.findall(bundle.source(f"{file}.js"))
    ]
    assert [name for name in set(names) if names.count(name) > 1] == []


# Two lines side by side: messages in, traits and answers out, held against two sessions.


F, OO, FOO_OF_COMPARE, FOR_OF_COMPARE, FOOD_OF_COMPARE = range(5)
SIDES = ("left", "right")


def places(page: Page) -> tuple[int, int]:
    return page.made.left_position["k"], page.made.right_position["k"]


@pytest.fixture
def page() -> Page:
    return Page(Compare(None, regex("(foo)+d"), regex("foo(foo)?")))


def test_each_line_takes_its_own_tokens_and_one_that_ended_stays(page: Page) -> None:
    sessions = [
        Session(ToyModel(), rule, sampler=Sampler(temperature=0.0))
        for rule in (regex("(foo)+d"), regex("foo(foo)?"))
    ]
    for k in range(1, 6):
        assert page.ask("step")["ok"]
        for side, session in zip(SIDES, sessions, strict=True):
            if not session.finished:
                session.step()
            shown = getattr(page.made, f"{side}_position")
            assert (shown["k"], shown["finished"]) == (session.index, session.finished)
            tokens = getattr(page.made, f"{side}_line")["strip"]["tokens"]
            assert tuple(token["id"] for token in tokens) == session.ids
            if not session.finished:
                assert shown["allowed"] == int(session.allowed().sum())
        assert page.made.index == max(session.index for session in sessions) <= k
    assert places(page) == (4, 3)


def test_jumps_move_both_and_run_goes_to_the_ends(page: Page) -> None:
    assert page.ask("run", tokens=2)["stopped"] is False
    assert places(page) == (2, 2)
    assert page.ask("run", tokens=16)["stopped"]
    ends = places(page)
    assert ends[0] != ends[1]
    page.ask("jump", k=1)
    assert places(page) == (1, 1)
    page.ask("jump", k=max(ends))
    assert places(page) == ends
    assert page.ask("jump", k=-1)["ok"] is False


def test_a_token_taken_on_one_side(page: Page) -> None:
    page.ask("take", side="left", token=F)
    assert page.made.left.session.ids == (F,)
    assert page.made.right.session.ids == (FOO_OF_COMPARE,)
    page.ask("jump", k=0)
    page.ask("take", side="right", token=F)  # What was chosen on the left stays.
    assert (page.made.left.session.ids, page.made.right.session.ids) == ((F,), (F,))


def test_a_token_taken_on_both_sides_where_it_is_allowed(page: Page) -> None:
    page.ask("take", side="left", token=F, both=True)
    assert (page.made.left.session.ids, page.made.right.session.ids) == ((F,), (F,))
    page.ask("jump", k=0)
    page.ask("take", side="left", token=FOOD_OF_COMPARE, both=True)  # The right cannot.
    assert (page.made.left.session.ids, page.made.right.session.ids) == ((FOOD_OF_COMPARE,), (F,))


def test_what_is_refused_moves_neither(page: Page) -> None:
    answer = page.ask("take", side="right", token=FOOD_OF_COMPARE)
    assert answer["ok"] is False
    assert "not allowed" in answer["error"]["message"]
    assert places(page) == (0, 0)
    assert page.ask("explode")["ok"] is False
    assert page.ask("walk", side="middle", token=F)["ok"] is False
    assert page.ask("step")["ok"]


def test_a_side_answers_for_its_own_machine(page: Page) -> None:
    keys = {page.ask("machine", side=side, figures=False)["machine"]["key"] for side in SIDES}
    assert keys == {page.made.left_machine["key"], page.made.right_machine["key"]}
    assert len(keys) == 2
    walks = [page.ask("walk", side=side, k=0, token=FOOD_OF_COMPARE)["walk"] for side in SIDES]
    assert [walk["failed_at"] for walk in walks] == [None, 3]
    rows = page.ask("search", side="left", k=0, query="food")["rows"]
    assert [row["id"] for row in rows] == [FOOD_OF_COMPARE]


def test_other_views_show_a_side() -> None:
    made = Compare(None, regex("(foo)+d"), regex("foo"))
    mask = Mask(cursor=made.left)
    made.step()
    assert mask.position == made.left_position
    assert mask.place == made.left_place != made.right_place
    made.left.step(FOOD_OF_COMPARE)  # One line alone; the next step of both makes them even again.
    assert made.index == 2
    made.step()
    assert made.left.session.ids == (FOO_OF_COMPARE, FOOD_OF_COMPARE, EOS)
    assert made.right.session.ids == (FOO_OF_COMPARE, EOS)
    made.close()
    made.left.jump(0)
    assert (mask.position["k"], made.left_position["k"]) == (0, 3)


def test_a_step_goes_out_as_what_happened_to_each_line(page: Page) -> None:
    """A line is sent whole once; after a step each side gets only the new token."""
    sent: list[dict[str, Any]] = []
    page.made._send = lambda message, buffers=None: sent.append(json.loads(json.dumps(message)))
    page.tell("step")
    (state,) = [one["state"] for one in sent if one["method"] == "update"]
    for side in SIDES:
        assert f"{side}_line" not in state and f"{side}_editor" not in state
        moved = state[f"{side}_moved"]
        assert (moved["kept"], [token["id"] for token in moved["tokens"]]) == (0, [FOO_OF_COMPARE])
    page.made._send = page._receive
    whole = page.ask("line", side="left")["line"]
    assert whole["generation"] == state["left_moved"]["generation"]
    assert [token["id"] for token in whole["strip"]["tokens"]] == [FOO_OF_COMPARE]


# --- schemes ----------------------------------------------------------------------------------


def test_schemes_are_compared_with_their_marks() -> None:
    """The strip marks what crosses a border and what a template fixed; a side takes another one."""
    tiny = load_model("tiny")
    made = scheme_texts(tiny, max_tokens=10, lookaheads=(0, 1))
    both = Compare(tiny, "k = 1", "template", made.prompt, schemes=made.machines)
    page = Page(both)
    assert page.ask("run", tokens=10)["ok"]
    rows = {row["name"]: row for row in made.rows}
    marks = ("bridge", "fixed")

    def agree() -> None:
        for side in SIDES:
            row = rows[getattr(both, f"{side}_scheme")]
            strip = getattr(both, f"{side}_line")["strip"]["tokens"]
            assert [token["id"] for token in strip] == [token["id"] for token in row["tokens"]]
            machine = both.left.session.machine if side == "left" else both.right.session.machine
            for mark in marks if machine.report.kind == "lookahead" else ("fixed",):
                assert [mark in token for token in strip] == [
                    mark in token for token in row["tokens"]
                ]

    agree()
    assert any("fixed" in token for token in both.right_line["strip"]["tokens"])
    assert any("bridge" in token for token in both.left_line["strip"]["tokens"])
    assert page.ask("scheme", side="right", scheme="ours")["ok"]
    assert (both.left_scheme, both.right_scheme) == ("k = 1", "ours")
    agree()
    assert not page.ask("scheme", side="left", scheme="k = 9")["ok"]
    assert not page.ask("scheme", scheme="ours")["ok"]
    with pytest.raises(ExplorerError, match="left is 'nope'"):
        Compare(None, "nope", schemes={"one": regex("(foo)+d")})
    shown = Explorer(tiny, made.machines["k = 0"], made.prompt)
    masked = [bar for bar in shown.position["top"] if not bar["allowed"]]
    assert any(bar["reason"] == "crosses 1 border" for bar in masked)
    both.close()
    shown.close()
