"""The process that compiles constraints for `widgets.compiling.worker`, and does nothing else.

It is started by a short ``-c`` program, not by forking, so that no thread and no lock of the kernel
is copied into it, and it imports neither torch nor a notebook library. It never outlives its
kernel: a thread of its own waits for the closed pipe and ends the process, also in the middle of a
compile; where C++ holds the interpreter's lock, a watchdog that needs no lock ends it soon after
the wall limit.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import sys
import threading
import time
import traceback
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO, Final, NoReturn, cast

from explorer.budget import Budget, Meter
from explorer.errors import REPORT_IT, BudgetExceeded, ExplorerError
from explorer.languages.constraint import Constraint, regex
from explorer.languages.stages.staged import Placed, stages_of, with_stages
from explorer.tokens.compile import Method, compile, compile_texts
from explorer.tokens.lazy import LazyMachine
from explorer.tokens.machine import TokenTable, storable_of, table_of
from explorer.tokens.token_dfa import TokenDFA, same_machine
from explorer.tokens.walks.trie import trie_of
from explorer.vocabulary import Vocabulary
from widgets import kinds

VOCABULARIES_KEPT: Final = 3
"""The most vocabularies that are kept; one of 131,072 tokens takes some 30 MB with its trie."""

TABLE_SHARE: Final = 0.3
"""The share of the seconds after which a table is given up: the user waits for it, and a lazy
machine is ready at once."""

WATCHDOG: Final = 5.0
"""The seconds after the wall limit at which the process ends itself, if it was not killed."""

QUICK: Final = 0.02
"""The most seconds of a composition that is repeated, to measure composing alone."""

_BOTH: Final[tuple[Method, Method]] = ("functions", "pynini")

Question = Constraint | tuple[str, str]
"""A constraint, or the kind and the text of one."""


@dataclass(frozen=True, slots=True)
class TokenBytes:
    """The part of a vocabulary that a compilation needs, as it is sent.

    Args:
        fingerprint: Its name in a `Job`.
        special: The names of ids that are not text, which a constraint may use.
    """

    fingerprint: str
    tokens: tuple[bytes | None, ...]
    eos_ids: tuple[int, ...]
    special: dict[int, str]
    empty_ids: frozenset[int]


@dataclass(frozen=True, slots=True)
class Job:
    """One compilation.

    Args:
        question: A pickled `Question` and the stages around it; pickled separately, because its
            class may not exist in the worker.
        both: Whether to compose by pynini and by functions and to compare, instead of answering
            with the machine.
    """

    question: bytes
    fingerprint: str
    budget: Budget
    seconds: float
    path: str
    both: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a message.

    Args:
        outcome: ``"ready"``; ``"done"``; ``"lazy"`` if the table is over the budget and a lazy
            machine is not; ``"failed"``; ``"unknown vocabulary"``; or ``"foreign"`` if the question
            cannot be read in the process. ``"composed"`` has the milliseconds of pynini and those
            of functions in ``times``. ``"busy"`` is used only in the kernel, which may ask again.
        error: The exception, if it failed.
    """

    outcome: str
    error: Exception | None = None
    reason: str = ""
    times: tuple[float, float] | None = None
    table: TokenDFA | None = None


def send(pipe: BinaryIO, message: bytes) -> None:
    """Send a message, preceded by its length; pipes of standard streams exist on every system."""
    pipe.write(len(message).to_bytes(8, "little"))
    pipe.write(message)
    pipe.flush()


def receive(pipe: BinaryIO) -> bytes:
    """The next message.

    Raises:
        EOFError: There is no further message, or it is incomplete.
    """
    length = int.from_bytes(_exactly(pipe, 8), "little")
    return _exactly(pipe, length)


def _exactly(pipe: BinaryIO, length: int) -> bytes:
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return data


def serve(inbox: BinaryIO, outbox: BinaryIO) -> NoReturn:
    """Answer messages until the pipe is closed.

    Args:
        inbox: The pipe with `TokenBytes` and `Job` messages.
        outbox: The pipe for an `Outcome` per message, and a first one when the process is warm.
    """
    messages: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(inbox, messages), daemon=True).start()
    _warm()
    vocabularies: OrderedDict[str, Vocabulary] = OrderedDict()
    answer = Outcome("ready")
    while True:
        send(outbox, _dumps(answer))
        message: TokenBytes | Job = pickle.loads(messages.get())
        if isinstance(message, TokenBytes):
            answer = _keep(message, vocabularies)
        else:
            answer = _run(message, vocabularies)


def _listen(inbox: BinaryIO, messages: SimpleQueue[bytes]) -> None:
    last = b""
    with suppress(EOFError, OSError):
        while True:
            last = receive(inbox)
            messages.put(last)
    # The kernel is gone, so the file for the answer is removed here.
    with suppress(Exception):
        message: TokenBytes | Job = pickle.loads(last)
        if isinstance(message, Job):
            Path(message.path).unlink()
    os._exit(0)  # The main thread may be deep in a compile.


def _warm() -> None:
    """Load the machine code of the kernels, and everything else that a first compile imports."""
    toy = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])
    compile(regex("(foo)+d"), toy)
    import_module("explorer.tokens.filtered.apply")
    _with_pynini()


def _keep(words: TokenBytes, vocabularies: OrderedDict[str, Vocabulary]) -> Outcome:
    if words.fingerprint in vocabularies:
        return Outcome("done")
    while len(vocabularies) >= VOCABULARIES_KEPT:
        vocabularies.popitem(last=False)
    vocabularies[words.fingerprint] = Vocabulary(
        words.tokens, words.eos_ids, special=words.special, empty_ids=words.empty_ids
    )
    trie_of(vocabularies[words.fingerprint], None)
    return Outcome("done")


