"""Requests of a page about drawings, without a browser: forms, the whole, one arc."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer.decoding.models.load import load_model
from tests.widgets.page import Page
from widgets.cursor import Cursor
from widgets.figures.packets import decompress
from widgets.toy import ToyModel
from widgets.views.explorer import Explorer


def ask(made: Explorer, type: str, /, **content: object) -> dict[str, Any]:
    answer = Page(made).ask(type, **content)
    return {**answer, "around": decompress(answer["packed"])} if "packed" in answer else answer


def large(pattern: str) -> Explorer:
    return Explorer(load_model("tiny"), explorer.regex(pattern))


def test_a_large_machine_is_drawn_whole_when_asked_for() -> None:
    made = large("[a-z]{320}")
    machine = ask(made, "machine")["machine"]
    assert machine["states"] == {"characters": 321, "tokens": 321, "whole": False, "known": True}
    drawing = ask(made, "draw", form="characters")["drawing"]
    assert len(drawing["machines"]["character_fsa"]["nodes"]) == 321
    token = drawing["machines"]["token_dfa"]
    assert not token["complete"] and token["caption"].startswith(f"{len(token['edges']):,} of ")
    made.close()


def test_above_two_thousand_states_the_count_is_said() -> None:
    made = large("[a-z]{2100}")
    answer = ask(made, "draw", form="characters")
    assert not answer["ok"] and answer["quiet"]
    assert answer["error"]["message"].startswith("The machine has 2,101 states; at most 2,000")
    made.close()


def test_the_classes_of_an_arc() -> None:
    made = large('"[a-z ]*"')
    dfa = made.session.machine
    assert isinstance(dfa, explorer.TokenDFA)
    edges = ask(made, "machine")["machine"]["machines"]["token_dfa"]["edges"]
    edge = max(edges, key=lambda e: e["count"])
    answer = ask(made, "arc", source=edge["source"], target=edge["target"], form="characters")
    counted = sum(len(dfa.tokens_of_class[class_]) for class_ in answer["classes"])
    assert counted == edge["count"] and len(answer["classes"]) == edge.get("num_groups", 1)
    assert ask(made, "arc", source="q99", target="q0")["classes"] == []
    made.close()


def test_an_added_token_is_in_the_figure_and_in_the_construction() -> None:
    pytest.importorskip("pynini")
    made = large("[0-9]{4}")
    token = made.session.vocabulary.tokens.index(b"the")
    before = ask(made, "around", k=0)["around"]
    after = ask(made, "around", k=0, also=[token])["around"]

    def shown(packet: dict[str, Any]) -> set[int]:
        edges = packet["machines"]["detokenizing_fst"]["edges"]
        return {t for e in edges if e["target"] == "t" for t in e["tokens"] or ()}

    assert shown(after) == shown(before) | {token} and token not in shown(before)
    total = sum(data is not None for data in made.session.vocabulary.tokens)
    figure = after["machines"]["detokenizing_fst"]
    assert figure["caption"] == f"{len(shown(after))} of {total:,}"
    assert figure["about"] == f"{figure['caption']} tokens; the composition uses all"
    stages = ask(made, "stages", k=0, also=[token])["stages"]
    assert len(stages) == 4
    made.close()


@pytest.mark.parametrize("kind", ["draw", "arc"])
def test_without_a_constraint_there_is_nothing_to_draw(kind: str) -> None:
    made = Explorer(cursor=Cursor(explorer.Session(ToyModel(), None)))
    fields = {"source": "q0", "target": "q0"} if kind == "arc" else {}
    answer = ask(made, kind, **fields)
    assert not answer["ok"] and "no machine" in answer["error"]["message"]
    made.close()
