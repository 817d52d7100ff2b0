"""An explanation names rule, place and stack."""

from __future__ import annotations

import explorer

SUMS = explorer.grammar(
    """root ::= e
e ::= t ("+" e)?
t ::= f ("*" t)?
f ::= "(" e ")" | [0-9]+
"""
)


def test_rule_place_and_stack_are_named() -> None:
    why = explorer.explain_text(SUMS, "(12x")
    assert [part.positions[0].label for part in why.parts] == ["rule `e`", "rule `t`", "rule `f`"]
    source = SUMS.source.text
    places = [[p.text for p in part.positions] for part in why.parts]
    assert places == [["+"], ["*"], [")", "[0-9]"]]
    for part in why.parts:
        for place in part.positions:
            assert place.start is not None and source[place.start :].startswith(place.text)
    assert "On the stack: root → e → t → f → e → t → f." in why.prose
    assert 'f ::= "(" e ")" | [0-9]+\n             ^' in str(why)


def test_only_what_can_come_next_is_named() -> None:
    """After a closed parenthesis no other can close, and the stack is that of the beginning."""
    why = explorer.explain_text(SUMS, "(12)x")
    assert [[p.text for p in part.positions] for part in why.parts] == [["+"], ["*"]]
    assert "On the stack: root → e → t." in why.prose


def test_inside_a_combination() -> None:
    whole = explorer.literal("x=") + SUMS + explorer.regex("[;.]")
    why = explorer.explain_text(whole, "x=(1x")
    assert {part.source for part in why.parts} == {SUMS.source}
    why = explorer.explain_text(whole, "x=1x")
    assert [str(part.source) for part in why.parts][-1] == "regex('[;.]')"


def test_a_token_is_explained() -> None:
    tokens = [bytes([byte]) for byte in b"()+*0123456789x"] + [b"(1", b"))"]
    vocabulary = explorer.Vocabulary.from_bytes(tokens, eos_ids=[len(tokens)])
    machine = explorer.compile(SUMS, vocabulary)
    state = machine.step(machine.start, tokens.index(b"(1"))
    assert state is not None
    why = explorer.explain(machine, state, tokens.index(b"))"))
    assert not why.allowed and why.byte_offset == 1
    assert "On the stack: root → e → t." in str(why)
