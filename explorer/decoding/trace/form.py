"""The schema of a trace file: its fields with their types and ranges.

Every field is defined here once, with its type and its range; `msgspec` reads and checks them. A
field with the same name in a record (`explorer.decoding.trace.records`) is copied by name. Numbers
that depend on other fields, such as a state on the number of states, are checked when the document
is assembled (`explorer.decoding.trace.reading`).

`Faults` makes the errors for a damaged document: each names the place, a path such as
``positions[3].distribution.log_z``, the value there, and a remedy.

JSON has no infinity, so a log-probability of minus infinity is written ``"-inf"``; NaN never
occurs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeVar, cast

from msgspec import Meta, Raw, Struct

from explorer.decoding.trace.records import ChosenBy
from explorer.errors import DamagedFile
from explorer.tokens.words import NUM_FIXED_CLASSES
from explorer.vocabulary.reading import MAX_IDS

Kind = Literal["explorer.Trace"]
Version = Literal[2]
KIND: Final[Kind] = "explorer.Trace"
VERSION: Final[Version] = 2
"""The version of the schema, raised whenever an older file would be read wrongly."""

_MOST: Final = 2**31 - 1

Id = Annotated[int, Meta(ge=0, le=_MOST)]
Count = Annotated[int, Meta(ge=0, le=_MOST)]
Size = Annotated[int, Meta(ge=1, le=_MOST)]
LogProb = Annotated[float, Meta(le=1e-6)]
LogProbOrInf = LogProb | Literal["-inf"]
Bits = Annotated[float, Meta(ge=-1e-9, le=32.0)]
Milliseconds = Annotated[float, Meta(ge=0)]


class Form(Struct, frozen=True, forbid_unknown_fields=True):
    """The base of JSON objects with exactly the declared keys."""


class HexForm(Form, frozen=True):
    """The bytes of a token that are not UTF-8."""

    hex: str


class TokensForm(Form, frozen=True):
    """The form of `MentionedTokens`; the keys of ``data`` and ``special`` are ids."""

    fingerprint: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, Meta(ge=1, le=MAX_IDS)]
    eos_ids: Annotated[tuple[Id, ...], Meta(min_length=1)]
    data: dict[str, str | HexForm | None]
    special: dict[str, str]


class SamplerForm(Form, frozen=True):
    """The form of `Sampler`, which checks the ranges itself."""

    temperature: float
    top_k: int | None
    top_p: float | None
    min_p: float | None


class ConstraintForm(Form, frozen=True):
    """The form of the constraint and of the packed masks of all positions (`MaskRows`)."""

    source: Raw
    num_states: Size
    num_char_states: Size
    num_classes: Annotated[int, Meta(ge=NUM_FIXED_CLASSES, le=MAX_IDS + NUM_FIXED_CLASSES)]
    bytes_per_class: Literal[2, 4]
    token_class: str
    num_rows: Size
    rows: str


class CandidatesForm(Form, frozen=True):
    """The form of a list of `Candidate`, as columns of equal length."""

    token: tuple[Id, ...]
    allowed: tuple[bool, ...]
    model: tuple[LogProbOrInf, ...]
    filtered: tuple[LogProbOrInf, ...]
    constrained: tuple[LogProbOrInf, ...]


class TimingForm(Form, frozen=True):
    """The form of `Timing`."""

    model: Milliseconds
    mask: Milliseconds
    sampling: Milliseconds


class DistributionForm(Form, frozen=True, rename={"timing": "milliseconds"}):
    """The form of `TokenDistribution`."""

    log_z: Annotated[float, Meta(le=0)]
    entropy_before: Bits
    entropy_after: Bits
    kl: Annotated[float, Meta(ge=0)]
    num_drawable: Size
    first_choice: Id
    first_choice_log_prob: LogProb
    intervention: bool
    candidates: CandidatesForm
    timing: TimingForm
    computed: Count
    note: str


class PositionForm(Form, frozen=True):
    """The form of `Position` with its two rows; its text and its sums follow from the steps."""

    state: int
    char_state: int
    row: Count | None
    kept_row: Count | None
    num_allowed: Count
    over_budget: Count
    distribution: DistributionForm | None


class ProposalForm(Form, frozen=True):
    """The form of `Proposal`."""

    token: Id
    log_prob: LogProb
    accepted: bool


class StepForm(
    Form,
    frozen=True,
    omit_defaults=True,
    rename={
        "log_prob_model": "model",
        "log_prob_filtered": "filtered",
        "log_prob_constrained": "constrained",
    },
):
    """The form of `Step`; its bytes are those of its token."""

    token: Id
    chosen_by: ChosenBy
    log_prob_model: LogProbOrInf | None
    log_prob_filtered: LogProbOrInf | None
    log_prob_constrained: LogProbOrInf | None
    rank: Size | None
    uniform: Annotated[float, Meta(ge=0, lt=1)] | None
    proposal: ProposalForm | None = None
    role: str = ""


class RejectionForm(Form, frozen=True):
    """The form of `Rejection`: the id that is not allowed, of any size, and the ids after it."""

    token: int
    unread: tuple[int, ...]


class TraceForm(Form, frozen=True, omit_defaults=True):
    """The form of `Trace`, with the checksum of everything else at the end."""

    kind: Kind
    version: Version
    model: str | None
    prompt: str | tuple[dict[str, str], ...] | None
    prompt_ids: tuple[Id, ...]
    tokens: TokensForm
    sampler: SamplerForm
    seed: Annotated[int, Meta(ge=0)]
    stream: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    max_tokens: Size | None
    masking_budget: bool
    constraint: ConstraintForm | None
    positions: tuple[PositionForm, ...]
    steps: tuple[StepForm, ...]
    rejection: RejectionForm | None
    draft: str | None = None
    prefixed: Annotated[int, Meta(ge=0, le=_MOST)] = 0
    sha256: str = ""


F = TypeVar("F", bound=Form)


def form_of(kind: type[F], record: object, /, **others: Any) -> F:
    """The form of a record; fields that are not given are copied from it by name."""
    named = {name: others[name] if name in others else finite(getattr(record, name))
             for name in kind.__struct_fields__}  # fmt: skip
    return kind(**named)


def form_fields(form: Form, *but: str) -> Mapping[str, Any]:
    """The fields of a form by name, except some, for a record with the same names."""
    return {name: getattr(form, name) for name in form.__struct_fields__ if name not in but}


def finite(value: Any) -> Any:
    """A value for JSON: minus infinity becomes ``"-inf"``, others are unchanged."""
    return "-inf" if isinstance(value, float) and value == -math.inf else value


def number(value: Any) -> Any:
    """The number for a value from `finite`."""
    return -math.inf if value == "-inf" else value


_SHOWN: Final = 40
_SAVE_AGAIN: Final = "Save the trace again with this release, or take an undamaged copy."
_AT: Final = re.compile(r"(.*?)(?: - at (?:`key` in )?`\$\.?(.*)`)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Faults:
    """A factory for the errors of one document."""

    file: str

    def at(self, place: str, value: object, expected: str) -> DamagedFile:
        """The error for the value at a place.

        Args:
            place: The path from the top; empty for the whole document.
        """
        shown = f"{value!r}, "
        if len(shown) > _SHOWN:
            shown = f"{shown[: _SHOWN - 3]}…, "
        return DamagedFile(
            f"{self.file}: {place or 'the document'} is {shown}not {expected}.",
            remedy=_SAVE_AGAIN,
            evidence={"file": self.file, "place": place},
        )

    def check(self, holds: object, place: str, value: object, expected: str) -> None:
        """Raise the error for a value unless a condition holds."""
        if not holds:
            raise self.at(place, value, expected)

    def within(self, low: int, high: int, place: str, value: int | None) -> None:
        """Raise the error for a number outside ``low`` to ``high``, both included."""
        fits = value is not None and low <= value <= high
        self.check(fits, place, value, f"a whole number from {low} to {high}")

    def of_form(self, error: Exception) -> DamagedFile:
        """The error for what is not JSON, or for a value of the wrong type or out of range."""
        what, place = cast("re.Match[str]", _AT.fullmatch(str(error))).groups("")
        return DamagedFile(
            f"{self.file}: {place or 'the document'}: {what}.",
            remedy=_SAVE_AGAIN,
            evidence={"file": self.file, "place": place},
        )
