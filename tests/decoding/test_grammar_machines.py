"""Grammars in batches, on a device and in traces; an Earley parser says what is allowed."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

import explorer
from explorer import DeviceMasks
from explorer.automata.machine import Bool
from explorer.tokens.machine import TokenMachine, table_of
from explorer.tokens.words import DEAD, DONE, UInt32
from explorer.vocabulary import Vocabulary
from tests.decoding.untabled import Untabled
from tests.languages.grammar.earley import Earley, Productions, as_gbnf

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
TEXTS = [
    "a",
    "b",
    "(",
    ")",
    "+",
    "aa",
    "a+",
    "+a",
    "(a",
    "a)",
    "))",
    ")+(",
    "aab",
    "bb",
    "((",
    "ab",
]
VOCABULARY = Vocabulary.from_bytes([*(text.encode() for text in TEXTS), None], eos_ids=[len(TEXTS)])
EOS = len(TEXTS)
NESTED: Productions = {"root": [("a", "root", "b"), ("a", "b")]}
SUMS: Productions = {"root": [("root", "+", "root"), ("(", "root", ")"), ("a",), ("b",)]}
GRAMMARS = {"nested": (NESTED, False), "sums": (SUMS, True)}


def oracle(rules: Productions, text: str) -> Bool:
    """The tokens that may follow a text, by a parser that shares no code with the engine."""
    parser = Earley(rules)
    found = [parser.viable(text + token) for token in TEXTS]
    return np.array([*found, parser.accepts(text)])


def machine_of(name: str) -> TokenMachine:
    rules, ambiguous = GRAMMARS[name]
    made = explorer.compile(explorer.grammar(as_gbnf(rules), ambiguous=ambiguous), VOCABULARY)
    assert table_of(made) is None  # The rules recurse.
    return made


def walks(machine: TokenMachine, seed: int, count: int = 12, length: int = 7) -> dict[int, str]:
    """States that random walks meet, each with a text that leads there."""
    chance = random.Random(seed)
    met = {machine.start: ""}
    for _ in range(count):
        state, text = machine.start, ""
        for _ in range(length):
            options = [int(k) for k in np.flatnonzero(machine.allowed(state)) if k != EOS]
            if not options:
                break
            token = chance.choice(options)
            following = machine.step(state, token)
            assert following is not None
            state, text = following, text + TEXTS[token]
            met.setdefault(state, text)
    return met


def on(device: str) -> str:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return device


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("way", ["mask_", "mask_reference_"])
def test_device_masks_of_visited_stacks_are_those_of_the_parser(device: str, way: str) -> None:
    machines = [machine_of(name) for name in GRAMMARS]
    machines.append(explorer.compile(explorer.regex("(a|b)+"), VOCABULARY))
    texts = [walks(machine, 3) for machine in machines[:2]]
    rows = [(k, state) for k, met in enumerate(texts) for state in met] + [(2, 0), (0, DONE)]
    masks = DeviceMasks(machines, device=on(device))
    which, states = (torch.tensor(column, device=device) for column in zip(*rows, strict=True))
    for _ in range(2):  # The second time each packed row is there already.
        logits = torch.randn(len(rows), len(VOCABULARY) + 5, device=device)
        after = getattr(masks, way)(logits, states, which)
        for (k, state), row in zip(rows[:-2], after > -torch.inf, strict=False):
            rules = list(GRAMMARS.values())[k][0]
            assert row[: len(VOCABULARY)].tolist() == oracle(rules, texts[k][state]).tolist()
            assert not row[len(VOCABULARY) :].any()
    masks.check()


@pytest.mark.parametrize("device", DEVICES)
def test_advances_push_and_pop(device: str) -> None:
    machine = machine_of("sums")
    masks = DeviceMasks([machine], device=on(device))
    met = walks(machine, 5)
    states = torch.tensor(list(met), device=device)
    for token in range(len(VOCABULARY)):
        following = masks.advance(states, torch.full_like(states, token))
        for state, found in zip(met, following.tolist(), strict=True):
            allowed = oracle(SUMS, met[state])[token]
            assert (found != DEAD) == allowed
            if allowed and token != EOS:
                after = oracle(SUMS, met[state] + TEXTS[token])
                assert (machine.allowed(found) == after).all()
        masks.error.clear()


class Wrong(Untabled):
    """A machine whose masks have one token too many, or one too few."""

    def mask(self, state: int) -> UInt32:
        words = self.machine.mask(state).copy()
        words[0] ^= np.uint32(1)
        return words


def test_a_wrong_row_is_seen() -> None:
    machine = Wrong(machine_of("nested"))
    masks = DeviceMasks([machine])
    after = masks.mask_(torch.zeros(1, len(VOCABULARY)), torch.tensor([machine.start]))
    assert (after[0] > -torch.inf).tolist() != oracle(NESTED, "").tolist()
