"""Detects the format of a tokenizer's file and calls the reader for it.

Formats are recognised by content, because names are shared: a ``tokenizer.model`` is SentencePiece
for most models and a rank file for Llama 3. A name decides only if the content cannot, as for
``vocab.txt``. In a folder, the most complete description wins: ``tokenizer.json`` before everything
else; after it, the files of the class that a configuration file names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from tokenizers import Tokenizer

from explorer.errors import DamagedFile, UnsupportedTokenizer, VocabularyError
from explorer.vocabulary.classes import (
    BYTE_MERGES,
    CONTINUED_MERGES,
    ENDED_MERGES,
    FORMATS_OF_CLASS,
    LINES,
    RANKS,
    SENTENCEPIECE,
    UNREAD_CLASSES,
    check_files,
)
from explorer.vocabulary.configs import Beside, json_of_file, read_beside, read_bytes
from explorer.vocabulary.guards.library import library_call
from explorer.vocabulary.guards.limits import check_declaration
from explorer.vocabulary.readers.huggingface import read_tokenizer
from explorer.vocabulary.readers.merge_files import read_merge_files
from explorer.vocabulary.readers.numbering import ByTable, read_by_table, read_numbered, tables_of
from explorer.vocabulary.readers.piece_table import as_pieces
from explorer.vocabulary.readers.rank_files import RANK_LINE, read_ranks, read_tekken
from explorer.vocabulary.readers.rwkv_file import is_rwkv, read_rwkv
from explorer.vocabulary.readers.word_piece_file import read_word_piece
from explorer.vocabulary.reading import TokenizerReading
from explorer.vocabulary.tokenizer.decoder import Component

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
    "rwkv_vocab*.txt",
    "*.spm",
    "*-vocab.json",
    "*-vocab.txt",
    "*.vocab",
)
_MODELS: Final = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "*.model")
_TABLES: Final = ("encoder.json", "vocab.json")
_NAMES_OF_FORMAT: Final = {
    SENTENCEPIECE: (*_MODELS, "*.model.*", "*.spm"),
    BYTE_MERGES: _TABLES,
    ENDED_MERGES: _TABLES,
    CONTINUED_MERGES: _TABLES,
    LINES: ("vocab.txt",),
}
_PIECES_OF: Final = {"vocab.bpe": "encoder.json", "merges.txt": "vocab.json"}
_MERGES_OF: Final = {pieces: merges for merges, pieces in _PIECES_OF.items()}
_KNOWN: Final = (
    "tokenizer.json, a SentencePiece .model, a tiktoken rank file, vocab.json with merges.txt, "
    "encoder.json with vocab.bpe, vocab.txt, tekken.json or RWKV's vocabulary"
)
_OTHERWISE: Final = (
    "Give the tokenizer.json that the tokenizers library writes for the same model, or write the "
    "bytes of each id by hand with Vocabulary.from_bytes(...)."
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
        if beside.tokenizer_class in UNREAD_CLASSES and not (path / "tokenizer.json").is_file():
            check_files(beside.tokenizer_class, "", path.name)
        table = _table_in(path, beside)
        if table is not None:
            return read_by_table(path, table, beside), beside
        path = _file_in(path, beside)
    elif not path.exists():
        raise VocabularyError(
            f"There is no file {str(path)!r}.",
            remedy=f"Give the path of a tokenizer: {_KNOWN}, or of the folder that holds it.",
            evidence={"path": str(path)},
        )
    else:
        beside = read_beside(path.parent)
        table = tables_of(beside)
        if table is not None and path.name in (table.table, *table.models):
            return read_by_table(path.parent, table, beside), beside
    return _read_file(path, beside, decoder), beside


def _table_in(folder: Path, beside: Beside) -> ByTable | None:
    """The table that numbers the pieces of the SentencePiece files in a folder, if there is one."""
    if (folder / "tokenizer.json").is_file():
        return None
    table = tables_of(beside)
    if table is not None or beside.tokenizer_class or (folder / "merges.txt").is_file():
        return table
    # Beside a SentencePiece file and without merges, vocab.json can only define the ids.
    models = [name for name in _SPM_BESIDE_TABLE if (folder / name).is_file()]
    with_table = models and (folder / "vocab.json").is_file()
    return ByTable(tuple(models), encodes=False) if with_table else None


_SPM_BESIDE_TABLE: Final = ("target.spm", "source.spm", "sentencepiece.bpe.model", "spiece.model")


def _file_in(folder: Path, beside: Beside) -> Path:
    for pattern in _patterns(beside.tokenizer_class):
        matches = sorted(match for match in folder.glob(pattern) if match.is_file())
        if len(matches) > 1:
            raise VocabularyError(
                f"{str(folder)!r} holds several tokenizers: {', '.join(f.name for f in matches)}.",
                remedy="Give the path of one of these files.",
                evidence={"files": tuple(file.name for file in matches)},
            )
        if matches:
            (file,) = matches
            _check_dictionary(folder, file, beside)
            return file
    raise VocabularyError(
        f"{str(folder)!r} holds no tokenizer.",
        remedy=f"Give the path of {_KNOWN}.",
        evidence={"path": str(folder)},
    )


def _patterns(name: str) -> list[str]:
    """The patterns of file names to look for, those of the class first."""
    read = FORMATS_OF_CLASS.get(name, ())
    own = {pattern for kind in read for pattern in _NAMES_OF_FORMAT.get(kind, ())}
    return sorted(_IN_FOLDER, key=lambda p: p not in own and p not in _IN_FOLDER[:2])


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
    if (pieces := _pieces_of(where)) is not None:
        return _read_merge_files(path.with_name(pieces), path, beside)
    if where.startswith("bpe_simple_vocab"):
        raise UnsupportedTokenizer(
            where,
            "it holds the merges that CLIP was published with; its ids are given by a rule in "
            "CLIP's own program, not by the file",
            remedy="Give vocab.json with merges.txt of the same model, as transformers has them.",
        )
    if path.suffix == ".vocab":
        raise UnsupportedTokenizer(
            where,
            "it lists the pieces of a SentencePiece model for people to read; the model itself is "
            "another file",
            remedy=f"Give {path.stem}.model, which SentencePiece writes beside it.",
        )
    data = read_bytes(path)
    if not data:
        raise DamagedFile(f"{where} is empty.", remedy="Fetch the file again.")
    if is_rwkv(data):
        return read_rwkv(data, where)
    if path.suffix == ".txt":
        return read_word_piece(data, beside, where)
    if path.suffix == ".json" or data.lstrip()[:1] == b"{":
        return _read_json(path, data, beside, decoder)
    if RANK_LINE.fullmatch(data[:4096].partition(b"\n")[0]):
        check_files(beside.tokenizer_class, RANKS, where)
        return read_ranks(data, where)
    # The first field of a SentencePiece model is a piece: field 1, a message.
    if data[0] == 0x0A:
        return read_numbered(data, where, beside)
    raise VocabularyError(
        f"{where} is in no known format.",
        remedy=f"Give the path of {_KNOWN}.",
        evidence={"path": str(path), "starts with": data[:16]},
    )


def _pieces_of(merges: str) -> str | None:
    """The name of the table beside a list of merges; both may begin with the model's name."""
    for ending, pieces in _PIECES_OF.items():
        if merges == ending or merges.endswith(("-" + ending, "_" + ending, "." + ending)):
            return merges.removesuffix(ending) + pieces
    return None


