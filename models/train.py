"""Train the tiny model: corpus → tokenizer → weights, in one command.

A Llama-architecture model of 1.3 million parameters in float32, small enough to travel with the
package (5.3 MB) and large enough to know the tables in `facts` by heart. Every document is seen
once: the stream is long enough that no row is repeated, so the training loss is honest too.

    python -m models.train

writes ``tokenizer.json``, ``tokenizer_config.json``, ``config.json``, ``generation_config.json``
and ``model.safetensors`` into the folder of the embedded model, and ``loss.csv`` beside this file.
The shipped weights took 19 minutes on two busy cores; the fastest steps took 0.24 seconds.
On busy cores set ``OMP_WAIT_POLICY=PASSIVE``, or threads spin while they wait for each other.

Seeds and the number of threads are fixed, so the first steps give the same result everywhere, to
within float rounding. The differences between processors grow over hundreds of steps, so the last
digits of the weights may differ.

Documents are packed into rows of `ROW` tokens. Attention and positions start anew at every
``<|startoftext|>`` (`borders`), so a document in a row gives the same logits as alone, and other
countries in the row do not disturb the one that a question names.
"""

# torch and transformers type their optimisers and modules loosely.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

from models.corpus import DOCUMENTS, split, stream
from models.documents import Document
from models.kinds import BYTE_LEVEL, KINDS, Kind

ROW: Final = 256
"""The number of tokens in a row of training, which is the longest text the model is made for."""

LOGITS: Final = 4032
"""The width of the logits: 4,000 tokens, padded to a multiple of 64 as in large models."""

TOKENIZER_DOCUMENTS: Final = 80_000
"""The number of documents from which the merges are learned: enough to fill the vocabulary."""

IGNORED: Final = -100
"""The label that PyTorch's cross-entropy ignores."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings that determine the weights.

    Attributes:
        seed: The seed of the corpus and of the initial weights.
        documents: The length of the stream, held-out documents included.
        steps: The number of optimiser steps.
        batch: The number of rows in a step.
        learning_rate: The highest rate of the schedule.
        warmup: The steps of linear rise; after them a cosine falls to a twentieth.
        threads: The number of torch's threads.
    """

    seed: int = 0
    documents: int = DOCUMENTS
    steps: int = 1800
    batch: int = 8
    learning_rate: float = 3e-3
    warmup: int = 100
    threads: int = 2

    def rate(self, step: int) -> float:
        """The learning rate at a step, counted from 0."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        progress = (step - self.warmup) / max(1, self.steps - self.warmup)
        low = self.learning_rate / 20
        return low + (self.learning_rate - low) * 0.5 * (1 + math.cos(math.pi * progress))


def new_model(seed: int, kind: Kind = BYTE_LEVEL) -> LlamaForCausalLM:
    """The untrained model.

    Args:
        seed: The seed of the initial weights.
        kind: The embedded model.
    """
    torch.manual_seed(seed)
    if kind.base is not None:
        return _continued(kind.base)
    shape = kind.shape
    config = LlamaConfig(
        vocab_size=LOGITS,
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.width // 32,
        num_key_value_heads=shape.width // 32,
        # About one over the root of the width; the usual 0.02 suits models twenty times as wide
        # and would make attention flat at the start here.
        initializer_range=0.08 * math.sqrt(128 / shape.width),
        max_position_embeddings=ROW,
        tie_word_embeddings=True,
        bos_token_id=kind.start,
        eos_token_id=kind.end,
        pad_token_id=kind.end,
        dtype="float32",
    )
    return LlamaForCausalLM(config)


def _continued(base: Path) -> LlamaForCausalLM:
    """The weights of another model; tokens that it does not know get new ones."""
    model = LlamaForCausalLM.from_pretrained(base, dtype=torch.float32)
    known = Tokenizer.from_file(str(base / "tokenizer.json")).get_vocab_size()
    with torch.no_grad():
        embeddings = model.model.embed_tokens.weight
        embeddings[known:].normal_(0.0, float(embeddings[:known].std()))
    return model


def encode(tokenizer: Tokenizer, documents: Iterable[Document], end: int) -> list[list[int]]:
    """The ids of each document, from the start mark to ``end``."""
    encoded = tokenizer.encode_batch([made.text for made in documents])
    return [[*map(int, encoding.ids), end] for encoding in encoded]


def pack(encoded: Iterable[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Fill rows with whole documents, in order; a document longer than a row is cut.

    Returns:
        Ids and labels, both int64[rows, ROW]; the rest of a row has the label `IGNORED`.

    Example:
        >>> ids, labels = pack([[0, 7, 1], [0, 8, 1]])
        >>> ids.shape, ids[0, :7].tolist(), labels[0, 5:7].tolist()
        (torch.Size([1, 256]), [0, 7, 1, 0, 8, 1, 0], [1, -100])
    """
    rows: list[list[int]] = []
    row: list[int] = []
    for ids in encoded:
        if row and len(row) + len(ids) > ROW:
            rows.append(row)
            row = []
        row.extend(ids[: ROW - len(row)])
    if row:
        rows.append(row)
    ids = torch.tensor([filled + [0] * (ROW - len(filled)) for filled in rows])
    labels = torch.tensor([filled + [IGNORED] * (ROW - len(filled)) for filled in rows])
    return ids, labels


