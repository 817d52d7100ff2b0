"""Terminals that are ordinary patterns: quoted strings, plain scalars of YAML, delimited lists.

*QUOTED_TEXT* is ``"(?:[^"\\\\\\n]|\\\\.)*"``: a backslash may stand before all but the newline.

*UNQUOTED_TEXT* is a plain scalar of YAML 1.2.2, section 7.3.3, on one line and outside of ``[]``
and ``{}``: what a YAML reader takes as one scalar whose text is exactly what is written. No blank
at either end; no indicator in front; no ``: ``, no ``:`` at the end and no `` #`` inside; and none
of the marks ``---`` and ``...``. Tabs are left out, because readers of YAML 1.1 refuse them.

*DELIMITED_LIST* is an item, then any number of delimiters with an item after each.
"""

from __future__ import annotations

from typing import Final

from explorer.automata.tree.nodes import Concat, Node, Repeat, letters
from explorer.languages.terminals.kinds import Terminal, TerminalGroup, register_terminal

_QUOTED: Final = r'"(?:[^"\\\n]|\\.)*"'

# Characters of a plain scalar but the blank: printable ones, no breaks, no byte order mark. A colon
# never comes last, nor before a blank, so it stands with the character after it.
_WIDE: Final = r"\u00A0-\u2027\u202A-\uFEFE\uFF00-\uFFFD\U00010000-\U0010FFFF"
_SOLID: Final = rf"[!-9;-~{_WIDE}]"
_COLONS: Final = f":+{_SOLID}"
_NO_HASH: Final = rf"(?:[!\"$-9;-~{_WIDE}]|{_COLONS})"
_NO_HYPHEN: Final = rf"(?:[!-,./-9;-~{_WIDE}]|{_COLONS})"
_NO_DOT: Final = rf"(?:[!-\-/-9;-~{_WIDE}]|{_COLONS})"
_REST: Final = f"(?::*{_SOLID}| +{_NO_HASH})*"
_NO_INDICATOR: Final = rf"[$()+/-9;<=A-Z\\^_a-z~{_WIDE}]"
# Three hyphens or dots alone, or before a blank, are marks of a document.
_UNQUOTED: Final = (
    f"{_NO_INDICATOR}{_REST}|{_COLONS}{_REST}|\\?:*{_SOLID}{_REST}"
    rf"|\.(?:{_NO_DOT}{_REST}| +{_NO_HASH}{_REST}"
    rf"|\.(?:{_NO_DOT}{_REST}| +{_NO_HASH}{_REST}|\.:*{_SOLID}{_REST})?)?"
    f"|-(?:{_NO_HYPHEN}{_REST}"
    f"|-(?:{_NO_HYPHEN}{_REST}| +{_NO_HASH}{_REST}|-:*{_SOLID}{_REST})?)"
)


def _delimited_list(group: TerminalGroup) -> Node:
    (delimiter,) = group.arguments
    item, span = group.item, (group.start, group.end)
    if not delimiter.text or item is None:
        raise group.bad(
            "the delimiter is empty", "Write (?:item)+ for items without a delimiter.", delimiter
        )
    again = Concat(*span, (letters(delimiter.text, lambda _: span), item))
    return Concat(*span, (item, Repeat(*span, again, 0, None, False)))


register_terminal(Terminal("QUOTED_TEXT", "", 0, 0, _QUOTED))
register_terminal(Terminal("UNQUOTED_TEXT", "", 0, 0, _UNQUOTED))
register_terminal(
    Terminal("DELIMITED_LIST", "delimiter|item pattern", 1, 1, _delimited_list, pattern=True)
)
