"""Explanations: quotes, long tokens, discovered places, character views."""

from __future__ import annotations

import itertools
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.alphabet import in_quotes
from explorer.analysis.characters.display import show_text
from explorer.analysis.characters.view import ROOM, Characters
from explorer.analysis.explaining.explanation import Explanation, History, explain, explain_text
from explorer.analysis.verdict.background import SortedTokens, common_length
from explorer.automata.machine import Dfa, Int32, run
from explorer.automata.tree.charset import char_set
from explorer.errors import ExplorerError
from explorer.languages.constraint import regex
from explorer.languages.regex.source import reading
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.trie import trie_of
from explorer.tokens.words import DEAD, FREE
from explorer.vocabulary import Vocabulary
from tests.evidence import few

# An explanation as a user meets it: its words, its forms, its corner cases.


TOKENS: list[bytes | None] = [
    "ä".encode(), "ö".encode(), b"\xc3", b"\xb6", b"a", b"ab", None, b"\xc3\xa4x", b"d", b"<b>",
    b"a", b"\xf0\x9f",
]  # fmt: skip
END = len(TOKENS)
VOCABULARY = explorer.Vocabulary.from_bytes(TOKENS, eos_ids=[END])


@pytest.fixture(scope="module")
def dfa() -> explorer.TokenDFA:
    return explorer.compile(explorer.regex("a?[ä]|a[de]"), VOCABULARY)


def test_a_dead_end_has_a_word_and_the_place_where_tokens_stop(dfa: explorer.TokenDFA) -> None:
    why = explain(dfa, dfa.start, 2)
    assert why.stage == "dead_end" and why.verdict.dead_end is not None
    assert why.verdict.dead_end.witness == "ä".encode() and why.verdict.dead_end.offset == 1
    assert why.writable == b"\xa4"  # As one token, though not after this one.


def test_a_control_token_after_which_nothing_can_be_written_is_a_dead_end() -> None:
    names = {2: "<t>", 3: "</t>"}
    vocab = explorer.Vocabulary((b"a", b"b", None, None, None), (4,), special=names)
    constraint = explorer.token("<t>") + explorer.regex("[0-9]+") | explorer.token("</t>")
    dfa = explorer.compile(constraint, vocab)
    why = explorer.explain(dfa, dfa.start, 2)
    assert why.stage == "dead_end" and why.verdict.dead_end is not None
    assert why.verdict.dead_end.witness == vocab.written([2]) + b"0"
    assert why.verdict.dead_end.offset == len(vocab.written([2]))


def test_without_a_text_a_shortest_one_is_assumed(dfa: explorer.TokenDFA) -> None:
    state = dfa.step(dfa.start, 4)
    assert state is not None
    why = explain(dfa, state, 4)
    assert why.assumed_prefix and why.verdict.prefix == b"a"
    assert "for example after 'a'" in why.message
    given = explain(dfa, state, 4, text="a")
    assert not given.assumed_prefix and "for example" not in given.message


def test_several_tokens_of_text_explain_the_first_that_is_masked(dfa: explorer.TokenDFA) -> None:
    why = explain(dfa, dfa.start, "aab")
    assert why.asked == (4, 5) and why.index == 1 and why.token == 5
    assert why.verdict.prefix == b"a"
    assert "fewest tokens" in why.note
    assert explain(dfa, dfa.start, "a").same_bytes == (10,)
    with pytest.raises(ExplorerError, match="No tokens of this vocabulary"):
        explain(dfa, dfa.start, "zz")
    with pytest.raises(ExplorerError, match="empty text"):
        explain(dfa, dfa.start, "")


@pytest.mark.parametrize("text", ["x", "(x)", "((x", "((x))", "(((x))"])
def test_tokens_that_no_machine_has_met_are_explained_as_if_each_had_been_asked(text: str) -> None:
    vocab = Vocabulary.from_bytes([b"(", b")", b"x"], eos_ids=[3])
    grammar = explorer.grammar('root ::= "(" root ")" | "x"')

    def asked(*parts: str) -> Explanation:
        machine, state = explorer.compile(grammar, vocab), 0
        for token in (b"()x".index(byte) for byte in parts[0].encode()):
            state = machine.step(state, token)
            assert state is not None
        return explain(machine, state, parts[1], text=parts[0])

    for more in (")" * 9, "x"):
        fails = next(k for k in range(1, 10) if not asked(text, more[:k]).allowed)
        once, known = asked(text, more), asked(text + more[: fails - 1], more[fails - 1])
        assert (once.expected, once.verdict.may_end) == (known.expected, known.verdict.may_end)
        assert once.message.partition(": ")[2] == known.message.partition(": ")[2]


