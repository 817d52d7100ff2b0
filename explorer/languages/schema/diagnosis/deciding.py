"""The keywords and options of a schema by which a text does not go on, each tested.

A keyword decides if the schema without it takes the text and what is offered after it, and nothing
smaller inside of it would be enough. So each candidate is taken away, the machine of the schema
without it is discovered as far as the text goes, and the text is read. Where no keyword decides
alone, a smallest set of them does, found by halves (Junker's QuickXplain). Options are taken away
by their freest value.

Candidates are the keywords of the subschemas that apply on the way to the place, the innermost
first: those without subschemas before those that hold some. Cost: a machine for each candidate that
is tried, discovered as far as the text goes, and kept for the next question.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from time import thread_time
from typing import Any, Final, NamedTuple, cast

from explorer.automata.machine import NO_ARC, ByteMachine, run
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, ExplorerError, UnsupportedSchema
from explorer.jit import making_code
from explorer.languages.schema.diagnosis.keywords import (
    MISSING,
    REFERENCES,
    REFUSING,
    every_keyword,
    keywords_inside,
    keywords_of,
    may_refuse,
    schema_without,
    value_at,
    with_value,
)
from explorer.languages.schema.diagnosis.order import order_of
from explorer.languages.schema.diagnosis.plain_json import NO_NAME, is_between_members, names_of
from explorer.languages.schema.diagnosis.variants import Variants
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.reading.subschemas import (
    BY_NAME,
    Schema,
    Subschema,
    every_part,
)
from explorer.languages.schema.reading.text import Step, spot_of, tokens
from explorer.languages.schema.values.places import Site
from explorer.languages.schema.values.sets import ValueSets

MOST_SECONDS: Final = 1.0
"""The processor's time for one answer; a longer search says what is known by then."""
MOST_MACHINES: Final = 200
"""The most machines that are kept for the next questions about one schema."""
MOST_NAMED: Final = 3
"""The most keywords that are named where each of them decides alone."""
MOST_TRIED: Final = 16
"""The most keywords of a place that are tried one by one although all together do not decide."""
DEEPEST: Final = 8
"""The deepest nesting for which a machine without a stack is made."""
FEW: Final = 2
"""The most keywords that are named together before one around them is tried."""
MOST_SPOTS: Final = 24
"""The most bytes of an offer at which the place is looked at."""
LONGEST_ESCAPE: Final = 6
"""The bytes of an escape, which may have begun before an offer."""
MOST_INSIDE: Final = 100
"""The most keywords inside of a named one that are tried one by one in its place."""


_Level = tuple[list[str], list[str]]
"""The keywords of a place: those that hold no subschemas, and those that hold some."""

_OF_OTHERS: Final = ("/additionalProperties", "/unevaluatedProperties")
"""The keywords about members that are not listed, which no order of members allows."""


class Lifted(NamedTuple):
    """A part of a schema that is taken away.

    Args:
        pointers: The JSON Pointers of its keywords, or of subschemas ``false``.
        options: Options by name, each with a freer value.
    """

    pointers: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    def also(self, other: Lifted) -> Lifted:
        """Both together."""
        return Lifted(self.pointers + other.pointers, self.options + other.options)


class Question(NamedTuple):
    """A text, and an offer with which it is asked to go on.

    Args:
        text: The text so far, which some value begins with.
        offer: What is written after it; empty where the text is asked to end.
    """

    text: bytes
    offer: bytes

    @property
    def ends(self) -> bool:
        """Whether the text is asked to end."""
        return not self.offer

    @property
    def longer(self) -> bytes:
        """The text with the offer."""
        return self.text + self.offer


_LIMITS: Final = ("free_depth", "max_depth", "recursion")
_ANY_ORDER: Final = "property_order", "any"
FREER: Final[tuple[tuple[str, Any], ...]] = (
    ("whitespace", "flexible"), ("escapes", "any"), _ANY_ORDER,
)  # fmt: skip
"""The options by which fewer texts are taken, each with its freest value."""


