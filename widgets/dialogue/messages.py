"""The messages of a page to the kernel: one frozen class each, with its fields and their types.

`read_message` turns the page's data into one of them or raises an error, so a handler never gets a
field that is missing, of another type, or unknown. The class of each name, its handler and its
flags are in one table, `widgets.dialogue.dialogue.TABLE`; the page gets the names and fields from
there and sends nothing else.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec

from explorer.errors import ExplorerError

Form = Literal["characters", "bytes"]


class PageMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields of every message.

    Args:
        re: Its number, which the answer repeats; ``None`` if no answer is wanted.
        side: The side of a comparison that it is about; empty for both.
    """

    re: int | None = None
    side: Literal["left", "right", ""] = ""


class AtPlace(PageMessage, frozen=True, kw_only=True):
    """A message about the place that the page shows.

    Args:
        seen: The cursor's generation that the page shows. If the cursor has moved since, the
            message is dropped; ``None`` for a message about any place.
    """

    seen: int | None = None


class AtPosition(AtPlace, frozen=True, kw_only=True):
    """A question about one position of the line.

    Args:
        k: The number of tokens before it; default the cursor's.
    """

    k: int | None = None


# --- moving ---------------------------------------------------------------------------------------


class StepOn(AtPlace, frozen=True):
    """Take one step."""


class Take(AtPlace, frozen=True, kw_only=True):
    """Take a token that the user chose.

    Args:
        both: In a comparison: take it on the other side too, if it is allowed there.
    """

    token: int
    both: bool = False


class Peek(AtPlace, frozen=True, kw_only=True):
    """Show the next token byte by byte, without taking it.

    Args:
        token: A token that the user chose; default the one that a step would take.
    """

    token: int | None = None


class Jump(AtPlace, frozen=True, kw_only=True):
    """Go to the position after ``k`` tokens."""

    k: int


class Run(AtPlace, frozen=True, kw_only=True):
    """Take several steps, at most ``tokens``."""

    tokens: int


class Fork(AtPlace, frozen=True):
    """Keep this line, and go on in a new one beside it."""


class Switch(AtPlace, frozen=True, kw_only=True):
    """Go to another line, by its number among the shown ones."""

    line: int


class Follow(AtPlace, frozen=True, kw_only=True):
    """Fork, and take these tokens on the fork."""

    tokens: list[int]


class Again(AtPlace, frozen=True):
    """Go on from here with other random numbers; from the start, if the text has ended."""


class Reset(PageMessage, frozen=True):
    """Go to the start; drop the tokens ahead and the other lines."""


# --- questions about a position -------------------------------------------------------------------


class WalkToken(AtPosition, frozen=True, kw_only=True):
    """The walk of a token through the machines, byte by byte."""

    token: int


class Why(AtPosition, frozen=True, kw_only=True):
    """The verdict on a token."""

    token: int


class More(AtPosition, frozen=True, kw_only=True):
    """The parts of an explanation that need a search: completions, tokens that must come before."""

    token: int


class Widen(AtPosition, frozen=True, kw_only=True):
    """The smallest change of the pattern that would allow a token."""

    token: int


class FindTokens(AtPosition, frozen=True, kw_only=True):
    """Tokens by their text, their bytes (``0x66``) or their id."""

    query: str


class AllowedTokens(AtPosition, frozen=True):
    """The allowed tokens of a run without a model."""


class TokenOrder(AtPosition, frozen=True):
    """All tokens by their probability."""


class ReasonGroups(AtPosition, frozen=True):
    """The reasons for masked tokens, in groups."""


class EnginesHere(AtPosition, frozen=True, kw_only=True):
    """Other engines at a position, for some tokens."""

    tokens: list[int]


class GroupMembers(AtPosition, frozen=True, kw_only=True):
    """The likeliest tokens of a group, by its number."""

    group: int


class FindTraps(AtPosition, frozen=True):
    """The traps of the run and of its constraint."""


class LookAhead(AtPosition, frozen=True, kw_only=True):
    """A look ahead after the likeliest allowed tokens.

    Args:
        asked: Whether the user asked for it; if not, a slow look is not taken.
    """

    asked: bool = False


class FiguresAround(AtPosition, frozen=True, kw_only=True):
    """The figures that change with the position; ``also`` are tokens that the user added."""

    also: list[int] = []


class ConstructionStages(AtPosition, frozen=True, kw_only=True):
    """The construction of the token DFA over the tokens that are shown."""

    also: list[int] = []


class PresentArcs(AtPosition, frozen=True, kw_only=True):
    """The arcs of the path and of the present state that a cut drawing lacks."""

    form: Form = "characters"


