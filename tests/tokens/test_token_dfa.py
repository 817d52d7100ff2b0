"""Common mistakes of users of constrained decoding, and the machine at its edges."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import explorer
from explorer.errors import (
    BudgetExceeded,
    EmptyConstraint,
    ExplorerError,
    IncompatibleVocabulary,
)
from explorer.tokens.words import DEAD, DEAD_CLASS, FREE

TOY = [b"f", b"oo", b"foo", b"for", b"food"]


def vocabulary(*tokens: bytes | None) -> explorer.Vocabulary:
    return explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])


def allowed(dfa: explorer.TokenDFA, *path: int) -> list[int]:
    states = dfa.walk(path)
    assert len(states) == len(path) + 1
    return np.flatnonzero(dfa.allowed(states[-1])).tolist()


def test_the_papers_example() -> None:
    dfa = explorer.compile(explorer.regex("(foo)+d"), vocabulary(*TOY))
    assert dfa.num_states == 4 and dfa.char_state.tolist() == [0, 1, 3, 4]
    assert dfa.num_classes == 6  # dead, EOS, f, oo, foo, food; `for` is dead.
    assert allowed(dfa) == [0, 2, 4]
    assert allowed(dfa, 2) == [0, 2, 4]
    assert allowed(dfa, 0) == [1]
    assert allowed(dfa, 4) == [5]
    assert dfa.distance.tolist() == [2, 3, 2, 1]


def test_no_token_into_a_dead_end() -> None:
    """`a*d|b` over {a, b}: nothing writes d, so a must not be allowed."""
    dfa = explorer.compile(explorer.regex("a*d|b"), vocabulary(b"a", b"b"))
    assert allowed(dfa) == [1]
    assert dfa.report.stuck_states == 1
    assert dfa.lost == dfa.report.lost and "1 character states cannot" in str(dfa.report)
    assert len(dfa.lost.states) == 1 and {b for _, b in dfa.lost.arcs} == {ord("a"), ord("d")}


def test_all_prefixes_of_a_forced_text_are_allowed() -> None:
    tokens = [b"A", b"p", b"r", b"ri", b"ril", b"i", b"l", b"u", b"g", b"s", b"t"]
    dfa = explorer.compile(explorer.choice(["April", "August"]), vocabulary(*tokens))
    assert allowed(dfa, 0, 1) == [2, 3, 4]


def test_ids_with_equal_bytes_go_together() -> None:
    dfa = explorer.compile(explorer.regex(" a"), vocabulary(b" ", b" ", b"a", b" a"))
    assert allowed(dfa) == [0, 1, 3]
    assert dfa.token_class[0] == dfa.token_class[1]


def test_half_characters() -> None:
    dfa = explorer.compile(explorer.regex("[äö]"), vocabulary(b"\xc3", b"\xa4", b"\xb6", b"\xa5"))
    assert allowed(dfa) == [0] and allowed(dfa, 0) == [1, 2]


def test_end_of_text() -> None:
    vocab = explorer.Vocabulary.from_bytes([b"a", None, None, None], eos_ids=[1, 3])
    dfa = explorer.compile(explorer.regex("a?"), vocab)
    assert allowed(dfa) == [0, 1, 3]
    assert dfa.step(dfa.start, 3) == explorer.DONE
    assert allowed(dfa, 1) == [1, 3] and dfa.step(explorer.DONE, 1) == explorer.DONE
    assert dfa.is_final(explorer.DONE) and dfa.is_final(dfa.start)
    assert 2 in dfa.tokens_of_class[DEAD_CLASS]


def test_special_token_text_is_not_the_special_token() -> None:
    vocab = explorer.Vocabulary.from_bytes([b"<", b"eot", b">", None], eos_ids=[3])
    dfa = explorer.compile(explorer.regex("<eot>"), vocab)
    assert allowed(dfa) == [0] and allowed(dfa, 0, 1, 2) == [3]


def test_sentinels() -> None:
    dfa = explorer.compile(explorer.regex("(foo)+d"), vocabulary(*TOY))
    assert dfa.allowed(DEAD).sum() == 0 and dfa.allowed(FREE).all()
    assert dfa.step(FREE, 3) == FREE and dfa.step(DEAD, 0) is None
    assert dfa.step(explorer.DONE, 0) is None
    assert dfa.step(dfa.start, 99) is None and dfa.step(dfa.start, -1) is None
    for state in (dfa.num_states, -4):
        with pytest.raises(ExplorerError, match=f"no state {state}"):
            dfa.allowed(state)
        with pytest.raises(ExplorerError, match=f"no state {state}"):
            dfa.step(state, 0)
    with pytest.raises(ValueError, match="read-only"):
        dfa.allowed(dfa.start)[0] = True


def test_logits_narrower_than_the_vocabulary() -> None:
    """The only token that could finish lies beyond the model's logits."""
    vocab = explorer.Vocabulary.from_bytes([b"a", None, b"b", b"ab"], eos_ids=[1])
    assert allowed(explorer.compile(explorer.regex("ab|a"), vocab)) == [0, 3]
    assert allowed(explorer.compile(explorer.regex("ab|a"), vocab, width=2)) == [0]
    with pytest.raises(IncompatibleVocabulary):
        explorer.compile(explorer.regex("ab"), vocab, width=2)


