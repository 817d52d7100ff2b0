"""The parts of a tokenizer that decide which token sequences are canonical, read from it.

*Canonical* is a sequence that the tokenizer itself would write for the sequence's own text, as that
stands after the normalizer and a dummy prefix: the prefix of a SentencePiece model is text here.

Followed: byte-pair encoding over bytes (``ByteLevel``, with GPT-2's pattern or one of its own) and
over characters with byte fallback (SentencePiece's, ``Metaspace`` or ``Prepend`` + ``Replace``, and
its own files), rank files that name their pattern (Tekken), and Unigram and WordPiece models
(`explorer.vocabulary.canonical.word_rules`). Whatever else is not followed is refused by name.

A normalizer such as NFC leaves only texts in its own form as they are, so other texts have no
canonical sequence. Added tokens that are text cut a text before anything else does
(`explorer.vocabulary.canonical.added_search`); where flags decide on one, or a part of a text gets
a prefix, a constraint that can hold it is refused (`explorer.tokens.filtered.limits`). Special
tokens are never text here: the pieces that spell ``</s>`` are, though a library may read them as
the special token.

Cost: half a second for 131,072 tokens, once.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from explorer.errors import UnsupportedTokenizer
from explorer.memo import Recent
from explorer.vocabulary.canonical.added_search import AddedSearch, AddedText
from explorer.vocabulary.canonical.marked import Marked
from explorer.vocabulary.canonical.merges import Merges
from explorer.vocabulary.canonical.patterns import NUM_CHARACTERS
from explorer.vocabulary.canonical.spaced import cut_before_marks, single_spaces
from explorer.vocabulary.canonical.word_rules import WordRules, word_rules_of
from explorer.vocabulary.readers.rank_files import RankEncoder
from explorer.vocabulary.readers.sentencepiece_file import SentencePieceEncoder
from explorer.vocabulary.tokenizer.byte_alphabet import CHAR_OF
from explorer.vocabulary.tokenizer.decoder import Component, byte_of, flatten
from explorer.vocabulary.tokenizer.encoder import TokenizersEncoder
from explorer.vocabulary.tokenizer.model_facts import model_state
from explorer.vocabulary.tokenizer.preprocessing import parse_component
from explorer.vocabulary.vocabulary import Vocabulary
from explorer.vocabulary.without_encoder import without_encoder

Bool = NDArray[np.bool_]

GPT2_WORDS: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""How ByteLevel cuts a text (Radford et al. 2019, the released encoder)."""

_FORMS: Final = frozenset({"NFC", "NFD", "NFKC", "NFKD"})
_MARK: Final = "\u2581"
_REMEDY: Final = "Leave out canonical(...) for this tokenizer."


@dataclass(frozen=True, eq=False)
class CanonicalRules:
    """The rules of one tokenizer. Made by `rules_of`.

    Attributes:
        vocabulary: Its tokens.
        merges: The relation between neighbours within a word.
        marked: Where words begin.
        usable: bool[ids], the ids that some text is written with.
        covered: bool[0x110000], the characters with a piece, where others are written as bytes;
            ``None`` where every token is bytes.
        literals: Added tokens that are text and are not followed.
        form: The normal form of Unicode that the normalizer brings a text into; "" if none.
        characters: The id of each character with a piece, where pieces are characters.
        added: Where the tokenizer finds added tokens that are text; ``None`` if it has none.
    """

    vocabulary: Vocabulary
    merges: Merges
    marked: Marked
    usable: Bool
    covered: Bool | None = None
    literals: tuple[bytes, ...] = ()
    form: str = ""
    characters: Mapping[str, int] | None = None
    added: AddedSearch | None = None

    def encode(self, data: bytes) -> tuple[int, ...] | None:
        """Encode the bytes of a text as the tokenizer does, without a dummy prefix.

        Returns:
            The ids; ``None`` where the tokenizer cannot be asked for these bytes alone.
        """
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        if self.characters is not None and not self.marked.cuts:
            word = [self.characters.get(character, -1) for character in text]
            return None if not word or min(word) < 0 else self.merges.encode(word)
        ids = self.vocabulary.encode(text)
        if ids is None or b"".join(self.vocabulary.tokens[k] or b"" for k in ids) != data:
            return None
        return ids

    def __reduce__(self) -> tuple[object, ...]:
        # The rules follow from the vocabulary, and are worked out again where they are needed.
        return rules_of, (self.vocabulary,)


Rules = CanonicalRules | WordRules
"""The rules of a tokenizer: merges between neighbours, or pieces that look ahead."""


