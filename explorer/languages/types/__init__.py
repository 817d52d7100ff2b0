"""Python types as constraints: as JSON, and as Python constructor calls.

Read in this order: `schema` (a type's JSON Schema, by pydantic), `calls` (constructor calls),
`source` (the kinds of sources, and `from_type`).

A type that a caller gives is the caller's code: its annotations written as strings are evaluated,
as `typing.get_type_hints` does.
"""
