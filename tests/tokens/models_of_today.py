"""Tokenizers with the declared steps of models that people run, over merges trained here.

The steps are those of the models' ``tokenizer.json``: normalizer, pre-tokenizer, decoder, flags of
added tokens. The merges are trained on this repository's own text, so a canonical sequence is
decided by the same rules over other pieces.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.trainers import BpeTrainer

ROOT = Path(__file__).resolve().parents[2]

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)


O200K = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)


@cache
def lines() -> tuple[str, ...]:
    """Some text of many kinds: this repository's documents, and what they seldom hold."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CHANGELOG.md")]
    texts += [
        "\u6771\u4eac\u3068\u5927\u962a\u306f\u65e5\u672c\u306e\u90fd\u5e02 2024\u5e74 12345",
        "Gr\u00fc\u00dfe aus K\u00f6ln, \u00fcber 1\u00b2 \u00bd km  \n\n\n  x\t\ty",
        "1000000 1\u00b2 2\u00b2 \u00bd1 \u00fc2",
    ]
    return tuple(line for text in texts for line in text.splitlines(keepends=True))


@cache
def trained(over_bytes: bool, size: int) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Pieces and merges trained behind some steps."""
    tokenizer = Tokenizer(models.BPE())
    # Pieces that no chain of steps would leave whole are what tells the chains apart.
    words = split(Regex(r"\s?\S+|\s+" if over_bytes else "\u2581?[^\u2581]+|\u2581+"))
    tokenizer.pre_tokenizer = sequence(words, to_bytes())() if over_bytes else words
    if not over_bytes:
        tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet()) if over_bytes else list("\u2581 abc")
    trainer = BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, show_progress=False, limit_alphabet=256
    )
    tokenizer.train_from_iterator(iter(lines()), trainer)  # pyright: ignore[reportUnknownMemberType]
    state = json.loads(tokenizer.to_str())["model"]
    return state["vocab"], [(left, right) for left, right in state["merges"]]


class Model:
    """A model's declared steps.

    Args:
        splitter: Its pre-tokenizer.
        over_bytes: Whether its pieces are bytes, or characters with a mark for a space.
        fallback: Whether characters without a piece are bytes.
        added: Its added tokens that are text.
        disorder: How much of the order of its merges is changed.
    """

    def __init__(
        self,
        splitter: Callable[[], pre_tokenizers.PreTokenizer],
        *,
        over_bytes: bool = True,
        fallback: bool = True,
        added: tuple[AddedToken, ...] = (),
        disorder: float = 0.0,
    ) -> None:
        self.splitter, self.over_bytes, self.fallback = splitter, over_bytes, fallback
        self.added, self.disorder = added, disorder


def tokenizer_of(name: str, size: int = 3000, real: Path | None = None) -> Tokenizer:
    """The tokenizer of a model.

    Args:
        name: One of `MODELS`.
        size: How many pieces are trained here.
        real: A folder with GPT-2's pieces and merges, to be taken instead, if they fit.
    """
    declared = MODELS[name]
    pieces, merges = trained(declared.over_bytes, size)
    if real is not None and declared.over_bytes:
        pieces, merges = models.BPE.read_file(str(real / "encoder.json"), str(real / "vocab.bpe"))
    pieces = dict(pieces)
    if declared.disorder:
        merges = list(merges)
        random = Random(name)
        for _ in range(int(declared.disorder * len(merges))):
            one, other = random.randrange(len(merges)), random.randrange(len(merges))
            merges[one], merges[other] = merges[other], merges[one]
    options: dict[str, object] = {}
    if not declared.over_bytes and declared.fallback:
        for byte in range(256):
            pieces[f"<0x{byte:02X}>"] = len(pieces)
        options = {"byte_fallback": True, "fuse_unk": True}
    pieces["<unk>"] = len(pieces)
    tokenizer = Tokenizer(models.BPE(pieces, merges, unk_token="<unk>", **options))  # pyright: ignore[reportArgumentType]
    tokenizer.pre_tokenizer = declared.splitter()
    if declared.over_bytes:
        tokenizer.decoder = decoders.ByteLevel()
    else:
        tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
        chain = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
        tokenizer.decoder = decoders.Sequence(chain)  # pyright: ignore[reportUnknownMemberType]
    tokenizer.add_tokens(list(declared.added))  # pyright: ignore[reportUnknownMemberType]
    tokenizer.add_special_tokens(["<unk>", "<end>"])  # pyright: ignore[reportUnknownMemberType]
    return tokenizer


def sequence(*steps: pre_tokenizers.PreTokenizer) -> Callable[[], pre_tokenizers.PreTokenizer]:
    """A chain of steps."""
    return lambda: pre_tokenizers.Sequence(list(steps))


def split(
    pattern: str | Regex, behavior: str = "isolated", invert: bool = False
) -> pre_tokenizers.PreTokenizer:
    """A step that cuts at a pattern."""
    return pre_tokenizers.Split(pattern, behavior, invert)  # pyright: ignore[reportArgumentType]


def to_bytes(use_regex: bool = False) -> pre_tokenizers.PreTokenizer:
    """The step that writes GPT-2's alphabet."""
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def _raw(content: str) -> AddedToken:
    return AddedToken(content, normalized=False, special=False)


MODELS = {
    "GPT-4": Model(sequence(split(Regex(CL100K), "removed", True), to_bytes())),
    "GPT-4o": Model(sequence(split(Regex(O200K), "removed", True), to_bytes())),
    "Gemma 3": Model(
        lambda: split(" ", "merged_with_previous"),
        over_bytes=False,
        added=tuple(
            map(_raw, ["\n\n", "\n\n\n", "\u2581\u2581", "<h1>", "<unused0>", "<unused10>"])
        ),
    ),
    "DeepSeek V3": Model(
        sequence(*(split(Regex(pattern)) for pattern in DEEPSEEK), to_bytes()),
        added=(_raw("<\uff5cUser\uff5c>"),),
    ),
    "StarCoder": Model(sequence(pre_tokenizers.Digits(individual_digits=True), to_bytes(True))),
    "Falcon": Model(
        sequence(
            pre_tokenizers.Punctuation("contiguous"),
            to_bytes(True),
            pre_tokenizers.Digits(individual_digits=False),
            split(Regex("[0-9][0-9][0-9]")),
        )
    ),
    "Yi": Model(lambda: split("\ue000"), over_bytes=False, disorder=0.1),
    "marks and digits": Model(
        sequence(
            pre_tokenizers.Metaspace(prepend_scheme="never", split=True), split(Regex("[0-9]"))
        ),
        over_bytes=False,
    ),
    "no fallback": Model(
        lambda: pre_tokenizers.Metaspace(prepend_scheme="never", split=False),
        over_bytes=False,
        fallback=False,
    ),
}
