"""What a page is shown of a cursor, and the answers to what it asks; no widget is in it.

Small things are told with every step: the position, the line of tokens. Large ones (the
vocabulary's text, the machines) are asked for once, by name. What is shown is worked out by pure
functions (`widgets.figures`) from the session's trace.

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
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from widgets import kinds
from widgets.cursor import Cursor
from widgets.dialogue import drawing, why
from widgets.dialogue.answering import Answer, Message
from widgets.dialogue.editing import Editing, Later
from widgets.dialogue.page import PageData
from widgets.figures.packets import compress
from widgets.figures.panels.mask import order_packet, rows_packet
from widgets.toy import ToyModel


def nothing() -> None:
    """What ends nothing."""


class Controller:
    """What the page shows of a cursor, and the answers to what it asks; no widget is in it.

    Args:
        cursor: The place.
        top_k: How many tokens of the distributions are shown, in a session that the page begins.
    """

    def __init__(self, cursor: Cursor, *, top_k: int = 10) -> None:
        self.cursor = cursor
        self.place = uuid4().hex[:12]
        self.editing = Editing(cursor, top_k=top_k)
        self._pages: dict[str, PageData] = {}
        self._shown: list[Callable[[Mapping[str, Any]], None]] = []
        self._stop: Callable[[], None] = nothing

    @classmethod
    def of(cls, cursor: Cursor, *, top_k: int = 10) -> Controller:
        """The controller of a cursor: one, however many views show it.

        So what is worked out for one view is there for the others, and all of them show a
        constraint in the words in which it was written in one.

        Args:
            cursor: The place.
            top_k: As for a new one.
        """
        # It holds its cursor, so while it is here no other cursor can have this address.
        found = _CONTROLLERS.get(id(cursor))
        if found is None:
            found = _CONTROLLERS[id(cursor)] = cls(cursor, top_k=top_k)
        return found

    def follow(self, show: Callable[[Mapping[str, Any]], None]) -> Callable[[], None]:
        """Be given the present place, now and after each change.

        Args:
            show: Takes what `state` returns; called inside the cursor's lock.

        Returns:
            What ends it.
        """
        with self.cursor.lock:
            if not self._shown:
                self._stop = self.cursor.subscribe(self.refresh)
            self._shown.append(show)
            show(self.state())

        def stop() -> None:
            with self.cursor.lock:
                if show in self._shown:
                    self._shown.remove(show)
                    if not self._shown:
                        self._stop()

        return stop

    def refresh(self) -> None:
        """Work out the present place once, and give it to all who follow."""
        with self.cursor.lock:
            state = self.state()
            for show in tuple(self._shown):
                show(state)

    @property
    def session(self) -> Session:
        """The current line."""
        return self.cursor.session

    @property
    def page_data(self) -> PageData:
        """What the page can be told about the current line's machine and model."""
        return self._page(self.session)

    # --- what is shown --------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The present place, by the names of the traits that carry it."""
        session = self.session
        page = self._page(session)
        trace = self.cursor.full_trace()
        k = session.index
        return {
            "place": self.place,
            "about": page.about,
            "vocabulary": page.vocabulary_name(),
            "machine": {"key": page.key()},
            "editor": self._editor_state(page),
            "sampler": _sampler_state(session.sampler),
            "line": page.line(trace, k, session.generation, self.cursor.lines, self.cursor.current),
            "position": page.position(trace, k),
        }

    def _page(self, session: Session) -> PageData:
        page = self._pages.get("now")
        if page is None or page.dfa is not session.dfa or page.lm is not session.lm:
            page = self._pages["now"] = PageData(session)
        return page

    def _editor_state(self, page: PageData) -> dict[str, object]:
        toy = isinstance(self.session.lm, ToyModel)
        kind, text = self.editing.text()
        prompt = self.session.prompt
        return {
            "prompt": prompt if isinstance(prompt, str) else json.dumps(prompt) if prompt else "",
            "prompt_fixed": "(none in the toy preset)" if toy else "",
            "kind": kind,
            "text": text,
            "kinds": list(kinds.kinds()),
            "presets": [preset.to_dict() for preset in kinds.PRESETS],
            "report": page.report(),
            "pattern": page.pattern(),
        }

    # --- what the page asks ---------------------------------------------------------------------

    def answer(self, content: Message) -> Answer:
        """The answer to one message from the page.

        Args:
            content: The message.

        Raises:
            Exception: Whatever a handler raises; the widget shows it.
        """
        kind = content.get("type")
        handler = self._HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is None:
            raise ExplorerError(f"The page asked for {kind!r}, which is not known.")
        answer = handler(self, content)
        return {} if answer is None else answer

    def _step(self, content: Message) -> dict[str, object] | None:
        self.cursor.step()
        return None

    def _take(self, content: Message) -> None:
        self.cursor.step(int(content["token"]))

    def _peek(self, content: Message) -> dict[str, object]:
        token = content.get("token")
        found = self.cursor.peek(None if token is None else int(token))
        page = self._page(self.session)
        return {"walk": page.walk(self.cursor.full_trace(), self.session.index, found)}

    def _back(self, content: Message) -> None:
        self.cursor.back()

    def _jump(self, content: Message) -> None:
        self.cursor.jump(int(content["k"]))

    def _run(self, content: Message) -> dict[str, object]:
        return {"stopped": not self.cursor.run(min(int(content["tokens"]), 256))}

    def _fork(self, content: Message) -> None:
        self.cursor.fork()

    def _switch(self, content: Message) -> None:
        self.cursor.switch(int(content["fork"]))

    def _reset(self, content: Message) -> None:
        self.cursor.reset()

    def _walk(self, content: Message) -> dict[str, object]:
        k = self._checked(content)
        page = self._page(self.session)
        return {"walk": page.walk(self.cursor.full_trace(), k, int(content["token"]))}

    def _search(self, content: Message) -> dict[str, object]:
        k = self._checked(content)
        page = self._page(self.session)
        return page.search(self.session, self.cursor.full_trace(), k, str(content["query"]))

    def _machines(self, content: Message) -> dict[str, object]:
        page = self._page(self.session)
        return {"machine": page.machine() if content.get("figures", True) else page.classes()}

    def _around(self, content: Message) -> dict[str, object]:
        if content.get("seen", self.session.generation) != self.session.generation:
            return {"around": None}  # Already elsewhere: the page asks again from there.
        k = self._checked(content)
        also = [int(token) for token in content.get("also", ())]
        found = self._page(self.session).around(self.cursor.full_trace(), k, also)
        # Drawings are words that repeat: packed they are a fifth, and they go out at every step.
        return {"packed": compress(found)} if content.get("packed") else {"around": found}

    def _stages(self, content: Message) -> Later:
        k = self._checked(content)
        also = [int(token) for token in content.get("also", ())]
        page, trace = self._page(self.session), self.cursor.full_trace()
        return Later.of(lambda: {"stages": page.stages(trace, k, also)})

    def _words(self, content: Message) -> Later:
        page = self._page(self.session)  # Of 131,072 tokens it takes half a second.
        return Later.of(lambda: {"words": page.words()})

    def _order(self, content: Message) -> Later:
        k = self._checked(content)
        logits = self.session.logits(k).float().cpu().numpy()
        size = len(self.session.vocabulary)
        return Later.of(lambda: {"order": order_packet(logits, size)})

    def _rows(self, content: Message) -> dict[str, object]:
        trace = self.cursor.full_trace()
        return rows_packet(trace, int(content["from"]), int(content["to"]))

    def _figure(self, content: Message) -> Later:
        # Imported when it is asked for: the figure needs plotly, and nothing else does.
        from widgets.figures.panels.plotly_figure import trace_page

        trace = self.cursor.full_trace()
        return Later.of(lambda: {"name": "trace.html", "data": compress(trace_page(trace))})

    def _edit(self, content: Message) -> Later | None:
        return self.editing.edit(content)

    def _ready(self, content: Message) -> None:
        self.editing.ready()

    def _sampler(self, content: Message) -> None:
        top_k = content.get("top_k")
        self.cursor.edit(
            sampler=Sampler(
                float(content.get("temperature") or 0.0),
                None if top_k is None else int(top_k),
                content.get("top_p"),
                content.get("min_p"),
            )
        )

    def _play(self, content: Message) -> None:
        self.cursor.playing = bool(content["on"])

    def _cancel(self, content: Message) -> None:
        self.editing.cancel()

    def _checked(self, content: Message) -> int:
        k = int(content.get("k", self.session.index))
        if not 0 <= k <= self.session.length:
            raise ExplorerError(f"There is no position {k}.", remedy="Step or jump first.")
        return k

    _HANDLERS: Final[dict[str, Callable[[Controller, Message], Answer | None]]] = {
        "step": _step,
        "take": _take,
        "peek": _peek,
        "back": _back,
        "jump": _jump,
        "run": _run,
        "fork": _fork,
        "switch": _switch,
        "reset": _reset,
        "walk": _walk,
        "search": _search,
        "machine": _machines,
        "around": _around,
        "stages": _stages,
        "words": _words,
        "order": _order,
        "rows": _rows,
        "figure": _figure,
        "edit": _edit,
        "sampler": _sampler,
        "play": _play,
        "cancel": _cancel,
        "ready": _ready,
        **why.HANDLERS,
        **drawing.HANDLERS,
    }


_CONTROLLERS: Final[WeakValueDictionary[int, Controller]] = WeakValueDictionary()
"""By the address of the cursor."""


def _sampler_state(sampler: Sampler) -> dict[str, object]:
    return {
        "temperature": sampler.temperature,
        "top_k": sampler.top_k,
        "top_p": sampler.top_p,
        "min_p": sampler.min_p,
    }
