"""The detokenizing FST T_V as a figure: token ids in, bytes out, restricted to a few tokens.

Nobody can look at 310,695 arcs. The figure holds the tokens that matter at a step and those that
the user adds (`widgets.figures.machines.shown_tokens`), and says how many of how many; the
composition always uses all. A state is a proper
prefix of a token (Koo, Liu & He 2024, Algorithm 1, with prefixes shared); an arc inside writes a
byte and reads nothing, the last arc of a token reads its id and goes back to the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import lru_cache
from typing import Final

from explorer.automata.textbook.detokenizing import readable
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import byte_text, shorten, token_text
from widgets.figures.machines.machine_figure import Edge, FigureNode, MachineFigure

END: Final = "tend"
"""The node that EOS leads to."""

NAMED: Final = 2
"""How many tokens an arc names."""

LONGEST: Final = 200
"""A token of more bytes is not drawn: each byte is a state."""


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


def _prefix_label(data: bytes) -> str:
    text = data.decode(errors="replace")
    if len(text) > 3 or "\ufffd" in text or not text.isprintable():
        return ""
    return text.replace(" ", "␣")


def detokenizing_figure(
    vocabulary: Vocabulary, tokens: Iterable[int], masked: Iterable[int] = ()
) -> MachineFigure:
    """T_V over some tokens.

    Args:
        vocabulary: All tokens.
        tokens: The ids to show; those that are not text, or longer than `LONGEST`, are left out.
        masked: The ones that are masked at this position, to be drawn differently.

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
    prefixes = {data[:end] for data in shown.values() for end in range(len(data))}
    prefixes.add(b"")
    order = sorted(prefixes)
    nodes = [
        FigureNode(
            prefix_node(prefix),
            "r" if not prefix else _prefix_label(prefix),
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
                )
            )
        if ends:
            edges.append(_last(vocabulary, prefix, ends, told))
    if vocabulary.eos_ids:
        nodes.append(FigureNode(END, "", "prefix", accepting=True, title="the text has ended"))
        end = "reads EOS, writes nothing"
        edges.append(Edge(prefix_node(b""), END, "EOS : ε", end, len(vocabulary.eos_ids)))
    total = _texts(vocabulary)
    complete = len(shown) == total
    cut = any(edge.count > NAMED for edge in edges if edge.target == "t")
    if complete:
        caption = f"all {total:,} tokens"
        about = f"{caption}, some of them behind +" if cut else f"{caption} are shown"
    else:
        caption = f"{len(shown):,} of {total:,}"  # Beside the field that adds a token.
        about = f"{caption} tokens; the composition uses all"
    return MachineFigure(
        "detokenizing_fst", caption, complete, tuple(nodes), tuple(edges), about=about
    )


@lru_cache(maxsize=8)
def _texts(vocabulary: Vocabulary) -> int:
    """How many tokens are text; asked at every step, and counting them takes milliseconds."""
    return sum(data is not None for data in vocabulary.tokens)


def _last(vocabulary: Vocabulary, prefix: bytes, ends: list[int], masked: Set[int]) -> Edge:
    """The arc that reads the ids of tokens with one prefix and writes their last bytes.

    Allowed ones come first.
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
