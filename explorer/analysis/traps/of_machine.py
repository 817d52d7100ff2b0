"""The traps of a token DFA alone: loops of white space, loops at all, choices that begin with one
token, text that can only be written byte by byte.

Cost: a pass over the table of the machine; for the byte-by-byte check one over the allowed tokens
of at most `MOST_STATES` states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from explorer.analysis.characters.display import show_bytes, show_text, split_tail
from explorer.analysis.traps.trap import Trap
from explorer.analysis.verdict.machine import Machine, machine_of
from explorer.automata.choice import Choice
from explorer.automata.machine import Bool
from explorer.automata.words import is_finite, words
from explorer.tokens.states import NUM_FIXED_CLASSES
from explorer.tokens.token_dfa import TokenDFA

MOST_STATES: Final = 400
"""How many states are looked at token by token."""

MOST_CHOICES: Final = 5_000
"""How many texts of a choice are split into tokens."""

MOST_WORDS: Final = 48
"""How many words of another finite language are."""

FEW_CHARACTERS: Final = 16
"""A place that expects more characters than these means a class, not a character."""


def machine_traps(dfa: TokenDFA) -> tuple[Trap, ...]:
    """The traps that a token DFA holds, whatever the model; worked out once.

    Args:
        dfa: The machine.

    Example:
        >>> from explorer.automata.constraint import regex
        >>> from explorer.tokens.compile import compile
        >>> from explorer.vocabulary import Vocabulary
        >>> vocab = Vocabulary.from_bytes([b" ", b"\\n", b"x"], eos_ids=[3])
        >>> [trap.kind for trap in machine_traps(compile(regex(r"\\s*x"), vocab))]
        ['whitespace_loop']
    """
    known = _known.get(dfa)
    if known is None:
        machine = machine_of(dfa)
        known = _known[dfa] = (
            *_loops(dfa, machine),
            *_shared_first_tokens(dfa),
            *_byte_by_byte(dfa, machine),
        )
    return known


_known: WeakKeyDictionary[TokenDFA, tuple[Trap, ...]] = WeakKeyDictionary()


def _components(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """The strongly connected components that hold a cycle (Tarjan 1972, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    for root in range(len(edges)):
        if root in index:
            continue
        work: list[tuple[int, Iterator[int]]] = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, following = work[-1]
            for target in following:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(edges[target])))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members: list[int] = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        members.append(member)
                        if member == node:
                            break
                    if len(members) > 1 or node in edges[node]:
                        found.append(sorted(members))
    return sorted(found)


def _loops(dfa: TokenDFA, machine: Machine) -> Iterator[Trap]:
    """Every loop is a trap of its own: one of white space only, or one of text."""
    tokens = dfa.vocabulary.tokens
    blank: Bool = np.array([data is not None and not data.strip() for data in tokens], np.bool_)
    # A class may hold white space, parts of a character of white space, and other text.
    has_blank = np.zeros(dfa.num_classes, np.bool_)
    has_blank[dfa.token_class[blank]] = True
    has_text = np.zeros(dfa.num_classes, np.bool_)
    text_ids = [k for k, data in enumerate(tokens) if data is not None and _says_something(data)]
    has_text[dfa.token_class[text_ids]] = True
    columns = np.arange(NUM_FIXED_CLASSES, dfa.num_classes)
    edges = [np.unique(row[row >= 0]).tolist() for row in dfa.table[:, columns]]
    for members in _components(edges):
        inside = np.zeros(dfa.num_states, np.bool_)
        inside[members] = True
        rows = dfa.table[members]
        stays: Bool = np.asarray((inside[np.maximum(rows, 0)] & (rows >= 0)).any(axis=0))
        stays[:NUM_FIXED_CLASSES] = False
        if (stays & has_blank).any() and not (stays & has_text).any():
            yield _whitespace_loop(dfa, machine, members, blank)
        else:
            yield _endless(dfa, machine, members)


def _says_something(data: bytes) -> bool:
    """Whether a token writes a whole character that is no white space."""
    return bool(data.decode(errors="ignore").strip())


