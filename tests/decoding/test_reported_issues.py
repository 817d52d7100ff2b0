"""What people reported of constrained decoding elsewhere, as table 4 of Cognetta et al. (2025)
lists it: tokenizers that prepend symbols, German umlauts, ``maxLength``, and one character class.

Each is run on both embedded models, one byte-level and one in the style of SentencePiece, and held
against Python's ``re`` or the tokenizer itself.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import explorer
from explorer import Sampler, choice, generate, json_schema, literal, regex
from explorer.languages.constraint import Constraint
from tests.evidence import LONG

MODELS = ["tiny", "tiny-sp"]
LATIN = "[a-zA-Zà-ÿÀ-ÖØ-öø-ÿ0-9]"
GERMAN = ["Österreich", "Müller", "Straße", "Größe", "äöüß"]


def written(lm: Any, constraint: Constraint, count: int, prompt: str = "Q: Why?\nA:") -> list[str]:
    texts = generate(
        lm, [prompt] * count, constraint, Sampler(1.5), 60, seed=7, masking_budget=False
    )
    assert all(text.data.decode() == text.text for text in texts if text.finished)
    return [text.text for text in texts if text.finished]


# Tokenizers that prepend symbols.


def test_a_symbol_before_a_word_is_its_space_and_nothing_else() -> None:
    lm = explorer.load_model("tiny-sp")
    tokens = lm.vocabulary.tokens

    def first(constraint: Constraint) -> set[bytes]:
        machine = explorer.compile(constraint, lm.vocabulary)
        return {tokens[i] or b"" for i in machine.allowed(machine.start).nonzero()[0]}

    bare, spaced = first(choice(["Paris", "17"])), first(choice([" Paris", " 17"]))
    assert b"Paris" in bare and b"1" in bare and not any(piece[:1] == b" " for piece in bare)
    assert b" Paris" in spaced and all(piece[:1] == b" " for piece in spaced)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("options", [["Paris", "Rome"], [" Paris", " Rome"], ["  x", "1 2"]])
def test_the_text_is_the_choice_to_the_last_space(name: str, options: list[str]) -> None:
    lm = explorer.load_model(name)
    for constraint in (choice(options), choice(options).canonical(lm.tokenizer)):
        assert set(written(lm, constraint, 6)) <= set(options)


@pytest.mark.parametrize("name", MODELS)
def test_the_canonical_ids_are_the_tokenizers_own(name: str) -> None:
    lm = explorer.load_model(name)
    for text in ("Paris is 17", "a  b", "{ x }", *(GERMAN if LONG else GERMAN[:1])):
        # The dummy prefix of one tokenizer is a space that the text then begins with.
        shown = f" {text}" if name == "tiny-sp" else text
        machine = explorer.compile(literal(shown).canonical(lm.tokenizer), lm.vocabulary)
        state = machine.start
        for token in lm.tokenizer.encode(text, add_special_tokens=False):
            assert machine.allowed(state)[token], (text, token)
            state = machine.step(state, token)
            assert state is not None
        assert machine.is_final(state)


# German umlauts.


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("canonical", [False, True])
def test_umlauts_are_written_whole(name: str, canonical: bool) -> None:
    lm = explorer.load_model(name)
    constraint = choice(GERMAN)
    if canonical:
        constraint = constraint.canonical(lm.tokenizer)
    texts = written(lm, constraint, 12)
    assert len(texts) == 12 and set(texts) <= set(GERMAN)


# maxLength in a schema.


@pytest.mark.parametrize("text", ["", "a" * 5, "ü" * 5, "水" * 5, "🙂" * 5, '"\\\n"' + "x"])
def test_max_length_counts_characters(text: str) -> None:
    constraint = json_schema({"type": "string", "maxLength": 5})
    assert constraint.accepts(json.dumps(text, ensure_ascii=False))
    longer = text + "ü" * (6 - len(text))
    assert not constraint.accepts(json.dumps(longer, ensure_ascii=False))
    assert not constraint.accepts(json.dumps(longer))


@pytest.mark.parametrize("name", MODELS)
def test_max_length_is_kept(name: str) -> None:
    lm = explorer.load_model(name)
    constraint = json_schema({"type": "string", "minLength": 2, "maxLength": 6})
    texts = written(lm, constraint, 16, "Write a name as JSON.\n")
    assert len(texts) == 16
    assert {len(json.loads(text)) for text in texts} <= set(range(2, 7))


# The character class.


def test_the_class_is_pythons() -> None:
    constraint = regex(LATIN)
    wanted = re.compile(LATIN)
    for code in [*range(0x250), 0x1E9E, 0x4E00, 0xFB00, 0x1F642]:
        character = chr(code)
        assert constraint.accepts(character) == bool(wanted.fullmatch(character)), hex(code)


@pytest.mark.parametrize("name", MODELS)
def test_the_class_is_decoded(name: str) -> None:
    lm = explorer.load_model(name)
    texts = written(lm, regex(f"{LATIN}{{1,8}}"), 24)
    assert len(texts) == 24 and all(re.fullmatch(f"{LATIN}{{1,8}}", text) for text in texts)
