"""A damaged trace says where it is damaged, and forged values do no harm."""

from __future__ import annotations

import copy
import json
import random
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.decoding.trace.trace import Trace, from_json
from explorer.decoding.trace.writing import to_json
from explorer.errors import DamagedFile
from tests.decoding.traces import at, example, finding, load, places, shown


def under(path: tuple[str | int, ...], *names: str) -> bool:
    """Whether a place lies inside of another."""
    return len(path) > len(names) and all(a == b for a, b in zip(path, names, strict=False))


# What a value of any kind cannot be at once: a list of a number, nested where lists are expected.
WRONG = [[["x"]], {"x": 1}, True, -7, 1e300, "\ud800", "wrong"]
FREE_TEXT = {"model", "prompt", "note", "pattern", "content", "role"}


def free(document: Any, path: tuple[str | int, ...], wrong: Any) -> bool:
    """Whether this value may stand there, so that nothing could be wrong with it."""
    old, name = at(document, path), next(k for k in reversed(path) if isinstance(k, str))
    if type(old) is type(wrong) and old == wrong:
        return True
    if isinstance(wrong, str) and wrong == "wrong":
        # Any text may be a name or a prompt, and a token's bytes.
        return (
            name in FREE_TEXT or under(path, "tokens", "data") or under(path, "tokens", "special")
        )
    if path == ("constraint", "source"):
        return False
    if isinstance(wrong, dict) and path == ("tokens", "special"):
        return False
    if wrong is True:
        return isinstance(old, bool) and name in ("masking_budget",)
    if wrong == 1e300 and not isinstance(wrong, bool):
        # Numbers that any size may have.
        return name in (
            "kl", "sampling", "mask", "model", "temperature",
        ) and "steps" not in path and "candidates" not in path  # fmt: skip
    if wrong == -7 and not isinstance(wrong, bool):
        # A log-probability may be -7; so may an id of a run from elsewhere.
        return (
            name in ("log_z", "first_choice_log_prob", "model", "filtered", "constrained")
            and "milliseconds" not in path
        ) or path[0] == "rejection"
    return False


@pytest.mark.parametrize("trace", [example(), finding()], ids=["run", "finding"])
def test_damage_at_any_value_is_found_and_named(trace: Trace) -> None:
    document = json.loads(to_json(trace))
    tried = 0
    for path in places(document):
        # `load` makes the checksum anew.
        if path == ("sha256",) or (under(path, "constraint", "source") and path[-1] == "pattern"):
            continue
        for wrong in WRONG:
            if free(document, path, wrong):
                continue
            damaged = copy.deepcopy(document)
            at(damaged, path[:-1])[path[-1]] = wrong
            with pytest.raises(DamagedFile) as caught:
                load(damaged)
                pytest.fail(f"{shown(path)} = {wrong!r} was read")
            assert "run.json: " in str(caught.value)
            place = caught.value.evidence["place"]
            assert isinstance(place, str)
            tried += 1
    assert tried > 500


def test_the_place_named_is_the_place_damaged() -> None:
    document = json.loads(to_json(example()))
    for path, wrong in [
        (("steps", 1, "token"), "x"),
        (("steps", 0, "uniform"), 1.0),
        (("steps", 0, "chosen_by"), "nobody"),
        (("positions", 1, "distribution", "log_z"), None),
        (("positions", 1, "distribution", "candidates", "model", 1), {}),
        (("positions", 0, "num_allowed"), 0),
        (("positions", 1, "row"), 10**6),
        (("tokens", "eos_ids", 0), 10**6),
        (("tokens", "data", "0"), {"hex": "xy"}),
        (("constraint", "rows"), "AAAA"),
        (("constraint", "token_class"), "eJwDAAAAAAE="),
        (("sampler", "top_k"), 0),
        (("seed",), -1),
    ]:
        damaged = copy.deepcopy(document)
        at(damaged, path[:-1])[path[-1]] = wrong
        with pytest.raises(DamagedFile) as caught:
            load(damaged)
        assert str(caught.value.evidence["place"]).startswith(shown(path))


