"""The values of a set, by type, and whether there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache, partial
from itertools import chain
from typing import Any, Final, Literal, TypeVar, cast

from explorer.automata.construction.operations import difference
from explorer.automata.machine import Dfa
from explorer.automata.valid_utf8 import any_text
from explorer.automata.words import is_finite, words
from explorer.budget import Meter
from explorer.errors import RegexError, UnsupportedSchema
from explorer.languages.regex import UnsupportedSyntax, compile_pattern
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.reading.cases import (
    CHOOSING,
    Case,
    Expansion,
    bounds,
    constants_of,
    decimal,
    equal,
    in_place,
    synthetic,
    types_of,
)
from explorer.languages.schema.reading.subschemas import (
    Schema,
    Sharing,
    Subschema,
    is_number,
    prepared,
    root_of,
)
from explorer.languages.schema.text import numbers
from explorer.languages.schema.text.ecma import searched, translated
from explorer.languages.schema.text.formats import FORMATS, LONGEST, TESTED
from explorer.languages.schema.text.strings import among
from explorer.languages.schema.values.amounts import (
    ALL,
    LEAST,
    MOST,
    MOST_DECIMALS,
    WHOLE,
    Cut,
    NumberPart,
    Numbers,
    can_divide,
    fraction_of,
    point,
)
from explorer.languages.schema.values.containers import (
    MOST_UNIQUE,
    Arc,
    ArrayLeaf,
    Arrays,
    Container,
    InContainer,
    IsPossible,
    ObjectLeaf,
    Objects,
)
from explorer.languages.schema.values.leaves import Formula, all_of, none_of, some_of
from explorer.languages.schema.values.places import (
    Conjunction,
    Deepening,
    Depth,
    Site,
    Wanted,
    conjunction,
    key_of,
)
from explorer.languages.schema.values.sound import Soundness, has_text
from explorer.languages.schema.values.texts import StringPart, Strings, checked, told_apart


def _too_fine(divisor: Decimal) -> tuple[str, str]:
    """The reason why a divisor cannot be followed, and the remedy."""
    numerator, decimals = fraction_of(divisor)
    shown = f"{divisor:.6e}" if len(str(divisor)) > 40 else str(divisor)
    largest = f"{numbers.LARGEST_MODULUS:,} without its point and the zeros at its end"
    if decimals > MOST_DECIMALS:
        why = f"have up to {decimals:,} decimals"
        remedy = f"Use a divisor with at most {MOST_DECIMALS} decimals"
    elif -decimals > numbers.LAST_EXPONENT:
        why = "are larger than every float, but for 0"
        remedy = 'Use a smaller divisor or "const": 0'
    else:
        remainders = f"{numerator:,}" if numerator < 10**18 else f"{Decimal(numerator):.2e}"
        why = f"need a machine with {remainders} remainders"
        remedy = f"Use a divisor that is at most {largest}, such as 0.05 or 5e9"
    said = f"{remedy}, or give strict=False to ignore the keyword."
    return f"Multiples of {shown} {why}.", said


def _and_say(error: Exception) -> str:
    """The remedy of a pattern's own error, in parentheses; empty if there is none."""
    advice = error.remedy.rstrip(".") if isinstance(error, RegexError) else ""
    return f" ({advice[:1].lower()}{advice[1:]})" if advice else ""


@cache
def _of_format(name: str) -> Strings:
    most = LONGEST.get(name)
    parts = [StringPart(compile_pattern(FORMATS[name], Meter())[1], 0, most)]
    if name in TESTED:
        pattern, test = TESTED[name]
        parts.append(StringPart(compile_pattern(pattern, Meter())[1], 0, most, test=test))
    return Strings(parts)


_BOUNDS: Final = (
    ("minimum", True), ("maximum", False), ("exclusiveMinimum", True), ("exclusiveMaximum", False),
)  # fmt: skip
"""The keywords that bound numbers, and whether from below."""
_Kind = Literal["array", "object"]
TINY: Final = Decimal("5e-324")
"""The smallest number above 0 that a float holds."""

WORDS: Final = {"null": None, "true": True, "false": False}
_CONTAINERS: Final[tuple[_Kind, ...]] = ("array", "object")
OnceMode = Literal["refused", "marked", "free"]
"""How ``uniqueItems`` is compiled where items have too many values to draw every set of them: the
schema is refused, the arrays are marked so that the machine remembers items, or items may repeat.
With ``strict=False`` the keyword is ignored."""

