"""Reasons held against their definition: what is named, taken away, lets the token through.

A named keyword, option, or span is right if the constraint without it takes the text and the token,
and nothing smaller inside of it would be enough. Where several are named together, only all of them
let the token through. JSON itself is right where no schema takes them.

Nothing here looks for a reason. A schema loses the keywords at the pointers that were named and is
compiled again; a pattern or a grammar reads any text in place of the span. Then the new machine
reads the text and the token.

``python -m tests.analysis.reasons --reasons 100000 --seed 1`` draws schemas, patterns and grammars
at random, walks to random states, asks for masked tokens, and prints what it counted.
"""

from __future__ import annotations

import argparse
import codecs
import copy
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import explorer
from explorer import Constraint, Vocabulary
from explorer.analysis.explaining.explanation import Explanation
from explorer.automata.machine import NO_ARC
from explorer.errors import ExplorerError
from tests.languages.schema.random_schemas import NAMES, STRINGS, LikelyValues, RandomSchemas
from tests.languages.schema.random_texts import walked

Judged = Literal["right", "false", "loose", "unnamed", "undecided"]
"""``false``: the token does not pass without what is named. ``loose``: something smaller inside
would do, or fewer of those named. ``undecided``: the schema without it is refused."""

_PIECES: Final = (
    *(json.dumps(name) + end for name in NAMES for end in ("", ":", ",")),
    *(json.dumps(text, ensure_ascii=False) for text in STRINGS if text != "/"),
    *NAMES, "{}", "[]", "[[", "}}", "]]", "}]", "],", "},", '":', '","', '":"', '"}', '"]',
    ',"', '{"', '["', ",{", ",[", "true", "false", "null", "tr", "01", "-1", "10", "0.5", "1e2",
    "6", "12", "-0", ", ", ": ", " ", "\n", " 1", "\\u0061", "\\n", "zz", "nul", "[[[[", "1,", ",1",
    "0,0", "1}", "1]", '"a":1', '"b":"x"', "é", "日", "[1", "[{", "ab", "ba", "x1", "aaaa", "foo",
)  # fmt: skip
_BYTES: Final = [bytes([byte]) for byte in range(256)]
_TOKENS: Final = list(dict.fromkeys([*_BYTES, *(piece.encode() for piece in _PIECES)]))
VOCABULARY: Final = Vocabulary.from_bytes(_TOKENS, eos_ids=[len(_TOKENS)])
END: Final = len(_TOKENS)

_POINTER: Final = re.compile(r"(?<!\S)/[^\s,]*")
_OPTION: Final = re.compile(r"\b(whitespace|property_order|escapes|free_depth|max_depth)=")
_FREE: Final[dict[str, dict[str, Any]]] = {
    "whitespace": {"whitespace": "flexible"}, "property_order": {"property_order": "any"},
    "escapes": {"escapes": "any"},
    "free_depth": {"recursion": "stack"}, "max_depth": {"recursion": "stack"},
}  # fmt: skip
MOST_INSIDE: Final = 60
"""The most keywords inside of a named one that are taken away alone."""


class Taken(NamedTuple):
    """What a reason names: keywords by their pointers, options, and whether JSON itself."""

    pointers: tuple[str, ...]
    options: tuple[str, ...]
    is_json: bool


def taken(labels: list[str]) -> Taken:
    """What some labels name together."""
    pointers: dict[str, None] = {}
    options: dict[str, None] = {}
    is_json = False
    for label in labels:
        is_json = is_json or label.startswith(("JSON", "the largest float"))
        if "not explained" in label:
            continue
        bare = re.sub(r", of which .* match|the names? .* came before", "", label)
        pointers |= dict.fromkeys(_POINTER.findall(bare))
        options |= dict.fromkeys(_OPTION.findall(bare))
        if "limits of depth" in label:
            options["free_depth"] = None
    return Taken(tuple(pointers), tuple(options), is_json)


def without(schema: Any, pointers: tuple[str, ...]) -> Any:
    """A schema without the keywords at some pointers; an item of a list becomes true."""
    schema = copy.deepcopy(schema)
    for pointer in pointers:
        *steps, last = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")][
            1:
        ]
        place = schema
        for step in steps:
            if isinstance(place, list):
                place = place[int(step)]
            elif isinstance(place, dict):
                place = place.get(step)
        if isinstance(place, list):
            place[int(last)] = True
        elif isinstance(place, dict):
            place.pop(last, None)
    return schema


