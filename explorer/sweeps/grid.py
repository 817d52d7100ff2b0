"""The rows of a sweep: prompts × constraints × models × samplers × seeds, each with a key.

The key is a digest of everything that determines the row, and of nothing else: the prompt, the
constraint's source, the model's digest, the sampler, the seed and the settings. It does not depend
on names, on the order of arguments, or on the rest of the sweep. So a sweep that is run again, or
with more prompts, runs only the missing rows.

Rows with equal keys are one row. Each row draws its random numbers as ``Session(..., seed=seed)``
does, whichever batch it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from itertools import product
from typing import Final, TypeVar, cast

import msgspec

from explorer.arguments import (
    flag,
    instance,
    listed,
    mapped,
    plain,
    whole_number,
    whole_text,
    wrong,
)
from explorer.budget import Budget
from explorer.decoding.models.arguments import (
    LAST_SEED,
    MOST_TOKENS,
    checked_prompt,
    checked_sampler,
    kept_prompt,
)
from explorer.decoding.models.model import Message, Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.schema.reading.text import is_response_format
from explorer.languages.sources.serial import source_to_dict
from explorer.languages.types.schema import is_type
from explorer.languages.types.source import as_constraint
from explorer.sweeps.models import ModelGiven, SweepModel, digest_of
from explorer.tokens.machine import TokenMachine

K = TypeVar("K")
V = TypeVar("V")

VERSION: Final = "2"
"""The version of the rows, a part of every key; raised when a change of the code changes rows."""

LONGEST_NAME: Final = 80
"""The most characters of a name derived from a constraint."""

MOST_IN_BATCH: Final = 4096

KeptPrompt = str | tuple[Message, ...]


@dataclass(frozen=True)
class SweepSettings:
    """The settings that all rows of a sweep share.

    Args:
        masking_budget: As in `generate`.
    """

    max_tokens: int = 64
    masking_budget: bool | None = None
    batch_size: int = 32
    budget: Budget | None = None

    def __post_init__(self) -> None:
        budget = self.masking_budget
        plain_values = {
            "max_tokens": whole_number("max_tokens", self.max_tokens, 1, MOST_TOKENS),
            "batch_size": whole_number("batch_size", self.batch_size, 1, MOST_IN_BATCH),
            "masking_budget": None if budget is None else flag("masking_budget", budget),
        }
        for name, value in plain_values.items():
            object.__setattr__(self, name, value)
        if self.budget is not None:
            instance("budget", self.budget, Budget, "a Budget")


@dataclass(frozen=True, eq=False)
class NamedConstraint:
    """A constraint of a sweep with its name in the table.

    Args:
        constraint: ``None`` for unconstrained text.
        source: Its source as JSON; ``None`` for unconstrained text.
    """

    name: str
    constraint: Constraint | TokenMachine | None
    fingerprint: str
    source: str | None


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One row to be run; the constraint is an index into the setup."""

    key: str
    prompt_id: str
    prompt: KeptPrompt
    constraint: int


@dataclass(frozen=True)
class SweepBatch:
    """Rows that are run together; model and sampler are indices into the setup."""

    model: int
    sampler: int
    seed: int
    rows: tuple[SweepRow, ...]


@dataclass(frozen=True)
class SweepSetup:
    """The constraints, models, samplers and settings that a worker needs besides its batches."""

    constraints: tuple[NamedConstraint, ...]
    models: tuple[SweepModel, ...]
    samplers: tuple[tuple[str, Sampler], ...]
    settings: SweepSettings


