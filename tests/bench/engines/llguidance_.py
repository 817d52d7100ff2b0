"""llguidance's `LLMatcher`: a lazy matcher that works when masks are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import llguidance
import numpy as np

from tests.bench.engines import Greedy, Ids, Tokens


class Wrapped:
    """What llguidance asks of a tokenizer."""

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
        return self.encode(text)


class LLGuidance:
    def __init__(self, tokens: Tokens) -> None:
        self.size = len(tokens.tokens)
        self.tokenizer = llguidance.LLTokenizer(
            llguidance.TokenizerWrapper(Wrapped(tokens)), n_vocab=self.size
        )

    def compile(self, pattern: str) -> llguidance.LLMatcher:
        grammar = llguidance.LLMatcher.grammar_from_regex(pattern)
        matcher = llguidance.LLMatcher(self.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def first_mask(self, compiled: llguidance.LLMatcher) -> Callable[[], object]:
        return compiled.compute_bitmask

    def masks(self, compiled: llguidance.LLMatcher, tokens: Sequence[int]) -> list[Ids]:
        matcher = compiled.deep_copy()
        matcher.reset()

        def mask() -> Ids:
            words = np.frombuffer(matcher.compute_bitmask(), np.uint8)
            bits = np.unpackbits(words, bitorder="little")[: self.size]
            return frozenset(np.flatnonzero(bits).tolist())

        found = [mask()]
        for token in tokens:
            if matcher.is_stopped() or not matcher.consume_token(token):
                break
            found.append(mask())
        return found

    def accepts(self, compiled: llguidance.LLMatcher, tokens: Sequence[int]) -> bool:
        matcher = compiled.deep_copy()
        matcher.reset()
        return (
            all(matcher.consume_token(token) for token in tokens)
            and not matcher.is_error()
            and matcher.is_accepting()
        )


ENGINE = LLGuidance
