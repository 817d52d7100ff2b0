"""Traps, grouped and in loops."""

from __future__ import annotations

import json
import time
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer import Session, Vocabulary
from explorer.analysis.traps import (
    Trap,
    grouped_traps,
    machine_traps,
    prompt_traps,
    run_loops,
    session_traps,
)
from explorer.analysis.traps.of_machine import _components
from explorer.budget import Meter
from explorer.decoding.models.embedded import EMBEDDED
from explorer.errors import BudgetExceeded
from explorer.tokens.lazy import LazyMachine
from tests.analysis.table_model import Rule, TableModel
from tests.evidence import calls_of, examples

# Every trap is found where it is set, and not beside it.


VOCABULARY = explorer.Vocabulary.from_bytes(
    [b" ", b"\n", b"x", b"{", b"}", b"1", b" x", b"\xc3", b"\xa4", "ö".encode()], eos_ids=[10]
)


def found(constraint: explorer.Constraint, vocabulary: explorer.Vocabulary) -> list[Trap]:
    traps = list(machine_traps(explorer.compile(constraint, vocabulary)))
    assert all(json.dumps(trap.to_dict(), default=repr) and str(trap) for trap in traps)
    return traps


def kinds(pattern: str) -> list[str]:
    return [trap.kind for trap in found(explorer.regex(pattern), VOCABULARY)]


def test_a_loop_of_white_space_is_not_one_of_text() -> None:
    assert kinds(r"\{\s*1\}") == ["whitespace_loop"]
    assert kinds(r"\{[ \n]{0,3}1\}") == []
    assert kinds(r"\{[ x]*1\}") == ["endless"]
    assert kinds("x+") == ["endless"]
    assert kinds("x{1,9}") == []


def test_a_loop_that_allows_nothing_else_is_said_to() -> None:
    blind = explorer.Vocabulary.from_bytes([b" ", b"{", b"  1"], eos_ids=[3])
    (trap,) = found(explorer.regex(r"\{ *1?"), blind)
    assert trap.evidence["only_whitespace"] is False
    share = trap.evidence["share_of_mask"]
    assert isinstance(share, float) and 0 < share < 1
    (trap,) = found(explorer.regex(r" *1"), blind)
    assert trap.kind == "whitespace_loop" and trap.state is not None
    assert "may be written for ever" in trap.message


def test_an_endless_text_may_or_may_not_end() -> None:
    (trap,) = found(explorer.regex("x+"), VOCABULARY)
    assert trap.evidence["may_end"] is True
    (trap,) = found(explorer.regex("x+1"), VOCABULARY)
    assert trap.evidence["may_end"] is False


def test_a_character_in_parts() -> None:
    (trap,) = found(explorer.regex("[äö]"), VOCABULARY)
    assert trap.kind == "byte_by_byte" and trap.evidence["character"] == "ä"
    assert found(explorer.regex("ö"), VOCABULARY) == []
    assert [trap.kind for trap in found(explorer.regex("x.?"), VOCABULARY)] == []


def test_choices_with_one_first_token(tekken_131k: explorer.Vocabulary) -> None:
    texts = ["New York", "New Delhi", "Boston"]
    first = {text: (tekken_131k.encode(text) or (-1,))[0] for text in texts}
    traps = found(explorer.choice(texts), tekken_131k)
    shared = [trap for trap in traps if trap.kind == "shared_first_token"]
    assert first["New York"] == first["New Delhi"]
    assert [trap.evidence["texts"] for trap in shared] == [("New York", "New Delhi")]
    assert found(explorer.choice(["yes", "no"]), tekken_131k) == []


def test_a_prompt_that_ends_in_a_space() -> None:
    assert [trap.kind for trap in prompt_traps(VOCABULARY, "go ")] == ["prompt_boundary"]
    for prompt in ("go", "", None, "go\n"):
        assert prompt_traps(VOCABULARY, prompt) == ()
    alone = explorer.Vocabulary.from_bytes([b" ", b"x"], eos_ids=[2])
    assert prompt_traps(alone, "go ") == ()


def run(pattern: str, rule: Rule, prompt: str = "", tokens: int = 12) -> list[Trap]:
    session = explorer.Session(
        TableModel(VOCABULARY, rule), explorer.regex(pattern), prompt, max_tokens=tokens
    )
    session.run()
    dfa = session.machine
    return list(session_traps(dfa, session.trace))


