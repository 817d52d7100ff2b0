"""A verdict in words: one line for a log, and plain sentences for a person.

The line gives the question, the reason, and the part of the source that decides: short, without a
line break, and with words that one would search a log for. The sentences are read below a title
that names the token, or after one (`explorer.analysis.wording.words.title`). The pattern stands
beside them with its live part underlined, so a part of a pattern is named there only if it forbids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from explorer.alphabet import is_continuation, show_bytes
from explorer.analysis.characters.display import (
    characters_of,
    show_character,
    show_characters,
    show_text,
)
from explorer.analysis.places.spans import SourcePart, SourcePlace
from explorer.analysis.verdict.verdict import Verdict
from explorer.analysis.wording.words import (
    Names,
    begun,
    inline,
    only_control,
    place_name,
    read_well,
    show_begun,
    show_control,
    show_expected,
    show_offered,
    show_sentinel,
    show_writable,
    writer_of,
)
from explorer.automata.token_marks import ANY_ID
from explorer.languages.schema.diagnosis.plain_json import UNCLOSED
from explorer.languages.terminals import TERMINALS

_QUOTE: Final = ord('"')
MOST_PLACES = 4
"""The most places of a source that are named."""


def message(verdict: Verdict, parts: Sequence[SourcePart], line: str, why: str) -> str:
    """The verdict in one line, without a line break.

    Args:
        parts: The parts of the source that decide.
        line: The title of the verdict.
        why: The clause of its `reason`.
    """
    if why:
        line += f" {why}" if verdict.stage == "filtered" else f": {why}"
    clauses = [
        line, source_clause(verdict, parts), inside_terminal(verdict, parts), token_limits(parts),
    ]  # fmt: skip
    return "".join(f"{clause}. " for clause in clauses if clause).rstrip()


Said = tuple[str, list[str]]
"""A reason twice: as a clause for one line, and as sentences."""


def reason(verdict: Verdict, names: Names | None, parts: Sequence[SourcePart]) -> Said:
    """The reason, without the place in the source; the clause of an allowed token is empty.

    Args:
        parts: The parts of the source that decide.
    """
    match verdict.stage:
        case "beyond_vocabulary":
            last = 0 if names is None else len(names) - 1
            sentences = [f"The vocabulary has only the ids 0 to {last:,}."]
            if names is not None and verdict.token is not None and verdict.token > last:
                sentences.append("Logits past them are padding and mean nothing.")
            return f"the vocabulary has the ids 0 to {last:,}", sentences
        case "not_text":
            named = names is not None and verdict.token in names.special
            what = "a special or control token" if named else "an unused id"
            if verdict.control:
                only = "others" if ANY_ID in verdict.control else show_control(verdict.control)
                clause = f"of the tokens that are not text only {only} may come"
                return clause, [f"It is {what}; of those only {only} may come here."]
            return f"{what} writes no text", [
                f"It is {what} and writes no text, so no constraint on text can ask for it."
            ]
        case "empty_token":
            return "an empty token writes no bytes, and could be repeated for ever", [
                "It writes no bytes at all. A text could take any number of such tokens and get "
                "no further, so they are never allowed."
            ]
        case "end_of_text" | "constraint" if said := show_sentinel(verdict, names):
            rest = (
                "only the end of text may come again"
                if verdict.ended
                else "no text of it begins so"
            )
            begin = _sentence(said)[:-1] if verdict.ended else f"There is no state: {said}"
            return said, [f"{begin}, and {rest}.", *_writable(verdict)]
        case "end_of_text":
            if not verdict.expected and not verdict.control:
                said = "the text is not complete, and nothing may follow"
                return said, [_sentence(said), *_writable(verdict)]
            chars = show_characters(verdict.expected_chars)
            if said := _unclosed(verdict, parts, chars):
                return said, [_sentence(said), *_writable(verdict)]
            begin = "The text is not complete yet. " if verdict.token is not None else ""
            return (
                f"the text still needs {show_expected(verdict) if verdict.control else chars}",
                [f"{begin}It still needs {_needed(verdict)}.", *_writable(verdict)],
            )
        case "constraint":
            return _constraint(verdict)
        case "dead_end":
            return _dead_end(verdict)
        case "filtered":
            said = _refused_by_filter(verdict, names)
            return said, [f"The text allows it. It is masked {said}."]
        case "allowed":
            return "", [_allowed(verdict, names)]


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."


def _allowed(verdict: Verdict, names: Names | None) -> str:
    if verdict.token is None:
        return "The constraint reads all of it, and the text is complete."
    if verdict.ended:
        return "The text has already ended, and only the end of text may come again."
    if names is not None and verdict.token in names.eos_ids:
        return "The text is complete, so it may end here."
    return "The constraint reads all of it, and the text can still be completed."


def _unclosed(verdict: Verdict, parts: Sequence[SourcePart], chars: str) -> str:
    """A clause on the end of a string of JSON, where the text may not end before it."""
    labels = [place.label for part in parts for place in part.positions]
    if begun(verdict) or not any(UNCLOSED in label for label in labels):
        return ""
    text = verdict.prefix + (verdict.data or b"")
    slashes = len(text) - len(text.rstrip(b"\\"))
    closes = _QUOTE in verdict.expected and slashes % 2 == 0
    more = "" if closes else f"{chars}, and at its end "
    return f"the string is not closed; it needs {more}{show_character(_QUOTE)}"


def _needed(verdict: Verdict) -> str:
    if begun(verdict):
        return f"the rest of a character: {show_begun(verdict)}, and it must be " + (
            show_expected(verdict)
        )
    return show_expected(verdict)


def _constraint(verdict: Verdict) -> Said:
    writer, read = writer_of(verdict), read_well(verdict)
    if verdict.mark == "id" and not verdict.expected and not read:
        said = f"only {only_control(verdict)} may come here"
        return said, [_sentence(said)]
    if verdict.ends_too_soon:
        expected, data = show_characters(verdict.expected_chars), show_text(verdict.data or b"")
        return f"it may not end here: after {data} the same token must write {expected}", [
            f"It may not end after {data}: it must go on with {expected}."
        ]
    if not verdict.expected and not verdict.byte_offset:
        if not verdict.may_end:
            said = "no text of the constraint begins like this"
            return said, [_sentence(said)]
        return "the text is complete, and only the end of text may follow", [
            "The text is complete here, and only the end of text may follow."
        ]
    offered = show_offered(verdict)
    clause = f"reads {show_text(read)}, then " if read else ""
    sentences = [f"It starts well: {show_text(read)}."] if read else []
    if verdict.mark == "id" and not verdict.expected:
        only = only_control(verdict)
        return (
            f"{clause}expects only {only}; {writer} writes {offered}",
            [*sentences, f"After that only {only} may come; {writer} writes {offered}."],
        )
    if not verdict.expected:
        only = "the token" if verdict.mark == "end" else "text"
        what, it = ("this token", "it") if verdict.mark == "end" else ("the text", writer)
        return (
            f"{clause}expects only the end of {only}; {writer} writes {offered}",
            [*sentences, f"After that {what} must end, but {it} goes on with {offered}."],
        )
    expected, begin, half = show_expected(verdict), "Then" if read else "Here", ""
    if begun(verdict):
        half, begin = f" in the middle of a character ({show_begun(verdict)})", ""
        sentences.append(f"The text ends in the middle of a character: {show_begun(verdict)}.")
    constraint = f"{begin} the constraint" if begin else "The constraint"
    sentences.append(f"{constraint} expects {expected}; {writer} writes {offered}.")
    return (
        f"{clause}expects {expected}{half}; {writer} writes {offered}",
        [*sentences, *_shared(verdict), *_writable(verdict)],
    )


def _shared(verdict: Verdict) -> Iterator[str]:
    """A sentence about bytes that the failing character shares with an expected one."""
    whole = verdict.prefix + (verdict.data or b"")
    at = len(verdict.prefix) + (verdict.byte_offset or 0)
    lead = whole[verdict.char_begin : at]
    if not lead or not is_continuation(whole[at]):
        return
    (low, high) = characters_of(lead).ranges[0]
    fitting = [
        (max(low, first), min(high, last))
        for first, last in verdict.expected_chars.ranges
        if first <= high and last >= low
    ]
    bytes_ = f"{'byte' if len(lead) == 1 else 'bytes'} {show_bytes(lead)}"
    if fitting:
        single = len(fitting) == 1 and fitting[0][0] == fitting[0][1]
        others = show_character(fitting[0][0]) if single else "some of what is expected"
        yield (
            f"The {bytes_} {'begins' if len(lead) == 1 else 'begin'} {others} too, so it fails "
            f"only at the next one, {show_bytes(whole[at : at + 1])}."
        )


def _writable(verdict: Verdict) -> Iterator[str]:
    if written := show_writable(verdict):
        yield f"Of these, this vocabulary can write {written} and still finish."


def _refused_by_filter(verdict: Verdict, names: Names | None) -> str:
    """A clause on the reason why a filter masks a token that the text allows."""
    refusal = verdict.refusal
    if refusal is None:
        return "by a filter"
    if refusal.reason:
        return f"by the {refusal.filter} filter: {refusal.reason}"
    pieces = refusal.pieces
    said = "no tokens that it lets through complete the text after this one"
    if names is not None and verdict.token in names.eos_ids:
        said = "the tokenizer would write the text otherwise if it ended here"
    if len(pieces) == 1:
        said = f"the tokenizer would write {show_text(pieces[0])} as one token"
    elif pieces:
        shown = " + ".join(map(show_text, pieces))
        said = f"the tokenizer would write {show_text(b''.join(pieces))} as {shown}"
    return f"by the {refusal.filter} filter: {said}"


def _dead_end(verdict: Verdict) -> Said:
    dead_end = verdict.dead_end
    if dead_end is None:
        said = "no tokens of this vocabulary can finish after it"
        return said, [f"The constraint reads it, but {said}."]
    word, written = dead_end.witness, show_text(dead_end.witness[: dead_end.offset])
    return (
        f"no tokens of this vocabulary can finish after it; of {show_text(word)} they write only "
        f"{written}",
        [
            f"The constraint reads it and could go on, for example to {show_text(word)}. "
            f"But no tokens of this vocabulary can finish after it: of that text they write "
            f"{written}, and no further."
        ],
    )


# The source


def inside_terminal(verdict: Verdict, parts: Sequence[SourcePart]) -> str:
    """A clause on the reason why a terminal over tokens refuses the token; empty if it does not.

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
    """The clause that names the part of the source that decides; empty without one."""
    if verdict.stage not in ("constraint", "end_of_text"):
        return ""
    clauses = dict.fromkeys(clause for part in parts if (clause := _part(part)[0]))
    expected = expected_by(parts)
    return ". ".join([*([expected] if expected else []), *clauses, *_elsewhere(parts)])


