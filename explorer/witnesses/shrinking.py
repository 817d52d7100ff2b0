"""Shrinks a difference step by step to a short constraint and a short prefix.

A step keeps the engine, the class of the difference and the side that allows the token. The
vocabulary is reduced first: all single bytes and the tokens of the case suffice for most
differences and make every further step fast. Then shorter prefixes and smaller constraints are
tried until no step works or the time is up.

A smaller pattern leaves out a part, or replaces the whole by a part; a smaller grammar leaves out
an alternative, an item or a rule; a smaller schema drops a keyword, a member or a list element, or
is one of its own subschemas.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, cast

from explorer.automata.tree.nodes import Branch, Concat, Group, Node, Repeat, walk
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint, choice, regex
from explorer.languages.grammar.source import GbnfGrammar, GrammarText, LarkGrammar
from explorer.languages.regex.parser import Tree
from explorer.languages.regex.source import Regex
from explorer.languages.schema.reading.text import json_of
from explorer.languages.schema.source import JsonSchema
from explorer.languages.sources.choice import Choice
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import unpack
from explorer.vocabulary import Vocabulary
from explorer.witnesses.answers import Disagreement, Witness
from explorer.witnesses.asking import statement_of
from explorer.witnesses.comparison import OutOfTime
from explorer.witnesses.process import shared_process
from explorer.witnesses.rules.by_masks import SENTENCES
from explorer.witnesses.variants import SHORT_BUDGET, changed, machine_of, subschemas_of
from explorer.witnesses.witness import testimony_of, witness_of


def smaller_patterns(tree: Tree) -> Iterator[str]:
    """The patterns that are one reduction smaller.

    Example:
        >>> from explorer import regex
        >>> sorted(smaller_patterns(regex("ab|c+").source.parsed))
        ['', 'ab', 'ab|', 'ab|+', 'ab|c', 'a|c+', 'b|c+', 'c+', '|c+']
    """
    pattern = tree.pattern
    known: set[str] = {pattern}
    for node in walk(tree.root):
        for text in _instead(node, pattern):
            made = pattern[: node.start] + text + pattern[node.end :]
            if made not in known and len(made) < len(pattern):
                known.add(made)
                yield made


def _instead(node: Node, pattern: str) -> Iterator[str]:
    def text(part: Node) -> str:
        return pattern[part.start : part.end]

    if node.end > node.start:
        yield ""
    if isinstance(node, Branch):
        options = [text(option) for option in node.options]
        yield from options
        if len(options) > 2:
            for k in range(len(options)):
                yield "|".join(options[:k] + options[k + 1 :])
    elif isinstance(node, Concat):
        for item in node.items:
            yield text(item)
    elif isinstance(node, Repeat | Group):
        yield text(node.body)


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
    """The single reductions of a rule's body: spans and their replacements."""
    tokens = [(token.lastgroup, token.span()) for token in _TOKEN.finditer(text, begin, end)]
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


_PARTS: Final = frozenset(
    {"properties", "items", "prefixItems", "anyOf", "oneOf", "allOf", "$defs"}
)


def smaller_schemas(schema: Any) -> Iterator[Any]:
    """The schemas that are one reduction smaller, subschemas in place of the whole first.

    Example:
        >>> [*smaller_schemas({"type": "integer", "minimum": 3})]
        [{'minimum': 3}, {'type': 'integer'}]
    """
    if not isinstance(schema, dict):
        return
    places = list(subschemas_of(schema))
    for path, part in places:
        if path:  # A subschema in place of the whole, with the definitions that it may need.
            shared = cast("dict[str, Any]", schema).get("$defs")
            yield part if shared is None else {**part, "$defs": shared}
    for path, part in places:
        for keyword, value in part.items():
            if keyword != "x-guidance":
                yield changed(schema, path, lambda target, k=keyword: target.pop(k))
            if isinstance(value, list) and len(cast("list[Any]", value)) > 1:
                for k in range(len(cast("list[Any]", value))):
                    yield changed(schema, path, lambda t, w=keyword, k=k: t[w].pop(k))
            if keyword in ("properties", "patternProperties", "$defs") and isinstance(value, dict):
                for name in cast("dict[str, Any]", value):
                    yield changed(schema, path, lambda t, w=keyword, n=name: _drop(t, w, n))
            if isinstance(value, str) and keyword == "pattern":
                from explorer.errors import ExplorerError
                from explorer.languages.regex.parser import parse

                try:
                    tree = parse(value)
                except ExplorerError:
                    continue
                for text in smaller_patterns(tree):
                    yield changed(schema, path, lambda t, p=text: t.update(pattern=p))