def test_a_tiny_mass_for_several_steps() -> None:
    traps = run("1{5}", lambda _: {"x": 0.999})
    assert [trap.kind for trap in traps] == ["tiny_mass"]
    assert traps[0].position == 0 and "For 6 steps" in traps[0].message
    assert run("1{5}", lambda _: {"x": 0.5, "1": 0.2, "": 0.2}) == []
    # Two steps are no run.
    assert (
        run("1{5}", lambda text: {"x": 0.999} if len(text) in (1, 2) else {"1": 0.2, "": 0.3}) == []
    )


def test_a_token_liked_for_another_reason() -> None:
    def rule(text: str) -> dict[str, float]:
        return {"{": 0.9} if not text else {"}": 0.98, "1": 0.01} if text == "{" else {"": 0.9}

    (trap,) = run(r"\{1|x", rule)
    assert (trap.kind, trap.position) == ("greedy_trap", 0)
    assert trap.evidence["wished"] == 4
    assert run(r"\{[1}]|x", rule) == []

    # The own continuation is masked, though the mask leaves a third of the probability.
    def less(text: str) -> dict[str, float]:
        return {"{": 0.9} if not text else {"}": 0.6, "1": 0.35} if text == "{" else {"": 0.9}

    assert [trap.kind for trap in run(r"\{1|x", less)] == ["greedy_trap"]
    # Every text begins so: nothing else could have been chosen.
    assert run(r"\{1", rule) == []
    # It wants to end, which is no reason for the token before.
    assert (
        run(r"\{1|x", lambda text: {"{": 0.9} if not text else {"": 0.98, "1": 0.01, "x": 0.001})
        == []
    )


def test_complete_texts_that_never_end() -> None:
    (trap,) = run("x+", lambda _: {"x": 0.999})
    assert trap.kind == "unlikely_end"
    assert run("x+", lambda _: {"x": 0.9, "": 0.05}) == []
    assert run("x{8}", lambda text: {"x": 0.999} if len(text) < 8 else {"": 0.9}) == []


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_constraint_that_fits_its_prompt_raises_no_alarm(temperature: float) -> None:
    model = explorer.load_model("tiny")
    for prompt, pattern in (
        ("The capital of France is", r" (Paris|London|Rome)\."),
        ("The capital of France is", r" [A-Z][a-z]{2,8}(\.|,)"),
        ("The capital of Italy is", r" [A-Z][a-z]{1,12}\."),
    ):
        run = explorer.Session(
            model, explorer.regex(pattern), prompt,
            sampler=explorer.Sampler(temperature=temperature), seed=1, max_tokens=20,
        )  # fmt: skip
        run.run()
        assert session_traps(run.machine, run.trace) == ()
        assert machine_traps(run.machine) == ()


@given(st.lists(st.lists(st.integers(0, 6), max_size=3), min_size=7, max_size=7))
@settings(max_examples=examples(80))
def test_components_equal_mutual_reachability(edges: list[list[int]]) -> None:
    reach = [set(targets) for targets in edges]
    for _ in edges:
        reach = [found.union(*(reach[t] for t in found)) if found else found for found in reach]
    wanted = {
        tuple(sorted(b for b in range(7) if b in reach[a] and a in reach[b]))
        for a in range(7)
        if a in reach[a]
    }
    assert {tuple(members) for members in _components(edges)} == wanted


def test_a_choice_is_one_however_it_is_written(tekken_131k: explorer.Vocabulary) -> None:
    def shared(pattern: str) -> list[object]:
        return [
            trap.evidence["texts"]
            for trap in found(explorer.regex(pattern), tekken_131k)
            if trap.kind == "shared_first_token"
        ]

    # The shortest first.
    assert shared("(New Delhi|New York|Boston)") == [("New York", "New Delhi")]
    assert shared("New( York)?") == []  # One text that may go on is no choice.
    assert shared("New [A-Z]{3}") == []  # Too many words to be looked at.
    assert shared("New.*") == []


class SlowTokenizer(explorer.Vocabulary):
    """A tokenizer that takes a moment for each text."""

    waits: ClassVar[list[None]] = []

    def encode(self, text: str) -> tuple[int, ...] | None:
        self.waits.append(time.sleep(MOMENT))
        return super().encode(text)


class SlowMachine(LazyMachine):
    """A machine that takes a moment for each mask."""

    waits: ClassVar[list[None]] = []

    def allowed(self, state: int) -> np.ndarray:
        self.waits.append(time.sleep(MOMENT))
        return super().allowed(state)


MOMENT = 0.1


