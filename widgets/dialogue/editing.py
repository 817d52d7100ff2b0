"""What is asked, changed from the page: the prompt, the constraint, the preset.

A constraint takes long to compile now and then, and a page can only say "cancel" to a kernel that
is not waiting. So an edit that compiles is answered later: its `Later` is worked out without the
cursor's lock, while everything else goes on with the old constraint, and is put in place under it.
At most one edit of a cursor counts; a newer one, or a cancel, calls the older one off.

Who cannot wait for an answer is answered at once: then the edit compiles here, within its budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from explorer.analysis.session import Session
from explorer.automata.constraint import Constraint
from explorer.automata.source import Choice, Regex
from explorer.budget import Budget
from explorer.decoding.models.load import load_model
from explorer.decoding.models.model import LanguageModel
from explorer.tokens.compile import compile
from explorer.tokens.token_dfa import TokenDFA
from widgets import kinds
from widgets.compiling.progress import Progress
from widgets.compiling.worker import CalledOff, CallOff, CompileWorker, shared_worker
from widgets.cursor import Aside, Cursor
from widgets.figures.machines.character_fsa import character_view
from widgets.toy import ToyModel, toy_constraint

COMPILE: Final = Budget(seconds=10.0)
"""Limits for a constraint that is typed: one waits for it."""

GRACE: Final = 0.5
"""Seconds that a compilation may still take when a newer one waits: a new process takes as long."""


@dataclass(frozen=True, slots=True)
class Later:
    """An answer that takes long.

    Args:
        work: What takes long; called on a thread, without the cursor's lock. Returns what puts
            the result in place, to be called inside the lock; it may have something to say.
        progress: Where it says how far it is, and hears that nobody waits any more.
    """

    work: Callable[[], Callable[[], dict[str, object] | None]]
    progress: Progress = field(default_factory=Progress)

    @classmethod
    def of(cls, make: Callable[[], dict[str, object]], progress: Progress | None = None) -> Later:
        """An answer that is made without the lock, and then only said.

        Args:
            make: Makes it, on a thread.
            progress: As above.
        """

        def work() -> Callable[[], dict[str, object]]:
            found = make()
            return lambda: found

        return cls(work, progress or Progress())


class Editing:
    """The edits of one cursor.

    Args:
        cursor: The place.
        top_k: How many tokens of the distributions are shown, in a session that an edit begins.

    Attributes:
        budget: Limits of each compilation.
        worker: What compiles; ``None`` until a page has shown the editor, or wants to wait.
    """

    def __init__(self, cursor: Cursor, *, top_k: int = 10) -> None:
        self.budget = COMPILE
        self.worker: CompileWorker | None = None
        self._cursor = cursor
        self._top_k = top_k
        self._newest = CallOff()
        self._aside: Aside | None = None  # The lines that the toy stands in for.
        self._prompt = ""  # The prompt that the page held when the toy came.
        self._written: WeakKeyDictionary[TokenDFA, tuple[str, str]] = WeakKeyDictionary()

    def ready(self) -> None:
        """A page shows the editor: have a warm worker, so that the first edit finds it."""
        if self.worker is None:
            self.worker = shared_worker()
            self.worker.warm(self._cursor.session.vocabulary)

    def text(self) -> tuple[str, str]:
        """The kind and the text of the constraint, as the user wrote it."""
        dfa = self._cursor.session.dfa
        known = None if dfa is None else self._written.get(dfa)
        return known or written(self._cursor.session.constraint)

    def cancel(self) -> None:
        """Call off what is being compiled; the last good constraint stays."""
        self._newest.call()

    def edit(self, content: Mapping[str, Any]) -> Later | None:
        """Ask something else.

        Args:
            content: ``kind`` and ``text`` of the constraint, ``prompt``, the name of the
                ``preset`` they come from, if they do, and ``later`` if the answer may come later.

        Returns:
            The rest of it, if it has to be waited for; ``None`` if it is done.

        Raises:
            ExplorerError: What the constraint or the compilation says.
        """
        self._newest.call(GRACE)
        mine = self._newest = CallOff()
        question = str(content["kind"]), str(content["text"])
        prompt = str(content.get("prompt", ""))
        worker = self._waited(content)
        session = self._cursor.session
        if content.get("preset") == kinds.TOY:
            if not isinstance(session.lm, ToyModel):
                self._aside = self._cursor.aside()
                self._prompt = prompt
            self._begin(ToyModel(), toy_constraint(), "")
            return None
        # A preset of another language needs a vocabulary that can write it.
        elsewhere = isinstance(session.lm, ToyModel) and bool(content.get("preset"))
        if question == self.text() and not elsewhere:
            self._change(None, prompt)
            return None

        def work() -> Callable[[], None]:
            lm, vocabulary, aside = session.lm, session.vocabulary, self._aside
            if elsewhere and aside is not None:
                vocabulary = aside.session.vocabulary
            elif elsewhere:
                lm = load_model("tiny")
                vocabulary = lm.vocabulary
            if worker is None:
                dfa = compile(kinds.build(*question), vocabulary, self.budget)
            else:
                dfa = worker.compile(question, vocabulary, self.budget, mine)
            character_view(dfa)  # The page needs it at once, and here no step waits for it.

            def put() -> None:
                mine.check()
                if self._cursor.session.lm is not session.lm:
                    raise CalledOff("Another model was chosen meanwhile.")
                self._written[dfa] = question
                if elsewhere and aside is not None:
                    self._back(aside, dfa, prompt)
                elif elsewhere and lm is not None:
                    self._begin(lm, dfa, prompt)
                else:
                    self._change(dfa, prompt)

            return put

        if worker is not None:
            return Later(work)
        work()()
        return None

    def _waited(self, content: Mapping[str, Any]) -> CompileWorker | None:
        """The worker, for who waits for its answer."""
        if not content.get("later"):
            return None
        if self.worker is None:
            self.worker = shared_worker()
        return self.worker

    def _change(self, dfa: TokenDFA | None, prompt: str) -> None:
        session = self._cursor.session
        fixed = isinstance(session.lm, ToyModel) or not isinstance(session.prompt, str)
        changed = None if fixed or prompt == session.prompt else prompt
        if dfa is not None or changed is not None:
            self._cursor.edit(constraint=dfa, prompt=changed)

    def _back(self, aside: Aside, dfa: TokenDFA, prompt: str) -> None:
        """The lines from before the toy, and the current one asked something else."""
        old, sampler = aside.session, self._cursor.session.sampler
        # The page of the toy has no prompt: then the last one that was typed before it counts.
        wanted = prompt or self._prompt
        typed = isinstance(old.prompt, str) and wanted not in ("", old.prompt)
        self._cursor.restore(
            aside,
            constraint=dfa,
            prompt=wanted if typed else None,
            sampler=None if sampler == old.sampler else sampler,
        )
        self._aside = None

    def _begin(self, lm: LanguageModel, constraint: Constraint | TokenDFA, prompt: str) -> None:
        session = self._cursor.session
        self._cursor.replace(
            Session(
                lm,
                constraint,
                prompt,
                sampler=session.sampler,
                seed=session.seed,
                top_k=self._top_k,
                budget=self.budget,
            )
        )


def written(constraint: Constraint | None) -> tuple[str, str]:
    """The kind and the text of a constraint, as the editor shows it.

    Args:
        constraint: The constraint.

    Example:
        >>> from explorer.automata.constraint import choice
        >>> written(choice(["yes", "no"]))
        ('choices', 'yes\\nno')
    """
    if constraint is None:
        return "regex", ""
    match constraint.source:
        case Regex():
            return "regex", constraint.source.pattern
        case Choice():
            return "choices", "\n".join(constraint.source.texts)
        case _:
            return "regex", str(constraint)


__all__ = ["COMPILE", "Editing", "Later", "written"]
