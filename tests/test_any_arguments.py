"""Every public callable with values of every kind: a success or an error of ours, nothing else.

One value is wrong everywhere, and is refused by its name or the parameter's, with a remedy. The
sentences about other wrong values are in `tests/data/sentences.txt`. The callables are found by
looking, so that a new one is tested at once; a parameter whose name is new needs a usable value in
`USABLE`. What may come out besides our own errors: the system's errors about a file.
"""

from __future__ import annotations

import inspect
import itertools
import random
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import tokenizers
import torch

import explorer
import widgets
from explorer import grammars
from explorer.budget import Meter
from explorer.decoding.models.model import Reading
from explorer.errors import ExplorerError
from explorer.languages.stages.normalized import ValidUtf8
from tests.decoding.models import Fixed, hash_model


class NoRepr:
    def __repr__(self) -> str:
        raise ZeroDivisionError("no repr")


class Odd:
    """A value that nothing takes."""

    def __repr__(self) -> str:
        return "<odd>"


class Raises(list[Any]):
    """A list that cannot be iterated, nor counted."""

    def __iter__(self) -> Any:
        raise ZeroDivisionError

    def __len__(self) -> int:
        raise ZeroDivisionError


class RaisesItems(dict[str, Any]):
    """A mapping that cannot be read."""

    def items(self) -> Any:
        raise ZeroDivisionError

    def keys(self) -> Any:
        raise ZeroDivisionError

    def __iter__(self) -> Any:
        raise ZeroDivisionError


def raises_later() -> Iterator[int]:
    yield 0
    raise ZeroDivisionError


def refuse(*_: object) -> Any:
    raise ZeroDivisionError("a method of somebody's own")


def touchy(base: type) -> type:
    """A class of plain values whose methods all raise: comparison, hash, conversion, text."""
    names = "eq ne lt le gt ge hash index int float str repr bool add sub len iter contains"
    own = {f"__{name}__": refuse for name in names.split() if hasattr(base, f"__{name}__")}
    return type(f"Touchy{base.__name__.title()}", (base,), own | {"encode": refuse})


TouchyInt, TouchyFloat, TouchyStr = touchy(int), touchy(float), touchy(str)


@cache
def things() -> dict[str, Any]:
    """A usable value of each kind."""
    vocabulary = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"d", None], eos_ids=[4])
    constraint = explorer.regex("(foo){1,3}d")
    dfa = explorer.compile(constraint, vocabulary)
    model = hash_model()
    return {
        "vocabulary": vocabulary,
        "constraint": constraint,
        "dfa": dfa,
        "lm": model,
        "masks": dfa.to("cpu"),
        "sampler": explorer.Sampler(0.5),
        "run": explorer.Session.from_ids(vocabulary, constraint, [0, 1, 3, 4]),
        "trace": explorer.Session.from_ids(vocabulary, constraint, [0, 1, 3, 4]).trace,
        "budget": explorer.Budget(seconds=5),
        "processor": explorer.ConstraintLogitsProcessor(vocabulary, constraint),
        "sweep": explorer.sweep("hi", explorer.regex("fo+"), model, max_tokens=4),
    }


@cache
def shown() -> dict[str, Any]:
    """The objects that notebooks show, with a model that is a table."""
    lm, constraint = widgets.ToyModel(), explorer.regex("(foo){1,3}d")
    cursor = widgets.Cursor(explorer.Session(lm, constraint))
    return {
        "toy": lm,
        "lazy": explorer.compile(constraint, lm.vocabulary, lazy=True),
        "cursor": cursor,
        "aside": cursor.aside(),
        "compare": widgets.Compare(lm, "a", None, schemes={"a": constraint}),
    }


def session() -> explorer.Session:
    made = explorer.Session(things()["lm"], things()["constraint"], sampler=explorer.Sampler(1.0))
    made.run(2)
    made.back()
    return made


