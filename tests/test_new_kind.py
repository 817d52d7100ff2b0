"""A new kind of source: registered once, it is known everywhere."""

from __future__ import annotations

import pickle
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

import pytest

import explorer
from explorer.analysis.explaining.explanation import explain_text
from explorer.analysis.places.spans import live_places
from explorer.analysis.session import Session
from explorer.automata.tree.charset import char_set, character
from explorer.automata.tree.nodes import (
    SHAPES,
    Branch,
    Class,
    Concat,
    Intersect,
    Literal,
    Machine,
    Negate,
    Node,
    Remembered,
    Repeat,
    Source,
    Subtract,
    Written,
    children,
    with_children,
)
from explorer.cli.options import add_constraint, constraint_of
from explorer.errors import ConstraintError, DamagedFile
from explorer.languages.constraint import Constraint
from explorer.languages.regex.source import Regex
from explorer.languages.sources import registry
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from explorer.tokens.machine import TokenMachine
from tests.widgets.page import Page
from widgets import kinds
from widgets.cursor import Cursor
from widgets.editing import written_constraint
from widgets.views.explorer import Explorer

VOCABULARY = explorer.Vocabulary.from_bytes([b"h", b"o", b"ho", b"x", b"hoho"], eos_ids=[5])


@dataclass(frozen=True)
class RepeatedWord(Source):
    """``ho 3``: a word, and how often it is said."""

    kind: ClassVar[str] = "repeated-word"

    word: str
    times: int

    @property
    def text(self) -> str:
        return f"{self.word} {self.times}"

    def lower(self) -> Node:
        letters = tuple(Literal(k, k + 1, character(c)) for k, c in enumerate(self.word))
        word = letters[0] if len(letters) == 1 else Concat(0, len(letters), letters)
        repeated = Repeat(0, len(self.text), word, self.times, self.times, False)
        return Written(0, len(self.text), repeated, label="/word")

    def fields(self) -> dict[str, object]:
        return {"word": self.word, "times": self.times}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        return cls.read(f"{fields['word']} {fields['times']}")

    @classmethod
    def read(cls, text: str) -> Self:
        word, _, times = text.partition(" ")
        if not (word and times.isdecimal()):
            raise ConstraintError(f"{text!r} is not a word and a number.", remedy="Write ho 3.")
        return cls(word, int(times))

    def wider(self, start: int, end: int, rest: str) -> tuple[str, ...]:
        return (rest[:1],)

    def __str__(self) -> str:
        return f"repeated_word({self.text!r})"


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    registry.register("repeated word")(RepeatedWord)
    yield
    registry.forget("repeated word")


HO = RepeatedWord("ho", 2)


def test_it_compiles() -> None:
    machine = explorer.compile(Constraint(HO), VOCABULARY)
    assert isinstance(machine, TokenMachine)
    words = {(0, 1, 0, 1), (2, 2), (4,), (2, 0, 1), (0, 1, 2)}
    for ids in words:
        state: int | None = machine.start
        for token in ids:
            assert state is not None
            state = machine.step(state, token)
        assert state is not None and machine.is_final(state)
    assert Constraint(HO).equivalent(explorer.regex("(ho){2}"))
    both = Constraint(HO) + explorer.literal("!") & ~Constraint(RepeatedWord("x", 1))
    assert both.accepts("hoho!")


def test_it_is_explained_in_its_own_text() -> None:
    machine = explorer.compile(Constraint(HO), VOCABULARY)
    state = machine.step(machine.start, 0)
    assert state is not None
    why = explorer.explain(machine, state, 3)
    (part,) = why.parts
    assert (part.source, part.pattern, part.spans) == (HO, "ho 2", ((1, 2),))
    assert part.positions[0].label == "/word"
    assert "ho 2\n ^" in str(why)
    assert why.cause is not None and why.cause.constraint.accepts("hxhx")
    assert why.hints[-1] == "With x in place of o it would be allowed: hx 2"
    # Inside a combination its spans still count in its own text.
    combined = Constraint(HO) + explorer.regex("[!?]")
    (part,) = explain_text(combined, "hox").parts
    assert (part.pattern, part.spans) == ("ho 2", ((0, 1),))
    (part,) = explain_text(combined, "hohox").parts
    assert (part.pattern, part.spans) == ("[!?]", ((0, 4),))


def test_it_is_saved_and_read(tmp_path: Path) -> None:
    session = explorer.Session.from_ids(VOCABULARY, Constraint(HO), [2, 2])
    session.trace.save(tmp_path / "run.json")
    trace = explorer.Trace.load(tmp_path / "run.json")
    assert trace.constraint is not None and trace.constraint.source == HO
    explorer.compile(Constraint(HO), VOCABULARY).save(tmp_path / "ho.dfa")
    loaded = explorer.TokenDFA.load(tmp_path / "ho.dfa", VOCABULARY)
    assert loaded.constraint.source == HO
    saved = source_to_dict((Constraint(HO) | explorer.regex("x")).source)
    assert Constraint(source_from_dict(saved)).accepts("hoho")
    assert pickle.loads(pickle.dumps(HO)) == HO
    registry.forget("repeated word")
    with pytest.raises(DamagedFile, match="repeated-word"):
        source_from_dict(saved)


