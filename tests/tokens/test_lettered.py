"""The row of one state: words of letters that it reads are taken at once, and no others."""

from __future__ import annotations

import random
import string
from collections.abc import Callable

import numpy as np
import pytest

import explorer
from benchmarks.visit_cases import PATTERNS, SCHEMAS
from explorer.automata.discovered.letters import (
    KNOWN,
    LONGEST,
    MOST_STATES,
    PRESUMES,
    REACH,
    WITHOUT_END,
)
from explorer.automata.machine import ByteMachine, Dfa
from explorer.budget import Meter
from explorer.memo import Kept
from explorer.tokens.lazy import LazyMachine
from explorer.tokens.walks.walk import walk_trie
from explorer.tokens.words import UInt32, set_bits
from tests.evidence import few

# pyright: reportPrivateUsage=false

_TEXT = r"[ !#-\[\]-~]"
KINDS = "\x01\x02\x03"
PRINTED = "\t\n\r" + "".join(map(chr, range(0x20, 0x7F)))
"""Letters of ASCII as themselves; \\x00 are the other control characters, 1 to 3 the kinds."""


def letters_of(machine: LazyMachine, state: int) -> tuple[str, int, bool]:
    """The letters that a state was found to read, for how many, and whether that is sharp."""
    machine.mask(state)
    low, high, reach, known = machine._words.known[machine._places[state]].tolist()
    assert known >= 1
    bits = low | high << 64
    return "".join(chr(k) for k in range(128) if bits >> k & 1), reach >> 1, bool(reach & 1)


def after(machine: LazyMachine | explorer.TokenDFA, text: bytes) -> int:
    """The state after some bytes, each a token of its own."""
    state = machine.start
    for byte in text:
        following = machine.step(state, machine.vocabulary.tokens.index(bytes([byte])))
        assert following is not None
        state = following
    return state


def without(letters: str) -> str:
    """All letters but some."""
    return "".join(each for each in sorted("\x00" + KINDS + PRINTED) if each not in letters)


# A pattern, what is read first, the letters that are read then, how many, and whether no more.
STATES = {
    "a string of JSON": (r'"[^"\\\x00-\x1f]*"', '"a', without('"\\\x00\t\n\r'), None, False),
    "a line": (r"[^\n]*\n", "", without("\n"), None, False),
    "any text": (r"(?s:.*)end", "", without(""), None, False),
    "ASCII": (f'"{_TEXT}*"', '"', without('"\\\x00\t\n\r' + KINDS), None, False),
    "all but one far away": ('"[^"\U0010ffff]*"', '"', without('"\x02\x03'), None, False),
    "letters of all scripts": (r"\w+", "a", f"\x01_{string.ascii_letters}{string.digits}", None,
                               False),
    "no white space": (r"\S+", "a", without(" \t\n\r\x00\x03"), None, False),
    "an alphabet": (r"[a-z]+ ", "a", string.ascii_lowercase, None, False),
    "the words that lead to an end are walked": (r"(?:[a-z]+;)+[0-9]", "a",
                                                 string.ascii_lowercase, None, False),
    "ten more": (r'"[^"]{0,10}"', '"', without('"'), 10, True),
    "two more": (r'"[^"]{0,10}"', '"12345678', without('"'), 2, True),
    "at least as many as are looked at": (f'"[^"]{{0,{LONGEST}}}"', '"', without('"'), LONGEST,
                                          False),
    "after a long name": (r"[a-z]{3,40}x", "a", string.ascii_lowercase, LONGEST, False),
    "escapes count as one": (r'"(?:[^"\\\x00-\x1f]|\\["\\n]){0,8}"', '"',
                             without('"\\\x00\t\n\r'), 8, True),
    "alternatives": (r"[a-z]{0,4}|[a-z0-9]{0,9}", "", string.ascii_lowercase + string.digits, 9,
                     True),
    "an answer after free text": (r"[^;]*answer;", "", without(";"), None, False),
    "few": (r"[0-4]*", "", "", None, False),
    "within a character": (r'"[^"]*"', '"Ä', "", None, False),
}  # fmt: skip


@pytest.mark.parametrize("name", STATES)
def test_letters_are_found_and_the_masks_stay(name: str, tekken_131k: explorer.Vocabulary) -> None:
    pattern, text, letters, reach, sharp = STATES[name]
    constraint = explorer.regex(pattern)
    lazy = explorer.compile(constraint, tekken_131k, lazy=True)
    closed = explorer.compile(constraint, tekken_131k)
    data = text.encode()[:2] if name == "within a character" else text.encode()
    state = after(lazy, data)
    found = letters_of(lazy, state)
    assert found[0] == "".join(sorted(letters))
    if letters:
        assert found[1:] == (WITHOUT_END if reach is None else reach, sharp)
    assert np.array_equal(lazy.mask(state), closed.mask(after(closed, data)))


