"""The known disagreements: noticed when an engine, or a judge, says something else."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

import pytest

import explorer
from explorer import Vocabulary
from explorer.witnesses.asking import statement_of
from explorer.witnesses.judging import judge_of
from tests.witnesses.known import KNOWN_ROWS, PAGE, VERSIONS, Known, half_token, with_rows

for library in ("outlines_core", "xgrammar", "llguidance", "jsonschema", "lark"):
    pytest.importorskip(library)

IDS = [f"{each.engine} {k}" for k, each in enumerate(KNOWN_ROWS)]


@cache
def vocabulary(trim: bool, longer: str) -> Vocabulary:
    """The single bytes, one longer token, and an end of text; without d for the trim."""
    tokens = [bytes([b]) for b in range(256) if not (trim and b == ord("d"))]
    more = [longer.encode()] if len(longer.encode()) > 1 else []
    return Vocabulary.from_bytes([*tokens, *more, None], eos_ids=[len(tokens) + len(more)])


def place(known: Known) -> tuple[Vocabulary, int]:
    """The vocabulary of a row, and the id of its token."""
    forced = known.text if known.difference == "forced tokens" else known.token
    half = half_token(known)
    made = vocabulary(known.difference == "trim", "" if half else forced)
    data = half or known.token.encode()
    return made, made.ids_of(data)[0] if data else made.eos_ids[0]


@pytest.mark.parametrize("known", KNOWN_ROWS, ids=IDS)
def test_the_engine_still_says_so_and_we_say_the_other(known: Known) -> None:
    tokens, token = place(known)
    ids = [tokens.ids_of(bytes([byte]))[0] for byte in known.prefix.encode()]
    found = explorer.witness(known.constraint, tokens, ids, engines=[known.engine])
    said = found.testimony(known.engine)
    assert said.mask is not None, said.refused
    assert bool(said.mask[token]) is known.allows, f"{known.engine} {said.version} has changed"
    each = found.disagreement(known.engine, token)
    assert each is not None and each.allows is known.allows
    assert each.kind == known.difference, each.sentence


@pytest.mark.parametrize("known", [each for each in KNOWN_ROWS if each.kind != "gbnf"])
def test_the_judge_is_against_the_engine(known: Known) -> None:
    judge = judge_of(statement_of(known.constraint))
    assert judge is not None
    assert judge.verdict(known.whole.encode()) is known.accepts
    if known.difference == "trim":  # The judge does not know which tokens there are.
        assert not place(known)[0].ids_of(b"d") and b"d" in known.whole.encode()
    else:
        assert known.accepts is not known.allows
    made, token = place(known)
    begin = known.prefix.encode() + (made.tokens[token] or b"")
    assert known.whole.encode().startswith(begin)


def test_the_rows_are_of_these_versions() -> None:
    assert {name: version(name) for name in VERSIONS} == VERSIONS
    assert len(KNOWN_ROWS) >= 10 and {each.engine for each in KNOWN_ROWS} == set(VERSIONS)


def test_the_page_has_the_rows() -> None:
    page = PAGE.read_text("utf-8")
    assert with_rows(page) == page, "python -m tests.witnesses.known writes them"
