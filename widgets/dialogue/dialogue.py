"""The dialogue between page and kernel: one table of messages, and the answer to each.

The path of a click: the page sends a message (`static/conversation.js`, ``ui.ask``); the widget
passes it to its `Dialogue`, which looks its name up in `TABLE`, reads it as the class in the table
(`widgets.dialogue.messages`), and calls the handler (`widgets.dialogue.handlers`) inside the
cursor's lock. The handler moves the `Cursor`, and with it the session. The cursor notifies its
`ShownPlace`, which computes the packet for all its widgets once (`widgets.figures.told`); each
widget sends it (`widgets.views.view`). The answer repeats the number of the message.

A message has four flags. ``moves``: it moves the session. ``quiet``: the view that sent it shows
the error itself. ``later``: its answer is computed on a separate thread, without the lock, so no
step waits for it. ``unasked``: the page sends it by itself, and the user does not wait for it.

A message about a place (`widgets.dialogue.messages.AtPlace`) has the generation of the cursor that
its page showed. If the cursor has moved since, the message is dropped and the page says so; an
answer from a thread is also dropped if the cursor moves meanwhile.

An exception in a handler would be lost in a notebook, so it is sent to the page, which shows it. An
interrupt and a handler that would end the process are answered too: a page that waits for an answer
that never comes would keep every later press waiting.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Thread
from typing import Any, Final, Generic, cast

from explorer.errors import BudgetExceeded, ExplorerError, IncompatibleVocabulary, RegexError
from widgets.dialogue import handlers
from widgets.dialogue import messages as ask
from widgets.dialogue.handlers import Reply
from widgets.dialogue.later import CalledOff, Later, Packet, Progress
from widgets.dialogue.messages import AtPlace, M, PageMessage, read_message
from widgets.shown_place import ShownPlace


@dataclass(frozen=True, slots=True)
class Entry(Generic[M]):
    """The entry of the table for one kind of message.

    Args:
        handler: The function that answers it; called inside the cursor's lock.
    """

    message: type[M]
    handler: Callable[[ShownPlace, M], Reply]
    moves: bool = False
    quiet: bool = False
    later: bool = False
    unasked: bool = False


class Dialogue:
    """The exchange of messages between one widget and its page.

    Args:
        places: The places that the widget shows, by side; a widget of one place has the side
            ``""``.
        own: The widget's own handlers by name, in place of those of `TABLE`. They answer messages
            about both sides, and messages for which the side makes no difference.
    """

    def __init__(
        self,
        send: Callable[[Packet], None],
        places: Mapping[str, ShownPlace],
        inside: Callable[[], AbstractContextManager[object]],
        own: Mapping[str, Callable[[Any], Reply]],
    ) -> None:
        self._send, self._places, self._inside, self._own = send, places, inside, own
        self._running: dict[tuple[str, int | None], Progress] = {}

    def hear(self, content: object) -> None:
        """Answer one message; this raises no error, whatever the message holds."""
        head = _head(content)
        entry: Entry[Any] | None = None
        message: PageMessage | None = None
        try:
            entry, message = _understood(content)
            if isinstance(message, ask.Stop):
                return self._stop(message)
            with self._inside():
                seen = self._generation(message)
                if isinstance(message, AtPlace) and message.seen not in (None, seen):
                    return self._drop(head, message)
                answer = self._answer(str(cast("Packet", content)["type"]), entry, message)
                if not isinstance(answer, Later):
                    return self._reply(head, message, answer)
            self._running[message.side, message.re] = answer.progress
            answer.progress.follow(lambda words: self._send({**head, "progress": words}))
            self._send({**head, "later": True})
            work = (head, entry, message, seen, answer)
            Thread(target=self._finish, args=work, daemon=True).start()
        except BaseException as error:  # A notebook would swallow any error.
            self._refuse(head, entry, error, message)

    def _finish(
        self, head: Packet, entry: Entry[Any], message: PageMessage, seen: int, later: Later
    ) -> None:
        """Finish an answer that takes long, on a separate thread."""
        try:
            put = later.work()
            later.progress.check()
            with self._inside():
                if isinstance(message, AtPlace) and self._generation(message) != seen:
                    return self._drop(head, message)
                self._reply(head, message, put())
        except BaseException as error:  # As above.
            if isinstance(message, AtPlace) and self._generation(message) != seen:
                return self._drop(head, message)
            self._refuse(head, entry, error, message)
        finally:
            self._running.pop((message.side, message.re), None)

    def _answer(self, name: str, entry: Entry[M], message: M) -> Reply:
        own = self._own.get(name)
        if own is not None:
            return own(message)
        place = self._places.get(message.side)
        if place is None:
            raise ExplorerError(f"The page asked for {name!r}, which this widget does not have.")
        return entry.handler(place, message)

    def _stop(self, message: ask.Stop) -> None:
        progress = self._running.get((message.side, message.of))
        if progress is not None:
            progress.call_off()

    def _generation(self, message: PageMessage) -> int:
        """The generation of the place that a message is about; of several, their sum."""
        place = self._places.get(message.side)
        places = self._places.values() if place is None else (place,)
        return sum(one.cursor.generation for one in places)

    def _reply(self, head: Packet, message: PageMessage, answer: Packet | None) -> None:
        self._send({**head, "ok": True, "generation": self._generation(message), **(answer or {})})

    def _drop(self, head: Packet, message: PageMessage) -> None:
        """Tell the page that its place was left, with the generation of the present one."""
        for place in self._places.values():
            place.catch_up()
        generation = self._generation(message)
        self._send({**head, "ok": False, "quiet": True, "stale": True, "generation": generation})

    def _refuse(
        self,
        head: Packet,
        entry: Entry[Any] | None,
        error: BaseException,
        asked: PageMessage | None,
    ) -> None:
        # An error in the text of a constraint has a place in that text.
        text = asked.text if isinstance(asked, ask.Edit) else None
        answer: Packet = {**head, "ok": False, "error": error_packet(error, text)}
        called_off = isinstance(error, CalledOff)
        answer["quiet"] = called_off or (entry is not None and entry.quiet)
        if called_off:
            answer["cancelled"] = True
        self._send(answer)


def _head(content: object) -> Packet:
    """The part of a message that its answer repeats: the number, and the side if there are two."""
    if not isinstance(content, Mapping):
        return {}
    given = cast("Mapping[object, object]", content)
    repeated = {name: given[name] for name in ("re", "side") if name in given}
    return {name: value for name, value in repeated.items() if type(value) in (int, str)}


def _understood(content: object) -> tuple[Entry[Any], PageMessage]:
    """The entry and the message that the page sent.

    Raises:
        ExplorerError: There is no such message, or a field is wrong.
    """
    if not isinstance(content, Mapping):
        raise ExplorerError("The page sent something that is not a message.")
    fields = dict(cast("Mapping[str, object]", content))
    name = fields.pop("type", None)
    entry = TABLE.get(name) if isinstance(name, str) else None
    if entry is None:
        raise ExplorerError(f"The page asked for {name!r}, which is not known.")
    return entry, read_message(entry.message, fields)


OTHER_VOCABULARY: Final = (
    'Or choose a preset with a model that has more tokens, such as "JSON record".'
)
"""The advice of the page if the vocabulary is too small, such as that of the toy."""


def error_packet(error: BaseException, text: str | None = None) -> Packet:
    """An error for the page: the fault, its place, the remedy; a traceback if it is not ours.

    Args:
        text: The text that was edited. A place in another text, such as a schema inside a template,
            is shown in the message.
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
        packet: Packet = {"title": title, "message": error.message, "remedy": error.remedy}
        if isinstance(error, IncompatibleVocabulary):
            packet["remedy"] = f"{error.remedy} {OTHER_VOCABULARY}"
        here = text is None or error.evidence.get("text", text) == text
        if "reason" in error.evidence and here:  # The page shows the place by itself.
            packet |= {"message": error.evidence["reason"]}
            packet |= {name: error.evidence[name] for name in ("start", "end")}
        return packet
    if isinstance(error, KeyboardInterrupt):
        return {
            "title": "Interrupted",
            "message": "The kernel was interrupted before this was done.",
            "remedy": "Do it again.",
        }
    return {
        "title": type(error).__name__,
        "message": str(error),
        "remedy": "This is a fault of the explorer; the details say where.",
        "details": "".join(traceback.format_exception(error)),
    }


