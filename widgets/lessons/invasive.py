"""What constraints change in what a model writes: schemes as rows, and as lines of an explorer.

`invasiveness_picture` draws the texts of several schemes under each other; `scheme_lines` puts
the same texts into a cursor, so that an explorer shows them beside each other and a click opens a
step with its mask, its machines and its reasons.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

from explorer.analysis.invasiveness import Invasiveness
from explorer.analysis.session import Session
from explorer.automata.constraint import Constraint
from explorer.decoding.models.model import LanguageModel
from explorer.decoding.speculation.own_first import OwnFirstText
from explorer.errors import ExplorerError
from explorer.tokens.machine import TokenMachine
from explorer.tokens.schemes.lookahead import bridges_of
from explorer.tokens.schemes.terminals import TerminalGrammar
from explorer.vocabulary import Vocabulary
from widgets.cursor import Aside, Cursor
from widgets.figures.drawing.labels import token_names
from widgets.figures.snapshot import Snapshot
from widgets.lessons.rows import TokenRow, token_picture


def invasiveness_picture(
    found: Mapping[str, Invasiveness],
    vocabulary: Vocabulary,
    grammar: TerminalGrammar | None = None,
    title: str = "What each way of constraining makes of one prompt",
) -> Snapshot:
    """The texts of several schemes under each other, token by token.

    Below each token stand its bits under the model (-log2 of its probability), which also shade
    the box; ``‿`` marks a token that crosses a border of terminals. The first token that differs
    from what the model writes by itself has a thick blue edge.

    Args:
        found: A pair of runs for each scheme, all from one prompt; see
            `explorer.analysis.invasiveness.invasiveness`.
        vocabulary: The tokens.
        grammar: Its terminals, for the tokens that cross their borders.
        title: What is shown.

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
    first = next(iter(found.values()))
    rows = [_row("the model alone", first.free, vocabulary, grammar, None, first.perplexity_free)]
    rows += [
        _row(name, pair.constrained, vocabulary, grammar, pair.parted, pair.perplexity)
        for name, pair in found.items()
    ]
    below = "below each token its bits" + ("; ‿ crosses a border" if grammar is not None else "")
    mark = "the first token that differs from the model's own"
    return token_picture(f"{title} ({below})", rows, mark=mark)


def _row(
    name: str,
    text: OwnFirstText,
    vocabulary: Vocabulary,
    grammar: TerminalGrammar | None,
    parted: int | None,
    perplexity: float,
) -> TokenRow:
    bits = [max(0.0, -log_prob / math.log(2)) for log_prob in text.log_probs]
    crossing = [0] * len(bits)
    if grammar is not None:
        counts = [
            bridges_of(grammar, vocabulary, text.tokens[:k]) for k in range(len(text.tokens) + 1)
        ]
        crossing = [after - before for before, after in pairwise(counts)]
    names = [
        "EOS" if token in vocabulary.eos_ids else token_names(vocabulary, [token])[0]
        for token in text.tokens
    ]
    return TokenRow(
        name,
        tuple(names),
        tuple(f"{bit:.1f}{'‿' * (over > 0)}" for bit, over in zip(bits, crossing, strict=True)),
        frozenset(() if parted is None or parted >= len(names) else (parted,)),
        f"perplexity {perplexity:.2f}",
        shades=tuple(bits),
    )


def scheme_lines(
    lm: LanguageModel,
    prompt: str,
    found: Mapping[str, Invasiveness],
    machines: Mapping[str, Constraint | TokenMachine | None],
) -> Cursor:
    """The texts of several schemes as the lines of one cursor, each with its own machine.

    Args:
        lm: The model that wrote them.
        prompt: The prompt.
        found: A pair of runs for each scheme.
        machines: What constrained each: the scheme's machine, or the language.

    Returns:
        A cursor at the start of the first; ``Explorer(cursor=...)`` shows the lines in its strip,
        and a click on one makes it current.

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
    lines = [("the model alone", _line(lm, prompt, None, next(iter(found.values())).free))]
    lines += [
        (name, _line(lm, prompt, machines[name], pair.constrained)) for name, pair in found.items()
    ]
    cursor = Cursor(lines[0][1])
    cursor.restore(Aside(tuple(lines), 0, len(lines), {}))
    return cursor


def _line(
    lm: LanguageModel,
    prompt: str,
    machine: Constraint | TokenMachine | None,
    text: OwnFirstText,
) -> Session:
    session = Session(lm, machine, prompt)
    for token in text.tokens:
        # Where the sampler takes the same, the step is its own and not one that a person chose.
        if session.step().token != token:
            session.back()
            session.step(token=token)
    session.jump(0)
    return session
