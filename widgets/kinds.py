"""The presets of the constraint editor, and its names for kinds of constraints.

The kinds themselves are registered in the engine (`explorer.languages.sources.registry`): a source
that registers itself is offered here without further code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

from explorer.arguments import instance, wrong
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.sources import registry

_BUILT_IN: Final = {name: registry.reader_of(name) for name in registry.offered()}


def register_kind(name: str, constraint_of_kind: Callable[[str], Constraint]) -> None:
    """Offer another way to write a constraint in the editor.

    For a kind with a text of its own, which is explained and saved as what it is, register a
    `explorer.automata.tree.nodes.Source` instead.

    Args:
        name: The name in the editor.
        constraint_of_kind: From the text that the user writes to a constraint; its errors are shown
            there.

    Raises:
        ConstraintError: The name is not a str, or the other is not a function.
    """
    instance("name", name, str, "the name of a kind", error=ConstraintError)
    if not callable(constraint_of_kind):
        raise wrong(
            "constraint_of_kind", constraint_of_kind, "a function", error=ConstraintError,
            remedy="Give a function from the text to a constraint.",
        )  # fmt: skip
    registry.register_reader(name, lambda text: constraint_of_kind(text).source)


def kinds(current: str | None = None) -> tuple[str, ...]:
    """The names of all kinds that can be written.

    Args:
        current: The kind of the constraint at hand, which is named even if it cannot be written.
    """
    names = registry.offered()
    return names if current is None or current in names else (*names, current)


def constraint_of_kind(kind: str, text: str) -> Constraint:
    """The constraint that a text of some kind means.

    Args:
        kind: A name from `kinds`.
        text: As it was written.

    Raises:
        ConstraintError: There is no such kind, or it has no text form.
        ExplorerError: The kind refuses the text.

    Example:
        >>> constraint_of_kind("choices", "yes\\nno").accepts("no")
        True
    """
    return Constraint(registry.read(kind, text))


def is_built_in(kind: str) -> bool:
    """Whether a kind is ours, so that another process knows it too.

    Args:
        kind: A name.

    Example:
        >>> is_built_in("regex"), is_built_in("sonnet")
        (True, False)
    """
    return kind in _BUILT_IN and registry.reader_of(kind) == _BUILT_IN[kind]


@dataclass(frozen=True, slots=True)
class Preset:
    """A constraint to start from.

    Args:
        name: In the list.
        kind: A name from `kinds`.
        text: The constraint.
        prompt: A prompt after which the embedded model writes such a text by itself.
        model: The model that it is asked of; empty for the one at hand.
        stages: The names of stages around it; see `widgets.examples.STAGES`.
        heal: Whether the prompt is a part of the constraint; see `explorer.Session`.
    """

    name: str
    kind: str
    text: str
    prompt: str = ""
    model: str = ""
    stages: tuple[str, ...] = ()
    heal: bool = False

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return asdict(self)


TOY: Final = "toy (paper's vocabulary)"

_TEXT: Final = r' ?"([^"\\\x00-\x1f]|\\["\\/bfnrt])*"'

# Digits are written [0-9]: \d is every digit of Unicode, 660 characters.
PRESETS: Final = (
    Preset(TOY, "regex", "(foo)+d"),
    Preset("choices", "choices", "Yes\nNo\nMaybe", "Is it raining?\n"),
    Preset(
        "ISO date-time",
        "regex",
        r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
        r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z",
        "The meeting starts at ",
    ),
    Preset(
        "IPv4",
        "regex",
        r"((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}"
        r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])",
        "The host is ",
    ),
    Preset("quoted text", "regex", _TEXT, '{"title":'),
    Preset(
        "API call",
        "regex",
        r"(get_weather|get_time)\(city=\"[A-Z][a-z]+\"(, days=[1-9])?\)",
        "What is the weather in Paris on Monday?\n",
    ),
    Preset(
        "JSON record",
        "regex",
        r'\{"name": "[A-Za-z ]{1,20}", "age": [1-9]?[0-9], "member": (true|false)\}',
        "Write a JSON record of a person on one line.\n",
    ),
)
