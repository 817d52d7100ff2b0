"""The stage that turns a text into the text that the tokenizer's tokens spell.

Before its model sees a text, a tokenizer rewrites it: it adds a dummy prefix, changes to lower case
or NFC, removes spaces. The tokens then spell the rewritten text. A person writes a pattern for the
original text; this stage composes it with the tokenizer's own normalizer and pre-tokenizer, read
from its declaration (`explorer.languages.stages.declared`), each step as a transducer.

A step that no transducer here follows, such as BERT's splitter, is followed for a constraint of few
texts, by the library's own functions; for other constraints it is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Self, cast

from explorer.alphabet import NUM_BYTES
from explorer.arguments import listed
from explorer.automata.construction.operations import empty_dfa
from explorer.automata.drawn import DrawnTransducer
from explorer.automata.machine import NO_ARC, Dfa
from explorer.automata.tree.build import build
from explorer.automata.tree.charset import char_set
from explorer.automata.tree.nodes import Class, Deferred, Node, Repeat, Texts, Written
from explorer.automata.words import words
from explorer.budget import Meter
from explorer.errors import ConstraintError, DamagedFile, UnsupportedTokenizer
from explorer.languages.stages.declared import (
    MARK,
    Step,
    TextsBefore,
    cuts,
    parts_of_step,
    relation_of,
    rewriting_function,
)
from explorer.languages.stages.normalizing import EachText, few_texts
from explorer.languages.stages.relation import STANDS_FOR_MARK, Relation, Rewriting, drawn
from explorer.languages.stages.stage import TextStage, register_stage


@register_stage
@dataclass(frozen=True)
class Preprocessed(TextStage):
    """The stage of a tokenizer's normalizer and pre-tokenizer.

    Args:
        steps: The declared steps in order, each as JSON, from
            `explorer.languages.stages.declared.steps_of`.
    """

    kind: ClassVar[str] = "preprocessed"

    steps: tuple[str, ...]

    def around(self, part: Written) -> Node:
        """The texts of the part as the tokens spell them."""
        return self.named(Deferred(0, 0, lambda meter: self.image(build(part, meter), meter)))

    def image(self, machine: Dfa, meter: Meter) -> Dfa:
        """The language of rewritten texts, which the tokens spell.

        Raises:
            UnsupportedTokenizer: A step is not finite-state for these texts, or is not supported.
            BudgetExceeded: A limit was reached.
        """
        steps = [cast("Step", json.loads(step)) for step in self.steps]
        return _followed(steps, machine, meter)[1]

    def original(self, part: Node, text: str) -> str:
        """The text of the constraint that is rewritten to a given one.

        Raises:
            ConstraintError: Several texts are rewritten to it; two of them are named.
        """
        meter = Meter()
        steps = [cast("Step", json.loads(step)) for step in self.steps]
        relations, _ = _followed(steps, build(part, meter), meter)
        before = build(Texts(0, 0, (text,)), meter)
        for machine, relation in reversed(relations):
            before = relation.origins(machine, before, meter)
        texts = [data.decode() for data in islice(words(before, meter), 2)]
        if len(texts) > 1:
            raise ConstraintError(
                f"The tokenizer spells {texts[0]!r} and {texts[1]!r} alike, as {text!r}, so it is "
                f"not known which of them is meant.",
                remedy="Allow one of them only, or parse the text without preprocessed(...).",
                evidence={"text": text, "originals": texts},
            )
        return texts[0] if texts else text

    def transducer(self, meter: Meter) -> DrawnTransducer | None:
        """The transducer for the space and one letter, which stands for all others.

        As in figure 2 of Cognetta et al. (2025), which shows Llama 2's, the mark for a space is
        drawn itself, before it is read as a space again.
        """
        alphabet = char_set([(0x20, 0x20), (0x61, 0x61)])
        machine = build(Repeat(0, 0, Class(0, 0, alphabet), 0, None, False), meter)
        shown = [text.replace(json.dumps(MARK)[1:-1], STANDS_FOR_MARK) for text in self.steps]
        steps = [cast("Step", json.loads(text)) for text in shown]
        steps = [step for step in steps if step["type"] not in ("spaces", "added")]
        relations = [relation for _, relation in _followed(steps, machine, meter)[0]]
        return drawn([each for each in relations if isinstance(each, Relation)], meter)

    @property
    def title(self) -> str:
        """The name on the pipeline bar."""
        return "preprocessing"

    @property
    def about(self) -> str:
        """A sentence that says what the stage does."""
        kinds = [str(json.loads(step)["type"]) for step in self.steps]
        return "the text as the tokenizer rewrites it before its model sees it: " + (
            ", ".join(kinds) or "as it is"
        )

    def fields(self) -> dict[str, object]:
        """The steps."""
        return {"steps": [json.loads(step) for step in self.steps]}

    @classmethod
    def load(cls, fields: Mapping[str, object]) -> Self:
        """The stage that was saved."""
        steps = listed("steps", fields["steps"], "a list of steps", error=DamagedFile)
        if not all(isinstance(s, dict) and isinstance(s.get("type"), str) for s in steps):  # pyright: ignore[reportUnknownMemberType]
            raise DamagedFile(
                "A saved stage has steps that are not steps of a tokenizer.",
                remedy="Write the constraint again.",
            )
        return cls(tuple(json.dumps(step, sort_keys=True) for step in steps))

    def __str__(self) -> str:
        return "preprocessed(…)"


def _followed(
    steps: Sequence[Step], machine: Dfa, meter: Meter
) -> tuple[list[tuple[Dfa, Rewriting]], Dfa]:
    """The relations of some steps, each with the language before it; and the language after all."""
    if machine.start == NO_ARC:
        return [], empty_dfa(NUM_BYTES)
    for step in (step for step in steps if step["type"] == "added"):
        relation_of(step, TextsBefore(machine, False, meter))
    others = [step for step in steps if step["type"] != "added"]
    try:
        return _by_relations(others, machine, meter)
    except UnsupportedTokenizer:
        if not few_texts(machine, meter):
            raise
    rewriting = EachText(rewriting_function(others))
    return [(machine, rewriting)], rewriting.image(machine, meter)


def _by_relations(
    steps: Sequence[Step], machine: Dfa, meter: Meter
) -> tuple[list[tuple[Dfa, Rewriting]], Dfa]:
    relations: list[tuple[Dfa, Rewriting]] = []
    is_cut = False
    for step in (part for each in steps for part in parts_of_step(each)):
        relation = relation_of(step, TextsBefore(machine, is_cut, meter))
        is_cut |= cuts(step)
        if relation is not None:
            relations.append((machine, relation))
            machine = relation.image(machine, meter)
    return relations, machine