def reference(machine: LazyMachine, state: int) -> UInt32:
    """The mask of a state by the plain walk of the trie."""
    place = machine._places[state]
    assert machine._finishing.all_finish
    words = walk_trie(machine._walked, machine._trie, place).words
    mask = machine._end.copy() if machine.is_final(state) else np.zeros_like(machine._end)
    set_bits(mask, machine._trie.first_id[words])
    return mask


def walk(machine: LazyMachine, steps: int, seed: int) -> list[int]:
    """The states on a random walk; each is new when its mask is asked for."""
    draw = random.Random(seed)
    states: list[int] = []
    state: int | None = machine.start
    while state is not None and state >= 0 and len(states) < steps:
        states.append(state)
        allowed = np.flatnonzero(machine.allowed(state))
        state = machine.step(state, int(allowed[draw.randrange(len(allowed))]))
    return list(dict.fromkeys(states))


CONSTRAINTS = {
    **{name: explorer.regex(pattern) for name, pattern in PATTERNS.items()},
    **{name: explorer.json_schema(schema) for name, schema in SCHEMAS.items()},
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_masks_are_those_of_the_walk_trie(name: str, tekken_131k: explorer.Vocabulary) -> None:
    machine = explorer.compile(CONSTRAINTS[name], tekken_131k, lazy=True)
    for state in walk(machine, 12, seed=len(name)):
        assert np.array_equal(machine.mask(state), reference(machine, state))


def small_vocabulary(draw: random.Random) -> explorer.Vocabulary:
    """All bytes, and words of few letters, some cut within a character, some not characters."""
    alphabet = ["a", "b", "z", "0", "9", " ", "\n", '"', ".", "\x1f", "é", "Ж", "–", "\u3000", "😀"]
    words = {bytes([byte]) for byte in range(256)}
    for _ in range(400):
        word = "".join(draw.choices(alphabet, k=draw.randint(1, 7))).encode()
        if draw.random() < 0.2:
            word = word[draw.randint(0, 2) : len(word) - draw.randint(0, 2)]
        words.add(word or b"a")
    tokens = [*sorted(words), b"ab", b'"']  # Two ids of one word.
    return explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])


_CLASSES = (
    r"\w",
    r"\S",
    r"[^\n]",
    r"[a-z]",
    r"[^a]",
    r"[\x00-\x7f]",
    r"[^\x00-\x7f]",
    r"[a-z0-9 ]",
)
_COUNTS = ("*", "+", "{0,3}", "{2,6}", "{1,40}", "{0,17}")


def random_pattern(draw: random.Random) -> str:
    """Wide classes with counts, one after the other and side by side."""

    def part() -> str:
        ends = draw.choice(["", "", r"\.", "\n", '"', " ", "a", "ab0"])
        return draw.choice(_CLASSES) + draw.choice(_COUNTS) + ends

    options = ["".join(part() for _ in range(draw.randint(1, 3))) for _ in range(2)]
    whole = f"(?:{'|'.join(options[: draw.randint(1, 2)])})"
    return whole + draw.choice(["", "", "{1,3}", "+"]) + draw.choice(["", r"\.", "ab"])


def stepped(vocabulary: explorer.Vocabulary, bytes_of: ByteMachine, text: bytes) -> list[bool]:
    """The tokens that may follow a text, each tried byte by byte."""
    here = bytes_of.start
    for byte in text:
        here = bytes_of.step(here, byte)
    found: list[bool] = []
    for data in vocabulary.tokens:
        there = here
        for byte in data or b"":
            there = bytes_of.step(there, byte)
        found.append(there >= 0 if data is not None else bytes_of.is_accepting(here))
    return found


def named_pattern(draw: random.Random) -> str:
    """Many beginnings that each lead elsewhere, beside a wide class: some fail, some go on."""
    words = ["".join(draw.choices("abz09 .é", k=draw.randint(1, 3))) for _ in range(14)]
    named = [each + draw.choice(["", "x", r"\d", ".*", "[ab]{0,9}"]) for each in words]
    wide = draw.choice([r"[^\n]", r"[^\x00-\x1f]", r"[a-z0-9 .]", r"[^ab]"])
    first = draw.choice(["", "[a-zé ]", "[^09]", "[.b-y]"])
    return f"(?:{'|'.join([*named, first + wide + '*'])})" + draw.choice(["", "!", "z"])


