"""Grammars in EBNF, in either of its two common forms; the first rule is the grammar.

*As in the W3C's specifications* (XML 1.0, section 6): ``name ::= body``; ``"text"`` and ``'text'``
without escapes, ``#x41``, ``[a-z#x20]``, ``[^...]``, ``( )``, ``|``, ``* + ?``, ``A - B`` of single
characters, also of rules that are one character, ``/* comment */``. The remarks ``[ wfc: ... ]``
and ``[ vc: ... ]`` are skipped. A rule ends where the next name with ``::=`` begins.

*As in ISO/IEC 14977*: ``name = body ;``; commas between pieces, ``{ }`` for any number, ``[ ]`` for
optional pieces, ``n * piece``, ``A - B`` of single characters, ``(* comment *)``. Its alternative
signs ``(: :)``, ``(/ /)`` and ``/``, and ``? special sequences ?`` are refused by name.

The first sign of definition tells the two apart. In both, a backslash is itself
(``'\\' [bfnrt]``), and what looks like an escape (``"\\n"``, ``[\\n]``) is refused, because
xgrammar calls the notation of `gbnf` EBNF too. In both, ``/pattern/`` and ``Regex("pattern")`` are
patterns in Python's syntax; they make up for texts without escapes: ``/\\n/``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from explorer.automata.tree.charset import CharSet, char_set, without
from explorer.automata.tree.nodes import (
    Branch,
    Call,
    Class,
    Concat,
    Empty,
    Group,
    Literal,
    Node,
    Repeat,
    Source,
)
from explorer.languages.grammar.notations.reading import (
    LOOKS_LIKE,
    GrammarReader,
    WrittenRule,
    letters_of,
)

_HEAD: Final = re.compile(r"[A-Za-z_][\w-]*\s*(::=|=)")
_SLASHED: Final = re.compile(r"\(/[^/\n]*[\s'\"]/\)")
_REMARK: Final = re.compile(r"\[\s*(?:wfc|vc|nsc)\s*:\s[^\]]*\]", re.IGNORECASE)
_CODE: Final = r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}"
_ESCAPE_IN_TEXT: Final = re.compile(rf"\\(?:[ntr\\\"']|{_CODE})")
_ESCAPE_IN_CLASS: Final = re.compile(rf"\\(?:[ntr]|{_CODE})")
"""Escapes of other notations. A class such as ``[tbn\\"']`` stands in the W3C's own grammars."""


class EbnfReader(GrammarReader):
    """A grammar in EBNF that is being read."""

    def __init__(self, text: str, given: tuple[Source, ...] = ()) -> None:
        super().__init__(text, given)
        head = _HEAD.search(text)
        self.iso = head is not None and head[1] == "="
        self.sign = "=" if self.iso else "::="
        self.strays = _STRAYS[self.iso]
        self.looked_up: dict[str, CharSet | None] = {}
        self.mentioned: set[str] = set()

    def rules(self) -> list[WrittenRule]:
        """All rules, in the order of the text."""
        sign = self.sign
        rules: list[WrittenRule] = []
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
                like = LOOKS_LIKE["lark"] if self.sees(":") else f"Write name {sign} body."
                raise self.wrong(
                    f"After the name {name!r} there is no {sign}", like, start, end
                )  # fmt: skip
            self.skip()
            self.mentioned = set[str]()
            body = self.alternatives()
            rules.append(WrittenRule(name, start, end, body, also=frozenset(self.mentioned)))
            if self.iso and not (self.takes(";") or self.takes(".")):
                if self.at >= len(self.text) or self.sees("="):
                    raise self.wrong("The rule does not end here", "End it with ;.")
                raise self.stray("End the rule with ;, or write a comma between pieces.")
            self.skip()
            if not self.iso and self.at < len(self.text) and self.text[self.at] not in self.letters:
                raise self.stray("Write a piece, or the next rule: name ::= body.")
        return rules

    def rule_begins(self) -> bool:
        """Whether the rule must end here, because the next one begins, or by the ending sign."""
        if self.iso:
            return self.sees("=") or self.sees(";")
        return _HEAD.match(self.text, self.at) is not None

    def skip(self) -> None:
        """Pass white space and comments."""
        marks = ("(*", "*)") if self.iso else ("/*", "*/")
        while self.at < len(self.text):
            if self.text[self.at].isspace():
                self.at += 1
            elif not self.iso and (remark := _REMARK.match(self.text, self.at)):
                self.at = remark.end()
            elif self.sees(marks[0]):
                end = self.text.find(marks[1], self.at + 2)
                if end < 0:
                    raise self.wrong("The comment does not end", f"Close it with {marks[1]}.")
                self.at = end + 2
            else:
                return

    def sequence(self) -> Node:
        """A sequence of pieces, with commas between them in the form of ISO."""
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
        """A piece with its quantifiers, or the difference of two pieces."""
        if not self.iso:
            item = super().repeated(item)
        if self.sees("-"):
            begin = self.at
            self.at += 1
            self.skip()
            excluded = self.atom()
            self.skip()
            one, other = self.characters(item), self.characters(excluded)
            if one is None or other is None:
                kinds = "/pattern/" if self.iso else "a class such as [^abc], or /pattern/"
                raise self.wrong(
                    "Only single characters can be left out of single characters",
                    f"Write {kinds} with a lookahead: /(?!no)[a-z]+/.", begin,
                )  # fmt: skip
            return Class(item.start, self.at, without(one, other))
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
            if end < 0 or "\n" in self.text[start:end]:
                raise self.wrong("The text does not end in its line", f"Close it with {char}.")
            self._check_plain(_ESCAPE_IN_TEXT, start + 1, end)
            self.at = end + 1
            chars = [(self.text[k], k, k + 1) for k in range(start + 1, end)]
            return letters_of(chars, start, self.at)
        if self.iso and (self.sees("(:") or _SLASHED.match(self.text, start)):
            sign, curly = ("(: and :)", "{ and }") if self.sees("(:") else ("(/ and /)", "[ and ]")
            raise self.wrong(f"{sign} are not read", f"Write {curly}.", start, start + 2)
        if char == "(":
            return self.group()
        if char == "[" and self.iso:
            return self.repeated_group("]", 1)
        if char == "{" and self.iso:
            return self.repeated_group("}", None)
        if char == "[":
            return self.char_class(self._character)
        if char == "#" and not self.iso:
            code = self._code()
            return Literal(start, self.at, char_set([(code, code)]))
        if char == "/":
            if self.iso and "/" not in self.text[start + 1 :].partition("\n")[0]:
                raise self.stray("")
            return self.slashed()
        if char == "?" and self.iso:
            end = self.text.find("?", start + 1) + 1
            raise self.wrong(
                "A special sequence, ? ... ?, means what its author says in words, and is not read",
                "Write what it means as a pattern: /[^a-z]/, or /./ for any character.", start,
                end or None,
            )  # fmt: skip
        return None

    def characters(self, node: Node | None) -> CharSet | None:
        """The characters of a piece that is one character; ``None`` for any other piece."""
        while isinstance(node, Group):
            node = node.body
        match node:
            case Literal() | Class():
                return node.chars
            case Empty():
                return char_set([])
            case Branch():
                options = [self.characters(option) for option in node.options]
                ranges = [each for option in options if option for each in option.ranges]
                return None if None in options else char_set(ranges)
            case Call():
                return self._of_rule(node.name)
            case _:
                return None

    def _of_rule(self, name: str) -> CharSet | None:
        """The characters of a rule that is one character, defined anywhere in the text."""
        self.mentioned.add(name)
        if name not in self.looked_up:
            self.looked_up[name] = None  # A rule that mentions itself has no characters.
            defined = re.search(rf"(?<![\w-]){re.escape(name)}\s*{self.sign}", self.text)
            if defined is not None:
                other = EbnfReader(self.text)
                other.looked_up, other.at = self.looked_up, defined.end()
                other.skip()
                self.looked_up[name] = other.characters(other.alternatives())
        return self.looked_up[name]

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

    def _check_plain(self, escape: re.Pattern[str], start: int, end: int) -> None:
        """Refuse what another notation would read as an escape.

        Raises:
            GrammarError: There is one between two offsets.
        """
        looks_like = escape.search(self.text, start, end)
        if looks_like is not None:
            written = looks_like[0]
            raise self.wrong(
                f"{written} looks like an escape, and here a backslash is itself",
                _NO_ESCAPES,
                looks_like.start(),
                looks_like.end(),
            )

    def _code(self) -> int:
        """Read ``#x`` and hexadecimal digits; their code point."""
        digits = re.compile(r"#x([0-9A-Fa-f]{1,6})").match(self.text, self.at)
        if digits is None or int(digits[1], 16) > 0x10FFFF:
            raise self.wrong("#x takes hexadecimal digits of a character", "Write #x41.")
        self.at = digits.end()
        return int(digits[1], 16)

    def _character(self) -> int:
        if self.sees("#x"):
            return self._code()
        if self.sees("\\"):
            self._check_plain(_ESCAPE_IN_CLASS, self.at, self.at + 10)
        self.at += 1
        return ord(self.text[self.at - 1])


_NO_ESCAPES: Final = (
    'Give syntax="gbnf", the notation of xgrammar and llama.cpp, which reads escapes; or write a '
    r"pattern, such as /\n/, or in the W3C's form #xA; a backslash before n is '\' 'n'."
)

_STRAYS: Final[Mapping[bool, Mapping[str, tuple[str, str]]]] = MappingProxyType(
    {
        True: MappingProxyType(
            {
                "*": ("Nothing is repeated with * after a piece", 'Write { "a" }, or 3 * "a".'),
                "+": ("Nothing is repeated with +", 'Write "a", { "a" }.'),
                "?": ("Nothing is left out with ?", 'Write [ "a" ].'),
                "!": ("! is not read as a bar", "Write |."),
                "/": ("/ is not read as a bar", "Write |."),
                ":": ("(: and :) are not read", "Write { and }."),
                "\\": ("A backslash in a text is itself, and no escape", _NO_ESCAPES),
            }
        ),
        False: MappingProxyType(
            {
                ";": ("A rule ends where the next one begins, without a sign", "Leave the ; out."),
                ",": ("Pieces stand side by side, without commas", "Leave the comma out."),
                "{": ("{ is a sign of the other EBNF, that of ISO", 'Write "a"* or "a"+.'),
                "\\": ("A backslash in a text is itself, and no escape", _NO_ESCAPES),
            }
        ),
    }
)
"""The error for some misplaced characters, in ISO's form (``True``) and the W3C's."""
