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


def test_inside_a_combination() -> None:
    whole = explorer.literal("x=") + SUMS + explorer.regex("[;.]")
    why = explorer.explain_text(whole, "x=(1x")
    assert {part.source for part in why.parts} == {SUMS.source}
    why = explorer.explain_text(whole, "x=1x")
    assert [str(part.source) for part in why.parts][-1] == "regex('[;.]')"