@dataclass(frozen=True)
class SweepGrid:
    """The product of prompts, constraints, models, samplers and seeds.

    Example:
        >>> from explorer import choice
        >>> grid = SweepGrid.of(["a", "b"], choice(["x", "y"]), "tiny", Sampler(0.0), range(3))
        >>> grid.num_rows, [len(batch.rows) for batch in grid.batches(frozenset())]
        (6, [2, 2, 2])
    """

    setup: SweepSetup
    prompts: tuple[tuple[str, KeptPrompt], ...]
    seeds: tuple[int, ...]

    @classmethod
    def of(
        cls,
        prompts: Prompt | Sequence[Prompt] | Mapping[str, Prompt],
        constraints: object,
        models: ModelGiven | Sequence[ModelGiven] | Mapping[str, ModelGiven],
        samplers: Sampler | Sequence[Sampler] | Mapping[str, Sampler],
        seeds: int | Sequence[int],
        settings: SweepSettings = SweepSettings(),
    ) -> SweepGrid:
        """The grid of a user's arguments; see `explorer.sweep` for them.

        Raises:
            ExplorerError: An argument is of the wrong kind, or the grid has no rows.
        """
        named = _named("constraints", constraints, _is_constraint, _name_of_constraint)
        some = [
            NamedConstraint(name, made, _fingerprint(made), _source(made))
            for name, made in ((name, _constraint(given)) for name, given in named)
        ]
        opened = [
            SweepModel.of(cast("ModelGiven", given), name)
            for name, given in _named("models", models, _is_model, lambda _: "")
        ]
        drawn = [
            (name, checked_sampler(given))
            for name, given in _named("samplers", samplers, _is_sampler, _name_of_sampler)
        ]
        wanted = plain(cast("object", seeds))
        numbers = (
            [wanted]
            if isinstance(wanted, int)
            else listed("seeds", wanted, "a whole number, or a list of them")
        )
        grid = cls(
            SweepSetup(
                _distinct("constraints", some, lambda each: (each.name, each.fingerprint)),
                _distinct("models", opened, lambda each: (each.name, each.digest)),
                _distinct("samplers", drawn, lambda each: (each[0], repr(each[1]))),
                settings,
            ),
            _prompts(prompts),
            tuple(dict.fromkeys(whole_number("seed", seed, 0, LAST_SEED) for seed in numbers)),
        )
        if not grid.num_rows:
            raise ExplorerError(
                "The sweep has no rows: one of prompts, constraints, models, samplers and seeds is "
                "empty.",
                remedy="Give at least one of each.",
            )
        return grid

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        setup = self.setup
        count = len(self.prompts) * len(setup.constraints) * len(setup.models)
        return count * len(setup.samplers) * len(self.seeds)

    def batches(self, done: AbstractSet[str]) -> Iterator[SweepBatch]:
        """The batches of all rows whose keys are not in ``done``.

        A batch has one model, sampler and seed. Prompts are sorted by length, so that a batch needs
        little padding.
        """
        setup = self.setup
        order = sorted(range(len(self.prompts)), key=lambda k: _length(self.prompts[k][1]))
        digests = self._digests()
        for m, s, seed in product(range(len(setup.models)), range(len(setup.samplers)), self.seeds):
            shared = self._shared(m, s, seed)
            rows: list[SweepRow] = []
            for k, (c, constraint) in product(order, enumerate(setup.constraints)):
                key = digest_of(*shared, digests[k], constraint.fingerprint)
                if key in done:
                    continue
                rows.append(SweepRow(key, *self.prompts[k], c))
                if len(rows) == setup.settings.batch_size:
                    yield SweepBatch(m, s, seed, tuple(rows))
                    rows = []
            if rows:
                yield SweepBatch(m, s, seed, tuple(rows))

    def keys(self) -> Iterator[str]:
        """The keys of all rows, ordered by prompt, constraint, model, sampler and seed."""
        setup, digests = self.setup, self._digests()
        places = product(range(len(setup.models)), range(len(setup.samplers)), self.seeds)
        shared = [self._shared(*place) for place in places]
        for digest, constraint, rest in product(digests, setup.constraints, shared):
            yield digest_of(*rest, digest, constraint.fingerprint)

    def _digests(self) -> list[str]:
        return [_digest_of_prompt(prompt) for _, prompt in self.prompts]

    def _shared(self, model: int, sampler: int, seed: int) -> tuple[str, ...]:
        """The parts of a key that do not depend on the prompt and the constraint."""
        setup = self.setup
        said = _settings_text(setup.settings, setup.samplers[sampler][1])
        return VERSION, setup.models[model].digest, said, str(seed)


def _settings_text(settings: SweepSettings, sampler: Sampler) -> str:
    decides = [settings.max_tokens, settings.masking_budget, asdict(sampler)]
    return msgspec.json.encode(decides, order="deterministic").decode()


def _digest_of_prompt(prompt: KeptPrompt) -> str:
    if isinstance(prompt, str):
        return digest_of("text", prompt)
    return digest_of("chat", msgspec.json.encode(prompt, order="deterministic").decode())


def _length(prompt: KeptPrompt) -> int:
    if isinstance(prompt, str):
        return len(prompt)
    return sum(len(text) for turn in prompt for text in turn.values())


