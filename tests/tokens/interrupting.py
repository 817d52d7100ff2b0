"""A machine and a session that are interrupted again and again, and asked the same once more.

`AtLines` interrupts between any two lines of the engine, so every place where an interrupt can come
is tried sooner or later; `BySignal` sends this process real SIGINTs at random times. `python -m
tests.tokens.interrupting` interrupts every kind until so many interrupts have come, and says as
JSON how many there were and what was answered otherwise than without them.
"""

from __future__ import annotations

import linecache
import pickle
import random
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final, Protocol, TypeVar, cast

import numpy as np

import explorer
from explorer import Sampler, Session, Vocabulary, regex
from explorer.tokens.machine import TokenMachine
from widgets.toy import ToyModel

T = TypeVar("T")

ENGINE: Final = str(Path(explorer.__file__).parent)
TRIES: Final = 6
"""How often one question is interrupted before it may end."""


class Asker(Protocol):
    """Asks a question until it is answered."""

    count: int

    def ask(self, question: Callable[[], T]) -> T: ...


class Undisturbed:
    """Asks once."""

    count = 0

    def ask(self, question: Callable[[], T]) -> T:
        return question()


class AtLines:
    """Interrupts before a line of the engine that is drawn.

    Not before ``with``: its line comes once more at its end, where no signal is looked for.

    Args:
        draw: Draws after how many lines.
        most: The most of them.
    """

    def __init__(self, draw: random.Random, most: int) -> None:
        self._draw, self._most, self.count = draw, most, 0
        self._left: int | None = None

    def _line(self, frame: FrameType, event: str, _: object) -> Any:
        if event == "line" and self._left is not None:
            self._left -= 1
            text = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
            if self._left <= 0 and not text.lstrip().startswith("with "):
                self._left = None
                self.count += 1
                raise KeyboardInterrupt
        return self._line

    def _call(self, frame: FrameType, event: str, _: object) -> Any:
        inside = frame.f_code.co_filename.startswith(ENGINE)
        return self._line if inside and self._left is not None else None

    def ask(self, question: Callable[[], T]) -> T:
        before = sys.gettrace()
        for _ in range(TRIES):
            self._left = self._draw.randrange(1, 2 * self._most)
            sys.settrace(self._call)
            try:
                return question()
            except KeyboardInterrupt:
                continue
            finally:
                sys.settrace(before)
        return question()


# --- what is asked --------------------------------------------------------------------

SCHEMA: Final = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "b": {"type": "array", "items": {"type": "string", "maxLength": 5}},
        "c": {"enum": ["x", "yy"]},
    },
    "required": ["a"],
    "additionalProperties": False,
}
PIECES: Final = (b"ab", b"abc", b'"}', b'{"', b'":', b"12", b" a", b"foo", b"food", b"true")


def every_byte() -> Vocabulary:
    words = [*(bytes([byte]) for byte in range(256)), *PIECES]
    return Vocabulary.from_bytes(words, eos_ids=[len(words)])


def few() -> Vocabulary:
    """Tokens with which not every text can be finished, so there is something to search."""
    words = [*b"a b ab foo d oo f 12 1 ( ) [ ]".split()]
    return Vocabulary.from_bytes(words, eos_ids=[len(words)])


def _grammar(text: str, ambiguous: bool = False) -> explorer.Constraint:
    return explorer.grammar(text, syntax="lark", ambiguous=ambiguous)


NESTED: Final = 'start: t "b"*\nt: "(" start ")" | "[" start "]" | "a"\n'
SEVERAL: Final = 'start: s\ns: s s | "a" | "ab" | "(" s ")"\n'

KINDS: Final[Mapping[str, Callable[[], TokenMachine]]] = {
    "counted": lambda: _lazy(regex("(foo|ab){2,50}d?[a-z]{0,3000}"), every_byte()),
    "few tokens": lambda: _lazy(regex("(foo)+d|(ab|a){1,40}|[0-9]{2,9}"), few()),
    "schema": lambda: _lazy(explorer.json_schema(SCHEMA), every_byte()),
    "grammar": lambda: _lazy(_grammar(NESTED), every_byte()),
    "grammar, few tokens": lambda: _lazy(_grammar(NESTED), few()),
    "two stacks": lambda: _lazy(_grammar(SEVERAL, ambiguous=True), every_byte()),
    "both": lambda: _lazy(regex("[a-z]{1,9000}") & regex(".*(foo|ab).*"), every_byte()),
}


def _lazy(constraint: explorer.Constraint, vocabulary: Vocabulary) -> TokenMachine:
    return explorer.compile(constraint, vocabulary, lazy=True)


def walked(kind: str, seed: int, asker: Asker) -> list[object]:
    """All that a machine, made anew, says along a text that is drawn."""
    ask, draw, said = asker.ask, random.Random(seed), list[object]()
    machine = cast("Any", ask(KINDS[kind]))
    state = machine.start
    for k in range(12):
        said += [ask(partial(machine.mask, state)).tolist(), ask(partial(machine.is_final, state))]
        ids = np.flatnonzero(machine.allowed(state)).tolist()
        other = draw.randrange(len(machine.vocabulary))
        if k % 4 == 0:
            said.append(ask(partial(machine.distance_to_end, state)))
            said.append(ask(partial(explorer.explain, machine, state, other)).message)
        if k % 5 == 1:
            said.append(ask(partial(machine.mask_within, state, 5)).tolist())
            said.append(ask(partial(machine.byte_state, state)))
        if not ids:
            break
        following = [
            ask(partial(machine.step, state, token))
            for token in (draw.choice(ids), draw.choice(ids))
        ]
        said += following
        if following[0] is None or following[0] < 0:
            break
        state = following[0]
    said.append(machine.num_states)
    again = pickle.loads(ask(lambda: pickle.dumps(machine)))
    return [*said, again.num_states, again.mask(state).tolist()]


def run(seed: int, asker: Asker) -> list[object]:
    """All that a session says which is stepped, moved, forked and asked something else."""
    ask, said = asker.ask, list[object]()
    lm = ToyModel()
    constraint = regex("(foo|f)+(d|r)")
    session = ask(lambda: Session(lm, constraint, sampler=Sampler(1.0), seed=seed, max_tokens=30))

    def on(session: Session, to: int) -> None:
        while session.index < to and not session.finished:
            # The interrupt may come when the step is done: then it is not taken once more.
            before = session.index
            ask(lambda at=before: session.step() if session.index == at else None)
            said.append((session.index, session.ids, session.text))

    def tell(session: Session) -> None:
        trace = ask(lambda: session.trace)
        said.append([(step.token, step.chosen_by, step.log_prob_model) for step in trace.steps])
        said.append([position.num_allowed for position in trace.positions])
        said.append(ask(session.allowed).tolist())

    on(session, 3)
    tell(session)
    ask(lambda: session.jump(1))
    said.append((session.index, session.length))
    fork = ask(lambda: session.fork(seed + 1))
    on(fork, 6)
    tell(fork)
    ask(lambda: session.run(4))
    on(session, session.length)
    other = regex("f(oo)?.*")
    ask(lambda: session.edit(constraint=other) if session.constraint is not other else None)
    said.append((session.index, session.length))
    ask(lambda: session.jump(session.length))
    on(session, 12)
    tell(session)
    again = Session.from_ids(lm.vocabulary, other, session.ids)
    tell(again)
    return said
