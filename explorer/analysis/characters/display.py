"""Bytes as a person reads them: whole characters, halves of characters, and sets in few words.

Machines read bytes; people read characters. A token that fails in the second byte of ``ö`` did not
fail "at B6": it wrote ö where ä was expected. So a failure is looked at from the first byte of the
character it lies in, and what was expected there is a set of characters.

Cost: microseconds; for the words of a large class a millisecond, once.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from typing import Final

from explorer.alphabet import (
    LEADS,
    LETTER,
    between_letters,
    in_quotes,
    show_bytes,
    split_head,
    split_letter,
    split_tail,
)
from explorer.automata.tree.charset import (
    ANY,
    NOT_NEWLINE,
    CharSet,
    char_set,
    complement,
    intern_ranges,
)
from explorer.languages.regex.characters import category

NOTHING: Final = char_set([])
DIGITS: Final = char_set([(48, 57)])

MOST_SHOWN: Final = 8
"""The most characters or ranges of a set that are written out."""


def characters_of(tail: bytes) -> CharSet:
    """The characters whose UTF-8 code begins with some bytes.

    Args:
        tail: A lead byte and perhaps continuation bytes, but not a whole character.

    Example:
        >>> show_characters(characters_of(b"\\xc3"))
        'À-ÿ'
    """
    for low, high, count, mask in LEADS:
        if low <= tail[0] <= high and len(tail) <= count:
            code = tail[0] & mask
            for byte in tail[1:]:
                code = code << 6 | byte & 0x3F
            bits = 6 * (count + 1 - len(tail))
            least = {1: 0x80, 2: 0x800, 3: 0x10000}[count]
            first = max(code << bits, least)
            return char_set([(first, min((code + 1 << bits) - 1, 0x10FFFF))])
    return NOTHING


# Words


@cache
def _named() -> dict[CharSet, str]:
    named = {
        char_set([(97, 122)]): "a letter a-z",
        char_set([(65, 90)]): "a letter A-Z",
        char_set([(65, 90), (97, 122)]): "a letter A-Z or a-z",
    }
    for letter, name in (("d", "a digit"), ("w", "a word character"), ("s", "white space")):
        named.setdefault(category(letter, 0), name)  # pyright: ignore[reportArgumentType]
        named.setdefault(complement(category(letter, 0)), f"anything but {name}")  # pyright: ignore[reportArgumentType]
    return named


def show_character(code: int) -> str:
    """One character as it is written in a sentence: itself, or its name where it has no ink.

    Punctuation is quoted, so that it is not taken for the sentence's own.

    Example:
        >>> show_character(0xE4), show_character(0x20), show_character(0x0A), show_character(0x200D)
        ('ä', 'space', '\\\\n', 'U+200D')
        >>> print(show_character(0x2C), show_character(0x27), show_character(0xBF))
        ',' "'" '¿'
    """
    if code == 0x20:
        return "space"
    short = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}.get(code)
    if short is not None:
        return short
    if 0xD800 <= code <= 0xDFFF or not chr(code).isprintable():
        return f"U+{code:04X}"
    return in_quotes(chr(code)) if quoted(code) else chr(code)


def quoted(code: int) -> bool:
    """Whether a character needs quotes in a sentence: punctuation and ASCII symbols."""
    kind = unicodedata.category(chr(code))
    return kind[0] == "P" or (kind[0] == "S" and code < 0x80)


@lru_cache(maxsize=1024)
def show_characters(chars: CharSet) -> str:
    """A set of characters in few words.

    Example:
        >>> show_characters(char_set([(97, 99), (228, 228)]))
        'a-c or ä'
        >>> show_characters(char_set([(0, 9), (11, 0x10FFFF)]))
        'any character but a newline'
        >>> print(show_characters(char_set([(0, 33), (35, 0x10FFFF)])))
        any character but '"'
    """
    if not chars.ranges:
        return "nothing"
    if chars.size() > 20:
        # The names of large classes are looked up only where one can apply.
        if chars in (ANY, NOT_NEWLINE):
            return "any character" if chars is ANY else "any character but a newline"
        missing = complement(chars)
        if missing.size() <= MOST_SHOWN:
            return f"any character but {show_characters(missing)}"
        if missing.ranges[0][0] == 0 and len(missing.ranges) <= 4 and missing.size() < 200:
            return f"any character but {_listed(missing)}"
        name = _named().get(chars) or _class_and_more(chars)
        if name is not None:
            return name
    elif chars is DIGITS:
        return "a digit 0-9"
    return _listed(chars)


def _class_and_more(chars: CharSet) -> str | None:
    """The name of a set that is one of Python's classes and some further characters."""
    size = chars.size()
    for letter, name in (("w", "a word character"), ("d", "a digit"), ("s", "white space")):
        whole = category(letter, 0)  # pyright: ignore[reportArgumentType]
        if size - whole.size() in range(1, 200):
            rest = complement(char_set([*complement(chars).ranges, *whole.ranges]))
            if rest.size() + whole.size() == size and len(rest.ranges) < MOST_SHOWN:
                return f"{show_characters(rest)} or {name}"
    return None


