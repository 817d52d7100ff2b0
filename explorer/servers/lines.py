"""The lines in which servers report tokens that a grammar refused: a table of their forms."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from explorer.arguments import whole_text
from explorer.errors import ExplorerError
from explorer.servers.tables import table
from explorer.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class LineForm:
    """A form of such lines.

    Args:
        form: A regular expression. Its groups are ``ids``; ``piece`` or ``quoted``, the text of a
            token, plain or as Rust shows it; ``before``, the tokens accepted before it; and
            ``key``, the text of the constraint.
        server, engine: The server and the engine that write it; empty where several do.
        note: What such a line says besides, as sentences.
    """

    form: str
    server: str = ""
    engine: str = ""
    note: str = ""


FORMS: Final = table("lines", tuple[LineForm, ...])
"""The forms of such lines, the more special ones first."""

_REQUEST: Final = re.compile(
    r"(?:request|req)[ =:]+(?:id[ =:]+)?(?P<request>[\w./-]+)", re.IGNORECASE
)
_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}


@dataclass(frozen=True, slots=True)
class ReadLine:
    """The content of a line.

    Args:
        request: The name of the request; empty without one.
        ids: The tokens that were refused.
        before: The tokens that were accepted before them; ``None`` where the line does not say.
        key: The constraint of the request as SGLang keeps it: a schema, ``$$ANY$$`` for any JSON,
            a grammar or a pattern; empty where the line has none.
        form: The form of the line.
    """

    request: str
    ids: tuple[int, ...]
    before: tuple[int, ...] | None = None
    key: str = ""
    form: LineForm = field(default=LineForm(""))


def read_line(line: str, vocabulary: Vocabulary | None = None) -> ReadLine:
    """The tokens of a line, and what it says of the request.

    Args:
        vocabulary: Finds the token of a line that names only its text.

    Raises:
        ExplorerError: The line names no tokens.

    Example:
        >>> read_line("Failed to advance FSM for request chat-7 for tokens 271. Please ...").ids
        (271,)
        >>> read_line("Tokens not accepted: 5\\nAccepted tokens: [1, 2]").before
        (1, 2)
    """
    line = whole_text("line", line)
    request = _REQUEST.search(line)
    named = request["request"].rstrip(".") if request else ""
    for form in FORMS:
        match = re.search(form.form, line, re.IGNORECASE | re.DOTALL)
        if match is None:
            continue
        groups = match.groupdict()
        ids = _numbers(groups.get("ids") or "")
        piece = groups.get("piece") or _unquoted(groups.get("quoted") or "")
        if not ids and piece and vocabulary is not None:
            ids = _of_piece(piece, vocabulary)
        if ids:
            before = groups.get("before")
            accepted = None if before is None else _numbers(before)
            return ReadLine(named, ids, accepted, (groups.get("key") or "").strip(), form)
    raise ExplorerError(
        "The line names no tokens of this vocabulary.",
        remedy="Paste it whole, such as: Failed to advance FSM for request r for tokens 271",
    )


def _unquoted(text: str) -> str:
    """A token's text from the form in which Rust shows it, in quotes and with escapes."""
    if not text.startswith('"'):
        return text.strip("\u27e6\u27e7")
    return _ESCAPE.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else _ESCAPED.get(match[2], match[2]),
        text[1:-1],
    )


def _of_piece(piece: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    """The token with a text. Before a control token llguidance writes a byte outside of UTF-8."""
    bare = piece.lstrip("\u00ff\ufffd")
    if bare != piece and (number := re.fullmatch(r"\[(\d+)\]", bare)):
        return (int(number[1]),)
    named = tuple(token for token, name in vocabulary.special.items() if name == bare)
    return (named or vocabulary.ids_of(bare.encode()))[:1]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"-?\d+", text))