def test_the_tokenizer_splits_where_there_is_one(tekken_131k: explorer.Vocabulary) -> None:
    dfa = explorer.compile(explorer.regex("[a-z ]+"), tekken_131k)
    why = explain(dfa, dfa.start, "the cat 9")
    assert why.asked == tekken_131k.encode("the cat 9")
    assert why.verdict.data == b"9" or why.verdict.data == b" 9"
    assert why.index == len(why.asked) - 1 and why.stage == "constraint"


def test_a_dummy_prefix_is_not_taken_for_the_text(sentencepiece_32k: explorer.Vocabulary) -> None:
    dfa = explorer.compile(explorer.regex("[a-z]+"), sentencepiece_32k)
    why = explain(dfa, dfa.start, "the")
    assert why.verdict.data == b"the" and why.allowed
    assert "would write ' the'" in why.note


@pytest.mark.parametrize(
    ("state", "token", "stage"),
    [
        (explorer.DONE, 4, "constraint"), (explorer.DONE, END, "allowed"),
        (explorer.DONE, 6, "not_text"), (DEAD, 4, "constraint"), (DEAD, END, "end_of_text"),
        (FREE, 4, "allowed"), (FREE, 6, "allowed"), (FREE, 99, "beyond_vocabulary"),
        (0, -1, "beyond_vocabulary"), (0, END + 1, "beyond_vocabulary"),
    ],
)  # fmt: skip
def test_sentinels_and_strange_ids(
    dfa: explorer.TokenDFA, state: int, token: int, stage: str
) -> None:
    why = explain(dfa, state, token)
    assert why.stage == stage
    if 0 <= token <= END:
        assert why.allowed == bool(dfa.allowed(state)[token])
    assert why.message and why.paragraph and json.dumps(why.to_dict())


def test_a_named_id_is_special_and_an_unnamed_one_writes_nothing() -> None:
    vocabulary = explorer.Vocabulary(
        (b"a", None, None, None, None), (3,), special={1: "<pad>", 4: "##"},
        empty_ids=frozenset([4]),
    )  # fmt: skip
    dfa = explorer.compile(explorer.regex("a"), vocabulary)
    assert [explain(dfa, 0, token).stage for token in (1, 2, 4)] == [
        "not_text", "not_text", "empty_token",
    ]  # fmt: skip
    assert "<pad> (id 1) is masked" in explain(dfa, 0, 1).message
    assert "## (id 4) is masked" in explain(dfa, 0, 4).message
    assert not dfa.allowed(0)[4]


def test_earlier_is_the_last_position_where_it_was_allowed(dfa: explorer.TokenDFA) -> None:
    state = dfa.step(dfa.start, 4)
    assert state is not None
    why = explain(dfa, state, 4, history=History((dfa.start, state), (10,)))
    assert why.earlier is not None and (why.earlier.position, why.earlier.chosen) == (0, 10)
    assert "It was allowed at position 0, where 'a' was chosen." in why.paragraph
    assert explain(dfa, state, 9, history=History((dfa.start, state), (10,))).earlier is None


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def parsed(why: Explanation) -> tuple[set[str], str]:
    reader = _Text()
    bundle = why._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"} and bundle["text/plain"] == why.paragraph
    reader.feed(bundle["text/html"])
    return reader.tags, "".join(reader.words)


def test_markup_in_tokens_and_patterns_stays_text() -> None:
    hostile = [b"<script>alert(1)</script>", b"<img src=x>", b"&amp;", b"a"]
    vocabulary = explorer.Vocabulary(
        (*hostile, None, None), (5,), special={4: "<script>", 5: "</s>"}
    )
    dfa = explorer.compile(explorer.regex("a|<script>b?</script>|&"), vocabulary)
    for token in range(6):
        tags, words = parsed(explain(dfa, dfa.start, token))
        assert tags <= {"div", "span", "br"}
        if vocabulary.tokens[token]:
            assert show_text(vocabulary.tokens[token] or b"") in words
    assert "<script>b?</script>" in parsed(explain(dfa, dfa.start, 1))[1]


