"""Reads WordPiece's ``vocab.txt``: one piece per line; the line number is its id.

``##`` marks a piece that continues a word; any other piece starts a word and writes a space before
itself. The bracketed names that the format reserves are not text. The decoder is BERT's, with
clean-up, so that the file and the ``tokenizer.json`` of the same model give the same bytes.

Other tokenizers use the name ``vocab.txt`` for other lists. The class in ``tokenizer_config.json``
and the unknown token distinguish them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from explorer.errors import DamagedFile, UnsupportedTokenizer
from explorer.vocabulary.classes import LINES, NAMES_OF_CLASS, check_files, refuse_class
from explorer.vocabulary.configs import Beside, token_name
from explorer.vocabulary.guards.library import library_call
from explorer.vocabulary.readers.huggingface import read_tokenizer
from explorer.vocabulary.readers.piece_table import lines_of
from explorer.vocabulary.reading import TokenizerReading

_SPECIALS: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

# The classes of transformers that cut text as BERT does.
_BERT_CLASSES: Final = frozenset(
    {
        "BertTokenizer",
        "ConvBertTokenizer",
        "DPRContextEncoderTokenizer",
        "DPRQuestionEncoderTokenizer",
        "DPRReaderTokenizer",
        "DistilBertTokenizer",
        "ElectraTokenizer",
        "FunnelTokenizer",
        "LayoutLMTokenizer",
        "LayoutLMv2Tokenizer",
        "LxmertTokenizer",
        "MPNetTokenizer",
        "MobileBertTokenizer",
        "NystromformerTokenizer",
        "RealmTokenizer",
        "RetriBertTokenizer",
        "SplinterTokenizer",
        "SqueezeBertTokenizer",
    }
)
# Classes that read a vocab.txt but decode its pieces by another rule.
_OTHER_RULES: Final = {
    "BertweetTokenizer": "it marks with '@@' that a word goes on",
    "CpmAntTokenizer": "it prints no space between words",
    "ErnieMTokenizer": "its pieces are SentencePiece's",
    "EsmTokenizer": "its pieces are letters of proteins",
    "GPTNeoXJapaneseTokenizer": "a line lists several spellings, and it prints no space between",
    "PhobertTokenizer": "it marks with '@@' that a word goes on",
    "TransfoXLTokenizer": "its pieces are whole words, joined by rules for punctuation",
    "VitsTokenizer": "its pieces are sounds",
}
# Classes that decode pieces as BERT does, but cut text with a dictionary and do not clean up.
_UNTIDIED: Final = frozenset({"BertJapaneseTokenizer"})


def read_word_piece(data: bytes, beside: Beside, where: str) -> TokenizerReading:
    """Read WordPiece's ``vocab.txt``.

    Args:
        beside: The facts from the configuration files. They say how text is cut and whether it is
            lower-cased; without them the vocabulary is proved but cannot encode.

    Raises:
        DamagedFile: The file is not UTF-8, or a piece occurs twice; the line is named.
        UnsupportedTokenizer: The file is another kind of list.
    """
    name = beside.tokenizer_class
    refuse_class(name, _OTHER_RULES, f"it does not print the pieces of {where} as WordPiece does")
    check_files(name, LINES, where)
    lines = lines_of(data, where)
    _check_lines(lines, where)
    ids = _ids(lines, where)
    reserved = NAMES_OF_CLASS.get(name, {}).get("unk_token", "[UNK]")
    unknown = token_name(beside.settings.get("unk_token")) or reserved
    if unknown not in ids:
        raise _without_unknown(ids, unknown, where)
    tokenizer = library_call(
        lambda: Tokenizer(models.WordPiece(vocab=ids, unk_token=unknown)), "read the vocabulary"
    )
    settings = beside.settings
    lower = settings.get("do_lower_case", True if name in _BERT_CLASSES else None)
    if isinstance(lower, bool):
        accents = settings.get("strip_accents")
        tokenizer.normalizer = normalizers.BertNormalizer(
            lowercase=lower,
            handle_chinese_chars=settings.get("tokenize_chinese_chars") is not False,
            strip_accents=accents if isinstance(accents, bool) else None,
        )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=name not in _UNTIDIED)
    special = {ids[name]: name for name in (*_SPECIALS, unknown) if name in ids}
    reading = read_tokenizer(tokenizer, also_special=special)
    basic = settings.get("do_basic_tokenize") is not False
    known = isinstance(lower, bool) and basic and (not name or name in _BERT_CLASSES)
    notes = list(reading.notes)
    if name and name not in _BERT_CLASSES | _UNTIDIED:
        notes.append(
            f"tokenizer_config.json names the class {name}, which is not known here; the file is "
            f"read as WordPiece."
        )
    if not known:
        notes.append(
            f"encode() is not offered: no configuration beside {where} says how text is cut into "
            f"words and whether it is lower-cased. A tokenizer.json declares both."
        )
    return replace(reading, notes=tuple(notes), encodes=known)


def _ids(lines: list[str], where: str) -> dict[str, int]:
    if lines and not lines[-1]:
        lines.pop()
    ids: dict[str, int] = {}
    for token, piece in enumerate(lines):
        if piece in ids:
            raise DamagedFile(
                f"{where}: the piece {piece!r} stands on line {ids[piece] + 1} and on line "
                f"{token + 1}.",
                remedy="The tokenizer can only give one of these ids: write another piece, such as "
                "'[unused]', on the line of the other.",
                evidence={"piece": piece, "lines": (ids[piece] + 1, token + 1)},
            )
        ids[piece] = token
    return ids


_OTHERWISE: Final = (
    "Give the tokenizer.json or the .model of the same tokenizer; or write the bytes of each id by "
    "hand with Vocabulary.from_bytes(...)."
)


def _check_lines(lines: list[str], where: str) -> None:
    """Refuse a list of another kind, judged by the majority of its first lines."""
    shown = [line for line in lines[: 1 << 10] if line]
    pairs = [line.split(" ") for line in shown if not line.startswith("#version")]
    merges = sum(len(pair) == 2 and all(pair) and not pair[1].isdecimal() for pair in pairs)
    if "#version" in "".join(lines[:1]) or 2 * merges > len(shown):
        raise UnsupportedTokenizer(
            where,
            "its lines are merges, two pieces each: they do not give the pieces ids",
            remedy="Give the table of pieces that belongs to it, vocab.json, with this file beside "
            "it as merges.txt.",
        )
    if 2 * sum(len(pair) == 2 and pair[1].isdecimal() for pair in pairs) > len(shown):
        raise UnsupportedTokenizer(
            where,
            "its lines are pieces with their numbers, as in a dictionary of fairseq",
            remedy=_OTHERWISE,
        )
    if 2 * sum(_SCORED.fullmatch(line) is not None for line in shown) > len(shown):
        raise UnsupportedTokenizer(
            where,
            "its lines are pieces with their scores, as SentencePiece writes beside its model",
            remedy=_OTHERWISE,
        )


_SCORED: Final = re.compile(r"[^\t]+\t-?\d+(\.\d+)?(e-?\d+)?")


def _without_unknown(pieces: Mapping[str, int], unknown: str, where: str) -> UnsupportedTokenizer:
    like = next((piece for piece in pieces if piece.strip("[]<>|").lower() in _UNKNOWNS), None)
    if like is not None:
        return UnsupportedTokenizer(
            where,
            f"it has no piece {unknown!r}, which stands for unknown words, but a piece {like!r}",
            remedy=f'If that is its unknown token, write {{"unk_token": "{like}"}} into a '
            "tokenizer_config.json beside the file.",
        )
    continued = any(piece.startswith("##") for piece in pieces)
    return UnsupportedTokenizer(
        where,
        f"it has no piece {unknown!r}, which stands for unknown words"
        if continued
        else f"it is not a WordPiece vocabulary: it has no piece {unknown!r}, and none that starts "
        f"with '##'",
        remedy="Name its unknown token as unk_token in a tokenizer_config.json beside the file. "
        f"{_OTHERWISE}",
    )


_UNKNOWNS: Final = ("unk", "unknown", "oov")
