"""The documentation: links, readme, pages whose figures are made."""

from __future__ import annotations

import contextlib
import io
import math
import re
import subprocess
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import explorer
from benchmarks import tables
from explorer.languages.constraint import Constraint
from widgets.figures.machines.pushdown_figure import (
    FIGURE_6,
    FIGURE_7,
    FIGURE_SYMBOLS,
    FIGURE_TOKENS,
    pushdown_still,
)
from widgets.figures.snapshot import Snapshot
from widgets.toy import ToyModel

# Forbidden in the project's texts: addresses and paths of one machine or one workplace.


ROOT = Path(__file__).resolve().parent.parent
TEXT = {".py", ".md", ".toml", ".txt", ".cfg", ".json", ".ipynb", ".js", ".css", ".yml", ".yaml"}
BARE = {"Makefile", "run", "LICENSE", ".gitignore"}
SKIPPED = {".git", ".venv", "__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis", "build"}

# Put together here, so that this file does not hold what it looks for.
FORBIDDEN = {
    "an absolute path of a machine": re.compile(
        r"(?<![\w.~\]/-])/(?:" + "|".join(("home", "root", "Users", "work", "opt", "tmp")) + r")/\w"
    ),
    "an address of a package registry": re.compile(
        "|".join((r"py" + r"pi\.org", r"python" + r"hosted\.org", r"--(?:extra-)?" + "index-url"))
    ),
    "a file address": re.compile("file:" + "//"),
    "a path of this folder": re.compile(re.escape(str(ROOT)) + r"\b"),
}


def reasons(text: str) -> list[str]:
    """The forbidden parts of a text."""
    return [reason for reason, pattern in FORBIDDEN.items() if pattern.search(text)]


def files() -> Iterator[Path]:
    for path in sorted(ROOT.rglob("*")):
        if SKIPPED & set(path.relative_to(ROOT).parts) or not path.is_file():
            continue
        if path.suffix in TEXT or path.name in BARE:
            yield path


def test_no_file_names_a_machine() -> None:
    named = {path.relative_to(ROOT): reasons(path.read_text("utf-8")) for path in files()}
    assert len(named) > 1000
    assert {str(path): why for path, why in named.items() if why} == {}


@pytest.mark.parametrize(
    "text",
    [
        "see /" + "home/me/models",
        "pip install --index" + "-url x",
        "https://py" + "pi.org/simple",
        "file:" + "///wheels",
        str(ROOT),
    ],
)
def test_a_machine_would_be_found(text: str) -> None:
    assert reasons(text) != []


@pytest.mark.parametrize("name", ["pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"])
def test_the_top_level_is_complete(name: str) -> None:
    assert (ROOT / name).stat().st_size > 0


