"""The base of the widgets on a cursor.

A widget only connects: it passes messages of its page to its `Dialogue`, and sends the packets of
its `ShownPlace` (`widgets.figures.told`), each part as a trait. The line grows in place: a step
sends only the change, and a page that begins later is sent the whole line. Large values are
requested by the page and are not stored in a saved notebook.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, Final, Literal, cast

import anywidget  # pyright: ignore[reportMissingTypeStubs] - It has no stubs.
import traitlets

from explorer.analysis.session import Session
from explorer.arguments import instance, named_way, wrong
from explorer.decoding.models.arguments import ResponsePrefix
from explorer.decoding.models.load import load_model
from explorer.decoding.models.model import LanguageModel
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.stepping.healing import Heal
from explorer.decoding.stepping.settings import Restrict
from explorer.decoding.trace.trace import Trace
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.tokens.compile import compile
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary
from widgets import kinds
from widgets.cursor import Cursor
from widgets.dialogue.dialogue import Dialogue
from widgets.dialogue.messages import Reply
from widgets.editing import COMPILE
from widgets.figures.told import AskedState, Moved, ToldPlace
from widgets.shown_place import PageData, ShownPlace, no_op
from widgets.toy import ToyModel, toy_constraint
from widgets.views import bundle

SIZES: Final = ("normal", "projector")
"""The sizes in which a widget is drawn."""


class View(anywidget.AnyWidget):
    """A widget on a cursor: the base class of the explorer and of its parts.

    Args:
        lm: A language model, or the name of one for `load_model`; a vocabulary, for steps that the
            user takes and no probabilities; ``None`` for the toy preset.
        constraint: The constraint; ``None`` starts with a quoted text, except in the toy preset.
        prompt: The text to continue.
        cursor: A cursor to show, which other views may show too. It has a session of its own, so
            the model, the constraint and all settings of a session are refused beside it.
        sampler: The sampler; default greedy.
        seed: The seed of the random numbers; default 0.
        max_tokens: The token budget; see `Session`.
        top_k: The number of tokens shown of each distribution.
        heal: Whether the text may begin inside the prompt; see `Session`. The text that is written
            again is marked in the strip.
        restrict: A restriction on every constraint, such as ``"ascii"``; see `Session`. It is a
            stage on the pipeline bar.
        response_prefix: The beginning of the answer; see `Session`. It is marked in the strip.
        size: ``"normal"``, or ``"projector"`` for text and marks that are 1.4 times as large.

    Raises:
        ExplorerError: An argument has the wrong type, or is given beside ``cursor``.
    """

    _css = bundle.style()
    _sent: ClassVar[tuple[str, ...]] = ()
    """The traits that this widget's page gets besides the position, such as ``"history"``."""

    _question: AskedState | None = None
    _stop: Callable[[], None] = staticmethod(
        no_op
    )  # Also for a widget whose arguments were refused.

    place = traitlets.Unicode("").tag(sync=True)
    about = traitlets.Unicode("").tag(sync=True)
    machine = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    vocabulary = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    position = traitlets.Dict(cast("dict[str, Any]", {}), allow_none=True).tag(sync=True)
    line = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    history = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    moved = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    offered = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    editor = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    sampler = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    size = traitlets.Enum(SIZES, "normal").tag(sync=True)

    def __init__(
        self,
        lm: LanguageModel | Vocabulary | str | None = None,
        constraint: Constraint | TokenMachine | None = None,
        prompt: str = "",
        *,
        cursor: Cursor | None = None,
        sampler: Sampler | None = None,
        seed: int | None = None,
        max_tokens: int | None = None,
        top_k: int = 10,
        heal: Heal = False,
        restrict: Restrict = None,
        response_prefix: ResponsePrefix = "",
        size: str = "normal",
    ) -> None:
        warm()
        if cursor is not None:
            _check_cursor(
                cursor,
                lm=lm,
                constraint=constraint,
                prompt=prompt or None,
                sampler=sampler,
                seed=seed,
                max_tokens=max_tokens,
                heal=None if heal is False else heal,
                restrict=restrict,
                response_prefix=None if response_prefix == "" else response_prefix,
            )
        else:
            settings: dict[str, Any] = {
                "sampler": sampler,
                "seed": seed,
                "max_tokens": max_tokens,
                "heal": heal or None,
                "restrict": restrict,
                "response_prefix": response_prefix or None,
            }
            given: dict[str, Any] = {k: v for k, v in settings.items() if v is not None}
            if isinstance(lm, Vocabulary):
                session = _without_model(lm, constraint, prompt, given)
            else:
                model = load_model(lm) if isinstance(lm, str) else ToyModel() if lm is None else lm
                if constraint is None:
                    constraint = toy_constraint() if model == ToyModel() else _quoted(model)
                given = {"sampler": Sampler(temperature=0.0), **given}
                session = Session(model, constraint, prompt, top_k=top_k, budget=COMPILE, **given)
            cursor = Cursor(session)
        self.shown = ShownPlace.of(cursor, top_k=top_k)
        own = self._own_handlers()
        self._dialogue = Dialogue(self._say, {"": self.shown}, lambda: self.shown.cursor.lock, own)
        offered: Mapping[str, object] = self.shown.offered if "editor" in self._sent else {}
        super().__init__(size=checked_size(size), offered=offered)
        self.on_msg(self._hear)  # pyright: ignore[reportUnknownMemberType] - ipywidgets is untyped.
        self._stop = self.shown.follow(self._show)

    @property
    def cursor(self) -> Cursor:
        """The cursor that is shown; pass it to another view to show it there too."""
        return self.shown.cursor

    @property
    def session(self) -> Session:
        """The session of the current line."""
        return self.cursor.session

    @property
    def trace(self) -> Trace:
        """The trace of the current line up to the cursor."""
        return self.session.trace

    @property
    def page_data(self) -> PageData:
        """The data of the page about the current line's machine and model."""
        return self.shown.page

    def figure(self, of: Literal["line", "step"] = "line") -> Any:
        """The whole line or the present step as a plotly figure, which a cell displays.

        Args:
            of: ``"line"``: feasible mass, entropy and allowed tokens at every position.
                ``"step"``: the distribution at the cursor, before and under the constraint, and
                what comes after each likely token (`Session.ahead`, one forward pass).

        Raises:
            ExplorerError: ``of`` is another value, or there is no distribution at the cursor.
            MissingDependency: plotly is not installed.

        Example:
            >>> from widgets import Explorer
            >>> [bars.name for bars in Explorer().figure("step").data]
            ['model', 'under the constraint', 'allowed after it']
        """
        named_way("of", of, ("line", "step"), 'what to draw: "line" or "step"')
        with self.cursor.lock:
            trace, session = self.cursor.full_trace(), self.session.copy()
        if of == "line":
            from widgets.figures.panels.plotly_figures import trace_figure

            return trace_figure(trace)
        from widgets.figures.panels.plotly_figures import step_figure

        ahead = () if session.lm is None else session.ahead()
        return step_figure(trace, session.index, session.machine, ahead)

    def close(self) -> None:
        """Close the widget; it no longer follows its cursor."""
        self._stop()
        super().close()

    def refresh(self) -> None:
        """Send the present position again; users need not, because every move is sent."""
        self.shown.refresh()

    def _show(self, told: ToldPlace) -> None:
        """Send a place. The position is sent last, because the page draws it with the rest."""
        if told.again:
            self.set_trait("position", told.position)
            return
        if self._question is not told.question:
            self._question = told.question
            for name in ("place", "vocabulary", "machine", *self._sent):
                if name in told.question:
                    self.set_trait(name, told.question[name])
        with self.hold_sync():
            history = "history" in self._sent
            self.line = told.line
            if history:
                if told.moved is None:
                    self.history = {}  # So that it is sent with the line, even if it is equal.
                self.history = told.history
            if told.moved is not None:
                self.moved = moved_for(told.moved, history=history)
            self.set_trait("position", told.position)

    def _own_handlers(self) -> Mapping[str, Callable[..., Reply]]:
        """The handlers of messages that this widget answers itself, by name."""
        return {}

    def _hear(self, _: object, content: object, __: object) -> None:
        self._dialogue.hear(content)

    def _say(self, answer: dict[str, object]) -> None:
        self.send(answer)  # pyright: ignore[reportUnknownMemberType] - ipywidgets is untyped.


