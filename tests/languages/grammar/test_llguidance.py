"""llguidance's additions to Lark's notation: the rows of docs/llguidance.md, beside its engine."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer import Vocabulary
from explorer.errors import GrammarError, VocabularyError
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from tests.optional import Optional

llguidance: Any = Optional("llguidance")

PAGE = Path(__file__).parents[3] / "docs" / "llguidance.md"
TOOL, END = 256, 257
VOCABULARY = Vocabulary(
    (*(bytes([byte]) for byte in range(256)), None, None, None), (258,),
    special={TOOL: "<|tool|>", END: "<|end|>", 258: "</s>"},
)  # fmt: skip
CLOSED = """{"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"enum": ["x", null]}},
"required": ["a"], "additionalProperties": false}"""

SAME: dict[str, str] = {
    'start: "a"{2,3} B ("c" | "d")*\nB: "b"~1..2': "abcd",
    'start: a-b // one\na-b: ["a"] "b"+ # two': "ab",
    "start: INT\n%import common.INT": "019a",
    'start: x y\nx[capture]: "a"\ny: "b" -> other': "ab",
    'start: "a" "b"\n%llguidance {}': "ab",
    f'start: "x" %json {CLOSED} "y"': '{}"ab:, xynulrtefas\n',
    'start: %json {"type": "array", "items": {"type": "null"}, '
    '"x-guidance": {"whitespace_flexible": false}}': "[]nul, ",
    'start: %json {"type": "array", "items": {"type": "null"}, '
    '"x-guidance": {"whitespace_pattern": "[ ]"}}': "[]nul, ",
    'start: "a" <|tool|> "b" <[256-257]> | <[257]>': "ab",
    "start: A\nA: /[a-c]+/ & ~/ab?/": "abc",
    'start: A "."\nA: "a" /[ab]+/ & /.b./ | "b"': "ab.",
    'start: A\nA: ~"a" "b"': "abc",
    'start: A\nA: ~("a"+)': "ab",
    'start: A "."\nA: B & D\nB: /[ab]*/\nD: ~C\nC: "ab" | B B "aa"': "ab.",
    'start: A "."\nA: %regex {"substring_words": "to be, or\\nnot  to"}': "tobe, r\nn.",
    'start: A "."\nA: %regex {"substring_chars": "abca"}': "abc.",
    'start: A "."\nA: %regex {"substring_chunks": ["ab", "c", "ab"]}': "abc.",
    'start: t "!"\nt[suffix=">"]: /(.|\\n)*/': ">a!",
    'start: t "!"\nt[capture, stop="ab"]: A\nA: /[ab]*/': "ab!",
    'start: t "!"\nt[stop=/[xy]+/]: "a" | "ax"': "axy!",
    'start: t "!"\nt[lazy]: /a*b?/ "a"': "ab!",
    'start: a\na[suffix=A]: "b"\nA: "c" | "cc"': "bc",
}  # fmt: skip
"""Grammars that mean the same in both, each with letters for random texts."""


class Tokens:
    """The tokenizer for llguidance."""

    eos_token_id = 258
    bos_token_id = None

    def __init__(self) -> None:
        names = [(VOCABULARY.special[k] or "").encode() for k in (TOOL, END, 258)]
        self.tokens = [*(bytes([byte]) for byte in range(256)), *names]
        self.special_token_ids = [TOOL, END, 258]

    def __call__(self, text: bytes | str) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)


class Theirs:
    """A grammar in llguidance."""

    def __init__(self, text: str) -> None:
        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokens()))
        self.grammar = llguidance.LLMatcher.grammar_from_lark(text)

    def accepts(self, ids: list[int]) -> bool:
        matcher = llguidance.LLMatcher(self.tokenizer, self.grammar)
        assert not matcher.is_error(), matcher.get_error()
        return matcher.try_consume_tokens(ids) == len(ids) and matcher.is_accepting()


def texts(text: str, letters: str, count: int) -> list[list[int]]:
    """Random ids: of letters, and words of the grammar with a change here and there."""
    draws = random.Random(1)
    tokens = [*letters.encode(), *([TOOL, END] if "<" in text and "[" in text else [])]
    machine = explorer.compile(
        explorer.grammar(text, "lark", ambiguous=True), VOCABULARY, lazy=True
    )
    made: list[list[int]] = []
    for k in range(count):
        if k % 4 == 0:
            made.append(draws.choices(tokens, k=draws.randint(0, 6)))
            continue
        ids, state = list[int](), machine.start
        while len(ids) < 40 and not (machine.is_final(state) and draws.random() < 0.3):
            allowed = machine.allowed(state).nonzero()[0].tolist()
            some = [token for token in allowed if token in tokens] or allowed
            token = draws.choice(some)
            after = machine.step(state, token)
            if token == 258 or after is None:
                break
            ids, state = [*ids, token], after
        if k % 2 and ids:
            at = draws.randrange(len(ids))
            ids[at : at + 1] = draws.choices(tokens, k=draws.randint(0, 2))
        made.append(ids)
    return made


@pytest.mark.parametrize("text", SAME)
def test_what_is_supported_means_what_llguidance_makes_of_it(text: str) -> None:
    ours, theirs = explorer.grammar(text, "lark", ambiguous=True), Theirs(text)
    accepted = refused = 0
    for ids in texts(text, SAME[text], 120):
        has = theirs.accepts(ids)
        assert ours.accepts(VOCABULARY.written(ids)) == has, ids
        accepted, refused = accepted + has, refused + (not has)
    assert accepted and refused
    assert source_from_dict(source_to_dict(ours.source)) == ours.source


@pytest.mark.parametrize("text", SAME)
def test_one_stack_is_enough_or_the_reason_is_said(text: str) -> None:
    try:
        ours = explorer.grammar(text, "lark")
    except GrammarError as error:
        assert error.remedy
        return
    several = explorer.grammar(text, "lark", ambiguous=True)
    for ids in texts(text, SAME[text], 30):
        written = VOCABULARY.written(ids)
        assert ours.accepts(written) == several.accepts(written)


DIFFERS: dict[str, tuple[list[list[int]], list[list[int]]]] = {
    'start: "a" "b"\n%ignore " "': ([[32, 97, 98], [97, 98, 32]], []),
    'start: "a" %json {"type": "null"}\n%ignore " "': ([[97, 32, *b"null"]], []),
    'start: S\nS: ESCAPED_STRING\n%import common.ESCAPED_STRING': ([], [[*b'"a\n"']]),
    'start: A "."\nA: /.b*/ "."?': ([[98, 46]], []),
    "start: <[97]>": ([], [[97]]),
}  # fmt: skip
"""Grammars that differ: texts of ours alone, and texts of llguidance alone."""


@pytest.mark.parametrize("text", DIFFERS)
def test_what_differs_differs_so(text: str) -> None:
    ours, theirs = explorer.grammar(text, "lark", ambiguous=True), Theirs(text)
    alone, others = DIFFERS[text]
    for ids in alone:
        assert ours.accepts(VOCABULARY.written(ids)) and not theirs.accepts(ids)
    for ids in others:
        assert theirs.accepts(ids)
        assert not ours.accepts(VOCABULARY.written(ids))


REFUSED = {
    "start: <[*]>": ("<[*]>", "not a list of ids"),
    "start: <[^5]>": ("<[^5]>", "not a list of ids"),
    "start: <[9-5]>": ("<[9-5]>", "empty range"),
    'start: <|tool "a"': ("<|tool", "does not end"),
    "start: A\nA: <|tool|>": ("<|tool|>", "cannot stand in a terminal"),
    "start: A\nA: %json {}": ("%json", "cannot stand in a terminal"),
    'start: A & "b"\nA: "b"': ("&", "this is a rule"),
    'start: A\nA: b & "b"\nb: "b"': ("b &", "'b' is a rule"),
    'start: A\nA: "b" & A': ("A", "leads back to itself"),
    'start: A\nA: "b" & B': ("B", "'B' is not defined"),
    "start: ~": ("~", "Nothing stands behind"),
    'start: %json {"a": }': ("}", "not JSON"),
    "start: %json 3": ("3", "is an object"),
    'start: %json {"x-guidance": {"lenient": true}}': ('{"x-guid', "'lenient'"),
    'start: %regex {"contains": "a"}': ("%regex", "is not followed"),
    "start: %lark { }": ("%lark", "is not followed"),
    'start: t\nt[stop=""]: "a"': ('stop=""', "where the model stops"),
    'start: t\nt[stop="a", suffix="b"]: "c"': ('suffix="b"', "ends in one way"),
    'start: t\nt[stop="a"]: u\nu: "c"': ("u", "'u' is a rule"),
    "start: t\nt[max_tokens=3]: /a*/": ("max_tokens=3", "is not followed"),
    "start: t\nt[temperature=0.3]: /a*/": ("temperature=0.3", "is not followed"),
    'start: A\n%override A: "a"': ("A: ", "before it"),
    "start: @other": ("@", "cannot stand here"),
    'start: x{"a"}\nx{y, z}: y': ('x{"a"}', "takes 2 arguments"),
    'start: y{"a"}\nx{y}: y': ('y{"a"}', "no template"),
    "start: A\n%import .x.A": ("%import", "Only the libraries"),
    'start: x::3\nx::_: "a"': ("x::3", "'x'"),
    'start: %llguidance {"no_forcing": true}\nx: "a"': ("%llguidance", "is not followed"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_is_refused_by_name_and_place(text: str) -> None:
    under, says = REFUSED[text]
    with pytest.raises(GrammarError) as caught:
        explorer.grammar(text, "lark")
    assert says in str(caught.value) and caught.value.remedy
    line = caught.value.line
    offset = sum(map(len, text.splitlines(keepends=True)[: line - 1])) + caught.value.column - 1
    assert text.startswith(under, offset), text[offset:]


def test_a_control_token_must_be_in_the_vocabulary() -> None:
    with pytest.raises(VocabularyError, match="nope"):
        explorer.compile(explorer.grammar("start: <|nope|>", "lark"), VOCABULARY)
    machine = explorer.compile(explorer.grammar('start: <|tool|> "a"', "lark"), VOCABULARY)
    assert machine.allowed(machine.start).nonzero()[0].tolist() == [TOOL]


def test_every_row_of_the_table_is_run() -> None:
    rows = re.findall(r"(?m)^\| (`.+`) \| (supported|differs|refused) \|", PAGE.read_text())
    ran = {"supported": SAME, "differs": DIFFERS, "refused": REFUSED}
    assert {status for _, status in rows} == set(ran)
    for row, status in rows:
        for written in re.findall(r"`([^`]+)`", row.replace("\\|", "|")):
            assert any(written in text for text in ran[status]), (written, status)
