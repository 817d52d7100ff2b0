"""The kinds of sources are found without loading others."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pkgutil import walk_packages

import explorer.languages
from explorer.automata.tree.nodes import Source
from explorer.languages.sources import registry


def kinds_below(kind: type[Source]) -> dict[str, str]:
    """Each kind of the engine that a class is the base of, with the file of its class."""
    found = {
        made.kind: made.__module__.removeprefix("explorer.languages.")
        for made in kind.__subclasses__()
        if "kind" in vars(made) and made.__module__.startswith("explorer.languages.")
    }
    for made in kind.__subclasses__():
        found |= kinds_below(made)
    return found


def test_every_kind_is_in_the_table_with_its_file() -> None:
    for module in walk_packages(explorer.languages.__path__, "explorer.languages."):
        import_module(module.name)
    unsaved = {"stage"}  # A part of a tree, never a constraint by itself.
    for kind, file in kinds_below(Source).items():
        if kind not in unsaved:
            assert registry.FILE_OF_KIND[kind] == file
            assert registry.kind_of(kind).__module__ == f"explorer.languages.{file}"
    for name in registry.offered():
        assert registry.reader_of(name) is not None


def loaded_by(code: str) -> set[str]:
    """The modules of the engine that some code loads in a process of its own."""
    tail = "\nimport sys; print(*[name for name in sys.modules if name.startswith('explorer.')])"
    run = subprocess.run(
        [sys.executable, "-c", code + tail], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_a_first_use_loads_what_it_needs() -> None:
    regex = loaded_by(
        "import explorer\n"
        "vocabulary = explorer.Vocabulary.from_bytes([b'f', b'oo'], eos_ids=[2])\n"
        "machine = explorer.compile(explorer.regex('foo'), vocabulary)\n"
        "machine.allowed(machine.start)"
    )
    for unused in (
        "languages.schema.source", "languages.terminals", "automata.tree.lookaround",
        "automata.discovered.paired", "tokens.closed_form.store", "tokens.saturation.ends",
    ):  # fmt: skip
        assert f"explorer.{unused}" not in regex, unused
    names = loaded_by(
        "from explorer.languages.sources import registry\n"
        "assert registry.read('choices', 'yes') and 'JSON Schema' in registry.offered()"
    )
    assert not {name for name in names if ".schema" in name or ".grammar" in name}
