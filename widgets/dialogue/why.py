"""What the page asks about reasons: one token, all tokens in groups, and traps.

These answers come after a step, never with it, and all but the verdict on a thread, so that no
step waits for them. A question carries the position and the machine that the page shows; if the
cursor has moved on before the work begins nothing is worked out, and the answer is ``None``.

The handlers take the controller, as `widgets.dialogue.controller` calls them.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from explorer.analysis import Explanation, explain_all, explain_trace, machine_traps, session_traps
from explorer.analysis.session import Session
from explorer.decoding.trace.trace import Trace
from explorer.errors import ExplorerError
from explorer.tokens.token_dfa import TokenDFA
from widgets.dialogue.editing import Later
from widgets.figures.panels.reasons import Grouped, grouped
from widgets.figures.panels.traps import trap_packet
from widgets.figures.panels.why import more_packet, widening_packet

if TYPE_CHECKING:
    from widgets.dialogue.controller import Controller

Packet = dict[str, object]
Message = Mapping[str, Any]
Handler = Callable[["Controller", Message], Packet | Later | None]

_traps: WeakKeyDictionary[TokenDFA, list[Packet]] = WeakKeyDictionary()
_grouped: WeakKeyDictionary[Session, tuple[tuple[object, ...], Grouped]] = WeakKeyDictionary()


def explained(session: Session, trace: Trace, k: int, token: int) -> Explanation:
    """The explanation of a token at a position, the sampler and the token budget included.

    Args:
        session: For the machine and the model's logits.
        trace: The record of the whole line.
        k: A position.
        token: An id.

    Raises:
        ExplorerError: The session has no constraint.
    """
    if session.dfa is None:
        raise ExplorerError("There is no constraint, so nothing is masked.")
    unread = trace.positions[k].distribution is None
    logits = None if session.lm is None or unread else session.logits(k)
    return explain_trace(session.dfa, trace, token, k, logits=logits)


def groups_at(session: Session, trace: Trace, k: int) -> Grouped:
    """The groups of reasons at a position; the last answer of each line is kept.

    Args:
        session: For the machine and the model's logits.
        trace: The record of the whole line.
        k: A position.

    Raises:
        ExplorerError: The session has no constraint.
    """
    if session.dfa is None:
        raise ExplorerError("There is no constraint, so nothing is masked.")
    key = (session.dfa, session.prompt, trace.ids[:k], trace.max_tokens)
    known = _grouped.get(session)
    if known is None or known[0] != key:
        here = trace.positions[k]
        probabilities = None
        if session.lm is not None and here.distribution is not None:
            probabilities = session.logits(k).detach().double().softmax(-1).cpu().numpy()
        reasons = explain_all(session.dfa, here.state, probabilities, text=here.data)
        known = _grouped[session] = (key, grouped(reasons, trace.allowed(k), probabilities))
    return known[1]


def traps_of(session: Session, trace: Trace) -> list[Packet]:
    """The traps of a run, by position, and then those of its constraint.

    Args:
        session: For the machine.
        trace: The record of the whole line.
    """
    if session.dfa is None:
        return []
    of_machine = _traps.get(session.dfa)
    if of_machine is None:
        found = machine_traps(session.dfa)
        of_machine = _traps[session.dfa] = [trap_packet(trap, session.dfa) for trap in found]
    of_run = session_traps(session.dfa, trace)
    return [*(trap_packet(trap, session.dfa) for trap in of_run), *of_machine]


def packed(members: NDArray[np.uint8]) -> str:
    """A byte per id as base64 of zlib."""
    return base64.b64encode(zlib.compress(members.tobytes(), 6)).decode("ascii")


# --- handlers ------------------------------------------------------------------------------------


def _here(controller: Controller, content: Message) -> int | None:
    """The position that is asked about; ``None`` if the cursor is elsewhere by now."""
    session = controller.session
    k = int(content.get("k", session.index))
    key = content.get("key")
    if k != session.index or (key is not None and key != controller.page_data.key()):
        return None
    return k


def _later(
    controller: Controller, content: Message, name: str, make: Callable[[], Packet]
) -> Later:
    """Worked out on a thread, and not at all if the cursor has moved on before it begins."""

    nothing: Packet = {name: None}

    def work() -> Callable[[], Packet]:
        with controller.cursor.lock:  # A trace that is being read moves the cursor for a moment.
            here = _here(controller, content)
        found = nothing if here is None else make()
        return lambda: nothing if _here(controller, content) is None else found

    return Later(work)


def _why(controller: Controller, content: Message) -> Packet:
    k, token = int(content.get("k", controller.session.index)), int(content["token"])
    trace = controller.cursor.full_trace()
    if not 0 <= k < len(trace.positions):
        raise ExplorerError(f"There is no position {k}.", remedy="Step or jump first.")
    return {"explanation": controller.page_data.explanation(controller.session, trace, k, token)}


def _searched(name: str, packet: Callable[[Explanation], Packet | None]) -> Handler:
    """What an explanation holds besides the verdict, under a name."""

    def handler(controller: Controller, content: Message) -> Packet | Later:
        k = _here(controller, content)
        if k is None or controller.session.dfa is None:
            return {name: None}
        trace = controller.cursor.full_trace()
        found = explained(controller.session, trace, k, int(content["token"]))
        return _later(controller, content, name, lambda: {name: packet(found)})

    return handler


def _follow(controller: Controller, content: Message) -> None:
    """Fork, and take some tokens on the fork."""
    made = controller.cursor.fork()
    for token in content["tokens"]:
        made.step(int(token))
    controller.cursor.jump(made.index)


def _reasons(controller: Controller, content: Message) -> Packet | Later:
    k, session = _here(controller, content), controller.session
    if k is None or session.dfa is None:
        return {"reasons": None}
    trace = controller.cursor.full_trace()
    return _later(
        controller, content, "reasons", lambda: {"reasons": groups_at(session, trace, k).packet}
    )


def _group(controller: Controller, content: Message) -> Packet | Later:
    """The likeliest tokens of a group, and the group of every id."""
    k, session = _here(controller, content), controller.session
    if k is None or session.dfa is None:
        return {"rows": None}
    trace, page = controller.cursor.full_trace(), controller.page_data

    def make() -> Packet:
        members = groups_at(session, trace, k).members
        ids = np.flatnonzero(members[: len(page.vocabulary)] == int(content["group"]) + 1)
        return {
            "rows": page.rows(session, trace, k, ids.tolist()),
            "members": packed(members),
        }

    return _later(controller, content, "rows", make)


def _all_traps(controller: Controller, content: Message) -> Packet | Later:
    session = controller.session
    if _here(controller, content) is None or session.dfa is None:
        return {"traps": [] if session.dfa is None else None}
    trace = controller.cursor.full_trace()
    return _later(controller, content, "traps", lambda: {"traps": traps_of(session, trace)})


HANDLERS: Final[Mapping[str, Handler]] = {
    "why": _why,
    "more": _searched("more", more_packet),
    "widen": _searched("widening", widening_packet),
    "follow": _follow,
    "reasons": _reasons,
    "group": _group,
    "traps": _all_traps,
}
"""The page's questions about reasons, by the type of the message."""