# A usable value for each parameter of each public callable, by its name.
USABLE: dict[str, Callable[[], Any]] = {
    **{name: (lambda name=name: things()[name]) for name in ("vocabulary", "constraint", "dfa")},
    **{name: (lambda name=name: things()[name]) for name in ("lm", "sampler", "budget")},
    "constraints": lambda: [things()["dfa"]],
    "machine": lambda: things()["dfa"],
    "meter": Meter,
    "model": lambda: things()["lm"],
    "device": lambda: "cpu",
    "width": lambda: None,
    "pattern": lambda: "fo+",
    "part": lambda: things()["constraint"],
    "described": lambda: bool,
    "choices": lambda: ["food", "foo"],
    "schema": lambda: {"enum": ["foo"]},
    "tools": lambda: [{"type": "function", "function": {"name": "now"}}],
    "style": lambda: "hermes",
    "text_or_ids": lambda: "foo",
    "tag": lambda: {"type": "structural_tag", "format": {"type": "const_string", "value": "foo"}},
    "text": lambda: "food",
    "texts": lambda: ["food", "foo"],
    "other": lambda: things()["constraint"],
    "source": lambda: things()["constraint"].source,
    "n": lambda: 1,
    "tokens": lambda: [0, 1],
    "eos_ids": lambda: [4],
    "empty_ids": lambda: (),
    "special": lambda: {},
    "notes": lambda: (),
    "data": lambda: b"foo",
    "state": lambda: 0,
    "states": lambda: torch.zeros(1, dtype=torch.int64),
    "token": lambda: 0,
    "logits": lambda: torch.zeros(1, 5),
    "remaining": lambda: None,
    "path": lambda: "file",
    "k": lambda: 0,
    "depth": lambda: 2,
    "stage": ValidUtf8,
    "tokenizer": lambda: tokenizers.Tokenizer(tokenizers.models.BPE()),
    "prefix": lambda: "f",
    "engines": lambda: ["llguidance"],
    "start": lambda: 0,
    "end": lambda: 1,
    "log_probs": lambda: torch.zeros(1, 5),
    "seed": lambda: 0,
    "stream": lambda: 0,
    "streams": lambda: None,
    "max_tokens": lambda: 9,
    "masking_budget": lambda: True,
    "top_k": lambda: 3,
    "top_p": lambda: 0.5,
    "min_p": lambda: 0.1,
    "temperature": lambda: 1.0,
    "logits_bytes": lambda: 1000,
    "ids": lambda: [0, 1],
    "logprobs": lambda: None,
    "prompt": lambda: "hi",
    "prompts": lambda: ["hi"],
    "messages": lambda: [{"role": "user", "content": "hi"}],
    "chat.prompt.tools": lambda: None,
    "template": lambda: None,
    "until": lambda: None,
    "uniform": lambda: torch.tensor([0.5], dtype=torch.float64),
    "record": lambda: False,
    "probabilities": lambda: None,
    "history": lambda: (),
    "seconds": lambda: 5.0,
    "bytes": lambda: 10**9,
    "arcs": lambda: 10**6,
    "models": lambda: things()["lm"],
    "samplers": lambda: things()["sampler"],
    "seeds": lambda: 1,
    "table": lambda: things()["sweep"].table,
    # Of notebooks and of grammars.
    "session": session,
    "line": lambda: 0,
    "kept": lambda: shown()["aside"],
    "left": lambda: None,
    "right": lambda: None,
    "side": lambda: "left",
    "scheme": lambda: "a",
    "lookaheads": lambda: [1],
    "byte_state": lambda: 0,
    "reason": lambda: "It is large.",
    "elements": lambda: {"a": ("b",)},
    "root": lambda: "a",
    "fewest": lambda: 1,
    "name": lambda: "json",
    "cursor.run.tokens": lambda: 2,
    "cursor.step.token": lambda: None,
    "cursor.peek.token": lambda: None,
    "cursor.jump.k": lambda: 0,
    "compare.step.tokens": lambda: 1,
    "compare.take.token": lambda: 2,
    "ToyModel.tokens": lambda: {"a": 1},
    "lazy.mask_within.remaining": lambda: 3,
}


def wrong() -> list[Any]:
    """Values of every kind; each call makes them anew, as some can be used once."""
    return [
        None, True, -1, 0, 7, 2**31, 2**64, 10**30, 10**5000, 1.5, float("nan"), float("inf"), 1j,
        "", "wrong", "\ud800", "a" * 10_000, b"", b"\xff\x00", bytearray(b"a"),
        [], [None], [-1], [2**70], ["a"], [b"a"], [[1]], [1.5], (), {}, {"a": 1}, {0: b"a"}, {3},
        Raises([0]), raises_later(), RaisesItems(type="string"), {"enum": Raises([1])},
        torch.zeros((), device="meta"), object(), NoRepr(), [NoRepr()], int, len,
        Path("no"), iter([1, 2]), (x for x in "ab"),
        range(3), slice(1), np.array(3), np.array("x"), np.array([1.5]), np.zeros((2, 2)),
        np.array([None]), np.zeros(0), torch.tensor(3), torch.zeros(0), torch.zeros(2, 2),
        TouchyInt(1), TouchyFloat(0.5), TouchyStr("foo"), [TouchyInt(1)], [TouchyStr("foo")],
        {TouchyStr.__name__: TouchyStr("foo")},
        torch.zeros(1, dtype=torch.int64), torch.tensor([99]), Reading(torch.zeros(2)),
        *(things()[name] for name in ("vocabulary", "constraint", "dfa", "sampler", "trace")),
    ]  # fmt: skip


