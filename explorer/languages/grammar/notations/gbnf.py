r"""GBNF, the notation of llama.cpp.

``name ::= body`` on a line of its own, where a body may go on after ``|``, within parentheses and
after ``::=``; ``"text"``, ``[a-z]``, ``[^a-z]``, ``.``, names, ``( )``, ``* + ?``, ``{m}``,
``{m,}``, ``{m,n}``; the escapes ``\xXX``, ``\uXXXX``, ``\UXXXXXXXX``, ``\t``, ``\r``, ``\n``,
``\\``, ``\"``, ``\[``, ``\]``; ``#`` up to the end of the line is a comment. The rule ``root`` is
the grammar. (llama.cpp, ``grammars/README.md`` and ``src/llama-grammar.cpp``.)

``<[1000]>`` and ``<think>`` are control tokens; ``!<think>`` is any token but that, text included,
and must be repeated with ``*`` or ``+``.

Additions: names may hold ``_``; ``/pattern/`` and ``Regex("pattern")`` are patterns in Python's
syntax. Of xgrammar's EBNF, which is the same notation otherwise, the escapes ``\a``, ``\b``,
``\f``, ``\v``, ``\0``, ``\e``, ``\'``, ``\?``, ``\/``, ``\-`` and ``\^`` are read, its macros
(`macros`), and ``(= ...)`` at the end of a rule, which changes no text. Its options of rules, such
as ``name[max_tokens=3]``, are refused by name, but for ``[capture]``, which changes no text.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final

from explorer.automata.tree.charset import char_set
from explorer.automata.tree.nodes import Dot, Node, Source
from explorer.errors import RegexError
from explorer.languages.grammar.notations.inner import OTHER_ATTRIBUTES, token_source
from explorer.languages.grammar.notations.macros import MACROS, Macro, other_tokens
from explorer.languages.grammar.notations.reading import (
    LOOKS_LIKE,
    GrammarReader,
    WrittenRule,
    letters_of,
)
from explorer.languages.regex.characters import read_escape

_ESCAPES: Final = {
    "t": "\t", "r": "\r", "n": "\n", "a": "\a", "b": "\b", "f": "\f",
    "v": "\v", "0": "\0", "e": "\x1b",
    **{char: char for char in "\\\"[]'?/-^"},
}  # fmt: skip
_ANY: Final = char_set([(0, 0x10FFFF)])
_OPTION: Final = re.compile(r'(\w+)(?:\s*=\s*(?:"(?:[^"\\\n]|\\.)*"|[\w.+-]+))?')
_OPTIONS: Final = re.compile(rf"(?:\s|,|{_OPTION.pattern})*")


class GbnfReader(GrammarReader):
    """A grammar in GBNF that is being read."""

    start = "root"
    sign = "::="
    strays = MappingProxyType(
        {
            "'": ("A text stands in double quotes", "Write \"a\" for 'a'."),
            ";": ("A rule ends with its line, without a sign", "Leave the ; out."),
            ",": ("Pieces stand side by side, without commas", "Leave the comma out."),
            "\\": ("An escape stands in quotes or in a class", 'Write "\\n" or [\\n].'),
        }
    )

    def __init__(self, text: str, given: tuple[Source, ...] = ()) -> None:
        super().__init__(text, given)
        self.broken: int | None = None

    def rules(self) -> list[WrittenRule]:
        """All rules, in the order of the text."""
        rules: list[WrittenRule] = []
        self.skip_lines()
        while self.at < len(self.text):
            start = self.at
            name = self.word()
            if not name:
                if self.sees("|") and rules:
                    raise self.wrong(
                        "A line cannot begin with '|': the rule before it has ended with its line",
                        "Put the | at the end of the line before, or parentheses around the body.",
                    )
                lark = self.text[self.at] in "?!%" or self.sees("//")
                raise self.wrong(
                    f"{self.text[self.at]!r} begins no rule",
                    LOOKS_LIKE["lark"] if lark else "Write name ::= body on a new line.",
                )
            end = self.at
            self.skip()
            self._options()
            if not self.takes("::="):
                lark = self.text[self.at : self.at + 1] == ":"
                raise self.wrong(
                    f"After the name {name!r} there is no ::=",
                    LOOKS_LIKE["lark"] if lark else "Write name ::= body.", start, end,
                )  # fmt: skip
            self.skip_lines()
            body = self.alternatives()
            self._lookahead()
            rules.append(WrittenRule(name, start, end, body))
            if self.sees("::="):
                raise self.within_body(name)
            if self.at < len(self.text) and self.text[self.at] not in "\r\n":
                raise self.stray(
                    "A rule ends with its line; only after | and within parentheses it goes on."
                )
            self.skip_lines()
        return rules

    def atom(self) -> Node | None:
        """The piece that comes next."""
        if self.at >= len(self.text):
            return None
        start, char = self.at, self.text[self.at]
        if char in self.letters:
            name = self.word()
            if name in MACROS and self.sees("(") and not self._is_rule(name):
                return Macro(self, name, start, self._string).node()
            return self.called(name, start)
        if char == '"':
            return self._quoted()
        if char == "[":
            return self.char_class(self._character)
        if char == ".":
            self.at += 1
            return Dot(start, self.at, _ANY)
        if self.sees("(="):
            return None
        if char == "(":
            return self.group()
        if char == "/":
            return self.slashed()
        if char == "<":
            source, self.at = token_source(self.text, start, self.wrong)
            return self.leaf(source, start)
        if self.sees("!<"):
            source, self.at = token_source(self.text, start + 1, self.wrong)
            return other_tokens(self, source.control_tokens, start)
        if char in "*+?{":
            raise self.wrong(
                f"Nothing stands before {char!r} that could be repeated",
                'Put "text", a name or (...) before it.',
            )
        return None

    def quantifier(self, item: Node) -> tuple[int, int | None] | None:
        """``*``, ``+``, ``?`` or braces."""
        return self.braces() if self.sees("{") else super().quantifier(item)

    def _is_rule(self, name: str) -> bool:
        return re.search(rf"(?m)^{name}\s*::=", self.text) is not None

    def _options(self) -> None:
        """Read xgrammar's options between the name of a rule and its sign."""
        begin = self.at
        if not self.takes("["):
            return
        written = _OPTIONS.match(self.text, self.at)
        self.at = written.end() if written else self.at
        if not written or not self.takes("]"):
            raise self.wrong("The options of the rule do not end", "Close them with ].", begin)
        for option in _OPTION.finditer(written[0]):
            if option[1] not in ("capture", "stop_capture"):
                remedy = OTHER_ATTRIBUTES.get(option[1], "Leave it out.")
                at = written.start() + option.start()
                raise self.wrong(
                    f"The option {option[0]} is not followed", remedy, at, at + len(option[0])
                )
        self.skip()

    def _lookahead(self) -> None:
        """Read xgrammar's lookahead at the end of a rule."""
        begin = self.at
        if not self.takes("(="):
            return
        self.at -= 1
        leaves = [*self.leaves]
        self.group()
        self.skip()
        self.leaves = leaves
        if self.at < len(self.text) and self.text[self.at] not in "\r\n":
            raise self.wrong(
                "This is xgrammar's lookahead, which stands at the end of a rule",
                "Leave it out: it changes no text.", begin, self.at,
            )  # fmt: skip

    def _quoted(self) -> Node:
        start = self.at
        return letters_of(self._characters(), start, self.at)

    def _string(self) -> str:
        return "".join(char for char, _, _ in self._characters())

    def _characters(self) -> list[tuple[str, int, int]]:
        """Read a text in quotes; its characters, each with its span."""
        start = self.at
        self.at += 1
        chars: list[tuple[str, int, int]] = []
        while not self.sees('"'):
            if self.at >= len(self.text):
                # After a missing quote, texts are read as gaps and gaps as texts.
                start = start if self.broken is None else self.broken
                raise self.wrong("The text does not end", "Close it with '\"'.", start)
            self.look()
            begin = self.at
            chars.append((chr(self._character()), begin, self.at))
        self.at += 1
        if self.broken is None and "\n" in self.text[start : self.at]:
            self.broken = start
        return chars

    def _character(self) -> int:
        """The code point of the character or escape that comes next."""
        begin = self.at
        char = self.text[self.at]
        self.at += 1
        if char != "\\":
            return ord(char)
        letter = self.text[self.at : self.at + 1]
        self.at += 1
        if letter and letter in "xuU":
            try:
                escape = read_escape(self.text, begin, in_set=True)
            except RegexError as error:
                raise self.wrong(
                    error.reason.capitalize(), error.remedy, begin, error.end
                ) from None
            self.at, code = escape.end, ord(escape.char or "")
            if 0xD800 <= code <= 0xDFFF:
                raise self.wrong(
                    "Half of a surrogate pair is not a character",
                    "Write the character itself, or \\U with eight digits.", begin, self.at,
                )  # fmt: skip
            return code
        if not letter or letter not in _ESCAPES:
            raise self.wrong(
                f"The escape \\{letter} is not known",
                'Use \\x41, \\u00e4, \\U0001F600, \\t, \\r, \\n, \\\\, \\", \\[ or \\]; those of '
                'Python in a pattern, such as /\\d+/.',
                begin, self.at,
            )  # fmt: skip
        return ord(_ESCAPES[letter])
