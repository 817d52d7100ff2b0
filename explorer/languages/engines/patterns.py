r"""Patterns as other engines read them, where that is not as Python's `re` does.

xgrammar ignores ``^`` and ``$``, its classes are ASCII's, and its dot is any character. llguidance
and outlines-core have Rust's regex crate: ``$`` is the end alone, ``\s`` is Unicode's white space,
and ``\w`` has marks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any, ClassVar, Final, Self

from msgspec import json

from explorer.arguments import instance
from explorer.automata.tree.charset import CharSet
from explorer.automata.tree.nodes import (
    Assertion,
    AssertionKind,
    Class,
    Empty,
    Node,
    Source,
    children,
    walk,
    with_children,
)
from explorer.errors import DamagedFile
from explorer.languages.regex.characters import read_set
from explorer.languages.regex.parser import Tree, parse
from explorer.languages.regex.source import Regex
from explorer.languages.sources.registry import register

_RUST: Final = {
    "s": r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",
    "w": r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\u200c\u200d\u24b6-\u24e9\U0001f130-\U0001f149"
    r"\U0001f150-\U0001f169\U0001f170-\U0001f189",
}
CLASSES: Final[Mapping[str, Mapping[str, str]]] = {
    "xgrammar": {"s": r"\t-\r \xa0"}, "llguidance": _RUST, "outlines": _RUST,
}  # fmt: skip
"""The members of the escapes that each engine reads differently, as in a set."""


@cache
def facts(engine: str) -> Mapping[str, Any]:
    """The formats of an engine and its rules in words, from `engines.json`."""
    data = files("explorer.languages.engines").joinpath("engines.json").read_bytes()
    return json.decode(data)[engine]


_FLAGS: Final = {"xgrammar": int(re.ASCII | re.DOTALL)}
_ANCHORS: Final = (AssertionKind.TEXT_START, AssertionKind.FINAL_LINE_END)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)


def pattern_tree(pattern: str, engine: str) -> Tree:
    """A pattern as an engine reads it; its spans are of the pattern.

    Args:
        engine: A key of `CLASSES`.

    Raises:
        RegexError: Python's `re` would refuse it.
    """
    tree = parse(pattern, _FLAGS.get(engine, 0))
    root = _as_read(tree.root, pattern, engine)
    asserts = any(isinstance(node, Assertion) for node in walk(root))
    return replace(tree, root=root, has_assertions=asserts)


def _as_read(node: Node, pattern: str, engine: str) -> Node:
    if isinstance(node, Class):
        return _class(node, pattern[node.start : node.end], engine)
    at_an_end = node.start == 0 or node.end == len(pattern)
    if isinstance(node, Assertion) and node.kind in _ANCHORS and not at_an_end:
        if engine == "xgrammar":
            return Empty(node.start, node.end)
        if node.kind is AssertionKind.FINAL_LINE_END:
            return Assertion(node.start, node.end, AssertionKind.TEXT_END)
    return with_children(node, tuple(_as_read(each, pattern, engine) for each in children(node)))


def _class(node: Class, written: str, engine: str) -> Node:
    known = CLASSES[engine]
    if not any(each.lower() in known for each in _ESCAPE.findall(written)):
        return node
    return Class(node.start, node.end, _members(written, engine))


@lru_cache(maxsize=256)
def _members(written: str, engine: str) -> CharSet:
    """A class with the engine's members in place of its escapes."""

    def spelled(escape: re.Match[str]) -> str:
        members = CLASSES[engine].get(escape[1].lower())
        if members is None or escape[1].islower():
            return members or escape[0]
        others = read_set(f"[^{members}]", 0, 0)[0].ranges
        return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in others)

    inside = written[1:-1] if written.startswith("[") else written
    return read_set(f"[{_ESCAPE.sub(spelled, inside)}]", 0, _FLAGS.get(engine, 0))[0]


@register("regex (as an engine reads it)")
@dataclass(frozen=True)
class EnginePattern(Regex):
    """A pattern as an engine reads it.

    Args:
        engine: A key of `CLASSES`.
    """

    kind: ClassVar[str] = "engine_regex"
    plain_text: ClassVar[bool] = False

    engine: str = "xgrammar"

    @cached_property
    def parsed(self) -> Tree:
        """The pattern as the engine reads it."""
        return pattern_tree(self.pattern, self.engine)

    @property
    def remarks(self) -> tuple[tuple[str, str], ...]:
        """The parts that the engine reads in its own way: an empty pointer and a sentence each."""
        read, plain = walk(self.parsed.root), walk(parse(self.pattern).root)
        signs = {
            self.pattern[one.start] for one, other in zip(read, plain, strict=True)
            if one != other and not children(one)
        }  # fmt: skip
        names = {{"$": "^", "[": "\\"}.get(sign, sign) for sign in signs}
        return tuple(("", facts(self.engine)["rules"][name]) for name in sorted(names))

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The pattern that was saved."""
        pattern = instance("pattern", fields["pattern"], str, "a str", error=DamagedFile)
        engine = instance("engine", fields["engine"], str, "a str", error=DamagedFile)
        if engine not in CLASSES:
            raise DamagedFile(f"{engine!r} is not an engine.", remedy="Save the file again.")
        return cls(pattern, engine)

    def __str__(self) -> str:
        return f"{self.engine}: {super().__str__()}"


def pattern_for(source: Regex, engine: str) -> Regex:
    """A pattern as an engine reads it; the same where the engine reads it as Python does."""
    same = pattern_tree(source.pattern, engine).root == source.parsed.root
    return source if same else EnginePattern(source.pattern, engine)
