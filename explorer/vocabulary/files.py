"""Detects the format of a tokenizer's file and calls the reader for it.

Formats are recognised by content, because names are shared: a ``tokenizer.model`` is SentencePiece
for most models and a rank file for Llama 3. In a folder, the most complete description wins:
``tokenizer.json`` before everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from tokenizers import Tokenizer

from explorer.errors import DamagedFile, UnsupportedTokenizer, VocabularyError
from explorer.vocabulary.configs import Beside, json_of_file, read_beside, read_bytes
from explorer.vocabulary.guards.library import library_call
from explorer.vocabulary.guards.limits import check_declaration
from explorer.vocabulary.readers.converted import CONVERTED, class_of_folder, read_converted
from explorer.vocabulary.readers.gguf_file import is_gguf, read_gguf
from explorer.vocabulary.readers.huggingface import read_tokenizer
from explorer.vocabulary.readers.rank_files import RANK_LINE, read_ranks, read_tekken
from explorer.vocabulary.readers.sentencepiece_file import read_sentencepiece
from explorer.vocabulary.reading import TokenizerReading
from explorer.vocabulary.tokenizer.decoder import Component

_IN_FOLDER: Final = (
    "tokenizer.json",
    "tekken.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    *CONVERTED,
    "*.model",
    "*.model.*",
    "*.tiktoken",
    "*.spm",
    "*.gguf",
)
_AS_IN_FILE: Final = frozenset(
    ("Baichuan", "Barthez", "BertGeneration", "BigBird", "ChatGLM", "CodeLlama", "Gemma",
     "InternLM", "InternLM2", "Llama", "MT5", "Reformer", "T5", "Udop", "Yi")
)  # fmt: skip
"""The classes whose ids are the numbers of the pieces in their SentencePiece file."""

_KNOWN: Final = (
    "tokenizer.json, a SentencePiece .model, a tiktoken rank file, tekken.json, a .gguf, or, with "
    "transformers, encoder.json with vocab.bpe, vocab.txt or the files of the class that a "
    "configuration names"
)


def read_path(path: Path, decoder: Component | None = None) -> tuple[TokenizerReading, Beside]:
    """Read a tokenizer from a file, or from the folder that holds it.

    Args:
        decoder: The declaration of the decoder for a ``tokenizer.json`` that has none.

    Returns:
        The reading of the tokenizer's own files, and the facts from the configuration files.

    Raises:
        VocabularyError: There is no file at the path, or its format is not known.
        DamagedFile: A file breaks off or contradicts its format.
        UnsupportedTokenizer: The bytes of its tokens cannot be known exactly.
    """
    if path.is_dir():
        beside = read_beside(path)
        path = _file_in(path, beside)
    elif not path.exists():
        raise VocabularyError(
            f"There is no file {str(path)!r}.",
            remedy=f"Give the path of a tokenizer: {_KNOWN}, or of the folder that holds it.",
            evidence={"path": str(path)},
        )
    else:
        beside = read_beside(path.parent)
    return _read_file(path, beside, decoder), beside


def _file_in(folder: Path, beside: Beside) -> Path:
    for pattern in _IN_FOLDER:
        matches = sorted(match for match in folder.glob(pattern) if match.is_file())
        if len(matches) > 1:
            raise VocabularyError(
                f"{str(folder)!r} holds several tokenizers: {', '.join(f.name for f in matches)}.",
                remedy="Give the path of one of these files.",
                evidence={"files": tuple(file.name for file in matches)},
            )
        if matches:
            _check_dictionary(folder, matches[0], beside)
            return matches[0]
    raise VocabularyError(
        f"{str(folder)!r} holds no tokenizer.",
        remedy=f"Give the path of {_KNOWN}.",
        evidence={"path": str(folder)},
    )


def _check_dictionary(folder: Path, file: Path, beside: Beside) -> None:
    """Refuse a fairseq folder, whose ``dict.txt`` renumbers the tokenizer's pieces."""
    if file.name == "tokenizer.json" or beside.tokenizer_class or beside.settings:
        return
    if (folder / "dict.txt").is_file():
        raise UnsupportedTokenizer(
            "dict.txt",
            f"a model of fairseq numbers its tokens by this file, not by {file.name}",
            remedy=f"If your model numbers tokens as {file.name} does, give the path of that file; "
            f"otherwise use the folder of the model as transformers holds it.",
        )


