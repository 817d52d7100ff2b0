"""The dialogue: page and kernel agree on its messages, and whatever a page sends is answered."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from explorer import Constraint, Session
from explorer.languages.sources import registry
from tests.widgets.page import Held, Page
from widgets.cursor import Cursor
from widgets.dialogue.handlers import TABLE, table_for_page
from widgets.dialogue.later import Later
from widgets.dialogue.messages import AtPlace, message_fields, read_message
from widgets.kinds import register_kind
from widgets.toy import ToyModel, toy_constraint
from widgets.views import bundle
from widgets.views.compare import Compare
from widgets.views.explorer import Explorer

F, OO, FOO, FOR, FOOD = range(5)

SCRIPTS = sorted(Path(bundle.__file__).parents[1].glob("static/*.js"))

# --- page and kernel agree ----------------------------------------------------

_CALL = re.compile(r'\b(?:ask|tell)\("(\w+)"(?:, \{([^}]*)\})?')
_BY_NAME = re.compile(
    r'\b(?:asked\([\w.]+|atRest\(ui|button), ?"(\w+)"|\bbutton\("([a-z]+)"|\bchange\("([a-z_]+)"'
)


def sent(script: str) -> Iterator[tuple[str, list[str]]]:
    """Each message that a script sends: its name, and the names of the fields it writes out."""
    for name, fields in _CALL.findall(script):
        written = [field.strip() for field in fields.split(",") if field.strip()]
        yield name, [f.split(":")[0].strip() for f in written if not f.startswith("...")]
    for groups in _BY_NAME.findall(script):
        for name in groups:
            if name:
                yield name, []


def faults(script: str) -> list[str]:
    """Messages of a script that the kernel would refuse."""
    wrong: list[str] = []
    for name, fields in sent(script):
        if name not in TABLE:
            wrong.append(name)
            continue
        known = TABLE[name].message.__struct_fields__
        wrong += [f"{name}.{field}" for field in fields if field not in known]
    return wrong


def test_the_page_sends_what_the_kernel_knows_and_all_of_it() -> None:
    scripts = [path.read_text(encoding="utf-8") for path in SCRIPTS]
    assert [fault for script in scripts for fault in faults(script)] == []
    assert {name for script in scripts for name, _ in sent(script)} == set(TABLE)


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ('ui.ask("explode")', "explode"),
        ('ui.ask("take", { token, by: 1 })', "take.by"),
        ('ui.tell("plya", { on })', "plya"),
        ('atRest(ui, "reason", path)', "reason"),
    ],
)
def test_a_message_that_the_kernel_does_not_know_is_found(script: str, fault: str) -> None:
    assert faults(script) == [fault]


def test_the_page_sends_by_these_two_functions_alone() -> None:
    """The page's check of messages (`ui.ask`, `ui.tell`) is never skipped."""
    for path in SCRIPTS:
        text = path.read_text(encoding="utf-8")
        allowed = {"conversation.js": 1, "compare.js": 1}.get(path.name, 0)
        assert text.count("model.send(") == allowed, path.name


def test_the_page_is_given_the_table() -> None:
    first = bundle.script("mask").splitlines()[0]
    given = re.fullmatch(r"const MESSAGES = (.*);", first)
    assert given is not None
    table = cast("dict[str, dict[str, Any]]", json.loads(given[1]))
    assert table == table_for_page()
    assert table["take"] == {
        "fields": ["side", "seen", "token", "both"], "moves": True, "unasked": False
    }  # fmt: skip


def test_a_page_without_a_kernel_answers_nothing_else() -> None:
    text = (SCRIPTS[0].parent / "replay.js").read_text(encoding="utf-8")
    body = text[text.index("const answers = {") : text.index("trait.position = ")]
    names = set(re.findall(r"^    (\w+): \(", body, re.MULTILINE))
    assert "walk" in names
    assert names <= set(TABLE)


# --- what a message was asked about ----------------------------------------------------

