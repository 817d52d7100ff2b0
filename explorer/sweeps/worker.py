"""The code of a worker: it turns batches into rows.

A worker opens each model once and compiles each constraint once per vocabulary. It keeps the last
few setups that it received (`MOST_SETUPS`), each with its models and machines, so that a batch
needs to bring only its rows. Batches in one process run one after another, because a model uses all
its cores anyway.

A failure becomes a row. If a model or a constraint fails, each of its rows states the error; if a
batch fails, its rows are run one by one, so that one bad prompt does not affect its neighbours.
"""

from __future__ import annotations

import math
import pickle
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from threading import RLock
from typing import Any, Final

import msgspec

from explorer.decoding.models.arguments import prompt_ids
from explorer.decoding.models.model import LanguageModel
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.sweeps.batch import MeasuredText, measured_batch
from explorer.sweeps.folder import columns, pyarrow
from explorer.sweeps.grid import SweepBatch, SweepRow, SweepSetup
from explorer.tokens.words import DONE

MOST_SETUPS: Final = 2
"""The number of setups that a process keeps; the least recently used is dropped first."""


@dataclass(frozen=True)
class BatchResult:
    """The rows of a batch, as an Arrow table, and the number of those that failed."""

    rows: Any
    failed: int


def run_batch(setup: SweepSetup | bytes, batch: SweepBatch) -> BatchResult:
    """Run a batch in this process.

    Args:
        setup: The setup, or its bytes from `packed_setup` in another process of the same user.
    """
    return _workshop(setup).run(batch)


def failed_batch(setup: SweepSetup, batch: SweepBatch, error: Exception) -> BatchResult:
    """The rows of a batch that no worker could run."""
    return _BatchRun(_Workshop(setup), setup, batch).failure(error)


def packed_setup(setup: SweepSetup) -> bytes:
    """The setup as bytes for other processes of the same user, where `run_batch` unpacks it.

    Raises:
        ExplorerError: A model is given as an object or a function that cannot be pickled.
    """
    # Only sources are sent: machines built from them are caches, and workers build their own.
    bare = tuple(
        replace(each, constraint=Constraint(each.constraint.source))
        if isinstance(each.constraint, Constraint)
        else each
        for each in setup.constraints
    )
    try:
        return pickle.dumps(replace(setup, constraints=bare), protocol=5)
    except Exception as error:  # A user's own object may raise anything.
        reason = str(error).strip() or type(error).__name__
        raise ExplorerError(
            f"The sweep cannot be sent to other processes: {reason}.",
            remedy="Give each model as a name, a folder, or a function at the top of a module that "
            "opens it.",
            evidence={"error": type(error).__name__},
        ) from error


_lock: Final = RLock()
_workshops: Final[OrderedDict[object, _Workshop]] = OrderedDict()


def _workshop(setup: SweepSetup | bytes) -> _Workshop:
    key: object = sha256(setup).digest() if isinstance(setup, bytes) else id(setup)
    with _lock:
        workshop = _workshops.get(key)
        if workshop is None:
            made: SweepSetup = pickle.loads(setup) if isinstance(setup, bytes) else setup
            workshop = _workshops[key] = _Workshop(made)
            while len(_workshops) > MOST_SETUPS:
                _workshops.popitem(last=False)
        _workshops.move_to_end(key)
        return workshop


class _Workshop:
    """The models and machines of one setup in this process; thread-safe."""

    def __init__(self, setup: SweepSetup) -> None:
        self._setup = setup
        self._models: dict[int, LanguageModel | Exception] = {}
        self._rules: dict[tuple[int, str], Rule | Exception] = {}
        self._lock = RLock()

    def run(self, batch: SweepBatch) -> BatchResult:
        """The rows of a batch."""
        with self._lock:
            return _BatchRun(self, self._setup, batch).result()

    def model(self, number: int) -> LanguageModel | Exception:
        """A model, opened at its first use; or the error of opening it."""
        if number not in self._models:
            try:
                self._models[number] = self._setup.models[number].open()
            except Exception as error:  # A user's own function may raise anything.
                self._models[number] = error
        return self._models[number]

    def rule(self, number: int, model: LanguageModel) -> Rule | Exception:
        """A constraint compiled for a model's vocabulary at its first use; or the error."""
        key = number, model.vocabulary.fingerprint
        if key not in self._rules:
            constraint, settings = self._setup.constraints[number].constraint, self._setup.settings
            try:
                rule = Rule.of(constraint, model.vocabulary, settings.budget)
                rule.plans(settings.max_tokens, settings.masking_budget)
                self._rules[key] = rule
            except ExplorerError as error:
                self._rules[key] = error
        return self._rules[key]


