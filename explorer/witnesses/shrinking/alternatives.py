"""Smaller grammars: an alternative goes, or is all that is left; a part goes; a rule goes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|\#[^\n]*|//[^\n]*)
      | (?P<part>"(?:[^"\\]|\\.)*"i?|\[(?:[^\]\\]|\\.)*\]|/(?:[^/\\\n]|\\.)+/[a-z]*
               |[A-Za-z_][\w-]*|\.)
      | (?P<bar>\|)
      | (?P<open>[(\[])
      | (?P<close>[)\]])
      | (?P<count>[*+?]|\{[\d,]*\}|~\s*\d+(?:\.\.\d+)?)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_RULE: Final = {
    "gbnf": re.compile(r"^[ \t]*([A-Za-z_][\w-]*)[ \t]*::=[ \t]*", re.MULTILINE),
    "lark": re.compile(r"^[?!]?([A-Za-z_]\w*)(?:\.\d+)?[ \t]*:[ \t]*", re.MULTILINE),
}

Span = tuple[int, int]


def smaller_grammars(text: str, syntax: str) -> Iterator[str]:
    """The grammars that are one reduction smaller.

    Args:
        text: A grammar.
        syntax: ``"gbnf"`` or ``"lark"``.

    Example:
        >>> sorted(smaller_grammars('root ::= "a" | b', "gbnf"))
        ['root ::=  | b', 'root ::= "a"', 'root ::= "a" |', 'root ::= b']
    """
    heads = list(_RULE[syntax].finditer(text))
    known = {text}
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        directive = re.search(r"^%", text[head.end() : end], re.MULTILINE)
        end = head.end() + directive.start() if directive else end
        changes: list[tuple[Span, str]] = []
        if number and len(re.findall(rf"(?<![\w-]){re.escape(head[1])}(?![\w-])", text)) == 1:
            changes.append(((head.start(), end), ""))
        changes += _changes(text, head.end(), end)
        for (low, high), instead in changes:
            made = (text[:low] + instead + text[high:]).rstrip()
            if made not in known and len(made) < len(text):
                known.add(made)
                yield made
    for line in re.finditer(r"^%[^\n]*\n?", text, re.MULTILINE):
        yield text[: line.start()] + text[line.end() :]


def _changes(text: str, begin: int, end: int) -> Iterator[tuple[Span, str]]:
    """What one step may change in the body of a rule: spans, and what stands there instead."""
    tokens = [(found.lastgroup, found.span()) for found in _TOKEN.finditer(text, begin, end)]
    stack: list[list[int]] = [[begin]]  # Where the alternatives of each open group begin.
    closed: list[list[int]] = []
    for kind, (_, high) in tokens:
        if kind == "open":
            stack.append([high])
        elif kind == "bar":
            stack[-1].append(high)
        elif kind == "close" and len(stack) > 1:
            closed.append([*stack.pop(), high])
    last = text[begin:end].rstrip()
    closed.append([*stack[0], begin + len(last) + 1])
    for borders in closed:
        spans = [(low, high - 1) for low, high in pairwise(borders)]
        whole = (spans[0][0], spans[-1][1])
        options = [text[low:high].strip() for low, high in spans]
        if len(options) > 1:
            for k, option in enumerate(options):
                yield whole, option
                if len(options) > 2:
                    yield whole, " | ".join(options[:k] + options[k + 1 :])
    for kind, span in tokens:
        if kind in ("part", "count"):
            yield span, ""
        if kind == "part" and text[span[0]] == '"' and span[1] - span[0] > 3:
            yield (span[0] + 1, span[0] + 2), ""
            yield (span[1] - 2, span[1] - 1), ""
