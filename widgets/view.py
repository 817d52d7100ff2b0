"""What every widget here has: a cursor, the page's questions, and the answers.

A widget only wires. What is shown is worked out by pure functions (`widgets.figures`) from the
session's trace; the page asks for what it lacks and is told of every move. Small things are traits
and go out with each step: the position, the line of tokens. Large ones (the vocabulary's text, the
machines) are asked for once, by name, and are not kept in a saved notebook.

`Controller` answers for one cursor and knows no widget; `View` is the widget around one of them.

Callbacks may arrive on any thread, also while a cell runs, so one re-entrant lock guards them. What
a callback raises would vanish from the notebook: it is caught and shown in the widget.

Cost: a step sends a few kilobytes. Layouts are made when the page asks for the machines, so the
first numbers are on the page before them.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from threading import Thread
from typing import Any, ClassVar, Final, cast
from uuid import uuid4
from weakref import WeakValueDictionary

import anywidget  # pyright: ignore[reportMissingTypeStubs] - It has none.
import traitlets

from explorer.automata.constraint import Constraint
from explorer.decoding.load import load_model
from explorer.decoding.model import LanguageModel
from explorer.decoding.sampler import Sampler
from explorer.decoding.session import Session
from explorer.decoding.trace import Trace
from explorer.errors import BudgetExceeded, ExplorerError, RegexError
from explorer.tokens.compile import compile
from explorer.tokens.token_dfa import TokenDFA
from widgets import bundle, drawing, kinds, why
from widgets.cursor import Cursor
from widgets.editing import COMPILE, Editing, Later, written
from widgets.figures.mask import order_packet, rows_packet
from widgets.figures.packets import compress
from widgets.page import PageData
from widgets.progress import Progress
from widgets.toy import ToyModel, toy_constraint
from widgets.wire import Wire
from widgets.worker import CalledOff

Message = Mapping[str, Any]

SIZES: Final = ("normal", "projector")
"""How large a widget is drawn."""

Answer = dict[str, object] | Later
"""What a handler says to the page, or what it will say later."""


def _nothing() -> None:
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
        self._stop: Callable[[], None] = _nothing

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
        trace = self.cursor.full_trace()
        among = why.group_of(self.session, trace, k, content.get("group"))
        page = self._page(self.session)
        return {"rows": page.search(self.session, trace, k, str(content["query"]), among)}

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
        from widgets.figures.plotly_figure import trace_page

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


class Answering(anywidget.AnyWidget):
    """A widget that answers its page; what fails is shown there."""

    def __init__(self, **traits: Any) -> None:
        self._running: dict[tuple[object, object], Progress] = {}
        super().__init__(**traits)

    def _receive(self, _: object, content: Message, __: object) -> None:
        """One message from the page; the answer carries its number."""
        if content.get("type") == "stop":  # Nobody waits for that answer; this one has none.
            progress = self._running.get((content.get("side"), content.get("of")))
            if progress is not None:
                progress.call_off()
            return
        try:
            with self._inside():
                answer = self._answer(content)
            if isinstance(answer, Later):
                self._running[content.get("side"), content.get("re")] = answer.progress
                head = _head(content)
                answer.progress.follow(lambda words: self._reply({**head, "progress": words}))
                self._reply({**head, "later": True})
                Thread(target=self._finish, args=(content, answer), daemon=True).start()
                return
            self._reply({**_head(content), "ok": True, **answer})
        except Exception as error:  # Whatever it is, a notebook would swallow it.
            self._refuse(content, error)

    def _finish(self, content: Message, later: Later) -> None:
        """What could not be answered at once, on a thread of its own."""
        try:
            put = later.work()
            later.progress.check()
            with self._inside():
                said = put()
            self._reply({**_head(content), "ok": True, **(said or {})})
        except Exception as error:  # As above.
            self._refuse(content, error)
        finally:
            self._running.pop((content.get("side"), content.get("re")), None)

    def _refuse(self, content: Message, error: Exception) -> None:
        answer = {**_head(content), "ok": False}
        called_off = isinstance(error, CalledOff)
        quiet = content.get("type") in ("edit", "sampler", "ready", "draw")
        answer["quiet"] = quiet or called_off
        answer["error"] = error_packet(error)
        if called_off:
            answer["cancelled"] = True
        self._reply(answer)

    def _inside(self) -> AbstractContextManager[object]:
        """What is held while a message is answered."""
        raise NotImplementedError

    def _answer(self, content: Message) -> Answer:
        """The answer to a message, or what will be one."""
        raise NotImplementedError

    def _reply(self, answer: dict[str, object]) -> None:
        self.send(answer)  # pyright: ignore[reportUnknownMemberType] - ipywidgets is untyped.


def _head(content: Message) -> dict[str, object]:
    """What an answer repeats of its question: the number, and the side where there are two."""
    return {name: content[name] for name in ("re", "side") if name in content}


class View(Answering):
    """A widget on a cursor. Each part of the explorer is one, and so is the explorer.

    Args:
        lm: A language model, or the name of one for `load_model`; ``None`` for the toy preset,
            which needs none.
        constraint: What the text must be; with a model ``None`` starts with a quoted text.
        prompt: A text to go on with.
        cursor: Show this place instead, with others that show it too; the first three arguments
            and those of the session are then left aside.
        sampler: How a token is chosen; default greedy.
        seed: Of the random numbers.
        max_tokens: The token budget; see `Session`.
        top_k: How many tokens of each distribution are shown.
        size: ``"projector"`` for larger text and marks.
    """

    _css = bundle.style()
    _sent: ClassVar[tuple[str, ...]] = ()
    """What this widget's page is told besides the place itself: names of traits, ``"history"``."""

    place = traitlets.Unicode("").tag(sync=True)
    about = traitlets.Unicode("").tag(sync=True)
    machine = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    vocabulary = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    position = traitlets.Dict(cast("dict[str, Any]", {}), allow_none=True).tag(sync=True)
    line = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    editor = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    sampler = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    size = traitlets.Enum(SIZES, "normal").tag(sync=True)

    def __init__(
        self,
        lm: LanguageModel | str | None = None,
        constraint: Constraint | TokenDFA | None = None,
        prompt: str = "",
        *,
        cursor: Cursor | None = None,
        sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
        seed: int = 0,
        max_tokens: int | None = None,
        top_k: int = 10,
        size: str = "normal",
    ) -> None:
        warm()
        if cursor is None:
            model = load_model(lm) if isinstance(lm, str) else lm or ToyModel()
            if constraint is None:
                toy = isinstance(model, ToyModel)
                constraint = toy_constraint() if toy else kinds.build("regex", '"[a-zA-Z ,.]*"')
            session = Session(
                model,
                constraint,
                prompt,
                sampler=sampler,
                seed=seed,
                max_tokens=max_tokens,
                top_k=top_k,
                budget=COMPILE,
            )
            cursor = Cursor(session)
        self.controller = Controller.of(cursor, top_k=top_k)
        self._wire = Wire()
        self._stop: Callable[[], None] = _nothing  # What is refused below is closed all the same.
        super().__init__(size=size)
        self.on_msg(self._receive)  # pyright: ignore[reportUnknownMemberType] - ipywidgets is untyped.
        self._stop = self.controller.follow(self._show)

    @property
    def cursor(self) -> Cursor:
        """The place that is shown; pass it to another view to show it there too."""
        return self.controller.cursor

    @property
    def session(self) -> Session:
        """The current line."""
        return self.cursor.session

    @property
    def trace(self) -> Trace:
        """The record up to the cursor."""
        return self.session.trace

    @property
    def page_data(self) -> PageData:
        """What the page can be told about the current line's machine and model."""
        return self.controller.page_data

    def figure(self) -> Any:
        """The whole line as a plotly figure, which a cell displays.

        Raises:
            MissingDependency: plotly is not installed.
        """
        from widgets.figures.plotly_figure import trace_figure

        return trace_figure(self.cursor.full_trace())

    def close(self) -> None:
        """End the widget; the cursor no longer tells it."""
        self._stop()
        super().close()

    def refresh(self) -> None:
        """Send the present place once more; a user need not, the cursor tells of every move."""
        with self.cursor.lock:
            self._show(self.controller.state())

    def _show(self, state: Mapping[str, Any]) -> None:
        """Send a place. The position goes last, for it is drawn with what came before it."""
        for name in ("place", "vocabulary", "machine", *self._sent):
            if name != "history":
                self._set(name, state[name])
        line: dict[str, Any] = state["line"]
        if "history" not in self._sent:
            line = {name: value for name, value in line.items() if name != "history"}
        with self.hold_sync():
            self.line = line
            self.position = state["position"]

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """As every widget has it; of a line that goes out again, what changed of it.

        Args:
            key: Names of traits; default all, and then the whole line.
            drop_defaults: Leave out what is as it was at first.
        """
        untyped: Any = super()
        state: dict[str, Any] = untyped.get_state(key, drop_defaults)
        if "line" in state:
            with self.cursor.lock:
                wire, line = self._wire, self.line
                state["line"] = wire.whole(line) if key is None else wire.step(line)
        return state

    def _set(self, name: str, value: object) -> None:
        """Send a trait only if it says something new."""
        if getattr(self, name) != value:
            self.set_trait(name, value)

    def _answer(self, content: Message) -> Answer:
        if content.get("type") == "line":  # The page came later, or missed a change.
            return {"line": self._wire.whole(self.line)}
        return self.controller.answer(content)

    def _inside(self) -> AbstractContextManager[object]:
        return self.cursor.lock


