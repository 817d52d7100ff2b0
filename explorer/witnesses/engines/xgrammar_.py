"""xgrammar's `GrammarCompiler`, on one thread, without its cache: a matcher with precomputed masks.

It reads patterns in a syntax of its own, JSON Schemas, GBNF-like EBNF and Lark.
"""

from __future__ import annotations

# The library has no types, or not all of them.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportMissingTypeStubs=false
# pyright: reportAttributeAccessIssue=false, reportMissingImports=false
from collections.abc import Callable, Iterator, Sequence

import xgrammar

from explorer.witnesses.engines import UNASKED, Peer, Row, Tokens


class XGrammar(Peer):
    """The engine with one vocabulary."""

    def __init__(self, tokens: Tokens) -> None:
        super().__init__(tokens)
        # xgrammar expects an empty byte string for a special token.
        info = xgrammar.TokenizerInfo(
            [data or b"" for data in tokens.tokens],
            xgrammar.VocabType.RAW,
            vocab_size=self.size,
            stop_token_ids=[self.eos],
        )
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def compile(self, pattern: str) -> xgrammar.CompiledGrammar:
        """The grammar of a pattern."""
        return self.compiler.compile_regex(pattern)

    def compile_schema(
        self, schema: str, whitespace: str, any_order: bool
    ) -> xgrammar.CompiledGrammar:
        """The grammar of a schema; unlike the library's default, unnamed members are allowed."""
        compact = whitespace == "compact"
        return self.compiler.compile_json_schema(
            schema, any_whitespace=not compact, separators=(",", ":") if compact else None,
            strict_mode=False, any_order=any_order,
        )  # fmt: skip

    def compile_grammar(self, grammar: str, syntax: str) -> xgrammar.CompiledGrammar:
        """The grammar of a text."""
        if syntax == "lark":
            return self.compiler.compile_lark(grammar)
        return self.compiler.compile_grammar(grammar)

    def first_mask(self, compiled: xgrammar.CompiledGrammar) -> Callable[[], object]:
        """A call that fills the mask of the start state."""
        bitmask = xgrammar.allocate_token_bitmask(1, self.size)
        matcher = xgrammar.GrammarMatcher(compiled)
        return lambda: matcher.fill_next_token_bitmask(bitmask)

    def rows(
        self, compiled: xgrammar.CompiledGrammar, tokens: Sequence[int], last: bool = False
    ) -> Iterator[Row]:
        """The masks along some tokens."""
        bitmask = xgrammar.allocate_token_bitmask(1, self.size)
        matcher = xgrammar.GrammarMatcher(compiled)
        for token in (*tokens, None):
            if last and token is not None:
                yield UNASKED
            else:
                matcher.fill_next_token_bitmask(bitmask)
                yield self.row_of(bitmask.numpy())
            if token is None or not matcher.accept_token(token):
                return


ENGINE = XGrammar
