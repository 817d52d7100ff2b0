"""Reads from a tokenizer the rules that decide which token sequences are canonical.

A sequence is *canonical* if the tokenizer itself would produce it for the text that it spells,
after the normalizer and a dummy prefix: the prefix of a SentencePiece model counts as text here.

Supported are byte-pair encoding over bytes (``ByteLevel``) and over characters, with or without
byte fallback (SentencePiece's, ``Metaspace`` or ``Prepend`` and ``Replace``, and its own files),
after any chain of steps that cut (`explorer.vocabulary.canonical.cut_rules`); rank files that name
their pattern (Tekken); Unigram and WordPiece models
(`explorer.vocabulary.canonical.word_rules`). Anything else is refused by name.

A normalizer such as NFC leaves only texts in its own form unchanged, so other texts have no
canonical sequence. Added tokens that are text are found before any other step
(`explorer.vocabulary.canonical.added_search`). If flags affect such a token, or parts of a text get
a prefix, a constraint whose texts can hold the token is refused
(`explorer.tokens.filtered.canonical`). Special tokens are never text here, but the ordinary pieces
that spell ``</s>`` are, although a library may read them as the special token.

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
from explorer.vocabulary.canonical.cut_rules import MARK, REMEDY, cut_rule, prefixes
from explorer.vocabulary.canonical.marked import Marked
from explorer.vocabulary.canonical.merges import Merges
from explorer.vocabulary.canonical.patterns import NUM_CHARACTERS
from explorer.vocabulary.canonical.spaced import single_spaces
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

_FORMS: Final = frozenset({"NFC", "NFD", "NFKC", "NFKD"})


@dataclass(frozen=True, eq=False)
class CanonicalRules:
    """The rules of one tokenizer with byte-pair encoding, made by `rules_of`.

    Attributes:
        merges: The relation between neighbours within a word.
        marked: The automaton of correct cuts, over bytes.
        usable: bool[ids], the ids that occur in the encoding of some text.
        single: bool[ids], the single-byte pieces that spell characters without a piece; ``None`` if
            there are none.
        literals: Added tokens that are text and that the search does not support.
        form: The normal form of Unicode that the normalizer produces; "" if none.
        characters: The id of each character with a piece, if symbols are characters.
        added: The search for added tokens that are text; ``None`` if there are none.
    """

    vocabulary: Vocabulary
    merges: Merges
    marked: Marked
    usable: Bool
    single: Bool | None = None
    literals: tuple[bytes, ...] = ()
    form: str = ""
    characters: Mapping[str, int] | None = None
    added: AddedSearch | None = None

    def encode(self, data: bytes) -> tuple[int, ...] | None:
        """Encode the bytes of a text as the tokenizer does, without a dummy prefix.

        Returns:
            The ids; ``None`` if the tokenizer cannot encode exactly these bytes.
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
        # The rules follow from the vocabulary, so only that is pickled.
        return rules_of, (self.vocabulary,)


Rules = CanonicalRules | WordRules
"""The rules of a tokenizer: byte-pair encoding, or a model that looks ahead."""


def rules_of(tokenizer: object) -> Rules:
    """The rules of a tokenizer.

    Args:
        tokenizer: A `Vocabulary` that knows its tokenizer, or an argument of `Vocabulary.from_file`
            or `Vocabulary.from_tokenizer`.

    Raises:
        UnsupportedTokenizer: Its canonical sequences are not supported; the part of it that is to
            blame is named.
        VocabularyError: It is not a tokenizer.
    """
    if isinstance(tokenizer, str | os.PathLike):
        tokenizer = Vocabulary.from_file(cast("str | os.PathLike[str]", tokenizer))
    elif not isinstance(tokenizer, Vocabulary):
        tokenizer = Vocabulary.from_tokenizer(tokenizer)
    vocabulary = tokenizer
    # The rules hold the encoder, so its `id` stays unique while they are cached.
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
        raise UnsupportedTokenizer(f"model.{kind}", "it has whole words only", remedy=REMEDY)
    state = model_state(tokenizer)
    _check_model(state)
    normal = flatten(parse_component(tokenizer.normalizer, "normalizer"), "normalizers")
    steps = flatten(parse_component(tokenizer.pre_tokenizer, "pre_tokenizer"), "pretokenizers")
    ids = cast("dict[str, int]", state["vocab"])
    apart = {*encoder.apart, *vocabulary.special, *vocabulary.empty_ids}
    marks = any(_writes_mark(step) for step in (*normal, *steps))
    if marks:
        # No text spelled by tokens contains the mark itself, so these are never found.
        apart -= {token for token, entry in encoder.literal.items()
                  if not entry.normalized and MARK in entry.content}  # fmt: skip
    pieces = {token: piece for piece, token in ids.items() if token not in apart}
    over_bytes = any(step["type"] == "ByteLevel" for step in steps)
    single = covered = characters = None
    symbols: list[Sequence[int]] = [()] * len(vocabulary)
    if over_bytes:
        # Some vocabularies leave out bytes that never occur in UTF-8; then no piece holds them.
        base = [ids.get(character, -1) for character in CHAR_OF]
        for token, data in enumerate(vocabulary.tokens):
            word = [base[byte] for byte in data or b""]
            if token in pieces and word and min(word) >= 0:
                symbols[token] = word
    else:
        symbols, characters, single = _by_characters(
            vocabulary, pieces, marks, bytes_too=bool(state.get("byte_fallback"))
        )
        covered = _covered(characters) if single is not None else None
    form = _normal_form(normal, over_bytes)
    marked = cut_rule(steps, marks=marks and not over_bytes, covered=covered)
    merges = Merges.of(_merges(state, ids), symbols)
    if state.get("ignore_merges"):
        _check_whole_words(merges, np.array([bool(word) for word in symbols]))
    literals, added = _added(vocabulary, encoder, pieces, form, followed=not any(
        step["type"] == "Prepend" or prefixes(step) for step in (*normal, *steps)
    ), marks=marks)  # fmt: skip
    return CanonicalRules(
        vocabulary, merges, marked, merges.written, single, literals, form, characters, added
    )


