"""The stack of a grammar on the page: rows, what a token pushes and pops, slow motion, exports."""

from __future__ import annotations

from typing import Any

from explorer.analysis.session import Session
from explorer.languages.constraint import Constraint
from explorer.languages.grammar.functions import grammar
from explorer.vocabulary import Vocabulary
from tests.widgets.page import Page
from widgets.cursor import Cursor
from widgets.views.explorer import Explorer

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


def test_a_rule_that_is_called_again_from_the_same_place_is_popped_and_pushed() -> None:
    vocabulary = Vocabulary.from_bytes([b"1", b"+1"], eos_ids=[2])
    shown = run(SUMS, [0, 1, 1], vocabulary)
    found = stack(shown, 3)
    assert (found["pushed"], found["gone"]) == (1, 1)
    assert [row["read"] for row in found["popped"]] == ["1+1"]
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
