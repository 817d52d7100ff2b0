"""The one page of these tests: it sends messages, hears the answers, and follows the line.

It stands where the browser stands: what a widget sends arrives here as JSON text, and what it knows
of the line it has built from the moves that it was told. Answers may come on other threads.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

from explorer.decoding.models.model import Reading
from widgets.toy import ToyModel
from widgets.views.compare import Compare
from widgets.views.view import View

PATIENCE = 120.0  # Seconds; for a busy machine, never part of a result.


def grown(line: dict[str, Any], moved: dict[str, Any]) -> dict[str, Any]:
    """A line after a move; the same as ``moveLine`` in ``static``."""
    strip, kept = dict(line["strip"]), moved["kept"]
    strip["tokens"] = strip["tokens"][:kept] + moved["tokens"]
    strip |= {name: moved[name] for name in ("finished", "rejected")}
    if "phases" in moved:
        alive = strip.get("phases", {}).get("alive", [])[:kept] + moved["phases"]["alive"]
        strip["phases"] = {**moved["phases"], "alive": alive}
    told = {name: moved[name] for name in ("index", "length", "generation")}
    return {**line, **told, "strip": strip}


class Held(ToyModel):
    """A toy before whose next reading something happens: it waits, or it fails."""

    before: Callable[[], object] | None = None

    def read(self, tokens: Sequence[int]) -> Reading:
        before, self.before = self.before, None
        if before is not None:
            before()
        return super().read(tokens)


class Page:
    """The page of one widget.

    Args:
        made: The widget.
    """

    def __init__(self, made: View | Compare) -> None:
        self.made: Any = made
        self.grown = grown
        """How it takes a move."""
        self.line: dict[str, Any] = {}
        """The line as this page has built it."""
        self.history: dict[str, Any] = {}
        """What the charts show of it."""
        self.sent: list[int] = []
        """The size of everything that was sent to it, in characters of JSON."""
        self.heard: list[dict[str, Any]] = []
        """All that is not a state: answers, and words before them."""
        self.wholes = 0
        """How often it had to ask for the whole line."""
        self.deaf = False
        self.behind = False
        self._number = 0
        self._arrived = threading.Condition()
        self.made._send = self._receive
        self.made.send_state()

    @property
    def position(self) -> dict[str, Any]:
        return self.made.position

    def _receive(self, message: dict[str, Any], buffers: object = None) -> None:
        text = json.dumps(message, allow_nan=False)  # It can travel.
        if message["method"] == "custom":
            with self._arrived:
                self.sent.append(len(json.dumps(message["content"])))
                self.heard.append(json.loads(text)["content"])
                self._arrived.notify_all()
            return
        if self.deaf:
            self.behind = True
            return
        self.sent.append(len(text))
        state = json.loads(text)["state"]
        self.line, self.history = state.get("line", self.line), state.get("history", self.history)
        moved = state.get("moved") or {}
        if "line" in state or moved:
            self.behind = False
        if moved.get("generation", 0) <= self.line.get("generation", 0):
            return
        if moved["after"] == self.line.get("generation"):
            self.line = self.grown(self.line, moved)
            for name, values in moved.get("history", {}).items():
                self.history[name] = self.history[name][: moved["kept"]] + values
        else:
            self.wholes += 1
            answer = self.ask("line")
            self.line, self.history = answer["line"], answer["history"]

    def tell(self, type: str, /, **content: object) -> int:
        """Send a message; its number. This returns when the kernel's callback does."""
        self._number += 1
        self.made._hear(None, {"type": type, "re": self._number, **content}, None)
        return self._number

    def answers(self, number: int) -> list[dict[str, Any]]:
        """The answer to a message, once it is there."""
        told = [one for one in tuple(self.heard) if one.get("re") == number]
        return [one for one in told if "ok" in one]

    def answer(self, number: int) -> dict[str, Any]:
        """The answer to a message, waited for."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: self.answers(number), PATIENCE), "no answer"
        (answer,) = self.answers(number)
        return answer

    def ask(self, type: str, /, **content: object) -> dict[str, Any]:
        """Send a message and wait for its answer."""
        answer = self.answer(self.tell(type, **content))
        assert answer.get("side") == content.get("side")
        return answer

    def edit(self, text: str, **content: object) -> int:
        """Send another constraint."""
        return self.tell("edit", **{"kind": "regex", "text": text, "prompt": "", **content})