def test_a_damaged_source_has_one_remedy() -> None:
    document = json.loads(to_json(example()))
    for source in ({"kind": "nothing"}, {"kind": "regex", "pattern": "(a", "flags": 0}, {}):
        document["constraint"]["source"] = source
        with pytest.raises(DamagedFile) as caught:
            load(document)
        said = str(caught.value)
        assert said.endswith(f". {caught.value.remedy}")
        for advice in ("Use the release", "Write ", "Close ", "Put ", "Take an undamaged copy."):
            assert advice not in said, said


def test_every_key_is_needed_and_no_other_is_known() -> None:
    document = json.loads(to_json(example()))
    for path in places(document):
        if under(path, "tokens", "special") or under(path, "constraint", "source"):
            continue
        parent = at(document, path[:-1])
        if path == ("sha256",):
            continue
        if isinstance(parent, dict):
            damaged = copy.deepcopy(document)
            if not under(path, "tokens", "data"):
                del at(damaged, path[:-1])[path[-1]]
                with pytest.raises(DamagedFile):
                    load(damaged)
            more = copy.deepcopy(document)
            at(more, path[:-1])["unheard-of"] = 1
            with pytest.raises(DamagedFile):
                load(more)
        else:
            damaged = copy.deepcopy(document)
            del at(damaged, path[:-1])[path[-1]]
            if path[0] not in ("prompt_ids",):
                with pytest.raises(DamagedFile):
                    load(damaged)


def test_bytes_that_break_off_anywhere_are_damaged() -> None:
    data = to_json(example())
    for end in range(0, len(data), 7):
        with pytest.raises(DamagedFile):
            from_json(data[:end])


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(DamagedFile):
        from_json(data)


def use(trace: Trace) -> None:
    """Everything that reads the parts of a trace."""
    str(trace)
    trace.to_records()
    assert trace.constraint is None or str(trace.constraint)
    for k in range(len(trace.positions)):
        trace.row(k, with_budget=False)
        assert trace.allowed(k).shape == (trace.tokens.size,)
    assert from_json(to_json(trace)) == trace


def forge(seed: int, rounds: int) -> None:
    """Forged values with a right checksum: refused, or a trace that can be used."""
    draw = random.Random(seed)
    documents = [json.loads(to_json(trace)) for trace in (example(), finding())]
    for document in documents:
        every = [path for path in places(document) if path != ("sha256",)]
        for _ in range(rounds):
            damaged = copy.deepcopy(document)
            for _ in range(draw.choice((1, 1, 2, 3))):
                path = draw.choice(every)
                with suppress(KeyError, IndexError, TypeError):  # Gone with what was forged before.
                    old = at(damaged, path)
                    new: Any = draw.choice([*WRONG, None, 0, -1, 2**31, 2**64, "", "-inf", [], {}])
                    if draw.random() < 0.3:
                        new = at(document, draw.choice(every))
                    elif isinstance(old, int) and draw.random() < 0.5:
                        new = old + draw.choice((-1, 1, 2))
                    at(damaged, path[:-1])[path[-1]] = copy.deepcopy(new)
            with suppress(DamagedFile):
                use(load(damaged))


def flip(seed: int, rounds: int) -> None:
    """Flipped bits and cut bytes: refused, or the same values."""
    draw = random.Random(seed)
    data = to_json(example())
    for _ in range(rounds):
        damaged = bytearray(data)
        for _ in range(draw.choice((1, 1, 2, 9))):
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        if draw.random() < 0.2:
            start = draw.randrange(len(damaged))
            del damaged[start : start + draw.choice((1, 2, 50, 10**6))]
        with suppress(DamagedFile):  # Another way to write the same number is no damage: 1E-05.
            assert json.loads(to_json(from_json(bytes(damaged)))) == json.loads(data)


def test_forged_values_do_no_harm() -> None:
    forge(0, 150)
    flip(0, 150)


@pytest.mark.long
def test_forged_values_for_long() -> None:
    forge(random.randrange(2**32), 10_000)
    flip(random.randrange(2**32), 20_000)
