"""A verdict in words: one line for a log, and plain sentences for a person.

The line gives the question, the reason, and the part of the source that decides: short, without a
line break, and with words that one would search a log for. The sentences are read below a title
that names the token, or after one (`explorer.analysis.wording.words.title`). The pattern stands
beside them with its live part underlined, so a part of a pattern is named there only if it forbids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    title,
    writer_of,
)
from explorer.languages.terminals import TERMINALS

MOST_PLACES = 4
"""The most places of a source that are named."""


def message(
    verdict: Verdict, parts: Sequence[SourcePart], names: Names | None, *, assumed: bool = False
) -> str:
    """The verdict in one line, without a line break.

    Args:
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
            if verdict.control:
                return (
                    f"of the tokens that are not text only {show_control(verdict.control)} may come"
                )
            return f"{'a special or control token' if named else 'an unused id'} writes no text"
        case "empty_token":
            return "an empty token writes no bytes, and could be repeated for ever"
        case "end_of_text":
            if said := show_sentinel(verdict, names):
                return said
            if not verdict.expected and not verdict.control:
                return "the text is not complete, and nothing may follow"
            chars = show_characters(verdict.expected_chars)
            return f"the text still needs {show_expected(verdict) if verdict.control else chars}"
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
        if read := read_well(verdict):
            only = f"reads {show_text(read)}, then expects only {only_control(verdict)}"
            return f"{only}; {writer_of(verdict)} writes {show_offered(verdict)}"
        return f"only {only_control(verdict)} may come here"
    if not verdict.expected and not verdict.byte_offset:
        if not verdict.may_end:
            return "no text of the constraint begins like this"
        return "the text is complete, and only the end of text may follow"
    data = verdict.data or b""
    if verdict.ends_too_soon:
        expected = show_characters(verdict.expected_chars)
        return f"it may not end here: after {show_text(data)} the same token must write {expected}"
    read = read_well(verdict)
    clause = f"reads {show_text(read)}, then " if read else ""
    expected = show_expected(verdict)
    writer = writer_of(verdict)
    if not verdict.expected:
        only = "the token" if verdict.mark == "end" else "text"
        return f"{clause}expects only the end of {only}; {writer} writes {show_offered(verdict)}"
    if begun(verdict):
        expected += f" in the middle of a character ({show_begun(verdict)})"
    return f"{clause}expects {expected}; {writer} writes {show_offered(verdict)}"


def refused_by_filter(verdict: Verdict, names: Names | None) -> str:
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


