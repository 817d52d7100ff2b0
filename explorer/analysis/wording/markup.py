"""An explanation as HTML: the pattern with the live part underlined, the token as boxes.

Every piece of text from a vocabulary, a constraint or a user goes through `html.escape`:
vocabularies hold tags. Colours follow the notebook's theme where there is one, and nothing is said
by colour alone: a byte that was read has a solid box, the one that fails a double one and a cross,
those after it a dotted one.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from explorer.alphabet import show_bytes
from explorer.analysis.characters.display import show_character
from explorer.analysis.places.spans import MarkedText, SourcePart
from explorer.analysis.verdict.verdict import Verdict

_BLUE: Final = "#0072B2"
_RED: Final = "#D55E00"
_MONO: Final = "font-family:var(--jp-code-font-family,monospace)"
_BOX: Final = "display:inline-block;padding:0 .3em;margin:1px;text-align:center;"

MOST_BYTES: Final = 64
"""The most bytes of a token that are drawn."""


def pattern_html(shown: MarkedText) -> str:
    """A text of the constraint with its live positions underlined."""
    pattern = shown.text
    marked = [any(start <= k < end for start, end in shown.spans) for k in range(len(pattern))]
    pieces: list[str] = []
    begin = 0
    for k in range(1, len(pattern) + 1):
        if k == len(pattern) or marked[k] != marked[begin]:
            text = escape(pattern[begin:k])
            if marked[begin]:
                text = (
                    f'<span style="text-decoration:underline;text-decoration-thickness:3px;'
                    f'font-weight:bold">{text}</span>'
                )
            pieces.append(text)
            begin = k
    return f'<div style="{_MONO};white-space:pre-wrap">{"".join(pieces)}</div>'


def boxes_html(verdict: Verdict) -> str:
    """The token's characters over its bytes, up to the byte that failed."""
    data = verdict.data or b""
    cells: list[str] = []
    k = 0
    while k < min(len(data), MOST_BYTES):
        end = k + 1
        while end < len(data) and 0x80 <= data[end] < 0xC0:
            end += 1
        try:
            shown = show_character(ord(data[k:end].decode()))
        except (UnicodeDecodeError, TypeError):
            shown = "half a character"
        inner = "".join(_byte(verdict, at, data[at]) for at in range(k, end))
        cells.append(
            f'<span style="{_BOX}vertical-align:top"><span>{escape(shown)}</span><br>{inner}</span>'
        )
        k = end
    if not cells:
        return ""
    return f'<div style="{_MONO}">{"".join(cells)}</div>'


def _byte(verdict: Verdict, at: int, byte: int) -> str:
    failed = verdict.byte_offset
    if failed is None or at < failed:
        style, mark = f"border:1px solid {_BLUE}", ""
    elif at == failed:
        style, mark = f"border:3px double {_RED}", "✗"
    else:
        style, mark = "border:1px dotted currentColor;opacity:.6", ""
    return f'<span style="{_BOX}{style}">{escape(show_bytes(bytes([byte])))}{mark}</span>'


def answer_html(
    verdict: Verdict, lines: Sequence[str], parts: Sequence[SourcePart], hints: Sequence[str]
) -> str:
    """The rich display of an answer."""
    said = "".join(f"<div>{escape(line)}</div>" for line in lines)
    patterns = "".join(
        dict.fromkeys(pattern_html(shown) for part in parts for shown in part.marked)
    )
    more = "".join(f"<div>{escape(line)}</div>" for line in hints)
    return f'<div style="line-height:1.6">{said}{boxes_html(verdict)}{patterns}{more}</div>'
