"""Patterns: built, as bytes of UTF-8, as sets of Unicode, and beyond what Python reads."""

from __future__ import annotations

import itertools
import pickle
import re
import tracemalloc
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import regex as regex_library
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.automata.construction.operations import equivalent, minimal_dfa
from explorer.automata.machine import Nfa
from explorer.automata.tree.charset import (
    ANY,
    ENTRY,
    EXIT,
    FIRST_SURROGATE,
    LAST_SURROGATE,
    MAX_CODE_POINT,
    CharSet,
    Fragment,
    char_set,
    utf8_fragment,
)
from explorer.automata.tree.layout import flattened, lay_out
from explorer.automata.tree.nodes import Class, Dot, Literal, Repeat, walk
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, ExplorerError, RegexError
from explorer.languages.regex import characters, compile_pattern, parse
from explorer.languages.regex.characters import category
from explorer.languages.regex.properties import property_set, scripts
from explorer.languages.regex.tables import cached
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from explorer.languages.template.expression import read_expression
from tests.evidence import few

# The NFA of a tree: sizes announced before they are taken, repeats multiplied, origins kept.


@pytest.mark.parametrize(
    "pattern",
    [
        "x{4294967294}",
        "x{,4294967294}",
        "(?:x{1,70000}y){1,70000}",
        "((((((a|b{9}){9}c){9}d){9}e){9}f){9}g){9}",
        r"(?:\w{1,5000}-){1,5000}",
        "(?:(?:ä{2}){1000000}b){2,}",
    ],
)
def test_too_large_repeats_are_refused_before_memory_is_taken(pattern: str) -> None:
    tree = parse(pattern)
    tracemalloc.start()
    try:
        with pytest.raises(BudgetExceeded) as caught:
            lay_out(tree.root, Meter())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.reached > caught.value.limit
    assert peak < 50_000_000


@pytest.mark.parametrize(
    ("pattern", "states"), [("(x{1,500}){1,500}", 250_001), (".{0,2000}", 16_001), ("x{5}y{0}", 6)]
)
def test_large_repeats_within_the_budget(pattern: str, states: int) -> None:
    assert compile_pattern(pattern, Meter())[1].num_states == states


counts = st.tuples(st.integers(0, 4), st.one_of(st.none(), st.integers(0, 4)))


@given(counts, counts)
def test_nested_repeats_are_multiplied_only_where_exact(
    inner: tuple[int, int | None], outer: tuple[int, int | None]
) -> None:
    def written(bounds: tuple[int, int | None]) -> str:
        low, high = bounds
        return f"{{{low},{'' if high is None else low + high}}}"

    pattern = f"(x{written(inner)}){written(outer)}"
    node = parse(pattern).root
    assert isinstance(node, Repeat)
    _, low, high = flattened(node)
    machine = compile_pattern(pattern, Meter())[1]
    for length in range(40):
        expected = re.fullmatch(pattern, "x" * length) is not None
        assert machine.accepts(b"x" * length) == expected
    if isinstance(flattened(node)[0], Literal):
        flat = "x{" + str(low) + "," + ("" if high is None else str(high)) + "}"
        assert equivalent(compile_pattern(flat, Meter())[1], machine, Meter())


@pytest.mark.parametrize(
    "pattern",
    ["a", "(?i)ab|[c-e]+x{2,3}", "ä(b.)*", "(?:ab|c.){90}", "(?:(?:ab?){30}c){30}", r"\w{3}"],
)
def test_origins(pattern: str) -> None:
    """Each arc is one that its leaf could have read."""
    tree = parse(pattern)
    built = lay_out(tree.root, Meter(), with_origin=True)
    plain = lay_out(tree.root, Meter())
    assert plain.arc_origin is None
    assert np.array_equal(plain.arcs, built.arcs)
    assert built.arc_origin is not None and len(built.arc_origin) == len(built.arcs)
    in_tree = [node for node in walk(tree.root) if isinstance(node, Literal | Class | Dot)]
    assert {id(origin.node) for origin in built.origins} == {id(node) for node in in_tree}
    for (_, low, high, _), k in zip(built.arcs.tolist(), built.arc_origin.tolist(), strict=True):
        leaf = built.origins[k].node
        rows = {(low, high) for _, low, high, _ in utf8_fragment(leaf.chars).arcs}
        assert (low, high) in rows