def rules_of(tokenizer: object) -> Rules:
    """The rules of a tokenizer.

    Args:
        tokenizer: A `Vocabulary` that knows its tokenizer, or what `Vocabulary.from_file` or
            `Vocabulary.from_tokenizer` reads.

    Raises:
        UnsupportedTokenizer: Its canonical sequences are not followed here; the part of it that
            stands in the way is named.
        VocabularyError: It is not a tokenizer.
    """
    if isinstance(tokenizer, str | os.PathLike):
        tokenizer = Vocabulary.from_file(cast("str | os.PathLike[str]", tokenizer))
    elif not isinstance(tokenizer, Vocabulary):
        tokenizer = Vocabulary.from_tokenizer(tokenizer)
    vocabulary = tokenizer
    # The rules hold the encoder, so no other one has its identity while they are kept.
    key = id(vocabulary.encoder), vocabulary.fingerprint
    return _known.get(key, lambda: _rules(vocabulary))


_known = Recent[tuple[int, str], Rules]()


def _rules(vocabulary: Vocabulary) -> Rules:
    match vocabulary.encoder:
        case TokenizersEncoder() as encoder:
            return _of_declared(vocabulary, encoder)
        case RankEncoder() as encoder:
            return _of_ranks(vocabulary, encoder)
        case SentencePieceEncoder() as encoder:
            return _of_model_file(vocabulary, encoder)
        case None:
            raise without_encoder(vocabulary, "how a text becomes tokens")
        case _:
            raise UnsupportedTokenizer(
                f"tokenizer.{type(vocabulary.encoder).__name__}",
                "its merges are not read from this format",
                remedy="Give the tokenizer.json of the same model.",
            )


# --- a tokenizer of the tokenizers library --------------------------------------------------------


def _of_declared(vocabulary: Vocabulary, encoder: TokenizersEncoder) -> Rules:
    tokenizer = encoder.tokenizer
    kind = type(tokenizer.model).__name__
    if kind in ("Unigram", "WordPiece"):
        return word_rules_of(vocabulary)
    if kind != "BPE":
        raise UnsupportedTokenizer(f"model.{kind}", "it has whole words only", remedy=_REMEDY)
    state = model_state(tokenizer)
    _check_model(state)
    normal = flatten(parse_component(tokenizer.normalizer, "normalizer"), "normalizers")
    steps = flatten(parse_component(tokenizer.pre_tokenizer, "pre_tokenizer"), "pretokenizers")
    ids = cast("dict[str, int]", state["vocab"])
    apart = {*encoder.apart, *vocabulary.special, *vocabulary.empty_ids}
    pieces = {token: piece for piece, token in ids.items() if token not in apart}
    bytes_of: dict[int, int] = {}
    over_bytes = any(step["type"] == "ByteLevel" for step in steps)
    marked = _marked(steps)
    covered = characters = None
    if over_bytes:
        # Some vocabularies leave out bytes that UTF-8 never has; then no piece holds them.
        base = [ids.get(character, -1) for character in CHAR_OF]
        symbols: list[Sequence[int]] = [()] * len(vocabulary)
        for token, data in enumerate(vocabulary.tokens):
            word = [base[byte] for byte in data or b""]
            if token in pieces and word and min(word) >= 0:
                symbols[token] = word
    else:
        bytes_of = {token: byte for token, piece in pieces.items()
                    if (byte := byte_of(piece)) is not None}  # fmt: skip
        if not state.get("byte_fallback") or len(set(bytes_of.values())) < 256:
            raise UnsupportedTokenizer(
                "model.BPE", "text without a piece is lost: there is no byte fallback",
                remedy=_REMEDY,
            )  # fmt: skip
        symbols = _by_characters(vocabulary, pieces, ids, bytes_of)
        covered, characters = _characters(pieces)
    merges = Merges.of(_merges(state, ids), symbols)
    usable = merges.written.copy()
    if covered is not None:
        usable = _not_covered(vocabulary, usable, bytes_of, covered)
    if state.get("ignore_merges"):
        _check_whole_words(merges, np.array([token in pieces for token in range(len(symbols))]))
    form = _normal_form(normal, over_bytes)
    followed = over_bytes and not any(step.get("add_prefix_space") for step in steps)
    literals, added = _added(vocabulary, encoder, form, followed=followed)
    return CanonicalRules(
        vocabulary, merges, marked, usable, covered, literals, form, characters, added
    )


def _check_model(state: Mapping[str, Any]) -> None:
    for name, why in (
        ("dropout", "merges are left out at random, so a text has no sequence of its own"),
        ("continuing_subword_prefix", "pieces are spelled differently within a word"),
        ("end_of_word_suffix", "pieces are spelled differently at the end of a word"),
    ):
        if state.get(name):
            raise UnsupportedTokenizer(f"model.BPE.{name}", why, remedy=_REMEDY)