def owners() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Objects whose public methods are called, made anew where calls change them."""
    for name in ("vocabulary", "constraint", "dfa", "masks", "sampler", "trace", "run", "budget"):
        yield name, lambda name=name: things()[name]
    yield "session", session
    for name in ("toy", "lazy", "cursor", "compare"):
        yield name, lambda name=name: shown()[name]
    for name in ("Constraint", "Vocabulary", "Session", "Trace", "TokenDFA"):
        yield name, lambda name=name: getattr(explorer, name)


# What a caller's own function raises is the caller's; a number as `where` starts processes.
CALLED_BACK = {"until", "progress", "where"}
# Not called: those that read models and tokenizers, or machines of other libraries, and the
# constructors of what only `compile` and `Session.trace` make; `mask_reference_` is for tests;
# what ends a widget or is a library's, and a listener, which every move would call.
LEFT_OUT = {
    "load_model", "from_tokenizer", "from_file", "from_fsm", "from_fst", "TokenDFA", "Trace",
    "request", "errors", "mask_reference_", "canonical", "get_state", "close", "subscribe",
}  # fmt: skip


# What the engine hands to itself, or any entry of a listing, is not looked at.
TAKEN = {
    "dfa.marks.state", "dfa.marks.token", "dfa.of_constraint.constraint", "dfa.refusal.state",
    "dfa.refusal.token", "dfa.text_to.state", "lazy.with_reason.reason", "run.traps_ahead.entries",
    "toy.encode_prompt.prompt",
}  # fmt: skip


@cache
def callables() -> dict[str, Callable[[], Any]]:
    """Every public callable by name: the façade's, and the methods of the objects it returns."""
    found: dict[str, Callable[[], Any]] = {}
    for name in explorer.__all__:
        if callable(getattr(explorer, name)) and name not in LEFT_OUT:
            found[name] = lambda name=name: getattr(explorer, name)
    for name in ("Compare", "Cursor", "ToyModel"):
        found[name] = lambda name=name: getattr(widgets, name)
    # Its other methods are the protocol's, which sessions call.
    found["chat.prompt"] = lambda: explorer.load_model("tiny-chat").prompt
    for name in grammars.__all__:
        if inspect.isfunction(getattr(grammars, name)):
            found[f"grammars.{name}"] = lambda name=name: getattr(grammars, name)
    for owner, make in owners():
        one = make()
        for name in dir(type(one) if not isinstance(one, type) else one):
            static = inspect.getattr_static(one, name, None)
            if name.startswith("_") or name in LEFT_OUT:
                continue
            bound = isinstance(static, classmethod | staticmethod) == isinstance(one, type)
            is_method = inspect.isfunction(static) or isinstance(static, classmethod | staticmethod)
            # A widget has the methods of its libraries too.
            ours = str(getattr(static, "__module__", "")).startswith(("explorer.", "widgets."))
            if is_method and bound and ours:
                found[f"{owner}.{name}"] = lambda make=make, name=name: getattr(make(), name)
    return found


def usable(name: str, parameter: inspect.Parameter) -> Any:
    if name == "Budget":
        return 10.0**6
    for known in (f"{name}.{parameter.name}", parameter.name):
        if known in USABLE:
            return USABLE[known]()
    if parameter.default is not inspect.Parameter.empty:
        return parameter.default
    pytest.fail(f"{name}: give USABLE a value for {parameter.name!r}")


def parameters(name: str) -> list[inspect.Parameter]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    signature = inspect.signature(callables()[name]())
    return [
        given
        for given in signature.parameters.values()
        if given.kind not in kinds and given.name not in CALLED_BACK
    ]