def test_a_dictionary_without_searches(dfa: explorer.TokenDFA) -> None:
    why = explain(dfa, dfa.start, 1)
    quick, full = why.to_dict(lazy=False), why.to_dict()
    assert set(quick) < set(full)
    assert quick["stage"] == "constraint" and quick["expected"] == [0xA4]
    assert json.loads(json.dumps(full))["nearest"] == list(why.nearest)
    assert "\n" not in why.message


@pytest.mark.parametrize(
    ("pattern", "text", "stage", "offset", "char"),
    [
        ("a?[ä]", "ä", "allowed", None, None), ("a?[ä]", "a", "end_of_text", None, None),
        ("a?[ä]", "aö", "constraint", 2, 1), ("a?[ä]", "", "end_of_text", None, None),
        ("a?[ä]", "äx", "constraint", 2, 1), ("[^\\s\\S]", "a", "constraint", 0, 0),
    ],
)  # fmt: skip
def test_a_text_without_a_tokenizer(
    pattern: str, text: str, stage: str, offset: int | None, char: int | None
) -> None:
    why = explain_text(explorer.regex(pattern), text)
    assert (why.stage, why.byte_offset, why.char_offset) == (stage, offset, char)
    assert why.allowed == (re.fullmatch(pattern, text) is not None)
    assert why.message and json.dumps(why.to_dict()) and why._repr_mimebundle_()


def test_a_message_is_one_line_whatever_the_pattern() -> None:
    pattern = "(?x)\n  a  # first\n  [\n b]{2}(?!\n c)" + "[" + "x" * 500 + "]"
    constraint = explorer.regex(pattern)
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"\n", b"b", b"x", b"q"], eos_ids=[5])
    dfa = explorer.compile(constraint, vocabulary)
    state = dfa.start
    while not dfa.is_final(state):
        for token in range(6):
            message = explain(dfa, state, token).message
            assert "\n" not in message and len(message) < 600
        state = next(q for k in range(5) if (q := dfa.step(state, k)) is not None and q != state)


def test_a_lone_surrogate_is_no_text() -> None:
    assert explain_text(explorer.regex("."), "\ud800").stage == "constraint"


def test_the_name_of_a_special_token_is_not_the_token() -> None:
    vocabulary = explorer.Vocabulary.from_file(
        Path(explorer.__file__).parent / "decoding" / "models" / "tiny"
    )
    machine = explorer.compile(explorer.regex("[a-z]+"), vocabulary)
    why = explain(machine, machine.start, "<|endoftext|>")
    assert why.verdict.data == b"<"
    hint = "Id 1 is a special token of this name: ask with --token-id 1."
    assert why.hints[0] == hint and hint not in explain(machine, machine.start, "<").hints


@pytest.mark.parametrize(
    ("leaf", "more", "wide"),
    [
        ("[0-2]", "3", "[0-3]"), ("[1-9]", "0", "[0-9]"), ("[0-2]", "7", "[0-27]"),
        ("[a-z ]", ".", "[a-z .]"), ("[0-9]", "dog", "[0-9dog]"), ("[]a]", "b", "[]ab]"),
        ("[a-]", "b", "[ba-]"), ("[-a]", "]", r"[-a\]]"), ("😀", "😁", "[😀😁]"),
        ('"', "'", "[\"']"), ("-", "a", r"[\-a]"), (" ", "a", "[ a]"), (r"\d", "x", r"[\dx]"),
        (".", "\n", r"(?:.|[\n])"), ("[^a]", "a", "(?:[^a]|[a])"), ("x", "\\", r"[x\\]"),
    ],
)  # fmt: skip
def test_a_wider_class_is_written_as_a_person_would(leaf: str, more: str, wide: str) -> None:
    assert reading(leaf, more) == wide
    for character in more:
        assert re.fullmatch(wide, character)
    for code in range(0x250):  # What was allowed stays so, and nothing else comes.
        as_before = re.fullmatch(leaf, chr(code))
        assert bool(re.fullmatch(wide, chr(code))) == bool(as_before or chr(code) in more)


# Text in sentences: the characters themselves, in quotes, and one backslash for one.


