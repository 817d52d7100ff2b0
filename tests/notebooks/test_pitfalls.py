"""The notebooks on the pitfalls of tokens run, and show the numbers that their text speaks of."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from itertools import product

import pytest

from explorer.course.checking import EXERCISES
from tests.notebooks.running import Shown, pictures, widget

Show = Callable[[str], Shown]


def test_preprocessing(show: Show) -> None:
    shown = show("09a_preprocessing")
    assert "It is 6." in shown.printed("bytes")
    pictures(shown, "bytes", "transducer", "plain-machine", "composed-machine", "mass", "lossy")
    # Llama 2's steps as in the paper's figure 2: a symbol in front, and one for each space.
    assert "0 -ε : ▁-> 1" in shown.plain("transducer")
    assert "␣ : ▁" in shown.plain("transducer")
    assert "0 -␣-> 1" in shown.plain("composed-machine")
    assert "It is no." in shown.printed("mask")
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
    assert "It is 7." in shown.printed("rome")
    pictures(shown, "rome", "pair", "counts", "mass", "coalescence", "coalescence-table")
    assert "7 ways to write 'Rome'" in shown.plain("rome")
    # An automaton of its own has a state for each token that can be the last one.
    sizes = shown.value("sizes")
    assert sizes["canonical"][0] == sizes["every spelling"][1] + 1 == 81
    rows = [line.split() for line in shown.plain("growth").splitlines()[2:]]
    assert [int(row[-2].replace(",", "")) for row in rows] == [30, 159, 1222, 3070]
    # Equation 5 is a bound where a piece is one token at most; with bytes as well it is not.
    bounds = [(2 ** (int(row[-4].replace(",", "")).bit_length() - 1), row) for row in rows]
    assert all(
        int(row[-3]) < bound == int(row[-4]) < int(row[-2].replace(",", ""))
        for bound, row in bounds
    )
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
    assert "It is 76." in shown.printed("coalescence")
    assert shown.value("answer.forced") > shown.value("len(answer.tokens)") / 2
    assert "3 of 4,000 tokens allowed" in widget(shown)


def test_unicode(show: Show) -> None:
    shown = show("09c_unicode")
    assert "It is no." in shown.printed("two")
    pictures(shown, "nfc", "nfc-count", "utf8", "mask", "ascii")
    # Syllables: a consonant carries one sign, and a sign needs its consonant.
    assert "It is 2." in shown.printed("syllables")
    assert shown.plain("syllables").startswith("Syllables: 3 states")
    # Counted by the standard library.
    words = ("".join(w) for k in range(1, 5) for w in product("ae\u00e9\u0301", repeat=k))
    in_form = sum(unicodedata.is_normalized("NFC", word) for word in words)
    assert shown.value("len(kept)") == in_form
    assert f"It is {in_form}." in shown.printed("nfc-count")
    assert "Valid UTF-8: 8 states" in shown.plain("utf8")
    assert "It is 1." in shown.printed("scripts")
    sizes = shown.value("sizes")
    assert sizes["every script"] > sizes["Latin"] > sizes["ASCII"]
    assert shown.printed("session").strip().isascii()
    assert "allowed" in widget(shown)
    assert unicodedata.normalize("NFC", "A\u030a") == chr(0x00C5)


def test_bytes_or_characters(show: Show) -> None:
    shown = show("09d_bytes_or_characters")
    assert "It is 2." in shown.printed("letter") and "It is 8." in shown.printed("word")
    pictures(shown, "letter", "water", "mask", "needed", "forced")
    assert "every spelling: <C3> | ö | ü (3 allowed)" in shown.plain("mask")
    assert "no redundant bytes: ö | ü (2 allowed)" in shown.plain("mask")
    assert "<E6> | <B0> | <B4>" in shown.plain("needed")
    shares = shown.value("shares")
    assert shares["every spelling"][0] == 0
    assert shares["canonical"][0] == shares["canonical"][1] > 0
    assert "<C3> (id 201) is masked" in shown.printed("why")
    assert "2 of 4,000 tokens allowed" in widget(shown)
    # The exercise: a character of three bytes without a token of its own.
    assert shown.value("spellings_of(tokens, 'ぬ').count") == 1
    assert shown.value("len(spellings_of(tokens, 'ぬ').own)") == 3


def test_isolated_spaces(show: Show) -> None:
    shown = show("09e_isolated_spaces")
    # All ways to write the text, and the tokenizer's own.
    pictures(shown, "fused", "table", "bars", "greedy")
    assert shown.value("spellings_of(tokens, ' sev').count") == 32
    assert "32 ways to write ' sev'" in shown.plain("fused")
    assert "It is 8146." in shown.printed("words")
    # Table 3: the fused word far before the two that begin with a lone space; digits before all.
    fused, whole, parts, digits = shown.value("totals")
    assert fused == pytest.approx(-1.63, abs=0.01)
    assert whole == pytest.approx(-20.78, abs=0.05)
    assert parts == pytest.approx(-41.56, abs=0.05)
    assert digits == pytest.approx(-0.27, abs=0.01)
    assert "total -1.63" in shown.plain("table")
    # The mask that allows any spelling lets the model take the lone space, and then a wrong word.
    assert shown.value("token_names(tokens, plain_ids)")[0] == "␣"
    assert "It is five." in shown.printed("greedy")
    assert shown.value("token_names(tokens, fused_ids)") == ["␣seventeen"]
    assert shown.value("sum(fused_scores) - sum(plain_scores)") > 10
    assert "11 of 4,000 tokens allowed" in widget(shown)
    assert "masked at the start by the isolated space filter" in shown.printed("why")
    assert shown.value(
        "[t.decode() for t in map(tokens.tokens.__getitem__, spelled(' ', '1', '7'))]"
    ) == [
        *EXERCISES["spaces-digits"].answer  # type: ignore[attr-defined]
    ]


def test_token_healing(show: Show) -> None:
    shown = show("09f_token_healing")
    assert "It is 2." in shown.printed("broken")
    pictures(shown, "broken", "forced", "cost")
    assert "␣c | ol" in shown.plain("broken") and "␣colour (written otherwise)" in shown.plain(
        "broken"
    )
    answers = shown.value("answers")
    assert [way for way, text in answers.items() if text.startswith("our")] == ["prompt"]
    assert "␣What (forced) | ␣is (forced) | ␣the (forced) | ␣colour | " in shown.plain("forced")
    assert "It is 3." in shown.printed("agree")
    assert shown.value("[back == whole for back, whole in found]") == [True, True, True, False]
    changed = "[reopened(case[0], ways[1]) for case, ways in zip(cases, found)]"
    assert shown.value(changed) == [0, 1, 1, 2]
    costs = list(shown.value("costs").values())
    assert costs[0] > 10 > 1 > costs[1]
    assert "1 of 4,000 tokens allowed" in widget(shown)
    reopened = "reopened('Write a JS', both('Write a JS', explorer.literal('ON record'))[1])"
    assert shown.value(f"course.check('healing-tokens', {reopened}).right")


def test_masks_and_probability(show: Show) -> None:
    shown = show("09g_masks_and_probability")
    pictures(shown, "toy", "real", "where", "sampling", "conditional")
    # By hand: 0.6 of 0.7 begins with New, and given the constraint it is 0.06 of 0.16.
    masked, given = shown.value("[shares['New York'].masked, shares['New York'].conditional]")
    assert masked == pytest.approx(0.6 / 0.7) and given == pytest.approx(0.06 / 0.16)
    assert "It is 86." in shown.printed("toy")
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
    assert 40 <= shown.value("len(kept)") < 100
    each = shown.value("each")
    assert each[" Berlin"] > 0.99 and sum(each.values()) == pytest.approx(1, abs=1e-6)
    widget(shown, "toy-widget")