def _read_file(path: Path, beside: Beside, decoder: Component | None) -> TokenizerReading:
    where = path.name
    if path.suffix == ".gguf" or is_gguf(path):
        return read_gguf(path)
    if where in CONVERTED:
        return read_converted(path, beside)
    data = read_bytes(path)
    if not data:
        raise DamagedFile(f"{where} is empty.", remedy="Fetch the file again.")
    if path.suffix == ".json" or data.lstrip()[:1] == b"{":
        return _read_json(data, where, beside, decoder)
    if RANK_LINE.fullmatch(data[:4096].partition(b"\n")[0]):
        return read_ranks(data, where)
    # The first field of a SentencePiece model is a piece: field 1, a message.
    if data[0] == 0x0A:
        return _read_pieces(path, data, beside)
    raise VocabularyError(
        f"{where} is in no known format.",
        remedy=f"Give the path of {_KNOWN}.",
        evidence={"path": str(path), "starts with": data[:16]},
    )


def _read_pieces(path: Path, data: bytes, beside: Beside) -> TokenizerReading:
    """Read a SentencePiece model, by its class if that gives the pieces other ids."""
    name = class_of_folder(beside)
    if name and name.removesuffix("Tokenizer") not in _AS_IN_FILE:
        return read_converted(path, beside)
    reading = read_sentencepiece(data, path.name)
    first = [reading.special.get(token) for token in range(3)]
    if not name and path.name == "sentencepiece.bpe.model" and first == ["<unk>", "<s>", "</s>"]:
        raise UnsupportedTokenizer(
            path.name,
            "no configuration beside it names a tokenizer_class, and most models with a file of "
            "this name (XLM-R, mBART, M2M100, CamemBERT) number its pieces otherwise than the file",
            remedy="Put the model's tokenizer_config.json or config.json beside it; or, if the "
            "model numbers the pieces as the file does, rename the file to tokenizer.model.",
        )
    return reading


def _read_json(
    data: bytes, where: str, beside: Beside, decoder: Component | None
) -> TokenizerReading:
    parsed = json_of_file(data, where)
    names: list[str] = []
    if isinstance(parsed, dict):
        declared = cast(dict[str, object], parsed)
        if isinstance(declared.get("model"), dict):
            return _read_tokenizer_json(declared, data, where, beside, decoder)
        if isinstance(declared.get("config"), dict) and "vocab" in declared:
            return read_tekken(declared, where)
        names = [repr(name[:20]) for name in declared]
    held = f": it has the fields {', '.join(names[:6])}{', …' if len(names) > 6 else ''}"
    raise UnsupportedTokenizer(
        where,
        f"it is JSON, but neither a tokenizer.json of the tokenizers library nor a tekken.json"
        f"{held if names else ''}",
        remedy="Check that it is the file you mean. Give the tokenizer.json that the tokenizers "
        "library writes for the same model, or write the bytes of each id by hand with "
        "Vocabulary.from_bytes(...).",
    )


def _read_tokenizer_json(
    declared: Mapping[str, object],
    data: bytes,
    where: str,
    beside: Beside,
    decoder: Component | None,
) -> TokenizerReading:
    check_declaration(declared)
    try:
        tokenizer = library_call(lambda: Tokenizer.from_str(data.decode()), "be loaded")
    except VocabularyError as error:
        raise DamagedFile(
            f"{where} is not a tokenizer.json that the tokenizers library reads: "
            f"{error.evidence.get('library')}.",
            remedy="Fetch the file again, or update the tokenizers library.",
        ) from error
    # The library numbers added tokens itself, and only warns if the file differs.
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
    pieces = cast("Mapping[str, object]", declared["model"]).get("vocab")
    reading = read_tokenizer(tokenizer, also, beside.special_names, decoder=decoder, parsed=pieces)
    return replace(reading, lists_added=True)