def freer(options: SchemaOptions, given: Mapping[str, Any]) -> SchemaOptions:
    """Options with other values; a pattern of white space gives way to a word.

    Raises:
        ExplorerError: The values do not go together.
    """
    changed: dict[str, Any] = dict(given)
    if "whitespace" in changed:
        changed["whitespace_pattern"] = None
    if changed.get("recursion") == "stack":
        changed["max_depth"] = None
    return replace(options, **changed)


def _clock() -> float:
    """The seconds that this thread has worked, without the time of making machine code."""
    return thread_time() - making_code.seconds


class Deciding:
    """The search for what decides, and the machines that it has made.

    Args:
        schema, root: The schema, as data and as the subschema of the whole value.
        options: Its options.
        variants: Makes the machine of a changed schema.
        on_stack: Whether its values nest without a limit.
    """

    def __init__(
        self,
        schema: Schema,
        root: Subschema,
        options: SchemaOptions,
        variants: Variants,
        *,
        on_stack: bool = False,
    ) -> None:
        self._on_stack = on_stack
        self.schema = schema
        self._root = root
        self._options = options
        self._variants = variants
        self._machines: OrderedDict[Lifted, tuple[ByteMachine, list[tuple[bytes, int]]] | None] = (
            OrderedDict()
        )
        self._told: dict[tuple[Lifted, Question], bool] = {}
        self._since = _clock()

    def begin(self) -> None:
        """Give the next answer its own time."""
        self._since = _clock()
        self._told.clear()

    # The texts that a changed schema takes.

    def passes(self, lifted: Lifted, asked: Question) -> bool:
        """Whether a schema from which something is taken away takes what is asked.

        Raises:
            BudgetExceeded: The time of the answer is up.
        """
        key = lifted, asked
        if key not in self._told:
            here = self.after(self._in_order(lifted, asked), asked.longer)
            self._told[key] = here is not None and _takes(*here, asked)
        return self._told[key]

    def _in_order(self, lifted: Lifted, asked: Question) -> Lifted:
        """The same, where any order of members is only that of what is asked."""
        if _ANY_ORDER not in lifted.options:
            return lifted
        order = order_of(asked.longer, lambda steps: self.place(steps).names)
        if order is None:
            return lifted
        others = tuple(each for each in lifted.options if each != _ANY_ORDER)
        return Lifted(lifted.pointers, (*others, ("first", order)))

    def matches(self, pointer: str, index: int, asked: Question) -> bool:
        """Whether the schema takes what is asked with one branch of a choice in place of all, in
        any order."""
        branches = cast("list[Any]", value_at(self.schema, pointer))
        only = with_value(self.schema, pointer, [branches[index]])
        options = dict(self._in_order(Lifted(options=(_ANY_ORDER,)), asked).options)
        return self.takes(only, pointer, asked, **options)

    def takes(self, schema: Schema, pointer: str, asked: Question, **options: Any) -> bool:
        """Whether a schema with another value at a pointer takes what is asked; it is made for
        this question alone."""
        try:
            made = self._variants.machine(schema, freer(self._options, options), [pointer])
            state = int(run(made, made.start, asked.longer)[-1])
        except ExplorerError:
            return False
        return _takes(made, state, asked)

    def following(self, lifted: Lifted, text: bytes) -> bytes:
        """The bytes that may follow a text; none if it is not taken."""
        here = self.after(lifted, text)
        return b"" if here is None or here[1] == NO_ARC else here[0].expected(here[1])

    def after(self, lifted: Lifted, text: bytes) -> tuple[ByteMachine, int] | None:
        """The machine of a changed schema and its state after a text; ``None`` without one."""
        if (spent := _clock() - self._since) > MOST_SECONDS:
            stage = "The search for what decides"
            raise BudgetExceeded("seconds", limit=MOST_SECONDS, reached=spent, stage=stage)
        if self._on_stack and (deepest := 2 * (_depth(text) // 2 + 1)) <= DEEPEST:
            # A stack is made at once, but this is discovered as far as the text goes.
            limits = tuple(zip(_LIMITS, (None, deepest, "unroll"), strict=True))
            lifted = lifted.also(Lifted(options=limits))
        if lifted not in self._machines:
            self._machines[lifted] = self._made(lifted)
            if len(self._machines) > MOST_MACHINES:
                self._machines.popitem(last=False)
        self._machines.move_to_end(lifted)
        known = self._machines[lifted]
        if known is None:
            return None
        machine, last = known
        before, state = last[0] if last and text.startswith(last[0][0]) else (b"", machine.start)
        try:
            state = int(run(machine, state, text[len(before) :])[-1])
        except (UnsupportedSchema, BudgetExceeded) as error:
            if isinstance(error, BudgetExceeded) and not _is_freer(lifted):
                raise
            self._machines[lifted] = None  # The text comes to what is refused, or is too much.
            return None
        if state != NO_ARC:
            last[:] = [(text, state)]
        return machine, state

    def _made(self, lifted: Lifted) -> tuple[ByteMachine, list[tuple[bytes, int]]] | None:
        try:
            schema = schema_without(self.schema, lifted.pointers)
            options = freer(self._options, dict(lifted.options))
            return self._variants.machine(schema, options, lifted.pointers), []
        except BudgetExceeded:
            left = tuple(each for each in lifted.options if each[0] not in _LIMITS)
            if self._on_stack and left != lifted.options:  # A stack has one copy of each value.
                return self._made(Lifted(lifted.pointers, left))
            if not _is_freer(lifted):
                raise
            self._since = _clock()  # A freer option may be too much; the rest still decides.
            return None
        except ExplorerError:
            return None

    # Candidates.

    @cached_property
    def _pointers(self) -> dict[int, str]:
        """The pointer of each subschema of the schema itself, by identity."""
        return {id(part): pointer for pointer, part, _ in reversed([*every_part(self.schema)])}

    @cached_property
    def _leads_into_choices(self) -> bool:
        keywords = {keyword for _, here, _ in every_part(self.schema) for keyword in here}
        return not (REFUSING.isdisjoint(keywords) or REFERENCES.isdisjoint(keywords))

    @cached_property
    def _sets(self) -> ValueSets:
        return ValueSets(self._options, Meter())

    def _levels(self, asked: Question) -> list[_Level]:
        """The keywords on the way to where a text stops, and to where the offer leads; the
        innermost first."""
        longer = asked.longer[: len(asked.text) + MOST_SPOTS]
        ways: dict[tuple[Step, ...], None] = {}
        for end in range(len(asked.text), len(longer) + 1):
            steps: tuple[Step, ...] = tuple(
                each if each[0] == "member" else ("item", 0) for each in spot_of(longer[:end]).steps
            )
            ways |= dict.fromkeys(steps[:count] for count in range(len(steps) + 1))
        begun = spot_of(asked.text)
        number = spot_of(longer).value or begun.value
        is_whole = number.lstrip(b"-").isdigit()

        def rank(steps: tuple[Step, ...], pointer: str) -> int:
            """The keywords that decide most often come first."""
            keyword = pointer.rpartition("/")[2]
            if keyword == "type":  # A whole number that is too large could begin a fraction.
                return 2 * (is_whole or len(steps) < depth)
            return (keyword in MISSING) != (asked.ends or asked.offer[:1] in b"}]")

        depth = len(begun.steps) + is_between_members(begun)  # Of the values that have begun.
        levels: dict[Site, _Level] = {}
        for steps in sorted(ways, key=len, reverse=True):
            site = self.place(steps)
            alone, holding = levels.get(site, ([], []))
            for pointer, holds in self._keywords(site):
                (holding if holds else alone).append(pointer)
            alone.sort(key=partial(rank, steps))
            levels[site] = list(dict.fromkeys(alone)), list(dict.fromkeys(holding))
        return list(levels.values())

    def place(self, steps: Iterable[Step]) -> Site:
        """The place of a value on the way to which are some members and items."""
        site = self._sets.place([self._root])
        for kind, step in steps:
            site = site.member(str(step)) if kind == "member" else site.item
        return site

    def pointers_at(self, site: Site) -> list[str]:
        """The pointers of the subschemas of a place, as far as they stand in the schema itself."""
        known = (self._pointers.get(id(sub.schema)) for sub in site.subschemas)
        return list(dict.fromkeys(pointer for pointer in known if pointer is not None))

    def _keywords(self, site: Site) -> Iterator[tuple[str, bool]]:
        """The keywords of a place: the pointer, and whether it holds subschemas."""
        for pointer in self.pointers_at(site):
            here = value_at(self.schema, pointer)
            if isinstance(here, dict):
                yield from keywords_of(cast("dict[str, Any]", here), pointer)

    # The search.

    def deciding(self, asked: Question) -> list[Lifted]:
        """The parts that decide: each of them is enough, taken away, for a text to go on.

        Raises:
            BudgetExceeded: The time is up.
        """
        if spot_of(asked.text).outline in (b"[", b"{"):  # What is open here may be too deep.
            for lifted in self._depths():
                if self.passes(lifted, asked):
                    return [lifted]
        for name in ("whitespace", "escapes"):
            lifted = [each for each in self._freer(asked) if each.options[0][0] == name]
            if lifted and self.passes(lifted[0], asked):
                return lifted
        levels = self._levels(asked)
        hopeless: frozenset[str] = frozenset()
        for count, (alone, _) in enumerate(levels):
            if count == 1:
                hopeless = self._hopeless([each for more, _ in levels[1:] for each in more], asked)
            alone = [each for each in alone if each not in hopeless]
            if enough := self._each(alone, asked)[:MOST_NAMED]:
                is_other = enough[0].pointers[0].endswith(_OF_OTHERS)
                is_ordered = not is_other or self._begins_listed(asked)
                between = asked.ends or is_between_members(spot_of(asked.text))
                between = between or not set(b",}").isdisjoint(asked.offer)
                return enough + (self._order(asked) if is_ordered and between else [])
        if order := self._order(asked):
            return order
        if _opens(asked):
            for lifted in self._depths():
                if self.passes(lifted, asked):
                    return [lifted]
        few = self._together(self._more(levels, asked), asked)
        if few and len(few[0].pointers) + len(few[0].options) <= FEW:
            return few
        for _, holding in levels:
            if enough := self._each(holding, asked)[:1]:
                return [self._smaller(enough[0], asked)]
        return few or self._together(self._all_more(levels, asked), asked)

    def _each(self, pointers: list[str], asked: Question) -> list[Lifted]:
        """A keyword that is enough, taken away, and others of its name: as in several branches."""
        enough: list[str] = []
        hopeless: frozenset[str] = frozenset()
        for k, pointer in enumerate(pointers):
            if k == 1 and not enough:
                hopeless = self._hopeless(pointers[1:], asked)
            name, branches = pointer.rpartition("/")[2], "/anyOf/" in pointer
            alike = not enough or any(
                name == other.rpartition("/")[2] or (branches and "/anyOf/" in other)
                for other in enough
            )
            if alike and pointer not in hopeless and self.passes(Lifted((pointer,)), asked):
                enough.append(pointer)
        return [Lifted((pointer,)) for pointer in enough]

    def _hopeless(self, pointers: list[str], asked: Question) -> frozenset[str]:
        """The keywords that are not enough even together, so that none of them is enough alone."""
        plain = [pointer for pointer in pointers if not may_refuse(pointer)]
        # A reference may lead into a choice, which may refuse what several of its branches take.
        if len(plain) < 2 or (self._leads_into_choices and len(pointers) < MOST_TRIED):
            return frozenset()
        together = self.passes(_all(Lifted((each,)) for each in plain), asked)
        return frozenset(() if together else plain)

    def _freer(self, asked: Question) -> Iterator[Lifted]:
        """The options that matter to what is asked, each with its freest value."""
        compact = self._options.whitespace == "compact" and not self._options.whitespace_pattern
        for name, value in FREER:
            matters = (
                (not compact or _is_spaced(asked))
                if name == "whitespace"
                else b"\\" in asked.longer[max(len(asked.text) - LONGEST_ESCAPE, 0) :]
                if name == "escapes"
                else b"{" in asked.longer
            )
            if matters and getattr(self._options, name) != value:
                yield Lifted(options=((name, value),))

    def _order(self, asked: Question) -> list[Lifted]:
        """The order of members, if another one lets the text go on."""
        if self._options.property_order == "any":
            return []
        lifted = Lifted(options=(_ANY_ORDER,))
        try:
            return [lifted] if self.passes(lifted, asked) else []
        except BudgetExceeded:
            return []  # What was found before it still decides.

    def _begins_listed(self, asked: Question) -> bool:
        """Whether the name that is written last begins one that the schema lists."""
        *_, last = [NO_NAME, *names_of(asked.longer)]
        listed = self.place(last.way).names
        return "\\" in last.name or any(name.startswith(last.name) for name in listed)

    def _depths(self) -> Iterator[Lifted]:
        """The limits of depth, each lifted, and none at all."""
        if not self._on_stack:
            if self._options.free_depth is not None:
                yield Lifted(options=(("free_depth", None),))
            if self._refers:
                yield Lifted(options=(("max_depth", self._options.depth.recursion + 1),))
                yield Lifted(options=(("recursion", "stack"),))

    @cached_property
    def _refers(self) -> bool:
        """Whether a reference may lead back, so that a depth of recursion matters."""
        return any(not REFERENCES.isdisjoint(here) for _, here, _ in every_part(self.schema))

    def _together(self, pool: Iterable[list[Lifted]], asked: Question) -> list[Lifted]:
        """A smallest set without which the text goes on; none if that is not found."""
        freer = [*self._freer(asked)][::-1]
        singles = [each for each in freer if each.options[0][0] != "escapes"]
        for more in chain(pool, [freer]):
            singles += [each for each in more if each not in singles]
            if self.passes(_all(singles), asked):
                break
        else:
            return []
        smallest = self._by_halves([], False, singles, asked)
        if not self.passes(_all(smallest), asked):
            smallest = singles  # Taking more away took fewer texts, so halves do not tell.
        for single in reversed(smallest):
            fewer = [each for each in smallest if each != single]
            if self.passes(_all(fewer), asked):
                smallest = fewer
        return [self._smaller(_all(smallest), asked)]

    def _more(self, levels: list[_Level], asked: Question) -> Iterator[list[Lifted]]:
        """More and more keywords that may decide together, the innermost first."""
        plain: list[list[Lifted]] = []
        for alone, _ in levels:
            here = [Lifted((pointer,)) for pointer in alone if not may_refuse(pointer)]
            plain += filter(None, (here[:1], here[1:]))  # The first decides most often.
        for count, more in enumerate(plain):
            if count == 1 and not self.passes(_all((*self._freer(asked), *chain(*plain))), asked):
                return  # Not even all of them are enough.
            yield more

    def _all_more(self, levels: list[_Level], asked: Question) -> Iterator[list[Lifted]]:
        """All keywords, those on the way to the place first."""
        yield [Lifted((pointer,)) for alone, _ in levels for pointer in alone]
        yield [Lifted((pointer,)) for _, holding in levels for pointer in holding]
        yield [Lifted((pointer,)) for pointer in dict.fromkeys(every_keyword(self.schema))]
        yield from ([each] for each in self._depths())

    def _by_halves(
        self, base: list[Lifted], is_new: bool, items: list[Lifted], asked: Question
    ) -> list[Lifted]:
        """A smallest part of some items that is enough besides a base; the first are preferred."""
        if is_new and self.passes(_all(base), asked):
            return []
        if len(items) == 1:
            return items
        first, second = items[: len(items) // 2], items[len(items) // 2 :]
        of_second = self._by_halves(base + first, True, second, asked)
        of_first = self._by_halves(base + of_second, bool(of_second), first, asked)
        return of_first + of_second

    def _smaller(self, lifted: Lifted, asked: Question) -> Lifted:
        """The same with the smallest keywords inside of those that are enough in their place."""
        names = [each.name for each in names_of(asked.longer)] or [""]
        for pointer in lifted.pointers:
            others = tuple(other for other in lifted.pointers if other != pointer)
            below = list(keywords_inside(self.schema, pointer))
            plain = [each for each in below if not may_refuse(each)]
            tricky = [each for each in below if may_refuse(each) and _is_met(each, names)]
            outer = sorted(plain, key=lambda each: each.count("/"))[:MOST_TRIED]
            inside = [*outer, *tricky[:MOST_INSIDE]]
            for inner in self._one_of(plain, others, lifted.options, asked) or inside:
                smaller = Lifted((*others, inner), lifted.options)
                if self.passes(smaller, asked):
                    return self._smaller(self._fewest(smaller, asked), asked)
        return lifted

    def _one_of(
        self, pointers: list[str], others: tuple[str, ...], options: Any, asked: Question
    ) -> list[str]:
        """A keyword that is enough besides others; looked for by halves."""
        if not pointers or not self.passes(Lifted((*others, *pointers), options), asked):
            return []
        if len(pointers) == 1:
            return pointers
        middle = len(pointers) // 2
        return self._one_of(pointers[:middle], others, options, asked) or self._one_of(
            pointers[middle:], others, options, asked
        )

    def _fewest(self, lifted: Lifted, asked: Question) -> Lifted:
        """The same without what is not needed."""
        parts = [Lifted((each,)) for each in lifted.pointers]
        parts += [Lifted(options=(each,)) for each in lifted.options]
        for part in parts if len(parts) > 1 else ():
            fewer = _all(each for each in parts if each != part)
            if self.passes(fewer, asked):
                return self._fewest(fewer, asked)
        return lifted


def _takes(machine: ByteMachine, state: int, asked: Question) -> bool:
    """Whether a machine that is in a state after what is asked takes it."""
    return state != NO_ARC and (not asked.ends or machine.is_accepting(state))


def _is_spaced(asked: Question) -> bool:
    """Whether an offer has white space between tokens of JSON."""
    if not any(byte in b" \t\n\r" for byte in asked.offer):
        return False
    end, longer = (len(part.decode(errors="replace")) for part in (asked.text, asked.longer))
    text = asked.longer.decode(errors="replace")
    for token, start, _ in tokens(text):
        if text[end:start].strip(" \t\n\r") != text[end:start]:
            return True
        end = max(end, start + len(token))
    return end < longer


def _opens(asked: Question) -> bool:
    """Whether an offer opens an array or object."""
    begun = len(asked.text.decode(errors="replace"))
    text = asked.longer.decode(errors="replace")
    return any(token in "[{" and start >= begun for token, start, _ in tokens(text))


def _is_freer(lifted: Lifted) -> bool:
    """Whether an option has a freer value, other than a limit of depth."""
    return any(name not in _LIMITS for name, _ in lifted.options)


def _is_met(pointer: str, names: Sequence[str]) -> bool:
    """Whether the properties on the way to a keyword are among some names; the last may have only
    begun."""
    steps = iter(pointer.replace("~1", "/").replace("~0", "~").split("/"))
    for step in steps:
        name = next(steps, "") if step in BY_NAME else ""
        if step == "properties" and name not in names and not name.startswith(names[-1]):
            return False
    return True


def _depth(text: bytes) -> int:
    """The depth to which arrays and objects nest in the beginning of a JSON text."""
    return max((len(stack) for _, _, stack in tokens(text.decode(errors="replace"))), default=0)


def _all(parts: Iterable[Lifted]) -> Lifted:
    together = Lifted()
    for part in parts:
        together = together.also(part)
    return Lifted(tuple(sorted(together.pointers)), tuple(sorted(together.options)))
