"""The changes of constraints in what a model writes: schemes as rows, and as lines of an explorer.

`invasiveness_picture` draws the texts of several schemes below each other; `scheme_lines` puts
the same texts into a cursor, so that an explorer shows them beside each other and a click opens a
step with its mask, its machines and its reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from explorer.analysis.invasiveness import RunPair
from explorer.decoding.models.model import LanguageModel
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine
from explorer.tokens.schemes.terminals import TerminalGrammar
from explorer.vocabulary import Vocabulary
from widgets.cursor import Aside, Cursor, line_of
from widgets.figures.panels.schemes import ALONE, scheme_rows
from widgets.figures.snapshot import Snapshot
from widgets.lessons.rows import TokenRow, token_picture

TITLE: Final = "What each way of constraining makes of one prompt"

SIGNS: Final = {"bridge": "‿ crosses a border", "fixed": "▣ fixed text"}
"""The marks below a token, each with its meaning."""


def invasiveness_picture(
    found: Mapping[str, RunPair],
    vocabulary: Vocabulary,
    grammar: TerminalGrammar | None = None,
    title: str = TITLE,
) -> Snapshot:
    """The texts of several schemes below each other, token by token.

    Below each token are its bits under the model (-log2 of its probability), which also shade the
    box; ``‿`` marks a token that crosses a border of terminals. The first token that differs from
    the model's own text has a thick blue edge.

    Args:
        found: A pair of runs for each scheme, all from one prompt; see
            `explorer.analysis.invasiveness.invasiveness`.
        vocabulary: The tokens.
        grammar: The grammar whose terminals have the borders; ``None`` marks no borders.
        title: The title.

    Raises:
        ExplorerError: There is no scheme.

    Example:
        >>> import explorer
        >>> from explorer.analysis.invasiveness import invasiveness
        >>> lm = explorer.load_model("tiny")
        >>> towns = explorer.choice([" Paris", " Rome"])
        >>> (pair,) = invasiveness(lm, "The capital of France is", towns)
        >>> print(invasiveness_picture({"ours": pair}, lm.vocabulary).text.splitlines()[1])
        the model alone: ␣Paris [0.0] | . [0.0] | EOS [1.7] (perplexity 1.48)
    """
    if not found:
        raise ExplorerError("There is no scheme.", remedy="Give at least one pair of runs.")
    return rows_picture(scheme_rows(found, vocabulary, grammar=grammar), title)


def rows_picture(rows: Sequence[Mapping[str, Any]], title: str = TITLE) -> Snapshot:
    """A picture of rows that are already computed.

    Args:
        rows: From `widgets.figures.panels.schemes.scheme_rows`.

    Example:
        >>> token = {"id": 1, "text": "a", "bits": 0.5, "fixed": True}
        >>> print(rows_picture([{"name": "ours", "tokens": [token], "perplexity": 1.4}]).text)
        What each way of constraining makes of one prompt (below: bits; ▣ fixed text)
        ours: a [0.5▣] (perplexity 1.40)
    """
    marks = {mark for row in rows for token in row["tokens"] for mark in token}
    words = ["below: bits", *(said for mark, said in SIGNS.items() if mark in marks)]
    mark = "the first token that differs from the model's own"
    return token_picture(f"{title} ({'; '.join(words)})", [_row(row) for row in rows], mark=mark)


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


def scheme_lines(
    lm: LanguageModel,
    prompt: str,
    found: Mapping[str, RunPair],
    machines: Mapping[str, Constraint | TokenMachine | None],
) -> Cursor:
    """The texts of several schemes as the lines of one cursor, each with its own machine.

    Args:
        lm: The model that wrote them.
        prompt: The prompt.
        found: A pair of runs for each scheme.
        machines: The machine or the constraint of each scheme.

    Returns:
        A cursor at the start of the first line; ``Explorer(cursor=...)`` shows the lines in its
        strip, and a click on one makes it current.

    Raises:
        ExplorerError: A scheme has no machine, or its machine does not allow its text.

    Example:
        >>> import explorer
        >>> from explorer.analysis.invasiveness import invasiveness
        >>> lm = explorer.load_model("tiny")
        >>> prompt, towns = "The capital of France is", explorer.choice([" Paris", " Rome"])
        >>> (pair,) = invasiveness(lm, prompt, towns)
        >>> cursor = scheme_lines(lm, prompt, {"ours": pair}, {"ours": towns})
        >>> [(name, line.length) for name, line in cursor.lines]
        [('the model alone', 3), ('ours', 2)]
    """
    if not found or found.keys() - machines.keys():
        missing = sorted(found.keys() - machines.keys())
        raise ExplorerError(
            f"The scheme {missing[0]!r} has no machine." if missing else "There is no scheme.",
            remedy="Give a machine or a constraint for each scheme.",
        )
    lines = [(ALONE, line_of(lm, prompt, None, next(iter(found.values())).free.tokens))]
    lines += [
        (name, line_of(lm, prompt, machines[name], pair.constrained.tokens))
        for name, pair in found.items()
    ]
    cursor = Cursor(lines[0][1])
    cursor.restore(Aside(tuple(lines), 0, len(lines), {}))
    return cursor
