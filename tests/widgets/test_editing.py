"""Edits that are answered later, with a real worker: what counts, what is dropped, what goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from explorer import Budget, regex
from widgets.compiling.worker import CompileWorker
from widgets.kinds import PRESETS, TOY
from widgets.toy import PATTERN
from widgets.views.explorer import Explorer

FOO = 2
LONG = "(f|o)*f(f|o){23}"
LARGE = Budget(states=10**9, arcs=10**12, bytes=10**11, seconds=3600)


class Page:
    """The page's side, which can wait: answers come on other threads."""

    def __init__(self, made: Explorer) -> None:
        self.explorer = made
        self.answers: list[dict[str, Any]] = []
        self._arrived = threading.Condition()
        made.send = self._hear  # type: ignore[method-assign]

    def _hear(self, content: dict[str, Any], buffers: object = None) -> None:
        with self._arrived:
            self.answers.append(content)
            self._arrived.notify_all()

    def tell(self, re: int, type: str, **content: object) -> None:
        """A message. It returns when the kernel's callback does."""
        self.explorer._receive(None, {"type": type, "re": re, **content}, None)

    def edit(self, re: int, text: str, **content: object) -> None:
        self.tell(
            re, "edit", later=True, **{"kind": "regex", "text": text, "prompt": "", **content}
        )

    def last(self, re: int) -> dict[str, Any]:
        """The answer to a message, waited for; not the word that it comes later."""

        def there() -> list[dict[str, Any]]:
            return [a for a in self.answers if a["re"] == re and "later" not in a]

        with self._arrived:
            self._arrived.wait_for(there)
            (answer,) = there()
            return answer


@pytest.fixture(scope="module")
def worker() -> Iterator[CompileWorker]:
    made = CompileWorker()
    made.warm().join()
    yield made
    made.close()


@pytest.fixture
def page(worker: CompileWorker) -> Iterator[Page]:
    made = Explorer()
    made.controller.editing.worker = worker
    made.controller.editing.budget = LARGE
    yield Page(made)
    made.controller.editing.cancel()
    made.close()


def shown(page: Page) -> str:
    return page.explorer.editor["text"]


def test_an_edit_is_answered_later_and_then_is_there(page: Page) -> None:
    page.edit(1, "foo|food")
    assert page.answers[0] == {"re": 1, "later": True}
    assert page.last(1) == {"re": 1, "ok": True}
    assert shown(page) == "foo|food"
    assert page.explorer.session.dfa is not None
    assert page.explorer.session.dfa.vocabulary is page.explorer.session.vocabulary


def test_meanwhile_one_steps_under_the_old_constraint_and_keeps_what_holds(page: Page) -> None:
    page.edit(1, LONG)
    page.tell(2, "step")
    assert page.last(2)["ok"]
    assert page.explorer.session.ids == (FOO,)
    assert shown(page) == PATTERN
    page.edit(3, "foo(foo)?")
    assert page.last(3)["ok"]
    assert page.explorer.session.ids == (FOO,)
    page.edit(4, "food")
    assert page.last(4)["ok"]
    assert page.explorer.session.ids == ()
    assert len(page.explorer.line["strip"]["forks"]) == 2


def test_only_the_newest_counts(page: Page, worker: CompileWorker) -> None:
    before = worker.pid
    page.edit(1, LONG)
    page.edit(2, "(foo){1,2}")
    page.edit(3, "food")
    assert page.last(3)["ok"]
    for re in (1, 2):
        dropped = page.last(re)
        assert (dropped["ok"], dropped["cancelled"], dropped["quiet"]) == (False, True, True)
    assert shown(page) == "food"
    assert worker.pid != before  # The long one had to be killed.


def test_an_edit_back_to_what_is_there_drops_the_one_on_its_way(page: Page) -> None:
    page.edit(1, LONG)
    page.edit(2, PATTERN)
    assert page.last(2) == {"re": 2, "ok": True}
    assert page.last(1)["cancelled"]
    assert shown(page) == PATTERN