def _drop(target: dict[str, Any], keyword: str, name: str) -> None:
    target[keyword].pop(name)
    required = target.get("required")
    if keyword == "properties" and isinstance(required, list) and name in required:
        cast("list[Any]", required).remove(name)


def size_of_schema(schema: Any) -> int:
    """The length of a schema as JSON."""
    return len(json_of(schema))


def size_of(constraint: Constraint) -> int:
    """The length of a constraint, for comparing it with smaller ones."""
    source = constraint.source
    return size_of_schema(source.parsed) if isinstance(source, JsonSchema) else len(source.text)


def smaller(constraint: Constraint) -> list[Constraint]:
    """The constraints that are one reduction smaller, the smallest first."""
    candidates = list(_smaller(constraint))
    candidates.sort(key=size_of)
    return [each for each in candidates if size_of(each) < size_of(constraint)]


def _smaller(constraint: Constraint) -> Iterator[Constraint]:
    source = constraint.source
    if isinstance(source, Regex):
        for text in smaller_patterns(source.parsed):
            try:
                yield regex(text)
            except ExplorerError:
                continue
    elif isinstance(source, Choice):
        for k in range(len(source.texts)):
            if rest := source.texts[:k] + source.texts[k + 1 :]:
                yield choice(list(rest))
    elif isinstance(source, JsonSchema):
        for schema in smaller_schemas(source.parsed):
            try:
                options = replace(source.options, strict=False)
                yield Constraint(JsonSchema(json_of(schema), options, source.remotes))
            except ExplorerError:
                continue
    elif isinstance(source, GbnfGrammar | LarkGrammar):
        yield from _grammars(source)


def _grammars(source: GrammarText) -> Iterator[Constraint]:
    for text in smaller_grammars(source.grammar, source.notation):
        try:
            yield Constraint(type(source).of(text, ambiguous=source.ambiguous))
        except ExplorerError:
            continue


SECONDS_A_STEP = 2.0
"""The longest that an engine may take in one step."""

SECONDS_FOR_BYTES = 0.5
"""The seconds for the reduction to single bytes, granted even when the time is up.

Without that reduction a script holds the whole vocabulary.
"""


@dataclass(frozen=True, eq=False)
class Shrunk:
    """A shrunk difference, with the token that shows it and the number of steps tried."""

    witness: Witness
    disagreement: Disagreement
    token: int
    steps: int


def small_vocabulary(texts: list[bytes], single: Iterable[int] = range(256)) -> Vocabulary:
    """A vocabulary of single bytes, some longer tokens and an end of text."""
    more = dict.fromkeys(text for text in texts if len(text) > 1)
    tokens = [bytes([byte]) for byte in single] + [*more]
    return Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])


def shrink(witness: Witness, wanted: Disagreement, seconds: float) -> Shrunk:
    """Shrink a difference to the shortest constraint and prefix found that still show it."""
    deadline = time.monotonic() + seconds
    tokens = witness.vocabulary.tokens
    shortest = min(map(int, wanted.tokens), key=lambda token: len(tokens[token] or b""))
    prefix = witness.prefix[: wanted.position]
    first = max(deadline, time.monotonic() + SECONDS_FOR_BYTES)
    best = _small(witness, wanted, prefix, shortest, first) or Shrunk(witness, wanted, shortest, 0)
    steps = 0
    single = _in_bytes(best)
    if single is not None:
        best = shows(witness.constraint, best.witness.vocabulary, single, wanted, first) or best
    going = True
    while going and time.monotonic() < deadline:
        going = False
        for constraint, ids in _candidates(best):
            if time.monotonic() > deadline:
                break
            steps += 1
            shown = shows(constraint, best.witness.vocabulary, ids, wanted, deadline)
            if shown is not None:
                best, going = shown, True
                break
    return replace(best, steps=steps)


