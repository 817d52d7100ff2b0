"""A token DFA as one file: a zip of plain numpy arrays and a JSON header.

The file is data only; nothing in it is executed. It names the fingerprint of the vocabulary it was
compiled for, because token ids mean nothing without it. The constraint is stored twice: as its
source, so that it can be explained, and as its byte machine, so that loading compiles nothing.

A file may be damaged or forged, so these are checked in order: the sizes that its parts claim,
before any memory is allocated; the checksum over all parts, which detects every accident; then
types, shapes and ranges, and the consistency of the parts with each other and the vocabulary,
because a checksum can be forged and the kernels index these arrays unchecked. A forger can still
store a machine that differs from the source, or put a token into a wrong class.

Version 2 added the checksum.

Cost beside reading: one minimisation of the byte machine, about a millisecond for a thousand
states, and a walk of one token per class.
"""

from __future__ import annotations

import hashlib
import io
import json
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast, get_type_hints

import msgspec
import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from explorer.automata.interchange.validate import checked_dfa
from explorer.automata.machine import Dfa
from explorer.budget import Meter
from explorer.errors import DamagedFile, ExplorerError
from explorer.files import file_errors, parse_json, write_whole
from explorer.languages.constraint import Constraint
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from explorer.tokens.closed_form.assemble import reached_from_start
from explorer.tokens.lost import find_lost
from explorer.tokens.report import FIGURES, Report
from explorer.tokens.walks.rows import columns_of
from explorer.tokens.walks.trie import written
from explorer.tokens.words import DEAD, DEAD_CLASS, DONE, EOS_CLASS, NUM_FIXED_CLASSES
from explorer.vocabulary import Vocabulary

MOST_BYTES: Final = 2**30
"""The bytes that the arrays of a file may take in memory, in total."""

_MOST_HEADER_BYTES: Final = 2**26
_LONGEST_ARRAY_HEADER: Final = 10_000
_CELLS_AT_ONCE: Final = 2**22

_KIND: Final = "explorer.TokenDFA"
_VERSION: Final = 2
_HEADER: Final = "header"

# The name of each array, its permitted types, and its number of dimensions.
_ARRAYS: Final[Mapping[str, tuple[tuple[str, ...], int]]] = {
    "table": (("<i2", "<i4"), 2),
    "token_class": (("<u2", "<i4"), 1),
    "char_state": (("<i4",), 1),
    "accepting": (("|b1",), 1),
    "distance": (("<i4",), 1),
    "stuck": (("<i4",), 1),
}
_BYTE_MACHINE: Final[Mapping[str, tuple[tuple[str, ...], int]]] = {
    "fsa_symbol_class": (("<i4",), 1),
    "fsa_table": (("<i4",), 2),
    "fsa_accepting": (("|b1",), 1),
}
_PARTS: Final = {**_ARRAYS, **_BYTE_MACHINE, _HEADER: (("|u1",), 1)}

_REMEDY: Final = "Compile the constraint again and save it."

# What zipfile, zlib and numpy raise on damaged input.
_UNREADABLE: Final = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


_FIGURES: Final = msgspec.defstruct(
    "_FIGURES",
    [*((name, get_type_hints(Report)[name]) for name in FIGURES), ("warnings", tuple[str, ...])],
)
"""The part of a `Report` that a file keeps."""


class _Header(msgspec.Struct):
    """The header of a file."""

    kind: str = ""
    version: int = 0
    fingerprint: str = ""
    source: dict[str, object] = {}
    report: dict[str, object] = {}
    sha256: str = ""


class Stored(NamedTuple):
    """The content of a file.

    Args:
        constraint: The compiled constraint, with its byte machine.
        report: Times and sizes of the compilation.
        arrays: The arrays of an `explorer.TokenDFA`, by their names.
    """

    constraint: Constraint
    report: Report
    arrays: dict[str, Any]


