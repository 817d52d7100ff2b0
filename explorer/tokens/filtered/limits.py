"""Constraints for which a tokenizer's rules are not followed, refused by name."""

from __future__ import annotations

import numpy as np

from explorer.automata.machine import ByteMachine, Dfa
from explorer.automata.tree.build import is_over_tokens
from explorer.budget import Meter
from explorer.errors import ConstraintError, UnsupportedTokenizer
from explorer.languages.stages.characters import alphabet_of
from explorer.vocabulary.canonical.rules import Rules
from explorer.vocabulary.canonical.word_rules import WordRules


def check_texts(rules: Rules, machine: ByteMachine | None, meter: Meter) -> None:
    """Refuse texts that the tokenizer treats by rules that are not followed.

    Args:
        rules: The tokenizer's.
        machine: The constraint's machine over bytes.
        meter: Watches the limits of looking at its characters.

    Raises:
        ConstraintError: The constraint itself says where tokens end.
        UnsupportedTokenizer: The tokenizer's normalizer changes some text of the constraint, or a
            text may hold an added token.
        BudgetExceeded: It took too long to find out.
    """
    if machine is not None and is_over_tokens(machine):
        raise ConstraintError(
            "This constraint says itself where tokens end, which the canonical filter would have "
            "to agree with; the two are not followed together.",
            remedy="Leave out one of them.",
        )
    normalizer = rules.normalizer if isinstance(rules, WordRules) else ""
    if not normalizer and not rules.literals:
        return
    if not isinstance(machine, Dfa):
        raise UnsupportedTokenizer(
            f"normalizer.{normalizer}" if normalizer else "added_tokens",
            "whether it changes a text of this constraint is known only of a closed machine, and "
            "this one is too large for that",
            remedy="Make the constraint smaller, or leave out canonical(...).",
        )
    if isinstance(rules, WordRules):
        characters = (chr(k) for low, high in alphabet_of(machine).ranges
                      for k in range(low, high + 1))  # fmt: skip
        changed = rules.rewritten(characters)
        if changed is not None:
            raise UnsupportedTokenizer(
                f"normalizer.{normalizer}",
                f"it rewrites texts with {changed!r} (U+{ord(changed):04X}), which this constraint "
                f"allows, so the tokenizer would write something else for them",
                remedy="Say what the tokens spell: c.preprocessed(tokenizer).canonical(...); or "
                "restrict the characters first.",
            )
    for literal in rules.literals:
        states = np.arange(machine.num_states)
        for byte in literal:
            states = machine.table[states, machine.symbol_class[byte]]
            states = states[states >= 0]
        if len(states):
            raise UnsupportedTokenizer(
                f"added_token {literal.decode(errors='replace')!r}",
                "it cuts a text before anything else does, in a way that is not followed here, and "
                "texts of this constraint may hold it",
                remedy="Take texts that hold it away from the constraint, or leave out "
                "canonical(...).",
            )
