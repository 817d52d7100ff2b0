"""The notebooks about structures, masks and pitfalls."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable
from itertools import product

import jsonschema
import pytest

from explorer.course.checking import EXERCISES
from tests.notebooks.running import Shown, pictures, widget

# The notebooks on JSON and on grammars run, and show what their text speaks of.


Show = Callable[[str], Shown]


def answer(name: str) -> object:
    """The right answer of an exercise."""
    return EXERCISES[name].answer  # type: ignore[attr-defined]


def test_json_and_types(show: Show) -> None:
    shown = show("07_json_and_types")
    pictures(shown, "machine", "algebra", "numbers", "sizes")
    # The smallest schema: its texts, and a machine that spells them, state by state.
    assert shown.printed("machine").strip() == """['{"ok":true}', '{"ok":false}']"""
    # As many states as there are different sets of what may still follow (Myhill and Nerode).
    two = ('{"ok":true}', '{"ok":false}')
    prefixes = {t[:k] for t in two for k in range(len(t) + 1)}
    follows = {frozenset(t[len(p) :] for t in two if t.startswith(p)) for p in prefixes}
    assert shown.value("ok.dfa.num_states") == len(follows) == 15
    assert "The answer is yes." in shown.printed("by-hand") and len(shown.value("pairs")) == 15
    # Keywords, by brute force with the validator.
    schema = {"type": "string", "pattern": "^[ab]*$", "maxLength": 2, "not": {"const": "a"}}
    valid = jsonschema.Draft202012Validator(schema)
    words = ["".join(w) for k in range(4) for w in product("abc", repeat=k)]
    fits = [w for w in words if valid.is_valid(w)]
    assert shown.value("keywords.examples(20)") == [json.dumps(w) for w in fits]
    assert f"The answer is {len(fits)}." in shown.printed("algebra")
    sets = """explorer.regex('"[ab]*"') & explorer.regex('".{0,2}"') - explorer.literal('"a"')"""
    for pair in (f"({sets}) - keywords", f"keywords - ({sets})"):
        assert shown.value(f"({pair}).is_empty()")
    assert [whole for whole in range(20) if shown.value(f"whole.accepts('{whole}')")] == [
        8, 9, 10, 11, 12,
    ]  # fmt: skip
    assert "The answer is pydantic." in shown.printed("three-written")
    assert "Expected by /properties/year/maximum." in shown.printed("keyword")
    assert "2 of 4,000 tokens allowed" in widget(shown)
    # The exercises, by the validator.
    few = {
        "type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 2,
        "uniqueItems": True,
    }  # fmt: skip
    arrays = [[*a] for k in range(4) for a in product("abc", repeat=k)]
    assert answer("json-count") == sum(map(jsonschema.Draft202012Validator(few).is_valid, arrays))
    closed = jsonschema.Draft202012Validator(
        {
            "type": "object", "properties": {"a": {"const": "x"}, "b": {"type": "boolean"}},
            "required": ["b"], "additionalProperties": False,
        }
    )  # fmt: skip
    for text in ('{"b":true}', '{"a":"x","b":false}', '{"a":"x"}', '{"a":"y","b":true}', "{}"):
        fits_pattern = re.fullmatch(str(answer("json-pattern")), text) is not None
        assert fits_pattern == closed.is_valid(json.loads(text)), text
    assert re.fullmatch(str(answer("json-pattern")), '{"a":"x""b":true}') is None
    assert answer("json-keyword") == "additionalProperties"


def test_grammars(show: Show) -> None:
    shown = show("08_grammars")
    pictures(
        shown, "count", "machine", "figure-6", "figure-7", "stack", "regular", "bounded",
        "figure-7-fst",
    )  # fmt: skip
    # The states that counting takes, by the sets of what may follow.
    for n, size in shown.value("sizes").items():
        if int(n) > 5:
            continue
        every = ["a" * k + "b" * k for k in range(1, int(n) + 1)]
        begins = {text[:k] for text in every for k in range(len(text) + 1)}
        follows = {frozenset(t[len(p) :] for t in every if t.startswith(p)) for p in begins}
        assert size == len(follows) == 2 * int(n) + 1
    assert "The answer is 11." in shown.printed("count")
    # Figure 7, and the stack, counted with fingers.
    assert "The answer is 2." in shown.printed("figure-7")
    assert shown.value("heights") == [0, 0, 3, 2, 0]
    assert "The answer is 3." in shown.printed("stack")
    assert [int(h) for h in re.findall(r"(\d) on the stack", shown.plain("stack"))] == [3, 2]
    # The masks, by brute force over the texts of the language.
    language = {"a" * k + "b" * k for k in range(1, 12)}
    for text, said in shown.value("masks").items():
        text = text.replace("(nothing)", "")
        assert said == [
            *(t for t in ("a", "b", "bb", "aaab") if any(w.startswith(text + t) for w in language)),
            *(["end"] if text in language else []),
        ]
    # Regular after all.
    assert "The answer is 2." in shown.printed("regular")
    assert "the same as a*b: True" in shown.printed("regular")
    assert [*shown.value("verdicts").values()] == ["table", "table", "stack", "refused"]
    assert "A rule that begins with itself" in shown.printed("refused")
    assert shown.value("[c.dfa.num_states for c in bounded.values()]") == [4, 6, 8, 10, 12]
    assert "2 of 5 tokens allowed" in widget(shown)
    # The exercises.
    assert answer("grammars-height") == "aaabb".count("a") - "aaabb".count("b")
    grammar = """explorer.grammar('root ::= "x" root | "y" tail\\ntail ::= "z" tail | ""')"""
    pattern = f"explorer.regex({str(answer('grammars-regular'))!r})"
    for one, other in ((grammar, pattern), (pattern, grammar)):
        assert shown.value(f"({one} - {other}).is_empty()")


# The notebooks on masks run, and show the numbers that their text speaks of.


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
    assert f"The answer is {round(100 * 18 / 65)}." in shown.printed("divide")
    factor = 1 / math.prod(masses)
    assert f"The answer is {factor:.1f}." in shown.printed("product")
    assert shown.value("by_model / product") == pytest.approx(shown.value("by_mask"))
    # On a model: sure of a date, and then it wants a full stop.
    masses = shown.value("masses")
    assert "The answer is 6." in shown.printed("mass")
    assert min(masses[:6]) > 0.98 and masses[6] < 1e-5 and len(masses) == 7
    assert [step for step in shown.value("[s.before.num_allowed for s in dated.steps]")][2] == 1
    assert "The answer is 3." in shown.printed("forced")
    # Appendix A: 0.4 + 0.2 against 0.3 + 0.1, and 0.3 against 0.2 of what is left.
    chances = shown.value("chances")
    assert chances["foo(123)"] == pytest.approx([0.6, 0.4])
    assert chances["bar(456)"] == pytest.approx([0.4, 0.6])
    assert shown.value("greedy") == {"every token": "foo(123)", "only tokens that fit": "bar(456)"}
    # The trap: the likeliest first token begins the answer that is last as a whole.
    assert "The answer is Not at all." in shown.printed("greedy")
    assert "The answer is Yes." in shown.printed("whole")
    scored = shown.value("{e.choice: e.log_prob for e in selection.scored}")
    assert list(scored) == ["Yes", "No", "Not at all"]
    assert math.exp(scored["Yes"]) == pytest.approx(0.353, abs=0.005)
    assert "greedy" in shown.plain("whole")
    # Three ways to write the countries.
    assert "The answer is no." in shown.printed("case")
    assert shown.value("{how: run.text.strip() for how, run in found.items()}") == {
        "as written": "France", "in capitals": "FRANCE", "in small letters": "italy",
        "in any case": "France",
    }  # fmt: skip
    masses = shown.value("[run.steps[0].before.distribution.z for run in found.values()]")
    assert masses[0] > 0.4 and masses[3] > 0.4 and max(masses[1:3]) < 1e-3
    assert shown.printed("aliases").strip() == "' France' → France | ' FRANCE' → France"
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
    pictures(shown, "tool-1", "case-3-shown")
    # 1: nearly all of the masked probability begins with a space; the repaired pattern leaves it.
    assert "The answer is a space." in shown.printed("tool-1")
    assert shown.value("groups[0].mass") > 0.999
    repaired = f"explorer.Session(tiny, explorer.regex({answer('why-space')!r}), prompt)"
    assert shown.value(f"{repaired}.position.distribution.z") > 0.99
    # 2: the widening is the one that the notebook speaks of.
    assert "The answer is 0." in shown.printed("tool-2")
    assert "[a-zA-Z ü]+" in shown.printed("tool-2")
    letters = {chr(k) for k in range(0x250)}
    both = {c for c in letters if re.fullmatch(str(answer("why-umlaut")), c)}
    assert both - {c for c in letters if re.fullmatch("[a-zA-Z ]+", c)} == {"ü", "ö"}
    # 3: a dead end of the vocabulary; with one token more it is none.
    assert "The answer is the vocabulary." in shown.printed("tool-3")
    more = (
        f"explorer.Vocabulary.from_bytes([*few.tokens[:6], {str(answer('why-dead-end')).encode()}],"
        " eos_ids=[7])"
    )
    assert shown.value(
        f"[bool(m.allowed(m.start)[0]) for m in [explorer.compile(machine.constraint, {more})]]"
    ) == [True]
    # 4: three loops; the repaired pattern has none and keeps the text.
    assert "The answer is 3." in shown.printed("tool-4")
    text = shown.value("wild.text")
    assert sum(map(str.isspace, text)) > 15 and "}" not in text
    assert re.fullmatch(str(answer("why-white-space")), '{ "a": 7 }')
    tight = f"explorer.Session(tiny, explorer.regex({str(answer('why-white-space'))!r}), '')"
    assert shown.value(f"[t.kind for t in {tight}.traps() if t.kind == 'whitespace_loop']") == []
    # 5: each reason has a field of its own.
    assert "The answer is A." in shown.printed("tool-5")
    found = shown.value(
        "[[bool(w.sampled_out), bool(w.over_budget), w.stage] for w in answers.values()]"
    )
    assert found == [
        [True, False, "allowed"], [False, True, "allowed"], [False, False, "filtered"],
        [False, False, "constraint"],
    ]  # fmt: skip
    assert answer("why-suspects") == ("sampler", "budget", "filter", "constraint")
    assert "5 of 4,000 tokens allowed" in widget(shown)


# The notebooks on the pitfalls of tokens run, and show the numbers that their text speaks of.


def test_preprocessing(show: Show) -> None:
    shown = show("09a_preprocessing")
    assert "The answer is 6." in shown.printed("bytes")
    pictures(shown, "bytes", "transducer", "plain-machine", "composed-machine", "mass", "lossy")
    # Llama 2's steps as in the paper's figure 2: a symbol in front, and one for each space.
    assert "0 -ε : ▁-> 1" in shown.plain("transducer")
    assert "␣ : ▁" in shown.plain("transducer")
    assert "0 -␣-> 1" in shown.plain("composed-machine")
    assert "The answer is no." in shown.printed("mask")
    # What the tokenizer writes is a path of the composed machine, and never of the plain one here.
    assert shown.value("paths") == [[False, True]] * 5
    masses = shown.value("masses")
    assert masses["plain"] < 0.01 and masses["preprocessed"] > 0.5
    assert "['rome', 'paris']" in shown.printed("lossy")
    assert "7 of 4,000 tokens allowed" in widget(shown)
    assert shown.value("course.check('preprocessing-spelled', b' a b').right")
    spelled = shown.value("repr(b''.join(tokens.tokens[k] for k in encoded(lm, 'a b')))")
    assert spelled == repr(b" a b")


def test_canonical_tokens(show: Show) -> None:
    shown = show("09b_canonical_tokens")
    assert "The answer is 7." in shown.printed("rome")
    pictures(shown, "rome", "pair", "counts", "mass", "coalescence", "coalescence-table")
    assert "7 ways to write 'Rome'" in shown.plain("rome")
    # An automaton of its own has a state for each token that can be the last one.
    sizes = shown.value("sizes")
    assert sizes["canonical"][0] == sizes["every spelling"][1] + 1 == 81
    pictures(shown, "words-picture")
    assert [line.split()[1] for line in shown.printed("words").splitlines()] == ["8", "4"]
    # Of three neighbours of R one is refused, and the tokenizer would write Rome.
    assert shown.value("refused") == ["ome"]
    assert "would write 'Rome' as one token" in shown.printed("pair")
    assert "after 'R'" in shown.printed("pair")
    assert list(shown.value("counts").values()) == [8, 3, 8, 3]
    everything, canonical = shown.value("[everything.value, canonical.value]")
    assert 0.99 < canonical <= everything < canonical + 1e-3
    # The share of forced tokens, near that of the paper's models with the filter and without it.
    shares = shown.value("shares")
    assert shares["tiny, canonical"] == pytest.approx(75.6, abs=0.1)
    assert shares["tiny, every spelling"] < 10
    assert "The answer is three quarters." in shown.printed("coalescence")
    assert shown.value("answer.forced") > shown.value("len(answer.tokens)") / 2
    assert "3 of 4,000 tokens allowed" in widget(shown)


def test_unicode(show: Show) -> None:
    shown = show("09c_unicode")
    assert "The answer is no." in shown.printed("two")
    pictures(shown, "nfc", "nfc-count", "utf8", "mask", "ascii")
    # Syllables: a consonant carries one sign, and a sign needs its consonant.
    assert "The answer is 2." in shown.printed("syllables")
    assert shown.plain("syllables").startswith("Syllables: 3 states")
    # Counted by the standard library.
    words = ("".join(w) for k in range(1, 5) for w in product("ae\u00e9\u0301", repeat=k))
    in_form = sum(unicodedata.is_normalized("NFC", word) for word in words)
    assert shown.value("sum(kept.values())") == in_form
    assert "The answer is 14." in shown.printed("nfc-count")
    assert "Valid UTF-8: 8 states" in shown.plain("utf8")
    assert "The answer is 1." in shown.printed("scripts")
    sizes = shown.value("sizes")
    assert sizes["every script"] > sizes["Latin"] > sizes["ASCII"]
    assert shown.printed("session").strip().isascii()
    assert "allowed" in widget(shown)
    assert unicodedata.normalize("NFC", "A\u030a") == chr(0x00C5)


def test_bytes_and_spaces(show: Show) -> None:
    shown = show("09d_bytes_and_spaces")
    assert "The answer is 2." in shown.printed("letter") and "The answer is 8." in shown.printed(
        "word"
    )
    pictures(shown, "letter", "water", "mask", "needed", "fused", "table", "bars", "greedy")
    assert "every spelling: <C3> | ö | ü (3 allowed)" in shown.plain("mask")
    assert "no redundant bytes: ö | ü (2 allowed)" in shown.plain("mask")
    assert "<E6> | <B0> | <B4>" in shown.plain("needed")
    assert shown.value("spellings_of(tokens, ' sev').count") == 32
    assert "32 ways to write ' sev'" in shown.plain("fused")
    # Table 3: the fused word far before the two that begin with a lone space; digits before all.
    fused, whole, parts, digits = shown.value("totals")
    assert fused == pytest.approx(-1.63, abs=0.01)
    assert whole == pytest.approx(-20.78, abs=0.05)
    assert parts == pytest.approx(-41.56, abs=0.05)
    assert digits == pytest.approx(-0.27, abs=0.01)
    assert "total -1.63" in shown.plain("table")
    assert "The answer is no." in shown.printed("greedy")
    assert "11 of 4,000 tokens allowed" in widget(shown)
    assert "masked at the start by the isolated space filter" in shown.printed("why")
    assert shown.value(
        "[t.decode() for t in map(tokens.tokens.__getitem__, spelled(' ', '1', '7'))]"
    ) == [
        *EXERCISES["spaces-digits"].answer  # type: ignore[attr-defined]
    ]


def test_token_healing(show: Show) -> None:
    shown = show("09e_token_healing")
    assert "The answer is 2." in shown.printed("broken")
    pictures(shown, "broken", "forced", "cost")
    assert "␣c | ol" in shown.plain("broken") and "␣colour (written otherwise)" in shown.plain(
        "broken"
    )
    answers = shown.value("answers")
    assert [way for way, text in answers.items() if text.startswith("our")] == ["prompt"]
    assert "␣What (forced) | ␣is (forced) | ␣the (forced) | ␣colour | " in shown.plain("forced")
    assert "The answer is 3." in shown.printed("agree")
    assert shown.value("[back == whole for back, whole in found]") == [True, True, True, False]
    assert "1 of 4,000 tokens allowed" in widget(shown)
    reopened = "reopened('Write a JS', both('Write a JS', explorer.literal('ON record'))[1])"
    assert shown.value(f"course.check('healing-tokens', {reopened}).right")


def test_masks_and_probability(show: Show) -> None:
    shown = show("09f_masks_and_probability")
    pictures(shown, "toy", "real", "where", "sampling", "conditional")
    # By hand: 0.6 of 0.7 begins with New, and given the constraint it is 0.06 of 0.16.
    masked, given = shown.value("[shares['New York'].masked, shares['New York'].conditional]")
    assert masked == pytest.approx(0.6 / 0.7) and given == pytest.approx(0.06 / 0.16)
    assert "The answer is 86." in shown.printed("toy")
    # The malformed distribution beside the true one, on a model.
    real = {
        k: v
        for k, v in shown.value("{k: [v.masked, v.conditional] for k, v in real.items()}").items()
    }
    assert real[" New York."][0] == pytest.approx(0.568, abs=0.01)
    assert real[" New York."][1] == pytest.approx(0.0075, abs=0.002)
    assert sum(one for one, _ in real.values()) == pytest.approx(1, abs=1e-4)
    assert sum(other for _, other in real.values()) == pytest.approx(1, abs=1e-4)
    variation = 0.5 * sum(abs(one - other) for one, other in real.values())
    assert f"total variation: {variation:.2f}" in shown.printed("variation")
    counts = shown.value("counts")
    assert (
        counts["mask"] > 15 and counts["rejection"] <= 2 and counts["sequential Monte Carlo"] <= 2
    )
    widget(shown, "toy-widget")
