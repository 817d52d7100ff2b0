"""The detokenizing FST T_V as a figure: token ids in, bytes out, restricted to a few tokens.

310,695 arcs cannot be shown. The figure holds the tokens that matter at a step and those that the
user adds, and says how many of how many; the composition always uses all. A state is a proper
prefix of a token (Koo, Liu & He 2024, Algorithm 1, with prefixes shared); an arc inside writes a
byte and reads nothing, the last arc of a token reads its id and goes back to the root.

Allowed tokens come first, because they are the arcs that leave the present state of the token DFA:
the token that was taken, the likeliest allowed ones, then some of every arc. Then come the
likeliest masked ones, which the model wanted. Tokens that the user added are always shown. Each
byte is a state of the drawing and some tokens are long, so the total number of bytes is limited.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest
from typing import Final

from explorer.alphabet import readable
from explorer.automata.machine import NO_ARC, run
from explorer.decoding.trace.trace import Trace
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import byte_text, prefix_label, shorten, token_text
from widgets.figures.machines.arcs import arcs_of, node_of
from widgets.figures.machines.machine_figure import Edge, FigureNode, MachineFigure

END: Final = "tend"
"""The node that EOS leads to."""

NAMED: Final = 2
"""The most tokens that an arc names."""

LONGEST: Final = 200
"""The most bytes of a token that is drawn, because each byte is a state."""


def prefix_node(data: bytes) -> str:
    """The node of a prefix.

    Example:
        >>> prefix_node(b""), prefix_node(b"fo")
        ('t', 't666f')
    """
    return f"t{data.hex()}"


def prefix_text(data: bytes) -> str:
    """A prefix in short words; invisible characters and half characters are written out.

    Example:
        >>> prefix_text(b"fo"), prefix_text(b" t"), prefix_text(b"")
        ('fo', '␣t', '')
    """
    return shorten(readable(data), 8)


def detokenizing_figure(
    vocabulary: Vocabulary,
    tokens: Iterable[int],
    masked: Iterable[int] = (),
    fails: Mapping[int, int] | None = None,
) -> MachineFigure:
    """T_V over some tokens.

    Args:
        vocabulary: All tokens.
        tokens: The ids to show; those that are not text, or longer than `LONGEST`, are left out.
        masked: The ids that are masked at this position, to be drawn differently.
        fails: For masked ids the offset of the byte at which they fail, if one does; the others
            are refused at their last arc.

    Returns:
        Nodes ``t`` and ``t<prefix in hexadecimal>``. Edges back to the root carry their tokens.

    Example:
        >>> toy = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])
        >>> figure = detokenizing_figure(toy, range(5))
        >>> figure.caption, [edge.label for edge in figure.edges if edge.target == "t"]
        ('all 5 tokens', ['f : f', 'foo : o   for : r', 'food : d', 'oo : o'])
    """
    shown: dict[int, bytes] = {}
    for token in dict.fromkeys(tokens):
        data = vocabulary.tokens[token] if 0 <= token < len(vocabulary) else None
        if data is not None and len(data) <= LONGEST:
            shown[token] = data
    told = frozenset(masked)
    failing = fails or {}
    prefixes = {data[:end] for data in shown.values() for end in range(len(data))}
    prefixes.add(b"")
    order = sorted(prefixes)
    nodes = [
        FigureNode(
            prefix_node(prefix),
            "r" if not prefix else prefix_label(prefix),
            "prefix" if prefix else "root",
            accepting=not prefix,
            start=not prefix,
            title=f"after {readable(prefix)}" if prefix else "between two tokens",
        )
        for prefix in order
    ]
    edges: list[Edge] = []
    for prefix in order:
        ends = [t for t, data in shown.items() if data[:-1] == prefix]
        if prefix:
            byte = prefix[-1]
            edges.append(
                Edge(
                    prefix_node(prefix[:-1]),
                    prefix_node(prefix),
                    f"ε : {byte_text(byte)}",
                    f"reads nothing, writes the byte {byte_text(byte)}",
                    1,
                    ((byte, byte),),
                    refused=_refused(
                        prefix,
                        {t: data for t, data in shown.items() if data.startswith(prefix)},
                        told,
                        failing,
                    ),
                )
            )
        if ends:
            last = _last(vocabulary, prefix, ends, told)
            every = [_refused(shown[t], {t: shown[t]}, told, failing) for t in ends]
            edges.append(replace(last, refused=all(every)))
    if vocabulary.eos_ids:
        nodes.append(FigureNode(END, "", "prefix", accepting=True, title="the text has ended"))
        end = "reads EOS, writes nothing"
        edges.append(Edge(prefix_node(b""), END, "EOS : ε", end, len(vocabulary.eos_ids)))
    caption, about = _captions(vocabulary, len(shown), edges)
    complete = len(shown) == _texts(vocabulary)
    return MachineFigure(
        "detokenizing_fst", caption, complete, tuple(nodes), tuple(edges), about=about
    )


def _captions(vocabulary: Vocabulary, drawn: int, edges: Sequence[Edge]) -> tuple[str, str]:
    """The number of tokens drawn, in short and in a sentence."""
    total = _texts(vocabulary)
    if drawn == total:
        cut = any(edge.count > NAMED for edge in edges if edge.target == "t")
        caption = f"all {total:,} tokens"
        return caption, f"{caption}, some of them behind +" if cut else f"{caption} are shown"
    caption = f"{drawn:,} of {total:,}"  # Beside the field that adds a token.
    return caption, f"{caption} tokens; the composition uses all"


def _refused(
    prefix: bytes, through: Mapping[int, bytes], masked: Set[int], fails: Mapping[int, int]
) -> bool:
    """Whether all tokens of an arc fail at its byte, the last of a prefix."""
    at = len(prefix) - 1
    here = [fails.get(token, len(data) - 1) == at for token, data in through.items()]
    return all(token in masked for token in through) and any(here)


@lru_cache(maxsize=8)
def _texts(vocabulary: Vocabulary) -> int:
    """The number of tokens that are text; asked at every step, and counting takes milliseconds."""
    return sum(data is not None for data in vocabulary.tokens)


def _last(vocabulary: Vocabulary, prefix: bytes, ends: list[int], masked: Set[int]) -> Edge:
    """The arc that reads the ids of tokens with one prefix and writes their last bytes.

    Allowed tokens come first.
    """
    ends = sorted(ends, key=lambda token: token in masked)
    words = [
        f"{shorten(token_text(vocabulary, token), 14)} : {byte_text(data[-1])}"
        for token in ends
        if (data := vocabulary.tokens[token]) is not None
    ]
    label = "   ".join(words[:NAMED]) + (f"   +{len(words) - NAMED}" if len(words) > NAMED else "")
    read = ", ".join(token_text(vocabulary, token) for token in ends)
    return Edge(
        prefix_node(prefix),
        prefix_node(b""),
        label,
        f"reads {read}, writes the last byte",
        len(ends),
        None,
        tuple(ends),
        masked=tuple(token for token in ends if token in masked),
    )


ALL_TOKENS: Final = 16
"""The most tokens of a vocabulary that is shown whole."""

TOKENS_SHOWN: Final = 10
"""The most tokens that a step shows, besides those that the user added."""

MASKED_MOST: Final = 3
"""The most masked tokens among them, if the model finds any likely."""

BYTES_SHOWN: Final = 72
"""The most bytes that they may have together, because they are sent at each step."""

SHOWN_LEAST: Final = 3
"""The number of tokens that are shown however long they are."""

MOST_COMPOSED: Final = 48
"""The number of tokens with which the construction is shown."""


def shown_tokens(
    trace: Trace, k: int, machine: TokenMachine, also: Iterable[int] = ()
) -> tuple[int, ...]:
    """The tokens that the detokenizing FST shows at a position.

    Args:
        trace: The record.
        k: A position.
        machine: The token machine.
        also: Ids that the user added; always among them.

    Returns:
        Ids of text tokens, each once: those of ``also``, then allowed ones, then masked ones.

    Example:
        >>> from explorer.analysis.session import Session
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> session = Session(ToyModel(), toy_constraint())
        >>> shown_tokens(session.trace, 0, session.machine)
        (0, 1, 2, 3, 4)
    """
    tokens = machine.vocabulary
    if len(tokens) <= ALL_TOKENS:
        return tuple(t for t, data in enumerate(tokens.tokens) if data and len(data) <= LONGEST)
    position = trace.positions[k]
    allowed = trace.allowed(k)
    taken = [trace.steps[k].token] if k < len(trace.steps) else []
    distribution = position.distribution
    likely = [] if distribution is None else [entry.token for entry in distribution.candidates]
    # Logits may be wider than the vocabulary; ids beyond it are not tokens.
    likely = [token for token in likely if token < len(allowed)]
    able = [token for token in likely if allowed[token]]
    wished = [token for token in likely if not allowed[token]]
    if position.state >= 0:
        able = leaving(machine, position.state, able)
    able = [t for t in dict.fromkeys([*taken, *able]) if allowed[t]]
    wished = wished[:MASKED_MOST]
    chosen = [*able[: TOKENS_SHOWN - len(wished)], *wished]
    asked = list(dict.fromkeys(also))
    shown = list(asked)
    left = BYTES_SHOWN
    for token in chosen:
        data = tokens.tokens[token]
        size = len(data or b"")
        if size > LONGEST:
            continue
        left -= size
        if size and token not in shown and (left >= 0 or len(shown) < SHOWN_LEAST + len(asked)):
            shown.append(token)
    return tuple(shown)


def leaving(machine: TokenMachine, state: int, likely: Sequence[int]) -> list[int]:
    """Tokens of the arcs that leave a state: one of every arc, then the likely ones, then more.

    Args:
        likely: Allowed tokens, the likeliest first; an arc is shown with the likeliest of its own.
    """
    arcs = arcs_of(machine)
    edges = [edge for edge in arcs.edges([state]) if edge.target != "done"]
    first: list[int] = []
    for edge in edges:
        own = set(arcs.tokens(edge.source, edge.target).tolist())
        first += [token for token in [*likely, *(edge.tokens or ())] if token in own][:1]
    named = zip_longest(*(edge.tokens or () for edge in edges))
    return [*first, *likely, *(token for one in named for token in one if token is not None)]


def masked_tokens(trace: Trace, k: int, tokens: Iterable[int]) -> tuple[int, ...]:
    """The tokens of a list that are masked at a position."""
    allowed = trace.allowed(k)
    return tuple(token for token in tokens if not allowed[token])


def failing_offsets(machine: TokenMachine, state: int, tokens: Iterable[int]) -> dict[int, int]:
    """The offset of the first byte of each token that the character FSA does not read here."""
    byte_machine = machine.byte_machine
    if byte_machine is None or state < 0:
        return {}
    offsets: dict[int, int] = {}
    for token in tokens:
        data = machine.vocabulary.tokens[token] or b""
        states = run(byte_machine, machine.byte_state(state), data)
        if (lost := (states == NO_ARC).nonzero()[0]).size:
            offsets[token] = int(lost[0]) - 1
    return offsets


def composed_tokens(
    machine: TokenMachine, state: int, figure: MachineFigure, shown: Sequence[int]
) -> tuple[int, ...]:
    """The tokens with which the construction is shown: at least those of the drawn token DFA.

    Args:
        state: The present state, whose arcs come first.

    Returns:
        Ids: those of ``shown``, then the first token that each arc names, then the next of each; at
        most `MOST_COMPOSED`, but at least one of each arc.
    """
    here = node_of(machine, state) if state >= 0 else ""
    edges = sorted(figure.edges, key=lambda edge: edge.source != here)
    named = [edge.tokens or () for edge in edges if edge.target != "done"]
    first = [tokens[0] for tokens in named if tokens]
    rest = [token for one in zip_longest(*named) for token in one if token is not None]
    least = list(dict.fromkeys([*shown, *first]))
    more = [token for token in dict.fromkeys(rest) if token not in set(least)]
    return tuple([*least, *more[: max(MOST_COMPOSED - len(least), 0)]])
