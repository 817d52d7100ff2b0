"""The texts of a grammar that a vocabulary can finish, against an intersection over productions.

The oracle is the construction of Bar-Hillel, Perles and Shamir (1961): a grammar and an automaton
whose words are a text and then whole tokens, over triples of two states and a symbol of the
productions, with the least number of tokens for each. It knows no stack, no bytes and no network.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import explorer
from explorer.automata.discovered.discovered import Discovered
from explorer.automata.rules.moves import occurs_nowhere
from explorer.automata.stacks.single import SingleStack
from explorer.automata.stacks.stacks import ManyStacks
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, GrammarError, IncompatibleVocabulary
from explorer.languages.grammar.functions import grammar
from explorer.tokens.lazy import LazyMachine
from explorer.tokens.masks.device import DeviceMasks
from explorer.tokens.masks.needed import UNLIMITED
from explorer.tokens.saturation.ends import StackEnds
from explorer.tokens.walks.trie import single_bytes, trie_of
from explorer.tokens.words import unpack
from explorer.vocabulary import Vocabulary
from tests.evidence import examples
from tests.languages.grammar.earley import Earley, Productions, as_gbnf

FAR = 10**6


def fewest_tokens(rules: Productions, tokens: list[bytes], text: bytes) -> int | None:
    """The fewest tokens after a text that make it a word; ``None`` if none do."""
    nodes = {word[:k] for word in tokens for k in range(1, len(word) + 1)}
    between = len(text)  # The states are the places in the text, the last with the tokens' nodes.
    number = {node: between + k for k, node in enumerate(sorted(nodes), 1)} | {b"": between}
    size = between + len(number)
    reach: dict[str, NDArray[np.int64]] = {}

    def arc(letter: int, source: int, target: int, cost: int) -> None:
        row = reach.setdefault(chr(letter), np.full((size, size), FAR))
        row[source, target] = min(row[source, target], cost)

    for k, letter in enumerate(text):
        arc(letter, k, k + 1, 0)
    for node in nodes:
        arc(node[-1], number[node[:-1]], number[node], 0)
        if node in tokens:
            arc(node[-1], number[node[:-1]], between, 1)
    for name in rules:
        reach[name] = np.full((size, size), FAR)
    none = np.full((size, size), FAR)
    nothing = none.copy()
    np.fill_diagonal(nothing, 0)
    changed = True
    while changed:
        changed = False
        for name, options in rules.items():
            for option in options:
                found = nothing
                for symbol in option:
                    after = reach.get(symbol, none)
                    found = (found[:, :, None] + after[None, :, :]).min(axis=1)
                better = np.minimum(reach[name], found)
                if (better < reach[name]).any():
                    reach[name], changed = better, True
    fewest = int(reach["root"][0, between])
    return fewest if fewest < FAR else None


def without_useless(rules: Mapping[str, list[tuple[str, ...]]]) -> Productions | None:
    """The productions that some word uses; ``None`` if there is no word."""
    able: set[str] = set()
    for _ in rules:
        able |= {
            name
            for name, options in rules.items()
            if any(all(s not in rules or s in able for s in option) for option in options)
        }
    if "root" not in able:
        return None
    kept = {
        name: [o for o in rules[name] if all(s not in rules or s in able for s in o)]
        for name in able
    }
    met = ["root"]
    for name in met:
        met += [s for o in kept[name] for s in o if s in rules and s not in met]
    return {name: kept[name] for name in dict.fromkeys(met)}


Fewest = Callable[[Productions, list[bytes], bytes], int | None]
"""The oracle: the fewest tokens from a text to the end of a word."""


def drawn_grammar(chance: random.Random) -> Productions | None:
    """A small grammar over a, b and c."""
    names = ["root", "p", "q", "r"][: chance.randrange(1, 5)]
    return without_useless(
        {
            name: [
                tuple(
                    chance.choice(names if chance.random() < 0.45 else "abc")
                    for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 3)))
                )
                for _ in range(chance.randrange(1, 4))
            ]
            for name in names
        }
    )


def drawn_tokens(chance: random.Random) -> list[bytes]:
    """A few tokens, seldom with all letters alone."""
    return [
        *{
            bytes(chance.choices(b"abc", k=chance.choice((1, 1, 2, 2, 3, 4))))
            for _ in range(chance.randrange(2, 7))
        }
    ]


def faults(
    rules: Productions,
    tokens: list[bytes],
    chance: random.Random,
    *,
    loose: bool,
    fewest: Fewest = fewest_tokens,
) -> int:
    """The number of masks and distances unlike the oracle's; −1 if nothing was compared."""
    vocabulary = Vocabulary.from_bytes(tokens, eos_ids=[len(tokens)])
    try:
        constraint = grammar(as_gbnf(rules), ambiguous=loose)
        machine = explorer.compile(constraint, vocabulary, lazy=True)
        if not machine.knows_distances:  # It does not recurse: its closed form knows them.
            return -1
    except GrammarError:
        return -1
    except IncompatibleVocabulary:
        return int(fewest(rules, tokens, b"") is not None)
    words = Earley(rules)
    count = 0
    for _ in range(3):
        state, text = machine.start, b""
        for _ in range(4):
            left = fewest(rules, tokens, text)
            count += left is None or machine.distance_to_end(state) != left + 1
            allowed = machine.allowed(state)
            count += bool(allowed[len(tokens)]) != words.accepts(text.decode())
            needed = [fewest(rules, tokens, text + token) for token in tokens]
            able = [each is not None for each in needed]
            count += able != allowed[: len(tokens)].tolist()
            for remaining in range(1, 7):
                within = unpack(machine.mask_within(state, remaining), len(tokens) + 1).tolist()
                fits = [each is not None and each + 2 <= remaining for each in needed]
                count += within != [*fits, words.accepts(text.decode())]
            if not any(able):
                break
            token = chance.choice([k for k, each in enumerate(able) if each])
            after = machine.step(state, token)
            if after is None:
                return count + 1
            state, text = after, text + tokens[token]
    return count


