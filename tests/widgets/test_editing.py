"""Edits that are answered later, with a real worker: what counts, what is dropped, what goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, Field

from explorer import Budget, from_type, json_schema, load_model, regex
from explorer.tokens.machine import TokenMachine
from tests.evidence import few
from tests.presets import presets_of
from tests.widgets.page import Page
from widgets.compiling.worker import CompileWorker
from widgets.kinds import TOY
from widgets.toy import PATTERN
from widgets.views.explorer import Explorer

LONG = "(?!(f|o)*f(f|o){23}$)[fo]*"
LARGE = Budget(states=10**9, arcs=10**12, bytes=10**11, seconds=3600)


@pytest.fixture(scope="module")
def worker() -> Iterator[CompileWorker]:
    made = CompileWorker()
    made.warm().join()
    yield made
    made.close()


@pytest.fixture
def page(worker: CompileWorker) -> Iterator[Page]:
    made = Explorer()
    made.shown.editing.worker = worker
    made.shown.editing.budget = LARGE
    yield Page(made)
    made.shown.editing.cancel()
    made.close()


def shown(page: Page) -> str:
    return page.made.editor["text"]


def test_an_edit_is_answered_later_and_then_is_there(page: Page) -> None:
    sent = page.edit("foo|food")
    assert page.heard[0] == {"re": sent, "later": True}
    assert page.answer(sent)["ok"]
    assert shown(page) == "foo|food"
    assert page.made.session.machine.vocabulary is page.made.session.vocabulary


def test_cancel_leaves_the_last_good_constraint(page: Page) -> None:
    long = page.edit(LONG)
    assert page.ask("cancel")["ok"]
    assert page.answer(long)["cancelled"]
    assert shown(page) == PATTERN
    assert page.answer(page.edit("(foo"))["error"]["start"] == 0
    assert page.answer(page.edit("food"))["ok"]
    page.ask("cancel")  # Nothing is on its way: nothing happens.
    assert shown(page) == "food"


def test_a_prompt_alone_is_answered_at_once(page: Page) -> None:
    sent = page.edit(PATTERN, prompt="anything")
    assert [answer["re"] for answer in page.heard] == [sent]
    assert page.heard[0]["ok"]


DATE = "[0-9]{4}-[0-9]{2}"


@pytest.fixture
def dated(worker: CompileWorker) -> Iterator[Page]:
    made = Explorer("tiny", regex(DATE), prompt="The date is ")
    made.shown.editing.worker = worker
    yield Page(made)
    made.shown.editing.cancel()
    made.close()


def to_the_toy(page: Page, prompt: str) -> None:
    assert page.answer(page.edit(PATTERN, prompt=prompt, preset=TOY))["ok"]
    assert len(page.made.session.vocabulary) == 6
    assert page.made.editor["prompt"] == ""


def to_a_preset(page: Page, name: str) -> None:
    preset = next(p for p in presets_of("first") if p.name == name)
    # The toy's page has no prompt.
    assert page.answer(page.edit(preset.text, kind=preset.kind, preset=name))["ok"]


def test_after_the_toy_the_prompt_and_the_line_are_there_again(dated: Page) -> None:
    cursor = dated.made.cursor
    cursor.step()
    cursor.step()
    kept = cursor.session.ids
    to_the_toy(dated, "The date is ")
    cursor.step()
    to_a_preset(dated, "ISO date-time")
    assert dated.made.editor["prompt"] == cursor.session.prompt == "The meeting starts at "
    assert cursor.session.ids == kept  # It begins with a date as well.


def test_after_the_toy_what_no_longer_holds_stays_beside_the_line(dated: Page) -> None:
    cursor = dated.made.cursor
    cursor.step()
    cursor.fork()
    cursor.step()
    kept = cursor.session.ids
    to_the_toy(dated, "")
    to_a_preset(dated, "choices")
    assert cursor.session.prompt == "Is it raining?\n"
    assert cursor.session.ids == ()
    assert [name for name, _ in cursor.lines] == ["line 1", "line 2 before edit 1", "line 2"]
    assert cursor.lines[1][1].ids == kept


def test_a_preset_that_fails_after_the_toy_leaves_the_toy(dated: Page) -> None:
    to_the_toy(dated, "")
    assert not dated.answer(dated.edit("(foo", preset="IPv4"))["ok"]
    assert shown(dated) == PATTERN
    to_a_preset(dated, "IPv4")
    assert dated.made.session.prompt == "The host is "


ACTIONS = ("preset", "toy", "other preset", "typed", "cancel", "step", "reset", "fork", "again")


def act(page: Page, action: str) -> int:
    presets = {preset.name: preset for preset in presets_of("first")}
    if action in ("preset", "other preset"):
        preset = presets["IPv4" if action == "preset" else "choices"]
        return page.edit(preset.text, kind=preset.kind, preset=preset.name)
    if action == "toy":
        return page.edit(PATTERN, preset=TOY)
    if action == "typed":
        return page.edit("foo|food")
    return page.tell(action)


class HeldWorker(CompileWorker):
    """A worker whose first compilation waits until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def compile(self, *given: Any, **named: Any) -> TokenMachine:
        self.begun.set()
        assert self.goes_on.wait(60)
        return super().compile(*given, **named)


