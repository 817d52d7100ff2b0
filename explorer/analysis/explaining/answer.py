"""The base of every answer: the fields of its verdict, its words, and its forms for display.

With a vocabulary the answer is an `explorer.analysis.explaining.explanation.Explanation`, which
also searches; without one it is a `TextExplanation`: whether a constraint accepts a text, and where
it fails if not. Both use the same words, which are made here.

As HTML the pattern has its live part underlined, and the token is a row of boxes. Every piece of
text from a vocabulary, a constraint or a user goes through `html.escape`: vocabularies hold tags.
Colours follow the notebook's theme where there is one, and nothing is said by colour alone: a byte
that was read has a solid box, the one that fails a double one and a cross, those after it a dotted
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Final

from explorer.alphabet import show_bytes, shown_letters, without_letters
from explorer.analysis.characters.display import show_character, show_characters, show_text
from explorer.analysis.places.deciding import deciding_parts
from explorer.analysis.places.spans import MarkedText, SourcePart
from explorer.analysis.places.widening import Cause, cause_of
from explorer.analysis.verdict.asked import as_bytes
from explorer.analysis.verdict.background import ASKED
from explorer.analysis.verdict.verdict import Stage, Verdict, judge_text
from explorer.analysis.wording.sentences import Said, message, prose, reason
from explorer.analysis.wording.words import Names, title, underlined
from explorer.automata.discovered.discovered import apart
from explorer.budget import Meter
from explorer.errors import BudgetExceeded
from explorer.languages.constraint import Constraint, GivenConstraint


@dataclass(frozen=True, eq=False)
class Answered:
    """A verdict with the parts of the source that decide it, and its words.

    Args:
        verdict: The stage and the evidence.
        parts: The parts of the constraint's source that decide.
        constraint: The constraint that the verdict is about.
        names: The vocabulary that names the token, or what a record knows of it; ``None`` for a
            text.
    """

    verdict: Verdict
    parts: tuple[SourcePart, ...]
    constraint: Constraint | None = field(repr=False)
    names: Names | None = field(repr=False)

    # The fields of the verdict.

    @property
    def allowed(self) -> bool:
        """Whether the constraint allows the token, or accepts the text."""
        return self.verdict.allowed

    @property
    def stage(self) -> Stage:
        """The stage that decided; see `explorer.analysis.verdict.verdict.STAGES`."""
        return self.verdict.stage

    @property
    def byte_offset(self) -> int | None:
        """The failing offset in the bytes; ``None`` where no byte fails."""
        return self.verdict.byte_offset

    @property
    def char_offset(self) -> int | None:
        """The number of whole characters before the failing one."""
        return self.verdict.char_offset

    @property
    def expected(self) -> bytes:
        """The bytes that may stand at the failing offset, or after the token."""
        return self.verdict.expected

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The live spans in the constraint's own text; see `parts` for those in its parts."""
        return tuple(span for part in self.parts if not part.path for span in part.spans)

    # In words. Subclasses override these properties to add what they know beyond the verdict.

    @property
    def assumed_prefix(self) -> bool:
        """Whether the text before the token is only an example."""
        return False

    @property
    def limits(self) -> tuple[str, ...]:
        """The sentences about a sampler or a token budget that rules the token out."""
        return ()

    @property
    def offered(self) -> bytes:
        """The bytes of the token and of the text asked about after it, or of the text."""
        return self.verdict.data or b""

    @cached_property
    def cause(self) -> Cause | None:
        """The everyday cause, with the change that would allow the token; ``None`` if none helps.

        The causes are white space, the order of properties, an unknown property, escapes, a
        keyword of the schema, and a leading space, a code fence or a block of reasoning before the
        answer.
        """
        return cause_of(self.constraint, self.verdict, self.parts, self.offered)

    @property
    def _everyday(self) -> Cause | None:
        return self.cause if self.cause is not None and self.cause.is_everyday else None

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """Further remarks, one sentence each."""
        return ()

    @property
    def _lines(self) -> list[str]:
        """The title, the everyday cause, and the reason."""
        cause = [] if self._everyday is None else [str(self._everyday)]
        return [f"{self.title}.", *cause, self.prose]

    @cached_property
    def _said(self) -> Said:
        return reason(self.verdict, self.names, self.parts)

    @cached_property
    def message(self) -> str:
        """One line for a log: the question, the reason, and its place in the source."""
        line = message(self.verdict, self.parts, self.title, self._said[0])
        return " ".join([line, *self.limits])

    @cached_property
    def prose(self) -> str:
        """The reason in plain sentences, without the token's name at the start."""
        return " ".join([prose(self.verdict, self.parts, self._said[1]), *self.limits])

    @cached_property
    def title(self) -> str:
        """The question and the decision, without a full stop."""
        return title(self.verdict, self.names, assumed=self.assumed_prefix)

    @cached_property
    def paragraph(self) -> str:
        """The explanation in some lines: title, prose, pattern, and remedies."""
        return "\n".join([*self._lines, *self._patterns, *self.hints])

    @property
    def _patterns(self) -> Sequence[str]:
        # Several parts of one pattern may be live at the same spans.
        return list(dict.fromkeys(text for part in self.parts for text in underlined(part)))

    def __str__(self) -> str:
        return self.paragraph

    def to_dict(self) -> dict[str, object]:
        """The verdict, the parts and the words as plain values for JSON."""
        return verdict_dict(self.verdict, self.parts) | {
            "message": self.message, "prose": self.prose,
        }  # fmt: skip

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        shown = answer_html(self.verdict, self._lines, self.parts, self.hints)
        return {"text/plain": self.paragraph, "text/html": shown}


