"""From a whole JSON Schema to its machine."""

from __future__ import annotations

from collections.abc import Mapping

from explorer.automata.machine import Dfa
from explorer.automata.schema.compiler import Compiler
from explorer.automata.schema.counting import settled
from explorer.automata.schema.keywords import check_tree
from explorer.automata.schema.making import Depth, Order
from explorer.automata.schema.sharing import shared
from explorer.automata.schema.spelling import Whitespace, escaped, flexible, pretty
from explorer.automata.schema.subschemas import Schema, root_of
from explorer.budget import Meter
from explorer.errors import UnsupportedSchema


def compile_schema(
    schema: Schema,
    meter: Meter,
    *,
    whitespace: Whitespace = "compact",
    property_order: Order = "schema",
    strict: bool = True,
    formats: bool = True,
    max_depth: int = 5,
    free_depth: int = 3,
    remotes: Mapping[str, Schema] | None = None,
    marks: bool = False,
) -> tuple[Dfa, list[UnsupportedSchema]]:
    """The machine of a schema, and what was ignored.

    Args:
        schema: A JSON Schema as Python data.
        meter: Watches every limit.
        whitespace: ``"compact"``, ``"pretty"`` (two spaces) or ``"flexible"`` (any).
        property_order: ``"schema"``, or ``"any"``.
        strict: Whether a keyword that cannot be followed exactly raises.
        formats: Whether ``format`` constrains.
        max_depth: How many references of a recursive schema are followed inside each other.
        free_depth: How deep arrays and objects nest in a value that nothing describes.
        remotes: Schemas that references may name, by their address.
        marks: Whether strings with long bounds are marks (`explorer.automata.schema.counting`).

    Raises:
        UnsupportedSchema: A keyword cannot be followed exactly, or is not well formed.
        BudgetExceeded: A limit was reached.
    """
    check_tree(schema)
    compiler = Compiler(
        property_order, assert_formats=formats, strict=strict, meter=meter, marks=marks
    )
    depth = Depth(max_depth, free_depth, free_depth, free_depth)
    try:
        root = root_of(shared(schema), remotes or {})
        place = compiler.place([root])
        machine = compiler.text(compiler.values((root,), place, depth))
    except RecursionError as error:
        raise UnsupportedSchema(
            "Subschemas are nested too deep, or references lead through too many of them.",
            pointer="", keyword="",
            remedy="Nest at most about a hundred of them inside each other.",
        ) from error  # fmt: skip
    machine = settled(machine, meter)
    if whitespace == "flexible":
        return flexible(machine, meter), compiler.ignored
    machine = escaped(machine, meter)
    if whitespace == "pretty":
        machine = pretty(machine, meter)
    return machine, compiler.ignored
