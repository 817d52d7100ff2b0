"""The packets that are sent to the page: once, and at each position.

*Once*: per page the text of each vocabulary, by fingerprint and compressed, because all explorers
on the page share it; per constraint the class of each token, and the machines. A whole run, for a
page without a kernel, stores each distinct row once.

*At each position*: position k is after k tokens and holds the distribution from which token k + 1
is drawn. The mask is a bit per token class. The lit path is sent as names of nodes and arcs
(`widgets.figures.machines.lit`); for a long text only the end of the path is sent, because all
packets together would otherwise grow with the square of the text. Compressed parts are zlib in
base64, which a page can inflate.

Cost: one or two milliseconds per position, besides the verdicts of the bars.
"""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Mapping
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import split_tail
from explorer.analysis.places.spans import SourceMachines, source_machines
from explorer.automata.tree.charset import char_set
from explorer.decoding.trace.trace import Trace
from explorer.errors import BudgetExceeded
from explorer.languages.regex.characters import category
from explorer.languages.regex.source import Regex
from explorer.languages.sources.registry import name_of
from explorer.languages.stages.staged import unstaged
from explorer.memo import memo
from explorer.tokens.machine import TokenMachine, table_of
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import token_text
from widgets.figures.machines.character_fsa import character_view, expects
from widgets.figures.machines.drawn import Drawn, draw_whole, drawn_states, drawn_whole
from widgets.figures.machines.lit import path_packet
from widgets.figures.panels.along import along_text
from widgets.figures.panels.mask import allowed_at, class_row, count_at, pack_bits
from widgets.figures.panels.stack import stack_packet
from widgets.figures.panels.tokens import BARS, bars, strip_packet, table_text

SPANS: Final = 64
"""The most marked places in the pattern."""


def position_packet(
    trace: Trace, k: int, machine: TokenMachine, bars_shown: int = BARS
) -> dict[str, object]:
    """Everything a page shows of one position: the numbers, and the words and drawings.

    Args:
        trace, k, machine, bars_shown: As for `numbers_packet`.
    """
    stack = stack_packet(trace, k, machine)
    top = bars(trace, k, machine, bars_shown)
    along = along_text(trace, k, machine, top)
    return {
        **numbers_packet(trace, k, machine, bars_shown),
        **({} if along is None else {"along": along}),
        **({} if stack is None else {"stack": stack}),
        "lit": {} if machine.constraint is None else path_packet(trace, k, machine),
        "top": [bar.to_dict() for bar in top],
        "expects": expected_words(machine, trace.positions[k].state),
        "spans": [list(span) for span in live_spans(machine, trace.positions[k].data)],
        "numbers": False,
    }


def numbers_packet(
    trace: Trace, k: int, machine: TokenMachine, bars_shown: int = BARS
) -> dict[str, object]:
    """The numbers of a position, which a page gets before the words: probabilities and the mask.

    Args:
        trace: The record.
        k: A position, 0 to ``len(trace)``.
        machine: The token machine of the trace; `Free` has no reasons and no path.
        bars_shown: The number of bars.

    Returns:
        Plain values for JSON. Probabilities 0 to 1, entropies in bits, times in milliseconds;
        unknown values are ``None``.
    """
    position = trace.positions[k]
    step = trace.steps[k] if k < len(trace.steps) else None
    distribution = position.distribution
    taken: dict[str, object] | None = None
    if step is not None:
        taken = {
            "id": step.token,
            "text": table_text(trace, step.token),
            "by": step.chosen_by,
            "model": _probability(step.log_prob_model),
            "filtered": _probability(step.log_prob_filtered),
            "constrained": _probability(step.log_prob_constrained),
        }
    return {
        "k": k,
        "numbers": True,
        "state": position.state,
        "row": _row(trace, k, machine),
        "allowed": count_at(trace, k),
        "width": trace.tokens.size,
        "z": None if distribution is None else _number(distribution.z),
        "entropy_before": None if distribution is None else _number(distribution.entropy_before),
        "entropy_after": None if distribution is None else _number(distribution.entropy_after),
        "kl": None if distribution is None else _number(distribution.kl),
        "top": [bar.to_dict() for bar in bars(trace, k, machine, bars_shown, reasons=False)],
        "taken": taken,
        "rank": None if step is None else step.rank,
        "forced": position.forced,
        "finished": position.finished,
        "by": None if step is None else step.chosen_by,
        "intervention": distribution is not None and distribution.intervention,
        "over_budget": position.over_budget,
        "ms": {}
        if distribution is None
        else {
            "model": round(distribution.timing.model, 3),
            "mask": round(distribution.timing.mask, 3),
            "sampling": round(distribution.timing.sampling, 3),
        },
    }


def _row(trace: Trace, k: int, machine: TokenMachine) -> str:
    """The mask: a bit per token class, or per id if the machine has no classes."""
    if trace.masks is None:
        return ""
    known = table_of(machine) is not None
    return pack_bits(class_row(trace, k) if known else allowed_at(trace, k))


