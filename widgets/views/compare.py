"""`Compare`: two constraints, two samplers, or two schemes, side by side on one prompt.

The two lines share their steps: both are at the same position, except that a line which has ended
stays at its end. Both draw with the same random number at the same position, so every difference
between them comes from the constraint or the sampler.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, cast

import traitlets

from explorer.analysis.session import Session
from explorer.arguments import flag, instance, mapped, whole_number, wrong
from explorer.decoding.models.load import load_model
from explorer.decoding.models.model import LanguageModel
from explorer.decoding.sampling.sampler import Sampler
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine
from widgets.cursor import Cursor
from widgets.dialogue.dialogue import Dialogue
from widgets.dialogue.handlers import MOST_AT_ONCE
from widgets.dialogue.later import Later, Packet
from widgets.dialogue.messages import Reply
from widgets.editing import COMPILE
from widgets.figures.told import AskedState, ToldPlace
from widgets.shown_place import ShownPlace
from widgets.toy import ToyModel
from widgets.views import bundle
from widgets.views.stilled import Stilled
from widgets.views.view import SIZES, checked_size, moved_for, warm

ASKED: Final = ("place", "machine", "editor", "sampler")
"""The values that each side has; each is a trait whose name begins with the side's name."""


def _packet() -> traitlets.Dict[str, Any]:
    return traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)


