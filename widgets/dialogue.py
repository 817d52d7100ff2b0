"""The dialogue between page and kernel: one table of messages, and how one of them is answered.

The way of a click: the page sends a message (`static/page_state.js`, ``ui.ask``); the widget hands
it to its `Dialogue`, which looks its name up in `TABLE`, reads it as the class that stands there
(`widgets.messages`), and calls the handler, a function below, inside the cursor's lock. The handler
moves the `Cursor`, and with it the session. The cursor then tells its `Place`, which works out once
what all its widgets show; each widget sends what changed (`widgets.views.view`). The answer repeats
the number of the message.

Four flags say what else holds of a message. ``moves``: it moves the session. ``quiet``: the view
that sent it shows the error itself. ``later``: it is worked out on a thread of its own, without the
lock, so no step waits for it. ``unasked``: the page asks it by itself, and nobody waits for it.

A message about a place (`widgets.messages.AtPlace`) says which generation of the cursor its page
showed. If the cursor has moved on since, the message is dropped and the page told so; an answer
that is worked out on a thread is dropped as well if the cursor moves meanwhile.

What a handler raises would vanish in a notebook: it is sent to the page, which shows it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Thread
from typing import Any, Final, Generic, cast

import numpy as np

from explorer.analysis import Explanation
from explorer.analysis.explaining.step import explain_step
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import BudgetExceeded, ExplorerError, RegexError
from explorer.tokens.machine import TokenMachine, table_of
from widgets import messages as ask
from widgets.cursor import at_end
from widgets.figures.machines.arcs import arcs_of
from widgets.figures.machines.drawn import draw_whole
from widgets.figures.machines.present import missing_arcs
from widgets.figures.packets import compress
from widgets.figures.panels.mask import order_packet, rows_packet
from widgets.figures.panels.why import more_packet, widening_packet
from widgets.later import CalledOff, Later, Packet, Progress
from widgets.messages import AtPlace, AtPosition, M, PageMessage, read
from widgets.page import packed
from widgets.place import Place

MOST_AT_ONCE: Final = 256
"""How many tokens one message may ask for."""

Reply = Packet | Later | None
"""What a handler returns: what the page is told, what works it out, or nothing to tell."""


@dataclass(frozen=True, slots=True)
class Entry(Generic[M]):
    """What is known of a message, by its name.

    Args:
        message: Its class.
        handler: Answers it; called inside the cursor's lock.
        moves: Whether it moves the session.
        quiet: Whether the view that sent it shows the error itself.
        later: Whether it is worked out on a thread.
        unasked: Whether the page asks it by itself, so nobody is told that it waits.
    """

    message: type[M]
    handler: Callable[[Place, M], Reply]
    moves: bool = False
    quiet: bool = False
    later: bool = False
    unasked: bool = False


class Dialogue:
    """What one widget and its page say to each other.

    Args:
        send: Sends an answer to the page.
        places: What the widget shows, by side; a widget of one place has the side ``""``.
        inside: What is held while a message is answered.
        own: Handlers of the widget's own, by name, in place of those of `TABLE`. They are asked
            where the message is about no one side, or ``side`` makes no difference to them.
    """

    def __init__(
        self,
        send: Callable[[Packet], None],
        places: Mapping[str, Place],
        inside: Callable[[], AbstractContextManager[object]],
        own: Mapping[str, Callable[[Any], Reply]],
    ) -> None:
        self._send, self._places, self._inside, self._own = send, places, inside, own
        self._running: dict[tuple[str, int | None], Progress] = {}

    def hear(self, content: object) -> None:
        """Answer one message. Whatever it holds, nothing is raised.

        Args:
            content: What the page sent.
        """
        head = _head(content)
        entry: Entry[Any] | None = None
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
        except Exception as error:  # Whatever it is, a notebook would swallow it.
            self._refuse(head, entry, error)

    def _finish(
        self, head: Packet, entry: Entry[Any], message: PageMessage, seen: int, later: Later
    ) -> None:
        """Answer what could not be answered at once, on a thread of its own."""
        try:
            put = later.work()
            later.progress.check()
            with self._inside():
                if isinstance(message, AtPlace) and self._generation(message) != seen:
                    return self._drop(head, message)
                self._reply(head, message, put())
        except Exception as error:  # As above.
            if isinstance(message, AtPlace) and self._generation(message) != seen:
                return self._drop(head, message)
            self._refuse(head, entry, error)
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
        """Say that the place the page asked about was left, and what the present one is."""
        for place in self._places.values():
            place.catch_up()
        generation = self._generation(message)
        self._send({**head, "ok": False, "quiet": True, "stale": True, "generation": generation})

    def _refuse(self, head: Packet, entry: Entry[Any] | None, error: Exception) -> None:
        answer: Packet = {**head, "ok": False, "error": error_packet(error)}
        called_off = isinstance(error, CalledOff)
        answer["quiet"] = called_off or (entry is not None and entry.quiet)
        if called_off:
            answer["cancelled"] = True
        self._send(answer)


def _head(content: object) -> Packet:
    """What an answer repeats of its message: the number, and the side where there are two."""
    if not isinstance(content, Mapping):
        return {}
    given = cast("Mapping[object, object]", content)
    found = {name: given[name] for name in ("re", "side") if name in given}
    return {name: value for name, value in found.items() if type(value) in (int, str)}


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
    return entry, read(entry.message, fields)


def error_packet(error: Exception) -> Packet:
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


# --- moving ---------------------------------------------------------------------------------------


def _step(place: Place, message: ask.StepOn) -> None:
    place.cursor.step()


def _take(place: Place, message: ask.Take) -> None:
    place.cursor.step(message.token)


def _peek(place: Place, message: ask.Peek) -> Packet:
    token = place.cursor.peek(message.token)
    return {"walk": place.page.walk(place.cursor.full_trace(), place.session.index, token)}


def _jump(place: Place, message: ask.Jump) -> None:
    place.cursor.jump(message.k)


def _run(place: Place, message: ask.Run) -> Packet:
    return {"stopped": not place.cursor.run(min(message.tokens, MOST_AT_ONCE))}


def _fork(place: Place, message: ask.Fork) -> None:
    place.cursor.fork()


def _switch(place: Place, message: ask.Switch) -> None:
    place.cursor.switch(message.line)


def _follow(place: Place, message: ask.Follow) -> None:
    line = place.cursor.fork()
    for token in message.tokens:
        line.step(token)
    place.cursor.jump(line.index)


def _again(place: Place, message: ask.Again) -> None:
    place.cursor.again()


def _reset(place: Place, message: ask.Reset) -> None:
    place.cursor.reset()


# --- questions about a position -------------------------------------------------------------------


def _position(place: Place, message: AtPosition) -> int:
    k = place.session.index if message.k is None else message.k
    if not 0 <= k <= place.session.length:
        raise ExplorerError(f"There is no position {k}.", remedy="Step or jump first.")
    return k


def _walk(place: Place, message: ask.WalkToken) -> Packet:
    k = _position(place, message)
    return {"walk": place.page.walk(place.cursor.full_trace(), k, message.token)}


def _why(place: Place, message: ask.Why) -> Later:
    k, page = _position(place, message), place.page
    session, trace = at_end(place.session), place.cursor.full_trace()
    return Later.of(lambda: {"explanation": page.explanation(session, trace, k, message.token)})


def _searched(
    name: str, packet: Callable[[Explanation], Packet | None]
) -> Callable[[Place, ask.More | ask.Widen], Reply]:
    """The handler for what an explanation holds besides the verdict, told under a name."""

    def handler(place: Place, message: ask.More | ask.Widen) -> Reply:
        k = _position(place, message)
        if place.session.constraint is None:
            return {name: None}
        session, trace = at_end(place.session), place.cursor.full_trace()
        return Later.of(
            lambda: {name: packet(explain_step(session, message.token, k, trace=trace))}
        )

    return handler


def _search(place: Place, message: ask.FindTokens) -> Later:
    k, page = _position(place, message), place.page
    session, trace = at_end(place.session), place.cursor.full_trace()
    return Later.of(lambda: page.search(session, trace, k, message.query))


def _allowed(place: Place, message: ask.AllowedTokens) -> Later:
    k, page = _position(place, message), place.page
    session, trace = at_end(place.session), place.cursor.full_trace()

    def make() -> Packet:
        ids: list[int] = np.flatnonzero(trace.allowed(k)).tolist()
        return {"rows": page.rows(session, trace, k, ids), "count": len(ids)}

    return Later.of(make)


def _order(place: Place, message: ask.TokenOrder) -> Later:
    k, session = _position(place, message), at_end(place.session)

    def make() -> Packet:
        logits = session.logits(k).float().cpu().numpy()
        return {"order": order_packet(logits, len(session.vocabulary))}

    return Later.of(make)


def _reasons(place: Place, message: ask.ReasonGroups) -> Reply:
    k = _position(place, message)
    if place.session.constraint is None:
        return {"reasons": None}
    session, trace, page = at_end(place.session), place.cursor.full_trace(), place.page
    return Later.of(lambda: {"reasons": page.groups(session, trace, k).packet})


def _group(place: Place, message: ask.GroupMembers) -> Reply:
    k, page = _position(place, message), place.page
    if place.session.constraint is None:
        return {"rows": None}
    session, trace = at_end(place.session), place.cursor.full_trace()

    def make() -> Packet:
        members = page.groups(session, trace, k).members
        ids = np.flatnonzero(members[: len(page.vocabulary)] == message.group + 1)
        return {"rows": page.rows(session, trace, k, ids.tolist()), "members": packed(members)}

    return Later.of(make)


def _traps(place: Place, message: ask.FindTraps) -> Reply:
    page, trace = place.page, place.cursor.full_trace()
    return Later.of(lambda: {"traps": page.traps(trace)})


def _around(place: Place, message: ask.FiguresAround) -> Later:
    k, page, trace = _position(place, message), place.page, place.cursor.full_trace()
    # Drawings are words that repeat: packed they are a fifth, and they go out at every step.
    return Later.of(lambda: {"packed": compress(page.around(trace, k, message.also))})


def _stages(place: Place, message: ask.ConstructionStages) -> Later:
    k, page, trace = _position(place, message), place.page, place.cursor.full_trace()
    return Later.of(lambda: {"stages": page.stages(trace, k, message.also)})


def _present(place: Place, message: ask.PresentArcs) -> Later:
    k, machine, trace = _position(place, message), _machine(place), place.cursor.full_trace()
    states = [position.state for position in trace.positions[: k + 1]]

    def make() -> Packet:
        drawn = draw_whole(machine, message.form)
        figure, layout = drawn.figures["token_dfa"], drawn.layouts["token_dfa"]
        return {"present": missing_arcs(machine, figure, layout, states, message.form).to_dict()}

    return Later.of(make)


# --- questions about the machine and the line -----------------------------------------------------


def _machine(place: Place) -> TokenMachine:
    if place.session.constraint is None:
        raise ExplorerError("There is no constraint, so there is no machine to draw.")
    return place.session.machine


def _machines(place: Place, message: ask.MachineFigures) -> Later:
    page = place.page
    return Later.of(lambda: {"machine": page.machines() if message.figures else page.classes()})


def _draw(place: Place, message: ask.Draw) -> Later:
    machine = _machine(place)

    def make() -> Packet:
        drawn = draw_whole(machine, message.form)
        machines = {name: figure.to_dict() for name, figure in drawn.figures.items()}
        layouts = {name: layout.to_dict() for name, layout in drawn.layouts.items()}
        return {"drawing": {"machines": machines, "layouts": layouts}}

    return Later.of(make)


def _arc(place: Place, message: ask.ArcClasses) -> Packet:
    machine = _machine(place)
    ids = arcs_of(machine, message.form).tokens(message.source, message.target)
    table = table_of(machine)
    return {"classes": (ids if table is None else np.unique(table.token_class[ids])).tolist()}


def _words(place: Place, message: ask.TokenTexts) -> Later:
    page = place.page
    return Later.of(lambda: {"words": page.words()})


def _rows(place: Place, message: ask.MaskRows) -> Packet:
    return rows_packet(place.cursor.full_trace(), message.first, message.end)


def _figure(place: Place, message: ask.RunFigure) -> Later:
    # Imported when it is asked for: the figure needs plotly, and nothing else does.
    from widgets.figures.panels.plotly_figure import trace_page

    trace = place.cursor.full_trace()
    return Later.of(lambda: {"name": "trace.html", "data": compress(trace_page(trace))})


# --- changing the question ------------------------------------------------------------------------


def _edit(place: Place, message: ask.Edit) -> Reply:
    return place.editing.edit(message.kind, message.text, message.prompt, message.preset)


def _cancel(place: Place, message: ask.Cancel) -> None:
    place.editing.cancel()


def _ready(place: Place, message: ask.Ready) -> None:
    place.editing.ready()


def _sampler(place: Place, message: ask.SetSampler) -> None:
    temperature = message.temperature or 0.0
    sampler = Sampler(temperature, message.top_k, message.top_p, message.min_p)
    if sampler != place.session.sampler:
        place.cursor.edit(sampler=sampler)
    if message.seed is not None and message.seed != place.session.seed:
        place.cursor.reseed(message.seed)


def _play(place: Place, message: ask.Play) -> None:
    place.cursor.playing = message.on


def _of_the_widget(place: Place, message: PageMessage) -> Reply:
    raise ExplorerError("The page asked for something that this widget does not have.")


TABLE: Final[Mapping[str, Entry[Any]]] = {
    "step": Entry(ask.StepOn, _step, moves=True),
    "take": Entry(ask.Take, _take, moves=True),
    "peek": Entry(ask.Peek, _peek, moves=True),
    "jump": Entry(ask.Jump, _jump, moves=True),
    "run": Entry(ask.Run, _run, moves=True),
    "fork": Entry(ask.Fork, _fork, moves=True),
    "switch": Entry(ask.Switch, _switch, moves=True),
    "follow": Entry(ask.Follow, _follow, moves=True),
    "again": Entry(ask.Again, _again, moves=True),
    "reset": Entry(ask.Reset, _reset, moves=True),
    "walk": Entry(ask.WalkToken, _walk),
    "why": Entry(ask.Why, _why, later=True),
    "more": Entry(ask.More, _searched("more", more_packet), later=True, unasked=True),
    "widen": Entry(ask.Widen, _searched("widening", widening_packet), later=True, unasked=True),
    "search": Entry(ask.FindTokens, _search, later=True),
    "allowed": Entry(ask.AllowedTokens, _allowed, later=True, unasked=True),
    "order": Entry(ask.TokenOrder, _order, later=True),
    "reasons": Entry(ask.ReasonGroups, _reasons, later=True, unasked=True),
    "group": Entry(ask.GroupMembers, _group, later=True),
    "traps": Entry(ask.FindTraps, _traps, later=True, unasked=True),
    "around": Entry(ask.FiguresAround, _around, later=True),
    "stages": Entry(ask.ConstructionStages, _stages, later=True),
    "present": Entry(ask.PresentArcs, _present, later=True, unasked=True),
    "machine": Entry(ask.MachineFigures, _machines, later=True),
    "draw": Entry(ask.Draw, _draw, quiet=True, later=True),
    "arc": Entry(ask.ArcClasses, _arc, unasked=True),
    "words": Entry(ask.TokenTexts, _words, later=True),
    "line": Entry(ask.WholeLine, _of_the_widget),
    "rows": Entry(ask.MaskRows, _rows),
    "figure": Entry(ask.RunFigure, _figure, later=True),
    "export": Entry(ask.Export, _of_the_widget, later=True),
    "edit": Entry(ask.Edit, _edit, moves=True, quiet=True, later=True),
    "cancel": Entry(ask.Cancel, _cancel),
    "ready": Entry(ask.Ready, _ready, quiet=True),
    "sampler": Entry(ask.SetSampler, _sampler, moves=True, quiet=True),
    "play": Entry(ask.Play, _play),
    "stop": Entry(ask.Stop, _of_the_widget),
}
"""Every message that a page may send, by its name."""


def table_for_page() -> dict[str, Packet]:
    """What the page is given of `TABLE`: by name, the fields, and two flags."""
    return {
        name: {
            "fields": [field for field in entry.message.__struct_fields__ if field != "re"],
            "moves": entry.moves,
            "unasked": entry.unasked,
        }
        for name, entry in TABLE.items()
    }
