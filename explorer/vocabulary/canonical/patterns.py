"""Parses the pattern of a splitter into a small program.

Splitters use the syntax of Oniguruma or of Rust's regular expressions and their semantics: the
first matching alternative, the longest repetition. The program of a backtracking matcher keeps that
order: a `FirstOf` prefers its first target.

Supported are literals, classes with ranges and ``\\p{…}``, ``\\s \\S \\d``, groups, ``(?i:…)`` over
ASCII letters, greedy repeats, possessive ones of a single character, and a negative lookahead of
one character, ``(?!\\S)``. Anything else (lazy repeats, other assertions, back-references) is
refused by name.

Unicode's general categories are those of this Python. A character added by a later version of
Unicode may have another category in the tokenizer's library.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.errors import UnsupportedTokenizer

Bool = NDArray[np.bool_]

NUM_CHARACTERS: Final = 0x110000

_WHITE_SPACE: Final = (
    *range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F,
    0x205F, 0x3000,
)  # fmt: skip
_ASSIGNED: Final = (range(0x40000), range(0xE0000, 0xF0000))
_PRIVATE: Final = (range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))
"""The planes for private use; those outside both ranges hold no characters."""

_CONTROLS: Final = {"r": "\r", "n": "\n", "t": "\t", "f": "\f", "v": "\v"}
# The two non-ASCII characters that case-fold to an ASCII letter.
_FOLDED: Final = {"s": "\u017f", "k": "\u212a"}


@dataclass(frozen=True, eq=False)
class ReadOne:
    """Read one character of a set, then continue at the next instruction."""

    characters: Bool


@dataclass(frozen=True, eq=False)
class NotBefore:
    """Continue unless a character of a set follows."""

    characters: Bool


@dataclass(frozen=True)
class FirstOf:
    """Continue at either of two instructions, preferably at the first."""

    first: int
    second: int


@dataclass(frozen=True)
class GoTo:
    """Continue at another instruction."""

    target: int


@dataclass(frozen=True)
class WordEnd:
    """The end of a match."""


Instruction = ReadOne | NotBefore | FirstOf | GoTo | WordEnd


@cache
def _categories() -> NDArray[np.str_]:
    category_of = np.full(NUM_CHARACTERS, "Cn", "U2")
    for codes in _ASSIGNED:
        category_of[codes.start : codes.stop] = [unicodedata.category(chr(code)) for code in codes]
    for codes in _PRIVATE:
        category_of[codes.start : codes.stop] = "Co"
    return category_of


@cache
def _category_names() -> frozenset[str]:
    return frozenset(_categories().tolist())


@cache
def _category(name: str) -> Bool:
    """The characters of a general category, or of a group of them such as ``L``."""
    categories = _categories()
    return categories == name if len(name) == 2 else np.char.startswith(categories, name)


@cache
def white_space() -> Bool:
    """The characters with Unicode's property White_Space."""
    return _set_of(_WHITE_SPACE)


def _set_of(code_points: tuple[int, ...] | list[int]) -> Bool:
    members = np.zeros(NUM_CHARACTERS, np.bool_)
    members[list(code_points)] = True
    return members


def program(pattern: str, component: str) -> tuple[Instruction, ...]:
    """The program of a pattern; it begins at instruction 0.

    Args:
        component: The part of the tokenizer that holds the pattern, for messages.

    Raises:
        UnsupportedTokenizer: A construct in it is not supported; it is named.

    Example:
        >>> [type(step).__name__ for step in program("a+|b", "pre_tokenizer.Split")]
        ['FirstOf', 'ReadOne', 'FirstOf', 'ReadOne', 'GoTo', 'GoTo', 'ReadOne', 'WordEnd']
    """
    return _PatternReader(pattern, component).read()


