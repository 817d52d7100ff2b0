"""The NFA of a tree: sizes announced before they are taken, repeats multiplied, origins kept."""

from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.automata.construction.operations import equivalent, minimal_dfa
from explorer.automata.tree.charset import utf8_fragment
from explorer.automata.tree.layout import flattened, lay_out
from explorer.automata.tree.nodes import Class, Dot, Literal, Repeat, walk
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.languages.regex import compile_pattern, parse


@pytest.mark.parametrize(
    "pattern",
    [
        "x{4294967294}",
        "x{,4294967294}",
        "(?:x{1,70000}y){1,70000}",
        "((((((a|b{9}){9}c){9}d){9}e){9}f){9}g){9}",
        r"(?:\w{1,5000}-){1,5000}",
        "(?:(?:ä{2}){1000000}b){2,}",
    ],
)
def test_too_large_repeats_are_refused_before_memory_is_taken(pattern: str) -> None:
    tree = parse(pattern)
    tracemalloc.start()
    try:
        with pytest.raises(BudgetExceeded) as caught:
            lay_out(tree.root, Meter())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.reached > caught.value.limit
    assert peak < 50_000_000


@pytest.mark.parametrize(
    ("pattern", "states"),
    [("(x{1,500}){1,500}", 250_001), (".{0,2000}", 16_001), ("x{5}y{0}", 6)],
)
def test_large_repeats_within_the_budget(pattern: str, states: int) -> None:
    assert compile_pattern(pattern, Meter())[1].num_states == states


counts = st.tuples(st.integers(0, 4), st.one_of(st.none(), st.integers(0, 4)))


@given(counts, counts)
def test_nested_repeats_are_multiplied_only_where_exact(
    inner: tuple[int, int | None], outer: tuple[int, int | None]
) -> None:
    def written(bounds: tuple[int, int | None]) -> str:
        low, high = bounds
        return f"{{{low},{'' if high is None else low + high}}}"

    pattern = f"(x{written(inner)}){written(outer)}"
    node = parse(pattern).root
    assert isinstance(node, Repeat)
    _, low, high = flattened(node)
    machine = compile_pattern(pattern, Meter())[1]
    for length in range(40):
        expected = re.fullmatch(pattern, "x" * length) is not None
        assert machine.accepts(b"x" * length) == expected
    if isinstance(flattened(node)[0], Literal):
        flat = "x{" + str(low) + "," + ("" if high is None else str(high)) + "}"
        assert equivalent(compile_pattern(flat, Meter())[1], machine, Meter())


@pytest.mark.parametrize("count", [3, 30, 300])
def test_copies_by_loop_and_by_array_are_the_same(count: int) -> None:
    """Few copies are laid one by one, many as one array: the languages are equal."""
    body = "(?:a[ä-ü]?|b*c)"
    for bounds in (f"{{{count}}}", f"{{2,{count}}}", f"{{{count},}}"):
        repeated = compile_pattern(body + bounds, Meter())[1]
        low = count if bounds != f"{{2,{count}}}" else 2
        by_hand = body * low
        if bounds.endswith(",}"):
            by_hand += f"{body}*"
        elif low < count:
            by_hand += f"{body}?" * (count - low)
        assert equivalent(repeated, compile_pattern(by_hand, Meter())[1], Meter())


@pytest.mark.parametrize(
    "pattern",
    ["a", "(?i)ab|[c-e]+x{2,3}", "ä(b.)*", "(?:ab|c.){90}", "(?:(?:ab?){30}c){30}", r"\w{3}"],
)
def test_origins(pattern: str) -> None:
    """Each arc is one that its leaf could have read."""
    tree = parse(pattern)
    built = lay_out(tree.root, Meter(), with_origin=True)
    plain = lay_out(tree.root, Meter())
    assert plain.arc_origin is None
    assert np.array_equal(plain.arcs, built.arcs)
    assert built.arc_origin is not None and len(built.arc_origin) == len(built.arcs)
    in_tree = [node for node in walk(tree.root) if isinstance(node, Literal | Class | Dot)]
    assert {id(origin.node) for origin in built.origins} == {id(node) for node in in_tree}
    for (_, low, high, _), k in zip(built.arcs.tolist(), built.arc_origin.tolist(), strict=True):
        leaf = built.origins[k].node
        rows = {(low, high) for _, low, high, _ in utf8_fragment(leaf.chars).arcs}
        assert (low, high) in rows


def test_assertions_are_relaxed_only_on_request() -> None:
    tree = parse(r"a\b-(?=x)y")
    with pytest.raises(ExplorerError, match="assertions"):
        lay_out(tree.root, Meter())
    relaxed = lay_out(tree.root, Meter(), with_origin=True, relax_assertions=True)
    assert minimal_dfa(relaxed, Meter()).accepts(b"a-y")
