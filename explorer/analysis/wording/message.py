"""A verdict in one line for a log: what was asked, why, and which part of the source decides.

Short, without a line break, and with the words that one would search a log for.
"""

from __future__ import annotations

from collections.abc import Sequence

from explorer.analysis.characters.display import show_characters, show_text
from explorer.analysis.places.part import SourcePart
from explorer.analysis.verdict.verdict import Verdict
from explorer.analysis.wording.words import (
    Names,
    begun,
    inline,
    place_name,
    show_begun,
    show_expected,
    show_offered,
    show_sentinel,
    title,
)
from explorer.languages.terminals.known import TERMINALS

MOST_PLACES = 4
"""How many places of a source are named."""


def message(
    verdict: Verdict, parts: Sequence[SourcePart], names: Names | None, *, assumed: bool = False
) -> str:
    """The verdict in one line, without a line break.

    Args:
        verdict: The verdict.
        parts: The parts of the source that decide.
        names: The vocabulary; ``None`` for text without a tokenizer.
        assumed: Whether the text before the token is only an example.
    """
    line = title(verdict, names, assumed=assumed)
    if why := reason(verdict, names):
        line += f" {why}" if verdict.stage == "filtered" else f": {why}"
    clauses = [
        line, source_clause(verdict, parts), inside_terminal(verdict, parts), token_limits(parts),
    ]  # fmt: skip
    return "".join(f"{clause}. " for clause in clauses if clause).rstrip()


def reason(verdict: Verdict, names: Names | None) -> str:
    """The reason, without the place in the source; empty for an allowed token."""
    match verdict.stage:
        case "beyond_vocabulary":
            return f"the vocabulary has the ids 0 to {0 if names is None else len(names) - 1:,}"
        case "not_text":
            named = names is not None and verdict.token in names.special
            return f"{'a special or control token' if named else 'an unused id'} writes no text"
        case "empty_token":
            return "an empty token writes no bytes, and could be repeated for ever"
        case "end_of_text":
            if said := show_sentinel(verdict, names):
                return said
            if not verdict.expected:
                return "the text is not complete, and nothing may follow"
            return f"the text still needs {show_characters(verdict.expected_chars)}"
        case "constraint":
            return show_sentinel(verdict, names) or _constraint(verdict)
        case "dead_end":
            return _dead_end(verdict)
        case "filtered":
            return refused_by_filter(verdict, names)
        case "allowed":
            return ""


def _constraint(verdict: Verdict) -> str:
    if verdict.mark == "id" and not verdict.expected:
        return "only a token that is not text may come here"
    if not verdict.expected and not verdict.byte_offset:
        if not verdict.may_end:
            return "no text of the constraint begins like this"
        return "the text is complete, and only the end of text may follow"
    data = verdict.data or b""
    if verdict.ends_too_soon:
        expected = show_characters(verdict.expected_chars)
        return f"it may not end here: after {show_text(data)} the same token must write {expected}"
    read = data[: max(verdict.char_begin - len(verdict.prefix), 0)]
    clause = f"reads {show_text(read)}, then " if read else ""
    expected = show_expected(verdict)
    subject = "the text" if verdict.token is None else "this token"
    if not verdict.expected:
        only = "the token" if verdict.mark == "end" else "text"
        return f"{clause}expects only the end of {only}; {subject} writes {show_offered(verdict)}"
    if begun(verdict):
        expected += f" in the middle of a character ({show_begun(verdict)})"
    return f"{clause}expects {expected}; {subject} writes {show_offered(verdict)}"


def refused_by_filter(verdict: Verdict, names: Names | None) -> str:
    """The sentence that says why a filter masks a token that the text allows."""
    found = verdict.refusal
    if found is None:
        return "by a filter"
    if found.reason:
        return f"by the {found.filter} filter: {found.reason}"
    pieces = found.pieces
    said = "no tokens that it lets through complete the text after this one"
    if names is not None and verdict.token in names.eos_ids:
        said = "the tokenizer would write the text otherwise if it ended here"
    if len(pieces) == 1:
        said = f"the tokenizer would write {show_text(pieces[0])} as one token"
    elif pieces:
        shown = " + ".join(map(show_text, pieces))
        said = f"the tokenizer would write {show_text(b''.join(pieces))} as {shown}"
    return f"by the {found.filter} filter: {said}"


