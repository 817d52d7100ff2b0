"""A question that hides its answer until the reader has guessed.

`predict` ends a cell. The page gets the kind of the guess but not the answer: it shows buttons, a
field for a number or a text, or a drawing whose states can be clicked. After the guess
the kernel says whether it is right and what a wrong one would mean, and shows the results of the
cell. *Run All* leaves it waiting. On a page without widgets the answer is folded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape, unescape
from importlib.resources import files
from typing import Any, ClassVar, Final, Literal, cast
from urllib.parse import quote

import anywidget  # pyright: ignore[reportMissingTypeStubs] - It has no stubs.
import traitlets

from explorer.arguments import wrong as wrong_argument
from explorer.course.checking import reveal
from explorer.course.exercise import plain_value, same_value
from widgets.figures.snapshot import Snapshot
from widgets.lessons.film import HEAD, Film
from widgets.lessons.rows import LessonTable

FOLDED: Final = "application/vnd.explorer.prediction+json"
"""The media type of a folded answer: ``{"said": ..., "parts": [...]}``."""

WAITING: Final = "Your guess first: the result is shown after it."

Kind = Literal["choice", "number", "text", "state"]
Part = dict[str, Any]
"""A part of the result, shown after the guess: ``text``, ``svg`` with ``alt`` (and perhaps the
frames of a ``film``), or a table."""

_TITLE: Final = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_CODE: Final = re.compile(r"`([^`]*)`")
_YES_NO: Final = {"yes": True, "no": False}


class Prediction(anywidget.AnyWidget):
    """A question that waits for a guess; made by `predict`.

    Args:
        answer: The right answer.
        parts: The results that are shown after the guess.
        kind: The kind of the guess.
        choices: The buttons of a choice.
        picture: The drawing whose states are clicked.
        meanings: What each foreseen wrong guess would mean.
        otherwise: What any other wrong guess would mean.
        within: The largest error of a number that still counts as right.
    """

    _esm: ClassVar[str] = files("widgets.lessons").joinpath("prediction.js").read_text("utf-8")
    _css: ClassVar[str] = files("widgets.lessons").joinpath("prediction.css").read_text("utf-8")

    kind = traitlets.Unicode().tag(sync=True)
    choices = traitlets.List(traitlets.Unicode()).tag(sync=True)
    picture = traitlets.Unicode().tag(sync=True)
    reply: Any = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        answer: object,
        parts: Sequence[Part],
        *,
        kind: Kind,
        choices: Sequence[str] = (),
        picture: str = "",
        meanings: Mapping[object, str],
        otherwise: str = "",
        within: float = 0.0,
    ) -> None:
        self._answer, self._parts = answer, list(parts)
        self._meanings = {str(plain_value(guess)): said for guess, said in meanings.items()}
        self._otherwise, self._within = otherwise, within
        super().__init__(kind=kind, choices=list(choices), picture=picture)
        self.on_msg(self._heard)  # pyright: ignore[reportUnknownMemberType] - Untyped.

    def guess(self, guess: object) -> str:
        """Answer the question; the page shows the result then.

        Args:
            guess: A value, or the text that a page gives.

        Returns:
            Whether the guess is right, and what a wrong one would mean.
        """
        read = self._read(guess)
        if read is None:
            self.reply = {"said": f"{guess!s} is not a number."}
            return str(self.reply["said"])
        right, said = self._graded(read)
        self.reply = {"right": right, "said": said, "parts": self._parts}
        return said

    def _graded(self, guess: object) -> tuple[bool, str]:
        given, answer = plain_value(guess), plain_value(self._answer)
        if same_value(given, answer, self._within) or str(given) == str(answer):
            return True, reveal(_in_words(answer), _in_words(answer))
        meaning = self._meanings.get(str(given), self._otherwise)
        return False, f"{reveal(_in_words(given), _in_words(answer))} {meaning}".strip()

    def _read(self, guess: object) -> object | None:
        if not isinstance(guess, str):
            return guess
        if isinstance(self._answer, bool):
            return _YES_NO.get(guess, guess)
        if self.kind != "number":
            return guess.strip()
        try:
            number = float(guess.replace(",", ".").strip().rstrip("%"))
        except ValueError:
            return None
        return int(number) if number.is_integer() else number

    def _heard(self, _widget: object, content: Any, _buffers: object) -> None:
        try:
            self.guess(content["guess"])
        except Exception as error:  # The page would otherwise get no answer.
            self.reply = {"said": f"{type(error).__name__}: {error}"}

    @property
    def folded(self) -> dict[str, Any]:
        """The answer, for pages that cannot wait for a guess."""
        return {"said": self._said(), "parts": self._parts}

    def _said(self) -> str:
        meanings = [f"If you said {guess}: {said}" for guess, said in self._meanings.items()]
        if isinstance(self._answer, bool):
            meanings = list(self._meanings.values())
        return "\n".join(
            [f"The answer is {_in_words(self._answer)}.", *meanings, self._otherwise]
        ).strip()

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The widget, and the folded answer for pages without widgets."""
        bundled: object = super()._repr_mimebundle_(**kwargs)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - Untyped.
        bundles = cast("tuple[dict[str, Any], dict[str, Any]] | None", bundled)
        data, metadata = ({}, {}) if bundles is None else bundles
        substitutes = {
            FOLDED: self.folded, "text/html": folded_html(self.folded), "text/plain": WAITING,
        }  # fmt: skip
        return {**data, **substitutes}, metadata