@dataclass
class _BatchRun:
    """The state of one batch while its prompts are turned into rows."""

    workshop: _Workshop
    setup: SweepSetup
    batch: SweepBatch
    rows: dict[str, dict[str, object]] = field(default_factory=lambda: {})

    def result(self) -> BatchResult:
        self._write_all()
        return self._packed()

    def failure(self, error: Exception) -> BatchResult:
        self._fail(self.batch.rows, error)
        return self._packed()

    def _packed(self) -> BatchResult:
        rows = [self.rows[row.key] for row in self.batch.rows]
        table = pyarrow().Table.from_pylist(rows, schema=columns())
        return BatchResult(table, sum(row["error"] is not None for row in rows))

    def _write_all(self) -> None:
        rows = self.batch.rows
        model = self.workshop.model(self.batch.model)
        if isinstance(model, Exception):
            self._fail(rows, model)
            return
        ready: list[tuple[SweepRow, Rule, tuple[int, ...]]] = []
        for row in rows:
            rule = self.workshop.rule(row.constraint, model)
            if isinstance(rule, Exception):
                self._fail([row], rule)
                continue
            try:
                ready.append((row, rule, prompt_ids(model, row.prompt)))
            except ExplorerError as error:
                self._fail([row], error)
        self._write(model, ready)

    def _write(
        self, model: LanguageModel, ready: Sequence[tuple[SweepRow, Rule, tuple[int, ...]]]
    ) -> None:
        if not ready:
            return
        settings = self.setup.settings
        try:
            texts = measured_batch(
                model,
                [ids for _, _, ids in ready],
                [rule for _, rule, _ in ready],
                self.setup.samplers[self.batch.sampler][1],
                seed=self.batch.seed,
                max_tokens=settings.max_tokens,
                masking_budget=settings.masking_budget,
            )
        except Exception as error:  # A user's own model may raise anything.
            if len(ready) == 1:
                self._fail([ready[0][0]], error)
                return
            for one in ready:
                self._write(model, [one])
            return
        for (row, rule, _), text in zip(ready, texts, strict=True):
            self.rows[row.key] = self._about(row) | _measured(rule, text)

    def _fail(self, rows: Sequence[SweepRow], error: Exception) -> None:
        for row in rows:
            said = {"error_kind": type(error).__name__, "error": str(error) or repr(error)}
            self.rows[row.key] = self._about(row) | _NOTHING | said

    def _about(self, row: SweepRow) -> dict[str, object]:
        setup, batch = self.setup, self.batch
        constraint, model = setup.constraints[row.constraint], setup.models[batch.model]
        chat = not isinstance(row.prompt, str)
        return {
            "key": row.key,
            "prompt_id": row.prompt_id,
            "prompt": msgspec.json.encode(row.prompt).decode() if chat else row.prompt,
            "prompt_is_chat": chat,
            "constraint": constraint.name,
            "constraint_source": constraint.source,
            "model": model.name,
            "model_digest": model.digest,
            "sampler": setup.samplers[batch.sampler][0],
            "seed": batch.seed,
        }


_NOTHING: Final[dict[str, object]] = {
    "valid": False,
    "stop": "error",
    "error": None,
    "error_kind": None,
    "num_tokens": 0,
}


def _measured(rule: Rule, text: MeasuredText) -> dict[str, object]:
    """The columns of a generated text."""
    machine, vocabulary = rule.machine, rule.vocabulary
    pieces = [
        (vocabulary.tokens[token] if token < len(vocabulary) else None) or b""
        for token in text.tokens
    ]
    offsets = [0]
    for piece in pieces[:-1]:
        offsets.append(offsets[-1] + len(piece))
    states = _walked(rule, text.tokens)
    valid = len(states) > len(text.tokens) and states[-1] == DONE
    free = machine.constraint is None
    return {
        "text": b"".join(pieces).decode("utf-8", errors="replace"),
        "valid": None if free else valid,
        "stop": "end" if text.finished else "max_tokens",
        "planned": text.planned,
        "num_tokens": len(text.tokens),
        "milliseconds": 1000 * text.seconds,
        "interventions": sum(text.intervened),
        "nats_lost": -math.fsum(text.log_masses) + 0.0,
        "log_prob_model": math.fsum(text.log_probs_model),
        "log_prob_constrained": math.fsum(text.log_probs_constrained),
        "tokens": text.tokens,
        "offsets": offsets,
        "log_probs_model": text.log_probs_model,
        "log_probs_constrained": text.log_probs_constrained,
        "log_masses": text.log_masses,
        "intervened": text.intervened,
        "error_kind": None,
        "error": None,
    }


def _walked(rule: Rule, tokens: Sequence[int]) -> list[int]:
    """The machine's states before each token and at the end, up to the first refused token."""
    states = [rule.start]
    for token in tokens:
        following = rule.step(states[-1], token)
        if following is None:
            break
        states.append(following)
    return states
