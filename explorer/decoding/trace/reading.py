"""Reading a saved trace, which nobody vouches for.

Nothing in the file is executed, and every size is bounded before memory is taken. Everything is
checked (`explorer.decoding.trace.json_place`): types, ranges, exact keys, and where parts depend on
each other (a token must have its bytes, a chosen token must be allowed by its row, a row must allow
as many ids as its position says, a state must be the same wherever it occurs) that they agree. A
fault names its place. Last comes the checksum: a file in which every value is possible, but not
what was written, is refused too.

Cost: 0.3 s for a thousand steps of a JSON constraint at 131,072 tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, cast

import numpy as np

from explorer.automata.machine import NO_ARC, Bool, Int32
from explorer.automata.serial import source_from_dict
from explorer.decoding.models.model import Message
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.json_place import Place
from explorer.decoding.trace.masks import MaskRows, bytes_per_class, unpack_row
from explorer.decoding.trace.records import (
    CHOSEN_BY,
    Candidate,
    ChosenBy,
    Distribution,
    Position,
    Step,
    Timing,
    added,
)
from explorer.decoding.trace.trace import MentionedTokens, Rejection, Trace
from explorer.decoding.trace.writing import KIND, VERSION, checksum
from explorer.errors import DamagedFile, ExplorerError
from explorer.tokens.states import DEAD, DONE, FREE, NUM_FIXED_CLASSES
from explorer.vocabulary.reading import MAX_IDS

MOST_BYTES: Final = 2**28
"""How long a document may be, and how much its rows may take: some hundred thousand steps."""

_MOST_IDS: Final = 2**31 - 1
_MOST_STATES: Final = 2**31 - 1
_MOST_BITS: Final = 32.0
_SEED: Final = 2**64 - 1
_STREAM: Final = 2**63 - 1


def from_json(data: bytes, file: str = "the trace") -> Trace:
    """The trace of a document.

    Args:
        data: What `to_json` wrote.
        file: Its name, for messages.

    Raises:
        DamagedFile: It is of another kind or version, too long, or damaged; the place is named.
    """
    if len(data) > MOST_BYTES:
        raise DamagedFile(
            f"{file} has more than {MOST_BYTES:,} bytes.",
            remedy="Save a shorter run, or take an undamaged copy.",
            evidence={"file": file, "place": "", "limit": MOST_BYTES},
        )
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
        "sha256",
    )  # fmt: skip
    tokens = _tokens_in(fields["tokens"])
    steps_in = fields["steps"].items()
    machine = _Machine(fields["constraint"], tokens, len(steps_in) + 1)
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
    trace = Trace(
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
        num_states=machine.num_states,
        num_char_states=machine.num_char_states,
        masks=machine.masks,
        positions=tuple(positions),
        steps=tuple(steps),
        rejection=rejection,
        unread=unread,
    )
    _check_content(fields["sha256"], cast("dict[str, object]", top.value))
    return trace


def _check_content(place: Place, document: Mapping[str, object]) -> None:
    """Every value is possible; whether it is what was written, the checksum says."""
    try:
        content = checksum(document)
    except RecursionError:
        raise place.fault("that of a document nested so deep") from None
    if place.text() != content:
        raise place.fault(
            f"{content}, the checksum of the content: a value was changed after it was written"
        )


class _Machine:
    """What the document says about the constraint, checked."""

    def __init__(self, place: Place, tokens: MentionedTokens, num_positions: int) -> None:
        self.source: Mapping[str, object] | None = None
        self.num_states = 0
        self.num_char_states = 0
        self.num_classes = 0
        self.class_bytes = b""
        self.rows: list[bytes] = []
        self.row_of: list[int] = []
        self.kept_row_of: list[int] = []
        self.token_class: Int32 = np.empty(0, np.int32)
        if place.is_null:
            return
        fields = place.fields(
            "source", "num_states", "num_char_states", "num_classes", "bytes_per_class",
            "token_class", "num_rows", "rows",
        )  # fmt: skip
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
        self.num_states = fields["num_states"].whole(low=1, high=_MOST_STATES)
        self.num_char_states = fields["num_char_states"].whole(low=1, high=_MOST_STATES)
        # Each class has a token, except perhaps those that every machine has.
        self.num_classes = fields["num_classes"].whole(
            low=NUM_FIXED_CLASSES, high=tokens.size + NUM_FIXED_CLASSES
        )
        size = bytes_per_class(self.num_classes)
        fields["bytes_per_class"].whole(low=size, high=size)
        self.class_bytes = fields["token_class"].packed(size * tokens.size)
        kind = "<u2" if size == 2 else "<i4"
        self.token_class = np.frombuffer(self.class_bytes, kind).astype(np.int32)
        if len(self.token_class) and not (
            0 <= self.token_class.min() <= self.token_class.max() < self.num_classes
        ):
            raise fields["token_class"].fault(f"classes below {self.num_classes}")
        width = (self.num_classes + 7) // 8
        # A position names two rows at most.
        most = min(2 * num_positions, MOST_BYTES // width)
        count = fields["num_rows"].whole(low=1, high=most)
        packed = fields["rows"].packed(width * count)
        self.rows = [packed[k * width : (k + 1) * width] for k in range(count)]
        self._seen: dict[int, tuple[int, bytes | None]] = {}
        self._sizes = np.bincount(self.token_class, minlength=self.num_classes)

    def row(self, place: Place, numbers: list[int]) -> bytes | None:
        """The row that the next position names; its number is noted."""
        if self.source is None:
            if not place.is_null:
                raise place.fault("null, as there is no constraint")
            return None
        numbers.append(place.whole(low=0, high=len(self.rows) - 1))
        return self.rows[numbers[-1]]

    @property
    def masks(self) -> MaskRows | None:
        """The masks of all positions that were read."""
        if self.source is None:
            return None
        return MaskRows(
            self.num_classes,
            self.class_bytes,
            tuple(self.rows),
            tuple(self.row_of),
            tuple(self.kept_row_of),
        )

    def last_row(self, numbers: list[int]) -> bytes | None:
        """The row of the position that was read last; ``None`` without a constraint."""
        return None if self.source is None else self.rows[numbers[-1]]

    def char_state(self, fields: Mapping[str, Place], state: int, row: bytes | None) -> int:
        """The character state of a position; a state has one, and one row, wherever it occurs."""
        char_state = fields["char_state"].whole(
            low=NO_ARC, high=max(self.num_char_states - 1, NO_ARC)
        )
        if (char_state == NO_ARC) != (state < 0):
            raise fields["char_state"].fault("the character state of this state")
        if self.source is None:
            return char_state
        known_char_state, known_row = self._seen.setdefault(state, (char_state, row))
        if char_state != known_char_state:
            raise fields["char_state"].fault(f"{known_char_state}, as elsewhere for this state")
        if row != known_row:
            raise fields["row"].fault("the row that this state has elsewhere")
        return char_state

    def bits(self, row: bytes) -> Bool:
        return unpack_row(row, self.num_classes)

    def count(self, row: bytes) -> int:
        """How many ids a row allows."""
        return int(self._sizes[self.bits(row)].sum())

    def allows(self, row: bytes | None, token: int) -> bool:
        return row is None or bool(self.bits(row)[self.token_class[token]])


def _tokens_in(place: Place) -> MentionedTokens:
    fields = place.fields("fingerprint", "size", "eos_ids", "data", "special")
    size = fields["size"].whole(low=1, high=MAX_IDS)

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
    return MentionedTokens(
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


def _position_in(
    place: Place,
    index: int,
    data: bytes,
    log_prob_model: float | None,
    log_prob_constrained: float | None,
    machine: _Machine,
    tokens: MentionedTokens,
) -> Position:
    fields = place.fields(
        "state", "char_state", "row", "kept_row", "num_allowed", "over_budget", "distribution"
    )
    state = fields["state"].whole(low=min(DEAD, DONE, FREE), high=max(machine.num_states - 1, -1))
    if state in (FREE, DEAD) and machine.source is not None:
        raise fields["state"].fault("a state of the constraint, or its end")
    row, kept_row = (
        machine.row(fields["row"], machine.row_of),
        machine.row(fields["kept_row"], machine.kept_row_of),
    )
    num_allowed = fields["num_allowed"].whole(low=0, high=tokens.size)
    over_budget = fields["over_budget"].whole(low=0, high=tokens.size)
    if row is not None and kept_row is not None:
        if (machine.bits(kept_row) & ~machine.bits(row)).any():
            raise fields["kept_row"].fault("a part of the state's row")
        if machine.count(kept_row) != num_allowed:
            raise fields["num_allowed"].fault(f"the {machine.count(kept_row)} that the row allows")
        if machine.count(row) - num_allowed != over_budget:
            raise fields["over_budget"].fault(f"the {machine.count(row) - num_allowed} removed")
    else:
        if over_budget:
            raise fields["over_budget"].fault("0, as there is no constraint")
        free = len(tokens.eos_ids) if state == DONE else tokens.size
        if num_allowed != free:
            raise fields["num_allowed"].fault(f"{free}, as there is no constraint")
    return Position(
        index=index,
        state=state,
        char_state=machine.char_state(fields, state, row),
        data=data,
        num_allowed=num_allowed,
        over_budget=over_budget,
        log_prob_model=log_prob_model,
        log_prob_constrained=log_prob_constrained,
        distribution=_distribution_in(
            fields["distribution"], kept_row, num_allowed, machine, tokens
        ),
    )


def _distribution_in(
    place: Place,
    kept_row: bytes | None,
    num_allowed: int,
    machine: _Machine,
    tokens: MentionedTokens,
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
        entropy_before=fields["entropy_before"].number(low=-1e-9, high=_MOST_BITS),
        entropy_after=fields["entropy_after"].number(low=-1e-9, high=_MOST_BITS),
        kl=fields["kl"].number(low=0),
        num_drawable=fields["num_drawable"].whole(low=1, high=max(num_allowed, 1)),
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
    place: Place, kept_row: bytes | None, machine: _Machine, tokens: MentionedTokens
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


def _mentioned(place: Place, tokens: MentionedTokens) -> int:
    """An id whose bytes the document has."""
    token = place.whole(low=0, high=_MOST_IDS)
    if token not in tokens.data:
        raise place.fault("an id among `tokens.data`")
    return token


def _step_in(place: Place, before: Position, machine: _Machine, tokens: MentionedTokens) -> Step:
    fields = place.fields(
        "token", "chosen_by", "model", "filtered", "constrained", "rank", "uniform"
    )
    token = _mentioned(fields["token"], tokens)
    if token >= tokens.size or not machine.allows(machine.last_row(machine.kept_row_of), token):
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
    place: Place, last: Position, machine: _Machine, tokens: MentionedTokens
) -> tuple[Rejection | None, tuple[int, ...]]:
    if place.is_null:
        return None, ()
    fields = place.fields("token", "unread")
    # Ids in a run from elsewhere may be of any size: that is what a finding is for.
    token = fields["token"].whole(low=-(2**63), high=2**63)
    if (
        0 <= token < tokens.size
        and machine.allows(machine.last_row(machine.row_of), token)
        and last.state != DONE
    ):
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
