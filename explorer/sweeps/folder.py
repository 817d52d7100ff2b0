"""The folder of a sweep: partitioned Parquet in parts that are written whole or not at all.

    FOLDER/_sweep.json                    the description of the sweep, for the report
    FOLDER/model=tiny/part-….parquet      rows of the model that the path names

A part is written to a temporary file, synced, and renamed. So after any crash the folder holds
complete parts only, and the key of each stored row marks it as done. Writing is locked: a second
sweep into the same folder is refused while the first one runs; the operating system releases the
lock when the process ends.

Anything that reads Hive-partitioned Parquet can read it: pyarrow, DuckDB, Polars, Spark. The files
are data only; nothing in them is executed.

The rows of a table name their constraint, model and sampler; a report needs the values behind these
names. So a sweep stores its description once, as JSON beside the parts of a folder and in the
metadata of a table. It is read as untrusted data: constraints through the registered kinds, which
check their input, and models as names only.

pyarrow is imported here when a table is first asked for, with an error that names the extra. It
ships no types, so its objects are typed as `Any`.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import quote, unquote

import msgspec

from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import DamagedFile, ExplorerError, MissingDependency
from explorer.files import file_errors, write_whole
from explorer.languages.constraint import Constraint
from explorer.languages.sources.serial import source_from_dict
from explorer.sweeps.grid import SweepSetup


def pyarrow(part: str = "") -> Any:
    """The library pyarrow, or a part of it.

    Args:
        part: Such as ``"parquet"``; empty for the library itself.

    Raises:
        MissingDependency: It is not installed.

    Example:
        >>> pyarrow("parquet").__name__
        'pyarrow.parquet'
    """
    return library(f"pyarrow.{part}" if part else "pyarrow", "The table of a sweep")


def library(name: str, wanted_by: str) -> Any:
    """Import a library of the extra `sweeps`.

    Raises:
        MissingDependency: It is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"{wanted_by} needs the library {name.partition('.')[0]!r}, which is not installed.",
            remedy="Install the extra `sweeps`: pip install 'constraint-explorer[sweeps]'.",
            evidence={"library": name},
        ) from error


def columns() -> Any:
    """The schema of a sweep's table; `docs/sweeps.md` says what each column means."""
    pa = pyarrow()
    text, small, number = pa.string(), pa.int32(), pa.float64()
    return pa.schema(
        [
            pa.field("key", text, nullable=False),
            ("prompt_id", text),
            ("prompt", text),
            ("prompt_is_chat", pa.bool_()),
            ("constraint", text),
            ("constraint_fingerprint", text),
            ("model", text),
            ("model_digest", text),
            ("sampler", text),
            ("seed", pa.uint64()),
            ("text", text),
            ("valid", pa.bool_()),
            ("stop", text),
            ("planned", pa.bool_()),
            ("num_tokens", small),
            ("model_calls", small),
            ("milliseconds", number),
            ("interventions", small),
            ("feasible_mass_least", number),
            ("feasible_mass_mean", number),
            ("nats_lost", number),
            ("traps", pa.list_(text)),
            ("log_prob_model", number),
            ("log_prob_constrained", number),
            ("tokens", pa.list_(small)),
            ("offsets", pa.list_(small)),
            ("log_probs_model", pa.list_(number)),
            ("log_probs_constrained", pa.list_(number)),
            ("log_masses", pa.list_(number)),
            ("intervened", pa.list_(pa.bool_())),
            ("error_kind", text),
            ("error", text),
            ("trace", pa.large_binary()),
        ]
    )


METADATA: Final = b"explorer.sweep"
"""The key of the description in a table's metadata."""

FORMAT: Final = 1