def expected_by(parts: Sequence[SourcePart], *, labels_only: bool = False) -> str:
    """The clause that names the places of the source with the expectation.

    Args:
        parts: The parts of the source that decide.
        labels_only: Leave out places that are only pieces of a text that is shown underlined.
    """
    places = [place for part in parts if part.role == "expects" for place in part.positions]
    by_phase: dict[tuple[str, ...], list[SourcePlace]] = {}
    for place in places:
        by_phase.setdefault(place.phases, []).append(place)
    if all(place.source and place.source.choices and not place.label for place in places):
        open_texts = [
            ", ".join(dict.fromkeys(inline(place.text) for place in group)) + in_phase(phases)
            for phases, group in by_phase.items()
        ]
        return f"Still open: {', or '.join(open_texts)}" if open_texts else ""
    named: list[str] = []
    left = MOST_PLACES
    for phases, group in by_phase.items():
        wanted = (p for p in group if not labels_only or p.label or p.span is None)
        names = list(dict.fromkeys(map(place_name, wanted)))
        if names and left > 0:
            more = len(names) - left
            shown = ", ".join(names[:left]) + (f" and {more} more" if more > 0 else "")
            named.append(shown + in_phase(phases))
            left -= len(names)
        elif phases:  # The expectation is shown elsewhere, or would be too long.
            named.append(in_phase(phases).lstrip())
    said = ", or ".join(dict.fromkeys(named))
    return f"Expected {'' if said.startswith('in the phase ') else 'by '}{said}" if said else ""


