"""outlines-core's `Index`: a closed form too, one hash map of ids per state, not trimmed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from outlines_core import Index, Vocabulary

from tests.bench.engines import Ids, Tokens


class OutlinesCore:
    def __init__(self, tokens: Tokens) -> None:
        self.vocabulary = Vocabulary(tokens.eos, tokens.ids())

    def compile(self, pattern: str) -> Index:
        return Index(pattern, self.vocabulary)

    def first_mask(self, compiled: Index) -> Callable[[], object]:
        return lambda: compiled.get_allowed_tokens(compiled.get_initial_state())

    def masks(self, compiled: Index, tokens: Sequence[int]) -> list[Ids]:
        state = compiled.get_initial_state()
        found: list[Ids] = [frozenset(compiled.get_allowed_tokens(state) or ())]
        for token in tokens:
            state = compiled.get_next_state(state, token)
            if state is None:
                break
            found.append(frozenset(compiled.get_allowed_tokens(state) or ()))
        return found

    def accepts(self, compiled: Index, tokens: Sequence[int]) -> bool:
        state: int | None = compiled.get_initial_state()
        for token in tokens:
            if state is not None:
                state = compiled.get_next_state(state, token)
        return state is not None and compiled.is_final_state(state)


ENGINE = OutlinesCore
