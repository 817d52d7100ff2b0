"""``explorer doctor``: what of the toolkit works here, and what to do about what does not.

Each check is a finding with a remedy, or none. Checks import libraries one at a time in this
process, so the command takes as long as importing torch does; nothing is downloaded.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final, Literal

Level = Literal["ok", "note", "missing"]

_LIBRARIES: Final = (
    # import name, distribution, what needs it, extra, whether the engine itself needs it
    ("numpy", "numpy", "everything", "", True),
    ("numba", "numba", "fast compiling", "", True),
    ("pynini", "pynini", "character machines", "", True),
    ("tokenizers", "tokenizers", "reading tokenizers", "", True),
    ("interegular", "interegular", "machines from elsewhere", "", True),
    ("torch", "torch", "models and stepping", "models", False),
    ("transformers", "transformers", "models", "models", False),
    ("safetensors", "safetensors", "models", "models", False),
    ("anywidget", "anywidget", "the explorer in notebooks", "lab", False),
    ("ipywidgets", "ipywidgets", "the explorer in notebooks", "lab", False),
    ("jupyterlab", "jupyterlab", "explorer lab", "lab", False),
    ("plotly", "plotly", "figures of a finished run", "lab", False),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Args:
        name: What.
        level: ``ok``, ``note`` (works, and there is something to know) or ``missing``.
        found: What was found.
        remedy: What to do about it; empty where nothing is to be done.
    """

    name: str
    level: Level
    found: str
    remedy: str = ""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage] - argparse has no public name for it.
    """Add the command and its options.

    Args:
        subparsers: What `ArgumentParser.add_subparsers` gave.
    """
    command = subparsers.add_parser(
        "doctor",
        help="check this installation",
        description="Check libraries, Graphviz, the embedded model and the GPU.",
    )
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Args:
        arguments: The parsed options.

    Returns:
        0, or 1 if something that the engine needs is missing.
    """
    found = findings()
    if arguments.json:
        print(json.dumps([asdict(finding) for finding in found]))
    else:
        for finding in found:
            sign = {"ok": "ok  ", "note": "note", "missing": "MISS"}[finding.level]
            print(f"{sign}  {finding.name:<14} {finding.found}")
            if finding.remedy:
                print(f"      {'':<14} → {finding.remedy}")
    needed = {name for name, _, _, _, engine in _LIBRARIES if engine}
    return int(any(f.level == "missing" and f.name in needed for f in found))


def findings() -> list[Finding]:
    """Everything that was looked at, in reading order."""
    found = [_python()]
    found += [_library(*entry) for entry in _LIBRARIES]
    checks: tuple[tuple[str, Callable[[], Finding]], ...] = (
        ("Graphviz", _graphviz),
        ("embedded model", _model),
        ("GPU", _gpu),
    )
    for name, check in checks:
        try:
            found.append(check())
        except Exception as error:  # A check that fails is a finding too.
            found.append(
                Finding(name, "missing", f"{type(error).__name__}: {error}", "See the lines above.")
            )
    return found


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", "ok", version)


def _library(module: str, distribution: str, use: str, extra: str, engine: bool) -> Finding:
    try:
        importlib.import_module(module)
        return Finding(module, "ok", importlib.metadata.version(distribution))
    except importlib.metadata.PackageNotFoundError:
        return Finding(module, "ok", "version not known")
    except ImportError as error:
        package = "constraint-explorer" + (f"[{extra}]" if extra else "")
        level: Level = "missing" if engine else "note"
        return Finding(module, level, f"{error}; needed for {use}", f"pip install '{package}'")


def _graphviz() -> Finding:
    dot = shutil.which("dot")
    if dot is not None:
        return Finding("Graphviz", "ok", f"dot at {dot}")
    if importlib.util.find_spec("pygraphviz") is not None:
        return Finding("Graphviz", "ok", "no dot; the pygraphviz wheel brings its own")
    return Finding(
        "Graphviz",
        "note",
        "neither dot nor pygraphviz: graphs are laid out more plainly",
        "pip install pygraphviz, or install Graphviz",
    )


def _model() -> Finding:
    from explorer.decoding.load import load_model

    model = load_model("tiny", device="cpu")
    return Finding("embedded model", "ok", f"{model.name}, {len(model.vocabulary):,} tokens")


def _gpu() -> Finding:
    import torch

    if torch.cuda.is_available():
        return Finding("GPU", "ok", torch.cuda.get_device_name(0))
    return Finding("GPU", "ok", "none; everything runs on the CPU")
