"""Python types as constraints: as JSON, and as Python constructor calls.

Read in this order: `decimals` (a ``Decimal`` as numbers and texts), `remarks` (conditions of a type
that its texts do not meet), `schema` (a type's JSON Schema, through pydantic), `declared` (types
from class statements that are read and not run), `shapes` (the texts and values of a part of a
type), `containers` (shapes with parts, and the reader of types), `source` (the kinds of sources,
and `from_type`).

A declaration given as text is never run. A type that a caller gives is the caller's code: its
annotations written as strings are evaluated, as `typing.get_type_hints` does.
"""