def _named(
    what: str,
    given: object,
    is_one: Callable[[object], bool],
    name_of: Callable[[object], str],
) -> list[tuple[str, object]]:
    """The values with their names, from a mapping, a list or a single value."""
    if is_one(given):
        return [(name_of(given), given)]
    if isinstance(given, Mapping):
        entries = mapped(what, cast("object", given), "a mapping from names").items()
        return [(whole_text(f"a name in {what}", name), entry) for name, entry in entries]
    entries = listed(what, given, "one, a list, or a mapping from names")
    named: list[tuple[str, object]] = []
    taken: dict[str, int] = {}
    for entry in entries:
        name = name_of(entry)
        count = taken[name] = taken.get(name, 0) + 1
        named.append((f"{name} ({count})" if name and count > 1 else name, entry))
    return named


def _is_model(given: object) -> bool:
    return isinstance(plain(given), str) or not isinstance(given, Sequence | Mapping)


def _is_sampler(given: object) -> bool:
    return not isinstance(given, Sequence | Mapping)


def _is_constraint(given: object) -> bool:
    named = isinstance(given, Constraint | TokenMachine | str)
    return given is None or named or is_type(given) or is_response_format(given)


def _constraint(given: object) -> Constraint | TokenMachine | None:
    return given if given is None or isinstance(given, TokenMachine) else as_constraint(given)


def _source(constraint: Constraint | TokenMachine | None) -> str | None:
    if isinstance(constraint, TokenMachine):
        constraint = constraint.constraint
    if constraint is None:
        return None
    made = source_to_dict(constraint.source)
    return msgspec.json.encode(made, order="deterministic").decode()


def _fingerprint(constraint: Constraint | TokenMachine | None) -> str:
    # A machine may allow less than its constraint, as a scheme of decoding does.
    kind = type(constraint).__name__ if isinstance(constraint, TokenMachine) else ""
    return digest_of(kind, _source(constraint) or "null")


def _name_of_constraint(given: object) -> str:
    constraint = _constraint(given)
    if isinstance(constraint, TokenMachine):
        constraint = constraint.constraint
    text = "free" if constraint is None else " ".join(str(constraint.source).split())
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def _name_of_sampler(given: object) -> str:
    sampler = checked_sampler(given)
    if sampler == Sampler(0.0):
        return "greedy"
    said = [f"{name}={value:g}" for name, value in asdict(sampler).items() if value is not None]
    return ", ".join(said)


def _prompts(given: object) -> tuple[tuple[str, KeptPrompt], ...]:
    """The prompts with their names, without duplicates."""
    given = plain(given)
    if isinstance(given, Mapping) and not _is_turn(cast("object", given)):
        named = _named("prompts", cast("object", given), lambda _: False, str)
    elif isinstance(given, str):
        named = [("0", given)]
    else:
        if not isinstance(given, Sequence) or isinstance(given, bytes):
            wanted = "a text, a conversation, or a list or mapping of those"
            raise wrong("prompts", cast("object", given), wanted)
        entries = listed("prompts", cast("object", given), "a list of prompts")
        if entries and all(_is_turn(entry) for entry in entries):
            entries = [entries]  # One conversation.
        named = [(str(k), entry) for k, entry in enumerate(entries)]
    prompts: dict[str, tuple[str, KeptPrompt]] = {}
    for name, prompt in named:
        kept = kept_prompt(checked_prompt(prompt))
        prompts.setdefault(_digest_of_prompt(kept), (name, kept))
    return tuple(prompts.values())


def _is_turn(entry: object) -> bool:
    return isinstance(entry, Mapping) and "role" in cast("Mapping[object, object]", entry)


def _distinct(
    what: str, values: Sequence[V], parts: Callable[[V], tuple[str, str]]
) -> tuple[V, ...]:
    """The values without duplicates; refuses two names for one value and two values of one name."""
    names: dict[str, str] = {}
    digests: dict[str, str] = {}
    kept: list[V] = []
    for value in values:
        name, digest = parts(value)
        if names.get(name, digest) != digest:
            raise ExplorerError(
                f"Two different {what} have the name {name!r}.",
                remedy="Give a mapping with a name for each.",
                evidence={"name": name},
            )
        if digests.setdefault(digest, name) != name:
            first = digests[digest].rpartition(" (")[0] or digests[digest]
            if name.rpartition(" (")[0] != first:
                raise ExplorerError(
                    f"The {what} {digests[digest]!r} and {name!r} are the same.",
                    remedy="Give each once.",
                    evidence={"names": (digests[digest], name)},
                )
            continue
        if name not in names:
            kept.append(value)
        names[name] = digest
    return tuple(kept)
