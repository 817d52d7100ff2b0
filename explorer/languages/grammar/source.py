"""The kinds of sources that are grammars, one for each notation.

The text is the grammar as it was written, comments included, and the places of its letters, classes
and patterns are places in it. A place is called after its rule.

Rules that are Python objects may hold terminals that have no form in GBNF: a JSON Schema, an
intersection, a machine from elsewhere. In the text of such a grammar, ``<1: JSON Schema>`` stands
for the first of them; its own text and places are those of the constraint, which is a child of the
grammar as the parts of a union are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Final, Self

from explorer.arguments import counted, flag, instance, whole_text
from explorer.automata.rules.network import regular
from explorer.automata.tree.nodes import Node, Rules, Source, Written
from explorer.budget import Budget, Meter
from explorer.errors import DamagedFile, GrammarError, caret
from explorer.languages.grammar.diagnosis import check_deterministic
from explorer.languages.grammar.notations.checks import check_rules, unused_rules
from explorer.languages.grammar.notations.common import COMMON
from explorer.languages.grammar.notations.ebnf import EbnfReader
from explorer.languages.grammar.notations.gbnf import GbnfReader
from explorer.languages.grammar.notations.lark import AROUND, LarkReader
from explorer.languages.grammar.notations.reading import MOST_CHARACTERS, GrammarReader, WrittenRule
from explorer.languages.sources.registry import register

MOST_REMARKS: Final = 8
"""The most rules that are never used and are named."""

LONGEST_SHOWN: Final = 60
"""The characters of a grammar that its short form shows."""


@dataclass(frozen=True)
class GrammarText(Source):
    """A grammar as a person wrote it.

    Args:
        ambiguous: Whether a text may lead to several stacks.
        parts: The sources that stand in it as pieces.
    """

    reader: ClassVar[type[GrammarReader]]
    notation: ClassVar[str]
    elsewhere: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The remedies for names that are not defined in the text, and known all the same."""

    grammar: str
    ambiguous: bool = False
    parts: tuple[Source, ...] = ()

    @property
    def text(self) -> str:
        """The grammar."""
        return self.grammar

    @property
    def shown(self) -> str:
        """The short form: a grammar has many lines."""
        return self.grammar

    @cached_property
    def rules(self) -> tuple[WrittenRule, ...]:
        """The rules, in their order; they were checked."""
        return self._read(Meter())

    def _read(self, meter: Meter) -> tuple[WrittenRule, ...]:
        rules = self.written(meter)
        check_rules(
            self.grammar, rules, self.root(rules), circles=self.ambiguous,
            elsewhere=self.elsewhere, meter=meter,
        )  # fmt: skip
        return tuple(rules)

    def warnings(self) -> tuple[str, ...]:
        """A remark for each rule that is never used; what stands under it is its line."""
        unused = unused_rules(self.rules, self.root(self.rules))
        said: list[str] = []
        for rule in unused[:MOST_REMARKS]:
            line = self.grammar.count("\n", 0, rule.start) + 1
            column = rule.start - self.grammar.rfind("\n", 0, rule.start)
            said.append(
                f"Line {line}, column {column}: the {rule.what} {rule.name!r} is never used, so it "
                f"changes no text.\n{caret(self.grammar, rule.start, rule.end)}"
            )
        if more := len(unused) - len(said):
            said.append(f"{more:,} more rules are never used.")
        return (*said, *super().warnings())

    @property
    def space_remedy(self) -> str:
        """White space without end is bounded where a rule has it."""
        return "Bound it in its rule, for example [ ]{0,2} for [ \\t\\n]*, or leave it out."

    def dialect(self) -> str:
        """The way in which the grammar is written: its notation, or which form of it."""
        return self.notation

    def written(self, meter: Meter) -> list[WrittenRule]:
        """The rules of the text, unchecked."""
        reader = self.reader(self.grammar, self.parts)
        reader.meter = meter
        return reader.rules()

    @classmethod
    def root(cls, rules: Sequence[WrittenRule]) -> str:
        """The rule with which a text begins."""
        return "root"

    def lower(self) -> Node:
        """The rules, each body under its name."""
        bodies: dict[str, Node] = {
            rule.name: Written(
                rule.body.start, rule.body.end, rule.body, self, f"rule `{rule.name}`"
            )
            for rule in self.rules
        }
        return Rules(0, len(self.grammar), self.root(self.rules), bodies, regular, self.ambiguous)

    def fields(self) -> dict[str, object]:
        """The text, and whether several stacks are followed."""
        return {"grammar": self.grammar, "ambiguous": self.ambiguous}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The grammar that was saved, read again."""
        text = instance("grammar", fields["grammar"], str, "a str", error=DamagedFile)
        # What is written as text alone has no parts; a file that says so is damaged.
        parts = () if cls.plain_text else children
        return cls.of(text, parts, ambiguous=flag("ambiguous", fields["ambiguous"]))

    @classmethod
    def read(cls, text: str) -> Self:
        """The grammar that was written.

        Raises:
            GrammarError: It cannot be read, or its rules cannot be followed.
        """
        return cls.of(text)

    @classmethod
    def of(
        cls, text: str, parts: tuple[Source, ...] = (), *, ambiguous: bool = False,
        budget: Budget | None = None,
    ) -> Self:  # fmt: skip
        """The grammar that was written, its errors at once.

        Raises:
            GrammarError: It cannot be read, or its rules cannot be followed.
            BudgetExceeded: Reading it takes longer than the budget has.
        """
        text = whole_text("text", text)
        if len(text) > MOST_CHARACTERS:
            raise GrammarError(
                f"The grammar has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read",
                text="", start=0, remedy="Leave something out.",
            )  # fmt: skip
        return cls(text, ambiguous, parts).checked(budget)

    def checked(self, budget: Budget | None = None) -> Self:
        """This grammar, if its rules can be followed.

        Raises:
            GrammarError: They cannot.
            BudgetExceeded: Reading it takes longer than the budget has.
        """
        meter = Meter(budget)
        if "rules" not in vars(self):  # Read here, so that this clock is looked at.
            vars(self)["rules"] = self._read(meter)
        rules, tree = self.rules, self.tree.body
        if not self.ambiguous and isinstance(tree, Rules):
            given = None if budget is None else meter
            check_deterministic(self.grammar, rules, tree, self.dialect(), given)
        return self

    def __str__(self) -> str:
        more = ", ambiguous=True" if self.ambiguous else ""
        syntax = "" if self.notation == "gbnf" else f", {self.notation!r}"
        lines = (" ".join(line.split()) for line in self.grammar.splitlines())
        text = "; ".join(line for line in lines if line and not line.startswith(("#", "//")))
        if len(text) > LONGEST_SHOWN:
            text = f"{text[: LONGEST_SHOWN - 1]}…"
            syntax = f", {counted(len(self.rules), 'rule')}{syntax}"
        return f"grammar({text!r}{syntax}{more})"


@register("grammar")
@dataclass(frozen=True)
class GbnfGrammar(GrammarText):
    """A grammar in GBNF, the notation of llama.cpp."""

    kind: ClassVar[str] = "grammar"
    reader: ClassVar[type[GrammarReader]] = GbnfReader
    notation: ClassVar[str] = "gbnf"


@register("grammar (Lark)")
@dataclass(frozen=True)
class LarkGrammar(GrammarText):
    """A grammar in the notation of Lark; its schemas and control tokens are its children, unless
    parts stand in their places.
    """

    kind: ClassVar[str] = "lark-grammar"
    reader: ClassVar[type[GrammarReader]] = LarkReader
    elsewhere: ClassVar[Mapping[str, str]] = MappingProxyType(
        {name: f"Write %import common.{name} on a line of its own." for name in COMMON}
    )

    @property
    def space_remedy(self) -> str:
        """White space is bounded where it stands: what is ignored may be repeated anywhere."""
        return (
            "Write it where it may stand, bounded, such as /[ ]{0,2}/; what %ignore names may be "
            "repeated without end."
        )

    notation: ClassVar[str] = "lark"

    @cached_property
    def _leaves(self) -> tuple[Source, ...]:
        reader = LarkReader(self.grammar, self.parts)
        reader.rules()
        return tuple(reader.leaves)

    @property
    def children(self) -> tuple[Source, ...]:
        """The schemas and control tokens, in their order."""
        return self._leaves

    def with_children(self, children: tuple[Source, ...]) -> Self:
        """The same rules around others."""
        return self if children == self.children else replace(self, parts=children)

    def written(self, meter: Meter) -> list[WrittenRule]:
        """The rules of the text, unchecked."""
        reader = LarkReader(self.grammar, self.parts)
        reader.meter = meter
        rules = reader.rules()
        vars(self)["_leaves"] = tuple(reader.leaves)
        return rules

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The grammar that was saved, read again."""
        made = super().load(fields, ())
        return made.with_children(children) if len(children) == len(made.children) else made

    @classmethod
    def root(cls, rules: Sequence[WrittenRule]) -> str:
        """``start``, or what is around it where something is ignored."""
        return AROUND if any(rule.name == AROUND for rule in rules) else "start"


