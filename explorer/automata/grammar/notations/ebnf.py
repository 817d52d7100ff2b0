"""Grammars in EBNF, in either of its two common forms; the first rule is the grammar.

*As in the W3C's specifications* (XML 1.0, section 6): ``name ::= body``; ``"text"`` and ``'text'``
without escapes, ``#x41``, ``[a-z#x20]``, ``[^...]``, ``( )``, ``|``, ``* + ?``, ``A - B`` of single
characters, ``/* comment */``. A rule ends where the next name with ``::=`` begins.

*As in ISO/IEC 14977*: ``name = body ;``; commas between pieces, ``{ }`` for any number, ``[ ]`` for
what may be missing, ``n * piece``, ``(* comment *)``.

The first sign of definition says which it is. In both ``/pattern/`` is a pattern in Python's
syntax.
"""

from __future__ import annotations

import re
from typing import Final

from explorer.automata.grammar.notations.reading import GrammarReader, WrittenRule, letters_of
from explorer.automata.tree.charset import CharSet, char_set, complement
from explorer.automata.tree.nodes import Class, Concat, Empty, Group, Literal, Node, Repeat

_HEAD: Final = re.compile(r"[A-Za-z_][\w-]*\s*(::=|=)")


class EbnfReader(GrammarReader):
    """A grammar in EBNF that is being read."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        found = _HEAD.search(text)
        self.iso = found is not None and found[1] == "="

    def rules(self) -> list[WrittenRule]:
        """All rules, in their order."""
        sign = "=" if self.iso else "::="
        found: list[WrittenRule] = []
        self.skip()
        while self.at < len(self.text):
            start = self.at
            name = self.word()
            if not name:
                raise self.wrong(
                    f"{self.text[self.at]!r} begins no rule", f"Write name {sign} body."
                )
            end = self.at
            self.skip()
            if not self.takes(sign):
                raise self.wrong(
                    f"After the name {name!r} there is no {sign}", f"Write name {sign} body.",
                    start, end,
                )  # fmt: skip
            self.skip()
            body = self.alternatives()
            found.append(WrittenRule(name, start, end, body))
            if self.iso and not (self.takes(";") or self.takes(".")):
                raise self.wrong("The rule does not end here", "End it with ;.")
            self.skip()
        return found

    def skip(self) -> None:
        """Pass white space and comments."""
        marks = ("(*", "*)") if self.iso else ("/*", "*/")
        while self.at < len(self.text):
            if self.text[self.at].isspace():
                self.at += 1
            elif self.sees(marks[0]):
                end = self.text.find(marks[1], self.at + 2)
                if end < 0:
                    raise self.wrong("The comment does not end", f"Close it with {marks[1]}.")
                self.at = end + 2
            else:
                return

    def sequence(self) -> Node:
        """Pieces one after the other; commas between them in the form of ISO."""
        body = super().sequence()
        if not self.iso:
            return body
        items = [body]
        while self.takes(","):
            self.skip()
            items.append(super().sequence())
        if len(items) == 1:
            return body
        return Concat(items[0].start, items[-1].end, tuple(items))

    def repeated(self, item: Node) -> Node:
        """A piece with its quantifiers, or without some characters."""
        if self.iso:
            return item
        item = super().repeated(item)
        if self.sees("-"):
            begin = self.at
            self.at += 1
            self.skip()
            without = self.atom()
            self.skip()
            one, other = _characters(item), _characters(without)
            if one is None or other is None:
                raise self.wrong(
                    "Only single characters can be left out of single characters",
                    "Write a class such as [^abc], or /pattern/ with a lookahead.", begin,
                )  # fmt: skip
            kept = complement(char_set([*complement(one).ranges, *other.ranges]))
            return Class(item.start, self.at, kept)
        return item

    def atom(self) -> Node | None:
        """The piece that comes next."""
        if self.at >= len(self.text):
            return None
        start, char = self.at, self.text[self.at]
        if self.iso and char.isdigit():
            return self._times()
        if char in self.letters and not char.isdigit() and char != "-":
            if not self.iso and _HEAD.match(self.text, self.at):
                return None
            return self.called(self.word(), start)
        if char in "\"'":
            end = self.text.find(char, self.at + 1)
            if end < 0:
                raise self.wrong("The text does not end", f"Close it with {char}.")
            self.at = end + 1
            chars = [(self.text[k], k, k + 1) for k in range(start + 1, end)]
            return letters_of(chars, start, self.at)
        if char == "(":
            return self.group()
        if char == "[" and self.iso:
            inner = self.group("]")
            return Repeat(start, self.at, inner, 0, 1, False)
        if char == "{" and self.iso:
            inner = self.group("}")
            return Repeat(start, self.at, inner, 0, None, False)
        if char == "[":
            return self.char_class(self._character)
        if char == "#" and not self.iso:
            code = self._code()
            return Literal(start, self.at, char_set([(code, code)]))
        if char == "/":
            return self.slashed()
        if char == "?" and self.iso:
            raise self.wrong(
                "Special sequences mean what their author says elsewhere", "Write /pattern/."
            )
        return None

    def _times(self) -> Node:
        start = self.at
        while self.text[self.at : self.at + 1].isdigit():
            self.at += 1
        count = int(self.text[start : self.at])
        self.skip()
        if not self.takes("*"):
            raise self.wrong("A number stands before no *", 'Write 3 * "a".', start)
        self.skip()
        item = self.atom()
        if item is None:
            raise self.wrong("Nothing stands after the * that could be repeated", 'Write 3 * "a".')
        return Repeat(start, self.at, Group(item.start, item.end, item, None, None), count, count,
                      False)  # fmt: skip

    def _code(self) -> int:
        """``#x`` and hexadecimal digits."""
        found = re.compile(r"#x([0-9A-Fa-f]{1,6})").match(self.text, self.at)
        if found is None or int(found[1], 16) > 0x10FFFF:
            raise self.wrong("#x takes hexadecimal digits of a character", "Write #x41.")
        self.at = found.end()
        return int(found[1], 16)

    def _character(self) -> int:
        if self.sees("#x"):
            return self._code()
        self.at += 1
        return ord(self.text[self.at - 1])


def _characters(node: Node | None) -> CharSet | None:
    """The characters of a piece that is one character; ``None`` for any other."""
    while isinstance(node, Group):
        node = node.body
    if isinstance(node, Literal | Class):
        return node.chars
    if isinstance(node, Empty):
        return char_set([])
    return None
