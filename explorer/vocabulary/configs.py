"""Reads the configuration files beside a tokenizer, which name the ids that end a text.

A tokenizer's own file seldom says what ends a text. The files that accompany it do:

``generation_config.json``   ``eos_token_id``: the ids at which generation stops
``config.json``              the same, of older models; only where nothing else says
``tokenizer_config.json``    ``eos_token`` by name; ``added_tokens_decoder`` with its flags; and
                             ``tokenizer_class``, which reads the formats that say less
``special_tokens_map.json``  ``eos_token`` by name, and the names of other special tokens
``added_tokens.json``        further tokens and their ids, as older versions of transformers wrote
                             them; a token is special where one of the files above names it. Not
                             read where tokenizer_config.json has added_tokens_decoder
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

import msgspec

from explorer.errors import DamagedFile

MAX_FILE_BYTES: Final = 1 << 28
"""The largest file that is read, because parsing takes thirty times its size in memory; the largest
tokenizers in use have 40 MB."""

CONTROL_NAME: Final = re.compile(r"<[^<>\s]*>|<\|.*\|>|<｜.*｜>|\[[^\[\]\s]+\]|__\w+__|>>\w+<<")
"""The spelling of control tokens, used only if no file says which tokens are special."""

TIMESTAMPS_NOTE: Final = (
    "Timestamps such as '<|0.72|>' are not text: Whisper's tokenizer drops them when it decodes, "
    "also where other tokens spell them."
)

_TIMESTAMP: Final = re.compile(r"<\|\d+\.\d+\|>")

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
    """The facts from the configuration files beside a tokenizer.

    Attributes:
        eos_ids: Ends of text by id.
        eos_names: Ends of text by name.
        fallback_ids: Ends of text by id that count only if no other is found.
        special_names: Names of all special tokens.
        added: Added tokens by id: their content, and whether they are special.
        settings: The whole ``tokenizer_config.json``.
        tokenizer_class: The class of transformers that reads the folder, without "Fast"; "" if no
            file names one.
        model_type: The type of the model, by ``config.json``.
        notes: Inferences that no file states, one sentence each.
    """

    eos_ids: frozenset[int] = frozenset()
    eos_names: frozenset[str] = frozenset()
    fallback_ids: frozenset[int] = frozenset()
    special_names: frozenset[str] = frozenset()
    added: Mapping[int, tuple[str, bool]] = field(default_factory=dict[int, tuple[str, bool]])
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    tokenizer_class: str = ""
    model_type: str = ""
    notes: tuple[str, ...] = ()


def read_beside(folder: Path) -> Beside:
    """Read the configuration files of a folder; a file that is missing is skipped.

    Raises:
        DamagedFile: A file is not JSON, or one of these fields has the wrong type.
    """
    settings = _object(folder / "tokenizer_config.json")
    names = _object(folder / "special_tokens_map.json")
    generation = _object(folder / "generation_config.json")
    config = _object(folder / "config.json")
    eos_ids = _ids(generation, folder / "generation_config.json")
    decoder = _added(settings, folder / "tokenizer_config.json")
    if decoder is not None:
        # As in transformers: if the configuration lists its added tokens, the older files are
        # ignored. An end of text that only they name is still better than none.
        names = {"eos_token": names.get("eos_token")} if not settings.get("eos_token") else {}
    ends = [token_name(source.get("eos_token")) for source in (settings, names)]
    special = {token_name(source.get(key)) for source in (settings, names) for key in _NAMED}
    for source in (settings, names):
        for key in ("additional_special_tokens", "extra_special_tokens"):
            extra: object = source.get(key)
            if isinstance(extra, Mapping):
                extra = list(cast(Mapping[str, object], extra).values())
            if isinstance(extra, list):
                special |= {token_name(entry) for entry in cast(list[object], extra)}
    model_type = config.get("model_type")
    special_names = frozenset(name for name in special if name)
    notes: list[str] = []
    added = decoder
    if added is None:
        added = _added_file(folder / "added_tokens.json", special_names)
        if added and not special_names and not settings:
            added = {
                token: (text, special or bool(CONTROL_NAME.fullmatch(text)))
                for token, (text, special) in added.items()
            }
            controls = sum(special for _, special in added.values())
            if controls:
                notes.append(
                    f"{controls} tokens of added_tokens.json are spelled like control tokens and "
                    f"are not text; no file beside it says which tokens are special."
                )
    stamps = timestamps(text for text, _ in added.values())
    if stamps:
        added = {t: (text, special or text in stamps) for t, (text, special) in added.items()}
        notes.append(TIMESTAMPS_NOTE)
    return Beside(
        eos_ids=eos_ids,
        eos_names=frozenset(name for name in ends if name),
        fallback_ids=frozenset() if eos_ids else _ids(config, folder / "config.json"),
        special_names=special_names,
        added=added,
        settings=settings,
        notes=tuple(notes),
        tokenizer_class=_tokenizer_class((settings, config)),
        model_type=model_type if isinstance(model_type, str) else "",
    )


def timestamps(names: Iterable[str]) -> frozenset[str]:
    """The names of Whisper's timestamps among the tokens of its tokenizer; empty for any other."""
    listed = list(names)
    if "<|notimestamps|>" not in listed:
        return frozenset()
    return frozenset(name for name in listed if _TIMESTAMP.fullmatch(name))


def _tokenizer_class(sources: Iterable[Mapping[str, object]]) -> str:
    # These two are generic classes, which load any tokenizer.json.
    general = ("PreTrainedTokenizer", "TokenizersBackend")
    for source in sources:
        name = source.get("tokenizer_class")
        if isinstance(name, str) and name.removesuffix("Fast") not in (*general, ""):
            return name.removesuffix("Fast")
    return ""


