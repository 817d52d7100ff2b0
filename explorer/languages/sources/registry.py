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
from importlib import import_module
from typing import Final, TypeVar, cast

from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError, DamagedFile

Kind = TypeVar("Kind", bound=type[Source])

_KINDS: Final[dict[str, type[Source]]] = {}
_READERS: Final[dict[str, Callable[[str], Source]]] = {}
_NAMES: Final[dict[type[Source], str]] = {}

_BUILT_IN: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "regex.source": (("regex",), ("regex",)),
    "sources.choice": (("choice",), ("choices",)),
    "grammar.source": (("grammar", "lark-grammar"), ("grammar", "grammar (Lark)")),
    "schema.source": (("json_schema",), ("JSON Schema",)),
    "sources.aliases": (("aliases",), ("choices with aliases",)),
    "template.source": (("template",), ("template",)),
    "phases.control": (("token", "any_tokens", "other_token"), ("control token", "any tokens")),
    "phases.free": (("any_text", "text_until"), ("any text", "text until")),
    "phases.structural": (("structural_tag",), ("structural tag",)),
    "sources.algebra": (
        ("union", "concatenation", "intersection", "difference", "complement", "repetition",
         "healed"), (),
    ),
    "sources.imported": (("imported",), ()),
    "sources.detokenized": (("detokenized",), ()),
    "grammar.bounded": (("bounded-grammar",), ()),
    "stages.staged": (("staged",), ()),
    "schema.free": (("json",), ()),
    "template.until": (("until", "until match"), ()),
    "template.limited": (("limited",), ()),
    "template.many": (("many",), ()),
    "types.source": (("type", "calls"), ()),
    "phases.phase": (("phase",), ()),
    "phases.markup": (("xml_arguments",), ()),
    "tools.source": (("tools",), ()),
    "engines.patterns": (("engine_regex",), ()),
    "engines.source": (("engine_schema",), ()),
}  # fmt: skip
"""The files whose kinds every process knows: the kinds of each, and the names that the editor
offers, in the order in which it offers them; later registrations follow."""

FILE_OF_KIND: Final = {kind: file for file, (kinds, _) in _BUILT_IN.items() for kind in kinds}
"""The file of each kind of the engine."""

_FILE_OF_NAME: Final = {name: file for file, (_, names) in _BUILT_IN.items() for name in names}
_FILE_OF_NAME["template"] = "template.generated"  # A template is read with all its functions.
_LATER: Final[set[str]] = set()
"""The names that were registered outside of the engine."""


def _load(file: str | None) -> None:
    """Import a file of kinds, if there is one."""
    if file is not None:
        import_module(f"explorer.languages.{file}")


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
            _load(FILE_OF_KIND.get(kind.kind))  # So that its name is taken.
            _LATER.add(name)
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
    _LATER.add(name)


def forget(name: str) -> None:
    """Undo a registration: the kind is no longer offered, nor read from files.

    Args:
        name: As it was given to `register` or `register_reader`.
    """
    _READERS.pop(name, None)
    _LATER.discard(name)
    for kind in [kind for kind, known in _NAMES.items() if known == name]:
        del _NAMES[kind], _KINDS[kind.kind]


def kind_of(kind: str) -> type[Source]:
    """The class that is registered as a kind.

    Raises:
        DamagedFile: There is no such kind.
    """
    if kind not in _KINDS:
        _load(FILE_OF_KIND.get(kind))
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
    return (*_FILE_OF_NAME, *(name for name in _READERS if name not in _FILE_OF_NAME))


def is_built_in(name: str) -> bool:
    """Whether the engine itself reads the texts of a name, so that other processes do too."""
    return name in _FILE_OF_NAME and name not in _LATER


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
        for file in _BUILT_IN:
            _load(file)
        made = name in _NAMES.values()
        why = "is made in Python, not written as text" if made else "is not a kind of constraint"
        raise ConstraintError(f"{name!r} {why}.", remedy=f"Choose one of {', '.join(offered())}.")
    return reader(text)


def reader_of(name: str) -> Callable[[str], Source] | None:
    """The function that reads the texts of a name, if there is one."""
    if name not in _LATER:
        _load(_FILE_OF_NAME.get(name))
    return _READERS.get(name)
