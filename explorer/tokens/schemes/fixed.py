"""Templates whose fixed text is tokenized outside of the model, as guidance and LMQL do.

The text between the holes is given as token ids, whatever the model would have written. A token
never crosses a border between a hole and fixed text, nor one between two tokens of the fixed text.
The ids may be those of a tokenizer, or those that the model itself would write for that text
(`explorer.analysis.invasiveness.retokenize`, a *naturalised* template).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.budget import Budget, Meter
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint, literal
from explorer.tokens.compile import compile
from explorer.tokens.filtered.machine import FilteredMachine
from explorer.tokens.filtered.token_filter import MaskedToken, MaskFilter
from explorer.tokens.machine import Mark, Refusal, TokenMachine
from explorer.tokens.words import UInt32, num_words, set_bits
from explorer.vocabulary import Vocabulary

Spot = tuple[int, int]
"""A part of the template, with the number of ids written in a fixed text or a hole's state."""

Spots = frozenset[Spot]


class FixedTokens(MaskFilter[Spots]):
    """The filter of a template of fixed tokens and holes; thread-safe.

    Args:
        ids: The fixed ids of each part; empty for a hole.
        holes: The machine of each part that is a hole; ``None`` for fixed text.
    """

    name = kind = "template"

    def __init__(
        self,
        ids: Sequence[tuple[int, ...]],
        holes: Sequence[TokenMachine | None],
        vocabulary: Vocabulary,
    ) -> None:
        self._ids = ids
        self._holes = holes
        self._vocabulary = vocabulary
        self.start = self._opened({(0, self._begin(0))})

    def marks(self, known: Spots, token: int) -> frozenset[Mark]:
        """``"fixed"`` where a token belongs to the fixed text."""
        fixed = any(
            self._holes[part] is None and self._ids[part][at : at + 1] == (token,)
            for part, at in known
        )
        return frozenset(("fixed",)) if fixed else frozenset()

    def parts_that_read(self, known: Spots, token: int) -> frozenset[int]:
        """The numbers of the parts that a token may belong to."""
        return frozenset(part for part, at in known if self._read(part, at, token) is not None)

    def _read(self, part: int, at: int, token: int) -> int | None:
        """The place in a part after a token of it; ``None`` where the part does not read it."""
        hole = self._holes[part]
        if hole is None:
            return at + 1 if self._ids[part][at : at + 1] == (token,) else None
        after = hole.step(at, token)
        return after if after is not None and after >= 0 else None

    def _begin(self, part: int) -> int:
        hole = self._holes[part]
        return 0 if hole is None else hole.start

    def _opened(self, spots: set[Spot]) -> Spots:
        """These spots, and the beginnings of the parts after those that may have ended."""
        opened, waiting = set(spots), list(spots)
        while waiting:
            part, at = waiting.pop()
            hole = self._holes[part]
            over = at == len(self._ids[part]) if hole is None else hole.is_final(at)
            if over and part + 1 < len(self._holes):
                following = (part + 1, self._begin(part + 1))
                if following not in opened:
                    opened.add(following)
                    waiting.append(following)
        return frozenset(opened)

    def after(self, known: Spots, token: int) -> Spots | None:
        """The spots after a token; ``None`` where no part reads it."""
        read = {(part, self._read(part, at, token)) for part, at in known}
        following = {(part, after) for part, after in read if after is not None}
        return self._opened(following) if following else None

    def mask(self, known: Spots) -> UInt32:
        """uint32[words], the tokens that some part reads."""
        words = np.zeros(num_words(len(self._vocabulary)), np.uint32)
        for part, at in known:
            hole = self._holes[part]
            if hole is not None:
                words |= hole.mask(at)
            elif at < len(self._ids[part]):
                set_bits(words, np.array([self._ids[part][at]], np.int32))
        return words

    def refusal(self, masked: MaskedToken[Spots]) -> Refusal:
        """The refusal that names the next fixed token, if there is one."""
        fixed = sorted(
            self._ids[part][at]
            for part, at in masked.known
            if self._holes[part] is None and at < len(self._ids[part])
        )
        pieces = tuple(self._vocabulary.tokens[one] or b"" for one in fixed)
        said, short = "it crosses the border of a hole", "crosses a hole's border"
        if pieces:
            shown = " or ".join(repr(piece.decode(errors="backslashreplace")) for piece in pieces)
            said = f"the template's text was tokenized beforehand, and {shown} comes next"
            short = "the text is fixed"
        return Refusal(self.name, pieces, said, short)


def fixed_tokens(
    parts: Sequence[Sequence[int] | Constraint],
    vocabulary: Vocabulary,
    budget: Budget | None = None,
) -> FilteredMachine[Spots]:
    """The token machine of a template of fixed tokens and holes.

    Args:
        parts: In order: the ids of a fixed text, or a constraint for a hole.
        budget: Limits for compiling the holes and the language.

    Raises:
        ConstraintError: There is no part, or an id is not text.

    Example:
        >>> from explorer import explain, regex
        >>> vocab = Vocabulary.from_bytes([b"a=", b"a", b"=", b"=1", b"1"], eos_ids=[5])
        >>> machine = fixed_tokens([(0,), regex("1+")], vocab)
        >>> machine.allowed(machine.start).nonzero()[0].tolist()  # Not "a", which begins it too.
        [0]
        >>> "'a=' comes next" in explain(machine, machine.start, 1).message
        True
    """
    ids: list[tuple[int, ...]] = []
    holes: list[TokenMachine | None] = []
    language: Constraint | None = None
    for part in parts:
        hole = isinstance(part, Constraint)
        ids.append(() if hole else tuple(part))
        holes.append(compile(part, vocabulary, budget, lazy=True) if hole else None)
        own = part if hole else literal(_text_of(ids[-1], vocabulary))
        language = own if language is None else language + own
    if language is None:
        raise ConstraintError("A template needs a part.", remedy="Give ids or a constraint.")
    machine = compile(language, vocabulary, budget, lazy=True)
    rule = FixedTokens(ids, holes, vocabulary)
    return FilteredMachine(machine, rule, Meter(budget).budget)


def _text_of(ids: tuple[int, ...], vocabulary: Vocabulary) -> str:
    data = bytearray()
    for token in ids:
        piece = vocabulary.tokens[token] if 0 <= token < len(vocabulary) else None
        if piece is None:
            raise ConstraintError(
                f"The id {token} of a template's text is not text.",
                remedy="Give ids of tokens that write bytes.",
                evidence={"token": token},
            )
        data += piece
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConstraintError(
            "The ids of a template's text end in the middle of a character.",
            remedy="Put the whole character into one part.",
            evidence={"offset": error.start},
        ) from error
