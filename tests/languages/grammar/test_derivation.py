"""The rules that a text has opened and closed, beside the machine and beside an Earley parser."""

from __future__ import annotations

import ast
import json
import random
from typing import Any

import pytest

from explorer.analysis.places.stack import GrammarStack, stack_reader
from explorer.automata.machine import NO_ARC
from explorer.automata.stacks.of_grammar import of_grammar
from explorer.automata.stacks.single import SingleStack
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.languages.grammar.functions import grammar
from explorer.languages.grammar.shipped import SHIPPED, shipped_grammar, shipped_text
from explorer.languages.grammar.source import GbnfGrammar
from explorer.languages.written.configuration import Configurations
from explorer.languages.written.derivation import ClosedRule, Derivation, OpenRule, derivation
from tests.languages.grammar.earley import Earley
from widgets.kinds import constraint_of_kind, preset_of

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


def test_a_rule_opens_with_its_first_byte_and_closes_with_its_last() -> None:
    assert opened(NESTED, "a") == [("root", 0)]
    assert opened(NESTED, "aaa") == [("root", 2), ("root", 1), ("root", 0)]
    assert opened(NESTED, "aaab") == [("root", 1), ("root", 0)]
    assert opened(NESTED, "aaabbb") == [("root", 0)]


@pytest.mark.parametrize("name", [*TEXTS, *PRESETS])
def test_the_machine_has_as_many_symbols_as_the_rules_that_wait_for_it(name: str) -> None:
    """At every byte, and each symbol is a state of the rule that waits, or of one that holds it."""
    if name in TEXTS:
        constraint, text = grammar(shipped_text(name)), TEXTS[name]
    else:
        preset = preset_of(name)
        assert preset is not None
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


def _astray(found: GrammarStack, machine: SingleStack) -> list[int]:
    """The rows whose symbol reads what neither they read nor the rows that they may leave it to."""
    network, reader = machine.network, found.reader
    wrong: list[int] = []
    for place, row in enumerate(found.rows):
        if row.symbol is None:
            continue
        going_on = [network.symbol_class == k for k in network.arcs(row.symbol)]
        reads = {byte for each in going_on for byte in each.nonzero()[0].tolist()}
        may: set[int] = set()
        for outer in found.derivation.open[place:]:
            may |= {*reader.following(outer.points)}
            if not reader.may_end(outer):
                break
        wrong += [] if reads <= may else [place]
    return wrong


def test_the_rows_of_the_python_grammar_have_the_symbols_of_the_machine() -> None:
    """Its rules are nearly all laid into others; the byte that pushed a symbol tells its row."""
    constraint = shipped_grammar("python")
    machine = of_grammar(constraint.source.tree, Budget(), Meter())
    reader = stack_reader(constraint.source)
    assert isinstance(machine.stacks, SingleStack) and reader is not None
    text = (
        b"def f(a):\n    return {1: [2, (3)], x[4]: g(5)(6)}\nif f([7, [8]]):\n    x = (9, [10])\n"
    )
    state = machine.start
    symbols: list[int | None] = []
    for end in range(1, len(text) + 1):
        state = machine.step(state, text[end - 1])
        found = reader.at(text[:end], machine, state)
        assert found is not None and found.depth == len(machine.stacks.symbols(state)[1])
        assert found.several or not _astray(found, machine.stacks)
        symbols.append(found.depth)
    assert max(each or 0 for each in symbols) == 7
    # A symbol stands beside the rule around the brackets, and the bracket is the row above it.
    at = text.index(b"(3") + 2
    state = machine.start
    for byte in text[:at]:
        state = machine.step(state, byte)
    found = reader.at(text[:at], machine, state)
    assert found is not None
    beside = [found.rows[k - 1] for k, row in enumerate(found.rows) if row.symbol is not None]
    assert [row.rule for row in beside if row.rule in ("group", "list", "braces")] == [
        "group", "list", "braces",
    ]  # fmt: skip
    assert [row.start for row in beside] == sorted((row.start for row in beside), reverse=True)


@pytest.mark.parametrize("name", SHIPPED)
def test_symbols_are_laid_beside_the_rules_in_nearly_every_text(name: str) -> None:
    """Also where a large grammar keeps a rule in some places and lays it into others.

    In half of the places of Python's grammar other rules may be open as well. Where none are, the
    bytes that the machine reads after it returns to a symbol are those of the row beside it.
    """
    constraint = shipped_grammar(name)
    machine = of_grammar(constraint.source.tree, Budget(), Meter())
    reader = stack_reader(constraint.source)
    assert isinstance(machine.stacks, SingleStack) and reader is not None
    rng = random.Random(1)
    fits = total = alone = 0
    for _ in range(10):
        state, text = machine.start, b""
        for _ in range(60):
            expected = [byte for byte in machine.expected(state) if byte < 0x80]
            if not expected:
                break
            text += bytes([rng.choice(expected)])
            state = machine.step(state, text[-1])
            found = reader.at(text, machine, state)
            assert found is not None, text
            total += 1
            if found.depth is not None:
                fits += 1
                assert found.depth == len(machine.stacks.symbols(state)[1])
                assert found.several or not _astray(found, machine.stacks), text
            # What the next byte can be follows from the rows as well.
            opened = found.derivation.open[: found.live]
            may = {byte for each in opened for byte in reader.following(each.points)}
            assert may == {*machine.expected(state)} or found.several, text
            alone += not found.several
    least, least_alone = (0.97, 0.5) if name == "python" else (1.0, 0.7)
    assert fits >= least * total and alone >= least_alone * total, (fits, alone, total)


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


def test_precedence_is_in_the_tree() -> None:
    text = "1+2*(3+4)"
    found = derived(written(shipped_text("arithmetic")), text)
    assert found is not None
    spans: set[str] = set()

    def collect(rule: ClosedRule | OpenRule) -> None:
        end = rule.end if isinstance(rule, ClosedRule) else len(text)
        spans.add(text[rule.start : end])
        for each in rule.closed:
            collect(each)

    for rule in found.open:
        collect(rule)
    operations = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.BinOp)]
    for node in operations:
        segment = ast.get_source_segment(text, node)
        assert segment in spans


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


def test_ways_that_begin_alike_in_one_rule_are_one_row() -> None:
    reader = stack_reader(grammar('root ::= ("six" | "shell" | "seven" "x"?) "!"').source)
    assert reader is not None
    for text, following in ((b"s", b"ehi"), (b"se", b"v"), (b"seven", b"!x")):
        found = reader.derivation(text)
        assert found is not None and not found.several and len(found.open) == 1
        assert reader.following(found.open[0].points) == following


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
