"""``explorer doctor``: the parts of the toolkit that work here, and remedies for the others.

Each check gives a finding, with a remedy if something is wrong. Small libraries are imported; those
that take seconds (torch, transformers, JupyterLab) are only looked for, so the command takes about
one second. Nothing is downloaded. The required versions are those in the installed package's own
metadata.

Beyond imports it checks two things that fail silently in a notebook: a kernel of another Python,
and widgets whose page side JupyterLab does not find.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final, Literal, cast

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from explorer.automata.interchange.libraries import REMEDIES
from explorer.cli.command import Commands, add_command, add_json

Level = Literal["ok", "note", "missing"]

_LIBRARIES: Final = (
    # import name, distribution, what needs it, extra, whether the engine itself needs it
    ("numpy", "numpy", "everything", "", True),
    ("numba", "numba", "fast compiling", "", True),
    ("pynini", "pynini", "machines of OpenFST", "interchange", False),
    ("tokenizers", "tokenizers", "reading tokenizers", "", True),
    ("interegular", "interegular", "machines of interegular", "interchange", False),
    ("torch", "torch", "models and stepping", "models", False),
    ("transformers", "transformers", "models", "models", False),
    ("safetensors", "safetensors", "models", "models", False),
    ("anywidget", "anywidget", "the explorer in notebooks", "lab", False),
    ("ipywidgets", "ipywidgets", "the explorer in notebooks", "lab", False),
    ("jupyterlab", "jupyterlab", "explorer lab", "lab", False),
    ("plotly", "plotly", "figures of a finished run", "lab", False),
)

_SLOW: Final = frozenset({"torch", "transformers", "jupyterlab"})
"""Libraries that are looked for and not imported."""

_PACKAGE: Final = "constraint-explorer"
_PAGE_SIDES: Final = ("anywidget", "@jupyter-widgets/jupyterlab-manager")
"""The JupyterLab extensions that draw our widgets, by folder."""

_GRAPH: Final = "digraph { a -> b [label=x] }"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Args:
        level: ``ok``, ``note`` (works, with a remark) or ``missing``.
        remedy: What to do; empty if nothing is wrong.
    """

    name: str
    level: Level
    found: str
    remedy: str = ""


def add_parser(commands: Commands) -> None:
    """Add the command and its options."""
    command = add_command(
        commands,
        "doctor",
        run,
        "check this installation",
        "Check libraries, Graphviz, the embedded model and the GPU.",
    )
    command.add_argument(
        "--model", help="also say how the steps of this model are taken: its folder or name"
    )
    add_json(command)


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Returns:
        0, or 1 if something that the engine needs is missing.
    """
    parts = findings()
    if arguments.model is not None:
        parts.append(_checked("steps", lambda: steps(arguments.model)))
    if arguments.json:
        print(json.dumps([asdict(finding) for finding in parts], ensure_ascii=False))
    else:
        for finding in parts:
            sign = {"ok": "ok  ", "note": "note", "missing": "MISS"}[finding.level]
            print(f"{sign}  {finding.name:<14} {finding.found}")
            if finding.remedy:
                print(f"      {'':<14} → {finding.remedy}")
    needed = {name for name, _, _, _, engine in _LIBRARIES if engine}
    return int(any(f.level == "missing" and f.name in needed for f in parts))


def findings() -> list[Finding]:
    """The results of all checks, in reading order."""
    parts = [_python()]
    parts += [_library(*entry) for entry in _LIBRARIES]
    checks: tuple[tuple[str, Callable[[], Finding]], ...] = (
        ("widgets", _page_sides),
        ("kernel", _kernel),
        ("notebooks", _notebooks),
        ("Graphviz", _graphviz),
        ("embedded model", _model),
        ("GPU", _gpu),
    )
    return parts + [_checked(name, check) for name, check in checks]


def _checked(name: str, check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except Exception as error:  # A failing check is a finding too.
        return Finding(name, "missing", f"{type(error).__name__}: {error}", "See the lines above.")


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", "ok", version)


def _library(module: str, distribution: str, use: str, extra: str, engine: bool) -> Finding:
    package = _PACKAGE + (f"[{extra}]" if extra else "")
    level: Level = "missing" if engine else "note"
    try:
        if module not in _SLOW:
            importlib.import_module(module)
        elif importlib.util.find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}")
    except ImportError as error:
        remedy = f"pip install '{package}'"
        remedy = REMEDIES.get(module, remedy)
        return Finding(module, level, f"{error}; needed for {use}", remedy)
    try:
        version = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return Finding(module, "ok", "version not known")
    wanted = _wanted(distribution)
    if not wanted.contains(version, prereleases=True):
        state = f"{version}, but {use} needs {wanted}"
        return Finding(module, level, state, f"pip install --upgrade '{package}'")
    return Finding(module, "ok", version)


def _wanted(distribution: str) -> SpecifierSet:
    """The versions that our own metadata allows; any if it names none."""
    try:
        wanted = importlib.metadata.requires(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return SpecifierSet()
    for requirement in map(Requirement, wanted):
        if canonicalize_name(requirement.name) == canonicalize_name(distribution):
            return requirement.specifier
    return SpecifierSet()


def _page_sides() -> Finding:
    """Whether JupyterLab finds the page side of the widgets; without it a cell shows only text."""
    paths = cast("Any", importlib.import_module("jupyter_core.paths"))
    folders = [Path(folder) for folder in paths.jupyter_path("labextensions")]
    lost = [
        name
        for name in _PAGE_SIDES
        if not any((f / name / "package.json").exists() for f in folders)
    ]
    if not lost:
        return Finding("widgets", "ok", "JupyterLab finds what draws them")
    return Finding(
        "widgets",
        "note",
        f"JupyterLab does not find {' and '.join(lost)}",
        f"Start JupyterLab with {sys.executable}, or install anywidget where JupyterLab runs.",
    )


def _kernel() -> Finding:
    """Whether a notebook's default kernel is this Python."""
    specs = cast("Any", importlib.import_module("jupyter_client.kernelspec"))
    try:
        words: list[str] = list(specs.KernelSpecManager().get_kernel_spec("python3").argv)
    except specs.NoSuchKernel:
        words = []
    plain = (
        "python",
        f"python{sys.version_info[0]}",
        f"python{sys.version_info[0]}.{sys.version_info[1]}",
    )
    if words and words[0] in plain:
        # Jupyter replaces these names by its own Python, whatever the search path says.
        words[0] = sys.executable
    program = shutil.which(words[0]) if words else None
    # Unresolved paths: two environments may link to the same program and still differ.
    if program is not None and Path(program).parent == Path(sys.executable).parent:
        return Finding("kernel", "ok", "notebooks run in this Python")
    return Finding(
        "kernel",
        "note",
        f"notebooks run {program}" if words else "there is no kernel named python3",
        f"{sys.executable} -m ipykernel install --sys-prefix",
    )


