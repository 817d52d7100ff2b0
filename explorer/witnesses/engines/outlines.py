"""outlines-core's `Index`: a full token DFA, one hash map of ids per state, without trimming.

It reads patterns in the syntax of Rust's regex-automata. A JSON Schema is first translated to a
pattern; grammars are not supported.
"""

from __future__ import annotations

# The library has no types, or not all of them.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportMissingTypeStubs=false
# pyright: reportAttributeAccessIssue=false, reportMissingImports=false
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from outlines_core import Index, Vocabulary
from outlines_core.json_schema import build_regex_from_schema

from explorer.witnesses.engines import UNASKED, NotRead, Peer, Row, Tokens


class OutlinesCore(Peer):
    """The engine with one vocabulary."""

    def __init__(self, tokens: Tokens) -> None:
        super().__init__(tokens)
        self.vocabulary = Vocabulary(tokens.eos, tokens.ids())

    def compile(self, pattern: str) -> Index:
        """The index of a pattern."""
        return Index(pattern, self.vocabulary)

    def compile_schema(self, schema: str, whitespace: str, any_order: bool) -> Index:
        """The index of a schema's pattern; members come in the schema's order."""
        return self.compile(_written_out(schema, whitespace))

    def compile_grammar(self, grammar: str, syntax: str) -> Index:
        """Refuse: the engine reads no grammars."""
        raise NotRead("outlines-core reads patterns and JSON Schemas, not grammars.")

    def first_mask(self, compiled: Index) -> Callable[[], object]:
        """A call that returns the allowed ids of the start state."""
        return lambda: compiled.get_allowed_tokens(compiled.get_initial_state())

    def rows(self, compiled: Index, tokens: Sequence[int], last: bool = False) -> Iterator[Row]:
        """The masks along some tokens."""
        state: int | None = compiled.get_initial_state()
        for token in (*tokens, None):
            if last and token is not None:
                yield UNASKED
            else:
                row = np.zeros(self.size, np.bool_)
                row[list(compiled.get_allowed_tokens(state) or ())] = True
                yield row
            if token is None:
                return
            state = compiled.get_next_state(state, token)
            if state is None:
                return


def _written_out(schema: str, whitespace: str) -> str:
    return build_regex_from_schema(schema, "" if whitespace == "compact" else None)


ENGINE = OutlinesCore
