"""The notebooks 10 to 13 and 30 run, and show what their text speaks of."""

from __future__ import annotations

from collections.abc import Callable

import explorer
from benchmarks import tables
from explorer import terminals
from explorer.course import check
from tests.notebooks.running import Shown, pictures, widget
from widgets.lessons import record_constraint

Show = Callable[[str], Shown]


def test_invasiveness(show: Show) -> None:
    shown = show("10_invasiveness")
    pictures(shown, "bridge", "texts", "scanner", "int")
    assert f"It is {shown.value('bridges')}." in shown.printed("bridge")
    assert shown.value("len(new)") == shown.value("bridges") > 5
    # The limits that are too small are invasive; no limit is not.
    said = shown.value("{row['name']: row['said'] for row in written.rows}")
    assert said["ours"] == "the same as the model alone"
    assert all("invasive" in said[f"k = {k}"] for k in (0, 1, 2))
    rows = shown.plain("rows").splitlines()[2:]
    assert len(rows) == 8 and rows[0].startswith("the model alone") and "907" in rows[6]
    # Lemma 3.1: the sums are sequences of terminals, and some sequences are no sums.
    verdicts = [line.split()[-2:] for line in shown.plain("lemma").splitlines()[2:]]
    assert verdicts == [["yes", "yes"], ["yes", "no"], ["no", "no"]]
    assert "It is 2." in shown.printed("tree")
    assert shown.plain("tree").startswith("Inside int, k = 1: 7 tokens, 7 allowed")
    # The exercises, by the engine: the token with its borders, and the mask.
    asked = (
        "[bool(m.allowed(m.step(m.step(m.start, ids[0]), ids[1]))[ids[2]]) for k in (2, 3)"
        " for m in [lookahead_machine(FLAT_OBJECT, tiny.vocabulary, k)]]"
    )
    assert shown.value("tiny.vocabulary.tokens[ids[2]].decode()") == '": "'
    allowed = shown.value(asked)
    assert allowed == [False, True] and check("invasive-borders", 3).right
    may = (
        "[letters.tokens[t].decode() for m in [schemes[1]]"
        " for t in m.allowed(m.step(places[1], 2)).nonzero()[0] if t < 9]"
    )
    few = {text for text in shown.value(may) if text in ("(", ")", "1", "1)", "+1")}
    assert check("invasive-sums", few).right
    widget(shown)


def test_terminals(show: Show) -> None:
    shown = show("11_terminals")
    assert "It is 3608." in shown.printed("wild") and "17 token classes" in shown.printed("wild")
    assert len(shown.value("list(nine)")) == len(shown.plain("table").splitlines()[2:]) == 9
    assert shown.printed("summary").split() == ["True", "False"]
    # The record as YAML: what a reader of YAML would take for something else is not accepted.
    assert "It is no." in shown.printed("yaml")
    verdicts = [line.split()[-2:] for line in shown.plain("yaml").splitlines()[2:]]
    assert verdicts == [["yes", "yes"], ["no", "yes"], ["no", "no"], ["no", "no"]]
    sizes = shown.value("sizes")
    assert 400 < sizes["400"] < 600
    piece = explorer.regex("ab?|b")
    substring = terminals.substring_of("ab")
    assert (piece - substring).is_empty() and (substring - piece).is_empty()
    assert terminals.text_until("</think>").accepts("well</think>")
    widget(shown)


def test_from_lemma_to_test(show: Show) -> None:
    shown = show("12_from_lemma_to_test")
    pictures(shown, "machine")
    assert "It is 0." in shown.printed("right")
    assert (
        "only cycles: True; each cycle writes its token: True; counterexample: None"
        in shown.printed("right")
    )
    # The mutant is found.
    assert shown.value("met") is not None and "It is Lemma 1." in shown.printed("mutant")
    assert shown.printed("shared").startswith("25 of 25 pairs")
    # The mutant of the exercise: only cycles, and a cycle that writes another token.
    swap = (
        "type(m)(m.num_states, tuple((a, {'f': 'oo', 'oo': 'f'}.get(r, r), w, b)"
        " for a, r, w, b in m.arcs), m.accepting)"
    )
    broken = f"[{swap} for m in [build([b'f', b'oo'])]][0]"
    assert shown.value(f"only_cycles({broken})") is True
    assert shown.value(f"each_cycle({broken}, ['f', 'oo'])") is False
    assert shown.value(f"sorted(written_by(rows_of({broken}), ['f']))") == ["oo"]
    assert check("lemma-mutant", 2).right
    widget(shown)


