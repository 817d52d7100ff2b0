"""The harness measures what it says: equal languages are seen equal, unequal ones are not."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import alone
from benchmarks.constraints import CASES, UNICODE_CASES, Case
from benchmarks.engines import MODULES, Engine, Greedy, Ids, Tokens, make
from benchmarks.measure import prepared

BYTES: list[bytes | None] = [bytes([value]) for value in range(256)]
SMALL = Tokens([*BYTES, b"Red", b"Or", b"20", b'", "', b'{"', b" a", b"\xe7\x8e", None], 263)


@pytest.fixture(scope="module")
def engines() -> dict[str, Engine]:
    for library in ("outlines_core", "xgrammar", "llguidance"):
        pytest.importorskip(library, reason="the extra 'bench' is not installed")
    return {name: make(name, SMALL) for name in MODULES}


@pytest.mark.parametrize("case", CASES + UNICODE_CASES, ids=lambda case: case.name)
def test_the_texts_are_in_and_out_of_the_language(case: Case) -> None:
    assert all(re.fullmatch(case.pattern, text) for text in case.accepted)
    assert not any(re.fullmatch(case.pattern, text) for text in case.rejected)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_all_engines_compile_the_same_language(case: Case, engines: dict[str, Engine]) -> None:
    from benchmarks.languages import compare

    counts = compare(case, engines, SMALL)
    assert counts["texts"] == len(case.accepted) + len(case.rejected)
    assert counts["masks"] >= len(case.accepted)
    assert counts["allowed_at_start"] > 0


class OtherPattern:
    """An engine that compiles something else than it is told."""

    def __init__(self, engine: Engine, pattern: str) -> None:
        self.engine = engine
        self.pattern = pattern

    def compile(self, pattern: str) -> Any:
        return self.engine.compile(self.pattern)

    def first_mask(self, compiled: Any) -> Callable[[], object]:
        return self.engine.first_mask(compiled)

    def masks(self, compiled: Any, tokens: Sequence[int]) -> list[Ids]:
        return self.engine.masks(compiled, tokens)

    def accepts(self, compiled: Any, tokens: Sequence[int]) -> bool:
        return self.engine.accepts(compiled, tokens)


@pytest.mark.parametrize("name", [name for name in MODULES if name != "explorer"])
@pytest.mark.parametrize("pattern", ["Red|Orange|Yellow|Green|Blue|Indigo|Violet|Rest", "Red|Blue"])
def test_another_language_is_seen(name: str, pattern: str, engines: dict[str, Engine]) -> None:
    from benchmarks.languages import LanguagesDiffer, compare

    pair: dict[str, Engine] = {
        "explorer": engines["explorer"],
        name: OtherPattern(engines[name], pattern),
    }
    with pytest.raises(LanguagesDiffer):
        compare(CASES[0], pair, SMALL)


def test_greedy_tokens_write_the_text() -> None:
    text = "Or 王 Red"
    tokens = Greedy(SMALL)(text)
    assert b"".join(SMALL.tokens[token] or b"" for token in tokens) == text.encode()
    assert len(tokens) == 6  # Or, blank, two bytes and one of 王, blank, Red


def test_tokens_survive_the_file_between_processes(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    alone.write_tokens(SMALL, path)
    read = alone.read_tokens(path)
    assert (list(read.tokens), read.eos) == (list(SMALL.tokens), SMALL.eos)


def test_every_task_runs_in_every_round() -> None:
    made: list[str] = []
    ran: list[str] = []
    tasks = {name: (lambda name=name: made.append(name) or name, ran.append) for name in ("a", "b")}
    times = prepared(tasks, repeats=1, warm_up=1)
    assert sorted(made) == sorted(ran) == ["a"] * 2 + ["b"] * 2
    assert ran != sorted(ran)  # Interleaved, not one after the other.
    assert set(times) == {"a", "b"}