MOVES: dict[str, dict[str, object]] = {
    "step": {}, "take": {"token": FOO}, "peek": {}, "jump": {"k": 0}, "run": {"tokens": 2},
    "fork": {}, "again": {}, "switch": {"line": 0}, "follow": {"tokens": [FOO]},
}  # fmt: skip
OF_NO_PLACE = {
    "reset", "edit", "sampler", "switch_stage", "add_stage", "choose_model", "scheme",
    "rewrite", "relax",
}  # fmt: skip
"""They mean the same wherever the cursor stands."""


@pytest.fixture
def page() -> Iterator[Page]:
    made = Explorer()
    yield Page(made)
    made.close()


def test_every_message_that_moves_says_what_it_was_asked_about() -> None:
    moves = {name for name, entry in TABLE.items() if entry.moves}
    assert moves == set(MOVES) | OF_NO_PLACE
    for name in moves:
        assert issubclass(TABLE[name].message, AtPlace) is (name in MOVES)


@pytest.mark.parametrize("name", MOVES)
def test_a_move_from_a_place_that_was_left_moves_nothing(page: Page, name: str) -> None:
    cursor = page.made.cursor
    seen = page.line["generation"]
    cursor.step()  # Somebody else was faster.
    before = cursor.session, cursor.session.index, cursor.session.ids, cursor.lines
    answer = page.ask(name, seen=seen, **MOVES[name])
    assert (answer["ok"], answer["stale"], answer["quiet"]) == (False, True, True)
    assert (cursor.session, cursor.session.index, cursor.session.ids, cursor.lines) == before
    assert page.ask(name, seen=page.line["generation"], **MOVES[name])["ok"]


def test_a_generation_names_one_place_across_lines(page: Page) -> None:
    cursor = page.made.cursor
    generations = [cursor.generation]
    cursor.step()
    generations.append(cursor.generation)
    cursor.fork()
    generations.append(cursor.generation)
    cursor.switch(0)
    generations.append(cursor.generation)
    cursor.reset()
    generations.append(cursor.generation)
    assert generations == sorted(set(generations))


def test_a_session_that_is_moved_without_the_cursor_is_shown_at_the_next_question(
    page: Page,
) -> None:
    page.made.session.step()  # Nobody was told.
    assert page.position["k"] == 0
    assert page.ask("step", seen=page.line["generation"])["stale"]
    assert page.position["k"] == 1
    assert page.ask("step", seen=page.line["generation"])["ok"]


def test_a_comparison_honours_it_too() -> None:
    made = Compare(None, None, None)
    page = Page(made)
    seen = made.left.generation + made.right.generation
    assert page.ask("step", seen=seen)["ok"]
    assert page.ask("step", seen=seen)["stale"]
    assert made.index == 1
    own = made.left.generation
    made.left.step()
    assert page.ask("take", side="left", token=FOO, seen=own)["stale"]
    assert page.ask("walk", side="left", token=FOO, seen=made.left.generation)["ok"]
    made.close()


# --- nothing long under the lock ----------------------------------------------------

FIELDS: dict[str, dict[str, object]] = {
    **MOVES, "walk": {"token": F}, "why": {"token": F}, "more": {"token": F}, "widen": {"token": F},
    "search": {"query": "f"}, "engines": {"tokens": [F]}, "group": {"group": 0},
    "arc": {"source": "q0", "target": "q3"},
    "edit": {"kind": "regex", "text": "food"}, "play": {"on": True},
    "stage_machine": {"stage": 0}, "switch_stage": {"stage": 0, "on": False},
    "add_stage": {"stage": "utf8"}, "relax": {"token": F, "k": 0},
    "choose_model": {"model": "tiny-sp"}, "rewrite": {"token": FOR, "writes": "food"},
    "scheme": {"scheme": "ours"},
}  # fmt: skip


