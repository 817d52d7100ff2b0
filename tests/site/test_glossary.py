"""The glossary has each word that a notebook explains, a page links to, or the views say."""

from __future__ import annotations

import re

import pytest

from tests.site.test_pages import texts_of
from tools.site.pages import ROOT, pages
from tools.site.words import glossary, with_words, words_of

KNOWN = glossary()
NOTEBOOKS = [source for source in pages() if source.endswith(".ipynb")]
LINK = re.compile(r"glossary\.(?:md|html)#([\w-]+)")

# What architecture and contract of the project name as the field's words.
FIELD = """byte, token, token bytes, vocabulary, character FSA, detokenizing FST, token DFA,
byte class, token class, mask, allowed, feasible mass, forced, intervention,
trace, rejection, position"""


@pytest.mark.parametrize("source", NOTEBOOKS)
def test_the_words_of_a_notebook_have_an_entry(source: str) -> None:
    words = [word.casefold() for text in texts_of(source) for word in words_of(text)]
    missing = [word for word in words if word not in KNOWN]
    assert missing == [], "add an entry to docs/glossary.md"


def test_the_words_of_the_field_have_an_entry() -> None:
    assert [word for word in re.split(r",\s+", FIELD) if word.casefold() not in KNOWN] == []


def test_every_link_to_the_glossary_leads_to_an_entry() -> None:
    for source in pages():
        if source.endswith((".md", ".ipynb")):
            for text in texts_of(source):
                assert set(LINK.findall(text)) <= set(KNOWN.values()), source


def test_the_words_of_the_legend_have_an_entry() -> None:
    legend = (ROOT / "widgets" / "static" / "legend.js").read_text("utf-8")
    said = re.findall(r'^  \w+: \["([A-Za-z]+(?: [a-z]+)?)",', legend, re.MULTILINE)
    signs = {"filtered"}  # A column of numbers; the sampler's entry explains it.
    assert len(said) > 5  # Signs are said in more words, or in none.
    assert [word for word in said if word.casefold() not in KNOWN and word not in signs] == []


def test_no_entry_stands_twice() -> None:
    assert len(set(KNOWN.values())) == len(KNOWN)
    entries = re.findall(r"^### ", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE)
    assert len(entries) == len(KNOWN)


def test_words_become_links() -> None:
    known = {"token dfa": "token-dfa"}
    text = "*Token DFA*\n\nWords: a *token DFA* reads **ids**, a *cat* not.\n"
    assert words_of(text) == ["token DFA", "cat"]
    assert with_words(text, known, "../g.md") == (
        "*Token DFA*\n\nWords: a [*token DFA*](../g.md#token-dfa) reads **ids**, a *cat* not.\n"
    )
