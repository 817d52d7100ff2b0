"""PyYAML as the oracle of plain scalars."""

from __future__ import annotations

import yaml


def is_plain_scalar(text: str) -> bool:
    """Whether a reader takes a whole text as one plain scalar, letter for letter."""
    try:
        events = list(yaml.parse(text, Loader=yaml.SafeLoader))
    except yaml.YAMLError:
        return False
    match events:
        case [_, yaml.DocumentStartEvent() as begin, yaml.ScalarEvent() as scalar, end, _]:
            marked = begin.explicit or end.explicit
            bare = scalar.style is None and scalar.anchor is None and scalar.tag is None
            return not marked and bare and scalar.value == text
        case _:
            return False