def save(
    path: str | Path, constraint: Constraint, fingerprint: str, report: Report, tables: object
) -> None:
    """Write a token DFA to a file; see `explorer.TokenDFA.save`.

    Args:
        path: The file.
        constraint, fingerprint, report: The token DFA's; the fingerprint is its vocabulary's.
        tables: An object that has the arrays.
    """
    arrays: dict[str, NDArray[Any]] = {name: getattr(tables, name) for name in _ARRAYS}
    arrays |= _machine_arrays(constraint.for_tokens(Meter()))
    header: dict[str, object] = {
        "kind": _KIND,
        "version": _VERSION,
        "fingerprint": fingerprint,
        "source": source_to_dict(constraint.source),
        "report": report.to_dict(),
    }
    header["sha256"] = _checksum(header, arrays)
    text = json.dumps(header).encode()
    arrays[_HEADER] = np.frombuffer(text, np.uint8)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    size = sum(array.nbytes for array in arrays.values())
    if size > MOST_BYTES or len(text) > _MOST_HEADER_BYTES:
        raise ExplorerError(
            f"The machine takes {size:,} bytes, {len(text):,} of them for its source; files of at "
            f"most {MOST_BYTES:,} and {_MOST_HEADER_BYTES:,} are read back.",
            remedy="Save the constraint's text instead, and compile it where it is needed.",
            evidence={"bytes": size, "limit": MOST_BYTES},
        )
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    write_whole(path, packed.getvalue())


def load(path: str | Path, vocabulary: Vocabulary) -> Stored:
    """Read a file; see `explorer.TokenDFA.load`. Stages that filter tokens are not applied.

    Raises:
        DamagedFile: The file is of another kind or version, damaged, or was compiled for another
            vocabulary.
    """
    with file_errors(path):
        file = open(path, "rb")  # noqa: SIM115 - What is wrong with its content is told below.
    try:
        with file as stream, zipfile.ZipFile(stream) as archive:
            parts = _read(archive)
        header = parse_json(parts.pop(_HEADER).tobytes())
    except _UNREADABLE as error:
        raise DamagedFile(
            f"{path} is not a saved token DFA, or it is damaged: {error}.",
            remedy=_REMEDY,
            evidence={"path": str(path)},
        ) from error
    try:
        head = msgspec.convert(header, _Header)
        figures = msgspec.structs.asdict(msgspec.convert(head.report, _FIGURES))
    except msgspec.ValidationError as error:
        raise _misfit(path, f"its header: {error}") from error
    if head.kind != _KIND or head.version != _VERSION:
        raise DamagedFile(
            f"{path} is of kind {head.kind!r}, version {head.version!r}; this release reads "
            f"{_KIND!r}, version {_VERSION}.",
            remedy="Compile the constraint again and save it with this release.",
        )
    if head.fingerprint != vocabulary.fingerprint:
        raise DamagedFile(
            f"{path} was compiled for a vocabulary with fingerprint {head.fingerprint[:12]}…; this "
            f"one is {vocabulary.fingerprint[:12]}…. The same ids would mean other text.",
            remedy="Load it with the vocabulary that it was compiled for (narrowed with "
            "with_width(...) if it was compiled for a width), or compile again.",
            evidence={"file": head.fingerprint, "vocabulary": vocabulary.fingerprint},
        )
    if head.sha256 != _checksum(cast("dict[str, object]", header), parts):
        raise _misfit(path, "its content does not match its checksum")
    try:
        given_source = source_from_dict(head.source)
        if given_source.over_tokens:
            # A machine that reads ends of tokens is quickly built; the stored one is not trusted.
            constraint = Constraint(given_source)
            machine = constraint.for_tokens(Meter())
            known = _machine_arrays(machine).items()
            if not all(np.array_equal(array, parts[name]) for name, array in known):
                raise _misfit(path, "its character FSA is not that of its source")
        else:
            machine = checked_dfa(
                parts["fsa_symbol_class"], parts["fsa_table"], parts["fsa_accepting"], 0
            )
            constraint = Constraint(given_source, machine)
    # The reader of sources may meet a mapping of any shape here.
    except (ExplorerError, TypeError, KeyError, ValueError, AttributeError) as error:
        raise _misfit(path, str(error).rstrip(".")) from error
    arrays: dict[str, Any] = {name: parts[name] for name in _ARRAYS}
    for fault in _faults(arrays, machine, vocabulary):
        raise _misfit(path, fault)
    lost = partial(find_lost, machine, vocabulary, arrays["char_state"])
    warned = partial(tuple[str, ...], figures.pop("warnings"))
    report = Report(**figures, find_lost=lost, find_warnings=warned)
    return Stored(constraint, report, arrays)