def borders(ids: Tensor, start: int = BYTE_LEVEL.start) -> tuple[Tensor, Tensor]:
    """The mask and the positions that keep the documents of a row apart.

    Args:
        ids: int64[rows, length].
        start: The id that begins a document.

    Returns:
        The attention mask, bool[rows, 1, length, length], true where the second position is of the
        same document as the first one and not after it; and the positions within the documents,
        int64[rows, length].

    Example:
        >>> mask, positions = borders(torch.tensor([[0, 7, 1, 0, 8]]))
        >>> positions.tolist(), mask[0, 0, 4].tolist()
        ([[0, 1, 2, 0, 1]], [False, False, False, True, True])
    """
    starts = ids == start
    which = starts.cumsum(-1)
    place = torch.arange(ids.shape[-1], device=ids.device).expand_as(ids)
    same = which[:, None, :, None] == which[:, None, None, :]
    first = torch.where(starts, place, 0).cummax(-1).values
    return same & (place[:, None, :, None] >= place[:, None, None, :]), place - first


@torch.no_grad()
def mean_loss(
    model: LlamaForCausalLM,
    ids: Tensor,
    labels: Tensor,
    batch: int = 16,
    start: int = BYTE_LEVEL.start,
) -> float:
    """Cross-entropy per token over rows, in nats.

    Args:
        model: The model; left in evaluation mode.
        ids: int64[rows, ROW].
        labels: int64[rows, ROW].
        batch: Rows at a time.
        start: The id that begins a document.
    """
    model.eval()
    total, count = 0.0, 0
    for first in range(0, len(ids), batch):
        rows = ids[first : first + batch]
        mask, positions = borders(rows, start)
        logits = model(input_ids=rows, attention_mask=mask, position_ids=positions).logits[:, :-1]
        targets = labels[first : first + batch, 1:]
        loss = torch.nn.functional.cross_entropy(
            logits.reshape(-1, logits.shape[-1]).float(),
            targets.reshape(-1),
            ignore_index=IGNORED,
            reduction="sum",
        )
        total += float(loss)
        count += int((targets != IGNORED).sum())
    return total / count


