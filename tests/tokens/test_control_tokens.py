"""Control tokens as letters: brute force over small vocabularies, and one machine however made.

The oracle knows nothing of letters: a token that is not text becomes a character of its own in a
private area, text tokens stay what they are, and Python's `re` reads the result.
"""

from __future__ import annotations

import pickle
import random
import re
from importlib.util import find_spec
from itertools import product

import pytest

import explorer
from explorer import Constraint, Vocabulary, any_text, any_tokens, literal, regex, terminals, token
from explorer.automata.token_marks import ANY_ID, marks_from
from explorer.errors import ExplorerError
from explorer.tokens.machine import TokenMachine

NAMES = {4: "<think>", 5: "</think>", 6: "<a>", 7: "</s>"}
TOKENS = (b"a", b"b", b"<a>", b"a<", None, None, None, None, b">", b"\xf8", b"\xf8<a>", b"<", None)
SMALL = Vocabulary(TOKENS, (7,), special=NAMES)
PRIVATE = {4: "\ue004", 5: "\ue005", 6: "\ue006", 12: "\ue00c"}
ANY_PRIVATE = "".join(PRIVATE.values())

CASES: dict[str, tuple[Constraint, str]] = {
    "one": (token("<a>"), "\ue006"),
    "id": (token(12), "\ue00c"),
    "by id and by name": (token(6) | token("<a>"), "\ue006"),
    "text that looks the same": (token("<a>") + literal("<a>"), "\ue006<a>"),
    "in turn": (
        token("<think>") + regex("[ab]*") + token("</think>") + regex("a+"), "\ue004[ab]*\ue005a+",
    ),
    "repeated": ((token("<a>") + regex("a?")).plus() + literal("b"), "(?:\ue006a?)+b"),
    "any": (any_tokens(), f"[ab<>{ANY_PRIVATE}]*"),
    "any but": (
        any_tokens(excluding=["</think>", 12]) + token("</think>"), "[ab<>\ue004\ue006]*\ue005",
    ),
    "any text, then one": (any_text() + token(12), "[ab<>]*\ue00c"),
    "text without": (
        any_text(excluding=["<a>"]) + token("</think>"), "(?:(?!<a>)[ab<>])*\ue005",
    ),
    "text until": (explorer.text_until("<a>") + token("<a>"), "(?:(?!<a>)[ab<>])*<a>\ue006"),
    "both": ((token("<a>") | token("<think>")) & (token("<a>") | regex("a")), "\ue006"),
    "without": (any_tokens() - (any_tokens() + token("<a>") + any_tokens()),
                "[ab<>\ue004\ue005\ue00c]*"),
    "complement is text": (~literal("a") & regex("[ab]{1,2}"), "(?!a$)[ab]{1,2}"),
    "grammar": (
        token("<a>") + explorer.grammar('root ::= "a" root "b" | "<"'), "\ue006(?:a{K}<b{K})",
    ),
    "schema": (
        token("<think>") + literal("<") + explorer.choice(["a", "ab"]) + token("</think>"),
        "\ue004<ab?\ue005",
    ),
}  # fmt: skip


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern has a text; ``{K}`` stands for one number in all its places."""
    if "{K}" in pattern:
        return any(re.fullmatch(pattern.replace("{K}", f"{{{k}}}"), text) for k in range(4))
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def text_of(ids: tuple[int, ...]) -> str:
    return "".join(PRIVATE.get(k) or (TOKENS[k] or b"").decode() for k in ids)


SEQUENCES = [
    ids for n in range(4) for ids in product([0, 1, 2, 3, 4, 5, 6, 8, 11, 12], repeat=n)
]  # fmt: skip


def state_after(machine: TokenMachine, ids: tuple[int, ...]) -> int | None:
    state: int | None = machine.start
    for k in ids:
        state = None if state is None else machine.step(state, k)
    return state


def machines(constraint: Constraint, vocabulary: Vocabulary) -> list[TokenMachine]:
    lazy = explorer.compile(constraint, vocabulary, lazy=True)
    made: list[TokenMachine] = [lazy, pickle.loads(pickle.dumps(lazy))]
    try:
        made.append(explorer.compile(constraint, vocabulary, lazy=False))
        if find_spec("pynini") is not None:
            made.append(explorer.compile(constraint, vocabulary, method="pynini"))
    except ExplorerError as error:
        assert "stack" in error.message or "recurs" in error.message, error
    return made


@pytest.mark.parametrize("case", CASES)
def test_the_words_are_those_of_the_oracle(case: str) -> None:
    constraint, pattern = CASES[case]
    for machine in machines(constraint, SMALL):
        for ids in SEQUENCES:
            state = state_after(machine, ids)
            is_word = state is not None and machine.is_final(state)
            assert is_word == matches(pattern, text_of(ids)), (machine, ids)
            assert constraint.accepts(SMALL.written(ids)) == is_word


@pytest.mark.parametrize("case", CASES)
def test_a_token_is_allowed_exactly_if_some_word_goes_on_so(case: str) -> None:
    constraint, _ = CASES[case]
    words = {ids for ids in SEQUENCES if constraint.accepts(SMALL.written(ids))}
    begins = {word[:k] for word in words for k in range(len(word) + 1)}
    for machine in machines(constraint, SMALL):
        for ids in (ids for ids in begins if len(ids) < 3):
            state = state_after(machine, ids)
            assert state is not None
            allowed = set(machine.allowed(state).nonzero()[0].tolist())
            assert {k for k in range(13) if (*ids, k) in begins} <= allowed
            assert (7 in allowed) == (ids in words)
            assert allowed == {k for k in range(13) if machine.step(state, k) is not None}
            assert not allowed & {9, 10}  # Their first byte is that of letters.


def test_equal_vocabularies_may_name_their_control_tokens_differently() -> None:
    tokens = (b"a", b"b", None, None, None)
    one = Vocabulary(tokens, (4,), special={2: "<t>", 3: "<u>"})
    other = Vocabulary(tokens, (4,), special={2: "<u>", 3: "<t>"})
    assert one == other
    constraint = token("<t>") + explorer.literal("a")
    for lazy in (False, True):
        for vocabulary, wanted in ((one, 2), (other, 3)):
            machine = explorer.compile(constraint, vocabulary, lazy=lazy)
            assert machine.allowed(machine.start).nonzero()[0].tolist() == [wanted]
    for vocabulary, wanted in ((one, 2), (other, 3)):
        session = explorer.Session.from_ids(vocabulary, constraint, [wanted, 0, 4])
        assert session.length == 3 and session.rejection is None


def test_all_bytes_at_hand_or_not_the_masks_are_the_same() -> None:
    rest = [bytes([k]) for k in range(256)]
    whole = Vocabulary((*rest, None, None, None), (258,), special={256: "<t>", 257: "<u>"})
    constraint = token("<t>") + regex("[^<]*") + token("<u>") + explorer.json_schema(
        {"type": "object", "properties": {"a": {"type": "integer"}}}, free_depth=3
    )  # fmt: skip
    lazy = explorer.compile(constraint, whole, lazy=True)
    table = explorer.compile(constraint, whole, lazy=False)
    ways, generator = 0, random.Random(0)
    for _ in range(30):
        here, there = lazy.start, table.start
        for _ in range(40):
            allowed = lazy.allowed(here)
            assert allowed.tolist() == table.allowed(there).tolist()
            assert not allowed[0xF8:256].any()
            choices = [k for k in allowed.nonzero()[0].tolist() if k != 258]
            if not choices:
                break
            k = generator.choice(
                [
                    *choices,
                    *(c for c in choices if c > 255),
                    *[c for c in choices if chr(c) in '"a:{}'] * 20,
                ]
            )
            here, there = lazy.step(here, k) or 0, table.step(there, k) or 0
            ways += 1
    assert ways > 300


def text_only(ids: tuple[int, ...], most: int) -> bool:
    return len(ids) <= most and not set(ids) & set(PRIVATE)


def test_with_pieces_over_tokens() -> None:
    constraint = token("<a>") + terminals.text_token() + token("</think>")
    machine = explorer.compile(constraint, SMALL)
    words = [ids for ids in SEQUENCES if (state := state_after(machine, ids)) is not None
             and machine.is_final(state)]  # fmt: skip
    assert words == [(6, k, 5) for k in (0, 1, 2, 3, 8, 11)]
    limited = explorer.template(
        "{t}{x}{u}", t=token("<a>"), x=explorer.gen(regex="[ab<>]*", max_tokens=2),
        u=token("</think>"),
    )  # fmt: skip
    around = [(6, *ids, 5) for ids in SEQUENCES]
    for lazy in (True, False):
        machine = explorer.compile(limited, SMALL, lazy=lazy)
        words = [ids for ids in around if (state := state_after(machine, ids)) is not None
                 and machine.is_final(state)]  # fmt: skip
        assert sorted(words) == sorted(ids for ids in around if text_only(ids[1:-1], 2))


def test_a_name_of_two_ids_is_either() -> None:
    twice = Vocabulary((b"a", None, None, None), (3,), special={1: "<x>", 2: "<x>"})
    machine = explorer.compile(token("<x>"), twice)
    assert machine.allowed(machine.start).tolist() == [False, True, True, False]


def test_arcs_bear_the_names_of_control_tokens() -> None:
    machine = (token("<a>") | token("<b>") | token(7) | regex("x")).dfa
    assert [name for name, _ in marks_from(machine, machine.start)] == ["<a>, <b>, token 7"]
    free = (any_tokens(excluding=["<a>"]) + token("<a>")).dfa
    marks = dict(marks_from(free, free.start))
    assert marks[ANY_ID] == free.start
    assert free.is_accepting(marks["<a>"])


def test_a_session_steps_through_control_tokens() -> None:
    constraint = token("<think>") + regex("[ab]+") + token("</think>") + literal("<a>")
    session = explorer.Session.from_ids(SMALL, constraint, [4, 0, 1, 5, 2, 7])
    assert session.trace.text == "ab<a>"
    assert [step.token for step in session.trace.steps] == [4, 0, 1, 5, 2, 7]
    session.jump(4)
    reason = session.explain("b")
    assert "after …</think>" in reason.message
    assert "'<a>'" in reason.message or "<" in reason.message
    session.back()
    session.back()
    assert session.explain(5).allowed
    assert session.explain(6).stage == "not_text"