def _merges(
    state: Mapping[str, Any], ids: Mapping[str, int]
) -> dict[tuple[int, int], tuple[int, int]]:
    merges: dict[tuple[int, int], tuple[int, int]] = {}
    for rank, entry in enumerate(cast("list[str | Sequence[str]]", state["merges"])):
        left, right = entry.split(" ") if isinstance(entry, str) else entry
        merges[ids[left], ids[right]] = (rank, ids[left + right])
    return merges


def _by_characters(
    vocabulary: Vocabulary,
    pieces: Mapping[int, str],
    ids: Mapping[str, int],
    bytes_of: Mapping[int, int],
) -> list[Sequence[int]]:
    """The ids of the characters of each piece; a byte is a symbol of its own."""
    symbols: list[Sequence[int]] = []
    for token in range(len(vocabulary)):
        piece = pieces.get(token)
        if piece is None:
            symbols.append(())
        elif token in bytes_of:
            symbols.append((token,))
        else:
            word = [ids.get(character, -1) for character in piece]
            symbols.append(word if min(word) >= 0 else ())
    return symbols


def _characters(pieces: Mapping[int, str]) -> tuple[Bool, dict[str, int]]:
    """The characters that have a piece of their own: a table of them, and their ids."""
    characters = {piece: token for token, piece in pieces.items() if len(piece) == 1}
    if _MARK in characters:
        characters[" "] = characters[_MARK]
    covered = np.zeros(NUM_CHARACTERS, np.bool_)
    covered[[ord(character) for character in characters]] = True
    return covered, characters


def _not_covered(
    vocabulary: Vocabulary, usable: Bool, bytes_of: Mapping[int, int], covered: Bool
) -> Bool:
    """The usable ids, without bytes that are a character with a piece of its own."""
    for token, byte in bytes_of.items():
        if usable[token] and vocabulary.tokens[token]:
            usable[token] = byte >= 0x80 or not covered[byte]
    return usable


def _check_whole_words(merges: Merges, is_piece: Bool) -> None:
    """Refuse whole words that are looked up before merging, where that makes a difference."""
    different = np.flatnonzero(is_piece & ~merges.written)
    if len(different):
        raise UnsupportedTokenizer(
            "model.BPE.ignore_merges",
            f"whole words are looked up before merges, and for {len(different)} pieces (the first "
            f"is the id {different[0]}) merging gives something else",
            remedy=_REMEDY,
        )


def _normal_form(steps: Sequence[Component], over_bytes: bool) -> str:
    """The normal form that a normalizer brings texts into, or "".

    Raises:
        UnsupportedTokenizer: A step changes other texts.
    """
    forms: list[str] = []
    for step in steps:
        kind = str(step.get("type"))
        writes_space = (
            kind == "Replace"
            and step.get("pattern") == {"String": " "}
            and step.get("content") == _MARK
        )
        if kind in _FORMS:
            forms.append(kind)
        elif over_bytes or not (writes_space or (kind == "Prepend" and step["prepend"] == _MARK)):
            raise UnsupportedTokenizer(
                f"normalizer.{kind}",
                "it rewrites text, and which texts it leaves as they are is not followed here",
                remedy=_REMEDY,
            )
    if not forms:
        return ""
    # The last one says whether marks are composed, any one whether look-alikes are replaced.
    return "NF" + "K" * any("K" in form for form in forms) + forms[-1][-1]


def _added(
    vocabulary: Vocabulary, encoder: TokenizersEncoder, form: str, *, followed: bool
) -> tuple[tuple[bytes, ...], AddedSearch | None]:
    """The added tokens that are text: those that are not followed, and the search for the others.

    Args:
        vocabulary: The tokens.
        encoder: The tokenizer.
        form: Its normal form.
        followed: Whether an added token is followed at all: not where each part of a text that is
            cut gets a prefix.
    """
    literals: list[bytes] = []
    entries: list[AddedText] = []
    for token, entry in sorted(encoder.literal.items()):
        data = vocabulary.tokens[token]
        if data is None:
            continue
        plain = not (entry.lstrip or entry.rstrip or entry.single_word)
        if form and entry.normalized:
            plain = plain and unicodedata.is_normalized(cast("Any", form), entry.content)
        if followed and plain and data == entry.content.encode():
            entries.append(AddedText(token, data, not entry.normalized))
        else:
            literals.append(data)
    return tuple(literals), AddedSearch.of(entries) if entries else None


