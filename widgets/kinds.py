"""The presets of the constraint editor, and its names for kinds of constraints.

The kinds themselves are registered in the engine (`explorer.languages.sources.registry`): a source
that registers itself is offered here without further code. The presets are in ``presets.toml``:
every kind has at least one, and after its prompt the embedded model is likely to write such a text.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import msgspec

from explorer.arguments import instance, wrong
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.sources import registry

if TYPE_CHECKING:
    from explorer.decoding.models.model import LanguageModel


def register_kind(name: str, constraint_of_kind: Callable[[str], Constraint]) -> None:
    """Offer another notation for constraints in the editor, in this kernel.

    The constraint is explained and saved as what the function returns. For a kind that keeps its
    own text there, register a `explorer.automata.tree.nodes.Source` instead.

    Args:
        name: The name in the editor.
        constraint_of_kind: Makes a constraint from the text that the user writes; the editor shows
            the errors that it raises.

    Raises:
        ConstraintError: The name is not a str, or the other argument is not a function.

    Example:
        >>> from explorer import literal
        >>> from explorer.languages.sources.registry import forget
        >>> register_kind("shouting", lambda text: literal(text.upper()))
        >>> constraint_of_kind("shouting", "stop").accepts("STOP")
        True
        >>> forget("shouting")
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
        current: The kind of the present constraint, which is named even if it cannot be written.
    """
    names = registry.offered()
    return names if current is None or current in names else (*names, current)


def constraint_of_kind(kind: str, text: str) -> Constraint:
    """The constraint that is written as a text of some kind.

    Args:
        kind: A name from `kinds`.

    Raises:
        ConstraintError: There is no such kind, or it has no text form.
        ExplorerError: The kind refuses the text.

    Example:
        >>> constraint_of_kind("choices", "yes\\nno").accepts("no")
        True
    """
    return Constraint(registry.read(kind, text))


@dataclass(frozen=True, slots=True)
class Preset:
    """A constraint to start from, as written in ``presets.toml``."""

    group: str
    name: str
    kind: str
    text: str
    prompt: str = ""
    model: str = ""
    title: str = ""
    picture: str = ""


def _offered() -> tuple[Preset, ...]:
    text = (files("widgets") / "presets.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text)["preset"], tuple[Preset, ...])


OFFERED: Final = _offered()
"""All presets; the editor shows those with a picture."""

PICTURED: Final[list[dict[str, str]]] = [
    msgspec.to_builtins(preset) for preset in OFFERED if preset.picture
]
"""The presets that the editor shows, as plain values."""

EXAMPLES: Final = {preset.kind: preset.text for preset in reversed(OFFERED)}
"""A text to begin with, by kind."""

TOY: Final = OFFERED[0].name


def preset_model(preset: Preset) -> LanguageModel:
    """The model that a preset brings; the first embedded one if it brings none."""
    # Imported here, because a process that only compiles must not load torch.
    from explorer.decoding.models.load import load_model

    return load_model(preset.model or "tiny")


def preset_of(name: str) -> Preset | None:
    """The preset of a name.

    Example:
        >>> preset_of("IPv4").prompt, preset_of("sonnet")
        ('The host is ', None)
    """
    return next((preset for preset in OFFERED if preset.name == name), None)
