"""The page's questions about reasons, without a browser; expectations are worked out with `re`."""

from __future__ import annotations

import itertools
import re
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from explorer.analysis import explain_trace
from explorer.analysis.session import Session
from tests.widgets.page import Page
from widgets.cursor import Cursor
from widgets.dialogue.handlers import TABLE
from widgets.dialogue.messages import AtPlace
from widgets.figures.packets import packed
from widgets.toy import EOS, PATTERN, TOKENS, ToyModel, toy_constraint
from widgets.views.explorer import Explorer

F, OO, FOO, FOR, FOOD = range(5)
WORDS = [
    "".join(letters)
    for length in range(1, 11)
    for letters in itertools.product("fod", repeat=length)
    if re.fullmatch(PATTERN, "".join(letters))
]
"""All words of the toy's language of at most ten letters."""


def starts_a_word(text: bytes) -> bool:
    return any(word.startswith(text.decode()) for word in WORDS)


def failing_offset(prefix: bytes, token: bytes) -> int | None:
    """The least i such that no word starts with the prefix and the token's first i + 1 bytes."""
    for i in range(len(token)):
        if not starts_a_word(prefix + token[: i + 1]):
            return i
    return None


def expected_letters(text: bytes) -> set[str]:
    return {letter for letter in "fodr" if starts_a_word(text + letter.encode())}


@pytest.fixture
def page() -> Iterator[Page]:
    made = Explorer()
    yield Page(made)
    made.close()


@pytest.mark.parametrize("steps", [0, 1, 2])
@pytest.mark.parametrize("token", range(5))
def test_the_verdict_is_that_of_the_words(page: Page, steps: int, token: int) -> None:
    for _ in range(steps):
        page.ask("step")
    prefix = page.made.session.text.encode()
    told = page.ask("why", token=token, k=steps)["explanation"]
    offset = failing_offset(prefix, TOKENS[token])
    assert told["failed_at"] == offset
    assert told["allowed"] is (offset is None)
    assert bytes(told["bytes"]) == TOKENS[token]
    if offset is not None:
        letters = expected_letters(prefix + TOKENS[token][:offset])
        [part] = told["parts"]
        assert part["pattern"] == PATTERN
        # What is underlined is what is expected: every place is one letter of the pattern.
        assert {PATTERN[start:end] for start, end in part["spans"]} == letters
        assert told["spans"] == part["spans"]
        assert told["sentence"][0].isupper()


def test_what_must_be_searched_for_comes_in_a_second_answer(page: Page) -> None:
    page.ask("step")
    assert "more" not in page.ask("why", token=EOS, k=1)["explanation"]
    more = page.ask("more", token=EOS, k=1)["more"]
    assert more["after"] == [FOOD]
    assert page.ask("more", token=FOR, k=1)["more"]["nowhere"]
    done = page.ask("more", token=F, k=1)["more"]["completion"]
    text = "foo" + "f" + "".join(TOKENS[t].decode() for t in done["tokens"] if t != EOS)
    assert re.fullmatch(PATTERN, text)
    assert done["text"] == repr(text)
    assert done["tokens"][-1] == EOS


def test_after_forks_and_makes_the_token_allowed(page: Page) -> None:
    page.ask("step")
    more = page.ask("more", token=EOS, k=1)["more"]
    assert page.ask("follow", tokens=more["after"])["ok"]
    session = page.made.session
    assert session.text == "foofood"
    assert session.allowed()[EOS]
    forks = page.line["strip"]["forks"]
    assert [[t["id"] for t in fork["tokens"]] for fork in forks if not fork["current"]] == [[FOO]]
    assert [t["id"] for t in page.line["strip"]["tokens"]] == [FOO, FOOD]
    assert [fork["current"] for fork in forks] == [False, True]
    assert page.position["k"] == 2


def test_earlier_names_the_place_and_what_was_taken_there(page: Page) -> None:
    page.ask("take", token=F)
    page.ask("take", token=OO)
    page.ask("take", token=FOOD)
    more = page.ask("more", token=OO, k=3)["more"]
    assert more["earlier"] == {"position": 1, "chosen": OO}
    # It was taken there itself, and not another one in its place.
    session, trace = page.made.session, page.made.trace
    hints = explain_trace(session.machine, trace, OO, 3).hints
    assert any("at position 1, where it was chosen" in hint for hint in hints)
    hints = explain_trace(session.machine, trace, F, 3).hints
    assert any("at position 2, where" in hint and "it was" not in hint for hint in hints) is True
    assert not starts_a_word(b"foofood" + TOKENS[OO])
    assert starts_a_word(b"f" + TOKENS[OO])


