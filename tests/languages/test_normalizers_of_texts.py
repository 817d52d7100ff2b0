"""The normal forms of a constraint's texts: every text that one becomes, and no others."""

from __future__ import annotations

import json
import unicodedata
from itertools import cycle, product
from random import Random

import pytest

import explorer
from explorer import Constraint, literal, regex
from explorer.automata.tree.charset import char_set
from explorer.budget import Meter
from explorer.errors import UnsupportedTokenizer
from explorer.languages.stages.forms.normal_forms import Form, joins
from explorer.languages.stages.forms.recomposed import in_normal_form
from explorer.languages.stages.preprocessed import Preprocessed
from explorer.vocabulary.tokenizer.encoder import TokenizersEncoder
from tests.languages.test_preprocessing import TOKENIZERS
from tests.tokens.canonical_oracle import accepts

FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")

# What the letters below decompose to; and all that they compose to.
POOLS = {
    "accents": "eao\u0301\u0323\u0321",
    "korean": "\u1100\u1161\u11a8a",
    "indic": "\u0915\u093c\u0301e",
    "look-alikes": "1fi\u304b\u3099\u0301",
}
PATTERNS = {
    "accents": (
        "[ea]\u0301\u0323?\u0321?|é|e\u0301a", "(e\u0301\u0323?|ọ\u0321)*", "(?s:.*)",
        "[a-zé]*", r"\w+", "é\u0321*|x", "(e[\u0301\u0323]?)*", "[^e]*",
        "é[\u0301\u0323\u0321]*",
    ),
    "korean": ("가\u11a8?|\u1100*", r"\w+", "(?s:.*)", "[각-힣]*", "\u1100*가*"),
    "indic": ("[\u0958é]*\u0301", "\u0958[\u0301\u093c]*", "(?s:.*)", r"\w*"),
    "look-alikes": ("[ﬁがか\uff9e]*", "①*", "(?s:.*)", r"\w+", "\uff9e*か"),
}  # fmt: skip


def every_text(pool: str, length: int) -> list[str]:
    """All texts whose decomposition has at most so many characters of a pool."""
    parts = {}
    for code in range(0x110000):
        if not 0xD800 <= code < 0xE000:
            apart = unicodedata.normalize("NFKD", chr(code))
            if all(char in pool for char in apart):
                parts[chr(code)] = len(apart)
    texts, found = [("", 0)], [""]
    for text, size in texts:
        for char, more in parts.items():
            if size + more <= length:
                texts.append((text + char, size + more))
                found.append(text + char)
    return found


@pytest.mark.parametrize(
    ("pool", "forms", "most"),
    [
        *((pool, (form,), 1) for pool, form in zip(POOLS, cycle(FORMS), strict=False)),
        *(pytest.param(pool, FORMS, 9, marks=pytest.mark.long) for pool in POOLS),
    ],
)
def test_a_normal_form_is_what_unicodedata_makes_of_every_text(
    pool: str, forms: tuple[Form, ...], most: int
) -> None:
    texts = every_text(POOLS[pool], 3)
    for pattern in PATTERNS[pool][:most]:
        language = regex(pattern)
        inside = [text for text in texts if language.accepts(text)]
        for form in forms:
            image = in_normal_form(form, language.dfa, Meter())
            assert image is not None, (pattern, form)
            expected = {unicodedata.normalize(form, text) for text in inside}
            found = {text for text in texts if image.accepts(text.encode())}
            assert found == expected, (pattern, form)


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
    with pytest.raises(UnsupportedTokenizer, match=r"NFC: it puts combining marks in order") as why:
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
        through(regex(r"\w*"), "NFKC").parse("1fi" * 6)


@pytest.mark.parametrize(
    "pattern", [r"\w+", r'"[a-zà-ÿ\u0300-\u036f]*"', "[\\w\\s\u0300-\u036f]*"], ids=["w", "q", "s"]
)
def test_what_gpt_neox_writes_of_texts_with_marks_is_a_path(pattern: str) -> None:
    vocabulary = TOKENIZERS["gpt-neox"]()
    constraint = regex(pattern)
    machine = explorer.compile(constraint.preprocessed(vocabulary), vocabulary)
    random, seen = Random(pattern), 0
    marks, letters = "\u0301\u0323\u0308\u0327\u0345", "abeiouAE\u1100\u1161éüñ\u0958ﬁ"
    for _ in range(400):
        text = "".join(random.choice(random.choice((marks, letters))) for _ in range(6))
        text = f'"{text}"' if pattern[0] == '"' else text
        if constraint.accepts(text):
            seen += 1
            ids = vocabulary.encode(text)
            assert ids is not None and accepts(machine, ids), ascii(text)
    assert seen > 5


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


@pytest.mark.parametrize(
    "pattern",
    ["[A-Za-zÀ-ÿ\x00-\x20\u200b京中日\u4e00-\u5000]*",
     pytest.param("(?s:.*)", marks=pytest.mark.long)],
    ids=["some", "all"],
)  # fmt: skip
def test_many_characters_are_replaced_each_by_itself(pattern: str) -> None:
    """BERT's normalizer: what it drops, puts spaces around and lowers."""
    tokenizer = TOKENIZERS["bert"]().encoder
    assert isinstance(tokenizer, TokenizersEncoder)
    normalize = tokenizer.tokenizer.normalizer.normalize_str  # pyright: ignore[reportOptionalMemberAccess]
    step = {
        "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
        "lowercase": True,
    }  # fmt: skip
    stage = Preprocessed((json.dumps(step),))
    language = regex(pattern)
    image = language.through(stage).dfa
    random, wide, seen = Random(pattern), "aAÉß\x00\u200b中日 \t\u0301ﬁİ\U0001f600", 0
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