class Compare(Stilled):
    """Two lines side by side.

    Args:
        lm: A language model, or the name of one for `load_model`; ``None`` for the toy preset.
        left: The constraint on the left, or the name of a scheme; ``None`` for any text.
        right: The same on the right.
        prompt: The text that both lines continue.
        left_sampler: The sampler on the left; default greedy.
        right_sampler: The sampler on the right; default greedy.
        seed: The seed of the random numbers, which both lines share.
        top_k: The number of tokens shown of each distribution.
        size: ``"normal"``, or ``"projector"`` for text and marks that are 1.4 times as large.
        schemes: Constraints or machines by name, such as `SchemeTexts.machines`; each side has a
            list to choose from. In the strip, tokens that cross a border of terminals and fixed
            text are marked.

    Raises:
        ExplorerError: There is no scheme with this name, or an argument has the wrong type.

    Example:
        >>> from explorer.languages.constraint import regex
        >>> both = Compare(None, regex("(foo)+d"), regex("(foo)+"))
        >>> both.step(3)
        >>> both.left.session.text, both.right.session.text
        ('foofoofood', 'foofoofoo')
        >>> both.jump(1)
        >>> both.left_position["allowed"], both.right_position["allowed"]
        (3, 3)
    """

    _esm = bundle.module("compare")
    _css = bundle.style()

    about = traitlets.Unicode("").tag(sync=True)
    schemes = traitlets.List(traitlets.Unicode()).tag(sync=True)
    left_scheme = traitlets.Unicode("").tag(sync=True)
    right_scheme = traitlets.Unicode("").tag(sync=True)
    vocabulary = _packet()
    offered = _packet()
    size = traitlets.Enum(SIZES, "normal").tag(sync=True)
    left_place = traitlets.Unicode("").tag(sync=True)
    left_machine = _packet()
    left_editor = _packet()
    left_sampler = _packet()
    left_line = _packet()
    left_moved = _packet()
    left_position = _packet()
    right_place = traitlets.Unicode("").tag(sync=True)
    right_machine = _packet()
    right_editor = _packet()
    right_sampler = _packet()
    right_line = _packet()
    right_moved = _packet()
    right_position = _packet()

    _stops: tuple[Callable[[], None], ...] = ()  # Also for a widget whose arguments were refused.

    def __init__(
        self,
        lm: LanguageModel | str | None = None,
        left: Constraint | TokenMachine | str | None = None,
        right: Constraint | TokenMachine | str | None = None,
        prompt: str = "",
        *,
        left_sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
        right_sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
        seed: int = 0,
        top_k: int = 10,
        size: str = "normal",
        schemes: Mapping[str, Constraint | TokenMachine | None] | None = None,
    ) -> None:
        warm()
        model = ToyModel() if lm is None else load_model(lm) if isinstance(lm, str) else lm
        self._schemes, self._top_k = _named({} if schemes is None else schemes), top_k

        def place(
            side: str, rule: Constraint | TokenMachine | str | None, sampler: Sampler
        ) -> ShownPlace:
            rule = self._scheme_of(side, rule) if isinstance(rule, str) else rule
            session = Session(
                model, rule, prompt, sampler=sampler, seed=seed, top_k=top_k, budget=COMPILE
            )
            return ShownPlace.of(Cursor(session), top_k=top_k)

        self._sides = {
            "left": place("left", left, left_sampler),
            "right": place("right", right, right_sampler),
        }
        self._asked: dict[str, AskedState] = {}
        own: Mapping[str, Callable[..., Reply]] = {
            "take": self.take, "step": self._step, "jump": self._jump,
            "run": self._run, "play": self._play, "scheme": self._on_scheme,
        }  # fmt: skip
        self._dialogue = Dialogue(self._say, self._sides, self._inside, own)
        named = {
            f"{side}_scheme": rule
            for side, rule in (("left", left), ("right", right))
            if isinstance(rule, str)
        }
        # A preset may need another model, which both sides share.
        offered = {**self._sides["left"].offered, "presets": []}
        super().__init__(
            size=checked_size(size), schemes=list(self._schemes), offered=offered, **named
        )
        self.on_msg(self._hear)  # pyright: ignore[reportUnknownMemberType] - ipywidgets is untyped.
        self._stops = tuple(
            place.follow(partial(self._show, side)) for side, place in self._sides.items()
        )

    @property
    def left(self) -> Cursor:
        """The cursor on the left; other views can show it too."""
        return self._sides["left"].cursor

    @property
    def right(self) -> Cursor:
        """The cursor on the right; other views can show it too."""
        return self._sides["right"].cursor

    @property
    def index(self) -> int:
        """The position of the line that is further ahead."""
        return max(self.left.session.index, self.right.session.index)

    def close(self) -> None:
        """Close the widget; it no longer follows its cursors."""
        for stop in self._stops:
            stop()
        super().close()

    def step(self, tokens: int = 1) -> None:
        """Take steps on both lines, each with its own tokens; a line that has ended stays.

        Args:
            tokens: The number of steps.

        Raises:
            ExplorerError: It is not a whole number from 0 on.
        """
        tokens = whole_number("tokens", tokens)
        with self.left.lock, self.right.lock:
            self._go(self.index + tokens)

    def take(self, side: str, token: int, *, both: bool = False) -> None:
        """Take a given token on one side; the other side takes its own.

        Args:
            side: ``"left"`` or ``"right"``.
            token: The token's id.
            both: Take it on the other side too, if it is allowed there.

        Raises:
            ExplorerError: There is no such side, or the token is not allowed on it.
        """
        both = flag("both", both)
        with self.left.lock, self.right.lock:
            to = self.index + 1
            cursor = self._sides[self._side(side)].cursor
            other = self.right if cursor is self.left else self.left
            taken = cursor.step(token)
            token = token if taken is None else taken.token
            if both and not other.session.finished and bool(other.session.allowed()[token]):
                other.step(token)
            self._go(to)

    def choose_scheme(self, side: str, scheme: str) -> None:
        """Show another scheme on one side; its text is written anew up to the present position.

        Args:
            side: ``"left"`` or ``"right"``.
            scheme: A name from ``schemes``.

        Raises:
            ExplorerError: There is no such side or scheme.
        """
        self._chosen(side, scheme)()

    def jump(self, k: int) -> None:
        """Go to a position; a line that ended before it stays at its end.

        Args:
            k: The position, from 0; lines that are shorter are written up to there.

        Raises:
            ExplorerError: It is not a whole number from 0 on.
        """
        k = whole_number("k", k)
        with self.left.lock, self.right.lock:
            self._go(k)

    def _scheme_of(self, argument: str, name: str) -> Constraint | TokenMachine | None:
        name = instance(argument, name, str, "the name of a scheme")
        if name not in self._schemes:
            known = ", ".join(map(repr, self._schemes)) or "schemes={name: machine}"
            raise wrong(argument, name, known)
        return self._schemes[name]

    def _chosen(self, side: str, scheme: str) -> Callable[[], None]:
        """Make the line of a scheme; the returned function puts it on a side."""
        cursor = self._sides[self._side(side)].cursor
        with cursor.lock:
            old = cursor.session
        line = Session(
            old.lm or ToyModel(), self._scheme_of("scheme", scheme), old.prompt or "",
            sampler=old.sampler, seed=old.seed, top_k=self._top_k, budget=COMPILE,
        )  # fmt: skip

        def put() -> None:
            with self.left.lock, self.right.lock, self.hold_sync():
                k = self.index
                self.set_trait(f"{side}_scheme", scheme)
                cursor.replace(line)
                self._go(k)

        return put

    def _side(self, side: str) -> str:
        """The name of a side, checked.

        Raises:
            ExplorerError: It is neither ``"left"`` nor ``"right"``.
        """
        side = instance("side", side, str, "'left' or 'right'")
        if side not in self._sides:
            raise wrong("side", side, "'left' or 'right'")
        return side

    def _go(self, k: int) -> None:
        for cursor in (self.left, self.right):
            ahead = k - cursor.session.index
            if ahead < 0:
                cursor.jump(k)
            elif ahead and not cursor.session.finished:
                cursor.run(ahead)

    def _pictured(self) -> Mapping[str, Cursor]:
        return {side: place.cursor for side, place in self._sides.items()}

    # --- the page -------------------------------------------------------------------------------

    def _show(self, side: str, told: ToldPlace) -> None:
        if told.again:
            self.set_trait(f"{side}_position", told.position)
            return
        with self.hold_sync():
            question = told.question
            if self._asked.get(side) is not question:
                self._asked[side] = question
                self.about, self.vocabulary = question["about"], question["vocabulary"]
                for name in ASKED:
                    self.set_trait(f"{side}_{name}", question[name])
            self.set_trait(f"{side}_line", told.line)
            if told.moved is not None:
                self.set_trait(f"{side}_moved", moved_for(told.moved, history=False))
            self.set_trait(f"{side}_position", told.position)

    @contextmanager
    def _inside(self) -> Generator[None]:
        with self.left.lock, self.right.lock, self.hold_sync():
            yield

    def _step(self, _: str) -> None:
        self.step()

    def _jump(self, _: str, k: int) -> None:
        self.jump(k)

    def _run(self, _: str, tokens: int) -> Reply:
        self.step(min(tokens, MOST_AT_ONCE))
        return {"stopped": all(one.session.finished for one in self._sides.values())}

    def _play(self, _: str, on: bool) -> None:
        self.left.playing = self.right.playing = on

    def _on_scheme(self, side: str, scheme: str) -> Later:
        def work() -> Callable[[], Packet]:
            put = self._chosen(side, scheme)

            def shown() -> Packet:
                put()
                return {}

            return shown

        return Later(work)

    def _hear(self, _: object, content: object, __: object) -> None:
        self._dialogue.hear(content)

    def _say(self, answer: dict[str, object]) -> None:
        self.send(answer)  # pyright: ignore[reportUnknownMemberType] - ipywidgets is untyped.


def _named(schemes: object) -> dict[str, Constraint | TokenMachine | None]:
    """The schemes by their names."""
    remedy = "Give a dict from names to machines, such as scheme_texts(...).machines."
    named = mapped("schemes", schemes, "a dict of schemes", remedy=remedy)
    return {
        instance("The name of a scheme", name, str, "a text", remedy=remedy): rule
        for name, rule in named.items()
    }


__all__ = ["Compare"]