def _writes_mark(step: Component) -> bool:
    """Whether a step writes the mark for a space."""
    if step.get("type") == "Metaspace":
        return True
    return (
        step.get("type") == "Replace"
        and step.get("pattern") == {"String": " "}
        and step.get("content") == MARK
    )


def _check_model(state: Mapping[str, Any]) -> None:
    for name, why in (
        ("dropout", "merges are left out at random, so a text has no sequence of its own"),
        ("continuing_subword_prefix", "pieces are spelled differently within a word"),
        ("end_of_word_suffix", "pieces are spelled differently at the end of a word"),
    ):
        if state.get(name):
            raise UnsupportedTokenizer(f"model.BPE.{name}", why, remedy=REMEDY)


def _merges(
    state: Mapping[str, Any], ids: Mapping[str, int]
) -> dict[tuple[int, int], tuple[int, int]]:
    merges: dict[tuple[int, int], tuple[int, int]] = {}
    for rank, entry in enumerate(cast("list[str | Sequence[str]]", state["merges"])):
        left, right = entry.split(" ") if isinstance(entry, str) else entry
        merges[ids[left], ids[right]] = (rank, ids[left + right])
    return merges


def _by_characters(
    vocabulary: Vocabulary, pieces: Mapping[int, str], marks: bool, *, bytes_too: bool
) -> tuple[list[Sequence[int]], dict[str, int], Bool | None]:
    """The pieces of a model over characters.

    Args:
        marks: Whether a mark stands for a space.
        bytes_too: Whether a piece spelled as a byte stands for that byte.

    Returns:
        The ids of the characters of each piece, where a byte counts as a character; the id of each
        character in texts; and bool[ids], the byte pieces, ``None`` if there are none.
    """
    single = np.zeros(len(vocabulary), np.bool_)
    if bytes_too:
        single[[token for token, piece in pieces.items() if byte_of(piece) is not None]] = True
    own = {piece: token for token, piece in pieces.items() if len(piece) == 1}
    symbols: list[Sequence[int]] = [()] * len(vocabulary)
    for token, piece in pieces.items():
        spelled = piece.replace(MARK, " ") if marks else piece
        if single[token]:
            symbols[token] = (token,)
        # The tokenizer never produces a piece that decodes to a different text, nor, if a mark
        # stands for spaces, a piece that contains a space.
        elif vocabulary.tokens[token] == spelled.encode() and not (marks and " " in piece):
            word = [own.get(character, -1) for character in piece]
            symbols[token] = word if min(word) >= 0 else ()
    if marks:
        own.pop(" ", None)
        if MARK in own:
            own[" "] = own[MARK]
    return symbols, own, single if single.any() else None


def _covered(characters: Mapping[str, int]) -> Bool:
    """bool[0x110000], the characters with a piece of their own."""
    covered = np.zeros(NUM_CHARACTERS, np.bool_)
    covered[[ord(character) for character in characters]] = True
    return covered


def _check_whole_words(merges: Merges, is_piece: Bool) -> None:
    """Refuse a tokenizer that looks up whole words before merging, if that changes a result."""
    different = np.flatnonzero(is_piece & ~merges.written)
    if len(different):
        raise UnsupportedTokenizer(
            "model.BPE.ignore_merges",
            f"whole words are looked up before merges, and for {len(different)} pieces (the first "
            f"is the id {different[0]}) merging gives something else",
            remedy=REMEDY,
        )


