"""The page on coalescence is what its figures say, and they say what was claimed."""

from __future__ import annotations

import json
from typing import Any

import explorer
from benchmarks.coalescence import POKEDEX, RESULTS, TABLE, table


def results() -> dict[str, Any]:
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_the_page_is_made_of_the_figures() -> None:
    assert TABLE.read_text(encoding="utf-8") == table(results())


def test_the_filter_makes_most_tokens_forced() -> None:
    for rows in results()["models"].values():
        plain, canonical = rows["plain"], rows["canonical"]
        assert plain["skipped"] / plain["tokens"] < 0.4
        assert canonical["skipped"] / canonical["tokens"] > 0.6
        assert canonical["tokens"] < plain["tokens"]
        assert canonical["run"] < canonical["step"]
        one_way = rows["bytes"]
        assert plain["skipped"] <= one_way["skipped"] < canonical["skipped"]


def test_the_pattern_is_that_of_appendix_c() -> None:
    constraint = explorer.regex(POKEDEX)
    text = (
        '{"alias":"pika","description":"Ab1 x.","type":"Electric","height_m":0.4,'
        '"weight_kg":6.0,"evolution_stage":"Stage 1","legendary":"false",'
        '"abilities":["Static","Shield Dust"]}'
    )
    entry = json.loads(text)
    assert constraint.accepts(text)
    assert entry["legendary"] == "false" and entry["height_m"] == 0.4
    # One ability of two words; neither word is an ability.
    for other in ('"Shield"', '"Dust"'):
        assert not constraint.accepts(text.replace('"Shield Dust"', other))
    assert not constraint.accepts(text.replace('"false"', "false"))
    assert not constraint.accepts(text.replace(":0.4", ':"0.4"'))
    assert not constraint.accepts(text.replace("pika", "toolong"))
    for count in (0, 1, 7, 8):
        listed = ",".join(['"Static"'] * count)
        accepted = constraint.accepts(text.replace('"Static","Shield Dust"', listed))
        assert accepted == (1 <= count <= 7)
