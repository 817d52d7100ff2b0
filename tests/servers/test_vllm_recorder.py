"""The recorder for vLLM: driven through the interface as vLLM drives it, without a server.

The batch below does what vLLM's persistent batch does: rows are added, end in any order, and the
last row moves into a gap. With the environment variable EXPLORER_VLLM set to a wheel of vLLM (as
``pip download vllm --no-deps`` leaves it), or with vLLM installed, its own classes take part.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import math
import os
import subprocess
import sys
import types
import zipfile
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any

import pytest
import torch

import explorer
from explorer.servers import read_runs, session_of, verdict_of, vllm_recorder
from explorer.servers.formats import KIND, VERSION
from explorer.servers.vllm_recorder import RunRecorder

SOURCE = Path(vllm_recorder.__file__)


class Direction(Enum):
    """As vLLM's ``MoveDirectionality``."""

    UNIDIRECTIONAL = auto()
    SWAP = auto()


@dataclass(frozen=True)
class Update:
    """As vLLM's ``BatchUpdate``."""

    batch_size: int
    removed: list[int]
    added: list[tuple[int, Any, list[int] | None, list[int]]]
    moved: list[tuple[int, int, Any]]


@dataclass
class Asked:
    """As ``SamplingParams``, with the part that is read."""

    structured_outputs: Any = None
    temperature: float = 0.0


@dataclass
class Row:
    """A request of the batch."""

    machine: explorer.TokenDFA
    state: int
    params: Asked
    output: list[int] = field(default_factory=list[int])
    log_probs: list[float] = field(default_factory=list[float])
    allowed: list[int] = field(default_factory=list[int])


PATTERNS = ("[0-9]{1,3}", "yes|no|maybe", "[a-z]{2,6}", "(ab){1,3}c", "x[0-9]")


def served(recorder: Any, update: Any = Update, direction: Any = Direction) -> list[Row]:
    """Serve five requests, three at a time, on the embedded model; each row with its facts."""
    lm = explorer.load_model("tiny")
    waiting = [
        Row(dfa, dfa.start, Asked(types.SimpleNamespace(regex=pattern)))
        for pattern in PATTERNS
        for dfa in [explorer.compile(explorer.regex(pattern), lm.vocabulary, lazy=False)]
    ]
    rows, batch = list(waiting), list[Row]()
    removed: list[int] = []
    while waiting or batch:
        added: list[tuple[int, Any, list[int] | None, list[int]]] = []
        moved: list[tuple[int, int, Any]] = []
        gaps = sorted(removed)
        kept = {k: row for k, row in enumerate(batch) if k not in removed}
        while waiting and len(kept) < 3:
            index = gaps.pop(0) if gaps else max(kept, default=-1) + 1
            row = kept[index] = waiting.pop(0)
            added.append((index, row.params, [1, 2], row.output))
        for gap in gaps:
            last = max(kept, default=-1)
            if last > gap:
                kept[gap] = kept.pop(last)
                moved.append((last, gap, direction.UNIDIRECTIONAL))
        batch = [kept[k] for k in sorted(kept)]
        if len(batch) > 1 and len(batch[0].output) == 1:
            batch[0], batch[1] = batch[1], batch[0]
            moved.append((0, 1, direction.SWAP))
        changed = bool(removed or added or moved)
        recorder.update_state(update(len(batch), removed, added, moved) if changed else None)
        removed = []
        if not batch:
            break
        masked = torch.full((len(batch), len(lm.vocabulary)), -math.inf)
        for k, row in enumerate(batch):
            allowed = torch.from_numpy(row.machine.allowed(row.state).copy())
            logits = lm.read((*lm.encode_prompt("a "), *row.output)).logits.float()
            masked[k, allowed] = logits[: len(allowed)][allowed]
            row.allowed.append(int(allowed.sum()))
        assert recorder.apply(masked) is masked
        for k, row in enumerate(batch):
            token = int(masked[k].argmax())
            row.log_probs.append(float(masked[k].log_softmax(-1)[token]))
            row.output.append(token)
            row.state = row.machine.step(row.state, token) or 0
            if row.state == explorer.DONE:
                removed.append(k)
    return rows


