"""Preprocessing of a text before the model sees it, compared with the tokenizers themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

import explorer
from explorer import Constraint, Vocabulary, literal, regex
from explorer.budget import Meter
from explorer.errors import ExplorerError, UnsupportedTokenizer
from explorer.languages.stages.declared import steps_of
from explorer.languages.stages.preprocessed import Preprocessed
from explorer.vocabulary.tokenizer.byte_alphabet import BYTE_OF
from tests.evidence import LONG, few
from tests.tokens.canonical_oracle import accepts
from tests.tokens.test_canonical import folder

MISTRAL = Path(str(resources.files("mistral_common"))) / "data"
CHARACTERS = "abcXYZ 0129.,!'éöÄßﬁ①½日本\tÉ"


def bert(cleanup: bool = False) -> Vocabulary:
    tokenizer = Tokenizer(
        models.WordPiece.from_file(
            str(folder() / "bert-base-uncased" / "vocab.txt"), unk_token="[UNK]"
        )
    )
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=cleanup)
    return Vocabulary.from_tokenizer(tokenizer, eos_ids=[102])


TOKENIZERS: dict[str, Callable[[], Vocabulary]] = {
    "sentencepiece": lambda: Vocabulary.from_file(folder() / "mistral-v3" / "tokenizer.model"),
    "gpt2": lambda: Vocabulary.from_file(folder() / "gpt2"),
    "mistral-v3": lambda: Vocabulary.from_file(folder() / "mistral-v3" / "tokenizer.json"),
    "gpt-neox": lambda: Vocabulary.from_file(folder() / "gpt-neox" / "tokenizer.json"),
    "pegasus": lambda: Vocabulary.from_file(folder() / "pegasus-unigram" / "tokenizer.json"),
    "bert-cleanup": lambda: bert(cleanup=True),
    "bert": bert,
    "tekken": lambda: Vocabulary.from_file(MISTRAL / "tekken_240911.json"),
    "mistral-common": lambda: Vocabulary.from_file(
        MISTRAL / "mistral_instruct_tokenizer_240323.model.v3"
    ),
    "tiny": lambda: explorer.load_model("tiny").vocabulary,
}


A_TEXT_AT_A_TIME = ("pegasus", "bert-cleanup", "bert")


@pytest.mark.parametrize("name", few(TOKENIZERS, 2))
def test_what_a_tokenizer_writes_is_a_path(name: str) -> None:
    vocabulary = TOKENIZERS[name]()
    machine, texts = None, regex(f"[{CHARACTERS}]*").preprocessed(vocabulary)
    if name in A_TEXT_AT_A_TIME:
        with pytest.raises(UnsupportedTokenizer, match="give a choice of texts"):
            explorer.compile(texts, vocabulary)
    else:
        machine = explorer.compile(texts, vocabulary)
    random, compared = Random(name), 0
    for _ in range(150):
        text = "".join(random.choices(CHARACTERS, k=random.randint(0, 9)))
        ids = vocabulary.encode(text)
        assert ids is not None
        data = [vocabulary.tokens[token] for token in ids]
        if None in data:
            continue  # The unknown token writes nothing.
        compared += 1
        assert machine is None or accepts(machine, ids), text
        if compared % 6 == 1:  # And it is the only thing that the text becomes.
            one = literal(text).preprocessed(vocabulary)
            assert one.examples(2) == [b"".join(part or b"" for part in data).decode()], text
    assert compared > 40


def pieces(tokenizer: Tokenizer, ids: tuple[int, ...]) -> list[str]:
    return [tokenizer.id_to_token(token) or "" for token in ids]


NORMALIZERS = {
    "prepend": normalizers.Prepend("▁"),
    "space": normalizers.Replace(" ", "▁"),
    "text": normalizers.Replace("aba", "xy"),
    "longer": normalizers.Replace("a ", "  b"),
    "lower": normalizers.Lowercase(),
    "strip": normalizers.Strip(),
    "left": normalizers.Strip(left=True, right=False),
    "right": normalizers.Strip(left=False, right=True),
    "kc": normalizers.NFKC(),
    "d": normalizers.NFD(),
    "accents": normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
    "bert": normalizers.BertNormalizer(lowercase=False),
}
SPLITTERS = {
    "none": None,
    "white": pre_tokenizers.WhitespaceSplit(),
    "words": pre_tokenizers.Whitespace(),
    "punctuation": pre_tokenizers.Punctuation(),
    "contiguous": pre_tokenizers.Punctuation("contiguous"),
    "removed": pre_tokenizers.Punctuation("removed"),
    "digits": pre_tokenizers.Digits(individual_digits=True),
    "numbers": pre_tokenizers.Digits(individual_digits=False),
    "delimiter": pre_tokenizers.CharDelimiterSplit("b"),
    "bert": pre_tokenizers.BertPreTokenizer(),
    "byte": pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False),
    "first": pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
    "never": pre_tokenizers.Metaspace(prepend_scheme="never", split=True),
    "always": pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    ),
    "pieces": pre_tokenizers.Sequence(
        [pre_tokenizers.Punctuation(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    ),
}
LETTERS = "ab A1.▁é!2\t①"


def flat(component: object, inner: str) -> list[dict[str, object]]:
    if component is None:
        return []
    text: Any = component.__getstate__()
    declared = json.loads(text)
    return declared[inner] if declared["type"] == "Sequence" else [declared]


@pytest.mark.parametrize("join", ["", " "])
@pytest.mark.parametrize(
    ("normalizer", "splitter"),
    [
        *few([(name, "none") for name in NORMALIZERS], 6),
        *few([("lower", name) for name in SPLITTERS], 6),
        *[("prepend", "white"), ("space", "first"), ("strip", "words"), ("text", "digits")],
    ],
)
def test_each_step_does_what_the_library_does(normalizer: str, splitter: str, join: str) -> None:
    normal, split = NORMALIZERS[normalizer], SPLITTERS[splitter]
    steps = [*flat(normal, "normalizers"), *flat(split, "pretokenizers")]
    steps.append({"type": "join", "before": join, "after": ""})
    stage = Preprocessed(tuple(json.dumps(step) for step in steps))
    random = Random(normalizer + splitter)
    texts = ["", " ", "a", "  a  ", "ababa", "aaba a b", "\t.a", "é é"]
    texts += [
        "".join(random.choices(LETTERS, k=random.randint(1, 8))) for _ in range(60 if LONG else 20)
    ]
    for text in texts:
        pieces = [normal.normalize_str(text)]
        if split is not None:
            pieces = [piece for piece, _ in split.pre_tokenize_str(pieces[0])]
        if splitter == "byte":
            pieces = [bytes(BYTE_OF[c] for c in piece).decode() for piece in pieces]
        mark = any("Metaspace" in str(step["type"]) for step in steps)
        expected = "".join(join + piece for piece in pieces if piece)
        if mark:
            expected = expected.replace("▁", " ")
        found = literal(text).through(stage)
        if mark:
            found = Constraint(found.source).through(
                Preprocessed((json.dumps({"type": "spaces", "marks": ["▁"]}),))
            )
        assert found.examples(2) == [expected], (text, pieces)


def test_llama_2_is_drawn_as_in_the_paper() -> None:
    steps = (
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        {"type": "spaces", "marks": ["▁"]},
    )
    stage = Preprocessed(tuple(json.dumps(step) for step in steps))
    drawn = stage.transducer(Meter())
    assert drawn is not None and drawn.num_states == 3
    assert {arc for arc in drawn.arcs if arc[0] == 0} == {(0, "", "▁", 1)}
    assert {(read, written) for _, read, written, _ in drawn.arcs} == {
        ("", "▁"), (" ", "▁"), ("other", "other"),
    }  # fmt: skip
    assert regex("(a b)?").through(stage).examples() == ["", " a b"]


# --- back again -----------------------------------------------------------------------------------


def test_what_the_tokens_spell_is_parsed_as_the_text_that_was_meant() -> None:
    vocabulary = TOKENIZERS["bert"]()
    cities = explorer.choice({"b": "Zürich", "c": "Berlin, Mitte"}).preprocessed(vocabulary)
    assert cities.parse(" zurich") == "b" and cities.parse(" berlin , mitte") == "c"
    prices = explorer.from_type(int).preprocessed(TOKENIZERS["mistral-v3"]())
    assert prices.parse(" 12") == 12
    # Off, a stage has nothing to undo; and what two texts are spelled as is not guessed at.
    assert explorer.choice(["Berlin"]).restrict("ascii").parse("Berlin") == "Berlin"
    alike = explorer.choice({"x": "Berlin", "y": "berlin"}).preprocessed(vocabulary)
    with pytest.raises(ExplorerError, match="spells 'Berlin' and 'berlin' alike"):
        alike.parse(" berlin")
    random = Random(0)
    for name in ("mistral-v3", "bert", "pegasus"):
        tokenizer = TOKENIZERS[name]()
        few_or_all = (
            "[a-z]{1,3}( [a-z]{1,3}){0,2}" if name == "mistral-v3" else "[abz]{2}( [abz]{2})"
        )
        pattern = regex(few_or_all).preprocessed(tokenizer)
        for _ in range(5):
            text = " ".join("".join(random.choices("abz", k=2)) for _ in "ab")
            ids = tokenizer.encode(text) or ()
            spelled = b"".join(tokenizer.tokens[token] or b"" for token in ids).decode()
            assert spelled != text and pattern.parse(spelled) == text


@pytest.mark.parametrize(("splitter", "cleanup"), [("bert", True), ("white", False)])
def test_word_piece_s_clean_up(splitter: str, cleanup: bool) -> None:
    """Spaces that the decoder takes away before punctuation, by the first piece of a word."""
    words = "[UNK] a b n t n't n'ta .a .b 's ' ##a ##. ##n't ##t ##' ."
    pieces_of = {p: n for n, p in enumerate(words.split())}
    made = Tokenizer(models.WordPiece(pieces_of, unk_token="[UNK]"))
    made.pre_tokenizer = SPLITTERS[splitter]
    made.decoder = decoders.WordPiece(cleanup=cleanup)
    vocabulary = Vocabulary.from_tokenizer(made, eos_ids=[0])
    step = json.loads(steps_of(vocabulary)[-2])
    assert step.get("tight", []) == (["'s", ".", "n't"] if cleanup else [])
    random, compared, tight = Random(splitter), 0, 0
    for _ in range(200):
        text = "".join(random.choices(["a", "b", " ", ".", "'", "s", "n", "t", "n't", " '"], k=6))
        ids = vocabulary.encode(text)
        assert ids is not None
        if 0 in ids:
            continue
        data = b"".join(vocabulary.tokens[token] or b"" for token in ids).decode()
        assert data.lstrip() == made.decode(list(ids)).lstrip()
        assert literal(text).preprocessed(vocabulary).examples(2) == [data], text
        compared += 1
        tight += data != "".join(f" {p}" if p[:2] != "##" else p[2:] for p in pieces(made, ids))
    assert compared > 40 and (tight > 10) == cleanup