class KnownSweep(msgspec.Struct, frozen=True):
    """The description of a sweep: its constraints, models, samplers and settings as plain data.

    Args:
        max_tokens, masking_budget: As in `explorer.sweep`; those of the last run.
        constraints: The source of each constraint as a plain mapping, by fingerprint; ``None`` for
            unconstrained text.
        models: The argument of `load_model`, by digest; ``None`` for a model given otherwise.
        samplers: Temperature, top_k, top_p and min_p, by name.
    """

    format: int
    max_tokens: int
    masking_budget: bool | None
    constraints: Mapping[str, Mapping[str, Any] | None]
    models: Mapping[str, str | None]
    samplers: Mapping[str, tuple[float, int | None, float | None, float | None]]

    @classmethod
    def of(cls, setup: SweepSetup) -> KnownSweep:
        """The description of a setup."""
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
        """This description, extended by that of an earlier sweep into the same folder."""
        return msgspec.structs.replace(
            self,
            constraints={**earlier.constraints, **self.constraints},
            models={**earlier.models, **self.models},
            samplers={**earlier.samplers, **self.samplers},
        )

    @classmethod
    def read(cls, data: bytes, where: str) -> KnownSweep:
        """The description in JSON that `to_bytes` wrote.

        Raises:
            DamagedFile: The JSON is not a description of a sweep.
        """
        try:
            sweep = msgspec.json.decode(data, type=cls)
        except (
            msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError,
        ) as error:  # fmt: skip
            raise DamagedFile(
                f"{where} is damaged: {error}.",
                remedy="Delete it; the next run of the sweep writes it again.",
                evidence={"path": where},
            ) from error
        if sweep.format != FORMAT:
            raise DamagedFile(
                f"{where} has the format {sweep.format}; this release reads format {FORMAT}.",
                remedy="Use the release that wrote it.",
                evidence={"path": where},
            )
        return sweep

    def to_bytes(self) -> bytes:
        """The description as JSON."""
        return msgspec.json.format(msgspec.json.encode(self))

    def constraint(self, fingerprint: str) -> Constraint | None:
        """A constraint rebuilt from its source; ``None`` if unconstrained or unknown.

        Raises:
            DamagedFile: Its source cannot be read.
        """
        source = self.constraints.get(fingerprint)
        return None if source is None else Constraint(source_from_dict(source))

    def readable(self) -> dict[str, Constraint]:
        """The constraints that can be rebuilt, by fingerprint."""
        constraints: dict[str, Constraint] = {}
        for fingerprint in self.constraints:
            try:
                made = self.constraint(fingerprint)
            except ExplorerError:
                continue  # A user's own kind that is not registered in this process.
            if made is not None:
                constraints[fingerprint] = made
        return constraints

    def sampler(self, name: str) -> Sampler:
        """The sampler of this name.

        Raises:
            ExplorerError: No sampler has this name.
        """
        if name not in self.samplers:
            raise ExplorerError(f"The sweep knows no sampler {name!r}.")
        return Sampler(*self.samplers[name])


def with_knowledge(table: Any, known: KnownSweep) -> Any:
    """A pyarrow table with the description of its sweep in its metadata."""
    return table.replace_schema_metadata({METADATA: known.to_bytes()})


def knowledge_of(table: Any) -> KnownSweep | None:
    """The description of the sweep in a table's metadata, if there is one.

    Raises:
        DamagedFile: The description cannot be read.
    """
    metadata: Mapping[bytes, bytes] = table.schema.metadata or {}
    data = metadata.get(METADATA)
    return None if data is None else KnownSweep.read(data, "The metadata of the table")


MANIFEST: Final = "_sweep.json"
_LOCK: Final = ".lock"
_DRAFT: Final = ".draft-"


class SweepFolder:
    """The folder of a sweep, opened for reading and writing.

    Args:
        path: Its path; the folder is created if it does not exist.

    Raises:
        FileError: It cannot be created.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with file_errors(path, writing=True):
            path.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the lock for writing to the folder.

        Raises:
            ExplorerError: Another sweep holds it.
        """
        with file_errors(self.path, writing=True), open(self.path / _LOCK, "w") as file:
            _lock(file, self.path)
            for draft in self.path.glob(f"*/{_DRAFT}*"):  # Left by a process that died.
                draft.unlink(missing_ok=True)
            yield

    def parts(self) -> list[Path]:
        """The paths of the parts, sorted by name."""
        return sorted(self.path.glob("model=*/part-*.parquet"))

    def done(self) -> set[str]:
        """The keys of the stored rows.

        Raises:
            DamagedFile: A part cannot be read.
        """
        keys: set[str] = set()
        for part in self.parts():
            keys.update(read_part(part, ["key"])["key"].to_pylist())
        return keys

    def write(self, rows: Any) -> None:
        """Write the rows of one model as a new part.

        Raises:
            FileError: The part cannot be written.
        """
        model: str = rows["model"][0].as_py()
        stored = rows.drop_columns(["model"])
        folder = self.path / f"model={quote(model, safe=' ')}"
        name = secrets.token_hex(8)
        with file_errors(self.path, writing=True):
            folder.mkdir(exist_ok=True)
            draft, target = folder / f"{_DRAFT}{name}", folder / f"part-{name}.parquet"
            try:
                with open(draft, "xb") as file:
                    pyarrow("parquet").write_table(stored, file, compression="zstd")
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, target)
            except BaseException:
                with suppress(OSError):
                    draft.unlink(missing_ok=True)
                raise

    def drop_failures(self) -> int:
        """Remove failed rows from the parts, so that they are run again.

        Returns:
            The number of removed rows.
        """
        count = 0
        for part in self.parts():
            rows = read_part(part)
            kept = rows.filter(pyarrow("compute").is_null(rows["error"]))
            if kept.num_rows == rows.num_rows:
                continue
            count += rows.num_rows - kept.num_rows
            # The new part is written before the old one is deleted: a crash in between leaves
            # both, and `table` takes each key once.
            if kept.num_rows:
                self.write(kept)
            with file_errors(part, writing=True):
                part.unlink()
        return count

    def describe(self, setup: SweepSetup) -> KnownSweep:
        """Store the description of a sweep, merged with those of earlier sweeps.

        Returns:
            The merged description.

        Raises:
            DamagedFile: The stored description cannot be read.
        """
        known = KnownSweep.of(setup)
        if (self.path / MANIFEST).is_file():
            known = known.after(read_manifest(self.path))
        write_whole(self.path / MANIFEST, known.to_bytes())
        return known

    def table(self, wanted: Sequence[str] | None = None) -> Any:
        """All rows, or those with the wanted keys, each once, as a pyarrow table."""
        return read_rows(self.path, wanted)


