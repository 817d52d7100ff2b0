"""Compiling in a separate process, which a cancel or a wall limit can kill.

A budget is checked only between pieces of work, reading a pattern has no budget at all, and a C++
call cannot be interrupted from a thread. Only the end of a process stops everything. So one warm
process per kernel compiles what is typed; it is killed when its answer is no longer wanted, and the
next one starts in the background at once.

The process is started with ``python -c``, so no ``__main__`` of a notebook is imported and no
thread is forked. The vocabulary is sent once per process, as its bytes; the token DFA comes back
as the file that `TokenDFA.save` writes; the rest is pickled, because both ends of the pipe are our
own code. If the table is not ready soon, the answer says so, and the kernel makes the lazy machine
at once.

A constraint of a kind that a notebook registered is built in the kernel, where nothing can kill it,
and sent as a value. A constraint of a class of the notebook cannot be sent; it is compiled in the
kernel within its budget, like every constraint on a host that starts no processes. A cancel then
only drops the answer.
On Linux each job may take twice its budget's bytes of address space beyond what the process has;
past that, allocations fail in the child and not in the kernel that holds the model.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final
from weakref import WeakSet

from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.sources import registry
from explorer.languages.stages.staged import Placed, stages_of, unstaged
from explorer.tokens.compile import compile_texts
from explorer.tokens.filtered.apply import filtered
from explorer.tokens.machine import TokenMachine
from explorer.tokens.shared import kept_machine
from explorer.tokens.token_dfa import load_texts
from explorer.vocabulary import Vocabulary
from widgets import kinds
from widgets.compiling.child import Child, Gone
from widgets.compiling.worker_process import (
    Job,
    Outcome,
    Question,
    TokenBytes,
    compile_soon,
    staged_constraint,
)
from widgets.dialogue.later import CalledOff

MARGIN: Final = 3.0
"""The seconds after the budget's at which a job is killed; reading and answering need them."""

START: Final = 60.0
"""The most seconds until a process is warm; half a second is usual."""

GRACE: Final = 0.2
"""The seconds that a composition for a picture may still take when a constraint is asked for:
enough for nearly all of them, and starting a new process takes longer."""

_POLL: Final = 0.05


