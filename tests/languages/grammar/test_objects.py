"""Rules as Python objects: the same machine as the same grammar in GBNF, and errors with names."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import explorer
from explorer import choice, grammar, literal, regex
from explorer.automata.machine import NO_ARC
from explorer.decoding.trace.trace import Trace
from explorer.errors import ConstraintError, GrammarError
from explorer.grammars import GrammarRule, RulePart, rule
from explorer.languages.constraint import Constraint
from explorer.languages.grammar.parts import part_of
from explorer.languages.grammar.source import GbnfGrammar
from explorer.languages.sources.registry import name_of, read
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from tests.decoding.models import HashModel
from tests.languages.grammar.earley import Productions, as_gbnf
from tests.languages.grammar.test_machine import check


def sums() -> Constraint:
    number = rule("number", regex("[0-9]+"))
    term = rule("term", number | "(" + rule("sum") + ")")
    return grammar(rule("sum", term + ("+" + term).star()))


SUMS = 'root ::= sum\nsum ::= term ("+" term)*\nterm ::= number | "(" sum ")"\nnumber ::= [0-9]+\n'


def values() -> Constraint:
    """Lists of JSON objects: a terminal that has no form in GBNF."""
    person = rule("person", explorer.json_schema({"enum": [{"a": 1}, {"b": [2]}]}))
    value = rule("value", person | "[" + (rule("value") + ("," + rule("value")).star()) + "]")
    return grammar(value)


def same(one: Constraint, other: Constraint, most: int = 300) -> None:
    """Both read the same bytes wherever texts lead, breadth first."""
    mine, others = one.machine, other.machine
    seen = {(mine.start, others.start)}
    waiting = [*seen]
    for here, there in waiting:  # The list grows while it is read.
        assert (here == NO_ARC) == (there == NO_ARC)
        if here == NO_ARC:
            continue
        assert mine.is_accepting(here) == others.is_accepting(there)
        assert mine.expected(here) == others.expected(there)
        for byte in mine.expected(here):
            pair = mine.step(here, byte), others.step(there, byte)
            if pair not in seen and len(seen) < most:
                seen.add(pair)
                waiting.append(pair)


def test_the_same_grammar_in_gbnf() -> None:
    made = sums()
    same(made, grammar(SUMS))
    assert isinstance(made.source, GbnfGrammar)
    assert made.source.text == (
        'root   ::= sum\nsum    ::= term ("+" term)*\nterm   ::= number | "(" sum ")"\n'
        "number ::= /[0-9]+/\n"
    )


def test_a_function_may_name_what_is_below_it() -> None:
    @rule
    def sum_() -> RulePart:
        return term + ("+" + term).star()

    @rule
    def term() -> RulePart:
        return number | "(" + sum_ + ")"

    number = rule("number", regex("[0-9]+"))
    same(grammar(sum_), sums())
    same(grammar([rule("root", rule("sum_")), number, term, sum_]), sums())


def test_a_function_that_makes_its_rules_anew_ends() -> None:
    def nested() -> GrammarRule:
        return rule("nested", lambda: "(" + nested() + ")" | "")

    same(grammar(nested()), grammar('root ::= "(" root ")" | ""'))


def drawn(chance: random.Random, depth: int) -> tuple[RulePart | str | Constraint, str]:
    """A body as an object and, written with all parentheses by other code, in GBNF."""
    kind = chance.choice(["text", "call", "choice", "regex"] if not depth else
                         ["sequence", "alternatives", "repeat", "text", "call"])  # fmt: skip
    if kind == "text":
        text = chance.choice(["a", "b", '"', "\\", "/", "\n", "ä", "", "]", "\x01", "\U0001f600"])
        return text, '"' + "".join(f"\\U{ord(c):08X}" for c in text) + '"'
    if kind == "call":
        name = chance.choice(["root", "x", "y"])
        return rule(name), name
    if kind == "choice":
        return choice(["a", 'b"', ""]), '("a" | "b\\"" | "")'
    if kind == "regex":
        made = {"a/b": '"a/b"', "a\\/": '"a/"', "[\\\\/]b?": '("\\\\" | "/") "b"?', "a|b": "[ab]"}
        pattern = chance.choice([*made])
        whole = literal("c") + (regex(pattern) | literal("d")).star().optional()
        return whole, f'("c" ((({made[pattern]}) | "d")*)?)'
    parts = [drawn(chance, depth - 1) for _ in range(chance.randrange(2, 4))]
    if kind == "repeat":
        low, most = chance.choice([(0, None), (1, None), (0, 1), (2, 2), (1, 3), (2, None)])
        part, written = parts[0]
        end = "" if most is None else most
        return as_part(part).times(low, most), f"({written}){{{low},{end}}}"
    made_part = as_part(parts[0][0])
    for part, _ in parts[1:]:
        made_part = made_part + part if kind == "sequence" else made_part | part
    sign = " " if kind == "sequence" else " | "
    return made_part, f"({sign.join(written for _, written in parts)})"


def as_part(part: RulePart | str | Constraint) -> RulePart:
    return part_of("+", part)


@pytest.mark.parametrize("seed", range(25))
def test_random_rules_mean_what_the_same_gbnf_means(seed: int) -> None:
    chance = random.Random(seed)
    bodies = {name: drawn(chance, 2) for name in ("root", "x", "y")}
    ends = {"root": ('"e" x y', "e" + rule("x") + rule("y")), "x": ('"c"', "c"), "y": ('"d"', "d")}
    rules = [rule(name, as_part(body) | ends[name][1]) for name, (body, _) in bodies.items()]
    text = "".join(f"{n} ::= {body} | {ends[n][0]}\n" for n, (_, body) in bodies.items())
    try:
        written = grammar(text, ambiguous=True)
    except GrammarError as error:
        with pytest.raises(GrammarError, match="In rule") as caught:
            grammar(rules, ambiguous=True)
        assert caught.value.reason == error.reason
        return
    same(grammar(rules, ambiguous=True), written)


def test_rules_against_an_earley_recognizer() -> None:
    rules: Productions = {
        "root": [("(", "root", "ex"), ("a",), ()],
        "ex": [("b", "ex"), ("why",)],
        "why": [("a", "why"), ("b",)],
    }
    made: list[GrammarRule] = []
    for name, options in rules.items():
        bodies = [option or ("",) for option in options]
        body = None
        for option in bodies:
            parts = [rule(each) if each in rules else each for each in option]
            whole = as_part(parts[0])
            for part in parts[1:]:
                whole = whole + part
            body = whole if body is None else body | whole
        made.append(rule(name, body))
    check(rules, grammar(made, ambiguous=True), 5)
    same(grammar(made, ambiguous=True), grammar(as_gbnf(rules), ambiguous=True))


def test_any_constraint_is_a_terminal() -> None:
    made = values()
    assert made.source.children and name_of(made.source) == "grammar with constraints"
    assert "person ::= <1: JSON Schema>\n" in made.source.text
    for text in ('{"a":1}', '[[{"b":[2]}],{"a":1}]'):
        assert made.accepts(text)
        assert not any(made.accepts(text + more) for more in ("]", " ", ","))
    assert not made.accepts('[{"a":2}]')
    parts = [regex("[a-z]+") & ~literal("if"), ~regex("x*"), sums(), literal("a") | sums()]
    for part in parts:
        around = grammar(rule("root", part_of("+", "<") + part + ">"), ambiguous=True)
        same(around, literal("<") + part + literal(">"))


def test_constraints_stand_on_either_side_of_a_rule() -> None:
    a, x = regex("a+"), rule("x", "(" + rule("x") + ")" | "b")
    made = grammar(rule("root", a + x + a | choice(["c", "d"]) | x | regex("e")))
    same(made, grammar('root ::= [a]+ x [a]+ | [cd] | x | "e"\nx ::= "(" x ")" | "b"'))
    assert repr(a | x) == "regex('a+') | rule('x')"


@pytest.mark.parametrize("make", [sums, values], ids=["text", "embedded"])
def test_it_is_saved_and_read(make: Callable[[], Constraint]) -> None:
    made = make()
    saved = source_to_dict(made.source)
    assert source_from_dict(saved) == made.source
    same(Constraint(source_from_dict(saved)), made)
    assert made.source.with_children(made.source.children) == made.source


def test_the_editor_shows_and_reads_the_text() -> None:
    made = sums()
    assert name_of(made.source) == "grammar"
    assert read("grammar", made.source.text) == made.source


@pytest.mark.parametrize("make", [sums, values], ids=["text", "embedded"])
def test_sessions_traces_and_depths(make: Callable[[], Constraint], tmp_path: Path) -> None:
    made = make()
    vocabulary = explorer.Vocabulary.from_bytes(
        [*(bytes([byte]) for byte in b'0123456789+()[]{},:"ab'), b"[[", b"((", None], eos_ids=[24]
    )
    machine = explorer.compile(made, vocabulary)
    session = explorer.Session(HashModel(vocabulary), made, seed=3)
    session.run(max_tokens=12)
    session.trace.save(tmp_path / "trace.json")
    trace = Trace.load(tmp_path / "trace.json")
    assert trace.text == session.trace.text
    assert trace.constraint is not None and trace.constraint.source == made.source
    state = machine.start
    for step in session.trace.steps:
        after = machine.step(state, step.token)
        assert after is not None
        state = after
    nested = made.bounded(depth=1)
    deep = "((1))" if make is sums else '[[[{"a":1}]]]'
    assert made.accepts(deep) and not nested.accepts(deep)


FAULTS: dict[str, tuple[Callable[[], object], str]] = {
    "no body": (lambda: grammar(rule("a", rule("b") + "x")), "The rule 'b' has no body; 'a' calls"),
    "close": (lambda: grammar(rule("item", "(" + rule("itme") + ")")), "Did you mean 'item'?"),
    "alone": (lambda: grammar(rule("a")), "The rule 'a' has no body."),
    "twice": (lambda: grammar([rule("a", "x"), rule("a", "y")]), 'called \'a\': "x" and "y"'),
    "root": (lambda: grammar(rule("a", "x" + rule("root", "y"))), "rule('a'), and another rule"),
    "body": (lambda: rule("a", 5), "The body of the rule 'a' is 5 (int)"),  # type: ignore[arg-type]
    "nothing": (lambda: grammar(rule("a", lambda: None)), "The function of 'a' returns nothing"),  # type: ignore[arg-type, return-value]
    "called": (lambda: rule("a")(), "Write a without parentheses"),
    "takes": (lambda: rule("a", lambda other: other), "has the parameter 'other'"),  # type: ignore[arg-type, misc]
    "name": (lambda: rule("ä", "x"), "'ä' is not a name of a rule"),
    "no name": (lambda: rule(3, "x"), "name is 3 (int)"),  # type: ignore[arg-type]
    "function": (lambda: rule("a") + FUNCTION, "the function 'FUNCTION', not a rule"),  # type: ignore[operator]
    "and": (lambda: rule("a") & regex("b"), "& does not combine rules"),
    "not": (lambda: ~rule("a"), "~ does not combine rules"),
    "number": (lambda: rule("a") | 3, "The other side of | is 3 (int)"),  # type: ignore[operator]
    "tokens": (lambda: rule("a") + regex("(?P<TEXT_TOKEN>)"), "speaks about tokens"),
    "stage": (lambda: rule("a") + regex("b").canonical(), "canonical() filters the tokens"),
    "times": (lambda: rule("a").times(3, 2), "The most, 2, is below the fewest, 3"),
    "no rule": (lambda: grammar(["a"]), "'a' is not a rule"),  # type: ignore[list-item]
    "part": (lambda: grammar("a" + rule("b")), "'a' + rule('b') is not a rule"),  # type: ignore[arg-type]
    "none": (lambda: grammar([]), "There is no rule"),
    "constraint": (lambda: grammar(regex("a")), "text is regex('a') (Constraint), not the text of"),  # type: ignore[arg-type]
    "never ends": (lambda: grammar(rule("a", "x" + rule("a"))), "In rule('a'), written as GBNF: "),
    "two stacks": (lambda: grammar(rule("e", rule("e") + "+1" | "1")), "In rule('e'), written as"),
    "rewrite": (lambda: grammar(rule("e", rule("e") + "+" | "1")), '+ t).star())\nfor\n  e = '),
}  # fmt: skip


def FUNCTION() -> None:
    """Not a rule: its decorator was forgotten."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_names_its_object(name: str) -> None:
    make, reason = FAULTS[name]
    with pytest.raises((ConstraintError, GrammarError)) as caught:
        make()
    assert reason in str(caught.value) and caught.value.remedy


@pytest.mark.parametrize("syntax", ["gbnf", "lark", "ebnf"])
def test_a_byte_order_mark_is_not_a_part_of_a_grammar(syntax: str) -> None:
    text = {"gbnf": 'root ::= "a"', "lark": 'start: "a"', "ebnf": 'root ::= "a"'}[syntax]
    assert grammar("\ufeff" + text, syntax).accepts("a")


def test_parts_show_themselves_as_python() -> None:
    body = "(" + (rule("a") | regex("b")).plus() + rule("c").times(2, 3) + ")" | ""
    assert repr(body) == "'(' + (rule('a') | regex('b')).plus() + rule('c').times(2, 3) + ')' | ''"
    assert eval(repr(body), {"rule": rule, "regex": regex}).__repr__() == repr(body)


def test_parts_may_not_be_nested_without_end() -> None:
    part: RulePart = rule("a")
    with pytest.raises(ConstraintError, match="nested more than 150 deep"):
        for _ in range(200):
            part = part.optional()


def test_a_long_chain_is_one_part() -> None:
    part = rule("a", "x") + "y"
    for _ in range(2000):
        part = part + "y"
    assert grammar(rule("root", part)).accepts("x" + "y" * 2001)