def test_it_is_offered_in_the_editor() -> None:
    assert "repeated word" in kinds.kinds()
    made = kinds.constraint_of_kind("repeated word", "ho 3")
    assert made.accepts("hohoho") and written_constraint(made) == ("repeated word", "ho 3")
    with pytest.raises(ConstraintError, match="not a word and a number"):
        kinds.constraint_of_kind("repeated word", "ho")
    run = Session.from_ids(VOCABULARY, Constraint(HO), [2])
    page = Page(Explorer(cursor=Cursor(run)))
    editor: Any = page.made.editor
    assert (editor["kind"], editor["text"], editor["pattern"]) == ("repeated word", "ho 2", "ho 2")
    assert "repeated word" in page.made.offered["kinds"]
    assert page.position["spans"] == [[0, 1]]
    page.made.close()


def test_the_command_line_takes_it() -> None:
    parser = ArgumentParser()
    add_constraint(parser)
    given = constraint_of(parser.parse_args(["--constraint", "repeated word", "ho 3"]))
    assert given is not None and given.source == RepeatedWord("ho", 3)


def test_what_cannot_be_written_is_shown_as_what_it_is() -> None:
    both = explorer.regex("a+") & explorer.regex("[ab]*")
    kind, text = written_constraint(both)
    assert (kind, text) == ("intersection", "(regex('a+') & regex('[ab]*'))")
    assert kind not in kinds.kinds() and kind in kinds.kinds(kind)
    with pytest.raises(ConstraintError, match="made in Python"):
        kinds.constraint_of_kind(kind, text)


def test_two_classes_cannot_be_one_kind() -> None:
    class Other(RepeatedWord):
        pass

    with pytest.raises(ConstraintError, match="registered already"):
        registry.register("other")(Other)


@dataclass(frozen=True)
class Built(Source):
    """A tree by hand, as a front end for schemas would build it."""

    kind: ClassVar[str] = "built"
    plain_text: ClassVar[bool] = True

    body: Any = field(hash=False, compare=False)
    text: str = "age name note!"  # type: ignore[assignment]  # pyright: ignore

    def lower(self) -> Node:
        return self.body

    def fields(self) -> dict[str, object]:
        return {}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        raise NotImplementedError

    def __str__(self) -> str:
        return "built"


def test_a_front_end_may_use_every_node() -> None:
    """Labels and spans of parts that are literals, classes, products, other sources, machines."""
    digit = Class(0, 3, char_set([(48, 57)]))
    age = Written(0, 3, Repeat(0, 3, digit, 1, 3, False), label="/age")
    not_cat = Subtract(4, 8, Regex("[a-z]{3}").tree, Regex("cat").tree)
    name = Written(4, 8, not_cat, label="/name")
    ready = Written(9, 13, Machine(9, 13, explorer.regex("ab?").dfa), label="/note")
    comma, second = (Literal(at, at + 1, character(",")) for at in (3, 8))
    final = Literal(13, 14, character(","))
    source = Built(Concat(0, 13, (age, comma, name, second, Branch(9, 14, (ready, final)))))
    constraint = Constraint(source)
    wanted = (
        explorer.regex("[0-9]{1,3},")
        + (explorer.regex("[a-z]{3}") - explorer.literal("cat"))
        + explorer.regex(",(ab?|,)")
    )
    assert constraint.equivalent(wanted)

    def live(text: str) -> list[tuple[str, str, str]]:
        places = live_places(source, text.encode())
        return [(place.text, place.label, str(place.source)) for place in places]

    assert live("") == [("age", "/age", "built")]
    assert live("12") == [("age", "/age", "built"), (" ", "", "built")]
    assert live("12,dog,") == [("note", "/note", "built"), ("!", "", "built")]
    (part,) = explain_text(constraint, "12,cat").parts
    assert (part.role, str(part.source), part.words) == ("excludes", "regex('cat')", (b"cat",))
    (part,) = explain_text(constraint, "12,c1").parts
    assert (part.role, part.pattern, part.positions[0].label) == ("expects", "[a-z]{3}", "/name")
    both = Constraint(Built(Intersect(0, 3, age, Negate(0, 3, Regex("1*").tree))))
    assert both.equivalent(explorer.regex("[0-9]{1,3}") - explorer.regex("1*"))


def test_every_kind_of_node_says_what_is_below_it() -> None:
    """A node that another holds is among its children, whatever kind it is of."""
    same_language = {Remembered: ("marked", "closed")}  # What the body says, in other forms.
    for kind in get_args(Node):
        names = [
            name
            for name, hint in kind.__annotations__.items()
            if hint in ("Node", "Node | None", "tuple[Node, ...]")
            and name not in same_language.get(kind, ())
        ]
        shape = SHAPES.get(kind)
        assert names == list(shape.fields if shape else ()), kind


def test_a_node_with_other_children_is_of_its_kind() -> None:
    first, second = Literal(0, 1, character("a")), Literal(1, 2, character("b"))
    for node in (
        Concat(0, 2, (first, second)), Branch(0, 2, (first, second)), Intersect(0, 2, first, second)
    ):  # fmt: skip
        turned = with_children(node, (second, first))
        assert type(turned) is type(node) and children(turned) == (second, first)
    assert children(with_children(Negate(0, 1, first), (second,))) == (second,)
    assert with_children(first, ()) is first
