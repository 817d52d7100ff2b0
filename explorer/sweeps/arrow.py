"""pyarrow where it is needed, and the columns of a sweep.

The engine does not need pyarrow: it is imported here, when a table is asked for, with an error that
names the extra. The library has no types of its own, so that it is `Any` for a checker.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from explorer.errors import MissingDependency


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
    """A library of the extra `sweeps`.

    Args:
        name: Of the module.
        wanted_by: What needs it, as the beginning of a sentence.

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
