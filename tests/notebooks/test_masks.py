"""The notebooks on masks run, and show the numbers that their text speaks of."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest

from explorer.course.checking import EXERCISES
from tests.notebooks.running import Shown, pictures, widget

Show = Callable[[str], Shown]


def answer(name: str) -> object:
    """The right answer of an exercise."""
    return EXERCISES[name].answer  # type: ignore[attr-defined]


def test_masks_and_probabilities(show: Show) -> None:
    shown = show("05_masks_and_probabilities")
    pictures(
        shown, "film", "divide", "mass", "forced", "appendix", "greedy", "whole", "aliases",
    )  # fmt: skip
    # The loop, by hand: rows of the toy's table, in per cent, and what may follow by `re`.
    tokens = ["f", "oo", "foo", "for", "food", ""]
    table = {
        "": (16, 7, 31, 24, 18, 4), "foo": (8, 6, 34, 20, 22, 10), "foofoo": (6, 8, 20, 16, 38, 12),
        "foofoofood": (6, 4, 12, 12, 6, 60),
    }  # fmt: skip

    def may(text: str, token: str) -> bool:
        if not token:
            return re.fullmatch("(foo)+d", text) is not None
        # Whatever is left after it, the tokens can write: f oo, food, or nothing more.
        return re.fullmatch("(foo)*(f|fo|foo|(foo)+d)?", text + token) is not None

    text, masses = "", list[float]()
    for row in shown.value("steps"):
        _, allowed, mass, token, before, after = row
        weights = table[text]
        by_hand = [k for k in range(6) if may(text, tokens[k])]
        assert allowed == by_hand
        masses.append(sum(weights[k] for k in by_hand) / 100)
        assert mass == pytest.approx(masses[-1])
        assert token == max(by_hand, key=lambda k: weights[k])
        assert before == pytest.approx(weights[token] / 100)
        assert after == pytest.approx(before / mass)
        text += tokens[token]
    assert text == "foofoofood"
    assert [line.split()[0] for line in shown.plain("film").splitlines()[1:]] == [
        "in", "foo", "foo", "food",
    ]  # fmt: skip
    assert "It is 48." in shown.printed("divide")
    factor = 1 / math.prod(masses)
    assert f"It is {factor:.1f}." in shown.printed("product")
    assert shown.value("by_model / product") == pytest.approx(shown.value("by_mask"))
    # On a model: sure of a date, and then it wants a full stop.
    masses = shown.value("masses")
    assert "It is 6." in shown.printed("mass")
    assert min(masses[:6]) > 0.98 and masses[6] < 1e-5 and len(masses) == 7
    assert [step for step in shown.value("[s.before.num_allowed for s in dated.steps]")][2] == 1
    # Forced texts and forced tokens.
    texts = shown.value("[t.decode(errors='replace') for t in tiny.vocabulary.tokens[5:] if t]")
    assert "It is 3." in shown.printed("forced")
    assert shown.plain("forced").splitlines()[1] == "every spelling: " + " | ".join(
        t for t in texts if "ril".startswith(t)
    )
    counts = shown.value("counts")
    assert counts["canonical"][:-1] == [1] * 8 and counts["every spelling"].count(1) == 6
    # Appendix A: 0.4 + 0.2 against 0.3 + 0.1, and 0.3 against 0.2 of what is left.
    chances = shown.value("chances")
    assert chances["foo(123)"] == pytest.approx([0.6, 0.4])
    assert chances["bar(456)"] == pytest.approx([0.4, 0.6])
    assert shown.value("greedy") == {"every token": "foo(123)", "no token crosses": "bar(456)"}
    # The trap: the likeliest first token begins the answer that is last as a whole.
    assert "It is Not at all." in shown.printed("greedy")
    assert "It is Yes." in shown.printed("whole")
    scored = shown.value("{e.choice: e.log_prob for e in selection.scored}")
    assert list(scored) == ["Yes", "No", "Not at all"]
    assert math.exp(scored["Yes"]) == pytest.approx(0.353, abs=0.005)
    assert "greedy" in shown.plain("whole-table")
    # Three ways to write the countries.
    assert "It is italy." in shown.printed("case")
    assert shown.value("{how: run.text.strip() for how, run in found.items()}") == {
        "as written": "France", "in capitals": "FRANCE", "in small letters": "italy",
        "in any case": "France",
    }  # fmt: skip
    masses = shown.value("[run.steps[0].before.distribution.z for run in found.values()]")
    assert masses[0] > 0.4 and masses[3] > 0.4 and max(masses[1:3]) < 1e-3
    assert shown.printed("aliases").strip() == "' France' → France | ' FRANCE' → France"
    shares = shown.value("[scored.probability(name) for name in countries]")
    assert sum(shares) == pytest.approx(1) and max(shares) == shares[0]
    assert "3 of 6 tokens allowed" in widget(shown)
    # The exercises.
    assert answer("masks-divided") == pytest.approx(0.3 / (0.1 + 0.3))
    assert answer("masks-factor") == pytest.approx(1 / (0.5 * 0.2 * 1))
    given = {"France": 0.3, "FRANCE": 0.25, "Germany": 0.35, "GERMANY": 0.1}
    names = {"France": 0.3 + 0.25, "Germany": 0.35 + 0.1}
    assert answer("masks-aliases") == (
        max(given, key=given.__getitem__),
        max(names, key=names.__getitem__),
    )