def _normal_form(steps: Sequence[Component], over_bytes: bool) -> str:
    """The normal form that a normalizer produces, or "".

    Raises:
        UnsupportedTokenizer: A step rewrites texts in another way.
    """
    forms: list[str] = []
    for step in steps:
        kind = str(step.get("type"))
        if kind in _FORMS:
            forms.append(kind)
        elif over_bytes or not (
            _writes_mark(step) or (kind == "Prepend" and step["prepend"] == MARK)
        ):
            raise UnsupportedTokenizer(
                f"normalizer.{kind}",
                "it rewrites text, and which texts it leaves as they are is not followed here",
                remedy=REMEDY,
            )
    if not forms:
        return ""
    # The last step decides on composition; any K step replaces compatibility characters.
    return "NF" + "K" * any("K" in form for form in forms) + forms[-1][-1]


def _added(
    vocabulary: Vocabulary,
    encoder: TokenizersEncoder,
    pieces: Mapping[int, str],
    form: str,
    *,
    followed: bool,
    marks: bool,
) -> tuple[tuple[bytes, ...], AddedSearch | None]:
    """The added tokens that are text: the unsupported ones, and the search for the others.

    Args:
        followed: Whether added tokens are supported at all: not if each part of a cut text gets a
            prefix.
        marks: Whether a mark stands for a space.
    """
    literals: list[bytes] = []
    entries: list[AddedText] = []
    for token, entry in sorted(encoder.literal.items()):
        data = vocabulary.tokens[token]
        if data is None or token in pieces:
            continue
        plain = not (entry.lstrip or entry.rstrip or entry.single_word)
        content = entry.content
        if entry.normalized:
            content = content.replace(MARK, " ") if marks else content
            plain = plain and (
                not form or unicodedata.is_normalized(cast("Any", form), entry.content)
            )
        if followed and plain and data == content.encode():
            entries.append(AddedText(token, data, not entry.normalized))
        else:
            literals.append(data)
    return tuple(literals), AddedSearch.of(entries) if entries else None


# --- SentencePiece's own files --------------------------------------------------------------------


def _of_model_file(vocabulary: Vocabulary, encoder: SentencePieceEncoder) -> Rules:
    """The rules of SentencePiece's BPE: neighbours that form a piece merge, best score first."""
    listed = encoder.pieces()
    if listed.kind == "unigram":
        return word_rules_of(vocabulary)
    if listed.kind != "bpe" or listed.unused:
        what = (
            f"it is a model of the kind {listed.kind}" if listed.kind != "bpe"
            else "some pieces are unused, and are cut again"
        )  # fmt: skip
        raise UnsupportedTokenizer("model", what, remedy=REMEDY)
    odd = [chr(k) for k in range(1, 0x3100) if unicodedata.normalize("NFKC", chr(k)) != chr(k)]
    text = encoder.rewritten(("\t", "\r\n", "e\u0301", *odd))
    if text is not None:
        raise UnsupportedTokenizer(
            "normalizer.charsmap", f"it rewrites text such as {text!r}",
            remedy="Give the tokenizer.json of the same model.",
        )  # fmt: skip
    ids = {piece: token for piece, (token, _) in listed.normal.items()}
    scores = sorted({score for _, score in listed.normal.values()}, reverse=True)
    ranks = {score: rank for rank, score in enumerate(scores)}
    merges: dict[tuple[int, int], tuple[int, int]] = {}
    for piece, (token, score) in listed.normal.items():
        for cut in range(1, len(piece)):
            left, right = ids.get(piece[:cut]), ids.get(piece[cut:])
            if left is not None and right is not None:
                merges[left, right] = (ranks[score], token)
    missing = {c for piece in ids for c in piece if c not in ids}
    if missing:
        raise UnsupportedTokenizer(
            "model.pieces",
            f"the character {min(missing)!r} is in a piece and is not a piece itself",
            remedy=REMEDY,
        )  # fmt: skip
    pieces = {token: piece for piece, token in ids.items()}
    pieces |= {token: f"<0x{byte:02X}>" for byte, token in listed.byte_ids.items()}
    symbols, characters, single = _by_characters(vocabulary, pieces, True, bytes_too=True)
    covered = _covered(characters) if single is not None else None
    table = Merges.of(merges, symbols)
    uncut = encoder.rewritten(["  "]) is None
    return CanonicalRules(
        vocabulary,
        table,
        Marked.uncut().over_bytes(covered) if uncut else single_spaces(covered),
        table.written,
        single,
        tuple(data for token in listed.literal if (data := vocabulary.tokens[token]) is not None),
        characters=characters,
    )


# --- rank files -----------------------------------------------------------------------------------


def _of_ranks(vocabulary: Vocabulary, encoder: RankEncoder) -> CanonicalRules:
    """The rules of tiktoken: neighbours whose bytes form a token merge, lowest id first."""
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
    marked = Marked.of_pattern(encoder.pattern, "config.pattern").over_bytes()
    return CanonicalRules(vocabulary, table, marked, table.written)
