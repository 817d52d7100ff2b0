"""A trace as versioned JSON, and back.

What can be worked out is not stored: texts and sums of log-probabilities come from the tokens, so
they cannot disagree with them. Distinct rows over token classes are stored once, all together, and
a position names its row by number. -inf is written ``"-inf"``; NaN never occurs.

Reading trusts nothing (`explorer.decoding.json_place`): types, ranges, exact keys, and where parts
depend on each other (a token must have its bytes, a chosen token must be allowed by its row, a row
must allow as many ids as its position says) that they agree.

Size at 131,072 tokens: about 1.2 kB a step and 10 to 150 kB for the token classes. A thousand
steps of a JSON constraint take 1.3 MB, and 0.3 s to read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Final, cast

import numpy as np

from explorer.automata.machine import Bool, Int32
from explorer.automata.serial import source_from_dict
from explorer.decoding.json_place import Place, pack
from explorer.decoding.model import Message
from explorer.decoding.rule import NO_CHARACTER_STATE, unpack_row
from explorer.decoding.sampler import Sampler
from explorer.decoding.step_record import (
    CHOSEN_BY,
    Candidate,
    ChosenBy,
    Distribution,
    Position,
    Step,
    Timing,
    added,
)
from explorer.decoding.trace import Rejection, TokenTable, Trace
from explorer.errors import DamagedFile, ExplorerError
from explorer.tokens.states import DEAD, DONE, FREE

KIND: Final = "explorer.Trace"
VERSION: Final = 1
"""Raised whenever a file of the old form would be read wrongly."""

_MOST_IDS: Final = 2**31 - 1
_SEED: Final = 2**64 - 1
_STREAM: Final = 2**63 - 1


def to_json(trace: Trace) -> bytes:
    """The document of a trace, as UTF-8.

    Args:
        trace: Any trace.
    """
    rows: dict[bytes, int] = {}
    for position in trace.positions:
        for row in (position.row, position.kept_row):
            if row is not None:
                rows.setdefault(row, len(rows))
    narrow = trace.num_classes <= 2**16
    document = {
        "kind": KIND,
        "version": VERSION,
        "model": trace.model,
        "prompt": trace.prompt
        if isinstance(trace.prompt, str | None)
        else [dict(message) for message in trace.prompt],
        "prompt_ids": list(trace.prompt_ids),
        "tokens": _tokens_out(trace.tokens),
        "sampler": {
            "temperature": trace.sampler.temperature,
            "top_k": trace.sampler.top_k,
            "top_p": trace.sampler.top_p,
            "min_p": trace.sampler.min_p,
        },
        "seed": trace.seed,
        "stream": trace.stream,
        "max_tokens": trace.max_tokens,
        "masking_budget": trace.masking_budget,
        "constraint": None
        if trace.source is None
        else {
            "source": trace.source,
            "num_classes": trace.num_classes,
            "bytes_per_class": 2 if narrow else 4,
            "token_class": pack(trace.class_bytes),
            "num_rows": len(rows),
            "rows": pack(b"".join(rows)),
        },
        "positions": [_position_out(position, rows) for position in trace.positions],
        "steps": [_step_out(step) for step in trace.steps],
        "rejection": None
        if trace.rejection is None
        else {"token": trace.rejection.token, "unread": list(trace.unread)},
    }
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8")


def from_json(data: bytes, file: str = "the trace") -> Trace:
    """The trace of a document.

    Args:
        data: What `to_json` wrote.
        file: Its name, for messages.

    Raises:
        DamagedFile: It is of another kind or version, or damaged; the place is named.
    """
    top = Place.parse(data, file)
    head = top.mapping()
    if "kind" not in head or head["kind"].value != KIND:
        raise top.fault(f"a trace: its `kind` is not {KIND!r}")
    version = head["version"].value if "version" in head else None
    if version != VERSION or isinstance(version, bool):
        raise DamagedFile(
            f"{file}: version is {version!r}; this release reads version {VERSION}.",
            remedy="Read it with the release that wrote it, or make the trace again.",
            evidence={"file": file, "place": "version", "version": version},
        )
    fields = top.fields(
        "kind", "version", "model", "prompt", "prompt_ids", "tokens", "sampler", "seed", "stream",
        "max_tokens", "masking_budget", "constraint", "positions", "steps", "rejection",
    )  # fmt: skip
    tokens = _tokens_in(fields["tokens"])
    machine = _Machine(fields["constraint"], tokens)
    steps_in = fields["steps"].items()
    positions_in = fields["positions"].items(len(steps_in) + 1)
    positions: list[Position] = []
    steps: list[Step] = []
    written, model, constrained = b"", 0.0, 0.0
    model_sum: float | None = model
    constrained_sum: float | None = constrained
    for k, place in enumerate(positions_in):
        position = _position_in(place, k, written, model_sum, constrained_sum, machine, tokens)
        positions.append(position)
        if k == len(steps_in):
            break
        step = _step_in(steps_in[k], position, machine, tokens)
        steps.append(step)
        written += step.data or b""
        model_sum = added(model_sum, step.log_prob_model)
        constrained_sum = added(constrained_sum, step.log_prob_constrained)
    rejection, unread = _rejection_in(fields["rejection"], positions[-1], machine, tokens)
    return Trace(
        model=None if fields["model"].is_null else fields["model"].text(),
        prompt=_prompt_in(fields["prompt"]),
        prompt_ids=tuple(
            place.whole(low=0, high=_MOST_IDS) for place in fields["prompt_ids"].items()
        ),
        tokens=tokens,
        sampler=_sampler_in(fields["sampler"]),
        seed=fields["seed"].whole(low=0, high=_SEED),
        stream=fields["stream"].whole(low=0, high=_STREAM),
        max_tokens=None
        if fields["max_tokens"].is_null
        else fields["max_tokens"].whole(low=1, high=_MOST_IDS),
        masking_budget=fields["masking_budget"].flag(),
        source=machine.source,
        num_classes=machine.num_classes,
        class_bytes=machine.class_bytes,
        positions=tuple(positions),
        steps=tuple(steps),
        rejection=rejection,
        unread=unread,
    )


class _Machine:
    """What the document says about the constraint, checked."""

    def __init__(self, place: Place, tokens: TokenTable) -> None:
        self.source: Mapping[str, object] | None = None
        self.num_classes = 0
        self.class_bytes = b""
        self.rows: list[bytes] = []
        self.token_class: Int32 = np.empty(0, np.int32)
        if place.is_null:
            return
        fields = place.fields(
            "source", "num_classes", "bytes_per_class", "token_class", "num_rows", "rows"
        )
        fields["source"].mapping()
        self.source = cast(dict[str, object], fields["source"].value)
        try:
            source_from_dict(self.source)
        # The reader of sources meets any shape of mapping here.
        except (
            ExplorerError,
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            RecursionError,
        ) as error:
            raise fields["source"].fault("the source of a constraint") from error
        self.num_classes = fields["num_classes"].whole(low=2, high=_MOST_IDS)
        size = 2 if self.num_classes <= 2**16 else 4
        fields["bytes_per_class"].whole(low=size, high=size)
        self.class_bytes = fields["token_class"].packed(size * tokens.size)
        kind = "<u2" if size == 2 else "<i4"
        self.token_class = np.frombuffer(self.class_bytes, kind).astype(np.int32)
        if len(self.token_class) and not (
            0 <= self.token_class.min() <= self.token_class.max() < self.num_classes
        ):
            raise fields["token_class"].fault(f"classes below {self.num_classes}")
        width = (self.num_classes + 7) // 8
        count = fields["num_rows"].whole(low=0, high=_MOST_IDS // width)
        packed = fields["rows"].packed(width * count)
        self.rows = [packed[k * width : (k + 1) * width] for k in range(count)]
        self._sizes = np.bincount(self.token_class, minlength=self.num_classes)

    def row(self, place: Place) -> bytes | None:
        """The row that a position names."""
        if self.source is None:
            if not place.is_null:
                raise place.fault("null, as there is no constraint")
            return None
        if not self.rows:
            raise place.fault("the number of a row: there are none")
        return self.rows[place.whole(low=0, high=len(self.rows) - 1)]

    def bits(self, row: bytes) -> Bool:
        return unpack_row(row, self.num_classes)

    def count(self, row: bytes) -> int:
        """How many ids a row allows."""
        return int(self._sizes[self.bits(row)].sum())

    def allows(self, row: bytes | None, token: int) -> bool:
        return row is None or bool(self.bits(row)[self.token_class[token]])


def _tokens_out(tokens: TokenTable) -> dict[str, object]:
    def written(data: bytes | None) -> object:
        if data is None:
            return None
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return {"hex": data.hex()}

    return {
        "fingerprint": tokens.fingerprint,
        "size": tokens.size,
        "eos_ids": list(tokens.eos_ids),
        "data": {str(token): written(data) for token, data in tokens.data.items()},
        "special": {str(token): name for token, name in tokens.special.items()},
    }


def _tokens_in(place: Place) -> TokenTable:
    fields = place.fields("fingerprint", "size", "eos_ids", "data", "special")
    size = fields["size"].whole(low=1, high=_MOST_IDS)

    def token_of(key: str, entry: Place) -> int:
        # Ids past the vocabulary occur where the logits are wider.
        if not key.isascii() or not key.isdigit() or len(key) > 10 or str(int(key)) != key:
            raise entry.fault("at a key that is an id")
        return int(key)

    def data_of(entry: Place) -> bytes | None:
        if entry.is_null:
            return None
        if isinstance(entry.value, str):
            return entry.text().encode()  # No text at all: an empty token.
        digits = entry.fields("hex")["hex"]
        try:
            data = bytes.fromhex(digits.text())
        except ValueError:
            raise digits.fault("hexadecimal bytes") from None
        if not data:
            raise entry.fault("the bytes of a token")
        return data

    eos_ids = tuple(entry.whole(low=0, high=size - 1) for entry in fields["eos_ids"].items())
    if not eos_ids:
        raise fields["eos_ids"].fault("a list of at least one id")
    fingerprint = fields["fingerprint"].text()
    if len(fingerprint) != 64 or set(fingerprint) - set("0123456789abcdef"):
        raise fields["fingerprint"].fault("a fingerprint of 64 hexadecimal digits")
    return TokenTable(
        fingerprint=fingerprint,
        size=size,
        eos_ids=eos_ids,
        data={
            token_of(key, entry): data_of(entry) for key, entry in fields["data"].mapping().items()
        },
        special={
            token_of(key, entry): entry.text() for key, entry in fields["special"].mapping().items()
        },
    )


def _position_out(position: Position, rows: Mapping[bytes, int]) -> dict[str, object]:
    distribution = position.distribution
    return {
        "state": position.state,
        "char_state": position.char_state,
        "row": None if position.row is None else rows[position.row],
        "kept_row": None if position.kept_row is None else rows[position.kept_row],
        "num_allowed": position.num_allowed,
        "over_budget": position.over_budget,
        "distribution": None
        if distribution is None
        else {
            "log_z": distribution.log_z,
            "entropy_before": distribution.entropy_before,
            "entropy_after": distribution.entropy_after,
            "kl": distribution.kl,
            "num_drawable": distribution.num_drawable,
            "first_choice": distribution.first_choice,
            "first_choice_log_prob": distribution.first_choice_log_prob,
            "intervention": distribution.intervention,
            "candidates": {
                "token": [entry.token for entry in distribution.candidates],
                "allowed": [entry.allowed for entry in distribution.candidates],
                "model": [_number_out(entry.model) for entry in distribution.candidates],
                "filtered": [_number_out(entry.filtered) for entry in distribution.candidates],
                "constrained": [_number_out(e.constrained) for e in distribution.candidates],
            },
            "milliseconds": {
                "model": distribution.timing.model,
                "mask": distribution.timing.mask,
                "sampling": distribution.timing.sampling,
            },
            "computed": distribution.computed,
            "note": distribution.note,
        },
    }


def _position_in(
    place: Place,
    index: int,
    data: bytes,
    log_prob_model: float | None,
    log_prob_constrained: float | None,
    machine: _Machine,
    tokens: TokenTable,
) -> Position:
    fields = place.fields(
        "state", "char_state", "row", "kept_row", "num_allowed", "over_budget", "distribution"
    )
    state = fields["state"].whole(low=min(DEAD, DONE, FREE), high=_MOST_IDS)
    if state in (FREE, DEAD) and machine.source is not None:
        raise fields["state"].fault("a state of the constraint, or its end")
    if state >= 0 and machine.source is None:
        raise fields["state"].fault("a state, as there is no constraint")
    row, kept_row = machine.row(fields["row"]), machine.row(fields["kept_row"])
    num_allowed = fields["num_allowed"].whole(low=0, high=tokens.size)
    over_budget = fields["over_budget"].whole(low=0, high=tokens.size)
    if row is not None and kept_row is not None:
        if (machine.bits(kept_row) & ~machine.bits(row)).any():
            raise fields["kept_row"].fault("a part of the state's row")
        if machine.count(kept_row) != num_allowed:
            raise fields["num_allowed"].fault(f"the {machine.count(kept_row)} that the row allows")
        if machine.count(row) - num_allowed != over_budget:
            raise fields["over_budget"].fault(f"the {machine.count(row) - num_allowed} removed")
    elif over_budget:
        raise fields["over_budget"].fault("0, as there is no constraint")
    char_state = fields["char_state"].whole(low=NO_CHARACTER_STATE, high=_MOST_IDS)
    if (char_state == NO_CHARACTER_STATE) != (state < 0):
        raise fields["char_state"].fault("the character state of this state")
    return Position(
        index=index,
        state=state,
        char_state=char_state,
        data=data,
        row=row,
        kept_row=kept_row,
        num_allowed=num_allowed,
        over_budget=over_budget,
        log_prob_model=log_prob_model,
        log_prob_constrained=log_prob_constrained,
        distribution=_distribution_in(fields["distribution"], kept_row, machine, tokens),
    )


def _distribution_in(
    place: Place, kept_row: bytes | None, machine: _Machine, tokens: TokenTable
) -> Distribution | None:
    if place.is_null:
        return None
    fields = place.fields(
        "log_z", "entropy_before", "entropy_after", "kl", "num_drawable", "first_choice",
        "first_choice_log_prob", "intervention", "candidates", "milliseconds", "computed", "note",
    )  # fmt: skip
    times = fields["milliseconds"].fields("model", "mask", "sampling")
    candidates = _candidates_in(fields["candidates"], kept_row, machine, tokens)
    first = _mentioned(fields["first_choice"], tokens)
    intervention = fields["intervention"].flag()
    if (
        kept_row is not None
        and first < tokens.size
        and intervention == machine.allows(kept_row, first)
    ):
        raise fields["intervention"].fault("what the row says of the first choice")
    return Distribution(
        candidates=candidates,
        log_z=fields["log_z"].number(high=0),
        entropy_before=fields["entropy_before"].number(low=-1e-9),
        entropy_after=fields["entropy_after"].number(low=-1e-9),
        kl=fields["kl"].number(low=0),
        num_drawable=fields["num_drawable"].whole(low=1, high=_MOST_IDS),
        first_choice=first,
        first_choice_log_prob=fields["first_choice_log_prob"].number(high=1e-6),
        intervention=intervention,
        timing=Timing(
            model=times["model"].number(low=0),
            mask=times["mask"].number(low=0),
            sampling=times["sampling"].number(low=0),
        ),
        computed=fields["computed"].whole(low=0, high=_MOST_IDS),
        note=fields["note"].text(),
    )


def _candidates_in(
    place: Place, kept_row: bytes | None, machine: _Machine, tokens: TokenTable
) -> tuple[Candidate, ...]:
    columns = place.fields("token", "allowed", "model", "filtered", "constrained")
    ids = [_mentioned(entry, tokens) for entry in columns["token"].items()]
    if len(set(ids)) != len(ids):
        raise columns["token"].fault("a list of different ids")
    allowed = columns["allowed"].items(len(ids))
    for token, entry in zip(ids, allowed, strict=True):
        inside = token < tokens.size and machine.allows(kept_row, token)
        if kept_row is not None and entry.flag() != inside:
            raise entry.fault("what the row says of this token")
    columns_in = [columns[name].items(len(ids)) for name in ("model", "filtered", "constrained")]
    return tuple(
        Candidate(token, flag.flag(), model.log_prob(), filtered.log_prob(), constrained.log_prob())
        for token, flag, model, filtered, constrained in zip(ids, allowed, *columns_in, strict=True)
    )


def _mentioned(place: Place, tokens: TokenTable) -> int:
    """An id whose bytes the document has."""
    token = place.whole(low=0, high=_MOST_IDS)
    if token not in tokens.data:
        raise place.fault("an id among `tokens.data`")
    return token


def _step_out(step: Step) -> dict[str, object]:
    return {
        "token": step.token,
        "chosen_by": step.chosen_by,
        "model": _number_out(step.log_prob_model),
        "filtered": _number_out(step.log_prob_filtered),
        "constrained": _number_out(step.log_prob_constrained),
        "rank": step.rank,
        "uniform": step.uniform,
    }


def _step_in(place: Place, before: Position, machine: _Machine, tokens: TokenTable) -> Step:
    fields = place.fields(
        "token", "chosen_by", "model", "filtered", "constrained", "rank", "uniform"
    )
    token = _mentioned(fields["token"], tokens)
    if token >= tokens.size or not machine.allows(before.kept_row, token):
        raise fields["token"].fault("a token that is allowed there")
    given = fields["chosen_by"].value
    matching: list[ChosenBy] = [name for name in CHOSEN_BY if given == name]
    if not matching:
        raise fields["chosen_by"].fault(f"one of {', '.join(CHOSEN_BY)}")

    def log_prob(name: str) -> float | None:
        return None if fields[name].is_null else fields[name].log_prob()

    return Step(
        token=token,
        data=tokens.data[token] or None,
        chosen_by=matching[0],
        before=before,
        log_prob_model=log_prob("model"),
        log_prob_filtered=log_prob("filtered"),
        log_prob_constrained=log_prob("constrained"),
        rank=None if fields["rank"].is_null else fields["rank"].whole(low=1, high=_MOST_IDS),
        uniform=None
        if fields["uniform"].is_null
        else fields["uniform"].number(low=0, high=math.nextafter(1.0, 0.0)),
    )


def _rejection_in(
    place: Place, last: Position, machine: _Machine, tokens: TokenTable
) -> tuple[Rejection | None, tuple[int, ...]]:
    if place.is_null:
        return None, ()
    fields = place.fields("token", "unread")
    # Ids in a run from elsewhere may be of any size: that is what a finding is for.
    token = fields["token"].whole(low=-(2**63), high=2**63)
    if 0 <= token < tokens.size and machine.allows(last.row, token) and last.state != DONE:
        raise fields["token"].fault("a token that is rejected there")
    unread = tuple(entry.whole(low=-(2**63), high=2**63) for entry in fields["unread"].items())
    return Rejection(last.index, token, last.state), unread


def _sampler_in(place: Place) -> Sampler:
    fields = place.fields("temperature", "top_k", "top_p", "min_p")
    try:
        return Sampler(
            temperature=fields["temperature"].number(low=0),
            top_k=None if fields["top_k"].is_null else fields["top_k"].whole(low=1),
            top_p=None if fields["top_p"].is_null else fields["top_p"].number(low=0, high=1),
            min_p=None if fields["min_p"].is_null else fields["min_p"].number(low=0, high=1),
        )
    except DamagedFile:
        raise
    except ExplorerError as error:
        raise place.fault("a sampler") from error


def _prompt_in(place: Place) -> str | tuple[Message, ...] | None:
    if place.is_null:
        return None
    if isinstance(place.value, str):
        return place.text()
    messages: Sequence[Place] = place.items()
    return tuple(
        {key: entry.text() for key, entry in message.mapping().items()} for message in messages
    )


def _number_out(value: float | None) -> float | str | None:
    return "-inf" if value == -math.inf else value
