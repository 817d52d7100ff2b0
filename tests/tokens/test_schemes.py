"""Schemes of tokens and their templates."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

import explorer
from explorer import gen, regex, template
from explorer.analysis.invasiveness import invasiveness, naturalised
from explorer.decoding.models.model import LanguageModel, Reading
from explorer.tokens.machine import TokenMachine
from explorer.tokens.schemes.fixed import fixed_tokens
from explorer.tokens.schemes.lookahead import (
    Lookahead,
    bridges_of,
    lookahead_machine,
    lookahead_machines,
)
from explorer.tokens.schemes.subterminals import BORDER, SubterminalNode, subterminal_tree
from explorer.tokens.schemes.templates import fixed_ids, template_machine, template_parts
from explorer.tokens.schemes.terminals import FLAT_OBJECT, TerminalGrammar
from explorer.vocabulary import Vocabulary
from tests.languages.grammar.earley import Earley

# --- the running example of the paper ------------------------------------------------------------

SUMS_OF_SCHEMES = TerminalGrammar(
    {"plus": r"\+", "open": r"\(", "close": r"\)", "int": "([1-9][0-9]*)|(0+)"},
    {"E": (("E", "plus", "E"), ("open", "E", "close"), ("int",))},
)
PAPER_TOKENS = [b"+1", b"1 ", b"12", b"(", b")", b"0", b"+"]
PAPER = Vocabulary.from_bytes(PAPER_TOKENS, eos_ids=[7])
INT = SUMS_OF_SCHEMES.machines["int"]
INSIDE = ("int", INT.step(INT.step(INT.start, ord("1")), ord("2")))


def named(
    tree: SubterminalNode, tokens: list[bytes]
) -> dict[tuple[str, ...], dict[tuple[str, int], list[str]]]:
    return {
        path: {key: sorted(tokens[i].decode() for i in ids) for key, ids in node.tokens.items()}
        for path, node in tree.walk()
    }  # fmt: skip


def test_the_tree_inside_int_node_by_node() -> None:
    tree = subterminal_tree(SUMS_OF_SCHEMES, PAPER, INSIDE)
    assert named(tree, PAPER_TOKENS) == {
        (): {("int", 1): ["0", "12"]},
        ("int",): {("plus", 1): ["+"], ("close", 1): [")"]},
        ("int", "plus"): {("int", 2): ["+1"]},
    }
    at_border = named(subterminal_tree(SUMS_OF_SCHEMES, PAPER, BORDER), PAPER_TOKENS)
    assert at_border == {
        (): {
            ("int", 1): ["0", "12"], ("plus", 1): ["+"], ("open", 1): ["("], ("close", 1): [")"],
        },
        ("plus",): {("int", 2): ["+1"]},
    }  # fmt: skip
    # "1 " is nowhere: no terminal reads a space.
    assert not any("1 " in ids for node in at_border.values() for ids in node.values())


# --- brute force --------------------------------------------------------------------------------

LISTS = TerminalGrammar(
    {"open": r"\[", "close": r"\]", "comma": ",", "word": "[ab]+|-[ab]", "str": '"[a,]*"'},
    {
        "value": (("open", "items", "close"), ("word",), ("str",)),
        "items": ((), ("value",), ("items", "comma", "value")),
    },
)
GRAMMARS = {"sums": (SUMS_OF_SCHEMES, "0123+()"), "lists": (LISTS, '[],ab-"')}


@cache
def tokens_of(name: str, seed: int) -> Vocabulary:
    """Every byte, and some longer tokens over the same bytes."""
    chance = random.Random(seed)
    letters = GRAMMARS[name][1]
    longer = {"".join(chance.choices(letters, k=chance.randrange(2, 5))) for _ in range(60)}
    pieces = [*letters, *sorted(longer)]
    return Vocabulary.from_bytes([*(p.encode() for p in pieces), None], eos_ids=[len(pieces)])


class Cuts:
    """All ways to cut texts into terminals, by `re` and a parser that shares no code."""

    def __init__(self, name: str) -> None:
        self.grammar, self.letters = GRAMMARS[name]
        self.code = {t: chr(0xE000 + k) for k, t in enumerate(self.grammar.terminals)}
        rules = {
            f"<{rule}>": [
                tuple(self.code.get(symbol, f"<{symbol}>") for symbol in option)
                for option in options
            ]
            for rule, options in self.grammar.rules.items()
        }
        self.parser = Earley(rules, f"<{next(iter(self.grammar.rules))}>")
        self._begins: dict[tuple[str, str], bool] = {}
        self._viable: dict[str, bool] = {}

    def begins(self, terminal: str, text: str) -> bool:
        """Whether a text begins some text of a terminal: one of two more letters at most."""
        key = (terminal, text)
        if key not in self._begins:
            pattern = re.compile(self.grammar.terminals[terminal])
            ends = (
                "".join(more)
                for n in range(3)
                for more in itertools.product(self.letters, repeat=n)
            )
            self._begins[key] = any(pattern.fullmatch(text + end) for end in ends)
        return self._begins[key]

    def viable(self, terminals: str) -> bool:
        if terminals not in self._viable:
            self._viable[terminals] = self.parser.viable(terminals)
        return self._viable[terminals]

    def follow(
        self, cuts: set[tuple[str, str, str]], token: str, k: int | None
    ) -> set[tuple[str, str, str]]:
        """The cuts (terminals done, the one that is read, its text so far) after a token."""
        now = {(cut, 0) for cut in cuts}
        for letter in token:
            then: set[tuple[tuple[str, str, str], int]] = set()
            for (done, terminal, text), parts in now:
                if terminal and self.begins(terminal, text + letter):
                    then.add(((done, terminal, text + letter), max(1, parts)))
                over = not terminal or re.fullmatch(self.grammar.terminals[terminal], text)
                if not over:
                    continue
                finished = done + self.code.get(terminal, "")
                for other in self.grammar.terminals:
                    if self.viable(finished + self.code[other]) and self.begins(other, letter):
                        then.add(((finished, other, letter), parts + 1))
            now = then
        return {cut for cut, parts in now if k is None or parts <= k + 1}


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("k", [0, 1, 2, None])
def test_masks_are_those_of_all_cuts(name: str, k: int | None) -> None:
    wrong = differences(name, k, seed=3)
    assert not wrong, wrong[:5]


def differences(
    name: str, k: int | None, seed: int, walks: int = 6, own: int | None = None
) -> list[str]:
    """The differences between all cuts and the machine, which may have a `k` of its own."""
    vocabulary, cuts = tokens_of(name, seed), Cuts(name)
    machine = lookahead_machine(cuts.grammar, vocabulary, k if own is None else own)
    whole = lookahead_machine(cuts.grammar, vocabulary, None)
    language = explorer.compile(cuts.grammar.constraint, vocabulary)
    chance = random.Random(seed)
    eos = vocabulary.eos_ids[0]
    found: list[str] = []
    for _ in range(walks):
        state: int | None = machine.start
        other: int | None = language.start
        free: int | None = whole.start
        written, text = {("", "", "")}, ""
        for _ in range(5):
            assert state is not None and other is not None and free is not None
            mask = machine.allowed(state)
            expected = [
                bool(cuts.follow(written, data.decode(), k)) if data else False
                for data in vocabulary.tokens[:eos]
            ]
            if mask[:eos].tolist() != expected:
                found.append(f"mask after {text!r}")
            if mask[eos] != language.allowed(other)[eos]:
                found.append(f"end after {text!r}")
            steps = [machine.step(state, token) is not None for token in range(len(mask))]
            if steps != mask.tolist():
                found.append(f"steps after {text!r}")
            # Without a limit it is the language; with one it is less.
            if not np.array_equal(whole.allowed(free), language.allowed(other)):
                found.append(f"language after {text!r}")
            if (mask & ~language.allowed(other)).any():
                found.append(f"more than the language after {text!r}")
            if k is not None and k > 0:
                less = lookahead_machine(cuts.grammar, vocabulary, k - 1)
                at: int | None = less.start
                for piece in path_of(text, vocabulary):
                    at = None if at is None else less.step(at, piece)
                if at is not None and (less.allowed(at) & ~mask).any():
                    found.append(f"k - 1 allows more after {text!r}")
            options = [int(t) for t in mask.nonzero()[0] if t != eos]
            if not options:
                break
            token = max(chance.sample(options, min(3, len(options))))
            state, other, free = (
                machine.step(state, token), language.step(other, token), whole.step(free, token),
            )  # fmt: skip
            data = vocabulary.tokens[token] or b""
            text += data.decode()
            written = cuts.follow(written, data.decode(), k)
    return found


def path_of(text: str, vocabulary: Vocabulary) -> list[int]:
    """The text byte by byte, which crosses no border within a token."""
    return [vocabulary.tokens.index(letter.encode()) for letter in text]


def test_the_brute_force_sees_a_wrong_count() -> None:
    assert differences("sums", 0, seed=3, walks=2, own=1)
    assert differences("sums", 1, seed=3, walks=2, own=0)


# --- as token machines --------------------------------------------------------------------------


def test_bridges_are_counted_in_the_way_with_the_fewest() -> None:
    ids = {token: PAPER_TOKENS.index(token) for token in PAPER_TOKENS}
    text = (ids[b"("], ids[b"12"], ids[b"+1"], ids[b"+1"], ids[b"0"], ids[b")"], 7)
    assert bridges_of(SUMS_OF_SCHEMES, PAPER, text) == 2
    assert bridges_of(SUMS_OF_SCHEMES, PAPER, text[:2]) == 0


JSON = TerminalGrammar(
    {
        "open": r"\{", "close": r"\}", "colon": ":", "comma": ",", "space": " +",
        "string": r'"[^"\\\n]*"', "number": r"-?[0-9]+(\.[0-9]+)?", "word": "true|false|null",
    },
    {
        "object": (("open", "members", "close"),),
        "members": (("member",), ("members", "comma", "ws", "member")),
        "member": (("string", "colon", "ws", "value"),),
        "value": (("string",), ("number",), ("word",)),
        "ws": ((), ("space",)),
    },
)  # fmt: skip


# --- templates ----------------------------------------------------------------------------------


def test_a_template_writes_its_own_tokens() -> None:
    vocabulary = Vocabulary.from_bytes(
        [b"a=", b"a", b"=", b"=1", b"1", b"12", b"2;", b";", b"2"], eos_ids=[9]
    )
    machine = fixed_tokens([(1, 2), regex("[12]{1,3}"), (7,)], vocabulary)
    texts: set[str] = set()
    for state, text in list_of(machine, vocabulary, 6):
        allowed = {vocabulary.tokens[int(t)] for t in machine.allowed(state).nonzero()[0]}
        steps = {t for t in range(9) if machine.step(state, t) is not None}
        assert {vocabulary.tokens[t] for t in steps} == allowed - {None}
        if machine.is_final(state):
            texts.add(text)
        match = re.fullmatch("(a(=([12]{1,3};?)?)?)?", text)
        assert match, text
        assert b"a=" not in allowed and b"=1" not in allowed and b"2;" not in allowed
    assert texts == {
        f"a={''.join(n)};" for size in (1, 2, 3) for n in itertools.product("12", repeat=size)
    }
    refused = machine.refusal(machine.start, 0)
    assert refused is not None and "'a' comes next" in refused.reason
    assert machine.refusal(machine.start, 4) is None  # The language does not allow it either.


def list_of(machine: TokenMachine, vocabulary: Vocabulary, most: int) -> list[tuple[int, str]]:
    """The states within some tokens of the start, each with its text."""
    found, now = [(machine.start, "")], [(machine.start, "")]
    for _ in range(most):
        then: list[tuple[int, str]] = []
        for state, text in now:
            for token in machine.allowed(state).nonzero()[0].tolist():
                after, data = machine.step(state, token), vocabulary.tokens[token]
                if data and after is not None:
                    then.append((after, text + data.decode()))
        found += then
        now = then
    return found


# Templates as schemes: fixed text as ids, white space left to the model, naturalised text.


PERSON = template(
    '{{"name": "{name}", "age": {age}}}',
    name=gen(regex="[A-Z][a-z]{1,9}"), age=gen(regex="[0-9]{1,2}"),
)  # fmt: skip
FLEXIBLE = re.compile(
    r'\{"name":[ \t\n]*"[A-Z][a-z]{1,9}",[ \t\n]*"age":[ \t\n]*[0-9]{1,2}\}', re.DOTALL
)
PLAIN = re.compile(r'\{"name": "[A-Z][a-z]{1,9}", "age": [0-9]{1,2}\}')
MODELS = {name: explorer.load_model(name) for name in ("tiny", "tiny-sp")}


def drawn(machine: TokenMachine, seed: int, longest: int = 400) -> tuple[bytes, list[int]]:
    """A random text of a machine, and its tokens."""
    rng, state, ids = random.Random(seed), machine.start, list[int]()
    while len(ids) < longest:
        may = machine.allowed(state).nonzero()[0].tolist()
        ends = [token for token in may if token in machine.vocabulary.eos_ids]
        token = ends[0] if ends else rng.choice(may)
        if ends:
            break
        after = machine.step(state, token)
        assert after is not None
        ids.append(token)
        state = after
    tokens = machine.vocabulary.tokens
    return b"".join(tokens[token] or b"" for token in ids), ids


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("flexible", [False, True], ids=["plain", "flexible"])
def test_the_texts_are_those_of_the_pattern(model: str, flexible: bool) -> None:
    """Against `re`: random texts of the machine match, and texts that match are of the language."""
    vocabulary = MODELS[model].vocabulary
    machine = template_machine(PERSON, vocabulary, flexible=flexible)
    pattern = FLEXIBLE if flexible else PLAIN
    for seed in range(6):
        data, _ = drawn(machine, seed)
        assert pattern.fullmatch(data.decode()), data
    constraint = machine.constraint
    assert constraint is not None
    for text in ('{"name": "Ada", "age": 36}', '{"name":"Ada",\n\n"age":\t 3}', '{"name" : "Ada"}'):
        assert constraint.accepts(text) == bool(pattern.fullmatch(text)), text


@pytest.mark.parametrize("model", MODELS)
def test_no_token_crosses_the_border_of_a_hole(model: str) -> None:
    vocabulary = MODELS[model].vocabulary
    machine = template_machine(PERSON, vocabulary)
    fixed = [part for part in template_parts(PERSON) if isinstance(part, str)]
    ids_of = {text: fixed_ids(text, vocabulary) for text in fixed}
    for seed in range(4):
        _, ids = drawn(machine, seed)
        state, marked = machine.start, list[int]()
        for token in ids:
            if "fixed" in machine.marks(state, token):
                marked.append(token)
            after = machine.step(state, token)
            assert after is not None
            state = after
        assert marked == [token for text in fixed for token in ids_of[text]]


@pytest.mark.parametrize("model", MODELS)
def test_a_naturalised_template_has_the_models_own_tokens(model: str) -> None:
    """Against the definition: at each place of the fixed text the likeliest token that agrees."""
    lm, prompt = MODELS[model], "Write a JSON record of a person on one line.\n"
    machine = naturalised(lm, prompt, PERSON)
    (pair,) = invasiveness(lm, prompt, machine.unfiltered, machine=machine, max_tokens=60)
    state, path = machine.start, list(lm.encode_prompt(prompt))
    rest = [part for part in template_parts(PERSON) if isinstance(part, str)]
    left, checked = b"", 0
    for token in pair.constrained.tokens[:-1]:
        if "fixed" in machine.marks(state, token):
            left = left or rest.pop(0).encode()
            known = lm.vocabulary.tokens
            agreeing = [k for k, data in enumerate(known) if data and left.startswith(data)]
            logits = lm.read(path).logits
            assert token == max(agreeing, key=lambda k: float(logits[k]))
            left = left[len(known[token] or b"") :]
            checked += 1
        path.append(token)
        after = machine.step(state, token)
        assert after is not None
        state = after
    assert checked >= 8 and not rest and not left


class Short:
    """A model with a shorter context than its own."""

    def __init__(self, lm: LanguageModel, max_length: int) -> None:
        self.name, self.vocabulary, self.encode_prompt = lm.name, lm.vocabulary, lm.encode_prompt
        self.lm, self.max_length = lm, max_length

    def read(self, tokens: Sequence[int]) -> Reading:
        assert len(tokens) <= self.max_length
        return self.lm.read(tokens)


def test_a_template_is_naturalised_within_the_context() -> None:
    """A hole without an end: the text that is written once stops where the context is full."""
    lm, endless = MODELS["tiny"], template(" {y}<b>", y=gen(regex="[a-z]+"))
    full = len(lm.encode_prompt("Name:")) + 3  # Four tokens: the last one is not read.
    machine = naturalised(Short(lm, full), "Name:", endless)
    assert [part for part in template_parts(endless) if isinstance(part, str)] == [" ", "<b>"]
    assert "fixed" in machine.marks(machine.start, machine.allowed(machine.start).nonzero()[0][0])


def test_what_a_token_crosses_is_the_fewest_borders() -> None:
    """Against the smallest k that allows the token, at every state of random walks."""
    lm = MODELS["tiny"]
    *few, whole = lookahead_machines(FLAT_OBJECT, lm.vocabulary, (*range(5), None))
    rule = Lookahead(FLAT_OBJECT, lm.vocabulary, None)
    rng, checked = random.Random(4), 0
    for _ in range(3):
        state, ids = whole.start, list[int]()
        while len(ids) < 14:
            may = [
                int(t) for t in whole.allowed(state).nonzero()[0] if lm.vocabulary.tokens[int(t)]
            ]
            likely = [t for t in may if len(lm.vocabulary.tokens[t] or b"") > 2] or may
            token = rng.choice(likely)
            crossed = rule.crossed(whole.known(state), token)
            for k, machine in enumerate(few):
                at = machine.start
                for one in ids:
                    at = -9 if at < 0 else _forced(machine, at, one)
                if at >= 0:
                    assert bool(machine.allowed(at)[token]) == (crossed <= k)
                    checked += 1
            after = whole.step(state, token)
            assert after is not None
            ids.append(token)
            state = after
    assert checked > 40


def _forced(machine: TokenMachine, state: int, token: int) -> int:
    """The state after a token; -9 where the scheme does not allow it."""
    after = machine.step(state, token)
    return -9 if after is None or after < 0 else after
