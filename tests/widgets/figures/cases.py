"""Sessions to draw: the toy of the design, and models that are a table or a hash."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from functools import cache

import numpy as np
import torch

import explorer
from explorer.analysis.session import Session
from explorer.decoding.models.model import Prompt, Reading

TOY = [b"f", b"oo", b"foo", b"for", b"food"]
TOY_PROBABILITIES = [0.08, 0.06, 0.34, 0.20, 0.22, 0.10]


class Table:
    """The same probabilities everywhere."""

    name = "table"

    def __init__(self, vocabulary: explorer.Vocabulary, probabilities: Sequence[float]) -> None:
        self.vocabulary = vocabulary
        self.logits = torch.tensor([math.log(p) for p in probabilities])

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        return ()

    def read(self, tokens: Sequence[int]) -> Reading:
        return Reading(self.logits)


class Hash:
    """Logits that depend on the ids and nothing else; any vocabulary."""

    name = "hash"

    def __init__(self, vocabulary: explorer.Vocabulary) -> None:
        self.vocabulary = vocabulary

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        return ()

    def read(self, tokens: Sequence[int]) -> Reading:
        seed = zlib.crc32(repr(list(tokens)).encode())
        numbers = np.random.default_rng(seed).normal(0, 3, len(self.vocabulary))
        return Reading(torch.from_numpy(numbers.astype(np.float32)))


@cache
def toy_vocabulary() -> explorer.Vocabulary:
    return explorer.Vocabulary.from_bytes(TOY, eos_ids=[5])


@cache
def toy_dfa() -> explorer.TokenDFA:
    return explorer.compile(explorer.regex("(foo)+d"), toy_vocabulary())


def toy_session() -> Session:
    """The design's still: after ``foo``, with ``food`` taken next."""
    session = Session(Table(toy_vocabulary(), TOY_PROBABILITIES), toy_dfa())
    session.step("foo")
    session.step("food")
    session.step()
    return session


def hash_session(vocabulary: explorer.Vocabulary, pattern: str, steps: int = 3) -> Session:
    """A few steps of a constraint on any vocabulary."""
    session = Session(
        Hash(vocabulary), explorer.regex(pattern), sampler=explorer.Sampler(1.0), seed=1
    )
    session.run(steps)
    return session
