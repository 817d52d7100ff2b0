"""Explanations at a position of a session or a saved trace.

A session knows more than its machine: the path to the position, the model's probabilities, the
tokens that the sampler and the token budget remove. All of it goes into the same `Explanation`; the
verdict itself stays that of the constraint, beside `sampled_out` and `over_budget`.

Everything here is a pure function: the session does not move, and it provides the logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.analysis.explaining.explanation import (
    Explanation,
    History,
    TextExplanation,
    explain,
    with_limits,
)
from explorer.analysis.explaining.groups import MaskReasons, explain_all
from explorer.analysis.explaining.searched import OverBudget
from explorer.analysis.places.deciding import deciding_parts
from explorer.analysis.verdict.background import unconstrained
from explorer.analysis.verdict.verdict import RecordedToken, judge_recorded
from explorer.arguments import whole_number
from explorer.budget import Budget, Meter
from explorer.errors import ExplorerError
from explorer.tokens.machine import TokenMachine

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.decoding.sampling.sampler import SampledOut
    from explorer.decoding.stepping.walk import Walk
    from explorer.decoding.trace.trace import Trace


def explain_step(
    session: Walk,
    token: int | str,
    position: int | None = None,
    *,
    budget: Budget | None = None,
    trace: Trace | None = None,
) -> Explanation:
    """Explain why a token may come next at a position of a session, or may not.

    Args:
        token: An id, the spelling of a token, or a text that the tokenizer splits (`explain`).
        position: The number of tokens before it; default the cursor's.
        budget: Limits for the searches of the explanation.
        trace: The trace of its whole line, for a position after the cursor; default the session's.

    Raises:
        ExplorerError: The session has no constraint, or no such position.
    """
    trace = session.trace if trace is None else trace
    k = _position(trace, position)
    # Without a distribution the text has ended, or fills all that the model can read.
    unread = trace.positions[k].distribution is None
    logits = None if session.lm is None or unread else session.logits(k)
    return explain_trace(session.machine, trace, token, k, logits=logits, budget=budget)


def explain_trace(
    machine: TokenMachine,
    trace: Trace,
    token: int | str,
    position: int | None = None,
    *,
    logits: Tensor | None = None,
    budget: Budget | None = None,
) -> Explanation:
    """`explain_step` for a trace and its machine.

    Args:
        machine: The constraint of the trace, compiled for its vocabulary.
        token: An id, the spelling of a token, or a text that the tokenizer splits (`explain`).
        position: The number of tokens before it; default the last.
        logits: float[W], the model's at that position, to find what the sampler removes; without
            them the trace's own candidates serve for `Explanation.nearest`.
        budget: Limits for the searches of the explanation.

    Raises:
        ExplorerError: There is no such position, or the machine is for another vocabulary.
    """
    if machine.vocabulary.fingerprint != trace.tokens.fingerprint:
        raise ExplorerError(
            "The trace was made with another vocabulary: its ids mean other text.",
            remedy="Give the tokenizer of the model that the trace was made with.",
            evidence={"trace": trace.tokens.fingerprint, "given": machine.vocabulary.fingerprint},
        )
    k = _position(trace, position)
    here = trace.positions[k]
    # A machine that numbers its states as they are met may number them differently here.
    states = states_along(machine, trace.ids[:k])
    explanation = explain(
        machine, states[-1], token, text=here.data,
        probabilities=_probabilities(trace, k, len(machine.vocabulary), logits),
        history=History(states, trace.ids[:k]), budget=budget,
    )  # fmt: skip
    # The session may refuse a token of the text before the first masked one.
    for index in range(explanation.index + 1):
        one = _at(explanation, index, here.data, k)
        over = _over_budget(trace, k + index, one)
        out = None
        if over is None and index == 0 and logits is not None:
            # The model's logits are known only before the first token.
            out = _sampled_out(trace, k, one, logits)
        if over is not None or out is not None:
            return with_limits(one, out, over)
    return explanation


def _at(explanation: Explanation, index: int, text: bytes, k: int) -> Explanation:
    """The explanation of an earlier token of the same text."""
    history = explanation.history
    if index == explanation.index or history is None:
        return explanation
    before = explanation.asked[:index]
    data = explanation.machine.vocabulary.written(before)
    one = explain(
        explanation.machine, history.states[k + index], explanation.asked[index], text=text + data,
        history=History(history.states[: k + index + 1], history.tokens[: k + index]),
        budget=explanation.budget,
    )  # fmt: skip
    return replace(one, asked=explanation.asked, index=index, note=explanation.note)


def reasons_at(
    session: Walk,
    position: int | None = None,
    *,
    budget: Budget | None = None,
    trace: Trace | None = None,
) -> MaskReasons:
    """Explain every id at a position of a session, by the model's probabilities if there is one.

    Args:
        position: The number of tokens before it; default the cursor's.
        budget: Limits for the searches.
        trace: The trace of its whole line, for a position after the cursor; default the session's.

    Raises:
        ExplorerError: The session has no constraint, or no such position.
    """
    trace = session.trace if trace is None else trace
    k = _position(trace, position)
    here = trace.positions[k]
    probabilities = model_probabilities(session, trace, k)
    return explain_all(session.machine, here.state, probabilities, text=here.data, budget=budget)


def model_probabilities(session: Walk, trace: Trace, k: int) -> NDArray[np.float64] | None:
    """The model's probability of every id; ``None`` without a model or a distribution."""
    # Without a distribution the text has ended, or fills all that the model can read.
    if session.lm is None or trace.positions[k].distribution is None:
        return None
    return _softmax(session.logits(k))


