"""Vocabularies of two plain files: GPT-2's ``encoder.json`` + ``vocab.bpe``, and ``vocab.txt``.

Neither declares a decoder, but each format has just one. GPT-2's pieces are written in its byte
alphabet. It marks no special tokens either, yet the merges tell them: a piece that is neither a
character of the alphabet nor the result of a merge can never come from text (``<|endoftext|>``).

WordPiece's ``vocab.txt`` has one piece a line, the line's number is its id, and ``##`` marks a
piece that continues a word. The bracketed names that the format reserves are not text.

Both are given to the `tokenizers` library as a model with the pre-tokenizer of the format, so that
they are proved like any ``tokenizer.json``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from explorer.errors import DamagedFile
from explorer.vocabulary.byte_alphabet import BYTE_OF
from explorer.vocabulary.huggingface import read_tokenizer
from explorer.vocabulary.library import library_call
from explorer.vocabulary.reading import Reading, checked_width

_WORD_PIECE_SPECIALS: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def read_gpt2(pieces: Mapping[str, object], merges: bytes, where: str) -> Reading:
    """Read GPT-2's pair of files.

    Args:
        pieces: The parsed ``encoder.json`` (or ``vocab.json``): piece to id.
        merges: The whole ``vocab.bpe`` (or ``merges.txt``).
        where: The folder or file, for messages.

    Raises:
        DamagedFile: An id is no number, or a merge is not two pieces of the vocabulary.
        VocabularyError: Ids are out of range, or one id has two pieces.
    """
    ids: dict[str, int] = {}
    for piece, token in pieces.items():
        if not isinstance(token, int) or isinstance(token, bool) or token < 0:
            raise DamagedFile(
                f"{where}: the piece {piece[:40]!r} has the id {token!r}, which is no whole number "
                f"from 0 on.",
                evidence={"piece": piece, "id": token},
            )
        checked_width(token, f"{where}, the piece {piece[:40]!r},")
        ids[piece] = token
    pairs = _merges(merges, where)
    reachable = set(BYTE_OF) | {a + b for a, b in pairs}
    control = {token: piece for piece, token in ids.items() if piece not in reachable}
    for a, b in pairs:
        for piece in (a, b, a + b):
            if piece not in ids:
                raise DamagedFile(
                    f"{where}: the merge of {a!r} and {b!r} needs the piece {piece!r}, which is "
                    f"not in the vocabulary.",
                    remedy="Check that both files belong to the same tokenizer.",
                    evidence={"merge": (a, b), "piece": piece},
                )
    tokenizer = library_call(
        lambda: Tokenizer(models.BPE(vocab=ids, merges=pairs)), "read the vocabulary and merges"
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return read_tokenizer(tokenizer, also_special=control)


def _merges(data: bytes, where: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for line, entry in enumerate(_lines(data, where), start=1):
        if not entry or (line == 1 and entry.startswith("#version")):
            continue
        parts = entry.split(" ")
        if len(parts) != 2 or not all(parts):
            raise DamagedFile(
                f"{where}: line {line} of the merges, {entry[:60]!r}, is not two pieces.",
                remedy="Fetch the file again.",
                evidence={"line": line},
            )
        pairs.append((parts[0], parts[1]))
    return pairs


def read_word_piece(data: bytes, settings: Mapping[str, object], where: str) -> Reading:
    """Read WordPiece's ``vocab.txt``.

    Args:
        data: The whole file.
        settings: The ``tokenizer_config.json`` beside it, or nothing. It tells whether text is
            lower-cased (``do_lower_case``); without it, text is taken as it is written.
        where: The file's name, for messages.

    Raises:
        DamagedFile: The file is not UTF-8, or a piece stands twice; the line is named.
    """
    lines = _lines(data, where)
    if lines and not lines[-1]:
        lines.pop()
    ids: dict[str, int] = {}
    for token, piece in enumerate(lines):
        if piece in ids:
            raise DamagedFile(
                f"{where}: the piece {piece!r} stands on line {ids[piece] + 1} and on line "
                f"{token + 1}.",
                evidence={"piece": piece, "lines": (ids[piece] + 1, token + 1)},
            )
        ids[piece] = token
    if "[UNK]" not in ids:
        raise DamagedFile(
            f"{where} has no piece '[UNK]', so it is no WordPiece vocabulary.",
            remedy="Check that the file has one piece a line.",
        )
    tokenizer = library_call(
        lambda: Tokenizer(models.WordPiece(vocab=ids, unk_token="[UNK]")), "read the vocabulary"
    )
    lower = settings.get("do_lower_case")
    if isinstance(lower, bool):
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    special = {ids[name]: name for name in _WORD_PIECE_SPECIALS if name in ids}
    return read_tokenizer(tokenizer, also_special=special)


def _lines(data: bytes, where: str) -> list[str]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DamagedFile(
            f"{where} is not UTF-8: byte {error.start} is {data[error.start]:#04x}.",
            remedy="Fetch the file again.",
            evidence={"offset": error.start},
        ) from error
    # Only line feeds end a line: pieces may hold any other character that Python would split at.
    return [line.removesuffix("\r") for line in text.split("\n")]


def as_pieces(declared: object) -> Mapping[str, object] | None:
    """The parsed JSON as GPT-2's table of pieces, or None if it is something else."""
    if not isinstance(declared, Mapping) or not declared:
        return None
    table = cast(Mapping[str, object], declared)
    values: Sequence[object] = list(table.values())
    return table if not any(isinstance(value, dict | list) for value in values) else None