def in_phase(phases: Sequence[str]) -> str:
    """The end of a clause that names a phase and those around it; empty if there is none.

    Args:
        phases: The outermost first.

    Example:
        >>> in_phase(("tools", "tool get_weather"))
        ' in the phase tools › tool get_weather'
    """
    return f" in the phase {' › '.join(map(inline, phases))}" if phases else ""


def _elsewhere(parts: Sequence[SourcePart]) -> list[str]:
    """The phases of parts whose places do not name them, each as a clause."""
    bare = [part for part in parts if part.role not in ("expects", "state")]
    inside = dict.fromkeys(phases for part in bare for phases in part.named_phases)
    return [f"In{in_phase(phases).lstrip()[2:]}" for phases in inside]


def _part(part: SourcePart) -> tuple[str, str]:
    """A clause and a sentence about a part; empty where others name it."""
    source = inline(str(part.source))
    match part.role:
        case "expects":
            return "", part.note  # See `expected_by`.
        case "token_limit":
            return "", ""  # See `token_limits`.
        case "excludes":
            accepted = f"{show_text(part.words[0])} would be accepted"
            if not part.assertion:
                excluded = f"excluded by {source}"
                return _sentence(excluded)[:-1], f"It is {excluded}, without which {accepted}."
            where = part.positions[0]
            by = f"the {part.assertion} {inline(where.text)} at {where.start}"
            return f"Excluded by {by}", f"T{by[1:]} forbids it; without that, {accepted}."
        case "combination" if part.words:
            *others, last = [
                f"{inline(operand)} has {show_text(word)}"
                for operand, word in zip(part.operands, part.words, strict=True)
            ]
            return f"Excluded by the combination {source}", (
                f"No single part forbids it, only their combination: {', '.join(others)} and "
                f"{last}, but no text that begins so is in "
                f"{'both' if len(others) == 1 else 'all of them'}."
            )
        case "combination":
            texts = ", ".join(inline(place.text) for place in part.positions)
            return f"Excluded by the combination of {texts}", (
                f"No single assertion forbids it, only their combination: {texts}."
            )
        case "state" if played := part.source.part_played:
            too, excludes = (" too", "would exclude it too") if part.beside else ("", "excludes it")
            return f"Excluded{too} by the {played} {source}", f"The {played} {source} {excludes}."
        case "state" if name := part.source.state_name(part.state):
            return f"{source} is in {name}", (
                f"The constraint was given as a machine, here in {name}: it has no source to "
                "point at."
            )
        case "state":
            inside = in_phase(part.phases)
            return f"Expected by {source}{inside}", f"Expected{inside or f' by {source}'}."
        case "too_large":
            said = "The source is too large to say which part of it decides"
            return said, f"{said}."


# In sentences


def prose(verdict: Verdict, parts: Sequence[SourcePart], sentences: Sequence[str]) -> str:
    """The reason in plain sentences.

    Args:
        parts: The parts of the source that decide.
        sentences: Those of the verdict's `reason`.
    """
    if verdict.stage == "end_of_text" and any(part.role == "excludes" for part in parts):
        # The text itself is excluded: going on is only an alternative.
        rest = f" It may go on with {_needed(verdict)}." if verdict.expected else ""
        sentences = [f"The text may not end here.{rest}"]
    return " ".join([*sentences, *_sources(verdict, parts)])


def _sources(verdict: Verdict, parts: Sequence[SourcePart]) -> Iterator[str]:
    if verdict.stage in ("constraint", "end_of_text"):
        # The underlined texts show the rest, and a label gives the place in a long one.
        if expected := expected_by(parts, labels_only=True):
            yield f"{expected}."
        yield from dict.fromkeys(said for part in parts if (said := _part(part)[1]))
        yield from (f"{clause}." for clause in _elsewhere(parts))
        if inside := inside_terminal(verdict, parts):
            yield f"{inside}."
    if limits := token_limits(parts):
        yield f"{limits}."
