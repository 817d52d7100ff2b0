"""The parts as widgets of their own: what each sends, and that those on one cursor agree."""

from __future__ import annotations

import base64
import gc
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
from widgets.shown_place import PageData, ShownPlace
from widgets.toy import ToyModel, toy_constraint
from widgets.views import bundle
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


def test_errors_reach_the_part_that_asked() -> None:
    steps = Stepper()
    mask = Mask(cursor=steps.cursor)
    answer = ask(mask, "take", token=FOR)
    assert answer["ok"] is False
    assert "not allowed" in str(answer["error"])
    assert steps.position["k"] == 0


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
