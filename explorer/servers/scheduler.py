"""A line of a scheduler's log: tokens that a server's grammar refused.

``Failed to advance FSM for request … for tokens 271`` gives no more than an id. With the tokenizer
and the request's constraint the text of the token is known; with the text before it, also the
refused token and the reason. Without the text before it, all states of the constraint are searched
for those in which the token is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from explorer.alphabet import without_controls
from explorer.analysis.explaining.explanation import Explanation, explain
from explorer.analysis.places.spans import live_places
from explorer.arguments import counted, instance, whole_text
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.schema.reading.text import spot_of
from explorer.languages.schema.source import JsonSchema
from explorer.servers.phases import after_reasoning
from explorer.servers.sentences import MARKERS, shown_bytes
from explorer.tokens.compile import compile as compiled
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary

MOST_STATES: Final = 4_000
MOST_TEXT: Final = 400
MOST_PLACES: Final = 6

_IDS: Final = re.compile(
    r"(?:for tokens?|reject(?:ed|s)? (?:the )?tokens?|token(?:_id|_ids|s| ids?)?)\s*[:=]?\s*"
    r"(?P<ids>\[[\d,\s]*\d[\d,\s]*\]|\d+(?:\s*,\s*\d+)*)",
    re.IGNORECASE,
)
_REQUEST: Final = re.compile(r"request[ =:]+(?P<request>[\w./:-]+)", re.IGNORECASE)


@dataclass(frozen=True)
class PlaceOfToken:
    """A place of the constraint, and an example of the text that leads to it."""

    name: str
    example: str


@dataclass(frozen=True)
class ScheduledTokens:
    """The explanation of a line; it prints as a paragraph.

    Args:
        request: The request in the line; empty if there is none.
        ids: The tokens.
        texts: The text of each; for a control token its name.
        rejected: The number of tokens before the first refused one; ``None`` if none is refused, or
            the text before the line is not known.
        explanation: The reason for the refusal.
        allowed, refused: The places at which the first token is allowed, and those at which it is
            not; empty where the text before is known.
        settings: Settings of a server under which it would be accepted.
        whole: Whether all states were searched.
        taken: Whether the text before is known and the constraint accepts all tokens after it.
    """

    request: str
    ids: tuple[int, ...]
    texts: tuple[str, ...]
    rejected: int | None
    explanation: Explanation | None
    allowed: tuple[PlaceOfToken, ...]
    refused: tuple[PlaceOfToken, ...]
    settings: tuple[str, ...]
    whole: bool
    taken: bool = False

    def __str__(self) -> str:
        shown = ", ".join(
            f"{token} is {text}" for token, text in zip(self.ids, self.texts, strict=True)
        )
        lines = [f"{shown}."]
        if self.explanation is not None and self.rejected is not None:
            lines.append(f"Token {self.rejected} of the line is the first that is refused.")
            lines.append(self.explanation.paragraph)
        elif self.taken:
            lines.append("The constraint takes them there.")
        else:
            seen = "" if self.whole else f" (of the first {MOST_STATES:,} states)"
            if self.allowed:
                lines.append(f"{self.ids[0]} is allowed{seen}: {_listed(self.allowed)}.")
            else:
                lines.append(f"{self.ids[0]} is allowed in no state{seen}.")
            if self.refused:
                lines.append(f"It is refused: {_listed(self.refused)}.")
        lines += [f"It would be taken {setting}." for setting in self.settings]
        return without_controls("\n".join(lines))


def scheduled_ids(line: str) -> tuple[str, tuple[int, ...]]:
    """The request and the tokens in a line.

    Raises:
        ExplorerError: The line names no tokens.

    Example:
        >>> scheduled_ids("Failed to advance FSM for request chat-7 for tokens 271. Please ...")
        ('chat-7', (271,))
        >>> scheduled_ids("grammar rejected tokens [530, 729, 13, 154842]")
        ('', (530, 729, 13, 154842))
    """
    line = whole_text("line", line)
    tokens = _IDS.search(line)
    if tokens is None:
        raise ExplorerError(
            "The line names no tokens.",
            remedy="Paste it whole, such as: Failed to advance FSM for request r for tokens 271",
        )
    request = _REQUEST.search(line)
    ids = tuple(int(digits) for digits in re.findall(r"\d+", tokens["ids"]))
    return (request["request"] if request else ""), ids


def explain_line(
    line: str, vocabulary: Vocabulary, constraint: Constraint,
    before: Sequence[int] | None = None, *, budget: Budget | None = None,
) -> ScheduledTokens:  # fmt: skip
    """Explain the tokens of a scheduler's line, and where the constraint accepts them.

    Args:
        line: ``Failed to advance FSM for request … for tokens 271``, ``grammar rejected tokens
            [530, 729]``, and their like.
        constraint: The constraint of the request.
        before: The ids that the grammar accepted before, if they are known.

    Raises:
        ExplorerError: The line names no tokens, an id is outside of the vocabulary, or the ids
            before are refused themselves.
    """
    instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
    instance("constraint", constraint, Constraint, "a constraint")
    request, ids = scheduled_ids(line)
    for token in (*ids, *(before or ())):
        if not 0 <= token < len(vocabulary):
            raise ExplorerError(
                f"{token} is not an id of this vocabulary of {len(vocabulary):,}.",
                remedy="Give the tokenizer of the model that the server ran: --tokenizer PATH.",
            )
    texts = tuple(_shown(token, vocabulary) for token in ids)
    known = ScheduledTokens(request, ids, texts, None, None, (), (), (), True)
    if before is not None:
        return _behind(known, vocabulary, constraint, tuple(before), budget)
    data = _written(ids[0], vocabulary)
    places = _Places(constraint, budget)
    if ids[0] in vocabulary.eos_ids:
        allowed, refused = places.of_the_end()
        return replace(known, allowed=allowed, refused=refused, whole=places.whole)
    allowed, refused = places.of(data) if data else ((), ())
    others = (
        (name, other) for name, other in _settings(constraint, ids, vocabulary)
        if data and _Places(other, budget).of(data)[0]
    )  # fmt: skip
    settings = () if allowed else tuple(name for name, _ in others)
    return replace(known, allowed=allowed, refused=refused, settings=settings, whole=places.whole)


def _behind(
    known: ScheduledTokens, vocabulary: Vocabulary, constraint: Constraint,
    before: tuple[int, ...], budget: Budget | None,
) -> ScheduledTokens:  # fmt: skip
    machine = compiled(constraint, vocabulary, lazy=True, budget=budget)
    taken, state = _advanced(machine, before)
    if taken < len(before):
        raise ExplorerError(
            f"The constraint refuses token {taken} of those before, "
            f"{_shown(before[taken], vocabulary)}.",
            remedy="Give the ids that the grammar had taken, without the prompt and, where the "
            "server has a reasoning parser, without the reasoning.",
        )
    ahead, last = _advanced(machine, known.ids, state)
    if ahead == len(known.ids):
        return replace(known, taken=True)
    settings = settings_that_take(
        constraint, (*before, *known.ids), len(before) + ahead, vocabulary, budget
    )
    data = vocabulary.written((*before, *known.ids[:ahead]))
    why = explain(machine, last, known.ids[ahead], text=data)
    return replace(known, rejected=ahead, explanation=why, settings=settings)


def settings_that_take(
    constraint: Constraint, ids: Sequence[int], refused: int, vocabulary: Vocabulary,
    budget: Budget | None = None,
) -> tuple[str, ...]:  # fmt: skip
    """The settings of a server under which its constraint accepts a token that it refused.

    Args:
        ids: The tokens of the run.
        refused: The number of tokens before that one.
    """
    settings: list[str] = []
    for name, other in _settings(constraint, ids, vocabulary):
        try:
            lenient = compiled(other, vocabulary, lazy=True, budget=budget)
        except ExplorerError:
            continue  # The setting does not apply to this constraint.
        if _advanced(lenient, ids[: refused + 1])[0] > refused:
            settings.append(name)
    return tuple(settings)


def _advanced(
    machine: TokenMachine, ids: Sequence[int], start: int | None = None
) -> tuple[int, int]:
    """The number of leading tokens that are accepted, and the state after them."""
    state = machine.start if start is None else start
    for k, token in enumerate(ids):
        after = machine.step(state, token)
        if after is None:
            return k, state
        state = after
    return len(ids), state


class _Places:
    """The states of a constraint over bytes, each with a text that leads to it."""

    def __init__(self, constraint: Constraint, budget: Budget | None) -> None:
        self.constraint = constraint
        self.machine: ByteMachine = constraint.discover(Meter(budget))
        self.states: dict[int, bytes] = {}
        self.whole = True
        if self.machine.start == NO_ARC:
            return
        self.states[self.machine.start] = b""
        waiting = [self.machine.start]
        try:
            for state in waiting:  # The list grows while it is read.
                text = self.states[state]
                if len(text) > MOST_TEXT:
                    continue
                for byte in _different(self.machine, state):
                    after = self.machine.step(state, byte)
                    if after not in self.states:
                        self.states[after] = text + bytes([byte])
                        waiting.append(after)
                if len(self.states) > MOST_STATES:
                    self.whole = False
                    return
        except BudgetExceeded:
            self.whole = False

    def of(self, data: bytes) -> tuple[tuple[PlaceOfToken, ...], tuple[PlaceOfToken, ...]]:
        """The places at which bytes can be read, and those at which they cannot."""
        taken: dict[str, PlaceOfToken] = {}
        refused: dict[str, PlaceOfToken] = {}
        for state, text in self.states.items():
            if not _whole_text(text):
                continue
            here = state
            for byte in data:
                here = self.machine.step(here, byte) if here != NO_ARC else NO_ARC
            side = refused if here == NO_ARC else taken
            if len(side) > MOST_PLACES:
                continue
            place = self._name(text)
            side.setdefault(place.name, place)
        return (
            tuple(taken.values())[:MOST_PLACES],
            tuple(each for name, each in refused.items() if name not in taken)[:MOST_PLACES],
        )

    def of_the_end(self) -> tuple[tuple[PlaceOfToken, ...], tuple[PlaceOfToken, ...]]:
        """The places at which the text may end, and those at which it may not."""
        complete: list[PlaceOfToken] = []
        unfinished: dict[str, PlaceOfToken] = {}
        for state, text in self.states.items():
            if not _whole_text(text):
                continue
            if self.machine.is_accepting(state):
                complete.append(PlaceOfToken("where the text is complete", shown_bytes(text[-40:])))
            elif len(unfinished) < MOST_PLACES:
                place = self._name(text)
                unfinished.setdefault(place.name, place)
        return tuple(complete[:1]), tuple(unfinished.values())

    def _name(self, text: bytes) -> PlaceOfToken:
        example = shown_bytes(text[-40:])
        if isinstance(self.constraint.source, JsonSchema):
            return PlaceOfToken(_json_place(text), example)
        try:
            places = live_places(self.constraint.source, text)
        except ExplorerError:
            places = ()
        names = dict.fromkeys(
            " ".join(filter(None, (
                f"in the phase {place.phases[-1]}," if place.phases else "",
                place.label or f"at {place.text[:30]}",
            )))
            for place in places[:2]
        )  # fmt: skip
        return PlaceOfToken(" or ".join(names) or f"behind {example}", example)


def _json_place(text: bytes) -> str:
    """The place at which a JSON text stops, in words."""
    spot = spot_of(text)
    way = "".join(f"/{step}" for _, step in spot.steps)
    at = f" at {way}" if way else ""
    if spot.value.startswith(b'"') and not spot.is_finished:
        return f"inside the string{at}"
    if spot.value and not spot.is_finished:
        return f"inside a number or a word{at}"
    if spot.outline is not None and spot.outline.rpartition(b",")[2].count(b'"') % 2:
        return f"inside a name{at}"
    return f"between the tokens of JSON{at}"


def _different(machine: ByteMachine, state: int) -> Iterator[int]:
    """One byte of each readable class, with letters first."""
    seen: set[int] = set()
    for byte in sorted(machine.expected(state), key=lambda byte: (not 97 <= byte <= 122, byte)):
        kind = int(machine.symbol_class[byte])
        if kind not in seen:
            seen.add(kind)
            yield byte


def _settings(
    constraint: Constraint, ids: Sequence[int], vocabulary: Vocabulary
) -> Iterator[tuple[str, Constraint]]:
    """The settings of a server that allow more, each with the constraint under it."""
    source = constraint.source
    if isinstance(source, JsonSchema) and source.options.whitespace != "flexible":
        options = replace(source.options, whitespace="flexible", whitespace_pattern=None)
        yield (
            'with whitespace="flexible" (vLLM: without disable_any_whitespace; SGLang: '
            "--constrained-json-whitespace-pattern)",
            Constraint(replace(source, options=options)),
        )
    known = [token for token in ids if 0 <= token < len(vocabulary)]
    for _, end in MARKERS:
        written = any(vocabulary.special.get(token) == end for token in known)
        if written or end.encode() in vocabulary.written(known):
            yield (
                f"with a reasoning parser whose reasoning ends with {end}, so that the constraint "
                "begins behind it (vLLM and SGLang: --reasoning-parser; vLLM's "
                "enable_in_reasoning off)",
                after_reasoning(constraint, end, vocabulary, always=True),
            )


def _written(token: int, vocabulary: Vocabulary) -> bytes:
    """The symbols of a token for a machine: its bytes, or the letter of a control token."""
    return vocabulary.tokens[token] or vocabulary.letters.get(token, b"")


def _shown(token: int, vocabulary: Vocabulary) -> str:
    data = vocabulary.tokens[token]
    if data is not None:
        breaks = data.count(b"\n")
        if breaks and not data.strip(b"\n"):
            return counted(breaks, "line break")
        return repr(data.decode(errors="backslashreplace"))
    if token in vocabulary.eos_ids:
        return f"{vocabulary.special.get(token, 'the end')}, the end of the text"
    return f"the control token {vocabulary.special.get(token, '')}".rstrip()


def _whole_text(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return b"\xf8" in text
    return True


def _listed(places: Sequence[PlaceOfToken]) -> str:
    return "; ".join(
        f"{place.name} (behind {place.example})"
        if place.example
        else f"{place.name} (at the start)"
        for place in places
    )
