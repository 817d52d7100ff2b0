"""The canonical filter beside added tokens and normal forms: what the library itself writes."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

import explorer
from explorer import Vocabulary
from explorer.errors import IncompatibleVocabulary, UnsupportedTokenizer
from explorer.vocabulary.canonical.added_search import AddedSearch, AddedText
from tests.evidence import few
from tests.tokens.canonical_oracle import accepts, by_tokenizers, paths, written

ACCENTS = "e\u00e9\u0301\u0323\u1eb9"


def tokenizer(added: list[AddedToken], normalizer: normalizers.Normalizer | None) -> Tokenizer:
    """Merges over bytes, cut as GPT-2 cuts, with some added tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = {char: k for k, char in enumerate(alphabet)}
    merges = [("a", "b"), ("ab", "a"), ("Ġ", "a"), ("Ġ", "Ġ"), ("b", "b"), ("e", "Ì")]
    for left, right in merges:
        pieces[left + right] = len(pieces)
    made = Tokenizer(models.BPE(pieces, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    if normalizer is not None:
        made.normalizer = normalizer
    made.add_tokens(added)  # pyright: ignore[reportUnknownMemberType]
    return made


def vocabulary_of(made: Tokenizer) -> Vocabulary:
    made.add_special_tokens(["<end>"])  # pyright: ignore[reportUnknownMemberType]
    return Vocabulary.from_tokenizer(made, eos_ids=[id_of(made, "<end>")])


def id_of(made: Tokenizer, content: str) -> int:
    token = made.token_to_id(content)
    assert token is not None
    return token


def early(content: str) -> AddedToken:
    return AddedToken(content, normalized=False)


def late(content: str) -> AddedToken:
    return AddedToken(content, normalized=True)


SETS = {
    "spaces": [late("  "), late("   "), late("    ")],
    "words": [late("ab"), late("abba"), late("b a")],
    "two passes": [early("ba"), late("ab"), late("aab"), early("a  ")],
    "one inside the other": [early("bab"), late("a"), late(" "), early("abb")],
}


@pytest.mark.parametrize("name", SETS)
def test_all_short_texts_are_cut_as_the_library_cuts_them(name: str) -> None:
    made = tokenizer(SETS[name], None)
    vocabulary, encode = vocabulary_of(made), by_tokenizers(made)
    machine = explorer.compile(explorer.regex("[ab ]{0,6}").canonical(), vocabulary)
    texts = ["".join(text) for n in range(7) for text in product("ab ", repeat=n)]
    expected = {encode(text) for text in texts}
    assert set(paths(machine)) == expected
    assert any(len(vocabulary.tokens[t] or b"") > 1 and t >= 262 for p in expected for t in p)


@pytest.mark.parametrize("form", few(["NFC", "NFD", "NFKC", "NFKD"], 1))
def test_only_texts_that_the_normalizer_leaves_are_written(form: str) -> None:
    made = tokenizer([early("e"), late("  ")], getattr(normalizers, form)())
    vocabulary, encode = vocabulary_of(made), by_tokenizers(made)
    machine = explorer.compile(explorer.regex(f"[{ACCENTS} ]{{0,4}}").canonical(), vocabulary)
    texts = ["".join(text) for n in range(5) for text in product(ACCENTS + " ", repeat=n)]
    own = {
        text: path for text in texts if written(vocabulary, path := encode(text)) == text.encode()
    }
    assert 10 < len(own) < len(texts)
    assert set(paths(machine)) == set(own.values())


def test_a_mark_after_an_added_token_begins_a_text_of_its_own() -> None:
    # Each part beside an early token is normalized by itself: e and the acute stay apart.
    made = tokenizer([early("e")], normalizers.NFC())
    vocabulary, encode = vocabulary_of(made), by_tokenizers(made)
    for text in ("e\u0301", "ae\u0301"):
        path = encode(text)
        assert written(vocabulary, path) == text.encode()
        machine = explorer.compile(explorer.literal(text).canonical(), vocabulary)
        assert accepts(machine, path)


def test_the_search_agrees_with_the_library_on_random_tokens() -> None:
    random = Random(5)
    for _ in range(40):
        contents = sorted({"".join(random.choices("ab", k=random.randint(1, 4))) for _ in range(4)})
        added = [random.choice((early, late))(content) for content in contents]
        made = tokenizer(added, None)
        encode = by_tokenizers(made)
        ids = {id_of(made, one.content): one for one in added}
        search = AddedSearch.of(
            [AddedText(k, one.content.encode(), not one.normalized) for k, one in ids.items()]
        )
        for _ in range(60):
            text = "".join(random.choices("abc", k=random.randint(1, 9)))
            right = [k if k in ids else made.id_to_token(k) or "" for k in encode(text)]
            assert search.read([p if isinstance(p, int) else p.encode() for p in right])
            # Another way to cut the same text is refused.
            other: list[bytes | int] = []
            at = 0
            while at < len(text):
                fits = [k for k, one in ids.items() if text.startswith(one.content, at)]
                token = random.choice(fits) if fits and random.random() < 0.6 else None
                other.append(text[at].encode() if token is None else token)
                at += 1 if token is None else len(ids[token].content)
            same = [p for part in right for p in (part if isinstance(part, str) else [part])]
            cut = [p.decode() if isinstance(p, bytes) else p for p in other]
            assert search.read(other) == (cut == same), (text, right, other)


def test_flags_that_decide_on_a_token_are_refused_by_name() -> None:
    made = tokenizer([AddedToken("ab", rstrip=True)], None)
    vocabulary = vocabulary_of(made)
    with pytest.raises(UnsupportedTokenizer, match="added_token 'ab'"):
        explorer.compile(explorer.regex("[ab ]*").canonical(), vocabulary)
    explorer.compile(explorer.regex("[b ]*").canonical(), vocabulary)


def test_a_text_that_the_normalizer_rewrites_has_no_tokens() -> None:
    vocabulary = vocabulary_of(tokenizer([], normalizers.NFC()))
    with pytest.raises(IncompatibleVocabulary, match="NFC") as raised:
        explorer.compile(explorer.literal("e\u0301").canonical(), vocabulary)
    assert "preprocessed" in str(raised.value)
    machine = explorer.compile(explorer.regex("e\u0301?|b").canonical(), vocabulary)
    (e,) = vocabulary.ids_of(b"e")
    state = machine.step(machine.start, e)
    assert state is not None
    mark = vocabulary.ids_of("\u0301".encode()[:1])[0]
    why = explorer.explain(machine, state, mark)
    assert "NFC" in why.message
