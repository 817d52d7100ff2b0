"""Canonical tokenization, by the tokenizers' own libraries.

The oracle is the definition: a sequence is canonical if encoding its text gives it back. The
library encodes; a dummy prefix is kept off by a tokenizer without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from tokenizers import Tokenizer, pre_tokenizers

import explorer
from explorer.tokens.machine import TokenMachine

Encode = Callable[[str], tuple[int, ...]]


def by_tokenizers(tokenizer: Tokenizer) -> Encode:
    """The library `tokenizers`; Metaspace without its prefix."""
    own = Tokenizer.from_str(tokenizer.to_str())
    if isinstance(own.pre_tokenizer, pre_tokenizers.Metaspace):
        own.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    return lambda text: tuple(own.encode(text, add_special_tokens=False).ids)


def by_mistral_common(path: Path) -> Encode:
    """Mistral's own Tekken."""
    tekken = Tekkenizer.from_file(path)
    return lambda text: tuple(tekken.encode(text, bos=False, eos=False))


def paths(machine: TokenMachine, most: int = 20_000) -> Iterator[tuple[int, ...]]:
    """All complete paths of a machine of a finite constraint; a dead end is an error."""
    ends = machine.vocabulary.eos_ids
    stack: list[tuple[tuple[int, ...], int]] = [((), machine.start)]
    for _ in range(most):
        if not stack:
            return
        path, state = stack.pop()
        tokens = machine.allowed(state).nonzero()[0].tolist()
        assert tokens, f"a dead end after {path}"
        if machine.is_final(state):
            assert set(ends) <= set(tokens)
            yield path
        for token in tokens:
            if token not in ends:
                target = machine.step(state, token)
                assert target is not None
                stack.append(((*path, token), target))
    raise AssertionError("there are more paths than were expected")


def sampled(machine: TokenMachine, random: Random, most: int) -> tuple[int, ...] | None:
    """A path by chance, ended where it may end; ``None`` if it grew longer than wanted."""
    state = machine.start
    path: tuple[int, ...] = ()
    ends = machine.vocabulary.eos_ids
    while len(path) < most:
        tokens = machine.allowed(state).nonzero()[0]
        if machine.is_final(state) and (len(tokens) == len(ends) or random.random() < 0.3):
            return path
        texts = [token for token in random.choices(tokens.tolist(), k=8) if token not in ends]
        # Short tokens are rare, and the splits of words are at them.
        tokens_by_length = sorted(texts, key=lambda t: len(machine.vocabulary.tokens[t] or b""))
        if not tokens_by_length:
            continue
        token = tokens_by_length[0] if random.random() < 0.5 else texts[0]
        target = machine.step(state, token)
        assert target is not None, "the mask allows what the step refuses"
        state, path = target, (*path, token)
    return None


def written(vocabulary: explorer.Vocabulary, path: tuple[int, ...]) -> bytes:
    """The bytes of some tokens."""
    return b"".join(vocabulary.tokens[token] or b"" for token in path)


def accepts(machine: TokenMachine, path: tuple[int, ...]) -> bool:
    """Whether a machine takes some tokens and may end; every mask on the way agrees."""
    state = machine.start
    for token in path:
        target = machine.step(state, token)
        assert bool(machine.allowed(state)[token]) == (target is not None)
        if target is None:
            return False
        state = target
    return machine.is_final(state)