def test_the_top_level_stays_small() -> None:
    """Only what git keeps counts: `make lab` leaves copies of the notebooks beside it."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    folders = {line.split("/")[0] for line in listed.stdout.splitlines() if "/" in line}
    assert {name for name in folders if not name.startswith(".")} == {
        "explorer", "widgets", "notebooks", "tests", "benchmarks", "models", "tools", "binder",
        "docs",
    }  # fmt: skip


def test_every_target_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("setup", "lab", "test", "test-long", "check", "bench"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_constraints_pin_every_dependency_exactly() -> None:
    lines = (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][\w.]*", pin) for pin in pins)
    assert "torch==2.13.0" in pins


NAMED = re.compile(r"`((?:explorer|widgets|tests|benchmarks|models|tools)/[\w/]+\.\w+)`")


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_file_that_a_page_names_is_there(page: str) -> None:
    named = NAMED.findall((ROOT / page).read_text("utf-8"))
    assert len(named) > 9
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_decisions_stay_few_and_each_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text("utf-8")
    titles = [page.read_text("utf-8").splitlines()[0] for page in sorted(folder.glob("0*.md"))]
    assert 0 < len(titles) <= 30
    assert [title for title in titles if f"[{title.split('. ', 1)[1]}](" not in listed] == []


# The README and its pages are true: their code prints what they say, the figures are measured.


README = Path(__file__).resolve().parent.parent / "README.md"
DOCS = README.parent / "docs"
PAGES = (README, DOCS / "tour.md", DOCS / "notebook.md", DOCS / "papers.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_blocks(text: str) -> list[tuple[str, str | None]]:
    """Run the ``python`` blocks of a text in order, in one namespace.

    Returns:
        For each block what it printed, and the ``text`` block right after it, if there is one.
    """
    # A module, so that what the blocks define looks like anything else that was imported.
    namespace = types.ModuleType("readme").__dict__
    blocks = list(BLOCK.finditer(text))
    found: list[tuple[str, str | None]] = []
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] != "python":
            continue
        line = text.count("\n", 0, block.start()) + 1
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = compile("\n" * line + block[2], str(README), "exec", dont_inherit=True)
            exec(code, namespace)
        expected = following[2] if following is not None and following[1] == "text" else None
        found.append((printed.getvalue(), expected))
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_block_runs_and_prints_what_the_page_says(path: Path) -> None:
    if path.stem == "papers":
        pytest.importorskip("pynini")
    outcomes = run_blocks(path.read_text(encoding="utf-8"))
    assert outcomes
    for printed, expected in outcomes:
        assert printed == (expected or "")


def test_a_wrong_output_and_a_broken_block_would_be_seen() -> None:
    [(printed, expected)] = run_blocks("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    assert (printed, expected) == ("2\n", "3\n")
    with pytest.raises(NameError):
        run_blocks("```python\nundefined\n```\n")


def test_the_figures_are_the_measured_ones() -> None:
    results = tables.read()
    text = README.read_text(encoding="utf-8")
    assert tables.with_figures(text, results) == text
    assert tables.PAGE.read_text(encoding="utf-8") == tables.page(results)


def test_a_changed_figure_would_be_seen() -> None:
    results = tables.read()
    text = README.read_text(encoding="utf-8")
    results["compile"]["131k"]["IPv4"]["explorer"]["median"] *= 3
    assert tables.with_figures(text, results) != text


def test_a_first_visit_reads_a_page() -> None:
    """The picture and a reason come first, then purpose, installation and three blocks."""
    text = README.read_text(encoding="utf-8")
    first, more, _ = text.partition("\n## More\n")
    assert more and len(first.split()) <= 700
    said = [
        first.index(words)
        for words in ("<picture>", " is masked after ", "**For whom?**", "**Why not Outlines")
    ]
    assert said == sorted(said)
    blocks = re.findall(r"^## (.*)$", first, re.MULTILINE)
    assert blocks == ["Install", "See", "Step", "Your own model"]


@pytest.mark.parametrize("command", ["make lab", "make test"])
def test_the_two_commands_are_named(command: str) -> None:
    assert f"\n{command}" in README.read_text(encoding="utf-8")


def test_every_link_within_the_project_leads_somewhere() -> None:
    for path in (*PAGES, DOCS / "limits.md", tables.PAGE, tables.PAGE.parent / "README.md"):
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


# The page on grammars: its code runs, its table is counted out, its pictures are current.


DOCS_OF_GRAMMAR_PAGE = Path(__file__).parents[1] / "docs"
PAGE = (DOCS_OF_GRAMMAR_PAGE / "grammars.md").read_text("utf-8")
TERMINALS = ("foo", "bar", "(", "123", "456", ")")


def run() -> dict[str, object]:
    blocks: list[str] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/grammars.md", "exec"), names)
    return names


def test_the_code_of_the_page_runs() -> None:
    assert {"free", "bound"} <= run().keys()


def test_the_table_of_the_page_is_counted_out() -> None:
    """Every sequence that the model can write and the grammar allows, with its score."""
    names = run()
    lm, calls = names["lm"], names["calls"]
    assert isinstance(lm, ToyModel) and isinstance(calls, Constraint)
    vocabulary = lm.vocabulary
    machine = explorer.compile(calls, vocabulary)
    scores: dict[tuple[bytes, ...], float] = {}
    waiting: list[tuple[tuple[int, ...], int, float]] = [((), machine.start, 1.0)]
    while waiting:
        path, state, score = waiting.pop()
        chances: list[float] = lm.read(path).logits.softmax(0).tolist()
        if machine.is_final(state):
            scores[tuple(vocabulary.tokens[t] or b"" for t in path)] = score * chances[-1]
        for token in range(len(vocabulary) - 1):
            after = machine.step(state, token)
            if after is not None and chances[token] > 0:
                waiting.append(((*path, token), after, score * chances[token]))
    rows = re.findall(r"^\| (`.*`) \| (0\.\d) \| (yes|no) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 4
    shown = {
        tuple(token.encode() for token in re.findall(r"`([^`]+)`", tokens)): float(score)
        for tokens, score, _ in rows
    }
    assert scores.keys() == shown.keys()
    assert all(math.isclose(scores[path], shown[path], rel_tol=1e-6) for path in shown)
    crossing = {
        path: any(not any(token.decode() in word for word in TERMINALS) for token in path)
        for path in shown
    }
    assert [*crossing.values()] == [answer == "yes" for _, _, answer in rows]

    def best(among: dict[tuple[bytes, ...], float]) -> bytes:
        return b"".join(max(among, key=among.__getitem__))

    assert best(scores) == b"foo(123)"
    assert best({path: s for path, s in scores.items() if not crossing[path]}) == b"bar(456)"
    mass = {text: sum(s for p, s in scores.items() if b"".join(p) == text)
            for text in (b"foo(123)", b"bar(456)")}  # fmt: skip
    assert math.isclose(mass[b"foo(123)"], 0.6, rel_tol=1e-6)
    assert math.isclose(mass[b"bar(456)"], 0.4, rel_tol=1e-6)


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("pushdown-characters", lambda: pushdown_still(FIGURE_6, symbols=FIGURE_SYMBOLS)),
        (
            "pushdown-tokens",
            lambda: pushdown_still(FIGURE_7, words=[word.decode() for word in FIGURE_TOKENS]),
        ),
    ],
    ids=["characters", "tokens"],
)
def test_the_pictures_of_the_page_hold_every_arc(name: str, drawn: Callable[[], Snapshot]) -> None:
    """The picture that is kept shows what is drawn now; places may differ with the layout."""
    text = re.findall(
        r"<text[^>]*>(.*?)</text>", (DOCS_OF_GRAMMAR_PAGE / "images" / f"{name}.svg").read_text()
    )
    now = re.findall(r"<text[^>]*>(.*?)</text>", drawn().svg)
    assert sorted(text) == sorted(now)


def test_the_figure_of_tokens_is_stepped() -> None:
    """a aaab bb b, with the stack after each token."""
    words = [word.decode() for word in FIGURE_TOKENS]
    config: tuple[int, tuple[int, ...]] = (FIGURE_7.start, ())
    told = [pushdown_still(FIGURE_7, config, words).text]
    for token in (0, 3, 2, 1):
        (config,) = FIGURE_7.step(config, token)
        told.append(pushdown_still(FIGURE_7, config, words).text)
    lines = [each.splitlines()[0] for each in told]
    assert lines == [
        "state 0, the stack is empty",
        "state 1, the stack is empty",
        "state 2, on the stack: 2 2 2",
        "state 2, on the stack: 2",
        "state 2, the stack is empty; the text may end",
    ]
    assert told[2].splitlines()[1:] == [
        "b: pops 2, leads to state 2",
        "bb: pops 2 2, leads to state 2",
    ]


# The page on phases: its code runs, one block after the other, with what it asserts.


PAGE_OF_PHASES_PAGE = (Path(__file__).parents[1] / "docs" / "phases.md").read_text("utf-8")


def test_the_code_of_the_page_runs_in_phases_page() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE_OF_PHASES_PAGE, re.DOTALL)
    assert len(blocks) >= 6
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/phases.md", "exec"), scope)