def test_assertions_are_relaxed_only_on_request() -> None:
    tree = parse(r"a\b-(?=x)y")
    with pytest.raises(ExplorerError, match="assertions"):
        lay_out(tree.root, Meter())
    relaxed = lay_out(tree.root, Meter(), with_origin=True, relax_assertions=True)
    assert minimal_dfa(relaxed, Meter()).accepts(b"a-y")


# The UTF-8 machine of a set: exactly the codes of its members, no other bytes, no wasted state.


EDGES = [
    0, 1, 0x41, 0x7F, 0x80, 0xBF, 0xC0, 0xFF, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xE000, 0xFFFD,
    0xFFFF, 0x10000, 0x1F600, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF,
]  # fmt: skip
points = st.one_of(st.sampled_from(EDGES), st.integers(0, MAX_CODE_POINT))
ranges = st.tuples(points, points).map(lambda pair: (min(pair), max(pair)))
sets = st.lists(ranges, max_size=6).map(char_set)


def codes(fragment: Fragment) -> set[bytes]:
    """Every word of a fragment, by following its arcs."""
    out: dict[int, list[tuple[int, int, int]]] = {}
    for source, low, high, target in fragment.arcs:
        out.setdefault(source, []).append((low, high, target))
    words: set[bytes] = set()
    waiting = [(ENTRY, b"")]
    while waiting:
        state, word = waiting.pop()
        if state == EXIT:
            words.add(word)
            continue
        for low, high, target in out[state]:
            waiting += [(target, word + bytes([byte])) for byte in range(low, high + 1)]
    return words


def as_nfa(fragment: Fragment) -> Nfa:
    arcs = np.array(fragment.arcs, np.int32).reshape(-1, 4)
    none = np.empty((0, 2), np.int32)
    return Nfa(fragment.num_inner + 2, ENTRY, arcs, none, np.array([EXIT], np.int32))


@pytest.mark.parametrize("chars", [category("d", 0), category("s", 0), category("w", 0)])
def test_all_codes_of_a_category(chars: CharSet) -> None:
    expected = {chr(p).encode() for low, high in chars.ranges for p in range(low, high + 1)}
    assert codes(utf8_fragment(chars)) == expected


def test_all_codes_there_are() -> None:
    machine = minimal_dfa(as_nfa(utf8_fragment(ANY)), Meter())
    every = [chr(p).encode() for low, high in ANY.ranges for p in range(low, high + 1, 37)]
    assert all(machine.accepts(code) for code in every)
    # Every pair of bytes, and every three or four that could be mistaken for a code.
    for first, second in itertools.product(range(256), range(256)):
        assert machine.accepts(bytes([first, second])) == _decodes(bytes([first, second]))
    edges = (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF)
    for lead in range(0xC0, 256):
        for tail in (*itertools.product(edges, edges), *itertools.product(edges, edges, edges)):
            assert machine.accepts(bytes([lead, *tail])) == _decodes(bytes([lead, *tail]))


