"""The reasons why a text does not go on, as places of the schema with their labels.

JSON itself is the reason where no schema takes what is offered; else keywords and options of which
each was tested (`deciding`). What is said beside them, such as the name that came before, is read
from the text and decides nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.tree.nodes import Offered
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.languages.schema.diagnosis.deciding import FEW, Deciding, Lifted, Question
from explorer.languages.schema.diagnosis.keywords import value_at
from explorer.languages.schema.diagnosis.plain_json import (
    BLANK,
    LARGEST,
    exceeds_floats,
    in_text,
    rule_of_end,
    rule_of_json,
)
from explorer.languages.schema.diagnosis.remedies import (
    Changed,
    changes,
    names_again,
    space_option,
)
from explorer.languages.schema.once.reading import repeated_item
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.reading.text import spot_of

NOTHING: Final = Lifted()
NO_QUESTION: Final = Question(b"", b"")
WHOLE_SCHEMA: Final = "the whole schema"

_UNIT: Final = re.compile(rb'(?:[,:]\s*)?(?:"(?:[^"\\]|\\.)*"?|[-+.0-9A-Za-z]+|[^"]?)', re.DOTALL)
"""A unit of JSON: a string, a number, a word, a comma with what comes next."""
_IN_STRING: Final = re.compile(rb'(?:[^"\\]|\\.)*"?', re.DOTALL)
_OUTLINE: Final = re.compile(rb'\\.|["\[{\]}]', re.DOTALL)
"""An escape, a quotation mark or a bracket."""


@dataclass(frozen=True, slots=True)
class Reason:
    """The part of a schema that decides, or the place of the text if that is not known.

    Args:
        lifted: What was taken away, so that the text goes on; empty where JSON decides, or nothing
            was found.
        around: The pointers of the subschemas of the place.
        options: The options that were made freer, as they are written in a call.
        clause: What decides besides the keyword, or in its place.
        asked: What the text was asked to go on with.
    """

    lifted: Lifted
    around: tuple[str, ...]
    clause: str = ""
    options: tuple[str, ...] = ()
    asked: Question = NO_QUESTION

    @property
    def pointers(self) -> tuple[str, ...]:
        """The pointers of what is underlined."""
        return self.lifted.pointers or self.around[:1] or ("",)

    @property
    def label(self) -> str:
        """The reason as a sentence goes on after "Expected by"."""
        named = [*self.lifted.pointers, *self.options]
        if not self.lifted.pointers and len(named) < 2:
            return self.clause or self.pointers[0] or WHOLE_SCHEMA
        *others, last = named
        said = f"{', '.join(others)} and {last} together" if others else last
        return f"{said}, {self.clause}" if self.clause else said


class ReasonSearch:
    """The search for the reasons why texts of a schema do not go on.

    Args:
        search: The search for what decides.
        options: The schema's options.
        any_json: Makes the machine of every JSON text.
    """

    def __init__(
        self, search: Deciding, options: SchemaOptions, any_json: Callable[[], ByteMachine]
    ) -> None:
        self._search = search
        self._options = options
        self._any_json = any_json

    def of(self, data: bytes, byte: int | None, rest: bytes, offered: Offered) -> list[Reason]:
        """The reasons; each of them alone is enough.

        Args:
            data: The text so far.
            byte: The byte that fails; ``None`` asks what must come before the text may end.
            rest: What was written after it.
            offered: What the byte and the rest are. Of a token all counts, else what belongs
                together in JSON; what follows a part may ask it to end.
        """
        offer = b"" if byte is None else bytes((byte,)) + rest
        search = self._search
        search.begin()
        place = search.place(spot_of(data).steps)
        around = tuple(filter(None, search.pointers_at(place))) or ("",)
        if offered == "nothing":
            return [Reason(NOTHING, (pointer,)) for pointer in around]
        try:
            if offered == "token" or byte is None:
                return self._found(Question(data, offer), around)
            return self._found_in_text(data, offer, around, offered)
        except (BudgetExceeded, ExplorerError):
            return [Reason(NOTHING, around, f"{_shown(around)}, not explained within a second")]

    def changes(self, reason: Reason, line_of: Mapping[str, int]) -> Iterator[Changed]:
        """The changes of the schema that take away what decides, in words.

        Args:
            line_of: The line of each pointer in the text of the schema.
        """
        if reason.lifted != NOTHING:
            yield from changes(
                self._search, self._options, reason.lifted, reason.asked, reason.clause, line_of
            )

    def _found_in_text(
        self, data: bytes, offer: bytes, around: tuple[str, ...], offered: Offered
    ) -> list[Reason]:
        """The reasons for the first thing in a text that does not belong there."""
        unit = _unit(data, offer)
        asked = Question(data, unit)
        if offered == "part" and self._rule(asked) and not self._rule(Question(data, b"")):
            return self._found(Question(data, b""), around)  # What follows the part asks it to end.
        ended = Question(data, offer[: len(unit) + 1])
        if unit[-1:].isalnum() and ended != asked and not self._rule(ended):
            reasons = self._found(ended, around)  # A number that ends says more than its digits.
            if reasons and len(reasons[0].lifted.pointers) <= FEW:
                return reasons
        reasons = self._found(asked, around)
        closed = _to_its_end(data, offer)
        if closed and any("property_order" in dict(each.lifted.options) for each in reasons):
            # A property that never comes is missing, whatever the order.
            missing = self._found(Question(data, closed), around)
            if missing and not missing[0].lifted.options and len(missing[0].lifted.pointers) == 1:
                return missing
        return reasons

    def _found(self, asked: Question, around: tuple[str, ...]) -> list[Reason]:
        search = self._search
        if search.passes(NOTHING, asked):
            return [Reason(NOTHING, (pointer,)) for pointer in around]
        if rule := self._rule(asked):
            return [Reason(NOTHING, around, rule)]
        deciding = search.deciding(asked)
        if not deciding:
            return [Reason(NOTHING, around, f"{_shown(around)}, not explained by its keywords")]
        return [self._reason(lifted, around, asked) for lifted in deciding]

    def _reason(self, lifted: Lifted, around: tuple[str, ...], asked: Question) -> Reason:
        written = {"whitespace": space_option(self._options), "recursion": "the limits of depth"}
        options = tuple(
            written.get(name, f"{name}={json.dumps(getattr(self._options, name))}")
            for name, _ in lifted.options
        )
        alone = len(lifted.pointers) + len(options) == 1
        clause = self._clause(lifted, asked) if alone or not options else ""
        return Reason(lifted, around, clause, options, asked)

    # JSON itself.

    def _rule(self, asked: Question) -> str:
        """The rule of JSON by which no schema takes what is asked; empty if some does."""
        machine = self._any_json()
        state = machine.start
        for count, byte in enumerate(asked.longer):
            state = machine.step(state, byte)
            if state == NO_ARC:
                before = asked.longer[:count]
                if exceeds_floats(before, byte):
                    return LARGEST
                closing = spot_of(before).outline in (b"[", b"{")
                may_close = not closing or bool(
                    set(self._search.following(NOTHING, before) or b"]}") & set(b"]}")
                )
                return rule_of_json(before, byte, may_close=may_close) or "JSON"
        return rule_of_end(asked.text) if asked.ends and not machine.is_accepting(state) else ""

    # The sentence beside a keyword or an option.

    def _clause(self, lifted: Lifted, asked: Question) -> str:
        options = dict(lifted.options)
        if "whitespace" in options:
            return self._white_space(asked)
        if "property_order" in options:
            return 'property_order="schema", where "any" takes every order'
        if "escapes" in options:
            return f'escapes="{self._options.escapes}", where "any" takes every escape'
        if "free_depth" in options:
            deepest = self._options.free_depth
            return f"free_depth={deepest}, the deepest that values nest"
        if "max_depth" in options:
            most = self._options.depth.recursion
            return f"max_depth={most}, with which references are followed {most + 1} deep"
        if "recursion" in options:
            return 'the limits of depth, of which recursion="stack" has none'
        keywords = [pointer.rpartition("/")[2] for pointer in lifted.pointers]
        if "uniqueItems" in keywords:
            again = repeated_item(asked.text, asked.offer[0] if asked.offer else None)
            return "" if again is None else f"{again[1]} came before"
        if shown := " and ".join(again := names_again(asked)):
            return f"the name{'s' * (len(again) > 1)} {shown} came before"
        if keywords == ["oneOf"]:
            return self._matching(lifted.pointers[0], asked)
        return ""

    def _matching(self, pointer: str, asked: Question) -> str:
        """The branches of a ``oneOf`` that all match what is written."""
        branches = value_at(self._search.schema, pointer)
        count = len(cast("list[object]", branches)) if isinstance(branches, list) else 0
        matching = [
            f"{pointer}/{k}" for k in range(count) if self._search.matches(pointer, k, asked)
        ]
        return f"of which {' and '.join(matching)} match" if len(matching) > 1 else ""

    def _white_space(self, asked: Question) -> str:
        data = asked.text
        what = "some"
        if asked.offer[:1] in (b" ", b"\t", b"\n", b"\r"):
            what = "no more" if data[-1:] and data[-1] in BLANK else "no"
            if set(self._search.following(NOTHING, data)) & set(BLANK):
                what = "other"
        elif asked.offer and self._search.passes(NOTHING, Question(data, asked.offer[:1])):
            what = "no"  # It comes later in the token.
        return f"{space_option(self._options)}, which has {what} white space here"


def _shown(around: tuple[str, ...]) -> str:
    return around[0] or WHOLE_SCHEMA


def _to_its_end(data: bytes, offer: bytes) -> bytes:
    """An offer as far as the end of the object in which a text stops; empty without that end."""
    quoted, depth = in_text(spot_of(data)), 0
    for match in _OUTLINE.finditer(offer):
        if match.group() == b'"':
            quoted = not quoted
        elif not quoted and len(match.group()) == 1:
            depth += 1 if match.group() in b"[{" else -1
            if depth < 0:
                return offer[: match.end()]
    return b""


def _unit(data: bytes, offer: bytes) -> bytes:
    """The unit of JSON at the beginning of an offer."""
    spot = spot_of(data)
    inside = in_text(spot)
    match = (_IN_STRING if inside else _UNIT).match(offer)
    return (match.group() if match else b"") or offer[:1]
