"""The macros of xgrammar's EBNF, and tokens other than some.

``Token(5)``, ``ExcludeToken(5)``, ``Substring("a", "b")``, ``TagDispatch(("<t>", rule), ...)`` and
``TokenTagDispatch((5, rule), ...)``. (xgrammar 0.2, ``docs/defining_structures/ebnf_grammar.md``.)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, cast

from explorer.automata.tree.charset import ANY
from explorer.automata.tree.nodes import (
    Branch,
    Call,
    Class,
    Concat,
    Group,
    Intersect,
    Machine,
    Node,
    Repeat,
    Source,
    Texts,
)
from explorer.automata.valid_utf8 import any_text
from explorer.errors import ExplorerError, GrammarError
from explorer.languages.grammar.notations.inner import substrings
from explorer.languages.grammar.notations.reading import GrammarReader
from explorer.languages.phases.control import AnyTokens, ControlToken, Name, OtherToken
from explorer.languages.phases.free import (
    checked_strings,
    strings_of,
    text_up_to_first,
    text_without,
)
from explorer.languages.sources.algebra import Union

MACROS: Final = ("Token", "ExcludeToken", "Substring", "TagDispatch", "TokenTagDispatch")
"""The names of the macros."""

_STARS: Final = re.compile(r"\s*[*+]")
_STARS_BEHIND_GROUP: Final = re.compile(r"\s*\)\s*[*+]")
_WORD: Final = re.compile(r"[A-Za-z_][\w-]*|\d{1,9}")


def other_tokens(reader: GrammarReader, names: tuple[Name, ...], start: int) -> Node:
    """A character or a control token but some: repeated, it is what any tokens but some write."""
    inner = reader.text[:start].rstrip().endswith("(")
    if not (_STARS_BEHIND_GROUP if inner else _STARS).match(reader.text, reader.at):
        raise reader.wrong(
            "A single token that may be text cannot stand in a grammar: rules read characters",
            "Repeat it with * or +, or write terminals.text_token() beside the grammar.", start,
            reader.at,
        )  # fmt: skip
    others = reader.leaf(OtherToken(names), start)
    text = Class(start, reader.at, ANY)
    return Group(start, reader.at, Branch(start, reader.at, (text, others)), None, None)


class Macro:
    """A macro that is being read: its arguments, and the node that it stands for.

    Args:
        reader: The reader, before the parenthesis.
        string: Reads a text in quotes.
    """

    def __init__(
        self, reader: GrammarReader, name: str, start: int, string: Callable[[], str]
    ) -> None:
        self._reader = reader
        self._string = string
        self._name = name
        self._start = start
        self._named: dict[str, object] = {}
        reader.depth += 1
        self._given = self._values(named=True)
        reader.depth -= 1

    def _wrong(self, reason: str, remedy: str) -> GrammarError:
        return self._reader.wrong(f"{self._name}: {reason}", remedy, self._start, self._reader.at)

    def _values(self, *, named: bool = False) -> tuple[object, ...]:
        """The values in parentheses."""
        reader, values = self._reader, list[object]()
        reader.at += 1
        reader.skip()
        while not reader.takes(")"):
            value = self._value()
            reader.skip()
            if named and isinstance(value, Call) and reader.takes("="):
                reader.skip()
                self._named[value.name] = self._value()
                reader.skip()
            else:
                values.append(value)
            if not reader.takes(",") and not reader.sees(")"):
                raise self._wrong("the arguments do not end", "Close them with ).")
            reader.skip()
        return tuple(values)

    def _value(self) -> object:
        reader = self._reader
        if reader.sees('"'):
            return self._string()
        if reader.sees("("):
            return self._values()
        begin, word = reader.at, _WORD.match(reader.text, reader.at)
        if word is None:
            raise self._wrong("this is not an argument", 'Write "text", 5, true or a rule.')
        reader.at = word.end()
        if word[0] in ("true", "false"):
            return word[0] == "true"
        return int(word[0]) if word[0].isdigit() else Call(begin, reader.at, word[0])

    def node(self) -> Node:
        """The node of the macro."""
        reader, start = self._reader, self._start
        if self._name in ("TagDispatch", "TokenTagDispatch"):
            return self._dispatch()
        if self._named:
            raise self._wrong("there are no named arguments", "Leave them out.")
        if self._name == "Substring":
            chunks = {"substring_chunks": [*self._given]}
            return substrings(chunks, start, reader.at, reader.wrong)
        ids = self._ids(self._given)
        if self._name == "ExcludeToken":
            return other_tokens(reader, ids, start)
        return reader.leaf(_one_of(ids), start)

    def _ids(self, given: object) -> tuple[int, ...]:
        values = cast("tuple[object, ...]", given) if isinstance(given, tuple) else ()
        ids = tuple(each for each in values if isinstance(each, int) and each is not True)
        if not ids or len(ids) != len(values):
            raise self._wrong("its arguments are the ids of tokens", f"Write {self._name}(5, 7).")
        return ids

    def _dispatch(self) -> Node:
        """Free text; a tag in it calls a rule, after which free text goes on or the end comes."""
        start, end = self._start, self._reader.at
        loops = self._named.pop("loop_after_dispatch", True)
        excluded = self._named.pop("excludes", ())
        pairs = [cast("tuple[object, ...]", each) for each in self._given
                 if isinstance(each, tuple)]  # fmt: skip
        fine = len(pairs) == len(self._given) and isinstance(loops, bool)
        if (
            not fine
            or self._named
            or not all(len(pair) == 2 and isinstance(pair[1], Call) for pair in pairs)
        ):
            raise self._wrong(
                "its arguments are pairs of a tag and a rule, loop_after_dispatch and excludes",
                'Write TagDispatch(("<tag>", rule), loop_after_dispatch=true, excludes=("x",)).',
            )
        called = [cast("Call", pair[1]) for pair in pairs]
        tags = tuple(pair[0] for pair in pairs)
        before, free = (self._by_text if self._name == "TagDispatch" else self._by_token)(
            tags, excluded
        )
        ways = tuple(
            Concat(start, end, (up_to, call)) for up_to, call in zip(before, called, strict=True)
        )
        if not ways:
            return free
        way = ways[0] if len(ways) == 1 else Branch(start, end, ways)
        if not loops:
            return Group(start, end, Branch(start, end, (free, way)), None, None)
        turns = Repeat(start, end, Group(start, end, way, None, None), 0, None, False)
        return Group(start, end, Concat(start, end, (turns, free)), None, None)

    def _by_text(self, tags: tuple[object, ...], excluded: object) -> tuple[list[Node], Node]:
        """The text up to each tag, if it is the first to be complete, and the text without any."""
        start, end = self._start, self._reader.at
        try:
            checked_strings("tags", [*tags, "-"])
            strings = checked_strings("strings", [*tags, *cast("tuple[object, ...]", excluded)])
        except (ExplorerError, TypeError) as error:
            raise self._wrong("its tags and excludes are texts", 'Write "<tag>".') from error
        free = Machine(start, end, text_without(strings_of(strings)))
        if not tags:
            return [], free
        first = Machine(start, end, text_up_to_first(strings))
        text = Machine(start, end, any_text())
        return [
            Intersect(start, end, first, Concat(start, end, (text, Texts(start, end, (str(tag),)))))
            for tag in tags
        ], free

    def _by_token(self, tags: tuple[object, ...], excluded: object) -> tuple[list[Node], Node]:
        """Any tokens up to each of the given ones, and any tokens without them."""
        ids = self._ids(tags) if tags else ()
        others = self._ids(excluded) if excluded else ()
        reader, start = self._reader, self._start

        def free() -> Node:
            return reader.leaf(AnyTokens((*ids, *others)), start)

        return [
            Concat(start, reader.at, (free(), reader.leaf(ControlToken(tag), start))) for tag in ids
        ], free()


def _one_of(ids: tuple[int, ...]) -> Source:
    tokens = tuple(ControlToken(each) for each in dict.fromkeys(ids))
    return tokens[0] if len(tokens) == 1 else Union(tokens)
