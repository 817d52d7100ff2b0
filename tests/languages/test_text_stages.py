"""Stages of the text, of the library's normalizers, and how they travel."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import ClassVar

import pytest
import regex as peer_regex
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import explorer
from explorer import Constraint, Vocabulary, choice, literal, regex
from explorer.automata.interchange.interegular_bridge import alphabet_of
from explorer.automata.machine import Dfa
from explorer.automata.tree.charset import char_set
from explorer.budget import Meter
from explorer.errors import ConstraintError, EmptyConstraint, UnsupportedTokenizer
from explorer.languages.regex.properties import scripts
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from explorer.languages.stages.forms.normal_forms import Form, joins, normal_form_machines
from explorer.languages.stages.normalized import ValidUtf8
from explorer.languages.stages.preprocessed import Preprocessed
from explorer.languages.stages.stage import TokenStage, register_stage, stage_from_dict
from explorer.languages.stages.staged import Staged, stages_of, unstaged, with_stages
from explorer.vocabulary.tokenizer.encoder import TokenizersEncoder
from tests.evidence import LONG, examples
from tests.languages.test_preprocessing import TOKENIZERS
from tests.tokens.canonical_oracle import accepts, paths

# Stages of the text, held to `unicodedata`, `re`, the library `regex` and Python's own decoder.


ANY = regex("(?s:.*)")


# --- restricted -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "name"), [("Latin", "LATIN"), ("Greek", "GREEK"), ("Cyrillic", "CYRILLIC")]
)
def test_a_script_is_what_the_names_of_its_letters_say(script: str, name: str) -> None:
    machine = ANY.restrict(scripts=[script]).dfa
    for code in [*range(0x0600), *range(0x1E00, 0x2000), 0x4E00, 0x1F600]:
        char = chr(code)
        named = unicodedata.name(char, "")
        if unicodedata.category(char) in ("Lu", "Ll") and named.split()[0] in (
            "LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC", "ARMENIAN", "CJK",
        ):  # fmt: skip
            assert machine.accepts(char.encode()) == named.startswith(name), named
    assert machine.accepts(b"1, 2!")


@pytest.mark.parametrize("script", ["Han", "Thai", "Inherited", "Common", "Hangul"])
def test_scripts_are_those_of_the_peer(script: str) -> None:
    pattern = peer_regex.compile(rf"\p{{Script={script}}}")
    found = scripts()[script]
    for code in Random(script).sample(range(0xD800), 4000):
        assert (code in found) == bool(pattern.match(chr(code))), hex(code)


def test_sets_with_a_name_and_further_characters() -> None:
    text = regex(r"[a-zäß가]{1,3}")
    assert text.restrict("ascii").equivalent(regex("[a-z]{1,3}"))
    assert text.restrict("ascii", chars="ß").equivalent(regex("[a-zß]{1,3}"))
    assert text.restrict("hangul").equivalent(regex("가{1,3}"))
    assert text.restrict(["digits", "latin-1"]).equivalent(regex("[a-zäß]{1,3}"))
    with pytest.raises(EmptyConstraint):
        explorer.compile(text.restrict("digits"), Vocabulary.from_bytes([b"a"], eos_ids=[1]))


@settings(max_examples=examples(80))
@given(st.lists(st.sampled_from(["cat", "dog", "a", "s", " ", ",", "ä", "_"]), max_size=6))
def test_a_list_of_words_decides_by_the_words_of_a_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    words = ["cat", "dog", "a", "cats"]
    machine = _words()
    assert machine.accepts(text.encode()) == (set(re.findall(r"\w+", text)) <= set(words))


def _words(made: list[Constraint] = []) -> Constraint:  # noqa: B006 - Made once.
    if not made:
        made.append(ANY.restrict(words=["cat", "dog", "a", "cats"]))
    return made[0]


# --- normal forms ---------------------------------------------------------------------------------

LETTERS = "aeA\u00e9\u00e8\u1ebd\u1eb9\u1ec7c\u0327\u0301\u0300\u0323\u0302\u0304\u0345\u1fb3\u03b1"
OTHERS = "\u09c7\u09be\u09cb\u1100\u1161\u11a8\uac00\uac01\u0344\u212b\ufb01\u0340x\u05d0\u05b0"


def _normal_texts(form: Form, alphabet: str) -> Dfa:
    """The machine of the texts of some characters that are in a form."""
    return regex("(?s:.*)").restrict(chars=alphabet).normalized(form).dfa


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize("alphabet", [LETTERS, OTHERS, LETTERS[4:] + OTHERS[:8]])
def test_a_normal_form_is_that_of_unicodedata(form: Form, alphabet: str) -> None:
    machine = _normal_texts(form, alphabet)
    texts = ["".join(text) for n in range(3) for text in product(alphabet, repeat=n)]
    random = Random(form)
    texts += ["".join(random.choices(alphabet, k=random.randint(3, 6))) for _ in range(4000)]
    normal = [unicodedata.is_normalized(form, text) for text in texts]
    assert 20 < sum(normal) < len(texts)
    for text, expected in zip(texts, normal, strict=True):
        assert machine.accepts(text.encode()) == expected, ascii(text)


def _wide_texts(form: Form, count: int) -> list[str]:
    """Random texts of all of Unicode, most with characters that are joined or ordered."""
    everything = [chr(c) for c in (*range(0x20, 0xD800), *range(0xE000, 0x33480))]
    marks = [c for c in everything if unicodedata.combining(c)]
    parts = [unicodedata.decomposition(c).split() for c in everything]
    canonical = [part for part in parts if len(part) == 2 and part[0].isalnum()]
    pairs = [[chr(int(code, 16)) for code in part] for part in canonical]
    hangul = [
        chr(c) for c in (*range(0x1100, 0x1113), *range(0x115F, 0x1178), *range(0x11A6, 0x11C4))
    ]
    hangul += ["\uac00", "\uac01", "\uac1c"]
    kinds = [everything, marks, [a for a, _ in pairs], [b for _, b in pairs], hangul,
             [c for c, part in zip(everything, parts, strict=True) if part]]  # fmt: skip
    random = Random(form)
    texts: list[str] = []
    for _ in range(count):
        text = "".join(random.choice(random.choice(kinds)) for _ in range(random.randint(1, 5)))
        if random.random() < 0.7:
            text = unicodedata.normalize(form, text)
        if random.random() < 0.4:  # Nearly in the form.
            text += random.choice(random.choice(kinds[1:5]))
        texts.append(text)
    return texts


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_the_machines_of_all_of_unicode_are_those_of_unicodedata(form: Form) -> None:
    count = int(os.environ.get("EXPLORER_LONG_EXAMPLES") or 0) * 100 or 6000
    machines = normal_form_machines(form)
    texts = _wide_texts(form, count)
    normal = [unicodedata.is_normalized(form, text) for text in texts]
    assert count // 5 < sum(normal) < count - count // 20
    for text, expected in zip(texts, normal, strict=True):
        assert all(one.accepts(text.encode()) for one in machines) == expected, ascii(text)
    if form == "NFC":  # A mutant: either machine alone accepts texts that are not in the form.
        for machine in machines:
            assert any(
                machine.accepts(t.encode()) for t, ok in zip(texts, normal, strict=True) if not ok
            )


@pytest.mark.parametrize("pattern", [r"\w+", r'"[^"\\]*"', "(?s:.*)"])
def test_wide_constraints_are_normalized_whole(pattern: str) -> None:
    c = regex(pattern).normalized("NFC")
    for text in _wide_texts("NFC", 2000 if LONG else 150):
        wanted = unicodedata.is_normalized("NFC", text) and re.fullmatch(pattern, text) is not None
        assert c.accepts(text) == wanted, ascii(text)


def test_only_the_characters_concerned_count() -> None:
    plain = regex("[a-zA-Zà-ÿÀ-ÖØ-öø-ÿ0-9]*")
    assert plain.normalized().equivalent(plain)
    assert choice(["e\u0301", "\u00e9"]).normalized("NFD").examples() == ["e\u0301"]
    assert alphabet_of(regex("[a-c]ä?").dfa) is char_set([(97, 99), (0xE4, 0xE4)])
    with pytest.raises(ConstraintError, match="not a normal form"):
        plain.normalized("NFX")  # pyright: ignore[reportArgumentType]


def test_a_machine_that_forgets_the_pending_marks_is_noticed() -> None:
    # A mutant: a machine that only looks at neighbours says that these are normal.
    for text in ("\u1eb9\u0301", "\u00e9\u0323"):
        neighbours = all(
            unicodedata.is_normalized("NFC", text[k : k + 2]) for k in range(len(text))
        )
        machine = _normal_texts("NFC", text)
        assert machine.accepts(text.encode()) == unicodedata.is_normalized("NFC", text)
        if text[0] == "\u00e9":
            assert not neighbours


# --- valid UTF-8 ----------------------------------------------------------------------------------


def test_valid_utf8_is_what_python_decodes() -> None:
    machine = ValidUtf8().picture(Meter())
    assert machine.num_states == 8  # Höhrmann's, without the one that rejects.
    random = Random(0)
    interesting = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1]
    interesting += [0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF]
    for _ in range(20_000):
        data = bytes(random.choices(interesting, k=random.randint(1, 5)))
        try:
            data.decode()
            valid = True
        except UnicodeDecodeError:
            valid = False
        assert machine.accepts(data) == valid, data
    text = regex("ä*")
    assert text.valid_utf8().equivalent(text)


# --- all of them ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraint", "stage", "text"),
    [
        (regex("ж").restrict("ascii"), "restrict('ascii')", "ж"),
        (regex("ж|б").normalized().restrict(scripts=["Latin"]), "restrict(scripts=['Latin'])", "б"),
        (regex("e\u0301").normalized("NFC").restrict("latin-1"), "normalized('NFC')", "e\u0301"),
        (regex("ж").restrict("ascii") | regex("x").restrict(chars="y"), "", ""),
    ],
    ids=["one", "outer", "inner", "parts"],
)
def test_a_stage_that_leaves_nothing_is_named(
    constraint: Constraint, stage: str, text: str
) -> None:
    vocabulary = Vocabulary.from_bytes([b" ", "ж".encode(), b"b"], eos_ids=[3])
    with pytest.raises(EmptyConstraint) as raised:
        explorer.compile(constraint, vocabulary)
    said = str(raised.value)
    if stage:
        assert f"passes the stage {stage}, so" in said and repr(text) in said
        assert raised.value.evidence["stage"] == stage
    else:
        assert "has no word" in said


def test_stages_of_the_text_are_parts_like_any_other() -> None:
    name = regex(r"\w{1,3}").restrict("ascii")
    both = name + explorer.literal("!")
    assert both.accepts("abc!") and not both.accepts("äbc!")
    assert (name - choice(["abc"])).accepts("abd")
    assert isinstance(name.source, Staged)


# Stages of a constraint: they are values, they travel, and each can be switched off.


@pytest.fixture(scope="module")
def toy() -> Vocabulary:
    pieces = {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4}
    tokenizer = Tokenizer(models.BPE(pieces | {"<end>": 5}, [("a", "b"), ("b", "c")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return Vocabulary.from_tokenizer(tokenizer, eos_ids=[5])


def test_a_stage_that_is_off_does_nothing(toy: Vocabulary) -> None:
    source = regex("abc").canonical(toy).source
    off = Constraint(with_stages(source, [(stage, False) for stage, _ in stages_of(source)]))
    assert off.source.token_stages == () and isinstance(off.source, Staged)
    assert repr(off) == "regex('abc')"
    assert set(paths(explorer.compile(off, toy))) == {(0, 1, 2), (3, 2), (0, 4)}
    again = source_from_dict(source_to_dict(off.source))
    assert stages_of(again) == stages_of(off.source)
    assert unstaged(again) == regex("abc").source
    assert (off | regex("b")).accepts("b")  # It filters nothing, so it may be a part.


def test_the_text_of_a_staged_constraint_is_its_parts(toy: Vocabulary) -> None:
    named = explorer.choice({"first": "ab", "second": "ca"}).canonical(toy)
    assert named.parse("ca") == "second"
    assert named.examples() == ["ab", "ca"] and not named.accepts("c")
    machine = explorer.compile(named, toy)
    why = explorer.explain(machine, machine.start, 1)
    assert why.stage == "constraint" and "expects" in why.message


# Normalizers of texts: one by one where characters join, character by character where not.


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


@dataclass(frozen=True)
class Sonnet(TokenStage):
    """A stage without a function that applies it."""

    kind: ClassVar[str] = "sonnet of the tests"

    @property
    def title(self) -> str:
        return "sonnet"

    @property
    def about(self) -> str:
        return "fourteen lines"


def test_a_stage_of_a_notebook_is_registered_once(toy: Vocabulary) -> None:
    register_stage(Sonnet)
    assert register_stage(Sonnet) is Sonnet
    constraint = regex("a").through(Sonnet())
    assert stage_from_dict({"kind": Sonnet.kind}) == Sonnet()
    assert "sonnet_of_the_tests" in str(Sonnet()).replace(" ", "_")
    with pytest.raises(ConstraintError, match="does not say how"):
        explorer.compile(constraint, toy)

    class Other(Sonnet):
        pass

    with pytest.raises(ConstraintError, match="registered already"):
        register_stage(Other)


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
