"""Constraints with prompts and models: those of the editor, and more well-known ones."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

import msgspec

from widgets.kinds import OFFERED, Preset

_MORE: Final = (Path(__file__).parent / "data" / "presets.toml").read_text(encoding="utf-8")
ALL: Final = (*OFFERED, *msgspec.convert(tomllib.loads(_MORE)["preset"], tuple[Preset, ...]))


def presets_of(group: str) -> tuple[Preset, ...]:
    """The constraints of a group: first, field, piece or tag."""
    return tuple(one for one in ALL if one.group == group)


def preset_named(name: str) -> Preset:
    """The constraint of a name."""
    return next(one for one in ALL if one.name == name)