def compared(seeds: range, *, loose: bool, fewest: Fewest = fewest_tokens) -> tuple[int, int]:
    """The number of grammars that were compared, and of their faults."""
    done = wrong = 0
    for seed in seeds:
        chance = random.Random(seed)
        rules, tokens = drawn_grammar(chance), drawn_tokens(chance)
        if rules is None:
            continue
        found = faults(rules, tokens, chance, loose=loose, fewest=fewest)
        done += found >= 0
        wrong += max(found, 0)
    return done, wrong


@pytest.mark.parametrize("loose", [False, True])
def test_masks_and_distances_of_random_grammars(loose: bool) -> None:
    done, wrong = compared(range(examples(10)), loose=loose)
    assert done > (7 if loose else 3)
    assert wrong == 0


def test_a_token_that_costs_nothing_is_seen() -> None:
    def one_less(rules: Productions, tokens: list[bytes], text: bytes) -> int | None:
        number = fewest_tokens(rules, tokens, text)
        return number and number - 1

    assert compared(range(40), loose=True, fewest=one_less)[1] > 0


def test_the_oracle_agrees_with_trying_every_sequence() -> None:
    """The oracle itself, beside all sequences of at most five tokens and an Earley parser."""
    chance = random.Random(3)
    for _ in range(40):
        rules, tokens = drawn_grammar(chance), drawn_tokens(chance)[:3]
        if rules is None:
            continue
        words, texts, found = Earley(rules), {b""}, None
        for count in range(6):
            if any(words.accepts(text.decode()) for text in texts):
                found = count
                break
            texts = {text + token for text in texts for token in tokens}
            texts = {text for text in texts if words.viable(text.decode())}
        fewest = fewest_tokens(rules, tokens, b"")
        assert fewest == found if found is not None else fewest is None or fewest > 5


