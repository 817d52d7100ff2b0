"""T_V transduces token sequences to the bytes that they spell, in both forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import explorer
from explorer.alphabet import byte_label, readable, token_label
from explorer.automata.interchange.openfst import fst_from_arrays
from explorer.errors import VocabularyError
from tests.evidence import examples
from tests.optional import pynini
from tests.patterns import vocabularies


def acceptor(labels: list[int]) -> Any:
    arcs = np.array([(k, x, x, k + 1) for k, x in enumerate(labels)], np.int32).reshape(-1, 4)
    accepting = np.zeros(len(labels) + 1, np.bool_)
    accepting[-1] = True
    return fst_from_arrays(len(labels) + 1, 0, arcs, accepting)


def bare(fst: Any) -> Any:
    fst.set_input_symbols(None)
    fst.set_output_symbols(None)
    return fst


@given(vocabularies(), st.data())
@settings(max_examples=examples(40))
def test_a_token_sequence_writes_its_bytes(tokens: list[bytes | None], data: st.DataObject) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    text = [i for i, token in enumerate(vocabulary.tokens) if token]
    ids = data.draw(st.lists(st.sampled_from(text), max_size=5)) if text else []
    written = b"".join(vocabulary.tokens[i] or b"" for i in ids)
    for form in ("compact", "original"):
        fst = bare(explorer.detokenizing_fst(vocabulary, form))  # type: ignore[arg-type]
        out = pynini.compose(acceptor([token_label(i) for i in ids]), fst).project("output")
        out = pynini.determinize(out.rmepsilon())
        wanted = acceptor([byte_label(b) for b in written])
        assert pynini.equivalent(out, wanted)
        if written:  # It can fail: another text is another language.
            other = acceptor([byte_label(b ^ 1) for b in written])
            assert not pynini.equivalent(out, other)


def test_both_forms_are_one_relation(sentencepiece_32k: explorer.Vocabulary) -> None:
    short = [b"a", b"b", b"c", b"ab", b"abc", b" ", b" a", b" ab", b"bc", b"ca"]
    some = [i for i, data in enumerate(sentencepiece_32k.tokens) if data in short]
    assert len(some) >= len(short)
    compact = bare(explorer.detokenizing_fst(sentencepiece_32k, only=some))
    original = bare(explorer.detokenizing_fst(sentencepiece_32k, "original", only=some))
    text = explorer.regex(r"[a-c ]{0,6}").fsa

    def tokenizations(fst: Any) -> Any:
        composed = pynini.compose(fst.copy().arcsort("olabel"), text).project("input")
        return pynini.determinize(composed.rmepsilon()).connect()

    assert pynini.equivalent(tokenizations(compact), tokenizations(original))
    assert compact.num_states() < original.num_states()


def test_symbols_print_readably() -> None:
    vocabulary = explorer.Vocabulary.from_bytes(
        [b" a", b"\n", b"\xc3", "ä".encode(), b"ab", b"ab", b"<b>"], eos_ids=[7]
    )
    fst = explorer.detokenizing_fst(vocabulary)
    names = [name for _, name in fst.input_symbols()]
    assert names == ["ε", "␣a", "\\n", "<C3>", "ä", "ab", "ab#5", "<b>"]
    assert fst.output_symbols().find(byte_label(0xC3)) == "<C3>"
    assert "␣a" in str(fst)


ALIKE = st.text("\\nx0u␣<C3> \n\xe3", max_size=7).map(str.encode)


@given(ALIKE, ALIKE)
def test_readable_tells_backslashes_from_escapes(a: bytes, b: bytes) -> None:
    assert (readable(a) == readable(b)) == (a == b)


def test_a_backslash_is_doubled_only_where_it_would_be_read_as_an_escape() -> None:
    alone = [b"\\", b"\\\\", b'\\"', b"a\\b"]
    assert [readable(data) for data in alone] == [data.decode() for data in alone]
    alike = [b"\\n", b"\n", b"\\ ", b"\\\n", b"\\\xc3"]
    assert [readable(data) for data in alike] == ["\\\\n", "\\n", "\\\\␣", "\\\\\\n", "\\\\<C3>"]


@example(b"\xc3", b"<C3>")
@example(b"\\<C3>", b"\xc3")
@example(b"\x80", "\x80".encode())
@given(st.binary(max_size=6), st.binary(max_size=6))
def test_readable_tells_tokens_apart(a: bytes, b: bytes) -> None:
    assert (readable(a) == readable(b)) == (a == b)
    assert " " not in readable(a) and readable(a).isprintable()


def test_names_never_collide() -> None:
    tokens = [b"a", b"a#2", b"a", b"a#2", b"a#2#3"]
    fst = explorer.detokenizing_fst(explorer.Vocabulary.from_bytes(tokens, eos_ids=[5]))
    labels = [label for label, _ in fst.input_symbols()]
    assert labels == [0, 1, 2, 3, 4, 5]
    with pytest.raises(VocabularyError, match="form='nonsense'"):
        explorer.detokenizing_fst(explorer.Vocabulary.from_bytes([b"a"], eos_ids=[1]), "nonsense")  # type: ignore[arg-type]
