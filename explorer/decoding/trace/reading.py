"""Reads a saved trace from an untrusted file.

Nothing in the file is executed, and every size is checked before memory is allocated. `msgspec`
reads the document by its schema (`explorer.decoding.trace.form`): types, ranges, exact keys. Then
the checksum refuses a file whose values were changed. A checksum can be forged, so what later work
uses as an index, a size or a key is checked as well; an error names the place. A forger can still
store a trace that says of a run what did not happen.

Cost: 0.3 s for a thousand steps of a JSON constraint at 131,072 tokens.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping
from contextlib import suppress
from itertools import accumulate
from typing import Any, Final, cast

import msgspec
import numpy as np

from explorer.automata.machine import NO_ARC
from explorer.decoding.models.arguments import LAST_SEED
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.form import (
    KIND,
    VERSION,
    CandidatesForm,
    ConstraintForm,
    DistributionForm,
    Faults,
    HexForm,
    PositionForm,
    StepForm,
    TokensForm,
    TraceForm,
    form_fields,
    number,
)
from explorer.decoding.trace.recording import (
    MaskRows,
    MentionedTokens,
    Rejection,
    bytes_per_class,
)
from explorer.decoding.trace.records import (
    Candidate,
    Position,
    Proposal,
    Step,
    Timing,
    TokenDistribution,
    WrittenText,
    added,
)
from explorer.decoding.trace.writing import MOST_BYTES, MOST_VALUES, checksum
from explorer.errors import DamagedFile, ExplorerError
from explorer.files import holds_at_most, parse_json
from explorer.languages.sources.serial import source_from_dict
from explorer.tokens.words import DEAD, DONE, FREE, NUM_FIXED_CLASSES

_UNFIT: Final = (ExplorerError, LookupError, TypeError, ValueError, AttributeError)
"""The errors that a part of a trace raises if it is made from impossible values."""


def fields_of_json(data: bytes, file: str) -> dict[str, Any]:
    """The fields of the trace of a document (`explorer.decoding.trace.recording.Recording`).

    Raises:
        DamagedFile: It is of another kind or version, too long, or damaged; the place is named.
    """
    if len(data) > MOST_BYTES or not holds_at_most(data, MOST_VALUES):
        raise DamagedFile(
            f"{file} has more than {MOST_BYTES:,} bytes, or more than {MOST_VALUES:,} values.",
            remedy="Save a shorter run, or take an undamaged copy.",
            evidence={"file": file, "place": "", "limit": MOST_BYTES},
        )
    faults = Faults(file)
    try:
        _check_version(msgspec.json.decode(data, type=_Head), faults)
        form = msgspec.json.decode(data, type=TraceForm)
        # The form is right, so the document takes no more memory than the trace.
        content = checksum(cast("dict[str, object]", parse_json(data, MOST_VALUES)))
    except DamagedFile:
        raise
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise faults.of_form(error) from error
    if form.sha256 != content:
        wanted = f"{content}, the checksum of the content: a value was changed after it was written"
        raise faults.at("sha256", form.sha256, wanted)
    try:
        return _fields(form, faults)
    except DamagedFile:
        raise
    except _UNFIT as error:
        reason = error.message if isinstance(error, ExplorerError) else str(error)
        raise faults.of_form(ValueError(f"its parts do not fit together: {reason}")) from error


class _Head(msgspec.Struct):
    """The fields that decide whether the rest can be read."""

    kind: str = ""
    version: int = 0


def _check_version(head: _Head, faults: Faults) -> None:
    faults.check(head.kind == KIND, "kind", head.kind, f"a trace: {KIND!r}")
    if head.version != VERSION:
        raise DamagedFile(
            f"{faults.file}: version is {head.version}; this release reads version {VERSION}.",
            remedy="Read it with the release that wrote it, or make the trace again.",
            evidence={"file": faults.file, "place": "version", "version": head.version},
        )


def _fields(form: TraceForm, faults: Faults) -> dict[str, Any]:
    count, given, rejected = len(form.steps), form.constraint, form.rejection
    wanted = f"one of {count + 1}, one more than there are steps"
    held = len(form.positions)
    faults.check(held == count + 1, "positions", f"a list of {held}", wanted)
    faults.within(0, LAST_SEED, "seed", form.seed)
    tokens = _mentioned_tokens(form.tokens, faults)
    for k, step in enumerate(form.steps):
        known = step.token in tokens.data
        faults.check(known, f"steps[{k}].token", step.token, "an id among `tokens.data`")
    data = [tokens.data[step.token] or None for step in form.steps]
    texts = accumulate(data, WrittenText.plus, initial=WrittenText())
    by_model = accumulate((_sum_of(s.log_prob_model) for s in form.steps), added, initial=0.0)
    constrained = accumulate(
        (_sum_of(s.log_prob_constrained) for s in form.steps), added, initial=0.0
    )
    positions = tuple(
        _position(position, k, written, log_prob, log_prob_constrained)
        for k, (position, written, log_prob, log_prob_constrained) in enumerate(
            zip(form.positions, texts, by_model, constrained, strict=True)
        )
    )
    _check_states(form, faults)
    last = positions[-1]
    return {
        **form_fields(form, "kind", "version", "constraint", "sha256"),
        "tokens": tokens,
        "sampler": Sampler(**form_fields(form.sampler)),
        "positions": positions,
        "steps": tuple(map(_step, form.steps, data, positions)),
        "rejection": None if rejected is None else Rejection(count, rejected.token, last.state),
        "unread": () if rejected is None else rejected.unread,
        "source": None if given is None else _source(given, faults),
        "num_states": 0 if given is None else given.num_states,
        "num_char_states": 0 if given is None else given.num_char_states,
        "masks": None if given is None else _masks(given, form.positions, tokens.size, faults),
    }


def _sum_of(value: object) -> float | None:
    return cast("float | None", number(value))


def _mentioned_tokens(form: TokensForm, faults: Faults) -> MentionedTokens:
    for k, token in enumerate(form.eos_ids):
        faults.within(0, form.size - 1, f"tokens.eos_ids[{k}]", token)

    def data_of(entry: str | HexForm | None) -> bytes | None:
        if isinstance(entry, HexForm):
            return bytes.fromhex(entry.hex)
        return None if entry is None else entry.encode()  # An empty text: an empty token.

    return MentionedTokens(
        **form_fields(form, "data", "special"),
        data={int(key): data_of(entry) for key, entry in form.data.items()},
        special={int(key): name for key, name in form.special.items()},
    )


def _check_states(form: TraceForm, faults: Faults) -> None:
    """Check that positions are in states of the machine, or without one in none."""
    given = form.constraint
    states, char_states = (0, 0) if given is None else (given.num_states, given.num_char_states)
    for k, position in enumerate(form.positions):
        place = f"positions[{k}]"
        lowest = min(DEAD, DONE, FREE)
        faults.within(lowest, max(states - 1, -1), f"{place}.state", position.state)
        highest = max(char_states - 1, NO_ARC)
        faults.within(NO_ARC, highest, f"{place}.char_state", position.char_state)


def _position(
    form: PositionForm, index: int, written: WrittenText, log_prob: float | None,
    log_prob_constrained: float | None,
) -> Position:  # fmt: skip
    distribution = form.distribution
    return Position(
        **form_fields(form, "row", "kept_row", "distribution"),
        index=index,
        written=written,
        log_prob_model=log_prob,
        log_prob_constrained=log_prob_constrained,
        distribution=None if distribution is None else _distribution(distribution),
    )


def _distribution(form: DistributionForm) -> TokenDistribution:
    return TokenDistribution(
        **form_fields(form, "candidates", "timing"),
        candidates=_candidates(form.candidates),
        timing=Timing(**form_fields(form.timing)),
    )


def _candidates(form: CandidatesForm) -> tuple[Candidate, ...]:
    columns = form_fields(form)
    return tuple(
        Candidate(**{name: number(value) for name, value in zip(columns, values, strict=True)})
        for values in zip(*columns.values(), strict=True)
    )


def _step(form: StepForm, data: bytes | None, before: Position) -> Step:
    made = form.proposal
    return Step(
        **{name: number(value) for name, value in form_fields(form, "proposal").items()},
        proposal=None if made is None else Proposal(**form_fields(made)),
        data=data,
        before=before,
    )


def _source(form: ConstraintForm, faults: Faults) -> Mapping[str, object]:
    place, source, expected = "constraint.source", None, "the source of a constraint"
    try:
        source = parse_json(bytes(form.source))
        faults.check(isinstance(source, dict), place, source, expected)
        source_from_dict(cast("dict[str, object]", source))
    except _UNFIT as error:
        # The remedy of a source's error does not help with a damaged file.
        reason = error.message if isinstance(error, ExplorerError) else str(error)
        raise faults.at(place, source, f"{expected}: {reason}".rstrip(".")) from error
    return cast("dict[str, object]", source)


def _masks(
    form: ConstraintForm, positions: tuple[PositionForm, ...], size: int, faults: Faults
) -> MaskRows:
    """The masks of all positions; the sizes are checked before anything is unpacked."""

    def unpacked(name: str, text: str, length: int) -> bytes:
        """The bytes packed by `explorer.decoding.trace.writing.pack_bytes`."""
        unpacker, data = zlib.decompressobj(), b""
        with suppress(binascii.Error, zlib.error, ValueError):
            # One byte more than expected detects excess without unpacking a bomb.
            data = unpacker.decompress(base64.b64decode(text, validate=True), length + 1)
        whole = len(data) == length and unpacker.eof and not unpacker.unused_data
        faults.check(whole, f"constraint.{name}", text, f"{length} bytes as zlib and base64")
        return data

    # Each class has a token, except perhaps the fixed classes; a position has at most two rows.
    most = size + NUM_FIXED_CLASSES
    faults.within(NUM_FIXED_CLASSES, most, "constraint.num_classes", form.num_classes)
    each, width = bytes_per_class(form.num_classes), (form.num_classes + 7) // 8
    faults.within(each, each, "constraint.bytes_per_class", form.bytes_per_class)
    most = min(2 * len(positions), MOST_BYTES // width)
    faults.within(1, most, "constraint.num_rows", form.num_rows)
    classes = unpacked("token_class", form.token_class, each * size)
    packed = unpacked("rows", form.rows, width * form.num_rows)
    rows = tuple(packed[k : k + width] for k in range(0, len(packed), width))
    for k, position in enumerate(positions):
        for name, row in (("row", position.row), ("kept_row", position.kept_row)):
            faults.within(0, len(rows) - 1, f"positions[{k}].{name}", row)
    row_of, kept_row_of = ([getattr(p, n) for p in positions] for n in ("row", "kept_row"))
    masks = MaskRows(form.num_classes, classes, rows, tuple(row_of), tuple(kept_row_of))
    numbers = masks.token_class()
    inside = 0 <= int(np.min(numbers)) <= int(np.max(numbers)) < form.num_classes
    wanted = f"classes below {form.num_classes}"
    faults.check(inside, "constraint.token_class", form.token_class, wanted)
    return masks
