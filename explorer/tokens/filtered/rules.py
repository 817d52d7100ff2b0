"""Filters that are small machines over kinds of tokens, and two that are made for a vocabulary.

A *rule* reads tokens by kinds, few of them, and refuses some. Its product with a table is a table
(`explorer.tokens.filtered.table`); on any other machine its states are made as they are visited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np

from explorer.automata.machine import Int32
from explorer.memo import memo
from explorer.tokens.filtered.reading import Int64, distinct
from explorer.tokens.filtered.token_filter import MaskedToken
from explorer.tokens.filtered.trimmed import Group, TrimmedFilter, WrittenSoFar
from explorer.tokens.machine import Refusal
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.reading import Encoder
from explorer.vocabulary.tokenizer.decoder import byte_of
from explorer.vocabulary.tokenizer.encoder import TokenizersEncoder
from explorer.vocabulary.without_encoder import without_encoder

REFUSED: Final = -1
"""In the table of a rule: the token is refused."""

_OTHER, _SPACE, _FUSES = 0, 1, 2
_PROBE = "a"


@dataclass(frozen=True, eq=False)
class TokenRule(TrimmedFilter):
    """A small machine over kinds of tokens; the text may end in every state.

    Args:
        name: The name of the filter, for explanations.
        tokens: The bytes of each id, as a vocabulary has them.
        kind_of: int32[ids], the kind of each token.
        table: int32[states, kinds], the next state or `REFUSED`; 0 is the start.
        instead: Maps a state and a token that it refuses to the bytes of the tokens that are to be
            written instead.
    """

    name: str
    tokens: Sequence[bytes | None] = field(repr=False)
    kind_of: Int32
    table: Int32
    instead: Callable[[int, int], tuple[bytes, ...]] = field(repr=False)

    kind = ""
    start = WrittenSoFar(0, (0,))

    def __post_init__(self) -> None:
        lengths = np.array([len(data or b"") for data in self.tokens], np.int64)
        object.__setattr__(self, "lengths", lengths)
        object.__setattr__(self, "usable", np.array([data is not None for data in self.tokens]))

    def after(self, known: WrittenSoFar, token: int) -> WrittenSoFar | None:
        """The state after one more token; ``None`` where the rule refuses it."""
        following = int(self.table[known.places[0], self.kind_of[token]])
        return None if following == REFUSED else WrittenSoFar(0, (following,))

    def following(self, written: WrittenSoFar, tokens: Int32) -> tuple[Sequence[Group], Int64]:
        """The groups that tokens lead to: the states of the rule after them."""
        reached: Int32 = self.table[written.places[0]][self.kind_of[tokens]]
        group_of = np.full(len(tokens), -1, np.int64)
        able = reached != REFUSED
        group_of[able], firsts = distinct([reached[able]])
        return [((int(state),), 0) for state in reached[able][firsts]], group_of

    def state(self, written: WrittenSoFar, token: int, group: Group) -> WrittenSoFar:
        """The state after a token that leads to a group."""
        return WrittenSoFar(0, *group)

    def refusal(self, masked: MaskedToken[WrittenSoFar]) -> Refusal:
        """The refusal of a token, or of all continuations after it.

        Among the continuations, the longest token that the machine allows and the rule refuses at
        once is named.
        """
        state = masked.known.places[0]
        following = int(self.table[state, self.kind_of[masked.token]])
        if following == REFUSED:
            return Refusal(self.name, self.instead(state, masked.token))
        if masked.target < 0:
            return Refusal(self.name, ())
        ways = masked.machine.allowed(masked.target) & (
            self.table[following][self.kind_of] == REFUSED
        )
        refused: list[int] = np.flatnonzero(ways).tolist()
        if not refused:
            return Refusal(self.name, ())
        longest = max(refused, key=lambda one: len(self.tokens[one] or b""))
        return Refusal(self.name, self.instead(following, longest))


@memo
def redundant_bytes(vocabulary: Vocabulary) -> TokenRule:
    """The rule that single-byte tokens may not spell a character that has a token of its own.

    A state is the bytes of a character begun with single-byte tokens, as long as they are a prefix
    of some character with a token of its own.

    Returns:
        The rule; a kind is a byte for tokens of single bytes, and 256 for the others.
    """
    tokens = vocabulary.tokens
    bytes_of = _byte_tokens(vocabulary)
    literal = {
        data for token, data in enumerate(tokens)
        if data is not None and token not in bytes_of and _is_character(data)
    }  # fmt: skip
    kind_of = np.full(len(vocabulary), 256, np.int32)
    for token, byte in bytes_of.items():
        kind_of[token] = byte
    prefixes = {b"": 0}
    for data in sorted(literal):
        for end in range(1, len(data)):
            prefixes.setdefault(data[:end], len(prefixes))
    table = np.zeros((len(prefixes), 257), np.int32)
    for prefix, state in prefixes.items():
        for byte in set(bytes_of.values()):
            longer = prefix + bytes((byte,))
            table[state, byte] = REFUSED if longer in literal else prefixes.get(longer, 0)
    instead = partial(_whole_character, tuple(prefixes), tokens)
    return TokenRule("redundant bytes", tokens, kind_of, table, instead)


def _whole_character(
    prefixes: Sequence[bytes], tokens: Sequence[bytes | None], state: int, token: int
) -> tuple[bytes, ...]:
    """The character that a single-byte token completes."""
    return (prefixes[state] + (tokens[token] or b""),)


def _byte_tokens(vocabulary: Vocabulary) -> Mapping[int, int]:
    """The tokens that stand for a byte rather than a character, with their bytes."""
    bytes_of: dict[int, int] = {}
    encoder = vocabulary.encoder
    pieces = encoder.tokenizer if isinstance(encoder, TokenizersEncoder) else None
    for token, data in enumerate(vocabulary.tokens):
        if data is None or len(data) != 1:
            continue
        if data[0] >= 0x80:
            bytes_of[token] = data[0]
        elif len(vocabulary.ids_of(data)) > 1:
            piece = None if pieces is None else pieces.id_to_token(token)
            written = vocabulary.encode(_PROBE + data.decode()) if pieces is None else None
            if (piece is not None and byte_of(piece) is not None) or (
                written is not None and token not in written
            ):
                bytes_of[token] = data[0]
    return bytes_of


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


@memo
def isolated_spaces(vocabulary: Vocabulary) -> TokenRule:
    """The rule that no text follows a one-space token if the tokenizer would fuse the two.

    The tokenizer is asked about every token, once: a second for 32,000. Where a splitter cuts
    between them, or merges leave them apart, the text stays allowed.

    Raises:
        UnsupportedTokenizer: The vocabulary has no tokenizer.
    """
    encoder = vocabulary.encoder
    if encoder is None:
        raise without_encoder(vocabulary, "what it fuses a space with")
    tokens = vocabulary.tokens
    kind_of = np.full(len(vocabulary), _OTHER, np.int32)
    spaces = vocabulary.ids_of(b" ")
    for token, data in enumerate(tokens):
        if data is None or token in spaces:
            continue
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        # Between two runs of white space a cut depends on the text after both.
        if text[0].isspace():
            continue
        pieces = _fused(tokens, encoder, 1, token)
        if pieces and pieces[0] != b" ":
            kind_of[token] = _FUSES
    kind_of[list(spaces)] = _SPACE
    table = np.array([[0, 1, 0], [0, 1, REFUSED]], np.int32)

    return TokenRule("isolated space", tokens, kind_of, table, partial(_fused, tokens, encoder))


def _fused(
    tokens: Sequence[bytes | None], encoder: Encoder, state: int, token: int
) -> tuple[bytes, ...]:
    """The tokens that the tokenizer writes for a space and the token after it.

    They are those for the text after a letter, if the tokenizer cuts there; else none.
    """
    text = (tokens[token] or b"").decode(errors="ignore")
    pieces = [tokens[one] or b"" for one in encoder.encode(f"{_PROBE} {text}")]
    while pieces and pieces[0].lstrip(b" ") == b"":
        pieces.pop(0)  # A dummy prefix.
    if pieces and pieces[0].lstrip(b" ") == _PROBE.encode():
        return tuple(pieces[1:])
    return ()
