"""Python types as constraints: as JSON, and as Python constructor calls.

Read in this order: `schema` (a type's JSON Schema, through pydantic), `source` (the kind of source
that is a type as JSON), `shapes` and `reading` (what a type is made of), `call_tree` (the language
of its constructor calls), `calls` (the values of such texts, and the kind of source), `functions`
(what users call).
"""
