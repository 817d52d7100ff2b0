"""The grammar of XML that ships, beside expat."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from xml.parsers import expat

import pytest

from explorer.languages.constraint import Constraint
from explorer.languages.grammar.functions import grammar
from explorer.languages.grammar.notations.gbnf import GbnfReader
from explorer.languages.grammar.shipped import shipped_grammar, shipped_text
from tests.evidence import examples
from tests.languages.grammar.sampling import Sampler, mutated

PAGE = {"page": ("lang",), "p": ("class",), "a": ("href", "title"), "em": (), "img": ("src", "alt")}

DOCUMENTS = [
    '<?xml version="1.0" encoding="UTF-8"?>\n<page lang="de">\n <p>a <em>b</em></p></page>',
    "<page><p class='x'>1 &lt;2 &amp; 3 &#x3e; 2, ü</p><!--a - b--><img src='a' alt=\"A\"/></page>",
    "<page><![CDATA[ <p> ]] > ]]><a href='x' title=''>y]]</a ></page><!---->",
    "<page><em><em><em/></em>]]😀</em></page>\n",
]

TOKENS = re.compile(r"</?\w+|\w+=|&\S+?;|<!--|-->|<!\[CDATA\[|]]>|\w+|/>|.", re.DOTALL)

PIECES = [
    *(
        "<p",
        "<a",
        "<em",
        "</p",
        "</em",
        "</page",
        ">",
        "/>",
        "<",
        "&",
        "&amp;",
        "&#x0;",
        "&#xFFFE;",
    ),
    *("&#x9;", "&#xD800;", "&#x10FFFF;", "&#x110000;", '"', "'", "=", " href=", " src=", " alt="),
    *("''", "<!--", "-->", "--", "-", "<![CDATA[", "]]>", "]", "]]", " ", "\n", "\x0b", "\ufffe"),
    *("\ufffd", "x", "page", "class=", "?>", '<?xml version="1.0"?>'),
]


def reads(text: str, elements: Mapping[str, Sequence[str]], root: str) -> bool | None:
    """Whether expat reads a document; ``None`` if it holds what the grammar leaves out."""
    beyond = [re.search(r"<\?xml[^?]*'", text) is not None]
    wrong: list[str] = []
    depth = [0]

    def begins(name: str, attributes: list[str]) -> None:
        given = list(elements.get(name, ()))
        names = attributes[::2]
        if name not in elements or (depth[0] == 0 and name != root) or not set(names) <= {*given}:
            wrong.append(name)
        elif [each for each in given if each in names] != names:
            wrong.append("in another order")
        depth[0] += 1

    def ends(name: str) -> None:
        depth[0] -= 1

    parser = expat.ParserCreate("UTF-8")
    parser.ordered_attributes = True
    parser.StartElementHandler = begins
    parser.EndElementHandler = ends

    def declared(version: str, encoding: str | None, standalone: int) -> None:
        if version != "1.0":  # Expat takes any text.
            wrong.append(version)
        beyond.append(encoding not in (None, "UTF-8") or standalone >= 0)

    parser.XmlDeclHandler = declared
    parser.ProcessingInstructionHandler = lambda target, data: beyond.append(True)
    parser.StartDoctypeDeclHandler = lambda *each: beyond.append(True)
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError:
        return False
    return None if any(beyond) else not wrong


def drawn(text: str, count: int) -> list[str]:
    """Texts drawn from the rules."""
    chance = random.Random(count)
    sampler = Sampler(tuple(GbnfReader(text).rules()), chance, " ab]-'\"")
    return [sampler.word(depth=chance.randrange(5, 14)) for _ in range(count)]


def changed(count: int) -> list[str]:
    """The documents with one to three tokens changed."""
    chance = random.Random(count)
    return [
        "".join(mutated(TOKENS.findall(chance.choice(DOCUMENTS)), chance, PIECES))
        for _ in range(count)
    ]


def differences(constraint: Constraint, texts: list[str]) -> tuple[list[str], list[str]]:
    """Texts that only we read, and texts that only expat reads."""
    ours: list[str] = []
    theirs: list[str] = []
    for text in texts:
        accepted, read = constraint.accepts(text), reads(text, PAGE, "page")
        if accepted and not read:
            ours.append(text)
        if read and not accepted:
            theirs.append(text)
    return ours, theirs


def test_documents_are_read_by_both() -> None:
    constraint = shipped_grammar("xml")
    for text in DOCUMENTS:
        assert reads(text, PAGE, "page"), text
        assert constraint.accepts(text), text


def test_drawn_texts_are_read_by_both() -> None:
    constraint = shipped_grammar("xml")
    texts = drawn(shipped_text("xml"), examples(400))
    assert all(map(constraint.accepts, texts))
    assert differences(constraint, texts) == ([], [])


def test_changed_texts_are_read_by_both_or_neither() -> None:
    constraint = shipped_grammar("xml")
    texts = changed(examples(1_500)) + ["".join(c) for d in DOCUMENTS for c in _single(d)]
    assert differences(constraint, texts) == ([], [])
    assert 100 < sum(map(constraint.accepts, texts)) < len(texts)


def _single(text: str) -> list[tuple[str, str, str]]:
    """A text with each of its characters replaced by one of some."""
    marks = "<>/&;\"'=]-! x\x01"
    return [(text[:at], marks[at % len(marks)], text[at + 1 :]) for at in range(len(text))]


@pytest.mark.parametrize("digits", ["1", "2", "3", "4", "5", "6"])
def test_numbers_of_characters(digits: str) -> None:
    """Each number with some digits near the edges of what is a character."""
    constraint = shipped_grammar("xml")
    edges = [0, 9, 0xB, 0xD, 0x20, 0xFF, 0x100, 0xFFF, 0x1000, 0xD7FF, 0xD800, 0xDFFF, 0xE000,
             0xFFFD, 0xFFFE, 0xFFFF, 0x10000, 0xFFFFF, 0x100000, 0x10FFFF, 0x110000]  # fmt: skip
    for number in sorted({max(edge + more, 0) for edge in edges for more in (-1, 0, 1)}):
        for form in (f"x{number:0{digits}x}", f"x{number:0{digits}X}", f"{number:0{digits}d}"):
            text = f"<page>&#{form};</page>"
            assert constraint.accepts(text) == reads(text, PAGE, "page"), text


MUTANTS = {
    "decimal surrogates": ('"9" [0-5]', '"9" [0-6]', True),
    "any name closes": ('"</em" s?', '("</em" | "</p") s?', True),
    "]]> in a text": ("(?!\\]\\]>)[\\t\\n\\r -%'-;", "[\\t\\n\\r -%'-;", True),
    "no comments": ("(tag | comment | cdata)", "(tag | cdata)", False),
    "U+FFFE": ("[0-9a-dA-D]", "[0-9a-eA-E]", True),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_oracle_sees_a_wrong_grammar(name: str) -> None:
    before, after, too_much = MUTANTS[name]
    text = shipped_text("xml").replace(before, after)
    assert text != shipped_text("xml")
    mutant = grammar(text)
    texts = [
        "<page>&#xFFFE;</page>",
        "<page>&#55296;</page>",
        *DOCUMENTS,
        *drawn(text, 300),
        *changed(1_500),
    ]
    ours, theirs = differences(mutant, texts)
    assert ours if too_much else theirs
