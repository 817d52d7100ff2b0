"""Conversion of transducers from token ids to bytes, from and to pynini machines.

Labels are those of `explorer.alphabet`: id + 1 and byte + 1. If a machine has symbol tables, their
names count: a token has the name that `explorer.detokenizing_fst` gives it, or its number; a byte
is itself or ``<C3>``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from explorer.alphabet import EPSILON, byte_label, label_byte, label_token, readable, token_label
from explorer.arguments import listed, shown
from explorer.automata.drawn import DrawnTransducer
from explorer.automata.interchange.openfst import arrays_of, fst_from_arrays
from explorer.automata.textbook.detokenizing import byte_symbols, token_symbols
from explorer.errors import VocabularyError
from explorer.vocabulary import TokenTransducer, Vocabulary
from explorer.vocabulary.transducer import Arc, Lexicon

if TYPE_CHECKING:
    import pynini


def transducer_of(given: object, vocabulary: Vocabulary | None) -> TokenTransducer:
    """A transducer from whatever a user gave.

    Args:
        given: A `TokenTransducer`, a pynini machine, or a list of arcs ``(source, token, bytes,
            target)``.
        vocabulary: The vocabulary of its ids; ``None`` makes one of the ids up to the largest on an
            arc, each with the bytes that it writes, and one more id for the end of text.

    Raises:
        VocabularyError: It is something else, or reads what is not an id of text.

    Example:
        >>> transducer_of([(0, 0, b"a", 0), (0, 1, b"bc", 0)], None).vocabulary.tokens
        (b'a', b'bc', None)
    """
    if isinstance(given, TokenTransducer):
        if vocabulary is None or vocabulary == given.vocabulary:
            return given
        raise VocabularyError(
            f"The transducer is one of {given.vocabulary!r}, and the vocabulary is {vocabulary!r}.",
            remedy="Leave the vocabulary out; or, where its ids are the same tokens, give "
            "TokenTransducer.from_arcs(transducer.arcs, vocabulary, transducer.accepting).",
        )
    if hasattr(given, "write_to_string"):  # A pynini machine; pynini is not imported to see that.
        return _from_fst(cast(Any, given), vocabulary)
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        turned = (
            "It reads bytes and writes tokens: give its invert(); or "
            if isinstance(given, Lexicon)
            else ""
        )
        raise VocabularyError(
            f"transducer={shown(given)} is not a transducer from token ids to bytes.",
            remedy=f"{turned or 'Give '}vocabulary.transducer, changed as you like, a pynini "
            "machine, or a list of arcs (source, token, bytes, target).",
        )
    given = cast("Iterable[object]", given)
    arcs = cast("list[Arc]", listed("transducer", given, "a list of arcs", error=VocabularyError))
    if not arcs:
        raise VocabularyError(
            "transducer=[] has no arc, so it reads no token.",
            remedy="Give at least one arc (source, token, bytes, target), such as "
            "(0, 5, b'foo', 0).",
        )
    return TokenTransducer.from_arcs(arcs, vocabulary or _ids_of(arcs))


def _ids_of(arcs: Iterable[Arc]) -> Vocabulary:
    """A vocabulary of the ids on arcs, each with the bytes of the first arc that reads it."""
    names: dict[int, bytes] = {}
    for arc in arcs:
        if type(arc) not in (tuple, list) or len(arc) != 4:
            continue  # Refused where the arcs are read.
        if type(arc[1]) is int and arc[1] >= 0 and type(arc[2]) is bytes and arc[2]:
            names.setdefault(arc[1], arc[2])
    count = 1 + max(names, default=-1)
    tokens = [names.get(token) for token in range(count)]
    return Vocabulary.from_bytes([*tokens, None], eos_ids=[count])


def _from_fst(given: Any, vocabulary: Vocabulary | None) -> TokenTransducer:
    tables = given.input_symbols(), given.output_symbols()
    if given.start() < 0:
        raise VocabularyError("The transducer has no state.", remedy="Give it a start state.")
    states, start, arcs, accepting = arrays_of(given)
    number = {start: 0}
    for state in range(states):
        number.setdefault(state, len(number))
    names = {} if vocabulary is None else _token_names(vocabulary)
    rows = [
        (
            number[source],
            None if read == EPSILON else _token(read, tables[0], names),
            b"" if written == EPSILON else _byte(written, tables[1]),
            number[target],
        )
        for source, read, written, target in arcs.tolist()
    ]
    ends = [number[state] for state in accepting.nonzero()[0].tolist()]
    if vocabulary is not None:
        return TokenTransducer.from_arcs(rows, vocabulary, ends)
    ids = [token for _, token, _, _ in rows if token is not None]
    count = 1 + max(ids, default=-1)
    silent = Vocabulary.from_bytes([None] * (count + 1), eos_ids=[count])
    made = TokenTransducer.from_arcs(rows, silent, ends)
    if made.words is None:
        named = [f"<{token}>".encode() for token in range(count)]
        return TokenTransducer.from_arcs(
            rows, Vocabulary.from_bytes([*named, None], eos_ids=[count]), ends
        )
    return TokenTransducer.from_arcs(rows, cast(Vocabulary, made.words), ends)


def _token_names(vocabulary: Vocabulary) -> dict[str, int]:
    taken: dict[str, int] = {}
    for token, data in enumerate(vocabulary.tokens):
        if data is not None:
            name = readable(data)
            while name in taken:  # As `token_symbols` names them.
                name = f"{name}#{token}"
            taken[name] = token
    return taken


def _token(label: int, table: Any, names: dict[str, int]) -> int:
    if table is None or not names:
        return label_token(label)
    name = str(table.find(label))
    if name in names:
        return names[name]
    if name.isascii() and name.isdecimal():
        return int(name)
    raise VocabularyError(
        f"The input symbol {name!r} is not a token of the vocabulary.",
        remedy="Name tokens as explorer.detokenizing_fst(vocabulary) does, or by their ids.",
        evidence={"symbol": name},
    )


def _byte(label: int, table: Any) -> bytes:
    if table is not None:
        name = str(table.find(label)).replace("␣", " ")
        if len(name) == 4 and name[0] == "<" and name[3] == ">":
            return bytes.fromhex(name[1:3])
        if name:
            return name.encode()
    if not 0 <= label_byte(label) < 256:
        raise VocabularyError(
            f"The output label {label} is not a byte, which has the labels 1 to 256.",
            remedy="Write byte b as the label b + 1, or attach a table of output symbols.",
            evidence={"label": label},
        )
    return bytes([label_byte(label)])


def fst_of(transducer: TokenTransducer | Lexicon) -> pynini.Fst:
    """A transducer as a pynini machine with one byte per arc and symbol tables.

    Of a lexicon the sides are swapped: bytes in, tokens out.

    Example:
        >>> vocab = Vocabulary.from_bytes([b"f", b"oo", b"foo"], eos_ids=[3])
        >>> fst_of(vocab.transducer).num_states(), fst_of(vocab.transducer.invert()).num_states()
        (4, 4)
    """
    inverse = isinstance(transducer, Lexicon)
    direct = transducer.inverse if inverse else transducer
    rows, states = _byte_by_byte(direct)
    labels = [
        (s, EPSILON if token is None else token_label(token),
         EPSILON if byte is None else byte_label(byte), t)
        for s, token, byte, t in rows
    ]  # fmt: skip
    arcs = np.array(labels, np.int32).reshape(-1, 4)
    accepting = np.zeros(states, np.bool_)
    accepting[[state for state in direct.accepting if state < states]] = True
    fst = cast(Any, fst_from_arrays(states, 0, arcs, accepting))
    fst.set_input_symbols(token_symbols(cast(Vocabulary, direct.vocabulary)))
    fst.set_output_symbols(byte_symbols())
    return fst.invert() if inverse else fst


def _byte_by_byte(
    transducer: TokenTransducer,
) -> tuple[list[tuple[int, int | None, int | None, int]], int]:
    """Arcs that write at most one byte; the last of a token reads it, as in Algorithm 1."""
    states = transducer.num_states
    rows: list[tuple[int, int | None, int | None, int]] = []
    for source, token, data, target in transducer.arcs:
        here = source
        for byte in data[:-1]:
            rows.append((here, None, byte, states))
            here = states
            states += 1
        rows.append((here, token, data[-1] if data else None, target))
    return rows, states


def drawn_transducer(transducer: TokenTransducer | Lexicon) -> DrawnTransducer:
    """A transducer for drawings: one arc per token, with all bytes that it writes.

    A lexicon reads byte by byte and writes the token with the last one, as Figure 3 of Cognetta et
    al. (2025) draws it.

    Example:
        >>> vocab = Vocabulary.from_bytes([b"f", b"oo"], eos_ids=[2])
        >>> drawn_transducer(vocab.transducer).arcs
        ((0, 'f', 'f', 0), (0, 'oo', 'oo', 0))
        >>> drawn_transducer(vocab.transducer.invert()).arcs
        ((0, 'f', 'f', 0), (0, 'o', '', 1), (1, 'o', 'oo', 0))
    """

    def name(token: int | None) -> str:
        if token is None:
            return ""
        data = direct.vocabulary.tokens[token]
        return f"<{token}>" if data is None else readable(data)

    if isinstance(transducer, Lexicon):
        direct = transducer.inverse
        rows, states = _byte_by_byte(direct)
        arcs = tuple(
            (s, "" if byte is None else readable(bytes([byte])), name(token), t)
            for s, token, byte, t in rows
        )
        return DrawnTransducer(states, arcs, direct.accepting)
    direct = transducer
    arcs = tuple((s, name(token), readable(data), t) for s, token, data, t in direct.arcs)
    return DrawnTransducer(direct.num_states, arcs, direct.accepting)
