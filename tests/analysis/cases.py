"""One random case of the explainer against the oracle; shared by the short and the long run."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable

import numpy as np

import explorer
from explorer.analysis.explaining.explanation import Explanation, explain
from explorer.automata.machine import run
from explorer.automata.words import shortest_word
from explorer.errors import EmptyConstraint, IncompatibleVocabulary
from tests.analysis.oracle import ReasonOracle
from tests.patterns import ALPHABET
from tests.tokens.oracle import language

LONGEST = 3
BOUND = f"[{ALPHABET}]{{0,{LONGEST}}}"
SPECIAL = "<special>"

Explain = Callable[[explorer.TokenDFA, int, int, bytes], Explanation]


def plain(dfa: explorer.TokenDFA, state: int, token: int, text: bytes) -> Explanation:
    return explain(dfa, state, token, text=text)


def slices(words: frozenset[bytes], count: int, seed: int) -> list[bytes]:
    """Pieces of words, cut anywhere, also within a character: tokens that have something to say."""
    rng = random.Random(seed)
    listed = sorted(word for word in words if word)
    found: list[bytes] = []
    while listed and len(found) < count:
        word = rng.choice(listed)
        begin = rng.randrange(len(word))
        found.append(word[begin : rng.randint(begin + 1, len(word))])
    return found


def build(
    pattern: str, tokens: list[bytes | None], seed: int, count: int = 8
) -> tuple[explorer.TokenDFA, ReasonOracle] | None:
    """The machine and the oracle of a bounded pattern; ``None`` where nothing can be written."""
    tokens = [*tokens, *slices(language(pattern, ALPHABET, LONGEST), count, seed)]
    eos = len(tokens)
    listed = [*tokens, None, None, b"", None]
    vocabulary = explorer.Vocabulary(
        (*tokens, None, None, None, None), (eos,), special={eos: "</s>", eos + 1: SPECIAL},
        empty_ids=frozenset([eos + 2]),
    )  # fmt: skip
    oracle = ReasonOracle(language(pattern, ALPHABET, LONGEST), listed, [eos])
    bounded = explorer.regex(pattern) & explorer.regex(BOUND)
    try:
        return explorer.compile(bounded, vocabulary), oracle
    except (EmptyConstraint, IncompatibleVocabulary):
        assert b"" not in oracle.finishable
        return None


def wrongs(
    pattern: str,
    dfa: explorer.TokenDFA,
    oracle: ReasonOracle,
    tally: Counter[str],
    explainer: Explain = plain,
    places: int = 12,
    lazy: bool = True,
) -> list[tuple[object, ...]]:
    """The differences from the oracle, over all tokens at some places."""
    wrong: list[tuple[object, ...]] = []
    queue: list[tuple[int, bytes]] = [(dfa.start, b"")]
    seen = {b""}
    for place, (state, prefix) in enumerate(queue):
        if place >= places:
            break
        for token in range(-1, len(dfa.vocabulary) + 1):
            found = explainer(dfa, state, token, prefix)
            for name, got, wanted in compared(found, oracle, prefix, token):
                if got != wanted:
                    wrong.append((pattern, prefix, token, name, got, wanted))
            tally[found.stage] += 1
            tally["cases"] += 1
            wrong += evidence(pattern, found, prefix)
            if lazy and place < 3:
                wrong += searched(pattern, found, oracle, prefix, token, tally)
            data = dfa.vocabulary.tokens[token] if 0 <= token < len(dfa.vocabulary) else None
            if found.allowed and data and prefix + data not in seen:
                following = dfa.step(state, token)
                if following is not None:
                    seen.add(prefix + data)
                    queue.append((following, prefix + data))
    return wrong


def compared(
    found: Explanation, oracle: ReasonOracle, prefix: bytes, token: int
) -> list[tuple[str, object, object]]:
    """Each fact with what it must be."""
    inside = 0 <= token < len(oracle.tokens)
    data = (oracle.tokens[token] if inside else None) or b""
    offset = oracle.failing_offset(prefix, data)
    read = data[:offset]
    facts: list[tuple[str, object, object]] = [
        ("stage", found.stage, oracle.stage(prefix, token)),
        ("offset", found.byte_offset, offset),
        ("expected", found.expected, oracle.expected(prefix + read)),
        ("writable", found.writable, oracle.writable(prefix, read)),
        (
            "characters",
            found.char_offset,
            None if offset is None else oracle.char_offset(prefix, data, offset),
        ),
    ]
    if (dead := found.verdict.dead_end) is not None:
        rest = dead.witness[len(prefix + data) :]
        far = max(n for n in range(len(rest) + 1) if oracle.spells(rest[:n]))
        facts.append(("furthest", dead.offset, len(prefix + data) + far))
    if inside:
        facts.append(("allowed", found.allowed, bool(found.machine.allowed(found.state)[token])))
    return facts


def matches(pattern: str, word: bytes) -> bool:
    """Whether bytes are a text that ``re`` matches in full."""
    return re.fullmatch(pattern, word.decode(errors="replace")) is not None


def evidence(pattern: str, found: Explanation, prefix: bytes) -> list[tuple[object, ...]]:
    """Witness words must be words, of what they are said to be words of."""
    wrong: list[tuple[object, ...]] = []
    verdict = found.verdict
    if verdict.dead_end is not None:
        word = verdict.dead_end.witness.decode(errors="replace")
        if not (re.fullmatch(pattern, word) and re.fullmatch(BOUND, word)):
            wrong.append((pattern, prefix, found.token, "dead end", word))
        if not word.encode().startswith(prefix + (verdict.data or b"")):
            wrong.append((pattern, prefix, found.token, "dead end elsewhere", word))
    longer = verdict.read
    if verdict.failing_byte is not None:
        longer += bytes([verdict.failing_byte])
    for part in found.parts:
        if part.role == "combination" and part.words:
            mine, bound = part.words
            if not (matches(pattern, mine) and matches(BOUND, bound)):
                wrong.append((pattern, prefix, found.token, "combination", part.words))
            if not (mine.startswith(longer) and bound.startswith(longer)):
                wrong.append((pattern, prefix, found.token, "combination elsewhere", part.words))
        elif part.role == "excludes":
            # Without the assertion the pattern would go on: the word shows that it starts so.
            if not part.words[0].startswith(longer):
                wrong.append((pattern, prefix, found.token, "excludes elsewhere", part.words))
            where = part.positions[0]
            less = pattern[: where.start] + "(?:)" + pattern[where.end :]
            if not matches(less, part.words[0]):
                wrong.append((pattern, prefix, found.token, "excludes", less, part.words))
    if found.stage in ("constraint", "end_of_text") and not found.parts and found.expected:
        wrong.append((pattern, prefix, found.token, "no part"))
    return wrong


def searched(
    pattern: str,
    found: Explanation,
    oracle: ReasonOracle,
    prefix: bytes,
    token: int,
    tally: Counter[str],
) -> list[tuple[object, ...]]:
    """The lazy parts: `after`, `nearest`, `completion`, `cause`."""
    wrong: list[tuple[object, ...]] = []
    dfa = found.machine
    assert isinstance(dfa, explorer.TokenDFA)
    steps = oracle.steps_to(prefix, token)
    after = found.after
    if (None if after is None else len(after)) != steps:
        wrong.append((pattern, prefix, token, "after", after, steps))
    if after:
        states = dfa.walk(after, found.state)
        if len(states) != len(after) + 1 or dfa.step(states[-1], token) is None:
            wrong.append((pattern, prefix, token, "after does not lead there", after))
    mask = dfa.allowed(found.state)
    if not all(mask[near] for near in found.nearest):
        wrong.append((pattern, prefix, token, "nearest is masked", found.nearest))
    data = found.verdict.data or b""
    best = max((common(data, oracle.tokens[k] or b"") for k in np.flatnonzero(mask) if k != token),
               default=None)  # fmt: skip
    if found.nearest and common(data, oracle.tokens[found.nearest[0]] or b"") != best:
        wrong.append((pattern, prefix, token, "nearer", found.nearest, best))
    if found.completion is not None:
        text = found.completion.text
        if text not in oracle.complete:
            wrong.append((pattern, prefix, token, "completion", text))
        forced = prefix + data + found.completion.forced
        if any(
            word.startswith(prefix + data) and not word.startswith(forced) for word in oracle.words
        ):
            wrong.append((pattern, prefix, token, "not forced", forced))
    if found.cause is not None and not found.cause.is_everyday:
        tally["widened"] += 1
        wide = found.cause.constraint
        machine = wide.dfa
        there = int(run(machine, machine.start, prefix + data)[-1])
        word = (prefix + data + (shortest_word(machine, there) if there >= 0 else b"")).decode()
        patterns = [each.text for each in wide.source.children or (wide.source,)]
        if there < 0 or not all(re.fullmatch(each, word) for each in patterns):
            wrong.append((pattern, prefix, token, "cause", patterns, word))
    return wrong


def common(a: bytes, b: bytes) -> int:
    """The length of the longest common prefix."""
    return next(
        (k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