def _listed(chars: CharSet) -> str:
    pieces: list[str] = []
    left = chars.size()
    ranges, most = list(chars.ranges), MOST_SHOWN
    in_full = [piece for each in ranges for piece in _without_signs(*each)]
    if len(in_full) <= MOST_SHOWN + _FEW_SIGNS:
        ranges, most = in_full, len(in_full)
    for low, high in ranges:
        if len(pieces) >= most and left > 1:  # Nobody is told of one more.
            break
        if high - low < 2:
            pieces += [show_character(code) for code in range(low, high + 1)]
        else:
            to = " to " if quoted(low) or quoted(high) else "-"
            pieces.append(f"{show_character(low)}{to}{show_character(high)}")
        left -= high - low + 1
    if left:
        return f"{', '.join(pieces)} or one of {left:,} more"
    return " or ".join([", ".join(pieces[:-1]), pieces[-1]] if len(pieces) > 1 else pieces)


def _without_signs(low: int, high: int) -> list[tuple[int, int]]:
    """A range in pieces: each of a few ASCII signs by itself, the letters and digits beside them.

    Readers do not know which signs lie between two others.

    Example:
        >>> [(chr(low), chr(high)) for low, high in _without_signs(ord("-"), ord("9"))]
        [('-', '-'), ('.', '.'), ('/', '/'), ('0', '9')]
    """
    if high > 0x7E:
        return [(low, high)]
    signs = [code for code in range(low, high + 1) if not chr(code).isalnum()]
    if not signs or len(signs) > _FEW_SIGNS:
        return [(low, high)]
    pieces = [(code, code) for code in signs]
    for begin, end in ((48, 57), (65, 90), (97, 122)):
        if max(low, begin) <= min(high, end):
            pieces.append((max(low, begin), min(high, end)))
    return sorted(pieces)


_FEW_SIGNS: Final = 4
"""The most signs of a range that are named one by one."""


def show_text(data: bytes, most: int = 60) -> str:
    """Text in quotes; bytes that are not a whole character stand outside the quotes.

    Args:
        most: Longer text is cut in the middle.

    Example:
        >>> print(show_text(b" the"), show_text(b"a\\xc3"), show_text(b"\\xa4"))
        ' the' 'a'<C3> <A4>
        >>> from explorer.alphabet import letter
        >>> print(show_text(letter("<a>", 1) + b"<a>"))  # A control token, and text.
        <a>'<a>'
        >>> print(show_text(b"\\xf8"))  # A byte of its own.
        <F8>
    """
    before, begun = split_letter(data)
    # Such a byte alone is a token of a vocabulary with every byte.
    if begun and data != bytes([LETTER]):
        return (show_text(before, most) if before else "") + begun
    if LETTER in data and len(parts := between_letters(data)) > 1:
        texts = [show_text(each, most) for each in parts if isinstance(each, bytes) and each]
        texts.reverse()
        return "".join(
            ((each[0] or f"<{each[1]}>") if isinstance(each, tuple) else texts.pop())
            for each in parts if each
        )  # fmt: skip
    text, rest = split_tail(data)
    head, whole = split_head(text)
    shown = ""
    if head:
        shown += show_bytes(head)
    if whole or not (head or rest):
        try:
            words = whole.decode()
        except UnicodeDecodeError:
            return show_bytes(data)
        if len(words) > most:
            words = f"{words[: most // 2]}…{words[-most // 2 :]}"
        shown += in_quotes(words)
    return shown + (show_bytes(rest) if rest else "")


def show_span(chars: CharSet) -> str:
    """The first and the last character of a set, by code point unless both are printable.

    Example:
        >>> show_span(characters_of(b"\\xc3")), show_span(characters_of(b"\\xf0\\x9f"))
        ('À to ÿ', 'U+1F000 to U+1FFFF')
    """
    low, high = chars.ranges[0][0], chars.ranges[-1][1]
    if chr(low).isprintable() and chr(high).isprintable():
        return f"{chr(low)} to {chr(high)}"
    return f"U+{low:04X} to U+{high:04X}"


def half_characters(data: bytes) -> str:
    """Describe the bytes of a token that are not a whole character, as a clause; empty without
    any.

    Example:
        >>> half_characters(b"\\xf0\\x9f")
        'it is not a whole character: <F0><9F> begins one of U+1F000 to U+1FFFF'
    """
    text, rest = split_tail(data)
    head, _ = split_head(text if text else data)
    parts: list[str] = []
    if head:
        parts.append(f"{show_bytes(head)} ends a character that begins before it")
    if rest and not (head and head == data):
        begun = characters_of(rest)
        if begun.ranges:
            parts.append(f"{show_bytes(rest)} begins one of {show_span(begun)}")
        else:
            parts.append(f"{show_bytes(rest)} begins no character")
    return f"it is not a whole character: {', and '.join(parts)}" if parts else ""


def single(code: int) -> CharSet:
    """The set of one code point."""
    return intern_ranges(((code, code),))


def show_share(share: float) -> str:
    """A probability as a percentage; a positive one is never 0%, and one below 1 never 100%.

    Example:
        >>> show_share(0.9996), show_share(0.42), show_share(0.0001), show_share(1)
        ('99.96%', '42%', '0.01%', '100%')
    """
    if 0.995 <= share < 1:
        return f"{min(100 * share, 99.99):.2f}%"
    return f"{100 * share:.0f}%" if share >= 0.01 or share == 0 else f"{100 * share:.2g}%"
