"""A language model need not be a transformer: here the code lengths of a compressor are logits."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import torch

import explorer
from explorer.analysis.session import Session
from explorer.decoding.models.model import LanguageModel, Prompt, Reading
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.trace import from_json
from explorer.decoding.trace.writing import to_json
from explorer.vocabulary import Vocabulary

LINES = b"the cat sat on the mat. the dog sat on the log. the cow sat on the cat. "


class Compressor:
    """A token is as likely as it is cheap to say after what was said, given some lines."""

    name = "zlib"

    def __init__(self) -> None:
        pieces = [b"the ", b"cat ", b"dog ", b"cow ", b"sat ", b"on ", b"mat. ", b"log. ", b"xyz "]
        self.vocabulary = Vocabulary.from_bytes([*pieces, None], eos_ids=[len(pieces)])

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        words = [f"{word} ".encode() for word in str(prompt).split()]
        return tuple(self.vocabulary.ids_of(word)[0] for word in words)

    def bits(self, tokens: Sequence[int]) -> int:
        text = b"".join(self.vocabulary.tokens[token] or b"\n" for token in tokens)
        return 8 * len(zlib.compress(LINES + text, 9))

    def read(self, tokens: Sequence[int]) -> Reading:
        before = self.bits(tokens)
        cost = [self.bits([*tokens, token]) - before for token in range(len(self.vocabulary))]
        # Natural logits: a bit is log 2.
        return Reading(-torch.tensor(cost, dtype=torch.float32) * torch.log(torch.tensor(2.0)))


def test_a_compressor_is_a_language_model() -> None:
    model = Compressor()
    assert isinstance(model, LanguageModel)
    logits = model.read(model.encode_prompt("the cat sat")).logits
    known, unknown = (model.vocabulary.ids_of(word)[0] for word in (b"on ", b"xyz "))
    assert logits[known] > logits[unknown]


def test_it_steps_under_a_constraint_like_any_other() -> None:
    constraint = explorer.regex("(the (cat|dog|cow) sat on the (mat|log)[.] )+")
    for seed in range(10):
        session = Session(
            Compressor(), constraint, "the", sampler=Sampler(1.0), seed=seed, max_tokens=20
        )
        trace = session.run()
        assert trace.finished and constraint.accepts(trace.text)
        assert from_json(to_json(trace)) == trace
        # "sat", "on" and "the" follow from the constraint alone.
        assert sum(step.forced for step in trace.steps) >= 3
