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
import copy
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
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


class Question(NamedTuple):
    """A masked token after a text of a schema, and its explanation."""

    schema: Any
    options: dict[str, Any]
    text: bytes
    token: int
    why: Explanation

    @property
    def labels(self) -> list[str]:
        """The labels of the named places."""
        return [place.label for part in self.why.parts for place in part.positions]

    def __str__(self) -> str:
        written = "the end" if self.token == END else repr(_TOKENS[self.token])
        options = f" {self.options}" if self.options else ""
        return f"{json.dumps(self.schema)}{options}\n  {self.text!r} + {written}: {self.labels}"


PER_SCHEMA: Final = 60
"""Questions about one schema."""


def questions(draw: random.Random, count: int = PER_SCHEMA) -> Iterator[Question]:
    """Masked tokens in reachable states of one random schema, with their explanations."""
    schema = RandomSchemas(draw, size=draw.choice([4, 8, 16])).schema()
    options: dict[str, Any] = {}
    if draw.random() < 0.2:
        options["property_order"] = "any"
    if draw.random() < 0.15:
        options["whitespace"] = draw.choice(["dumps", "pretty", "flexible"])
    try:
        made = explorer.json_schema(schema, **options)
        machine = explorer.compile(made, VOCABULARY, lazy=True)
        texts = list(_texts(draw, schema, made))
    except ExplorerError:
        return
    for _ in range(count if texts else 0):
        text = draw.choice(texts)
        text = text[: draw.randint(0, len(text))]
        state = machine.start
        for byte in text:
            state = machine.step(state, byte)
            if state is None:
                break
        if state is None or state < 0:
            continue
        masked = [
            token
            for token in draw.sample(range(33, END + 1), 24)
            if machine.step(state, token) is None and not (0x7F <= token < 256)
        ]
        if draw.random() < 0.9:  # JSON itself refuses most tokens; the others say more.
            masked = [each for each in masked if each != END and _is_json(text + _TOKENS[each])]
        if draw.random() < 0.08 and not machine.is_final(state):
            masked = [END]
        if not masked:
            continue
        token = masked[0]
        try:
            why = explorer.explain(machine, state, token, text=text)
        except ExplorerError:
            continue
        if why.stage in ("constraint", "end_of_text"):
            yield Question(schema, options, text, token, why)


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


def judged(question: Question, oracle: SchemaReasons) -> Judged:
    """Whether the reason of a question is right."""
    ends = question.token == END
    text = question.text + (b"" if ends else _TOKENS[question.token])
    return oracle.judge(question.labels, text, ends=ends)


def main() -> None:
    """Draw reasons until there are enough, and print what was counted."""
    reader = argparse.ArgumentParser()
    reader.add_argument("--reasons", type=int, default=10_000)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--shown", type=int, default=10)
    reader.add_argument("--seconds", type=float, default=1e9)
    given = reader.parse_args()
    counted: Counter[Judged] = Counter()
    kinds: Counter[str] = Counter()
    seed, begin, shown = given.seed, time.monotonic(), 0
    seen: set[int] = set()
    while counted.total() < given.reasons and time.monotonic() - begin < given.seconds:
        draw = random.Random(seed)
        seed += 1
        oracle: SchemaReasons | None = None
        for question in questions(draw):
            oracle = oracle or SchemaReasons(question.schema, question.options)
            verdict = judged(question, oracle)
            counted[verdict] += 1
            named = taken(question.labels)
            parts = len(named.pointers) + len(named.options)
            kinds["JSON" if named.is_json else f"{min(parts, 4)} named"] += 1
            if verdict not in ("right", "undecided") and shown < given.shown:
                if seed - 1 in seen:
                    continue
                seen.add(seed - 1)
                shown += 1
                print(f"{verdict} (seed {seed - 1}) {question}")
    print(f"seeds {given.seed} to {seed - 1}: {counted.total():,} reasons")
    print(dict(counted), dict(kinds))
    sys.exit(counted["false"] + counted["loose"] > 0)


if __name__ == "__main__":
    main()
