"""An explanation as a user meets it: its words, its forms, its corner cases."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import explorer
from explorer.analysis.characters.display import show_text
from explorer.analysis.explaining.explanation import Explanation, History, explain, explain_text
from explorer.errors import ExplorerError
from explorer.languages.regex.source import reading
from explorer.tokens.words import DEAD, FREE

TOKENS: list[bytes | None] = [
    "ä".encode(), "ö".encode(), b"\xc3", b"\xb6", b"a", b"ab", None, b"\xc3\xa4x", b"d", b"<b>",
    b"a", b"\xf0\x9f",
]  # fmt: skip
END = len(TOKENS)
VOCABULARY = explorer.Vocabulary.from_bytes(TOKENS, eos_ids=[END])


@pytest.fixture(scope="module")
def dfa() -> explorer.TokenDFA:
    return explorer.compile(explorer.regex("a?[ä]|a[de]"), VOCABULARY)


def test_a_shared_lead_byte_is_neutral(dfa: explorer.TokenDFA) -> None:
    why = explain(dfa, dfa.start, 1)
    assert (why.stage, why.byte_offset, why.char_offset) == ("constraint", 1, 0)
    assert why.expected == b"\xa4"
    assert "expects a or ä; this token writes ö" in why.message


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


def test_a_stored_machine_still_knows_its_empty_tokens(tmp_path: Path) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"", None], eos_ids=[3])
    explorer.compile(explorer.regex("a"), vocabulary).save(tmp_path / "a.dfa")
    dfa = explorer.TokenDFA.load(tmp_path / "a.dfa", vocabulary)
    assert [explain(dfa, 0, token).stage for token in (1, 2)] == ["empty_token", "not_text"]
    other = explorer.Vocabulary.from_bytes([b"a", None, b""], eos_ids=[3])
    with pytest.raises(ExplorerError, match="fingerprint"):
        explorer.TokenDFA.load(tmp_path / "a.dfa", other)


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
