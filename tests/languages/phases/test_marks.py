"""The bytes that mark control tokens are the machine's own: no text that a user reads has them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import explorer
from explorer import Constraint, Vocabulary, any_text, phase, regex, token
from explorer.errors import ExplorerError

VOCABULARY = Vocabulary(
    (b"a", b"b", b"<", None, None, None), (5,),
    special={3: "<think>", 4: "</think>", 5: "<end>"},
)  # fmt: skip
CONSTRAINTS: dict[str, Constraint] = {
    "by name": token("<think>") + any_text() + token("</think>") + regex("b+"),
    "by id": token(3).star() + "b",
    "any but one": explorer.any_tokens(excluding=["<think>"]),
    "phases": phase("think", any_text(), begin=token("<think>"), end=token("</think>")) + "b",
    "grammar": explorer.grammar('start: <think> "a" </think> start | "b"', "lark"),
    "structural tag": explorer.structural_tag(
        {"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "</think>"},
        control_tokens=["<think>", "</think>"],
    ),
}
MARKS = ("\\xf8", "\\xf9", "F8>", "F9>", "\xf8", "\xf9", "\ufffd")


def texts(constraint: Constraint, *, lazy: bool) -> Iterator[str]:
    """The texts that a user reads of a constraint, of its machine and of some runs."""
    yield from (str(constraint), repr(constraint), *constraint.examples(4))
    yield from (*constraint.source.warnings(), *constraint.source.decisions())
    for ids in ([3, 0, 4, 1], [0], [3, 3], [4, 1, 3], [3, 0, 4, 1, 1, 3], []):
        try:
            yield repr(constraint.parse(VOCABULARY.written(ids)))
        except ExplorerError as error:
            yield str(error)
        yield str(explorer.explain_text(constraint, VOCABULARY.written(ids)))
    machine = explorer.compile(constraint, VOCABULARY, lazy=lazy)
    states, seen = [machine.start], {machine.start}
    for state in states:  # The list grows while it is read.
        for each in range(len(VOCABULARY)):
            why = explorer.explain(machine, state, each)
            yield from (str(why), why.message, str(why.to_dict()["text"]))
            after = machine.step(state, each)
            if after is not None and after not in seen and len(seen) < 6 and each != 5:
                seen.add(after)
                states.append(after)
    yield from (repr(machine), str(machine))


@pytest.mark.parametrize(
    ("name", "lazy"),
    [(name, lazy) for name in CONSTRAINTS for lazy in (True, False) if lazy or name != "grammar"],
)
def test_no_text_has_the_marks_of_control_tokens(name: str, lazy: bool) -> None:
    for text in texts(CONSTRAINTS[name], lazy=lazy):
        assert not any(mark in text for mark in MARKS), text
