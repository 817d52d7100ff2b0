"""The lines in which servers report tokens that a grammar refused: a table of their forms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from explorer.arguments import whole_text
from explorer.errors import ExplorerError
from explorer.vocabulary import Vocabulary

_LIST: Final = r"\[[\d,\s]*\]|\d+(?:\s*,\s*\d+)*"

FORMS: Final[tuple[re.Pattern[str], ...]] = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        # SGLang: the refused token, those accepted before it, and the key of the grammar.
        rf"tokens? not accepted: (?P<ids>{_LIST})(?:\s*accepted tokens: (?P<before>{_LIST}))?"
        r"(?:\s*key string: (?P<key>.*))?",
        # llama.cpp: the text of a piece, and in newer releases its id.
        r"empty grammar stack after accepting piece: (?P<piece>.*?)(?: \((?P<ids>\d+)\))?\s*$",
        # llguidance: the token as it is shown.
        r"token (?P<piece>\"(?:[^\"\\]|\\.)*\"|\u27e6.*?\u27e7) doesn't satisfy the grammar",
        # TensorRT-LLM: one new token.
        rf"failed to accept (?:the )?(?:last )?(?:new |draft )?tokens?:? (?P<ids>{_LIST})",
        # vLLM and others: some tokens.
        r"(?:for tokens?|reject(?:ed|s)? (?:the )?tokens?|token(?:_id|_ids|s| ids?)?)\s*[:=]?\s*"
        r"(?P<ids>\[[\d,\s]*\d[\d,\s]*\]|\d+(?:\s*,\s*\d+)*)",
    )
)
"""The forms of such lines, the more special ones first."""

_REQUEST: Final = re.compile(
    r"(?:request|req)[ =:]+(?:id[ =:]+)?(?P<request>[\w./-]+)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ReadLine:
    """The content of a line.

    Args:
        request: The name of the request; empty without one.
        ids: The tokens that were refused.
        before: The tokens that were accepted before them; ``None`` where the line does not say.
        schema: The schema of the request, as JSON; empty where the line has none.
    """

    request: str
    ids: tuple[int, ...]
    before: tuple[int, ...] | None = None
    schema: str = ""


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
        match = form.search(line)
        if match is None:
            continue
        groups = match.groupdict()
        ids = _numbers(groups.get("ids") or "")
        if not ids and groups.get("piece") and vocabulary is not None:
            piece = groups["piece"].strip('"\u27e6\u27e7').encode()
            ids = vocabulary.ids_of(piece)[:1] or _special(piece.decode(), vocabulary)
        if ids:
            before, key = groups.get("before"), (groups.get("key") or "").strip()
            schema = key if key.startswith(("{", "true", "false")) else ""
            return ReadLine(named, ids, None if before is None else _numbers(before), schema)
    raise ExplorerError(
        "The line names no tokens.",
        remedy="Paste it whole, such as: Failed to advance FSM for request r for tokens 271",
    )


def _special(name: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    return tuple(token for token, each in vocabulary.special.items() if each == name)[:1]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", text))
