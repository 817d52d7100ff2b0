"""Normalizers of texts: one by one where characters join, character by character where not."""

from __future__ import annotations

import json
import unicodedata
from itertools import product
from random import Random

import pytest

import explorer
from explorer import Constraint, literal, regex
from explorer.automata.tree.charset import char_set
from explorer.errors import UnsupportedTokenizer
from explorer.languages.stages.forms.normal_forms import Form, joins
from explorer.languages.stages.preprocessed import Preprocessed
from explorer.vocabulary.tokenizer.encoder import TokenizersEncoder
from tests.languages.test_preprocessing import TOKENIZERS
from tests.tokens.canonical_oracle import accepts

FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")


def test_where_characters_are_brought_into_a_form_one_by_one() -> None:
    """`joins` is false exactly where no character changes with the ones before it."""
    random = Random(3)
    chosen = [chr(c) for c in (*range(0x20, 0x400), *range(0x1100, 0x1200), 0xFF9E, 0x3099, 0x304B)]
    for form in FORMS:
        for _ in range(25):
            chars = random.choices(chosen, k=3)
            alphabet = char_set((ord(c), ord(c)) for c in chars)
            texts = ["".join(text) for text in product(chars, repeat=3)]
            apart = all(
                unicodedata.normalize(form, text)
                == "".join(unicodedata.normalize(form, char) for char in text)
                for text in texts
            )
            assert apart or joins(form, alphabet), (form, chars)


def through(constraint: Constraint, form: Form) -> Constraint:
    return constraint.through(Preprocessed((json.dumps({"type": form}),)))


def test_marks_without_end_that_change_places_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedTokenizer, match=r"NFC: it composes and orders marks") as why:
        through(regex("(\u0301\u0323)*"), "NFC").examples(1)
    # The remedy works.
    assert "c.normalized('NFC').preprocessed(tokenizer)" in str(why.value)
    normal = regex("(\u0301\u0323)*").normalized("NFC")
    assert through(normal, "NFC").equivalent(normal)
    # Few texts are rewritten one by one.
    some = explorer.literal("e" + "\u0301\u0323" * 6)
    assert through(some, "NFC").examples(2) == [
        unicodedata.normalize("NFC", "e" + "\u0301\u0323" * 6)
    ]


def test_texts_that_become_the_same_are_not_guessed_at() -> None:
    cities = through(explorer.choice({"a": "Zu\u0308rich", "b": "e\u0301\u0323"}), "NFC")
    assert cities.parse("Zürich") == "a" and cities.parse("ẹ\u0301") == "b"
    korean = through(explorer.choice({"a": "\u1100\u1161\u11a8", "b": "\u1100"}), "NFC")
    assert korean.parse("각") == "a" and korean.parse("\u1100") == "b"
    with pytest.raises(explorer.errors.ConstraintError, match="alike"):
        through(regex("é|e\u0301"), "NFC").parse("é")
    assert through(regex("(é|x)+"), "NFC").parse("éxé") == "éxé"
    with pytest.raises(explorer.errors.ConstraintError, match="alike"):  # Millions of texts.
        through(regex("[1①fiﬁ]*"), "NFKC").parse("1fi" * 6)


def test_what_gpt_neox_writes_of_texts_in_its_normal_form_is_a_path() -> None:
    vocabulary = TOKENIZERS["gpt-neox"]()
    constraint = regex(r"\w+").normalized("NFC")
    machine = explorer.compile(constraint.preprocessed(vocabulary), vocabulary)
    random, seen = Random(1), 0
    for _ in range(400):
        text = "".join(random.choice("abeAE\u1100\u1161éüñ\u0301") for _ in range(6))
        if constraint.accepts(text):
            seen += 1
            ids = vocabulary.encode(text)
            assert ids is not None and accepts(machine, ids), ascii(text)
    assert seen > 5


@pytest.mark.long
def test_few_texts_with_marks_pass_a_map_of_pieces() -> None:
    """Pegasus looks at whole written characters; a few texts are asked of it one by one."""
    vocabulary = TOKENIZERS["pegasus"]()
    for text in ("e\u0301 x", "fi\r\nn\u0303", "\u1100\u1161"):
        ids = vocabulary.encode(text)
        assert ids is not None
        spelled = b"".join(vocabulary.tokens[token] or b"" for token in ids).decode()
        if "\ufffd" not in spelled and None not in [vocabulary.tokens[token] for token in ids]:
            assert literal(text).preprocessed(vocabulary).examples(2) == [spelled]
    with pytest.raises(UnsupportedTokenizer, match=r"Precompiled.*U\+0301"):
        regex("e\u0301*").preprocessed(vocabulary).examples(1)


def test_characters_are_replaced_each_by_itself() -> None:
    """BERT's normalizer: what it drops, puts spaces around and lowers."""
    tokenizer = TOKENIZERS["bert"]().encoder
    assert isinstance(tokenizer, TokenizersEncoder)
    normalize = tokenizer.tokenizer.normalizer.normalize_str  # pyright: ignore[reportOptionalMemberAccess]
    step = {
        "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
        "lowercase": True,
    }  # fmt: skip
    stage = Preprocessed((json.dumps(step),))
    language = regex("[A-Za-zÀ-ÿ\x00-\x20\u200b京中日\u4e00-\u5000]*")
    image = language.through(stage).dfa
    random, wide, seen = Random(1), "aAÉß\x00\u200b中日 \t\u0301ﬁİ\U0001f600", 0
    for _ in range(300):
        text = "".join(random.choices(wide, k=random.randint(0, 4)))
        if language.accepts(text):
            seen += 1
            assert image.accepts(normalize(text).encode()), ascii(text)
    assert seen > 100
    assert not image.accepts(b"A") and not image.accepts("中".encode())
    cities = explorer.choice({"m": "München", "k": "京都", "b": "\x00B"}).through(stage)
    assert [cities.parse(text) for text in ("munchen", " 京  都 ", "b")] == ["m", "k", "b"]
    letters = regex("[\u4e00-\u5000]é").through(stage)
    assert letters.parse(" 中 e") == "中é"
    with pytest.raises(UnsupportedTokenizer, match="changes 233,"):
        regex("(?s:.*)").through(stage).examples(1)
