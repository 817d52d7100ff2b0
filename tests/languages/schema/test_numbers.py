"""Bounds and multiples against exact decimal arithmetic."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.automata.machine import Dfa
from explorer.budget import Meter
from explorer.languages.schema.text import numbers

BOUNDS = (
    "0", "1", "-1", "2.5", "-2.5", "10", "100", "0.001", "-0.001", "99.99", "12", "0.25", "-30",
    "1e-7", "2.5e-3", "1234567.125",
)  # fmt: skip
ORDERS = ("<", "=", ">", "<=", "=>")
MULTIPLES = ((1, 0), (2, 0), (7, 0), (60, 0), (5, 1), (1, 2), (25, 2), (75, 1), (3, 3), (1, 8))


def plain(draw_sign: str, whole: int, fraction: str) -> str:
    return f"{draw_sign}{whole}{'.' + fraction if fraction else ''}"


SPELLINGS = st.one_of(
    st.builds(
        plain,
        st.sampled_from(["", "-"]),
        st.one_of(st.integers(0, 40), st.integers(90, 130), st.integers(0, 10**8)),
        st.text("0123456789", max_size=4),
    ),
    st.builds(
        lambda sign, lead, fraction, exponent, width, letter: (
            f"{plain(sign, lead, fraction)}{letter}-{str(exponent).zfill(width)}"
        ),
        st.sampled_from(["", "-"]),
        st.integers(1, 9),
        st.text("0123456789", max_size=3),
        st.integers(1, 12),
        st.integers(1, 3),
        st.sampled_from("eE"),
    ),
    st.sampled_from([b.replace("e", "e") for b in BOUNDS if "e" not in b]),
)


def agrees(machine: Dfa, spelling: str, expected: bool) -> bool:
    return machine.accepts(spelling.encode()) == expected


MACHINES = {
    (bound, wanted): numbers.compared(Decimal(bound), wanted, Meter())
    for bound in BOUNDS
    for wanted in ORDERS
}


def order(value: Decimal, bound: Decimal) -> str:
    return "<" if value < bound else ">" if value > bound else "="


@given(SPELLINGS)
def test_a_bound_is_exact(spelling: str) -> None:
    for (bound, wanted), machine in MACHINES.items():
        expected = order(Decimal(spelling), Decimal(bound)) in wanted
        assert agrees(machine, spelling, expected), (bound, wanted)


@given(SPELLINGS, st.sampled_from(MULTIPLES))
def test_a_multiple_is_exact(spelling: str, divisor: tuple[int, int]) -> None:
    numerator, decimals = divisor
    machine = numbers.multiples(numerator, decimals, Meter())
    expected = Decimal(spelling) % Decimal(numerator).scaleb(-decimals) == 0
    assert agrees(machine, spelling, expected)


@pytest.mark.parametrize("spelling", ["", "01", "1.", ".5", "+1", "1e5", "--1", "1e+15", "0e-1"])
def test_other_spellings_are_not_written(spelling: str) -> None:
    for machine in (numbers.two_spellings(), numbers.three_spellings()):
        assert not machine.accepts(spelling.encode())


def test_a_wrong_machine_is_found() -> None:
    """The oracle can fail: at the bound itself, one order off."""
    assert not agrees(MACHINES["2.5", "<"], "2.5", expected=True)
