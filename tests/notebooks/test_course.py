"""The course: checks, and each notebook."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import jsonschema
import nbformat
import pytest

import explorer
from benchmarks import tables
from explorer import terminals
from explorer.course import check
from explorer.course.checking import EXERCISES
from explorer.decoding.models.tiny import FOLDER as TINY
from explorer.servers import runs_of, verdict_of
from tests.notebooks import own_engine
from tests.notebooks.running import FOLDER, Shown, course, pictures, widget
from tools.site.links import faults
from widgets.lessons import RECORD, RECORD_SCHEMA

# Conditions on every notebook of the course, checked by its file alone.


LESSONS = course()
PREDICTIONS = {"00_quickstart": 1, "00_lecture": 3, "16_your_own_engine": 0}
"""The least number of predictions, where it is not two."""
EXERCISES_OF = {"06_why_was_it_masked": (5, 5), "00_lecture": (1, 1)}
"""The least and the greatest number of exercises, where they are not two and four."""

ANSWERS = json.loads((FOLDER.parent / "widgets/lessons/answers.json").read_text("utf-8"))
"""What the predictions hide, by their names."""

CHECK = re.compile(r'course\.check\("([\w-]+)", None\)')


def code(path: Path) -> list[str]:
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", course(), ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    kept = [c.id for c in cells if c.cell_type == "code" and (c.outputs or c.execution_count)]
    assert kept == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_predictions_exercises_and_pictures(path: Path) -> None:
    cells = code(path)
    # One line imports what the lesson needs; what a question asks waits for a guess.
    assert cells[0].startswith("from widgets.lessons import *")
    guesses = [source for source in cells if re.search(r"^predict\(", source, re.MULTILINE)]
    assert len(guesses) >= PREDICTIONS.get(path.stem, 2)
    for source in guesses:
        # It ends its cell, says what a wrong guess would mean, and nothing is shown beside it.
        last = ast.parse(source).body[-1]
        assert isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)
        # Nor in the source, which a page of a repository shows, hidden or not.
        named = {argument.arg: argument.value for argument in last.value.keywords}
        about = ast.literal_eval(named["about"])
        assert ANSWERS[about].keys() & {"wrong", "otherwise"}, source
        assert not named.keys() & {"wrong", "otherwise"}, source
        given = last.value.args[0]
        assert not isinstance(given, ast.Constant) or given.value is ..., source
        assert "print(" not in source and "course.reveal" not in source, source
    written = nbformat.read(path, as_version=4).cells
    asked_for = [c for c in written if c.cell_type == "markdown" and "**Predict" in c.source]
    assert len(asked_for) == len(guesses)
    # What a question works out is not on the screen before the guess, its code neither.
    for cell in written:
        if cell.cell_type == "code" and re.search(r"^predict\(", cell.source, re.MULTILINE):
            assert cell.metadata.get("jupyter", {}).get("source_hidden") is True, cell.id
    # Two to four exercises, each with a check, none with its answer.
    asked = [name for source in cells for name in CHECK.findall(source)]
    least, most = EXERCISES_OF.get(path.stem, (2, 4))
    assert least <= len(asked) <= most and set(asked) <= set(EXERCISES)
    assert sum("course.check(" in source for source in cells) == len(asked)
    assert any(re.search(r"\bExplorer\(", source) for source in cells)


def test_each_hidden_answer_is_asked_for_once() -> None:
    sources = "".join(source for path in LESSONS for source in code(path))
    assert sorted(re.findall(r'about="([^"]+)"', sources)) == sorted(ANSWERS)


def test_every_exercise_is_asked_once() -> None:
    asked = [name for path in course() for s in code(path) for name in CHECK.findall(s)]
    assert sorted(asked) == sorted(EXERCISES)


def test_the_reading_order_names_every_notebook() -> None:
    order = (FOLDER / "README.md").read_text("utf-8")
    named = re.findall(r"^\| `(\w+)\.ipynb`", order, re.MULTILINE)
    assert sorted(named) == [path.stem for path in LESSONS]


def counted_minutes(path: Path) -> tuple[int, int]:
    """The minutes to read a lesson and to guess, and those for its exercises."""
    cells = nbformat.read(path, as_version=4).cells
    text = " ".join(cell.source for cell in cells if cell.cell_type == "markdown")
    asked = sum(bool(re.search(r"^predict\(", source, re.MULTILINE)) for source in code(path))
    exercises = sum("course.check(" in source for source in code(path))
    return round(len(re.findall(r"\w[\w'.-]*", text)) / 180) + asked, 5 * exercises


def test_the_minutes_are_those_of_the_text() -> None:
    order = (FOLDER / "README.md").read_text("utf-8")
    said = dict(re.findall(r"^\| `(\w+)\.ipynb` \| .* \| ([\d +]+) \|$", order, re.MULTILINE))
    # In a class one talks, and an engine takes longer to write than to read about.
    assert (said.pop("00_lecture"), said.pop("16_your_own_engine")) == ("30", "90")
    for path in LESSONS:
        if path.stem in said:
            read, more = map(int, said[path.stem].split(" + "))
            counted = counted_minutes(path)
            assert abs(read - counted[0]) <= 1 and more == counted[1], (path.stem, counted)
            first = nbformat.read(path, as_version=4).cells[0].source
            assert f"Time: {read} minutes, and {more} for" in first.replace(", 10", ", and 10")


def test_each_notebook_links_to_its_neighbours() -> None:
    names = [path.stem for path in LESSONS]
    for path, before, after in zip(LESSONS, ["", *names], [*names[1:], ""], strict=False):
        last = nbformat.read(path, as_version=4).cells[-1]
        wanted = [
            f"{word}: [`{name}`]({name}.ipynb)"
            for word, name in (("Next", after), ("Back", before))
            if name
        ]
        assert last.id == "next", path.stem
        assert (
            re.findall(r"(?:Next|Back): \S+", last.source.replace(".ipynb).", ".ipynb)")) == wanted
        )


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_code_can_be_read(path: Path) -> None:
    for source in code(path):
        ast.parse(source)
        assert max(map(len, source.splitlines())) <= 100


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_ends_with_a_card(path: Path) -> None:
    """Three sentences or more, and what one can do now; then exercises and the way on."""
    cells = nbformat.read(path, as_version=4).cells
    (place,) = [k for k, cell in enumerate(cells) if cell.id == "card"]
    said = cells[place].source
    assert said.startswith("## What you have now") and "**You can now**" in said
    assert len(re.findall(r"[.?] ", said.split("**You can now**")[0].replace("\n", " "))) >= 3
    number = path.stem.split("_")[0]
    if number.isdigit() and int(number) <= 8:
        assert cells[place + 1].source == f"hero_picture({int(number)})"


# The quickstart fails, repairs, and counts the actions to the first reason.


Show = Callable[[str], Shown]
DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"


def test_quickstart(show: Show) -> None:
    shown = show("00_quickstart")
    # It begins with a failure, its traceback on the screen; then the mask, and the record is right.
    alone, *trace = shown.printed("failure").splitlines()
    with pytest.raises(json.JSONDecodeError):
        json.loads(alone)
    assert trace[0].startswith("Traceback") and "JSONDecodeError" in "".join(trace)
    written, age, *why = shown.printed("masked").splitlines()
    assert written == RECORD and age == f"the age: {json.loads(written)['age']}"
    jsonschema.validate(json.loads(written), RECORD_SCHEMA)
    assert why[0] == "'Here' (id 1778) is masked at the start." and alone.startswith("Here")
    # The toy, which nobody has moved, then a real model.
    assert "Position 0 after 0 bytes" in widget(shown, "toy")
    assert "of 4,000 tokens allowed" in widget(shown, "tiny")
    # The state that is asked for is on no picture before the guess.
    assert "The answer is 1." in shown.printed("step")
    assert "'foo' (id 2) is masked after 'f'." in shown.printed("step")
    assert "the constraint expects o; this token writes f" in shown.printed("step")
    assert 0.45 < shown.value("masked.trace.steps[0].before.distribution.z") < 0.55
    assert shown.value("record.dfa.num_states") == 60
    pictures(shown, "card-picture")
    # Why no full stop may follow the record.
    answer, *why = shown.printed("answer").splitlines()
    assert answer == RECORD and why[0].startswith("'.' (id 18) is masked after '")
    assert "The text is complete here, and only the end of text may follow" in "\n".join(why)
    # The exercises: what may follow, by the expression; the pattern, by its texts.
    tokens = ["f", "oo", "foo", "for", "food"]
    begins = [t for t in tokens if re.fullmatch("(foo)+d?", "foofood" + t)]
    assert [*begins, "end"] == [*EXERCISES["quickstart-end"].answer]  # type: ignore[attr-defined]
    stop = explorer.regex(EXERCISES["quickstart-stop"].answer)  # type: ignore[attr-defined]
    date = "2021-07-24"
    assert re.fullmatch(DATE, date)
    assert stop.accepts(date) and stop.accepts(f"{date}.") and not stop.accepts(f"{date}..")


def test_lecture(show: Show, tmp_path: Path) -> None:
    shown = show("00_lecture")
    alone, masked = map(ast.literal_eval, shown.printed("goal").splitlines())
    assert alone.startswith("Here") and masked == RECORD
    assert "The answer is 0." in shown.printed("mismatch")
    assert "The answer is 3." in shown.printed("ways")
    assert "'for' (id 3) is masked after 'foo'." in shown.printed("ways")
    assert "The answer is Not at all." in shown.printed("trap")
    pictures(shown, "fsa", "fst", "fst-read", "composed", "probability")
    # What may follow foo, by the expression, over all texts of up to three tokens.
    tokens = ["f", "oo", "foo", "for", "food"]
    more = ["".join(some) for n in range(3) for some in product(tokens, repeat=n)]
    pattern = re.compile("(foo)+|d*for")
    begins = {t for t in tokens if any(pattern.fullmatch(f"foo{t}{rest}") for rest in more)}
    wanted = begins | ({"end"} if pattern.fullmatch("foo") else set())
    assert wanted == EXERCISES["lecture-mask"].answer  # type: ignore[attr-defined]
    # Its slides: seven parts, a film of eight frames, three folded answers, and the explorer.
    page = shown.slides(tmp_path)
    (tmp_path / "slides").mkdir()
    (tmp_path / "slides/slides.html").write_text(page, encoding="utf-8")
    assert faults(tmp_path / "slides") == []
    assert re.findall(r"<h2>(\d)", page) == [*"1234567"]
    assert page.count("; frame ") == 8 and page.count("The answer: make a guess first") == 3
    assert page.count("<iframe") == 1 and "course.check" not in page


# The notebook on models of one's own runs offline, and shows what its text speaks of.


def answer(name: str) -> object:
    """The right answer of an exercise."""
    return EXERCISES[name].answer  # type: ignore[attr-defined]


def test_bring_your_own_model(show: Show) -> None:
    shown = show("20_bring_your_own_model")
    pictures(shown, "own-step", "verdict-picture")
    # The folder, as its own files say.
    config = json.loads((TINY / "config.json").read_text())
    size = len(json.loads((TINY / "tokenizer.json").read_text())["model"]["vocab"])
    assert f"The answer is {config['vocab_size'] - shown.value('len(lm.vocabulary)')}." in (
        shown.printed("width")
    )
    assert 0 <= shown.value("len(lm.vocabulary)") - size <= 5  # The special tokens.
    assert shown.printed("tokenizer").startswith("True ()")
    # A batch writes what each text alone has, and transformers' own loop the same.
    assert "The answer is yes." in shown.printed("batch")
    texts = shown.value("together")
    assert texts[:2] == [" Paris", " Rome"] and re.fullmatch("[0-9]{4}-[0-9]{2}", texts[2])
    assert shown.printed("generate").strip() == "[' Paris', ' Rome']"
    # The counts, by hand: 1 + 4 and 1 + 2 points of 14.
    assert shown.printed("own").strip() == "a language model: True"
    points = {"cat": 5, "dog": 3}
    assert sum(points.values()) + 6 == 14
    assert shown.value("chances_after") == pytest.approx([5 / 14, 3 / 14])
    assert shown.value("mass") == pytest.approx(8 / 14)
    assert "The answer is 0.625." in shown.printed("own-step")
    assert "1 of 8 tokens allowed" in widget(shown)
    # The log: the first answer fails where the pattern does, the second is whole.
    first, second = shown.value("[e['response']['choices'][0]['text'] for e in entries]")
    pattern = " (New York|Boston)"
    assert first.startswith(" New Delhi") and not re.fullmatch(pattern, first)
    assert re.fullmatch(pattern, second)
    assert "The answer is Delhi." in shown.printed("verdicts")
    assert shown.value("[v.outcome for v in verdicts]") == ["masked", "whole"]
    assert shown.plain("verdict-picture").count("(the first that is masked)") == 1
    said = shown.printed("beside")
    rows = [row.split()[:3] for row in said.splitlines() if "server" not in row]
    numbers = [[float(number) for number in row] for row in rows]
    kept = len(shown.value("list(verdicts[0].session.ids)"))
    assert all(server == model for server, model, _ in numbers[:kept])
    assert all(server == masked for server, _, masked in numbers[kept:])
    (york,) = re.findall(r"(\S+) +(\S+) +\S+ ' York'", said)
    assert math.exp(float(york[0])) > 0.99 and math.exp(float(york[1])) < 0.01
    assert shown.printed("cli").rstrip().endswith("exit status 1")
    assert "would have been masked" in shown.printed("cli")
    assert "Position 1 after 4 bytes" in widget(shown, "replay")
    # The page: nothing is loaded from elsewhere; other addresses are names, such as that of SVG.
    assert "The answer is 0." in shown.printed("page")
    page = shown.value("page")
    assert re.findall(r"""(?:src|href)\s*=\s*["']https?:""", page) == []
    assert set(re.findall(r"https?://[\w.-]+", page)) <= {"http://www.w3.org"}
    assert len(page) > 100_000


