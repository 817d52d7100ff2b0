"""What travels to the page once: the vocabulary, and the machines of a constraint.

The vocabulary's text goes once per page, by fingerprint, compressed: it is the same for every
explorer on it. The class of each token and the machines go once per constraint. What travels per
step is in `widgets.figures.position`. A whole run, for a page without a kernel, stores each
distinct row once.

Everything is JSON of plain values; compressed parts are zlib in base64, which a page inflates by
itself.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

import numpy as np

from explorer.automata.source import Regex
from explorer.decoding.trace.trace import Trace
from explorer.tokens.token_dfa import TokenDFA
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import token_text
from widgets.figures.drawing.layout import Layout, lay_out
from widgets.figures.machines.character_fsa import Form, character_figure
from widgets.figures.machines.detokenizing_figure import detokenizing_figure
from widgets.figures.machines.drawn import draw_whole, drawn_states
from widgets.figures.machines.machine_figure import MachineFigure, check_size
from widgets.figures.machines.present import missing_arcs
from widgets.figures.machines.token_dfa import token_figure
from widgets.figures.panels.strip import strip_packet
from widgets.figures.position import position_packet


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


def class_packet(dfa: TokenDFA) -> dict[str, object]:
    """The class of each token, compressed.

    Args:
        dfa: The token DFA.

    Returns:
        ``token_class`` (base64 of zlib of little-endian integers), ``bits`` (16 or 32) and
        ``num_classes``.
    """
    bits = 16 if dfa.num_classes <= 2**16 else 32
    raw = np.ascontiguousarray(dfa.token_class, f"<u{bits // 8}").tobytes()
    return {
        "token_class": base64.b64encode(zlib.compress(raw, 9)).decode("ascii"),
        "bits": bits,
        "num_classes": dfa.num_classes,
    }


def machine_figures(
    dfa: TokenDFA,
    tokens: Iterable[int] = (),
    form: Form = "characters",
    *,
    whole: bool = False,
) -> dict[str, MachineFigure]:
    """The three machines as figures, where they are small enough to be drawn whole.

    Args:
        dfa: The token DFA.
        tokens: What the detokenizing FST shows.
        form: How the character FSA is drawn.
        whole: Also above 300 states.

    Returns:
        Without ``character_fsa`` and ``token_dfa`` where they are too large: then
        `widgets.figures.machines.ahead` draws what is near.

    Raises:
        ExplorerError: The whole was asked for and has more than 2,000 states.
    """
    figures: dict[str, MachineFigure] = {}
    if check_size(drawn_states(dfa, form), whole=whole):
        figures["character_fsa"] = character_figure(dfa, form)
    figures["detokenizing_fst"] = detokenizing_figure(dfa.vocabulary, tokens)
    if "character_fsa" in figures:
        figures["token_dfa"] = token_figure(dfa, form=form)
    return figures


def drawn_figures(
    dfa: TokenDFA,
    tokens: Iterable[int] = (),
    form: Form = "characters",
    *,
    whole: bool = False,
    sources: Iterable[int] = (),
) -> tuple[dict[str, MachineFigure], dict[str, Layout]]:
    """The figures of `machine_figures`, and their layouts.

    What no position changes is worked out once: the page's drawing and every still share it.

    Args:
        dfa, tokens, form, whole: As in `machine_figures`.
        sources: The token states of the path, the present one first: what a cut drawing lacks
            of their arcs is drawn onto it.

    Returns:
        By name.
    """
    if not check_size(drawn_states(dfa, form), whole=whole):
        figures = machine_figures(dfa, tokens, form)
        return figures, lay_out(figures)
    drawn = draw_whole(dfa, form)
    token, layout = drawn.figures["token_dfa"], drawn.layouts["token_dfa"]
    path = tuple(sources)
    if path and not token.complete:
        more = missing_arcs(dfa, token, layout, path[::-1], form)
        token = replace(token, edges=(*token.edges, *more.edges))
        layout = replace(layout, edges={**layout.edges, **more.places})
    inner = {"detokenizing_fst": detokenizing_figure(dfa.vocabulary, tokens)}
    return (
        {**drawn.figures, **inner, "token_dfa": token},
        {**drawn.layouts, **lay_out(inner), "token_dfa": layout},
    )


def machine_packet(
    dfa: TokenDFA,
    tokens: Iterable[int] = (),
    *,
    key: str = "",
    form: Form = "characters",
    whole: bool = False,
    layout: bool = True,
) -> dict[str, object]:
    """Everything a page needs of a constraint, once.

    Args:
        dfa: The token DFA.
        tokens: What the detokenizing FST shows first.
        key: The page's name for this constraint.
        form: How the character FSA is drawn.
        whole: Also draw machines of more than 300 states.
        layout: Also lay them out; ``False`` where that comes later.

    Returns:
        Plain values for JSON.
    """
    if layout:
        figures, layouts = drawn_figures(dfa, tokens, form, whole=whole)
    else:
        figures = machine_figures(dfa, tokens, form, whole=whole)
        layouts = dict[str, Layout]()
    source = dfa.constraint.source
    return {
        "key": key,
        "fingerprint": dfa.vocabulary.fingerprint,
        **class_packet(dfa),
        "machines": {name: figure.to_dict() for name, figure in figures.items()},
        "layouts": {name: found.to_dict() for name, found in layouts.items()},
        "report": dfa.report.to_dict(),
        "pattern": source.pattern if isinstance(source, Regex) else str(source),
        "is_regex": isinstance(source, Regex),
        "states": {
            "characters": drawn_states(dfa, form),
            "tokens": dfa.num_states,
            "whole": "character_fsa" in figures,
        },
    }


def trace_packet(
    trace: Trace, dfa: TokenDFA | None = None, bars: int | None = None
) -> dict[str, object]:
    """A whole run for a page without a kernel: every position, each distinct row once.

    Args:
        trace: The record.
        dfa: Its token DFA.
        bars: How many bars per position; default as many as the trace has, up to the usual.

    Returns:
        ``strip``, ``rows`` and ``positions``, whose ``row`` is an index into ``rows``; ``-1``
        without a constraint.
    """
    rows: dict[str, int] = {}
    positions: list[Mapping[str, object]] = []
    for k in range(len(trace.positions)):
        packet = (
            position_packet(trace, k, dfa) if bars is None else position_packet(trace, k, dfa, bars)
        )
        row = str(packet["row"])
        packet["row"] = rows.setdefault(row, len(rows)) if row else -1
        positions.append(packet)
    return {
        "strip": strip_packet(trace, None if dfa is None else dfa.vocabulary),
        "rows": list(rows),
        "num_classes": trace.num_classes,
        "positions": positions,
    }
