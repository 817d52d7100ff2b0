"""Reads a saved trace from an untrusted file.

Nothing in the file is executed, and every size is checked before memory is allocated. `msgspec`
reads the document by its schema (`explorer.decoding.trace.form`): types, ranges, exact keys. This
module checks the dependencies between parts: a token must have its bytes, a chosen token must be
allowed by its row, a row must allow as many ids as its position says, a state must be the same
wherever it occurs. An error names the place. The checksum comes last: it refuses a file whose
values are consistent but were changed.

Cost: 0.3 s for a thousand steps of a JSON constraint at 131,072 tokens.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

import msgspec
import numpy as np

from explorer.automata.machine import NO_ARC, Bool, Int32
from explorer.decoding.models.arguments import LAST_ID, LAST_SEED
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
    RejectionForm,
    SamplerForm,
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
    unpack_row,
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

_LONGEST_VERSION: Final = 40
_MENTIONED: Final = "an id among `tokens.data`"


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
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise faults.of_form(error) from error
    fields = _TraceReader(form, faults).fields()
    # The form was right, so the document takes no more memory than the trace.
    content = checksum(cast("dict[str, object]", parse_json(data, MOST_VALUES)))
    if form.sha256 != content:
        wanted = f"{content}, the checksum of the content: a value was changed after it was written"
        raise faults.at("sha256", form.sha256, wanted)
    return fields


class _Head(msgspec.Struct):
    """The fields that decide whether the rest can be read."""

    kind: msgspec.Raw = msgspec.Raw(b"null")
    version: msgspec.Raw = msgspec.Raw(b"null")


def _check_version(head: _Head, faults: Faults) -> None:
    if bytes(head.kind) != f'"{KIND}"'.encode():
        raise faults.at("kind", bytes(head.kind).decode(), f"a trace: {KIND!r}")
    written = bytes(head.version)
    if written == str(VERSION).encode():
        return
    version: object = written.decode()[:_LONGEST_VERSION]
    if len(written) <= _LONGEST_VERSION:
        version = parse_json(written)
    raise DamagedFile(
        f"{faults.file}: version is {version!r}; this release reads version {VERSION}.",
        remedy="Read it with the release that wrote it, or make the trace again.",
        evidence={"file": faults.file, "place": "version", "version": version},
    )


class _TraceReader:
    """Assembles the parts of a document, and checks them against each other."""

    def __init__(self, form: TraceForm, faults: Faults) -> None:
        self._form = form
        self._at, self._check, self._within = faults.at, faults.check, faults.within
        self._within(0, LAST_SEED, "seed", form.seed)
        wanted = f"{len(form.steps) + 1}, one more than there are steps"
        counted = len(form.positions) == len(form.steps) + 1
        self._check(counted, "positions", f"a list of {len(form.positions)}", f"one of {wanted}")
        self._tokens = self._mentioned_tokens(form.tokens)
        given = form.constraint
        self._num_states = 0 if given is None else given.num_states
        self._num_char_states = 0 if given is None else given.num_char_states
        self._machine = (
            None
            if given is None
            else _MachineReading(given, self._tokens, len(form.positions), faults)
        )

    def fields(self) -> dict[str, Any]:
        """The fields of the trace, all consistent."""
        form, machine, rejection = self._form, self._machine, self._form.rejection
        positions: list[Position] = []
        steps: list[Step] = []
        before = _START
        for k, position in enumerate(form.positions):
            positions.append(self._position(f"positions[{k}]", position, k, before))
            if k < len(form.steps):
                steps.append(self._step(f"steps[{k}]", form.steps[k], positions[k], position))
                before = before.after(steps[k])
        more: dict[str, Any] = {
            "tokens": self._tokens,
            "sampler": self._sampler(form.sampler),
            "positions": tuple(positions),
            "steps": tuple(steps),
            "rejection": None if rejection is None else self._rejection(rejection, positions[-1]),
        }
        wanted = "at most as many as there are prompt_ids"
        self._check(form.prefixed <= len(form.prompt_ids), "prefixed", form.prefixed, wanted)
        return {
            **form_fields(form, "kind", "version", "constraint", "sha256"),
            **more,
            "source": None if machine is None else machine.source,
            "num_states": self._num_states,
            "num_char_states": self._num_char_states,
            "masks": None if machine is None else machine.masks(form.positions),
            "unread": () if rejection is None else rejection.unread,
        }

    def _mentioned_tokens(self, form: TokensForm) -> MentionedTokens:
        def id_of(name: str, key: str) -> int:
            # Ids past the vocabulary occur if the logits are wider.
            plain = key.isascii() and key.isdigit() and len(key) <= len(str(LAST_ID))
            self._check(plain and key == str(int(key)), f"tokens.{name}.{key}", key, "an id")
            return int(key)

        def data_of(key: str, entry: str | HexForm | None) -> bytes | None:
            if not isinstance(entry, HexForm):
                return None if entry is None else entry.encode()  # An empty text: an empty token.
            data = b""
            with suppress(ValueError):
                data = bytes.fromhex(entry.hex)
            self._check(data, f"tokens.data.{key}.hex", entry.hex, "hexadecimal bytes")
            return data

        for k, token in enumerate(form.eos_ids):
            self._within(0, form.size - 1, f"tokens.eos_ids[{k}]", token)
        return MentionedTokens(
            **form_fields(form, "data", "special"),
            data={id_of("data", key): data_of(key, entry) for key, entry in form.data.items()},
            special={id_of("special", key): name for key, name in form.special.items()},
        )

    def _position(self, place: str, form: PositionForm, index: int, before: _Before) -> Position:
        self._within(
            min(DEAD, DONE, FREE), max(self._num_states - 1, -1), f"{place}.state", form.state
        )
        highest = max(self._num_char_states - 1, NO_ARC)
        self._within(NO_ARC, highest, f"{place}.char_state", form.char_state)
        wanted = "the character state of this state"
        fits = (form.char_state == NO_ARC) == (form.state < 0)
        self._check(fits, f"{place}.char_state", form.char_state, wanted)
        if self._machine is not None:
            self._machine.check_position(place, form)
        else:
            free = len(self._tokens.eos_ids) if form.state == DONE else self._tokens.size
            alone = {"row": None, "kept_row": None, "num_allowed": free, "over_budget": 0}
            for name, value in alone.items():
                given, wanted = getattr(form, name), f"{value}, as there is no constraint"
                self._check(given == value, f"{place}.{name}", given, wanted)
        distribution = form.distribution
        return Position(
            **form_fields(form, "row", "kept_row", "distribution"),
            index=index,
            **vars(before),
            distribution=None
            if distribution is None
            else self._distribution(f"{place}.distribution", distribution, form),
        )

    def _distribution(
        self, place: str, form: DistributionForm, position: PositionForm
    ) -> TokenDistribution:
        most = max(position.num_allowed, 1)
        self._within(1, most, f"{place}.num_drawable", form.num_drawable)
        allowed = self._allows(f"{place}.first_choice", position.kept_row, form.first_choice)
        wanted = "what the row says of the first choice"
        self._check(form.intervention != allowed, f"{place}.intervention", not allowed, wanted)
        return TokenDistribution(
            **form_fields(form, "candidates", "timing"),
            candidates=self._candidates(f"{place}.candidates", form.candidates, position.kept_row),
            timing=Timing(**form_fields(form.timing)),
        )

    def _candidates(
        self, place: str, form: CandidatesForm, row: int | None
    ) -> tuple[Candidate, ...]:
        columns = form_fields(form)
        count = len(form.token)
        for name, column in columns.items():
            given, wanted = f"a list of {len(column)}", f"one of {count}"
            self._check(len(column) == count, f"{place}.{name}", given, wanted)
        different = len(set(form.token)) == count
        self._check(different, f"{place}.token", list(form.token), "a list of different ids")
        allowed = tuple(self._allows(f"{place}.token", row, token) for token in form.token)
        for k in range(count) if allowed != form.allowed else ():
            wanted, flag = "what the row says of this token", form.allowed[k]
            self._check(flag == allowed[k], f"{place}.allowed[{k}]", flag, wanted)
        return tuple(
            Candidate(**{name: number(value) for name, value in zip(columns, values, strict=True)})
            for values in zip(*columns.values(), strict=True)
        )

    def _step(self, place: str, form: StepForm, before: Position, position: PositionForm) -> Step:
        allowed = self._allows(f"{place}.token", position.kept_row, form.token)
        self._check(allowed, f"{place}.token", form.token, "a token that is allowed there")
        return Step(
            **{name: number(value) for name, value in form_fields(form, "proposal").items()},
            proposal=self._proposal(f"{place}.proposal", form),
            data=self._tokens.data[form.token] or None,
            before=before,
        )

    def _proposal(self, place: str, form: StepForm) -> Proposal | None:
        made = form.proposal
        if made is None:
            return None
        self._check(
            self._form.draft is not None, place, made.token, "there: the trace has no draft"
        )
        taken = made.token == form.token
        wanted = "whether this is the token that was taken"
        self._check(made.accepted == taken, f"{place}.accepted", made.accepted, wanted)
        self._check(made.token in self._tokens.data, f"{place}.token", made.token, _MENTIONED)
        return Proposal(**form_fields(made))

    def _rejection(self, form: RejectionForm, last: Position) -> Rejection:
        # A rejected id may be any number, because another engine produced it.
        row = self._form.positions[-1].row
        possible = last.state != DONE and 0 <= form.token < self._tokens.size
        fits = not possible or (self._machine and not self._machine.allows(row, form.token))
        self._check(fits, "rejection.token", form.token, "a token that is rejected there")
        return Rejection(last.index, form.token, last.state)

    def _sampler(self, form: SamplerForm) -> Sampler:
        try:
            return Sampler(**form_fields(form))
        except ExplorerError as error:
            name = next((name for name in form_fields(form) if name in error.message), "")
            place, value = f"sampler.{name}".rstrip("."), getattr(form, name, form)
            raise self._at(
                place, value, f"one of a sampler: {error.message}".rstrip(".")
            ) from error

    def _allows(self, place: str, row: int | None, token: int) -> bool:
        """Whether a row allows an id, whose bytes the document must have."""
        self._check(token in self._tokens.data, place, token, _MENTIONED)
        inside = token < self._tokens.size
        return inside and (self._machine is None or self._machine.allows(row, token))


@dataclass(frozen=True)
class _Before:
    """The text and the sums that follow from the steps before a position."""

    written: WrittenText
    log_prob_model: float | None
    log_prob_constrained: float | None

    def after(self, step: Step) -> _Before:
        return _Before(
            self.written.plus(step.data),
            added(self.log_prob_model, step.log_prob_model),
            added(self.log_prob_constrained, step.log_prob_constrained),
        )


_START: Final = _Before(WrittenText(), 0.0, 0.0)


class _MachineReading:
    """The checked part of a document about the constraint and the masks."""

    def __init__(
        self, form: ConstraintForm, tokens: MentionedTokens, num_positions: int, faults: Faults
    ) -> None:
        self._form = form
        self._at, self._check, self._within = faults.at, faults.check, faults.within
        self.source = self._read_source()
        # Each class has a token, except perhaps the fixed classes.
        most = tokens.size + NUM_FIXED_CLASSES
        self._within(NUM_FIXED_CLASSES, most, "constraint.num_classes", form.num_classes)
        size = bytes_per_class(form.num_classes)
        self._within(size, size, "constraint.bytes_per_class", form.bytes_per_class)
        self._class_bytes = self._unpacked("token_class", form.token_class, size * tokens.size)
        kind = "<u2" if size == 2 else "<i4"
        self._token_class: Int32 = np.frombuffer(self._class_bytes, kind).astype(np.int32)
        inside = 0 <= self._token_class.min() <= self._token_class.max() < form.num_classes
        wanted = f"classes below {form.num_classes}"
        self._check(inside, "constraint.token_class", form.token_class, wanted)
        width = (form.num_classes + 7) // 8
        # Each position has at most two rows.
        most = min(2 * num_positions, MOST_BYTES // width)
        self._within(1, most, "constraint.num_rows", form.num_rows)
        packed = self._unpacked("rows", form.rows, width * form.num_rows)
        self._rows = tuple(packed[k : k + width] for k in range(0, len(packed), width))
        self._bits: dict[int, Bool] = {}
        self._sizes = np.bincount(self._token_class, minlength=form.num_classes)
        self._seen: dict[int, tuple[int, bytes]] = {}

    def _read_source(self) -> Mapping[str, object]:
        place, source, expected = "constraint.source", None, "the source of a constraint"
        try:
            source = parse_json(bytes(self._form.source))
            self._check(isinstance(source, dict), place, source, expected)
            source_from_dict(cast("dict[str, object]", source))
        # The mapping may have any shape, so the reader of sources may raise any of these.
        except (ExplorerError, LookupError, TypeError, ValueError, AttributeError) as error:
            # The remedy of a source's error does not help with a damaged file.
            reason = error.message if isinstance(error, ExplorerError) else str(error)
            raise self._at(place, source, f"{expected}: {reason}".rstrip(".")) from error
        return cast("dict[str, object]", source)

    def _unpacked(self, name: str, text: str, length: int) -> bytes:
        """The bytes packed by `explorer.decoding.trace.writing.pack_bytes`."""
        unpacker, data = zlib.decompressobj(), b""
        with suppress(binascii.Error, zlib.error, ValueError):
            # One byte more than expected detects excess without unpacking a bomb.
            data = unpacker.decompress(base64.b64decode(text, validate=True), length + 1)
        whole = len(data) == length and unpacker.eof and not unpacker.unused_data
        self._check(whole, f"constraint.{name}", text, f"{length} bytes as zlib and base64")
        return data

    def masks(self, positions: tuple[PositionForm, ...]) -> MaskRows:
        """The masks of all positions, already checked."""
        return MaskRows(
            self._form.num_classes,
            self._class_bytes,
            self._rows,
            tuple(position.row or 0 for position in positions),
            tuple(position.kept_row or 0 for position in positions),
        )

    def check_position(self, place: str, form: PositionForm) -> None:
        """Check a position against its rows, and against others of the same state."""
        wanted = "a state of the constraint, or its end"
        self._check(form.state not in (FREE, DEAD), f"{place}.state", form.state, wanted)
        for name, row in (("row", form.row), ("kept_row", form.kept_row)):
            self._within(0, len(self._rows) - 1, f"{place}.{name}", row)
        bits, kept_bits = self._unpacked_row(form.row), self._unpacked_row(form.kept_row)
        part = not (kept_bits & ~bits).any()
        self._check(part, f"{place}.kept_row", form.kept_row, "a part of the state's row")
        kept = int(self._sizes[kept_bits].sum())
        removed = int(self._sizes[bits].sum()) - kept
        self._within(kept, kept, f"{place}.num_allowed", form.num_allowed)
        self._within(removed, removed, f"{place}.over_budget", form.over_budget)
        # A state has the same character state and row wherever it occurs.
        row = self._rows[form.row or 0]
        char_state, known_row = self._seen.setdefault(form.state, (form.char_state, row))
        wanted = f"{char_state}, as elsewhere for this state"
        same = form.char_state == char_state
        self._check(same, f"{place}.char_state", form.char_state, wanted)
        self._check(
            row == known_row, f"{place}.row", form.row, "the row that this state has elsewhere"
        )

    def _unpacked_row(self, number: int | None) -> Bool:
        """The classes that a row allows."""
        row = number or 0
        if row not in self._bits:
            self._bits[row] = unpack_row(self._rows[row], self._form.num_classes)
        return self._bits[row]

    def allows(self, row: int | None, token: int) -> bool:
        """Whether a row allows an id of the vocabulary."""
        return bool(self._unpacked_row(row)[self._token_class[token]])
