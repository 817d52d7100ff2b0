"""The shared state of the views: the session, the lines beside it, and a selected token.

Views on the same cursor show the same place, and all of them are notified of every move. Without a
cursor each view makes its own.

A *line* is a session: the current one, those that were forked from it, and those that an edit left
behind. One re-entrant lock guards all of it, because callbacks may come from any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

from explorer.analysis.session import Session
from explorer.arguments import instance, listed, shown, whole_number, wrong
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.records import Step
from explorer.decoding.trace.trace import Trace
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.memo import memo
from explorer.tokens.machine import TokenMachine


@dataclass(frozen=True, slots=True)
class Happened:
    """The effect of the last change on the line that the views show.

    Args:
        after, generation: The cursor's generation before the change and after it.
        kept: The number of tokens of the line that stay, from the first; the others are new.
            ``None`` for another line or another question.
    """

    after: int
    generation: int
    kept: int | None


MOST_LINES: Final = 8
"""The most lines that are kept; the oldest one that is not current is dropped first."""

BEFORE: Final = " before edit "
"""The text between the name of a line that an edit left behind and the number of the edit."""


@memo
def _wholes(session: Session) -> dict[int, Trace]:
    """The traces of the whole line of a session, by generation; only the last one is kept."""
    return {}


@dataclass(frozen=True, slots=True)
class Aside:
    """All lines of a cursor, kept while it shows something else."""

    lines: tuple[tuple[str, Session], ...]
    current: int
    made: int
    edits: Mapping[str, int]

    @property
    def session(self) -> Session:
        """The line that was current."""
        return self.lines[self.current][1]


class Cursor:
    """The place that views show: a session, the lines beside it, and a selected token.

    Move the cursor rather than its session, so that all views on it are notified. It can be used
    from any thread; ``lock`` makes several calls one.

    Args:
        session: The first line.

    Raises:
        ExplorerError: The argument is not a session.

    Example:
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> cursor = Cursor(Session(ToyModel(), toy_constraint()))
        >>> moves = []
        >>> stop = cursor.subscribe(lambda: moves.append(cursor.session.text))
        >>> _ = cursor.step()
        >>> cursor.back()
        >>> moves
        ['foo', '']
    """

    def __init__(self, session: Session) -> None:
        instance("session", session, Session, "a Session")
        self.lock = threading.RLock()
        self.playing = False
        """Whether a page plays, by its last message; work for quiet moments waits meanwhile."""
        self._lines: list[tuple[str, Session]] = [("line 1", session)]
        self._current = 0
        self._made = 1
        self._edits: dict[str, int] = {}
        self._selected: int | None = None
        self._generation = 0
        self._counted = (session, session.generation)
        self.happened = Happened(0, 0, None)  # The last change that the listeners heard of.
        self._listeners: list[Callable[[], None]] = []

    @property
    def session(self) -> Session:
        """The session of the current line."""
        return self._lines[self._current][1]

    @property
    def lines(self) -> tuple[tuple[str, Session], ...]:
        """All lines, each with its name."""
        return tuple(self._lines)

    @property
    def current(self) -> int:
        """The number of the current line in `lines`."""
        return self._current

    @property
    def generation(self) -> int:
        """The number of changes so far: to another line, or moves of the current one.

        Moves of the session without the cursor count too, as one, when this is read.
        """
        with self.lock:
            session, before = self.session, self._counted
            if before[0] is not session or before[1] != session.generation:
                self._counted = (session, session.generation)
                self._generation += 1
            return self._generation

    @property
    def selected(self) -> int | None:
        """The id of the token that is looked at; ``None`` if there is none."""
        return self._selected

    @selected.setter
    def selected(self, token: int | None) -> None:
        with self.lock:
            last = len(self.session.vocabulary) - 1
            after = self.generation
            self._selected = None if token is None else whole_number("selected", token, 0, last)
            self._tell(after, self.session.length)

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Subscribe to every change.

        Args:
            listener: A function without arguments; it is called inside the lock.

        Returns:
            A function that ends the subscription.

        Raises:
            ExplorerError: The listener is not a function.
        """
        if not callable(listener):
            raise wrong("listener", listener, "a function without arguments")
        self._listeners.append(listener)

        def stop() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return stop

    # --- moving -------------------------------------------------------------------------------

    def step(self, token: int | None = None) -> Step | None:
        """Take one step: to the token that is ahead already, else to the sampler's choice.

        Args:
            token: The id of a token to take instead.

        Returns:
            The step; ``None`` if its token was ahead already.

        Raises:
            ExplorerError: The text has ended, or the token is masked.
        """
        with self.lock:
            session, after = self.session, self.generation
            taken: Step | None = None
            kept = session.length
            if token is None and session.index < session.length:
                session.forward()
            else:
                kept = session.index
                taken = session.step(token)
            self._selected = None
            self._tell(after, kept)
            return taken

    def peek(self, token: int | None = None) -> int:
        """The id of the token that `step` would take; afterwards it is ahead of the cursor.

        Args:
            token: The id of a token to take instead.

        Raises:
            ExplorerError: The text has ended, or the token is masked.
        """
        with self.lock:
            session, after = self.session, self.generation
            if token is not None or session.index == session.length:
                kept = session.index
                session.step(token)
                session.back()
                self._tell(after, kept)
            return session_ids(session)[session.index]

    def write(self, tokens: Sequence[int]) -> int | None:
        """Take some tokens up to the first that is masked.

        Args:
            tokens: Ids.

        Returns:
            The masked id; ``None`` if all were taken.

        Raises:
            ExplorerError: The text has ended, or these are not ids.

        Example:
            >>> from widgets.toy import ToyModel, toy_constraint
            >>> cursor = Cursor(Session(ToyModel(), toy_constraint()))
            >>> cursor.write([2, 0, 3]), cursor.session.text
            (3, 'foof')
        """
        with self.lock:
            session, after, kept = self.session, self.generation, self.session.index
            masked: int | None = None
            try:
                for entry in listed("tokens", tokens, "a list of ids"):
                    token = whole_number("token", entry, 0, len(session.vocabulary) - 1)
                    if not session.finished and not session.allowed()[token]:
                        masked = token
                        break
                    session.step(token)
            finally:
                self._selected = None
                self._tell(after, kept)
            return masked

    def back(self) -> None:
        """Go one token back.

        Raises:
            ExplorerError: The cursor is at the start.
        """
        with self.lock:
            after = self.generation
            self.session.back()
            self._tell(after, self.session.length)

    def jump(self, k: int) -> None:
        """Go to a position of the line.

        Args:
            k: The number of tokens before it.

        Raises:
            ExplorerError: The line has no such position.

        Example:
            >>> from widgets.toy import ToyModel, toy_constraint
            >>> cursor = Cursor(Session(ToyModel(), toy_constraint()))
            >>> _ = cursor.run(9)
            >>> cursor.jump(1)
            >>> cursor.session.text, cursor.full_trace().text
            ('foo', 'foofoofood')
        """
        with self.lock:
            after = self.generation
            self.session.jump(k)
            self._tell(after, self.session.length)

    def run(self, tokens: int) -> bool:
        """Take several steps, first to tokens that are ahead already.

        Args:
            tokens: The most steps.

        Returns:
            True if the run could go on; false if something stopped it.

        Raises:
            ExplorerError: It is not a whole number from 0, or the line cannot go on.
        """
        tokens = whole_number("tokens", tokens)
        with self.lock:
            session, after = self.session, self.generation
            ahead = min(session.length - session.index, tokens)
            session.forward(ahead)
            before = session.index
            try:
                if ahead < tokens and session.lm is not None:
                    session.run(tokens - ahead)
            finally:
                # A limit, such as the model's own length, comes after tokens that are kept.
                self._tell(after, session.length if ahead == tokens else before)
            return not session.finished and session.index - before == tokens - ahead

    def fork(self, tokens: Sequence[int] = ()) -> Session:
        """Keep the line, and make a new one from the cursor on current.

        An empty line is replaced by the new one, so it does not stay beside it.

        Args:
            tokens: Ids that are taken on the new line.

        Returns:
            The session of the current line.

        Raises:
            ExplorerError: A token is masked, or the text has ended before it; then nothing changed.

        Example:
            >>> from widgets.toy import ToyModel, toy_constraint
            >>> cursor = Cursor(Session(ToyModel(), toy_constraint()))
            >>> _ = cursor.step(), cursor.fork(), cursor.step(4)
            >>> [(name, line.text) for name, line in cursor.lines], cursor.current
            ([('line 1', 'foo'), ('line 2', 'foofood')], 1)
        """
        with self.lock:
            tokens = cast("list[int]", listed("tokens", tokens, "a list of token ids"))
            if not self.session.length and not tokens:
                return self.session
            made = self.session.fork()
            for token in tokens:
                made.step(token)
            if self.session.length:
                self._add(made)
            else:
                self._lines[self._current] = (self._lines[self._current][0], made)
            self._selected = None
            self._tell()
            return made

    def switch(self, line: int) -> None:
        """Make another line current.

        Args:
            line: Its number in `lines`.

        Raises:
            ExplorerError: There is no such line.
        """
        with self.lock:
            line = whole_number("line", line, None)
            if not 0 <= line < len(self._lines):
                raise ExplorerError(
                    f"There is no line {shown(line)}.", remedy=f"Give 0 to {len(self._lines) - 1}."
                )
            self._current = line
            self._selected = None
            self._tell()

    def replace(self, session: Session) -> None:
        """Show another session, without any lines beside it.

        Args:
            session: The new line.

        Raises:
            ExplorerError: The argument is not a session.
        """
        instance("session", session, Session, "a Session")
        with self.lock:
            self._lines = [("line 1", session)]
            self._current, self._made, self._selected = 0, 1, None
            self._edits = {}
            self._tell()

    def aside(self) -> Aside:
        """All lines, for `restore`."""
        with self.lock:
            return Aside(tuple(self._lines), self._current, self._made, dict(self._edits))

    def restore(
        self,
        kept: Aside,
        *,
        constraint: Constraint | TokenMachine | None = None,
        prompt: str | None = None,
        sampler: Sampler | None = None,
    ) -> None:
        """Show other lines in place of these, and change the question of the current one.

        If that raises an error, nothing is changed.

        Args:
            kept: The result of `aside`.
            constraint, prompt, sampler: As in `edit`.

        Raises:
            ExplorerError: An argument has the wrong type, or the line refuses the change.
        """
        instance("kept", kept, Aside, "what aside() gave", remedy="Keep it: kept = cursor.aside().")
        with self.lock:
            before = self.aside()
            self._put(kept)
            try:
                self.edit(constraint=constraint, prompt=prompt, sampler=sampler)
            except BaseException:
                self._put(before)
                raise

    def _put(self, kept: Aside) -> None:
        self._lines, self._current, self._made = list(kept.lines), kept.current, kept.made
        self._edits = dict(kept.edits)

    def reseed(self, seed: int) -> None:
        """Draw with other random numbers from now on; the tokens of the line stay.

        Args:
            seed: The seed of the random numbers, 0 to 2**64 - 1.

        Raises:
            ExplorerError: The seed is not such a number.
        """
        with self.lock:
            k = self.session.index
            line = at_end(self.session).fork(seed)
            line.jump(k)
            self._lines[self._current] = (self._lines[self._current][0], line)
            self._tell()

    def again(self) -> None:
        """Go on from here with the next random numbers; from the start, if the text has ended.

        The old line stays beside the new one if it has tokens that the new one lacks.
        """
        with self.lock:
            line = self.session.copy()
            if line.finished:
                line.jump(0)
            line = line.fork((self.session.seed + 1) % 2**64)
            if self.session.length > line.length:
                self._add(line)
            else:
                self._lines[self._current] = (self._lines[self._current][0], line)
            self._selected = None
            self._tell()

    def reset(self) -> None:
        """Go to the start, and drop the tokens ahead and the other lines; the question stays."""
        with self.lock:
            old = self.session
            old.jump(0)
            self.replace(old.fork())

    def edit(
        self,
        *,
        constraint: Constraint | TokenMachine | None = None,
        prompt: str | None = None,
        sampler: Sampler | None = None,
    ) -> None:
        """Change the constraint, the prompt or the sampler, and keep the tokens that still fit.

        If some tokens do not fit, the old line stays beside this one.

        Args:
            constraint: The new constraint; ``None`` for the present one.
            prompt: The new prompt; ``None`` for the present one.
            sampler: The new sampler; ``None`` for the present one.

        Raises:
            ExplorerError: As for a new `Session`.
        """
        with self.lock:
            session = self.session
            length = session.length
            before = session
            if constraint is not None:
                before = session.edit(constraint=constraint)
            if prompt is not None:
                fork = session.edit(prompt=prompt)
                before = fork if before is session else before
            if sampler is not None:
                fork = session.edit(sampler=sampler)
                before = fork if before is session else before
            if before is not session and session.length < length:
                name = self._lines[self._current][0].partition(BEFORE)[0]
                number = self._edits[name] = self._edits.get(name, 0) + 1
                self._lines.insert(self._current, (f"{name}{BEFORE}{number}", before))
                self._current += 1
                self._trim()
            self._selected = None
            self._tell()

    def full_trace(self) -> Trace:
        """The trace of the whole line, including the tokens ahead of the cursor."""
        with self.lock:
            return whole_trace(self.session)

    @property
    def lm(self) -> LanguageModel | None:
        """The language model of the current line."""
        return self.session.lm

    def _add(self, session: Session) -> None:
        self._made += 1
        self._lines.insert(self._current + 1, (f"line {self._made}", session))
        self._current += 1
        self._trim()

    def _trim(self) -> None:
        while len(self._lines) > MOST_LINES:
            oldest = 1 if self._current == 0 else 0
            del self._lines[oldest]
            if oldest < self._current:
                self._current -= 1

    def _tell(self, after: int | None = None, kept: int | None = None) -> None:
        """Notify all listeners of a change; without arguments everything may be different.

        An error in one of them is raised after all others were notified.
        """
        now = self.generation
        self.happened = Happened(now if after is None else after, now, kept)
        each_of(self._listeners)


