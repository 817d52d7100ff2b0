"""Classes of characters against `re`, over every code point there is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from explorer.automata.tree.charset import (
    ANY,
    FIRST_SURROGATE,
    LAST_SURROGATE,
    MAX_CODE_POINT,
    CharSet,
    char_set,
)
from explorer.automata.tree.nodes import Class, Dot, Literal
from explorer.languages.regex import characters, parse
from explorer.languages.regex.tables import cached
from tests.evidence import few

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


@pytest.mark.parametrize("pattern", few(EVERYTHING, 45))
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


def test_without_a_home_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EXPLORER_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: Path("~/.cache/explorer"))
    assert cached("t", lambda: [1], numbers) == [1]
    assert cached("t", lambda: [2], numbers) == [2]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stored", ["[5, 3]", "[1]", "[-1, 4]", "[0, 99999999]", "[true, 4]"])
def test_stored_categories_are_checked(folder: Path, stored: str) -> None:
    """A file with other numbers in it is not believed when it cannot be a set."""
    fresh = characters._unicode_category.__wrapped__
    expected = fresh("d")
    (file,) = folder.iterdir()
    file.write_text(stored)
    assert fresh("d") is expected
