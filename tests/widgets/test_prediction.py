"""A question gives nothing away before a guess, and says what a wrong one would mean."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.errors import ExplorerError
from widgets.lessons import FIGURE_4, bar_picture, lettered_picture, predict, table_picture
from widgets.lessons.prediction import FOLDED, WAITING


def sent(asked: Any) -> str:
    """All that the page of a widget holds."""
    return repr({name: asked.get_state()[name] for name in ("kind", "choices", "picture", "reply")})


def test_a_page_has_no_answer_before_the_guess() -> None:
    asked = predict(
        731, "secret words", bar_picture("hidden", {"a": 1.0}), wrong={5: "a secret meaning"}
    )
    assert asked.kind == "number" and asked.reply == {}
    assert not any(word in sent(asked) for word in ("731", "secret", "hidden"))
    assert asked.guess("5") == "You predicted 5; it is 731. a secret meaning"
    assert asked.reply["right"] is False
    assert [sorted(part) for part in asked.reply["parts"]] == [["text"], ["alt", "svg", "text"]]
    assert asked.guess("731") == "You predicted 731, and so it is."


def test_each_kind_of_guess() -> None:
    yes = predict(True, wrong={False: "It does."})
    assert yes.choices == ["yes", "no"]
    assert yes.guess("no") == "You predicted no; it is yes. It does."
    assert yes.guess(True) == "You predicted yes, and so it is."
    choice = predict("b", choices=["a", "b"], otherwise="Look again.")
    assert choice.guess("a") == "You predicted a; it is b. Look again."
    assert predict(2, choices=range(4)).guess("2") == "You predicted 2, and so it is."
    near = predict(47.7, within=0.5)
    assert near.guess("48,0").endswith("and so it is.") and not near.guess("49").endswith(
        "so it is."
    )
    assert near.guess("many") == "many is not a number." and "parts" not in near.reply
    pattern = predict("a+b", pattern=True, otherwise="Think of runs.")
    assert pattern.guess("aa*b").startswith("Right.")
    assert pattern.guess("a*b").startswith("Not yet. It also accepts 'b'")
    state = predict("fo", click=lettered_picture("T_V", FIGURE_4), wrong={"f": "One earlier."})
    assert state.kind == "state" and "<circle" in state.picture
    assert state.guess("f") == "You predicted f; it is fo. One earlier."
    with pytest.raises(ExplorerError, match="choices"):
        predict("c", choices=["a", "b"])


def test_a_message_of_a_page_is_answered_and_a_strange_one_is_no_error() -> None:
    asked = predict(3)
    asked._heard(asked, {"guess": "3"}, [])
    assert asked.reply["right"] is True
    asked._heard(asked, {}, [])
    assert asked.reply["said"].startswith("KeyError")


def test_without_widgets_the_answer_is_folded() -> None:
    table = table_picture("Sums", ["a"], [["<b>"]])
    bundle = predict("x", table, wrong={"y": "No."})._repr_mimebundle_()
    assert bundle is not None
    data = bundle[0]
    assert data["text/plain"] == WAITING and "x" not in WAITING.split()
    assert data[FOLDED]["said"] == "It is x.\nIf you said y: No."
    assert data["text/html"].startswith("<details><summary>The answer</summary>")
    assert "&lt;b&gt;" in data["text/html"] and "<b>" not in data["text/html"]