def each_of(functions: Sequence[Callable[[], None]]) -> None:
    """Call all functions; the first error is raised after the last call.

    Example:
        >>> called = []
        >>> each_of([lambda: [][0], lambda: called.append(1)])
        Traceback (most recent call last):
            ...
        IndexError: list index out of range
        >>> called
        [1]
    """
    errors: list[BaseException] = []
    for function in tuple(functions):
        try:
            function()
        except BaseException as error:
            errors.append(error)
    if errors:
        raise errors[0]


def line_of(
    lm: LanguageModel,
    prompt: Prompt,
    machine: Constraint | TokenMachine | None,
    tokens: Sequence[int],
    **settings: Any,
) -> Session:
    """A line of tokens that are already known; its cursor is at the start.

    A token that the sampler would take too is the sampler's, any other one is marked as chosen by
    hand.

    Args:
        machine: The constraint of the text, or its machine; ``None`` for unconstrained text.

    Raises:
        ExplorerError: The machine does not allow a token.

    Example:
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> line = line_of(ToyModel(), "", toy_constraint(), [2, 4])
        >>> line.index, line.length, [step.chosen_by for step in at_end(line).trace.steps]
        (0, 2, ['sampler', 'user'])
    """
    session = Session(lm, machine, prompt, **settings)
    for token in tokens:
        # The sampler is not asked in a phase that the model does not write.
        drawn = None if session.waits_for else session.step().token
        if drawn != token:
            session.back(int(drawn is not None))
            session.step(token)
    session.jump(0)
    return session


def session_ids(session: Session) -> tuple[int, ...]:
    """All ids of a line, including those ahead of the cursor."""
    return at_end(session).ids


def whole_trace(session: Session) -> Trace:
    """The trace of a whole line; the last one of each session is kept."""
    if session.index == session.length:
        return session.trace
    known = _wholes(session)
    generation = session.generation
    whole = known.get(generation)
    if whole is None:
        whole = at_end(session).trace
        known.clear()
        known[generation] = whole
    return whole


def at_end(session: Session) -> Session:
    """A copy of a session at the end of its line; the session itself does not move."""
    ahead = session.copy()
    ahead.jump(ahead.length)
    return ahead
