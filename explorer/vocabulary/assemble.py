"""Turns the result of a reader into a finished vocabulary, by the rules common to all formats.

These rules decide which ids end a text and which are not text, and require the proof.

The ends of text are taken from the first of these sources that names any:

1. the caller's ``eos_ids``;
2. the tokenizer's definition together with the configuration files beside it (a generation
   config often names more ends of text than the tokenizer, and all of them are);
3. a special token with a name that always means the end of a text.

It is an error if the configuration names an end of text that the tokenizer does not have, or if
none of these sources names one: a guess would let a model run on, or stop anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import index
from typing import Final, cast

from explorer.arguments import listed, shown
from explorer.errors import VocabularyError
from explorer.vocabulary.configs import Beside
from explorer.vocabulary.proof import bank, prove
from explorer.vocabulary.reading import Encoder, TokenizerReading, checked_width

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
    # A separator ends a text only if nothing else does, as in encoder models.
    ("[SEP]", "<sep>"),
)
_HOW: Final = "Pass eos_ids=[...] with the ids at which the model stops."


@dataclass(frozen=True)
class Parts:
    """The fields of a finished `explorer.vocabulary.Vocabulary`."""

    tokens: tuple[bytes | None, ...]
    eos_ids: tuple[int, ...]
    notes: tuple[str, ...]
    special: dict[int, str]
    empty_ids: frozenset[int]
    encoder: Encoder | None


def vocabulary_parts(
    reading: TokenizerReading, beside: Beside, eos_ids: Iterable[int] | None
) -> Parts:
    """Turn the result of a reader into the parts of a vocabulary.

    Raises:
        VocabularyError: No end of text is known, or one is out of range.
        UnsupportedTokenizer: The proof fails.
    """
    tokens = list(reading.tokens)
    special = dict(reading.special)
    notes = [*reading.notes, *beside.notes]
    if _cleans_up(reading, beside):
        notes.append(
            "transformers drops spaces before punctuation when it decodes with this configuration; "
            "decode(..., clean_up_tokenization_spaces=False) prints what the tokens write."
        )
    unknown_to_encoder = _add_declared(tokens, special, notes, reading, beside)

    ends = checked_ids(eos_ids) if eos_ids is not None else _ends(special, notes, reading, beside)
    beyond = [token for token in ends if token >= len(tokens)]
    if beyond:
        notes.append(
            f"The end of text {beyond[0]} lies past the {len(tokens):,} ids of the tokenizer's "
            f"files; the ids from there to it are not text."
        )
    extend_to(tokens, ends, allowed=True)
    for token in ends:
        if tokens[token] is not None and token not in special:
            notes.append(
                f"The id {token} would write {tokens[token]!r}; it ends the text here, and writes "
                f"nothing."
            )
    empty = [token for token, data in enumerate(tokens) if data == b""]
    # An id that is declared special counts as special, even if it writes nothing.
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
    _check_texts(tokens, notes)

    encoder = reading.encoder
    if encoder is not None:
        prove(tokens, encoder, bank(tokens, reading.probes))
        if not reading.encodes:
            encoder = None
        elif unknown_to_encoder:
            encoder = None
            notes.append(
                f"encode() is not offered: {unknown_to_encoder} added tokens of the configuration "
                f"files are found in a text by rules that this format does not hold."
            )
    special = dict(sorted(special.items()))
    return Parts(tuple(tokens), ends, tuple(dict.fromkeys(notes)), special, silent, encoder)


def _cleans_up(reading: TokenizerReading, beside: Beside) -> bool:
    """Whether transformers drops spaces when decoding; its version 5 never does so for BPE."""
    settings = beside.settings
    if settings.get("clean_up_tokenization_spaces") is not True:
        return False
    forced = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
    return reading.model != "BPE" or settings.get(forced) is True


def _add_declared(
    tokens: list[bytes | None],
    special: dict[int, str],
    notes: list[str],
    reading: TokenizerReading,
    beside: Beside,
) -> int:
    """Enter the special and added tokens that only the configuration files list.

    Returns:
        The number of those that are text, which the encoder should find but does not.
    """
    for name in beside.special_names:
        token = reading.pieces.get(name)
        if token is not None:
            special.setdefault(token, name)
    # The pieces by id, only for the few ids that are looked up.
    names = {t: name for name, t in reading.pieces.items() if t in beside.added}
    new_texts = 0
    overruled: list[int] = []
    ignored: list[int] = []
    for token, (content, is_special) in sorted(beside.added.items()):
        checked_width(token, f"The added token {content[:40]!r} of the configuration files")
        known = reading.pieces.get(content)
        if reading.lists_added and known not in (None, token):
            ignored.append(token)
            continue
        own = tokens[token] if token < len(tokens) else None
        data = reading.literal(content)
        differs = own is not None and names.get(token) != content and own != data
        if differs and reading.lists_added:
            raise VocabularyError(
                f"The configuration files give the id {token} to {content!r}, but in the tokenizer "
                f"it is {names.get(token)!r}.",
                remedy="Check that the files belong together; remove the entry from "
                "added_tokens_decoder or added_tokens.json if the tokenizer's own file is right.",
                evidence={"id": token, "configured": content, "piece": names.get(token)},
            )
        tokens.extend([None] * (token + 1 - len(tokens)))
        if differs:
            overruled.append(token)
        if is_special:
            special[token] = content
        elif token not in special and (own is None or differs):
            tokens[token] = data
            new_texts += 1
    if overruled:
        notes.append(
            f"{len(overruled)} ids (the first is {overruled[0]}) have another piece in the "
            f"tokenizer's file; as in transformers, the added token of the configuration counts."
        )
    if ignored:
        notes.append(
            f"{len(ignored)} added tokens of the configuration files (the first for the id "
            f"{ignored[0]}) have another id in the tokenizer's own file, which counts."
        )
    return new_texts


def _ends(
    special: dict[int, str], notes: list[str], reading: TokenizerReading, beside: Beside
) -> tuple[int, ...]:
    """The ends of text that the files name."""
    named: set[int] = set()
    missing: list[str] = []
    for name in sorted(beside.eos_names):
        matching = {token for token, content in special.items() if content == name}
        if (token := reading.pieces.get(name)) is not None:
            matching.add(token)
        named |= matching
        if not matching:
            missing.append(repr(name))
    configured = (beside.eos_ids | named) or beside.fallback_ids
    if missing and not configured:
        raise VocabularyError(
            f"The configuration names {' and '.join(missing)} as the end of text, which is not a "
            f"token of this tokenizer.",
            remedy=_HOW,
            evidence={"eos_token": tuple(missing), "special": dict(special)},
        )
    if missing:
        notes.append(
            f"The end of text {' and '.join(missing)} of the configuration is not a token here; "
            f"the other ends that it gives count."
        )
    ends = reading.eos_ids | configured
    if ends:
        return tuple(sorted(ends))
    by_name, note = _by_name(special)
    notes.append(note)
    return by_name


def _check_texts(tokens: Sequence[bytes | None], notes: list[str]) -> None:
    """Note when few ids are text, and refuse a vocabulary in which no id is text."""
    texts = len(tokens) - tokens.count(None)
    if texts == 0:
        raise VocabularyError(
            f"None of the {len(tokens):,} ids of this tokenizer writes text.",
            remedy="Check that it is the file you mean, and that its pieces are not all declared "
            "special.",
            evidence={"width": len(tokens)},
        )
    if 2 * texts < len(tokens):
        notes.append(f"Only {texts:,} of the {len(tokens):,} ids write text.")


def _by_name(special: dict[int, str]) -> tuple[tuple[int, ...], str]:
    for names in _END_NAMES:
        controls = {token: name for token, name in special.items() if name in names}
        if controls:
            shown = ", ".join(f"{name!r} (id {token})" for token, name in sorted(controls.items()))
            return tuple(sorted(controls)), (
                f"The end of text is taken from the name of a special token: {shown}."
            )
    raise VocabularyError(
        "No end of text is known for this tokenizer.", remedy=_HOW, evidence={"special": special}
    )


def checked_ids(ids: Iterable[int] | int) -> tuple[int, ...]:
    """The ends of text as a sorted tuple of distinct ids.

    Raises:
        VocabularyError: The list is empty, or an entry is not an id.
    """
    # A single id may stand for a list of one. A text or bytes are not lists of ids.
    given: Sequence[object] = [ids]
    if isinstance(ids, Iterable) and not isinstance(ids, str | bytes | bytearray):
        with suppress(Exception):  # A user's own list may raise anything.
            given = [index(cast("int", ids))]  # A zero-dimensional array is a single id.
        if given[0] is ids:
            given = listed("eos_ids", ids, "a list of ids", error=VocabularyError)
    numbers: set[int] = set()
    for token in given:
        try:
            number = -1 if isinstance(token, bool) else int(index(cast("int", token)))
        except Exception:  # Not only TypeError, as above.
            number = -1
        if not 0 <= number < 2**31:
            raise VocabularyError(
                f"The end of text {shown(token)} is not a token id.",
                remedy=_HOW,
                evidence={"id": token},
            )
        numbers.add(number)
    if not given:
        raise VocabularyError("eos_ids is empty, so no text could ever end.", remedy=_HOW)
    return tuple(sorted(numbers))


def extend_to(tokens: list[bytes | None], ends: Sequence[int], allowed: bool) -> None:
    """Extend ``tokens`` in place with ids that are not text, up to the last end of text.

    Args:
        allowed: Whether an end of text may lie past the end of ``tokens``.

    Raises:
        VocabularyError: One does and may not, or the id is too large for any vocabulary.
    """
    for token in ends:
        checked_width(token, "eos_ids")
        if token >= len(tokens) and not allowed:
            raise VocabularyError(
                f"The end of text {token} is out of range: the tokenizer has {len(tokens):,} ids.",
                remedy=f"Pass eos_ids=[...] with ids from 0 to {len(tokens) - 1}, at which the "
                f"model stops.",
                evidence={"id": token, "width": len(tokens)},
            )
    tokens.extend([None] * (max(ends) + 1 - len(tokens)))
