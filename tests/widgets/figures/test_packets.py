"""Packets to a page: positions, walks, masks, runs; their sizes; and hostile tokens everywhere."""

from __future__ import annotations

import json
import math
import re
from typing import Any, cast
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.analysis.session import Session
from explorer.tokens.lazy import Free
from tests.evidence import examples
from tests.widgets.figures.cases import TOY_PROBABILITIES, hash_session, toy_dfa, toy_session
from widgets.figures.drawing.labels import markup, ranges_label
from widgets.figures.machines.character_fsa import character_figure
from widgets.figures.machines.detokenizing_figure import detokenizing_figure
from widgets.figures.machines.lit import TokenWalk, lit_path, walk_packet, walk_token
from widgets.figures.machines.token_dfa import token_figure
from widgets.figures.packets import (
    class_packet,
    decompress,
    machine_packet,
    position_packet,
    trace_packet,
    vocabulary_packet,
)
from widgets.figures.panels.mask import unpack_bits
from widgets.figures.panels.tokens import over_time, strip_packet, token_rows
from widgets.figures.snapshot import snapshot
from widgets.shown_place import PageData
from widgets.toy import ToyModel

HOSTILE = [
    b"<img src=x onerror=alert(1)>",
    b"</script><script>alert(1)</script>",
    b"]]>&amp;\"'",
    b"\x00\x01\x1b[31m",
    "\u202e\u2066\u200b\ufeff".encode(),
    b"\xff\xfe\x80",
    "␣ \\".encode(),
    b"\r\n\t",
    "日本é🎉".encode(),
    b"--><svg onload=alert(1)>",
]


def plain(value: object) -> Any:
    """A value through JSON and back; NaN and infinities are not JSON."""
    return json.loads(json.dumps(value, allow_nan=False))


def size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def test_the_toy_position_is_the_design_s() -> None:
    session = toy_session()
    packet = plain(position_packet(session.trace, 1, session.machine))
    assert (packet["k"], packet["state"]) == (1, 2)
    assert packet["lit"] == {
        "characters": {
            "nodes": ["c0", "c1", "c2", "c3", "q0", "q3"],
            "edges": ["c0-c1", "c1-c2", "c2-c3", "q0-q3"],
            "now": ["c3", "q3", "t"],
            "tokens": {"q0-q3": ["foo"]},
        }
    }
    assert (packet["allowed"], packet["width"]) == (3, 6)
    assert packet["z"] == pytest.approx(0.64)
    assert packet["entropy_before"] == pytest.approx(
        -sum(p * math.log2(p) for p in TOY_PROBABILITIES), rel=1e-3
    )
    assert [(bar["text"], bar["reason"]) for bar in packet["top"]] == [
        ("foo", None),
        ("food", None),
        ("for", "r: expects o"),
        ("EOS", "not complete"),
        ("f", None),
        ("oo", "expects d or f"),
    ]
    assert packet["top"][1]["taken"] and packet["taken"]["text"] == "food"
    assert packet["rank"] == 2 and packet["by"] == "user"
    assert packet["spans"] == [[1, 2], [6, 7]]
    assert packet["expects"] == "d or f"


def test_the_row_is_the_mask() -> None:
    session = toy_session()
    trace, dfa = session.trace, toy_dfa()
    for k in range(len(trace.positions)):
        packet = position_packet(trace, k, dfa)
        row = unpack_bits(str(packet["row"]), trace.num_classes)
        wanted = [bool(on) and not trace.positions[k].finished for on in trace.allowed(k)]
        assert row[dfa.token_class].tolist() == wanted
        assert packet["allowed"] == int(row[dfa.token_class].sum())


def test_after_the_end_everything_that_is_shown_says_that_nothing_is_allowed() -> None:
    # Two ids end a text: what the engine's record holds after the end.
    vocabulary = explorer.Vocabulary.from_bytes([b"1", b"2", b"12"], eos_ids=[3, 4])
    session = hash_session(vocabulary, "[0-9]{2}", 9)
    trace, machine = session.trace, session.machine
    last = len(trace.steps)
    assert machine is not None and trace.finished and trace.positions[last].num_allowed == 2
    packet = position_packet(trace, last, machine)
    assert packet["allowed"] == 0 and not packet["forced"]
    assert not unpack_bits(str(packet["row"]), trace.num_classes).any()
    assert over_time(trace).allowed[-1] == 0 and over_time(trace).allowed[-2] == 2
    assert {row["allowed"] for row in token_rows(session, trace, last, machine, range(5))} == {
        False
    }
    ended = {row["reason"] for row in token_rows(session, trace, last, machine, [3, 4])}
    assert ended == {"the text has ended"}
    still = snapshot(trace, last, machine)
    assert still.title == f"Position {last}: 0 of 5 tokens allowed: the text has ended"
    assert "0 of 5 tokens allowed: the text has ended" in still.text
    assert "masked" not in still.text


