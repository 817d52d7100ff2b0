"""Sweeps: rows, summaries, travel, the command, the page."""

from __future__ import annotations

import pickle
import re
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer import Sampler
from explorer.errors import ExplorerError
from explorer.sweeps.folder import columns
from explorer.sweeps.grid import SweepGrid
from explorer.sweeps.report import summarize
from explorer.sweeps.worker import packed_setup
from tests.decoding.models import hash_model

# Sweeps in this process: rows are those of sessions, and a folder holds each row once.


PROMPTS = ["a", "bcd", "ef"]
CONSTRAINTS = {
    "number": explorer.regex("-?[0-9]{1,6}"),
    "words": explorer.regex(r"[a-z]+(\s+[a-z]+)*"),
    "free": None,
}
SAMPLERS = {"greedy": Sampler(0.0), "hot": Sampler(1.5, top_k=40)}


def asked(**more: Any) -> Any:
    return explorer.sweep(
        PROMPTS, CONSTRAINTS, hash_model(), SAMPLERS, [0, 7], max_tokens=12, **more
    )


def session_of(row: dict[str, Any]) -> explorer.Session:
    made = explorer.Session(
        hash_model(), CONSTRAINTS[row["constraint"]], row["prompt"],
        sampler=SAMPLERS[row["sampler"]], seed=row["seed"], max_tokens=12,
    )  # fmt: skip
    made.run()
    return made


def test_a_row_is_what_a_session_writes() -> None:
    """Token by token, number by number: the session is the oracle of every column."""
    rows = asked(batch_size=5).table.to_pylist()
    assert len(rows) == len(PROMPTS) * 3 * 2 * 2
    for row in rows:
        session = session_of(row)
        steps = session.trace.steps
        found = [step.before.distribution for step in steps]
        assert row["tokens"] == [step.token for step in steps]
        assert row["text"] == session.text and row["error"] is None
        assert row["num_tokens"] == len(steps)
        assert row["stop"] == ("end" if session.finished else "max_tokens")
        assert row["valid"] == (None if row["constraint"] == "free" else session.finished)
        assert row["interventions"] == sum(step.intervention for step in steps)
        assert row["intervened"] == [step.intervention for step in steps]
        assert row["log_masses"] == pytest.approx([each.log_z for each in found if each], abs=1e-9)
        assert row["nats_lost"] == pytest.approx(-sum(row["log_masses"]))
        last = session.trace.positions[-1]
        assert row["log_prob_model"] == pytest.approx(last.log_prob_model)
        assert row["log_prob_constrained"] == pytest.approx(last.log_prob_constrained)
        assert row["log_probs_model"] == pytest.approx([step.log_prob_model for step in steps])
        ends = [len(step.before.data) for step in steps]
        assert row["offsets"] == ends


def test_the_batches_do_not_change_the_rows() -> None:
    one, many = asked(batch_size=1).table, asked(batch_size=64).table
    columns = ["key", "text", "tokens", "stop"]
    assert sorted(map(str, one.select(columns).to_pylist())) == sorted(
        map(str, many.select(columns).to_pylist())
    )


def test_a_second_call_finds_everything_done(tmp_path: Path) -> None:
    first = asked(folder=tmp_path / "runs")
    again = asked(folder=tmp_path / "runs")
    assert (first.found, first.written) == (0, 36)
    assert (again.found, again.written, again.failed) == (36, 0, 0)
    assert again.table.equals(first.table)
    # Any reader of partitioned Parquet reads the folder.
    assert pq.read_table(tmp_path / "runs").num_rows == 36


def test_more_prompts_are_only_what_is_new(tmp_path: Path) -> None:
    asked(folder=tmp_path)
    more = explorer.sweep(
        [*reversed(PROMPTS), "new"], CONSTRAINTS, hash_model(), SAMPLERS, [7, 0],
        max_tokens=12, folder=tmp_path,
    )  # fmt: skip
    assert (more.asked, more.found, more.written) == (48, 36, 12)
    other = asked(folder=tmp_path, batch_size=2)
    assert (other.found, other.written) == (36, 0)


