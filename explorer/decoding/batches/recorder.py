"""A trace of a generation that somebody else drives, such as `model.generate` of transformers.

The recorder is told, at every step, the logits that were there and the tokens that were taken, and
takes the same steps in one `Walk` per row. So the trace is made by the same code as any other,
and it is also a check: the session draws by itself, from the same numbers.

Cost: that of a session step per row, and the logits on the host.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.decoding.models.model import Prompt, Reading
from explorer.decoding.sampling.sampler import Drawing
from explorer.decoding.stepping.rule import Rule
from explorer.decoding.stepping.walk import Walk
from explorer.decoding.trace.trace import Trace
from explorer.errors import ExplorerError
from explorer.vocabulary import Vocabulary


class _Heard:
    """A language model that repeats the logits that were recorded from another one."""

    def __init__(self, name: str, vocabulary: Vocabulary, prompt_ids: Sequence[int]) -> None:
        self.name = name
        self.vocabulary = vocabulary
        self.prompt_ids = tuple(prompt_ids)
        self.heard: tuple[int, Tensor] | None = None

    def encode_prompt(self, prompt: Prompt) -> tuple[int, ...]:
        return self.prompt_ids

    def read(self, tokens: Sequence[int]) -> Reading:
        position = len(tokens) - len(self.prompt_ids)
        if self.heard is None or self.heard[0] != position:
            raise ExplorerError(
                f"The logits of position {position} were not recorded.",
                remedy="A recorded run cannot be continued; make a Session with the model.",
                evidence={"position": position},
            )
        return Reading(self.heard[1])


class Recorder:
    """Walks that follow a batch."""

    def __init__(
        self,
        name: str,
        rules: Sequence[Rule],
        prompt_ids: Sequence[Sequence[int]],
        drawing: Drawing,
        streams: Sequence[int],
    ) -> None:
        self._models: list[_Heard] = []
        self._walks: list[Walk] = []
        for rule, ids, stream in zip(rules, prompt_ids, streams, strict=True):
            known = [token for token in ids if token < len(rule.vocabulary)]
            data = b"".join(rule.vocabulary.tokens[token] or b"" for token in known)
            model = _Heard(name, rule.vocabulary, ids)
            self._models.append(model)
            self._walks.append(
                Walk(
                    model,
                    None if rule.machine.constraint is None else rule.machine,
                    data.decode("utf-8", errors="replace"),
                    sampler=drawing.sampler,
                    seed=drawing.seed,
                    stream=stream,
                    max_tokens=drawing.max_tokens,
                    masking_budget=drawing.masking_budget,
                )
            )

    def on_step(self, logits: Tensor, tokens: Sequence[int]) -> None:
        """Record one step.

        Args:
            logits: float[B, W], before the mask.
        """
        for model, session, row, token in zip(
            self._models, self._walks, logits, tokens, strict=True
        ):
            if session.finished:
                continue
            model.heard = (session.index, row.to("cpu", torch.float32, copy=True))
            if session.step().token != token:
                # A draw on the boundary between two tokens, which rounding decided otherwise.
                session.back()
                session.step(token=token)

    def traces(self) -> list[Trace]:
        """The traces of what was recorded, one per row.

        A text that was cut off is recorded without its last token, because the model was not asked
        for the logits after it.
        """
        return [trace for trace in self.each() if trace is not None]

    def each(self) -> list[Trace | None]:
        """`traces`, with ``None`` for a row of which nothing was recorded."""
        for session in self._walks:
            if not session.finished and session.index:
                session.back()
        return [
            session.trace if session.index or session.finished else None for session in self._walks
        ]
