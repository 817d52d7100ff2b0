"""Ask the tiny model: probabilities, greedy answers, samples, and walks inside a choice.

The measurements of `evaluate` and the tests use these few functions and nothing of the engine:
what is allowed inside a choice is found by brute force over the vocabulary, on decoded text. So
the model card does not depend on the code that it is meant to teach.
"""

# transformers types its models and tokenizers loosely.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoTokenizer, LlamaForCausalLM

from models.kinds import BYTE_LEVEL, Kind

ENDS = (BYTE_LEVEL.end, BYTE_LEVEL.turn)
"""The ids that end a generation of the first model."""


class Probe:
    """The model and its tokenizer, loaded from a folder.

    Args:
        kind: Which model; default the first one.
        folder: The folder that `train` wrote to; default the shipped model.
    """

    kind: Kind = BYTE_LEVEL

    def __init__(self, kind: Kind = BYTE_LEVEL, folder: Path | None = None) -> None:
        folder = folder or kind.folder
        self.kind = kind
        self.model = LlamaForCausalLM.from_pretrained(folder, local_files_only=True).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        count = len(self.tokenizer)
        # Decoding ids one by one is exact for the ASCII options that `allowed` compares with,
        # except that a SentencePiece-style decoder removes the space at the start of a text.
        (letter,) = self.tokenizer.convert_tokens_to_ids(["a"])
        self.texts: list[str] = [
            self.tokenizer.decode([letter, token])[1:] for token in range(count)
        ]

    def encode(self, text: str) -> list[int]:
        """The ids of a prompt, with the start mark."""
        return list(self.tokenizer(text).input_ids)

    @torch.inference_mode()
    def next(self, ids: Sequence[int]) -> Tensor:
        """float32[tokens]: the model's probabilities of the next token."""
        logits: Tensor = self.model(input_ids=torch.tensor([list(ids)])).logits[0, -1]
        return logits.float().softmax(-1)

    def top(self, prompt: str, count: int = 5) -> list[tuple[str, float]]:
        """The likeliest next tokens and their probabilities."""
        values, tokens = self.next(self.encode(prompt)).topk(count)
        return [(self.texts[t], v) for v, t in zip(values.tolist(), tokens.tolist(), strict=True)]

    @torch.inference_mode()
    def answers(
        self, prompt: str, *, count: int = 1, temperature: float = 0.0, limit: int = 60
    ) -> list[str]:
        """Unconstrained answers, up to the end mark or ``limit`` tokens.

        Args:
            prompt: The text before.
            count: The number of answers; all are drawn in one batch.
            temperature: 0 is greedy; otherwise the whole distribution is sampled from, with
                torch's global generator.
            limit: The most tokens.
        """
        ids = torch.tensor([self.encode(prompt)])
        how = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
        # The declared protocol of `generate` has attributes that no Llama model has.
        written = self.model.generate(  # pyright: ignore[reportAttributeAccessIssue]
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=limit,
            num_return_sequences=count,
            **(how if temperature > 0 else {"do_sample": False}),
        )[:, ids.shape[1] :]
        ends = (self.kind.end, self.kind.turn)
        # After a token, because the space at the start of an answer belongs to it.
        (letter,) = self.tokenizer.convert_tokens_to_ids(["a"])
        return [
            self.tokenizer.decode([letter, *_before_end(row.tolist(), ends)])[1:] for row in written
        ]

    def allowed(self, options: Sequence[str], written: str) -> list[int]:
        """The tokens after which some option can still be finished, by brute force."""
        rests = [option[len(written) :] for option in options if option.startswith(written)]
        return [
            token
            for token, text in enumerate(self.texts)
            if text and any(rest.startswith(text) for rest in rests)
        ]

    def feasible_mass(self, prompt: str, options: Sequence[str]) -> float:
        """Z at the first token: the model's probability on tokens that some option allows."""
        return float(self.next(self.encode(prompt))[self.allowed(options, "")].sum())

    def greedy_choice(self, prompt: str, options: Sequence[str]) -> str:
        """Constrained greedy decoding: the likeliest allowed token, until an option is complete.

        No option may be a prefix of another one.
        """
        ids, written = self.encode(prompt), ""
        while written not in options:
            tokens = self.allowed(options, written)
            best = tokens[int(self.next(ids)[tokens].argmax())]
            ids.append(best)
            written += self.texts[best]
        return written

    def whole(self, prompt: str, option: str, floor: float = 1e-9) -> float:
        """The model's probability of going on with ``option``, over all its tokenizations.

        Args:
            prompt: The text before.
            option: The continuation.
            floor: Paths whose probability is lower than this are left out.
        """

        def rest(ids: list[int], written: str, so_far: float) -> float:
            if written == option:
                return so_far
            probabilities = self.next(ids)
            return sum(
                rest([*ids, token], written + self.texts[token], so_far * step)
                for token in self.allowed([option], written)
                if so_far * (step := float(probabilities[token])) > floor
            )

        return rest(self.encode(prompt), "", 1.0)

    @torch.inference_mode()
    def log_loss(self, encoded: Iterable[Sequence[int]]) -> tuple[float, int]:
        """Cross-entropy of whole documents, each alone from its start mark.

        Returns:
            The sum in nats, and the number of predicted tokens.
        """
        total, count = 0.0, 0
        # A batch holds documents of one length, so that nothing is padded.
        by_length: dict[int, list[Sequence[int]]] = {}
        for ids in encoded:
            by_length.setdefault(len(ids), []).append(ids)
        for same in by_length.values():
            for first in range(0, len(same), 64):
                ids = torch.tensor(same[first : first + 64])
                logits: Tensor = self.model(input_ids=ids).logits[:, :-1].float()
                targets = ids[:, 1:]
                loss = torch.nn.functional.cross_entropy(
                    logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), reduction="sum"
                )
                total += float(loss)
                count += targets.numel()
        return total, count


def _before_end(ids: list[int], ends: tuple[int, ...]) -> list[int]:
    return next((ids[:i] for i, token in enumerate(ids) if token in ends), ids)