def _machine_arrays(machine: Dfa) -> dict[str, NDArray[Any]]:
    """The arrays of a byte machine as they are stored."""
    return dict(
        zip(_BYTE_MACHINE, (machine.symbol_class, machine.table, machine.accepting), strict=True)
    )


def _misfit(path: str | Path, fault: str) -> DamagedFile:
    return DamagedFile(
        f"{path} holds parts that do not fit together: {fault}.",
        remedy=_REMEDY,
        evidence={"path": str(path)},
    )


def _read(archive: zipfile.ZipFile) -> dict[str, NDArray[Any]]:
    """The arrays of a file; all sizes and types are checked before the first is read."""
    entries = {name: archive.getinfo(f"{name}.npy") for name in _PARTS}
    if len(archive.infolist()) != len(entries):
        raise ValueError("its parts are not those of a token DFA")
    forms: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}
    for name, entry in entries.items():
        with archive.open(entry) as stream:
            forms[name] = _form(name, cast("BinaryIO", stream))
    sizes = {
        name: dtype.itemsize * int(np.prod(shape, dtype=object))
        for name, (shape, dtype) in forms.items()
    }
    if sum(sizes.values()) > MOST_BYTES or sizes[_HEADER] > _MOST_HEADER_BYTES:
        raise ValueError(f"it would take {sum(sizes.values()):,} bytes of memory")
    parts: dict[str, NDArray[Any]] = {}
    for name, (shape, dtype) in forms.items():
        with archive.open(entries[name]) as stream:
            _form(name, cast("BinaryIO", stream))
            # One byte more than expected: zipfile compares the CRC of a part only at its end.
            data = stream.read(sizes[name] + 1)
        if len(data) != sizes[name]:
            raise ValueError(f"{name} does not have the size that it claims")
        parts[name] = np.frombuffer(data, dtype).reshape(shape)
    return parts