def test_what_is_flagged_as_later_is_worked_out_on_a_thread_and_nothing_else(page: Page) -> None:
    place = page.made.shown
    assert page.ask("add_stage", stage="utf8")["ok"]  # One to switch and to draw.
    for name, entry in TABLE.items():
        if name in ("line", "export", "stop", "scheme"):  # The widget's own.
            continue
        asked = read_message(entry.message, FIELDS.get(name, {}))
        answer = entry.handler(place, **message_fields(asked))
        assert isinstance(answer, Later) is entry.later, name
    place.editing.cancel()


@pytest.fixture
def model() -> Held:
    return Held()


@pytest.fixture
def held_page(model: Held) -> Iterator[Page]:
    made = Explorer(cursor=Cursor(Session(model, toy_constraint())))
    yield Page(made)
    made.close()


def test_a_step_does_not_wait_for_a_look_ahead(held_page: Page, model: Held) -> None:
    page, begun, go_on = held_page, threading.Event(), threading.Event()
    model.before = lambda: begun.set() or go_on.wait(60)
    asked = page.tell("ahead", k=0)
    assert begun.wait(60)
    done: list[dict[str, Any]] = []
    # On another thread, because the lock is re-entrant.
    stepping = threading.Thread(target=lambda: done.append(page.ask("step")))
    stepping.start()
    stepping.join(60)
    assert done and done[0]["ok"]
    go_on.set()
    assert page.answer(asked)["stale"]


# --- whatever a page sends ----------------------------------------------------

ODD: list[Any] = [
    None, True, -1, 0, 2**63, 10**400, 1.5, float("nan"), "", "x" * 5000, "\ud800", [], [[]], {},
    {"type": []}, [None], {"re": {}}, "left", "middle", b"bytes", object(),
]  # fmt: skip


def test_nothing_that_a_page_sends_raises(page: Page) -> None:
    compare = Page(Compare(None, None, None))
    for target in (page, compare):
        for content in ODD:
            target.made._hear(None, content, None)
            target.made._hear(None, {"type": content, "re": 10**6}, None)
    draw = random.Random(7)
    for name, entry in TABLE.items():
        for field in (*entry.message.__struct_fields__, "more"):
            for value in ODD:
                message = {"type": name, "re": 10**6, **FIELDS.get(name, {}), field: value}
                draw.choice((page, compare)).made._hear(None, message, None)
    page.made.shown.editing.cancel()
    assert page.ask("step")["ok"] or page.made.session.finished
    assert compare.ask("jump", k=0)["ok"]
    compare.made.close()


class EndingSession(Session):
    """A session whose steps end with an error."""

    error: BaseException | None = None

    def step(self, token: int | str | None = None) -> Any:
        if self.error is not None:
            raise self.error
        return super().step(token)


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(3), ValueError("fault")], ids=repr
)
@pytest.mark.parametrize("name", ["step", "edit"])  # At once, and on a thread.
def test_whatever_ends_the_work_the_page_is_answered(name: str, error: BaseException) -> None:
    """An interrupt, or a reader that wants to end the process: the page waits for no answer."""
    session = EndingSession(ToyModel(), toy_constraint())
    page, session.error = Page(Explorer(cursor=Cursor(session))), error

    def ends(_: str) -> Constraint:
        raise error

    register_kind("ends", ends)
    try:
        answer = page.ask(name, **({"kind": "ends", "text": "a"} if name == "edit" else {}))
    finally:
        registry.forget("ends")
    # The editor shows the errors of its text itself.
    assert (answer["ok"], answer["quiet"]) == (False, name == "edit")
    shown = cast("dict[str, str]", answer["error"])
    assert shown["title"] == {
        "KeyboardInterrupt": "Interrupted", "SystemExit": "SystemExit", "ValueError": "ValueError",
    }[type(error).__name__]  # fmt: skip
    session.error = None
    assert page.ask("step")["ok"]  # Nothing is left locked.
    page.made.close()


def test_an_answer_that_nobody_waits_for_has_no_number(page: Page) -> None:
    page.made._hear(None, {"type": "play", "on": True}, None)
    assert page.made.cursor.playing
