"""The walk, the shrinking, and the scripts that show a difference without us."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import explorer
from explorer import Constraint, Vocabulary
from explorer.witnesses.comparison import OutOfTime
from explorer.witnesses.disagreements import Disagreements
from explorer.witnesses.judging import GbnfRecognizer
from explorer.witnesses.process import run_scripts
from explorer.witnesses.report import DisagreementReport, tried
from explorer.witnesses.rules.classes import classified
from explorer.witnesses.shrinking import shows, shrink, size_of, small_vocabulary, smaller
from explorer.witnesses.witness import comparison_of
from tests.languages.grammar.earley import Earley, as_gbnf

for library in ("outlines_core", "xgrammar", "llguidance"):
    pytest.importorskip(library)


@cache
def vocabulary() -> Vocabulary:
    longer = ["ab", "aa", "12", '{"', '":', "é", "\n\n", "abc", "[[", ", "]
    return Vocabulary.from_bytes(
        [bytes([b]) for b in range(256)] + [text.encode() for text in longer],
        eos_ids=[256 + len(longer)],
    )


SCHEMA = explorer.json_schema(
    {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 30}, "b": {"type": "boolean"}},
        "required": ["a"],
        "additionalProperties": False,
    }
)
WALKS: list[tuple[str, Constraint, str, str, str]] = [
    ("a regex", explorer.regex(r"(?:id: )?[a-c]{2,3}x.y?"), "xgrammar", "dialect", "."),
    ("a schema", SCHEMA, "outlines-core", "unsupported keyword",
     '{"type": "integer", "minimum": 30}'),
    ("a grammar", explorer.grammar('root ::= "x" item | item\nitem ::= "[" . "]" | "(" item ")"'),
     "llguidance", "dialect", "root ::= item\nitem ::=  ."),
]  # fmt: skip


@cache
def walked(number: int) -> Disagreements:
    _, constraint, engine, _, _ = WALKS[number]
    return explorer.disagreements(constraint, vocabulary(), 8, engines=[engine])


def report(number: int) -> DisagreementReport:
    _, _, engine, kind, _ = WALKS[number]
    return next(
        each for each in walked(number).reports if (each.engine, each.kind) == (engine, kind)
    )


@pytest.mark.parametrize("number", range(len(WALKS)), ids=[name for name, *_ in WALKS])
def test_a_walk_finds_a_difference_and_shrinks_it(number: int) -> None:
    _, constraint, _, _, short = WALKS[number]
    found, each = walked(number), report(number)
    assert found.states > found.texts > 0 and found.differing > 0
    assert each.constraint == short
    assert len(each.constraint) < size_of(constraint)
    assert len(each.prefix) <= 1


@pytest.mark.parametrize("number", range(len(WALKS)), ids=[name for name, *_ in WALKS])
def test_the_script_shows_it_without_us(number: int, tmp_path: Path) -> None:
    each = report(number)
    assert "explorer" not in each.script.split('"""')[0]
    path = tmp_path / "script.py"
    path.write_text(each.script, encoding="utf-8")
    # An empty folder, and no way to import this package.
    ran = subprocess.run(
        [sys.executable, "-I", "-W", "ignore", str(path)],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout.strip()) == (0, each.printed), ran
    assert each.printed.split()[0] == ("allowed" if each.allows else "masked")


def test_a_report_is_ready_to_paste() -> None:
    text = str(report(0))
    for part in ("## xgrammar 0.", "regular expression", "prefix:", "token: '\\n'", "re.fullmatch",
                 "```python", "found in: (?:id: )?[a-c]{2,3}x.y?", "It printed:", "allowed",
                 "the same mask with the change"):  # fmt: skip
        assert part in text
    assert report(0).contradicted == "engine"
    assert str(report(0)) in str(walked(0))


def test_a_report_whose_script_does_not_show_it_is_not_offered() -> None:
    each = report(0)
    wrong = [
        replace(each, script=f"{each.script}".replace("allowed if", "masked if"), allows=False,
                shows="masked"),
        replace(each, script="raise ValueError('no such engine')"),
        replace(each, script=f"print({each.printed!r})\nraise SystemExit(3)"),
        replace(each, script="import os; os.abort()"),
        replace(each, contradicted="explorer"),
    ]  # fmt: skip
    good, withheld = tried([*wrong[:2], each, *wrong[2:]])
    assert [(one.script, one.printed) for one in good] == [(each.script, each.printed)]
    for line, word in zip(
        withheld,
        ("it printed 'allowed", "ValueError", "status 3", "status -6", "the judge"),
        strict=True,
    ):
        assert word in line and line.startswith(each.title[:8]), line
    (stopped,) = run_scripts(each.engine, ["while True: pass"], seconds=1)
    assert stopped.status is None
    found = replace(walked(0), reports=good, withheld=withheld)
    assert str(found).count("No text to file.") == len(withheld)