def predict(
    answer: object,
    *shown: object,
    choices: Sequence[object] = (),
    click: Snapshot | None = None,
    wrong: Mapping[Any, str] | None = None,
    otherwise: str = "",
    within: float = 0.0,
    about: str = "",
) -> Prediction:
    """Ask before the result is shown.

    Args:
        answer: The right answer. A truth value asks for yes or no, a number for a number; ``...``
            stands for the answer in the row that ``about`` names.
        shown: Texts, pictures and tables that are shown after the guess.
        choices: The choices, the answer among them.
        click: A picture of a machine; the guess is a state, by its name.
        wrong: What a wrong guess would mean, by the guess.
        otherwise: What any other wrong guess would mean.
        within: The largest error of a number that still counts as right.
        about: The row of the course's `answers.json` with what the cell does not say: ``answer``,
            texts ``shown`` first, ``wrong`` as pairs, and ``otherwise``.

    Returns:
        A widget that waits for the guess; in code, ``.guess(value)`` answers it.

    Raises:
        ExplorerError: The answer is not among the choices.

    Example:
        >>> asked = predict(3, "f, foo, food", wrong={4: "That counts `for`."})
        >>> asked.reply
        {}
        >>> asked.guess(4)
        'You predicted 4; it is 3. That counts `for`.'
        >>> asked.reply["parts"]
        [{'text': 'f, foo, food'}]
    """
    row = _answers()[about] if about else {}
    answer = row["answer"] if answer is ... else answer
    shown = (*row.get("shown", ()), *shown)
    plain = plain_value(answer)
    kind: Kind = "text"
    names = [str(choice) for choice in choices]
    if choices:
        kind = "choice"
        if str(plain) not in names:
            raise wrong_argument("choices", names, f"among them the answer {plain!r}")
    elif isinstance(plain, bool):
        kind, names = "choice", [*_YES_NO]
    elif click is not None:
        kind = "state"
    elif isinstance(plain, int | float):
        kind = "number"
    return Prediction(
        plain,
        [_part(one) for one in shown],
        kind=kind,
        choices=names,
        picture="" if click is None else click.svg,
        meanings=wrong or dict(row.get("wrong", ())),
        otherwise=otherwise or row.get("otherwise", ""),
        within=within,
    )


@cache
def _answers() -> dict[str, dict[str, Any]]:
    """Read what the predictions of the course hide: a notebook's source would show it."""
    return json.loads(files("widgets.lessons").joinpath("answers.json").read_text("utf-8"))


def _in_words(value: object) -> object:
    return ("yes" if value else "no") if isinstance(value, bool) else value


def _part(one: object) -> Part:
    """A shown value as data for a page."""
    if isinstance(one, Snapshot):
        title = _TITLE.search(one.svg)
        alt = unescape(title[1]) if title else one.title
        part: Part = {"svg": one.svg, "alt": alt, "text": one.text}
        if isinstance(one, Film):
            part["film"] = {"head": HEAD, "each": one.each, "said": list(one.said)}
        return part
    if isinstance(one, LessonTable):
        rows = [list(row) for row in one.rows]
        return {"caption": one.caption, "head": list(one.head), "rows": rows, "text": one.text}
    return {"text": one if isinstance(one, str) else str(one)}


def said_html(said: str) -> str:
    """The words about the guesses as HTML: a paragraph for each line, and code between backticks.

    Example:
        >>> print(said_html("It is 3.\\nThat counts `f<`."))
        <p>It is 3.</p><p>That counts <code>f&lt;</code>.</p>
    """
    lines = [_CODE.sub(r"<code>\1</code>", escape(line)) for line in said.splitlines()]
    return "".join(f"<p>{line}</p>" for line in lines)


def folded_html(folded: Mapping[str, Any]) -> str:
    """A folded answer as HTML: pictures as images, everything else as text.

    Example:
        >>> print(folded_html({"said": "It is 3.", "parts": [{"text": "f<"}]}))
        <details><summary>The answer</summary><p>It is 3.</p><pre>f&lt;</pre></details>
    """
    inside = [said_html(str(folded["said"]))]
    for part in folded["parts"]:
        if "svg" in part:
            image = quote(str(part["svg"]))
            words = escape(str(part["alt"]))
            inside.append(f'<img alt="{words}" src="data:image/svg+xml,{image}">')
        else:
            inside.append(f"<pre>{escape(str(part['text']))}</pre>")
    return f"<details><summary>The answer</summary>{''.join(inside)}</details>"