class _PatternReader:
    """A recursive-descent parser that emits instructions."""

    def __init__(self, pattern: str, component: str) -> None:
        self._pattern = pattern
        self._component = component
        self._at = 0

    def read(self) -> tuple[Instruction, ...]:
        make = self._alternatives(fold=False)
        if self._at < len(self._pattern):
            raise self._refused("a closing parenthesis without an opening one")
        code: list[Instruction] = []
        make(code)
        return (*code, WordEnd())

    def _refused(self, what: str) -> UnsupportedTokenizer:
        return UnsupportedTokenizer(
            self._component,
            f"its pattern {self._pattern!r} has {what} at character {self._at}, which is not "
            f"followed here",
            remedy="Leave out canonical(...) for this tokenizer.",
        )

    def _peek(self, text: str) -> bool:
        return self._pattern.startswith(text, self._at)

    def _next(self) -> str:
        if self._at >= len(self._pattern):
            raise self._refused("an end where more is needed")
        self._at += 1
        return self._pattern[self._at - 1]

    def _alternatives(self, fold: bool) -> _Code:
        parts = [self._sequence(fold)]
        while self._peek("|"):
            self._at += 1
            parts.append(self._sequence(fold))

        def make(code: list[Instruction]) -> None:
            jumps: list[int] = []
            for k, part in enumerate(parts):
                if k == len(parts) - 1:
                    part(code)
                    break
                fork = len(code)
                code.append(GoTo(0))
                part(code)
                jumps.append(len(code))
                code.append(GoTo(0))
                code[fork] = FirstOf(fork + 1, len(code))
            for jump in jumps:
                code[jump] = GoTo(len(code))

        return make

    def _sequence(self, fold: bool) -> _Code:
        parts: list[_Code] = []
        while self._at < len(self._pattern) and not self._peek("|") and not self._peek(")"):
            parts.append(self._repeated(self._atom(fold)))

        def make(code: list[Instruction]) -> None:
            for part in parts:
                part(code)

        return make

    def _repeated(self, atom: _Code) -> _Code:
        low, high = 1, 1
        if self._peek("?"):
            low, high = 0, 1
            self._at += 1
        elif self._peek("*"):
            low, high = 0, -1
            self._at += 1
        elif self._peek("+"):
            low, high = 1, -1
            self._at += 1
        elif self._peek("{"):
            end = self._pattern.find("}", self._at)
            first, comma, second = self._pattern[self._at + 1 : max(end, 0)].partition(",")
            if not first.isdecimal() or not (second.isdecimal() or not second):
                raise self._refused("a brace that is not a plain repeat")
            low = int(first)
            high = low if not comma else int(second) if second else -1
            if max(low, high) > 1000:
                raise self._refused("a repeat of more than 1,000")
            self._at = end + 1
        else:
            return atom
        if self._peek("?"):
            raise self._refused("a lazy repeat")
        last: list[Instruction] = []
        if self._peek("+"):
            # A possessive repeat ends only if no further character fits, or at its maximum.
            atom(last)
            if not isinstance(last[0], ReadOne) or len(last) > 1:
                raise self._refused("a possessive repeat of more than a character")
            last = [NotBefore(last[0].characters)]
            self._at += 1

        def make(code: list[Instruction]) -> None:
            for _ in range(low):
                atom(code)
            if high < 0:
                fork = len(code)
                code.append(GoTo(0))
                atom(code)
                code.append(GoTo(fork))
                code[fork] = FirstOf(fork + 1, len(code))
                code.extend(last)
                return
            forks: list[int] = []
            for _ in range(high - low):
                forks.append(len(code))
                code.append(GoTo(0))
                atom(code)
            exit_ = len(code)
            if last and forks:
                code += [GoTo(exit_ + 2), *last]
                exit_ += 1
            for fork in forks:
                code[fork] = FirstOf(fork + 1, exit_)

        return make

    def _atom(self, fold: bool) -> _Code:
        if self._peek("("):
            return self._group(fold)
        if self._peek("["):
            return _take(self._class(fold))
        if self._peek("\\"):
            return _take(self._escape())
        character = self._next()
        if character in "^$.*+?{":
            self._at -= 1
            raise self._refused(f"{character!r}")
        return _take(self._literal(character, fold))

    def _group(self, fold: bool) -> _Code:
        if self._peek("(?!"):
            self._at += 3
            characters = self._class(fold) if self._peek("[") else self._single(fold)
            if not self._peek(")"):
                raise self._refused("a lookahead of more than one character")
            self._at += 1
            return lambda code: code.append(NotBefore(characters))
        for opening, inner in (("(?i:", True), ("(?:", fold), ("(", fold)):
            if self._peek(opening) and (opening != "(" or not self._peek("(?")):
                self._at += len(opening)
                make = self._alternatives(inner)
                if not self._peek(")"):
                    raise self._refused("a group without an end")
                self._at += 1
                return make
        raise self._refused("a group of another kind")

    def _single(self, fold: bool) -> Bool:
        return self._escape() if self._peek("\\") else self._literal(self._next(), fold)

    def _literal(self, character: str, fold: bool) -> Bool:
        forms = [character]
        if fold and character.isalpha():
            if not character.isascii():
                raise self._refused("a letter outside of ASCII whose case is ignored")
            forms = [character.lower(), character.upper()]
            forms += _FOLDED.get(character.lower(), "")
        return _set_of([ord(form) for form in forms])

    def _escape(self) -> Bool:
        self._at += 1
        character = self._next()
        if character in "pP":
            end = self._pattern.find("}", self._at)
            if not self._peek("{") or end < 0:
                raise self._refused("a category without braces")
            name = self._pattern[self._at + 1 : end]
            known = _category_names()
            if name not in known and name not in {entry[0] for entry in known}:
                raise self._refused(f"the category {name!r}")
            self._at = end + 1
            members = _category(name)
            return ~members if character == "P" else members
        if character in "sS":
            return white_space() if character == "s" else ~white_space()
        if character in "dD":
            return _category("Nd") if character == "d" else ~_category("Nd")
        if character in _CONTROLS:
            return _set_of([ord(_CONTROLS[character])])
        if character.isalnum():
            raise self._refused(f"the escape \\{character}")
        return _set_of([ord(character)])

    def _class(self, fold: bool) -> Bool:
        self._at += 1
        negated = self._peek("^")
        self._at += negated
        members = np.zeros(NUM_CHARACTERS, np.bool_)
        first = True
        while first or not self._peek("]"):
            first = False
            if self._peek("[") or self._peek("&&") or self._peek("--"):
                raise self._refused("a class within a class")
            if self._peek("\\"):
                members |= self._escape()
                continue
            character = self._next()
            if self._peek("-") and not self._peek("-]"):
                self._at += 1
                end = self._next()
                if end == "\\" or end < character or fold:
                    raise self._refused("a range of another kind")
                members[ord(character) : ord(end) + 1] = True
                continue
            members |= self._literal(character, fold)
        self._at += 1
        return ~members if negated else members


_Code = Callable[[list[Instruction]], None]


def _take(characters: Bool) -> _Code:
    return lambda code: code.append(ReadOne(characters))