def _merges_of(pieces: str) -> str:
    """The name of the list of merges beside a table."""
    for ending, merges in _MERGES_OF.items():
        if pieces.endswith(ending):
            return pieces.removesuffix(ending) + merges
    return "merges.txt"


def _read_json(
    path: Path, data: bytes, beside: Beside, decoder: Component | None
) -> TokenizerReading:
    where = path.name
    parsed = json_of_file(data, where)
    if isinstance(parsed, str) and parsed.lstrip()[:1] == "{":
        # Keras writes its tokenizer as a JSON text, which many encode as JSON a second time.
        parsed = json_of_file(parsed.encode(errors="replace"), where)
    if isinstance(parsed, dict):
        declared = cast(dict[str, object], parsed)
        if isinstance(declared.get("model"), dict):
            return _read_tokenizer_json(declared, data, where, beside, decoder)
        # A table of pieces may hold "config" and "vocab" as pieces; their values are ids then.
        if isinstance(declared.get("config"), dict) and "vocab" in declared:
            return read_tekken(declared, where)
        _check_homemade(declared, where)
        pieces = as_pieces(declared)
        if pieces is not None and where == "tokenizer.json":
            raise UnsupportedTokenizer(
                where,
                "it is a plain table of pieces and ids: without a model and a decoder it does not "
                "say how its pieces are written, nor what stands between two of them",
                remedy=_OTHERWISE,
            )
        if pieces is not None:
            merges = path.with_name(_merges_of(where))
            return _read_merge_files(path, merges, beside, declared)
    held = ""
    if isinstance(parsed, dict):
        names = [repr(name[:20]) for name in cast(dict[str, object], parsed)]
        held = f": it has the fields {', '.join(names[:6])}{', …' if len(names) > 6 else ''}"
    raise UnsupportedTokenizer(
        where,
        f"it is JSON, but neither a tokenizer.json of the tokenizers library, nor a tekken.json, "
        f"nor a table of pieces and ids{held}",
        remedy=f"Check that it is the file you mean. {_OTHERWISE}",
    )