@pytest.mark.parametrize(
    ("slow", "constraint"),
    [
        # Masks of a loop of white space, masks along a way of characters, a tokenizer that encodes.
        (SlowMachine, explorer.regex("( {40})*x")),
        (SlowMachine, explorer.regex("[äö]{40}")),
        (SlowTokenizer, explorer.choice([f"x{k}" for k in range(40)])),
    ],
)
def test_no_search_goes_on_after_its_time(
    slow: type[SlowMachine | SlowTokenizer], constraint: explorer.Constraint
) -> None:
    """Each mask or each text takes a moment, of which three are more than there is time for."""
    kind = SlowTokenizer if slow is SlowTokenizer else explorer.Vocabulary
    vocabulary = kind((*(bytes([b]) for b in range(256)), None), (256,))
    machine: LazyMachine = explorer.compile(constraint, vocabulary, lazy=True)
    if slow is SlowMachine:
        machine = SlowMachine(
            constraint, vocabulary, constraint.dfa, machine.report, explorer.Budget()
        )
    for text in (b" " * 40, "ä".encode() * 39):
        state: int | None = machine.start
        for byte in text:
            state = machine.step(state, byte) if state is not None else None
    slow.waits.clear()
    with pytest.raises(BudgetExceeded, match=r"limit is 0\.25"):
        machine_traps(machine, budget=explorer.Budget(seconds=2.5 * MOMENT))
    assert 1 <= len(slow.waits) <= 3


def test_a_search_in_large_pieces_looks_at_its_clock() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"z", b"az"], eos_ids=[3])
    machine = explorer.compile(explorer.regex("[a-z]{0,100000}"), vocabulary, lazy=True)
    assert calls_of(lambda: machine_traps(machine), Meter.check_time) > 2


# Traps by what ends them: each remedy, once followed, ends the traps of its group.


LETTERS = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(128)], eos_ids=[128])


def traps_of(constraint: explorer.Constraint) -> tuple[Trap, ...]:
    """The grouped loops of a constraint."""
    traps = grouped_traps(machine_traps(explorer.compile(constraint, LETTERS)))
    return tuple(trap for trap in traps if trap.kind in ("endless", "whitespace_loop"))


def closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": list(properties),
        "additionalProperties": False,
    }  # fmt: skip


TEXT: dict[str, Any] = {"type": "string"}
BOUNDED: dict[str, Any] = {"type": "string", "maxLength": 3}


@pytest.mark.parametrize(
    ("schema", "keyword", "places", "mended"),
    [
        (closed(a=TEXT, b=TEXT), "maxLength", ("a", "b"), closed(a=BOUNDED, b=BOUNDED)),
        (
            closed(a=closed(b=TEXT), c=TEXT),
            "maxLength",
            ("a.b", "c"),
            closed(a=closed(b=BOUNDED), c=BOUNDED),
        ),
        (
            closed(a={"type": "array", "items": BOUNDED}),
            "maxItems",
            "a",
            closed(a={"type": "array", "items": BOUNDED, "maxItems": 2}),
        ),
        (
            closed(a={"type": "array", "items": closed(b=BOUNDED)}),
            "maxItems",
            "a",
            closed(a={"type": "array", "items": closed(b=BOUNDED), "maxItems": 2}),
        ),
        (
            closed(a={"type": "array", "items": TEXT}),
            "maxItems",
            "a",
            closed(a={"type": "array", "items": BOUNDED, "maxItems": 2}),
        ),
        (
            closed(a={"type": "object", "additionalProperties": {"type": "boolean"}}),
            "maxProperties",
            "a",
            closed(a={"type": "object", "additionalProperties": False}),
        ),
    ],
)
def test_a_schema_is_told_its_keyword_and_the_keyword_ends_it(
    schema: dict[str, Any], keyword: str, places: object, mended: dict[str, Any]
) -> None:
    (trap,) = traps_of(explorer.json_schema(json.dumps(schema)))
    assert f'"{keyword}"' in trap.remedy
    assert trap.evidence.get("places", trap.evidence["where"]) in (places, *places, tuple(places))  # type: ignore[misc]
    assert traps_of(explorer.json_schema(json.dumps(mended))) == ()


def test_digits_are_told_their_keywords_and_what_no_keyword_ends() -> None:
    (trap,) = traps_of(explorer.json_schema(closed(a={"type": "number"}, b={"type": "number"})))
    assert '"minimum"' in trap.remedy and "max_tokens" in trap.remedy
    assert trap.evidence["places"] == ("a", "b")


def test_white_space_is_one_trap() -> None:
    (trap,) = traps_of(explorer.json_schema(closed(a={"type": "boolean"}), whitespace="flexible"))
    assert 'whitespace="compact"' in trap.remedy and "This holds in" in trap.message
    assert traps_of(explorer.json_schema(closed(a={"type": "boolean"}))) == ()


