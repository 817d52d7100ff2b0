"""From a whole JSON Schema to its machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, cached_property
from typing import cast

from explorer.automata.construction.operations import dfa_to_nfa
from explorer.automata.machine import Dfa
from explorer.automata.tree.nodes import Outline
from explorer.budget import Meter
from explorer.errors import UnsupportedSchema
from explorer.languages.schema.building.compiler import Compiler
from explorer.languages.schema.building.making import Depth
from explorer.languages.schema.building.plain import plain_outline
from explorer.languages.schema.building.recursion import Called, Guard, SchemaRules
from explorer.languages.schema.building.values import Values
from explorer.languages.schema.building.waiting import Waiting
from explorer.languages.schema.options import USUAL, SchemaOptions
from explorer.languages.schema.reading.keywords import check_tree
from explorer.languages.schema.reading.sharing import shared
from explorer.languages.schema.reading.subschemas import DRAFTS, Schema, Subschema, root_of
from explorer.languages.schema.text.counting import outlined, settled
from explorer.languages.schema.text.spelling import (
    character_in,
    escaped,
    flexible,
    pretty,
    respelled,
)


def compile_schema(
    schema: Schema,
    meter: Meter,
    options: SchemaOptions = USUAL,
    remotes: Mapping[str, Schema] | None = None,
) -> tuple[Dfa, list[UnsupportedSchema]]:
    """The machine of a schema, and what was ignored.

    Args:
        options: How it is followed, recursion unrolled, and how its values are written.

    Raises:
        UnsupportedSchema: A keyword cannot be followed exactly, or is not well formed.
        BudgetExceeded: A limit was reached.
    """
    compiler = Compiler(options, meter)
    machine = settled(_compact(compiler, schema, options.depth, remotes), meter)
    if options.spaces:
        return flexible(machine, meter, options.escapes), compiler.ignored
    machine = escaped(machine, meter, options.escapes)
    if options.whitespace == "pretty":
        machine = pretty(machine, meter)
    return machine, compiler.ignored


def outline_schema(
    schema: Schema,
    meter: Meter,
    options: SchemaOptions = USUAL,
    remotes: Mapping[str, Schema] | None = None,
) -> tuple[Outline, list[UnsupportedSchema]]:
    """The tree of a schema for a machine that discovers its states, and what was ignored.

    Strings with long bounds are repeats in it (`explorer.languages.schema.text.counting`), and
    values that may wait are laid out when a text comes to them
    (`explorer.languages.schema.building.waiting`).

    Args, Raises: As `compile_schema`.
    """
    # What is inside of a value that waits cannot know how deep it stands.
    waits = options.whitespace != "pretty"
    compiler = Compiler(options, meter, marks=True, waits=waits)
    depth, escapes = options.depth, options.escapes
    if options.whitespace == "compact" and compiler.ordered and escapes == "free":
        members = _Members(compiler, schema, depth, remotes)
        drawn = plain_outline(schema, meter, members.outline, _outline_of_type)
        if drawn is not None:
            return drawn, compiler.ignored
    machine = _compact(compiler, schema, depth, remotes)
    if compiler.waiting is not None:
        machine = compiler.waiting.settled(machine, meter)
        return compiler.waiting.outline(machine, meter), compiler.ignored
    machine = settled(machine, meter)
    if not waits:
        machine = pretty(escaped(machine, meter, escapes), meter)
        nfa = dfa_to_nfa(machine)
    else:
        nfa = respelled(machine, meter, spaces=options.spaces, escapes=escapes)
    return outlined(machine, nfa, character=character_in(escapes)), compiler.ignored


class _Members:
    """The values of the members of an object, made when a text comes to one."""

    def __init__(
        self, compiler: Compiler, schema: Schema, depth: Depth,
        remotes: Mapping[str, Schema] | None,
    ) -> None:  # fmt: skip
        self._compiler = compiler
        self._read = lambda: root_of(shared(schema), remotes or {})
        self._depth = depth

    @cached_property
    def _root(self) -> Subschema:
        return self._read()

    def outline(self, name: str, meter: Meter) -> Outline:
        """The tree of the values of a member."""
        compiler, root = self._compiler, self._root
        compiler.watch(meter)
        part = root.below(root.named_at("properties")[name], "properties", name)
        values = compiler.values_inside((part,), compiler.place([root]).member(name), self._depth)
        waiting = cast("Waiting", compiler.waiting)
        waits = waiting.outline_of(values, meter)
        if waits is not None:
            return waits
        return waiting.outline(waiting.settled(compiler.text(values), meter), meter)


@cache
def _outline_of_type(given: str, draft: int) -> Outline:
    """The tree of the values of a type, without other keywords."""
    address = next(address for address, (number, _) in DRAFTS.items() if number >= draft)
    schema: Schema = {"type": given, "$schema": address}
    return outline_schema(schema, Meter())[0]


def rules_of_schema(
    schema: Schema,
    guarded: Guard,
    options: SchemaOptions = USUAL,
    remotes: Mapping[str, Schema] | None = None,
) -> SchemaRules:
    """The rules of a schema whose values may hold others of their kind without end.

    Args:
        guarded: Is called with whatever may refuse the schema, and returns what that returns and
            what was ignored so far.
        options: As there; the white space is not ``"pretty"``, and ``max_depth`` does not count.
    """
    called = Called()
    compiler = Compiler(options, Meter(), called=called)
    depth = replace(options.depth, recursion=0)
    return SchemaRules(
        compiler, called, lambda: _whole(compiler, schema, depth, remotes),
        spaces=options.spaces, guarded=guarded, escapes=options.escapes,
    )  # fmt: skip


def _compact(
    compiler: Compiler, schema: Schema, depth: Depth, remotes: Mapping[str, Schema] | None
) -> Dfa:
    """The compact texts of a schema; marks may be in them."""
    return compiler.text(_whole(compiler, schema, depth, remotes))


def _whole(
    compiler: Compiler, schema: Schema, depth: Depth, remotes: Mapping[str, Schema] | None
) -> Values:
    """The values of a schema."""
    stage, look = "The machine of a schema", compiler.meter.check_time
    check_tree(schema)
    look(stage)
    try:
        few = shared(schema)
        look(stage)
        root = root_of(few, remotes or {})
        look(stage)
        place = compiler.place([root])
        return compiler.values((root,), place, depth)
    except RecursionError as error:
        raise UnsupportedSchema(
            "Subschemas are nested too deep, or references lead through too many of them.",
            pointer="", keyword="",
            remedy="Nest at most about a hundred of them inside each other.",
        ) from error  # fmt: skip
