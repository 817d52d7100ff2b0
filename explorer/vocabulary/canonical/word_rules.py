"""The rules of tokenizers that choose pieces by looking ahead: Unigram and WordPiece.

Within a word `explorer.vocabulary.canonical.best_paths` or `longest_pieces` decides; the next
character alone decides on a cut between words. The library's normalizer is applied character by
character; texts that it would change are refused, as are texts with characters that may change
their neighbours (`explorer.tokens.filtered.canonical`). A character without a piece becomes the
unknown token, which writes nothing: no canonical sequence spells it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, cast

import numpy as np
from tokenizers import Tokenizer

from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary.canonical.best_paths import BestPaths
from explorer.vocabulary.canonical.cut_rules import MARK, REMEDY, cut_rule
from explorer.vocabulary.canonical.longest_pieces import LongestPieces
from explorer.vocabulary.canonical.marked import LOST, Marked
from explorer.vocabulary.canonical.piece_kernels import Bool
from explorer.vocabulary.canonical.piece_trie import Int32
from explorer.vocabulary.canonical.spaced import (
    single_spaces,
    spaced_out,
    spaced_words,
)
from explorer.vocabulary.readers.sentencepiece_file import SentencePieceEncoder
from explorer.vocabulary.tokenizer.decoder import Component, flatten
from explorer.vocabulary.tokenizer.encoder import TokenizersEncoder
from explorer.vocabulary.tokenizer.model_facts import model_state
from explorer.vocabulary.tokenizer.preprocessing import combines, only_component, parse_component
from explorer.vocabulary.vocabulary import Vocabulary

_BY_CHARACTER: Final = frozenset(
    {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Nmt", "StripAccents", "BertNormalizer",
     "Precompiled"}
)  # fmt: skip
_FEWER_SPACES: Final = (None, {"Regex": " {2,}"}, {"Regex": " +"}, {"String": "  "})


class WordModel(Protocol):
    """A model that splits a word into pieces from left to right.

    States are numbers, `BEGUN` at the start of a word.
    """

    written: Bool
    """bool[ids], the pieces that it produces for some word."""

    def after(self, state: int, token: int) -> int:
        """The state after one more token; `LOST` if the model would not produce it."""
        ...

    def surviving(
        self, state: int, tokens: Int32, path: Sequence[int], begins: Sequence[bool]
    ) -> Bool:
        """The tokens, of some, that may follow a state if a fixed sequence of tokens comes next."""
        ...

    def words(self, word: bytes) -> tuple[int, ...] | None:
        """The ids of the pieces of one word; ``None`` if it becomes unknown."""
        ...


@dataclass(frozen=True, eq=False)
class WordRules:
    """The rules of one such tokenizer, made by `explorer.vocabulary.canonical.rules.rules_of`.

    Attributes:
        pieces: The model that splits a word.
        marked: The automaton of correct cuts.
        literals: Added tokens that are text.
        normalizer: The names of the normalizer's steps that may change characters; "" if none.
        normalize: Those steps as a function.
        spaced: Whether the space before a word is not part of it, as in WordPiece.
    """

    vocabulary: Vocabulary
    pieces: WordModel
    marked: Marked
    literals: tuple[bytes, ...]
    normalizer: str
    normalize: Callable[[str], str]
    spaced: bool = False

    def __post_init__(self) -> None:
        n = self.marked.num_states
        if ((self.marked.table[:n] != LOST) & (self.marked.table[n:] != LOST)).any():
            raise UnsupportedTokenizer(
                "pre_tokenizer", "where it cuts is not known by the character alone",
                remedy=REMEDY,
            )  # fmt: skip

    @property
    def usable(self) -> Bool:
        """bool[ids], the ids that occur in the encoding of some text."""
        return self.pieces.written

    def rewritten(self, characters: Iterable[str]) -> str | None:
        """The first of some characters that the normalizer changes or that may change others."""
        if not self.normalizer:
            return None
        for character in characters:
            normal = self.normalize(f"a{character}a")[1:-1]
            # BERT's spaces around an ideograph are the same as those before words.
            if normal not in (character, f" {character} ") or combines(character):
                return character
        return None

    def encode(self, data: bytes) -> tuple[int, ...] | None:
        """Encode the bytes of a text as the tokenizer does, without a dummy prefix.

        Returns:
            The ids; ``None`` if the text ends within a character, holds an unknown character, or
            cannot be spelled by tokens.
        """
        marked, place, words = self.marked, 0, [b""]
        for byte in data:
            column = marked.class_of[byte]
            target = int(marked.table[place, column])
            if target == LOST:
                target = int(marked.table[place + marked.num_states, column])
                if target == LOST:
                    return None
                words.append(b"")
            words[-1] += bytes((byte,))
            place = target
        if marked.goes_on[place]:  # Within a character.
            return None
        path: list[int] = []
        for word in words:
            pieces_of_word = self.pieces.words(self._spelled(word)) if word else ()
            if pieces_of_word is None:
                return None
            path += pieces_of_word
        return tuple(path)

    def _spelled(self, word: bytes) -> bytes:
        return word.removeprefix(b" ") if self.spaced else word

    def __reduce__(self) -> tuple[object, ...]:
        return word_rules_of, (self.vocabulary,)


def word_rules_of(vocabulary: Vocabulary) -> WordRules:
    """The rules of a tokenizer whose model is Unigram or WordPiece.

    Raises:
        UnsupportedTokenizer: A part of the tokenizer is not supported; it is named.
    """
    match vocabulary.encoder:
        case TokenizersEncoder() as encoder:
            return _of_declared(vocabulary, encoder)
        case SentencePieceEncoder() as encoder:
            return _of_model_file(vocabulary, encoder)
        case _:
            raise UnsupportedTokenizer("tokenizer", "it is of another kind", remedy=REMEDY)


def _of_declared(vocabulary: Vocabulary, encoder: TokenizersEncoder) -> WordRules:
    tokenizer = encoder.tokenizer
    normal = flatten(parse_component(tokenizer.normalizer, "normalizer"), "normalizers")
    steps = flatten(parse_component(tokenizer.pre_tokenizer, "pre_tokenizer"), "pretokenizers")
    state = model_state(tokenizer)
    apart = {*encoder.apart, *vocabulary.special, *vocabulary.empty_ids}
    kind = type(tokenizer.model).__name__
    make = {"Unigram": _best_paths, "WordPiece": _longest_pieces}[kind]
    pieces, marked = make(vocabulary, tokenizer, state, apart, steps)
    return WordRules(
        vocabulary,
        pieces,
        marked,
        tuple(
            data
            for token in sorted(encoder.literal)
            if (data := vocabulary.tokens[token]) is not None
        ),
        *_normalizer(normal, marked),
        spaced=kind == "WordPiece",
    )


def _of_model_file(vocabulary: Vocabulary, encoder: SentencePieceEncoder) -> WordRules:
    """The rules of a SentencePiece Unigram model."""
    listed = encoder.pieces()
    if listed.byte_ids:
        raise _no_fallback()
    scores = np.zeros(len(vocabulary))
    pieces: dict[bytes, int] = {}
    for piece, (token, score) in listed.normal.items():
        scores[token] = score
        pieces[piece.replace(MARK, " ").encode()] = token
    lowest = min((score for _, score in listed.normal.values()), default=0.0)
    uncut = encoder.rewritten(["  "]) is None
    marked = Marked.uncut().over_bytes() if uncut else single_spaces()
    return WordRules(
        vocabulary,
        BestPaths(pieces, scores, lowest=lowest, single=True),
        marked,
        tuple(data for token in listed.literal if (data := vocabulary.tokens[token]) is not None),
        "charsmap",
        lambda text: encoder.image(text).decode().removeprefix(encoder.prefix),
    )


def _no_fallback() -> UnsupportedTokenizer:
    return UnsupportedTokenizer(
        "model.Unigram.byte_fallback",
        "characters without a piece compete with pieces and then become bytes, which is not "
        "followed here",
        remedy=REMEDY,
    )


def _best_paths(
    vocabulary: Vocabulary,
    tokenizer: Tokenizer,
    state: Mapping[str, object],
    apart: set[int],
    steps: Sequence[Component],
) -> tuple[WordModel, Marked]:
    if state.get("byte_fallback"):
        raise _no_fallback()
    listed = cast("Sequence[tuple[str, float]]", state["vocab"])
    pieces: dict[bytes, int] = {}
    for token, (piece, _) in enumerate(listed):
        data = piece.replace(MARK, " ").encode()
        if token in apart or not piece:
            continue
        if data in pieces or vocabulary.tokens[token] != data:
            raise UnsupportedTokenizer(
                "model.Unigram", f"the piece {piece!r} is not what its token writes", remedy=REMEDY
            )
        pieces[data] = token
    kinds = [str(step.get("type")) for step in steps]
    if kinds == ["WhitespaceSplit", "Metaspace"]:
        marked = spaced_words(steps[0], MARK)
    else:
        marked = cut_rule(steps, marks=True)
    scores = np.full(len(vocabulary), 0.0)
    scores[: len(listed)] = [score for _, score in listed]
    lowest = min((score for _, score in listed), default=0.0)
    return BestPaths(pieces, scores, lowest=lowest), marked


def _longest_pieces(
    vocabulary: Vocabulary,
    tokenizer: Tokenizer,
    state: Mapping[str, object],
    apart: set[int],
    steps: Sequence[Component],
) -> tuple[WordModel, Marked]:
    prefix = str(state["continuing_subword_prefix"])
    ids = cast("Mapping[str, int]", state["vocab"])
    pieces = {piece: token for piece, token in ids.items() if token not in apart}
    for piece, token in pieces.items():
        own = piece.removeprefix(prefix)
        spelled = own if piece.startswith(prefix) else f" {own}"
        data = vocabulary.tokens[token]
        if not prefix or (data != spelled.encode() and data != own.encode() and len(own) == 1):
            raise UnsupportedTokenizer(
                "decoder", f"it does not write the piece {piece!r} with a space before it, as "
                "WordPiece's does", remedy=REMEDY,
            )  # fmt: skip
    kinds = [str(step.get("type")) for step in steps]
    if kinds != ["BertPreTokenizer"]:
        raise _unknown_cuts(kinds)

    def bare(character: str) -> bool:
        token = pieces.get(character)
        return token is not None and vocabulary.tokens[token] == character.encode()

    normalizer = tokenizer.normalizer
    marked = spaced_out(
        steps[0],
        normalizer.normalize_str if normalizer is not None else str,
        bare,
    )
    longest = int(cast("int", state["max_input_chars_per_word"]))
    # At the beginning of a word the library looks pieces up as spelled, even those with the prefix.
    first = {piece.encode(): token for piece, token in pieces.items()}
    rest = {piece.removeprefix(prefix).encode(): token for piece, token in pieces.items()
            if piece.startswith(prefix)}  # fmt: skip
    return LongestPieces(first, rest, len(vocabulary), longest), marked


def _unknown_cuts(kinds: Sequence[str]) -> UnsupportedTokenizer:
    return UnsupportedTokenizer(
        f"pre_tokenizer.{'+'.join(kinds) or 'none'}",
        "where it cuts a text is not followed here",
        remedy=REMEDY,
    )


def _normalizer(declared: Sequence[Component], marked: Marked) -> tuple[str, Callable[[str], str]]:
    """The normalizer's steps that may change characters: their names, and a function of them all.

    Raises:
        UnsupportedTokenizer: A step is of another kind.
    """
    by_character: list[Component] = []
    for step in declared:
        kind = str(step.get("type"))
        pattern = step.get("pattern")
        writes_mark = pattern == {"String": " "} and step.get("content") == MARK
        if kind in _BY_CHARACTER:
            by_character.append(step)
        elif not (
            (kind == "Prepend" and step.get("prepend") == MARK)
            or (kind == "Replace" and writes_mark)
            or (kind in ("Replace", "Strip") and pattern in _FEWER_SPACES and not _doubles(marked))
        ):
            raise UnsupportedTokenizer(
                f"normalizer.{kind}",
                "it rewrites text, and which texts it leaves as they are is not followed here",
                remedy=REMEDY,
            )
    steps = {"type": "Sequence", "normalizers": [dict(step) for step in by_character]}
    normalizer = only_component("normalizer", steps).normalizer
    names = "+".join(str(step.get("type")) for step in by_character)
    return names, str if normalizer is None else normalizer.normalize_str


def _doubles(marked: Marked) -> bool:
    """Whether a text may hold two spaces in a row, or end with one."""
    n, column = marked.num_states, marked.class_of[ord(" ")]
    states = {0}
    while True:
        known = len(states)
        for row in [state + n * k for state in states for k in (0, 1)]:
            states |= {int(target) for target in marked.table[row] if target != LOST}
        if len(states) == known:
            break
    after = {int(marked.table[state + n * k, column]) for state in states for k in (0, 1)} - {LOST}
    return any(
        bool(marked.ends[state]) or (marked.table[[state, state + n], column] != LOST).any()
        for state in after
    )