def test_the_exercises_on_models_of_ones_own() -> None:
    # After dog: ran twice and sat once, and a point each.
    assert answer("own-counted") == pytest.approx((2 + 1) / ((2 + 1) + (1 + 1)))
    assert answer("own-width") == 151_936 - 151_669
    vocabulary = explorer.Vocabulary.from_file(TINY / "tokenizer.json")
    log = {
        "request": {"structured_outputs": {"regex": "[0-9]{4}"}},
        "response": {"choices": [{"index": 0, "text": "20", "finish_reason": "length"}]},
    }
    (run,) = runs_of(json.dumps(log).encode())
    assert verdict_of(run, vocabulary).outcome == answer("own-outcome")


# The lesson on phases runs, and shows what its text speaks of.


def test_one_run_several_phases(show: Show) -> None:
    shown = show("14_one_run_several_phases")
    assert shown.value("[part.name for part in parts]") == ["reasoning", "tool add"]
    message = shown.value("why.message")
    assert "in the phase tool add" in message and "in the phase answer" in message
    # The record alone forbids the reasoning; behind it, the record comes out.
    assert shown.value("first.z") < 1e-3 and "<think>" in shown.printed("record")
    thought = shown.printed("think")
    assert "<|im_start|>assistant" in thought and "reasoning" in thought
    masses = shown.value("[step.before.distribution.z for step in thought.trace.steps]")
    # The mask leaves the model alone while it reasons, and not at the brace.
    named = "[lm.vocabulary.special.get(token) for token in thought.ids]"
    reasoned = shown.value(named).index("</think>")
    brace = next(k for k, mass in enumerate(masses) if mass < 0.01)
    assert brace == reasoned + 3 and min(masses[:brace]) > 0.9
    assert shown.value("[s.data.decode() for s in thought.trace.steps if s.data]").count("age") == 1
    knows = shown.printed("known")
    assert "Its capital is Oslo." in knows and '{"answer": "Oslo", "sure": true}' in knows
    assert "waits for tool" in shown.printed("turn")
    said = shown.printed("fed")
    assert "{'city': 'Rome'}" in said and "foggy" in said and "answer    'It is " in said
    assert shown.value("session.finished") is True
    assert shown.value("[step.role for step in session.trace.steps].count('tool')") > 5