def test_cancel_leaves_the_last_good_constraint(page: Page) -> None:
    page.edit(1, LONG)
    page.tell(2, "cancel")
    assert page.last(2)["ok"]
    assert page.last(1)["cancelled"]
    assert shown(page) == PATTERN
    page.edit(3, "(foo")
    assert page.last(3)["error"]["start"] == 0
    page.edit(4, "food")
    assert page.last(4)["ok"]
    page.tell(5, "cancel")  # Nothing is on its way: nothing happens.
    assert shown(page) == "food"


def test_a_prompt_alone_is_answered_at_once(page: Page) -> None:
    page.edit(1, PATTERN, prompt="anything")
    assert page.answers == [{"re": 1, "ok": True}]


def test_presets_change_the_vocabulary_and_the_toy_comes_back(page: Page) -> None:
    preset = next(p for p in PRESETS if p.name == "IPv4")
    page.edit(1, preset.text, kind=preset.kind, preset=preset.name, prompt="At ")
    assert page.last(1)["ok"]
    session = page.explorer.session
    assert len(session.vocabulary) > 1000
    assert (session.prompt, shown(page)) == ("At ", preset.text)
    page.edit(2, "[a-z ]*a[a-z ]{19}", prompt="At ")
    page.tell(3, "edit", later=True, kind="regex", text=PATTERN, prompt="", preset=TOY)
    assert page.answers[-1] == {"re": 3, "ok": True}
    assert page.last(2)["cancelled"]  # It was for the other vocabulary.
    assert shown(page) == PATTERN
    assert len(page.explorer.session.vocabulary) == 6


DATE = "[0-9]{4}-[0-9]{2}"


@pytest.fixture
def dated(worker: CompileWorker) -> Iterator[Page]:
    made = Explorer("tiny", regex(DATE), prompt="The date is ")
    made.controller.editing.worker = worker
    yield Page(made)
    made.controller.editing.cancel()
    made.close()


def to_the_toy(page: Page, re: int, prompt: str) -> None:
    page.tell(re, "edit", later=True, kind="regex", text=PATTERN, prompt=prompt, preset=TOY)
    assert page.last(re)["ok"]
    assert len(page.explorer.session.vocabulary) == 6
    assert page.explorer.editor["prompt"] == ""


def to_a_preset(page: Page, re: int, name: str) -> None:
    preset = next(p for p in PRESETS if p.name == name)
    page.edit(re, preset.text, kind=preset.kind, preset=name)  # The toy's page has no prompt.
    assert page.last(re)["ok"]


def test_after_the_toy_the_prompt_and_the_line_are_there_again(dated: Page) -> None:
    cursor = dated.explorer.cursor
    cursor.step()
    cursor.step()
    kept, text = cursor.session.ids, cursor.session.text
    to_the_toy(dated, 1, "The date is ")
    cursor.step()
    to_a_preset(dated, 2, "ISO date-time")  # It begins with a date as well.
    assert dated.explorer.editor["prompt"] == cursor.session.prompt == "The date is "
    assert (cursor.session.ids, cursor.session.text) == (kept, text)
    assert [name for name, _ in cursor.lines] == ["line 1"]


def test_after_the_toy_what_no_longer_holds_stays_beside_the_line(dated: Page) -> None:
    cursor = dated.explorer.cursor
    cursor.step()
    cursor.fork()
    cursor.step()
    kept = cursor.session.ids
    to_the_toy(dated, 1, "")
    to_a_preset(dated, 2, "choices")
    assert cursor.session.prompt == "The date is "
    assert cursor.session.ids == ()
    assert [name for name, _ in cursor.lines] == ["line 1", "line 2 before edit 1", "line 2"]
    assert cursor.lines[1][1].ids == kept


def test_a_prompt_typed_just_before_the_toy_comes_back(dated: Page) -> None:
    to_the_toy(dated, 1, "Today is ")
    to_the_toy(dated, 2, "")  # From the toy to the toy: nothing new is put aside.
    to_a_preset(dated, 3, "IPv4")
    assert dated.explorer.session.prompt == "Today is "


def test_a_preset_that_fails_after_the_toy_leaves_the_toy(dated: Page) -> None:
    to_the_toy(dated, 1, "")
    dated.edit(2, "(foo", preset="IPv4")
    assert not dated.last(2)["ok"]
    assert shown(dated) == PATTERN
    to_a_preset(dated, 3, "IPv4")
    assert dated.explorer.session.prompt == "The date is "