def _decodes(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


@given(sets, st.lists(points, max_size=20))
def test_members_and_no_others(chars: CharSet, tried: list[int]) -> None:
    machine = minimal_dfa(as_nfa(utf8_fragment(chars)), Meter())
    near = {p + d for low, high in chars.ranges for p in (low, high) for d in (-1, 0, 1)}
    for point in [*tried, *EDGES, *near]:
        if 0 <= point <= MAX_CODE_POINT and not 0xD800 <= point <= 0xDFFF:
            assert machine.accepts(chr(point).encode()) == (point in chars)


# Syntax beyond `re`: properties, ``(?<n>…)``, ``\z``, and patterns that `re` compiled.


MOVED = frozenset("\u0295\U0001171e")
"""Characters whose category a later version of Unicode than some Python's has changed."""

CHARACTERS = "".join(
    char
    for k, char in enumerate(map(chr, range(0x110000)))
    if unicodedata.category(char) not in ("Cn", "Cs") and char not in MOVED
    if k % 97 == 0 or unicodedata.category(char) not in ("Co", "Lo")
)
"""The assigned characters, of ideographs, syllables and private ones some."""

CODES = np.array(list(map(ord, CHARACTERS)))

CATEGORIES = [*"LMNPSZC", "LC", *(f"{one}{two}" for one, more in (
    ("L", "ultmo"), ("M", "nce"), ("N", "dlo"), ("P", "cdseifo"), ("S", "mcko"), ("Z", "slp"),
    ("C", "cfo"),
) for two in more)]  # fmt: skip


def characters_of_beyond_re(pattern: str) -> set[str]:
    """The characters that match a pattern of one character, as our parser has it."""
    nodes = [node for node in walk(parse(pattern).root) if isinstance(node, Class | Literal)]
    assert len(nodes) == 1
    inside = np.searchsorted(nodes[0].chars.bounds(), CODES, side="right") % 2 == 1
    return {chr(code) for code in CODES[inside]}


def characters_of_library(pattern: str) -> set[str]:
    return set(regex_library.findall(pattern, CHARACTERS))


@pytest.mark.parametrize("name", CATEGORIES)
def test_categories_are_those_of_the_library(name: str) -> None:
    assert characters_of_beyond_re(rf"\p{{{name}}}") == characters_of_library(rf"\p{{{name}}}")
    assert characters_of_beyond_re(rf"(?i)\P{{{name}}}") == characters_of_library(
        rf"(?i)\P{{{name}}}"
    )
    if name != "C":  # There the library counts what is beyond ASCII as unassigned.
        assert characters_of_beyond_re(rf"(?a)\p{{{name}}}") == characters_of_library(
            rf"(?a)\p{{{name}}}"
        )


@pytest.mark.parametrize("name", [*scripts(), "Any", "ASCII", "Assigned"])
def test_scripts_are_those_of_the_library(name: str) -> None:
    assert characters_of_beyond_re(rf"\p{{{name}}}") == characters_of_library(rf"\p{{{name}}}")


@pytest.mark.parametrize(
    "pattern",
    [
        r"[\p{Lu}0-9_]", r"[^\p{L}\p{Greek}]", r"[^\P{L}x]", r"\p{^L}", r"\P{^Lu}", r"\pL", r"\PN",
        r"(?i)\p{lowercase letter}", r"\p{Script=Greek}", r"\p{sc=han}", r"\p{gc=Nd}",
        r"\p{General_Category=Decimal_Number}", r"\p{ decimal-number }", r"[\p{L}-]",
        r"(?ai)\p{Lt}", r"(?i)[^\p{Nd}_]",
    ],
)  # fmt: skip
def test_properties_in_sets_and_under_flags(pattern: str) -> None:
    assert characters_of_beyond_re(pattern) == characters_of_library(pattern)


def test_a_set_under_ignorecase_is_its_items() -> None:
    """`re` is asked about the items that are not properties, so its letters keep their pairs."""
    assert characters_of_beyond_re(r"(?i)[\p{Lu}k5]") == characters_of_beyond_re(r"(?i)\p{Lu}") | {
        "5"
    }
    assert characters_of_beyond_re(r"(?i)[\p{Nd}k]") == characters_of_beyond_re(r"\p{Nd}") | {
        "k",
        "K",
        "\u212a",
    }
    assert characters_of_beyond_re(r"(?i)[^\p{Nd}k]") == set(CHARACTERS) - characters_of_beyond_re(
        r"(?i)[\p{Nd}k]"
    )


def test_the_surrogates_are_no_text() -> None:
    assert property_set("Cs", 0).size() == 0
    assert explorer.regex(r"\p{Cs}").is_empty()


_PIECES = st.sampled_from(
    [
        r"\p{Lu}",
        r"\pL",
        r"\P{L}",
        r"[\p{Nd}x]",
        r"[^\p{Ll}]",
        "(?<n>a)",
        r"\z",
        "b",
        "(?:",
        ")",
        "|",
        "*",
        "?",
    ]
)


@given(st.lists(_PIECES, max_size=8).map("".join), st.text("aAbxßÄ5٣ \n", max_size=5))
def test_random_patterns_mean_what_they_mean_to_the_library(pattern: str, text: str) -> None:
    in_its_words = pattern.replace(r"\z", r"\Z")
    try:
        ours = explorer.regex(pattern)
    except RegexError:
        return
    assert ours.accepts(text) == (regex_library.fullmatch(in_its_words, text) is not None)


def test_a_terminal_may_be_named_either_way() -> None:
    assert explorer.regex("(?<SUBSTRING_OF>abc)").equivalent(
        explorer.regex("(?P<SUBSTRING_OF>abc)")
    )


COMPILED = [
    re.compile("a.b"), re.compile("a.b", re.I), re.compile("a . b # c", re.X),
    re.compile("a.b", re.S),
    re.compile("(?i)a.b"), re.compile("(?i)a.b", re.S), re.compile("ab$|^\n", re.M | re.I),
    re.compile(r"\w+", re.A), re.compile(r"\w+"), re.compile(r"(?a)\w", re.I),
    re.compile(" (?i)a", re.X), re.compile("k|ſ", re.I), re.compile("[k]", re.I | re.A),
]  # fmt: skip


@pytest.mark.parametrize("compiled", COMPILED, ids=str)
def test_the_flags_of_a_compiled_pattern_hold(compiled: re.Pattern[str]) -> None:
    ours = explorer.regex(compiled)
    assert explorer.gen(regex=compiled).source == ours.source
    assert ours.source.text.endswith(compiled.pattern)
    texts = [
        "",
        "a",
        "A",
        "ab",
        "a b",
        "aXb",
        "A\nB",
        "axb # c",
        "ä",
        "\n",
        "k",
        "K",
        "\u212a",
        "ſ",
        "s",
    ]
    for text in texts:
        assert ours.accepts(text) == (compiled.fullmatch(text) is not None), text
    back = source_from_dict(source_to_dict(ours.source))
    assert back == ours.source == pickle.loads(pickle.dumps(ours)).source
    assert read_expression(repr(ours)) == ours.source


# Classes of characters against `re`, over every code point there is.


ALL = np.arange(MAX_CODE_POINT + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")

# One piece each that reads one character.
PIECES = [
    r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", ".", "(?s).", "a", "ä", "[a-z]", "[^a-z]", r"[\w-]",
    r"[^\W\d_]", r"[\d\s]", r"[^\w\s]", r"[\x00-\U0010ffff]", r"[ -~]", "[ä-ÿĀ-ſ]", "[日-本]",
    r"[\U0001f600-\U0001f64f]", r"[\ud7ff-\ue000]", r"[^\ud800-\udfff]", "[K-s]", "[Å]", "[k-]",
]  # fmt: skip
IGNORING = [
    "(?i)a", "(?i)k", "(?i)s", "(?i)\u212a", "(?i)ſ", "(?i)ß", "(?i)i", "(?i)\u0130", "(?i)ı",
    "(?i)σ",
    "(?i)µ", "(?i)\u0345", "(?i)ǆ", "(?i)ᲀ", "(?i)Ꭰ", "(?i)ꭰ", "(?i)𐐀", "(?i)ﬅ", "(?i)1",
    "(?i)[a-z]",
    "(?i)[^a-z]", "(?i)[A-Z]", "(?i)[k-s]", r"(?i)[\W\d]", r"(?i)[^\wk]", r"(?i)[k\W]",
    r"(?i)[\x80-ÿ]",
    "(?i)[à-þ]", r"(?i)[Ā-ſ]", "(?i)[α-ω]", r"(?i)[^α-ω\d]", r"(?i)[\u1e00-\u1fff]", "(?i)[^ẞ]",
    "(?i)[^𐐀]",
    r"(?i)[\U00010400-\U00010410]", r"(?i)[\U00010400x]", r"(?i)[^\U00010400x]",
    r"(?i)[x\U00010428]",
    r"(?i)[\u0100-\U0001ffff]", r"(?i)[^\x00-\U0010fffe]", r"(?i)\w", r"(?i)\W", "(?i)[😀k]",
]  # fmt: skip
EVERYTHING = [
    *PIECES,
    *IGNORING,
    *(f"(?a){piece}" for piece in PIECES if not piece.startswith("(?")),
    *(piece.replace("(?i)", "(?ia)") for piece in IGNORING),
]


def members(chars: CharSet) -> np.ndarray:
    inside = np.zeros(MAX_CODE_POINT + 1, np.bool_)
    for low, high in chars.ranges:
        inside[low : high + 1] = True
    return inside


def members_by_re(pattern: str) -> np.ndarray:
    inside = np.zeros(MAX_CODE_POINT + 1, np.bool_)
    for run in re.finditer(f"{pattern}+", ALL):
        inside[run.start() : run.end()] = True
    inside[FIRST_SURROGATE : LAST_SURROGATE + 1] = False
    return inside


@pytest.mark.parametrize("pattern", few(EVERYTHING, 16))
def test_every_code_point(pattern: str) -> None:
    node = parse(pattern).root
    assert isinstance(node, Literal | Class | Dot)
    ours, theirs = members(node.chars), members_by_re(pattern)
    wrong = np.flatnonzero(ours != theirs)
    assert not len(wrong), [hex(point) for point in wrong[:9]]


def test_the_oracle_can_fail() -> None:
    """Simple lower-casing, a plausible shortcut, is found out by the same comparison."""
    chars = char_set((ord(c), ord(c)) for c in ALL if c.lower() in ("k", "s"))
    assert not np.array_equal(members(chars), members_by_re("(?i)[ks]"))


def test_categories_do_not_change_under_ignorecase() -> None:
    """The condition under which a set of categories can skip the table of cased characters."""
    for flags in (re.I, re.I | re.A):
        for letter in "wWdDsS":
            plain = re.findall(rf"[\{letter}]+", ALL, flags & ~re.I)
            assert re.findall(rf"[\{letter}]+", ALL, flags) == plain


def test_surrogates_are_never_members() -> None:
    assert char_set([(FIRST_SURROGATE, LAST_SURROGATE)]).ranges == ()
    assert ANY.size() == MAX_CODE_POINT + 1 - 2048


# The cache on disk.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def numbers(found: object) -> list[int]:
    if not isinstance(found, list) or not all(isinstance(item, int) for item in found):
        raise ValueError("not numbers")
    return found


def test_a_table_is_derived_once(folder: Path) -> None:
    calls: list[int] = []

    def derive() -> list[int]:
        calls.append(1)
        return [1, 2, 3]

    assert [cached("t", derive, numbers) for _ in range(3)] == [[1, 2, 3]] * 3
    assert len(calls) == 1
    (file,) = folder.iterdir()
    assert "unicode" in file.name and "python" in file.name


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[1, 2", b'"text"', b"[1.5]", b"\xff\xfe", b"[" * 99_999]
)
def test_damage_is_repaired(folder: Path, damage: bytes) -> None:
    cached("t", lambda: [1], numbers)
    (file,) = folder.iterdir()
    file.write_bytes(damage)
    assert cached("t", lambda: [2], numbers) == [2]
    assert cached("t", lambda: [3], numbers) == [2]


def test_a_folder_that_cannot_be_written_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path / "file" / "below"))
    assert cached("t", lambda: [1], numbers) == [1]
    assert cached("t", lambda: [2], numbers) == [2]


@pytest.mark.parametrize("stored", ["[5, 3]", "[1]", "[-1, 4]", "[0, 99999999]", "[true, 4]"])
def test_stored_categories_are_checked(folder: Path, stored: str) -> None:
    """A file with other numbers in it is not believed when it cannot be a set."""
    fresh = characters._unicode_category.__wrapped__
    expected = fresh("d")
    (file,) = folder.iterdir()
    file.write_text(stored)
    assert fresh("d") is expected
