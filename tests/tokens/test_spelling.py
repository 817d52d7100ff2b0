"""Filters of spellings, as stages and in schemes, and tokenizations."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import explorer
from explorer import Vocabulary, regex
from explorer.budget import Meter
from explorer.tokens.machine import TokenMachine, filtered_of, table_of
from explorer.tokens.walks.spelling import fewest_tokens, longest_spelled, tokens_at
from explorer.tokens.walks.tokenizations import read_tokenizations
from explorer.tokens.walks.trie import trie_of
from tests.tokens.canonical_oracle import accepts
from tests.tokens.test_canonical import MAKERS, Case, _made

# The texts that tokens can spell, against trying every way to cut the bytes.


_letters = st.binary(max_size=7).map(lambda data: bytes(b"ab\xc3"[byte % 3] for byte in data))


def cuts(data: bytes) -> list[tuple[bytes, ...]]:
    """Every way to cut some bytes into pieces that are not empty."""
    found: list[tuple[bytes, ...]] = []
    for bits in range(2 ** max(len(data) - 1, 0)):
        inner = [k for k in range(1, len(data)) if bits >> (k - 1) & 1]
        places = [0, *inner, len(data)] if data else [0]
        found.append(tuple(data[i:j] for i, j in pairwise(places)))
    return found


@given(st.lists(_letters.filter(bool), min_size=1, max_size=7), _letters, st.booleans())
def test_every_way_to_cut_is_tried(tokens: list[bytes], data: bytes, with_ends: bool) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    # Marks of the ends of tokens are words of the trie, and no bytes of a text.
    over_ends = explorer.regex("(?P<TEXT_TOKEN>)").for_tokens(Meter())
    trie = trie_of(vocabulary, over_ends if with_ends else None)
    ways = [way for way in cuts(data) if all(piece in tokens for piece in way)]
    # Fewest pieces; of those the longest first piece, then the longest second one, and so on.
    best = min(ways, key=lambda way: (len(way), [-len(piece) for piece in way]), default=None)
    wanted = None if best is None else tuple(tokens.index(piece) for piece in best)
    assert fewest_tokens(trie, data) == wanted
    spelled = [
        end
        for end in range(len(data) + 1)
        if any(all(piece in tokens for piece in way) for way in cuts(data[:end]))
    ]
    assert longest_spelled(trie, data) == max(spelled)
    for begin in range(len(data)):
        here = [
            (end, tokens.index(data[begin:end]))
            for end in range(begin + 1, len(data) + 1)
            if data[begin:end] in tokens
        ]
        assert tokens_at(trie, data, begin) == here


# Stages that take spellings away: held to enumeration, and to what tokenizers themselves write.


PIECES = ["a", "b", " ", " a", " ab", "ab", "é", "è", "éa", "日", "<"]
BYTES = ["é".encode()[:1], "é".encode()[1:], b"\xa8", *(bytes((x,)) for x in "日".encode()), b"a"]


@pytest.fixture(scope="module")
def toy() -> Vocabulary:
    return Vocabulary.from_bytes([*(p.encode() for p in PIECES), *BYTES], eos_ids=[17])


def spellings(vocabulary: Vocabulary, data: bytes) -> Iterator[tuple[int, ...]]:
    """Every way to write some bytes."""
    if not data:
        yield ()
    for token, piece in enumerate(vocabulary.tokens):
        if piece is not None and data.startswith(piece):
            for rest in spellings(vocabulary, data[len(piece) :]):
                yield (token, *rest)


def is_redundant(vocabulary: Vocabulary, path: tuple[int, ...], literal: set[str]) -> bool:
    """Whether tokens of single bytes write all of some character that has a token."""
    data = [vocabulary.tokens[token] or b"" for token in path]
    for first in range(len(path)):
        for last in range(first + 1, len(path) + 1):
            part = b"".join(data[first:last])
            single = all(len(x) == 1 and x[0] >= 0x80 for x in data[first:last])
            if single and len(part) > 1 and part.decode(errors="replace") in literal:
                return True
    return False


@pytest.mark.parametrize("text", ["éa", "aé", "日日", "èé", "éèé", "aéb", "日é"])
def test_redundant_bytes_are_those_of_the_definition(toy: Vocabulary, text: str) -> None:
    literal = {"é", "è", "日"}
    data = text.encode()
    every = set(spellings(toy, data))
    machine = explorer.compile(regex(text).without_redundant_bytes(), toy)
    expected = {path for path in every if not is_redundant(toy, path, literal)}
    assert expected < every
    assert {path for path in every if accepts(machine, path)} == expected
    assert machine.distance[0] == 1 + min(map(len, expected))


def test_a_byte_without_another_spelling_stays(toy: Vocabulary) -> None:
    # 0xC3 0xA8 is è, which has a token; 0xC3 0xA9 0x.. of no character with one stays.
    bare = Vocabulary.from_bytes([b"\xc3", b"\xa9", b"\xa8", "é".encode()], eos_ids=[4])
    machine = explorer.compile(regex("[éè]").without_redundant_bytes(), bare)
    assert accepts(machine, (0, 2)) and accepts(machine, (3,)) and not accepts(machine, (0, 1))
    why = explorer.explain(machine, machine.walk([0])[-1], 1)
    assert why.stage == "filtered"
    assert (
        "by the redundant bytes filter: the tokenizer would write 'é' as one token" in why.message
    )


def bpe() -> Vocabulary:
    pieces = {c: k for k, c in enumerate("abc1Ġ!")}
    merges = [("a", "b"), ("Ġ", "a"), ("Ġa", "b"), ("Ġ", "c")]
    for left, right in merges:
        pieces[left + right] = len(pieces)
    tokenizer = Tokenizer(models.BPE(pieces | {"<end>": len(pieces)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return Vocabulary.from_tokenizer(tokenizer, eos_ids=[len(pieces)])


def test_isolated_spaces_are_those_that_the_tokenizer_would_fuse() -> None:
    vocabulary = bpe()
    space = vocabulary.ids_of(b" ")[0]
    for text in ("a ab", "a b", "1 c", "a  ab", "ab 1", "c !", " a c"):
        machine = explorer.compile(explorer.literal(text).without_isolated_spaces(), vocabulary)
        for path in spellings(vocabulary, text.encode()):
            pairs = pairwise(path)
            fused = any(
                one == space and (vocabulary.encode("a " + _text(vocabulary, other)) or ())[1:2]
                != (space,) and not _text(vocabulary, other).startswith(" ")
                for one, other in pairs
            )  # fmt: skip
            assert accepts(machine, path) != fused, (text, path)


def _text(vocabulary: Vocabulary, token: int) -> str:
    return (vocabulary.tokens[token] or b"").decode()


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n == "gpt2" else [pytest.mark.long]) for n in MAKERS]
)
def test_what_a_tokenizer_writes_gets_through(name: str) -> None:
    case: Case = _made.setdefault(name, MAKERS[name]())
    vocabulary = case.vocabulary
    text = regex("(?s:.*)").without_redundant_bytes().without_isolated_spaces()
    machine = explorer.compile(text, vocabulary)
    assert table_of(machine) is not None
    random = Random(0)
    words = [
        "Berlin",
        "’s",
        "'s",
        "1",
        " ",
        "  ",
        "\n",
        "é",
        "日本",
        "!",
        "don't",
        "XVII",
        "\t",
        "ж",
    ]
    for _ in range(400):
        written = case.encode("".join(random.choices(words, k=random.randint(1, 9))))
        assert accepts(machine, written), [vocabulary.tokens[k] for k in written]
    lone, the = vocabulary.ids_of(b" ")[0], vocabulary.ids_of(b"the")[0]
    assert not accepts(machine, (lone, the)) and accepts(machine, vocabulary.ids_of(b" the"))


@pytest.mark.parametrize("pattern", ["éa", "日日|aé", "(é|a)+", "(ab| a|日)*", "[éè]{1,3} ?b?"])
def test_a_lazy_machine_is_filtered_as_a_table_is(toy: Vocabulary, pattern: str) -> None:
    text = regex(pattern).without_redundant_bytes()
    closed = explorer.compile(text, toy)
    lazy = filtered_of(explorer.compile(text, toy, lazy=True))
    assert lazy is not None and table_of(lazy) is None
    states = {0: 0}
    waiting = [0]
    for state in waiting:  # Both walk together; wherever they get, the masks are the same.
        assert (closed.allowed(state) == lazy.allowed(states[state])).all()
        for token in closed.allowed(state).nonzero()[0].tolist():
            target, other = closed.step(state, token), lazy.step(states[state], token)
            assert target is not None and other is not None
            if target >= 0 and target not in states:
                states[target] = other
                waiting.append(target)
    again: TokenMachine = pickle.loads(pickle.dumps(lazy))
    assert (again.allowed(0) == lazy.allowed(0)).all()
    for state in states:
        for token in range(len(toy)):
            assert closed.refusal(state, token) == lazy.refusal(states[state], token)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", ["isolated space", "redundant bytes"])
def test_the_stage_is_the_reason_where_it_alone_leaves_no_way_on(name: str, lazy: bool) -> None:
    """A token that could be followed without the stage is not blamed on the vocabulary."""
    vocabulary = explorer.load_model("tiny-sp").vocabulary
    bare = regex(" (Berlin|Paris)") if name == "isolated space" else regex("ü")
    stage = (
        bare.without_isolated_spaces() if name == "isolated space"
        else bare.without_redundant_bytes()
    )  # fmt: skip
    data = b" " if name == "isolated space" else "ü".encode()[:1]
    token = vocabulary.ids_of(data)[0]
    plain = explorer.compile(bare, vocabulary)
    machine = explorer.compile(stage, vocabulary, lazy=lazy)
    assert plain.allowed(plain.start)[token] and not machine.allowed(machine.start)[token]
    found = explorer.explain(machine, machine.start, token)
    assert found.stage == "filtered" and f"by the {name} filter" in found.message
    written = " Berlin" if name == "isolated space" else "ü"
    assert f"the tokenizer would write '{written}' as one token" in found.message


# The furthest that tokens can write a text: brute force over all ways to cut it is the oracle.


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
        for taken in ((), tuple(VOCABULARY.ids_of(data[:1]))):
            found = read_tokenizations(machine, data, taken)
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