def test_neighbours(show: Show) -> None:
    shown = show("13_neighbours")
    pictures(shown, "record", "figure-8")
    assert shown.value("len(NEIGHBOURS)") == 13
    # The record, put to the ways: by the engine, and the one other engine that is quoted.
    assert shown.value("struck") == {"0": '{"', "1": '":␣"', "2": '":␣"', "3": "none"}
    assert shown.value("ranks[0]") == 1
    assert "It is terminals, k = 0." in shown.printed("table")
    assert shown.value("[len(names), len(masks)]") == [18, 19]
    assert "It is 0." in shown.printed("trim-record")
    assert shown.value(
        "{d[0] for d in tiny.vocabulary.tokens if d and len(d) == 1} >= {*range(256)}"
    )
    assert shown.value("four") == 4 and "It is 1." in shown.printed("forced")
    tiny = explorer.load_model("tiny")
    witness = explorer.witness(record_constraint(), tiny.vocabulary, shown.value("ids[:1]"))
    if "llguidance" in witness.masks:
        (only,) = witness.masks["llguidance"].nonzero()[0]
        assert tiny.vocabulary.tokens[only] == b"name"
    assert "It is canonical Unicode." in shown.printed("pitfalls")
    # The exercises: the product of two shares, and the mask.
    assert check("neighbours-reject", round(100 * 0.5 * 0.8)).right
    few = explorer.Vocabulary.from_bytes([b"a", b"b", b"c"], eos_ids=[3])
    trimmed = explorer.compile(explorer.regex("ab*d|b(a|d)|c"), few)
    may = {"abc"[token] for token in trimmed.allowed(trimmed.start).nonzero()[0]}
    assert check("neighbours-trim", may).right
    assert "It is 2." in shown.printed("trim") and "1 is left" in shown.printed("trim")
    # The figures are the measured ones.
    cases = tables.read()["compile"]["131k"]
    for name, factor in shown.value("NOW").items():
        times = cases[name]
        measured = times["outlines-core"]["median"] / times["explorer"]["median"]
        assert round(measured) == factor, name
    # So are those in the text: a step in microseconds, and what pynini takes for the same machine.
    said = shown.cells["today-text"].source
    steps = [case["again"] for case in tables.read()["steps"].values()]
    for engine, words in (("outlines-core", "outlines-core takes {} to {} µs"),
                          ("explorer", "ours {} to {} µs")):  # fmt: skip
        times = [1000 * case[engine]["median"] for case in steps]
        assert words.format(round(min(times)), round(max(times))) in said
    both = list(tables.read()["textbook"].values())
    slow, fast = ([case[name] for case in both] for name in ("pynini", "explorer"))
    assert f"takes {min(slow):.1f} ms to {max(slow) / 1000:.1f} s" in said
    assert f"compose in {min(fast):.1f} to {max(fast):.1f} ms" in said
    widget(shown)


def test_project(show: Show) -> None:
    shown = show("30_project")
    pictures(shown, "hurt")
    assert shown.value("task.accepts(written)")
    assert "It is 0." in shown.printed("hurt")
    assert shown.value("[groups[0].offered, groups[0].count]") == ["a line break or tab", 1]
    assert "It is another way to write a right answer." in shown.printed("groups")
    assert "traps" in shown.printed("traps")
    said = shown.printed("advice-code").splitlines()
    assert said == ["True False", "{'name': 'Ada', 'city': 'London'}"]
    widget(shown)