TABLE: Final[Mapping[str, Entry[Any]]] = {
    "step": Entry(ask.StepOn, handlers.on_step, moves=True),
    "take": Entry(ask.Take, handlers.on_take, moves=True),
    "peek": Entry(ask.Peek, handlers.on_peek, moves=True),
    "jump": Entry(ask.Jump, handlers.on_jump, moves=True),
    "run": Entry(ask.Run, handlers.on_run, moves=True),
    "fork": Entry(ask.Fork, handlers.on_fork, moves=True),
    "switch": Entry(ask.Switch, handlers.on_switch, moves=True),
    "follow": Entry(ask.Follow, handlers.on_follow, moves=True),
    "again": Entry(ask.Again, handlers.on_again, moves=True),
    "reset": Entry(ask.Reset, handlers.on_reset, moves=True),
    "walk": Entry(ask.WalkToken, handlers.on_walk),
    "why": Entry(ask.Why, handlers.on_why, later=True),
    "more": Entry(ask.More, handlers.on_more, later=True, unasked=True),
    "widen": Entry(ask.Widen, handlers.on_widen, later=True, unasked=True),
    "search": Entry(ask.FindTokens, handlers.on_search, later=True),
    "allowed": Entry(ask.AllowedTokens, handlers.on_allowed, later=True, unasked=True),
    "order": Entry(ask.TokenOrder, handlers.on_order, later=True),
    "reasons": Entry(ask.ReasonGroups, handlers.on_reasons, later=True, unasked=True),
    "engines": Entry(ask.EnginesHere, handlers.on_engines, quiet=True, later=True, unasked=True),
    "group": Entry(ask.GroupMembers, handlers.on_group, later=True),
    "traps": Entry(ask.FindTraps, handlers.on_traps, later=True, unasked=True),
    "ahead": Entry(ask.LookAhead, handlers.on_ahead, quiet=True, later=True, unasked=True),
    "around": Entry(ask.FiguresAround, handlers.on_around, later=True),
    "stages": Entry(ask.ConstructionStages, handlers.on_stages, later=True),
    "present": Entry(ask.PresentArcs, handlers.on_present, later=True, unasked=True),
    "machine": Entry(ask.MachineFigures, handlers.on_machines, later=True),
    "draw": Entry(ask.Draw, handlers.on_draw, quiet=True, later=True),
    "stage_machine": Entry(ask.StageMachine, handlers.on_stage_machine, quiet=True, later=True),
    "arc": Entry(ask.ArcClasses, handlers.on_arc, unasked=True),
    "composed": Entry(ask.ComposedBy, handlers.on_composed, quiet=True, later=True, unasked=True),
    "words": Entry(ask.TokenTexts, handlers.on_words, later=True),
    "line": Entry(ask.WholeLine, handlers.on_line),
    "rows": Entry(ask.MaskRowsAt, handlers.on_rows),
    "figure": Entry(ask.RunFigure, handlers.on_figure, later=True),
    "export": Entry(ask.Export, handlers.of_the_widget, later=True),
    "edit": Entry(ask.Edit, handlers.on_edit, moves=True, quiet=True, later=True),
    "relax": Entry(ask.Relax, handlers.on_relax, moves=True, quiet=True, later=True),
    "choose_model": Entry(
        ask.ChooseModel, handlers.on_choose_model, moves=True, quiet=True, later=True
    ),
    "switch_stage": Entry(
        ask.SwitchStage, handlers.on_switch_stage, moves=True, quiet=True, later=True
    ),
    "rewrite": Entry(ask.RewriteToken, handlers.on_rewrite, moves=True, quiet=True, later=True),
    "add_stage": Entry(ask.AddStage, handlers.on_add_stage, moves=True, quiet=True, later=True),
    "schemes": Entry(ask.WriteSchemes, handlers.of_the_widget, moves=True, later=True),
    "scheme": Entry(ask.ChooseScheme, handlers.of_the_widget, moves=True, later=True),
    "open": Entry(ask.OpenStep, handlers.of_the_widget, moves=True, later=True),
    "cancel": Entry(ask.Cancel, handlers.on_cancel),
    "ready": Entry(ask.Ready, handlers.on_ready, quiet=True),
    "sampler": Entry(ask.SetSampler, handlers.on_sampler, moves=True, quiet=True),
    "play": Entry(ask.Play, handlers.on_play),
    "stop": Entry(ask.Stop, handlers.of_the_widget),
}
"""Every message that a page may send, by its name."""


def table_for_page() -> dict[str, Packet]:
    """The part of `TABLE` for the page: the fields and two flags of each message, by name."""
    return {
        name: {
            "fields": [field for field in entry.message.__struct_fields__ if field != "re"],
            "moves": entry.moves,
            "unasked": entry.unasked,
        }
        for name, entry in TABLE.items()
    }