ESCAPE = re.compile(r"\\(n|r|t|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|['\"])")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("\\", r"'\'"),
        (r"C:\dir", r"'C:\dir'"),
        (r"a\d+", r"'a\d+'"),
        ("\n", r"'\n'"),
        (r"\n", r"'\\n'"),
        ("it's", '"it\'s"'),
        ("\u202e", r"'\u202e'"),
        ("ä␣日", "'ä␣日'"),
        ("", "''"),
    ],
)
def test_a_person_sees_the_character_itself(text: str, wanted: str) -> None:
    assert in_quotes(text) == wanted
    assert show_text(text.encode()) == wanted


@given(st.text(), st.text())
def test_different_texts_look_different(one: str, other: str) -> None:
    assert (in_quotes(one) == in_quotes(other)) == (one == other)


@given(st.text())
def test_everything_has_ink_and_stands_on_one_line(text: str) -> None:
    shown = in_quotes(text)
    assert shown.isprintable()
    assert shown[0] == shown[-1] in "'\""
    # Python reads it as the text again, but for the single backslashes.
    plain = "\\" not in text and not ESCAPE.search(text)
    if plain and "'" not in text:
        assert shown == repr(text)


# Tokens of 210,000 bytes, of which some vocabularies have one: no question takes their square.


LENGTH = 210_000


def machine(*tokens: bytes, lazy: bool = False) -> TokenMachine:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    return explorer.compile(explorer.regex("a*b*"), vocabulary, lazy=lazy)


class Counting(SortedTokens):
    """Sorted tokens that count the bytes of the prefixes that are looked up."""

    read = 0

    def starting_with(self, prefix: bytes) -> Int32:
        self.read += len(prefix)
        return super().starting_with(prefix)


def test_the_work_for_the_nearest_tokens_grows_with_the_length() -> None:
    half = LENGTH // 2
    tokens = (b"a", b"b", b"a" * LENGTH, b"ab" * half, bytes(range(256)))
    counting = Counting(trie_of(explorer.Vocabulary.from_bytes(tokens, eos_ids=[5]), None))
    for data in tokens:
        assert counting.nearest(data, np.ones(5, np.bool_), np.zeros(5), 5)
    assert 0 < counting.read < 20 * LENGTH


@pytest.mark.parametrize("lazy", few([False, True], 1))
def test_a_token_of_210_000_bytes_is_explained(lazy: bool) -> None:
    half = LENGTH // 2
    explained = machine(b"a", b"b", b"a" * LENGTH, b"ab" * half, bytes(range(256)), lazy=lazy)
    for token, allowed in ((2, True), (3, False), (4, False)):
        why = explain(explained, explained.start, token)
        assert why.allowed is allowed
        assert str(why) and why.to_dict()["nearest"]
    # Both bytes are tokens, so whatever the machine reads can be written.
    assert explain(explained, explained.start, 2).verdict.writable == b"ab"
    assert explain(explained, explained.start, 3).verdict.writable == b"b"


def test_the_nearest_tokens_are_those_of_every_prefix() -> None:
    """Against all prefixes one by one, as the definition has it."""
    texts = [bytes(t) for n in range(1, 4) for t in itertools.product(b"ab\xff", repeat=n)]
    random = np.random.default_rng(0)
    for _ in range(200):
        some = [texts[k] for k in random.integers(0, len(texts), 8)]
        tokens = SortedTokens(trie_of(explorer.Vocabulary.from_bytes(some, eos_ids=[8]), None))
        allowed = random.random(8) < 0.6
        rank = random.random(8)
        for data in (b"", *texts):
            near = sorted(
                np.flatnonzero(allowed).tolist(),
                key=lambda token: (-common_length(some[token], data), -rank[token]),
            )
            assert tokens.nearest(data, allowed, rank, 3) == tuple(near[:3])


# Constraints without a closed form within their budget are explained, traced and trapped too.


TOKENS_OF_DISCOVERED = [
    b'"',
    b"a",
    b"ab",
    b"abab",
    b"\\",
    b"n",
    "é".encode(),
    b"\xc3",
    b"x",
    b"12",
    b"1",
]
VOCABULARY_OF_DISCOVERED = Vocabulary.from_bytes(
    [*TOKENS_OF_DISCOVERED, None], eos_ids=[len(TOKENS_OF_DISCOVERED)]
)
SMALL = explorer.Budget(states=2000)

LONG = r'"(?:[a-z]|\\n){3,4000}"[0-9]{2}'
SHORT = r'"(?:[a-z]|\\n){3,14}"[0-9]{2}'
"""The same with a bound that a table holds; after a few characters nothing tells them apart."""


