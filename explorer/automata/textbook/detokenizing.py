"""The detokenizing FST T_V: token ids in, bytes out.

Detokenization is transduction (Koo, Liu & He 2024, Algorithm 1): a machine that loops at its
root, once per token, and writes the token's bytes. Composing it with a character FSA gives the
machine over token ids that the constraint means. `explorer.compile` computes that composition
in closed form; here T_V is built as a pynini transducer, for the definition, for tests and to
be looked at.

`algorithm_one` runs the algorithm one line after the other: there the executed lines are the
result, each with the machine as it is after the line, so that the algorithm can be watched.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import numpy as np

from explorer.alphabet import EPSILON, NUM_BYTES, byte_label, readable, show_bytes, token_label
from explorer.arguments import instance, listed, plain, shown, whole_number
from explorer.automata.drawn import DrawnTransducer
from explorer.automata.interchange.libraries import installed
from explorer.automata.interchange.openfst import fst_from_arrays
from explorer.errors import VocabularyError
from explorer.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pynini


Form = Literal["compact", "original"]

# pynini's stubs leave its symbol tables out.
SymbolTable = Any


def byte_symbols() -> SymbolTable:
    """The symbol table of byte labels: printable ASCII as itself, other bytes as ``<C3>``."""
    table = installed("pynini", "A symbol table").SymbolTable("bytes")
    table.add_symbol("ε", EPSILON)
    for byte in range(NUM_BYTES):
        name = chr(byte) if 0x20 < byte < 0x7F else show_bytes(bytes([byte]))
        name = "␣" if byte == 0x20 else name
        table.add_symbol(name, byte_label(byte))
    return table


def token_symbols(vocabulary: Vocabulary, only: Collection[int] | None = None) -> SymbolTable:
    """The symbol table of token labels: a token's text, with its id if two ids share the text.

    Args:
        vocabulary: The tokens; ids that are not text are left out.
        only: Ids to name; default all.
    """
    table = installed("pynini", "A symbol table").SymbolTable("tokens")
    table.add_symbol("ε", EPSILON)
    taken = {"ε"}
    for token in range(len(vocabulary)) if only is None else sorted(only):
        data = vocabulary.tokens[token]
        if data is None:
            continue
        name = readable(data)
        while name in taken:
            name = f"{name}#{token}"
        taken.add(name)
        table.add_symbol(name, token_label(token))
    return table


def _original(tokens: list[tuple[bytes, int]]) -> tuple[int, list[tuple[int, int, int, int]]]:
    """One cycle per token: arcs for all bytes but the last, then one for the id and the last."""
    arcs: list[tuple[int, int, int, int]] = []
    states = 1
    for data, token in tokens:
        here = 0
        for byte in data[:-1]:
            arcs.append((here, EPSILON, byte_label(byte), states))
            here = states
            states += 1
        arcs.append((here, token_label(token), byte_label(data[-1]), 0))
    return states, arcs


def _compact(tokens: list[tuple[bytes, int]]) -> tuple[int, list[tuple[int, int, int, int]]]:
    """One state per proper prefix of a token; in byte order, paths share their beginnings."""
    arcs: list[tuple[int, int, int, int]] = []
    states = 1
    path = [0]
    before = b""
    for data, token in sorted(tokens):
        common = 0
        while common < min(len(before), len(data)) and before[common] == data[common]:
            common += 1
        del path[common + 1 :]
        for end in range(len(path), len(data)):
            arcs.append((path[-1], EPSILON, byte_label(data[end - 1]), states))
            path.append(states)
            states += 1
        arcs.append((path[len(data) - 1], token_label(token), byte_label(data[-1]), 0))
        before = data
    return states, arcs


def detokenizing_fst(
    vocabulary: Vocabulary, form: Form = "compact", only: Collection[int] | None = None
) -> pynini.Fst:
    """The transducer from token sequences to the byte strings that they spell.

    Args:
        vocabulary: The tokens. Ids that are not text write nothing and are left out.
        form: ``"original"``, as Algorithm 1 builds it: every token is a cycle of its own, which
            writes its bytes but the last, and then reads the id together with the last byte.
            ``"compact"``: cycles that begin alike share states, so that a state is a proper prefix
            of a token (Figure 9 of the paper shows both).

    Returns:
        A transducer with token labels (id + 1) on the input side and byte labels (byte + 1) on
        the output side, symbol tables attached. The root is the start and the only final state.

    Raises:
        VocabularyError: ``only`` names an id that is not a text token.

    Example:
        >>> from explorer import Vocabulary
        >>> vocab = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])
        >>> detokenizing_fst(vocab).num_states(), detokenizing_fst(vocab, "original").num_states()
        (5, 9)
    """
    vocabulary = instance(
        "vocabulary", vocabulary, Vocabulary, "a Vocabulary", error=VocabularyError
    )
    ids = range(len(vocabulary))
    if only is not None:
        given = listed("only", only, "a list of token ids", error=VocabularyError)
        numbers = {whole_number("an id of only", t, None, error=VocabularyError) for t in given}
        ids = sorted(numbers)
    form = plain(form)
    if not isinstance(form, str) or form not in ("compact", "original"):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise VocabularyError(
            f"form={shown(form)} is not known.", remedy='Write form="compact" or form="original".'
        )
    chosen: list[tuple[bytes, int]] = []
    for token in ids:
        data = vocabulary.tokens[token] if 0 <= token < len(vocabulary) else None
        if data is not None:
            chosen.append((data, token))
        elif only is not None:
            raise VocabularyError(
                f"Token {token} is not a text token of this vocabulary, so it writes no bytes.",
                remedy="Restrict the picture to ids whose entry in `tokens` is not None.",
                evidence={"token": token},
            )
    states, arcs = _original(chosen) if form == "original" else _compact(chosen)
    accepting = np.zeros(states, np.bool_)
    accepting[0] = True
    fst = fst_from_arrays(states, 0, np.array(arcs, np.int32).reshape(-1, 4), accepting)
    cast(Any, fst).set_input_symbols(token_symbols(vocabulary, None if only is None else ids))
    cast(Any, fst).set_output_symbols(byte_symbols())
    return fst


LINES: Final = (
    "make the root: texts start and end there",
    "for each token v:",
    "    stand at the root",
    "    for each byte b of v but the last:",
    "        make a state, draw the arc ε : b to it, stand there",
    "    draw the arc v : (the last byte of v) back to the root",
)
"""The lines of the algorithm in our words, in the form where tokens share no states (section 2.3).
"""


@dataclass(frozen=True, slots=True)
class ExecutedLine:
    """One executed line of the algorithm.

    Args:
        line: Its number in `LINES`, from 1.
        token: The token that it works on; empty at the beginning.
    """

    line: int
    token: bytes
    words: str
    machine: DrawnTransducer


def algorithm_one(tokens: Sequence[bytes]) -> tuple[ExecutedLine, ...]:
    """Run Algorithm 1 over a few tokens.

    Returns:
        The executed lines, loops without those that only say "for each"; the machine of the last
        one is the detokenizing FST.

    Example:
        >>> [f"{step.line}: {step.words}" for step in algorithm_one([b"ab"])]
        ['1: the root is 0', '3: at 0', '5: 0 -ε:a-> 1', '6: 1 -ab:b-> 0']
    """
    root = frozenset([0])
    arcs: list[tuple[int, str, str, int]] = []
    states = 1
    done = [ExecutedLine(1, b"", "the root is 0", DrawnTransducer(1, (), root))]

    def note(line: int, token: bytes, words: str) -> None:
        machine = DrawnTransducer(states, tuple(arcs), root)
        done.append(ExecutedLine(line, token, words, machine))

    for token in tokens:
        here = 0
        note(3, token, "at 0")
        letters = [readable(bytes([byte])) for byte in token]
        for letter in letters[:-1]:
            arcs.append((here, "", letter, states))
            states += 1
            note(5, token, f"{here} -ε:{letter}-> {states - 1}")
            here = states - 1
        name = readable(token)
        arcs.append((here, name, letters[-1], 0))
        note(6, token, f"{here} -{name}:{letters[-1]}-> 0")
    return tuple(done)
