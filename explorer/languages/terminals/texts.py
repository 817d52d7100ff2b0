"""Terminals that are ordinary trees: quoted strings, plain scalars of YAML, delimited lists.

*QUOTED_TEXT* is ``"(?:[^"\\\\\\n]|\\\\.)*"``: a backslash may stand before all but the newline.

*UNQUOTED_TEXT* is a plain scalar of YAML 1.2.2, section 7.3.3, on one line and outside of ``[]``
and ``{}``: what a YAML reader takes as one scalar whose text is exactly what is written. No blank
at either end; no indicator in front; no ``: ``, no ``:`` at the end and no `` #`` inside; and none
of the marks ``---`` and ``...``. Tabs are left out, because readers of YAML 1.1 refuse them.

*DELIMITED_LIST* is an item, then any number of delimiters with an item after each.
"""

from __future__ import annotations

from typing import Final

from explorer.automata.tree.charset import (
    CharSet,
    char_set,
    character,
    characters,
    complement,
    without,
)
from explorer.automata.tree.nodes import Branch, Class, Concat, Literal, Node, Repeat
from explorer.languages.terminals.kinds import Terminal, TerminalGroup, register_terminal

_QUOTE: Final = character('"')
_BACKSLASH: Final = character("\\")
_ESCAPED: Final = complement(character("\n"))
_PLAIN: Final = complement(characters('"\\\n'))

_SCALAR: Final = char_set([
    (0x21, 0x7E), (0xA0, 0x2027), (0x202A, 0xFEFE), (0xFF00, 0xFFFD), (0x10000, 0x10FFFF),
])  # fmt: skip
"""Characters of a plain scalar but the blank: printable ones, no breaks, no byte order mark."""

_INDICATORS: Final = "-?:,[]{}#&*!|>'\"%@`"


class _Pieces:
    """Nodes that all have the span of one group."""

    def __init__(self, group: TerminalGroup) -> None:
        self.start, self.end = group.start, group.end

    def one(self, chars: CharSet) -> Node:
        return Class(self.start, self.end, chars)

    def text(self, text: str) -> Node:
        return self.then(*(Literal(self.start, self.end, character(char)) for char in text))

    def then(self, *items: Node) -> Node:
        return items[0] if len(items) == 1 else Concat(self.start, self.end, items)

    def either(self, *options: Node) -> Node:
        return options[0] if len(options) == 1 else Branch(self.start, self.end, options)

    def any_number(self, body: Node, minimum: int = 0) -> Node:
        return Repeat(self.start, self.end, body, minimum, None, False)

    def perhaps(self, body: Node) -> Node:
        return Repeat(self.start, self.end, body, 0, 1, False)


def _quoted_text(group: TerminalGroup) -> Node:
    w = _Pieces(group)
    inside = w.either(w.one(_PLAIN), w.then(w.one(_BACKSLASH), w.one(_ESCAPED)))
    return w.then(w.one(_QUOTE), w.any_number(inside), w.one(_QUOTE))


def _unquoted_text(group: TerminalGroup) -> Node:
    w = _Pieces(group)
    colons = w.any_number(w.text(":"))
    solid = without(_SCALAR, characters(":"))  # A colon never comes last, nor before a blank.

    def goes_on(but: str = "") -> Node:
        """Colons and a character, or one character that is not among some."""
        some = w.then(w.any_number(w.text(":"), 1), w.one(solid))
        return w.either(w.one(without(solid, characters(but))), some)

    blanks = w.any_number(w.text(" "), 1)
    after_blanks = w.then(blanks, goes_on("#"))
    rest = w.any_number(w.either(w.then(colons, w.one(solid)), after_blanks))
    first = w.then(w.one(without(_SCALAR, characters(_INDICATORS + "."))), rest)
    colon = w.then(w.any_number(w.text(":"), 1), w.one(solid), rest)
    question = w.then(w.text("?"), colons, w.one(solid), rest)
    # Three hyphens or dots alone, or before a blank, are marks of a document.
    three = w.then(colons, w.one(solid), rest)

    def marked(mark: str, once: bool) -> Node:
        blank = w.then(after_blanks, rest)
        other = w.then(goes_on(mark), rest)
        twice = w.then(w.text(mark), w.perhaps(w.either(other, blank, w.then(w.text(mark), three))))
        after = w.either(other, blank, twice) if once else w.either(other, twice)
        return w.then(w.text(mark), w.perhaps(after) if once else after)

    return w.either(first, colon, question, marked(".", True), marked("-", False))


def _delimited_list(group: TerminalGroup) -> Node:
    (delimiter,) = group.arguments
    item = group.item
    if not delimiter.text or item is None:
        raise group.bad(
            "the delimiter is empty", "Write (?:item)+ for items without a delimiter.", delimiter
        )
    w = _Pieces(group)
    return w.then(item, w.any_number(w.then(w.text(delimiter.text), item)))


register_terminal(Terminal("QUOTED_TEXT", "(?P<QUOTED_TEXT>)", 0, 0, _quoted_text))
register_terminal(Terminal("UNQUOTED_TEXT", "(?P<UNQUOTED_TEXT>)", 0, 0, _unquoted_text))
register_terminal(
    Terminal(
        "DELIMITED_LIST", "(?P<DELIMITED_LIST>delimiter|item pattern)", 1, 1, _delimited_list,
        pattern=True,
    )
)  # fmt: skip