@cache
def warm() -> None:
    """Load the compiled loops once, so that the milliseconds shown are those of the constraint."""
    compile(toy_constraint(), ToyModel().vocabulary)


def error_packet(error: Exception) -> dict[str, object]:
    """An error for the page: what is wrong, where, what to do; a traceback if it is not ours.

    Args:
        error: What was raised.
    """
    if isinstance(error, RegexError):
        return {
            "title": "This pattern cannot be read",
            "message": f"{error.reason}, at character {error.start}.",
            "remedy": error.remedy,
            "start": error.start,
            "end": error.end,
        }
    if isinstance(error, ExplorerError):
        title = "Too large" if isinstance(error, BudgetExceeded) else "This is not possible"
        return {"title": title, "message": error.message, "remedy": error.remedy}
    return {
        "title": type(error).__name__,
        "message": str(error),
        "remedy": "This is a fault of the explorer; the details say where.",
        "details": "".join(traceback.format_exception(error)),
    }


def _sampler_state(sampler: Sampler) -> dict[str, object]:
    return {
        "temperature": sampler.temperature,
        "top_k": sampler.top_k,
        "top_p": sampler.top_p,
        "min_p": sampler.min_p,
    }


__all__ = [
    "Answer",
    "Answering",
    "Controller",
    "Message",
    "View",
    "error_packet",
    "warm",
    "written",
]
