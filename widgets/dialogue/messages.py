"""The messages of a page to the kernel, each read from the signature of its handler.

`answers` registers a handler (`widgets.dialogue.handlers`): the message has the name of the
function without ``on_``, and a field for each parameter after the place, with the same type and
default. The page gets names and fields from `TABLE` and sends nothing else; `read_message` turns
its data into a frozen struct or raises an error, so a handler never gets a field that is missing,
of another type, or unknown.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, cast, get_type_hints

import msgspec

from explorer.errors import ExplorerError
from widgets.dialogue.later import Later, Packet

Form = Literal["characters", "bytes"]

RELOAD: Final = "Reload the page; if that does not help, it is a fault of the explorer."
"""The remedy for a message that only another page could have sent."""

Reply = Packet | Later | None
"""The result of a handler: the answer, the work that makes it, or ``None`` for no answer."""


class PageMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields of every message.

    Args:
        re: Its number, which the answer repeats; ``None`` if no answer is wanted.
        side: The side of a comparison that it is about; empty for both.
    """

    re: int | None = None
    side: Literal["left", "right", ""] = ""


class AtPlace(PageMessage, frozen=True, kw_only=True):
    """A message about the place that the page shows.

    Args:
        seen: The cursor's generation that the page shows. If the cursor has moved since, the
            message is dropped; ``None`` for a message about any place.
    """

    seen: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of the table for one kind of message.

    Args:
        handler: The function that answers it; called inside the cursor's lock with the place and
            the fields of the message.
        moves: It moves the session.
        quiet: The view that sent it shows the error itself.
        later: Its answer is computed on a thread, without the lock, so no step waits for it.
        unasked: The page sends it by itself, and the user does not wait for it.
    """

    message: type[PageMessage]
    handler: Callable[..., Reply]
    moves: bool = False
    quiet: bool = False
    later: bool = False
    unasked: bool = False


TABLE: Final[dict[str, Entry]] = {}
"""Every message that a page may send, by its name."""

H = TypeVar("H", bound=Callable[..., Reply])


def answers(*, at_place: bool = True, **flags: bool) -> Callable[[H], H]:
    """Register a handler under the name of its function without ``on_``.

    Args:
        at_place: The message is about the place that the page shows; see `AtPlace`.
        flags: Those of `Entry`.
    """

    def register(handler: H) -> H:
        types = get_type_hints(handler)
        fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
        for field in list(inspect.signature(handler).parameters.values())[1:]:
            has = field.default is not field.empty
            known = field.name, types[field.name]
            fields.append((*known, field.default) if has else known)
        name = handler.__name__.removeprefix("on_")
        base = AtPlace if at_place else PageMessage
        made = msgspec.defstruct(
            name, fields, bases=(base,), frozen=True, forbid_unknown_fields=True, kw_only=True
        )
        TABLE[name] = Entry(cast("type[PageMessage]", made), handler, **flags)
        return handler

    return register


def message_fields(message: PageMessage) -> dict[str, Any]:
    """The fields that the handler of a message is called with."""
    common = AtPlace.__struct_fields__
    names = (name for name in message.__struct_fields__ if name not in common)
    return {name: getattr(message, name) for name in names}


def read_message(kind: type[PageMessage], content: dict[str, object]) -> PageMessage:
    """Read a message from the page's data without its ``type``.

    Raises:
        ExplorerError: A field is missing, unknown, or of another type.
    """
    try:
        return msgspec.convert(content, kind)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise ExplorerError(
            f"The page sent a message that cannot be read: {error}.",
            remedy=RELOAD,
        ) from error