@pytest.mark.parametrize("change", ["max_tokens", "seed", "sampler", "constraint", "prompt"])
def test_everything_that_decides_a_row_is_in_its_key(change: str) -> None:
    given: dict[str, Any] = {
        "prompt": "a", "constraint": explorer.regex("a"), "sampler": Sampler(0.5), "seed": 0,
    }  # fmt: skip
    other: dict[str, Any] = {
        "prompt": "b", "constraint": explorer.regex("a?"), "sampler": Sampler(0.25), "seed": 1,
    }  # fmt: skip

    def keys(values: dict[str, Any], tokens: int) -> list[str]:
        from explorer.sweeps.grid import SweepSettings

        grid = SweepGrid.of(
            values["prompt"], values["constraint"], hash_model(), values["sampler"],
            values["seed"], SweepSettings(tokens),
        )  # fmt: skip
        return list(grid.keys())

    first = keys(given, 9)
    assert keys(given, 9) == first
    changed = dict(given) if change == "max_tokens" else given | {change: other[change]}
    assert keys(changed, 8 if change == "max_tokens" else 9) != first


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    def listen(done: int, total: int) -> None:
        if done >= 6:
            raise KeyboardInterrupt

    first = asked(folder=tmp_path, batch_size=3, progress=listen)
    assert first.cancelled and len(first) == 6
    assert asked(folder=tmp_path).found == 6


def test_failures_are_rows() -> None:
    constraints = {
        "impossible": explorer.literal("zzzzzzzzzzzzzzzzzzzzzzzz"),
        "good": explorer.regex("[a-z]{1,3}"),
    }
    done = explorer.sweep(["a"], constraints, hash_model(), max_tokens=9)
    rows = {row["constraint"]: row for row in done.table.to_pylist()}
    assert done.failed == 1 and len(done) == 2
    assert rows["good"]["valid"] and rows["good"]["error"] is None
    assert rows["impossible"]["valid"] is False and rows["impossible"]["stop"] == "error"
    assert "can write no word" in rows["impossible"]["error"]


def test_failures_are_run_again_only_if_asked(tmp_path: Path) -> None:
    text = explorer.regex("[a-z]{1,3}")
    calls: list[int] = []

    def flaky() -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("no memory")
        return hash_model()

    given = ["a", "b"], text, {"m": flaky}
    assert explorer.sweep(*given, max_tokens=9, folder=tmp_path).failed == 2
    again = explorer.sweep(*given, max_tokens=9, folder=tmp_path)
    assert (again.found, again.failed) == (2, 0)
    assert again.table["error"].to_pylist() == ["no memory"] * 2
    third = explorer.sweep(*given, max_tokens=9, folder=tmp_path, retry_failures=True)
    assert (third.written, third.failed) == (2, 0)
    # The failures stay in their part; a table has each key once, without its error.
    assert pq.read_table(tmp_path).num_rows == 4
    assert third.table["error"].to_pylist() == [None, None]


def test_one_bad_row_does_not_spoil_its_batch() -> None:
    class Picky:
        name = "picky"
        vocabulary = hash_model().vocabulary

        def encode_prompt(self, prompt: Any) -> tuple[int, ...]:
            return hash_model().encode_prompt(prompt)

        def read(self, tokens: Any) -> Any:
            if list(tokens[:1]) == [bad]:
                raise ValueError("this prompt")
            return hash_model().read(tokens)

    bad = hash_model().encode_prompt("x")[0]
    done = explorer.sweep(["a", "x", "b"], explorer.regex("[a-z]"), Picky(), max_tokens=4)
    errors = {row["prompt"]: row["error"] for row in done.table.to_pylist()}
    assert errors["a"] is None and errors["b"] is None
    assert "this prompt" in errors["x"]


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    asked(folder=tmp_path)
    (part,) = tmp_path.glob("part-*.parquet")
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(ExplorerError, match=r"part-.*Delete it"):
        asked(folder=tmp_path)
    part.unlink()
    assert asked(folder=tmp_path).written == 36