def _whitespace_loop(dfa: TokenDFA, machine: Machine, members: list[int], blank: Bool) -> Trap:
    # The tightest state of the loop; worst is one that allows nothing else.
    shares = {q: _share_of(dfa.allowed(q), blank) for q in members[:MOST_STATES]}
    state = max(shares, key=lambda q: (shares[q], -q))
    text = machine.text_to(dfa, state)
    only = shares[state] == 1.0
    ids = np.flatnonzero(dfa.allowed(state) & blank)
    return Trap(
        "whitespace_loop",
        f"After {show_text(text)} white space may be written for ever"
        + (", and nothing else is allowed there." if only else "."),
        "Bound it, for example `[ ]{0,2}` instead of `\\s*`, or leave it out of the pattern.",
        state,
        evidence={
            "states": tuple(members), "text": text, "only_whitespace": only,
            "share_of_mask": shares[state], "tokens": tuple(ids[:8].tolist()),
        },
    )  # fmt: skip


def _share_of(mask: Bool, some: Bool) -> float:
    count = int(mask.sum())
    return int((mask & some).sum()) / count if count else 0.0


def _endless(dfa: TokenDFA, machine: Machine, members: list[int]) -> Trap:
    state = members[0]
    may_end = bool(dfa.accepting[members].any())
    text = machine.text_to(dfa, state)
    return Trap(
        "endless",
        f"After {show_text(text)} the text can go on for ever"
        + (", though it may also end." if may_end else " without being complete."),
        "Bound the repeat, such as `{1,40}` for `+`, or give max_tokens, which ends it in time.",
        state,
        evidence={"states": tuple(members), "text": text, "may_end": may_end},
    )


def _shared_first_tokens(dfa: TokenDFA) -> Iterator[Trap]:
    """Texts of which several, as the tokenizer writes them, begin with one token."""
    source = dfa.constraint.source
    noun = "choices" if isinstance(source, Choice) else "texts"
    if isinstance(source, Choice) and len(source.texts) <= MOST_CHOICES:
        found = source.texts
    elif is_finite(dfa.constraint.dfa):
        # However it is written, a language of few words is a choice.
        first = list(islice(words(dfa.constraint.dfa), MOST_WORDS + 1))
        if len(first) > MOST_WORDS:
            return
        found = tuple(word.decode() for word in first)
    else:
        return
    by_token: dict[int, list[str]] = {}
    for text in found:
        ids = dfa.vocabulary.encode(text) if text else None
        if ids and dfa.step(dfa.start, ids[0]) is not None:
            by_token.setdefault(ids[0], []).append(text)
    for token, texts in by_token.items():
        # One that only goes on where another ends is no other alternative.
        if not all(b.startswith(a) for a, b in pairwise(sorted(texts))):
            data = dfa.vocabulary.tokens[token] or b""
            yield Trap(
                "shared_first_token",
                f"{len(texts)} {noun} begin with the token {show_text(data)}: "
                f"{', '.join(map(repr, texts[:4]))}. A model that likes one of them lends its "
                f"first token to the others, and one token at a time cannot take it back.",
                f"Compare whole {noun} by their total probability, or name them so that they "
                "differ from the first token on.",
                dfa.start,
                evidence={"token": token, "texts": tuple(texts)},
            )


def _byte_by_byte(dfa: TokenDFA, machine: Machine) -> Iterator[Trap]:
    """Characters that no single token writes where they are expected; each is named once.

    Wide classes always hold such characters; only places that expect few are looked at.
    """
    reported: set[int] = set()
    for state in range(min(dfa.num_states, MOST_STATES)):
        text = machine.text_to(dfa, state)
        if split_tail(text)[1]:
            continue
        chars = machine.characters.expected(int(dfa.char_state[state]))
        if chars.size() > FEW_CHARACTERS:
            continue
        mask = dfa.allowed(state)
        for code in (c for low, high in chars.ranges for c in range(low, high + 1)):
            data = chr(code).encode()
            if code in reported or len(data) == 1 or mask[machine.words.starting_with(data)].any():
                continue
            begins = machine.words.starting_with(data[:1])
            halves = begins[mask[begins]]
            if len(halves):  # Otherwise it cannot be written at all, which is no trap.
                reported.add(code)
                yield Trap(
                    "byte_by_byte",
                    f"After {show_text(text)} the character {show_text(data)} can only be written "
                    f"in parts: {show_bytes(data)}.",
                    "Expect low probabilities there. If it is not needed, leave it out of the "
                    "pattern; if it is, a tokenizer that has it is better.",
                    state,
                    evidence={
                        "text": text,
                        "character": chr(code),
                        "tokens": tuple(halves.tolist()),
                    },
                )
