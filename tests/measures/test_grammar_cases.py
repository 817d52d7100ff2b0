"""The grammars of the bench read their texts, and its page is what was measured."""

from __future__ import annotations

import json

import pytest

import explorer
from benchmarks.grammar_cases import Case, cases


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_every_text_is_of_its_language(case: Case) -> None:
    constraint = explorer.grammar(case.gbnf)
    assert all(constraint.accepts(text) for text in case.texts)
    assert not any(constraint.accepts(text + " )") for text in case.texts)


def test_the_page_is_what_was_measured() -> None:
    grammars = pytest.importorskip("benchmarks.grammars")
    results = json.loads(grammars.RESULTS.read_text("utf-8"))
    assert grammars.TABLE.read_text("utf-8") == grammars.page(results)
