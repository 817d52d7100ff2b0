"""All the ways to write one text in tokens, as a picture; the tokenizer's own way is marked.

It is the token DFA of the text, each state drawn as the place in the text that it stands for. The
marked way is that of the canonical filter: what the tokenizer itself writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from explorer.arguments import whole_number
from explorer.decoding.models.arguments import checked_model
from explorer.decoding.models.model import LanguageModel
from explorer.errors import ExplorerError
from explorer.languages.constraint import literal
from explorer.tokens.compile import compile
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import token_names
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.drawing.svg import document, machine, text
from widgets.figures.machines.machine_figure import Edge, FigureNode, MachineFigure
from widgets.figures.snapshot import Snapshot

LONGEST: Final = 24
"""The longest text that is drawn, in bytes."""


@dataclass(frozen=True, slots=True)
class Spellings:
    """Every sequence of tokens that writes a text.

    Args:
        text: The text.
        count: How many sequences there are.
        own: The ids that the tokenizer itself writes for it.
        arcs: ``(from, token, to)``, places in the text counted in bytes.
    """

    text: str
    count: int
    own: tuple[int, ...]
    arcs: tuple[tuple[int, int, int], ...]


def spellings_of(vocabulary: Vocabulary, written: str) -> Spellings:
    """Every sequence of tokens that writes a text, and the tokenizer's own.

    Args:
        vocabulary: The tokens, with their tokenizer.
        written: The text.

    Raises:
        ExplorerError: It has more than `LONGEST` bytes, or the tokenizer's rules are not followed.

    Example:
        >>> import explorer
        >>> found = spellings_of(explorer.load_model("tiny").vocabulary, "Rome")
        >>> found.count, len(found.own)
        (7, 1)
    """
    data = written.encode()
    if not 0 < len(data) <= LONGEST:
        raise ExplorerError(
            f"A text of {len(data)} bytes cannot be drawn with all its spellings.",
            remedy=f"Use a text of 1 to {LONGEST} bytes.",
        )
    dfa = compile(literal(written), vocabulary)
    place = {dfa.start: 0}
    counts = {dfa.start: 1}
    arcs: list[tuple[int, int, int]] = []
    for state in _sorted_states(dfa, vocabulary, place):
        for token in _text_tokens(dfa, vocabulary, state):
            target = dfa.step(state, token)
            if target is not None:
                counts[target] = counts.get(target, 0) + counts[state]
                arcs.append((place[state], token, place[target]))
    total = next(counts[state] for state, at in place.items() if at == len(data))
    return Spellings(written, total, _own(vocabulary, written), tuple(arcs))


def _sorted_states(dfa: TokenMachine, vocabulary: Vocabulary, place: dict[int, int]) -> list[int]:
    """The states that tokens reach, in the order of their places, which are added to ``place``."""
    waiting = [dfa.start]
    for state in waiting:
        for token in _text_tokens(dfa, vocabulary, state):
            target = dfa.step(state, token)
            if target is not None and target not in place:
                place[target] = place[state] + len(vocabulary.tokens[token] or b"")
                waiting.append(target)
    return sorted(place, key=lambda state: place[state])


def _text_tokens(dfa: TokenMachine, vocabulary: Vocabulary, state: int) -> list[int]:
    ids = dfa.allowed(state).nonzero()[0].tolist()
    return [int(token) for token in ids if token not in vocabulary.eos_ids]


def _own(vocabulary: Vocabulary, written: str) -> tuple[int, ...]:
    """The one way through the canonical machine."""
    dfa = compile(literal(written).canonical(), vocabulary)
    state, found = dfa.start, list[int]()
    while not dfa.is_final(state):
        (token,) = _text_tokens(dfa, vocabulary, state)
        found.append(token)
        after = dfa.step(state, token)
        if after is None:
            break
        state = after
    return tuple(found)


def spelling_picture(lm: LanguageModel, written: str, *, most: int = 60) -> Snapshot:
    """All the ways to write a text, from left to right; the tokenizer's own way is thick and blue.

    Args:
        lm: A model, for its tokens.
        written: A text of at most `LONGEST` bytes.
        most: The most arcs that are drawn.

    Raises:
        ExplorerError: The text is too long, or there are more arcs.

    Example:
        >>> import explorer
        >>> print(spelling_picture(explorer.load_model("tiny"), "Rome").text.splitlines()[0])
        7 ways to write 'Rome' in tokens; the tokenizer writes Rome
    """
    vocabulary = checked_model(lm).vocabulary
    found = spellings_of(vocabulary, written)
    most = whole_number("most", most, 1)
    if len(found.arcs) > most:
        raise ExplorerError(
            f"{len(found.arcs)} tokens can take part in a spelling of {written!r}.",
            remedy="Draw a shorter text, or give a larger `most`.",
        )
    own: set[str] = set()
    at = 0
    for token in found.own:
        after = at + len(vocabulary.tokens[token] or b"")
        own.add(f"s{at}-s{after}")
        at = after
    labels: dict[tuple[int, int], list[str]] = {}
    for a, token, b in found.arcs:
        labels.setdefault((a, b), []).append(*token_names(vocabulary, [token]))
    places = sorted({0, *(b for _, _, b in found.arcs)})
    nodes = tuple(
        FigureNode(f"s{place}", str(place), "state", place == places[-1], place == 0)
        for place in places
    )
    edges = tuple(
        Edge(f"s{a}", f"s{b}", " or ".join(words), ", ".join(words), len(words))
        for (a, b), words in labels.items()
    )
    figure = MachineFigure("stage", "", True, nodes, edges)
    layout = lay_out_figures({"stage": figure})["stage"]
    pieces = " ".join(token_names(vocabulary, found.own))
    ways = "1 way" if found.count == 1 else f"{found.count:,} ways"
    words = f"{ways} to write {written!r} in tokens; the tokenizer writes {pieces}"
    arcs = [f"{a} -{' or '.join(said)}-> {b}" for (a, b), said in labels.items()]
    described, alt = "\n".join([words, *arcs]), "; ".join([words, *arcs])
    drawn = machine(figure, layout, {}, {name: "past" for name in own})
    width = max(layout.width + 20, len(words) * 7.6 + 24)
    parts = [
        text(12, 22, words, size=13, bold=True),
        f'<g transform="translate(10 40)">{drawn}</g>',
    ]
    return Snapshot(document(width, layout.height + 50, alt, parts), described, alt)
