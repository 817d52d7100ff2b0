"""Which format a path holds, and the reader for it.

Formats are told apart by content, because names are shared: a ``tokenizer.model`` is
SentencePiece for most models and a rank file for Llama 3. A name only decides where contents
cannot: ``vocab.txt``. In a folder, the most complete description wins: ``tokenizer.json`` before
everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from tokenizers import Tokenizer

from explorer.errors import DamagedFile, VocabularyError
from explorer.vocabulary.configs import Beside, parse_json, read_beside, read_bytes
from explorer.vocabulary.huggingface import read_tokenizer
from explorer.vocabulary.library import library_call
from explorer.vocabulary.rank_files import RANK_LINE, read_ranks, read_tekken
from explorer.vocabulary.reading import Reading
from explorer.vocabulary.sentencepiece_file import read_sentencepiece
from explorer.vocabulary.text_files import as_pieces, read_gpt2, read_word_piece

_IN_FOLDER: Final = (
    "tokenizer.json",
    "tekken.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "encoder.json",
    "vocab.json",
    "vocab.txt",
    "*.model",
    "*.model.*",
    "*.tiktoken",
)
_PIECES_OF: Final = {"vocab.bpe": "encoder.json", "merges.txt": "vocab.json"}
_KNOWN: Final = (
    "tokenizer.json, a SentencePiece .model, a tiktoken rank file, encoder.json with vocab.bpe, "
    "vocab.txt or tekken.json"
)


def read_path(path: Path) -> tuple[Reading, Beside]:
    """Read a tokenizer from a file, or from the folder that holds it.

    Args:
        path: The file or the folder.

    Returns:
        What the tokenizer's own files say, and what the configuration files beside them say.

    Raises:
        VocabularyError: Nothing is there, or nothing in a known format.
        DamagedFile: A file breaks off or contradicts its format.
        UnsupportedTokenizer: The bytes of its tokens cannot be known exactly.
    """
    if path.is_dir():
        path = _file_in(path)
    elif not path.exists():
        raise VocabularyError(
            f"There is no file {str(path)!r}.",
            remedy=f"Give the path of a tokenizer: {_KNOWN}, or of the folder that holds it.",
            evidence={"path": str(path)},
        )
    beside = read_beside(path.parent)
    return _read_file(path, beside), beside


def _file_in(folder: Path) -> Path:
    for pattern in _IN_FOLDER:
        found = sorted(match for match in folder.glob(pattern) if match.is_file())
        if len(found) > 1:
            raise VocabularyError(
                f"{str(folder)!r} holds several tokenizers: {', '.join(f.name for f in found)}.",
                remedy="Give the path of one of these files.",
                evidence={"files": tuple(file.name for file in found)},
            )
        if found:
            return found[0]
    raise VocabularyError(
        f"{str(folder)!r} holds no tokenizer.",
        remedy=f"Give the path of {_KNOWN}.",
        evidence={"path": str(folder)},
    )


def _read_file(path: Path, beside: Beside) -> Reading:
    where = path.name
    if where in _PIECES_OF:
        return _read_gpt2(path.with_name(_PIECES_OF[where]), path)
    data = read_bytes(path)
    if not data:
        raise DamagedFile(f"{where} is empty.", remedy="Fetch the file again.")
    if path.suffix == ".txt":
        return read_word_piece(data, beside.settings, where)
    if path.suffix == ".json" or data.lstrip()[:1] == b"{":
        return _read_json(path, data, beside)
    if RANK_LINE.fullmatch(data[:4096].partition(b"\n")[0]):
        return read_ranks(data, where)
    # The first field of a SentencePiece model is a piece: field 1, a message.
    if data[0] == 0x0A:
        return read_sentencepiece(data, where)
    raise VocabularyError(
        f"{where} is in no known format.",
        remedy=f"Give the path of {_KNOWN}.",
        evidence={"path": str(path), "starts with": data[:16]},
    )


def _read_json(path: Path, data: bytes, beside: Beside) -> Reading:
    where = path.name
    parsed = parse_json(data, where)
    if isinstance(parsed, dict):
        declared = cast(dict[str, object], parsed)
        if isinstance(declared.get("model"), dict):
            return _read_tokenizer_json(declared, data, where, beside)
        if "config" in declared and "vocab" in declared:
            return read_tekken(declared, where)
        if as_pieces(declared) is not None:
            merges = {"encoder.json": "vocab.bpe", "vocab.json": "merges.txt"}
            return _read_gpt2(path, path.with_name(merges.get(where, "vocab.bpe")), declared)
    raise DamagedFile(
        f"{where} is JSON, but neither tokenizer.json, tekken.json nor encoder.json.",
        remedy="Check that the file is the one you mean.",
    )


def _read_gpt2(pieces: Path, merges: Path, declared: Mapping[str, object] | None = None) -> Reading:
    for path in (pieces, merges):
        if not path.is_file():
            raise VocabularyError(
                f"GPT-2's vocabulary is two files, and {path.name} is missing.",
                remedy=f"Put {path.name} beside the other file.",
                evidence={"path": str(path)},
            )
    if declared is None:
        declared = as_pieces(parse_json(read_bytes(pieces), pieces.name))
    if declared is None:
        raise DamagedFile(f"{pieces.name} is not an object from pieces to ids.")
    return read_gpt2(declared, read_bytes(merges), f"{pieces.name} with {merges.name}")


def _read_tokenizer_json(
    declared: Mapping[str, object], data: bytes, where: str, beside: Beside
) -> Reading:
    try:
        tokenizer = library_call(lambda: Tokenizer.from_str(data.decode()), "be loaded")
    except VocabularyError as error:
        raise DamagedFile(
            f"{where} is not a tokenizer.json that the tokenizers library reads: "
            f"{error.evidence.get('library')}.",
            remedy="Fetch the file again, or update the tokenizers library.",
        ) from error
    # The library numbers added tokens itself, and only prints a warning where the file differs.
    listed = declared.get("added_tokens")
    ours = tokenizer.get_added_tokens_decoder()
    for entry in cast(list[Mapping[str, object]], listed or []):
        token = entry.get("id")
        if (
            not isinstance(token, int)
            or token not in ours
            or (ours[token].content != entry.get("content"))
        ):
            raise DamagedFile(
                f"{where} gives the added token {entry.get('content')!r} the id {token!r}, which "
                f"does not follow the ids before it.",
                remedy="Renumber the added tokens, or put the token among the model's pieces.",
                evidence={"id": token, "content": entry.get("content")},
            )
    also = {token: name for token, (name, is_special) in beside.added.items() if is_special}
    return read_tokenizer(tokenizer, also, beside.special_names)