def check(path: Path, rows: list[Row]) -> None:
    """The file holds the true values of each row."""
    by_ids = {tuple(run.tokens[k].token for k in range(len(run.tokens))): run
              for run in read_runs(path)}  # fmt: skip
    assert len(by_ids) == len(rows)
    vocabulary = explorer.load_model("tiny").vocabulary
    for row in rows:
        run = by_ids[tuple(row.output)]
        assert [token.num_allowed for token in run.tokens] == row.allowed
        assert [token.log_prob for token in run.tokens] == pytest.approx(row.log_probs, abs=1e-6)
        assert run.requested is not None and run.notes == ()
        assert run.requested.place.value == row.params.structured_outputs.regex
        verdict = verdict_of(run, vocabulary)
        assert verdict.outcome == "whole" and verdict.session.finished
        # The mask that the server had was the mask that we have.
        positions = session_of(run, vocabulary).trace.positions[: len(row.allowed)]
        assert [position.num_allowed for position in positions] == row.allowed


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the environment names."""
    path = tmp_path / "runs.jsonl"
    monkeypatch.setenv(vllm_recorder.PATH_VARIABLE, str(path))
    return path


def test_a_batch_of_vllm_1_is_recorded(path: Path) -> None:
    recorder = RunRecorder(types.SimpleNamespace(), torch.device("cpu"), False)
    assert recorder.is_argmax_invariant() is False
    rows = served(recorder)
    recorder.close()
    check(path, rows)


def test_a_run_that_the_process_ends_is_kept(path: Path) -> None:
    config = types.SimpleNamespace(model_config=types.SimpleNamespace(model="tiny"))
    recorder = RunRecorder(config, torch.device("cpu"), False)
    output: list[int] = []
    recorder.update_state(Update(1, [], [(0, Asked(), None, output)], []))
    for token in (5, 6, -1):  # The last is a placeholder, as where tokens are asked for later.
        recorder.apply(torch.zeros(1, 9))
        output.append(token)
    recorder.close()
    recorder.close()
    (run,) = read_runs(path)
    assert [token.token for token in run.tokens] == [5, 6] and run.model == "tiny"
    assert (
        run.tokens[0].log_prob == pytest.approx(-math.log(9)) and "may be missing" in run.notes[0]
    )


def test_the_recorder_stands_alone(tmp_path: Path) -> None:
    copied = tmp_path / "recorder.py"
    copied.write_text(SOURCE.read_text("utf-8"), "utf-8")
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import recorder; "
    script += "print([name for name in sys.modules if name.startswith('explorer')])"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
    assert (KIND, VERSION) == (vllm_recorder.KIND, vllm_recorder.VERSION)


def real_interface() -> types.ModuleType:
    """vLLM's own module of the interface, from a wheel or from an installation."""
    wheel = os.environ.get("EXPLORER_VLLM")
    name = "vllm/v1/sample/logits_processor/interface.py"
    if wheel:
        source = zipfile.ZipFile(wheel).read(name).decode()
    elif spec := importlib.util.find_spec("vllm"):
        source = (Path(spec.origin or "").parents[1] / name).read_text("utf-8")
    else:
        pytest.skip("vLLM is not installed, and EXPLORER_VLLM names no wheel of it")
    # Its imports of the rest of vLLM are for annotations only.
    tree = ast.parse(source)
    tree.body = [
        one for one in tree.body if not (isinstance(one, ast.ImportFrom) and one.module == "vllm")
    ]
    module = types.ModuleType("vllm_interface")
    module.__dict__["SamplingParams"] = object
    sys.modules[module.__name__] = module
    exec(compile(tree, name, "exec"), module.__dict__)
    return module


def test_vllms_own_classes_take_the_recorder(path: Path) -> None:
    vllm: Any = real_interface()

    # As in an installation: the recorder is a subclass of vLLM's abstract class.
    made = type("Recorder", (vllm.LogitsProcessor,), dict(vars(RunRecorder)))
    assert made.__abstractmethods__ == frozenset()
    recorder: Any = made(types.SimpleNamespace(), torch.device("cpu"), False)
    rows = served(recorder, vllm.BatchUpdate, vllm.MoveDirectionality)
    recorder.close()
    check(path, rows)


def test_hostile_lines_are_refused() -> None:
    line: dict[str, Any] = {"kind": "vllm recorder", "version": 1, "token_ids": [1], "steps": []}
    for change in ({"version": 2}, {"steps": [{}, {}]}, {"token_ids": [-1]}, {"token_ids": "a"}):
        with pytest.raises(explorer.errors.DamagedFile):
            explorer_runs(line | change)


def explorer_runs(document: object) -> object:
    from explorer.servers import runs_of

    return runs_of(json.dumps(document).encode())
