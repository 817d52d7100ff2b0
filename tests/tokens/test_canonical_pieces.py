"""The canonical filter of models that look ahead, and of SentencePiece's own files.

The oracle is the library again: on real tokenizers, and on small ones made by chance, of which all
texts are written. Scores of those are few, so that paths are often equal.
"""

from __future__ import annotations

import io
from importlib import resources
from itertools import product
from pathlib import Path
from random import Random

import pytest
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

import explorer
from explorer import Constraint, Vocabulary
from explorer.errors import ExplorerError, IncompatibleVocabulary, UnsupportedTokenizer
from explorer.vocabulary.canonical.rules import rules_of
from tests.evidence import few
from tests.languages.test_preprocessing import bert
from tests.tokens.canonical_oracle import Encode, accepts, paths, sampled, written
from tests.tokens.test_canonical import folder

NO_PREFIX = b"\x1a\x02\x18\x00"
"""A second normalizer specification, which a reader merges into the first: no dummy prefix."""


def of_model_file(data: bytes) -> Encode:
    """SentencePiece's own library, without the dummy prefix."""
    processor = SentencePieceProcessor()
    processor.LoadFromSerializedProto(data + NO_PREFIX)
    return lambda text: tuple(processor.encode(text, out_type=int))


def pegasus() -> tuple[Vocabulary, Encode]:
    path = folder() / "pegasus-unigram" / "tokenizer.json"
    own = Tokenizer.from_file(str(path))
    own.no_truncation()
    # Without its prefix: its own splitter drops the space that says whether there is one.
    own.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=True)
    vocabulary = Vocabulary.from_file(path)
    return vocabulary, lambda text: tuple(own.encode(text, add_special_tokens=False).ids)


def wordpiece() -> tuple[Vocabulary, Encode]:
    vocabulary = bert()
    return vocabulary, lambda text: vocabulary.encode(text) or ()


def model_file(path: Path) -> tuple[Vocabulary, Encode]:
    return Vocabulary.from_file(path), of_model_file(path.read_bytes())


MISTRAL = Path(str(resources.files("mistral_common"))) / "data"
CASES = {
    "bert": wordpiece,
    "pegasus": pegasus,
    "mistral-v3": lambda: model_file(folder() / "mistral-v3" / "tokenizer.model"),
    "mistral-common": lambda: model_file(MISTRAL / "mistral_instruct_tokenizer_240323.model.v3"),
}
FINITE = {
    "choices": " (red|orange|yellow|green|blue|berlin|bern|unbelievable|internationalization)",
    "numbers": r" [0-2]?[0-9]( :)?( ?[0-5])?",
    "words": r" (i|we|it)( ' (m|ll|s))?| un[a-f]{1,2}able",
}
_made: dict[str, tuple[Vocabulary, Encode]] = {}


@pytest.fixture(params=few(CASES, 2))
def case(request: pytest.FixtureRequest) -> tuple[Vocabulary, Encode]:
    name: str = request.param
    if name not in _made:
        _made[name] = CASES[name]()
    return _made[name]


def written_by(vocabulary: Vocabulary, encode: Encode, text: str) -> tuple[int, ...] | None:
    """The library's tokens for a text, if they spell that text."""
    path = encode(text)
    known = all(vocabulary.tokens[token] is not None for token in path)
    return path if known and written(vocabulary, path) == text.encode() else None


# --- the law --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", few(FINITE, 1))
def test_all_paths_are_what_the_library_writes(case: tuple[Vocabulary, Encode], name: str) -> None:
    vocabulary, encode = case
    constraint = explorer.regex(FINITE[name])
    machine = explorer.compile(constraint.canonical(vocabulary), vocabulary)
    expected = {written_by(vocabulary, encode, text) for text in constraint.examples(5000)}
    assert set(paths(machine)) == expected - {None}
    assert len(expected) > 5


