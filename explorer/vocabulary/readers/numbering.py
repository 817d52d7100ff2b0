"""Reads SentencePiece models whose pieces have other ids than their numbers in the file.

There are two families, recognised by the class that a configuration file names:

===========  ==================================================================================
shifted      the first ids are special tokens of the class, and all pieces move up: by 1 in the
             models that were trained with fairseq (XLM-R, mBART, NLLB), by 103 in Pegasus
by a table   ``vocab.json`` gives each piece its id, and the SentencePiece file only cuts text
             (M2M100, Marian, Speech2Text)
===========  ==================================================================================

With the numbers of the file, every id of such a model would be wrong. The bytes of a piece do not
depend on its number, so they are read from the file as usual and then moved; the library's
encodings are renumbered too, and the vocabulary is proved with the model's ids.

Source: transformers, the classes of these names; fairseq, ``data/dictionary.py``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from explorer.errors import DamagedFile, UnsupportedTokenizer, VocabularyError
from explorer.vocabulary.classes import SENTENCEPIECE, check_files, refuse_class
from explorer.vocabulary.configs import CONTROL_NAME, Beside, json_of_file, read_bytes
from explorer.vocabulary.readers.piece_table import as_pieces, ids_of_pieces, lines_of
from explorer.vocabulary.readers.sentencepiece_file import (
    SPACE,
    SentencePieceEncoder,
    read_sentencepiece,
)
from explorer.vocabulary.reading import Encoder, TokenizerReading

_FAIRSEQ: Final = ("<s>", "<pad>", "</s>", "<unk>")


@dataclass(frozen=True)
class Shifted:
    """The numbering that shifts the pieces of a file up.

    Attributes:
        by: The difference between the id of a piece and its number in the file.
        first: The special tokens that take the first ids.
    """

    by: int
    first: tuple[str, ...]


@dataclass(frozen=True)
class ByTable:
    """The numbering by a table beside the file, from pieces to ids.

    Attributes:
        models: The names of the SentencePiece files; the first that exists encodes, and all define
            pieces.
        table: The name of the file with the ids.
        encodes: Whether the class encodes text exactly as the SentencePiece file does.
    """

    models: tuple[str, ...]
    table: str = "vocab.json"
    encodes: bool = True


_FAIRSEQ_SHIFT: Final = Shifted(1, _FAIRSEQ)
_BY_CLASS: Final[Mapping[str, Shifted | ByTable]] = {
    "CamembertTokenizer": Shifted(
        4, ("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED")
    ),
    "ErnieMTokenizer": ByTable(("sentencepiece.bpe.model",), "vocab.txt", encodes=False),
    "LayoutXLMTokenizer": _FAIRSEQ_SHIFT,
    "M2M100Tokenizer": ByTable(("sentencepiece.bpe.model",)),
    "MBart50Tokenizer": _FAIRSEQ_SHIFT,
    "MBartTokenizer": _FAIRSEQ_SHIFT,
    "MLukeTokenizer": _FAIRSEQ_SHIFT,
    "MarianTokenizer": ByTable(("target.spm", "source.spm"), encodes=False),
    "NllbTokenizer": _FAIRSEQ_SHIFT,
    "PLBartTokenizer": _FAIRSEQ_SHIFT,
    "PegasusTokenizer": Shifted(
        103, ("<pad>", "</s>", "<mask_1>", "<mask_2>", *(f"<unk_{n}>" for n in range(2, 103)))
    ),
    "SMALL100Tokenizer": ByTable(("sentencepiece.bpe.model",)),
    "SeamlessM4TTokenizer": Shifted(1, ("<pad>", "<unk>", "<s>", "</s>")),
    "Speech2TextTokenizer": ByTable(("sentencepiece.bpe.model",), encodes=False),
    "XGLMTokenizer": _FAIRSEQ_SHIFT,
    "XLMRobertaTokenizer": _FAIRSEQ_SHIFT,
    "XLMRobertaXLTokenizer": _FAIRSEQ_SHIFT,
}
# Classes that number or decode the pieces of a SentencePiece file by unsupported rules.
_REFUSED: Final = {
    "BartphoTokenizer": "it numbers the pieces that dict.txt lists, in the order of that file",
    "CpmTokenizer": "it cuts text with a dictionary, and writes spaces and line ends as other "
    "characters",
    "XLMProphetNetTokenizer": "it puts special tokens before the pieces of the file",
}
# Classes that rewrite accents, case or punctuation before SentencePiece cuts a text.
_REWRITING: Final = frozenset(
    {
        "AlbertTokenizer",
        "DebertaV2Tokenizer",
        "FNetTokenizer",
        "GPTSw3Tokenizer",
        "RemBertTokenizer",
        "SiglipTokenizer",
        "SpeechT5Tokenizer",
        "XLNetTokenizer",
    }
)
# Classes that use the numbers of the file as ids.
_IN_ORDER: Final = frozenset(
    {
        "AlbertTokenizer",
        "BaichuanTokenizer",
        "BarthezTokenizer",
        "BertGenerationTokenizer",
        "BigBirdTokenizer",
        "ChatGLMTokenizer",
        "CodeLlamaTokenizer",
        "DebertaV2Tokenizer",
        "FNetTokenizer",
        "GPTSw3Tokenizer",
        "GemmaTokenizer",
        "InternLM2Tokenizer",
        "InternLMTokenizer",
        "LlamaTokenizer",
        "MT5Tokenizer",
        "ReformerTokenizer",
        "RemBertTokenizer",
        "SiglipTokenizer",
        "SpeechT5Tokenizer",
        "T5Tokenizer",
        "UdopTokenizer",
        "XLNetTokenizer",
        "YiTokenizer",
    }
)


def tables_of(beside: Beside) -> ByTable | None:
    """The table that numbers the pieces, if the class has one."""
    numbering = _BY_CLASS.get(beside.tokenizer_class)
    if isinstance(numbering, ByTable):
        separate = beside.settings.get("separate_vocabs") is True
        return replace(numbering, table="target_vocab.json") if separate else numbering
    return None


def read_numbered(data: bytes, where: str, beside: Beside) -> TokenizerReading:
    """Read a SentencePiece model with the ids that its class gives the pieces.

    Raises:
        UnsupportedTokenizer: The class numbers or decodes pieces by unsupported rules, or no class
            is named and the file may need one.
        DamagedFile: The file is truncated, or is not such a model.
    """
    name = beside.tokenizer_class
    refuse_class(name, _REFUSED, f"the ids are not those of {where}")
    check_files(name, SENTENCEPIECE, where)
    reading = read_sentencepiece(data, where)
    numbering = _BY_CLASS.get(name)
    if name == "PegasusTokenizer" and isinstance(numbering, Shifted):
        numbering = _pegasus(numbering, beside)
    if isinstance(numbering, Shifted):
        return _shifted(reading, numbering, name)
    if name == "ChatGLMTokenizer" or where == "ice_text.model":
        return _chatglm(reading, where, beside)
    if not name and where == "sentencepiece.bpe.model" and _starts_like_fairseq(reading):
        raise UnsupportedTokenizer(
            where,
            "no configuration beside it names a tokenizer_class, and most models with a file of "
            "this name (XLM-R, mBART, M2M100, CamemBERT) number its pieces otherwise than the file",
            remedy="Put the model's tokenizer_config.json or config.json beside it; or, if the "
            "model numbers the pieces as the file does, rename the file to tokenizer.model.",
        )
    if name in _REWRITING:
        note = f"encode() is not offered: {name} rewrites text before it is cut."
    elif name and name not in _IN_ORDER:
        note = (
            f"The configuration names the class {name}, which is not known here: the ids are the "
            f"numbers that the pieces have in {where}, and encode() is not offered, because the "
            f"class may rewrite text before it is cut."
        )
    else:
        return reading
    return replace(reading, notes=(*reading.notes, note), encodes=False)


def _starts_like_fairseq(reading: TokenizerReading) -> bool:
    # This is SentencePiece's default order; a file made for the model's ids starts differently.
    return [reading.special.get(token) for token in range(3)] == ["<unk>", "<s>", "</s>"]


def _pegasus(numbering: Shifted, beside: Beside) -> Shifted:
    offset = beside.settings.get("offset", numbering.by)
    if not isinstance(offset, int) or not 0 <= offset <= numbering.by:
        raise DamagedFile(
            f"tokenizer_config.json: offset is {offset!r}, not a whole number from 0 to 103.",
            remedy="Correct it, or fetch the file again.",
            evidence={"offset": offset},
        )
    return Shifted(offset, numbering.first[: offset + 2] if offset else ())


def _shifted(reading: TokenizerReading, numbering: Shifted, name: str) -> TokenizerReading:
    by, first = numbering.by, numbering.first
    tokens: list[bytes | None] = [None] * by + reading.tokens
    tokens += [None] * (len(first) - len(tokens))
    special = {token + by: piece for token, piece in reading.special.items()}
    for token, piece in enumerate(first):
        if tokens[token] is not None:
            raise UnsupportedTokenizer(
                f"tokenizer_class {name}",
                f"it gives the id {token} to {piece!r}, where the file has a piece of text",
                remedy="Check that the files belong to the same model.",
            )
        special[token] = piece
    # Pieces that are not text, such as the unknown one, take the ids of the class's tokens of the
    # same names.
    pieces = {piece: token + by for piece, token in reading.pieces.items()}
    pieces.update({piece: token for token, piece in enumerate(first)})
    numbers = range(by, by + len(reading.tokens))
    moved = [
        pieces[reading.special[t]] if t in reading.special else n for t, n in enumerate(numbers)
    ]
    inner = reading.encoder
    note = f"The ids are those of {name}: {by} more than the numbers in the file."
    return TokenizerReading(
        tokens=tokens,
        special=special,
        pieces=pieces,
        eos_ids=frozenset({pieces["</s>"]}) if "</s>" in pieces else frozenset(),
        notes=(*reading.notes, note),
        encoder=inner and TableEncoder(inner, tuple(moved), 0, inner.greedy),
        probes=(*reading.probes, *first[:8]),
        model=reading.model,
    )


# --- by a table -------------------------------------------------------------------------------


def read_by_table(folder: Path, numbering: ByTable, beside: Beside) -> TokenizerReading:
    """Read a folder in which a table numbers the pieces of SentencePiece files.

    Raises:
        VocabularyError: A file is missing, or an id is out of range.
        DamagedFile: A file is truncated, or is not what its name says.
        UnsupportedTokenizer: The class does not decode its pieces as spelled.
    """
    present = [name for name in numbering.models if (folder / name).is_file()]
    missing = "" if present else numbering.models[0]
    missing = missing if (folder / numbering.table).is_file() else numbering.table
    if missing:
        name = beside.tokenizer_class or "The tokenizer"
        raise VocabularyError(
            f"{name} numbers its pieces by {numbering.table} and cuts text by "
            f"{' and '.join(numbering.models)}, and {missing} is missing.",
            remedy=f"Put {missing} into the folder, or a tokenizer.json of the same model.",
            evidence={"path": str(folder / missing)},
        )
    if beside.settings.get("do_upper_case") is True:
        raise UnsupportedTokenizer(
            "tokenizer_config.json, do_upper_case",
            "all text is printed in capitals, so a piece does not write what it is spelled as",
            remedy="Write the bytes of each id by hand with Vocabulary.from_bytes(...).",
        )
    readings = [read_sentencepiece(read_bytes(folder / name), name) for name in present]
    ids = _table(folder / numbering.table)
    width = max(ids.values(), default=-1) + 1
    tokens: list[bytes | None] = [None] * width
    special: dict[int, str] = {}
    for piece, token in ids.items():
        owner = next((reading for reading in readings if piece in reading.pieces), None)
        if owner is None:
            tokens[token] = piece.replace(SPACE, " ").encode()
            if CONTROL_NAME.fullmatch(piece) or piece in beside.special_names:
                special[token] = piece
        else:
            tokens[token] = owner.tokens[owner.pieces[piece]]
            if tokens[token] is None:
                special[token] = piece
    unknown = next((ids[name] for name in ("<unk>", "[UNK]") if name in ids), None)
    encoder = _table_encoder(readings[0], ids, unknown)
    notes = [
        *readings[0].notes,
        f"The ids are those of {numbering.table}; {present[0]} only cuts text into pieces.",
        f"Text whose pieces are not in {numbering.table} becomes the unknown token, which writes "
        f"nothing.",
    ]
    if encoder is not None and not numbering.encodes:
        notes.append(
            f"encode() is not offered: {beside.tokenizer_class or 'the class'} rewrites text "
            f"before it is cut."
        )
    return TokenizerReading(
        tokens=tokens,
        special=special,
        pieces=ids,
        notes=tuple(notes),
        encoder=encoder,
        encodes=numbering.encodes,
        probes=tuple(special.values()),
    )


def _table(path: Path) -> dict[str, int]:
    if path.suffix == ".txt":
        lines = lines_of(read_bytes(path), path.name)
        listed: Mapping[str, object] = {
            line.partition("\t")[0]: token for token, line in enumerate(lines) if line
        }
    else:
        declared = as_pieces(json_of_file(read_bytes(path), path.name))
        if declared is None:
            raise DamagedFile(
                f"{path.name} is not an object from pieces to ids.", remedy="Fetch the file again."
            )
        listed = declared
    ids = ids_of_pieces(listed, path.name)
    owners: dict[int, str] = {}
    for piece, token in ids.items():
        if token in owners:
            raise VocabularyError(
                f"The id {token} belongs to two pieces, {owners[token]!r} and {piece!r}.",
                remedy=f"Correct {path.name}: every piece has an id of its own.",
                evidence={"id": token, "pieces": (owners[token], piece)},
            )
        owners[token] = piece
    return ids


def _table_encoder(
    reading: TokenizerReading, ids: Mapping[str, int], unknown: int | None
) -> TableEncoder | None:
    inner = reading.encoder
    if not isinstance(inner, SentencePieceEncoder) or unknown is None:
        return None
    numbers = [-1] * len(reading.tokens)
    for piece, token in reading.pieces.items():
        if reading.tokens[token] is not None:
            numbers[token] = ids.get(piece, -1)
    return TableEncoder(inner, tuple(numbers), unknown, greedy=True)


@dataclass(frozen=True)
class TableEncoder:
    """An encoder that renumbers the ids of another one by a table.

    Attributes:
        inner: The encoder with the numbers of the file.
        numbers: The id of each of those numbers; -1 without one.
        unknown: The id for pieces without one.
        greedy: Whether it may report text as unknown that other pieces could spell.
    """

    inner: Encoder
    numbers: Sequence[int]
    unknown: int
    greedy: bool
    apart: frozenset[int] = frozenset()

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of ``text``."""
        ids = (self.numbers[token] for token in self.inner.encode(text))
        return tuple(self.unknown if token < 0 else token for token in ids)

    def image(self, text: str) -> bytes:
        """The image by the inner encoder, since bytes do not depend on the numbering."""
        return self.inner.image(text)

    def loses(self, text: str) -> bool:
        """Whether some of ``text`` has no piece, or a piece without an id."""
        return self.inner.loses(text) or any(self.numbers[t] < 0 for t in self.inner.encode(text))


