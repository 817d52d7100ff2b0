"""A text that the constraint forces, in the tokenizer's own tokens, without asking the model.

Where only one text can follow, such as a tag or the key of a member, the model has no say in the
text, only in how it is cut into tokens. ``forced="prefill"`` does not ask it that either: it takes
the tokens that the tokenizer writes, all read in one forward pass. The last of them is left out
where a token that is allowed would write it and go on beyond the forced text: then the model
chooses, as without a forced text before.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer.alphabet import LETTER
from explorer.decoding.stepping.rule import LONGEST_FORCED_RUN, Rule, forced_run

LONGEST_TEXT: Final = 2_000
"""The most bytes of a forced text that are followed."""


def prefilled_run(
    rule: Rule, state: int, remaining: int | None, longest: int = LONGEST_FORCED_RUN
) -> tuple[int, ...]:
    """The tokens from a state on that write what is forced.

    Args:
        remaining: Tokens that may still be written, EOS included; ``None`` for no limit.

    Example:
        >>> import explorer
        >>> lm = explorer.load_model("tiny")
        >>> rule = Rule.of(explorer.literal("The answer is ") + explorer.choice("yes", "no"),
        ...                lm.vocabulary)
        >>> lm.vocabulary.written(prefilled_run(rule, rule.start, None))
        b'The answer is'
    """
    run: list[int] = []
    while len(run) < longest and state >= 0:
        left = None if remaining is None else remaining - len(run)
        more = forced_run(rule, state, left, longest - len(run))
        more = more or _own_tokens(rule, state, left)[: longest - len(run)]
        if not more:
            break
        run += more
        for token in more:
            state = rule.step(state, token) or 0
    return tuple(run)


def _own_tokens(rule: Rule, state: int, remaining: int | None) -> tuple[int, ...]:
    """The tokenizer's tokens of the text that is forced from a state on."""
    text = _forced_text(rule, state)
    ids = rule.vocabulary.encode(text) if text else None
    known = rule.vocabulary.tokens
    if not ids or b"".join(known[token] or b"" for token in ids) != text.encode():
        return ()
    taken: list[int] = []
    for k, token in enumerate(ids):
        allowed = rule.mask(state, None if remaining is None else remaining - k).allowed
        following = rule.step(state, token)
        if following is None or not allowed[token]:
            break
        data = known[token] or b""
        longer = (known[int(other)] or b"" for other in np.flatnonzero(allowed))
        if k == len(ids) - 1 and any(
            len(each) > len(data) and each.startswith(data) for each in longer
        ):
            break
        taken.append(token)
        state = following
    return tuple(taken)


def _forced_text(rule: Rule, state: int) -> str:
    """The text that every word goes on with; empty where there is a choice."""
    machine = rule.machine.byte_machine
    if machine is None or machine.over_tokens:
        return ""
    here, forced = rule.byte_state(state), bytearray()
    while here >= 0 and not machine.is_accepting(here) and len(forced) < LONGEST_TEXT:
        following = machine.expected(here)
        if len(following) != 1 or following[0] == LETTER:
            break
        forced += following
        here = machine.step(here, following[0])
    return forced.decode(errors="ignore")