def test_a_pattern_is_told_its_bounds_and_a_grammar_its_rules() -> None:
    (trap,) = traps_of(explorer.regex("[a-z]+-[0-9]*"))
    assert "{1,40}" in trap.remedy and trap.evidence["places"] == ("[a-z]", "[0-9]")
    assert traps_of(explorer.regex("[a-z]{1,40}-[0-9]{0,40}")) == ()
    (trap,) = traps_of(explorer.grammar('root ::= "-" num "." num\nnum ::= [0-9]+\n'))
    assert "num" in trap.message or "root" in trap.message


def test_a_group_of_one_is_that_trap_and_a_group_holds_all_states() -> None:
    machine = explorer.compile(explorer.json_schema(closed(a=TEXT, b=TEXT)), LETTERS)
    traps = machine_traps(machine)
    assert len(traps) == 2 and grouped_traps(traps[:1]) == traps[:1]
    (both,) = grouped_traps(traps)
    states = [set(trap.evidence["states"]) for trap in traps]  # type: ignore[call-overload]
    assert set(both.evidence["states"]) == states[0] | states[1]  # type: ignore[call-overload]
    assert both.evidence["traps"] == 2
    # Traps at two positions of a run stay two.
    apart = [Trap("greedy_trap", "m", "r", position=k) for k in (0, 3)]
    assert grouped_traps(apart) == tuple(apart)


# The loop in which a run stopped: where it began, what it is, and that the setting ends it.


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "n": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "n", "tags"],
    "additionalProperties": False,
}


@cache
def vocabulary() -> Vocabulary:
    return Vocabulary.from_file(EMBEDDED["tiny"])


def read(constraint: explorer.Constraint, text: str, *, lazy: bool = False) -> Session:
    machine = explorer.compile(constraint, vocabulary(), lazy=lazy)
    session = Session.from_ids(vocabulary(), machine, vocabulary().encode(text) or ())
    assert session.text == text, session.rejection
    return session


def loops(session: Session) -> list[Trap]:
    return list(run_loops(session.machine, session.ids, states(session)))


def states(session: Session) -> list[int]:
    return [position.state for position in session.trace.positions]


def schema(**changes: Any) -> explorer.Constraint:
    properties = {**SCHEMA["properties"], **changes}
    return explorer.json_schema({**SCHEMA, "properties": properties}, whitespace="flexible")


CASES = [
    ('{"name": "Ada",', " " * 200, "space", 15),
    ('{"name": "Ada",', "\n\t " * 20, "space", 15),
    ('{"name": "Ada", "n": 0.', "3" * 60, "number", 23),
    ('{"name": ', '"' + "la la " * 40, "string", 9),
    ('{"name": ', '"Ada' + " " * 200, "string", 9),
    ('{"name": "Ada", "n": 1, "tags": ', '["a"' + ', "b"' * 60, "array", 32),
]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(("before", "loop", "what", "begin"), CASES)
def test_a_loop_is_named_where_it_began(
    before: str, loop: str, what: str, begin: int, lazy: bool
) -> None:
    session = read(schema(), before + loop, lazy=lazy)
    (trap,) = loops(session)
    assert (trap.evidence["what"], trap.evidence["byte"]) == (what, begin)
    assert trap.evidence["bytes"] == len(before + loop) - begin
    assert trap.position is not None
    offset = len(session.trace.positions[trap.position].data)
    after = len(session.trace.positions[trap.position + 1].data)
    assert offset <= begin < after, "the token that holds the first byte of the loop"
    assert f"From byte {begin} on" in trap.message and repr(before[-8:])[1:-1] in trap.message
    assert session.traps()[0] == trap, "the first trap is where this run was"


@pytest.mark.parametrize(
    ("before", "loop", "changes", "needle"),
    [
        ('{"name": ', '"' + "la" * 90, {"name": {"type": "string", "maxLength": 400}}, "maxLength"),
        ('{"name": "A", "n": 1, "tags": ', '["a"' + ', "b"' * 60,
         {"tags": {"type": "array", "items": {"type": "string"}, "maxItems": 90}}, "maxItems"),
    ],
)  # fmt: skip
def test_the_setting_that_is_named_ends_the_loop(
    before: str, loop: str, changes: dict[str, Any], needle: str
) -> None:
    (trap,) = loops(read(schema(), before + loop))
    assert needle in trap.remedy
    assert loops(read(schema(**changes), before + loop)) == []


