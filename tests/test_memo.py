"""Answers are remembered per value and arguments, and forgotten with the value."""

from __future__ import annotations

import gc
import weakref

import pytest

from explorer.memo import memo


class Value:
    """Something that can be referred to weakly."""


def test_an_answer_is_worked_out_once_per_value_and_arguments() -> None:
    calls: list[tuple[Value, int]] = []

    @memo
    def ask(value: Value, number: int = 0) -> list[int]:
        calls.append((value, number))
        return [number]

    a, b = Value(), Value()
    assert ask(a) is ask(a) and ask(a, 1) is ask(a, 1) and ask(a, number=1) is ask(a, number=1)
    assert ask(a) is not ask(b)
    assert calls == [(a, 0), (a, 1), (a, 1), (b, 0)]


def test_an_answer_goes_with_its_value() -> None:
    class Answer:
        pass

    @memo
    def ask(value: Value) -> Answer:
        return Answer()

    value = Value()
    answer = weakref.ref(ask(value))
    assert answer() is not None
    del value
    gc.collect()
    assert answer() is None


def test_an_exception_is_not_remembered() -> None:
    failures = [ValueError("first")]

    @memo
    def ask(value: Value) -> int:
        if failures:
            raise failures.pop()
        return 1

    value = Value()
    with pytest.raises(ValueError, match="first"):
        ask(value)
    assert ask(value) == 1
