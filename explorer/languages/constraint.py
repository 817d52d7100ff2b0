"""A constraint: a language over text, regular or context-free, with what it was written as.

Constraints are values: a source, and what follows from it. Combining them makes trees of sources;
nothing is computed until somebody asks. What was asked for is kept: the closed machine of the texts
(`Constraint.dfa`; a grammar that recurses has none), that over the ends of tokens where a part
speaks about tokens, and the machine that texts are looked up in (`membership`), which is discovered
where the closed one would be large. Everything is exact: classes are Python's, text is valid UTF-8,
and two regular constraints can be compared as languages.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from explorer.arguments import instance, plain, whole_number, whole_text, wrong
from explorer.automata.construction import operations
from explorer.automata.discovered.discover import discover, discover_limits
from explorer.automata.machine import ByteMachine, Dfa
from explorer.automata.tree.build import build, build_over_tokens, texts_are_those_of, texts_of
from explorer.automata.tree.nodes import Source
from explorer.automata.words import accepts, check_word, has_no_word, is_finite, shown_words
from explorer.budget import Budget, Meter
from explorer.errors import ConstraintError
from explorer.languages.membership import Membership, built_or_discovered
from explorer.languages.regex.source import Regex
from explorer.languages.sources.algebra import (
    MOST_PARTS,
    Complement,
    Concatenation,
    Difference,
    Intersection,
    Repetition,
    Union,
    chained,
    counted_times,
    not_an_operand,
    too_many_parts,
)
from explorer.languages.sources.serial import MAX_DEPTH
from explorer.languages.stages.methods import StageMethods
from explorer.languages.stages.stage import PipelineStage, TokenStage
from explorer.languages.stages.staged import Staged, check_operand

if TYPE_CHECKING:
    import interegular.fsm
    import pynini
Labels = Literal["bytes", "codepoints", "explorer"]
"""The ways in which an acceptor from elsewhere labels its arcs; see `Constraint.from_fst`."""


class Constraint(StageMethods):
    """A language over text. Make one with `regex`, `choice`, `literal` or from a machine.

    The operators combine constraints, and texts as literals: ``a | b``, ``a & b``, ``a - b``,
    ``a + b`` (one after the other) and ``~a``. They build trees; a machine is built on first use.

    Args:
        source: The tree that defines the language.
        dfa: Its minimal byte machine, if it is known.
        depth: The depth to which the source is nested.

    Raises:
        ConstraintError: Constraints are nested more than `MAX_DEPTH` deep.

    Example:
        >>> from explorer import choice, regex
        >>> words = regex("[a-z]{3}") - choice(["cat", "dog"])
        >>> words.accepts("cow"), words.accepts("cat")
        (True, False)
    """

    __slots__ = ("_depth", "_dfa", "_source", "_texts", "_tokens_dfa")

    def __init__(self, source: Source, dfa: Dfa | None = None, *, depth: int = 1) -> None:
        what = "the source of a constraint"
        remedy = "Make constraints with regex(...), choice([...]) or literal(...)."
        instance("source", source, Source, what, error=ConstraintError, remedy=remedy)
        if dfa is not None:
            what, remedy = "the minimal byte machine of the source", "Leave it out: it is built."
            instance("dfa", dfa, Dfa, what, error=ConstraintError, remedy=remedy)
        self._source = source
        self._dfa = dfa
        self._tokens_dfa: Dfa | None = None
        self._texts = Membership(source)
        self._depth = depth = whole_number("depth", depth, 0, error=ConstraintError)
        if depth > MAX_DEPTH:
            raise ConstraintError(
                f"Constraints are nested more than {MAX_DEPTH} deep.",
                remedy="Combine them in pairs; a union or concatenation of many is one level.",
                evidence={"limit": MAX_DEPTH},
            )
        if source.parts_written_out > MOST_PARTS:
            raise too_many_parts(source)

    @property
    def source(self) -> Source:
        """The tree that defines the language."""
        return self._source

    def build(self, meter: Meter) -> Dfa:
        """The minimal byte machine; it is built now if it was not built before.

        Raises:
            BudgetExceeded: A limit of the meter was reached.
        """
        _check_meter(meter)
        if self._dfa is None:
            if self.over_tokens and not texts_are_those_of(self.source.tree):
                self._dfa = texts_of(self.for_tokens(meter), meter)
            else:
                self._dfa = build(self.source.tree, meter)
        return self._dfa

    @property
    def over_tokens(self) -> bool:
        """Whether a part of it speaks about tokens, such as ``(?P<TEXT_TOKEN>)``.

        Then texts alone do not decide. Questions about texts (`accepts`, `examples`, `dfa`, `fsa`
        and the like) are answered for texts that can be cut into any tokens so that they are words;
        only `explorer.compile` knows the tokens of a vocabulary.
        """
        return self.source.over_tokens

    def for_tokens(self, meter: Meter) -> Dfa:
        """The machine that is composed with a vocabulary: `build`'s, or, if a part speaks about
        tokens, one over bytes and the ends of tokens (`explorer.automata.tree.build`).

        Raises:
            BudgetExceeded: A limit of the meter was reached.
        """
        if not self.over_tokens:
            return self.build(meter)
        if self._tokens_dfa is None:
            self._tokens_dfa = build_over_tokens(self.source.tree, meter)
        return self._tokens_dfa

    def discover(self, meter: Meter) -> ByteMachine:
        """A new machine over bytes that numbers its states as they are met.

        Raises:
            BudgetExceeded: A limit of the meter was reached; using the machine may raise it too.
        """
        _check_meter(meter)
        if self.over_tokens:
            return discover_limits(self.source.tree, meter) or self.for_tokens(meter)
        return discover(self.source.tree, meter.budget, meter)

    @property
    def machine(self) -> ByteMachine:
        """A machine over bytes: `dfa`, or one that is discovered if that would be large."""
        return self._dfa or self._texts.machine

    def within(self, budget: Budget) -> Constraint:
        """This constraint, with its machine built now, within the given budget.

        Raises:
            BudgetExceeded: A limit was reached.

        Example:
            >>> from explorer import Budget, regex
            >>> regex("a{2,9}").within(Budget(seconds=1)).is_finite()
            True
        """
        self.build(Meter(budget))
        return self

    @property
    def dfa(self) -> Dfa:
        """The character FSA as a minimal deterministic byte machine, within the default budget.

        Raises:
            BudgetExceeded: A limit of the default `Budget` was reached.

        Example:
            >>> from explorer import regex
            >>> regex("(foo)+d").dfa.num_states
            5
        """
        return self.build(Meter()) if self._dfa is None else self._dfa

    @property
    def fsa(self) -> pynini.Fst:
        """The character FSA as a pynini acceptor; byte b has label b + 1.

        Raises:
            MissingDependency: pynini is not installed.
            BudgetExceeded: A limit of the default `Budget` was reached.

        Example:
            >>> from explorer import regex
            >>> regex("ab").fsa.num_states()
            3
        """
        from explorer.automata.interchange.openfst import dfa_to_fst

        return dfa_to_fst(self.dfa)

    # The operators build trees; nothing is computed until a machine is asked for. A text is itself.
    def __or__(self, other: Constraint | str) -> Constraint:
        """Words of either."""
        other = _operand("|", other)
        source = chained(Union, self.source, other.source)
        return Constraint(source, depth=_depth(self, other, flat=Union))

    def __and__(self, other: Constraint | str) -> Constraint:
        """Words of both."""
        other = _operand("&", other)
        return Constraint(Intersection(self.source, other.source), depth=_depth(self, other))

    def __sub__(self, other: Constraint | str) -> Constraint:
        """Words of the left one that are not words of the right one."""
        other = _operand("-", other)
        return Constraint(Difference(self.source, other.source), depth=_depth(self, other))

    def __add__(self, other: Constraint | str) -> Constraint:
        """A word of the left one, then one of the right."""
        other = _operand("+", other)
        source = chained(Concatenation, self.source, other.source)
        return Constraint(source, depth=_depth(self, other, flat=Concatenation))

    # A text on the left; a constraint's own operator comes first.
    def __ror__(self, other: str) -> Constraint:
        return _operand("|", other) | self

    def __rand__(self, other: str) -> Constraint:
        return _operand("&", other) & self

    def __rsub__(self, other: str) -> Constraint:
        return _operand("-", other) - self

    def __radd__(self, other: str) -> Constraint:
        return _operand("+", other) + self

    def __invert__(self) -> Constraint:
        """The valid UTF-8 texts that are not words of this constraint; also ``c.complement()``.

        Example:
            >>> from explorer import regex
            >>> others = regex("[0-9]+").complement()
            >>> others.accepts("12"), others.accepts("12a")
            (False, True)
        """
        return Constraint(Complement(self.source), depth=_depth(self))

    def star(self) -> Constraint:
        """Any number of words, one after the other, none included."""
        return self.times(0, None)

    def plus(self) -> Constraint:
        """One word or more, one after the other."""
        return self.times(1, None)

    def optional(self) -> Constraint:
        """A word, or the empty text."""
        return self.times(0, 1)

    def times(self, fewest: int, most: int | EllipsisType | None = ...) -> Constraint:
        """A number of words, one after the other; `explorer.many` puts a separator between them.

        Args:
            fewest: The least number of words.
            most: The greatest number; ``None`` for no limit, the same as ``fewest`` if left out.

        Raises:
            ConstraintError: One of them is not a whole number from 0, or ``most`` is below
                ``fewest``.

        Example:
            >>> from explorer import regex
            >>> regex("[0-9]").times(2, 3).accepts("123"), regex("ab").times(2).examples()
            (True, ['abab'])
        """
        return Constraint(Repetition(self.source, *counted_times(fewest, most)), depth=_depth(self))

    complement = __invert__

    def through(self, stage: PipelineStage) -> Constraint:
        """This constraint behind a stage, such as those of `StageMethods`; see there."""
        remedy = "Call .canonical(...), .normalized(...) or .restrict(...), which give the stage."
        instance("stage", stage, PipelineStage, "a stage", error=ConstraintError, remedy=remedy)
        source = Staged(self.source, stage)
        known = self._dfa if isinstance(stage, TokenStage) else None
        return Constraint(source, known, depth=self._depth + 1)

    def bounded(self, depth: int) -> Constraint:
        """The words of a grammar that need at most ``depth`` stack entries: a regular language.

        Args:
            depth: The most entries of the stack.

        Raises:
            ConstraintError: The depth is not a whole number from 0.

        Example:
            >>> from explorer import grammar
            >>> grammar('root ::= "(" root ")" | "x"').bounded(2).examples()
            ['x', '(x)', '((x))']
        """
        from explorer.languages.grammar.bounded import BoundedGrammar

        return Constraint(BoundedGrammar.of(self.source, depth), depth=_depth(self))

    def accepts(self, text: str | bytes) -> bool:
        """Whether a text is a word of the language.

        Args:
            text: The text, or its bytes in UTF-8; control tokens in it are written as letters
                (`Vocabulary.written`).

        Raises:
            ConstraintError: It is neither a str nor bytes.

        Example:
            >>> from explorer import regex
            >>> regex("(foo)+d").accepts("food"), regex("(foo)+d").accepts(b"foo")
            (True, False)
        """
        if isinstance(text, str):
            try:
                text = plain(text).encode()
            except UnicodeEncodeError:
                return False  # Half of a surrogate pair is not text.
        if not isinstance(text, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            remedy = "Write the value as a string."
            raise wrong("text", text, "a text or its bytes", remedy=remedy, error=ConstraintError)
        return self._has(text)

    def _has(self, text: bytes) -> bool:
        return accepts(self._dfa, text) if self._dfa else self._texts.has(text)

    def parse(self, text: str | bytes) -> Any:
        """The meaning of a text of this language: data for JSON, an instance for a type, ...

        A choice with aliases gives the name, a template the parts as a dict, `many` a list, a JSON
        Schema and `json` the value of `json.loads`, a type an instance; every other kind the text
        itself. A union gives the value of its first part that accepts the text; a constraint with
        phases gives the phases of the text in order (`explorer.phase`). The text is read, never
        evaluated. If it has control tokens, give the bytes of its tokens (`Vocabulary.written`).

        Raises:
            ConstraintError: It is not a word of the language, or it has no meaning; with the place.

        Example:
            >>> from explorer import choice
            >>> choice({"Green": "Forest green", "Red": "Brick"}).parse("Brick")
            'Red'
        """
        data = text if isinstance(text, bytes) else whole_text("text", text).encode()
        if self._dfa is None:
            self._texts.check(data)
        else:
            check_word(self._dfa, data)
        from explorer.languages.phases.followed import parsed_word

        return parsed_word(self.source, data)

    def is_empty(self) -> bool:
        """Whether the language has no word.

        Raises:
            BudgetExceeded: A limit was reached; the combination of two grammars may be undecidable.

        Example:
            >>> from explorer import regex
            >>> (regex("a+") & regex("b+")).is_empty(), regex("a*").is_empty()
            (True, False)
        """
        return has_no_word(built_or_discovered(self.for_tokens, Meter(), self.source))

    def is_finite(self) -> bool:
        """Whether there are finitely many words.

        Raises:
            BudgetExceeded: A limit of the default `Budget` was reached.

        Example:
            >>> from explorer import regex
            >>> regex("a{,9}").is_finite(), regex("a*").is_finite()
            (True, False)
        """
        return is_finite(self.dfa)

    def examples(self, n: int = 5, *, budget: Budget | None = None) -> list[str]:
        """The first words of the language, shortest first (in bytes), then in byte order.

        Args:
            n: The most words.
            budget: Limits of the search.

        Raises:
            BudgetExceeded: A limit of the search was reached.

        Example:
            >>> from explorer import regex
            >>> regex("(foo)+d").examples(2)
            ['food', 'foofood']
        """
        most = min(max(whole_number("n", n, None), 0), sys.maxsize)
        meter = Meter(budget)
        machine = built_or_discovered(self.build, meter, self.source)
        return list(islice(shown_words(machine, meter), most))

    def equivalent(self, other: Constraint, budget: Budget | None = None) -> bool:
        """Whether both constraints have the same words.

        If one of them speaks about tokens: whether both allow the same tokens, for any vocabulary.

        Raises:
            BudgetExceeded: A limit was reached.
            ConstraintError: The other is not a constraint.

        Example:
            >>> from explorer import regex
            >>> regex("a*").equivalent(regex("(a|aa)*")), regex("a*").equivalent(regex("a+"))
            (True, False)
        """
        instance("other", other, Constraint, "a constraint", error=ConstraintError)
        meter = Meter(budget)
        if self.over_tokens or other.over_tokens:
            mine, others = (build_over_tokens(c.source.tree, meter) for c in (self, other))
            return operations.equivalent(mine, others, meter)
        return operations.equivalent(self.build(meter), other.build(meter), meter)

    @classmethod
    def from_fsm(cls, fsm: interegular.fsm.FSM, budget: Budget | None = None) -> Constraint:
        """The language of an interegular FSM over characters.

        Args:
            fsm: As ``interegular.parse_pattern(...).to_fsm()`` gives it.

        Raises:
            ConstraintError: It is not an FSM, or has symbols that are not single characters.
            BudgetExceeded: A limit was reached.

        Example:
            >>> import interegular
            >>> Constraint.from_fsm(interegular.parse_pattern("a|b").to_fsm()).examples()
            ['a', 'b']
        """
        from explorer.automata.interchange.interegular_bridge import fsm_to_dfa
        from explorer.languages.sources.imported import Imported

        return cls(Imported("from_fsm", fsm_to_dfa(fsm, Meter(budget))))

    @classmethod
    def from_fst(
        cls, acceptor: pynini.Fst, labels: Labels = "bytes", budget: Budget | None = None
    ) -> Constraint:
        """The language of an unweighted pynini acceptor.

        Args:
            acceptor: Any acceptor; ε-arcs and nondeterminism are welcome.
            labels: ``"bytes"``: a byte is its own label, as pynini's strings have it (NUL
                cannot occur: 0 is ε). ``"codepoints"``: a character's code point, as pynini's
                ``utf8`` mode has it. ``"explorer"``: byte + 1, as `fsa` gives it.
            budget: The limits for reading it.

        Raises:
            BudgetExceeded: A limit was reached.
            ConstraintError: It is not a pynini machine, or it is a transducer, is weighted, has a
                label out of range, or has words that are not valid UTF-8.

        Example:
            >>> import pynini
            >>> Constraint.from_fst(pynini.accep("ab") | pynini.accep("c")).examples()
            ['c', 'ab']
        """
        from explorer.automata.interchange.openfst import fst_to_dfa
        from explorer.languages.sources.imported import Imported

        return cls(Imported("from_fst", fst_to_dfa(acceptor, labels, Meter(budget))))

    def to_interegular(self) -> interegular.fsm.FSM:
        """The language as an interegular FSM over characters.

        Its alphabet groups the characters that the language does not distinguish. It lists every
        character except those of the largest group, so ``\\w`` makes a long list.

        Raises:
            MissingDependency: interegular is not installed.
            BudgetExceeded: A limit of the default `Budget` was reached.
            ConstraintError: It asks for control tokens.

        Example:
            >>> from explorer import regex
            >>> regex("[0-9]+").to_interegular().accepts("12")
            True
        """
        from explorer.automata.interchange.interegular_bridge import dfa_to_fsm

        return dfa_to_fsm(self.dfa)

    def __repr__(self) -> str:
        return str(self.source)


def _operand(sign: str, other: object) -> Constraint:
    """The other side of an operator; a text is itself."""
    if isinstance(other, str):
        return literal(other)
    if not isinstance(other, Constraint):
        raise not_an_operand(sign, other)
    return other


def _depth(*operands: Constraint, flat: type | None = None) -> int:
    """The depth of a combination; operands of the kind ``flat`` are merged into it."""
    for part in operands:
        check_operand(part.source)
    return 1 + max(
        part._depth - (flat is not None and isinstance(part.source, flat))  # pyright: ignore[reportPrivateUsage]
        for part in operands
    )


GivenConstraint: TypeAlias = Constraint | type[Any] | Mapping[str, Any]
"""The forms in which a user may give a constraint.