@pytest.mark.parametrize(
    "pattern", few(["( [a-z]+)*( [.!?])?", r"( [a-z0-9]{1,9}| \(| \)| ,)*"], 1)
)
def test_sampled_paths_and_texts_are_the_librarys(
    case: tuple[Vocabulary, Encode], pattern: str
) -> None:
    vocabulary, encode = case
    machine = explorer.compile(explorer.regex(pattern).canonical(vocabulary), vocabulary)
    random = Random(pattern)
    for _ in range(3):
        path = sampled(machine, random, 12)
        if path is not None:
            assert encode(written(vocabulary, path).decode()) == path
    for _ in range(8):
        words = ["".join(random.choices("etaoinshrdluxq", k=random.randint(1, 9)))
                 for _ in range(random.randint(1, 3))]  # fmt: skip
        path = written_by(vocabulary, encode, "".join(f" {word}" for word in words))
        if path is not None:
            assert accepts(machine, path), words


# --- small tokenizers by chance -------------------------------------------------------------------


def strings(random: Random, letters: str, most: int) -> list[str]:
    """Some strings of up to three letters, the single ones often among them."""
    every = ["".join(row) for k in (2, 3) for row in product(letters, repeat=k)]
    single = [letter for letter in letters if random.random() < 0.9]
    return [*single, *random.sample(every, random.randint(3, most))]


def unigram(random: Random, rounded: bool) -> Vocabulary:
    values = [-1.1, -2.2, -3.3, -0.7, -4.4] if rounded else [-1.0, -2.0, -2.5, -3.0, -4.0]
    entries = [("<unk>", 0.0)]
    entries += [(piece, random.choice(values)) for piece in strings(random, "ab▁", 9)]
    tokenizer = Tokenizer(models.Unigram([*entries, ("<end>", -9.0)], 0, False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        prepend_scheme="never", split=random.random() < 0.5
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    try:
        return Vocabulary.from_tokenizer(tokenizer, eos_ids=[len(entries)])
    except UnsupportedTokenizer:  # A text that pieces could spell is called unknown.
        return unigram(random, rounded)


def word_pieces(random: Random) -> Vocabulary:
    words = strings(random, "ab", 5)
    pieces = [*words, *(f"##{piece}" for piece in strings(random, "ab", 5)), "!", "[UNK]"]
    ids = {piece: k for k, piece in enumerate(dict.fromkeys([*pieces, "<end>"]))}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=4))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=random.random() < 0.5)
    return Vocabulary.from_tokenizer(tokenizer, eos_ids=[ids["<end>"]])


SEEDS = [*range(3), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 12))]


def check_all(
    vocabulary: Vocabulary, constraint: Constraint, texts: list[str], own: Encode | None = None
) -> int:
    """All paths of a machine beside those that the library writes, or another one."""
    encode: Encode = own or (lambda text: vocabulary.encode(text) or ())
    expected = {written_by(vocabulary, encode, text) for text in texts} - {None}
    try:
        machine = explorer.compile(constraint.canonical(vocabulary), vocabulary)
    except IncompatibleVocabulary:
        assert not expected
        return 0
    assert set(paths(machine)) == expected
    return len(expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["rounded", "exact", "pieces"])
def test_small_tokenizers_write_exactly_these_paths(kind: str, seed: int) -> None:
    random = Random(f"{kind}{seed}")
    vocabulary = word_pieces(random) if kind == "pieces" else unigram(random, kind == "rounded")
    pattern = "( [ab]{1,4}| ?!){1,2}" if kind == "pieces" else "[ab ]{1,7}"
    constraint = explorer.regex(pattern)
    assert check_all(vocabulary, constraint, constraint.examples(4000)) >= 0