def _marked(steps: Sequence[Component]) -> Marked:
    """Where words begin, by the declared pre-tokenizer.

    Raises:
        UnsupportedTokenizer: A step, or the order of them, is not followed here.
    """
    kinds = [str(step.get("type")) for step in steps]
    if kinds == ["Metaspace"] and steps[0].get("replacement") == _MARK:
        return cut_before_marks() if steps[0].get("split", True) else Marked.uncut()
    if not kinds:
        return Marked.uncut()
    if kinds == ["ByteLevel"]:
        cuts = steps[0].get("use_regex", True)
        return Marked.of_pattern(GPT2_WORDS, "pre_tokenizer.ByteLevel") if cuts else Marked.uncut()
    if kinds == ["Split", "ByteLevel"] and not steps[1].get("use_regex", True):
        pattern = cast("Mapping[str, object]", steps[0].get("pattern") or {}).get("Regex")
        plain = steps[0].get("behavior") == "Isolated" and not steps[0].get("invert")
        if isinstance(pattern, str) and plain and not steps[1].get("add_prefix_space"):
            return Marked.of_pattern(pattern, "pre_tokenizer.Split")
    raise UnsupportedTokenizer(
        f"pre_tokenizer.{'+'.join(kinds)}",
        "where it cuts a text is not followed here",
        remedy=_REMEDY,
    )


# --- SentencePiece's own files --------------------------------------------------------------------


def _of_model_file(vocabulary: Vocabulary, encoder: SentencePieceEncoder) -> Rules:
    """SentencePiece's own merging: neighbours that make a piece, the best score first."""
    found = encoder.pieces()
    if found.kind == "unigram":
        return word_rules_of(vocabulary)
    if found.kind != "bpe" or found.unused or len(found.byte_ids) < 256:
        what = (
            f"it is a model of the kind {found.kind}" if found.kind != "bpe"
            else "some pieces are unused, and are cut again" if found.unused
            else "text without a piece is lost: there is no byte fallback"
        )  # fmt: skip
        raise UnsupportedTokenizer("model", what, remedy=_REMEDY)
    odd = [chr(k) for k in range(1, 0x3100) if unicodedata.normalize("NFKC", chr(k)) != chr(k)]
    text = encoder.rewritten(("\t", "\r\n", "e\u0301", *odd))
    if text is not None:
        raise UnsupportedTokenizer(
            "normalizer.charsmap", f"it rewrites text such as {text!r}",
            remedy="Give the tokenizer.json of the same model.",
        )  # fmt: skip
    ids = {piece: token for piece, (token, _) in found.normal.items()}
    scores = sorted({score for _, score in found.normal.values()}, reverse=True)
    ranks = {score: rank for rank, score in enumerate(scores)}
    merges: dict[tuple[int, int], tuple[int, int]] = {}
    for piece, (token, score) in found.normal.items():
        for cut in range(1, len(piece)):
            left, right = ids.get(piece[:cut]), ids.get(piece[cut:])
            if left is not None and right is not None:
                merges[left, right] = (ranks[score], token)
    missing = {c for piece in ids for c in piece if c not in ids}
    if missing:
        raise UnsupportedTokenizer(
            "model.pieces", f"the character {min(missing)!r} is in a piece and is none itself",
            remedy=_REMEDY,
        )  # fmt: skip
    bytes_of = {token: byte for byte, token in found.byte_ids.items()}
    pieces = {token: piece for piece, token in ids.items()}
    pieces |= {token: f"<0x{byte:02X}>" for token, byte in bytes_of.items()}
    table = Merges.of(merges, _by_characters(vocabulary, pieces, ids, bytes_of))
    covered, characters = _characters(pieces)
    return CanonicalRules(
        vocabulary,
        table,
        Marked.uncut() if encoder.rewritten(["  "]) is None else single_spaces(),
        _not_covered(vocabulary, table.written.copy(), bytes_of, covered),
        covered,
        tuple(data for token in found.literal if (data := vocabulary.tokens[token]) is not None),
        characters=characters,
    )


# --- rank files -----------------------------------------------------------------------------------


def _of_ranks(vocabulary: Vocabulary, encoder: RankEncoder) -> CanonicalRules:
    """tiktoken's rule: neighbours merge whose bytes together are a token, the lowest id first."""
    ids = {data: encoder.offset + rank for data, rank in encoder.ranks.items()}
    merges: dict[tuple[int, int], tuple[int, int]] = {}
    symbols: list[Sequence[int]] = [()] * len(vocabulary)
    single = [ids[bytes((byte,))] for byte in range(256)]
    for data, token in ids.items():
        symbols[token] = [single[byte] for byte in data]
        for cut in range(1, len(data)):
            left = ids.get(data[:cut])
            right = None if left is None else ids.get(data[cut:])
            if left is not None and right is not None:
                merges[left, right] = (token, token)
    table = Merges.of(merges, symbols)
    known = np.zeros(len(vocabulary), np.bool_)
    known[list(ids.values())] = True
    # tiktoken looks whole words up first, too.
    _check_whole_words(table, known)
    marked = Marked.of_pattern(encoder.pattern, "config.pattern")
    return CanonicalRules(vocabulary, table, marked, table.written)
