"""The dialogue between page and kernel: the answer to each message.

The path of a click: the page sends a message (`static/conversation.js`, ``ui.ask``); the widget
passes it to its `Dialogue`, which looks its name up in `TABLE`, reads it
(`widgets.dialogue.messages`), and calls the handler (`widgets.dialogue.handlers`) inside the
cursor's lock. The handler moves the `Cursor`, and with it the session. The cursor notifies its
`ShownPlace`, which computes the packet for all its widgets once (`widgets.figures.told`); each
widget sends it (`widgets.views.view`). The answer repeats the number of the message.

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
from typing import Final, cast

from explorer.errors import BudgetExceeded, ExplorerError, IncompatibleVocabulary, RegexError
from widgets.dialogue.handlers import TABLE  # It is filled there.
from widgets.dialogue.later import TASKS, CalledOff, Later, Packet, Progress
from widgets.dialogue.messages import (
    RELOAD,
    AtPlace,
    Entry,
    PageMessage,
    Reply,
    message_fields,
    read_message,
)
from widgets.shown_place import ShownPlace


class Dialogue:
    """The exchange of messages between one widget and its page.

    Args:
        places: The places that the widget shows, by side; a widget of one place has the side
            ``""``.
        own: The widget's own handlers by name, in place of those of `TABLE`; each is called with
            the side of its message, empty for both, and its fields.
    """

    def __init__(
        self,
        send: Callable[[Packet], None],
        places: Mapping[str, ShownPlace],
        inside: Callable[[], AbstractContextManager[object]],
        own: Mapping[str, Callable[..., Reply]],
    ) -> None:
        self._send, self._places, self._inside, self._own = send, places, inside, own
        self._running: dict[tuple[str, int | None], Progress] = {}

    def hear(self, content: object) -> None:
        """Answer one message; this raises no error, whatever the message holds."""
        head = _head(content)
        entry: Entry | None = None
        message: PageMessage | None = None
        try:
            entry, message = _understood(content)
            if str(cast("Packet", content)["type"]) == "stop":
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
            TASKS.start(lambda: self._finish(head, entry, message, seen, answer), answer.progress)
        except BaseException as error:  # A notebook would swallow any error.
            self._refuse(head, entry, error, message)

    def _finish(
        self, head: Packet, entry: Entry, message: PageMessage, seen: int, later: Later
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

    def _answer(self, name: str, entry: Entry, message: PageMessage) -> Reply:
        own = self._own.get(name)
        if own is not None:
            return own(message.side, **message_fields(message))
        place = self._places.get(message.side)
        if place is None:
            raise ExplorerError(
                f"The page asked for {name!r}, which this widget does not have.", remedy=RELOAD
            )
        return entry.handler(place, **message_fields(message))

    def _stop(self, message: PageMessage) -> None:
        progress = self._running.get((message.side, message_fields(message)["of"]))
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
        entry: Entry | None,
        error: BaseException,
        asked: PageMessage | None,
    ) -> None:
        # An error in the text of a constraint has a place in that text.
        text = getattr(asked, "text", None)
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


def _understood(content: object) -> tuple[Entry, PageMessage]:
    """The entry and the message that the page sent.

    Raises:
        ExplorerError: There is no such message, or a field is wrong.
    """
    if not isinstance(content, Mapping):
        raise ExplorerError("The page sent something that is not a message.", remedy=RELOAD)
    fields = dict(cast("Mapping[str, object]", content))
    name = fields.pop("type", None)
    entry = TABLE.get(name) if isinstance(name, str) else None
    if entry is None:
        raise ExplorerError(f"The page asked for {name!r}, which is not known.", remedy=RELOAD)
    return entry, read_message(entry.message, fields)


OTHER_VOCABULARY: Final = (
    'Or choose a preset with a model that has more tokens, such as "A record, by JSON Schema".'
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
