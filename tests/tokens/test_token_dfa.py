"""Common mistakes of users of constrained decoding, and the machine at its edges."""

from __future__ import annotations

import numpy as np
import pytest

import explorer
from explorer.errors import (
    BudgetExceeded,
    EmptyConstraint,
    ExplorerError,
    IncompatibleVocabulary,
)
from explorer.tokens.words import DEAD, DEAD_CLASS

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