def test_sums_that_are_rounded_are_rounded_as_the_library_does() -> None:
    # 0.1 + 0.2 + 0.3 depends on the order in double precision, so three pieces can lose to three.
    entries = [("<unk>", 0.0), ("a", -0.1), ("aa", -0.2), ("aaa", -0.3), ("<end>", -9.0)]
    tokenizer = Tokenizer(models.Unigram(entries, 0, False))
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_ids=[4])
    constraint = explorer.regex("a{1,60}")
    assert check_all(vocabulary, constraint, ["a" * k for k in range(1, 61)]) == 60


def test_a_trained_unigram_file_sums_in_single_precision(tmp_path: Path) -> None:
    lines = (folder() / "bert-base-uncased" / "vocab.txt").read_text(encoding="utf-8").splitlines()
    words = [line for line in lines if line.isascii() and line.isalpha()][:6000]
    words = [" ".join(words[k : k + 9]) for k in range(0, len(words), 9)]
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(words), model_writer=model, vocab_size=400,
        model_type="unigram", normalization_rule_name="identity", minloglevel=2,
        remove_extra_whitespaces=False,
    )  # fmt: skip
    path = tmp_path / "unigram.model"
    path.write_bytes(model.getvalue())
    vocabulary, encode = model_file(path)
    constraint = explorer.regex("[a-z]( ?[a-z]){0,30}")
    machine = explorer.compile(constraint.canonical(vocabulary), vocabulary)
    random, compared = Random(0), 0
    for _ in range(40):
        text = "".join(random.choices("etaoinsr ", k=random.randint(1, 20)))
        text = " ".join(text.split())
        path_of_text = written_by(vocabulary, encode, text) if text else None
        if path_of_text is not None:
            compared += 1
            assert accepts(machine, path_of_text), text
        found = sampled(machine, random, 10)
        if found is not None:
            assert encode(written(vocabulary, found).decode()) == found
    assert compared > 20


# --- the parts, and what is refused ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("vocabulary", "pattern"),
    [
        (unigram(Random("mutant"), True), "[ab]{1,6}"),
        (word_pieces(Random("mutant 1")), "( [ab]{1,4}){1,2}"),
    ],
    ids=["unigram", "word pieces"],
)
def test_another_way_to_cut_a_text_would_be_seen(vocabulary: Vocabulary, pattern: str) -> None:
    """The first of two pieces is cut once more, where its halves are pieces too."""
    constraint = explorer.regex(pattern)
    texts = constraint.examples(4000)
    assert check_all(vocabulary, constraint, texts) > 5

    def shorter(text: str) -> tuple[int, ...]:
        first, *rest = vocabulary.encode(text) or (0,)
        data = vocabulary.tokens[first] or b""
        for cut in range(1, len(data)):
            left, right = (vocabulary.ids_of(half) for half in (data[:cut], data[cut:]))
            if left and right:
                return (left[0], right[0], *rest)
        return (first, *rest)

    with pytest.raises(AssertionError):
        check_all(vocabulary, constraint, texts, shorter)


def test_what_is_not_followed_is_refused_by_name() -> None:
    vocabulary = bert()
    with pytest.raises(UnsupportedTokenizer, match=r"BertNormalizer.*'A'"):
        explorer.compile(explorer.regex(" [A-Za-z]+").canonical(vocabulary), vocabulary)
    # Said as the tokens spell it, it is followed.
    cities = explorer.choice(["Berlin", "Zürich"]).preprocessed(vocabulary).canonical(vocabulary)
    machine = explorer.compile(cities, vocabulary)
    assert {written(vocabulary, path) for path in paths(machine)} == {b" berlin", b" zurich"}
    fallback = Tokenizer(models.Unigram([("<unk>", 0.0), ("a", -1.0)], 0, True))
    fallback.decoder = decoders.Metaspace()
    with pytest.raises(UnsupportedTokenizer, match="byte_fallback"):
        rules_of(Vocabulary.from_tokenizer(fallback, eos_ids=[0]))
    with pytest.raises(ExplorerError, match="would write no text"):
        explorer.compile(explorer.regex("( 12a)+[.][.]b").canonical(vocabulary), vocabulary)
