"""A schema that leads back to itself, as rules that call each other: a stack instead of a depth.

A member or an item whose schema refers to one that it stands in is a *mark* in the machine around
it (`explorer.languages.schema.text.counting`), as a value that waits is. In the finished machine
the mark is the call of a rule (`explorer.automata.tree.nodes.Rules`), and the rule is what applies
at that place, made in the same way: the same subschemas at the same place are the same rule, so
there are finitely many. What is between two calls is a minimal machine with all its algebra; the
stack is that of grammars (`explorer.languages.grammar`).

Conjunctions meet before there are machines, so ``allOf`` may speak about values that recurse. Where
machines are compared (``not``, ``oneOf`` of objects, ``contains``), a mark is a letter like any
other as long as the other side has the same mark there, or no value at all
(`explorer.languages.schema.text.counting.same_marks`); else the schema is refused by name.

Two names are told apart by what is called behind them, not by its language: where two different
rules have the same words, a name is written in one spelling only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NoReturn

from explorer.automata.construction.operations import dfa_to_nfa
from explorer.automata.machine import Dfa
from explorer.automata.rules.network import regular
from explorer.automata.rules.pieces import components
from explorer.automata.stacks.of_grammar import decided
from explorer.automata.tree.nodes import Call, Deferred, Node, Outline, Rules
from explorer.budget import Meter
from explorer.errors import NotRegular, UnsupportedSchema
from explorer.languages.schema.building.compiler import Compiler
from explorer.languages.schema.building.making import Depth, Site
from explorer.languages.schema.building.values import Values
from explorer.languages.schema.reading.subschemas import Subschema
from explorer.languages.schema.text.counting import outlined, value_mark
from explorer.languages.schema.text.spelling import EscapesOf, respelled
from explorer.languages.schema.text.strings import nothing

Guard = Callable[[Callable[[], tuple[Outline, list[UnsupportedSchema]]]], Outline]
"""Is around what may refuse a schema: from what makes something, and what was ignored, to it."""

STAGE: Final = "The rules of a recursive schema"

WHOLE: Final = "the whole schema"
"""The rule that a text begins with."""


def finite_form(rules: Rules, meter: Meter) -> Dfa:
    """The finite machine of a schema that does not lead back to itself.

    Raises:
        NotRegular: It does.
    """
    decision = decided(rules, meter)
    if decision is not None and any(decision[0].calls):
        network = decision[0]
        called: list[list[int]] = [[] for _ in network.names]
        for state, calls in enumerate(network.calls):
            called[network.rule[state]] += [rule for rule, _ in calls]
        for circle in components(called):
            if len(circle) > 1 or circle[0] in called[circle[0]]:
                raise NotRegular(tuple(network.names[rule] for rule in circle))
    return regular(rules, meter)


class Called:
    """The values that are calls, by number; `MarkedTexts` of `values`."""

    finite = False

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._marks: list[Values] = []
        self.made: list[tuple[tuple[Subschema, ...], Site, Depth]] = []
        self.names: list[str] = []

    def mark(
        self, subschemas: tuple[Subschema, ...], place: Site, depth: Depth, meter: Meter
    ) -> Values:
        """The set whose only text is the mark of a rule: equal values have one."""
        key = (frozenset((sub.key, sub.referenced) for sub in subschemas), place.key, depth)
        number = self._numbers.get(key)
        if number is None:
            number = len(self._numbers)
            meter.check(STAGE, states=number + 1)
            none = nothing()
            mark = Values(frozenset(), none, none, none, value_mark(number), self)
            del self.names[number:]  # Of an addition that was interrupted, and so below.
            self.names.append(self._name(subschemas))
            self.made[number:] = [(subschemas, place, depth)]
            self._marks[number:] = [mark]
            self._numbers[key] = number
        return self._marks[number]

    def _name(self, subschemas: tuple[Subschema, ...]) -> str:
        """The reference of the first subschema, or its pointer; each rule has its own name."""
        reference = subschemas[0].keyword("$ref")
        plain = reference if isinstance(reference, str) else subschemas[0].pointer
        name, count = plain, 1
        while name in self.names or name == WHOLE:
            count += 1
            name = f"{plain} ({count})"
        return name

    def bare(self, number: int, meter: Meter) -> NoReturn:
        """Refuse: no finite machine has all texts of a rule.

        Raises:
            UnsupportedSchema: Always.
        """
        self.refuse(self.made[number][0])

    def refuse(self, subschemas: tuple[Subschema, ...]) -> NoReturn:
        """Say that values of some subschemas are compared, and cannot be.

        Raises:
            UnsupportedSchema: Always.
        """
        pointer = subschemas[0].pointer
        raise UnsupportedSchema(
            "Here a value that may hold others of its kind is compared with a different one (by "
            "not, oneOf, if, contains or uniqueItems), which takes more than a stack.",
            pointer=pointer, keyword=pointer.rpartition("/")[2],
            remedy='Give recursion="unroll" with a max_depth, or tell the alternatives apart by '
            "another member, such as a required one with a const.",
        )  # fmt: skip


class SchemaRules(Mapping[str, Node]):
    """The rules of a schema by name, each made when it is laid out."""

    def __init__(
        self, compiler: Compiler, called: Called, whole: Callable[[], Values], *, spaces: bool,
        guarded: Guard, escapes: EscapesOf = "free",
    ) -> None:  # fmt: skip
        self._compiler = compiler
        self._called = called
        self._whole = whole
        self._spaces = spaces
        self._guarded = guarded
        self._escapes: EscapesOf = escapes
        self._nodes: dict[str, Node] = {}
        self._outlines: dict[int | None, Outline] = {}

    def __getitem__(self, name: str) -> Node:
        node = self._nodes.get(name)
        if node is None:
            number = None if name == WHOLE else self._called.names.index(name)

            def refused(_: Meter) -> Dfa:
                raise NotRegular((name,))

            node = self._nodes[name] = Deferred(
                0, 0, refused, outline=lambda meter: self._outline(number, meter), calls=True
            )
        return node

    def __iter__(self) -> Iterator[str]:
        return iter((WHOLE, *self._called.names))

    def __len__(self) -> int:
        return 1 + len(self._called.names)

    def _outline(self, number: int | None, meter: Meter) -> Outline:
        known = self._outlines.get(number)
        if known is None:
            known = self._outlines[number] = self._noting(number, meter)
        return known

    def _noting(self, number: int | None, meter: Meter) -> Outline:
        return self._guarded(lambda: (self._made(number, meter), self._compiler.ignored))

    def _made(self, number: int | None, meter: Meter) -> Outline:
        """A rule as an automaton with calls; white space around a value belongs to its caller."""
        compiler = self._compiler
        compiler.watch(meter)
        if number is None:
            machine = compiler.text(self._whole())
        else:
            machine = compiler.text(compiler.values(*self._called.made[number]))
        if machine.num_states == 0:
            return Outline(dfa_to_nfa(machine), ())
        nfa = respelled(
            machine, meter, spaces=self._spaces, around=number is None, escapes=self._escapes
        )
        return outlined(machine, nfa, self._call)

    def _call(self, number: int) -> Node:
        return Call(0, 0, self._called.names[number])