def _dead_end(verdict: Verdict) -> str:
    dead_end = verdict.dead_end
    if dead_end is None:
        return "no tokens of this vocabulary can finish after it"
    return (
        f"no tokens of this vocabulary can finish after it; of {show_text(dead_end.witness)} they "
        f"write only {show_text(dead_end.witness[: dead_end.offset])}"
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
    clauses = dict.fromkeys(clause for part in parts if (clause := _part(part)))
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
            return f"Expected by {inline(str(part.source))}{in_phase(part.phases)}"
        case "too_large":
            return "The source is too large to say which part of it"


# In sentences


def prose(verdict: Verdict, parts: Sequence[SourcePart], names: Names | None) -> str:
    """The reason in plain sentences.

    Args:
        parts: The parts of the source that decide.
        names: The vocabulary; ``None`` for text without a tokenizer.
    """
    if verdict.stage == "end_of_text" and any(part.role == "excludes" for part in parts):
        # The text itself is excluded: going on is only an alternative.
        rest = f" It may go on with {_needed(verdict)}." if verdict.expected else ""
        return " ".join([f"The text may not end here.{rest}", *_sources(verdict, parts)])
    return " ".join([*_verdict(verdict, names), *_sources(verdict, parts)])


def _verdict(verdict: Verdict, names: Names | None) -> Iterator[str]:
    match verdict.stage:
        case "beyond_vocabulary":
            last = 0 if names is None else len(names) - 1
            yield f"The vocabulary has only the ids 0 to {last:,}."
            if names is not None and verdict.token is not None and verdict.token > last:
                yield "Logits past them are padding and mean nothing."
        case "not_text":
            what = "a special or control token" if _named(verdict, names) else "an unused id"
            if verdict.control:
                yield f"It is {what}; of those only {show_control(verdict.control)} may come here."
                return
            yield f"It is {what} and writes no text, so no constraint on text can ask for it."
        case "empty_token":
            yield (
                "It writes no bytes at all. A text could take any number of such tokens and get "
                "no further, so they are never allowed."
            )
        case "end_of_text":
            if verdict.left:
                yield _sentinel(verdict, names)
            elif verdict.expected or verdict.control:
                begin = "The text is not complete yet. " if verdict.token is not None else ""
                yield f"{begin}It still needs {_needed(verdict)}."
            else:
                yield "The text is not complete, and nothing may follow."
            yield from _writable(verdict)
        case "constraint":
            if verdict.ended or verdict.left:
                yield _sentinel(verdict, names)
            else:
                yield from _constraint_in_sentences(verdict)
        case "dead_end":
            yield from _dead_end_in_sentences(verdict)
        case "filtered":
            yield f"The text allows it. It is masked {refused_by_filter(verdict, names)}."
        case "allowed":
            yield _allowed(verdict, names)


def _sentinel(verdict: Verdict, names: Names | None) -> str:
    said = show_sentinel(verdict, names)
    rest = "only the end of text may come again" if verdict.ended else "no text of it begins so"
    begin = f"{said[0].upper()}{said[1:]}" if verdict.ended else f"There is no state: {said}"
    return f"{begin}, and {rest}."


def _named(verdict: Verdict, names: Names | None) -> bool:
    return names is not None and verdict.token in names.special


def _allowed(verdict: Verdict, names: Names | None) -> str:
    if verdict.token is None:
        return "The constraint reads all of it, and the text is complete."
    if verdict.ended:
        return "The text has already ended, and only the end of text may come again."
    if names is not None and verdict.token in names.eos_ids:
        return "The text is complete, so it may end here."
    return "The constraint reads all of it, and the text can still be completed."


def _needed(verdict: Verdict) -> str:
    if begun(verdict):
        return f"the rest of a character: {show_begun(verdict)}, and it must be " + (
            show_expected(verdict)
        )
    return show_expected(verdict)


def _constraint_in_sentences(verdict: Verdict) -> Iterator[str]:
    writer = writer_of(verdict)
    if verdict.mark == "id" and not verdict.expected:
        if not (read := read_well(verdict)):
            yield f"Only {only_control(verdict)} may come here."
            return
        yield f"It starts well: {show_text(read)}."
        only = f"After that only {only_control(verdict)} may come"
        yield f"{only}; {writer} writes {show_offered(verdict)}."
        return
    if verdict.ends_too_soon:
        expected = show_characters(verdict.expected_chars)
        data = show_text(verdict.data or b"")
        yield f"It may not end after {data}: it must go on with {expected}."
        return
    if not verdict.expected and not verdict.byte_offset:
        if verdict.may_end:
            yield "The text is complete here, and only the end of text may follow."
        else:
            yield "No text of the constraint begins like this."
        return
    data = verdict.data or b""
    if read := read_well(verdict):
        yield f"It starts well: {show_text(read)}."
    if not verdict.expected:
        what, it = ("this token", "it") if verdict.mark == "end" else ("the text", writer)
        yield f"After that {what} must end, but {it} goes on with {show_offered(verdict)}."
        return
    offered = f"{writer} writes {show_offered(verdict)}"
    if begun(verdict):
        yield f"The text ends in the middle of a character: {show_begun(verdict)}."
        yield f"The constraint expects {show_expected(verdict)}; {offered}."
    elif read:
        yield f"Then the constraint expects {show_expected(verdict)}; {offered}."
    else:
        yield f"Here the constraint expects {show_expected(verdict)}; {offered}."
    yield from _shared(verdict)
    yield from _writable(verdict)


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


def _dead_end_in_sentences(verdict: Verdict) -> Iterator[str]:
    dead_end = verdict.dead_end
    if dead_end is None:
        yield "The constraint reads it, but no tokens of this vocabulary can finish after it."
        return
    yield (
        f"The constraint reads it and could go on, for example to {show_text(dead_end.witness)}. "
        f"But no tokens of this vocabulary can finish after it: of that text they write "
        f"{show_text(dead_end.witness[: dead_end.offset])}, and no further."
    )


def _sources(verdict: Verdict, parts: Sequence[SourcePart]) -> Iterator[str]:
    if verdict.stage in ("constraint", "end_of_text"):
        # The underlined texts show the rest, and a label gives the place in a long one.
        if expected := expected_by(parts, labels_only=True):
            yield f"{expected}."
        yield from dict.fromkeys(said for part in parts if (said := _part_in_a_sentence(part)))
        yield from (f"{clause}." for clause in _elsewhere(parts))
        if inside := inside_terminal(verdict, parts):
            yield f"{inside}."
    if limits := token_limits(parts):
        yield f"{limits}."


def _part_in_a_sentence(part: SourcePart) -> str:
    match part.role:
        case "expects":
            return part.note  # See `expected_by`.
        case "excludes":
            word = show_text(part.words[0])
            if part.assertion:
                where = part.positions[0]
                return (
                    f"The {part.assertion} {inline(where.text)} at {where.start} forbids it; "
                    f"without that, {word} would be accepted."
                )
            source = inline(str(part.source))
            return f"It is excluded by {source}, without which {word} would be accepted."
        case "combination":
            return _combination(part)
        case "state" if part.source.part_played:
            excludes = "would exclude it too" if part.beside else "excludes it"
            return f"The {part.source.part_played} {inline(str(part.source))} {excludes}."
        case "state" if name := part.source.state_name(part.state):
            return (
                f"The constraint was given as a machine, here in {name}: it has no source to "
                "point at."
            )
        case "state":
            return f"Expected{in_phase(part.phases) or f' by {inline(str(part.source))}'}."
        case "token_limit":
            return ""  # See `token_limits`.
        case "too_large":
            return "The source is too large to say which part of it decides."


def _combination(part: SourcePart) -> str:
    if part.words:
        alone = [
            f"{inline(operand)} has {show_text(word)}"
            for operand, word in zip(part.operands, part.words, strict=True)
        ]
        return (
            f"No single part forbids it, only their combination: {', '.join(alone[:-1])} and "
            f"{alone[-1]}, but no text that begins so is in "
            f"{'both' if len(alone) == 2 else 'all of them'}."
        )
    texts = [inline(p.text) for p in part.positions]
    return f"No single assertion forbids it, only their combination: {', '.join(texts)}."
