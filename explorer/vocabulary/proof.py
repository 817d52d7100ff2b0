"""The proof of a vocabulary: the tokens of an encoded string spell that string.

Each string of a test bank is encoded without additions and with names of special tokens as plain
text. The concatenated bytes of its tokens must equal the string's declared image. The two sides
come from different halves of the tokenizer: the bytes from its decoder, the image from its
normalizer and pre-tokenizer. If a string encodes to the unknown token there are no bytes to
compare; then no sequence of pieces may be able to spell its image.

The bank consists of strings on which readers of vocabularies have failed before, and of the texts
of tokens sampled evenly from the vocabulary itself, so that an unusual vocabulary is tested on its
own words. It does not cover every token: it shows that the *rule* for reading bytes is the
tokenizer's.

Cost: 10 µs to 30 µs a string; the bank of a 131,072-token vocabulary takes about 20 ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary.reading import Encoder

HARD_STRINGS: Final = (
    "",
    "a",
    " ",
    "Hello, world!",
    "The quick brown fox",
    " leading and trailing ",
    "two  spaces,   three,        eight",
    "\n",
    "\n\n\n\tindented\r\n    four",
    "tab\there",
    "👩‍👩‍👧‍👦 family",
    "🏳️‍🌈🇫🇷👍🏽",
    "é e\u0301 Å A\u030a",
    "q\u0323\u0307 \u0301alone",
    "汉字かな交じり文。",
    "한국어 조합형 \u1112\u1161\u11ab",
    "שלום ‏עולם",
    "नमस्ते दुनिया",
    "𝒳 𐍈 \U0010ffff",
    "\u00a0\u2003\u200b\ufeff",
    "½ ﬁ Ⅷ ａｂｃ",
    "STRASSE straße İi",
    "▁ and _ and ▁▁word",
    "Ġ Ċ â",
    "<0x20>",
    "<0x0A><0xE2>",
    "</s> <s> <unk> <pad>",
    "<|endoftext|><|eot|>",
    "[CLS] [SEP] [UNK] [MASK] [INST]",
    "##ing ## a##b",
    "low</w> </w>",
    '{"name": "Ada", "born": 1815}',
    "3.14159 1,000,000 127.0.0.1",
    "def f(x):\n    return x  # note\n",
    "it's don't we've I'm",
    "\x00\x01\x7f",
    "\ufffd",
)
"""Strings on which readers of vocabularies have failed before."""

SAMPLED: Final = 400
"""The number of the vocabulary's own tokens in the bank."""


@dataclass(frozen=True)
class Proof:
    """The result of a proof.

    Attributes:
        exact: Strings whose tokens spell their image.
        unwritable: Strings that encode to the unknown token and that no tokens spell.
        skipped: Strings that prove nothing: they encode to an id that was declared not to be text
            (an end of text chosen by the caller), or a greedy model missed a word of theirs.
    """

    exact: tuple[str, ...]
    unwritable: tuple[str, ...]
    skipped: tuple[str, ...]


def bank(tokens: Sequence[bytes | None], probes: Iterable[str] = ()) -> tuple[str, ...]:
    """The strings to prove a vocabulary on.

    Args:
        probes: Strings that are critical for this tokenizer, such as its special tokens.

    Returns:
        The hard strings, the first hundred probes, and texts of evenly sampled tokens.
    """
    strings = [*HARD_STRINGS]
    for probe in list(dict.fromkeys(probes))[:100]:
        strings += (probe, f"a {probe}b")
    stride = max(1, len(tokens) // SAMPLED)
    for token in tokens[::stride]:
        try:
            text = (token or b"").decode()
        except UnicodeDecodeError:
            continue
        strings += (text, f"x{text} y")
    return tuple(dict.fromkeys(strings))


def prove(
    tokens: Sequence[bytes | None], encoder: Encoder, strings: Iterable[str] | None = None
) -> Proof:
    """Prove that the token bytes agree with what the tokenizer encodes.

    Raises:
        UnsupportedTokenizer: A string's tokens spell something else than its image, or a string
            that encodes to the unknown token can be spelled. The message holds the string, the
            bytes that its tokens spell and those expected.
    """
    exact: list[str] = []
    unwritable: list[str] = []
    skipped: list[str] = []
    speller: Speller | None = None
    apart = encoder.apart
    for text in bank(tokens) if strings is None else strings:
        if encoder.loses(text):
            speller = speller or Speller(
                data for token, data in enumerate(tokens) if token not in apart
            )
            if not speller.spells(encoder.image(text)):
                unwritable.append(text)
            elif encoder.greedy:
                skipped.append(text)
            else:
                raise _refutation(
                    text, "it meets the unknown token, yet tokens spell it", b"", encoder
                )
            continue
        ids = encoder.encode(text)
        parts = [tokens[token] for token in ids]
        spelled = b"".join(part for part in parts if part is not None)
        if None in parts:
            skipped.append(text)
        elif spelled == encoder.image(text):
            exact.append(text)
        else:
            raise _refutation(text, "its tokens spell something else", spelled, encoder)
    return Proof(tuple(exact), tuple(unwritable), tuple(skipped))


def _refutation(text: str, what: str, spelled: bytes, encoder: Encoder) -> UnsupportedTokenizer:
    image = encoder.image(text)
    return UnsupportedTokenizer(
        "proof",
        f"on the string {text!r}, {what}: {spelled!r} instead of {image!r}",
        remedy=(
            "The tokenizer's decoder and its normalizer or pre-tokenizer disagree; check that "
            "they belong together."
        ),
    )


class Speller:
    """A set of tokens that answers whether some sequence of them spells given bytes.

    Example:
        >>> Speller([b"ab", b"c", None]).spells(b"abcab"), Speller([b"ab"]).spells(b"aba")
        (True, False)
    """

    def __init__(self, tokens: Iterable[bytes | None]) -> None:
        self._words = {token for token in tokens if token}
        self._longest = max(map(len, self._words), default=0)

    def spells(self, data: bytes) -> bool:
        """Whether some sequence of tokens concatenates to ``data``; true for the empty text."""
        reachable = [True] + [False] * len(data)
        for start in range(len(data)):
            if reachable[start]:
                for end in range(start + 1, min(len(data), start + self._longest) + 1):
                    if data[start:end] in self._words:
                        reachable[end] = True
        return reachable[-1]
