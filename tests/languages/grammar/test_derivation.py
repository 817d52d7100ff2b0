"""The rules that a text has opened and closed, beside the machine and beside an Earley parser."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from explorer.analysis.places.stack import stack_reader
from explorer.automata.machine import NO_ARC
from explorer.automata.stacks.of_grammar import of_grammar
from explorer.automata.stacks.single import SingleStack
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.languages.grammar.functions import grammar
from explorer.languages.grammar.shipped import shipped_text
from explorer.languages.grammar.source import GbnfGrammar
from explorer.languages.written.configuration import Configurations
from explorer.languages.written.derivation import ClosedRule, Derivation, OpenRule, derivation
from tests.languages.grammar.earley import Earley
from tests.presets import preset_named
from widgets.kinds import constraint_of_kind

NESTED = 'root ::= "a" root "b" | ""'
TEXTS = {
    "json": '{"a": [1, [[2, 3], {}], {"b": null}], "c": "text", "d": -1.5e3}',
    "arithmetic": "(12+3)*4^2^(3-((a)))",
    "characters": '[{"name": "Harry Potter", "house": ',
    "gbnf": 'root ::= "a" (root | [a-z]+ (x | y)) "b" | ""\nx ::= (("a"))\n',
}
PRESETS = {
    "sums in parentheses (grammar)": "(1+(2+3)+4)+5=9",
    "nested lists (Lark)": "[1,[2,[3],[[4]]]]",
    "nested phrases": "(a, ((b, c), (d, (e))))",
}


def written(text: str, *, ambiguous: bool = False) -> Configurations:
    return Configurations(GbnfGrammar.of(text, ambiguous=ambiguous).lower(), Budget())


def derived(configurations: Configurations, text: str) -> Derivation | None:
    here = configurations.after(text.encode())
    return None if here is None else derivation(here)


def opened(text: str, data: str) -> list[tuple[str, int]]:
    found = derived(written(text), data)
    assert found is not None
    return [(each.rule, each.start) for each in found.open]


@pytest.mark.parametrize("name", [*TEXTS, *PRESETS])
def test_the_machine_has_as_many_symbols_as_the_rules_that_wait_for_it(name: str) -> None:
    """At every byte, and each symbol is a state of the rule that waits, or of one that holds it."""
    if name in TEXTS:
        constraint, text = grammar(shipped_text(name)), TEXTS[name]
    else:
        preset = preset_named(name)
        constraint, text = constraint_of_kind(preset.kind, preset.text), PRESETS[name]
    tree = constraint.source.tree
    machine = of_grammar(tree, Budget(), Meter())
    reader = stack_reader(constraint.source)
    assert isinstance(machine.stacks, SingleStack) and reader is not None
    state = machine.start
    network = machine.stacks.network
    for end in range(len(text) + 1):
        found = reader.at(text[:end].encode(), machine, state)
        assert found is not None
        _, symbols = machine.stacks.symbols(state)
        assert found.depth == len(symbols)
        rows = found.rows
        assert [row.symbol for row in rows if row.symbol is not None] == [*symbols]
        for place, row in enumerate(rows):
            if row.symbol is None:
                continue
            holder = network.names[network.rule[row.symbol]]
            assert holder in {each.rule for each in rows[place:]}
            # What the machine can read after it returns is what the row goes on with.
            going_on = [network.symbol_class == k for k in network.arcs(row.symbol)]
            reads = {byte for each in going_on for byte in each.nonzero()[0].tolist()}
            here = found.derivation.open[place].points
            assert reads <= {*reader.following(here)} or row.ends
        if end < len(text):
            state = machine.step(state, text.encode()[end])
            assert state != NO_ARC


def test_closed_rules_are_the_values_of_json() -> None:
    """Python's own parser says which values a document holds, and where."""
    rng = random.Random(5)

    def made(depth: int) -> Any:
        if depth == 0 or rng.random() < 0.4:
            return rng.choice([1, -2.5, "x", "a b", None, True, ""])
        if rng.random() < 0.5:
            return [made(depth - 1) for _ in range(rng.randrange(4))]
        return {f"k{k}": made(depth - 1) for k in range(rng.randrange(4))}

    def values(found: ClosedRule | OpenRule) -> int:
        return (found.rule == "value") + sum(map(values, found.closed))

    def counted(value: Any) -> int:
        inner = value.values() if isinstance(value, dict) else value
        return 1 + (sum(map(counted, inner)) if isinstance(value, dict | list) else 0)  # pyright: ignore[reportUnknownArgumentType]

    json_texts = written(shipped_text("json"))
    for _ in range(60):
        value = made(4)
        text = json.dumps(value) + " "
        found = derived(json_texts, text)
        assert found is not None
        total = sum(map(values, found.open))
        assert total == counted(value), text


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (NESTED, {"root": [("a", "root", "b"), ()]}),
        ('root ::= root root | "a" | ""', {"root": [("root", "root"), ("a",), ()]}),
        ('root ::= root "a" | "b"', {"root": [("root", "a"), ("b",)]}),
        (
            'root ::= x root | ""\nx ::= "a" | "a" "b" | y\ny ::= ""',
            {"root": [("x", "root"), ()], "x": [("a",), ("a", "b"), ("y",)], "y": [()]},
        ),
    ],
    ids=["nested", "every way", "left", "empty"],
)
def test_a_text_has_a_derivation_if_some_word_begins_with_it(
    text: str, rules: dict[str, list[tuple[str, ...]]]
) -> None:
    rng = random.Random(7)
    configurations = written(text, ambiguous=True)
    oracle = Earley(rules)
    for _ in range(300):
        data = "".join(rng.choices("ab", k=rng.randrange(9)))
        assert (configurations.after(data.encode()) is not None) == oracle.viable(data), data


def test_a_text_with_several_derivations_says_so() -> None:
    ambiguous = 'root ::= x | y\nx ::= "a" root "c" | "a" "b"\ny ::= "a" root "d" | "a" "c"'
    several = derived(written(ambiguous, ambiguous=True), "a")
    assert several is not None and several.several
    # One rule reads, for two that called it; it has ended, or could go on.
    for more in ("", ' "b"?'):
        called = f'root ::= y | z\ny ::= x "c"\nz ::= x "d"\nx ::= "a"{more}'
        twice = derived(written(called, ambiguous=True), "a")
        assert twice is not None and twice.several
    single = derived(written(NESTED), "aa")
    assert single is not None and not single.several


def test_deep_nesting_needs_no_deep_recursion() -> None:
    depth = 3_000
    found = derived(written(NESTED), "a" * depth + "b" * (depth - 1))
    assert found is not None and len(found.open) == 1
    inner, level = found.open[0].closed, 0
    while inner:
        inner, level = inner[0].closed, level + 1
    assert level == depth - 1


def test_a_text_that_takes_too_long_is_refused_and_goes_on_later() -> None:
    """Each question has a tenth of a second, and begins where the one before ended."""
    configurations = Configurations(GbnfGrammar.of(NESTED).lower(), Budget(seconds=0.1))
    refused, found = 0, None
    while found is None:
        try:
            found = derived(configurations, "a" * 20_000)
        except BudgetExceeded as error:
            assert error.stage == "Deriving a text"
            refused += 1
    assert refused and len(found.open) == 20_000
