"""The page on coalescence is what its figures say, and they say what was claimed."""

from __future__ import annotations

import json
from typing import Any

import explorer
from tests.bench.coalescence import POKEDEX, RESULTS, TABLE, table


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


def test_the_schema_is_theirs() -> None:
    constraint = explorer.json_schema(POKEDEX)
    entry = {
        "alias": "pika", "description": "Ab1 x.", "type": "Electric", "height_m": "0.4",
        "weight_kg": "6.0", "evolution_stage": "Stage 1", "legendary": False,
        "abilities": ["Static", "Dust"],
    }  # fmt: skip
    assert constraint.accepts(json.dumps(entry, separators=(",", ":")))
    assert not constraint.accepts(json.dumps({**entry, "alias": "toolong"}, separators=(",", ":")))
    too_many = {**entry, "abilities": ["Dust"] * 8}
    assert not constraint.accepts(json.dumps(too_many, separators=(",", ":")))
