"""The canonical filter beside control tokens: each part between them is written on its own.

The oracle is the library: it encodes the whole text, in which the control tokens stand by name.
"""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

import explorer
from explorer import Vocabulary, regex, token
from explorer.errors import UnsupportedTokenizer
from tests.evidence import few
from tests.tokens.canonical_oracle import by_tokenizers, paths, sampled
from tests.tokens.test_canonical_models import early, tokenizer


def with_controls(made: Tokenizer, *flagged: AddedToken) -> Vocabulary:
    made.add_special_tokens(["<t>", "</t>", *flagged, "<end>"])  # pyright: ignore[reportUnknownMemberType, reportArgumentType]
    end = made.token_to_id("<end>")
    assert end is not None
    return Vocabulary.from_tokenizer(made, eos_ids=[end])


def looking_ahead() -> Tokenizer:
    """A Unigram model over words that begin with a mark."""
    pieces = [("<unk>", -9.0), ("▁", -2.0), ("a", -3.0), ("b", -3.5), ("ab", -4.0), ("▁a", -4.0)]
    made = Tokenizer(models.Unigram([*pieces, ("ba", -4.5), ("▁ab", -5.0)], 0, False))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    made.decoder = decoders.Metaspace(prepend_scheme="never")
    return made


MADE = {
    "merges": lambda: tokenizer([], None),
    "added tokens": lambda: tokenizer([early("ba"), early("abba")], None),
    "a normal form": lambda: tokenizer([], normalizers.NFC()),
    "looking ahead": looking_ahead,
}
PARTS = ["".join(text) for n in range(4) for text in product("ab ", repeat=n)]


@pytest.mark.parametrize("name", few(MADE, 2))
@pytest.mark.parametrize("lazy", [False, True])
def test_each_part_between_control_tokens_is_written_as_the_library_writes_it(
    name: str, lazy: bool
) -> None:
    made = MADE[name]()
    vocabulary = with_controls(made)
    encode = by_tokenizers(made)
    part = regex("[ab ]?")
    constraint = part + token("<t>") + regex("[ab ]{0,3}") + (token("</t>") | token("<t>")) + part
    machine = explorer.compile(constraint.canonical(), vocabulary, lazy=lazy)
    texts = {
        f"{one}<t>{two}{end}{three}"
        for one, three in product(PARTS[:4], repeat=2)
        for two in PARTS
        for end in ("<t>", "</t>")
    }
    written = paths(machine)
    assert sorted(written) == sorted({encode(text) for text in texts})


def test_a_reasoning_model_writes_what_its_tokenizer_writes() -> None:
    lm = explorer.load_model("tiny-chat")
    vocabulary, random = lm.vocabulary, Random(3)
    inside = regex(r"(?s:[^<]{0,12})") + token("</think>") + regex("the [a-z é]{0,12}")
    machine = explorer.compile((token("<think>") + inside).canonical(), vocabulary, lazy=True)
    encoder: Tokenizer = vocabulary.encoder.tokenizer  # pyright: ignore
    for _ in range(60):
        path = sampled(machine, random, 40)
        if path is None:
            continue
        names = vocabulary.special
        data = b"".join(vocabulary.tokens[one] or names[one].encode() for one in path)
        assert tuple(encoder.encode(data.decode(), add_special_tokens=False).ids) == path


def test_a_control_token_that_takes_spaces_is_refused() -> None:
    vocabulary = with_controls(tokenizer([], None), AddedToken("<s>", rstrip=True, special=True))
    with pytest.raises(UnsupportedTokenizer, match="takes the spaces beside it"):
        explorer.compile((token("<s>") + regex("a")).canonical(), vocabulary)
    assert explorer.compile((token("<t>") + regex("a")).canonical(), vocabulary).num_states
