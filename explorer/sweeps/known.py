"""The description of a sweep in its table: constraints, models, samplers, settings, as plain data.

A table of rows has names; a report needs what they stand for. So a sweep writes it down once, as
JSON beside the parts of a folder and in the metadata of a table. It is read as data of a stranger:
constraints through the registered kinds, which check what they are given, and models as names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import DamagedFile, ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.sources.serial import source_from_dict
from explorer.sweeps.grid import SweepSetup

METADATA: Final = b"explorer.sweep"
"""The entry of a table's metadata."""

FORMAT: Final = 1


class KnownSweep(msgspec.Struct, frozen=True):
    """What a sweep was asked for.

    Args:
        format: The version of this form.
        max_tokens, masking_budget: As `explorer.sweep` has them; those of the last run.
        constraints: The source of each constraint as a plain mapping, by fingerprint; ``None`` for
            free texts.
        models: What `load_model` opens, by digest; ``None`` where a model was given otherwise.
        samplers: Temperature, top-k, top-p and min-p, by name.
    """

    format: int
    max_tokens: int
    masking_budget: bool | None
    constraints: Mapping[str, Mapping[str, Any] | None]
    models: Mapping[str, str | None]
    samplers: Mapping[str, tuple[float, int | None, float | None, float | None]]

    @classmethod
    def of(cls, setup: SweepSetup) -> KnownSweep:
        """What a setup says of itself."""
        return cls(
            FORMAT,
            setup.settings.max_tokens,
            setup.settings.masking_budget,
            {each.fingerprint: each.source for each in setup.constraints},
            {
                each.digest: each.given if isinstance(each.given, str) else None
                for each in setup.models
            },
            {name: (s.temperature, s.top_k, s.top_p, s.min_p) for name, s in setup.samplers},
        )

    def after(self, earlier: KnownSweep) -> KnownSweep:
        """This one, with what only an earlier sweep into the same folder knew."""
        return msgspec.structs.replace(
            self,
            constraints={**earlier.constraints, **self.constraints},
            models={**earlier.models, **self.models},
            samplers={**earlier.samplers, **self.samplers},
        )

    @classmethod
    def read(cls, data: bytes, where: str) -> KnownSweep:
        """What `to_bytes` wrote.

        Args:
            data: JSON that may be damaged or forged.
            where: What to call it in an error.

        Raises:
            DamagedFile: It is not what a sweep writes.
        """
        try:
            found = msgspec.json.decode(data, type=cls)
        except (
            msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError,
        ) as error:  # fmt: skip
            raise DamagedFile(
                f"{where} is damaged: {error}.",
                remedy="Delete it; the next run of the sweep writes it again.",
                evidence={"path": where},
            ) from error
        if found.format != FORMAT:
            raise DamagedFile(
                f"{where} has the form {found.format}; this release reads {FORMAT}.",
                remedy="Use the release that wrote it.",
                evidence={"path": where},
            )
        return found

    def to_bytes(self) -> bytes:
        """JSON that `read` reads."""
        return msgspec.json.format(msgspec.json.encode(self))

    def constraint(self, fingerprint: str) -> Constraint | None:
        """A constraint, made again from its source; ``None`` for a free text or an unknown one.

        Raises:
            DamagedFile: Its source cannot be read.
        """
        source = self.constraints.get(fingerprint)
        return None if source is None else Constraint(source_from_dict(source))

    def readable(self) -> dict[str, Constraint]:
        """The constraints that can be made again, by fingerprint."""
        found: dict[str, Constraint] = {}
        for fingerprint in self.constraints:
            try:
                made = self.constraint(fingerprint)
            except ExplorerError:
                continue  # A kind of somebody's own that is not registered here.
            if made is not None:
                found[fingerprint] = made
        return found

    def sampler(self, name: str) -> Sampler:
        """A sampler by its name.

        Raises:
            ExplorerError: There is none of that name.
        """
        if name not in self.samplers:
            raise ExplorerError(f"The sweep knows no sampler {name!r}.")
        return Sampler(*self.samplers[name])


def with_knowledge(table: Any, known: KnownSweep) -> Any:
    """A pyarrow table that carries what its sweep was asked for."""
    return table.replace_schema_metadata({METADATA: known.to_bytes()})


def knowledge_of(table: Any) -> KnownSweep | None:
    """The description of a table's sweep; ``None`` if the table does not say.

    Raises:
        DamagedFile: What it says cannot be read.
    """
    metadata: Mapping[bytes, bytes] = table.schema.metadata or {}
    data = metadata.get(METADATA)
    return None if data is None else KnownSweep.read(data, "The metadata of the table")