def test_the_exercises_on_phases() -> None:
    run = explorer.phases(
        ("reasoning", explorer.text_until("</think>")),
        {"tool add": explorer.regex(r" add [0-9]+"), "answer": explorer.choice([" yes", " no"])},
    )
    pieces = ["So.</think", ">", "> add", "> sub", "> no", "> 4", " 4", " no"]
    letters = explorer.Vocabulary.from_bytes([one.encode() for one in pieces], eos_ids=[8])
    machine = explorer.compile(run, letters)
    state = machine.step(machine.start, 0)
    assert state is not None
    may = {pieces[k] for k in range(1, 6) if machine.step(state, k) is not None}
    assert EXERCISES["phases-crossing"].grade(may).right
    message = explorer.explain_text(run, "So.</think> amber").message
    assert EXERCISES["phases-open"].grade(message.count("in the phase")).right
    thought = explorer.phases(
        ("thought", explorer.regex("[a-z]+</t>")),
        {"tool add": explorer.regex(r" add [0-9]+"), "answer": explorer.choice([" yes", " no"])},
    )
    assert EXERCISES["phases-pattern"].grade(thought).right


# The notebooks 10 to 13 and 30 run, and show what their text speaks of.


def test_invasiveness(show: Show) -> None:
    shown = show("10_invasiveness")
    pictures(shown, "bridge", "texts", "scanner", "int")
    assert f"The answer is {shown.value('bridges')}." in shown.printed("bridge")
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
    assert "The answer is 2." in shown.printed("tree")
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
    assert "The answer is 3608." in shown.printed("wild") and "17 token classes" in shown.printed(
        "wild"
    )
    assert len(shown.value("list(nine)")) == len(shown.plain("table").splitlines()[2:]) == 9
    assert shown.printed("summary").split() == ["True", "False"]
    # The record as YAML: what a reader of YAML would take for something else is not accepted.
    assert "The answer is no." in shown.printed("yaml")
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
    assert "The answer is 0." in shown.printed("right")
    assert (
        "only cycles: True; each cycle writes its token: True; counterexample: None"
        in shown.printed("right")
    )
    # The mutant is found.
    assert shown.value("met") is not None and "The answer is Lemma 1." in shown.printed("mutant")
    assert shown.printed("shared").startswith("25 of 25 pairs")
    counts = [sum(n**k for k in range(5)) for n in (5, 4)]
    assert shown.printed("theorems").split("\n")[:2] == [f"({n}, {n})" for n in counts]
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
    # The record, put to the ways: by the engine, and the one other engine that is quoted.
    assert "The answer is terminals, k = 0." in shown.printed("table")
    assert shown.value("[len(names), len(masks)]") == [18, 19]
    assert "The answer is 0." in shown.printed("trim-record")
    assert shown.value(
        "{d[0] for d in tiny.vocabulary.tokens if d and len(d) == 1} >= {*range(256)}"
    )
    assert "The answer is canonical Unicode." in shown.printed("pitfalls")
    # The exercises: the product of two shares, and the mask.
    assert check("neighbours-reject", round(100 * 0.5 * 0.8)).right
    few = explorer.Vocabulary.from_bytes([b"a", b"b", b"c"], eos_ids=[3])
    trimmed = explorer.compile(explorer.regex("ab*d|b(a|d)|c"), few)
    may = {"abc"[token] for token in trimmed.allowed(trimmed.start).nonzero()[0]}
    assert check("neighbours-trim", may).right
    assert "The answer is 2." in shown.printed("trim") and "1 is left" in shown.printed("trim")
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


