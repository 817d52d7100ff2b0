"""Constraints for which a tokenizer's rules are not followed, refused by name."""

from __future__ import annotations

import numpy as np

from explorer.automata.machine import ByteMachine, Dfa
from explorer.automata.tree.over_tokens import is_over_tokens
from explorer.errors import ConstraintError, UnsupportedTokenizer
from explorer.vocabulary.canonical.rules import CanonicalRules


def check_texts(rules: CanonicalRules, machine: ByteMachine | None) -> None:
    """Refuse texts that the tokenizer treats by rules that are not followed.

    Args:
        rules: The tokenizer's.
        machine: The constraint's machine over bytes.

    Raises:
        ConstraintError: The constraint itself says where tokens end.
        UnsupportedTokenizer: Some text of the constraint is not ASCII and the tokenizer normalizes
            it, or may hold an added token.
    """
    if machine is not None and is_over_tokens(machine):
        raise ConstraintError(
            "This constraint says itself where tokens end, which the canonical filter would have "
            "to agree with; the two are not followed together.",
            remedy="Leave out one of them.",
        )
    if not rules.ascii_only and not rules.literals:
        return
    if not isinstance(machine, Dfa):
        raise UnsupportedTokenizer(
            f"normalizer.{rules.ascii_only}" if rules.ascii_only else "added_tokens",
            "whether it changes a text of this constraint is known only of a closed machine, and "
            "this one is too large for that",
            remedy="Make the constraint smaller, or leave out canonical(...).",
        )
    beyond = np.unique(machine.symbol_class[0x80:0x100])
    if rules.ascii_only and bool((machine.table[:, beyond] >= 0).any()):
        raise UnsupportedTokenizer(
            f"normalizer.{rules.ascii_only}",
            "it rewrites text beyond ASCII, which this constraint allows, and which texts it "
            "leaves as they are is not followed here",
            remedy=r"Keep the constraint to ASCII, for example c & regex(r'(?s)[\x00-\x7f]*').",
        )
    for literal in rules.literals:
        states = np.arange(machine.num_states)
        for byte in literal:
            states = machine.table[states, machine.symbol_class[byte]]
            states = states[states >= 0]
        if len(states):
            raise UnsupportedTokenizer(
                f"added_token {literal.decode(errors='replace')!r}",
                "it cuts a text before anything else does, which is not followed here, and texts "
                "of this constraint may hold it",
                remedy="Take texts that hold it away from the constraint, or leave out "
                "canonical(...).",
            )