def test_an_empty_constraint_is_its_own_error() -> None:
    with pytest.raises(EmptyConstraint, match=r"regex\('a\$b'\) has no word"):
        explorer.compile(explorer.regex("a$b"), vocabulary(b"a", b"b"))


def test_a_vocabulary_that_cannot_write_it() -> None:
    with pytest.raises(IncompatibleVocabulary) as caught:
        explorer.compile(explorer.regex("abc|abcd"), vocabulary(b"a", b"ab", b"x"))
    assert caught.value.witness == b"abc" and caught.value.offset == 2
    assert "first 2 of 3 bytes" in str(caught.value)


@pytest.mark.parametrize(
    ("named", "shown"), [("<t>", "'<t>z'; tokens can write its first 3 of 4 bytes"), (2, "[2]z")]
)
def test_a_control_token_counts_as_written(named: str | int, shown: str) -> None:
    names = {2: "<t>"} if named == "<t>" else {}
    vocab = explorer.Vocabulary((b"a", b"b", None, None), (3,), special=names)
    with pytest.raises(IncompatibleVocabulary) as caught:
        explorer.compile(explorer.token(named) + explorer.regex("z"), vocab)
    assert caught.value.witness == vocab.written([2]) + b"z"
    assert caught.value.offset == len(vocab.written([2]))
    assert shown in str(caught.value)


def test_nothing_is_lost_where_every_byte_is_a_token() -> None:
    every = [bytes([b]) for b in range(256)]
    dfa = explorer.compile(explorer.regex(r"\w+|ä{2}"), vocabulary(*every))
    assert not dfa.lost and dfa.report.stuck_states == 0


def test_classes_partition_the_vocabulary(tekken_131k: explorer.Vocabulary) -> None:
    dfa = explorer.compile(explorer.regex(r'"[^"\\\x00-\x1f]*"'), tekken_131k)
    together = np.sort(np.concatenate(dfa.tokens_of_class))
    assert np.array_equal(together, np.arange(len(tekken_131k)))
    columns = {dfa.table[:, c].tobytes() for c in range(1, dfa.num_classes)}
    assert len(columns) == dfa.num_classes - 1  # No two classes are alike, and
    assert (dfa.table[:, 2:] != DEAD).any(axis=0).all()  # none is empty but the dead one.
    assert dfa.nbytes < 500_000


def test_budget_is_for_the_whole_compilation() -> None:
    with pytest.raises(BudgetExceeded, match="Determinization"):
        explorer.compile(
            explorer.regex("(a|b)*a(a|b){25}"), vocabulary(b"a"), explorer.Budget(states=5000),
            lazy=False,
        )  # fmt: skip
    with pytest.raises(ExplorerError, match="allows nothing"):
        explorer.Budget(seconds=0)


def test_save_and_load(tmp_path: Path) -> None:
    vocab = vocabulary(*TOY)
    constraint = explorer.regex("(foo)+d") | explorer.choice(["for"]).star()
    dfa = explorer.compile(constraint, vocab)
    path = tmp_path / "machine"
    dfa.save(path)
    again = explorer.TokenDFA.load(path, vocabulary(*TOY))
    assert repr(again) == repr(dfa) and again.report == dfa.report
    for name in ("table", "token_class", "char_state", "accepting", "distance", "stuck"):
        assert np.array_equal(getattr(again, name), getattr(dfa, name))
        assert getattr(again, name).dtype == getattr(dfa, name).dtype
    assert again.constraint.equivalent(constraint)
    assert [p.name for p in tmp_path.iterdir()] == ["machine"]


def test_everything_travels_between_processes() -> None:
    dfa = explorer.compile(explorer.regex("(foo)+d") | explorer.choice(["for"]), vocabulary(*TOY))
    for again in (pickle.loads(pickle.dumps(dfa)), copy.deepcopy(dfa)):
        assert again.vocabulary == dfa.vocabulary and repr(again) == repr(dfa)
        assert np.array_equal(again.table, dfa.table) and not again.lost
    with pytest.raises(explorer.errors.RegexError) as caught:
        explorer.regex("a(b")
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == str(caught.value) and error.start == 1
    assert error.evidence == caught.value.evidence and type(error) is type(caught.value)


def test_first_mistakes_are_answered() -> None:
    vocab = vocabulary(*TOY)
    with pytest.raises(ExplorerError, match=r"\(str\), not a constraint"):
        explorer.compile("a+", vocab)  # type: ignore[arg-type]
    with pytest.raises(ExplorerError, match=r"\(list\), not a Vocabulary"):
        explorer.compile(explorer.regex("a"), TOY)  # type: ignore[arg-type]
    with pytest.raises(ExplorerError, match=r"side of \|"):
        explorer.regex("a") | 3  # type: ignore[operator]
    with pytest.raises(ExplorerError, match="positive number"):
        explorer.Budget(states=None)  # type: ignore[arg-type]
    assert explorer.Vocabulary.from_bytes([b"a", None], eos_ids=1).eos_ids == (1,)  # type: ignore[arg-type]
    assert explorer.Vocabulary.from_bytes([b"a", None], eos_ids=np.array([1])).eos_ids == (1,)