class CallOff:
    """A handle that cancels one compilation, from any thread.

    Example:
        >>> off = CallOff()
        >>> off.call()
        >>> off.called
        True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kill: Callable[[], None] | None = None
        self.called = False

    def call(self, grace: float = 0.0) -> None:
        """Drop the answer, and kill the process if it is working on this compilation.

        Args:
            grace: The seconds that it may still take: a process that finishes soon need not be
                replaced.
        """
        self.called = True
        if grace > 0:
            timer = threading.Timer(grace, self.stop)
            timer.daemon = True
            timer.start()
        else:
            self.stop()

    def stop(self) -> None:
        """Kill the process if it is working on this compilation."""
        with self._lock:
            if self._kill is not None:
                self._kill()

    def check(self) -> None:
        """Raise `CalledOff` if it was called off."""
        if self.called:
            raise CalledOff("The compilation was called off.")

    @contextmanager
    def over(self, kill: Callable[[], None]) -> Generator[None]:
        """A context in which a cancel kills the process."""
        with self._lock:
            self._kill = kill
        try:
            if self.called:
                self.stop()
            yield
        finally:
            with self._lock:
                self._kill = None


@dataclass(frozen=True, slots=True)
class _OnlyLazy:
    """The answer that the table is over the budget."""

    reason: str


class CompileWorker:
    """Compiles constraints in one warm process at a time; see the module.

    Jobs wait for each other, and a job's wall limit begins with its turn.

    Example:
        >>> from explorer import Budget, Vocabulary
        >>> worker = CompileWorker()
        >>> toy = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])
        >>> worker.compile(("regex", "(foo)+d"), toy, Budget(seconds=10)).num_states
        4
        >>> worker.close()
    """

    def __init__(self, *, margin: float = MARGIN) -> None:
        self._margin = margin
        self._turn = threading.Lock()
        self._composing: CallOff | None = None
        self._child: Child | None = None
        self._closed = False
        self.unavailable = ""
        atexit.register(self.close)
        _WORKERS.add(self)

    @property
    def pid(self) -> int | None:
        """The process id of the running process; ``None`` if there is no such process."""
        child = self._child
        return None if child is None else child.process.pid

    def warm(self, vocabulary: Vocabulary | None = None) -> threading.Thread:
        """Start the process in the background, if none is running.

        Returns:
            The thread that starts it.
        """
        thread = threading.Thread(target=self._warm, args=(vocabulary,), daemon=True)
        thread.start()
        return thread

    def compile(
        self,
        question: Question,
        vocabulary: Vocabulary,
        budget: Budget,
        call_off: CallOff | None = None,
        stages: tuple[Placed, ...] | None = None,
    ) -> TokenMachine:
        """Compile, and wait for it.

        Args:
            question: A constraint, or its kind and text.
            vocabulary: The tokens.
            budget: Limits of the compilation. The wall limit is its seconds plus the margin.
            call_off: A handle that can cancel it.
            stages: The stages around it; by default those of the constraint.

        Returns:
            The token DFA, with its constraint and report. If this kernel already uses one for an
            equal constraint, it is that one. If the table is too large or not ready soon, it is a
            lazy machine, whose ``report.reason`` says why. Stages that filter tokens are put around
            it in the kernel.

        Raises:
            CalledOff: It was called off.
            BudgetExceeded: A limit was reached by the lazy machine too, or the wall limit was.
            ExplorerError: The compilation raised it, or the process broke down.
        """
        off = call_off or CallOff()
        if isinstance(question, tuple) and not registry.is_built_in(question[0]):
            question = kinds.constraint_of_kind(*question)
        if stages is None:
            stages = stages_of(question.source) if isinstance(question, Constraint) else ()
        if (composing := self._composing) is not None:
            composing.call(GRACE)
        with self._my_turn(off):
            answer = self._there(question, stages, vocabulary, budget, off)
            made_soon = None if isinstance(answer, Outcome) else answer
        asked = (
            None if made_soon is None or isinstance(made_soon, _OnlyLazy) else made_soon.constraint
        )
        made = staged_constraint(question if asked is None else asked, stages)
        if made_soon is None:
            made_soon = compile_soon(made, vocabulary, budget)
        elif isinstance(made_soon, _OnlyLazy):
            lazy = compile_texts(made, vocabulary, Meter(budget), lazy=True)
            made_soon = lazy.with_reason(made_soon.reason)
        off.check()
        return kept_machine(filtered(made_soon, made, budget), made, vocabulary, budget)

    def composed(
        self, constraint: Constraint, vocabulary: Vocabulary, budget: Budget
    ) -> Outcome | None:
        """Compose by pynini and by functions in the process, and compare.

        Returns:
            Both times and pynini's machine, or the reason why it composed nothing; the outcome
            ``"busy"`` if a constraint is being compiled, or the process is not ready yet;
            ``None`` if the process cannot do it.

        Raises:
            ExplorerError: The compilation raised it, or the two machines differ.
        """
        stages = stages_of(constraint.source)
        if self._turn.locked():  # A page waits for a constraint, which is more urgent.
            return Outcome("busy")
        off = self._composing = CallOff()
        try:
            with self._my_turn(off):
                if self._child is None:
                    return None if self.unavailable else Outcome("busy")
                answer = self._there(constraint, stages, vocabulary, budget, off, both=True)
        except CalledOff:  # A constraint was asked for meanwhile.
            return Outcome("busy")
        finally:
            self._composing = None
        return answer if isinstance(answer, Outcome) else None

    def close(self) -> None:
        """End the process. Later compilations run in this process."""
        self._closed = True
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            # A thread that waits for it gets an error and cleans up; at exit, threads just stop.
            told = self._turn.acquire(timeout=1)
            child.close()
            if told:
                self._turn.release()
        atexit.unregister(self.close)

    # --- one turn -----------------------------------------------------------------------------

    @contextmanager
    def _my_turn(self, off: CallOff) -> Generator[None]:
        while not self._turn.acquire(timeout=_POLL):
            off.check()
        try:
            off.check()
            yield
        finally:
            self._turn.release()

    def _there(
        self,
        question: Question,
        stages: tuple[Placed, ...],
        vocabulary: Vocabulary,
        budget: Budget,
        off: CallOff,
        both: bool = False,
    ) -> TokenMachine | _OnlyLazy | Outcome | None:
        """The token DFA from the process, or the reason why there is only a lazy machine.

        ``None`` if it cannot be compiled in the process.
        """
        try:
            if stages and isinstance(question, Constraint):
                question = Constraint(unstaged(question.source))
            packed = pickle.dumps((question, tuple((one.to_send(), on) for one, on in stages)))
        except Exception:  # A notebook's own class may raise anything.
            return None
        child = self._started()
        if child is None:
            return None
        try:
            handle, name = tempfile.mkstemp(prefix="explorer-", suffix=".dfa")
        except OSError:  # There is no place for the file of the answer.
            return None
        os.close(handle)
        path = Path(name)
        try:
            return self._ask(child, packed, vocabulary, budget, path, off, both)
        finally:
            path.unlink(missing_ok=True)

    def _ask(
        self,
        child: Child,
        packed: bytes,
        vocabulary: Vocabulary,
        budget: Budget,
        path: Path,
        off: CallOff,
        both: bool,
    ) -> TokenMachine | _OnlyLazy | Outcome | None:
        seconds = budget.seconds + self._margin
        job = Job(packed, _key(vocabulary), budget, seconds, str(path), both)
        began = time.perf_counter()
        late = threading.Event()

        def expire() -> None:
            late.set()
            child.kill()

        try:
            with off.over(child.kill), _timer(seconds, expire):
                answer = child.ask(job)
                if answer.outcome == "unknown vocabulary":
                    child.ask(_words(vocabulary))
                    answer = child.ask(job)
        except Gone:
            said = self._lose(child)
            if not self._closed:
                self.warm(vocabulary)
            off.check()
            if late.is_set():
                raise BudgetExceeded(
                    "seconds",
                    limit=budget.seconds,
                    reached=time.perf_counter() - began,
                    stage="Reading and compiling the constraint",
                ) from None
            raise _broke_down(child.process.returncode, said) from None
        if answer.error is not None:
            raise answer.error
        if answer.outcome == "composed":
            drawn = load_texts(path, vocabulary) if answer.times is not None else None
            return replace(answer, table=drawn)
        if answer.outcome == "lazy":
            return _OnlyLazy(answer.reason)
        if answer.outcome != "done":
            return None
        return load_texts(path, vocabulary)

    def _started(self) -> Child | None:
        """The process, started and warm; ``None`` if it cannot start. The caller has the turn."""
        if self._child is not None and self._child.ended:
            self._lose(self._child)
        if self._child is None and not self._closed and not self.unavailable:
            child = None
            try:
                child = Child()
                with _timer(START, child.kill):
                    child.receive()
                self._child = child
            except (OSError, ValueError, Gone) as error:
                # Not tried again: each edit would wait for it in vain.
                self.unavailable = child.close() if child is not None else str(error)
                self.unavailable = self.unavailable or "it ended at once"
            if self._closed and self._child is not None:
                self._lose(self._child)  # Closed meanwhile.
        return self._child

    def _lose(self, child: Child) -> str:
        self._child = None
        return child.close()

    def _warm(self, vocabulary: Vocabulary | None) -> None:
        with self._turn:
            child = self._started()
            if child is not None and vocabulary is not None:
                with suppress(Gone):  # Then the next compilation starts another.
                    child.ask(_words(vocabulary))

    def forget(self) -> None:
        """Give up the process in a fork of the kernel, which also holds the pipe open."""
        self._turn = threading.Lock()
        child, self._child = self._child, None
        if child is not None:
            child.release()
            child.process.returncode = 0  # It is not a child of the fork, which cannot wait for it.


_WORKERS: Final[WeakSet[CompileWorker]] = WeakSet()


def _forget_all() -> None:
    for worker in tuple(_WORKERS):
        worker.forget()


os.register_at_fork(after_in_child=_forget_all)


def _words(vocabulary: Vocabulary) -> TokenBytes:
    return TokenBytes(
        _key(vocabulary), vocabulary.tokens, vocabulary.eos_ids, dict(vocabulary.special),
        vocabulary.empty_ids,
    )  # fmt: skip


def _key(vocabulary: Vocabulary) -> str:
    """A fingerprint of the tokens and of the names of those that are not text."""
    return f"{vocabulary.fingerprint} {hash(frozenset(vocabulary.special.items()))}"


@contextmanager
def _timer(seconds: float, function: Callable[[], None]) -> Generator[None]:
    timer = threading.Timer(seconds, function)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # Afterwards it has fired or never will.


def _broke_down(code: int | None, said: str) -> ExplorerError:
    ended = f"with status {code}"
    if code is not None and code < 0:
        ended = f"by signal {signal.Signals(-code).name}"
    return ExplorerError(
        f"The process that compiles was ended {ended}. {said}".strip(),
        remedy="Make the constraint smaller; too little memory is the usual cause.",
        evidence={"returncode": code, "said": said},
    )


@cache
def shared_worker() -> CompileWorker:
    """The worker of this kernel; all explorers share it."""
    return CompileWorker()


__all__ = ["CallOff", "CompileWorker", "shared_worker"]