def inside(schema: Any, pointer: str) -> Iterator[str]:
    """The pointers of the keywords of subschemas inside of the keyword at a pointer."""
    place = schema
    for step in [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")][1:]:
        place = place[int(step)] if isinstance(place, list) else place[step]
    keyword = pointer.rpartition("/")[2]
    yield from _keywords_in(place, pointer, keyword in BY_NAME)


BY_NAME: Final = ("properties", "patternProperties", "dependentSchemas", "$defs")
_OPAQUE: Final = ("enum", "const", "required", "dependentRequired", "type")


def _keywords_in(place: Any, pointer: str, by_name: bool) -> Iterator[str]:
    if pointer.rpartition("/")[2] in _OPAQUE and not by_name:
        return
    if isinstance(place, list):
        for k, each in enumerate(place):
            if isinstance(each, dict):
                yield from _keywords_in(each, f"{pointer}/{k}", False)
    elif isinstance(place, dict):
        for name, each in place.items():
            below = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
            if not by_name:
                yield below
            if isinstance(each, dict | list):
                named = not by_name and name in BY_NAME
                yield from _keywords_in(each, below, named)


@dataclass
class SchemaReasons:
    """The definition, for one schema.

    Args:
        schema: The schema as data.
        options: The options of `explorer.json_schema`.
    """

    schema: Any
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    _known: dict[Any, Constraint | None] = field(default_factory=dict[Any, Constraint | None])

    def judge(self, labels: list[str], text: bytes, *, ends: bool) -> Judged:
        """Whether what some labels name is the reason why a text is not taken.

        Args:
            text: The text so far and the token.
            ends: Whether the token is the end of the text.
        """
        named = taken(labels)
        if named.is_json:
            return "false" if _reads(_any_json(), text, ends) else "right"
        if not named.pointers and not named.options:
            return "unnamed"
        alone = [self._passes(each, text, ends) for each in _each(named)]
        if len(alone) > 1 and all(each is True for each in alone):
            if any(self._passes_inside(each, text, ends) for each in _each(named)):
                return "loose"
            return "right"
        passes = self._passes(named, text, ends)
        if passes is None:
            return "undecided"
        if not passes:
            return "false"
        if any(self._passes(less, text, ends) for less in _fewer(named)):
            return "loose"
        return "loose" if self._passes_inside(named, text, ends) else "right"

    def _passes_inside(self, named: Taken, text: bytes, ends: bool) -> bool:
        """Whether less is enough: a keyword inside of a named one in its place."""
        for pointer in named.pointers:
            others = tuple(other for other in named.pointers if other != pointer)
            for k, below in enumerate(inside(self.schema, pointer)):
                if k == MOST_INSIDE:
                    break
                less = Taken((*others, below), named.options, False)
                if self._passes(less, text, ends):
                    return True
        return False

    def _passes(self, named: Taken, text: bytes, ends: bool) -> bool | None:
        """Whether a text is taken without what is named; ``None`` if that schema is refused."""
        key = named.pointers, named.options
        if key not in self._known:
            options = dict(self.options)
            for option in named.options:
                options |= _FREE[option]
            if options.get("recursion") == "stack":
                options.pop("max_depth", None)
            made = None
            try:
                made = explorer.json_schema(without(self.schema, named.pointers), **options)
                _ = made.machine
            except ExplorerError:
                made = None
            self._known[key] = made
        made = self._known[key]
        try:
            return None if made is None else _reads(made, text, ends)
        except ExplorerError:
            self._known[key] = None
            return None


def _each(named: Taken) -> Iterator[Taken]:
    yield from (Taken((pointer,), (), False) for pointer in named.pointers)
    yield from (Taken((), (option,), False) for option in named.options)


def _fewer(named: Taken) -> Iterator[Taken]:
    """What is named without one of them, if anything is left."""
    if len(named.pointers) + len(named.options) < 2:
        return
    for pointer in named.pointers:
        others = tuple(other for other in named.pointers if other != pointer)
        yield Taken(others, named.options, False)
    for option in named.options:
        yield Taken(named.pointers, tuple(o for o in named.options if o != option), False)


def _reads(made: Constraint, text: bytes, ends: bool) -> bool:
    machine = made.machine
    state = machine.start
    for byte in text:
        if state == NO_ARC:
            return False
        state = machine.step(state, byte)
    return state != NO_ARC and (not ends or machine.is_accepting(state))


_ANY: list[Constraint] = []


def _any_json() -> Constraint:
    """Every JSON text."""
    if not _ANY:
        _ANY.append(
            explorer.json_schema(
                True, recursion="stack", whitespace="flexible", property_order="any", escapes="any"
            )
        )
    return _ANY[0]


class Asked(NamedTuple):
    """A masked token after a text, and its explanation.

    Args:
        source: The schema as JSON with its options, the pattern or the grammar.
        text: The text so far.
        token: The id of the token.
        judge: The definition: whether what some explanation names is right.
    """

    source: str
    text: bytes
    token: int
    why: Explanation
    judge: Callable[[Explanation, bytes, bool], Judged]

    def __str__(self) -> str:
        written = "the end" if self.token == END else repr(_TOKENS[self.token])
        return f"{self.source}\n  {self.text!r} + {written}: {self.why.message}"

    @property
    def judged(self) -> Judged:
        """Whether the reason is right."""
        ends = self.token == END
        text = self.text + (b"" if ends else _TOKENS[self.token])
        return self.judge(self.why, text, ends)


PER_SOURCE: Final = 60
"""Questions about one schema, pattern or grammar."""


def asked_of_schemas(draw: random.Random, count: int = PER_SOURCE) -> Iterator[Asked]:
    """Masked tokens in reachable states of one random schema."""
    schema = RandomSchemas(draw, size=draw.choice([4, 8, 16])).schema()
    options: dict[str, Any] = {}
    if draw.random() < 0.2:
        options["property_order"] = "any"
    if draw.random() < 0.15:
        options["whitespace"] = draw.choice(["dumps", "pretty", "flexible"])
    oracle = SchemaReasons(schema, options)

    def judge(why: Explanation, text: bytes, ends: bool) -> Judged:
        return oracle.judge(labels_of(why), text, ends=ends)

    source = f"{json.dumps(schema)} {options or ''}"
    try:
        made = explorer.json_schema(schema, **options)
        texts = list(_texts(draw, schema, made))
        # JSON itself refuses most tokens; the others say more.
        yield from _asked(draw, source, made, texts, judge, count, _is_json)
    except ExplorerError:
        return


def asked_of_patterns(draw: random.Random, count: int = PER_SOURCE) -> Iterator[Asked]:
    """Masked tokens in reachable states of one random pattern, or a combination of two."""
    pattern = _pattern(draw, 3)
    made = explorer.regex(pattern)

    def judge(why: Explanation, text: bytes, ends: bool) -> Judged:
        return judged_spans(why, text, lambda start, end: explorer.regex(
            f"{pattern[:start]}(?s:.*){pattern[end:]}"
        ))  # fmt: skip

    yield from _of_texts(draw, pattern, made, judge, count)


def asked_of_grammars(draw: random.Random, count: int = PER_SOURCE) -> Iterator[Asked]:
    """Masked tokens in reachable states of one random grammar."""
    grammar = _grammar(draw)

    def widened(start: int, end: int) -> Constraint:
        anything = '" anything "' if grammar.count('"', 0, start) % 2 else "anything"
        text = f'{grammar[:start]}{anything}{grammar[end:]}\nanything ::= ([^\\x01] | "\\x01")*\n'
        return explorer.grammar(text, syntax="gbnf", ambiguous=True)

    def judge(why: Explanation, text: bytes, ends: bool) -> Judged:
        return judged_spans(why, text, widened)

    try:
        made = explorer.grammar(grammar, syntax="gbnf")
    except ExplorerError:
        return
    yield from _of_texts(draw, grammar, made, judge, count)


def judged_spans(
    why: Explanation, text: bytes, widened: Callable[[int, int], Constraint]
) -> Judged:
    """Whether each span that is named, reading any text instead, lets the text through."""
    spans = [place.span for part in why.parts for place in part.positions]
    roles = {part.role for part in why.parts}
    if not spans or None in spans or roles != {"expects"}:
        return "unnamed"
    verdicts: list[bool] = []
    for span in spans:
        try:
            verdicts.append(span is not None and _reads(widened(*span), text, False))
        except ExplorerError:
            return "undecided"
    return "right" if all(verdicts) else "false"


def _of_texts(
    draw: random.Random, source: str, made: Constraint,
    judge: Callable[[Explanation, bytes, bool], Judged], count: int,
) -> Iterator[Asked]:  # fmt: skip
    try:
        words = [walked(draw, made.machine) for _ in range(8)]
        texts = [word.encode() for word in words if word is not None]
        yield from _asked(draw, source, made, texts, judge, count, lambda _: True)
    except ExplorerError:
        return


def _asked(
    draw: random.Random, source: str, made: Constraint, texts: list[bytes],
    judge: Callable[[Explanation, bytes, bool], Judged], count: int,
    wanted: Callable[[bytes], bool],
) -> Iterator[Asked]:  # fmt: skip
    machine = explorer.compile(made, VOCABULARY, lazy=True)
    of_text = source[:1] != "{"
    for _ in range(count if texts else 0):
        text = draw.choice(texts)
        text = text[: draw.randint(0, len(text))]
        state: int | None = machine.start
        for byte in text:
            state = None if state is None or state < 0 else machine.step(state, byte)
        if state is None or state < 0:
            continue
        masked = [
            token
            for token in draw.sample(range(33, END), 24)
            if machine.step(state, token) is None and not (0x7F <= token < 256)
        ]
        if draw.random() < 0.9:
            masked = [each for each in masked if wanted(text + _TOKENS[each])]
        if not of_text and draw.random() < 0.08 and not machine.is_final(state):
            masked = [END]
        if not masked:
            continue
        why = explorer.explain(machine, state, masked[0], text=text)
        if why.stage == "constraint" and of_text and not why.expected:
            continue  # Only the end of the text may follow: nothing is there to widen.
        if not _begins_text(text + (_TOKENS[masked[0]] if masked[0] != END else b"")):
            continue  # Bytes that are no text are refused by UTF-8 alone.
        if why.stage in ("constraint", "end_of_text"):
            yield Asked(source, text, masked[0], why, judge)


def _begins_text(data: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


def labels_of(why: Explanation) -> list[str]:
    """The labels of the named places."""
    return [place.label for part in why.parts for place in part.positions]


def _is_json(text: bytes) -> bool:
    return _reads(_any_json(), text, ends=False)


def _texts(draw: random.Random, schema: Any, made: Constraint) -> Iterator[bytes]:
    likely = LikelyValues(draw, schema)
    for _ in range(8):
        word = walked(draw, made.machine)
        if word is not None:
            yield word.encode()
        spelled = json.dumps(likely.value(3), ensure_ascii=False, separators=(",", ":")).encode()
        if b"\\ud" not in spelled:
            yield spelled


def _pattern(draw: random.Random, depth: int) -> str:
    leaf = ("a", "b", "1", "[ab]", "[^a]", "[0-9]", r"\d", r"\w", "é", ".", r"\{", '"')
    if depth == 0 or draw.random() < 0.2:
        return draw.choice(leaf)
    one, other = _pattern(draw, depth - 1), _pattern(draw, depth - 1)
    form = draw.choice(
        ["{0}{1}", "{0}{1}", "(?:{0}|{1})", "(?:{0})*{1}", "(?:{0}){{1,2}}", "({0})?{1}"]
    )
    return form.format(one, other)


def _grammar(draw: random.Random) -> str:
    def item(rules: list[str], depth: int) -> str:
        how = draw.random()
        if how < 0.35:
            return f'"{draw.choice(["a", "b", "ab", "{", "foo", "1"])}"'
        if how < 0.6:
            return draw.choice(["[ab]", "[0-9]", "[^a]", "[a-z]"])
        if how < 0.8 and rules:
            return draw.choice(rules)
        if depth == 0:
            return '"x1"'
        body = " ".join(item(rules, depth - 1) for _ in range(draw.randint(1, 2)))
        return f"({body} | {item(rules, depth - 1)}){draw.choice(['', '?', '*', '+'])}"

    rules = {"a": ["b"], "b": list[str](), "root": ["a", "b"]}
    lines: list[str] = []
    for name, below in rules.items():
        options = [
            " ".join(item(below, 1) for _ in range(draw.randint(1, 3)))
            for _ in range(draw.randint(1, 2))
        ]
        if name == "root" and draw.random() < 0.4:
            options.append('"(" root ")"')
        lines.append(f"{name} ::= {' | '.join(options)}")
    return "\n".join(reversed(lines)) + "\n"


FAMILIES: Final = (asked_of_schemas, asked_of_schemas, asked_of_patterns, asked_of_grammars)


def main() -> None:
    """Draw reasons until there are enough, and print what was counted."""
    reader = argparse.ArgumentParser()
    reader.add_argument("--reasons", type=int, default=10_000)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--shown", type=int, default=10)
    reader.add_argument("--seconds", type=float, default=1e9)
    given = reader.parse_args()
    counted: Counter[tuple[str, Judged]] = Counter()
    shown: set[int] = set()
    seed, begin = given.seed, time.monotonic()
    while counted.total() < given.reasons and time.monotonic() - begin < given.seconds:
        family = FAMILIES[seed % len(FAMILIES)]
        for asked in family(random.Random(seed)):
            verdict = asked.judged
            counted[family.__name__, verdict] += 1
            wrong = verdict not in ("right", "undecided")
            if wrong and len(shown) < given.shown and seed not in shown:
                shown.add(seed)
                print(f"{verdict} (seed {seed}) {asked}")
        seed += 1
    print(f"seeds {given.seed} to {seed - 1}: {counted.total():,} reasons")
    for (name, verdict), count in sorted(counted.items()):
        print(f"{name} {verdict}: {count:,}")
    sys.exit(any(counted[name, bad] for name, _ in [*counted] for bad in ("false", "loose")))


if __name__ == "__main__":
    main()
