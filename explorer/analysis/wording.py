"""A verdict in words: one line for a log, and the pieces of a paragraph.

Pure functions of a verdict and the parts that decided. Characters come before bytes; bytes are
shown where there is no character. Text is always quoted or escaped, because tokens can hold
anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from explorer.analysis.characters import (
    characters_of,
    half_characters,
    show_bytes,
    show_character,
    show_characters,
    show_span,
    show_text,
    split_tail,
)
from explorer.analysis.spans import Part
from explorer.analysis.verdict import Verdict
from explorer.automata.regex.charset import char_set
from explorer.automata.source import Choice, Regex
from explorer.vocabulary import Vocabulary

LONGEST_PIECE = 48
"""How many characters of a piece of a pattern a sentence holds."""

TAIL = 24
"""How many characters of the text before a token are shown."""


def show_token(vocabulary: Vocabulary | None, token: int | None, data: bytes | None) -> str:
    """A token as one would write it, with its id.

    Args:
        vocabulary: For names of ids that are not text.
        token: The id; ``None`` for text without a tokenizer.
        data: Its bytes.
    """
    if token is None:
        return show_text(data or b"")
    if data is not None:
        return f"{show_text(data)} (id {token})"
    if vocabulary is None or not 0 <= token < len(vocabulary):
        return f"id {token}"
    name = inline(vocabulary.special.get(token, ""))
    return f"{name} (id {token})" if name else f"id {token}"


def inline(text: str) -> str:
    """A piece of source for the middle of a sentence: on one line, and not too long.

    Example:
        >>> print(inline("a\\nb"))
        a\\nb
    """
    if text.isspace():
        return repr(text)
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown if len(shown) <= LONGEST_PIECE else f"{shown[: LONGEST_PIECE - 1]}…"


def show_place(verdict: Verdict, assumed: bool) -> str:
    """Where in the text this is: ``at the start``, or ``after …``."""
    if not verdict.prefix:
        return "at the start"
    text = verdict.prefix
    cut = ""
    if len(text) > 4 * TAIL:
        text = text[-4 * TAIL :]
        while text and 0x80 <= text[0] < 0xC0:
            text = text[1:]
    words, rest = split_tail(text)
    shown = words.decode(errors="replace")
    if len(shown) > TAIL or len(text) < len(verdict.prefix):
        shown, cut = shown[-TAIL:], "…"
    quoted = repr(cut + shown) if cut or shown else ""
    quoted += show_bytes(rest) if rest else ""
    return f"{'for example ' if assumed else ''}after {quoted}"


def headline(
    verdict: Verdict,
    parts: Sequence[Part],
    vocabulary: Vocabulary | None,
    *,
    assumed: bool = False,
) -> str:
    """The verdict in one line, without a line break."""
    name = show_token(vocabulary, verdict.token, verdict.data)
    where = show_place(verdict, assumed)
    if vocabulary is not None and verdict.token in vocabulary.eos_ids:
        name = f"the end of text {name}"
    if verdict.token is None:
        line = f"{name} {_judgement(verdict)}"
    else:
        line = f"{name} {_judgement(verdict)} {where}"
    why = "; ".join(
        piece for piece in (reason(verdict, vocabulary), source_clause(verdict, parts)) if piece
    )
    line = f"{line}: {why}." if why else f"{line}."
    return line[0].upper() + line[1:]


def _judgement(verdict: Verdict) -> str:
    if verdict.token is None:
        if verdict.stage == "allowed":
            return "is a word of the constraint"
        if verdict.stage == "end_of_text":
            return "is the beginning of a word, and not a whole one"
        return "is not accepted"
    return "is allowed" if verdict.allowed else "is masked"


def reason(verdict: Verdict, vocabulary: Vocabulary | None) -> str:
    """Why, without where; empty for an allowed token."""
    match verdict.stage:
        case "beyond_vocabulary":
            count = 0 if vocabulary is None else len(vocabulary)
            return f"the vocabulary has the ids 0 to {count - 1:,} only"
        case "not_text":
            return "it is a special or control id, which writes no text"
        case "empty_token":
            return (
                "it is a reserved or empty id: it writes no bytes, and could be repeated for ever"
            )
        case "end_of_text":
            return f"the text is not complete; {_expects(verdict)}"
        case "constraint":
            return _constraint(verdict)
        case "dead_end":
            return _dead_end(verdict)
        case "allowed":
            return ""


def _expects(verdict: Verdict) -> str:
    """What may stand at the place that was reached."""
    if not verdict.expected:
        return "nothing more may follow" if verdict.may_end else "nothing may follow"
    at = verdict.char_begin
    tail = verdict.read[at:]
    chars = verdict.expected_chars
    clause = f"expects {show_characters(chars)}"
    if verdict.may_end and not verdict.byte_offset and verdict.token is not None:
        clause += " (or the end of text)"
    if tail and at < len(verdict.prefix):
        begun = tail[: len(verdict.prefix) - at]
        clause = (
            f"in the middle of a character: {show_bytes(begun)} has begun one of "
            f"{show_span(characters_of(begun))}; {clause}"
        )
    if verdict.writable is not None and verdict.writable != verdict.expected:
        clause += f", of which this vocabulary can write and finish {_written(verdict)}"
    return clause


def _written(verdict: Verdict) -> str:
    if not verdict.writable:
        return "nothing"
    ascii_only = all(byte < 0x80 for byte in verdict.writable)
    if ascii_only:
        return show_characters(char_set((byte, byte) for byte in verdict.writable))
    missing = bytes(sorted(set(verdict.expected) - set(verdict.writable)))
    if len(missing) <= 4:
        return f"all but {_first_bytes(missing)}"
    return f"{_first_bytes(verdict.writable[:12])}{' and others' if verdict.writable[12:] else ''}"


def _first_bytes(data: bytes) -> str:
    """Characters that begin with some bytes: ASCII as it is, the rest by its first byte."""
    plain = [show_character(byte) for byte in data if byte < 0x80]
    leads = bytes(byte for byte in data if byte >= 0x80)
    return ", ".join([*plain, f"what has the byte {show_bytes(leads)}"] if leads else plain)


def _constraint(verdict: Verdict) -> str:
    data = verdict.data or b""
    offset = verdict.byte_offset or 0
    begin = verdict.char_begin - len(verdict.prefix)
    clause = ""
    if begin > 0:
        clause = f"reads {show_text(data[:begin])}, then "
    subject = "the text" if verdict.token is None else "this token"
    if not verdict.expected and offset == 0:
        if not verdict.may_end:
            return "no text of the constraint begins like this"
        return "the text is complete, and only the end of text may follow"
    if not verdict.expected:
        return (
            f"{clause}the text is complete and must end; {subject} goes on with {_offered(verdict)}"
        )
    then = "then " if clause else ""
    return f"{clause}{_expects(verdict)}; {subject} {then}writes {_offered(verdict)}"


def _offered(verdict: Verdict) -> str:
    """The character that fails, as far as the token writes it."""
    data = verdict.data or b""
    whole = verdict.prefix + data
    begin = verdict.char_begin
    at = len(verdict.prefix) + (verdict.byte_offset or 0)
    end = at + 1
    while end < len(whole) and 0x80 <= whole[end] < 0xC0 and end - begin < 4:
        end += 1
    if not 0x80 <= whole[at] < 0xC0:
        begin = at  # It begins a character where another should have gone on.
    written = whole[begin:end]
    try:
        character = written.decode()
    except UnicodeDecodeError:
        character = ""
    if len(character) == 1:
        shown = show_character(ord(character))
        return f"{shown} ({show_bytes(written)[1:-1]})" if not character.isascii() else shown
    offset = verdict.byte_offset or 0
    half = half_characters(data[offset : end - len(verdict.prefix)] or data[offset : offset + 1])
    return f"{show_bytes(data[offset : max(offset + 1, end - len(verdict.prefix))])}" + (
        f" ({half})" if half else ""
    )


def _dead_end(verdict: Verdict) -> str:
    found = verdict.dead_end
    if found is None:
        return "no tokens of this vocabulary can finish after it"
    missing = found.witness[found.offset : found.offset + 1]
    return (
        f"the constraint goes on, for example to {show_text(found.witness)}, but no tokens of this "
        f"vocabulary finish after it; of that text, tokens end at byte {found.offset} and nothing "
        f"goes on from there with {_first_bytes(missing)}"
    )


# The source


def source_clause(verdict: Verdict, parts: Sequence[Part]) -> str:
    """Which part of the source decides, as a clause; empty if none is to be named."""
    if verdict.stage not in ("constraint", "end_of_text"):
        return ""
    clauses = [_part(part) for part in parts]
    return "; ".join(dict.fromkeys(clause for clause in clauses if clause))


def _part(part: Part) -> str:
    match part.role:
        case "expects":
            if isinstance(part.source, Regex):
                places = [f"{inline(p.text)} at {p.start}" for p in part.positions[:4]]
                more = len(part.positions) - len(places)
                shown = ", ".join(places) + (f" and {more} more" if more else "")
                return (
                    f"expected by {shown} of {part.source.pattern!r}"
                    if part.path
                    else (f"expected by {shown} of the pattern")
                )
            if isinstance(part.source, Choice):
                return f"still open: {', '.join(p.text for p in part.positions[:4])}"
            texts = dict.fromkeys(p.text for p in part.positions[:4])
            return f"expected by {', '.join(texts)}"
        case "excludes":
            if part.assertion:
                where = part.positions[0]
                return (
                    f"excluded by the {part.assertion} {inline(where.text)} at {where.start}: "
                    f"without it {show_text(part.words[0])} would do"
                )
            return f"excluded by {part.source}, for example {show_text(part.words[0])}"
        case "combination":
            if part.words:
                words = ", ".join(map(show_text, part.words))
                return (
                    f"no single part: the combination {part.source}; each has a word of its own "
                    f"({words}), none has both"
                )
            texts = ", ".join(inline(p.text) for p in part.positions)
            return f"no single part: the combination of {texts}"
        case "state":
            return f"state {part.state} of {part.source}"
        case "too_large":
            return "the source is too large to say which part of it"


def underlined(part: Part) -> str:
    """The pattern of a part with marks under its live positions; empty without spans.

    Returns:
        Two lines.
    """
    if not part.spans or not isinstance(part.source, Regex):
        return ""
    pattern = "".join(c if c.isprintable() else "·" for c in part.source.pattern)
    marks = [" "] * len(pattern)
    for start, end in part.spans:
        marks[start:end] = "^" * (end - start)
    return f"{pattern}\n{''.join(marks).rstrip()}"
