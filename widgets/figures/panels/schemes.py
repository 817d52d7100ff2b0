"""The texts of several schemes below each other, token by token, as data for the page.

Each token has its surprise under the model in bits, which is the logarithm of its *perplexity*
(1/p), and marks: for text that was fixed beforehand, for crossing a border of terminals, for a
masked choice of the model, and for the first token that differs from the model's own text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from explorer.analysis.invasiveness import RunPair, Scheme
from explorer.analysis.invasiveness.schemes import OURS
from explorer.arguments import counted
from explorer.decoding.speculation.own_first import OwnFirstText
from explorer.tokens.machine import TokenMachine, filtered_of
from explorer.tokens.schemes.lookahead import bridges_of
from explorer.tokens.schemes.terminals import TerminalGrammar
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import token_text

ALONE = "the model alone"
"""The name of the row without a constraint."""

Packet = dict[str, object]


def scheme_rows(
    found: Mapping[str, RunPair],
    vocabulary: Vocabulary,
    machines: Mapping[str, TokenMachine] | None = None,
    grammar: TerminalGrammar | None = None,
) -> list[Packet]:
    """The text of the model alone, and those under each scheme.

    Returns:
        A row for the model alone and one for each scheme, as plain values for JSON: ``name``,
        ``tokens``, ``perplexity``, ``interventions`` (a share of the steps), ``bridges`` (``None``
        if terminals are not known), ``violation``, and a sentence ``said``. A token has ``id``,
        ``text``, ``bits``, those of ``eos``, ``fixed``, ``parted`` and ``missed`` that are true,
        and ``bridge``, the number of borders that it crosses.

    Example:
        >>> import explorer
        >>> from explorer.analysis.invasiveness import schemes_of
        >>> lm, towns = explorer.load_model("tiny"), explorer.choice([" Paris", " Rome"])
        >>> (ours,) = schemes_of(lm, "The capital of France is", towns)
        >>> (pair,) = ours.compared(lm, "The capital of France is")
        >>> rows = scheme_rows({"ours": pair}, lm.vocabulary)
        >>> [(row["name"], row["said"]) for row in rows]  # doctest: +NORMALIZE_WHITESPACE
        [('the model alone', 'the text is valid and then goes on'),
         ('ours', 'ends where the model alone goes on')]
    """
    first = next(iter(found.values()))
    rows = [_row(ALONE, first.free, vocabulary, grammar, None, None)]
    rows[0] |= {"perplexity": first.perplexity_free, "said": _outcome(first)}
    for name, pair in found.items():
        machine = None if machines is None else machines.get(name)
        row = _row(name, pair.constrained, vocabulary, grammar, pair.parted, machine)
        rows.append(
            row
            | {
                "perplexity": pair.perplexity,
                "interventions": pair.interventions,
                "violation": pair.violation,
                "said": _said(pair),
            }
        )
    return rows


def schemes_packet(
    schemes: Sequence[Scheme], found: Mapping[str, RunPair], vocabulary: Vocabulary
) -> list[Packet]:
    """`scheme_rows` of some schemes.

    Returns:
        The rows; if terminals are known, ours has a ``note``: its k.
    """
    machines = {scheme.name: scheme.machine for scheme in schemes}
    grammar = next((scheme.grammar for scheme in schemes if scheme.grammar is not None), None)
    rows = scheme_rows(found, vocabulary, machines, grammar)
    for row in rows:
        if row["name"] == OURS and grammar is not None:
            row["note"] = "k = ∞"
    return rows


def failed_row(name: str, error: Exception) -> Packet:
    """The row of a scheme that could not be made or written: it says why.

    Returns:
        A row without tokens whose ``failed`` is true; ``said`` is the error's own sentence.

    Example:
        >>> row = failed_row("template", ValueError("The text is too long."))
        >>> row["said"], row["tokens"], row["failed"]
        ('not written: The text is too long.', [], True)
    """
    return {
        "name": name, "tokens": [], "finished": True, "interventions": 0.0, "bridges": None,
        "violation": None, "perplexity": 1.0, "said": f"not written: {error}", "failed": True,
    }  # fmt: skip


def borders_crossed(
    text: OwnFirstText, vocabulary: Vocabulary, grammar: TerminalGrammar
) -> list[int]:
    """For each token of a text 1 if it crosses a border of terminals, else 0."""
    counts = [bridges_of(grammar, vocabulary, text.tokens[:k]) for k in range(len(text.tokens) + 1)]
    return [after - before for before, after in pairwise(counts)]


def _row(
    name: str,
    text: OwnFirstText,
    vocabulary: Vocabulary,
    grammar: TerminalGrammar | None,
    parted: int | None,
    machine: TokenMachine | None,
) -> Packet:
    crossed = None if grammar is None else borders_crossed(text, vocabulary, grammar)
    fixed = _fixed(text, machine)
    tokens: list[Packet] = []
    for k, token in enumerate(text.tokens):
        bits = max(0.0, -text.log_probs[k] / math.log(2))
        box: Packet = {"id": token, "text": token_text(vocabulary, token), "bits": round(bits, 3)}
        marks = {
            "eos": token in vocabulary.eos_ids,
            "fixed": fixed[k],
            "parted": k == parted,
            "missed": text.misses[k],
            "bridge": bool(crossed and crossed[k]),
        }
        tokens.append(box | {mark: True for mark, there in marks.items() if there})
    return {
        "name": name,
        "tokens": tokens,
        "finished": text.finished,
        "interventions": 0.0,
        "bridges": None if crossed is None else sum(crossed),
        "violation": None,
    }


def _fixed(text: OwnFirstText, machine: TokenMachine | None) -> list[bool]:
    """For each token whether a scheme fixed it beforehand."""
    scheme = None if machine is None else filtered_of(machine)
    if scheme is None:
        return [False] * len(text.tokens)
    fixed: list[bool] = []
    state: int | None = scheme.start
    for token in text.tokens:
        fixed.append(state is not None and "fixed" in scheme.marks(state, token))
        state = None if state is None else scheme.step(state, token)
    return fixed


def _outcome(pair: RunPair) -> str:
    return {
        "valid": "the text is valid",
        "goes on": "the text is valid and then goes on",
        "cut": "the text is valid as far as it goes",
        "invalid": f"not valid from token {pair.valid + 1} on",
    }[pair.outcome]


def _said(pair: RunPair) -> str:
    """The relation of a constrained text to the model's own."""
    k = pair.violation
    if k is not None:
        return f"token {k + 1} differs although the model's own is valid: invasive"
    mine, own = len(pair.constrained.tokens), len(pair.free.tokens)
    if pair.outcome == "goes on" and pair.constrained.finished and mine == pair.valid + 1:
        return "ends where the model alone goes on"
    if pair.parted is not None:
        return f"differs from token {pair.parted + 1} on, where the model's own is not valid"
    if mine == own:
        return "the same as the model alone"
    more = counted(abs(mine - own), "token")
    return f"ends {more} earlier" if mine < own else f"goes on for {more} more"
