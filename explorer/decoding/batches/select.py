"""Chooses among whole texts by their probability, compared with greedy decoding.

Under a mask, greedy decoding compares first tokens: it may take the likely first token of a choice
that is unlikely as a whole, and cannot go back. Here each choice is scored as a whole, and both
results are shown.

A choice is tokenized together with the prompt, as the model was trained to read it. If this merges
the end of the prompt with the beginning of a choice, all choices are scored from the last token
that they share, so that scores remain comparable.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import torch

from explorer.alphabet import in_quotes
from explorer.arguments import flag, plain
from explorer.decoding.models.arguments import checked_model, prompt_ids
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.models.row_by_row import open_batch
from explorer.decoding.stepping.walk import Walk
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.sources.aliases import Aliases
from explorer.languages.sources.choice import Choice
from explorer.tokens.walks.spelling import fewest_tokens
from explorer.tokens.walks.trie import trie_of

_BAR: Final = "#0072B2"
_CURRENT: Final = "#E69F00"


@dataclass(frozen=True)
class Scored:
    """One choice with its probability, token by token.

    Args:
        choice: The choice; with aliases, its name.
        text: Its text.
        tokens: The scored ids. They begin with the end of the prompt if the tokenizer merges that
            with the beginning of the choice.
        pieces: The text of each token.
        log_probs: The natural log-probability of each token under the model, unconstrained.
    """

    choice: str
    text: str
    tokens: tuple[int, ...]
    pieces: tuple[str, ...]
    log_probs: tuple[float, ...]

    @property
    def log_prob(self) -> float:
        """The log-probability of the whole choice, the sum over its tokens."""
        return sum(self.log_probs)

    @property
    def mean(self) -> float:
        """The mean log-probability per token."""
        return self.log_prob / max(len(self.log_probs), 1)


@dataclass(frozen=True)
class Selection:
    """All choices, the best first, and the one that greedy decoding writes.

    Args:
        scored: The choices, the best first.
        greedy: The choice that greedy decoding takes under a mask that allows the choices.
        normalize: Whether the mean per token decides instead of the sum.
    """

    scored: tuple[Scored, ...]
    greedy: Scored
    normalize: bool

    @property
    def best(self) -> str:
        """The choice with the highest score."""
        return self.scored[0].choice

    @property
    def trapped(self) -> bool:
        """Whether greedy decoding takes another choice, likely only in its first tokens."""
        return self.greedy.choice != self.best

    def score(self, entry: Scored) -> float:
        """The deciding score of an entry: its log-probability, whole or per token."""
        return entry.mean if self.normalize else entry.log_prob

    def probability(self, choice: str) -> float:
        """The probability of a choice relative to all choices.

        Raises:
            KeyError: There is no such choice.
        """
        most = max(entry.log_prob for entry in self.scored)
        weights = {entry.choice: 0.0 for entry in self.scored}
        for entry in self.scored:
            weights[entry.choice] += math.exp(entry.log_prob - most)
        return weights[choice] / sum(weights.values())

    def __repr__(self) -> str:
        word = "mean" if self.normalize else "sum"
        lines = [f"select by {word} of log-probabilities: {self.best!r}"]
        for entry in self.scored:
            mark = "greedy" if entry.choice == self.greedy.choice else ""
            tokens = " ".join(
                f"{piece!r} {value:.2f}"
                for piece, value in zip(entry.pieces, entry.log_probs, strict=True)
            )
            lines.append(f"  {self.score(entry):9.3f}  {mark:6}  {entry.choice!r}: {tokens}")
        if self.trapped:
            lines.append(
                f"Greedy decoding takes {self.greedy.choice!r}: its tokens are likely one by one, "
                "the whole choice is not."
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """A table of the choices with bars, and the tokens of each."""
        top = max(map(self.score, self.scored))
        rows = [_row(self, entry, math.exp(self.score(entry) - top)) for entry in self.scored]
        verdict = (
            f"Greedy decoding takes <b>{html.escape(self.greedy.choice)}</b>, the whole choices "
            f"say <b>{html.escape(self.best)}</b>."
            if self.trapped
            else f"Both take <b>{html.escape(self.best)}</b>."
        )
        word = "mean log p" if self.normalize else "log p"
        return (
            '<table class="lmx-select" style="text-align:left;border-collapse:collapse">'
            f"<caption style='text-align:left'>{verdict}</caption>"
            f"<thead><tr><th>choice</th><th>{word}</th><th></th><th>token by token</th><th></th>"
            f"</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        )


def _row(selection: Selection, entry: Scored, share: float) -> str:
    tokens = " ".join(
        '<span style="border:1px solid currentColor;border-radius:3px;padding:0 3px;'
        f'opacity:{0.35 + 0.65 * math.exp(value):.2f}" title="log p {value:.3f}">'
        f"{html.escape(piece) or '·'}</span>"
        for piece, value in zip(entry.pieces, entry.log_probs, strict=True)
    )
    taken = {"best": selection.best, "greedy": selection.greedy.choice}
    marks = [name for name, choice in taken.items() if choice == entry.choice]
    colour = _BAR if entry.choice == selection.best else _CURRENT
    style = f"display:inline-block;height:.8em;width:{8 * share:.2f}em;background:{colour}"
    bar = f'<span style="{style}">'
    return (
        f"<tr><td>{html.escape(entry.choice)}</td><td>{selection.score(entry):.3f}</td>"
        f"<td>{bar}</span></td><td>{tokens}</td><td>{', '.join(marks)}</td></tr>"
    )


_ROWS: Final = 64
"""The number of choices that are read in one batch."""


def select(
    lm: LanguageModel | str,
    prompt: Prompt,
    choices: Iterable[str] | Mapping[str, str | Sequence[str]],
    *,
    normalize: bool = False,
) -> Selection:
    """Score every choice as a whole, and compare the best with greedy decoding.

    Args:
        lm: The model, or its name for `load_model`; one that reads batches reads 64 choices at a
            time.
        prompt: A text to continue, or messages.
        choices: Texts, or a mapping from names to texts, as in `choice`.
        normalize: Whether the mean log-probability per token decides instead of the sum; sums
            favour short choices.

    Returns:
        The choices with natural log-probabilities, the best first. It prints as a table; in a
        notebook it shows both results side by side.

    Raises:
        ConstraintError: There is no choice, or one is not a text.
        ExplorerError: The tokens of the model cannot spell a choice.

    Example:
        >>> from explorer import load_model
        >>> weather = select(load_model("tiny"), "Is it raining?\\n", ["Yes", "No", "Perhaps"])
        >>> sorted(entry.choice for entry in weather.scored)
        ['No', 'Perhaps', 'Yes']
    """
    lm, prompt = checked_model(lm), plain(prompt)
    normalize = flag("normalize", normalize)
    if isinstance(choices, Mapping):
        source: Aliases | Choice = Aliases.of(cast("object", choices))
        named = [(name, text) for name, texts in source.entries for text in texts]
    else:
        source = Choice.of(choices)
        named = [(text, text) for text in source.texts]
    before = prompt_ids(lm, prompt)
    rows = [_with_choice(lm, prompt, before, text) for _, text in named]
    shared = min(_shared(before, row) for row in rows)
    log_probs = _scores(lm, before[:shared], [row[shared:] for row in rows])
    scored = [
        _scored(lm, name, text, row[shared:], values)
        for (name, text), row, values in zip(named, rows, log_probs, strict=True)
    ]
    scored.sort(key=lambda entry: entry.mean if normalize else entry.log_prob, reverse=True)
    return Selection(tuple(scored), _greedy(lm, prompt, source), normalize)


def _with_choice(
    lm: LanguageModel, prompt: Prompt, before: tuple[int, ...], text: str
) -> tuple[int, ...]:
    """The ids of the prompt followed by a choice."""
    if isinstance(prompt, str):
        ids = prompt_ids(lm, prompt + text)
        shared = _shared(before, ids)
        rest, written = (b"".join(_pieces(lm, some[shared:])) for some in (before, ids))
        if written == rest + text.encode():
            return ids
    spelled = fewest_tokens(trie_of(lm.vocabulary, None), text.encode())
    if spelled is None:
        raise ExplorerError(
            f"The tokens of the model cannot spell the choice {in_quotes(text)}.",
            remedy="Use another model, or a choice without those characters.",
            evidence={"choice": text},
        )
    return (*before, *spelled)


def _pieces(lm: LanguageModel, ids: Sequence[int]) -> list[bytes]:
    """The bytes of each id; empty for an id outside the vocabulary."""
    tokens = lm.vocabulary.tokens
    return [(tokens[token] or b"") if token < len(tokens) else b"" for token in ids]


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    pairs = zip(one, other, strict=False)
    return next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _scores(
    lm: LanguageModel, prefix: tuple[int, ...], rows: Sequence[tuple[int, ...]]
) -> list[tuple[float, ...]]:
    """The log-probability of each token of each row after a prefix, computed in batches."""
    scores: list[tuple[float, ...]] = []
    for begin in range(0, len(rows), _ROWS):
        some = rows[begin : begin + _ROWS]
        values: list[list[float]] = [[] for _ in some]
        batch = open_batch(lm, [prefix] * len(some))
        for place in range(max(map(len, some))):
            log_probs = batch.logits.double().log_softmax(-1)
            # A row that has ended reads its last token again; the result is not used.
            column = [row[min(place, len(row) - 1)] if row else 0 for row in some]
            for k, row in enumerate(some):
                if place < len(row):
                    values[k].append(float(log_probs[k, row[place]]))
            if place + 1 < max(map(len, some)):
                batch.step(torch.tensor(column, device=batch.logits.device))
        scores += [tuple(value) for value in values]
    return scores


def _scored(
    lm: LanguageModel, name: str, text: str, ids: Sequence[int], log_probs: tuple[float, ...]
) -> Scored:
    pieces = tuple(each.decode(errors="replace") for each in _pieces(lm, ids))
    return Scored(name, text, tuple(ids), pieces, log_probs)


def _greedy(lm: LanguageModel, prompt: Prompt, source: Aliases | Choice) -> Scored:
    """The choice that greedy decoding generates under a mask that allows the choices."""
    trace = Walk(lm, Constraint(source), prompt).run()
    steps = [step for step in trace.steps if step.data]
    values = tuple(step.log_prob_model or 0.0 for step in steps)
    name = str(source.parse(trace.text.encode()))
    return _scored(lm, name, trace.text, [step.token for step in steps], values)