def check_small(seed: int, pattern: Callable[[random.Random], str]) -> LazyMachine:
    draw = random.Random(seed)
    vocabulary = small_vocabulary(draw)
    constraint = explorer.regex(pattern(draw))
    machine = explorer.compile(constraint, vocabulary, lazy=True)
    bytes_of = constraint.discover(Meter())
    state, text = machine.start, b""
    for _ in range(6):
        allowed = machine.allowed(state)
        assert allowed.tolist() == stepped(vocabulary, bytes_of, text), (seed, text)
        token = draw.choice(np.flatnonzero(allowed).tolist())
        following = machine.step(state, token)
        if following is None or following < 0:
            break
        state, text = following, text + (vocabulary.tokens[token] or b"")
    return machine


@pytest.mark.parametrize("seed", few(range(1000), 40))
def test_small_vocabularies_token_by_token(seed: int) -> None:
    check_small(seed, random_pattern)


def test_letters_that_are_presumed_are_taken_back() -> None:
    """A state before many different ones takes the letters of the most met, and checks them."""
    machines = [check_small(seed, named_pattern) for seed in range(60)]
    presuming = [machine._words.known[0, KNOWN] >= PRESUMES for machine in machines]
    assert sum(presuming) > len(machines) // 4


@pytest.mark.parametrize("change", ["one letter more", "one more", "not sharp", "sharp"])
def test_what_is_known_of_a_state_decides(change: str, tekken_131k: explorer.Vocabulary) -> None:
    """A false answer about the letters is a false mask, which the comparison above sees."""
    pattern = r'"[^"]{0,4}"' if change != "sharp" else r'"[^"]{0,4}[a-z]{0,9}"'
    machine = explorer.compile(explorer.regex(pattern), tekken_131k, lazy=True)
    state = after(machine, b'"')
    right = machine.mask(state)
    assert np.array_equal(right, reference(machine, state))
    row = machine._words.known[machine._places[state]]
    if change == "one letter more":
        row[0] |= np.uint64(1 << ord('"'))
    elif change == "one more":
        row[REACH] += np.uint64(2)
    elif change == "not sharp":
        row[REACH] &= ~np.uint64(1)
    else:
        row[REACH] |= np.uint64(1)
    machine._masks = Kept()
    same = np.array_equal(machine.mask(state), right)
    assert same == (change == "not sharp")  # Only slower.


def test_letters_are_not_looked_for_without_end(tekken_131k: explorer.Vocabulary) -> None:
    """More states than are looked at: the state presumes the letters of the most frequent one."""
    names = [f"{a}{b}{c}" for a in "abcdefgh" for b in "ijklmnop" for c in "qrstuvwx"]
    schema = {"type": "object", "properties": {name: {"type": "null"} for name in names},
              "additionalProperties": {"type": "null"}}  # fmt: skip
    machine = explorer.compile(explorer.json_schema(schema), tekken_131k, lazy=True)
    state = after(machine, b'{"')
    letters, reach, _ = letters_of(machine, state)
    assert len(names) > MOST_STATES and letters in ("", without('"\\\x00\t\n\r')) and reach >= 0
    assert np.array_equal(machine.mask(state), reference(machine, state))


def test_a_machine_of_bytes_that_are_no_characters() -> None:
    """A state that reads the first byte of a character, stays, and does not read the others."""
    # From 0xF8 on a byte is of no text: it begins the name of a control token.
    read = [byte for byte in range(0x20, 0xF8) if byte not in b'"\\' and not 0x80 <= byte < 0xC0]
    table = np.full((1, 2), -1, np.int32)
    table[0, 0] = 0
    classes = np.ones(256, np.int32)
    classes[read] = 0
    tokens = [*(bytes([byte]) for byte in range(256)), "ä".encode(), b"ab", b"\xc3\xc3", b"a\xc3"]
    vocab = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    constraint = explorer.regex("a")
    report = explorer.compile(constraint, vocab, lazy=True).report
    dfa = Dfa(classes, table, np.ones(1, np.bool_), 0)
    lazy = LazyMachine(constraint, vocab, dfa, report, explorer.Budget())
    allowed = lazy.allowed(lazy.start)[: len(tokens)].tolist()
    assert allowed == [set(token) <= set(read) for token in tokens]
