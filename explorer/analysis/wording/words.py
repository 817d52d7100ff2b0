"""The phrases of which every answer is made: names of tokens, places, characters.

Pure functions of a verdict and the parts that decided. Characters come before bytes; bytes are
shown where there is no character. Text is always quoted or escaped, because tokens can contain
anything. `explorer.analysis.wording.sentences` combines them to a line for a log, and a paragraph
for a person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from explorer.alphabet import (
    LETTER,
    between_letters,
    in_quotes,
    is_continuation,
    show_bytes,
    split_tail,
)
from explorer.analysis.characters.display import (
    characters_of,
    show_character,
    show_characters,
    show_span,
    show_text,
)
from explorer.analysis.places.spans import MarkedText, SourcePart, SourcePlace
from explorer.analysis.verdict.verdict import Verdict
from explorer.automata.token_marks import ANY_ID, MOST_IDS
from explorer.automata.tree.charset import CharSet, char_set
from explorer.errors import caret

LONGEST_PIECE = 48
"""The most characters of a piece of a pattern in a sentence."""

LONGEST_LINE = 160
"""The most characters of a text on one line that are shown above the marks."""

TAIL = 24
"""The most characters of the text before a token that are shown."""

FAMILIAR = 0x250
"""The end of the Latin characters; later ones are shown with their code point too, because many
look like others."""


class Names(Protocol):
    """The facts about a vocabulary besides its bytes; a `Vocabulary` has them."""

    @property
    def special(self) -> Mapping[int, str]:
        """Names of ids that are not text."""
        ...

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """The ids that end a text."""
        ...

    def __len__(self) -> int:
        """The number of ids."""
        ...


def show_token(names: Names | None, token: int | None, data: bytes | None) -> str:
    """A token in a form for sentences, with its id.

    Args:
        names: The names of ids that are not text.
        token: The id; ``None`` for text without a tokenizer.
    """
    if token is None:
        return show_text(data or b"")
    if data is not None:
        return f"{show_text(data)} (id {token})"
    if names is None or not 0 <= token < len(names):
        return f"id {token}"
    name = inline(names.special.get(token, ""))
    return f"{name} (id {token})" if name else f"id {token}"


def inline(text: str) -> str:
    """A piece of source for the middle of a sentence: on one line, and not too long.

    Example:
        >>> print(inline("a\\nb"))
        a\\nb
    """
    if text.isspace():
        return in_quotes(text)
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown if len(shown) <= LONGEST_PIECE else f"{shown[: LONGEST_PIECE - 1]}…"


def place_name(place: SourcePlace) -> str:
    """The name of a place in a sentence: its label, else its text and offset."""
    if place.span is None and place.source and place.source.choices:
        return f"{place.label or 'a choice'} (still open: {inline(place.text)})"
    if place.label:
        return place.label
    return inline(place.text) + (f" at {place.start}" if place.start is not None else "")


def show_place(verdict: Verdict, assumed: bool) -> str:
    """The place in the text: `` at the start``, or `` after …``."""
    if verdict.ended:
        return " after the end of the text"
    if verdict.left:
        return " where there is no state"
    if not verdict.prefix:
        return " at the start"
    if LETTER in verdict.prefix:  # From the last control token on.
        at = verdict.prefix.rindex(LETTER)
        shown = show_text(verdict.prefix[at:], 2 * TAIL)
        return f"{', for example' if assumed else ''} after {'…' if at else ''}{shown}"
    text = verdict.prefix
    cut = ""
    if len(text) > 4 * TAIL:
        text = text[-4 * TAIL :]
        while text and is_continuation(text[0]):
            text = text[1:]
    words, rest = split_tail(text)
    shown = words.decode(errors="replace")
    if len(shown) > TAIL or len(text) < len(verdict.prefix):
        shown, cut = shown[-TAIL:], "…"
    quoted = in_quotes(cut + shown) if cut or shown else ""
    quoted += show_bytes(rest) if rest else ""
    return f"{', for example' if assumed else ''} after {quoted}"


def title(verdict: Verdict, names: Names | None, *, assumed: bool = False) -> str:
    """The question and the decision, without the reason and without a full stop.

    Args:
        names: The vocabulary; ``None`` for text without a tokenizer.
        assumed: Whether the text before the token is only an example.
    """
    name = show_token(names, verdict.token, verdict.data)
    if verdict.token is None:
        match verdict.stage:
            case "allowed":
                return f"{name} is accepted"
            case "end_of_text":
                return f"{name} is accepted so far, but not complete"
            case _:
                return f"{name} is not accepted"
    if names is not None and verdict.token in names.eos_ids:
        name = f"the end of text {name}"
    judged = "is allowed" if verdict.allowed else "is masked"
    line = f"{name} {judged}{show_place(verdict, assumed)}"
    return line[0].upper() + line[1:]


def show_sentinel(verdict: Verdict, names: Names | None) -> str:
    """A clause on the fault of the text before the token; empty without one."""
    if verdict.ended:
        by = verdict.ended_by
        return "the text has already ended" + (
            f", with {show_token(names, by, None)}" if by is not None else ""
        )
    return "the text has left the constraint" if verdict.left else ""


# The expectation and the offer


def begun(verdict: Verdict) -> bytes:
    """The bytes of the failing character that stand in the text before the token."""
    return verdict.prefix[verdict.char_begin :]


def show_begun(verdict: Verdict) -> str:
    """The begun bytes, and the characters that they can become."""
    half = begun(verdict)
    return f"{show_bytes(half)} begins one of {show_span(characters_of(half))}"


def show_expected(verdict: Verdict) -> str:
    """The characters that may stand at the failing place."""
    if verdict.mark == "end":
        return f"{show_characters(verdict.expected_chars)}, or the end of the token"
    ends = verdict.could_end and verdict.stage == "constraint"
    return show_wanted(verdict.expected_chars, verdict.control, ends)


def show_wanted(chars: CharSet, control: Sequence[str], ends: bool) -> str:
    """The characters, the control tokens and the end of text that may come."""
    words = [show_characters(chars)] if chars.ranges else []
    if control:
        words.append(show_control(control))
    if not words:
        return "only the end of text"
    return " or ".join(words) + (", or the end of text" if ends else "")


def writer_of(verdict: Verdict) -> str:
    """The writer of the offered bytes, as a subject."""
    return "the text" if verdict.token is None else "this token"


def read_well(verdict: Verdict) -> bytes:
    """The whole characters of the offer before the failing one."""
    return (verdict.data or b"")[: max(verdict.char_begin - len(verdict.prefix), 0)]


def only_control(verdict: Verdict) -> str:
    """The control tokens that alone may come, with the end of text where it may come too."""
    ends = verdict.could_end and verdict.stage == "constraint"
    return show_control(verdict.control) + (" or the end of text" if ends else "")


def show_control(tokens: Sequence[str]) -> str:
    """Control tokens in a sentence."""
    shown = [each if each == ANY_ID else inline(each) for each in tokens[:MOST_IDS]]
    return " or ".join([*shown, *(["others"] if len(tokens) > MOST_IDS else [])])


def show_writable(verdict: Verdict) -> str:
    """The expected text that this vocabulary can write; empty where it can write all of it."""
    writable = verdict.writable
    if writable is None or writable == verdict.expected:
        return ""
    control = LETTER in writable  # The sentence before names the control tokens.
    writable = writable.replace(bytes([LETTER]), b"")
    if not writable:
        return "only control tokens" if control else "nothing"
    if writable == verdict.expected.replace(bytes([LETTER]), b""):
        return ""
    if all(byte < 0x80 for byte in writable):
        return show_characters(char_set((byte, byte) for byte in writable))
    missing = bytes(sorted(set(verdict.expected) - {LETTER} - set(writable)))
    if len(missing) <= 4:
        return f"all but {_first_bytes(missing)}"
    return f"{_first_bytes(writable[:12])}{' and others' if writable[12:] else ''}"


def _first_bytes(data: bytes) -> str:
    """Characters by their first bytes: ASCII itself, the rest by its first byte."""
    plain = [show_character(byte) for byte in data if byte < 0x80]
    leads = bytes(byte for byte in data if byte >= 0x80)
    return ", ".join([*plain, f"what has the byte {show_bytes(leads)}"] if leads else plain)


def show_offered(verdict: Verdict) -> str:
    """The failing character, as far as the token writes it, or the control token."""
    data = verdict.data or b""
    match between_letters(data[verdict.byte_offset or 0 :]):
        case [b"", (str(name), int(token)), *_]:
            return inline(name or f"<{token}>")
        case _:
            pass
    whole = verdict.prefix + data
    begin = verdict.char_begin
    at = len(verdict.prefix) + (verdict.byte_offset or 0)
    end = at + 1
    while end < len(whole) and is_continuation(whole[end]) and end - begin < 4:
        end += 1
    if not is_continuation(whole[at]):
        begin = at  # It begins a character where another one should have continued.
    try:
        (character,) = whole[begin:end].decode()
    except (UnicodeDecodeError, ValueError):
        offset = verdict.byte_offset or 0
        return _half(data[max(begin - len(verdict.prefix), 0) :], data[offset : offset + 1])
    if character in " \n":
        return "a space" if character == " " else "a newline"
    shown = show_character(ord(character))
    code = f"U+{ord(character):04X}"
    return shown if ord(character) < FAMILIAR or shown == code else f"{shown} ({code})"


def _half(rest: bytes, failing: bytes) -> str:
    """Bytes that are not a whole character, and the characters that they can become."""
    half, _ = _first_piece(rest or failing)
    if is_continuation(half[0]):
        return f"{show_bytes(half)}, which can only end a character that begins before it"
    chars = characters_of(half)
    if not chars.ranges:
        return f"{show_bytes(half)}, which cannot begin a character"
    return f"{show_bytes(half)}, which begins one of {show_span(chars)}"


def _first_piece(data: bytes) -> tuple[bytes, bytes]:
    """A byte with the continuation bytes that follow it, and the rest."""
    end = 1
    while end < min(4, len(data)) and is_continuation(data[end]):
        end += 1
    return data[:end], data[end:]


# The source


def underlined(part: SourcePart) -> list[str]:
    """The texts of a part with marks under its live positions; none without spans.

    Returns:
        Two lines for each; of a text with several lines, the line where the first position begins,
        and of a long one the part around it.
    """
    return [_underlined(marked, part.role == "excludes") for marked in part.marked]


def _underlined(marked: MarkedText, forbids: bool) -> str:
    if "\n" in marked.text:
        return caret(marked.text, *marked.spans[0])
    begin = min(start for start, _ in marked.spans)
    first = max(begin - LONGEST_PIECE, 0) if len(marked.text) > LONGEST_LINE else 0
    last = min(first + LONGEST_LINE, len(marked.text))
    before, after = "…" * (first > 0), "…" * (last < len(marked.text))
    pattern = "".join(c if c.isprintable() else "·" for c in marked.text[first:last])
    marks = [" "] * (last - first)
    for start, end in marked.spans:
        for k in range(max(start, first), min(end, last)):
            marks[k - first] = "^"
    line = f"{' ' * len(before)}{''.join(marks)}".rstrip()
    return f"{before}{pattern}{after}\n{line}{' forbids it' if forbids else ''}"