# --- questions about the machine and the line -----------------------------------------------------


class MachineFigures(PageMessage, frozen=True, kw_only=True):
    """The token classes of the constraint, and with ``figures`` its machines."""

    figures: bool = True


class Draw(PageMessage, frozen=True, kw_only=True):
    """Both machines whole, in one of the forms."""

    form: Form = "characters"


class StageMachine(PageMessage, frozen=True, kw_only=True):
    """A stage of the constraint, by its number, and its machine; for a stage of the tokens also the
    tokens that it refuses at the cursor."""

    stage: int


class ArcClasses(PageMessage, frozen=True, kw_only=True):
    """All token classes of an arc of the token DFA."""

    source: str
    target: str
    form: Form = "characters"


class ComposedBy(PageMessage, frozen=True):
    """The way in which the drawn machine was composed, and its time."""


class TokenTexts(PageMessage, frozen=True):
    """The readable text of every token."""


class WholeLine(PageMessage, frozen=True):
    """The whole line, for a page that came later or missed a change."""


class MaskRowsAt(PageMessage, frozen=True, kw_only=True):
    """The rows of the mask at the positions ``first`` to before ``end``."""

    first: int
    end: int


class RunFigure(PageMessage, frozen=True):
    """The whole run as an interactive figure, as a file."""


class Export(PageMessage, frozen=True):
    """The file that replays the line without a kernel."""


# --- changing the question ------------------------------------------------------------------------


class Edit(PageMessage, frozen=True, kw_only=True):
    """Another prompt or constraint.

    Args:
        kind: The kind of the constraint; see `widgets.kinds`.
        preset: The name of the preset that they come from, if they come from one.
    """

    kind: str
    text: str
    prompt: str = ""
    preset: str | None = None


class Relax(PageMessage, frozen=True, kw_only=True):
    """Make the change that the reason for a masked token at position ``k`` proposes."""

    token: int
    k: int


class ChooseModel(PageMessage, frozen=True, kw_only=True):
    """Ask another model the same question; its name is one that the editor offers."""

    model: str


class WriteSchemes(PageMessage, frozen=True, kw_only=True):
    """Write the texts of all schemes anew; settings that are not given stay."""

    prompt: str | None = None
    temperature: float | None = None
    seed: int | None = None


class ChooseScheme(PageMessage, frozen=True, kw_only=True):
    """Show another scheme on one side of a comparison."""

    scheme: str


class OpenStep(PageMessage, frozen=True, kw_only=True):
    """Show a step of a scheme's text.

    Args:
        row: The number of its row; 0 is the model alone.
    """

    row: int
    k: int


class RewriteToken(PageMessage, frozen=True, kw_only=True):
    """Change an arc of the detokenizing transducer.

    Args:
        writes: The text that the token writes from now on; ``None`` for its usual bytes.
        missing: Whether the token's arc is removed.
    """

    token: int
    writes: str | None = None
    missing: bool = False


class SwitchStage(PageMessage, frozen=True, kw_only=True):
    """Switch a stage of the constraint, by its number, on or off."""

    stage: int
    on: bool


class AddStage(PageMessage, frozen=True, kw_only=True):
    """Put a stage that needs no arguments around the constraint, by its kind."""

    stage: str


class Cancel(PageMessage, frozen=True):
    """Cancel the running compilation."""


class Ready(PageMessage, frozen=True):
    """The page shows the editor, so the compiling process should be started."""


class SetSampler(PageMessage, frozen=True, kw_only=True):
    """The settings of the sampler from now on; without ``seed`` the random numbers stay."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    seed: int | None = None


class Play(PageMessage, frozen=True, kw_only=True):
    """Whether the page plays; work for quiet moments waits meanwhile."""

    on: bool


class Stop(PageMessage, frozen=True, kw_only=True):
    """Cancel the answer to the message with this number."""

    of: int


M = TypeVar("M", bound=PageMessage)


def read_message(kind: type[M], content: dict[str, object]) -> M:
    """Read a message from the page's data without its ``type``.

    Raises:
        ExplorerError: A field is missing, unknown, or of another type.

    Example:
        >>> read_message(Take, {"token": 3, "re": 1}).token
        3
        >>> read_message(Take, {"token": "three"})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        explorer.errors.ExplorerError: The page sent a message that cannot be read: ...
    """
    try:
        return msgspec.convert(content, kind)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise ExplorerError(
            f"The page sent a message that cannot be read: {error}.",
            remedy="Reload the page; if that does not help, it is a fault of the explorer.",
        ) from error
