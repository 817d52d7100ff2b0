"""The dialogue of views with a page: values, words, composed constraints, ids."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import explorer
from explorer import Budget, Constraint, Session, Vocabulary
from explorer.languages.sources import registry
from tests.optional import pynini
from tests.widgets.page import Held, Page
from widgets.compiling import worker_process
from widgets.compiling.composed import drawn_machine
from widgets.compiling.worker import CompileWorker
from widgets.cursor import Cursor
from widgets.dialogue.handlers import TABLE, table_for_page
from widgets.dialogue.later import Later
from widgets.dialogue.messages import AtPlace, message_fields, read_message
from widgets.figures.packets import machine_packet
from widgets.figures.panels.reasons import NAMES
from widgets.figures.panels.tokens import listed_packet
from widgets.kinds import register_kind
from widgets.shown_place import PageData
from widgets.toy import ToyModel, toy_constraint
from widgets.views import bundle
from widgets.views.compare import Compare
from widgets.views.explorer import Explorer

# The dialogue: page and kernel agree on its messages, and whatever a page sends is answered.


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
    "write": {"text": "foo"},
}  # fmt: skip
OF_NO_PLACE = {
    "reset", "edit", "sampler", "switch_stage", "add_stage", "choose_model", "scheme",
    "rewrite", "relax", "decode_on",
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
    **MOVES, "walk": {"token": F}, "why": {"token": F}, "more": {"token": F},
    "search": {"query": "f"}, "engines": {"tokens": [F]}, "group": {"group": 0},
    "arc": {"source": "q0", "target": "q3"},
    "edit": {"kind": "regex", "text": "food"}, "play": {"on": True},
    "stage_machine": {"stage": 0}, "switch_stage": {"stage": 0, "on": False},
    "add_stage": {"stage": "utf8"}, "relax": {"token": F, "k": 0},
    "choose_model": {"model": "tiny-sp"}, "rewrite": {"token": FOR, "writes": "food"},
    "scheme": {"scheme": "ours"}, "decode_on": {"pynini": True},
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


# Wrong arguments of cursors, views and toys: one of our errors that names what was given.


def cursor() -> Any:
    return Cursor(explorer.Session(ToyModel(), toy_constraint()))


# Words of the page that a first reader must understand, where Python says them.


def test_every_kind_of_trap_has_a_name_in_words() -> None:
    from typing import get_args

    from explorer.analysis.traps import Kind

    assert set(NAMES) == set(get_args(Kind))
    assert all("_" not in name for name in NAMES.values())


# The machine that is drawn comes from pynini where there is one, and is the one that decodes.


TOY = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food", b"o"], eos_ids=[6])
BUDGET = Budget(seconds=60)
EXACT = ("table", "token_class", "char_state", "accepting", "distance", "stuck")
SAID = re.compile(r"composed by pynini, [0-9.]+ ms; by functions, [0-9.]+ ms; the same machine(.*)")


@pytest.fixture(scope="module")
def worker() -> Iterator[CompileWorker]:
    made = CompileWorker()
    made.warm().join()
    assert made.unavailable == ""
    yield made
    made.close()


@pytest.mark.parametrize("pattern", ["(foo)+d", "(f|o)*", "foo(d|r)?|o+", "(food?){1,3}"])
def test_what_is_drawn_is_pyninis_and_the_same(worker: CompileWorker, pattern: str) -> None:
    assert pynini.Fst
    ours = explorer.compile(explorer.regex(pattern), TOY)
    made = drawn_machine(ours, worker, BUDGET)
    theirs = made.machine
    assert isinstance(theirs, explorer.TokenDFA) and theirs.report.method == "pynini"
    assert made.line is not None and SAID.fullmatch(made.line)
    for name in EXACT:
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    drawn, usual = machine_packet(theirs), machine_packet(ours)
    assert drawn.pop("report") != usual.pop("report")
    assert drawn == usual


def test_a_page_draws_what_pynini_composed(worker: CompileWorker) -> None:
    assert pynini.Fst
    session = explorer.Session.from_ids(TOY, explorer.regex("(foo)+d"), [2])
    page = PageData(session)
    assert page.drawn is session.machine
    packet = page.machines(worker, BUDGET)
    assert page.drawn.report.method == "pynini" and session.machine.report.method == "functions"
    assert SAID.fullmatch(page.composed(worker, BUDGET) or "")
    assert page.machines(None, BUDGET) is packet


def test_a_filter_is_nobodys_composition(worker: CompileWorker) -> None:
    assert pynini.Fst
    lm = explorer.load_model("tiny")
    machine = explorer.compile(explorer.regex("[a-c]{1,3}").canonical(), lm.vocabulary)
    made = drawn_machine(machine, worker, BUDGET)
    said = SAID.fullmatch(made.line or "")
    assert said is not None and said[1] == "; then the filter canonical, which is not composed"
    assert made.machine is machine


def test_without_pynini_the_line_says_so() -> None:
    machine = explorer.compile(explorer.regex("(foo)+d"), TOY)

    class Without:
        def composed(self, *_: object) -> worker_process.Outcome:
            return worker_process.Outcome("composed", reason="pynini is not installed")

    made = drawn_machine(machine, Without(), BUDGET)  # pyright: ignore[reportArgumentType]
    assert made.machine is machine
    assert re.fullmatch(
        r"composed by functions, [0-9.]+ ms \(pynini is not installed\)", made.line or ""
    )


def test_a_vocabulary_of_any_size_is_composed_by_pynini(worker: CompileWorker) -> None:
    assert pynini.Fst
    many = Vocabulary.from_bytes([b"%d" % k for k in range(20_001)], eos_ids=[20_001])
    session = explorer.Session.from_ids(many, explorer.regex("[0-9]+"), [])
    page = PageData(session)
    page.machines(worker, BUDGET)
    assert page.drawn is session.machine  # The first drawing does not wait for it.
    assert SAID.fullmatch(page.composed(worker, BUDGET) or "")
    assert page.drawn.report.method == "pynini"


def test_a_session_steps_on_the_machine_that_pynini_composed() -> None:
    assert pynini.Fst
    page = Page(Explorer())
    page.ask("step")
    page.ask("ready")
    assert page.made.editor["method"] == "functions"
    assert page.ask("decode_on", pynini=True)["ok"]
    assert page.made.editor["method"] == page.made.session.machine.report.method == "pynini"
    assert page.made.session.text == "foo"  # The tokens stay.
    assert page.ask("step")["ok"]
    assert page.ask("decode_on", pynini=False)["ok"]
    assert page.made.editor["method"] == "functions"
    page.made.close()


def test_a_constraint_does_not_wait_for_a_composition() -> None:
    """A composition that takes a while is ended when a constraint is asked for."""
    assert pynini.Fst
    worker = CompileWorker()
    worker.warm().join()
    words = [bytes([a, b]) for a in range(97, 123) for b in range(97, 123)]
    many = Vocabulary.from_bytes([*words, b"a", b"b"], eos_ids=[len(words) + 2])
    large = explorer.regex("[a-z]*a[a-z]{13}")
    said: list[object] = []
    thread = threading.Thread(target=lambda: said.append(worker.composed(large, many, BUDGET)))
    thread.start()
    while not worker._turn.locked():
        time.sleep(0.01)
    assert worker.compile(("regex", "(foo)+d"), TOY, BUDGET).num_states == 5
    thread.join()
    outcome = said[0]
    assert isinstance(outcome, worker_process.Outcome)
    assert outcome.outcome == "busy" or outcome.times is not None
    worker.close()


NESTED = 'root ::= "a" root "b" | ""'
LETTERS = Vocabulary.from_bytes([b"a", b"b", b"bb", b"aaab"], eos_ids=[4])


def test_a_grammar_is_composed_by_the_push_down_composition(worker: CompileWorker) -> None:
    assert pynini.Fst
    machine = explorer.compile(explorer.grammar(NESTED), LETTERS)
    made = drawn_machine(machine, worker, BUDGET)
    assert made.machine is machine
    assert made.line is not None
    said = re.fullmatch(
        r"not composed as a whole: .*; pynini's push-down composition \(Algorithm 3\) has the same "
        r"(\d+) texts of up to 4 tokens",
        made.line,
    )
    assert said is not None and int(said[1]) > 3


def test_a_grammar_over_many_tokens_says_why_not(worker: CompileWorker) -> None:
    lm = explorer.load_model("tiny")
    machine = explorer.compile(explorer.grammar(NESTED), lm.vocabulary)
    line = drawn_machine(machine, worker, BUDGET).line or ""
    assert line.startswith("not composed as a whole: ") and "Algorithm 3" not in line


# A run from elsewhere in the explorer: no model, the recorded ids, and the first that is wrong.


def opened(*ids: int) -> Page:
    run = Session.from_ids(ToyModel().vocabulary, toy_constraint(), ids)
    return Page(Explorer(cursor=Cursor(run)))


def strip(page: Page) -> dict[str, Any]:
    return page.line["strip"]


def test_the_finding_stands_in_the_line() -> None:
    page = opened(FOO, FOO, FOR, F, F)
    assert "no model" in page.made.about
    assert page.line["model"] is False
    assert [token["text"] for token in strip(page)["tokens"]] == ["foo", "foo"]
    assert strip(page)["rejected"] == {
        "id": FOR, "text": "for", "at": 2, "reason": "r: expects o", "unread": 2
    }  # fmt: skip
    # Seen from anywhere in the line.
    assert page.ask("jump", k=0)["ok"]
    assert strip(page)["rejected"]["id"] == FOR
    told = page.ask("why", token=FOR, k=2)["explanation"]
    assert not told["allowed"]
    assert page.ask("walk", token=FOR, k=2)["walk"]["failed_at"] == 2
    page.made.close()


def test_probabilities_are_blank_and_masks_are_not() -> None:
    page = opened(FOO, FOO)
    position = page.made.position
    assert position is not None
    assert (position["z"], position["entropy_before"], position["top"]) == (None, None, [])
    assert position["allowed"] == 3
    assert page.history["z"] == [None, None, None]
    rows = page.ask("search", query="foo", k=2)["rows"]
    assert {row["id"]: row["allowed"] for row in rows} == {FOO: True, FOOD: True}
    listed = page.ask("allowed")
    able = [row["id"] for row in listed["rows"] if row["allowed"]]
    assert able == [F, FOO, FOOD] and listed["count"] == 3
    # The masked one that is read furthest is the nearest.
    assert listed["rows"][3]["id"] == FOR
    page.made.close()


def test_a_run_that_the_model_ends_is_no_error() -> None:
    words = explorer.regex("(a|b|c)*x")
    page = Page(Explorer(explorer.load_model("tiny"), words, "It was a day. " * 48))
    answers = [page.ask("run", tokens=64)]
    while not answers[-1]["stopped"]:
        answers.append(page.ask("run", tokens=64))
    assert answers[-1]["ok"] and "reads at most 256" in answers[-1]["said"]
    assert page.made.session.length > 0
    page.made.close()


def test_of_masked_tokens_that_are_as_near_those_that_can_be_read_come_first() -> None:
    pieces = [b"\x00", b"\x7f", b"\xc3", b"1", b"\n", b"zz", b"a", b"b", b"c", b"d", b"e"]
    vocabulary = explorer.Vocabulary.from_bytes(pieces, eos_ids=[len(pieces)])
    session = explorer.Session.from_ids(vocabulary, explorer.regex("[0-9]"), [])
    rows = listed_packet(session, session.trace, 0, session.machine)["rows"]
    assert [row["id"] for row in cast("list[dict[str, Any]]", rows)] == [3, 5, 6, 7, 8, 9, 10]


def test_one_steps_along_the_recorded_ids_and_no_further() -> None:
    page = opened(FOO, FOO, FOR)
    made = page.made
    page.ask("jump", k=0)
    assert page.ask("step")["ok"]
    assert made.session.ids == (FOO,)
    # To the end is the end of what was recorded; nothing is asked of a model that is not there.
    assert page.ask("run", tokens=16)["stopped"]
    assert made.session.ids == (FOO, FOO)
    refused = page.ask("step")
    assert not refused["ok"]
    assert "no model" in refused["error"]["message"]
    # A token of one's own is a way out of it, and the finding is then no longer about this line.
    assert page.ask("take", token=FOOD)["ok"]
    assert strip(page)["rejected"] is None
    made.close()


def test_the_still_and_the_file_open_without_a_model() -> None:
    page = opened(FOO, FOR)
    assert "foo" in page.made.snapshot().text
    answer = page.ask("export")
    assert answer["ok"], answer
    page.made.close()
