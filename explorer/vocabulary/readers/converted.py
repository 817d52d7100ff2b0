"""Reads the files of other tokenizers by way of transformers, which makes fast tokenizers of them.

A table of pieces with its merges (``vocab.json`` and ``merges.txt``), a ``vocab.txt`` and a
renumbered SentencePiece model do not say how a text is cut, nor what stands between two pieces. The
class of transformers that the folder names does. It makes a tokenizer of the `tokenizers` library,
which is read as a ``tokenizer.json`` is. No code of the folder is run.

Cost: 2 s to import transformers, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tokenizers import Tokenizer

from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary.configs import Beside, read_bytes
from explorer.vocabulary.guards.library import library_call, load_if_installed
from explorer.vocabulary.readers.huggingface import read_tokenizer
from explorer.vocabulary.reading import TokenizerReading

_GPT2: Final = ("GPT2Tokenizer", {"vocab": "encoder.json", "merges": "vocab.bpe"})
_ALONE: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "encoder.json": _GPT2,
    "vocab.bpe": _GPT2,
    "vocab.txt": ("BertTokenizer", {"vocab": "vocab.txt"}),
}
"""The files whose names alone say their class, with its arguments."""

CONVERTED: Final = ("encoder.json", "vocab.json", "vocab.txt", "vocab.bpe", "merges.txt")
"""The names of files that are read so."""

_REMEDY: Final = (
    "Give the tokenizer.json of the same model, or write the bytes of each id by hand with "
    "Vocabulary.from_bytes(...)."
)


def class_of_folder(beside: Beside) -> str:
    """The class of transformers that reads a folder, by its own name or that of its model's type.

    Empty if none is named, or only transformers knows it and is not installed.
    """
    if beside.tokenizer_class or not beside.model_type:
        return beside.tokenizer_class
    if (library := load_if_installed("transformers.models.auto.tokenization_auto")) is None:
        return ""
    return (library.TOKENIZER_MAPPING_NAMES.get(beside.model_type) or "").removesuffix("Fast")


def read_converted(path: Path, beside: Beside) -> TokenizerReading:
    """Read a file by the class that its folder names, or that its own name stands for.

    Raises:
        UnsupportedTokenizer: Transformers is not installed, no class is known, or the class makes
            no fast tokenizer of the files.
        DamagedFile: A file is a substitute for the actual one, such as a Git LFS pointer.
    """
    library = load_if_installed("transformers")
    if library is None:
        raise UnsupportedTokenizer(
            path.name,
            "without transformers only tokenizer.json, SentencePiece models, tiktoken ranks and "
            "tekken.json are read",
            remedy=f"Install transformers (pip install 'constraint-explorer[models]'). {_REMEDY}",
        )
    data = read_bytes(path)
    name, named = class_of_folder(beside), {}
    if not name:
        if path.name not in _ALONE:
            raise UnsupportedTokenizer(
                path.name,
                "no configuration beside it names the class of transformers that reads it, so it "
                "is not known how its pieces are written, nor what stands between two of them",
                remedy="Name it as tokenizer_class in a tokenizer_config.json beside the file. "
                f"{_REMEDY}",
            )
        name, named = _ALONE[path.name]
        if path.name == "vocab.txt" and b"[UNK]" not in data.split():
            raise UnsupportedTokenizer(
                path.name,
                "it has no line [UNK], so it is not a list of WordPiece, and no configuration "
                "beside it names the class of transformers that reads it",
                remedy=_REMEDY,
            )
    tokenizer = _tokenizer(library, name, path.parent, named)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        raise _refused(name, "transformers has no fast tokenizer of this class")
    also = {t: backend.id_to_token(t) or "" for t in tokenizer.all_special_ids if t is not None}
    if path.name != "vocab.txt" or not named:
        return replace(read_tokenizer(backend, also_special=also), lists_added=True)
    backend.normalizer = None  # pyright: ignore[reportAttributeAccessIssue]  # the stubs lack None
    reading = read_tokenizer(backend, also_special=also)
    note = (
        "encode() is not offered: no configuration beside vocab.txt says how text is cut into "
        "words and whether it is lower-cased. A tokenizer.json declares both."
    )
    return replace(reading, notes=(*reading.notes, note), encodes=False)


def _tokenizer(library: Any, name: str, folder: Path, named: Mapping[str, str]) -> Any:
    kind = getattr(library, name, None)
    if kind is None:
        raise _refused(name, "transformers has no tokenizer of this name")
    files = list(named.values()) or [
        file for key, file in kind.vocab_files_names.items() if not key.startswith("tokenizer_")
    ]
    missing = [file for file in files if not (folder / file).is_file()]
    if missing or not files:
        listed = f"{' and '.join(files)}, and {missing[0]} is missing" if files else "no files"
        raise _refused(name, f"it reads {listed}")
    for file in files:
        read_bytes(folder / file)
    try:
        if named:
            return library_call(
                lambda: kind(**{key: str(folder / file) for key, file in named.items()}), "be read"
            )
        return library_call(
            lambda: kind.from_pretrained(folder, local_files_only=True), "be converted"
        )
    except Exception as error:
        raise _refused(name, f"transformers cannot read its files: {error}") from error


def _refused(name: str, why: str) -> UnsupportedTokenizer:
    return UnsupportedTokenizer(f"tokenizer_class {name}", why, remedy=_REMEDY)
