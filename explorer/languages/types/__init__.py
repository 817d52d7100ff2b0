"""Python types as constraints: as JSON, and as Python constructor calls.

Read in this order: `decimals` (a ``Decimal`` as numbers and texts), `remarks` (what a type asks for
and its texts leave out), `schema` (a type's JSON Schema, through pydantic), `declared` (types from
class statements that are read and not run), `shapes` (what a part of a type knows of its texts),
`containers` (shapes with parts, and how a type is read), `source` (the kinds of sources),
`functions` (what users call).

What is declared as text is never run. A type that a caller gives is code of the caller's: its
annotations that stand as strings are evaluated, as `typing.get_type_hints` does it.
"""