def call(name: str, odd: dict[str, Any], *, caught: bool = True) -> None:
    """Call something with some odd arguments, the others usable; errors of ours may be caught."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in parameters(name):
        value = odd[parameter.name] if parameter.name in odd else usable(name, parameter)
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            positional.append(value)
        else:
            named[parameter.name] = value
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch and numpy warn about odd values of their own.
            result = callables()[name]()(*positional, **named)
            if inspect.isgenerator(result):
                list(itertools.islice(result, 20))
            del result  # A processor that was made and never called warns when it goes.
    except ExplorerError as error:
        assert error.message and error.evidence is not None
        if not caught:
            raise
    except Exception as error:
        text = ", ".join(f"{key}={type(value).__name__}" for key, value in odd.items())
        raise AssertionError(f"{name}({text}) raises {type(error).__name__}: {error}") from error


def faults(chosen: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """The outcomes of calls that are neither a result nor one of our errors."""
    found: list[str] = []
    for name, odd in chosen:
        try:
            call(name, odd)
        except AssertionError as error:
            found.append(str(error))
    return found


def all_calls() -> list[tuple[str, dict[str, Any]]]:
    return [
        (name, {parameter.name: value})
        for name in callables()
        for parameter in parameters(name)
        for value in wrong()
    ]


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, for what is written by the way."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("empty")
def test_the_callables_are_found() -> None:
    assert {
        "regex", "Session", "session.step", "Session.from_ids", "dfa.allowed", "Cursor",
        "cursor.restore", "compare.take", "toy.read", "lazy.can_finish",
        "grammars.shipped_text",
    } <= set(callables())  # fmt: skip
    for name in callables():
        call(name, {})


@pytest.mark.usefixtures("empty")
def test_any_value_anywhere_is_our_error_or_a_success() -> None:
    draw = random.Random(0)
    assert not faults(draw.sample(all_calls(), 1_200))


def refusal(name: str, odd: dict[str, Any]) -> ExplorerError | None:
    try:
        call(name, odd, caught=False)
    except ExplorerError as error:
        return error
    return None


def odd_is_refused(name: str, parameter: inspect.Parameter) -> bool:
    """Whether a value that nothing takes is refused by name, and with a remedy.

    Where the usable values do not go together, that is said first.
    """
    error = refusal(name, {parameter.name: Odd()})
    if error is None:
        return False
    if "odd" in error.message.lower() or parameter.name in error.message:
        return error.remedy.endswith(".") and len(error.remedy) > 5
    return str(error) == str(refusal(name, {}))


@pytest.mark.usefixtures("empty")
def test_what_nothing_takes_is_refused_by_name_everywhere() -> None:
    every = [(name, parameter) for name in callables() for parameter in parameters(name)]
    taken = {f"{name}.{given.name}" for name, given in every if not odd_is_refused(name, given)}
    # Traps that were found before need no budget.
    assert taken - {"run.traps.budget"} == TAKEN


def test_what_is_exact_is_taken() -> None:
    dfa, masks, one = things()["dfa"], things()["masks"], np.int64(0)
    assert dfa.allowed(one).tolist() == dfa.allowed(0).tolist() == masks.allowed(0, one).tolist()
    assert dfa.step(one, np.int32(0)) == dfa.step(0, 0)
    vocabulary, constraint, engine = (
        things()["vocabulary"],
        things()["constraint"],
        cast(Any, explorer),
    )
    assert engine.Session.from_ids(vocabulary, constraint, torch.tensor([0, 1])).text == "foo"
    odd = Fixed(vocabulary, Reading(torch.zeros(5)), torch.tensor([1, 2]))
    assert explorer.Session(odd, constraint).trace.prompt_ids == (1, 2)
    assert engine.Vocabulary.from_bytes((b"a" for _ in range(1)), eos_ids=1).eos_ids == (1,)


def test_values_whose_methods_raise_are_plain_values() -> None:
    """Hostile values themselves, inside lists, and where one of their methods would be called."""
    dfa, constraint = things()["dfa"], things()["constraint"]
    one, text = TouchyInt(1), TouchyStr("foo")
    assert explorer.Budget(states=one, seconds=TouchyFloat(0.5)) == explorer.Budget(1, seconds=0.5)
    assert explorer.literal(text).source == explorer.literal("foo").source
    assert explorer.choice([text, "foo"]).source == explorer.literal("foo").source
    assert explorer.choice({"a": text, "b": [TouchyStr("bar")]}).parse("bar") == "b"
    assert explorer.regex(text).accepts("foo")
    assert constraint.accepts(TouchyStr("food"))
    assert dfa.is_final(one) == dfa.is_final(1)
    assert dfa.step(TouchyInt(0), TouchyInt(2)) == dfa.step(0, 2)
    assert (dfa.allowed(one) == dfa.allowed(1)).all()
    assert dfa.walk([TouchyInt(0)]) == dfa.walk([0])
    moved = session()
    moved.jump(one)
    assert moved.index == 1


@pytest.mark.long
@pytest.mark.usefixtures("empty")
def test_every_value_at_every_parameter() -> None:
    assert not faults(all_calls())


@pytest.mark.long
@pytest.mark.usefixtures("empty")
def test_two_wrong_values_at_once() -> None:
    draw = random.Random()
    names = [name for name in callables() if len(parameters(name)) > 1]
    chosen: list[tuple[str, dict[str, Any]]] = []
    for _ in range(20_000):
        name = draw.choice(names)
        two = draw.sample(parameters(name), 2)
        chosen.append((name, {parameter.name: draw.choice(wrong()) for parameter in two}))
    assert not faults(chosen)
