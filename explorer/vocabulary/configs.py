"""The configuration files beside a tokenizer: they say which ids end a text.

A tokenizer's own file seldom says what ends a text. The files that travel with it do:

``generation_config.json``   ``eos_token_id``: the ids at which generation stops
``config.json``              the same, of older models; only where nothing else says
``tokenizer_config.json``    ``eos_token`` by name; ``added_tokens_decoder`` with its flags
``special_tokens_map.json``  ``eos_token`` by name, and the names of other special tokens
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from explorer.errors import DamagedFile

_NAMED: Final = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)


@dataclass(frozen=True)
class Beside:
    """What the files beside a tokenizer say.

    Attributes:
        eos_ids: Ends of text by id.
        eos_names: Ends of text by name.
        special_names: Names of all special tokens.
        added: Added tokens by id: their content, and whether they are special.
        settings: The whole ``tokenizer_config.json``.
    """

    eos_ids: frozenset[int] = frozenset()
    eos_names: frozenset[str] = frozenset()
    special_names: frozenset[str] = frozenset()
    added: Mapping[int, tuple[str, bool]] = field(default_factory=dict[int, tuple[str, bool]])
    settings: Mapping[str, object] = field(default_factory=dict[str, object])


def read_beside(folder: Path) -> Beside:
    """Read the configuration files of a folder; those that are missing say nothing.

    Raises:
        DamagedFile: A file is not JSON, or one of these fields has the wrong type.
    """
    settings = _object(folder / "tokenizer_config.json")
    names = _object(folder / "special_tokens_map.json")
    generation = _object(folder / "generation_config.json")
    eos_ids = _ids(generation, folder / "generation_config.json")
    eos_names = {name for source in (settings, names) if (name := _name(source.get("eos_token")))}
    if not eos_ids and not eos_names:
        eos_ids = _ids(_object(folder / "config.json"), folder / "config.json")
    special = {_name(source.get(key)) for source in (settings, names) for key in _NAMED}
    for source in (settings, names):
        extra = source.get("additional_special_tokens")
        if isinstance(extra, list):
            special |= {_name(entry) for entry in cast(list[object], extra)}
    return Beside(
        eos_ids=eos_ids,
        eos_names=frozenset(eos_names),
        special_names=frozenset(name for name in special if name),
        added=_added(settings, folder / "tokenizer_config.json"),
        settings=settings,
    )


def parse_json(data: bytes, where: str) -> object:
    """Parse JSON, with its errors as ours.

    Args:
        data: The whole file.
        where: Its name, for messages.

    Raises:
        DamagedFile: It is not UTF-8, not JSON, or nested too deeply.
    """
    try:
        parsed: object = json.loads(data)
    except UnicodeDecodeError as error:
        raise DamagedFile(
            f"{where} is not UTF-8: byte {error.start} is {data[error.start]:#04x}.",
            remedy="Fetch the file again.",
            evidence={"offset": error.start},
        ) from error
    except json.JSONDecodeError as error:
        raise DamagedFile(
            f"{where} is not JSON: {error.msg}, line {error.lineno}, column {error.colno}.",
            remedy="Fetch the file again: it may have broken off.",
            evidence={"offset": error.pos, "line": error.lineno, "column": error.colno},
        ) from error
    except (RecursionError, ValueError) as error:
        raise DamagedFile(
            f"{where} is JSON that cannot be read: {error}.", remedy="Fetch the file again."
        ) from error
    return parsed


def read_bytes(path: Path) -> bytes:
    """The content of a file.

    Raises:
        DamagedFile: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedFile(
            f"{path} cannot be read: {error.strerror}.",
            remedy="Check the path and its permissions.",
            evidence={"path": str(path)},
        ) from error


def _object(path: Path) -> Mapping[str, object]:
    if not path.is_file():
        return {}
    parsed = parse_json(read_bytes(path), path.name)
    if not isinstance(parsed, dict):
        raise DamagedFile(
            f"{path.name} holds no JSON object.", remedy="Remove the file or fetch it again."
        )
    return cast(dict[str, object], parsed)


def _ids(source: Mapping[str, object], path: Path) -> frozenset[int]:
    declared = source.get("eos_token_id")
    if declared is None:
        return frozenset()
    listed: list[object] = [declared]
    if isinstance(declared, list):
        listed = cast(list[object], declared)
    ids = [token for token in listed if isinstance(token, int) and not isinstance(token, bool)]
    if len(ids) != len(listed) or any(token < 0 for token in ids):
        raise DamagedFile(
            f"{path.name}: eos_token_id is {declared!r}, not an id or a list of ids.",
            remedy="Correct it, or pass eos_ids=[...].",
            evidence={"eos_token_id": tuple(listed)},
        )
    return frozenset(ids)


def _name(declared: object) -> str | None:
    """A token's name, written as itself or as an object with its content."""
    if isinstance(declared, dict):
        declared = cast(dict[str, object], declared).get("content")
    return declared if isinstance(declared, str) and declared else None


def _added(settings: Mapping[str, object], path: Path) -> dict[int, tuple[str, bool]]:
    declared = settings.get("added_tokens_decoder")
    if declared is None:
        return {}
    if not isinstance(declared, dict):
        raise DamagedFile(f"{path.name}: added_tokens_decoder is no object.")
    added: dict[int, tuple[str, bool]] = {}
    for key, entry in cast(dict[str, object], declared).items():
        name = _name(entry)
        if not key.isascii() or not key.isdigit() or len(key) > 12 or name is None:
            raise DamagedFile(
                f"{path.name}: added_tokens_decoder[{key!r}] is not an id with its content.",
                evidence={"key": key},
            )
        added[int(key)] = (name, bool(cast(dict[str, object], entry).get("special")))
    return added
