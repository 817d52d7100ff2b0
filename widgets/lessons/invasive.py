"""The changes of constraints in what a model writes: the texts of several schemes.

`scheme_texts` writes them. At the end of a cell they are a picture, the rows below each other; as
the lines of one cursor, an explorer shows each step with its mask, its machines and its reasons.

Cost: the example takes about a second of CPU on one thread; the model reads a common beginning of
rows only once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from explorer.analysis.invasiveness import RunPair, Scheme, schemes_of
from explorer.analysis.invasiveness.comparing import logits_store
from explorer.analysis.invasiveness.schemes import LOOKAHEADS
from explorer.arguments import listed, whole_number
from explorer.budget import Budget
from explorer.decoding.models.arguments import LAST_SEED, MOST_TOKENS, checked_model
from explorer.decoding.models.model import LanguageModel
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.own_first import without_filters
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.template.functions import gen, template
from explorer.tokens.machine import TokenMachine
from explorer.tokens.schemes.terminals import FLAT_OBJECT, TerminalGrammar
from widgets.cursor import Aside, Cursor, line_of
from widgets.figures.panels.schemes import ALONE, failed_row, schemes_packet
from widgets.figures.snapshot import Snapshot
from widgets.lessons.rows import TokenRow, token_picture

TITLE: Final = "One prompt under several methods"

SIGNS: Final = {"bridge": "‿ crosses a border", "fixed": "▣ fixed text"}
"""The marks below a token, each with its meaning."""

PROMPT: Final = "Write a JSON record of a person on one line.\n"
"""The prompt of the example that is written without a constraint."""

FIRST_SECONDS: Final = 30.0
"""The limit for compiling all schemes."""


def example_template() -> Constraint:
    """The template of the example: a person with a name and an age."""
    return template(
        '{{"name": "{name}", "age": {age}}}',
        name=gen(regex="[A-Z][a-z]{1,9}"),
        age=gen(regex="[0-9]{1,2}"),
    )


@dataclass(frozen=True, eq=False)
class SchemeTexts:
    """The texts of the model alone and under each scheme; made by `scheme_texts`.

    Args:
        pairs: The pair of runs of each scheme that could be written, by its name.
        rows: As `widgets.figures.panels.schemes.scheme_rows` makes them, the model alone first; a
            scheme that could not be written says why.
    """

    lm: LanguageModel
    prompt: str
    schemes: tuple[Scheme, ...]
    pairs: Mapping[str, RunPair]
    rows: Sequence[Mapping[str, Any]]
    sampler: Sampler
    seed: int

    @property
    def machines(self) -> Mapping[str, TokenMachine]:
        """The machine of each scheme by its name, as the ``schemes`` of `Compare`."""
        return {scheme.name: scheme.machine for scheme in self.schemes}

    def cursor(self) -> Cursor:
        """The texts as the lines of one cursor, each with its own machine.

        ``Explorer(cursor=...)`` shows the lines in its strip, and a click on one makes it current.
        """
        settings: dict[str, Any] = {"sampler": self.sampler, "seed": self.seed}
        free = next(iter(self.pairs.values())).free.tokens
        lines = [(ALONE, line_of(self.lm, self.prompt, None, free, **settings))]
        for name, pair in self.pairs.items():
            machine, tokens = self.machines[name], pair.constrained.tokens
            lines.append((name, line_of(self.lm, self.prompt, machine, tokens, **settings)))
        cursor = Cursor(lines[0][1])
        cursor.restore(Aside(tuple(lines), 0, len(lines), {}))
        return cursor

    def picture(self) -> Snapshot:
        """The rows below each other, token by token.

        Below each token are its bits under the model (-log2 of its probability), which also shade
        the box; ``‿`` marks a token that crosses a border of terminals. The first token that
        differs from the model's own text has a thick blue edge.
        """
        marks = {mark for row in self.rows for token in row["tokens"] for mark in token}
        words = ["below: bits", *(said for mark, said in SIGNS.items() if mark in marks)]
        return token_picture(
            f"{TITLE} ({'; '.join(words)})",
            [_row(row) for row in self.rows],
            mark="the first token that differs from the model's own",
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """The bundle that a notebook displays at the end of a cell."""
        return self.picture().to_mimebundle()


def scheme_texts(
    lm: LanguageModel,
    prompt: str | None = None,
    constraint: Constraint | TerminalGrammar | TokenMachine | None = None,
    *,
    template: Constraint | None = None,
    lookaheads: Sequence[int] = LOOKAHEADS,
    sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
    seed: int = 0,
    max_tokens: int = 48,
) -> SchemeTexts:
    """Write the text of the model alone, and under each scheme.

    Args:
        lm: A language model.
        prompt: The text before every row; default that of the example.
        constraint: A grammar over terminals, or any other constraint; ``None`` for an example with
            its own prompt and template.
        template: A template to compare with; a constraint that is a template is compared anyway.
        lookaheads: The values of k, the number of borders that a token may cross; one scheme each.
        sampler: The sampler, without filters; default greedy.
        seed: The seed of the random numbers, the same for every row.
        max_tokens: The most tokens of a row, and of the text that naturalises a template.

    Raises:
        ExplorerError: No scheme can write its text. If only some cannot, their rows say why.

    Example:
        >>> import explorer
        >>> lm, towns = explorer.load_model("tiny"), explorer.choice([" Paris", " Rome"])
        >>> texts = scheme_texts(lm, "The capital of France is", towns)
        >>> print(texts.picture().text.splitlines()[1])
        the model alone: ␣Paris [0.0] | . [0.0] | EOS [1.7] (perplexity 1.48)
        >>> [(name, line.length) for name, line in texts.cursor().lines]
        [('the model alone', 3), ('ours', 2)]
    """
    checked_model(lm)
    seed, sampler = whole_number("seed", seed, 0, LAST_SEED), without_filters(sampler)
    max_tokens = whole_number("max_tokens", max_tokens, 1, MOST_TOKENS)
    numbers = listed("lookaheads", lookaheads, "a list of whole numbers")
    borders = tuple(whole_number("lookaheads", number) for number in numbers)
    if constraint is None and template is None:
        constraint, template = FLAT_OBJECT, example_template()
        prompt = PROMPT if prompt is None else prompt
    prompt = "" if prompt is None else prompt
    failed: dict[str, ExplorerError] = {}
    schemes = schemes_of(
        lm, prompt, constraint, template=template, lookaheads=borders, max_tokens=max_tokens,
        budget=Budget(seconds=FIRST_SECONDS), failed=failed,
    )  # fmt: skip
    pairs: dict[str, RunPair] = {}
    store = logits_store(lm)
    for scheme in schemes:
        try:
            (pairs[scheme.name],) = scheme.compared(
                lm, prompt, sampler=sampler, seed=seed, max_tokens=max_tokens, store=store
            )
        except ExplorerError as error:
            failed[scheme.name] = error
    if not pairs:
        raise next(iter(failed.values()))
    written = [scheme for scheme in schemes if scheme.name in pairs]
    rows = schemes_packet(written, pairs, lm.vocabulary)
    rows += [failed_row(name, error) for name, error in failed.items()]
    return SchemeTexts(lm, prompt, tuple(schemes), pairs, rows, sampler, seed)


def _row(row: Mapping[str, Any]) -> TokenRow:
    tokens: list[dict[str, Any]] = row["tokens"]
    return TokenRow(
        row["name"],
        tuple("EOS" if "eos" in token else token["text"] for token in tokens),
        tuple(
            f"{token['bits']:.1f}"
            + "".join(said[0] for mark, said in SIGNS.items() if mark in token)
            for token in tokens
        ),
        frozenset(k for k, token in enumerate(tokens) if "parted" in token),
        row["said"] if "failed" in row else f"perplexity {row['perplexity']:.2f}",
        shades=tuple(token["bits"] for token in tokens),
    )
