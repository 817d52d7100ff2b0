"""Runs of tokens that are the only ones allowed: what may be skipped, and nothing else."""

from __future__ import annotations

from typing import Final, Literal, cast, get_args

import numpy as np

from explorer.arguments import plain, wrong
from explorer.decoding.stepping.rule import Rule
from explorer.tokens.states import DONE, FREE

Forced = Literal["step", "run"]
"""How tokens that are the only ones allowed are read: one by one, or a whole run of them in one
forward pass of the model."""

LONGEST_FORCED_RUN: Final = 256
"""How many forced tokens are read together at most."""


def checked_forced(forced: object) -> Forced:
    """A way to read forced tokens.

    Raises:
        ExplorerError: It is something else.
    """
    forced = plain(forced)
    if not isinstance(forced, str) or forced not in get_args(Forced):
        raise wrong("forced", forced, 'a way to take forced tokens: "step" or "run"')
    return cast("Forced", forced)


def forced_run(
    rule: Rule, state: int, remaining: int | None, longest: int = LONGEST_FORCED_RUN
) -> tuple[int, ...]:
    """The tokens from a state on that are the only ones allowed, one after the other.

    The end of the text is not among them: nothing is read after it.

    Args:
        rule: What the constraint says.
        state: Where.
        remaining: Tokens that may still be written, EOS included; ``None`` for no limit.
        longest: How many to find at most.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"o", b"d", b"t"], eos_ids=[4])
        >>> rule = Rule.of(explorer.choice(["food", "foot"]), vocab)
        >>> forced_run(rule, rule.start, None)
        (0, 1, 1)
    """
    run: list[int] = []
    ends = rule.vocabulary.eos_ids
    while state not in (DONE, FREE) and len(run) < longest:
        mask = rule.mask(state, None if remaining is None else remaining - len(run))
        if np.count_nonzero(mask.allowed) != 1:
            break
        token = int(mask.allowed.argmax())
        following = rule.step(state, token)
        if token in ends or following is None:
            break
        run.append(token)
        state = following
    return tuple(run)