@register("grammar (EBNF)")
@dataclass(frozen=True)
class EbnfGrammar(GrammarText):
    """A grammar in EBNF."""

    kind: ClassVar[str] = "ebnf-grammar"
    reader: ClassVar[type[GrammarReader]] = EbnfReader
    notation: ClassVar[str] = "ebnf"

    def dialect(self) -> str:
        """The W3C's form or that of ISO."""
        return "iso" if EbnfReader(self.grammar).iso else "w3c"

    @property
    def space_remedy(self) -> str:
        """White space without end is bounded with a pattern, as EBNF has no bounds."""
        return "Bound it in its rule, for example /[ ]{0,2}/ for ' '*, or leave it out."

    @classmethod
    def root(cls, rules: Sequence[WrittenRule]) -> str:
        """The first rule."""
        return rules[0].name if rules else "the first rule"


NOTATIONS: Final[dict[str, type[GrammarText]]] = {
    "gbnf": GbnfGrammar,
    "lark": LarkGrammar,
    "ebnf": EbnfGrammar,
}
"""The notations by name."""


@register("grammar with constraints")
@dataclass(frozen=True)
class EmbeddingGrammar(GbnfGrammar):
    """A grammar in GBNF with constraints for some terminals."""

    kind: ClassVar[str] = "embedding-grammar"
    plain_text: ClassVar[bool] = False