_T = TypeVar("_T", Numbers, Strings)


class ValueSets:
    """The words, numbers, strings, arrays and objects of sets of values, worked out once each.

    Args:
        options: How the schema is followed; if not strictly, `ignored` lists the keywords that
            cannot be followed.
        meter: Watches every limit.
        endless: Whether values nest without limit, on a stack.
        once: How ``uniqueItems`` is compiled where items have too many values.
    """

    def __init__(
        self, options: SchemaOptions, meter: Meter, *, endless: bool = False,
        once: OnceMode = "refused",
    ) -> None:  # fmt: skip
        self.ordered = options.property_order == "schema"
        self.first = options.first
        self.every_set = False
        self.meter = meter
        self.options = options
        self.ignored: list[UnsupportedSchema] = []
        self.once: OnceMode = once
        self.remembered: dict[str, None] = {}
        self._endless = endless
        self._counted: dict[object, tuple[list[object] | None, bool]] = {}
        self._counting: set[object] = set()
        self._is_guess = False
        self._sharing = Sharing()
        self._made: dict[object, Schema] = {}
        self._expansion = Expansion(self._made, self._look)
        self._machines: dict[str, Dfa] = {}
        self._places: dict[object, Site] = {}
        self._cases: dict[object, list[Case]] = {}
        self._known: dict[object, object] = {}
        self._containers: dict[object, list[tuple[Conjunction, Container]]] = {}
        self._possible: dict[object, bool] = {}
        self._possible_at: dict[Depth | None, IsPossible] = {}
        self._told_apart: dict[
            object, tuple[tuple[Dfa, ...], list[tuple[Callable[[], Dfa], tuple[int, ...]]]]
        ] = {}
        self._asked: set[object] = set()
        self._assumed = False
        self.deepening = Deepening(self, endless=endless)
        self._sound = Soundness()
        self.nowhere = self.place(())

    def watch(self, meter: Meter) -> None:
        """Use another meter from now on."""
        self.meter = meter

    def _look(self, listed: int) -> None:
        self.meter.check("The machine of a schema", arcs=listed)

    # Places.

    def root(self, schema: Schema, remotes: Mapping[str, Schema] | None) -> tuple[Wanted, Site]:
        """The set of values of a whole schema, and the place of the whole value.

        Raises:
            UnsupportedSchema: A keyword is not well formed.
        """
        few, addressed = prepared(schema, self._sharing)
        self.meter.check_time("The machine of a schema")
        root = root_of(few, remotes or {}, addressed=addressed)
        return Wanted((root,)), self.place([root])

    def changed(self, root: Wanted, schema: Schema) -> tuple[Wanted, Site]:
        """The same of a whole schema that differs only where no reference leads.

        Args:
            root: The set of values of the schema before.
        """
        sub = root.held[0].with_schema(prepared(schema, self._sharing)[0])
        return Wanted((sub,)), self.place([sub])

    def place(self, subschemas: Iterable[Subschema]) -> Site:
        """The place at which some subschemas apply."""
        subs = tuple(subschemas)
        key = tuple(sub.key for sub in subs)
        if key not in self._places:
            self._places[key] = Site(self, subs)
        return self._places[key]

    def place_of(self, arc: Arc) -> Site:
        """The place of a letter's value; the empty place if the value is a scalar."""
        for sub in arc.wanted.held:
            given = sub.words.get("type", "object")
            types = (given,) if isinstance(given, str) else given
            if "array" not in types and "object" not in types and "$ref" not in sub.words:
                return self.nowhere
        return arc.site

    def also_in_place(self, sub: Subschema) -> list[Subschema]:
        """The other subschemas that may apply to the same value, those of constants included."""
        if not isinstance(sub.schema, dict) or CHOOSING.isdisjoint(sub.schema):
            return []
        listed = list(in_place(sub))
        made = self._expansion
        for choices in chain(made.constants(sub), made.dependencies(sub, sub.below)):
            for held, _ in choices:
                listed += held
        return listed

    def whole(self, sub: Subschema) -> Subschema:
        """The subschema from which a plain one was made; itself if nothing was left out."""
        return self._expansion.whole(sub)

    def pattern(self, sub: Subschema, pattern: str, keyword: str) -> Dfa | None:
        """The texts in which a pattern is found; ``None`` if the pattern is ignored."""
        if pattern not in self._machines:
            try:
                python = searched(translated(pattern))
                self._machines[pattern] = compile_pattern(python, self.meter)[1]
            except (RegexError, UnsupportedSyntax, ValueError, IndexError) as error:
                reason = error.reason if isinstance(error, RegexError) else str(error)
                self.refuse(
                    sub, keyword,
                    f"The pattern {pattern!r} cannot be read as one of ECMA-262: {reason}.",
                    f"Correct it{_and_say(error)}; strict=False ignores the keyword.",
                )  # fmt: skip
                return None
        return self._machines[pattern]

    def matches(self, sub: Subschema, pattern: str, name: str) -> bool:
        """Whether a pattern is found in a name."""
        machine = self.pattern(sub, pattern, "patternProperties")
        return machine is None or machine.accepts(name.encode(errors="surrogatepass"))

    def told_apart(
        self, listed: tuple[str, ...], machines: tuple[Dfa, ...]
    ) -> list[tuple[Callable[[], Dfa], tuple[int, ...]]]:
        """The texts beside a list, told apart by the machines that read them.

        Returns:
            For each kind of texts a function that makes its machine, and the places of the machines
            that read them; those that the first machine reads come first.
        """
        key = listed, tuple(map(id, machines))
        if key not in self._told_apart:
            others = any_text()
            if listed:
                others = difference(others, among(list(listed), self.meter), self.meter)
            # The machines are kept, so that no other one gets their ids.
            self._told_apart[key] = machines, told_apart(others, machines, self.meter)
        return self._told_apart[key][1]

    def refuse(self, sub: Subschema, keyword: str, reason: str, remedy: str) -> None:
        """Raise for a keyword that cannot be followed, or note it.

        Raises:
            UnsupportedSchema: The option ``strict`` is on.
        """
        error = UnsupportedSchema(
            reason, pointer=f"{sub.pointer}/{keyword}", keyword=keyword,
            remedy=remedy or "Leave the keyword out, or give strict=False to ignore it.",
        )  # fmt: skip
        if self.options.strict:
            raise error
        self.ignored.append(error)

    # Cases.

    def _cases_of(self, held: Conjunction, key: frozenset[object]) -> list[Case]:
        """The ways in which a conjunction with a key (`key_of`) can hold."""
        if key not in self._cases:
            self._cases[key] = self._expansion.cases(held)
        return self._cases[key]

    def _may_be_of(self, wanted: Wanted) -> frozenset[str]:
        """The types that values of a set may have."""
        return frozenset[str]().union(*(types_of(case.plain) for case in self._looking(wanted)))

    def _looking(self, wanted: Wanted) -> Iterator[Case]:
        """The cases of a set, with a check of the time before each."""
        for case in self._cases_of(wanted.held, wanted.key[0]):
            self.meter.check_time("The machine of a schema")
            yield case

    # Scalars.

    def _gathered(
        self, wanted: Wanted, types: tuple[str, ...], none: _T, plain: Callable[[Conjunction], _T]
    ) -> _T:
        """The values of some types in a set: the union over its cases.

        Args:
            none: The empty set, which is false.
            plain: Gives the values of plain keyword mappings.
        """
        if self._may_be_of(wanted).isdisjoint(types):
            return none
        key = wanted.key, types
        if key in self._known:
            return cast("_T", self._known[key])
        several = [none]
        for case in self._looking(wanted):
            here = plain(case.plain)
            for sub in case.met:
                if here:
                    here = here.met(self._gathered(Wanted((sub,)), types, none, plain), self.meter)
            for sub in case.excluded:
                if here:
                    less = self._gathered(Wanted((sub,)), types, none, plain)
                    here = here.without(less, self.meter)
            several += [here] if here else []
        while len(several) > 1:  # Joining in pairs avoids quadratic time.
            pairs = zip(several[::2], several[1::2], strict=False)
            left = several[len(several) & ~1 :]
            several = [*(one.joined(two, self.meter) for one, two in pairs), *left]
        every = several[0]
        for subs in wanted.excluded:
            if every:
                less = self._gathered(Wanted(subs), types, none, plain)
                every = every.without(less, self.meter)
        self._known[key] = every
        return every

    def words(self, wanted: Wanted) -> list[str]:
        """The words null, true and false of a set."""
        words = self._gathered(wanted, ("null", "boolean"), Strings(), self._plain_words)
        return sorted(word for part in words for word in part.listed or ())

    def _plain_words(self, subs: Conjunction) -> Strings:
        types, scalars = types_of(subs), constants_of(subs)
        words = tuple(
            word for word, value in WORDS.items()
            if ("null" if value is None else "boolean") in types
            and (scalars is None or any(each is value for each in scalars))
        )  # fmt: skip
        return Strings((StringPart(listed=words),)) if words else Strings()

    def numbers(self, wanted: Wanted) -> Numbers:
        """The numbers of a set."""
        return self._gathered(wanted, ("number", "integer"), Numbers(), self._plain_numbers)

    def _plain_numbers(self, subs: Conjunction) -> Numbers:
        types = types_of(subs)
        if not types & {"number", "integer"}:
            return Numbers()
        low, high, steps, written = LEAST, MOST, frozenset[Decimal](), ""
        if "number" not in types:
            if any(sub.draft == 4 and sub.keyword("type") is not None for sub in subs):
                written = "digits"
            else:
                steps = WHOLE.steps
        for sub in subs:
            for keyword, is_least in _BOUNDS:
                bound = sub.words.get(keyword)
                if not is_number(bound):
                    continue
                strict = keyword.startswith("exclusive") or (
                    sub.draft == 4 and sub.keyword(f"exclusive{keyword.capitalize()}") is True
                )
                cut: Cut = (decimal(bound), 1 if strict == is_least else 0)
                low, high = (max(low, cut), high) if is_least else (low, min(high, cut))
            divisor = sub.keyword("multipleOf")
            if is_number(divisor):
                step = decimal(divisor)
                if can_divide(step):
                    steps |= {step}
                else:
                    self.refuse(sub, "multipleOf", *_too_fine(step))
        if not steps and not written:  # A float reads what is nearer to 0 than `TINY` as 0.
            low = max(low, (TINY, 0)) if low > (Decimal(0), 0) else low
            high = min(high, (-TINY, 1)) if high < (Decimal(0), 1) else high
        scalars = constants_of(subs)
        given = (
            [ALL] if scalars is None else [point(decimal(it)) for it in scalars if is_number(it)]
        )
        part = NumberPart(low, high, steps, written=written)
        return Numbers(given).met(Numbers((part,)), self.meter)

    def strings(self, wanted: Wanted) -> Strings:
        """The strings of a set."""
        return self._gathered(wanted, ("string",), Strings(), self._plain_strings)

    def _plain_strings(self, subs: Conjunction) -> Strings:
        if "string" not in types_of(subs):
            return Strings()
        scalars = constants_of(subs)
        low, high = bounds(subs, "minLength", "maxLength")
        part = StringPart(None, low, high)
        if scalars is not None:
            texts = [v for v in scalars if isinstance(v, str)]
            texts = [t for t in texts if not any("\ud800" <= c <= "\udfff" for c in t)]
            part = StringPart(listed=tuple(dict.fromkeys(t for t in texts if part.holds(t))))
        every = Strings((part,)) if checked(part) else Strings()
        for sub in subs:
            made: Dfa | None = None
            if isinstance(pattern := sub.keyword("pattern"), str):
                made = self.pattern(sub, pattern, "pattern")
                if made is not None:
                    every = every.met(Strings((StringPart(made),)), self.meter)
            name = sub.keyword("format")
            if self.options.formats and isinstance(name, str) and name in FORMATS:
                every = every.met(_of_format(name), self.meter)
        return every

    # Containers.

    def containers(
        self, wanted: Wanted, site: Site, kind: _Kind
    ) -> list[tuple[Conjunction, Container]]:
        """The arrays or the objects of a set, case by case."""
        if kind not in self._may_be_of(wanted):
            return []
        key = wanted.key, site.key, kind
        known: list[tuple[Conjunction, Container]] | None = self._containers.get(key)
        if known is None:
            known = []
            leaf_of = cast("Any", ArrayLeaf if kind == "array" else ObjectLeaf)
            for case in self._looking(wanted):
                if not self._may_be(case.plain, kind):
                    continue
                leaves: dict[object, tuple[int, Any]] = {}

                def leaf(
                    subs: Conjunction, leaves: dict[object, tuple[int, Any]] = leaves
                ) -> Formula:
                    if not self._may_be(subs, kind):
                        return False
                    normal = conjunction(subs)
                    if normal is None:
                        return False
                    if not normal:
                        return True
                    same = key_of(normal)
                    if same not in leaves:
                        leaves[same] = len(leaves), leaf_of(self, normal)
                    return leaves[same][0]

                parts: list[Formula] = [self._holds((sub,), leaf) for sub in case.met]
                parts += [none_of(self._holds((sub,), leaf)) for sub in case.excluded]
                parts += [none_of(self._holds(subs, leaf)) for subs in wanted.excluded]
                rest = all_of(parts)
                if rest is False:
                    continue
                made = [each for _, each in leaves.values()]
                machine = (Arrays if kind == "array" else Objects)(
                    self, site, leaf_of(self, case.plain), made, rest
                )
                known.append((case.plain, machine))
            self._containers[key] = known
        return known

    def _may_be(self, subs: Conjunction, kind: str) -> bool:
        return kind in types_of(subs) and constants_of(subs) is None

    def _holds(self, subs: Conjunction, leaf: Callable[[Conjunction], Formula]) -> Formula:
        return some_of([
            all_of([
                leaf(case.plain),
                *(self._holds((sub,), leaf) for sub in case.met),
                *(none_of(self._holds((sub,), leaf)) for sub in case.excluded),
            ])
            for case in self._cases_of(subs, key_of(subs))
        ])  # fmt: skip

    def either(self, parts: list[Subschema]) -> Subschema:
        """The ``anyOf`` of some subschemas."""
        return synthetic(parts[0], {"anyOf": [part.schema for part in parts]}, self._made)

    # Whether there is a value.

    def may_wait(self, wanted: Wanted, depth: Depth | None) -> bool:
        """Whether a set has a value, and building its machine cannot be refused."""
        return self.is_sound(wanted) and self.is_possible(wanted, depth=depth)

    def is_possible(
        self, wanted: Wanted, site: Site | None = None, depth: Depth | None = None
    ) -> bool:
        """Whether a set has a value, at any depth or within a given one."""
        key = wanted.key, depth
        known = self._possible.get(key)
        if known is not None:
            return known
        if key in self._asked:
            self._assumed = True
            return False  # Assumed until some other value shows that it is possible.
        first = not self._asked
        self._asked.add(key)
        before, self._assumed = self._assumed, False
        try:
            possible = self._is_possible(wanted, site or self.place(wanted.held), depth)
        finally:
            self._asked.discard(key)
        if possible or first or not self._assumed:
            self._possible[key] = possible
        self._assumed = before or (self._assumed and not first)
        return possible

    def is_sound(self, wanted: Wanted) -> bool:
        """Whether building the machine of a set surely cannot be refused."""
        return all(map(self._sound.of, chain(wanted.held, *wanted.excluded)))

    def _is_possible(self, wanted: Wanted, site: Site, depth: Depth | None) -> bool:
        alone = not wanted.excluded and len(wanted.held) < 2
        if alone and (not wanted.held or has_text(wanted.held[0])):
            return True
        if self.words(wanted) or self.strings(wanted).written or self.numbers(wanted):
            return True
        return any(
            self.can_end(machine, inside) for machine, inside in self.inside(wanted, site, depth)
        )

    def inside(
        self, wanted: Wanted, site: Site, depth: Depth | None
    ) -> Iterator[tuple[Container, Depth | Literal[False] | None]]:
        """The containers of a set, each with the depth inside; ``False`` if it must be empty."""
        for kind in _CONTAINERS:
            for plain, machine in self.containers(wanted, site, kind):
                if depth is None:
                    yield machine, None
                    continue
                below = self.deepening.inside(depth, plain)
                yield machine, False if below is None else below

    def can_end(self, machine: Container, depth: Depth | Literal[False] | None) -> bool:
        """Whether a container has a text."""
        start = machine.start()
        if start is None:
            return False
        return self.can_finish(machine, start, depth)

    def can_finish(
        self, machine: Container, start: InContainer, depth: Depth | Literal[False] | None
    ) -> bool:
        """Whether a container can end from a place on."""
        if depth is not False:
            if depth not in self._possible_at:
                self._possible_at[depth] = partial(self.is_possible, depth=depth)
            known = machine.can_finish(start, self._possible_at[depth])
            if known is not None:
                return known
        met, todo = {start}, [start]
        while todo:
            here = todo.pop()
            self.meter.check_time("The machine of a schema")
            if machine.ends(here):
                return True
            if depth is False:
                continue
            skipped = machine.skipped(here)
            if skipped is not None and skipped not in met:
                met.add(skipped)
                todo.append(skipped)
            for arc in machine.arcs(here):
                if arc.target not in met and self.is_possible(arc.wanted, arc.site, depth):
                    met.add(arc.target)
                    todo.append(arc.target)
        return False

    # Single values.

    def listed(self, wanted: Wanted, sub: Subschema) -> list[Subschema] | None:
        """Each value of a set as a schema, for ``uniqueItems``; ``None`` if that is ignored."""
        values, _ = self.counted(wanted, MOST_UNIQUE + 1)
        if values is None or len(values) > MOST_UNIQUE:
            self.refuse(
                sub, "uniqueItems", "There are too many items to be told apart by states, and "
                "strict=False remembers nothing.",
                "Leave strict=False out, or give the items an enum.",
            )  # fmt: skip
            return None
        return [synthetic(sub, {"enum": [value]}, self._made, "uniqueItems") for value in values]

    def counted(self, wanted: Wanted, most: int) -> tuple[list[object] | None, bool]:
        """The values of a set, at most ``most`` of them, or ``None`` if there are infinitely many;
        and whether that is sure.
        """
        key = wanted.key, most
        if key not in self._counted:
            before, self._is_guess = self._is_guess, False
            values = self._values(wanted, self.place(wanted.held), most)
            self._counted[key] = values, not self._is_guess
            self._is_guess = before
        return self._counted[key]

    def _values(self, wanted: Wanted, site: Site, most: int) -> list[object] | None:
        """The values of a set, at most ``most`` of them; ``None`` if there are infinitely many, or
        if they are not counted.
        """
        values: list[object] = [WORDS[word] for word in self.words(wanted)]
        numbers = self.numbers(wanted).values(most)
        if numbers is None:
            return None
        values += [int(it) if it == it.to_integral_value() else it for it in numbers]
        machine = self.strings(wanted).written.machine(self.meter)
        if machine is None or not is_finite(machine):
            return None
        values += [w.decode() for w, _ in zip(words(machine), range(most), strict=False)]
        if wanted.key in self._counting:  # It leads back, without limit only on a stack.
            self._is_guess |= not self._endless
            return None
        self._counting.add(wanted.key)
        try:
            for container, _ in self.inside(wanted, site, None):
                more = self._of_container(container, most)
                if more is None:
                    return None
                values += [it for it in more if not any(equal(it, each) for each in values)]
        finally:
            self._counting.discard(wanted.key)
        return values

    def _of_container(self, machine: Container, most: int) -> list[object] | None:
        is_object = isinstance(machine, Objects)
        start: Any = machine.start()
        if start is None:
            return []
        values: list[object] = []
        todo: list[tuple[InContainer, tuple[Any, ...]]] = [(start, ())]
        while todo and len(values) < most:
            place, so_far = todo.pop()
            if len(so_far) > 64:
                self._is_guess = True
                return None
            if machine.ends(place):
                value = dict(so_far) if is_object else list(so_far)
                if not any(equal(value, each) for each in values):
                    values.append(value)
            skipped = machine.skipped(place)
            if skipped is not None:
                todo.append((skipped, so_far))
            for arc in machine.arcs(place):
                if isinstance(arc.label, int) and is_object:
                    if self.is_possible(arc.wanted, arc.site):
                        return None
                    continue
                inside = self._values(arc.wanted, arc.site, most)
                if inside is None:
                    return None
                for value in inside:
                    letter = (arc.label, value) if is_object else value
                    todo.append((arc.target, (*so_far, letter)))
        return values
