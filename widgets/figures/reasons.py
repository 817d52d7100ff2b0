"""Why a token is masked, in two or three words, for the end of a bar.

The whole reason is `explorer.analysis`'s; here only the verdict is asked, which takes microseconds,
and said as briefly as a column of 104 pixels allows: ``r: expects o``, ``not complete``.
"""

from __future__ import annotations

from typing import Final

from explorer.analysis.characters import show_characters
from explorer.analysis.machine import machine_of
from explorer.analysis.verdict import Verdict, judge
from explorer.tokens.token_dfa import TokenDFA
from widgets.figures.labels import byte_text, character_text, shorten

MOST: Final = 24


def short_reason(dfa: TokenDFA, state: int, token: int, prefix: bytes) -> str | None:
    """The reason for a masked token, or ``None`` for an allowed one.

    Args:
        dfa: The token DFA.
        state: The state.
        token: An id.
        prefix: The text so far, in bytes.

    Example:
        >>> import explorer
        >>> toy = [b"f", b"oo", b"foo", b"for", b"food"]
        >>> vocab = explorer.Vocabulary.from_bytes(toy, eos_ids=[5])
        >>> dfa = explorer.compile(explorer.regex("(foo)+d"), vocab)
        >>> [short_reason(dfa, dfa.walk([2])[-1], token, b"foo") for token in (3, 5, 1, 0)]
        ['r: expects o', 'not complete', 'expects d or f', None]
    """
    return in_short(judge(dfa, machine_of(dfa), state, token, prefix))


def in_short(verdict: Verdict) -> str | None:
    """A verdict in two or three words; ``None`` for an allowed token."""
    match verdict.stage:
        case "allowed":
            return None
        case "beyond_vocabulary":
            return "no such token"
        case "not_text":
            return "special token"
        case "empty_token":
            return "writes nothing"
        case "end_of_text":
            return "not complete"
        case "dead_end":
            return "cannot finish"
        case "constraint":
            return _constraint(verdict)


def _constraint(verdict: Verdict) -> str:
    expected = verdict.expected_chars
    if not verdict.expected:
        return "must end here"
    if verdict.byte_offset == 0:
        words = show_characters(expected) if expected.ranges else _bytes(verdict.expected)
        return shorten(f"expects {words}", MOST)
    words = show_characters(expected) if expected.ranges else _bytes(verdict.expected)
    return shorten(f"{_offered(verdict)}: expects {words}", MOST)


def _offered(verdict: Verdict) -> str:
    """The character that fails, or its byte where the token holds no whole one."""
    written = verdict.prefix + (verdict.data or b"")
    rest = written[verdict.char_begin :][:4]
    for end in range(1, len(rest) + 1):
        try:
            return character_text(ord(rest[:end].decode()))
        except (UnicodeDecodeError, TypeError):
            continue
    return byte_text(verdict.failing_byte or 0)


def _bytes(expected: bytes) -> str:
    shown = " ".join(byte_text(byte) for byte in expected[:3])
    return f"{shown} …" if len(expected) > 3 else shown