def explain_recorded(trace: Trace, token: int, position: int | None = None) -> TextExplanation:
    """Explain why a token was masked from a saved trace alone, without tokenizer or compilation.

    It uses the constraint, the masks and the tokens in the trace. The stage, the failing offset
    and the expected bytes are exact. Results that need other tokens, such as the bytes that the
    vocabulary could write instead, a dead end's witness and `Explanation.after`, are not known.

    Args:
        token: An id that the trace has.
        position: The number of tokens before it; default the last.

    Raises:
        ExplorerError: There is no constraint, no such position, or the token's bytes are not
            recorded.
    """
    constraint = trace.constraint
    if constraint is None:
        raise unconstrained()
    k = _position(trace, position)
    here = trace.positions[k]
    inside = 0 <= token < trace.tokens.size
    if inside and token not in trace.tokens.data and token not in trace.tokens.eos_ids:
        raise ExplorerError(
            f"The trace does not say what token {token} writes.",
            remedy="Give its tokenizer too (--tokenizer, --model), or ask for a token it mentions.",
            evidence={"token": token},
        )
    over_budget = False
    allowed = inside and bool(trace.allowed(k)[token])
    if inside and not allowed:
        # The recorded mask includes the token budget; the verdict is the constraint's.
        over_budget = bool(trace.row(k, with_budget=False)[trace.token_class[token]])
        allowed = over_budget
    over_tokens = constraint.over_tokens
    ends = token in trace.tokens.eos_ids
    verdict = judge_recorded(
        constraint.for_tokens(Meter()) if over_tokens else constraint.machine,
        here.data, here.state,
        RecordedToken(token, trace.tokens.data.get(token), inside, ends, allowed),
        ended_by=trace.ids[k - 1] if k and here.finished else None,
        byte_state=here.char_state if over_tokens else None,
    )  # fmt: skip
    parts = deciding_parts(constraint, verdict)
    return TextExplanation(verdict, parts, constraint, trace.tokens, over_budget)


def states_along(machine: TokenMachine, ids: Sequence[int]) -> tuple[int, ...]:
    """The states of a machine before each of some ids, and after the last.

    Raises:
        ExplorerError: The machine does not allow them.
    """
    states = [machine.start]
    for token in ids:
        following = machine.step(states[-1], token)
        if following is None:
            raise ExplorerError(
                f"The machine does not allow the trace's token {token} at position "
                f"{len(states) - 1}: the trace was made with another constraint.",
                remedy="Compile the constraint of the trace.",
                evidence={"token": token, "position": len(states) - 1},
            )
        states.append(following)
    return tuple(states)


def _position(trace: Trace, position: int | None) -> int:
    last = len(trace.positions) - 1
    k = last if position is None else whole_number("position", position, None)
    if not 0 <= k <= last:
        raise ExplorerError(
            f"The trace has no position {k}; it has the positions 0 to {last}.",
            remedy="Position k is after k tokens.",
            evidence={"position": k, "last": last},
        )
    return k


def _softmax(logits: Tensor) -> NDArray[np.float64]:
    return logits.detach().double().softmax(-1).cpu().numpy()


def _probabilities(
    trace: Trace, k: int, size: int, logits: Tensor | None
) -> NDArray[np.float64] | None:
    if logits is not None:
        return _softmax(logits)
    distribution = trace.positions[k].distribution
    if distribution is None:
        return None
    known = np.zeros(size)
    for candidate in distribution.candidates:
        if candidate.token < size:
            known[candidate.token] = np.exp(candidate.model)
    return known


def _over_budget(trace: Trace, k: int, explanation: Explanation) -> OverBudget | None:
    """The tokens needed to the end, where they exceed the remaining ones; else ``None``."""
    if trace.max_tokens is None or not trace.masking_budget or not explanation.allowed:
        return None
    target = explanation.machine.step(explanation.state, explanation.token)
    if explanation.state < 0 or target is None:
        return None
    distance = explanation.machine.distance_to_end(target) if target >= 0 else 0
    if distance is None:
        return None
    needs = 1 + distance
    remain = trace.max_tokens - k
    return OverBudget(needs, remain) if needs > remain else None


def _sampled_out(
    trace: Trace, k: int, explanation: Explanation, logits: Tensor
) -> SampledOut | None:
    """The filter of the sampler that removes an allowed token; ``None`` if none does."""
    if not explanation.allowed or not 0 <= explanation.token < logits.shape[-1]:
        return None
    import torch

    from explorer.decoding.sampling.sampler import sampled_out

    kept = np.zeros(logits.shape[-1], np.bool_)
    allowed = trace.allowed(k)[: len(kept)]
    kept[: len(allowed)] = allowed
    mask = torch.from_numpy(kept)  # pyright: ignore[reportUnknownMemberType]  # torch's stub.
    mask = mask.to(logits.device)
    return sampled_out(trace.sampler, logits.masked_fill(~mask, -torch.inf), explanation.token)
