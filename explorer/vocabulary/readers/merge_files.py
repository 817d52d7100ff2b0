"""Reads vocabularies of two plain files: a table of pieces with ids, and a list of merges.

GPT-2 published ``encoder.json`` + ``vocab.bpe``; most others are named ``vocab.json`` +
``merges.txt``. Neither file says how pieces spell bytes, but the pieces themselves show it:

==============  ===============================================================================
byte-level      every piece is written in GPT-2's alphabet (GPT-2, RoBERTa, Qwen, Whisper)
``</w>``        ends a word, and stands for a space; the rest in GPT-2's alphabet where all 256
                of its characters have pieces (CLIP), else in characters (GPT, HerBERT, XLM)
``@@``          marks a piece that the word goes on after; all others write a space (CTRL)
``▁``           stands for a space (SentencePiece's way of writing)
==============  ===============================================================================

Neither file marks special tokens. A piece that is neither a character, nor part of a merge, nor the
result of one, is never produced by the tokenizer. If it is spelled like a control token
(``<|endoftext|>``, ``[PAD]``) it is not text. Any other is text: the library decodes it like all
pieces, so a model may generate it.

The files do not say either how a text is cut into words. The class named in
``tokenizer_config.json`` does; without it the vocabulary is proved but cannot encode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from explorer.arguments import counted
from explorer.errors import DamagedFile, UnsupportedTokenizer
from explorer.vocabulary.classes import (
    BYTE_MERGES,
    CONTINUED_MERGES,
    ENDED_MERGES,
    SPACED_MERGES,
    check_files,
    refuse_class,
)
from explorer.vocabulary.configs import CONTROL_NAME, Beside
from explorer.vocabulary.guards.library import library_call
from explorer.vocabulary.readers.huggingface import read_tokenizer
from explorer.vocabulary.readers.piece_table import ids_of_pieces, lines_of
from explorer.vocabulary.reading import TokenizerReading
from explorer.vocabulary.tokenizer.byte_alphabet import BYTE_OF, CHAR_OF
from explorer.vocabulary.tokenizer.decoder import PieceReader, WordEndReader, byte_of

_WORD_END, _CONTINUES, _SPACE = "</w>", "@@", "▁"

# The classes of transformers that cut text as GPT-2 does.
_GPT2_CLASSES: Final = frozenset(
    {
        "BartTokenizer",
        "BlenderbotTokenizer",
        "CodeGenTokenizer",
        "DebertaTokenizer",
        "GPT2Tokenizer",
        "LEDTokenizer",
        "LayoutLMv3Tokenizer",
        "LongformerTokenizer",
        "MarkupLMTokenizer",
        "MvpTokenizer",
        "RobertaTokenizer",
        "WhisperTokenizer",
    }
)
_BYTE_CLASSES: Final = frozenset({"GPTNeoXTokenizer", "LukeTokenizer", "Qwen2Tokenizer"})
_PREFIXING: Final = frozenset({"BlenderbotTokenizer", "LayoutLMv3Tokenizer"})

# Classes that read such files but do not decode the pieces as spelled.
_OTHER_RULES: Final = {
    "BioGptTokenizer": "it joins words by rules for punctuation (Moses)",
    "ClvpTokenizer": "it reads text aloud, and writes spaces as '[SPACE]'",
    "FSMTTokenizer": "it joins words by rules for punctuation (Moses)",
}

# Qwen's pattern: words with the character before them, single digits, punctuation with the lines
# that end after it, line ends, spaces.
_QWEN2_WORDS: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# CLIP's: letters, single digits, runs of anything else; spaces are dropped.
_CLIP_WORDS: Final = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


@dataclass(frozen=True)
class _Files:
    """The two files, parsed."""

    ids: dict[str, int]
    merges: list[tuple[str, str]]
    where: str
    beside: Beside
    gpt2: bool

    @property
    def parts(self) -> set[str]:
        """All pieces that are part of a merge, or the result of one."""
        return {piece for a, b in self.merges for piece in (a, b, a + b)}


def read_merge_files(
    pieces: Mapping[str, object], merges: bytes, where: str, beside: Beside, *, gpt2: bool = False
) -> TokenizerReading:
    """Read a table of pieces and its merges.

    Args:
        beside: The facts from the configuration files; their class decides how text is cut.
        gpt2: Whether the files have the names that only GPT-2's own release uses.

    Raises:
        DamagedFile: An id is not a number, or a merge is not two pieces of the vocabulary.
        VocabularyError: Ids are out of range, or one id has two pieces.
        UnsupportedTokenizer: The pieces do not show how they spell bytes.
    """
    name = beside.tokenizer_class
    refuse_class(name, _OTHER_RULES, f"it does not print the pieces of {where} as they are written")
    files = _Files(ids_of_pieces(pieces, where), _merges(merges, where), where, beside, gpt2)
    continued = sum(piece.endswith(_CONTINUES) for piece in files.ids)
    if 20 * continued > len(files.ids):
        check_files(name, CONTINUED_MERGES, where)
        return _continued(files)
    if any(b.endswith(_WORD_END) for _, b in files.merges):
        check_files(name, ENDED_MERGES, where)
        complete = all(c in files.ids and c + _WORD_END in files.ids for c in BYTE_OF)
        return _ending_in_bytes(files) if complete else _ending_in_characters(files)
    foreign = next((p for p in sorted(files.parts) if not BYTE_OF.keys() >= set(p)), None)
    if foreign is None:
        check_files(name, BYTE_MERGES, where)
        if name not in _GPT2_CLASSES | _BYTE_CLASSES and not gpt2:
            _check_spaces(files)
        return _byte_level(files)
    if any(_SPACE in a + b for a, b in files.merges):
        check_files(name, SPACED_MERGES, where)
        return _spaced(files)
    raise UnsupportedTokenizer(
        "pieces",
        f"{where} has the piece {foreign[:40]!r}, which is not in GPT-2's byte alphabet, and no "
        f"mark for spaces ({_SPACE!r}, {_WORD_END!r} or {_CONTINUES!r}), so it is not known what "
        f"stands between two pieces",
        remedy="Give the tokenizer.json of the same model, which declares it, or write the bytes "
        "of each id by hand with Vocabulary.from_bytes(...).",
    )


def _check_spaces(files: _Files) -> None:
    """Refuse pieces none of which writes a space, unless a class says how they are decoded."""
    mark = CHAR_OF[ord(" ")]
    if not any(mark in piece or _SPACE in piece or " " in piece for piece in files.ids):
        raise UnsupportedTokenizer(
            "pieces",
            f"none of those in {files.where} writes a space ({mark!r}, {_SPACE!r}, {_WORD_END!r} "
            f"and {_CONTINUES!r} are the marks for it), so it is not known what stands between two "
            f"of them",
            remedy="Give the tokenizer.json of the same model, which declares it; or, if the "
            "model writes text without spaces, name its class as tokenizer_class in a "
            "tokenizer_config.json beside them.",
        )


# --- the ways of writing ----------------------------------------------------------------------


def _byte_level(files: _Files) -> TokenizerReading:
    tokenizer = Tokenizer(_model(files))
    tokenizer.decoder = decoders.ByteLevel()
    name = files.beside.tokenizer_class
    prefixed = files.beside.settings.get("add_prefix_space", name in _PREFIXING) is True
    plain = pre_tokenizers.ByteLevel(add_prefix_space=prefixed)
    known = name in _GPT2_CLASSES or (files.gpt2 and not name)
    if name in ("Qwen2Tokenizer", "GPTNeoXTokenizer"):
        known = True
        tokenizer.normalizer = normalizers.NFC()
    if name == "Qwen2Tokenizer":
        split = pre_tokenizers.Split(Regex(_QWEN2_WORDS), "isolated")
        last = pre_tokenizers.ByteLevel(add_prefix_space=prefixed, use_regex=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, last])
    else:
        tokenizer.pre_tokenizer = plain
    return _finished(files, tokenizer, set(BYTE_OF), known)


def _ending_in_bytes(files: _Files) -> TokenizerReading:
    unknown = "<|endoftext|>" if "<|endoftext|>" in files.ids else None
    tokenizer = Tokenizer(_model(files, suffix=_WORD_END, unknown=unknown))
    split = pre_tokenizers.Split(Regex(_CLIP_WORDS), "removed", invert=True)
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, last])
    known = files.beside.tokenizer_class == "CLIPTokenizer"
    if known:
        spaces = normalizers.Replace(Regex(r"\s+"), " ")
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.NFC(), spaces, normalizers.Lowercase()]
        )
    note = (
        f"{_WORD_END!r} at the end of a piece stands for a space, as CLIP's tokenizer prints it; "
        f"at the end of a text it leaves that space out."
    )
    reader = PieceReader(
        WordEndReader(_WORD_END, byte_level=True),
        (note,),
        joins="after",
        suffix=_WORD_END,
        byte_level=True,
    )
    single = {character + end for character in BYTE_OF for end in ("", _WORD_END)}
    return _finished(files, tokenizer, single, known, reader)


def _ending_in_characters(files: _Files) -> TokenizerReading:
    single = {p for p in files.ids if len(p.removesuffix(_WORD_END)) == 1}
    # The library marks a word's last character; other tokenizers merge the mark like a character.
    if _missing(files) is not None or any(_WORD_END in merge for merge in files.merges):
        return _by_rule(files, WordEndReader(_WORD_END), single, f"{_WORD_END!r} ends a word")
    unknown = "<unk>" if "<unk>" in files.ids else None
    tokenizer = Tokenizer(_model(files, suffix=_WORD_END, unknown=unknown))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder(_WORD_END)
    known = files.beside.tokenizer_class == "OpenAIGPTTokenizer"
    if known:
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    return _finished(files, tokenizer, single, known)


@dataclass(frozen=True)
class _ContinuedReader:
    """A reader of pieces in which ``@@`` marks that the word continues."""

    def __call__(self, piece: str) -> bytes:
        """The bytes of a piece."""
        if piece.endswith(_CONTINUES):
            return piece.removesuffix(_CONTINUES).encode()
        return f"{piece} ".encode()


def _continued(files: _Files) -> TokenizerReading:
    single = {piece for piece in files.ids if len(piece.removesuffix(_CONTINUES)) == 1}
    # Merges use </w> at the end of a word, pieces use @@ everywhere but there.
    single |= {a + b + _CONTINUES for a, b in files.merges if not b.endswith(_WORD_END)}
    single |= {(a + b).removesuffix(_WORD_END) for a, b in files.merges}
    what = f"{_CONTINUES!r} marks a piece that its word goes on after"
    return _by_rule(files, _ContinuedReader(), single, what)


def _spaced(files: _Files) -> TokenizerReading:
    unknown = "<unk>" if "<unk>" in files.ids else None
    fallback = all(f"<0x{byte:02X}>" in files.ids for byte in range(256))
    tokenizer = Tokenizer(_model(files, unknown=unknown, byte_fallback=fallback))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    if fallback:
        spaces = decoders.Replace(_SPACE, " ")
        tokenizer.decoder = decoders.Sequence([spaces, decoders.ByteFallback(), decoders.Fuse()])
    single = {p for p in files.ids if len(p) == 1 or (fallback and byte_of(p) is not None)}
    return _finished(files, tokenizer, single, known=False)


# --- what all have in common ------------------------------------------------------------------


def _finished(
    files: _Files,
    tokenizer: Tokenizer,
    single: set[str],
    known: bool,
    reader: PieceReader | None = None,
) -> TokenizerReading:
    control, unwritten, notes = _unwritten(files, single)
    reading = read_tokenizer(
        tokenizer, also_special=control, reader=reader, unwritten=frozenset(unwritten)
    )
    if not known:
        notes.append(_not_encoding(files.beside))
    return TokenizerReading(
        tokens=reading.tokens,
        special=reading.special,
        pieces=reading.pieces,
        notes=(*reading.notes, *notes),
        encoder=reading.encoder,
        encodes=known,
        probes=reading.probes,
        model=reading.model,
    )


def _by_rule(
    files: _Files, reader: WordEndReader | _ContinuedReader, single: set[str], what: str
) -> TokenizerReading:
    """A reading without an encoder, because the library cannot apply these merges."""
    control, _, notes = _unwritten(files, single)
    tokens: list[bytes | None] = [None] * (max(files.ids.values(), default=-1) + 1)
    for piece, token in files.ids.items():
        if token not in control:
            tokens[token] = reader(piece)
    notes += [
        f"{what}; every other piece writes a space after it, which is left out at the end of a "
        f"text."
        if isinstance(reader, _ContinuedReader)
        else f"{what}, and writes a space after it, which is left out at the end of a text.",
        "Not proved by encoding: the merges do not give these pieces as they are written.",
    ]
    return TokenizerReading(tokens=tokens, special=control, pieces=files.ids, notes=tuple(notes))


def _unwritten(files: _Files, single: set[str]) -> tuple[dict[int, str], list[int], list[str]]:
    """The control tokens, the other pieces that no merge produces, and notes on both."""
    reachable = single | files.parts
    others = sorted((token, piece) for piece, token in files.ids.items() if piece not in reachable)
    declared = files.beside.special_names
    control = {t: p for t, p in others if p in declared or CONTROL_NAME.fullmatch(p)}
    unwritten = [token for token, _ in others if token not in control]
    notes: list[str] = []
    guessed = [token for token, piece in control.items() if piece not in declared]
    if guessed:
        notes.append(
            f"No merge gives {counted(len(guessed), 'piece')} spelled like control tokens (the "
            f"first is {control[guessed[0]]!r}, id {guessed[0]}), so they are not text."
        )
    if unwritten:
        notes.append(
            f"No merge gives {counted(len(unwritten), 'piece')} (the first is the id "
            f"{unwritten[0]}): the tokenizer never writes with them, but the library prints their "
            f"text, so they are text."
        )
    return control, unwritten, notes


def _not_encoding(beside: Beside) -> str:
    named = f"its class {beside.tokenizer_class} is not known here"
    unnamed = "no configuration file beside it names its class"
    reason = named if beside.tokenizer_class else unnamed
    return (
        f"encode() is not offered: {reason}, and so the rule is not known that cuts text into "
        f"words. A tokenizer.json declares it."
    )


def _model(
    files: _Files, *, suffix: str = "", unknown: str | None = None, byte_fallback: bool = False
) -> models.BPE:
    missing = _missing(files)
    if missing is not None:
        a, b, piece = missing
        raise DamagedFile(
            f"{files.where}: the merge of {a!r} and {b!r} needs the piece {piece!r}, which is "
            f"not in the vocabulary.",
            remedy="Check that both files belong to the same tokenizer.",
            evidence={"merge": (a, b), "piece": piece},
        )
    # The library does not accept None for a missing option.
    options: dict[str, Any] = {"end_of_word_suffix": suffix} if suffix else {}
    if unknown is not None:
        options |= {"unk_token": unknown, "fuse_unk": True}
    return library_call(
        lambda: models.BPE(files.ids, files.merges, byte_fallback=byte_fallback, **options),
        "read the vocabulary and merges",
    )


def _missing(files: _Files) -> tuple[str, str, str] | None:
    """The first merge with a missing piece, and that piece."""
    for a, b in files.merges:
        for piece in (a, b, a + b):
            if piece not in files.ids:
                return a, b, piece
    return None


# --- the files --------------------------------------------------------------------------------


def _merges(data: bytes, where: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for line, entry in enumerate(lines_of(data, where), start=1):
        if not entry or (line == 1 and entry.startswith("#version")):
            continue
        parts = entry.split(" ")
        # Some programs append to each merge how often it occurred.
        if len(parts) == 3 and parts[2].isdecimal():
            parts.pop()
        if len(parts) != 2 or not all(parts):
            raise DamagedFile(
                f"{where}: line {line} of the merges, {entry[:60]!r}, is not two pieces.",
                remedy="Fetch the file again, or check that it lists one merge a line, its two "
                "pieces with a space between. For another format, write the bytes of each id by "
                "hand with Vocabulary.from_bytes(...).",
                evidence={"line": line},
            )
        pairs.append((parts[0], parts[1]))
    return pairs