def verdict_dict(verdict: Verdict, parts: Sequence[SourcePart]) -> dict[str, object]:
    """A verdict and its parts as plain values."""
    return {
        "stage": verdict.stage,
        "allowed": verdict.allowed,
        "token": verdict.token,
        "data": None if verdict.data is None else verdict.data.hex(),
        "prefix": verdict.prefix.hex(),
        "text": shown_letters(verdict.prefix),
        "state": verdict.state,
        "ended_by": verdict.ended_by,
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
                    {"start": p.start, "end": p.end, "text": p.text, "label": p.label}
                    | ({"phases": list(p.phases)} if p.phases else {})
                    for p in part.positions
                ],
                "words": [show_text(word) for word in part.words],
                "state": part.state,
                "assertion": part.assertion,
            }
            for part in parts
        ],
    }  # fmt: skip


@dataclass(frozen=True, eq=False)
class TextExplanation(Answered):
    """The explanation of a text under a constraint, or of a recorded token.

    Made by `explain_text` and by `explorer.analysis.explaining.step.explain_recorded`. For a text
    the stage is `allowed` for a word of the constraint, `end_of_text` for a prefix of one,
    else `constraint`.

    Args:
        over_budget: For a recorded token: whether only the token budget masks it.
    """

    over_budget: bool = False

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """A remark where the text spells the name of a control token of the constraint."""
        if self.allowed or self.names is not None or self.constraint is None:
            return ()
        text = without_letters(self.offered)
        named = [each for each in self.constraint.source.control_tokens if isinstance(each, str)]
        return tuple(
            f"In a text {name} is letters, and the constraint asks for the control token: give "
            "the bytes that Vocabulary.written(ids) makes of its id."
            for name in named
            if name.encode() in text
        )

    @property
    def limits(self) -> tuple[str, ...]:
        """The sentence about the token budget, if it rules the token out."""
        return ("It does not fit into the token budget.",) if self.over_budget else ()