Besides a constraint these are a type, such as a pydantic model, and OpenAI's ``response_format``
(`explorer.languages.types.source.as_constraint`).
"""


def regex(pattern: str | re.Pattern[str], budget: Budget | None = None) -> Constraint:
    """The texts that a pattern matches from end to end, as ``re.fullmatch`` does.

    Args:
        pattern: Python's ``re`` syntax for strings: classes, groups, bounded and lazy repeats,
            flags ``i s m x a`` global and scoped, anchors, ``\\b \\B``, lookahead and
            lookbehind; also ``\\p{L}``, ``\\P{Greek}``, ``(?<name>...)`` and ``\\z``. Or one that
            ``re.compile`` gave, with its flags. Lazy and greedy repeats have the same full
            matches. It is read here, in about a microsecond per character, of which it may have
            500,000.
        budget: Limits for reading it and building its machine, now, not on first use.

    Raises:
        ConstraintError: The pattern is not a str, or too long.
        RegexError: The pattern cannot be read, or uses what no finite automaton can do
            (backreferences, conditionals, atomic groups, possessive repeats).
        BudgetExceeded: A limit was reached.

    Example:
        >>> regex(r"(?i)yes|no").accepts("YES")
        True
    """
    meter = Meter(budget)
    constraint = Constraint(Regex.read(pattern, meter))
    if budget is not None:
        constraint.build(meter)
    return constraint


def _check_meter(meter: object) -> None:
    remedy = "Use within(Budget(...)) to build it within limits."
    instance("meter", meter, Meter, "a Meter", error=ConstraintError, remedy=remedy)


def choice(
    texts: Iterable[str | float] | Mapping[str, str | Sequence[str]] | float = (),
    *more: str | float,
) -> Constraint:
    """One of some texts, letter for letter. The order of the texts never matters.

    Args:
        texts: The texts, or numbers, which are written as Python writes them; or a mapping from
            names to what is written for them, one text or several, which `Constraint.parse` maps
            back to the name.
        more: Further texts, where they are not given as a list.

    Raises:
        ConstraintError: There is no text, an element is not valid text, or a text stands for two
            names.

    Example:
        >>> choice(["yes", "no"]).examples(), choice("a", "b").examples(), choice(1, 2.5).examples()
        (['no', 'yes'], ['a', 'b'], ['1', '2.5'])
        >>> choice({"Green": "Forest green", "Red": ["Brick", "Rust"]}).parse("Rust")
        'Red'
    """
    from explorer.languages.template.expression import choices

    return Constraint(choices(texts, *more))


def literal(text: str) -> Constraint:
    """Exactly this text.

    Raises:
        ConstraintError: It holds half of a surrogate pair.

    Example:
        >>> literal("a.b").accepts("axb")
        False
    """
    from explorer.languages.template.expression import text_of

    return Constraint(text_of(text))
