"""Whole choices with their scores, beside what greedy decoding takes: values, and how they look."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Final

_BAR: Final = "#0072B2"
_CURRENT: Final = "#E69F00"


@dataclass(frozen=True)
class Scored:
    """One choice with its probability, token by token.

    Args:
        choice: The choice; with aliases, its name.
        text: What is written for it.
        tokens: The ids that are scored. They begin with the end of the prompt where its last
            tokens and the choice's first are written as one.
        pieces: What each token writes.
        log_probs: Natural log-probability of each under the model, without any constraint.
    """

    choice: str
    text: str
    tokens: tuple[int, ...]
    pieces: tuple[str, ...]
    log_probs: tuple[float, ...]

    @property
    def log_prob(self) -> float:
        """Of the whole choice: the sum."""
        return sum(self.log_probs)

    @property
    def mean(self) -> float:
        """Per token."""
        return self.log_prob / max(len(self.log_probs), 1)


@dataclass(frozen=True)
class Selection:
    """All choices, the best first, and the one that greedy decoding writes.

    Args:
        scored: The choices, the best first.
        greedy: What decoding token by token takes, likeliest token first, under a mask that
            allows the choices.
        normalize: Whether the mean per token decides, else the sum.
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
        """Whether greedy decoding takes another: its first token is likely, the whole is not."""
        return self.greedy.choice != self.best

    def score(self, entry: Scored) -> float:
        """The number that decides: a log-probability, of the whole or per token.

        Args:
            entry: One of `scored`.
        """
        return entry.mean if self.normalize else entry.log_prob

    def probability(self, choice: str) -> float:
        """The probability of a choice among the choices.

        Args:
            choice: The choice.

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
        """The two ways side by side: choices with bars, and the tokens that each is made of."""
        top = max(map(self.score, self.scored))
        rows = [_row(self, entry, math.exp(self.score(entry) - top)) for entry in self.scored]
        found = (
            f"Greedy decoding takes <b>{html.escape(self.greedy.choice)}</b>, the whole choices "
            f"say <b>{html.escape(self.best)}</b>."
            if self.trapped
            else f"Both take <b>{html.escape(self.best)}</b>."
        )
        word = "mean log p" if self.normalize else "log p"
        return (
            '<table class="lmx-select" style="text-align:left;border-collapse:collapse">'
            f"<caption style='text-align:left'>{found}</caption>"
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