def _probability(log_prob: float | None) -> float | None:
    return None if log_prob is None else _number(math.exp(log_prob))


def _number(value: float) -> float | None:
    """A number that JSON can hold, to five digits."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def expected_words(machine: TokenMachine, state: int) -> str:
    """The expected characters of a token state, in words; empty for a sentinel."""
    return "" if state < 0 else expects(machine, machine.byte_state(state))


def live_spans(machine: TokenMachine, data: bytes) -> tuple[tuple[int, int], ...]:
    """The places of the pattern that read the next byte.

    Returns:
        ``(start, end)`` in characters of its text. Empty if there are no such places, if the
        source is too large to be laid out, or if the whole text is one place, as for a schema,
        because a mark would then say nothing.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"o", b"d"], eos_ids=[3])
        >>> live_spans(explorer.compile(explorer.regex("(foo)+d"), vocab), b"foo")
        ((1, 2), (6, 7))
    """
    known, whole = _written(machine)
    if known is None:
        return ()
    try:
        spans = known.spans_after(split_tail(data)[0])
    except BudgetExceeded:
        return ()
    return () if spans == (whole,) else spans[:SPANS]


@memo
def _written(machine: TokenMachine) -> tuple[SourceMachines | None, tuple[int, int] | None]:
    """The source of a machine as it was written, which every position asks; and the span of all of
    its text where that has several lines."""
    if machine.constraint is None:
        return None, None
    source = machine.constraint.source
    return source_machines(source), (0, len(source.text)) if "\n" in source.text else None


DIGIT: Final = re.compile(r"(?<!\\)(?:\\\\)*\\d")
"""Matches ``\\d`` in a pattern, but not a ``d`` after an escaped backslash."""


def compress(value: object) -> str:
    """Any JSON value as base64 of zlib of its UTF-8 text.

    Example:
        >>> decompress(compress({"a": "ä"}))
        {'a': 'ä'}
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), 9)).decode("ascii")


def packed(members: NDArray[np.uint8]) -> str:
    """A byte per id as base64 of zlib."""
    return base64.b64encode(zlib.compress(members.tobytes(), 6)).decode("ascii")


def decompress(packed: str) -> object:
    """The inverse of `compress`."""
    return cast(object, json.loads(zlib.decompress(base64.b64decode(packed))))


def vocabulary_packet(vocabulary: Vocabulary) -> dict[str, object]:
    """The readable text of every token, once per page.

    Args:
        vocabulary: The tokens.

    Returns:
        ``fingerprint``, ``size``, ``eos``, ``special`` (names by id) and ``data``, which inflates
        to ``{"text": [...], "hex": {id: bytes}}``. ``hex`` has only the tokens that are not valid
        UTF-8, because their bytes cannot be told from their text.
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


def lean(figure: dict[str, object]) -> dict[str, object]:
    """A figure without its empty fields, because it is sent with every step."""

    def said(part: dict[str, object]) -> dict[str, object]:
        return {
            name: value for name, value in part.items() if value is not None and value is not False
        }

    return {
        **figure,
        "nodes": [said(node) for node in cast("list[dict[str, object]]", figure["nodes"])],
        "edges": [said(edge) for edge in cast("list[dict[str, object]]", figure["edges"])],
    }


def machine_packet(machine: TokenMachine, key: str = "") -> dict[str, object]:
    """Everything a page needs of a constraint, once.

    Args:
        machine: The token machine.
        key: The page's name for this constraint.

    Returns:
        Plain values for JSON. The machines are included if they can be drawn whole; otherwise each
        position is sent with the part near it.
    """
    whole = drawn_whole(machine)
    drawn = draw_whole(machine) if whole else Drawn({}, {})
    return {
        "key": key,
        "fingerprint": machine.vocabulary.fingerprint,
        **class_packet(machine),
        "machines": {name: figure.to_dict() for name, figure in drawn.figures.items()},
        "layouts": {name: layout.to_dict() for name, layout in drawn.layouts.items()},
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
    """A note on a pattern whose ``\\d`` is wider than most users expect, with other patterns.

    In Python ``\\d`` is every decimal digit of Unicode, hundreds of them, most in several bytes,
    which a drawing of a machine over bytes shows.

    Returns:
        ``said``, and ``patterns`` that mean the ten digits; ``None`` if there is nothing to note.

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
    """The text of the constraint; empty if there is no constraint."""
    if machine.constraint is None:
        return ""
    return unstaged(machine.constraint.source).shown


def schema_behind(machine: TokenMachine) -> str:
    """The JSON Schema that a Python type stands for; empty for every other constraint.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"[", b"1", b"]"], eos_ids=[3])
        >>> schema_behind(explorer.compile(explorer.from_type(list[int]), vocab))[:11]
        '{\\n  "items"'
    """
    source = None if machine.constraint is None else unstaged(machine.constraint.source)
    if source is None or name_of(source) != "Python type":
        return ""
    return source.children[0].text


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