@pytest.mark.parametrize("text", ['root ::= "(" root ")" | "x"', 'root ::= root root | "a"'])
def test_budgets_of_a_batch_are_those_of_its_rows(text: str) -> None:
    """Host and reference masks under budgets, one row a table and one without a limit."""
    tokens = [b"(", b"((", b")", b"))", b"x", b"a", b"aa"]
    vocabulary = Vocabulary.from_bytes(tokens, eos_ids=[7])
    machine = explorer.compile(grammar(text, ambiguous=True), vocabulary, lazy=True)
    table = explorer.compile(explorer.regex("x{1,3}"), vocabulary)
    masks = DeviceMasks([machine, table])
    assert machine.mask_within(machine.start, 99) is machine.mask(machine.start)
    which = torch.tensor([0, 0, 0, 0, 1, 0])
    states = torch.tensor([machine.start] * 4 + [table.start, machine.start])
    for remaining in ([2, 3, 4, 5, 3, UNLIMITED], [1, 0, 7, 9, 2, 3]):
        left = torch.tensor(remaining)
        on_host = masks.mask_(torch.zeros(6, 8), states, which, left)
        reference = masks.mask_reference_(torch.zeros(6, 8), states, which, left)
        assert torch.equal(on_host, reference)
        for row, budget in enumerate(remaining):
            if which[row] == 0:
                wanted = unpack(machine.mask_within(machine.start, budget), 8)
                assert (on_host[row] == 0).tolist() == wanted.tolist()


def test_what_occurs_nowhere_is_in_no_text() -> None:
    """Beside every text of at most six letters; and most of what is in none of them is found."""
    certain = absent = 0
    for seed in range(60):
        rules = drawn_grammar(random.Random(seed))
        if rules is None:
            continue
        words = Earley(rules)
        texts = [t for n in range(7) for t in map("".join, itertools.product("abc", repeat=n))]
        viable = "-".join(t for t in texts if words.viable(t))
        machine = grammar(as_gbnf(rules), ambiguous=True).discover(Meter())
        if machine.stacks is None:
            continue
        network = machine.stacks.network
        arrays = network.arrays
        for part in map("".join, itertools.product("abc", repeat=3)):
            nowhere = occurs_nowhere(arrays, network.symbol_class[list(part.encode())].tolist())
            assert not (nowhere and part in viable)
            certain += nowhere
            absent += part not in viable
    assert certain > 0.8 * absent > 0


@pytest.mark.parametrize("kind", [SingleStack, ManyStacks], ids=["one stack", "all stacks"])
def test_a_deep_stack_has_its_distance(kind: type) -> None:
    """20,000 brackets, closed three at a time: no recursion of the interpreter's."""
    nested = grammar('root ::= "(" root ")" | "x"')
    vocabulary = Vocabulary.from_bytes([b"(" * 100, b"(", b")", b")))", b"x"], eos_ids=[5])
    machine = explorer.compile(nested, vocabulary, lazy=True)
    if kind is ManyStacks:
        network = nested.machine.stacks.network  # pyright: ignore
        byte_machine = Discovered(ManyStacks(network), explorer.Budget())
        machine = LazyMachine(nested, vocabulary, byte_machine, machine.report, explorer.Budget())
    state = machine.start
    for _ in range(200):
        after = machine.step(state, 0)
        assert after is not None
        state = after
    assert machine.distance_to_end(state) == 6666 + 2 + 1 + 1  # Two more brackets, x, the end.


def test_too_little_memory_names_the_rule_and_the_missing_characters() -> None:
    text = 'root ::= "(" root ")" | pair\npair ::= "a" pair "b" | "é"'
    tokens = [b"(", b")", b"a", b"b"]
    vocabulary = Vocabulary.from_bytes(tokens, eos_ids=[4])
    machine = grammar(text).machine
    assert isinstance(machine.stacks, SingleStack)
    trie = trie_of(vocabulary, None)
    found = StackEnds(machine.stacks, trie, single_bytes(trie))
    words = "whether the rule 'root' can be finished, although no token is the byte 0xa9, the byte"
    with pytest.raises(BudgetExceeded, match=words) as caught:
        found.can_end(machine.start, Meter(explorer.Budget(states=3)))
    assert caught.value.resource == "states"
    assert found.distance(machine.start, Meter()) is None