def _small(
    witness: Witness,
    wanted: Disagreement,
    prefix: tuple[int, ...],
    token: int,
    deadline: float,
) -> Shrunk | None:
    """The difference over a vocabulary of single bytes and a few tokens, if it still shows."""
    tokens = witness.vocabulary.tokens
    if len(tokens) <= 300:
        return None
    needed = [tokens[each] or b"" for each in (*prefix, token)]
    needed += [tokens[each] or b"" for each in wanted.tokens[:4]]
    theirs = witness.testimony(wanted.engine).mask
    if theirs is not None and wanted.position == len(witness.prefix):
        needed += [tokens[each] or b"" for each in theirs.nonzero()[0][:4]]
    # Trimming depends on the bytes that the vocabulary has, so its class gets no further ones.
    known = [byte for byte in range(256) if witness.vocabulary.ids_of(bytes([byte]))]
    vocabulary = small_vocabulary(needed, known if wanted.kind == "trim" else range(256))
    if not all(vocabulary.ids_of(text) for text in needed if text):
        return None
    ids = tuple(vocabulary.ids_of(tokens[each] or b"")[0] for each in prefix)
    return shows(witness.constraint, vocabulary, ids, wanted, deadline)


def _in_bytes(best: Shrunk) -> tuple[int, ...] | None:
    """The prefix as single bytes, which more of the smaller constraints can follow."""
    vocabulary = best.witness.vocabulary
    ids = [vocabulary.ids_of(bytes([byte]))[:1] for byte in best.witness.text]
    return tuple(each[0] for each in ids) if all(ids) else None


def _candidates(best: Shrunk) -> Iterator[tuple[Constraint, tuple[int, ...]]]:
    constraint, prefix = best.witness.constraint, best.witness.prefix
    shorter = list(_prefixes(prefix))
    for ids in shorter:
        yield constraint, ids
    for each in smaller(constraint):
        for ids in (prefix, *shorter[:8]):
            yield each, ids


def _prefixes(prefix: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Shorter prefixes, the shortest first: the beginning, the end, both, half, all but one."""
    known = {prefix}
    size = len(prefix)
    made = [(), *(prefix[-k:] for k in range(1, 5)), *(prefix[:k] for k in range(1, 4))]
    made += [prefix[:k] + prefix[-m:] for k in (1, 2) for m in (1, 2)]
    made += [prefix[: size // 2], prefix[size // 2 :], prefix[:-1], prefix[1:]]
    made += [prefix[:k] + prefix[k + 1 :] for k in range(size)]
    for ids in sorted(made, key=len):
        if ids not in known and len(ids) < size:
            known.add(ids)
            yield ids


def shows(
    constraint: Constraint,
    vocabulary: Vocabulary,
    prefix: tuple[int, ...],
    wanted: Disagreement,
    deadline: float,
) -> Shrunk | None:
    """A difference of the wanted class and direction after a prefix, if there is one.

    Args:
        deadline: By `time.monotonic`.
    """
    seconds = min(SECONDS_A_STEP, max(0.1, deadline - time.monotonic()))
    try:
        machine = machine_of(constraint, vocabulary, SHORT_BUDGET)
        if not _differs(machine, constraint, prefix, wanted, seconds):
            return None  # Most candidates end here, before the slower classification.
        there = witness_of(machine, constraint, prefix, (wanted.engine,), seconds, deadline)
    except (ExplorerError, OutOfTime):
        return None
    for each in there.disagreements:
        same = (each.kind, each.allows) == (wanted.kind, wanted.allows)
        same &= wanted.sentence not in SENTENCES or each.sentence == wanted.sentence
        if same and each.position == len(prefix):
            tokens = vocabulary.tokens
            token = min(map(int, each.tokens), key=lambda t: len(tokens[t] or b""))
            return Shrunk(there, each, token, 0)
    return None


def _differs(
    machine: TokenMachine,
    constraint: Constraint,
    prefix: tuple[int, ...],
    wanted: Disagreement,
    seconds: float,
) -> bool:
    """Whether the engine and we differ after a prefix in the wanted direction."""
    state: int | None = machine.start
    for token in prefix:
        state = machine.step(state, token)
        if state is None:
            return False
    said = testimony_of(
        shared_process(wanted.engine), statement_of(constraint), machine.vocabulary, prefix, seconds
    )
    if said.mask is None:
        return False
    ours = unpack(machine.mask(state), len(machine.vocabulary))
    return bool((said.mask & ~ours if wanted.allows else ours & ~said.mask).any())


__all__ = ["Shrunk", "shows", "shrink", "size_of", "small_vocabulary"]