def explain_text(constraint: GivenConstraint, text: str | bytes) -> TextExplanation:
    """Explain whether a constraint accepts a text, and where it fails if not.

    Args:
        constraint: A `Constraint`, a type or a ``response_format``, as for `explorer.compile`.
        text: A text, in which the name of a control token is letters; or bytes, in which control
            tokens stand as `Vocabulary.written` spells them.

    Raises:
        ExplorerError: An argument is not a constraint, or not a text.

    Example:
        >>> from explorer.languages.constraint import regex
        >>> why = explain_text(regex("[0-9]+-[0-9]+"), "12x")
        >>> print(why.prose)
        It starts well: '12'. Then the constraint expects '-' or 0-9; the text writes x.
        >>> why.spans
        ((0, 5), (6, 7))
    """
    if not isinstance(constraint, Constraint):
        from explorer.languages.types.source import as_constraint

        constraint = as_constraint(constraint)
    data = as_bytes(text)
    machine = apart(constraint.machine, Meter(ASKED))
    verdict = judge_text(machine, data)
    parts: tuple[SourcePart, ...] = ()
    with suppress(BudgetExceeded):  # The verdict is known; its place in the source is not.
        parts = deciding_parts(constraint, verdict, machine)
    return TextExplanation(verdict, parts, constraint, None)


_BLUE: Final = "#0072B2"
_RED: Final = "#D55E00"
_MONO: Final = "font-family:var(--jp-code-font-family,monospace)"
_BOX: Final = "display:inline-block;padding:0 .3em;margin:1px;text-align:center;"

MOST_BYTES: Final = 64
"""The most bytes of a token that are drawn."""


def pattern_html(shown: MarkedText) -> str:
    """A text of the constraint with its live positions underlined."""
    pattern = shown.text
    marked = [any(start <= k < end for start, end in shown.spans) for k in range(len(pattern))]
    pieces: list[str] = []
    begin = 0
    for k in range(1, len(pattern) + 1):
        if k == len(pattern) or marked[k] != marked[begin]:
            text = escape(pattern[begin:k])
            if marked[begin]:
                text = (
                    f'<span style="text-decoration:underline;text-decoration-thickness:3px;'
                    f'font-weight:bold">{text}</span>'
                )
            pieces.append(text)
            begin = k
    return f'<div style="{_MONO};white-space:pre-wrap">{"".join(pieces)}</div>'


def boxes_html(verdict: Verdict) -> str:
    """The token's characters over its bytes, up to the byte that failed."""
    data = verdict.data or b""
    cells: list[str] = []
    k = 0
    while k < min(len(data), MOST_BYTES):
        end = k + 1
        while end < len(data) and 0x80 <= data[end] < 0xC0:
            end += 1
        try:
            shown = show_character(ord(data[k:end].decode()))
        except (UnicodeDecodeError, TypeError):
            shown = "half a character"
        inner = "".join(_byte(verdict, at, data[at]) for at in range(k, end))
        cells.append(
            f'<span style="{_BOX}vertical-align:top"><span>{escape(shown)}</span><br>{inner}</span>'
        )
        k = end
    if not cells:
        return ""
    return f'<div style="{_MONO}">{"".join(cells)}</div>'


def _byte(verdict: Verdict, at: int, byte: int) -> str:
    failed = verdict.byte_offset
    if failed is None or at < failed:
        style, mark = f"border:1px solid {_BLUE}", ""
    elif at == failed:
        style, mark = f"border:3px double {_RED}", "✗"
    else:
        style, mark = "border:1px dotted currentColor;opacity:.6", ""
    return f'<span style="{_BOX}{style}">{escape(show_bytes(bytes([byte])))}{mark}</span>'


def answer_html(
    verdict: Verdict, lines: Sequence[str], parts: Sequence[SourcePart], hints: Sequence[str]
) -> str:
    """The rich display of an answer."""
    said = "".join(f"<div>{escape(line)}</div>" for line in lines)
    patterns = "".join(
        dict.fromkeys(pattern_html(shown) for part in parts for shown in part.marked)
    )
    more = "".join(f"<div>{escape(line)}</div>" for line in hints)
    return f'<div style="line-height:1.6">{said}{boxes_html(verdict)}{patterns}{more}</div>'
