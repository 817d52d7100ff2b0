"""The packets that a page is sent without a request: the values of a widget's traits, as types.

*Once*: `Offered`, and per question the fields of `AskedState`. *At each position*: the whole
`ShownPosition`, and the change of the line as a `Moved`. A whole `Line` is sent when a page begins
and when another line is shown; after that the page keeps it, and each `Moved` says how much of it
stays and what follows (`static/page_reading.js`). So a step sends as much after a thousand tokens
as after one, and nothing is compared to find out what to send.

Requests of a page are answered by the functions of `widgets.dialogue.handlers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NotRequired, TypedDict


class TokenBox(TypedDict):
    """A token of the strip; default values are left out, see `widgets.figures.panels.tokens`."""

    id: int | None
    text: str
    surprisal: NotRequired[float | None]
    by: NotRequired[str]
    rejected: NotRequired[str]
    again: NotRequired[bool]
    accepted: NotRequired[bool]
    forced: NotRequired[bool]
    intervention: NotRequired[bool]
    eos: NotRequired[bool]
    bridge: NotRequired[bool]
    fixed: NotRequired[bool]
    begins: NotRequired[bool]


class Rejected(TypedDict):
    """The token of a run from elsewhere that the constraint does not allow."""

    id: int
    text: str
    at: int
    reason: str
    unread: int


class Phases(TypedDict):
    """The phases of a line; see `widgets.figures.panels.phases`."""

    bands: list[list[object]]
    machine: list[dict[str, object]]
    alive: list[list[int]]


class LineBeside(TypedDict):
    """One of several lines; the current one has the same ``tokens`` as the strip."""

    name: str
    current: bool
    tokens: list[TokenBox]


class Strip(TypedDict):
    """Prompt and output, and the lines beside this one."""

    prompt: list[TokenBox]
    prompt_left_out: int
    tokens: list[TokenBox]
    finished: bool
    healed: NotRequired[str]
    rejected: NotRequired[Rejected | None]
    phases: NotRequired[Phases]
    forks: NotRequired[list[LineBeside]]


class Line(TypedDict):
    """The current line. It grows in place, so that a page that begins later is sent all of it.

    ``generation`` counts the cursor's changes; the page sends it back with its requests.
    """

    index: int
    length: int
    generation: int
    model: bool
    strip: Strip


class LineHistory(TypedDict):
    """One value per position, for the charts; see `widgets.figures.panels.tokens.over_time`."""

    z: list[float | None]
    entropy_before: list[float | None]
    entropy_after: list[float | None]
    allowed: list[int]
    chosen: list[float | None]
    chosen_constrained: list[float | None]
    forced: list[bool]
    interventions: list[bool]


class Moved(TypedDict):
    """A change of the line that the page has.

    The first ``kept`` tokens stay, and ``tokens`` follow them; the same holds for the values of the
    positions from ``kept`` on. A page whose line is not of generation ``after`` asks for all of it.
    """

    after: int
    generation: int
    index: int
    length: int
    kept: int
    tokens: list[TokenBox]
    finished: bool
    rejected: Rejected | None
    history: NotRequired[LineHistory]
    phases: NotRequired[Phases]


class Named(TypedDict):
    """The name of a vocabulary; the page requests its texts by it."""

    fingerprint: str
    size: int


class Offered(TypedDict):
    """The choices of the editor; they are sent once."""

    kinds: list[str]
    presets: list[dict[str, str]]
    examples: dict[str, str]
    models: list[str]


class Editor(TypedDict):
    """The prompt and the constraint, with the report on its compilation."""

    prompt: str
    prompt_fixed: str
    kind: str
    text: str
    remark: str
    model: str
    report: str
    pattern: str
    behind: str
    pipeline: dict[str, object]
    method: str


class SamplerState(TypedDict):
    """The settings of the sampler; a seed of more than 53 bits is text."""

    temperature: float
    top_k: int | None
    top_p: float | None
    min_p: float | None
    seed: int | str


class AskedState(TypedDict):
    """The values that are the same at every position of a line."""

    place: str
    about: str
    vocabulary: Named
    machine: dict[str, str]
    editor: Editor
    sampler: SamplerState


class ShownPosition(TypedDict):
    """Everything that is shown of one position; see `widgets.figures.packets.position_packet`.

    It is sent twice: first the ``numbers`` alone, then with the words, which take longer.
    Probabilities 0 to 1, entropies in bits, times in milliseconds; ``None``: not known.
    """

    k: int
    numbers: bool
    along: NotRequired[dict[str, object]]
    stack: NotRequired[dict[str, object]]
    state: int
    lit: NotRequired[dict[str, object]]
    row: str
    allowed: int
    width: int
    z: float | None
    entropy_before: float | None
    entropy_after: float | None
    kl: float | None
    top: list[dict[str, object]]
    taken: dict[str, object] | None
    rank: int | None
    forced: bool
    finished: bool
    by: str | None
    intervention: bool
    over_budget: bool
    ms: Mapping[str, float]
    expects: NotRequired[str]
    spans: NotRequired[list[list[int]]]


@dataclass(frozen=True, slots=True)
class ToldPlace:
    """The message to the widgets on one cursor after a change.

    Args:
        question: The same object as long as constraint, model and settings stay the same.
        line: The line, as it is after the change ``moved``; a new object if that is ``None``.
        again: Whether everything but the position was sent already, with the numbers.
    """

    question: AskedState
    line: Line
    history: LineHistory
    position: ShownPosition
    moved: Moved | None = None
    again: bool = False