CONSTRAINTS = st.sampled_from(["(foo)+d", '"[^"]*"', "(ä|日本)+x|é", r"\w*!", "[a-z]{1,3}"])
ANY_TOKENS = st.lists(
    st.one_of(
        st.text('foda日é"x!', min_size=1, max_size=4).map(str.encode),
        st.binary(min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=examples(25))
@given(CONSTRAINTS, ANY_TOKENS, st.data())
def test_every_lit_edge_exists(pattern: str, extra: list[bytes], data: st.DataObject) -> None:
    tokens = [bytes([b]) for b in range(256)] + extra
    vocabulary = explorer.Vocabulary.from_bytes(tokens, eos_ids=[len(tokens)])
    dfa = explorer.compile(explorer.regex(pattern), vocabulary)
    state = data.draw(st.integers(0, dfa.num_states - 1))
    token = data.draw(st.integers(0, len(tokens)))
    forms = {form: character_figure(dfa, form) for form in ("characters", "bytes")}
    edges_q = {edge.id for edge in token_figure(dfa, sources=[state]).edges}
    edges_t = {edge.id for edge in detokenizing_figure(vocabulary, [token]).edges}
    for form, figure in forms.items():
        edges_c = {edge.id for edge in figure.edges}
        found = walk_token(dfa, state, token, "bytes" if form == "bytes" else "characters")
        for k, step in enumerate(found.steps):
            assert step.edges[0] in edges_t and set(step.edges[1:]) <= edges_c
            if form == "bytes" and k != found.failed_at:
                # The end of the text reads nothing, so only the FST moves.
                assert len(step.edges) == (1 if token in vocabulary.eos_ids else 2)
        assert (found.arc is not None) == (dfa.step(state, token) is not None)
        if form == "characters":
            assert found.arc is None or found.arc in edges_q
        packet = plain(walk_packet(dfa, state, token))
        assert packet["lit"].get(form, packet["lit"]["characters"]) == plain(found.to_dict())
        assert packet["allowed"] == (found.arc is not None)


def test_slow_motion_lights_the_still() -> None:
    """The design's picture: after ``foo``, two bytes into ``food``."""
    session = toy_session()
    dfa = toy_dfa()
    path = lit_path(session.trace, 1, dfa)
    found: TokenWalk = walk_token(dfa, session.trace.positions[1].state, 4)
    assert path.edges == ("c0-c1", "c1-c2", "c2-c3", "q0-q3")
    assert path.now == ("c3", "q3", "t")
    two = found.steps[:2]
    assert [step.edges for step in two] == [("t-t66", "c3-c1"), ("t66-t666f", "c1-c2")]
    assert two[-1].nodes == ("t666f", "c2")
    assert (found.arc, found.target, found.stopped) == ("q3-q4", "q4", None)
    figures = (character_figure(dfa), detokenizing_figure(dfa.vocabulary, range(5)))
    known = {n.id for figure in (*figures, token_figure(dfa)) for n in figure.nodes}
    assert {*path.nodes, *(node for step in found.steps for node in step.nodes)} <= known


@given(st.text())
def test_markup_is_text_and_nothing_else(words: str) -> None:
    shown = markup(words)
    assert not set(shown) & set("<>\"'")
    parsed = ElementTree.fromstring(f"<t>{shown}</t>")
    assert len(parsed) == 0
    assert all(c == " " or c.isprintable() for c in parsed.text or "")
    assert "".join(c for c in words if c in "<>&") == "".join(
        c for c in (parsed.text or "") if c in "<>&"
    )


NAMES = {"svg", "title", "rect", "text", "tspan", "path", "polygon", "circle", "g"}


def names_in(root: ElementTree.Element) -> set[str]:
    """The names of the elements of a picture but its style sheet, which has colours alone."""
    found: set[str] = set()
    for item in root.iter():
        name = item.tag.split("}")[-1]
        if name == "style":
            colours = re.sub(r"#[0-9a-f]{6}", "", item.text or "")
            assert re.fullmatch(r"[-a-z@(){}\[\]=\"':;,.>*# \n]*", colours), colours
        else:
            found.add(name)
    return found


def test_no_token_becomes_markup_in_a_snapshot() -> None:
    vocabulary = explorer.Vocabulary.from_bytes(HOSTILE, eos_ids=[len(HOSTILE)])
    session = hash_session(vocabulary, r"(?s:.)*", 4)
    trace, dfa = session.trace, session.machine
    assert dfa is not None
    for k in range(len(trace.positions)):
        found = snapshot(trace, k, dfa)
        root = ElementTree.fromstring(found.svg)
        assert names_in(root) <= NAMES
        attributes = {name for item in root.iter() for name in item.attrib}
        assert not [name for name in attributes if name.startswith("on") or "href" in name]
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", found.svg)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", found.text)
    texts = cast("dict[str, list[str]]", decompress(str(vocabulary_packet(vocabulary)["data"])))
    assert texts["text"][1] == "</script><script>alert(1)</script>"  # Data: the page sets text.
    assert all(t.isprintable() and " " not in t for t in texts["text"])


def test_unicode_labels() -> None:
    assert ranges_label([(0xE4, 0xE4), (0xF6, 0xF6), (0x65E5, 0x65E5)]) == "ä ö 日"
    assert ranges_label([(0x20, 0x20), (0x2423, 0x2423)]) == "␣ \\␣"
    assert ranges_label([(0, 0x10FFFF)]) == "any"
    assert ranges_label([(0, 9), (11, 0x10FFFF)]) == "all but \\n"
    assert len(ranges_label([(2 * k, 2 * k) for k in range(30, 600)])) <= 20


def test_the_strip_marks_how_each_token_came_about() -> None:
    session = toy_session()
    packet = plain(strip_packet(session.trace, session.vocabulary))
    assert [token["text"] for token in packet["tokens"]] == ["foo", "food", "EOS"]
    assert [token.get("by", "sampler") for token in packet["tokens"]] == ["user", "user", "sampler"]
    assert ["forced" in token for token in packet["tokens"]] == [False, False, True]
    # What is usual is left out, for a notebook keeps every token.
    assert set(packet["tokens"][0]) <= {"id", "text", "surprisal", "by", "intervention"}
    assert all(value is not False for token in packet["tokens"] for value in token.values())
    assert packet["tokens"][0]["surprisal"] == pytest.approx(-math.log2(0.34), abs=1e-3)


def test_over_time_has_a_value_per_position() -> None:
    trace = toy_session().trace
    lines = over_time(trace)
    assert lines.allowed == (3, 3, 1, 0)
    assert lines.z[0] == pytest.approx(0.64) and lines.z[-1] is None
    assert lines.chosen[:2] == pytest.approx((0.34, 0.22)) and lines.chosen[-1] is None


def test_the_plotly_figure_holds_the_same_values_and_escapes() -> None:
    pytest.importorskip("plotly")
    from widgets.figures.panels.plotly_figures import trace_figure

    vocabulary = explorer.Vocabulary.from_bytes(HOSTILE, eos_ids=[len(HOSTILE)])
    trace = hash_session(vocabulary, r"(?s:.)*", 4).trace
    figure = cast(Any, trace_figure(trace))
    assert list(figure.data[0].y) == list(over_time(trace).z)
    assert not [words for words in figure.data[0].text if "<" in words]


def test_a_run_stores_each_row_once_and_names_the_same_masks() -> None:
    session = toy_session()
    packet = plain(trace_packet(session.trace, session.machine))
    assert len(packet["positions"]) == 4 and len(packet["rows"]) == 3
    for k, position in enumerate(packet["positions"]):
        row = unpack_bits(packet["rows"][position["row"]], packet["num_classes"])
        allowed = session.trace.allowed(k) & (not session.trace.positions[k].finished)
        assert row[session.trace.token_class].tolist() == allowed.tolist()


def test_sizes_at_131_072_tokens(tekken_131k: explorer.Vocabulary) -> None:
    session = hash_session(tekken_131k, r'"([^"\\\x00-\x1f]|\\["\\/bfnrt])*"', 6)
    trace, dfa = session.trace, session.machine
    assert dfa is not None
    vocabulary = vocabulary_packet(tekken_131k)
    assert size(vocabulary) <= 1_500_000
    texts = cast("dict[str, list[str]]", decompress(str(vocabulary["data"])))
    assert len(texts["text"]) == len(tekken_131k)
    assert size(class_packet(dfa)) <= 64_000
    drawn = machine_packet(dfa)
    assert size(drawn) <= 200_000
    for k in range(len(trace.positions)):
        assert size(position_packet(trace, k, dfa)) <= 64_000
    # A thousand steps of this kind stay within 5 MB.
    assert size(trace_packet(trace, dfa)) / len(trace.positions) * 1_000 <= 5_000_000
    for k in range(3):
        assert len(snapshot(trace, k, dfa).svg) <= 200_000


def test_the_path_of_a_long_text_is_cut() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a" * 50], eos_ids=[1])
    session = hash_session(vocabulary, "a*b?", 0)
    for _ in range(30):
        session.step(0)
    packet = plain(position_packet(session.trace, len(session.trace.steps), session.machine))
    assert len(session.trace.data) > 1_000
    assert len(packet["lit"]["characters"]["nodes"]) <= 256 + 2


def test_no_constraint_is_a_machine_like_any_other() -> None:
    """The figures are handed the machine of the session: `Free`, not the absence of a machine."""
    session = Session(ToyModel(), None)
    session.step()
    data = PageData(session)
    assert data.machine is session.machine and isinstance(data.machine, Free) and data.free
    packet = plain(data.position(session.trace, 1))
    assert (packet["lit"], packet["row"], packet["spans"], packet["expects"]) == ({}, "", [], "")
    assert [bar["reason"] for bar in packet["top"]] == [None] * len(packet["top"])
    assert data.machines(None, explorer.Budget()) == data.classes() == {"key": ""}
    assert data.traps(session.trace) == []
    still = snapshot(session.trace, 1, session.machine)
    assert "(no constraint)" in still.svg and "Constraint:" not in still.text
    assert plain(trace_packet(session.trace, session.machine))["rows"] == []