# --- ChatGLM ----------------------------------------------------------------------------------

_BLANKS: Final = re.compile(r"<\|blank_(\d{1,3})\|>")


def _chatglm(reading: TokenizerReading, where: str, beside: Beside) -> TokenizerReading:
    """Renumber ChatGLM's first file: image ids come first, and some pieces are white space."""
    images = beside.settings.get("num_image_tokens")
    if where != "ice_text.model":
        return reading
    if not isinstance(images, int) or not 0 <= images < 1 << 20:
        raise UnsupportedTokenizer(
            where,
            "its ids start after those of images, and no tokenizer_config.json beside it says how "
            "many there are (num_image_tokens)",
            remedy="Put the model's tokenizer_config.json beside it, with num_image_tokens: 20000 "
            "for ChatGLM's first release, 0 for the later ones.",
        )
    tokens = list(reading.tokens)
    for piece, token in reading.pieces.items():
        if piece in ("<n>", "<|tab|>"):
            tokens[token] = b"\n" if piece == "<n>" else b"\t"
        elif match := _BLANKS.fullmatch(piece):
            tokens[token] = b" " * int(match[1])
    note = (
        "The pieces <n>, <|tab|> and <|blank_N|> stand for white space, as ChatGLM prints them; "
        "encode() is not offered, because the class rewrites text into them."
    )
    shifted = _shifted(reading, Shifted(images, ()), "ChatGLMTokenizer") if images else reading
    return replace(
        shifted,
        tokens=[None] * images + tokens,
        notes=(*shifted.notes, note),
        # It encodes white space with other pieces than these, so it would prove nothing.
        encoder=None,
    )
