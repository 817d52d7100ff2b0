"""An `Explanation`: why a token is allowed or masked, with everything that follows from it.

The verdict and the parts of the source are worked out at once. What needs a search of the machine
is worked out when it is asked for: what would make the token allowed, what is near it, what change
of the pattern would let it through, how the text can end.

Cost: well under a millisecond with a warm machine at 131,072 ids; a lazy part up to some tens of
milliseconds, `widening` up to four compilations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from explorer.analysis.characters import half_characters, show_characters, show_text
from explorer.analysis.machine import Machine, machine_of
from explorer.analysis.spans import Part, parts
from explorer.analysis.verdict import Move, Stage, Verdict, judge, judge_text
from explorer.analysis.widening import Widening, widen
from explorer.analysis.wording import headline, show_token, underlined
from explorer.automata.constraint import Constraint
from explorer.automata.machine import NO_ARC
from explorer.errors import ExplorerError
from explorer.tokens.failing import run
from explorer.tokens.states import DEAD
from explorer.tokens.token_dfa import TokenDFA

if TYPE_CHECKING:  # It comes with torch, which an explanation does not need.
    from explorer.decoding.sampler import SampledOut

NEAREST: Final = 5
"""How many near tokens an explanation names."""

LONGEST_FORCED: Final = 200
"""How many bytes of forced text are followed."""


@dataclass(frozen=True, slots=True)
class OverBudget:
    """A token budget that the token does not fit into.

    Args:
        needs: Tokens from this one to the end of the text, EOS included.
        remain: Tokens that may still be written.
    """

    needs: int
    remain: int


@dataclass(frozen=True, slots=True)
class History:
    """The path to a place, for `Explanation.earlier`.

    Args:
        states: The state before each token, and the one after the last.
        tokens: The tokens.
    """

    states: tuple[int, ...]
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Earlier:
    """The last position where the token was allowed.

    Args:
        position: How many tokens stood before it.
        chosen: The token that was chosen there instead.
    """

    position: int
    chosen: int


@dataclass(frozen=True, slots=True)
class Completion:
    """The shortest way to end the text through an allowed token.

    Args:
        tokens: The tokens after it, EOS included.
        text: The whole text then.
        forced: What every text goes on with after the token, in bytes.
    """

    tokens: tuple[int, ...]
    text: bytes
    forced: bytes


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a token may come next, or may not.

    Made by `explain`. The fields of `verdict` are also at hand by their own names.

    Args:
        dfa: The token DFA.
        verdict: The stage and the evidence.
        parts: What of the constraint's source decides.
        assumed_prefix: Whether the text before the token was not given: a shortest one is shown.
        same_bytes: Other ids that write the same bytes.
        asked: The ids of the text that was asked about, by the tokenizer; one id for an id.
        index: Which of them this explains: the first that is masked, or the last.
        note: How a text became ids, where that is not plain.
        probabilities: float[...], the model's, for `nearest`.
        history: The path to here, for `earlier`.
        sampled_out: The sampler's part, from a session.
        over_budget: The token budget's part, from a session.

    Example:
        >>> from explorer.automata.constraint import regex
        >>> from explorer.tokens.compile import compile
        >>> from explorer.vocabulary import Vocabulary
        >>> vocab = Vocabulary.from_bytes(["ä".encode(), "ö".encode()], eos_ids=[2])
        >>> why = explain(compile(regex("[ä]"), vocab), 0, 1)
        >>> why.stage, why.byte_offset, why.expected
        ('constraint', 1, b'\\xa4')
        >>> print(why.message.split(";")[0])
        'ö' (id 1) is masked at the start: expects ä
    """

    dfa: TokenDFA = field(repr=False)
    verdict: Verdict
    parts: tuple[Part, ...]
    assumed_prefix: bool = False
    same_bytes: tuple[int, ...] = ()
    asked: tuple[int, ...] = ()
    index: int = 0
    note: str = ""
    probabilities: NDArray[np.floating] | None = field(default=None, repr=False)
    history: History | None = field(default=None, repr=False)
    sampled_out: SampledOut | None = None
    over_budget: OverBudget | None = None

    # What the verdict says.

    @property
    def allowed(self) -> bool:
        """Whether the constraint allows the token; equals ``dfa.allowed(state)[token]``."""
        return self.verdict.allowed

    @property
    def stage(self) -> Stage:
        """What decided; see `explorer.analysis.verdict.STAGES`."""
        return self.verdict.stage

    @property
    def token(self) -> int:
        """The id that is explained."""
        return self.verdict.token if self.verdict.token is not None else -1

    @property
    def state(self) -> int:
        """The token state before it."""
        return self.verdict.state

    @property
    def byte_offset(self) -> int | None:
        """The failing offset in the token's bytes; ``None`` where no byte fails."""
        return self.verdict.byte_offset

    @property
    def char_offset(self) -> int | None:
        """How many whole characters of the token stand before the one that fails."""
        return self.verdict.char_offset

    @property
    def expected(self) -> bytes:
        """The bytes that may stand where the token fails, or after it."""
        return self.verdict.expected

    @property
    def writable(self) -> bytes:
        """Those of them that this vocabulary can write and still finish."""
        return self.verdict.writable or b""

    @property
    def walk(self) -> tuple[Move, ...]:
        """The token's bytes through the character FSA, up to the one that fails."""
        return self.verdict.walk

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The live spans where the constraint is one pattern; see `parts` for the others."""
        return tuple(span for part in self.parts if not part.path for span in part.spans)

    # What is searched for when it is asked for.

    @cached_property
    def after(self) -> tuple[int, ...] | None:
        """The shortest tokens that, appended from here, make this token allowed next.

        Fewest tokens, of those the fewest bytes; empty if it is allowed now, ``None`` if never.
        """
        if self.allowed:
            return ()
        if self.state < 0 or not 0 <= self.token < len(self.dfa.vocabulary):
            return None
        return self._machine.paths(self.dfa).after(self.dfa, self.state, self.token)

    @cached_property
    def earlier(self) -> Earlier | None:
        """The last position before this one where the token was allowed; needs a session."""
        if self.history is None or not 0 <= self.token < len(self.dfa.vocabulary):
            return None
        for k in range(len(self.history.tokens) - 1, -1, -1):
            if self.dfa.step(self.history.states[k], self.token) is not None:
                return Earlier(k, self.history.tokens[k])
        return None

    @cached_property
    def nearest(self) -> tuple[int, ...]:
        """Allowed tokens of the longest common byte prefix; of those the likeliest or shortest."""
        if self.state < 0:
            return ()
        allowed = self.dfa.allowed(self.state)
        if self.probabilities is None:
            rank = self._machine.paths(self.dfa).plainness
        else:
            rank = np.zeros(len(allowed))
            given = np.asarray(self.probabilities, np.float64)[: len(allowed)]
            rank[: len(given)] = given
        allowed = allowed.copy()
        if 0 <= self.token < len(allowed):
            allowed[self.token] = False
        return self._machine.words.nearest(self.verdict.data or b"", allowed, rank, NEAREST)

    @cached_property
    def widening(self) -> Widening | None:
        """The smallest change to the one live literal or class that allows the token."""
        return widen(self.dfa, self.verdict, self.parts)

    @cached_property
    def completion(self) -> Completion | None:
        """For an allowed token: the shortest completion through it, and what it forces."""
        if not self.allowed or self.state < 0:
            return None
        target = self.dfa.step(self.state, self.token)
        if target is None:
            return None
        text = self.verdict.prefix + (self.verdict.data or b"")
        if target < 0:
            return Completion((), text, b"")
        tokens = self._machine.paths(self.dfa).completion(self.dfa, target)
        rest = b"".join(self.dfa.vocabulary.tokens[token] or b"" for token in tokens)
        end = self.dfa.vocabulary.eos_ids[0]
        return Completion((*tokens, end), text + rest, self._forced(target))

    def _forced(self, state: int) -> bytes:
        """The bytes that every text goes on with."""
        machine = self._machine.char_dfa
        here = int(self.dfa.char_state[state])
        forced = bytearray()
        while not machine.accepting[here] and len(forced) < LONGEST_FORCED:
            row = machine.table[here][machine.symbol_class[:256]]
            live = np.flatnonzero(row != NO_ARC)
            if len(live) != 1:
                break
            forced.append(int(live[0]))
            here = int(row[live[0]])
        return bytes(forced)

    @property
    def _machine(self) -> Machine:
        return machine_of(self.dfa)

    # In words.

    @cached_property
    def message(self) -> str:
        """One line for a log."""
        line = headline(self.verdict, self.parts, self.dfa.vocabulary, assumed=self.assumed_prefix)
        if self.over_budget is not None:
            line += (
                f" It does not fit into the token budget: it needs {self.over_budget.needs} tokens "
                f"to the end, and {self.over_budget.remain} remain."
            )
        if self.sampled_out is not None:
            line += f" {_sampler_clause(self.sampled_out)}"
        return line

    @cached_property
    def paragraph(self) -> str:
        """Some lines for a person: the message, the pattern, and what could be done."""
        lines = [self.message]
        lines += [text for part in self.parts if (text := underlined(part))]
        lines += self.hints
        return "\n".join(lines)

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """What else there is to say, one sentence each."""
        show = self._show
        hints: list[str] = []
        if self.note:
            hints.append(self.note)
        if len(self.asked) > 1:
            pieces = " ".join(show(token) for token in self.asked)
            hints.append(f"The text is the tokens {pieces}; this is number {self.index + 1}.")
        data = self.verdict.data
        if data and (half := half_characters(data)):
            hints.append(f"Of the token: {half}.")
        if self.same_bytes:
            ids = ", ".join(map(str, self.same_bytes[:8]))
            hints.append(f"The same bytes are also the ids {ids}.")
        if self.allowed:
            if (found := self.completion) is not None:
                if found.forced:
                    hints.append(f"After it the text must go on with {show_text(found.forced)}.")
                hints.append(f"The shortest complete text through it is {show_text(found.text)}.")
            return tuple(hints)
        if self.after:
            hints.append(f"It is allowed after {' '.join(map(show, self.after))}.")
        elif self.after is None and self.stage in ("constraint", "dead_end"):
            hints.append("It is allowed nowhere from here.")
        if self.earlier is not None:
            hints.append(
                f"It was allowed at position {self.earlier.position}, where "
                f"{show(self.earlier.chosen)} was chosen."
            )
        if self.nearest:
            hints.append(f"Near it and allowed: {' '.join(map(show, self.nearest))}.")
        if self.stage == "constraint" and self.widening is not None:
            hints.append(
                f"Allowed if {self.widening.pattern[self.widening.start : self.widening.end]} "
                f"becomes {self.widening.replacement}: {self.widening.changed}"
            )
        return tuple(hints)

    def _show(self, token: int) -> str:
        if token in self.dfa.vocabulary.eos_ids:
            return self.dfa.vocabulary.special.get(token) or f"<{token}>"
        data = self.dfa.vocabulary.tokens[token]
        return show_token(self.dfa.vocabulary, token, data) if data is None else show_text(data)

    def __str__(self) -> str:
        return self.paragraph

    def to_dict(self, *, lazy: bool = True) -> dict[str, object]:
        """Everything as plain values for JSON.

        Args:
            lazy: Also what must be searched for; without it the answer takes no longer than the
                verdict did.
        """
        found = verdict_dict(self.verdict, self.parts)
        found |= {
            "assumed_prefix": self.assumed_prefix,
            "same_bytes": list(self.same_bytes),
            "asked": list(self.asked),
            "index": self.index,
            "note": self.note,
            "message": self.message,
            "sampled_out": None if self.sampled_out is None else {
                "by": self.sampled_out.by, "rank": self.sampled_out.rank,
                "probability": self.sampled_out.probability,
                "threshold": self.sampled_out.threshold,
            },
            "over_budget": None if self.over_budget is None else {
                "needs": self.over_budget.needs, "remain": self.over_budget.remain,
            },
        }  # fmt: skip
        if not lazy:
            return found
        found |= {
            "after": None if self.after is None else list(self.after),
            "earlier": None if self.earlier is None else {
                "position": self.earlier.position, "chosen": self.earlier.chosen,
            },
            "nearest": list(self.nearest),
            "widening": None if self.widening is None else {
                "pattern": self.widening.pattern, "start": self.widening.start,
                "end": self.widening.end, "replacement": self.widening.replacement,
                "changed": self.widening.changed,
            },
            "completion": None if self.completion is None else {
                "tokens": list(self.completion.tokens), "text": show_text(self.completion.text),
                "forced": show_text(self.completion.forced),
            },
            "paragraph": self.paragraph,
        }  # fmt: skip
        return found

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        from explorer.analysis.markup import explanation_html

        return {"text/plain": self.paragraph, "text/html": explanation_html(self)}


@dataclass(frozen=True, eq=False)
class TextExplanation:
    """Whether a constraint accepts a text, and where it stops if not; no tokenizer takes part.

    Args:
        constraint: The constraint.
        verdict: `allowed` for a word, `end_of_text` for the beginning of one, else `constraint`.
        parts: What of the source decides.
    """

    constraint: Constraint
    verdict: Verdict
    parts: tuple[Part, ...]

    @property
    def allowed(self) -> bool:
        """Whether the text is a word."""
        return self.verdict.allowed

    @property
    def stage(self) -> Stage:
        """What decided."""
        return self.verdict.stage

    @property
    def byte_offset(self) -> int | None:
        """The first byte that no word has there."""
        return self.verdict.byte_offset

    @property
    def char_offset(self) -> int | None:
        """The character that it lies in."""
        return self.verdict.char_offset

    @property
    def expected(self) -> bytes:
        """The bytes that may stand there, or after the text."""
        return self.verdict.expected

    @cached_property
    def message(self) -> str:
        """One line for a log."""
        return headline(self.verdict, self.parts, None)

    @cached_property
    def paragraph(self) -> str:
        """The message and the pattern."""
        marked = [text for part in self.parts if (text := underlined(part))]
        return "\n".join([self.message, *marked])

    def __str__(self) -> str:
        return self.paragraph

    def to_dict(self) -> dict[str, object]:
        """Everything as plain values for JSON."""
        return verdict_dict(self.verdict, self.parts) | {"message": self.message}

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        from explorer.analysis.markup import text_html

        return {"text/plain": self.paragraph, "text/html": text_html(self)}


def explain(
    dfa: TokenDFA,
    state: int,
    token: int | str,
    *,
    text: str | bytes | None = None,
    probabilities: NDArray[np.floating] | None = None,
    history: History | None = None,
) -> Explanation:
    """Why a token may come next in a state, or may not.

    Args:
        dfa: The token DFA.
        state: A state or a sentinel.
        token: An id, in the vocabulary or not; or a text, which the tokenizer splits: the first of
            its tokens that is masked is explained, else the last.
        text: What was read so far. Without it, a shortest text that leads to the state.
        probabilities: float[width], the model's, so that `Explanation.nearest` knows them.
        history: The path to the state, for `Explanation.earlier`.

    Raises:
        ExplorerError: There is no such state, the text does not lead to it, or nothing was asked.
    """
    machine = machine_of(dfa)
    prefix, assumed = _prefix(dfa, machine, state, text)
    if isinstance(token, int):
        asked: tuple[int, ...] = (token,)
        note = ""
    else:
        asked, note = ids_of_text(dfa, token)
    index = 0
    here = state
    while index < len(asked) - 1:
        following = dfa.step(here, asked[index])
        if following is None:
            break
        prefix += dfa.vocabulary.tokens[asked[index]] or b""
        here = following
        index += 1
    verdict = judge(dfa, machine, here, asked[index], prefix)
    data = verdict.data
    same = () if data is None else dfa.vocabulary.ids_of(data)
    if history is not None and index:
        steps = dfa.walk(asked[:index], state)
        history = History((*history.states, *steps[1:]), (*history.tokens, *asked[:index]))
    return Explanation(
        dfa,
        verdict,
        parts_of(dfa.constraint, verdict),
        assumed,
        tuple(other for other in same if other != asked[index]),
        asked,
        index,
        note,
        probabilities,
        history,
    )


def explain_text(constraint: Constraint, text: str | bytes) -> TextExplanation:
    """Whether a constraint accepts a text, and where it stops if not.

    Args:
        constraint: The constraint.
        text: Any text, or bytes.

    Example:
        >>> from explorer.automata.constraint import regex
        >>> why = explain_text(regex("[0-9]+-[0-9]+"), "12x")
        >>> print(why.message.split("; expected")[0])
        '12x' is not accepted: reads '12', then expects - or 0-9; the text then writes x
        >>> why.parts[0].spans
        ((0, 5), (6, 7))
    """
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    verdict = judge_text(constraint.dfa, data)
    return TextExplanation(constraint, verdict, parts_of(constraint, verdict))


def ids_of_text(dfa: TokenDFA, text: str) -> tuple[tuple[int, ...], str]:
    """The ids that a text is asked about with, and a note on how it became them.

    The tokenizer's own, where it writes just this text. Where it adds to it (a leading space, say),
    or where there is no tokenizer, the id with just these bytes, else the fewest tokens.

    Raises:
        ExplorerError: The text is empty, or no tokens write it.
    """
    vocabulary = dfa.vocabulary
    if not text:
        raise ExplorerError("An empty text is no token.", remedy="Give at least one character.")
    data = text.encode(errors="surrogatepass")
    ids = vocabulary.encode(text)
    written = None
    if ids is not None:
        written = b"".join(vocabulary.tokens[token] or b"" for token in ids)
        if ids and written == data:
            return ids, ""
    note = (
        "No tokenizer is at hand to split the text; "
        if ids is None
        else f"The tokenizer would write {show_text(written or b'')} for it; "
    )
    if same := vocabulary.ids_of(data):
        return same[:1], "" if ids is None else f"{note}this is the id with just these bytes."
    fewest = _fewest(dfa, data)
    if fewest is None:
        raise ExplorerError(
            f"No tokens of this vocabulary write {text!r}.",
            remedy="Ask about a text that the tokenizer can write, or about an id.",
            evidence={"text": text},
        )
    return fewest, f"{note}these are the fewest tokens that write it."


def _fewest(dfa: TokenDFA, data: bytes) -> tuple[int, ...] | None:
    """The fewest tokens that write some bytes; longer ones first where there is a choice."""
    longest = machine_of(dfa).trie.max_depth
    best: list[tuple[int, tuple[int, ...]] | None] = [None] * (len(data) + 1)
    best[len(data)] = (0, ())
    for begin in range(len(data) - 1, -1, -1):
        for end in range(min(len(data), begin + longest), begin, -1):
            rest = best[end]
            known = best[begin]
            if rest is None or (known is not None and known[0] <= rest[0] + 1):
                continue
            if ids := dfa.vocabulary.ids_of(data[begin:end]):
                best[begin] = (rest[0] + 1, (ids[0], *rest[1]))
    found = best[0]
    return None if found is None else found[1]


def _prefix(
    dfa: TokenDFA, machine: Machine, state: int, text: str | bytes | None
) -> tuple[bytes, bool]:
    """The text before the token, and whether it was made up."""
    dfa.is_final(state)  # Raises where there is no such state.
    if text is None:
        return (machine.text_to(dfa, state), True) if state > 0 else (b"", state < DEAD)
    given = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if state >= 0:
        reached = int(run(machine.char_dfa, machine.char_dfa.start, given)[-1])
        wanted = int(dfa.char_state[state])
        if reached != wanted:
            if reached == NO_ARC:
                where = f"the constraint rejects it. {explain_text(dfa.constraint, given).message}"
            else:
                where = f"it leads to {reached}."
            raise ExplorerError(
                f"The text {show_text(given)} does not lead to state {state}, which is the "
                f"character state {wanted}: {where}",
                remedy="Give the text that was written, or leave it out.",
                evidence={"text": given, "state": state, "char_state": reached},
            )
    return given, False


def parts_of(constraint: Constraint, verdict: Verdict) -> tuple[Part, ...]:
    """What of the source decides; nothing where the constraint has no say."""
    if verdict.char_state == NO_ARC or verdict.stage not in (
        "constraint", "end_of_text", "dead_end", "allowed",
    ):  # fmt: skip
        return ()
    byte = verdict.failing_byte
    if byte is None and verdict.stage in ("allowed", "dead_end"):
        # What comes next, not what forbids: only the positions.
        begin = verdict.char_begin
        found = parts(constraint.source, constraint.dfa, verdict.read, None, begin)
        return tuple(part for part in found if part.role == "expects")
    return parts(constraint.source, constraint.dfa, verdict.read, byte, verdict.char_begin)


def _sampler_clause(found: SampledOut) -> str:
    match found.by:
        case "greedy":
            what = f"greedy decoding takes the likeliest, and it is number {found.rank}"
        case "min_p":
            what = (
                f"min-p keeps a probability of {found.threshold:.3g} or more, and it has "
                f"{found.probability:.3g}"
            )
        case _:
            what = (
                f"{found.by.replace('_', '-')} keeps {int(found.threshold):,} tokens here, and "
                f"it is number {found.rank:,} with a probability of {found.probability:.3g}"
            )
    return f"The sampler removes it: {what}."


def verdict_dict(verdict: Verdict, found: Sequence[Part]) -> dict[str, object]:
    """A verdict and its parts as plain values."""
    return {
        "stage": verdict.stage,
        "allowed": verdict.allowed,
        "token": verdict.token,
        "data": None if verdict.data is None else verdict.data.hex(),
        "prefix": verdict.prefix.hex(),
        "text": verdict.prefix.decode(errors="replace"),
        "state": verdict.state,
        "char_state": verdict.char_state,
        "byte_offset": verdict.byte_offset,
        "char_offset": verdict.char_offset,
        "expected": list(verdict.expected),
        "writable": None if verdict.writable is None else list(verdict.writable),
        "expected_characters": show_characters(verdict.expected_chars),
        "mid_character": verdict.mid_character,
        "walk": [[move.byte, move.before, move.after] for move in verdict.walk],
        "dead_end": None if verdict.dead_end is None else {
            "witness": show_text(verdict.dead_end.witness), "offset": verdict.dead_end.offset,
        },
        "parts": [
            {
                "role": part.role,
                "source": str(part.source),
                "path": list(part.path),
                "positions": [
                    {"start": p.start, "end": p.end, "text": p.text} for p in part.positions
                ],
                "words": [show_text(word) for word in part.words],
                "state": part.state,
                "assertion": part.assertion,
            }
            for part in found
        ],
    }  # fmt: skip


def with_limits(
    explanation: Explanation, sampled_out: SampledOut | None, over_budget: OverBudget | None
) -> Explanation:
    """The same explanation with what a session's sampler and budget say."""
    return replace(explanation, sampled_out=sampled_out, over_budget=over_budget)
