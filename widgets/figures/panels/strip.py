"""The token strip: prompt and output as boxed tokens, with marks for how each came about.

Tokens are boxed so that spaces and punctuation can be told from prose. Surprisal, -log2 of the
model's own probability, has a scale of its own. *Forced* means that one token was allowed, not
that one was likely; *intervention* means that the model's first choice was masked.
"""

from __future__ import annotations

import math
from typing import Final

from explorer.automata.textbook.detokenizing import readable
from explorer.decoding.trace.records import Step
from explorer.decoding.trace.trace import Trace
from explorer.tokens.machine import TokenMachine, filtered_of
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import token_text
from widgets.figures.panels.distribution import reason_at, table_text

PROMPT_TOKENS: Final = 400
"""How many prompt tokens are shown, the last ones; the number of those left out is said."""


def surprisal(step: Step) -> float | None:
    """-log2 of the model's probability of a step, in bits; ``None`` where it is not known."""
    if step.log_prob_model is None or not math.isfinite(step.log_prob_model):
        return None
    return max(0.0, -step.log_prob_model / math.log(2))


def strip_token(trace: Trace, k: int, machine: TokenMachine | None = None) -> dict[str, object]:
    """One output token as the strip shows it; see `strip_packet`.

    A line has hundreds of them and stays in the notebook, so what is usual is left out: ``forced``,
    ``intervention`` and ``eos`` are there where they are true, ``by`` where it is not the sampler.
    Where a draft proposed a token, ``accepted`` is true or ``rejected`` is the text of it.
    ``again`` is true where it begins within the end of the prompt that healing opened. With the
    machine of a scheme, ``bridge`` is true where it crosses a border of terminals, and ``fixed``
    where it is text that a template tokenized beforehand.

    Example:
        >>> from explorer.analysis.session import Session
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> session = Session(ToyModel(), toy_constraint())
        >>> step = session.step(4)
        >>> token = strip_token(session.trace, 0)
        >>> token["id"], token["text"], token["by"], "eos" in token
        (4, 'food', 'user', False)
    """
    step, healed = trace.steps[k], trace.healed.encode()
    bits = surprisal(step)
    found: dict[str, object] = {
        "id": step.token,
        "text": table_text(trace, step.token),
        "surprisal": None if bits is None else round(bits, 3),
    }
    if step.chosen_by != "sampler":
        found["by"] = step.chosen_by
    proposal = step.proposal
    if proposal is not None and not proposal.accepted:
        found["rejected"] = table_text(trace, proposal.token)
    marks = {
        "again": bool(healed) and len(step.before.data) < len(healed),
        "accepted": proposal is not None and proposal.accepted,
        "forced": step.forced,
        "intervention": step.intervention,
        "eos": step.token in trace.tokens.eos_ids,
    }
    scheme = None if machine is None else filtered_of(machine)
    if scheme is not None:
        marks |= dict.fromkeys(scheme.marks(step.before.state, step.token), True)
    return found | {name: True for name, there in marks.items() if there}


def rejected_token(trace: Trace, machine: TokenMachine) -> dict[str, object] | None:
    """The token of a run from elsewhere that the constraint does not allow; the finding of it.

    Args:
        trace: The record.
        machine: Its token machine, for the reason.

    Returns:
        ``id``, ``text``, ``at`` (how many tokens stand before it), ``reason`` in a few words, and
        ``unread``, how many ids came after it; ``None`` if all was allowed.

    Example:
        >>> from explorer.analysis.session import Session
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> run = Session.from_ids(ToyModel().vocabulary, toy_constraint(), [2, 3, 0, 0])
        >>> rejected_token(run.trace, run.machine)
        {'id': 3, 'text': 'for', 'at': 1, 'reason': 'r: expects o', 'unread': 2}
    """
    found = trace.rejection
    if found is None:
        return None
    text = table_text(trace, found.token)
    reason = reason_at(trace.positions[found.index], found.token, machine)
    return {
        "id": found.token,
        "text": text,
        "at": found.index,
        "reason": reason,
        "unread": len(trace.unread),
    }


def strip_packet(trace: Trace, vocabulary: Vocabulary | None = None) -> dict[str, object]:
    """Prompt and output.

    Args:
        trace: The record.
        vocabulary: All tokens, for the prompt; without it the prompt is one box of text.

    Returns:
        Plain values for JSON.
    """
    shown = trace.prompt_ids[-PROMPT_TOKENS:]
    prompt: list[dict[str, object]]
    if vocabulary is not None:
        prompt = [{"id": token, "text": token_text(vocabulary, token)} for token in shown]
    else:
        given = trace.prompt if isinstance(trace.prompt, str) else ""
        prompt = [{"id": None, "text": readable(given.encode(errors="replace"))}] if given else []
    for entry in prompt[len(prompt) - trace.prefixed :] if vocabulary is not None else []:
        entry["begins"] = True  # The answer begins with it.
    found: dict[str, object] = {
        "prompt": prompt,
        "prompt_left_out": len(trace.prompt_ids) - len(shown),
        "tokens": [strip_token(trace, j) for j in range(len(trace.steps))],
        "finished": trace.finished,
    }
    # The text of the prompt's last token, where that was taken back (token healing).
    return found | ({"healed": readable(trace.healed.encode())} if trace.healed else {})