def _lock(file: IO[str], path: Path) -> None:
    try:
        _take(file)
    except OSError:
        raise ExplorerError(
            f"Another sweep is writing to {path}.",
            remedy="Wait until it has ended, or give another folder.",
            evidence={"folder": str(path)},
        ) from None


def _take(file: IO[str]) -> None:
    """Take the operating system's lock on a file; do nothing if the system has no such locks."""
    if find_spec("fcntl") is not None:
        posix: Any = import_module("fcntl")
        posix.flock(file, posix.LOCK_EX | posix.LOCK_NB)
    elif find_spec("msvcrt") is not None:
        windows: Any = import_module("msvcrt")
        windows.locking(file.fileno(), windows.LK_NBLCK, 1)


def read_manifest(folder: Path) -> KnownSweep:
    """The description of a sweep, read from its folder.

    Raises:
        FileError: There is no such file.
        DamagedFile: It is not a description of a sweep.
    """
    path = folder / MANIFEST
    with file_errors(path):
        data = path.read_bytes()
    return KnownSweep.read(data, str(path))


def read_part(path: Path, only: Sequence[str] | None = None) -> Any:
    """The rows of a part.

    Args:
        only: The wanted columns; by default all.

    Raises:
        DamagedFile: It is not a part of a sweep.
    """
    try:
        with file_errors(path), open(path, "rb") as file:
            rows = pyarrow("parquet").read_table(file, columns=None if only is None else [*only])
        if only is not None:
            return rows
        pa = pyarrow()
        name = unquote(path.parent.name.partition("=")[2])
        model = pa.array([name] * rows.num_rows, pa.string())
        return rows.append_column("model", model).select(columns().names).cast(columns())
    except (pyarrow().ArrowException, ValueError, KeyError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise DamagedFile(
            f"{path} is not a part of a sweep: {reason}.",
            remedy="Delete it, and run the sweep again: its rows are made anew.",
            evidence={"path": str(path)},
        ) from error


def read_rows(folder: Path, wanted: Sequence[str] | None = None) -> Any:
    """The rows of a sweep's folder, each key once, as a pyarrow table.

    Args:
        wanted: The keys of the wanted rows, in order; by default all rows, part by part.

    Raises:
        ExplorerError: There is no sweep in the folder.
        DamagedFile: A part cannot be read.
    """
    with file_errors(folder):
        parts = sorted(folder.glob("model=*/part-*.parquet"))
    if not parts and wanted is None:
        raise ExplorerError(
            f"{folder} holds no rows of a sweep.",
            remedy="Give the folder that `explorer.sweep(..., folder=...)` wrote to.",
            evidence={"folder": str(folder)},
        )
    pa = pyarrow()
    tables = [read_part(part) for part in parts]
    rows = pa.concat_tables(tables) if tables else columns().empty_table()
    if (folder / MANIFEST).is_file():
        rows = with_knowledge(rows, read_manifest(folder))
    place: dict[str, int] = {}
    for k, key in enumerate(rows["key"].to_pylist()):
        place.setdefault(key, k)
    if wanted is None:
        return rows if len(place) == rows.num_rows else rows.take(list(place.values()))
    columns_there = [place[key] for key in wanted if key in place]
    return rows.take(pa.array(columns_there, pa.int64()))
