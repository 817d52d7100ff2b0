"""The shared part of the widgets on one cursor: the state that they show, and edits of the
constraint.

The cursor reports changes of its line (`widgets.cursor.Happened`); from these and the session's
trace pure functions (`widgets.figures`) compute the message to the page (`widgets.figures.told`):
the whole position, and the new part of the line. Large values (the vocabulary's text, the machines)
are requested once, by name (`widgets.dialogue.dialogue`).

Callbacks may arrive on any thread, also while a cell runs, so the cursor's lock guards them.

Cost: a step sends a few kilobytes. Layouts are made when the page asks for the machines, so the
first numbers are on the page before them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Final, cast
from uuid import uuid4
from weakref import WeakValueDictionary

from explorer.analysis.session import Session
from explorer.decoding.stepping.tree import Setting
from widgets import kinds
from widgets.cursor import Cursor
from widgets.editing import Editing
from widgets.figures.told import (
    AskedState,
    Editor,
    Line,
    LineHistory,
    Offered,
    OfferedPreset,
    SamplerState,
    ShownPosition,
    ToldPlace,
)
from widgets.page_data import PageData
from widgets.toy import ToyModel


def no_op() -> None:
    """Do nothing: there is no subscription to end."""


class ShownPlace:
    """The shared part of the widgets on one cursor.

    Args:
        top_k: The number of tokens shown of a distribution, in a session that the page begins.
    """

    def __init__(self, cursor: Cursor, *, top_k: int = 10) -> None:
        self.cursor = cursor
        self.name = uuid4().hex[:12]
        self.editing = Editing(cursor, top_k=top_k)
        self._page: PageData | None = None
        self._told: ToldPlace | None = None
        self._asked: tuple[Setting, int, AskedState] | None = None
        self._followers: list[Callable[[ToldPlace], None]] = []
        self._stop: Callable[[], None] = no_op

    @classmethod
    def of(cls, cursor: Cursor, *, top_k: int = 10) -> ShownPlace:
        """The place of a cursor, shared by all widgets that show it.

        So all widgets share results, and all of them show a constraint in the form in which the
        user wrote it in one of them.
        """
        # A place holds its cursor, so no other cursor gets this id meanwhile.
        place = _PLACES.get(id(cursor))
        if place is None:
            place = _PLACES[id(cursor)] = cls(cursor, top_k=top_k)
        return place

    def follow(self, show: Callable[[ToldPlace], None]) -> Callable[[], None]:
        """Call a function with the place, now and after each change.

        Args:
            show: The function, called under the cursor's lock.

        Returns:
            A function that ends the subscription.
        """
        with self.cursor.lock:
            if not self._followers:
                self._stop = self.cursor.subscribe(self.refresh)
            now = self.state()
            self._followers.append(show)
            show(now)

        def stop() -> None:
            with self.cursor.lock:
                if show in self._followers:
                    self._followers.remove(show)
                    if not self._followers:
                        self._stop()

        return stop

    def refresh(self) -> None:
        """Compute the message once, and pass it to all followers."""
        with self.cursor.lock:
            told = self._told = self._worked_out()
            for show in tuple(self._followers):
                show(told)

    def catch_up(self) -> None:
        """Refresh if the session moved without the cursor, so that no follower was told."""
        with self.cursor.lock:
            if self._told is None or self._told.line["generation"] != self.cursor.generation:
                self.refresh()

    def state(self) -> ToldPlace:
        """The present place, with the whole line."""
        with self.cursor.lock:
            self.catch_up()
            return replace(cast(ToldPlace, self._told), moved=None)

    @property
    def session(self) -> Session:
        """The current line."""
        return self.cursor.session

    @property
    def page(self) -> PageData:
        """The data of the page about the current line's machine and model."""
        session, page = self.session, self._page
        if page is None or page.machine is not session.machine or page.lm is not session.lm:
            page = self._page = PageData(session)
        return page

    @property
    def offered(self) -> Offered:
        """The choices of the editor, which do not depend on the place."""
        models = list(self.editing.models())
        return {"kinds": list(kinds.kinds()), "presets": _PRESETS, "models": models}

    def _worked_out(self) -> ToldPlace:
        cursor, session, page, told = self.cursor, self.session, self.page, self._told
        happened, trace, k = cursor.happened, cursor.full_trace(), session.index
        question = self._question(session, page)
        position = cast(ShownPosition, page.position(trace, k))
        known = told is not None and told.line["generation"] == happened.after
        if told is None or not known or happened.generation != cursor.generation:
            kept = None
        else:
            kept = happened.kept
        if told is None or kept is None:
            line: Line = page.line(trace, k, cursor.generation, cursor.lines, cursor.current)
            history: LineHistory = page.history(trace)
            return ToldPlace(question, line, history, position)
        moved = page.grown(told.line, told.history, trace, k, kept, cursor.generation)
        return ToldPlace(question, told.line, told.history, position, moved)

    def _question(self, session: Session, page: PageData) -> AskedState:
        """The part that is the same at every position, computed once per edit."""
        known, setting, seed = self._asked, session.setting, session.seed
        if known is None or known[0] is not setting or known[1] != seed:
            question: AskedState = {
                "place": self.name,
                "about": page.about,
                "vocabulary": page.vocabulary_name,
                "machine": page.machine_name,
                "editor": self._editor_state(page),
                "sampler": _sampler_state(session),
            }
            known = self._asked = (setting, seed, question)
        return known[2]

    def _editor_state(self, page: PageData) -> Editor:
        toy = isinstance(self.session.lm, ToyModel)
        kind, text = self.editing.text()
        prompt = self.session.prompt
        return {
            "prompt": prompt if isinstance(prompt, str) else json.dumps(prompt) if prompt else "",
            "prompt_fixed": "(a toy has no prompt)" if toy else "",
            "kind": kind,
            "text": text,
            "remark": self.editing.remark,
            "model": "" if self.session.lm is None else self.session.lm.name,
            **page.editor,
        }


_PRESETS: Final[list[OfferedPreset]] = [
    {"name": preset.name, "kind": preset.kind, "text": preset.text} for preset in kinds.OFFERED
]


_PLACES: Final[WeakValueDictionary[int, ShownPlace]] = WeakValueDictionary()
"""The places by the address of their cursor."""


def _sampler_state(session: Session) -> SamplerState:
    sampler, seed = session.sampler, session.seed
    return {
        "temperature": sampler.temperature,
        "top_k": sampler.top_k,
        "top_p": sampler.top_p,
        "min_p": sampler.min_p,
        # A page's numbers have 53 bits; a larger seed is shown as text and is not changed.
        "seed": seed if seed < 2**53 else str(seed),
    }
