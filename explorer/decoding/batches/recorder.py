"""Records traces of a generation that another library drives, such as `model.generate`.

At every step the recorder receives the logits and the chosen tokens, and repeats the step in one
`Walk` per row. So the trace is made by the same code as any other, which is also a check: the walk
draws the token itself from the same random numbers.

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
    """A language model that replays recorded logits of another one."""

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
    """One walk for each row of a batch, which repeats its steps."""

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
            if session.sampled().token != token:
                # The draw was at the boundary of two tokens, and rounding decided differently.
                session.back()
                session.step(token=token)

    def traces(self) -> list[Trace]:
        """The trace of each recorded row.

        A text that was cut off is recorded without its last token, because the model did not
        compute the logits after it.
        """
        return [trace for trace in self.each() if trace is not None]

    def each(self) -> list[Trace | None]:
        """The trace of each row; ``None`` for a row without recorded steps."""
        for session in self._walks:
            if not session.finished and session.index:
                session.back()
        return [
            session.trace if session.index or session.finished else None for session in self._walks
        ]
