"""xgrammar's `GrammarCompiler`, on one thread, without its cache: a matcher with stored masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xgrammar

from tests.bench.engines import Ids, Tokens


class XGrammar:
    def __init__(self, tokens: Tokens) -> None:
        self.size = len(tokens.tokens)
        self.eos = tokens.eos
        # No bytes stand for a special token here.
        info = xgrammar.TokenizerInfo(
            [data or b"" for data in tokens.tokens],
            xgrammar.VocabType.RAW,
            vocab_size=self.size,
            stop_token_ids=[self.eos],
        )
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def compile(self, pattern: str) -> xgrammar.CompiledGrammar:
        return self.compiler.compile_regex(pattern)

    def first_mask(self, compiled: xgrammar.CompiledGrammar) -> Callable[[], object]:
        bitmask = xgrammar.allocate_token_bitmask(1, self.size)
        matcher = xgrammar.GrammarMatcher(compiled)
        return lambda: matcher.fill_next_token_bitmask(bitmask)

    def masks(self, compiled: xgrammar.CompiledGrammar, tokens: Sequence[int]) -> list[Ids]:
        bitmask = xgrammar.allocate_token_bitmask(1, self.size)
        matcher = xgrammar.GrammarMatcher(compiled)

        def mask() -> Ids:
            matcher.fill_next_token_bitmask(bitmask)
            bits = np.unpackbits(bitmask.numpy().view(np.uint8), bitorder="little")[: self.size]
            return frozenset(np.flatnonzero(bits).tolist())

        found = [mask()]
        for token in tokens:
            if not matcher.accept_token(token):
                break
            found.append(mask())
        return found

    def accepts(self, compiled: xgrammar.CompiledGrammar, tokens: Sequence[int]) -> bool:
        matcher = xgrammar.GrammarMatcher(compiled)
        return all(matcher.accept_token(token) for token in [*tokens, self.eos])


ENGINE = XGrammar
