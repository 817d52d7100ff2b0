"""From what a tokenizer's files say to a finished vocabulary.

The rules that hold for every format: which ids end a text, what is not text, and the proof.

What ends a text is taken from the first of these that says so:

1. the caller's ``eos_ids``;
2. the tokenizer's definition together with the configuration files beside it (a generation
   config often names more ends of text than the tokenizer, and all of them are);
3. a special token with a name that always means the end of a text.

Otherwise there is an error: guessing would let a model run on, or stop anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Final, cast

from explorer.errors import VocabularyError
from explorer.vocabulary.configs import Beside
from explorer.vocabulary.proof import bank, prove
from explorer.vocabulary.reading import Encoder, Reading, checked_width

_END_NAMES: Final = (
    (
        "</s>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|eot|>",
        "<|eos|>",
        "<|im_end|>",
        "<|end|>",
        "<|return|>",
        "<|end_of_turn|>",
        "<|endofturn|>",
        "<end_of_turn>",
        "<turn|>",
        "<|END_OF_TURN_TOKEN|>",
        "<eos>",
        "<EOS>",
        "[EOS]",
        "<|end_of_sentence|>",
        "<｜end▁of▁sentence｜>",
    ),
    # A separator ends a text only where nothing else does, as in encoder models.
    ("[SEP]", "<sep>"),
)
_HOW: Final = "Pass eos_ids=[...] with the ids at which the model stops."


@dataclass(frozen=True)
class Parts:
    """The parts of a finished vocabulary; `explorer.vocabulary.Vocabulary` has the same fields."""

    tokens: tuple[bytes | None, ...]
    eos_ids: tuple[int, ...]
    notes: tuple[str, ...]
    special: dict[int, str]
    empty_ids: frozenset[int]
    encoder: Encoder | None


def assemble(reading: Reading, beside: Beside, eos_ids: Iterable[int] | None) -> Parts:
    """Finish what a reader found.

    Args:
        reading: The tokenizer's own definition.
        beside: The configuration files beside it.
        eos_ids: The caller's ends of text, or None.

    Raises:
        VocabularyError: No end of text is known, or one is out of range.
        UnsupportedTokenizer: The proof fails.
    """
    tokens = list(reading.tokens)
    special = dict(reading.special)
    notes = list(reading.notes)
    _add_declared(tokens, special, reading, beside)

    if eos_ids is not None:
        ends = checked_ids(eos_ids)
    else:
        named = {token for n in beside.eos_names if (token := reading.pieces.get(n)) is not None}
        named |= {token for token, name in special.items() if name in beside.eos_names}
        ends = tuple(sorted(reading.eos_ids | beside.eos_ids | named))
        if not ends:
            ends, note = _by_name(special, beside)
            notes.append(note)
    extend_to(tokens, ends, allowed=reading.extendable and eos_ids is not None)
    for token in ends:
        if tokens[token] is not None and token not in special:
            notes.append(
                f"The id {token} would write {tokens[token]!r}; it ends the text here, and writes "
                f"nothing."
            )
    empty = [token for token, data in enumerate(tokens) if data == b""]
    # What is declared special is that first, whatever it would write.
    silent = frozenset(empty) - set(special) - set(ends)
    unnamed = {*ends, *empty} - set(special)
    special.update({token: name for name, token in reading.pieces.items() if token in unnamed})
    for token in ends:
        special.setdefault(token, "<eos>")
    for token in (*special, *empty):
        tokens[token] = None
    if empty:
        notes.append(
            f"{len(empty)} ids write nothing (the first is {empty[0]}); they are not text, because "
            f"a text could take any number of them."
        )

    if reading.encoder is not None:
        prove(tokens, reading.encoder, bank(tokens, reading.probes))
    special = dict(sorted(special.items()))
    return Parts(tuple(tokens), ends, tuple(notes), special, silent, reading.encoder)


def _add_declared(
    tokens: list[bytes | None], special: dict[int, str], reading: Reading, beside: Beside
) -> None:
    """Enter the special and added tokens that only the configuration files know."""
    for name in beside.special_names:
        token = reading.pieces.get(name)
        if token is not None:
            special.setdefault(token, name)
    for token, (content, is_special) in sorted(beside.added.items()):
        checked_width(token, "tokenizer_config.json, added_tokens_decoder,")
        tokens.extend([None] * (token + 1 - len(tokens)))
        if is_special:
            special[token] = content
        elif tokens[token] is None and token not in special:
            tokens[token] = content.encode()


def _by_name(special: dict[int, str], beside: Beside) -> tuple[tuple[int, ...], str]:
    for names in _END_NAMES:
        found = {token: name for token, name in special.items() if name in names}
        if found:
            shown = ", ".join(f"{name!r} (id {token})" for token, name in sorted(found.items()))
            return tuple(sorted(found)), (
                f"The end of text is taken from the name of a special token: {shown}."
            )
    asked = f" (it is named {', '.join(sorted(beside.eos_names))}, which is no token)"
    raise VocabularyError(
        f"No end of text is known for this tokenizer{asked if beside.eos_names else ''}.",
        remedy=_HOW,
        evidence={"special": dict(special)},
    )


def checked_ids(ids: Iterable[int] | int) -> tuple[int, ...]:
    """Ends of text as a sorted tuple of different ids.

    Raises:
        VocabularyError: There are none, or one of them is no id.
    """
    # One id is as good as a list of one; numpy's integers are integers.
    listed: Sequence[object] = list(ids) if isinstance(ids, Iterable) else [ids]
    found: set[int] = set()
    for token in listed:
        try:
            found.add(-1 if isinstance(token, bool) else index(cast("int", token)))
        except TypeError:
            found.add(-1)
        if min(found) < 0:
            raise VocabularyError(
                f"The end of text {token!r} is no token id.", remedy=_HOW, evidence={"id": token}
            )
    if not listed:
        raise VocabularyError("eos_ids is empty, so no text could ever end.", remedy=_HOW)
    return tuple(sorted(found))


def extend_to(tokens: list[bytes | None], ends: Sequence[int], allowed: bool) -> None:
    """Lengthen ``tokens`` by ids that are not text, so that the last end of text is inside.

    Args:
        tokens: Bytes of each id; changed in place.
        ends: Ends of text.
        allowed: Whether ids past the end may be added.

    Raises:
        VocabularyError: They may not, or the id is out of all bounds.
    """
    for token in ends:
        checked_width(token, "eos_ids")
        if token >= len(tokens) and not allowed:
            raise VocabularyError(
                f"The end of text {token} is out of range: the tokenizer has {len(tokens):,} ids.",
                remedy=_HOW,
                evidence={"id": token, "width": len(tokens)},
            )
    tokens.extend([None] * (max(ends) + 1 - len(tokens)))
