"""The shared part of the widgets on one cursor: the state that they show, and edits of the
constraint.

Small things are told with every step: the position, the line of tokens. Large ones (the
vocabulary's text, the machines) are asked for once, by name (`widgets.dialogue.dialogue`). The
state is worked out by pure functions (`widgets.figures`) from the session's trace.

Callbacks may arrive on any thread, also while a cell runs, so the cursor's lock guards them.

Cost: a step sends a few kilobytes. Layouts are made when the page asks for the machines, so the
first numbers are on the page before them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import uuid4
from weakref import WeakValueDictionary

from explorer.analysis.session import Session
from explorer.decoding.stepping.tree import Setting
from widgets import kinds
from widgets.cursor import Cursor
from widgets.editing import Editing
from widgets.page_data import PageData
from widgets.toy import ToyModel


def no_op() -> None:
    """Do nothing: there is no subscription to end."""


class ShownPlace:
    """The shared part of the widgets on one cursor.

    Args:
        top_k: How many tokens of the distributions are shown, in a session that the page begins.
    """

    def __init__(self, cursor: Cursor, *, top_k: int = 10) -> None:
        self.cursor = cursor
        self.name = uuid4().hex[:12]
        self.editing = Editing(cursor, top_k=top_k)
        self._page: PageData | None = None
        self._told = -1  # The generation that the followers were given last.
        self._asked: tuple[Setting, int, dict[str, Any]] | None = None
        self._followers: list[Callable[[Mapping[str, Any]], None]] = []
        self._stop: Callable[[], None] = no_op

    @classmethod
    def of(cls, cursor: Cursor, *, top_k: int = 10) -> ShownPlace:
        """The place of a cursor: one, however many widgets show it.

        So what is worked out for one widget is there for the others, and all of them show a
        constraint in the words in which it was written in one.
        """
        # A place holds its cursor, so while it is here no other cursor can have this address.
        place = _PLACES.get(id(cursor))
        if place is None:
            place = _PLACES[id(cursor)] = cls(cursor, top_k=top_k)
        return place

    def follow(self, show: Callable[[Mapping[str, Any]], None]) -> Callable[[], None]:
        """Receive the state, now and after each change.

        Args:
            show: Takes what `state` returns; called inside the cursor's lock.

        Returns:
            A function that ends the subscription.
        """
        with self.cursor.lock:
            if not self._followers:
                self._stop = self.cursor.subscribe(self.refresh)
            self._followers.append(show)
            self._told = self.cursor.generation
            show(self.state())

        def stop() -> None:
            with self.cursor.lock:
                if show in self._followers:
                    self._followers.remove(show)
                    if not self._followers:
                        self._stop()

        return stop

    def refresh(self) -> None:
        """Work the state out once, and send it to all followers."""
        with self.cursor.lock:
            self._told = self.cursor.generation
            state = self.state()
            for show in tuple(self._followers):
                show(state)

    def catch_up(self) -> None:
        """Refresh if the session was moved without the cursor, so nobody was told."""
        with self.cursor.lock:
            if self._told != self.cursor.generation:
                self.refresh()

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

    def state(self) -> dict[str, Any]:
        """The state that is shown, by the names of the traits that carry it."""
        session, page, cursor = self.session, self.page, self.cursor
        trace = cursor.full_trace()
        k = session.index
        return {
            **self._question(session, page),
            "line": page.line(trace, k, cursor.generation, cursor.lines, cursor.current),
            "position": page.position(trace, k),
        }

    def _question(self, session: Session, page: PageData) -> dict[str, Any]:
        """The part of the state that is the same at every position, worked out once per edit."""
        known, setting, seed = self._asked, session.setting, session.seed
        if known is None or known[0] is not setting or known[1] != seed:
            state = {
                "place": self.name,
                "about": page.about,
                "vocabulary": page.vocabulary_name,
                "machine": page.machine_name,
                "editor": self._editor_state(page),
                "sampler": _sampler_state(session),
            }
            known = self._asked = (setting, seed, state)
        return known[2]

    def _editor_state(self, page: PageData) -> dict[str, object]:
        toy = isinstance(self.session.lm, ToyModel)
        kind, text = self.editing.text()
        prompt = self.session.prompt
        return {
            "prompt": prompt if isinstance(prompt, str) else json.dumps(prompt) if prompt else "",
            "prompt_fixed": "(a toy has no prompt)" if toy else "",
            "kind": kind,
            "text": text,
            "remark": self.editing.remark,
            "kinds": list(kinds.kinds(kind)),
            "presets": _PRESETS,
            "models": list(self.editing.models()),
            "model": "" if self.session.lm is None else self.session.lm.name,
            **page.editor,
        }


_PRESETS: Final = [preset.to_dict() for preset in kinds.OFFERED]


_PLACES: Final[WeakValueDictionary[int, ShownPlace]] = WeakValueDictionary()
"""By the address of the cursor."""


def _sampler_state(session: Session) -> dict[str, object]:
    sampler, seed = session.sampler, session.seed
    return {
        "temperature": sampler.temperature,
        "top_k": sampler.top_k,
        "top_p": sampler.top_p,
        "min_p": sampler.min_p,
        # A number of a page has 53 bits; a larger seed is shown as text and left alone.
        "seed": seed if seed < 2**53 else str(seed),
    }
