"""The notebooks on masks run, and show the numbers that their text speaks of."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

import jsonschema
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
        shown, "film", "divide", "mass", "forced", "appendix", "greedy", "whole", "aliases-scored",
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
    assert f"It is {round(100 * 18 / 65)}." in shown.printed("divide")
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
    assert shown.value("greedy") == {"every token": "foo(123)", "only tokens that fit": "bar(456)"}
    # The trap: the likeliest first token begins the answer that is last as a whole.
    assert "It is Not at all." in shown.printed("greedy")
    # Seen one token before: after Not nearly nothing stays allowed, and what is wished is masked.
    ahead = shown.value("{e.data.decode(): [e.mass, e.wish_allowed] for e in start.ahead(3)}")
    assert ahead["Not"] == [pytest.approx(0.0509, abs=0.001), False]
    assert "It is Yes." in shown.printed("whole")
    scored = shown.value("{e.choice: e.log_prob for e in selection.scored}")
    assert list(scored) == ["Yes", "No", "Not at all"]
    assert math.exp(scored["Yes"]) == pytest.approx(0.353, abs=0.005)
    assert "greedy" in shown.plain("whole")
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
    # The record: what its text says of the masses, and of what the model wanted in their places.
    record = "[[s.data.decode() if s.data else '', s.before.distribution.z] for s in written.steps]"
    rows = shown.value(record.replace("written.steps", "written.trace.steps"))
    assert rows[0][1] == pytest.approx(0.5, abs=0.06)
    small = sorted(round(mass, 2) for _, mass in rows[1:])[:3]
    assert small == [0.60, 0.62, 0.69]
    text = shown.cells["record-text"].source
    assert all(f"{mass:.2f}" in text for mass in small)
    assert f"{math.prod(mass for _, mass in rows):.2f}" == "0.05"
    first = "explorer.Session(tiny, record_constraint(), RECORD_PROMPT).position.distribution"
    here = "tiny.vocabulary.ids_of(b'Here')[0]"
    share = f"[math.exp(c.model) for c in {first}.candidates if c.token == {here}]"
    assert shown.value(share) == [pytest.approx(0.07, abs=0.005)]
    # The exercises.
    assert answer("masks-divided") == pytest.approx(0.3 / (0.1 + 0.3))
    assert answer("masks-factor") == pytest.approx(1 / (0.5 * 0.2 * 1))
    given = {"France": 0.3, "FRANCE": 0.25, "Germany": 0.35, "GERMANY": 0.1}
    names = {"France": 0.3 + 0.25, "Germany": 0.35 + 0.1}
    assert answer("masks-aliases") == (
        max(given, key=given.__getitem__),
        max(names, key=names.__getitem__),
    )


def test_why_was_it_masked(show: Show) -> None:
    shown = show("06_why_was_it_masked")
    pictures(shown, "tool-1", "case-4-shown", "case-6-shown", "case-7-shown")
    # 1: nearly all of the masked probability begins with a space; the repaired pattern leaves it.
    assert "It is a space." in shown.printed("tool-1")
    assert shown.value("groups[0].mass") > 0.999
    repaired = f"explorer.Session(tiny, explorer.regex({answer('why-space')!r}), prompt)"
    assert shown.value(f"{repaired}.position.distribution.z") > 0.99
    # 2: of the shortest texts that go on from 12, by `re`.
    assert "It is 3." in shown.printed("tool-2")
    assert re.fullmatch(r"[0-9]+\.[0-9]{2}", "12" + shown.value("missing"))
    assert "still needs '.' or 0-9" in shown.printed("tool-2")
    for text, fits in (("12", True), ("12.50", True), ("12.", False), ("12.5", False)):
        assert (re.fullmatch(str(answer("why-end")), text) is not None) is fits
    # 3: the widening is the one that the notebook speaks of.
    assert "It is 0." in shown.printed("tool-3")
    assert "[a-zA-Z ü]+" in shown.printed("tool-3")
    letters = {chr(k) for k in range(0x250)}
    both = {c for c in letters if re.fullmatch(str(answer("why-umlaut")), c)}
    assert both - {c for c in letters if re.fullmatch("[a-zA-Z ]+", c)} == {"ü", "ö"}
    # 4: the marks that are allowed, by `re`, before the repair and after it.
    assert "It is -." in shown.printed("tool-4")
    for pattern, marks in (("""[A-Za-z'"-_<> ]+""", "('<(5;]^{"), (answer("why-hyphen"), "-(5;")):
        fits = [mark for mark in dict.fromkeys(marks) if re.fullmatch(str(pattern), mark)]
        if pattern == answer("why-hyphen"):
            assert fits == ["-"]
        else:
            assert shown.plain("case-4-shown").splitlines()[1] == f"allowed: {' | '.join(fits)}"
    # 5: one byte is left, and it is the second of the letter.
    assert "It is 1." in shown.printed("tool-5")
    assert "tokens allowed now: 1" in shown.printed("case-5")
    assert b"\xc3" + bytes.fromhex(shown.value("half.explain('a').after and "
        "tiny.vocabulary.tokens[half.explain('a').after[0]].hex()")) == "é".encode()  # fmt: skip
    assert answer("why-half") == "é".encode()[1:]
    # 6: a dead end of the vocabulary; with one token more it is none.
    assert "It is the vocabulary." in shown.printed("tool-6")
    more = (
        f"explorer.Vocabulary.from_bytes([*few.tokens[:6], {str(answer('why-dead-end')).encode()}],"
        " eos_ids=[7])"
    )
    assert shown.value(
        f"[bool(m.allowed(m.start)[0]) for m in [explorer.compile(machine.constraint, {more})]]"
    ) == [True]
    # 7: two bytes fit, and nothing may follow.
    assert "It is 2." in shown.printed("tool-7")
    assert shown.value("two.explain('202').expected.hex()") == "" and answer("why-too-long") == (
        "nothing"
    )
    # 8: three loops; the repaired pattern has none and keeps the text.
    assert "It is 3." in shown.printed("tool-8")
    text = shown.value("wild.text")
    assert sum(map(str.isspace, text)) > 15 and "}" not in text
    assert re.fullmatch(str(answer("why-white-space")), '{ "a": 7 }')
    tight = f"explorer.Session(tiny, explorer.regex({str(answer('why-white-space'))!r}), '')"
    assert shown.value(f"[t.kind for t in {tight}.traps() if t.kind == 'whitespace_loop']") == []
    # 9: beside the validator; with any order the third text is accepted.
    schema, texts = shown.value("schema"), shown.value("texts")
    valid = jsonschema.Draft202012Validator(schema)
    assert [valid.is_valid(json.loads(text)) for text in texts] == [True, True, True, False]
    assert [row.split()[-1] for row in shown.plain("case-9-shown").splitlines()[2:]] == [
        "yes", "yes", "no", "no",
    ]  # fmt: skip
    order = f"explorer.json_schema(schema, property_order={answer('why-order')!r})"
    assert shown.value(f"[{order}.accepts(text) for text in texts]") == [True, True, True, False]
    # 10: each reason has a field of its own.
    assert "It is A." in shown.printed("tool-10")
    found = shown.value(
        "[[bool(w.sampled_out), bool(w.over_budget), w.stage] for w in answers.values()]"
    )
    assert found == [
        [True, False, "allowed"], [False, True, "allowed"], [False, False, "filtered"],
        [False, False, "constraint"],
    ]  # fmt: skip
    assert answer("why-suspects") == ("sampler", "budget", "filter", "constraint")
    assert "5 of 4,000 tokens allowed" in widget(shown)