def test_the_result_is_a_table_for_others() -> None:
    done = explorer.sweep("a", explorer.regex("[a-z]"), hash_model(), max_tokens=4)
    assert pa.table(done).num_rows == 1
    assert "1 of 1 row, 0 failed" in str(done)


def test_equal_things_are_done_once_and_names_are_told_apart() -> None:
    one = explorer.regex("[a-z]")
    assert SweepGrid.of(["a", "a"], one, hash_model(), SAMPLERS, [0, 0]).num_rows == 2
    with pytest.raises(ExplorerError, match="'x' and 'y' are the same"):
        explorer.sweep("a", {"x": one, "y": explorer.regex("[a-z]")}, hash_model())


def test_chats_are_prompts_and_the_free_text_has_no_validity() -> None:
    chat = [{"role": "user", "content": "a"}]
    done = explorer.sweep({"c": chat, "t": "a"}, None, "tiny", max_tokens=2)
    rows = {row["prompt_id"]: row for row in done.table.to_pylist()}
    assert rows["c"]["prompt_is_chat"] and not rows["t"]["prompt_is_chat"]
    assert rows["t"]["valid"] is None


# The figures of a table, against those computed from the sessions of its rows.


SUMMED = {
    "pair": explorer.regex("[fdnosyen]{2}-[0-9]+"),
    "never": explorer.literal("z" * 30),
    "words": explorer.regex("[a-z]+"),
}
SUMMED_PROMPTS = ["a", "b", "cd"]


@cache
def done() -> Any:
    return explorer.sweep(
        SUMMED_PROMPTS, SUMMED, hash_model(), {"hot": Sampler(1.0)}, [0, 1], max_tokens=9
    )


def sessions(constraint: str) -> list[explorer.Session]:
    found: list[explorer.Session] = []
    for prompt in SUMMED_PROMPTS:
        for seed in (0, 1):
            made = explorer.Session(
                hash_model(), SUMMED[constraint], prompt, sampler=Sampler(1.0), seed=seed,
                max_tokens=9,
            )  # fmt: skip
            made.run()
            found.append(made)
    return found


def test_the_groups_count_what_sessions_count() -> None:
    summary = summarize(done().table)
    assert (summary.rows, summary.failed, len(summary.groups)) == (18, 6, 3)
    groups = {group.constraint: group for group in summary.groups}
    assert (groups["never"].rows, groups["never"].failed, groups["never"].valid) == (6, 6, 0)
    for name in ("pair", "words"):
        made, group = sessions(name), groups[name]
        assert (group.rows, group.valid, group.cut) == (6, 6, 0)
        assert group.unhelped == sum(
            not any(step.intervention for step in session.trace.steps) for session in made
        )
    assert summary.errors[0][2] == 6 and "can write no word" in summary.errors[0][1]


# Token machines travel to other processes of the user, without caches, and are the same there.


PERSON = {"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}


@cache
def vocabulary() -> Any:
    return explorer.load_model("tiny").vocabulary


def test_the_setup_of_a_sweep_travels_without_machines() -> None:
    constraint = explorer.json_schema(PERSON, free_depth=3)
    grid = SweepGrid.of("a", constraint, "tiny", explorer.Sampler(0.0), 0)
    before = len(packed_setup(grid.setup))
    assert constraint.dfa.num_states > 100  # It is built now, and kept.
    assert len(packed_setup(grid.setup)) == before < 5_000
    (there,) = pickle.loads(packed_setup(grid.setup)).constraints
    assert there.constraint.dfa.num_states == constraint.dfa.num_states
    assert there.fingerprint == grid.setup.constraints[0].fingerprint


# ``docs/sweeps.md``: its code runs, and its columns are those of the table.


PAGE = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text("utf-8")


@pytest.mark.long
def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    names: dict[str, object] = {}
    exec(compile(block, "docs/sweeps.md", "exec"), names)
    assert "16 of 16 rows, 0 failed" in str(names["done"])
    assert (tmp_path / "report.html").stat().st_size > 1_000


def test_the_columns_of_the_page_are_those_of_the_table() -> None:
    section = PAGE.partition("## The columns")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(columns().names)
