"""The page of questions is current, and each answer answers its question."""

from __future__ import annotations

import re

import pytest

from tests.analysis.questions import PAGE, Question, page, questions

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
