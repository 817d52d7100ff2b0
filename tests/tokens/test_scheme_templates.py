"""Templates as schemes: fixed text as ids, white space left to the model, naturalised text."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from itertools import pairwise

import pytest

import explorer
from explorer import gen, template
from explorer.analysis.invasiveness import invasiveness, naturalised, schemes_of
from explorer.decoding.models.model import LanguageModel, Reading
from explorer.tokens.machine import TokenMachine
from explorer.tokens.schemes.lookahead import Lookahead, bridges_of, lookahead_machines
from explorer.tokens.schemes.templates import fixed_ids, template_machine, template_parts
from explorer.tokens.schemes.terminals import FLAT_OBJECT, SUMS

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


@pytest.mark.parametrize("model", MODELS)
def test_schemes_of_a_grammar_and_a_template(model: str) -> None:
    lm, prompt = MODELS[model], "Q: What is 2 + 3?\nA: "
    made = template("{x}+{y}", x=gen(regex="[1-9]"), y=gen(regex="[1-9]"))
    schemes = schemes_of(lm, prompt, SUMS, template=made)
    names = [scheme.name for scheme in schemes]
    assert names == [
        "k = 0", "k = 1", "k = 2", "ours", "template", "flexible template", "naturalised template",
    ]  # fmt: skip
    by_name = {scheme.name: scheme for scheme in schemes}
    # Each smaller k allows less, and ours is the grammar's own machine.
    order = [by_name[name].machine for name in names[:4]]
    for smaller, larger in pairwise(order):
        assert not (smaller.allowed(0) & ~larger.allowed(0)).any()
    assert by_name["ours"].machine.constraint == SUMS.constraint
    for scheme in schemes:
        (pair,) = scheme.compared(lm, prompt, max_tokens=12)
        assert pair.bridges == bridges_of(SUMS, lm.vocabulary, pair.constrained.tokens)
        if scheme.name == "ours":
            assert pair.violation is None


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
