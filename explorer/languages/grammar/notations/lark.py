"""Grammars in the notation of Lark.

``name: body`` and ``NAME: body``, where a body goes on in a line that begins with ``|`` and within
parentheses; ``"text"``, ``"text"i``, ``/pattern/`` with the flags ``i m s x``, ``"a".."z"``, names,
``( )``, ``[ ]`` for optional pieces, ``* + ?``, ``~ n``, ``~ n..m``, ``{n}``, ``{n,}``,
``{,m}``, ``{n,m}``, ``-> alias``, ``%import common.NAME``, ``%import common (A, B)``,
``-> OTHER``, ``%ignore``, ``%override``, ``%extend``, ``%declare``, ``Regex("pattern")``, templates
(`templates`); ``//`` and ``#`` begin a comment. The marks ``?``, ``!`` and ``_`` of names,
priorities such as ``NAME.2``, and ``rule[capture]`` and ``rule[capture="name"]`` shape trees and
change no language; an empty ``%llguidance {}`` changes nothing. The rule ``start`` is the grammar.
(Lark's grammar reference; llguidance, ``docs/syntax.md``.) The additions of llguidance are read:
``%json {...}``, ``%regex {...}``, ``<|name|>``, ``<[5-7]>``, ``A & B``, ``~A`` and
``rule[stop="x"]``, ``[suffix="x"]`` and ``[lazy]``
(`explorer.languages.grammar.notations.inner`).

Ignored text may stand at the beginning and after every terminal of a rule, not inside a terminal. A
text belongs to the language if it can be cut into terminals in any way, as with Lark's Earley
parser and its lexer ``dynamic_complete``: nothing is decided by the longest match. Refused by name
are llguidance's ``%lark``, and its limits and temperatures. A grammar that
declares ``_INDENT`` and ``_DEDENT`` has significant indentation (`indentation`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from explorer.automata.tree.charset import char_set
from explorer.automata.tree.nodes import (
    Branch,
    Call,
    Class,
    Concat,
    Empty,
    Group,
    Intersect,
    Literal,
    Negate,
    Node,
    Repeat,
    Source,
    children,
    walk,
    with_children,
)
from explorer.errors import GrammarError
from explorer.languages.grammar.notations.indentation import (
    AROUND,
    Indentation,
    declares_indentation,
)
from explorer.languages.grammar.notations.inner import (
    ENDING,
    OTHER_ATTRIBUTES,
    EarlyEnd,
    data_at,
    schema_source,
    substrings,
    token_source,
    written_out,
)
from explorer.languages.grammar.notations.lazy import end_of_lazy, ended_lazily
from explorer.languages.grammar.notations.library import LIBRARIES
from explorer.languages.grammar.notations.reading import (
    LOOKS_LIKE,
    Bodies,
    GrammarReader,
    WrittenRule,
    letters_of,
)
from explorer.languages.grammar.notations.templates import RuleTemplate, Templates
from explorer.languages.phases.free import ended_early
from explorer.languages.regex import parse

_FLAGS: Final = "imsx"

_NEXT: Final = re.compile(
    r"[?!]*\w+[ \t\f]*(?:\{[^}\n]*\})?(?:[ \t]*\.[ \t]*-?\d+|\[[^]\n]*\])?[ \t\f]*:(?!:)"
    r"|%(?:ignore|import|declare|extend|override|llguidance)\b"
)
"""The beginning of a rule or directive."""

_LAZY: Final = re.compile(r"[*+?}]\?")
_PRIORITY: Final = re.compile(r"[ \t]*\.[ \t]*-?\d+")
_BRACES: Final = re.compile(r"\{[\d\s,]*\}")
_PATH: Final = re.compile(r"[.\w]+(?:[ \t]*\([^)\n]*\))?")
_NO_OPTIONS: Final = re.compile(r"\{\s*\}")
_REMEDIES: Final = {
    "lark": "Write the rules of the inner grammar beside these.",
    "llguidance": "Leave the line out, or its options: they are those of another engine.",
}
"""The remedies for directives that are not supported."""


_IGNORED: Final = Call(0, 0, AROUND)
"""The place of ignored text, until all of the grammar is read."""


class LarkReader(GrammarReader):
    """A grammar in Lark's notation that is being read.

    Args:
        given: Replacements of its schemas and control tokens; empty for none.

    Attributes:
        ignored: What ``%ignore`` names.
        may_ignore: Whether ``%ignore`` may stand in the text.
        in_rule: Whether a rule is read, not a terminal.
        parameters: Those of the template that is read, if it is one.
        lazy: The names of lazy terminals, and the ids of lazy patterns.
        declared: What ``%declare`` names, with its span.
        unwritten: The rules with indentation; ``None`` without.
    """

    start = "start"
    sign = ":"
    blanks = " \t\f"
    comments = ("#", "//")
    strays = MappingProxyType(
        {
            "'": ("A text stands in double quotes", "Write \"a\" for 'a'."),
            ";": ("A rule ends with its line, without a sign", "Leave the ; out."),
            ",": ("Pieces stand side by side, without commas", "Leave the comma out."),
            "{": ("Nothing stands before { that could be repeated", 'Write "a"{3,5}, or "a"*.'),
        }
    )

    def __init__(self, text: str, given: tuple[Source, ...] = ()) -> None:
        super().__init__(text, given)
        self.ignored: list[Node] = []
        self.may_ignore = "%ignore" in text or "%declare" in text
        self.in_rule = False
        self.parameters: tuple[str, ...] | None = None
        self.declared: dict[str, tuple[int, int]] = {}
        self.templates = Templates(text, self.wrong)
        self.lazy: set[object] = set()
        self._kept: list[Node] = []  # So that each has an id of its own.
        self.unwritten: list[WrittenRule] | None = None

    @property
    def elsewhere(self) -> Mapping[str, str]:
        """The remedies for the terminals of libraries, and for what ``%declare`` names."""
        remedies = {
            name: f"Write %import {library}.{name} on a line of its own."
            for library, names in [*LIBRARIES.items()][::-1]
            for name in names
        }
        declared = {
            name: f"%declare leaves it to a program beside Lark: write its text in the place of "
            f"%declare, {name}: /.../."
            for name in self.declared
        }
        return remedies | declared

    def rules(self) -> list[WrittenRule]:
        """All rules and terminals, in the order of the text."""
        read: list[WrittenRule] = []
        self.skip_lines()
        while self.at < len(self.text):
            if self.sees("%"):
                self._statement(read)
            elif (rule := self._rule()) is not None:
                read.append(rule)
            self.skip_lines()
        imported = [rule for rule in read if rule.what == "import"]
        read = self.templates.instances(
            [*imported, *(rule for rule in read if rule.what != "import")]
        )
        if declares_indentation(self.declared):
            read += [WrittenRule(name, *span, Empty(*span), "terminal")
                     for name, span in self.declared.items()]  # fmt: skip
            self.unwritten = self._cut_lazy(read)
        if self.may_ignore:  # It may stand at the end, so its places are filled now.
            skipped = self._skipped() if self.ignored else None
            read = [replace(rule, body=_filled(rule.body, skipped)) for rule in read]
        read = self._cut_lazy(read)
        first = next((rule for rule in read if rule.name == self.start), None)
        if self.ignored and first is not None:
            body = Concat(0, 0, (self._skipped(), Call(first.start, first.end, self.start)))
            read.append(WrittenRule(AROUND, first.start, first.end, body))
        return read

    def written(self, rules: Sequence[WrittenRule]) -> Bodies:
        """The bodies of the rules, indentation written out."""
        if self.unwritten is None:
            return super().written(rules)
        made = Indentation(
            self.unwritten, self.declared, self.ignored, self.indent, self.wrong, self.meter
        )  # fmt: skip
        return Bodies(made.bodies(self.start), made.apart)

    def pattern(
        self, pattern: str, start: int, end: int, flags: str = "", places: Sequence[int] = ()
    ) -> Node:
        """A pattern as one piece, or two where a lazy one goes on with what may be left out."""
        node = super().pattern(pattern, start, end, flags, places)
        if not _LAZY.search(pattern):
            return node
        whole = parse(pattern, sum(getattr(re, flag.upper()) for flag in set(flags)))
        until = end_of_lazy(whole.root)
        if until is None:
            return node
        lazy = super().pattern(pattern[:until], start, end, flags, places)
        self.lazy.add(id(lazy))
        self._kept.append(lazy)
        if until == len(pattern):
            return lazy
        rest = super().pattern(pattern[until:], start, end, flags, places)
        return Concat(start, end, (lazy, Branch(start, end, (Empty(end, end), rest))))

    def _is_lazy(self, node: Node) -> bool:
        return any(
            id(each) in self.lazy or (isinstance(each, Call) and each.name in self.lazy)
            for each in walk(node)
        )

    def _cut_lazy(self, read: list[WrittenRule]) -> list[WrittenRule]:
        """The rules, with each terminal that is lazy cut where Lark's lexer ends it."""
        terminals = [rule for rule in read if rule.name.lstrip("_").isupper()]
        bodies = {rule.name: rule.body for rule in terminals}
        while more := {
            rule.name for rule in terminals
            if rule.name not in self.lazy and self._is_lazy(rule.body)
        }:  # fmt: skip
            self.lazy |= more
        cut = [
            replace(rule, body=ended_lazily(rule.body, self._is_lazy))
            if rule.name in self.lazy
            else rule
            for rule in read
        ]
        return written_out(cut, self.wrong, bodies)

    def _rule(self) -> WrittenRule | None:
        """Read a rule, a terminal or a template; ``None`` for a template."""
        name, start, end, ending = self._head()
        parameters = self.parameters
        is_rule = not name.lstrip("_").isupper()
        self.in_rule = is_rule and ending is None
        body = self.alternatives()
        if self.sees(":"):
            raise self.within_body(name)
        self._line_ends()
        if ending is not None:
            self.in_rule = True
            stop = ending.stop
            body = body if stop is None else Concat(body.start, stop.end, (body, stop))
            body = self._then_skipped(ended_early(body))
        if parameters is not None:
            self.templates.defined[name] = RuleTemplate(name, start, end, parameters, body)
            return None
        return WrittenRule(name, start, end, body, "rule" if is_rule else "terminal")

    def _head(self) -> tuple[str, int, int, EarlyEnd | None]:
        """The name of a rule, its span, and its early end if it has one; the body comes next."""
        while self.text[self.at : self.at + 1] in ("?", "!"):
            self.at += 1
        start = self.at
        name = self.word()
        end = self.at
        if not name:
            raise self.wrong(
                f"{self.text[self.at]!r} begins no rule", "Write name: body on a new line."
            )
        self.parameters = self._parameters() if self.sees("{") else None
        if priority := _PRIORITY.match(self.text, self.at):
            self.at = priority.end()
        self.skip()
        ending = self._attributes(name)
        if not self.sees(":") or self.sees("::="):
            sign = next((each for each in ("::=", "=") if self.sees(each)), "")
            raise self.wrong(
                f"After the name {name!r} there is no colon{f', but {sign}' if sign else ''}",
                LOOKS_LIKE["gbnf"] if sign == "::=" else "Write name: body.", start, end,
            )  # fmt: skip
        self.at += 1
        after_colon = self.at
        self.skip_lines()
        if _NEXT.match(self.text, self.at):  # The body is empty.
            self.at = after_colon
            self.skip()
        return name, start, end, ending

    def _attributes(self, name: str) -> EarlyEnd | None:
        """Read the attributes after a name: ``[capture]``, ``[stop="x"]`` and the like."""
        if not self.sees("["):
            return None
        begin, ending = self.at, None
        if name.lstrip("_").isupper():
            raise self.wrong(
                "A terminal has no attributes", "Write them on a rule that calls it.", begin,
                max(self.text.find("]", begin), begin) + 1,
            )  # fmt: skip
        self.at += 1
        while not self.takes("]"):
            self.skip()
            start, value = self.at, None
            attribute = self.word()
            self.skip()
            if not attribute and self.sees("]"):
                continue
            has_value = self.takes("=")
            if has_value:
                self.skip()
                value = self._value()
                self.skip()
            if not attribute or self.text[self.at : self.at + 1] not in (",", "]"):
                raise self.wrong(
                    "The attributes of the rule do not end", "Close them with ].", begin
                )
            known = value is not None if has_value else attribute in ("capture", "lazy")
            is_text = isinstance(value, Empty | Group | Literal)
            if attribute == "capture" and known and is_text == has_value:
                pass
            elif attribute in ENDING and known and has_value == (attribute != "lazy"):
                if ending is not None:
                    raise self.wrong("A rule ends in one way", "Leave one out.", start, self.at)
                if isinstance(value, Empty):
                    raise self.wrong(
                        f"{attribute}=\"\" would stop where the model stops",
                        "Leave it out: where a text may end, the model may.", start, self.at,
                    )  # fmt: skip
                ending = EarlyEnd(value)
            else:
                remedy = OTHER_ATTRIBUTES.get(attribute, f"Write capture, {', '.join(ENDING)}.")
                raise self.wrong(
                    f"The attribute {self.text[start : self.at].strip()} is not followed", remedy,
                    start, self.at,
                )  # fmt: skip
            self.takes(",")
        self.skip()
        return ending

    def _value(self) -> Node | None:
        """The value of an attribute if it is a text, a pattern or a terminal, else ``None``."""
        if self.sees('"') or self.sees("/"):
            return self._quoted() if self.sees('"') else self.slashed(_FLAGS)
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in ",]\n":
            self.at += 1
        written = self.text[start : self.at].strip()
        is_name = written.lstrip("_").isupper() and set(written) <= set(self.letters)
        return Call(start, start + len(written), written) if is_name else None

    def _line_ends(self) -> None:
        self.skip()
        if self.at < len(self.text) and self.text[self.at] not in "\r\n":
            raise self.stray(
                "A rule ends with its line; a line that begins with | goes on with it."
            )

    def _statement(self, read: list[WrittenRule]) -> None:
        begin = self.at
        self.at += 1
        name = self.word()
        self.skip()
        if name == "ignore":
            self.in_rule = False
            self.ignored.append(self.alternatives())
            if isinstance(self.ignored[-1], Empty):
                remedy = "Write what is skipped: %ignore /[ \\t]+/."
                raise self.wrong("Nothing stands behind %ignore", remedy, begin, self.at)
        elif name == "import":
            read += self._imported(begin)
        elif name in ("override", "extend"):
            self._changed(name, read)
        elif name == "declare":
            self._declared()
        elif name == "llguidance" and (empty := _NO_OPTIONS.match(self.text, self.at)):
            self.at = empty.end()
        else:
            raise self._not_followed(name, begin, "import", "ignore", "declare")
        self._line_ends()

    def _changed(self, how: str, read: list[WrittenRule]) -> None:
        """Read the rule after ``%override`` or ``%extend``, and change the one of its name."""
        rule = self._rule()
        if rule is None:
            raise self.wrong(f"%{how} is not followed by a rule", "Write the template once.")
        place = next((k for k, each in enumerate(read) if each.name == rule.name), None)
        if place is None:
            raise self.wrong(
                f"%{how} needs a {rule.what} {rule.name!r} before it",
                f"Leave %{how} out, or define or import {rule.name} first.", rule.start, rule.end,
            )  # fmt: skip
        body = rule.body
        if how == "extend":
            body = Branch(rule.start, body.end, (read[place].body, body))
        read[place] = replace(rule, body=body)

    def _declared(self) -> None:
        """Read the names after ``%declare``."""
        while not self.at >= len(self.text) and self.text[self.at] in self.letters:
            name, start, end = self._name()
            self.declared[name] = start, end
            self.skip()

    def _not_followed(self, name: str, begin: int, *known: str) -> GrammarError:
        """The error for an unknown directive."""
        end = begin + 1 + len(name)
        close = get_close_matches(name, known, 1)
        usual = f"Only {' and '.join(f'%{each}' for each in known)} are read; write the rest out."
        remedy = _REMEDIES.get(name, f"Did you mean %{close[0]}?" if close else usual)
        return self.wrong(f"%{name} is not followed", remedy, begin, end)

    def _parameters(self) -> tuple[str, ...]:
        """Read the names in braces after the name of a template."""
        begin = self.at
        self.at += 1
        names: list[str] = []
        self.skip()
        while not self.takes("}"):
            name = self.word()
            self.skip()
            if not name or not (self.takes(",") or self.sees("}")):
                raise self.wrong(
                    "The parameters of the template do not end", "Write list{item}: body.", begin
                )
            names.append(name)
            self.skip()
        return tuple(names)

    def _use(self, name: str, start: int) -> Node:
        """Read the arguments of a template in a body."""
        self.at += 1
        self.depth += 1
        given: list[Node] = []
        self.skip()
        while not self.takes("}"):
            value = self.atom()
            self.skip()
            if value is None or not (self.takes(",") or self.sees("}")):
                raise self.wrong(
                    "The arguments of the template do not end",
                    'Close them with }: list{NAME, ","}.', start,
                )  # fmt: skip
            given.append(value)
            self.skip()
        self.depth -= 1
        return self.templates.used(name, tuple(given), start, self.at)

    def _imported(self, begin: int) -> list[WrittenRule]:
        """Read what ``%import`` names; the terminals."""
        library = "" if self.sees(".") else self.word()
        known = LIBRARIES.get(library)
        if known is None:
            written = _PATH.match(self.text, self.at - len(library))
            raise self.wrong(
                f"Only the libraries {', '.join(LIBRARIES)} can be imported",
                "Give grammar(..., folder=...) the folder of the other file."
                if library == ""
                else "Write the rules of the other file beside these.", begin,
                written.end() if written else None,
            )  # fmt: skip
        names: list[tuple[str, int, int]] = []
        if self.takes("."):
            names.append(self._name())
        else:
            self.skip()
            if not self.takes("("):
                raise self.wrong(
                    f"A name is missing after {library}", f"Write %import {library}.WS."
                )
            self.depth += 1
            self.skip()
            while not self.takes(")"):
                names.append(self._name())
                self.skip()
                self.takes(",")
                self.skip()
            self.depth -= 1
        read: list[WrittenRule] = []
        for name, start, end in names:
            if name not in known:
                what = "terminal" if name.lstrip("_").isupper() else "rule"
                raise self.wrong(
                    f"Of the library {library} no {what} {name!r} can be imported",
                    f"Use one of {', '.join(known)}, or write the {what} out.", start, end,
                )  # fmt: skip
            body = self.pattern(known[name], start, end)
            read.append(WrittenRule(name, start, end, body, "import"))
        self.skip()
        if len(read) == 1 and self.takes("->"):
            self.skip()
            name, start, end = self._name()
            read = [WrittenRule(name, start, end, read[0].body, "import")]
        return read

    def _name(self) -> tuple[str, int, int]:
        start = self.at
        name = self.word()
        if not name:
            raise self.wrong("A name is missing", "Write a name such as WS.")
        return name, start, self.at

    # Between and in pieces

    def alternatives(self) -> Node:
        """Alternatives between bars, which may begin a line, with their aliases.

        A bar at the very beginning follows an empty alternative, as in Lark.
        """
        begin = self.at
        self.skip()
        options = [self._aliased()]
        while True:
            before = self.at
            self.skip_lines()
            if not self.takes("|"):
                self.at = before
                break
            self.skip()
            options.append(self._aliased())
        if len(options) == 1:
            return options[0]
        return Branch(begin, options[-1].end, tuple(options))

    def _aliased(self) -> Node:
        body = self.sequence()
        while self.sees("&"):
            if self.in_rule:
                raise self.wrong(
                    "& joins terminals, and this is a rule",
                    "Write it as a terminal, whose name is in capital letters: NAME: A & B.",
                )
            self.at += 1
            self.skip()
            right = self.sequence()
            body = Intersect(body.start, right.end, body, right)
        if self.takes("->"):
            self.skip()
            self._name()
            self.skip()
        return body

    def atom(self) -> Node | None:
        """The piece that comes next, with the ignored text after it."""
        if self.at >= len(self.text):
            return None
        start, char = self.at, self.text[self.at]
        if char in self.letters and char not in "-0123456789":
            name = self.word()
            if self.sees("{") and not _BRACES.match(self.text, self.at):
                return self._use(name, start)
            call = self.called(name, start)
            is_rule = isinstance(call, Call) and not name.lstrip("_").isupper()
            return call if is_rule else self._then_skipped(call)
        if char == "(":
            return self.group()
        if char == "[":
            return self.repeated_group("]", 1)
        if char == '"':
            return self._then_skipped(self._quoted())
        if char == "/" and not self.sees("//"):
            piece = self.slashed(_FLAGS)
            return self._then_skipped(ended_lazily(piece, self._is_lazy) if self.in_rule else piece)
        if char == "~":
            return self._then_skipped(self._negated())
        if char == "%":
            return self._then_skipped(self._directive())
        if char == "<":
            source, self.at = token_source(self.text, start, self.wrong)
            self._only_in_rule("A control token", "Write it in a rule, beside the terminal.", start)
            return self._then_skipped(self.leaf(source, start))
        return None

    def _negated(self) -> Node:
        """Read ``~`` and a piece: its complement."""
        start = self.at
        self.at += 1
        self.skip()
        outside, self.in_rule = self.in_rule, False
        inner = self.atom()
        self.in_rule = outside
        if inner is None:
            raise self.wrong("Nothing stands behind ~", "Write ~NAME or ~/pattern/.", start)
        return Negate(start, self.at, inner)

    def _directive(self) -> Node:
        """Read ``%json {...}`` or ``%regex {...}`` within a body."""
        start = self.at
        self.at += 1
        name = self.word()
        if name not in ("json", "regex"):
            raise self._not_followed(name, start, "json", "regex")
        self.skip_lines()
        begin = self.at
        data, self.at = data_at(self.text, begin, self.wrong)
        if name == "regex":
            return substrings(data, start, self.at, self.wrong)
        self._only_in_rule("%json", "Write it in a rule: a terminal calls nothing.", start)
        text = self.text[begin : self.at]
        return self.leaf(schema_source(text, data, begin, self.wrong), start)

    def _only_in_rule(self, what: str, remedy: str, start: int) -> None:
        if not self.in_rule:
            raise self.wrong(f"{what} cannot stand in a terminal", remedy, start, self.at)

    def _then_skipped(self, terminal: Node) -> Node:
        if not self.in_rule or not self.may_ignore:
            return terminal
        return Concat(terminal.start, terminal.end, (terminal, _IGNORED))

    def _skipped(self) -> Node:
        first = self.ignored[0]
        one = len(self.ignored) == 1
        what = first if one else Branch(first.start, first.end, tuple(self.ignored))
        return Repeat(first.start, first.end, what, 0, None, False)

    def quantifier(self, item: Node) -> tuple[int, int | None] | None:
        """``*``, ``+``, ``?``, ``~ n``, ``~ n..m`` or braces."""
        if self.sees("{"):
            return self.braces()
        if not self.takes("~"):
            return super().quantifier(item)
        self.skip()
        low = self._number()
        high = self._number() if self.takes("..") else low
        if high < low:
            raise self.wrong("The most is below the fewest", "Swap the numbers.")
        return low, high

    def _number(self) -> int:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] in "0123456789":
            self.at += 1
        if start == self.at or self.at - start > 9:
            raise self.wrong("A number of repetitions is missing", "Write ~ 3 or ~ 3..5.", start)
        return int(self.text[start : self.at])

    def _quoted(self) -> Node:
        start = self.at
        text = self._string()
        if self.sees(".."):
            self.at += 2
            if not self.sees('"'):
                raise self.wrong("The range has no end", 'Write "a".."z".')
            last = self._string()
            if len(text) != 1 or len(last) != 1 or last < text:
                reason = "A range goes from one character to a later one"
                raise self.wrong(reason, 'Write "a".."z".', start, self.at)
            return Class(start, self.at, char_set([(ord(text), ord(last))]))
        end = self.at
        if self.takes("i"):
            escaped = "".join(f"\\U{ord(char):08x}" for char in text)
            return self.pattern(escaped, start, self.at, "i") if text else Empty(start, end)
        return letters_of([(char, start, end) for char in text], start, end)

    def _string(self) -> str:
        start = self.at
        self.at += 1
        while not self.sees('"'):
            if self.at >= len(self.text) or self.text[self.at] == "\n":
                raise self.wrong("The text does not end", "Close it with '\"'.", start)
            self.at += 2 if self.text[self.at] == "\\" else 1
        self.at += 1
        try:
            made: object = ast.literal_eval(self.text[start : self.at])
        except (SyntaxError, ValueError):
            made = None
        if not isinstance(made, str) or any(0xD800 <= ord(char) <= 0xDFFF for char in made):
            raise self.wrong("An escape is not known", "Escape as Python does.", start, self.at)
        return made


def _filled(node: Node, skipped: Node | None) -> Node:
    """A body with the ignored text in its places; without any, with nothing there."""
    if skipped is None and isinstance(node, Concat) and node.items[1] is _IGNORED:
        return node.items[0]
    if node is _IGNORED:
        return skipped or node
    return with_children(node, tuple(_filled(each, skipped) for each in children(node)))
