"""Writes a trace as versioned JSON; `explorer.decoding.trace.reading` reads it back.

Derived values are not stored: texts and sums of log-probabilities follow from the tokens, so they
cannot disagree. Distinct rows over token classes are stored once, together, and a position names
its row by number. A checksum over the content at the end detects a value that was changed to
another valid one. It is not a signature: anyone who writes a file can compute its checksum. The
fields are those of `explorer.decoding.trace.form`.

Version 2 added the checksum and the numbers of states.

Size at 131,072 tokens: about 1.2 kB a step and 10 to 150 kB for the token classes. A thousand
steps of a JSON constraint take 1.3 MB.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Final, cast

import msgspec

from explorer.decoding.trace.form import (
    KIND,
    VERSION,
    CandidatesForm,
    ConstraintForm,
    DistributionForm,
    HexForm,
    PositionForm,
    ProposalForm,
    RejectionForm,
    SamplerForm,
    StepForm,
    TimingForm,
    TokensForm,
    TraceForm,
    finite,
    form_of,
)
from explorer.decoding.trace.recording import MaskRows, MentionedTokens, Recording
from explorer.decoding.trace.records import Candidate, Position, Step, TokenDistribution
from explorer.errors import ExplorerError
from explorer.files import holds_at_most

MOST_BYTES: Final = 2**28
"""The most bytes of a document, and of its unpacked rows."""

MOST_VALUES: Final = 2**23
"""The most values of a document: about forty thousand steps with ten candidates each."""


def to_json(trace: Recording) -> bytes:
    """The JSON document of a trace, in UTF-8.

    Raises:
        ExplorerError: It is too long to be read back.
    """
    document = cast("dict[str, object]", msgspec.to_builtins(_trace_form(trace)))
    document["sha256"] = checksum(document)
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    data = text.encode("utf-8")
    if len(data) > MOST_BYTES or not holds_at_most(data, MOST_VALUES):
        raise ExplorerError(
            f"A trace of {len(trace.steps):,} steps, {len(data):,} bytes, is too long to be read "
            f"back.",
            remedy="Save a shorter run, or one with fewer candidates (Session(top_k=...)).",
            evidence={"bytes": len(data), "limit": MOST_BYTES},
        )
    return data


def checksum(document: Mapping[str, object]) -> str:
    """The SHA-256 of a document's content in hexadecimal, regardless of layout and key order.

    Example:
        >>> checksum({"a": 1, "b": 2}) == checksum({"b": 2, "a": 1, "sha256": "..."})
        True
    """
    content = {key: value for key, value in document.items() if key != "sha256"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def pack_bytes(data: bytes) -> str:
    """Bytes as a string: compressed with zlib, then encoded in base64."""
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def _trace_form(trace: Recording) -> TraceForm:
    rejection = trace.rejection
    return form_of(
        TraceForm,
        trace,
        kind=KIND,
        version=VERSION,
        tokens=_tokens_form(trace.tokens),
        sampler=form_of(SamplerForm, trace.sampler),
        constraint=None if trace.masks is None else _constraint_form(trace, trace.masks),
        positions=tuple(_position_form(position, trace.masks) for position in trace.positions),
        steps=tuple(_step_form(step) for step in trace.steps),
        rejection=None if rejection is None else RejectionForm(rejection.token, trace.unread),
        sha256="",
    )


def _tokens_form(tokens: MentionedTokens) -> TokensForm:
    def written(data: bytes | None) -> str | HexForm | None:
        if data is None:
            return None
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return HexForm(data.hex())

    return form_of(
        TokensForm,
        tokens,
        data={str(token): written(data) for token, data in tokens.data.items()},
        special={str(token): name for token, name in tokens.special.items()},
    )


def _constraint_form(trace: Recording, masks: MaskRows) -> ConstraintForm:
    return form_of(
        ConstraintForm,
        masks,
        source=trace.source,
        num_states=trace.num_states,
        num_char_states=trace.num_char_states,
        token_class=pack_bytes(masks.class_bytes),
        num_rows=len(masks.rows),
        rows=pack_bytes(b"".join(masks.rows)),
    )


def _position_form(position: Position, masks: MaskRows | None) -> PositionForm:
    distribution = position.distribution
    return form_of(
        PositionForm,
        position,
        row=None if masks is None else masks.row_of[position.index],
        kept_row=None if masks is None else masks.kept_row_of[position.index],
        distribution=None if distribution is None else _distribution_form(distribution),
    )


def _step_form(step: Step) -> StepForm:
    proposal = step.proposal
    return form_of(
        StepForm,
        step,
        proposal=None if proposal is None else form_of(ProposalForm, proposal),
    )


def _distribution_form(distribution: TokenDistribution) -> DistributionForm:
    return form_of(
        DistributionForm,
        distribution,
        candidates=_columns(distribution.candidates),
        timing=form_of(TimingForm, distribution.timing),
    )


def _columns(candidates: tuple[Candidate, ...]) -> CandidatesForm:
    return CandidatesForm(
        **{
            name: tuple(finite(getattr(candidate, name)) for candidate in candidates)
            for name in CandidatesForm.__struct_fields__
        }
    )
