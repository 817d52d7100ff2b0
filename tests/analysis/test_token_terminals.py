"""Explanations of constraints that speak about tokens: what is wrong is named, from any machine."""

from __future__ import annotations

import itertools

import pytest

import explorer
from explorer import Vocabulary, gen, literal, regex, template
from explorer.analysis import explain_all
from explorer.analysis.verdict.verdict import STAGES
from explorer.tokens.machine import TokenMachine

VOCABULARY = Vocabulary.from_bytes(
    [b"a", b"b", b"ab", b"\n", None, b"a\nb", b"\xc3", b"\xa4", b"Summary:", b"* ", b"\n* ", None],
    eos_ids=[4],
)
SUMMARY = regex(r"Summary:(\n\* (?P<PARAGRAPH_TOKEN>)+){1,2}(?P<IMAGE>)?")
IDS = [8, 10, 0, 10, 2, 11]


def after(machine: TokenMachine, *ids: int) -> int:
    state = machine.start
    for token in ids:
        following = machine.step(state, token)
        assert following is not None
        state = following
    return state


@pytest.mark.parametrize("lazy", [False, True])
def test_a_token_with_a_newline_is_refused_by_name(lazy: bool) -> None:
    machine = explorer.compile(SUMMARY, VOCABULARY, lazy=lazy)
    why = explorer.explain(machine, after(machine, *IDS[:3]), 5)
    assert why.stage == "constraint" and why.byte_offset == 1
    assert why.message.endswith(
        "Expected by PARAGRAPH_TOKEN. Inside PARAGRAPH_TOKEN: this token contains a newline."
    )
    assert "or the end of the token" in why.message
    assert why.prose.endswith("Inside PARAGRAPH_TOKEN: this token contains a newline.")


LETTERS = Vocabulary.from_bytes([b"a", b" the", b"b", b"\n", None], eos_ids=[4])


@pytest.mark.parametrize(
    ("pattern", "ids", "token", "named"),
    [
        ("a(?P<TEXT_TOKEN>)b", [0, 1], 1, ["b"]),
        ("a(?P<TEXT_TOKEN>)b", [0, 1], 2, []),  # It is allowed, and the text may end.
        ("a(?P<TEXT_TOKEN>)b", [0], 4, ["(?P<TEXT_TOKEN>)"]),
        ("a(?P<PARAGRAPH_TOKEN>)+b", [0, 1], 3, ["(?P<PARAGRAPH_TOKEN>)", "b"]),
        ("a(?P<PARAGRAPH_TOKEN>){2}b", [0, 1], 3, ["(?P<PARAGRAPH_TOKEN>)"]),
        # The text alone does not say that the first was one token and not both together.
        ("a(?P<PARAGRAPH_TOKEN>){2}b", [0, 1, 1], 3, ["(?P<PARAGRAPH_TOKEN>)", "b"]),
        ("a(?P<TEXT_UNTIL>b)b", [0, 1], 3, ["(?P<TEXT_UNTIL>b)"]),
    ],
)  # fmt: skip
def test_what_comes_after_a_terminal_is_named(
    pattern: str, ids: list[int], token: int, named: list[str]
) -> None:
    """A terminal of one token ends with the token; only what reads the next one is expected."""
    machine = explorer.compile(regex(pattern), LETTERS)
    why = explorer.explain(machine, after(machine, *ids), token)
    assert [place.text for part in why.parts for place in part.positions] == named


@pytest.mark.parametrize("lazy", [False, True])
def test_reasons_of_all_tokens_agree_with_those_of_one(lazy: bool) -> None:
    machine = explorer.compile(SUMMARY, VOCABULARY, lazy=lazy)
    for known in range(len(IDS)):
        state = after(machine, *IDS[:known])
        reasons = explain_all(machine, state)
        allowed = machine.allowed(state)
        for token in range(len(VOCABULARY)):
            why = explorer.explain(machine, state, token)
            assert why.allowed == bool(allowed[token])
            assert STAGES[reasons.stage[token]] == why.stage


def test_a_made_up_text_leads_to_the_state() -> None:
    machine = explorer.compile(SUMMARY, VOCABULARY)
    state = after(machine, *IDS[:4])
    why = explorer.explain(machine, state, 0)
    assert why.verdict.prefix.decode().startswith("Summary:\n* ")
    assert explorer.explain(machine, state, 0, text="Summary:\n* b\n* ").allowed
    with pytest.raises(explorer.errors.ExplorerError, match="does not lead"):
        explorer.explain(machine, state, 0, text="Summary: ")


LIMITED = template('"{line}" {word}!', line=gen(stop='"', max_tokens=2), word=gen(
    constraint=gen(regex="[ab]{3}|c", max_tokens=1) | literal("bb")))  # fmt: skip
SHORT = Vocabulary.from_bytes(
    [b"a", b"b", b'b"', b'"', b"ab", b' "', b" ", b"!", b"bb", b"aab"], eos_ids=[10]
)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    ("ids", "token", "says"),
    [
        ([3, 0, 1], 0, "Part `line` may take at most 2 tokens."),
        ([3, 0, 1], 2, "Part `line` may take at most 2 tokens."),
        ([3, 0], 4, ""),
        ([3, 0, 1], 6, "Part `line` may take at most 2 tokens."),
        ([3, 0, 1, 3, 6], 0, "Part `word` may take at most 1 token."),
        ([3, 0, 1, 3, 6], 7, ""),
        ([3, 0, 1, 3, 6], 9, ""),
    ],
)
def test_the_limit_on_tokens_that_masks_a_token_is_named(
    ids: list[int], token: int, says: str, lazy: bool
) -> None:
    machine = explorer.compile(LIMITED, SHORT, lazy=lazy)
    why = explorer.explain(machine, after(machine, *ids), token)
    assert why.message.endswith(says) and ("may take at most" in why.message) == bool(says)
    assert why.prose.endswith(says) and why.paragraph.count("may take at most") == bool(says)
    assert why.allowed == (token in (4, 9))


def test_a_text_with_control_tokens_is_judged_as_it_is_accepted() -> None:
    vocab = explorer.Vocabulary(
        (b"a", b"b", None, None, None), (4,), special={2: "<think>", 3: "</think>"}
    )
    begin, end = explorer.token("<think>"), explorer.token("</think>")
    thought = explorer.phase("think", explorer.any_text(), begin=begin, end=end)
    asked = thought + explorer.phase("answer", explorer.regex("b+"))
    for count in range(6):
        for ids in itertools.product(range(4), repeat=count):
            text = vocab.written(ids)
            why = explorer.explain_text(asked, text)
            assert why.allowed == asked.accepts(text), why.paragraph
            following = [vocab.written((*ids, *rest)) for rest in ((), (1,), (3, 1), (2, 3, 1))]
            assert (why.stage != "constraint") == any(map(asked.accepts, following))
            if why.byte_offset is not None:  # Each sign fails where it begins.
                assert why.byte_offset in {len(vocab.written(ids[:k])) for k in range(count)}
    wrong = explorer.explain_text(asked, vocab.written([2, 0, 3, 1, 2]))
    assert wrong.char_offset == 2 and "; the text writes <think>." in wrong.prose
    assert wrong.prose.startswith("It starts well: <think>'a'</think>'b'. ")