def test_it_is_explained_as_the_closed_form_is() -> None:
    long = explorer.compile(explorer.regex(LONG), VOCABULARY_OF_DISCOVERED, SMALL)
    short = explorer.compile(explorer.regex(SHORT), VOCABULARY_OF_DISCOVERED)
    assert long.report.byte_machine == "discovered" and not isinstance(long.byte_machine, Dfa)
    here, there = long.start, short.start
    for token in (0, 2, 3, 0):
        for asked in range(len(TOKENS_OF_DISCOVERED) + 1):
            ours, theirs = explain(long, here, asked), explain(short, there, asked)
            assert ours.allowed == theirs.allowed and ours.stage == theirs.stage
            assert ours.expected == theirs.expected
            texts = [
                [place.text for part in found.parts for place in part.positions]
                for found in (ours, theirs)
            ]
            assert texts[0] == [text.replace("{3,14}", "{3,4000}") for text in texts[1]]
            assert ours.prose.replace("4000", "14") == theirs.prose
        after, beside = long.step(here, token), short.step(there, token)
        assert after is not None and beside is not None
        here, there = after, beside


def test_a_place_is_named_by_its_count() -> None:
    """Only a run with the counts knows what may come after the fewest and before the most."""
    long = explorer.regex("(?:ab){3,9000}c")
    assert [p.text for p in explain_text(long, "ababx").parts[0].positions] == ["a"]
    assert [p.text for p in explain_text(long, "abababx").parts[0].positions] == ["a", "c"]
    assert [p.text for p in explain_text(long, "ab" * 9000 + "x").parts[0].positions] == ["c"]


def test_a_text_is_read_where_no_table_holds_the_language() -> None:
    long = explorer.regex("(?:[ab]{0,5000}c){0,5000}")
    assert long.accepts("ab" * 2500 + "c" + "ac") and not long.accepts("a" * 5001 + "c")
    found = explain_text(long, "a" * 5001)
    assert found.verdict.byte_offset == 5000 and found.verdict.expected == b"c"


# The characters at a state are those that Python's `re` reads there, all of Unicode tried.


EVERY = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]


def read_by(pattern: str) -> list[int]:
    """The code points of the characters that match, found one by one in all of Unicode."""
    single = re.compile(pattern)
    return [ord(c) for c in EVERY if single.fullmatch(c)]


CLASSES = [
    ".", r"\w", r"[^\W\d_]", r"\s", "[ä🙂a-c]", "[^ä🙂]", "[\u0800-\uffff]", "[😀-🙂𐀀]", "(?s:.)",
    "[\u07ff-\u0801\U0010fffe]",
]  # fmt: skip


@pytest.mark.parametrize("pattern", CLASSES)
def test_a_class_is_seen_as_its_characters(pattern: str) -> None:
    dfa = regex(f"(?:{pattern})x?").dfa
    wanted = char_set((code, code) for code in read_by(pattern))
    assert Characters(dfa).expected(dfa.start) is wanted


@pytest.mark.parametrize("pattern", few(CLASSES, 5))
def test_within_a_character_only_those_that_begin_so(pattern: str) -> None:
    dfa = regex(f"(?:{pattern})x?").dfa
    view = Characters(dfa)
    wanted = set(read_by(pattern))
    tried = 0
    for tail in (
        "ä".encode()[:1],
        "中".encode()[:1],
        "中".encode()[:2],
        "🙂".encode()[:2],
        b"\xf4",
    ):
        if run(dfa, dfa.start, tail)[-1] < 0:
            continue
        ranges = view.expected(dfa.start, tail).ranges
        found = {code for low, high in ranges for code in range(low, high + 1)}
        assert found == {code for code in wanted if chr(code).encode().startswith(tail)}
        tried += 1
    assert tried or pattern == r"\s"


def test_a_view_that_takes_every_block_for_full_is_caught() -> None:
    dfa = regex("[ä🙂]").dfa
    view = Characters(dfa)
    view._known[:] = 1
    assert view.expected(dfa.start) is not Characters(dfa).expected(dfa.start)
    assert np.any(Characters(dfa)._known == 0)


def test_more_ranges_than_there_is_room_for_at_first() -> None:
    codes = range(0x4E00, 0x4E00 + 3 * ROOM, 2)
    dfa = regex(f"[{''.join(map(chr, codes))}]").dfa
    assert Characters(dfa).expected(0) is char_set((code, code) for code in codes)
