"""From a path in a session's tree to its trace.

Cost: 10 ms for a thousand steps at 131,072 tokens, all for gathering what tokens are mentioned.
"""

from __future__ import annotations

from collections.abc import Sequence

from explorer.automata.serial import source_to_dict
from explorer.decoding.stepping.rule import Rule
from explorer.decoding.stepping.tree import Node, Tree
from explorer.decoding.trace.records import Position, Step
from explorer.decoding.trace.trace import (
    EXAMPLES_PER_CLASS,
    MAX_CLASSES_SHOWN,
    Rejection,
    TokenTable,
    Trace,
)
from explorer.tokens.states import DEAD_CLASS


def trace_of(
    tree: Tree,
    nodes: Sequence[Node],
    *,
    seed: int,
    stream: int,
    rejection: Rejection | None = None,
    unread: tuple[int, ...] = (),
) -> Trace:
    """The record of a path. Reads the model where a position was not measured before.

    Args:
        tree: The tree.
        nodes: From its root on, each the parent of the next.
        seed, stream: What the draws were made with.
        rejection: The id after the last node that is not allowed.
        unread: The ids after that.
    """
    setting, rule = tree.setting, tree.setting.rule
    positions = tuple(tree.position(node) for node in nodes)
    steps = tuple(node.step for node in nodes if node.step is not None)
    return Trace(
        model=None if setting.model is None else setting.model.name,
        prompt=setting.prompt,
        prompt_ids=setting.prompt_ids,
        tokens=_mentioned(rule, positions, steps, rejection),
        sampler=setting.sampler,
        seed=seed,
        stream=stream,
        max_tokens=setting.max_tokens,
        masking_budget=setting.masking_budget,
        source=None if rule.dfa is None else source_to_dict(rule.dfa.constraint.source),
        num_states=rule.num_states,
        num_char_states=rule.num_char_states,
        num_classes=rule.num_classes,
        class_bytes=rule.class_bytes,
        positions=positions,
        steps=steps,
        rejection=rejection,
        unread=unread,
    )


def _mentioned(
    rule: Rule,
    positions: Sequence[Position],
    steps: Sequence[Step],
    rejection: Rejection | None,
) -> TokenTable:
    """The tokens that a trace mentions."""
    vocabulary = rule.vocabulary
    mentioned = {step.token for step in steps} | set(vocabulary.eos_ids)
    if rejection is not None and 0 <= rejection.token < len(vocabulary):
        mentioned.add(rejection.token)
    for position in positions:
        if position.distribution is not None:
            mentioned.update(entry.token for entry in position.distribution.candidates)
    if rule.dfa is not None:
        for number, ids in enumerate(rule.dfa.tokens_of_class[:MAX_CLASSES_SHOWN]):
            if number != DEAD_CLASS:
                mentioned.update(int(token) for token in ids[:EXAMPLES_PER_CLASS])
    return TokenTable.of(vocabulary, mentioned)
