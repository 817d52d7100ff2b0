"""The kinds of sources that are grammars, one for each notation.

The text is the grammar as it was written, comments included; spans of letters, classes and patterns
refer to it. The label of a place is its rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, NamedTuple, Self

from explorer.arguments import counted, flag, instance, whole_number, whole_text
from explorer.automata.rules.network import regular
from explorer.automata.tree.nodes import Node, Rules, Source, Written
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, DamagedFile, GrammarError, caret
from explorer.languages.grammar.diagnosis import check_deterministic
from explorer.languages.grammar.notations.checks import check_rules, unused_rules
from explorer.languages.grammar.notations.gbnf import GbnfReader
from explorer.languages.grammar.notations.indentation import AROUND
from explorer.languages.grammar.notations.lark import LarkReader
from explorer.languages.grammar.notations.reading import (
    MOST_CHARACTERS,
    Bodies,
    GrammarReader,
    WrittenRule,
)
from explorer.languages.sources.registry import register

MOST_REMARKS: Final = 8
"""The most unused rules that are named in remarks."""

SEARCHED: Final = Budget(states=200_000, arcs=20_000_000, seconds=1.0)
"""The budget of the search for a text of the remark on ambiguity."""

LONGEST_SHOWN: Final = 60
"""The most characters of a grammar in its short form."""


INDENT: Final = 32
"""The default of the most columns of indentation."""


MOST_INDENT: Final = 200
"""The most columns of indentation that can be asked for."""


class ReadGrammar(NamedTuple):
    """The rules and pieces of a grammar that was read.

    Args:
        rules: The rules as they were written.
        bodies: The rules that are followed.
        leaves: The sources that are pieces of them.
    """

    rules: tuple[WrittenRule, ...]
    bodies: Bodies
    leaves: tuple[Source, ...]


@dataclass(frozen=True)
class GrammarText(Source):
    """A grammar as it was written.

    Args:
        ambiguous: ``False`` if a text that can be read in two ways was refused; by default a remark
            shows such a text, and with ``True`` nothing is said.
        parts: The sources embedded in the text as pieces, such as control tokens, or the parts that
            replace them.
        start: The rule with which a text begins; by default the one that the notation names.
        indent: The most columns of a block, where indentation counts.
    """

    reader: ClassVar[type[GrammarReader]]
    notation: ClassVar[str]

    grammar: str
    ambiguous: bool | None = None
    parts: tuple[Source, ...] = ()
    start: str | None = None
    indent: int = INDENT

    @property
    def text(self) -> str:
        """The grammar as text."""
        return self.grammar

    @property
    def shown(self) -> str:
        """The text that is shown, which is the whole grammar."""
        return self.grammar

    @cached_property
    def _whole(self) -> ReadGrammar:
        """All that is read from the text."""
        return self._read(Meter())

    @property
    def rules(self) -> tuple[WrittenRule, ...]:
        """The checked rules, in the order of the text."""
        return self._whole.rules

    def _read(self, meter: Meter) -> ReadGrammar:
        reader = self.reader(self.grammar, self.parts)
        reader.meter = meter
        reader.start, reader.indent = self.start or reader.start, self.indent
        rules = reader.rules()
        check_rules(
            self.grammar, rules, self.root(rules), circles=self.ambiguous is not False,
            elsewhere=reader.elsewhere, meter=meter,
        )  # fmt: skip
        return ReadGrammar(tuple(rules), reader.written(rules), tuple(reader.leaves))

    def warnings(self) -> tuple[str, ...]:
        """A remark for each rule that is never used, with a caret under its name."""
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
        return (*said, *self._read_twice(), *super().warnings())

    def decisions(self) -> tuple[str, ...]:
        """The limit of indentation, where it counts."""
        if not self._whole.bodies.apart:
            return super().decisions()
        limit = (
            f"A block is at most {self.indent} columns wide; grammar(..., indent=...) sets the "
            "limit, with which the machine grows."
        )
        return (limit, *super().decisions())

    def _read_twice(self) -> tuple[str, ...]:
        """A remark with a text that can be read in two ways, if there is one."""
        tree = self.tree.body
        if self.ambiguous is not None or not isinstance(tree, Rules) or tree.apart:
            return ()  # Blanks may end a block or not, whatever a grammar says.
        try:
            check_deterministic(self.grammar, self.rules, tree, self.notation, Meter(SEARCHED))
        except GrammarError as error:
            told = (
                f"{error.message}\nEvery way is followed; ambiguous=False refuses such a grammar."
            )
            return (told,)
        except BudgetExceeded:
            return ("Some text may be read in two ways; none was found within a second.",)
        return ()

    @property
    def space_remedy(self) -> str:
        """The remedy for endless white space: bound it in its rule."""
        return "Bound it in its rule, for example [ ]{0,2} for [ \\t\\n]*, or leave it out."

    def root(self, rules: Sequence[WrittenRule]) -> str:
        """The name of the first rule: the start, or the rule around it where text is ignored."""
        around = any(rule.name == AROUND for rule in rules)
        return AROUND if around else self.start or self.reader.start

    def lower(self) -> Node:
        """The rules, each body under its name."""
        rules, apart = self._whole.bodies
        bodies: dict[str, Node] = {
            name: Written(body.start, body.end, body, self, f"rule `{written}`")
            for name, (written, body) in rules.items()
        }
        root = AROUND if AROUND in bodies else self.root(self.rules)
        return Rules(0, len(self.grammar), root, bodies, regular, apart=apart)

    def fields(self) -> dict[str, object]:
        """The text, and whether it may be ambiguous."""
        fields: dict[str, object] = {
            "grammar": self.grammar,
            "ambiguous": self.ambiguous,
            "start": self.start,
        }
        return fields if self.indent == INDENT else {**fields, "indent": self.indent}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The grammar that was saved, read again."""
        text = instance("grammar", fields["grammar"], str, "a str", error=DamagedFile)
        start = _name(fields.get("start"))
        indent = whole_number("indent", fields.get("indent", INDENT), 1, error=DamagedFile)
        ambiguous = _flag(fields["ambiguous"])
        return cls.of(text, children, ambiguous=ambiguous, start=start, indent=indent)

    @classmethod
    def read(cls, text: str) -> Self:
        """The source of a grammar given as text.

        Raises:
            GrammarError: The grammar cannot be read, or its rules cannot be followed.
        """
        return cls.of(text)

    @classmethod
    def of(
        cls, text: str, parts: tuple[Source, ...] = (), *, ambiguous: bool | None = None,
        start: str | None = None, indent: int = INDENT, budget: Budget | None = None,
    ) -> Self:  # fmt: skip
        """The source of a grammar, read and checked at once.

        Raises:
            GrammarError: The grammar cannot be read, or its rules cannot be followed.
            BudgetExceeded: Reading it takes more than the budget.
        """
        text = whole_text("text", text)
        if len(text) > MOST_CHARACTERS:
            raise GrammarError(
                f"The grammar has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read",
                text="", start=0, remedy="Leave something out.",
            )  # fmt: skip
        meter = Meter(budget)
        whole = cls(text, ambiguous, parts, start, indent)._read(meter)
        made = cls(text, ambiguous, whole.leaves, start, indent)
        vars(made)["_whole"] = whole  # Where `cached_property` keeps it.
        tree = made.tree.body
        if ambiguous is False and whole.bodies.apart:
            raise GrammarError(
                "Where indentation counts, blanks are followed with several stacks", text=text,
                start=0, remedy="Leave ambiguous=False out.",
            )  # fmt: skip
        if ambiguous is False and isinstance(tree, Rules):
            given = None if budget is None else meter
            check_deterministic(text, whole.rules, tree, cls.notation, given)
        return made

    def __str__(self) -> str:
        more = "" if self.start is None else f", start={self.start!r}"
        more += "" if self.ambiguous is None else f", ambiguous={self.ambiguous}"
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
    """A grammar in the notation of Lark."""

    kind: ClassVar[str] = "lark-grammar"
    reader: ClassVar[type[GrammarReader]] = LarkReader

    @property
    def space_remedy(self) -> str:
        """The remedy for endless white space: write it with a bound, not with ``%ignore``."""
        return (
            "Write it where it may stand, bounded, such as /[ ]{0,2}/; what %ignore names may be "
            "repeated without end."
        )

    notation: ClassVar[str] = "lark"


NOTATIONS: Final[dict[str, type[GrammarText]]] = {
    "gbnf": GbnfGrammar,
    "lark": LarkGrammar,
}
"""The kind of source of each notation."""


def _name(value: object) -> str | None:
    """The name of the first rule, as it was saved."""
    return None if value is None else instance("start", value, str, "a str", error=DamagedFile)


def _flag(value: object) -> bool | None:
    """Whether the grammar may be ambiguous, as it was saved."""
    return None if value is None else flag("ambiguous", value)
