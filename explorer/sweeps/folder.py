"""The folder of a sweep: partitioned Parquet that is written part by part and never half.

    FOLDER/_sweep.json                    what was asked for, for the report
    FOLDER/model=tiny/part-….parquet      rows of one model; the path says which

A part is written to a file of another name, synced, and renamed. So after a crash, whatever it hit,
the folder holds whole parts only, and each row that it holds says by its key that it is done.
Writing is locked: a second sweep into the same folder is refused while the first one runs; the lock
is the operating system's and ends with the process.

Anything that reads Hive-partitioned Parquet reads it: pyarrow, DuckDB, Polars, Spark. The files are
data only; nothing in them is executed.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import quote, unquote

from explorer.errors import DamagedFile, ExplorerError
from explorer.files import file_errors, write_whole
from explorer.sweeps.arrow import columns, pyarrow
from explorer.sweeps.grid import SweepSetup
from explorer.sweeps.known import KnownSweep, with_knowledge

MANIFEST: Final = "_sweep.json"
_LOCK: Final = ".lock"
_DRAFT: Final = ".draft-"


class SweepFolder:
    """The folder of a sweep.

    Args:
        path: Where it is; made where it is not there yet.

    Raises:
        FileError: It cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with file_errors(path, writing=True):
            path.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the folder for writing.

        Raises:
            ExplorerError: Another sweep writes to it.
        """
        with file_errors(self.path, writing=True), open(self.path / _LOCK, "w") as file:
            _lock(file, self.path)
            for draft in self.path.glob(f"*/{_DRAFT}*"):  # Of a process that died.
                draft.unlink(missing_ok=True)
            yield

    def parts(self) -> list[Path]:
        """The parts, in the order of their names."""
        return sorted(self.path.glob("model=*/part-*.parquet"))

    def done(self) -> set[str]:
        """The keys of the rows that are there.

        Raises:
            DamagedFile: A part cannot be read.
        """
        found: set[str] = set()
        for part in self.parts():
            found.update(read_part(part, ["key"])["key"].to_pylist())
        return found

    def write(self, rows: Any) -> None:
        """Write rows of one model as a part.

        Args:
            rows: A table with the columns of a sweep, at least one row.

        Raises:
            FileError: It cannot be written.
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
        """Take the rows that are failures out of the parts, so that they are run again.

        Returns:
            How many there were.
        """
        count = 0
        for part in self.parts():
            rows = read_part(part)
            kept = rows.filter(pyarrow("compute").is_null(rows["error"]))
            if kept.num_rows == rows.num_rows:
                continue
            count += rows.num_rows - kept.num_rows
            # The rows without failures are there before the old part goes: a crash in between
            # leaves both, and `table` takes a key once.
            if kept.num_rows:
                self.write(kept)
            with file_errors(part, writing=True):
                part.unlink()
        return count

    def describe(self, setup: SweepSetup) -> KnownSweep:
        """Write down what is asked for, beside what earlier sweeps asked for.

        Returns:
            All of that.

        Raises:
            DamagedFile: What is there cannot be read.
        """
        known = KnownSweep.of(setup)
        if (self.path / MANIFEST).is_file():
            known = known.after(read_manifest(self.path))
        write_whole(self.path / MANIFEST, known.to_bytes())
        return known

    def table(self, wanted: Sequence[str] | None = None) -> Any:
        """All rows, or those with some keys, each once, as a pyarrow table.

        Args:
            wanted: Keys, in the order in which the rows are to come.
        """
        return read_rows(self.path, wanted)


def _lock(file: IO[str], path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ExplorerError(
            f"Another sweep is writing to {path}.",
            remedy="Wait until it has ended, or give another folder.",
            evidence={"folder": str(path)},
        ) from None


def read_manifest(folder: Path) -> KnownSweep:
    """The grid of a sweep, read from its folder.

    Raises:
        FileError: It is not there.
        DamagedFile: It cannot be read.
    """
    path = folder / MANIFEST
    with file_errors(path):
        data = path.read_bytes()
    return KnownSweep.read(data, str(path))


def read_part(path: Path, only: Sequence[str] | None = None) -> Any:
    """The rows of a part.

    Args:
        path: Of the file.
        only: The columns that are wanted; default all.

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
        folder: The folder.
        wanted: Keys, in the order in which the rows are to come; default all, part by part.

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
    found = [place[key] for key in wanted if key in place]
    return rows.take(pa.array(found, pa.int64()))
