"""llguidance's `LLMatcher`: a lazy matcher, which computes each mask when it is asked for.

It reads patterns in the syntax of Rust's regex crate, JSON Schemas, Lark, and GBNF by way of its
own translation to Lark.
"""

from __future__ import annotations

# The library has no types, or not all of them.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportMissingTypeStubs=false
# pyright: reportAttributeAccessIssue=false, reportMissingImports=false
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import llguidance
import numpy as np
from llguidance.gbnf_to_lark import gbnf_to_lark

from explorer.witnesses.engines import UNASKED, Greedy, Peer, Row, Tokens

COMPACT = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}


class Wrapped:
    """A vocabulary with the attributes of a tokenizer that llguidance reads."""

    def __init__(self, tokens: Tokens) -> None:
        self.encode = Greedy(tokens)
        self.eos_token_id = tokens.eos
        self.bos_token_id = None
        self.tokens = [
            f"<[{token}]>".encode() if data is None else data
            for token, data in enumerate(tokens.tokens)
        ]
        self.special_token_ids = [token for token, data in enumerate(tokens.tokens) if data is None]

    def __call__(self, text: str | bytes) -> list[int]:
        """Token ids of a text."""
        return self.encode(text)


class LLGuidance(Peer):
    """The engine with one vocabulary."""

    def __init__(self, tokens: Tokens) -> None:
        super().__init__(tokens)
        self.tokenizer = llguidance.LLTokenizer(
            llguidance.TokenizerWrapper(Wrapped(tokens)), n_vocab=self.size
        )

    def compile(self, pattern: str) -> llguidance.LLMatcher:
        """The matcher of a pattern."""
        return self._matcher(llguidance.LLMatcher.grammar_from_regex(pattern))

    def compile_schema(self, schema: str, whitespace: str, any_order: bool) -> llguidance.LLMatcher:
        """The matcher of a schema; members come in the schema's order."""
        options: Any = COMPACT if whitespace == "compact" else None
        read = llguidance.LLMatcher.grammar_from_json_schema
        return self._matcher(read(schema, overrides=options))

    def compile_grammar(self, grammar: str, syntax: str) -> llguidance.LLMatcher:
        """The matcher of a grammar."""
        text = grammar if syntax == "lark" else gbnf_to_lark(grammar)
        return self._matcher(llguidance.LLMatcher.grammar_from_lark(text))

    def _matcher(self, grammar: str) -> llguidance.LLMatcher:
        matcher = llguidance.LLMatcher(self.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def first_mask(self, compiled: llguidance.LLMatcher) -> Callable[[], object]:
        """A call that computes the mask of the start."""
        return compiled.compute_bitmask

    def rows(
        self, compiled: llguidance.LLMatcher, tokens: Sequence[int], last: bool = False
    ) -> Iterator[Row]:
        """The masks along some tokens."""
        matcher = compiled.deep_copy()
        matcher.reset()
        for token in (*tokens, None):
            if last and token is not None:
                yield UNASKED
            else:
                yield self.row_of(np.frombuffer(matcher.compute_bitmask(), np.uint8))
            if token is None or matcher.is_stopped() or not matcher.consume_token(token):
                return


ENGINE = LLGuidance
