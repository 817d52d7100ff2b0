"""Explanations beside oracles: questions, groups, searches that are stopped or spent."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import explorer
from explorer.analysis.characters.kinds import KINDS, character_kind
from explorer.analysis.explaining.explanation import explain
from explorer.analysis.explaining.groups import MOST_GROUPS, MaskReasons, explain_all
from explorer.analysis.session import Session
from explorer.analysis.traps import machine_traps
from explorer.analysis.verdict.background import WALKED
from explorer.analysis.verdict.verdict import STAGES
from explorer.budget import Budget
from explorer.errors import BudgetExceeded
from explorer.languages.constraint import regex
from explorer.languages.regex.source import Regex
from explorer.languages.written.configuration import Configurations
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DEAD, FREE
from explorer.vocabulary import Vocabulary
from tests.analysis.cases import build, wrongs
from tests.analysis.questions import PAGE, Question, page, questions
from tests.evidence import examples
from tests.patterns import patterns, vocabularies
from widgets.figures.panels.reasons import more_packet

# Every verdict equals the oracle's, and every piece of evidence stands by itself.


def relaxed(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        derandomize=True,
    )


SEEDS = st.integers(0, 1_000_000)


def compare(examples: int) -> Counter[str]:
    """Draw so many patterns, vocabularies and texts, and compare all tokens; what was met."""
    tally: Counter[str] = Counter()

    @given(patterns(leaves=10), vocabularies(), SEEDS)
    @relaxed(examples)
    def equal(pattern: str, tokens: list[bytes | None], seed: int) -> None:
        built = build(pattern, tokens, seed)
        if built is not None:
            assert wrongs(pattern, *built, tally) == []

    equal()
    print(f"\n{dict(tally)}")
    # A filter is not drawn here; `tests/tokens/test_canonical.py` has an oracle of its own.
    for stage in set(STAGES) - {"filtered"}:
        assert tally[stage] > 0
    return tally


def test_verdicts_equal_the_oracle() -> None:
    assert compare(125)["cases"] >= 2_500


@given(patterns(assertions=False))
@relaxed(100)
def test_live_positions_read_exactly_the_expected_bytes(pattern: str) -> None:
    dfa = regex(pattern).dfa
    written = Configurations(Regex(pattern).tree, Budget())
    queue = [(dfa.start, b"")]
    seen = {dfa.start}
    for state, text in queue:
        if state < 0:
            continue
        expected = dfa.expected(state)
        here = written.after(text)
        assert here is not None
        assert here.expected == expected
        assert here.may_end == bool(dfa.accepting[state])
        for byte in expected:
            target = int(dfa.table[state, dfa.symbol_class[byte]])
            if target not in seen and len(queue) < 30:
                seen.add(target)
                queue.append((target, text + bytes([byte])))


# The page of questions is current, and each answer answers its question.


ALL = questions()
FIGURE = re.compile(r"\d+(\.\d+)?(e-\d+)?%|probability of \d+(\.\d+)?(e-\d+)?")


@pytest.mark.parametrize("question", ALL, ids=lambda question: question.title)
def test_an_answer_answers_its_question(question: Question) -> None:
    answer = question.answer()
    for words in question.says:
        assert words in answer
    assert question.advice and question.asked


def test_there_are_thirty() -> None:
    assert len(ALL) >= 30
    assert len({question.title for question in ALL}) == len(ALL)


def test_the_page_is_current() -> None:
    # Probabilities of a model depend on the machine in their last digits: they are not compared.
    kept, made = (FIGURE.sub("#", text) for text in (PAGE.read_text(encoding="utf-8"), page()))
    assert kept == made, "run python -m tests.analysis.questions"


# Every id of a mask at once: equal to one explanation at a time, and adding up.


def adds_up(reasons: MaskReasons, width: int, total: float | None = None) -> None:
    assert sum(group.count for group in reasons.groups) + reasons.num_allowed == width
    assert len(reasons.groups) <= MOST_GROUPS + 1
    counted = np.bincount(reasons.group[reasons.group >= 0], minlength=len(reasons.groups))
    assert counted.tolist() == [group.count for group in reasons.groups]
    if total is not None:
        assert reasons.z is not None
        masses = [group.mass for group in reasons.groups]
        assert sum(mass for mass in masses if mass is not None) + reasons.z == pytest.approx(total)
        named = masses[:MOST_GROUPS]
        assert named == sorted(named, key=lambda mass: -(mass or 0.0))


@given(patterns(leaves=10), vocabularies(), st.integers(0, 10**6))
@settings(max_examples=examples(30))
def test_groups_equal_single_explanations(
    pattern: str, tokens: list[bytes | None], seed: int
) -> None:
    built = build(pattern, tokens, seed)
    if built is None:
        return
    dfa, oracle = built
    width = len(dfa.vocabulary)
    rng = np.random.default_rng(seed)
    states: list[int] = [*range(min(dfa.num_states, 5)), explorer.DONE, DEAD, FREE]
    for state in states:
        weights = rng.dirichlet(np.ones(width + 2))  # Padded logits are wider.
        reasons = explain_all(dfa, state, weights)
        adds_up(reasons, width + 2, 1.0)
        assert np.array_equal(reasons.group[:width] == -1, dfa.allowed(state))
        for token in range(width + 2):
            one = explain(dfa, state, token)
            assert STAGES[reasons.stage[token]] == one.stage, (pattern, state, token)
            offset = -1 if one.byte_offset is None else one.byte_offset
            assert reasons.offset[token] == offset, (pattern, state, token)
            if state >= 0:
                assert one.stage == oracle.stage(one.verdict.prefix, token)
            group = reasons.group[token]
            if group >= 0 and reasons.groups[group].stage is not None:
                assert reasons.groups[group].stage == one.stage
                if one.stage == "constraint" and state >= 0 and one.verdict.expected_chars.ranges:
                    said = reasons.groups[group].expected.split(": ", 1)[-1]
                    assert said in one.message or one.verdict.mid_character, (pattern, token)


def lettered(draw: random.Random) -> explorer.Constraint:
    """Control tokens among texts, joined at random."""
    parts = [
        explorer.token("<t>"), explorer.token("</t>"), explorer.any_tokens(excluding=["<t>"]),
        *map(explorer.regex, ("[0-9]+", "a?", "ab|7", "ä")),
    ]  # fmt: skip
    whole = draw.choice(parts)
    for _ in range(draw.randrange(4)):
        other = draw.choice(parts)
        whole = draw.choice([whole + other, other + whole, whole | other, whole.star() + other])
    return whole


@given(st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_groups_equal_single_explanations_where_control_tokens_are_words(
    draw: random.Random, lazy: bool
) -> None:
    texts = draw.sample([b"a", b"b", b"7", b"ab", b"7a", b"\xff", b"\xc3", b"\xa4", b" "], 6)
    names = {6: "<t>", 7: "</t>", 8: "<other>"}
    vocabulary = explorer.Vocabulary((*texts, None, None, None, None), (9,), special=names)
    constraint = lettered(draw)
    try:
        machine = explorer.compile(constraint, vocabulary, lazy=lazy)
    except explorer.errors.IncompatibleVocabulary:
        return
    state = machine.start
    for _ in range(4):
        reasons = explain_all(machine, state)
        adds_up(reasons, len(vocabulary))
        for token in range(len(vocabulary)):
            one = explain(machine, state, token)
            assert STAGES[reasons.stage[token]] == one.stage, (str(constraint), state, token)
            offset = -1 if one.byte_offset is None else one.byte_offset
            assert reasons.offset[token] == offset, (str(constraint), state, token)
            group = reasons.group[token]
            if one.stage == "constraint" and one.verdict.control:
                said = reasons.groups[group].expected
                assert all(name in said for name in one.verdict.control), (str(constraint), said)
        allowed = [token for token in np.flatnonzero(machine.allowed(state)) if token != 9]
        if not allowed:
            break
        following = machine.step(state, int(draw.choice(allowed)))
        assert following is not None
        state = following


def test_the_kinds_of_text() -> None:
    def named(text: str) -> str:
        return KINDS[character_kind(text)]

    assert named("ä") == named("中") == "a letter"
    assert named("٣") == "a digit"
    assert named("\u00a0") == "a space" and named("\n") == "a line break or tab"
    assert named("“") == "a quote" and named("]") == "a bracket" and named("-") == "punctuation"
    assert named("🙂") == "a symbol" and named("\u0301") == "a combining mark"
    assert named("\x00") == "a control character"


def test_a_real_vocabulary_adds_up(tekken_131k: explorer.Vocabulary) -> None:
    dfa = explorer.compile(
        explorer.regex(r'\{"name": "[^"\\\n]{1,20}", "age": [0-9]{1,3}\}'), tekken_131k
    )
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(len(tekken_131k), 0.01))
    for state in rng.integers(0, dfa.num_states, 10).tolist():
        reasons = explain_all(dfa, state, weights)
        adds_up(reasons, len(tekken_131k), 1.0)
        assert np.array_equal(reasons.group == -1, dfa.allowed(state))
        for token in rng.integers(0, len(tekken_131k), 50).tolist():
            one = explain(dfa, state, token)
            assert STAGES[reasons.stage[token]] == one.stage
            assert reasons.offset[token] == (-1 if one.byte_offset is None else one.byte_offset)


# A search over a machine that discovers its states stops by itself, and what asked for it says
# so.
#
# The machine here has 2^26 states, and a way to the end passes 26 of them: no search comes that
# far.


HUGE = "(a|b)*a(a|b){25}"
VOCABULARY = Vocabulary.from_bytes([b"a", b"b", b"z"], eos_ids=[3])
A, Z = 0, 2
NEVER = "The search for a place where it would be allowed stopped: "
LIMIT = f"states; the limit is {WALKED.states:,}."


@pytest.fixture(scope="module")
def machine() -> TokenMachine:
    room = explorer.Budget(states=200_000)
    return explorer.compile(explorer.regex(HUGE), VOCABULARY, room, lazy=True)


def _met(machine: TokenMachine) -> int:
    """The number of byte states met so far."""
    assert machine.byte_machine is not None
    return machine.byte_machine.num_states


def test_an_explanation_is_whole_and_says_that_the_search_stopped(
    machine: TokenMachine,
) -> None:
    machine.allowed(machine.start)  # The tokens near a masked one are read from the mask.
    met = _met(machine)
    masked, allowed = explain(machine, machine.start, Z), explain(machine, machine.start, A)
    (stopped,) = masked.stopped
    assert NEVER in stopped and LIMIT in stopped and "would be allowed" not in masked.paragraph
    assert "The search for a way to the end stopped: " in allowed.paragraph
    assert LIMIT in allowed.paragraph
    assert _met(machine) == met
    with pytest.raises(BudgetExceeded):
        masked.after  # noqa: B018
    answer = masked.to_dict()
    assert answer["after"] is None and answer["stopped"] == list(masked.stopped) != []


def test_a_stopped_search_is_not_begun_again(machine: TokenMachine) -> None:
    masked = explain(machine, machine.start, Z)
    assert masked.stopped
    met = _met(machine)
    assert NEVER in masked.stopped[0] and masked.to_dict()["stopped"]
    assert _met(machine) == met


def test_a_budget_that_was_given_rules(machine: TokenMachine) -> None:
    few = explain(machine, machine.start, Z, budget=explorer.Budget(states=50))
    assert "; the limit is 5" in few.stopped[0]  # What the machine knew comes on top.


def test_what_a_closed_machine_reads_nowhere_needs_no_search() -> None:
    machine = explorer.compile(explorer.regex("(a|b)*a(a|b){12}"), VOCABULARY, lazy=True)
    never = explain(machine, machine.start, Z, budget=explorer.Budget(states=50))
    assert never.after is None and "stays masked" in never.paragraph


def test_the_page_says_so_too(machine: TokenMachine) -> None:
    for token in (A, Z):
        packet = more_packet(explain(machine, machine.start, token))
        assert packet["stopped"] and LIMIT in str(packet["stopped"])
        assert packet["after"] is None and packet["completion"] is None
        assert not packet["nowhere"]  # It is not known that it stays masked.


@pytest.mark.long
def test_a_state_too_far_to_search_for_is_explained_after_the_text_that_led_there() -> None:
    vocabulary = Vocabulary.from_bytes([b"a", b"b", b"x", b"y", b"!", b"ab"], eos_ids=[6])
    pairs = explorer.grammar('root ::= "a" root "x" | "b" root "y" | "!"')
    machine = explorer.compile(pairs, vocabulary)
    state = machine.start
    for _ in range(10):  # 2^20 texts are not longer.
        after = machine.step(state, 5)
        assert after is not None
        state = after
    met = _met(machine)
    why = explain(machine, state, 2)
    assert why.verdict.prefix == b"ab" * 10 and why.assumed_prefix
    assert why.prose == explain(machine, state, 2, text=b"ab" * 10).prose
    assert explain_all(machine, state).groups == explain_all(machine, state, text=b"ab" * 10).groups
    assert _met(machine) == met
    assert machine.step(state, 5) is not None


@pytest.mark.parametrize("one", [True, False])
def test_asking_discovers_nothing_in_the_machine_that_decides(one: bool) -> None:
    """Twelve members in any order: there are 2^12 states between two of them."""
    names = [f"p{k}" for k in range(12)]
    schema = {
        "type": "object", "properties": {name: {"type": "integer"} for name in names},
        "required": names, "additionalProperties": False,
    }  # fmt: skip
    every = [bytes([k]) for k in range(256)]
    vocabulary = Vocabulary.from_bytes([*every, None], eos_ids=[256])
    constraint = explorer.json_schema(schema, property_order="any")
    room = explorer.Budget(states=3_000)
    machine = explorer.compile(constraint, vocabulary, room, lazy=True)
    text = ",".join(f'"p{k}":1' for k in reversed(range(12)))
    state = machine.start
    for byte in f"{{{text[:-7]}".encode():
        machine.allowed(state)
        after = machine.step(state, byte)
        assert after is not None
        state = after
    met = _met(machine)
    if one:
        why = explain(machine, state, ord("}"))
        assert why.stage == "constraint" and why.verdict.prefix.endswith(b'"p1":1')
        assert why.completion is None
    else:
        assert explain_all(machine, state).num_allowed
    assert _met(machine) == met
    assert machine.step(state, ord(",")) is not None


# A session whose machine has spent its budget keeps its text and still answers.


A_OF_SPENT_BUDGETS, B, Z_OF_SPENT_BUDGETS = range(3)


@pytest.fixture
def spent() -> Session:
    """A session after as many tokens as its machine has states for."""
    machine = explorer.compile(
        regex("(a|b)*a(a|b){12}"), VOCABULARY, explorer.Budget(states=60), lazy=True
    )
    session = Session.from_ids(VOCABULARY, machine, [])
    with pytest.raises(BudgetExceeded):
        for token in random.Random(0).choices([A_OF_SPENT_BUDGETS, B], k=200):
            session.step(token=token)
    return session


def test_the_trace_ends_where_the_last_mask_is_known(spent: Session, tmp_path: Path) -> None:
    with pytest.raises(BudgetExceeded):
        spent.allowed()
    trace = spent.trace
    assert 0 < len(trace) == spent.index - 1
    assert trace.ids == spent.ids[:-1] and spent.text.startswith(trace.text)
    trace.save(tmp_path / "trace")
    assert explorer.Trace.load(tmp_path / "trace").text == trace.text


def test_a_masked_token_is_explained(spent: Session) -> None:
    found = spent.explain(Z_OF_SPENT_BUDGETS)
    assert found.stage == "constraint" and found.expected == b"ab"
    assert found.stopped and spent.reasons().groups


def test_the_traps_say_that_the_search_stopped(spent: Session) -> None:
    last = spent.traps()[-1]
    assert last.kind == "visited_only" and last.evidence["stopped"]
    assert "The search for traps stopped" in last.message


def test_traps_without_a_limit_in_the_way_do_not_say_so() -> None:
    machine = explorer.compile(regex("[ ]*a"), Vocabulary.from_bytes([b" ", b"a"], eos_ids=[2]),
                               lazy=True)  # fmt: skip
    last = machine_traps(machine)[-1]
    assert last.kind == "visited_only" and not last.evidence["stopped"]
