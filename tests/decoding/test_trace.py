"""Traces: what they keep, and files that are damaged."""

from __future__ import annotations

import copy
import json
import math
import random
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.analysis.session import Session
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.trace import Trace, from_json
from explorer.decoding.trace.writing import to_json
from explorer.errors import DamagedFile
from tests.decoding.models import hash_model
from tests.decoding.traces import PATTERNS, at, example, finding, load, places, shown
from tests.evidence import LONG, examples

# A trace goes to a file and back, and a damaged file says where it is damaged.


@given(
    st.sampled_from([*PATTERNS, None]),
    st.integers(0, 2**64 - 1),
    st.integers(1, 12),
    st.sampled_from([Sampler(0.0), Sampler(1.0), Sampler(0.5, top_k=3), Sampler(2.0, min_p=0.1)]),
    st.sampled_from(["", "hi", "\u00e9\U0001f600", [{"role": "user", "content": "hi"}]]),
    st.sampled_from([None, 9]),
)
def test_a_trace_comes_back_from_json(
    pattern: str | None, seed: int, count: int, sampler: Sampler, prompt: Any, limit: int | None
) -> None:
    constraint = None if pattern is None else explorer.regex(pattern)
    made = Session(hash_model(), constraint, prompt, sampler=sampler, seed=seed, max_tokens=limit)
    trace = made.run(count)
    again = from_json(to_json(trace))
    assert again == trace
    assert to_json(again) == to_json(trace)
    assert again.summary() == trace.summary()
    for k in range(len(trace.positions)):
        assert (again.allowed(k) == trace.allowed(k)).all()


def test_a_finding_comes_back_from_json() -> None:
    trace = finding()
    assert from_json(to_json(trace)) == trace
    assert trace.rejection is not None and trace.unread == (1,)


def test_a_trace_of_the_release_before_loads() -> None:
    path = Path(__file__).parent / "data" / "trace-2.json"
    trace = Trace.load(path)
    assert trace.text and trace.finished
    assert json.loads(to_json(trace)) == json.loads(path.read_bytes())


def test_a_file_keeps_what_is_not_compared_too(tmp_path: Path) -> None:
    trace = example()
    trace.save(tmp_path / "run.json")
    again = Trace.load(tmp_path / "run.json")
    for one, other in zip(trace.positions, again.positions, strict=True):
        if one.distribution is not None and other.distribution is not None:
            assert other.distribution.timing == one.distribution.timing
            assert other.distribution.computed == one.distribution.computed


# --- what the checksum and the bounds are for ---------------------------------------------------


def changed(value: Any) -> Any:
    """Another value of the same kind, as near as one can get."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value * (1 + 1e-9) or 1e-300
        case str():
            return value[:-1] if value else "x"
        case None:
            return 0
        case list():
            return [*value, value[-1] if value else 0]
        case _:
            return {**value, "0": "more"}


@pytest.mark.parametrize("trace", [example(), finding()], ids=["run", "finding"])
def test_no_value_can_be_changed_for_another(trace: Trace) -> None:
    document = json.loads(to_json(trace))
    by_checksum = 0
    for path in places(document):
        damaged = copy.deepcopy(document)
        at(damaged, path[:-1])[path[-1]] = changed(at(document, path))
        with pytest.raises(DamagedFile) as caught:
            from_json(json.dumps(damaged).encode(), "run.json")
            pytest.fail(f"{shown(path)} was read")
        by_checksum += caught.value.evidence["place"] == "sha256"
    assert by_checksum > 20


def test_layout_and_the_order_of_keys_may_change() -> None:
    trace = example()
    document = json.loads(to_json(trace))
    turned = dict(reversed(document.items()))
    assert from_json(json.dumps(turned, indent=2, ensure_ascii=True).encode()) == trace


def test_states_and_sizes_are_within_the_machine() -> None:
    document = json.loads(to_json(example()))
    machine = document["constraint"]
    for path, wrong, what in [
        (("positions", 1, "state"), machine["num_states"], "a whole number from"),
        (("positions", 1, "char_state"), machine["num_char_states"], "a whole number from"),
        (("positions", 1, "distribution", "entropy_after"), 33.0, "`float` <= 32.0"),
        (("constraint", "num_classes"), 10**6, "a whole number from"),
        (("constraint", "num_rows"), 2 * len(document["positions"]) + 1, "a whole number from"),
        (("tokens", "size"), 2**30, "`int` <="),
        (("steps", 0, "model"), math.nan, "JSON is malformed"),
        (("steps", 0, "token"), 10**6, "an id among"),
    ]:  # fmt: skip
        damaged = copy.deepcopy(document)
        at(damaged, path[:-1])[path[-1]] = wrong
        with pytest.raises(DamagedFile, match=what):
            load(damaged)


def peak_of_refusing(data: bytes, words: str) -> int:
    """The most memory that is taken while a document is refused, in bytes."""
    tracemalloc.start()
    try:
        with pytest.raises(DamagedFile, match=words):
            from_json(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_what_is_no_trace_takes_no_memory() -> None:
    assert peak_of_refusing(b"[" + b"[]," * 20_000_000 + b"[]]", "values") < 10**6
    head = to_json(example()).split(b'"positions"')[0]
    lists = b"[" + b"[]," * 2**21 + b"[]]"
    shown = peak_of_refusing(
        head + b'"positions":' + lists + b"}", r"positions\[0\]: Expected `object`"
    )
    assert shown < 10**6
    document = to_json(example())
    start = document.index(b'"source":') + len(b'"source":')
    end = document.index(b',"num_states"')
    taken = peak_of_refusing(document[:start] + lists + document[end:], "sha256")
    assert taken < 3 * 150 * 2**20


# --- what it says -----------------------------------------------------------------------------


def test_a_trace_has_one_position_more_than_steps() -> None:
    trace = example()
    assert len(trace.positions) == len(trace.steps) + 1 == len(trace) + 1
    for k, step in enumerate(trace.steps):
        assert step.before is trace.positions[k]
        assert step.text == (step.data or b"").decode(errors="replace")
        assert trace.positions[k + 1].data == trace.positions[k].data + (step.data or b"")
    assert trace.text == trace.data.decode()


def test_text_comes_from_the_bytes_of_tokens() -> None:
    made = Session(hash_model(), explorer.literal("é"))
    made.step(token=14)
    assert made.trace.text == "\ufffd" and made.trace.data == b"\xc3"
    made.step(token=15)
    assert made.trace.text == "é"


# A damaged trace says where it is damaged, and forged values do no harm.


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
        return isinstance(old, bool)
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
        (("positions", 1, "row"), 10**6),
        (("tokens", "eos_ids", 0), 10**6),
        (("constraint", "rows"), "AAAA"),
        (("constraint", "token_class"), "eJwDAAAAAAE="),
        (("seed",), -1),
    ]:
        damaged = copy.deepcopy(document)
        at(damaged, path[:-1])[path[-1]] = wrong
        with pytest.raises(DamagedFile) as caught:
            load(damaged)
        assert str(caught.value.evidence["place"]).startswith(shown(path))


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


def use(trace: Trace) -> None:
    """Everything that reads the parts of a trace."""
    str(trace)
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
    forge(LONG, examples(150))
    flip(LONG, examples(150))