def _quoted(model: object) -> Constraint | None:
    """The constraint to begin with; another toy has none."""
    if isinstance(model, ToyModel):
        return None
    return kinds.constraint_of_kind("regex", '"[a-zA-Z ,.]*"')


def _without_model(
    vocabulary: Vocabulary,
    constraint: Constraint | TokenMachine | None,
    prompt: str,
    given: Mapping[str, object],
) -> Session:
    """A session whose steps the user takes.

    Raises:
        ExplorerError: A setting is given that only a session with a model has.
    """
    if given:
        names = " and ".join(given)
        raise ExplorerError(
            f"{names} cannot be given with a vocabulary: without a model nothing is drawn.",
            remedy=f"Give a language model, or leave out {names}.",
            evidence={"given": names},
        )
    constraint = _quoted(vocabulary) if constraint is None else constraint
    return Session.from_ids(vocabulary, constraint, (), prompt=prompt or None, budget=COMPILE)


def _check_cursor(cursor: object, **beside: object) -> None:
    """Refuse a value that is not a cursor, and arguments of a session beside a cursor.

    Args:
        beside: The arguments of a session by name; ``None`` for those that are not given.
    """
    instance("cursor", cursor, Cursor, "a Cursor", remedy="Give Cursor(session), or view.cursor.")
    given = " and ".join(name for name, value in beside.items() if value is not None)
    if given:
        raise ExplorerError(
            f"{given} cannot be given with cursor=: the cursor's session has a model, a "
            "constraint, a prompt and settings of its own.",
            remedy=f"Leave out cursor to make a new session, or leave out {given}.",
            evidence={"given": given},
        )


def checked_size(size: str) -> str:
    """The size of a widget, if it is one of `SIZES`.

    Raises:
        ExplorerError: It is another value.
    """
    wanted = " or ".join(repr(name) for name in SIZES)
    size = instance("size", size, str, wanted)
    if size not in SIZES:
        raise wrong("size", size, wanted)
    return size


def moved_for(moved: Moved, *, history: bool) -> dict[str, Any]:
    """The change of a line, with the history only for a page that shows it."""
    return {name: value for name, value in moved.items() if history or name != "history"}


@cache
def warm() -> None:
    """Load the machine code once, so that the milliseconds shown are those of the constraint."""
    compile(toy_constraint(), ToyModel().vocabulary)
