"""`explorer.report`: the page is drawn by the views, which the engine finds by their name only."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from explorer.arguments import file_path, instance, real_number, whole_number, whole_text, wrong
from explorer.decoding.models.arguments import checked_model
from explorer.decoding.models.model import LanguageModel
from explorer.errors import ExplorerError, MissingDependency
from explorer.files import file_errors, write_whole
from explorer.sweeps.arrow import columns, pyarrow
from explorer.sweeps.attribution import SECONDS
from explorer.sweeps.folder import read_rows
from explorer.sweeps.summary import WORST
from explorer.sweeps.sweep import Sweep

_DRAWN_BY: Final = "widgets.report.report_page"
_MOST_RUNS: Final = 100


def report(
    table: Sweep | str | Path | Any,
    path: str | Path = "report.html",
    *,
    title: str = "Sweep",
    worst: int = WORST,
    seconds: float = SECONDS,
    models: Mapping[str, LanguageModel] | None = None,
) -> Path:
    """Write one HTML file about a sweep, which needs no network and no kernel.

    It shows conformance, what each part of each constraint costs the model, traps by kind,
    failures, and the worst runs, each of which opens as a page that replays it.

    Args:
        table: What `sweep` returned, its folder, or its pyarrow table.
        path: The file; replaced if it is there.
        title: The heading.
        worst: How many of the worst runs are opened: those whose mask took most from the model.
        seconds: How long to look up in which part of its constraint each text was.
        models: Models by their names in the table, for a sweep that was not given names.

    Returns:
        The path.

    Raises:
        ExplorerError: The table is something else, or lacks columns of a sweep.
        MissingDependency: plotly or pyarrow is not installed.
        FileError: There is no such folder, or it is not writable.

    Example:
        >>> import tempfile
        >>> from explorer import choice, sweep
        >>> done = sweep("The capital of France is", choice([" Paris", " Rome"]), "tiny")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report(done, f"{folder}/cities.html", worst=0).name
        'cities.html'
    """
    rows = _rows_of(table)
    target = file_path("path", path)
    with file_errors(target, writing=True):
        target.parent.stat()  # The page takes a while: what cannot work is said first.
    given: Mapping[object, object] = {}
    if models is not None:
        what = "a mapping of names to models"
        given = cast("Mapping[object, object]", instance("models", models, Mapping, what))
    named = {whole_text("a name in models", name): checked_model(given[name]) for name in given}
    options = {
        "title": whole_text("title", title),
        "worst": whole_number("worst", worst, 0, _MOST_RUNS),
        "seconds": real_number("seconds", seconds, "a number of seconds"),
        "models": named,
    }
    try:
        module: Any = import_module(_DRAWN_BY)
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"The report needs the library {error.name!r}, which is not installed.",
            remedy="Install the extra `lab`: pip install 'constraint-explorer[lab]'.",
            evidence={"library": error.name},
        ) from error
    html: str = module.report_page(rows, **options)
    write_whole(target, html.encode("utf-8", "replace"))
    return target


def _rows_of(table: object) -> Any:
    if isinstance(table, Sweep):
        return table.table
    if isinstance(table, str | Path):
        return read_rows(file_path("table", table))
    if not isinstance(table, pyarrow().Table):
        raise wrong("table", table, "a sweep, its folder or its table")
    rows: Any = table
    lacking = [name for name in columns().names if name not in rows.column_names]
    if lacking:
        raise ExplorerError(
            f"The table has no column {lacking[0]!r}, so it is not the table of a sweep.",
            remedy="Give what `explorer.sweep` returned, or its folder.",
            evidence={"lacking": tuple(lacking)},
        )
    return rows
