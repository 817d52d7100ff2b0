"""A whole JSON Schema compiled into its machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Final, Literal

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.minimize import empty_dfa
from explorer.automata.construction.operations import minimal_dfa
from explorer.automata.machine import Dfa
from explorer.automata.rules.network import regular
from explorer.automata.rules.pieces import components
from explorer.automata.tree.layout import lay_out
from explorer.automata.tree.nodes import Deferred, Node, Outline, Rules
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, NotRegular, UnsupportedSchema
from explorer.languages.schema.options import USUAL, SchemaOptions
from explorer.languages.schema.reading.subschemas import Schema, Subschema, every_part, not_too_deep
from explorer.languages.schema.values.places import Site, Wanted
from explorer.languages.schema.values.sets import OnceMode, ValueSets
from explorer.languages.schema.values.spelled import JsonTexts

WHOLE = "the whole schema"
"""The name of the start rule."""
ANY_VALUE = "any value"
"""The name of the rule of values that nothing describes."""

Guard = Callable[[ValueSets, Callable[[], Outline]], Outline]
"""A wrapper around a function that may refuse a schema: calls it, notes what the sets of values
ignored and returns the outline that it made."""


def compile_schema(
    schema: Schema, meter: Meter, options: SchemaOptions = USUAL,
    remotes: Mapping[str, Schema] | None = None,
) -> tuple[Dfa, list[UnsupportedSchema]]:  # fmt: skip
    """The minimal machine of a schema, and the keywords that were ignored.

    Args:
        schema: A JSON Schema as Python data.
        meter: Watches every limit.
        options: How the schema is followed, recursion unrolled, and how its values are written.
        remotes: Schemas that references may name, by their address.

    Raises:
        UnsupportedSchema: A keyword cannot be followed exactly, or is not well formed.
        BudgetExceeded: A limit was reached.
    """
    closed = ClosedSchema(options, meter)
    return closed.whole(schema, remotes), closed.sets.ignored


def is_possible(
    schema: Schema, meter: Meter, options: SchemaOptions = USUAL,
    remotes: Mapping[str, Schema] | None = None,
) -> bool:  # fmt: skip
    """Whether some value within the depth of the options satisfies a schema."""
    sets = ValueSets(options, meter)
    return sets.is_possible(*sets.root(schema, remotes), options.depth)


MOST_READ: Final = 1_000
"""The most items and members that are looked at for a value that a schema does not describe."""


def holds_free(
    schema: Schema, options: SchemaOptions = USUAL, remotes: Mapping[str, Schema] | None = None
) -> bool | None:
    """Whether a text of a schema may hold an array or object of which the schema says nothing.

    Returns:
        ``None`` if that is not clear after `MOST_READ` items and members.

    Example:
        >>> pair = {"type": "array", "prefixItems": [{"type": "null"}, {"type": "null"}]}
        >>> holds_free(pair), holds_free({**pair, "maxItems": 2})
        (True, False)
    """
    sets = ValueSets(options, Meter(Budget(seconds=1)), once="free")
    try:
        return not_too_deep(lambda: _holds_free(sets, *sets.root(schema, remotes)))
    except (UnsupportedSchema, BudgetExceeded):
        return None


def _holds_free(sets: ValueSets, root: Wanted, around: Site) -> bool | None:
    values, read = {root.key: (root, around)}, 0
    for wanted, site in (waiting := [*values.values()]):  # The list grows while it is read.
        for kind in ("array", "object"):
            for plain, machine in sets.containers(wanted, site, kind):
                start = machine.start()
                places = dict.fromkeys([] if start is None else [start])
                if places and not any(sub.schema for sub in plain):
                    return True
                for place in (todo := [*places]):
                    for arc in machine.arcs(place):
                        read += 1
                        if read > MOST_READ:
                            return None
                        ends = sets.can_finish(machine, arc.target, None)
                        if not ends or not sets.is_possible(arc.wanted, arc.site):
                            continue
                        if arc.wanted.key not in values:
                            values[arc.wanted.key] = arc.wanted, arc.site
                            waiting.append(values[arc.wanted.key])
                        if arc.target not in places:
                            places[arc.target] = None
                            todo.append(arc.target)
                    skipped = machine.skipped(place)
                    if skipped is not None and skipped not in places:
                        places[skipped] = None
                        todo.append(skipped)
    return False


MOST_ON_STACK: Final = 500
"""The most subschemas for which a stack is chosen: all its rules are laid out before the first
mask, whereas parts of an unrolled schema are built when a text reaches them."""
MOST_IN_ANY_ORDER: Final = 3
"""The most members of an object in any order for which a stack is chosen: there is a state for each
set of them."""


class SchemaRules(Mapping[str, Node]):
    """The rules, by name, of a recursive schema that is followed on a stack.

    Each rule is made when it is laid out.

    Args:
        schema, remotes: As for `compile_schema`.
        guarded: A wrapper around every function that may refuse the schema.
        options: As for `compile_schema`; the white space is not ``"pretty"``.
        once: What is done about unique items that are too many to draw.
    """

    def __init__(
        self, schema: Schema, guarded: Guard, options: SchemaOptions = USUAL,
        remotes: Mapping[str, Schema] | None = None, once: OnceMode = "refused",
    ) -> None:  # fmt: skip
        self._sets = ValueSets(options, Meter(), endless=True, once=once)
        self._spelled = JsonTexts(self._sets, options, late=False, call=self._name)
        self._schema, self._remotes, self._options = schema, remotes, options
        self._guarded = guarded
        self._names: dict[object, str] = {}
        self._made: dict[str, tuple[Wanted, Site]] = {}
        self._nodes: dict[str, Node] = {}
        self._outlines: dict[str, Outline] = {}

    @cached_property
    def _root(self) -> tuple[Wanted, Site]:
        return self._sets.root(self._schema, self._remotes)

    def best_recursion(self) -> Literal["", "stack", "unroll"]:
        """The best way to follow recursion; empty if the schema is not recursive.

        It is empty for a faulty schema too, whose error is raised when it is built.
        """
        deepening = self._sets.deepening
        try:
            back = not_too_deep(lambda: deepening.leads_back(self._root[0].held[0]))
        except UnsupportedSchema:
            return ""
        if not back:
            return ""
        large = self._options.whitespace == "pretty" or deepening.known > MOST_ON_STACK
        if self._options.property_order == "any" and not large:
            large = any(
                len(here.get("properties", ())) > MOST_IN_ANY_ORDER
                for _, here, _ in every_part(self._schema)
            )
        return "unroll" if large else "stack"

    def _name(self, wanted: Wanted, site: Site) -> str | None:
        """The name of the rule for an inner value; ``None`` where it is not recursive."""
        if not wanted.held and not wanted.excluded:
            base, site = ANY_VALUE, self._sets.place(())
        else:
            subs = (*wanted.held, *chain.from_iterable(wanted.excluded))
            if not self._sets.deepening.comes_back(subs):
                return None
            reference = subs[0].keyword("$ref")
            base = reference if isinstance(reference, str) else subs[0].pointer
        key = wanted.key, site.key
        if key not in self._names:
            name, count = base, 1
            while name in self._made or name == WHOLE:
                count += 1
                name = f"{base} ({count})"
            self._made[name] = wanted, site
            self._names[key] = name
        return self._names[key]

    def __getitem__(self, name: str) -> Node:
        if name not in self._nodes:
            if name != WHOLE and name not in self._made:
                raise KeyError(name)

            def refused(_: Meter) -> Dfa:
                raise NotRegular((name,))

            self._nodes[name] = Deferred(
                0, 0, refused, outline=lambda meter: self._outline(name, meter), calls=True
            )
        return self._nodes[name]

    def __iter__(self) -> Iterator[str]:
        return iter((WHOLE, *self._made))

    def __len__(self) -> int:
        return 1 + len(self._made)

    def _outline(self, name: str, meter: Meter) -> Outline:
        if name not in self._outlines:
            self._sets.watch(meter)
            self._outlines[name] = self._guarded(self._sets, lambda: self._drawn(name))
        return self._outlines[name]

    def _drawn(self, name: str) -> Outline:
        if name == WHOLE:
            return self._spelled.whole(*self._root, None)
        return self._spelled.inside(*self._made[name], None)


def finite_form(rules: Rules, meter: Meter) -> Dfa:
    """The finite machine of a schema that does not lead back to itself.

    Args:
        rules: The schema.
        meter: Watches every limit.

    Raises:
        NotRegular: The schema leads back to itself.
    """
    from explorer.automata.stacks.of_grammar import decided

    known = decided(rules, meter)
    if known is not None and any(known[0].calls):
        network = known[0]
        called: list[list[int]] = [[] for _ in network.names]
        for state, calls in enumerate(network.calls):
            called[network.rule[state]] += [rule for rule, _ in calls]
        for circle in components(called):
            if len(circle) > 1 or circle[0] in called[circle[0]]:
                raise NotRegular(tuple(network.names[rule] for rule in circle))
    return regular(rules, meter)


class ClosedSchema:
    """The minimal machines over the texts of subschemas, each made once.

    Args:
        options: How the schemas are followed, recursion unrolled.
        meter: Watches every limit.
        once: What is done about unique items that are too many to draw.
    """

    def __init__(
        self, options: SchemaOptions, meter: Meter, once: OnceMode = "refused"
    ) -> None:  # fmt: skip
        self.sets = ValueSets(options, meter, once=once)
        self._depth = options.depth
        self._spelled = JsonTexts(self.sets, options, late=False)

    def whole(self, schema: Schema, remotes: Mapping[str, Schema] | None = None) -> Dfa:
        """The machine of a whole schema, with white space around it."""
        return self._laid(
            lambda: self._spelled.whole(*self.sets.root(schema, remotes), self._depth)
        )

    def of(self, sub: Subschema) -> Dfa:
        """The machine of a subschema."""
        wanted, site = Wanted((sub,)), self.sets.place([sub])
        return self._laid(lambda: self._spelled.inside(wanted, site, self._depth))

    def _laid(self, drawn: Callable[[], Outline]) -> Dfa:
        node = Deferred(0, 0, lambda _: empty_dfa(NUM_BYTES), outline=lambda _: drawn())
        return not_too_deep(lambda: minimal_dfa(lay_out(node, self.sets.meter), self.sets.meter))
