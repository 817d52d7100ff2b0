"""The furthest that tokens can write a text: brute force over all ways to cut it is the oracle."""

from __future__ import annotations

import random

import pytest

import explorer
from explorer import Vocabulary
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.tokenizations import read_tokenizations

TOKENS = [b" y", b"y", b"e", b"es", b"s", b"a", b"b", b"ab", b"ba", b"aba", b"aa", b"a"]
VOCABULARY = Vocabulary.from_bytes(TOKENS, eos_ids=[len(TOKENS)])


def brute(machine: TokenMachine, data: bytes) -> tuple[int, int, set[int]]:
    """The furthest end, the furthest byte that is written, and the tokens that are masked."""
    ends, far, masked = {0}, 0, set[int]()
    waiting = [(0, machine.start)]
    seen = set(waiting)
    while waiting:
        at, state = waiting.pop()
        allowed = machine.allowed(state) if state >= 0 else ()
        for token, piece in enumerate(TOKENS):
            rest = data[at:]
            if state >= 0 and allowed[token]:
                common = 0
                while common < min(len(piece), len(rest)) and piece[common] == rest[common]:
                    common += 1
                far = max(far, at + common)
            if not rest.startswith(piece):
                continue
            following = machine.step(state, token)
            if following is None:
                masked.add(token)
            elif (at + len(piece), following) not in seen:
                ends.add(at + len(piece))
                seen.add((at + len(piece), following))
                waiting.append((at + len(piece), following))
    return max(ends), max(far, max(ends)), masked


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("pattern", ["(ab|ba)*yes", "a{2,5}(b|yes)", "(aba)+", "yes|yea|[ab]{3}"])
def test_every_way_of_cutting_a_text_is_followed(pattern: str, lazy: bool) -> None:
    machine = explorer.compile(explorer.regex(pattern), VOCABULARY, lazy=lazy)
    chosen = random.Random(pattern)
    for _ in range(300):
        data = "".join(chosen.choices("abyes ", weights=[6, 6, 2, 2, 2, 1], k=6)).encode()
        for given in ((), tuple(VOCABULARY.ids_of(data[:1]))):
            found = read_tokenizations(machine, data, given)
            end, far, masked = brute(machine, data)
            assert found.writable == far, (data, found)
            wrote = b"".join(TOKENS[token] for token in found.ids)
            assert wrote == data[: found.num_bytes]
            assert found.states[0] == machine.start and len(found.states) == len(found.ids) + 1
            for token, state, after in zip(found.ids, found.states, found.states[1:], strict=False):
                assert machine.step(state, token) == after
            if end == len(data):
                assert found.num_bytes == end and found.refused is None
            elif found.refused is not None:
                assert data.startswith(TOKENS[found.refused], found.num_bytes)
                assert machine.step(found.states[-1], found.refused) is None
                alike = {one for one in masked if TOKENS[one] == TOKENS[found.refused]}
                assert found.only == (masked <= alike and len(masked) == 1)


def test_a_long_text_is_looked_at_where_the_given_tokens_fail() -> None:
    machine = explorer.compile(explorer.regex("(ab)*"), VOCABULARY)
    data = b"ab" * 500 + b"y" + b"ab" * 500
    given = [TOKENS.index(b"ab")] * 500
    exact = read_tokenizations(machine, data, given)
    assert exact.writable == 1000
    near = read_tokenizations(machine, data, given, look_back=10)
    assert (near.writable, near.ids[:480]) == (1000, tuple(given[:480]))
    assert len(near.states) == len(near.ids) + 1 and near.num_bytes == 1000