def _check_homemade(declared: Mapping[str, object], where: str) -> None:
    """Refuse other kinds of files that often have these names, and say what they are."""
    if declared.get("class_name") == "Tokenizer" and isinstance(declared.get("config"), Mapping):
        raise UnsupportedTokenizer(
            where,
            "it is a tokenizer of Keras: its words stand for text that was stripped of punctuation "
            "and spaces, so no id has bytes of its own",
            remedy="If each word should write itself and a space, give them to "
            "Vocabulary.from_bytes(...) so.",
        )
    if (
        declared
        and all(key.isdecimal() for key in declared)
        and all(isinstance(value, str) for value in declared.values())
    ):
        raise UnsupportedTokenizer(
            where,
            "it gives a piece for each id, where a table of pieces gives an id for each piece",
            remedy="Write the table the other way round, or write the bytes of each id by hand "
            "with Vocabulary.from_bytes(...).",
        )


def _read_merge_files(
    pieces: Path, merges: Path, beside: Beside, declared: Mapping[str, object] | None = None
) -> TokenizerReading:
    if not pieces.is_file():
        raise VocabularyError(
            f"{merges.name} holds merges only, and {pieces.name} is missing, which gives the ids.",
            remedy=f"Put {pieces.name} beside {merges.name}.",
            evidence={"path": str(pieces)},
        )
    if beside.tokenizer_class in UNREAD_CLASSES:
        check_files(beside.tokenizer_class, "", pieces.name)
    if not merges.is_file():
        raise UnsupportedTokenizer(
            pieces.name,
            f"it is a plain table of pieces and ids, and {merges.name} is missing: alone it does "
            f"not say how its pieces are written, nor what stands between two of them",
            remedy=f"If it is half of a byte-pair encoding, put its {merges.name} beside it. "
            f"Otherwise: {_OTHERWISE[0].lower()}{_OTHERWISE[1:]}",
        )
    if declared is None:
        declared = as_pieces(json_of_file(read_bytes(pieces), pieces.name))
    if declared is None:
        raise DamagedFile(
            f"{pieces.name} is not an object from pieces to ids.", remedy="Fetch the file again."
        )
    return read_merge_files(
        declared,
        read_bytes(merges),
        f"{pieces.name} with {merges.name}",
        beside,
        gpt2=pieces.name == "encoder.json",
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