def json_of_file(data: bytes, where: str) -> object:
    """Parse the JSON of a file, with errors that name the file.

    Raises:
        DamagedFile: It is not UTF-8, not JSON, or nested too deeply.
    """
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Faster by half. Input that it refuses (NaN, a byte order mark) goes to the other parser.
        return msgspec.json.decode(data)
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


_STAND_INS: Final = (
    (
        b"version https://git-lfs",
        "is a Git LFS pointer: it names a file that was not downloaded",
        "Fetch the file itself, with `git lfs pull` in the repository, or from the model's page.",
    ),
    (
        b"# xet version",
        "is a Xet pointer: it names a file that was not downloaded",
        "Fetch the file itself from the model's page, or with `huggingface-cli download`.",
    ),
    (
        b"<!doctype html",
        "is a web page, not a tokenizer",
        "Fetch the file itself: the link to it contains /resolve/ or /raw/, not /blob/.",
    ),
    (
        b"<html",
        "is a web page, not a tokenizer",
        "Fetch the file itself: the link to it contains /resolve/ or /raw/, not /blob/.",
    ),
    (b"\x1f\x8b", "is compressed with gzip", "Unpack it with gunzip and give the result."),
    (b"PK\x03\x04", "is a zip archive", "Unpack it and give the tokenizer's file inside."),
    (b"\xfd7zXZ\x00", "is compressed with xz", "Unpack it with unxz and give the result."),
    (b"(\xb5/\xfd", "is compressed with zstd", "Unpack it with unzstd and give the result."),
    *(
        (
            bytes((0x80, version)),
            "is a Python pickle, which could run code when it is read",
            "Give a tokenizer.json or another file of the tokenizer that holds data only.",
        )
        for version in range(2, 6)
    ),
    (
        b"GGUF",
        "is a GGUF file, which holds a whole model",
        "Give the tokenizer's own file: the model that it was converted from has tokenizer.json or "
        "tokenizer.model.",
    ),
)


def read_bytes(path: Path) -> bytes:
    """The content of a file.

    Raises:
        DamagedFile: It cannot be read, is too large, or is a substitute for the actual file: a Git
            LFS pointer, a web page, an archive.
    """
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise DamagedFile(
                f"{path.name} has {size:,} bytes; tokenizers with more than {MAX_FILE_BYTES:,} are "
                f"not read.",
                remedy="Check that it is the tokenizer's file and not the model's.",
                evidence={"bytes": size, "limit": MAX_FILE_BYTES},
            )
        data = path.read_bytes()
    except OSError as error:
        raise DamagedFile(
            f"{path} cannot be read: {error.strerror}.",
            remedy="Check the path and its permissions.",
            evidence={"path": str(path)},
        ) from error
    start = data[:64].lstrip().lower()
    for sign, what, remedy in _STAND_INS:
        if data.startswith(sign) or start.startswith(sign):
            raise DamagedFile(f"{path.name} {what}.", remedy=remedy, evidence={"path": str(path)})
    return data


def _object(path: Path) -> Mapping[str, object]:
    if not path.is_file():
        return {}
    parsed = json_of_file(read_bytes(path), path.name)
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
            remedy="Correct it, or remove it and pass eos_ids=[...].",
            evidence={"eos_token_id": tuple(listed)},
        )
    return frozenset(ids)


def token_name(declared: object) -> str | None:
    """The name of a token declared as a string or as an object with its content, if it is one."""
    if isinstance(declared, dict):
        declared = cast(dict[str, object], declared).get("content")
    return declared if isinstance(declared, str) and declared else None


def _added_file(path: Path, special_names: frozenset[str]) -> dict[int, tuple[str, bool]]:
    added: dict[int, tuple[str, bool]] = {}
    for content, token in _object(path).items():
        if not isinstance(token, int) or isinstance(token, bool) or token < 0 or not content:
            raise DamagedFile(
                f"{path.name} gives {content[:60]!r} the id {token!r}, which is not a whole number "
                f"from 0 on.",
                remedy="Correct the entry, or remove the file if the tokenizer needs none.",
                evidence={"content": content, "id": token},
            )
        if token in added:
            raise DamagedFile(
                f"{path.name} gives both {added[token][0]!r} and {content!r} the id {token}.",
                remedy="Correct the entries: every token has an id of its own.",
                evidence={"id": token, "contents": (added[token][0], content)},
            )
        added[token] = (content, content in special_names)
    return added


def _added(settings: Mapping[str, object], path: Path) -> dict[int, tuple[str, bool]] | None:
    declared = settings.get("added_tokens_decoder")
    if declared is None:
        return None
    if not isinstance(declared, dict):
        raise DamagedFile(
            f"{path.name}: added_tokens_decoder is not an object.",
            remedy="Remove the field, or fetch the file again.",
        )
    added: dict[int, tuple[str, bool]] = {}
    for key, entry in cast(dict[str, object], declared).items():
        name = token_name(entry)
        if not key.isascii() or not key.isdigit() or len(key) > 12 or name is None:
            raise DamagedFile(
                f"{path.name}: added_tokens_decoder[{key!r}] is not an id with its content.",
                remedy="Correct the entry, or fetch the file again.",
                evidence={"key": key},
            )
        special = isinstance(entry, dict) and bool(cast(dict[str, object], entry).get("special"))
        added[int(key)] = (name, special)
    return added
