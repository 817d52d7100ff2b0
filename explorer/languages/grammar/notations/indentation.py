"""Significant indentation: a grammar that declares ``_INDENT`` and ``_DEDENT``, as rules.

Lark leaves these two to its ``Indenter``, which looks at the blanks after each line break (a
terminal such as ``_NEWLINE`` that precedes ``_INDENT``): more columns than those of the block are
an ``_INDENT``, fewer end as many blocks as lie above, and the columns must be those of an open one.
At the end of the text all blocks end. Within ``( )``, ``[ ]`` and ``{ }`` a line break is ignored
text. A tab counts eight columns. (Lark, ``lark/indenter.py``.)

Here the columns of the block are a parameter of each rule that may break a line, with a rule for
each number up to a limit: ``block@4`` is a block four columns wide. The blanks after a line break
are read where it is known what they mean, so a rule has a second parameter, how it begins and ends:

- ``M``: after a terminal; ``F``: after the blanks of a line, before its first terminal;
- ``N``: after a line break of this rule, before its blanks, which may begin a block;
- ``P``: after one of a rule that was called, before its blanks;
- ``E``: after a block that ended with the text.

The texts are exactly those of the Indenter in which no block is wider than the limit, but for those
that end with the blanks of a line on which nothing stands. Rules without
line breaks are not copied, but for a second form of them within brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

from explorer.automata.tree.build import build
from explorer.automata.tree.nodes import (
    Branch,
    Call,
    Concat,
    Empty,
    Group,
    Literal,
    Node,
    Repeat,
    children,
    inside,
    walk,
    with_children,
)
from explorer.budget import Meter
from explorer.errors import GrammarError
from explorer.languages.grammar.notations.blanks import STAGE, Between, Blanks, star
from explorer.languages.grammar.notations.reading import WrittenRule

AROUND: Final = "%ignore"
"""The name of the place of ignored text, and of the rule around the first one."""

_OPENING: Final = {"(": "LPAR", "[": "LSQB", "{": "LBRACE"}
_CLOSING: Final = {")": "RPAR", "]": "RSQB", "}": "RBRACE"}
_MOST_BRACKETS: Final = 20


class LinePlace(NamedTuple):
    """A place in the body of a rule.

    Args:
        column: The columns of the block; −1 in a rule that breaks no line.
        brackets: The brackets that are open; 1 more in a rule within brackets.
        after: A letter of the module's docstring.
    """

    column: int
    brackets: int
    after: str


Ways = dict[LinePlace, Node]
"""The places after a piece, each with the texts that lead there."""


class Indentation:
    """The rules of a grammar with indentation, written out.

    Args:
        rules: The rules as they were written, with `AROUND` called where text may be ignored.
        declared: The declared terminals, with their spans.
        ignored: What may be ignored, any number of times.
        most: The most columns of a block.
        wrong: Makes an error of a reason, a remedy and a span.
    """

    def __init__(
        self, rules: Iterable[WrittenRule], declared: Mapping[str, tuple[int, int]],
        ignored: Sequence[Node], most: int, wrong: Callable[..., GrammarError], meter: Meter,
    ) -> None:  # fmt: skip
        self._rules = {rule.name: rule for rule in rules}
        self._blocks: set[str] = set()
        self._most, self._wrong, self._meter = most, wrong, meter
        self.indent = next(name for name in declared if _plain(name) == "INDENT")
        self.dedent = next((name for name in declared if _plain(name) == "DEDENT"), "")
        self._newline = self._line_break(declared)
        for rule in [*self._rules.values()]:
            if not _is_terminal(rule.name):
                self._rules[rule.name] = replace(rule, body=self._with_blocks(rule.body, rule))
        self._breaking = self._callers_of({self._newline})
        for name in self._breaking:
            rule = self._rules[name]
            self._rules[name] = replace(rule, body=self._with_shared(rule.body, rule))
        self._nullable = self._empty_rules()
        self._begins = self._beginners()
        self._blanks = Blanks(
            build(self._written(self._rules[self._newline].body), meter), wrong,
            self._rules[self._newline],
        )  # fmt: skip
        self._between = Between([self._written(each) for each in ignored], self._blanks, meter)
        self._made: dict[str, Node | None] = {}
        self._of: dict[str, tuple[str, int, bool, str, str]] = {}
        self._ways: dict[tuple[str, int, bool, str], Ways] = {}
        self._ends: dict[tuple[str, str], frozenset[str]] = {}
        self._columned: set[tuple[str, str]] = set()
        self._uses_column = False
        self._find_ends()

    # Reading the rules that break lines

    def _line_break(self, declared: Mapping[str, tuple[int, int]]) -> str:
        """The terminal before each indent."""
        found: set[str] = set()
        for rule in self._rules.values():
            for node in walk(rule.body):
                items = node.items if isinstance(node, Concat) else ()
                found |= {
                    _terminal_name(before) for before, after in pairwise(items)
                    if _terminal_name(after) == self.indent
                }  # fmt: skip
        usual = [name for name in ("_NEWLINE", "_NL", "NEWLINE", "NL") if name in self._rules]
        names = [*found] or usual[:1]
        if len(names) != 1 or names[0] not in self._rules:
            start, end = declared[self.indent]
            raise self._wrong(
                f"It is not clear which line break {self.indent} looks at",
                f"Write one terminal before each: _NL {self.indent} line+ _DEDENT.", start, end,
            )  # fmt: skip
        return names[0]

    def _with_blocks(self, node: Node, rule: WrittenRule) -> Node:
        """A body in which each block, from its indent to its dedent, is a call of a rule."""
        if not isinstance(node, Concat) or _is_token(node):
            if (name := _terminal_name(node)) in (self.indent, self.dedent):
                raise self._wrong(
                    f"{name} does not stand in one row with the rest of its block",
                    f"Write {self._newline} {self.indent} line+ {self.dedent} in one rule.",
                    node.start, node.end,
                )  # fmt: skip
            below = children(node)
            return with_children(node, tuple(self._with_blocks(each, rule) for each in below))
        items, names = [*node.items], [*map(_terminal_name, node.items)]
        while self.dedent in names:
            end = names.index(self.dedent)
            begin = max((k for k in range(end) if names[k] == self.indent), default=-1)
            if begin < 0:
                break
            name = f"{rule.name}:{len(self._blocks)}"
            self._blocks.add(name)
            inner = tuple(self._with_blocks(each, rule) for each in items[begin + 1 : end])
            start, stop = items[begin].start, items[end].end
            body = Empty(start, stop) if not inner else _row(*inner)
            self._rules[name] = replace(rule, name=name, body=body)
            items[begin : end + 1] = [Call(start, stop, name)]
            names[begin : end + 1] = [""]
        made = tuple(self._with_blocks(each, rule) for each in items)
        return made[0] if len(made) == 1 else with_children(node, made)

    def _with_shared(self, node: Node, rule: WrittenRule) -> Node:
        """A body in which pieces without a line break are rules of their own, shared by columns."""
        if _is_token(node):
            return node
        if not isinstance(node, Concat):
            below = children(node)
            return with_children(node, tuple(self._with_shared(each, rule) for each in below))
        items: list[Node] = []
        run: list[Node] = []
        for each in (*node.items, None):
            if each is not None and self._breaks_no_line(each):
                run.append(each)
                continue
            if len(run) > 1 and not _is_unbalanced(run):
                name = f"{rule.name}:{len(self._rules)}"
                body = Concat(run[0].start, run[-1].end, tuple(run))
                self._rules[name] = replace(rule, name=name, body=body)
                run = [Call(body.start, body.end, name)]
            items += run
            run = []
            items += [] if each is None else [self._with_shared(each, rule)]
        return items[0] if len(items) == 1 else with_children(node, tuple(items))

    def _breaks_no_line(self, node: Node) -> bool:
        return not any(
            isinstance(each, Call) and (each.name in self._breaking or each.name == self._newline)
            for each in walk(node)
        )

    def _callers_of(self, names: set[str]) -> set[str]:
        """The rules in which one of some terminals may occur."""
        found = names | self._blocks
        bodies = [(name, {each.name for each in walk(rule.body) if isinstance(each, Call)})
                  for name, rule in self._rules.items() if not _is_terminal(name)]  # fmt: skip
        while more := {name for name, called in bodies if name not in found and called & found}:
            found |= more
        return found - names

    def _beginners(self) -> set[str]:
        """The rules that a line break may begin, or that may be empty."""

        def begins(node: Node) -> bool:
            if _is_token(node):
                return _terminal_name(node) == self._newline
            if isinstance(node, Call):
                return node.name in found
            if isinstance(node, Concat):
                for each in node.items:
                    if begins(each):
                        return True
                    if not self._may_be_empty(each, self._nullable):
                        return False
                return False
            return any(map(begins, children(node)))

        found = set(self._nullable)
        while more := {
            name for name in self._breaking if name not in found and begins(self._rules[name].body)
        }:
            found |= more
        return found

    def _empty_rules(self) -> set[str]:
        found: set[str] = set()
        while more := {
            name for name, rule in self._rules.items()
            if name not in found and not _is_terminal(name) and self._may_be_empty(rule.body, found)
        }:  # fmt: skip
            found |= more
        return found

    def _may_be_empty(self, node: Node, rules: set[str]) -> bool:
        if _is_token(node):
            return False
        if isinstance(node, Call):
            return node.name in rules
        if isinstance(node, Branch):
            return any(self._may_be_empty(each, rules) for each in node.options)
        if isinstance(node, Repeat) and node.minimum == 0:
            return True
        return all(self._may_be_empty(each, rules) for each in children(node))

    def _written(self, node: Node) -> Node:
        """A node of terminals, with those that it names inside."""
        if isinstance(node, Call):
            return self._written(self._rules[node.name].body)
        return with_children(node, tuple(map(self._written, children(node))))

    # The rules, written out

    def _find_ends(self) -> None:
        """Find how each rule may end, by how it begins, whatever its columns are."""
        most, self._most = self._most, 1
        begun = [(name, after) for name in self._breaking for after in "MFP"
                 if after == "M" or name in self._begins or name in self._blocks]  # fmt: skip
        self._ends = dict.fromkeys(begun, frozenset())
        changed = True
        while changed:
            changed = False
            for name, after in begun:
                self._ways.clear()
                self._uses_column = False
                ends = frozenset(each.after for each in self._ways_of(name, 0, False, after))
                changed |= ends != self._ends[name, after]
                self._ends[name, after] = ends
                if self._uses_column and (name, after) not in self._columned:
                    self._columned.add((name, after))
                    changed = True
        self._ways.clear()
        self._made.clear()
        self._of.clear()
        self._most = most

    @property
    def apart(self) -> frozenset[str]:
        """The names of the rules that depend on columns: laid into each other they multiply."""
        return frozenset(
            key for key, (name, column, bracket, before, _) in self._of.items()
            if column >= 0 and not bracket and (name, before) in self._columned
        )  # fmt: skip

    def bodies(self, start: str) -> dict[str, tuple[str, Node]]:
        """The rules by name, the first of them first, each with the rule that was written."""
        first, ways = self._rules[start], list[Node]()
        if start in self._breaking:
            for after in sorted(self._ends[start, "M"]):
                call = self._call(start, 0, False, "M", after, first)
                rest = self._between.blank_line if after == "P" else self._between.comment
                ways.append(_row(call, rest))
        else:
            ways.append(_row(Call(first.start, first.end, start), self._between.comment))
        body = _row(self._between.after, _either(ways) or Empty(0, 0))
        made: dict[str, tuple[str, Node]] = {AROUND: (start, body)}
        waiting = [body]
        while waiting:
            self._meter.check_time(STAGE)
            for node in walk(waiting.pop()):
                if not isinstance(node, Call) or node.name in made or node.name == AROUND:
                    continue
                written, inner = self._body(node.name)
                # A rule without words only calls itself, and is left out with what needs it.
                made[node.name] = written.partition(":")[0], node if inner is None else inner
                if inner is not None:
                    waiting.append(inner)
        return made

    def _call(
        self, name: str, column: int, bracket: bool, before: str, after: str,
        at: Node | WrittenRule,
    ) -> Call:  # fmt: skip
        """The call of a rule with parameters."""
        place = "(" if bracket else "" if column < 0 else str(column)
        if column >= 0 and (name, before) not in self._columned:
            column, place = 0, ""
        self._uses_column |= bool(place) and not bracket
        key = f"{name}@{place}{before}{after}"
        self._of[key] = name, column, bracket, before, after
        return Call(at.start, at.end, key)

    def _body(self, key: str) -> tuple[str, Node | None]:
        if key not in self._of:
            rule = self._rules[key]
            if _is_terminal(key):
                return key, rule.body
            place = LinePlace(-1, 0, "M")
            return key, self._checked(rule, place).get(place)
        name, column, bracket, before, after = self._of[key]
        ways = self._ways_of(name, column, bracket, before)
        return name, ways.get(LinePlace(column, int(bracket), after))

    def _ways_of(self, name: str, column: int, bracket: bool, before: str) -> Ways:
        key = name, column, bracket, before
        if key not in self._ways:
            rule, place = self._rules[name], LinePlace(column, int(bracket), before)
            self._ways[key] = self._checked(rule, place)
        return self._ways[key]

    def _checked(self, rule: WrittenRule, place: LinePlace) -> Ways:
        """The places after a rule, whose brackets must end in it."""
        ways = _ended(self._ways_from(rule.body, place))
        if any(end.brackets != place.brackets for end in ways):
            raise self._wrong(
                f"A bracket opens or closes in the rule {rule.name!r}, and its partner elsewhere",
                "Write both in one rule.", rule.start, rule.end,
            )  # fmt: skip
        return ways

    def _ways_from(self, node: Node, place: LinePlace) -> Ways:
        """The places after a node that begins at a place."""
        if _is_token(node):
            return self._after_token(node, place)
        if isinstance(node, Call):
            return self._after_call(node, place)
        if isinstance(node, Branch):
            return _joined(self._ways_from(each, place) for each in node.options)
        if isinstance(node, Concat):
            here: Ways = {place: Empty(node.start, node.start)}
            for each in node.items:
                here = self._then(here, each)
            return here
        if isinstance(node, Repeat):
            return self._repeated(node, place)
        if isinstance(node, Empty):
            return {place: node}
        (body,) = children(node)
        return self._ways_from(body, place)

    def _then(self, here: Ways, node: Node) -> Ways:
        if not any(isinstance(each, Call) and each.name in self._blocks for each in walk(node)):
            here = _ended(here)
        return _joined(
            {after: _row(before, each) for after, each in self._ways_from(node, place).items()}
            for place, before in here.items()
        )

    def _repeated(self, node: Repeat, place: LinePlace) -> Ways:
        """The places after a repeat: a sum over the paths between places (Kleene 1956)."""
        once = self._ways_from(node.body, place)
        if set(once) == {place}:
            body = Group(node.start, node.end, once[place], None, None)
            again = Repeat(node.start, node.end, body, node.minimum, node.maximum, False)
            return {place: again}
        here: Ways = {place: Empty(node.start, node.start)}
        for _ in range(node.minimum):
            here = self._then(here, node.body)
        if node.maximum is not None:
            every = [here]
            for _ in range(node.maximum - node.minimum):
                here = self._then(here, node.body)
                every.append(here)
            return _joined(every)
        arcs: dict[tuple[LinePlace, LinePlace], Node] = {}
        places = [*here]
        for each in places:  # The list grows while it is read.
            for after, text in self._ways_from(node.body, each).items():
                arcs[each, after] = text
                if after not in places:
                    places.append(after)
        for middle in places:
            loop = arcs.pop((middle, middle), None)
            again = Empty(0, 0) if loop is None else star(loop)
            into = [(a, text) for (a, b), text in arcs.items() if b == middle]
            out = [(b, text) for (a, b), text in arcs.items() if a == middle]
            for a, before in into:
                for b, after in out:
                    way = _row(before, again, after)
                    arcs[a, b] = _either([arcs[a, b], way]) or way if (a, b) in arcs else way
            if loop is not None:
                for a, before in into:
                    arcs[a, middle] = _row(before, again)
                for b, after in out:
                    arcs[middle, b] = _row(again, after)
                arcs[middle, middle] = _row(loop, again)
        return _joined([
            here,
            *({b: _row(here[a], text)} for (a, b), text in arcs.items() if a in here),
        ])  # fmt: skip

    def _after_call(self, node: Call, place: LinePlace) -> Ways:
        name, after = node.name, place.after
        if place.brackets > 0:
            return {place: self._call(name, -1, True, "M", "M", node)}
        empty = Ways({place: Empty(node.start, node.start)} if name in self._nullable else {})
        if after == "E":
            return empty
        if name in self._blocks:
            return self._after_block(node, place)
        if name not in self._breaking:
            if after == "M":
                return {place: node}
            some = self._call(name, -1, False, "F", "M", node) if empty else node
            return {**empty, place._replace(after="M"): _row(*self._blanks_at(place), some)}
        begin = after if name in self._begins else "M"
        blanks = self._blanks_at(place) if begin != after else ()
        return {
            place._replace(after=end):
                _row(*blanks, self._call(name, place.column, False, begin, end, node))
            for end in sorted(self._ends[name, begin])
        }  # fmt: skip

    def _blanks_at(self, place: LinePlace) -> tuple[Node, ...]:
        """The blanks of a line, if they were not read."""
        if place.after not in "NP":
            return ()
        self._uses_column = True
        return self._blanks.of(place.column), self._between.after_blanks

    def _after_token(self, node: Node, place: LinePlace) -> Ways:
        terminal = node.items[0] if isinstance(node, Concat) else node
        if _terminal_name(node) == self._newline:
            text = None if place.brackets else self._line_broken(place)
            return {} if text is None else {place._replace(after="N"): text}
        depth = place.brackets + _bracket(terminal)
        if place.after == "E" or abs(depth) > _MOST_BRACKETS:
            return {}
        ignored = self._between.within if depth > 0 else self._between.after
        text = _row(*self._blanks_at(place), terminal, ignored)
        return {place._replace(after="M", brackets=depth): text}

    def _line_broken(self, place: LinePlace) -> Node | None:
        """The text up to a line break; ``None`` where no other line break may come."""
        broken, after = self._blanks.up_to_break, place.after
        if after in "ME":
            return _row(self._between.comment, broken) if after == "M" else None
        ways = list[Node]()
        blanks = self._blanks_at(place)[:1]
        if not self._blanks.goes_on:
            ways.append(_row(*blanks, broken))
        if after in "NP":
            ways.append(_row(*blanks, self._between.some, broken))
        return _either(ways)

    def _after_block(self, node: Call, place: LinePlace) -> Ways:
        """The places after a block: after its last line break, or at the end of the text."""
        if place.after != "N":
            if place.after == "P":
                raise self._wrong(
                    "The line break before this block belongs to another rule",
                    f"Write {self._newline} {self.indent} line+ {self.dedent} in one rule.",
                    node.start, node.end,
                )  # fmt: skip
            return {}
        self._uses_column = True
        ways: dict[str, list[Node]] = {}
        for column in range(place.column + 1, self._most + 1):
            begun = self._blanks.of(column), self._between.after_blanks
            for end in sorted(self._ends[node.name, "F"]):
                inner = _row(*begun, self._call(node.name, column, False, "F", end, node))
                ways.setdefault("P" if end == "P" else "E", []).append(inner)
        return {
            place._replace(after=end): _either(several) or Empty(0, 0)
            for end, several in ways.items()
        }


def _plain(name: str) -> str:
    return name.strip("_").upper()


def declares_indentation(declared: Iterable[str]) -> bool:
    """Whether declared terminals are those of an indenter."""
    return any(_plain(name) == "INDENT" for name in declared)


def _is_terminal(name: str) -> bool:
    return name.lstrip("_").isupper()


def _is_token(node: Node) -> bool:
    """Whether a node is a terminal in a rule, with the place of ignored text after it."""
    last = node.items[-1] if isinstance(node, Concat) else None
    return isinstance(last, Call) and last.name == AROUND


def _terminal_name(node: Node) -> str:
    """The name of a terminal in a rule; empty for another piece."""
    first = node.items[0] if isinstance(node, Concat) and _is_token(node) else None
    return first.name if isinstance(first, Call) else ""


def _bracket(terminal: Node) -> int:
    """1 for a bracket that opens, −1 for one that closes, and 0 for another terminal."""
    inner = inside(terminal)
    if isinstance(inner, Call):
        return (inner.name in _OPENING.values()) - (inner.name in _CLOSING.values())
    if not isinstance(inner, Literal) or len(inner.chars.ranges) != 1:
        return 0
    low, high = inner.chars.ranges[0]
    return 0 if low != high else (chr(low) in _OPENING) - (chr(low) in _CLOSING)


def _is_unbalanced(nodes: Iterable[Node]) -> bool:
    """Whether brackets that open in some pieces do not close there, one after the other."""
    depth = 0
    for node in nodes:
        for each in walk(node):
            depth += _bracket(each.items[0]) if isinstance(each, Concat) and _is_token(each) else 0
            if depth < 0:
                return True
    return depth != 0


def _row(*nodes: Node) -> Node:
    """Nodes one after the other."""
    items = tuple(each for each in nodes if not isinstance(each, Empty))
    if len(items) < 2:
        return items[0] if items else nodes[0]
    return Group(0, 0, Concat(0, 0, items), None, None)


def _either(nodes: list[Node]) -> Node | None:
    """One of some nodes; ``None`` of none."""
    if len(nodes) < 2:
        return nodes[0] if nodes else None
    return Group(0, 0, Branch(0, 0, tuple(nodes)), None, None)


def _ended(ways: Ways) -> Ways:
    """The ways to the end of a rule, or to a piece that begins no block."""
    return _joined(
        {place._replace(after="P") if place.after == "N" else place: text}
        for place, text in ways.items()
    )


def _joined(several: Iterable[Ways]) -> Ways:
    """The ways of alternatives."""
    nodes: dict[LinePlace, list[Node]] = {}
    for ways in several:
        for place, node in ways.items():
            nodes.setdefault(place, []).append(node)
    return {place: _either(each) or Empty(0, 0) for place, each in nodes.items()}