def test_papers_to_the_letter(show: Show) -> None:
    shown = show("15_papers_to_the_letter")
    assert "The answer is infinity." in shown.printed("product")
    assert shown.value("[str(x) for x in repaired]") == ["2.0", "-inf", "-inf"]
    # Literally nothing is allowed; what is meant is the mask.
    assert "The answer is 0." in shown.printed("subset")
    rows = shown.value("rows")
    assert rows["t v Γ* meets L"] == rows["the mask"] == [True, False, True, False, True]
    assert "The answer is 0." in shown.printed("end") and "1 is allowed" in shown.printed("end")
    # Each engine's mask differs from the right one, as the exercise says.
    masks = [line.split("  ") for line in shown.plain("zoo").splitlines()[2:]]
    assert [[cell.strip() for cell in row if cell.strip()][4:] for row in masks] == [
        ["f", "foo"], ["{"], ["yes", "no"], ["a", "b"],
    ]  # fmt: skip
    assert shown.value("bool(loop.allowed(loop.step(loop.start, 2))[5])")
    whole = "explorer.compile(FLAT_OBJECT.constraint, objects)"
    first = shown.value(f"[texts(objects, m.allowed(m.start)) for m in [{whole}]]")
    assert check("zoo-object", set(first[0].split("  "))).right
    widget(shown)