@pytest.fixture(scope="module")
def held() -> Iterator[HeldWorker]:
    made = HeldWorker()
    made.warm().join()
    yield made
    made.close()


@pytest.mark.parametrize("second", ACTIONS)
@pytest.mark.parametrize("first", few(["preset", "other preset", "typed"], 2))
def test_whatever_is_done_while_it_is_compiled_the_last_question_counts(
    page: Page, held: HeldWorker, first: str, second: str
) -> None:
    """Each action in the midst of a compilation, and then a preset once more."""
    page.made.shown.editing.worker = held
    held.begun.clear()
    held.goes_on.clear()
    asked = act(page, first)
    assert held.begun.wait(60)
    later = act(page, second)
    held.goes_on.set()
    answers = [page.answer(asked), page.answer(later)]
    assert all(answer["ok"] or answer.get("cancelled") for answer in answers), answers
    edits = second not in ("step", "reset", "fork", "again")
    assert answers[0]["ok"] or edits, answers  # Only a newer edit or a cancel calls it off.
    presets = {preset.name: preset.text for preset in presets_of("first")}
    texts = {"preset": presets["IPv4"], "other preset": presets["choices"], "typed": "foo|food"}
    texts |= {"toy": PATTERN, "cancel": texts[first] if answers[0]["ok"] else PATTERN}
    assert shown(page) == texts[second if edits else first]
    # Nothing is left behind: the next one loads and compiles as if nothing had been.
    assert page.answer(act(page, "preset"))["ok"]
    assert shown(page) == presets["IPv4"]
    assert page.ask("step")["ok"]


SCHEMA = '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}'


@pytest.fixture
def written(worker: CompileWorker) -> Iterator[Page]:
    """A schema with an option that its text does not say, in the middle of a name."""
    lm = load_model("tiny")
    made = Explorer(lm, json_schema(SCHEMA, escapes="any"))
    made.shown.editing.worker = worker
    yield Page(made)
    made.close()


def test_an_edit_keeps_the_options_of_a_schema(written: Page) -> None:
    assert written.made.editor["remark"] == "escapes='any'"
    changed = SCHEMA.replace("name", "city")
    assert written.answer(written.tell("edit", kind="JSON Schema", text=changed, prompt=""))["ok"]
    assert written.made.editor["remark"] == "escapes='any'"
    constraint = written.made.session.constraint
    assert constraint is not None
    assert constraint.accepts('{"\\u0063ity":"x"}')


def test_the_cause_of_a_masked_token_is_told_and_can_be_undone(written: Page) -> None:
    session = written.made.session
    for token in session.vocabulary.encode('{"name') or ():
        written.ask("take", token=token)
    k = written.made.session.index
    wanted = (session.vocabulary.encode('": "') or [-1])[0]
    cause = written.ask("more", token=wanted, k=k)["more"]["cause"]
    assert cause["cause"] == "white space"
    assert written.answer(written.tell("relax", token=wanted, k=k))["ok"]
    assert written.made.editor["remark"] == "whitespace='flexible', escapes='any'"
    assert written.made.session.text.startswith('{"name')
    assert written.ask("why", token=wanted, k=k)["explanation"]["allowed"]


class Patient(BaseModel):
    name: str = Field(max_length=3)


@pytest.mark.parametrize(
    ("text", "wanted", "remark"),
    [('{"name', '": "', "whitespace='flexible'"), ('{"name":"', "Maria", "its schema was changed")],
)
def test_the_change_of_a_type_is_shown_beside_its_name(
    text: str, wanted: str, remark: str, worker: CompileWorker
) -> None:
    made = Explorer(load_model("tiny"), from_type(Patient))
    made.shown.editing.worker = worker
    page = Page(made)
    session = made.session
    assert made.editor["remark"] == ""
    for token in session.vocabulary.encode(text) or ():
        page.ask("take", token=token)
    k = made.session.index
    token = (session.vocabulary.encode(wanted) or [-1])[0]
    assert page.answer(page.tell("relax", token=token, k=k))["ok"]
    assert made.editor["text"] == "from_type(Patient)"
    assert made.editor["remark"] == remark
    assert page.ask("why", token=token, k=k)["explanation"]["allowed"]
    made.close()


def test_a_token_without_a_cause_is_an_error_that_changes_nothing(written: Page) -> None:
    wanted = (written.made.session.vocabulary.encode("}") or [-1])[0]
    before = written.made.session
    answer = written.answer(written.tell("relax", token=wanted, k=0))
    assert not answer["ok"]
    assert "No change is known that allows this token." in answer["error"]["message"]
    assert written.made.session is before