QUESTIONS = {
    "walk": {"token": FOR}, "why": {"token": FOR}, "more": {"token": FOR},
    "search": {"query": "f"}, "allowed": {}, "reasons": {}, "group": {"group": 0},
    "traps": {}, "engines": {"tokens": [FOR]},
    "around": {}, "stages": {}, "ahead": {},
}  # fmt: skip


def test_every_question_about_a_place_is_asked_here() -> None:
    about = {
        name
        for name, entry in TABLE.items()
        if issubclass(entry.message, AtPlace) and not entry.moves
    }
    assert set(QUESTIONS) == about


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_question_about_a_place_that_was_left_is_dropped(page: Page, kind: str) -> None:
    if kind == "stages":
        pytest.importorskip("pynini")
    seen = page.made.cursor.generation
    assert page.ask(kind, k=0, seen=seen, **QUESTIONS[kind])["ok"]
    page.ask("step")
    answer = page.ask(kind, k=0, seen=seen, **QUESTIONS[kind])
    assert (answer["ok"], answer["stale"], answer["quiet"]) == (False, True, True)
    assert "error" not in answer
    now = page.made.cursor.generation
    assert answer["generation"] == now
    assert page.ask(kind, k=1, seen=now, **QUESTIONS[kind])["ok"]


@pytest.mark.parametrize("kind", [kind for kind in QUESTIONS if TABLE[kind].later])
def test_a_step_while_it_is_worked_out_drops_the_answer(page: Page, kind: str) -> None:
    moved: list[int] = []

    def move(*_: object) -> None:
        """Before the first call of the thread that works the answer out."""
        sys.setprofile(None)
        threading.setprofile(None)
        page.made.cursor.step()
        moved.append(1)

    threading.setprofile(move)
    try:
        answer = page.ask(kind, k=0, **QUESTIONS[kind])
    finally:
        threading.setprofile(None)
    assert moved and answer["stale"] and not answer["ok"] and "error" not in answer


def test_the_smallest_change_can_be_used(page: Page) -> None:
    page.ask("step")
    change = page.ask("more", token=FOR, k=1)["more"]["cause"]
    changed = change["remedy"].rpartition(": ")[2]
    assert re.fullmatch(changed, "foofor" + "d")
    assert not re.fullmatch(PATTERN, "foofor" + "d")
    assert page.ask("relax", token=FOR, k=1)["ok"]
    assert page.made.session.text == "foo"
    assert page.ask("why", token=FOR, k=1)["explanation"]["allowed"]


def test_groups_add_up_and_hold_exactly_their_tokens(page: Page) -> None:
    page.ask("step")
    found = page.ask("reasons", k=1)["reasons"]
    assert (
        found["allowed"] + sum(group["count"] for group in found["groups"]) == found["width"] == 6
    )
    assert found["z"] + sum(group["mass"] for group in found["groups"]) == pytest.approx(1)
    assert found["z"] == pytest.approx(page.position["z"], rel=1e-4)
    # After foo, by hand: for fails at r where o is expected, oo at o where d or f are, EOS early.
    assert [group["examples"] for group in found["groups"]] == [[FOR], [EOS], [OO]]
    assert "expects o," in found["groups"][0]["reason"]
    for number, ids in enumerate([{FOR}, {EOS}, {OO}]):
        answer = page.ask("group", k=1, group=number)
        assert {row["id"] for row in answer["rows"]} == ids
        raw = page.made.page_data.groups(page.made.session, page.made.trace, 1).members
        assert answer["members"] == packed(raw)
        assert set(np.flatnonzero(raw == number + 1).tolist()) == ids


def test_what_the_token_budget_takes_is_a_group_of_its_own() -> None:
    cursor = Cursor(Session(ToyModel(), toy_constraint(), max_tokens=3))
    made = Explorer(cursor=cursor)
    page = Page(made)
    page.ask("take", token=F)
    page.ask("take", token=OO) if made.session.allowed()[OO] else None
    k = made.session.index
    found = page.ask("reasons", k=k)["reasons"]
    assert found["allowed"] == made.position["allowed"] == int(made.session.allowed().sum())
    over = made.position["over_budget"]
    assert over
    [late] = [group for group in found["groups"] if "budget" in group["reason"]]
    assert late["count"] == over
    assert found["z"] + sum(group["mass"] for group in found["groups"]) == pytest.approx(1)
    token = late["examples"][0]
    told = page.ask("why", token=token, k=k)["explanation"]
    assert (told["allowed"], told["over_budget"], told["stage"]) == (False, True, "allowed")
    assert "token budget" in told["sentence"]
    made.close()
