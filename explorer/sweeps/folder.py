"""The folder of a sweep: Parquet in parts that are written whole or not at all, one row for a run.

A part is written to a temporary file and renamed, so after any crash the folder holds complete
parts only, and the key of each stored row marks it as done. Anything that reads Parquet reads it:
pyarrow, DuckDB, Polars, Spark, Dask. The files are data only; nothing in them is executed.

pyarrow is imported here when a table is first asked for, with an error that names the extra. It
ships no types, so its objects are typed as `Any`.
"""

from __future__ import annotations

import io
import secrets
from importlib import import_module
from pathlib import Path
from typing import Any

from explorer.errors import DamagedFile, ExplorerError, MissingDependency
from explorer.files import file_errors, write_whole


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
            ("constraint_source", text),
            ("model", text),
            ("model_digest", text),
            ("sampler", text),
            ("seed", pa.uint64()),
            ("text", text),
            ("valid", pa.bool_()),
            ("stop", text),
            ("planned", pa.bool_()),
            ("num_tokens", small),
            ("milliseconds", number),
            ("interventions", small),
            ("nats_lost", number),
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
        ]
    )


def stored_parts(folder: Path) -> list[Path]:
    """The paths of a folder's parts, sorted by name.

    Raises:
        FileError: The folder cannot be read.
    """
    with file_errors(folder):
        return sorted(folder.glob("part-*.parquet"))


def write_part(folder: Path, rows: Any) -> None:
    """Write some rows as a new part.

    Raises:
        FileError: The part cannot be written.
    """
    data = io.BytesIO()
    pyarrow("parquet").write_table(rows, data, compression="zstd")
    write_whole(folder / f"part-{secrets.token_hex(8)}.parquet", data.getvalue())


def keys_of(folder: Path, failures: bool) -> set[str]:
    """The keys of the stored rows.

    Args:
        failures: Whether failed rows count.

    Raises:
        DamagedFile: A part cannot be read.
    """
    keys: set[str] = set()
    for part in stored_parts(folder):
        rows = _read(part, ["key", "error"])
        for key, error in zip(rows["key"].to_pylist(), rows["error"].to_pylist(), strict=True):
            if failures or error is None:
                keys.add(key)
    return keys


def read_rows(folder: Path) -> Any:
    """The rows of a sweep's folder as a pyarrow table, part by part.

    Each key is there once: its row without an error, if there is one.

    Raises:
        ExplorerError: There is no sweep in the folder.
        DamagedFile: A part cannot be read.
    """
    parts = stored_parts(folder)
    if not parts:
        raise ExplorerError(
            f"{folder} holds no rows of a sweep.",
            remedy="Give the folder that `explorer.sweep(..., folder=...)` wrote to.",
            evidence={"folder": str(folder)},
        )
    pa = pyarrow()
    rows = pa.concat_tables([_read(part) for part in parts])
    place: dict[str, int] = {}
    for k, (key, error) in enumerate(
        zip(rows["key"].to_pylist(), rows["error"].to_pylist(), strict=True)
    ):
        if error is None or key not in place:
            place[key] = k
    return rows.take(pa.array(sorted(place.values()), pa.int64()))


def _read(path: Path, only: list[str] | None = None) -> Any:
    """The rows of a part, or some of their columns."""
    try:
        with file_errors(path), open(path, "rb") as file:
            rows = pyarrow("parquet").read_table(file, columns=only)
        return rows if only else rows.select(columns().names).cast(columns())
    except (pyarrow().ArrowException, ValueError, KeyError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise DamagedFile(
            f"{path} is not a part of a sweep: {reason}.",
            remedy="Delete it, and run the sweep again: its rows are made anew.",
            evidence={"path": str(path)},
        ) from error