def test_own_engine(show: Show) -> None:
    shown = show("16_your_own_engine")
    written = Path(own_engine.__file__).read_text("utf-8")
    # Nothing is judged before it is written; then no judge finds a fault, but where there is one.
    assert shown.printed("engine-judge") == shown.printed("decode") == ""
    assert shown.value(f"[exec({written!r}, globals())]") == [None]
    assert shown.value("[judged_by_re(one) for one in PATTERNS]") == [None] * 5
    assert (
        shown.value("[judged_by_tokens(tokens), judged_by_tokens(['f', 'f', '', 'oo'])]")
        == [None] * 2
    )
    assert shown.value("first_difference()") is None
    assert shown.value("[decode('(foo)+d')]") == ["foofoofood"]
    assert shown.value(
        "[exec('living = lambda arcs, accepting: {*arcs.values()}', globals())]"
    ) == [None]
    *_, mine, right = shown.value("[*map(repr, first_difference())]")
    assert len(mine) > len(right)
    shown.value(f"[exec({written!r}, globals())]")
    shown.value("[exec('tiny = explorer.load_model(\"tiny\").vocabulary', globals())]")
    texts = '[(data or b"").decode("utf-8", "replace") for data in tiny.tokens]'
    begin = "engine('(the|this|that|then)(re|fore)?s?', texts)([])"
    found = shown.value(f"[[texts[k] for k in {begin}] for texts in [{texts}]][0]")
    assert check("own-engine-begin", {*found}).right
    widget(shown)


def test_project(show: Show) -> None:
    shown = show("30_project")
    pictures(shown, "hurt")
    assert shown.value("task.accepts(written)")
    assert "The answer is 0." in shown.printed("hurt")
    assert shown.value("[groups[0].offered, groups[0].count]") == ["a line break or tab", 1]
    assert "The answer is another way to write a right answer." in shown.printed("groups")
    assert "traps" in shown.printed("traps")
    rows = [line.split() for line in shown.printed("number").splitlines()]
    assert rows == [
        ["71", "True", "True"], ["71.000", "True", "False"], ["7e00000", "True", "False"],
        ["171", "False", "False"],
    ]  # fmt: skip
    said = shown.printed("advice-code").splitlines()
    assert said == ["True False", "{'name': 'Ada', 'city': 'London'}"]
    widget(shown)
