"""A property that a lazy machine lacks is refused with a reason, also if lazy was not asked for."""

from __future__ import annotations

import pickle

import pytest

import explorer
from explorer.decoding.batches.generate import generate
from explorer.decoding.models.load import load_model
from explorer.errors import ExplorerError, NotATable
from explorer.tokens.lazy import TABLE_ONLY, LazyMachine
from explorer.tokens.machine import table_of
from explorer.vocabulary import Vocabulary

VOCABULARY = Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
LARGE = explorer.regex("(a|b)*a(a|b){12}")
FEW = explorer.Budget(states=300)


def test_a_table_s_names_say_why_they_are_not_there() -> None:
    fallback = explorer.compile(LARGE, VOCABULARY, FEW)
    assert isinstance(fallback, LazyMachine) and fallback.report.reason
    for name in TABLE_ONLY:
        with pytest.raises(NotATable) as caught:
            getattr(fallback, name)
        said = str(caught.value)
        assert repr(name) in said and fallback.report.reason in said
        assert "larger budget" in said and "lazy=False" not in said
        assert "table_of" in said and "distance_to_end(state)" in said
        assert not hasattr(fallback, name)
    asked = explorer.compile(LARGE, VOCABULARY, lazy=True)
    with pytest.raises(AttributeError, match="lazy=False"):
        getattr(asked, "distance")  # noqa: B009
    with pytest.raises(AttributeError, match="no attribute 'nothing'") as plain:
        getattr(asked, "nothing")  # noqa: B009
    assert not isinstance(plain.value, ExplorerError)


def test_these_names_are_those_of_the_table() -> None:
    """All that `TokenDFA` shows and a lazy machine does not have, and nothing else."""
    table = explorer.compile(explorer.regex("a|b"), VOCABULARY)
    lazy = explorer.compile(explorer.regex("a|b"), VOCABULARY, lazy=True)
    names = {name for name in dir(table) if not name.startswith("_")}
    of_filters = {"filtered", "unfiltered", "filter_name", "marks", "refusal"}
    assert names - set(dir(lazy)) == TABLE_ONLY | of_filters
    assert table_of(lazy) is None
    again: LazyMachine = pickle.loads(pickle.dumps(lazy))
    assert again.num_states == lazy.num_states


def test_a_token_budget_is_refused_with_the_reason_and_a_remedy_that_works() -> None:
    model = load_model("tiny")
    few = explorer.Budget(bytes=300_000)
    with pytest.raises(ExplorerError) as caught:
        generate(model, ["hi"], LARGE, max_tokens=5, budget=few, masking_budget=True)
    said = str(caught.value)
    assert "300,000 bytes" in said and "larger budget" in said and "lazy=False" not in said
    assert "masking_budget=False" in said
    for masking_budget in (False, None):
        (cut,) = generate(
            model, ["hi"], LARGE, max_tokens=5, budget=few, masking_budget=masking_budget
        )
        assert not cut.planned
    asked = explorer.compile(LARGE, model.vocabulary, lazy=True)
    with pytest.raises(ExplorerError, match="masking_budget=False"):
        explorer.Session(model, asked, "hi", max_tokens=5, masking_budget=True)
