"""The packets that travel to the page once: the vocabulary, and the machines of a constraint.

The vocabulary's text goes once per page, by fingerprint, compressed: it is the same for every
explorer on it. The class of each token and the machines go once per constraint. The packet of each
step is in `widgets.figures.position`. A whole run, for a page without a kernel, stores each
distinct row once.

Everything is JSON of plain values; compressed parts are zlib in base64, which a page inflates by
itself.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping
from typing import Final, cast

import numpy as np

from explorer.automata.tree.charset import char_set
from explorer.decoding.trace.trace import Trace
from explorer.languages.regex.source import Regex
from explorer.languages.regex.unicode_sets import category
from explorer.languages.stages.staged import unstaged
from explorer.tokens.machine import TokenMachine, table_of
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import token_text
from widgets.figures.machines.character_view import character_view
from widgets.figures.machines.drawn import Drawn, draw_whole, drawn_states, drawn_whole
from widgets.figures.panels.strip import strip_packet
from widgets.figures.position import position_packet

DIGIT: Final = re.compile(r"(?<!\\)(?:\\\\)*\\d")
"""``\\d`` in a pattern, not the end of an escaped backslash."""


def compress(value: object) -> str:
    """Any JSON value as base64 of zlib of its UTF-8 text.

    Example:
        >>> decompress(compress({"a": "ä"}))
        {'a': 'ä'}
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), 9)).decode("ascii")


def decompress(packed: str) -> object:
    """The inverse of `compress`."""
    return cast(object, json.loads(zlib.decompress(base64.b64decode(packed))))


def vocabulary_packet(vocabulary: Vocabulary) -> dict[str, object]:
    """The readable text of every token, once per page.

    Args:
        vocabulary: The tokens.

    Returns:
        ``fingerprint``, ``size``, ``eos``, ``special`` (names by id) and ``data``, which inflates
        to ``{"text": [...], "hex": {id: bytes}}``: hexadecimal only for tokens that are not valid
        UTF-8, whose bytes do not follow from their text.
    """
    texts: list[str] = []
    odd: dict[str, str] = {}
    for token, data in enumerate(vocabulary.tokens):
        texts.append("" if data is None else token_text(vocabulary, token))
        if data is not None:
            try:
                data.decode()
            except UnicodeDecodeError:
                odd[str(token)] = data.hex()
    return {
        "fingerprint": vocabulary.fingerprint,
        "size": len(vocabulary),
        "eos": list(vocabulary.eos_ids),
        "special": {
            str(token): token_text(vocabulary, token)
            for token in sorted({*vocabulary.special, *vocabulary.eos_ids})
        },
        "data": compress({"text": texts, "hex": odd}),
    }


def class_packet(machine: TokenMachine) -> dict[str, object]:
    """The class of each token, compressed.

    Args:
        machine: The token machine.

    Returns:
        ``token_class`` (base64 of zlib of little-endian integers), ``bits`` (16 or 32) and
        ``num_classes``. A machine that is not a table has no classes: ``token_class`` is empty,
        and each token is a class of its own.
    """
    table = table_of(machine)
    if table is None:
        return {"token_class": "", "bits": 32, "num_classes": len(machine.vocabulary)}
    num_classes = class_count(machine)
    bits = 16 if num_classes <= 2**16 else 32
    raw = np.ascontiguousarray(table.token_class, f"<u{bits // 8}").tobytes()
    return {
        "token_class": base64.b64encode(zlib.compress(raw, 9)).decode("ascii"),
        "bits": bits,
        "num_classes": num_classes,
    }


def machine_packet(machine: TokenMachine, key: str = "") -> dict[str, object]:
    """Everything a page needs of a constraint, once.

    Args:
        machine: The token machine.
        key: The page's name for this constraint.

    Returns:
        Plain values for JSON. The machines are included if they can be drawn whole; otherwise the
        part near a position travels with the position.
    """
    whole = drawn_whole(machine)
    drawn = draw_whole(machine) if whole else Drawn({}, {})
    return {
        "key": key,
        "fingerprint": machine.vocabulary.fingerprint,
        **class_packet(machine),
        "machines": {name: figure.to_dict() for name, figure in drawn.figures.items()},
        "layouts": {name: found.to_dict() for name, found in drawn.layouts.items()},
        "report": machine.report.to_dict(),
        "pattern": written_pattern(machine),
        "states": {
            "characters": drawn_states(machine),
            "tokens": machine.num_states,
            "whole": whole,
            "known": table_of(machine) is not None,
        },
        "narrower": narrower(machine),
    }


def narrower(machine: TokenMachine) -> dict[str, object] | None:
    """What to say of a pattern whose ``\\d`` is wider than one thinks, and what to write instead.

    In Python ``\\d`` is every decimal digit of Unicode, hundreds of them, most in several bytes,
    which a drawing of a machine over bytes shows.

    Args:
        machine: The token machine.

    Returns:
        ``said`` and ``patterns`` that mean the ten digits; ``None`` where nothing is to be said.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"1"], eos_ids=[1])
        >>> dfa = explorer.compile(explorer.regex(r"\\d{2}"), vocab)
        >>> narrower(dfa)["patterns"]
        ['(?a)\\\\d{2}', '[0-9]{2}']
    """
    source = None if machine.constraint is None else unstaged(machine.constraint.source)
    if not isinstance(source, Regex) or not DIGIT.search(source.pattern):
        return None
    digits = category("d", 0)
    arcs = character_view(machine).arcs.values() if drawn_whole(machine) else ()
    if not any(
        char_set((low, high) for low, high, target in pieces if target == goal) == digits
        for pieces in arcs
        for goal in {target for _, _, target in pieces}
    ):
        return None
    patterns = [f"(?a){source.pattern}"]
    if "[" not in source.pattern:  # Inside brackets it would be written without its own.
        patterns.append(DIGIT.sub("[0-9]", source.pattern))
    return {
        "said": f"\\d means {digits.size()} digits here, those of all scripts, not only 0-9.",
        "patterns": patterns,
    }


def written_pattern(machine: TokenMachine) -> str:
    """The constraint as it is written out; empty if there is none."""
    if machine.constraint is None:
        return ""
    return unstaged(machine.constraint.source).shown


def class_count(machine: TokenMachine) -> int:
    """The number of bits of a mask on the page."""
    table = table_of(machine)
    return len(machine.vocabulary) if table is None else table.table.shape[1]


def trace_packet(trace: Trace, machine: TokenMachine) -> dict[str, object]:
    """A whole run for a page without a kernel: every position, each distinct row once.

    Args:
        trace: The record.
        machine: Its token machine.

    Returns:
        ``strip``, ``rows`` and ``positions``, whose ``row`` is an index into ``rows``; ``-1``
        without a constraint.
    """
    rows: dict[str, int] = {}
    positions: list[Mapping[str, object]] = []
    for k in range(len(trace.positions)):
        packet = position_packet(trace, k, machine)
        row = str(packet["row"])
        packet["row"] = rows.setdefault(row, len(rows)) if row else -1
        positions.append(packet)
    return {
        "strip": strip_packet(trace, machine.vocabulary),
        "rows": list(rows),
        "num_classes": class_count(machine),
        "positions": positions,
    }
