"""Traps: what makes constrained decoding go wrong although every mask is right.

A mask says which tokens are possible, not which make sense. Two places to look:

`machine_traps` looks at a token DFA alone: loops of white space, loops at all, choices that begin
with one token, text that can only be written byte by byte.

`session_traps` looks at a run: a feasible mass that stays tiny, a token that was likely for the
sake of a continuation that is masked, a prompt that ends where a token should have gone on,
complete texts where the model never means to stop.

Every trap has its evidence and a remedy. None is an error: a loop may be what is wanted.

Cost: a pass over the table of the machine; for the byte-by-byte check one over the allowed tokens
of at most `MOST_STATES` states. A session's traps cost a pass over its trace.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from explorer.analysis.characters import show_bytes, show_text, split_tail
from explorer.analysis.machine import Machine, machine_of
from explorer.automata.machine import Bool, Dfa
from explorer.automata.source import Choice
from explorer.automata.words import is_finite, words
from explorer.tokens.states import NUM_FIXED_CLASSES
from explorer.tokens.token_dfa import TokenDFA
from explorer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from explorer.decoding.trace import Trace

Kind = Literal[
    "whitespace_loop",
    "endless",
    "shared_first_token",
    "byte_by_byte",
    "tiny_mass",
    "greedy_trap",
    "prompt_boundary",
    "unlikely_end",
]

MOST_STATES: Final = 400
"""How many states are looked at token by token."""

MOST_CHOICES: Final = 5_000
"""How many texts of a choice are split into tokens."""

MOST_WORDS: Final = 48
"""How many words of another finite language are."""

TINY_MASS: Final = 0.01
"""Below this feasible mass the model is made to say what it does not mean."""

TINY_STEPS: Final = 3
"""For how many steps in a row."""

FEW_CHARACTERS: Final = 16
"""A place that expects more characters than these means a class, not a character."""

LIKED: Final = 0.25
"""A token of at least this model probability was the model's own wish."""

LET_DOWN: Final = 0.05
"""A feasible mass below this, right after such a token: what the model wished for is masked."""

UNLIKELY_END: Final = 0.01
"""A probability of EOS below this, under the constraint, in every complete text."""

ENDS_SEEN: Final = 4
"""In how many complete texts at least."""


@dataclass(frozen=True)
class Trap:
    """One thing that may go wrong.

    Args:
        kind: Which; see the module.
        message: What it is, in a sentence or two.
        remedy: What could be done.
        state: The token state it is about, if one.
        position: The position of the trace it is about, if one.
        evidence: Values that show it.
    """

    kind: Kind
    message: str
    remedy: str
    state: int | None = None
    position: int | None = None
    evidence: Mapping[str, object] = field(default_factory=dict[str, object])

    def __str__(self) -> str:
        where = "" if self.position is None else f"at position {self.position}: "
        return f"{where}{self.message} {self.remedy}"

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "kind": self.kind, "message": self.message, "remedy": self.remedy,
            "state": self.state, "position": self.position, "evidence": dict(self.evidence),
        }  # fmt: skip


# --- the machine alone ---------------------------------------------------------------------------


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


# --- a run --------------------------------------------------------------------------------------


def session_traps(dfa: TokenDFA, trace: Trace) -> tuple[Trap, ...]:
    """The traps that a run fell into, or stands before.

    Args:
        dfa: The machine of the run.
        trace: The run. Without a model's probabilities only the prompt can be looked at.
    """
    prompt = trace.prompt if isinstance(trace.prompt, str) else None
    return (
        *prompt_traps(dfa.vocabulary, prompt, dfa.allowed(dfa.start)),
        *_tiny_mass(trace),
        *_greedy_traps(dfa, trace),
        *_unlikely_ends(dfa, trace),
    )


