"""A source as Python writes it: the text of a template, which `expression` reads back."""

from __future__ import annotations

from typing import Final, Protocol, runtime_checkable

from explorer.automata.tree.nodes import Source
from explorer.languages.regex.source import Regex
from explorer.languages.schema.reading.text import as_python
from explorer.languages.schema.source import JsonSchema
from explorer.languages.sources.algebra import Repetition, repeating_call
from explorer.languages.sources.aliases import Aliases
from explorer.languages.sources.choice import Choice

_OPERATORS: Final = {
    "union": " | ", "concatenation": " + ", "intersection": " & ", "difference": " - ",
}  # fmt: skip


@runtime_checkable
class Spelled(Protocol):
    """A source that says itself how Python writes it."""

    def spelled(self) -> str:
        """The expression."""
        ...


def spelled(source: Source) -> str:
    """The Python expression that makes a source, as far as there is one.

    Args:
        source: A source; of a machine from elsewhere the short form is given, which cannot be read.

    Example:
        >>> from explorer import choice, regex
        >>> spelled((regex("a+") | choice(["yes", "no"]).optional()).source)
        "(regex('a+') | choice(['yes', 'no']).optional())"
    """
    if isinstance(source, Spelled):
        return source.spelled()
    match source:
        case Regex():
            return f"regex({source.pattern!r})"
        case Choice(texts=(text,)):
            return f"literal({text!r})"
        case Choice():
            return f"choice({list(source.texts)!r})"
        case Aliases():
            entries = {name: t[0] if len(t) == 1 else list(t) for name, t in source.entries}
            return f"choice({entries!r})"
        case JsonSchema() if not source.remotes:
            changed = source.options.changed().items()
            options = "".join(f", {name}={value!r}" for name, value in changed)
            return f"json_schema({as_python(source.schema)}{options})"
        case _:
            pass
    parts = [spelled(child) for child in source.children]
    if source.kind in _OPERATORS:
        return f"({_OPERATORS[source.kind].join(parts)})"
    if source.kind == "complement":
        return f"~{parts[0]}"
    if isinstance(source, Repetition):
        return f"{parts[0]}.{repeating_call(source.minimum, source.maximum)}"
    return str(source)