def test_past_the_deadline_no_reason_is_looked_for() -> None:
    state = explorer.witness(explorer.regex("a.b"), vocabulary(), "a", engines=["xgrammar"])
    machine = explorer.compile(state.constraint, vocabulary(), lazy=True)
    said = state.testimony("xgrammar")
    late = comparison_of(machine, state.constraint, state.prefix, said, deadline=0.0)
    assert late is not None
    with pytest.raises(OutOfTime):
        classified(late, 1)
    with pytest.raises(OutOfTime):
        list(late.partings(late.differing))
    (wanted,) = state.disagreements
    assert shows(state.constraint, vocabulary(), state.prefix, wanted, 0.0) is None
    assert shrink(state, wanted, 0.0).steps == 0


def test_a_walk_without_time_says_what_it_left_out() -> None:
    found = explorer.disagreements(explorer.regex(r"\s\w"), vocabulary(), 1e-6)
    assert (found.texts, found.states, found.reports) == (1, 1, ())
    assert found.unclassed == 3
    assert "Masks not looked into, though they differ: 3; no time." in str(found)
    assert "no time: [bug] one" in str(replace(found, left_out=("[bug] one",)))


@pytest.mark.parametrize("text", ["12.12", "12.1212121212121e"])
def test_a_prefix_is_made_short(text: str) -> None:
    number = explorer.json_schema({"type": "number", "maximum": 1e300})
    small = small_vocabulary([b"12", b".12", b"1212", b"12e"])
    token = small.ids_of(b"12e")[0]
    state = explorer.witness(number, small, text, engines=["outlines-core"])
    each = state.disagreement("outlines-core", token) or state.disagreements[0]
    assert len(state.text) == len(text)
    found = shrink(state, each, 20)
    assert len(found.witness.prefix) <= 2, found.witness.text
    assert found.disagreement.kind == each.kind


def test_a_model_leads_the_walk() -> None:
    lm = explorer.load_model("tiny")
    found = explorer.disagreements(
        explorer.regex("[a-z]+.x"), lm, 3, model=lm, engines=["xgrammar"]
    )
    assert found.reports and all(0 < (each.probability or 0) <= 1 for each in found.reports)
    chances = [each.probability or 0 for each in found.reports]
    assert chances == sorted(chances, reverse=True)


def test_an_engine_that_refuses_ends_the_walk() -> None:
    found = explorer.disagreements(
        explorer.grammar('root ::= "a"'), vocabulary(), 60, engines=["outlines-core"]
    )
    assert (found.reports, found.texts) == ((), 1)
    assert "outlines-core did not answer" in str(found)


@pytest.mark.parametrize(
    ("constraint", "one"),
    [
        (explorer.regex("a(b|cd)+[e-g]{2}"), "a(b|cd)[e-g]{2}"),
        (explorer.regex("x|yy|z"), "x|yy"),
        (explorer.grammar('root ::= x "b" | "c"\nx ::= "a"+'), 'root ::= x "b"\nx ::= "a"+'),
        (explorer.grammar('start: A "b" | C\nA: /a+/\nC: "c"', "lark"), 'start: A "b"\nA: /a+/'),
        (explorer.choice(["ab", "c"]), "ab"),
        (explorer.json_schema({"enum": [1, 2]}), '{"enum": [1]}'),
    ],
    ids=["group", "branch", "gbnf", "lark", "choice", "enum"],
)
def test_a_smaller_constraint_is_one_reduction_away(constraint: Constraint, one: str) -> None:
    found: list[Constraint] = smaller(constraint)
    for _ in range(2):
        if one in [each.source.text for each in found]:
            return
        found = [more for each in found for more in smaller(each)]
    pytest.fail(f"{one} is not among {[each.source.text for each in found][:20]}")


def test_every_smaller_one_is_smaller() -> None:
    for _, constraint, *_ in WALKS:
        assert all(size_of(each) < size_of(constraint) for each in smaller(constraint))


RULES = {
    "root": (("s", "x"), ("s",)),
    "s": (("a", "s", "b"), (), ("c",)),
}


def test_the_recognizer_of_gbnf_is_the_tests_earley_parser() -> None:
    """Against the Earley recognizer of the tests, on every text of up to five letters."""
    earley, ours = Earley(RULES), GbnfRecognizer(as_gbnf(RULES))
    texts = [""]
    for _ in range(5):
        texts += [text + letter for text in texts for letter in "abcx"]
    assert {t for t in texts if earley.accepts(t)} == {t for t in texts if ours.accepts(t)}


@pytest.mark.parametrize(
    ("grammar", "words", "others"),
    [
        ('root ::= [^a\\]-]{2,3} # c\n', ["bc", "\n\n\n"], ["b", "]b", "-b", "bbbb"]),
        ('root ::= e\ne ::= e "+" e | "1"', ["1", "1+1+1"], ["1+", "+1"]),
        ('root ::= ("a" |\n  "b")+ .?', ["ab", "a\n"], ["", "\n"]),
        (r'root ::= "\x41\u00e9\n"*', ["", "Aé\nAé\n"], ["A"]),
    ],
)  # fmt: skip
def test_the_recognizer_reads_the_notation(
    grammar: str, words: list[str], others: list[str]
) -> None:
    recognizer = GbnfRecognizer(grammar)
    assert all(map(recognizer.accepts, words)) and not any(map(recognizer.accepts, others))