def _form(name: str, stream: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and the type of an array, from its own header."""
    npy: Any = npy_format  # Its types say nothing.
    if npy.read_magic(stream) != (1, 0):
        raise ValueError(f"{name} is not in the first version of numpy's format")
    header = npy.read_array_header_1_0(stream, _LONGEST_ARRAY_HEADER)
    shape, by_columns, dtype = cast("tuple[tuple[int, ...], bool, np.dtype[Any]]", header)
    types, dimensions = _PARTS[name]
    if dtype.str not in types or len(shape) != dimensions or by_columns or min(shape) < 0:
        raise ValueError(f"{name} is an array of {dtype} with the shape {shape}")
    return shape, dtype


def _checksum(header: Mapping[str, object], arrays: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 of a file's content, its own checksum left out, in hexadecimal."""
    content = {key: value for key, value in header.items() if key != "sha256"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _faults(arrays: Mapping[str, NDArray[Any]], machine: Dfa, vocabulary: Vocabulary) -> list[str]:
    """The reasons why tables are not a token DFA over this byte machine and vocabulary."""
    table, token_class, char_state = (arrays[k] for k in ("table", "token_class", "char_state"))
    accepting, distance, stuck = (arrays[k] for k in ("accepting", "distance", "stuck"))
    states, classes = table.shape
    shapes = (
        (states > 0, "it has no states"),
        (classes >= NUM_FIXED_CLASSES, "it has no class for the end of text"),
        (len(token_class) == len(vocabulary), "its classes do not cover the vocabulary's ids"),
        (
            len(char_state) == len(accepting) == len(distance) == states,
            "its arrays have another number of states than its table",
        ),
    )
    if faults := [fault for holds, fault in shapes if not holds]:
        return faults
    bounds = (
        ("table", table, DONE, states - 1),
        ("token classes", token_class, 0, classes - 1),
        ("character states", char_state, 0, machine.num_states - 1),
        ("stuck states", stuck, 0, machine.num_states - 1),
        ("distances", distance, 1, states),
    )
    for name, array, low, high in bounds:
        if array.size and not low <= int(array.min()) <= int(array.max()) <= high:
            return [f"its {name} are not from {low} to {high:,}"]
    eos_ids = np.flatnonzero(token_class == EOS_CLASS)
    text = np.array([data is not None for data in vocabulary.tokens])
    if machine.over_tokens or machine.reads_letters:
        text[list(vocabulary.not_text)] = True
    agreements = (
        (sorted(vocabulary.eos_ids) == eos_ids.tolist(), "its end of text is not the vocabulary's"),
        (
            bool((text | (token_class == DEAD_CLASS) | (token_class == EOS_CLASS)).all()),
            "it allows ids that are not text",
        ),
        (bool((table[:, DEAD_CLASS] == DEAD).all()), "it allows tokens that no state allows"),
        (
            np.array_equal(table[:, EOS_CLASS], np.where(accepting, DONE, DEAD))
            and bool((table[:, NUM_FIXED_CLASSES:] != DONE).all()),
            "its end of text is allowed in other states than those that accept",
        ),
        (
            char_state[0] == machine.start and len(np.unique(char_state)) == states,
            "its states are not character states from the start on",
        ),
        (
            np.array_equal(accepting, machine.accepting[char_state]),
            "it accepts where its byte machine does not",
        ),
    )
    if faults := [fault for holds, fault in agreements if not holds]:
        return faults
    if not _follows(arrays, machine, vocabulary):
        return ["its table does not follow its byte machine"]
    if not reached_from_start(table).all():
        return ["it has states that no tokens lead to"]
    if not _are_distances(arrays):
        return ["its distances to the end are not those of its table"]
    return []


def _follows(arrays: Mapping[str, NDArray[Any]], machine: Dfa, vocabulary: Vocabulary) -> bool:
    """Whether the first token of each class leads to the state that its bytes lead to.

    The other tokens of a class are not checked: that would take a compilation.
    """
    char_state = arrays["char_state"]
    present, first = np.unique(arrays["token_class"], return_index=True)
    text = present >= NUM_FIXED_CLASSES
    if int(text.sum()) != arrays["table"].shape[1] - NUM_FIXED_CLASSES:
        return False
    token_state = np.full(machine.num_states + 1, DEAD, np.int32)  # −1 is the last one.
    token_state[char_state] = np.arange(len(char_state), dtype=np.int32)
    spelled = (written(vocabulary, machine, token) for token in first[text].tolist())
    return all(
        np.array_equal(arrays["table"][:, class_], token_state[reached])
        for class_, reached in zip(
            present[text].tolist(), columns_of(machine, char_state, spelled), strict=True
        )
    )


def _are_distances(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether each distance is 1 where a text ends, else one more than the nearest successor's."""
    table, distance = arrays["table"], arrays["distance"]
    has_tokens = np.bincount(arrays["token_class"], minlength=table.shape[1]) > 0
    rows = max(1, _CELLS_AT_ONCE // table.shape[1])
    for low in range(0, len(table), rows):
        targets = table[low : low + rows]
        following = np.where(
            (targets >= 0) & has_tokens, distance[np.maximum(targets, 0)], len(table) + 1
        )
        nearest = np.where(arrays["accepting"][low : low + rows], 0, following.min(axis=1))
        if not np.array_equal(distance[low : low + rows], nearest + 1):
            return False
    return True