def _run(job: Job, vocabularies: OrderedDict[str, Vocabulary]) -> Outcome:
    vocabulary = vocabularies.get(job.fingerprint)
    if vocabulary is None:
        return Outcome("unknown vocabulary")
    vocabularies.move_to_end(job.fingerprint)
    try:
        question, stages = cast("tuple[Question, tuple[Placed, ...]]", pickle.loads(job.question))
    except Exception:  # The absence of a notebook's class may raise anything.
        return Outcome("foreign")
    faulthandler.dump_traceback_later(job.seconds + WATCHDOG, exit=True)
    limit = _limit_memory(2 * job.budget.bytes)
    try:
        made = staged_constraint(question, stages)
        if job.both:
            return compose_both(made, vocabulary, job.budget, Path(job.path))
        # A table, or else a lazy machine. The kernel, which has the tokenizer, puts the filters
        # over tokens around it.
        machine = compile_soon(made, vocabulary, job.budget)
        storable = storable_of(machine)
        if storable is None:
            return Outcome("lazy", reason=machine.report.reason)
        storable.save(Path(job.path))
    except MemoryError:
        return Outcome("failed", _out_of_memory(limit))
    except Exception as error:  # The kernel shows any error.
        if not isinstance(error, ExplorerError):
            error.add_note(traceback.format_exc())
        return Outcome("failed", error)
    finally:
        faulthandler.cancel_dump_traceback_later()
    return Outcome("done")


@cache
def _with_pynini() -> bool:
    """Whether pynini is installed; loads it, so that loading does not count as composing."""
    if find_spec("pynini") is None:
        return False
    toy = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])
    compile(regex("(foo)+d"), toy, method="pynini")
    return True


def compose_both(
    constraint: Constraint, vocabulary: Vocabulary, budget: Budget, path: Path
) -> Outcome:
    """Compose by functions and by pynini, and compare the two machines state by state.

    Args:
        path: The file for the machine that pynini composed.

    Raises:
        ExplorerError: It cannot be compiled, or the machines differ.
    """
    if not _with_pynini():
        return Outcome("composed", reason="pynini is not installed")
    tables: dict[Method, TokenTable] = {}
    times: dict[Method, float] = {}
    began = time.perf_counter()
    # The first composition over a vocabulary also builds its trie; the second is composition alone.
    while len(tables) < len(_BOTH) or time.perf_counter() - began < QUICK:
        for method in _BOTH:
            machine = compile_texts(constraint, vocabulary, Meter(budget), None, method)
            table, storable = table_of(machine), storable_of(machine)
            if table is None or storable is None:
                return Outcome("composed", reason=machine.report.reason)
            tables[method] = table
            # For functions, trimming is a separate stage; for pynini it is part of composing.
            stages = table.report.milliseconds
            spent = stages["composition"] + (method == "functions") * stages["trimming"]
            times[method] = min(spent, times.get(method, spent))
            if method == "pynini":
                storable.save(path)
    ours, theirs = (tables[method] for method in _BOTH)
    if not same_machine(ours, theirs):
        raise ExplorerError(
            "pynini composes a different machine.",
            remedy=REPORT_IT,
            evidence={"constraint": str(constraint)},
        )
    return Outcome("composed", times=(times["pynini"], times["functions"]))


def compile_soon(
    constraint: Constraint, vocabulary: Vocabulary, budget: Budget
) -> TokenDFA | LazyMachine:
    """Compile for a waiting user: a table if it is ready soon, else a lazy machine.

    Args:
        budget: Limits. A table may take `TABLE_SHARE` of the seconds, the lazy machine all of them.

    Raises:
        BudgetExceeded: A limit was reached by the lazy machine too.
    """
    soon = replace(budget, seconds=TABLE_SHARE * budget.seconds)
    try:
        return compile_texts(constraint, vocabulary, Meter(soon))
    except BudgetExceeded as error:
        if error.resource != "seconds":
            raise
        rest = replace(budget, seconds=budget.seconds - soon.seconds)
        machine = compile_texts(constraint, vocabulary, Meter(rest), lazy=True)
        return machine.with_reason(error.message)


def staged_constraint(question: Question, stages: tuple[Placed, ...]) -> Constraint:
    """The constraint of a question, with some stages around it instead of its own.

    Args:
        question: A constraint, or its kind and text.
    """
    made = question if isinstance(question, Constraint) else kinds.constraint_of_kind(*question)
    if stages == stages_of(made.source):
        return made
    return Constraint(with_stages(made.source, stages))


def _limit_memory(more: int) -> int:
    """Limit the process to some more bytes of address space than it has; return the new limit.

    Linux only, because elsewhere neither the present size nor the limit is reliable.
    """
    if sys.platform != "linux":
        return 0
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = pages * resource.getpagesize() + more
    if most != resource.RLIM_INFINITY:
        wanted = min(wanted, most)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, most))
    return wanted


def _out_of_memory(limit: int) -> ExplorerError:
    return ExplorerError(
        f"The compilation needed more memory than its process may take ({limit / 1e9:.1f} GB).",
        remedy="Make the constraint smaller: bounded repeats multiply.",
        evidence={"limit": limit},
    )


def _dumps(answer: Outcome) -> bytes:
    try:
        return pickle.dumps(answer)
    except Exception:  # A library's error that cannot be pickled is sent as text.
        told = RuntimeError(f"{type(answer.error).__name__}: {answer.error}")
        for note in getattr(answer.error, "__notes__", ()):
            told.add_note(note)
        return pickle.dumps(Outcome(answer.outcome, told))


def main() -> NoReturn:
    """Run the process: messages on its standard input, answers on its standard output.

    Everything that is printed goes to standard error, which the kernel keeps.
    """
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(inbox, outbox)