@lru_cache(maxsize=4)
def _joined(vocabulary: Vocabulary) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tokens that hold a space and a word's begin, and pairs with the ids that write the rest.

    Worked out once per vocabulary, because it is asked for at every step.
    """
    joined: list[int] = []
    pairs: list[tuple[int, int]] = []
    for token, data in enumerate(vocabulary.tokens):
        if data is not None and data[:1] == b" " and data[1:2].isalnum():
            joined.append(token)
            pairs += [(token, rest) for rest in vocabulary.ids_of(data[1:])]
    return np.array(joined, np.int64), np.array(pairs, np.int64).reshape(-1, 2)


def prompt_traps(
    vocabulary: Vocabulary, prompt: str | None, allowed: Bool | None = None
) -> tuple[Trap, ...]:
    """Whether a prompt ends where a token should have gone on, as before a space.

    Args:
        vocabulary: The tokens.
        prompt: The prompt; ``None`` for none.
        allowed: bool[ids], the first mask: only tokens that it makes impossible to join count.

    Example:
        >>> vocab = Vocabulary.from_bytes([b"The", b" ", b" cat", b"cat"], eos_ids=[4])
        >>> [trap.kind for trap in prompt_traps(vocab, "The ")]
        ['prompt_boundary']
    """
    if not prompt:
        return ()
    stripped = prompt.rstrip(" ")
    tail = prompt[len(stripped) :]
    if not tail:
        return ()
    # One token would have held the space and what comes after it.
    joined, pairs = _joined(vocabulary)
    found = joined if allowed is None else np.unique(pairs[allowed[pairs[:, 1]], 0])
    lost: list[int] = found.tolist()
    if not lost:
        return ()
    shown = ", ".join(show_text(vocabulary.tokens[token] or b"") for token in lost[:3])
    return (
        Trap(
            "prompt_boundary",
            f"The prompt ends in white space, but this tokenizer writes a space together "
            f"with the word after it ({shown}, {len(lost):,} such tokens). The model has hardly "
            f"ever seen a word begin after a lone space.",
            "End the prompt before the space, and let the constraint begin with it.",
            position=0,
            evidence={"tail": tail, "tokens": tuple(lost[:8]), "count": len(lost)},
        ),
    )


def _tiny_mass(trace: Trace) -> Iterator[Trap]:
    run: list[int] = []
    # A last position without a distribution closes a run that reaches the end.
    masses = [
        None if position.distribution is None else position.distribution.z
        for position in trace.positions
    ]
    for k, z in enumerate([*masses, None]):
        if z is not None and z < TINY_MASS:
            run.append(k)
            continue
        if len(run) >= TINY_STEPS:
            values = [masses[i] or 0.0 for i in run]
            yield Trap(
                "tiny_mass",
                f"For {len(run)} steps the model gives the allowed tokens less than "
                f"{100 * TINY_MASS:.0f}% of its probability (least {min(values):.1e}): it is made "
                f"to write what it does not mean.",
                "Ask for this form in the prompt, or allow the form that the model prefers.",
                position=run[0],
                evidence={"positions": tuple(run), "z": tuple(values)},
            )
        run = []


def _greedy_traps(dfa: TokenDFA, trace: Trace) -> Iterator[Trap]:
    """A token that the model liked, and right after it nothing of what it liked it for.

    Only where something was lost: if every text goes on through the state that the token led to,
    as within a fixed piece of JSON, another token would have come to the same place. And only where
    the model wished for text: that it wants to end is no reason for the token before.
    """
    for step, after in zip(trace.steps, trace.positions[1:], strict=True):
        liked = step.log_prob_model is not None and math.exp(step.log_prob_model) >= LIKED
        found = after.distribution
        if not liked or found is None or found.z >= LET_DOWN:
            continue
        # A complete text is no trap, and what the token budget takes away is not the constraint's.
        if after.state < 0 or dfa.accepting[after.state] or after.over_budget:
            continue
        tokens = dfa.vocabulary.tokens
        wished = tokens[found.first_choice] if found.first_choice < len(tokens) else None
        here, there = (int(dfa.char_state[q]) for q in (step.before.state, after.state))
        if wished is None or not _avoidable(dfa.constraint.dfa, here, there):
            continue
        yield Trap(
            "greedy_trap",
            f"{show_text(step.data or b'')} was likely for the sake of a continuation that is "
            f"masked: after it the model wants {show_text(wished)}, and the allowed tokens "
            f"have {100 * found.z:.2g}% of its probability.",
            "Compare whole alternatives by their total probability, or choose words for them that "
            "the model does not begin for another reason.",
            state=step.before.state,
            position=step.index,
            evidence={
                "token": step.token, "log_prob": step.log_prob_model, "z_after": found.z,
                "wished": found.first_choice,
            },
        )  # fmt: skip


def _avoidable(dfa: Dfa, begin: int, state: int) -> bool:
    """Whether a text can be finished from one character state without passing another."""
    if begin == state:
        return False
    seen = np.zeros(dfa.num_states, np.bool_)
    seen[[begin, state]] = True
    waiting = [begin]
    while waiting:
        here = waiting.pop()
        if dfa.accepting[here]:
            return True
        targets = np.unique(dfa.table[here])
        targets = targets[targets >= 0]
        fresh = targets[~seen[targets]]
        seen[fresh] = True
        waiting += fresh.tolist()
    return False


def _unlikely_ends(dfa: TokenDFA, trace: Trace) -> Iterator[Trap]:
    """Complete texts, several of them, in which EOS never has a chance."""
    seen: list[tuple[int, float]] = []
    for position in trace.positions:
        found = position.distribution
        if found is None or position.state < 0 or not dfa.accepting[position.state]:
            continue
        if position.over_budget:
            continue  # The end is near because the tokens run out.
        if position.num_allowed <= len(dfa.vocabulary.eos_ids):
            return  # Here the end is forced.
        known = [found.candidate(token) for token in dfa.vocabulary.eos_ids]
        # What is not among the candidates is less likely than all of them.
        best = max((math.exp(c.constrained) for c in known if c is not None), default=0.0)
        if best >= UNLIKELY_END:
            return
        seen.append((position.index, best))
    if len(seen) >= ENDS_SEEN:
        yield Trap(
            "unlikely_end",
            f"The text was complete at {len(seen)} positions, and the end of text never had "
            f"{100 * UNLIKELY_END:.0f}% of the probability: the model does not know that it should "
            f"stop here.",
            "Bound the repeat, give max_tokens, or show in the prompt how an answer ends.",
            position=seen[0][0],
            evidence={
                "positions": tuple(k for k, _ in seen), "probability": tuple(p for _, p in seen),
            },
        )  # fmt: skip