def test_a_number_with_bounds_ends_by_itself() -> None:
    text = '{"name": "A", "n": ' + "1" * 40
    (trap,) = loops(read(schema(), text))
    assert '"minimum"' in trap.remedy and '"integer"' not in trap.remedy
    bounded = schema(n={"type": "integer", "minimum": 0, "maximum": 99})
    assert not bounded.accepts(text + ', "tags": []}')
    assert bounded.accepts('{"name": "A", "n": 11, "tags": []}')


@pytest.mark.parametrize("bounds", [{}, {"minimum": 0, "maximum": 1}, {"multipleOf": 0.01}])
def test_no_keyword_is_promised_for_the_digits_after_a_point(bounds: dict[str, Any]) -> None:
    text = '{"name": "A", "n": 0.' + "0" * 60
    (trap,) = loops(read(schema(n={"type": "number", **bounds}), text))
    assert "No keyword ends the digits" in trap.remedy and "max_tokens" in trap.remedy


@pytest.mark.parametrize(
    ("pattern", "text", "begin"),
    [
        ("(ab)+c", "ab" * 150, 0),
        ("x(ab)+c", "x" + "ab" * 150, 1),
        ("xyab(ab)+c", "xy" + "ab" * 150, 4),
        ("a+c", "a" * 150, 0),
        ("[ab]+c", "b" + "a" * 3 + "ba" * 100, 0),
        ("(abc|abd)+e", "abdabc" * 50, 0),
        ("b(ab)*c", "b" + "ab" * 100, 0),
        ("y{3}(ab)+c", "yyy" + "ab" * 100, 3),
    ],
)
def test_the_first_time_round_is_of_the_loop(pattern: str, text: str, begin: int) -> None:
    (trap,) = loops(read(explorer.regex(pattern), text))
    assert trap.evidence["byte"] == begin and f"From byte {begin} on" in trap.message
    assert ("after" in trap.message) == (begin > 0)


def test_the_remedy_for_white_space_is_true_of_any_pattern() -> None:
    text = "hello" + " " * 50
    (trap,) = loops(read(explorer.regex("(?s).*"), text))
    assert "\\s" not in trap.remedy
    assert loops(read(explorer.regex("(?s).{0,200}"), text)) == []


@pytest.mark.parametrize(
    ("pattern", "text", "what"),
    [
        (r"\{\s*1\}", "{" + " " * 40, "space"),
        ("[0-9]+x", "1" * 40, "number"),
        ("(ab)+c", "ab" * 100, "repeat"),
        (r"\{ {0,60}1\}", "{" + " " * 40, None),
        ("(ab){1,200}c", "ab" * 100, None),
        ("[0-9]{1,90}x", "1" * 40, None),
        (r"\{\s*1\}", "{" + " " * 8, None),
        ("(ab)+c", "ab" * 100 + "c", None),
    ],
)
def test_a_loop_of_a_pattern_is_one_that_nothing_counts(
    pattern: str, text: str, what: str | None
) -> None:
    found = loops(read(explorer.regex(pattern), text))
    assert [trap.evidence["what"] for trap in found] == ([] if what is None else [what])
    assert all("{" in trap.remedy for trap in found), "the bound of a pattern"


def test_a_text_that_has_ended_is_in_no_loop() -> None:
    text = "1" * 40
    session = read(explorer.regex("[0-9]+"), text)
    (trap,) = loops(session)
    assert trap.evidence["may_end"] and "may also end" in trap.message
    session.step(token=vocabulary().eos_ids[0]) if session.lm else None
    ended = Session.from_ids(
        vocabulary(), explorer.regex("[0-9]+"), [*session.ids, vocabulary().eos_ids[0]]
    )
    assert ended.finished and loops(ended) == []


def test_items_that_are_objects_are_an_array_that_goes_on() -> None:
    constraint = explorer.json_schema(
        {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}},
                                    "required": ["a"], "additionalProperties": False}},
        whitespace="flexible",
    )  # fmt: skip
    (trap,) = loops(read(constraint, "[" + '{"a": 1}, ' * 30 + '{"a"'))
    assert (trap.evidence["what"], trap.evidence["byte"]) == ("array", 0)
    assert "31 items" in trap.message


def test_a_grammar_and_members_without_end() -> None:
    rule = 'root ::= "{" pair ("," pair)* "}"\npair ::= "\\"" [a-z]+ "\\":" [0-9]'
    found = loops(read(explorer.grammar(rule), "{" + '"a":1,' * 40))
    assert [trap.evidence["what"] for trap in found] == ["object"]