def _notebooks() -> Finding:
    from explorer.cli.lab import notebooks

    return Finding("notebooks", "ok", f"{len(notebooks())}; `explorer lab` opens them")


def _graphviz() -> Finding:
    """Whether one of the two graph layout programs works, tested by a layout."""
    dot = shutil.which("dot")
    broken = ""
    if dot is not None:
        broken = _fails([dot, "-Tplain"])
        if not broken:
            return Finding("Graphviz", "ok", f"dot at {dot}")
    if importlib.util.find_spec("pygraphviz") is not None:
        code = "import sys, pygraphviz; pygraphviz.AGraph(sys.stdin.read()).layout('dot')"
        wheel = _fails([sys.executable, "-c", code])
        if not wheel:
            state = f"dot at {dot} fails" if broken else "no dot"
            return Finding("Graphviz", "ok", f"{state}; the pygraphviz wheel brings its own")
        broken = broken or wheel
    return Finding(
        "Graphviz",
        "note",
        (broken or "neither dot nor pygraphviz") + ": graphs are laid out more plainly",
        "pip install pygraphviz, or install Graphviz",
    )


def _fails(command: list[str]) -> str:
    """The reason why a command cannot lay out a graph; empty if it can."""
    try:
        done = subprocess.run(
            command, input=_GRAPH, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]}: {error}"
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"{command[0]} ended with {done.returncode}"])[-1]


def _model() -> Finding:
    from explorer.vocabulary import Vocabulary

    folder = files("explorer.decoding.models") / "tiny"
    with as_file(folder / "tokenizer.json") as path:
        vocabulary = Vocabulary.from_file(path)
    if not (folder / "model.safetensors").is_file():
        return Finding("embedded model", "missing", "no weights", f"pip install '{_PACKAGE}'")
    return Finding("embedded model", "ok", f"tiny, {len(vocabulary):,} tokens")


def steps(name: str, device: str = "auto") -> Finding:
    """A finding about a model's steps here: in a graph or one by one, and masked by what."""
    from explorer.decoding.models.load import load_model

    model = load_model(name, device=device)
    where, refusal = model.model.device, model.static.refusal
    if model.device.type == "cpu":
        masks = "masks and draws by compiled loops on the CPU"
    elif model.device.type == "cuda" and importlib.util.find_spec("triton") is not None:
        masks = "masks by Triton's kernels, draws by torch's"
    else:
        masks = "masks and draws by plain torch"
    how = f"not replayed from a graph: {refusal}" if refusal else "replayed from a CUDA graph"
    level: Level = "note" if refusal and where.type == "cuda" else "ok"
    return Finding("steps", level, f"of {model.name} on {where}: {how}; {masks}")


def _gpu() -> Finding:
    built = _cuda_of_torch()
    if built is None:
        return Finding("GPU", "ok", "none; everything runs on the CPU")
    import torch

    if torch.cuda.is_available():
        name = torch.cuda.get_device_name(0)
        try:
            torch.ones(1, device="cuda").add_(1).item()
        except RuntimeError as error:
            return Finding(
                "GPU",
                "note",
                f"{name} is there and cannot be used: {str(error).splitlines()[0]}",
                "Install a torch built for this GPU, or pass device='cpu'.",
            )
        return Finding("GPU", "ok", f"{name}, CUDA {built}")
    if shutil.which("nvidia-smi") is not None:
        return Finding(
            "GPU",
            "note",
            f"torch was built for CUDA {built} and finds no GPU; everything runs on the CPU",
            "If there is one, `nvidia-smi` says whether its driver works.",
        )
    return Finding("GPU", "ok", "none; everything runs on the CPU")


def _cuda_of_torch() -> str | None:
    """The version of CUDA for which torch was built, read without importing torch."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("No module named 'torch'")
    return cast("str | None", runpy.run_path(str(Path(spec.origin).parent / "version.py"))["cuda"])
