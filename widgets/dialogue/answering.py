"""What every widget here does with a message from its page: it answers, and says so if it cannot.

A message carries a number, and the answer carries it too. What takes long is answered later, on a
thread of its own, with its progress and a way to call it off. What a handler raises would vanish in
a notebook: it is shown in the widget.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from contextlib import AbstractContextManager
from threading import Thread
from typing import Any

import anywidget  # pyright: ignore[reportMissingTypeStubs] - It has none.

from explorer.errors import BudgetExceeded, ExplorerError, RegexError
from widgets.compiling.progress import Progress
from widgets.compiling.worker import CalledOff
from widgets.dialogue.editing import Later

Message = Mapping[str, Any]

Answer = dict[str, object] | Later
"""What a handler says to the page, or what it will say later."""


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