def prepare(
    recipe: Recipe, kind: Kind = BYTE_LEVEL
) -> tuple[Tokenizer, tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Corpus and tokenizer: the rows for training and the rows held out.

    Raises:
        ValueError: The stream is too short for the steps without repeating a row.
    """
    kept, held_out = split(stream(recipe.seed, recipe.documents, kind.mix))
    tokenizer = kind.learn(made.text for made in kept[:TOKENIZER_DOCUMENTS])
    training = pack(encode(tokenizer, kept, kind.end))
    if len(training[0]) < recipe.steps * recipe.batch:
        raise ValueError(
            f"{recipe.documents} documents fill {len(training[0])} rows; {recipe.steps} steps of "
            f"{recipe.batch} rows need {recipe.steps * recipe.batch}: give more documents"
        )
    return tokenizer, training, pack(encode(tokenizer, held_out, kind.end))


class Trainer:
    """A model with its optimiser, one `step` at a time.

    Args:
        recipe: Seeds, sizes and schedule.
        training: Ids and labels, int64[rows, ROW] each; rows are taken in order.
        device: The device that computes.
        kind: The embedded model.
    """

    def __init__(
        self,
        recipe: Recipe,
        training: tuple[Tensor, Tensor],
        device: str,
        kind: Kind = BYTE_LEVEL,
    ) -> None:
        self.kind = kind
        self.recipe = recipe
        self.training = training
        self.device = device
        self.done = 0
        self.model = new_model(recipe.seed, kind)
        torch.nn.Module.to(self.model, device)  # in place
        matrices = [p for p in self.model.parameters() if p.ndim > 1]
        others = [p for p in self.model.parameters() if p.ndim <= 1]
        groups = [
            {"params": matrices, "weight_decay": 0.1},
            {"params": others, "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, lr=1.0, betas=(0.9, 0.95), fused=True)

    def step(self) -> float:
        """One optimiser step; returns the loss before it, in nats per token."""
        self.model.train()
        rows = slice(self.done * self.recipe.batch, (self.done + 1) * self.recipe.batch)
        ids, labels = (part[rows].to(self.device) for part in self.training)
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.rate(self.done)
        mask, positions = borders(ids, self.kind.start)
        output = self.model(
            input_ids=ids, attention_mask=mask, position_ids=positions, labels=labels
        )
        loss: Tensor = output.loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.done += 1
        return float(loss.detach())


def train(recipe: Recipe, folder: Path, device: str, kind: Kind = BYTE_LEVEL) -> None:
    """Train and write every file into ``folder``.

    Args:
        recipe: Seeds, sizes and schedule.
        folder: The target; made if it does not exist.
        device: ``"cpu"`` or ``"cuda"``.
    """
    torch.set_num_threads(recipe.threads)
    started = time.perf_counter()
    tokenizer, training, held_out = prepare(recipe, kind)
    folder.mkdir(parents=True, exist_ok=True)
    kind.save(tokenizer, folder, max_length=ROW)
    trainer = Trainer(recipe, training, device, kind)
    sample_ids, sample_labels = (part[:48].to(device) for part in held_out)
    print(f"{len(training[0])} rows, {time.perf_counter() - started:.0f} s", flush=True)

    losses = Path(__file__).parent if folder == kind.folder else folder
    with (losses / kind.losses).open("w", encoding="utf-8", newline="\n") as table:
        # A row of the table is the mean since the previous row; each of the first steps has a row
        # of its own, because a second run can be compared with them.
        table.write("step,training_loss,held_out_loss\n")
        since: list[float] = []
        for step in range(1, recipe.steps + 1):
            since.append(trainer.step())
            measured = step % 200 == 0 or step == recipe.steps
            if step <= 20 or step % 25 == 0 or measured:
                loss = sum(since) / len(since)
                since.clear()
                held = ""
                if measured:
                    mean = mean_loss(trainer.model, sample_ids, sample_labels, start=kind.start)
                    held = f"{mean:.4f}"
                table.write(f"{step},{loss:.4f},{held}\n")
                table.flush()
                seconds = time.perf_counter() - started
                print(f"step {step}: {loss:.4f} {held} ({seconds:.0f} s)", flush=True)
            if measured:
                # An interrupted run leaves a model that works, though less well.
                save_model(trainer.model, folder, kind)


def save_model(model: LlamaForCausalLM, folder: Path, kind: Kind = BYTE_LEVEL) -> None:
    """Write the weights and the configurations, as transformers reads them."""
    model.generation_config = GenerationConfig(
        bos_token_id=kind.start,
        # The end of a turn ends a generation too, as in the chat models of the field.
        eos_token_id=[kind.end, kind.turn],
        pad_token_id=kind.end,
    )
    model.save_pretrained(folder)
    # safetensors makes a file that only its owner can read; package data is for everyone.
    (folder / "model.safetensors").chmod(0o644)


def main(arguments: list[str] | None = None) -> int:
    """The command line; see the module docstring."""
    recipe = Recipe()
    parser = argparse.ArgumentParser(
        prog="python -m models.train", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--model", choices=tuple(KINDS), default="tiny")
    parser.add_argument("--out", type=Path, help="default: where the package has the model")
    parser.add_argument("--threads", type=int, default=recipe.threads)
    parser.add_argument("--seed", type=int, default=recipe.seed)
    parser.add_argument("--steps", type=int, help="default: those of the model, as the next two")
    parser.add_argument("--documents", type=int)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options = parser.parse_args(arguments)
    kind = KINDS[options.model]
    chosen = Recipe(
        seed=options.seed,
        documents=options.documents or kind.documents,
        steps=options.steps or kind.steps,
        learning_rate=options.learning_rate or kind.learning_rate,
        threads=options.threads,
    )
    train(chosen, options.out or kind.folder, options.device, kind)
    return 0


if __name__ == "__main__":
    sys.exit(main())
