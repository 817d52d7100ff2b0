"""The registry of the kinds of sources.

A front end is a subclass of `Source` with a decorator::

    @register("JSON Schema")
    @dataclass(frozen=True)
    class JsonSchema(Source): ...

From then on the editor offers it under that name, and traces, saved token DFAs and exports hold it
under its ``kind``. Explanations need nothing more: they read the tree that it lowers to. A kind
that a notebook registers is known only in that kernel: a process that compiles for the notebook is
sent the constraint, and a file with such a source can be read only where its kind is registered.

The kinds of the engine are listed here by their files, which are imported when somebody asks for a
kind that is not loaded: a process that only writes patterns never loads the reader of schemas.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Final, TypeVar, cast

from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError, DamagedFile

Kind = TypeVar("Kind", bound=type[Source])

_KINDS: Final[dict[str, type[Source]]] = {}
_READERS: Final[dict[str, Callable[[str], Source]]] = {}
_NAMES: Final[dict[type[Source], str]] = {}

_BUILT_IN: Final = {
    "regex.source": ("regex",),
    "sources.choice": ("choices",),
    "grammar.source": ("grammar", "grammar (Lark)"),
    "schema.source": ("JSON Schema",),
    "sources.aliases": ("choices with aliases",),
    "template.generated": ("template",),
    "types.source": ("Python type", "Python calls"),
    "phases.control": ("control token", "any tokens"),
    "phases.free": ("any text", "text until"),
    "phases.structural": ("structural tag",),
    **dict.fromkeys(
        ("sources.algebra", "sources.imported", "sources.detokenized", "grammar.bounded",
         "stages.staged", "phases.phase", "phases.markup", "tools.source",
         "engines.source"),
        (),
    ),
}  # fmt: skip
"""The files whose kinds every process knows, each with the names that the editor offers, in the
order in which it offers them; later registrations follow."""


@cache
def _load_built_in() -> None:
    for name in _BUILT_IN:
        import_module(f"explorer.languages.{name}")


def register(name: str) -> Callable[[Kind], Kind]:
    """Register a kind of source; a decorator for its class.

    Args:
        name: What the editor calls it. It is offered there if it can be written as text.

    Raises:
        ConstraintError: Another class is registered as this kind.
    """

    def known(made: Kind) -> Kind:
        kind = cast("type[Source]", made)
        if not kind.__module__.startswith("explorer.languages."):
            _load_built_in()  # So that their names are taken.
        other = _KINDS.get(kind.kind)
        if other is not None and other.__qualname__ != kind.__qualname__:
            raise ConstraintError(
                f"The kind {kind.kind!r} is registered already, as {other.__qualname__}.",
                remedy="Choose another name for the class attribute `kind`.",
            )
        _KINDS[kind.kind] = kind
        _NAMES[kind] = name
        if kind.plain_text:
            _READERS[name] = kind.read
        return made

    return known


def register_reader(name: str, read: Callable[[str], Source]) -> None:
    """Offer another notation for a source of a known kind.

    Args:
        read: Makes the source from the text in the editor, which shows its errors.
    """
    _READERS[name] = read


def forget(name: str) -> None:
    """Undo a registration: the kind is no longer offered, nor read from files.

    Args:
        name: As it was given to `register` or `register_reader`.
    """
    _READERS.pop(name, None)
    for kind in [kind for kind, known in _NAMES.items() if known == name]:
        del _NAMES[kind], _KINDS[kind.kind]


def kind_of(kind: str) -> type[Source]:
    """The class that is registered as a kind.

    Raises:
        DamagedFile: There is no such kind.
    """
    if kind not in _KINDS:
        _load_built_in()
    known = _KINDS.get(kind)
    if known is None:
        raise DamagedFile(
            f"A constraint of kind {kind!r} is not known.",
            remedy="Use the release that wrote it, register the kind first, or write the "
            "constraint again.",
        )
    return known


def name_of(source: Source) -> str:
    """The editor's name for the kind of a source."""
    return _NAMES.get(type(source), source.kind)


def offered() -> tuple[str, ...]:
    """The names under which the editor offers sources: the engine's, then later registrations."""
    _load_built_in()
    ours = [name for names in _BUILT_IN.values() for name in names if name in _READERS]
    return (*ours, *(name for name in _READERS if name not in ours))


def read(name: str, text: str) -> Source:
    """The source that is written as a text of some kind.

    Args:
        name: A name from `offered`.

    Raises:
        ConstraintError: Nothing can be written under that name.
        ExplorerError: The kind refuses the text.

    Example:
        >>> str(read("choices", "yes\\nno"))
        "choice(['yes', 'no'])"
    """
    reader = reader_of(name)
    if reader is None:
        made = name in _NAMES.values()
        why = "is made in Python, not written as text" if made else "is not a kind of constraint"
        raise ConstraintError(f"{name!r} {why}.", remedy=f"Choose one of {', '.join(offered())}.")
    return reader(text)


def reader_of(name: str) -> Callable[[str], Source] | None:
    """The function that reads the texts of a name, if there is one."""
    if name not in _READERS:
        _load_built_in()
    return _READERS.get(name)
