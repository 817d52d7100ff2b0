"""From a path in a session's tree to its trace.

Cost: 10 ms for a thousand steps at 131,072 tokens, all for gathering what tokens are mentioned.
"""

from __future__ import annotations

from collections.abc import Sequence

from explorer.decoding.stepping.classes import first_of_classes
from explorer.decoding.stepping.rule import Rule
from explorer.decoding.stepping.tree import StepNode, StepTree
from explorer.decoding.trace.masks import MaskRows
from explorer.decoding.trace.recording import (
    EXAMPLES_PER_CLASS,
    MAX_CLASSES_SHOWN,
    MentionedTokens,
    Rejection,
)
from explorer.decoding.trace.records import Position, Step
from explorer.decoding.trace.trace import Trace
from explorer.errors import BudgetExceeded
from explorer.languages.sources.serial import source_to_dict
from explorer.tokens.states import DEAD_CLASS


def trace_of(
    tree: StepTree,
    nodes: Sequence[StepNode],
    *,
    seed: int,
    stream: int,
    rejection: Rejection | None = None,
    unread: tuple[int, ...] = (),
) -> Trace:
    """The record of a path. Reads the model where a position was not measured before.

    The mask of a state that was never worked out may be beyond the machine's budget. The record
    then ends with the position before it, so that what was written is not lost.

    Raises:
        BudgetExceeded: The mask of the start is beyond the budget.
    """
    setting, rule = tree.setting, tree.setting.rule
    positions = _known_positions(tree, nodes)
    if len(positions) < len(nodes):
        nodes, rejection, unread = nodes[: len(positions)], None, ()
    constraint = rule.machine.constraint
    steps = tuple(node.step for node in nodes if node.step is not None)
    masks = tree.mask_rows(nodes)
    return Trace(
        model=None if setting.model is None else setting.model.name,
        prompt=setting.prompt,
        prompt_ids=setting.prompt_ids,
        tokens=_mentioned(rule, masks, positions, steps, rejection),
        sampler=setting.sampler,
        seed=seed,
        stream=stream,
        max_tokens=setting.max_tokens,
        masking_budget=setting.masking_budget,
        source=None if constraint is None else source_to_dict(constraint.source),
        num_states=rule.machine.num_states,
        num_char_states=rule.num_byte_states,
        masks=masks,
        positions=positions,
        steps=steps,
        rejection=rejection,
        unread=unread,
        draft=None if setting.drafting is None else setting.drafting.name,
        prefixed=setting.prefixed,
    )


def _known_positions(tree: StepTree, nodes: Sequence[StepNode]) -> tuple[Position, ...]:
    """The positions of a path, up to the first whose mask is beyond the budget."""
    positions: list[Position] = []
    for node in nodes:
        try:
            positions.append(tree.position(node))
        except BudgetExceeded:
            if not positions:
                raise
            break
    return tuple(positions)


def _mentioned(
    rule: Rule,
    masks: MaskRows | None,
    positions: Sequence[Position],
    steps: Sequence[Step],
    rejection: Rejection | None,
) -> MentionedTokens:
    """The tokens that a trace mentions."""
    vocabulary = rule.vocabulary
    mentioned = {step.token for step in steps} | set(vocabulary.eos_ids)
    mentioned |= {step.proposal.token for step in steps if step.proposal is not None}
    if rejection is not None and 0 <= rejection.token < len(vocabulary):
        mentioned.add(rejection.token)
    for position in positions:
        if position.distribution is not None:
            mentioned.update(entry.token for entry in position.distribution.candidates)
    if masks is not None:
        examples = first_of_classes(masks.token_class(), masks.num_classes, EXAMPLES_PER_CLASS)
        shown = examples[DEAD_CLASS + 1 : MAX_CLASSES_SHOWN]
        mentioned.update(shown[shown >= 0].tolist())
    return MentionedTokens.of(vocabulary, mentioned)