def _dead_end(verdict: Verdict) -> str:
    found = verdict.dead_end
    if found is None:
        return "no tokens of this vocabulary can finish after it"
    return (
        f"no tokens of this vocabulary can finish after it; of {show_text(found.witness)} they "
        f"write only {show_text(found.witness[: found.offset])}"
    )


# The source


def inside_terminal(verdict: Verdict, parts: Sequence[SourcePart]) -> str:
    """What a terminal over tokens has against the token, without a full stop; empty if nothing.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"a\\n"], eos_ids=[2])
        >>> machine = explorer.compile(explorer.regex("(?P<PARAGRAPH_TOKEN>)"), vocab)
        >>> explorer.explain(machine, machine.start, 1).message.rpartition(". ")[2]
        'Inside PARAGRAPH_TOKEN: this token contains a newline.'
    """
    if verdict.stage != "constraint" or not verdict.data or verdict.byte_offset is None:
        return ""
    for place in (place for part in parts for place in part.positions):
        terminal = TERMINALS.get(place.label)
        if terminal is not None and terminal.refusal is not None:
            why = terminal.refusal(verdict.data, verdict.byte_offset)
            if why:
                return f"Inside {terminal.name}: this token {why}"
    return ""


def token_limits(parts: Sequence[SourcePart]) -> str:
    """The limits on tokens that decide, without a full stop; empty if there are none.

    Args:
        parts: The parts of the source that decide.
    """
    limits = dict.fromkeys(part.limit for part in parts if part.role == "token_limit")
    said = [
        f"{name or 'this part'} may take at most {most:,} token{'s' * (most > 1)}"
        for name, most in limits
    ]
    clause = ", and ".join(said)
    return f"{clause[:1].upper()}{clause[1:]}"


def source_clause(verdict: Verdict, parts: Sequence[SourcePart]) -> str:
    """Which part of the source decides, without a full stop; empty if none is to be named."""
    if verdict.stage not in ("constraint", "end_of_text"):
        return ""
    clauses = dict.fromkeys(clause for part in parts if (clause := _part(part)))
    expected = expected_by(parts)
    return ". ".join([*([expected] if expected else []), *clauses])


def expected_by(parts: Sequence[SourcePart], *, labels_only: bool = False) -> str:
    """Which places of the source ask for what is expected, without a full stop.

    Args:
        parts: The parts of the source that decide.
        labels_only: Leave out what is only a piece of a text that stands beside, underlined.
    """
    places = [place for part in parts if part.role == "expects" for place in part.positions]
    if all(place.source and place.source.choices and not place.label for place in places):
        texts = dict.fromkeys(inline(place.text) for place in places)
        return f"Still open: {', '.join(texts)}" if texts else ""
    names = list(
        dict.fromkeys(
            place_name(place)
            for place in places
            if not labels_only or place.label or place.span is None
        )
    )
    if not names:
        return ""
    more = len(names) - MOST_PLACES
    shown = ", ".join(names[:MOST_PLACES]) + (f" and {more} more" if more > 0 else "")
    return f"Expected by {shown}"


def _part(part: SourcePart) -> str:
    match part.role:
        case "expects" | "token_limit":
            return ""  # See `expected_by` and `token_limits`.
        case "excludes":
            if part.assertion:
                where = part.positions[0]
                return f"Excluded by the {part.assertion} {inline(where.text)} at {where.start}"
            return f"Excluded by {inline(str(part.source))}"
        case "combination":
            if part.words:
                return f"Excluded by the combination {inline(str(part.source))}"
            texts = ", ".join(inline(p.text) for p in part.positions)
            return f"Excluded by the combination of {texts}"
        case "state" if part.source.part_played:
            by = "Excluded by" if not part.beside else "Excluded too by"
            return f"{by} the {part.source.part_played} {inline(str(part.source))}"
        case "state" if name := part.source.state_name(part.state):
            return f"{inline(str(part.source))} is in {name}"
        case "state":
            return f"Expected by {inline(str(part.source))}"
        case "too_large":
            return "The source is too large to say which part of it"
