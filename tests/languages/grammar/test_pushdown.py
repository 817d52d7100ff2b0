"""The push-down automata of small grammars, over characters and over tokens.

Three definitions are compared: the arcs of Koo et al.'s Figures 6 and 7, their Algorithm 3 with
pynini's push-down operations (`tests.languages.grammar.algorithm_three`, in a process of its own),
and the machine that decodes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.automata.machine import ByteMachine
from explorer.automata.rules.moves import Actions, actions_of
from explorer.automata.rules.pushdown import EMPTY, Pushdown, PushdownArc, composed, pushdown_of
from explorer.automata.stacks.of_grammar import of_grammar
from explorer.automata.stacks.single import SingleStack
from explorer.automata.textbook.pushdown_composition import token_sequences_by_pynini
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.languages.grammar.functions import grammar
from explorer.vocabulary import Vocabulary
from widgets.figures.machines.pushdown_figure import FIGURE_6, FIGURE_7, FIGURE_TOKENS

NESTED = 'root ::= "a" root "b" | ""'
CASES: dict[str, tuple[str, dict[str, list[str]], list[str]]] = {
    "nested": (NESTED, {"root": ["aRb", ""]}, ["a", "b", "bb", "aaab"]),
    "brackets": (
        'root ::= "(" root ")" root | "[" root "]" root | ""',
        {"root": ["(R)R", "[R]R", ""]},
        ["(", ")", "[", "]", "))", "(]", "([", "])"],
    ),
    "sums": (
        'root ::= e\ne ::= "(" e ")" m | "1" m\nm ::= "+" e | ""',
        {"root": ["E"], "e": ["(E)M", "1M"], "m": ["+E", ""]},
        ["(", ")", "1", "+", "1)", "+(1", "(("],
    ),
    "palindromes": (
        'root ::= "a" root "a" | "b" root "b" | "c"',
        {"root": ["aRa", "bRb", "c"]},
        ["a", "b", "c", "ab", "aca", "ba"],
    ),
    "matched names": (
        'root ::= "<a>" root "</a>" | "<b>" root "</b>" | "x"',
        {"root": ["<a>R</a>", "<b>R</b>", "x"]},
        ["<", "a>", "b>", "x", "</", "><", "x</", "/a>"],
    ),
}
MOST = {"nested": 7, "brackets": 5, "sums": 6, "palindromes": 6, "matched names": 9}


def _pushdown(machine: ByteMachine, meter: Meter) -> Pushdown:
    assert machine.stacks is not None
    network = machine.stacks.network
    actions = actions_of(network, meter)
    assert isinstance(actions, Actions)
    return pushdown_of(network, actions, meter)


def automaton(text: str) -> tuple[ByteMachine, Pushdown]:
    machine = of_grammar(grammar(text).source.tree, Budget(), Meter())
    assert isinstance(machine.stacks, SingleStack)
    return machine, _pushdown(machine, Meter())


def by_algorithm_three(name: str) -> list[list[int]]:
    """The sequences that the definition accepts."""
    pytest.importorskip("pynini")
    _, rules, tokens = CASES[name]
    names = {rule[0].upper(): rule for rule in rules}
    spelled = {
        rule: [[names.get(symbol, symbol) for symbol in option] for option in options]
        for rule, options in rules.items()
    }
    asked = {"rules": spelled, "tokens": tokens, "most": MOST[name]}
    script = Path(__file__).with_name("algorithm_three.py")
    done = subprocess.run(
        [sys.executable, str(script)], input=json.dumps(asked), capture_output=True, text=True,
        timeout=120, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def by_the_machine(name: str) -> list[list[int]]:
    """The sequences that the machine that decodes accepts."""
    text, _, tokens = CASES[name]
    vocabulary = Vocabulary.from_bytes([t.encode() for t in tokens], eos_ids=[len(tokens)])
    machine = explorer.compile(grammar(text), vocabulary)
    found: list[list[int]] = []
    waiting: list[tuple[int, list[int]]] = [(machine.start, [])]
    while waiting:
        state, path = waiting.pop()
        if machine.is_final(state):
            found.append(path)
        if len(path) < MOST[name]:
            for token in range(len(tokens)):
                after = machine.step(state, token)
                if after is not None:
                    waiting.append((after, [*path, token]))
    return sorted(found)


@pytest.mark.parametrize("name", CASES)
def test_tokens_are_accepted_as_algorithm_three_says(name: str) -> None:
    defined = by_algorithm_three(name)
    assert len(defined) > 5
    assert by_the_machine(name) == defined
    # So does the composition that the engine offers, made of the rules that it runs.
    words = [token.encode() for token in CASES[name][2]]
    network = automaton(CASES[name][0])[0].stacks.network  # type: ignore[union-attr]
    offered = token_sequences_by_pynini(network, words, MOST[name])
    assert [list(ids) for ids in offered] == defined
    # The arcs that are drawn accept the same.
    text, _, tokens = CASES[name]
    drawn = composed(automaton(text)[1], [token.encode() for token in tokens], Meter())
    accepted: list[list[int]] = []
    waiting: list[tuple[int, tuple[int, ...], list[int]]] = [(drawn.start, (), [])]
    while waiting:
        state, stack, path = waiting.pop()
        if state in drawn.finals and not stack:
            accepted.append(path)
        if len(path) < MOST[name]:
            for token in range(len(tokens)):
                for target, after in drawn.step((state, stack), token):
                    waiting.append((target, after, [*path, token]))
    assert sorted(accepted) == defined


def steps_alike(drawn: Pushdown, machine: Any, labels: int, longest: int) -> None:
    """Read every sequence of labels with both; they go on alike, and may end alike."""
    waiting: list[tuple[Any, Any, int]] = [((drawn.start, ()), machine.start, 0)]
    while waiting:
        config, state, read = waiting.pop()
        ends = config[0] in drawn.finals and not config[1]
        assert machine.is_final(state) == ends
        for label in range(labels) if read < longest else ():
            after, target = drawn.step(config, label), machine.step(state, label)
            assert bool(after) == (target is not None and target >= 0), (config, label)
            if after:
                waiting.append((after[0], target, read + 1))


FIGURE_GRAMMAR = 'root ::= "ab" | "a" root "b"'


def test_figure_6_reads_what_its_grammar_writes() -> None:
    """S → ab | aSb, as the paper prints it: one a and one b at least, so not the empty text."""
    letters = [text.encode() for n in range(9) for text in map("".join, product("ab", repeat=n))]
    for text in letters:
        places: list[tuple[int, tuple[int, ...]]] = [(FIGURE_6.start, ())]
        for byte in text:
            places = [after for place in places for after in FIGURE_6.step(place, byte)]
        accepted = any(state in FIGURE_6.finals and not stack for state, stack in places)
        n = len(text) // 2
        assert accepted == (n > 0 and text == b"a" * n + b"b" * n), text
    assert not grammar(FIGURE_GRAMMAR).accepts("")


def test_figure_7_is_the_composition_of_figure_6_with_its_tokens() -> None:
    """By hand: what each token pushes and pops in each state."""
    a, b, bb, aaab = range(4)
    one, two, three = (2,), (2, 2), (2, 2, 2)
    assert FIGURE_TOKENS == (b"a", b"b", b"bb", b"aaab")
    assert FIGURE_7.arcs == (
        PushdownArc(0, a, (), (), 1),
        PushdownArc(0, aaab, (), two, 2),
        PushdownArc(1, a, (), one, 1),
        PushdownArc(1, b, (), (), 2),
        PushdownArc(1, bb, one, (), 2),
        PushdownArc(1, aaab, (), three, 2),
        PushdownArc(2, b, one, (), 2),
        PushdownArc(2, bb, two, (), 2),
    )
    assert FIGURE_7.finals == {2}


def test_figure_7_steps_as_the_machine_does() -> None:
    vocabulary = Vocabulary.from_bytes([*FIGURE_TOKENS], eos_ids=[4])
    steps_alike(FIGURE_7, explorer.compile(grammar(FIGURE_GRAMMAR), vocabulary), 4, 6)
    # A figure of another language would be seen: this one also accepts the empty text.
    other = explorer.compile(grammar(NESTED), vocabulary)
    with pytest.raises(AssertionError):
        steps_alike(FIGURE_7, other, 4, 6)


def test_a_token_pops_nothing_below_an_empty_stack() -> None:
    arcs = (PushdownArc(0, 97, (EMPTY,), (), 1), PushdownArc(1, 98, (0,), (), 2))
    by_hand = Pushdown(0, frozenset({2}), arcs)
    assert composed(by_hand, [b"ab"], Meter()).arcs == ()
    assert [arc.label for arc in composed(by_hand, [b"a", b"ab"], Meter()).arcs] == [0]


def test_a_large_grammar_reaches_its_limit() -> None:
    many = 'root ::= "(" root ")" | ' + " | ".join(f'"{k:05d}"' for k in range(3000))
    large = of_grammar(grammar(many).source.tree, Budget(), Meter())
    assert isinstance(large.stacks, SingleStack)
    with pytest.raises(BudgetExceeded, match="push-down automaton"):
        _pushdown(large, Meter(Budget(arcs=50)))
