"""`Explorer`: constrained decoding that one can see, as one widget.

The widget only wires. What is shown is worked out by pure functions (`widgets.figures`) from the
session's trace; the page asks for what it lacks and is told of every move. Small things are traits
and go out with each step: the position, the line of tokens. Large ones (the vocabulary's text, the
machines) are asked for once, by name, and are not kept in a saved notebook.

Callbacks may arrive on any thread, also while a cell runs, so one re-entrant lock guards them. What
a callback raises would vanish from the notebook: it is caught and shown in the widget.

Cost: a step sends a few kilobytes. Layouts are made when the page asks for the machines, so the
first numbers are on the page before them.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

import anywidget  # pyright: ignore[reportMissingTypeStubs] - It has none.
import traitlets

from explorer.automata.constraint import Constraint
from explorer.automata.source import Choice, Regex
from explorer.budget import Budget
from explorer.decoding.load import load_model
from explorer.decoding.model import LanguageModel
from explorer.decoding.sampler import Sampler
from explorer.decoding.session import Session
from explorer.decoding.trace import Trace
from explorer.errors import BudgetExceeded, ExplorerError, RegexError
from explorer.tokens.compile import compile
from explorer.tokens.token_dfa import TokenDFA
from widgets import bundle, kinds
from widgets.cursor import Cursor
from widgets.figures.snapshot import Snapshot, snapshot
from widgets.page import PageData
from widgets.toy import ToyModel, toy_constraint

Message = Mapping[str, Any]

COMPILE: Final = Budget(seconds=10.0)
"""Limits for a constraint that is typed: one waits for it."""


class Explorer(anywidget.AnyWidget):
    """The explorer: constraint, steps, the three machines, the distribution, the mask.

    Args:
        lm: A language model, or the name of one for `load_model`; ``None`` for the toy preset,
            which needs none.
        constraint: What the text must be; with a model ``None`` starts with a quoted text.
        prompt: A text to go on with.
        cursor: Show this place instead, with others that show it too; the first four arguments are
            then left aside.
        sampler: How a token is chosen; default greedy.
        seed: Of the random numbers.
        max_tokens: The token budget; see `Session`.
        top_k: How many tokens of each distribution are shown.

    Example:
        >>> explorer = Explorer()
        >>> explorer.cursor.step().text, explorer.position["k"], explorer.position["allowed"]
        ('foo', 1, 3)
    """

    _esm = bundle.module("explorer")
    _css = bundle.style()

    about = traitlets.Unicode("").tag(sync=True)
    machine = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    vocabulary = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    position = traitlets.Dict(cast("dict[str, Any]", {}), allow_none=True).tag(sync=True)
    line = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    editor = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    sampler = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)

    def __init__(
        self,
        lm: LanguageModel | str | None = None,
        constraint: Constraint | TokenDFA | None = None,
        prompt: str = "",
        *,
        cursor: Cursor | None = None,
        sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
        seed: int = 0,
        max_tokens: int | None = None,
        top_k: int = 10,
    ) -> None:
        _warm()
        self._top_k, self._seed = top_k, seed
        if cursor is None:
            model = load_model(lm) if isinstance(lm, str) else lm or ToyModel()
            if constraint is None:
                toy = isinstance(model, ToyModel)
                constraint = toy_constraint() if toy else kinds.build("regex", '"[a-zA-Z ,.]*"')
            session = Session(
                model,
                constraint,
                prompt,
                sampler=sampler,
                seed=seed,
                max_tokens=max_tokens,
                top_k=top_k,
                budget=COMPILE,
            )
            cursor = Cursor(session)
        self.cursor = cursor
        self._other: LanguageModel | None = None
        self._written: WeakKeyDictionary[TokenDFA, tuple[str, str]] = WeakKeyDictionary()
        self._pages: dict[str, PageData] = {}
        super().__init__()
        self.on_msg(self._receive)  # pyright: ignore[reportUnknownMemberType] - ipywidgets is untyped.
        self._stop = cursor.subscribe(self.refresh)
        self.refresh()

    # --- what is shown --------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The current line."""
        return self.cursor.session

    @property
    def trace(self) -> Trace:
        """The record up to the cursor."""
        return self.session.trace

    @property
    def page_data(self) -> PageData:
        """What the page can be told about the current line's machine and model."""
        return self._page(self.session)

    def close(self) -> None:
        """End the widget; the cursor no longer tells it."""
        self._stop()
        super().close()

    def refresh(self) -> None:
        """Send the present place. Called by the cursor; a user need not."""
        with self.cursor.lock:
            session = self.session
            page = self._page(session)
            trace = self.cursor.full_trace()
            k = session.index
            self.set_trait("about", page.about)
            self._set("vocabulary", page.vocabulary_name())
            self._set("machine", {"key": page.key()})
            self._set("editor", self._editor_state(page))
            self._set("sampler", _sampler_state(session.sampler))
            with self.hold_sync():
                self.line = page.line(
                    trace, k, session.generation, self.cursor.lines, self.cursor.current
                )
                self.position = page.position(trace, k)

    def _page(self, session: Session) -> PageData:
        page = self._pages.get("now")
        if page is None or page.dfa is not session.dfa or page.lm is not session.lm:
            page = self._pages["now"] = PageData(session)
        return page

    def _set(self, name: str, value: Mapping[str, object]) -> None:
        """Send a trait only if it says something new."""
        if getattr(self, name) != value:
            self.set_trait(name, dict(value))

    def _editor_state(self, page: PageData) -> dict[str, object]:
        toy = isinstance(self.session.lm, ToyModel)
        kind, text = self._text()
        prompt = self.session.prompt
        return {
            "prompt": prompt if isinstance(prompt, str) else json.dumps(prompt),
            "prompt_fixed": "(none in the toy preset)" if toy else "",
            "kind": kind,
            "text": text,
            "kinds": list(kinds.kinds()),
            "presets": [preset.to_dict() for preset in kinds.PRESETS],
            "report": page.report(),
        }

    def _text(self) -> tuple[str, str]:
        """The kind and text of the constraint, as the user wrote it."""
        dfa = self.session.dfa
        known = None if dfa is None else self._written.get(dfa)
        return known or written(self.session.constraint)

    # --- what the page asks ---------------------------------------------------------------------

    def _receive(self, _: object, content: Message, __: object) -> None:
        """One message from the page; the answer carries its number."""
        number = content.get("re")
        try:
            with self.cursor.lock:
                answer = self._answer(content)
            self._reply({"re": number, "ok": True, **answer})
        except Exception as error:  # Whatever it is, a notebook would swallow it.
            kind = content.get("type")
            quiet = kind in ("edit", "sampler")
            packet = error_packet(error)
            self._reply({"re": number, "ok": False, "quiet": quiet, "error": packet})

    def _reply(self, answer: dict[str, object]) -> None:
        self.send(answer)  # pyright: ignore[reportUnknownMemberType] - ipywidgets is untyped.

    def _answer(self, content: Message) -> dict[str, object]:
        kind = content.get("type")
        handler = self._HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is None:
            raise ExplorerError(f"The page asked for {kind!r}, which is not known.")
        return handler(self, content) or {}

    def _step(self, content: Message) -> dict[str, object] | None:
        self.cursor.step()
        return None

    def _take(self, content: Message) -> None:
        self.cursor.step(int(content["token"]))

    def _peek(self, content: Message) -> dict[str, object]:
        token = content.get("token")
        found = self.cursor.peek(None if token is None else int(token))
        page = self._page(self.session)
        return {"walk": page.walk(self.cursor.full_trace(), self.session.index, found)}

    def _back(self, content: Message) -> None:
        self.cursor.back()

    def _jump(self, content: Message) -> None:
        self.cursor.jump(int(content["k"]))

    def _run(self, content: Message) -> dict[str, object]:
        return {"stopped": not self.cursor.run(min(int(content["tokens"]), 256))}

    def _fork(self, content: Message) -> None:
        self.cursor.fork()

    def _switch(self, content: Message) -> None:
        self.cursor.switch(int(content["fork"]))

    def _reset(self, content: Message) -> None:
        self.cursor.reset()

    def _walk(self, content: Message) -> dict[str, object]:
        k = self._checked(content)
        page = self._page(self.session)
        return {"walk": page.walk(self.cursor.full_trace(), k, int(content["token"]))}

    def _why(self, content: Message) -> dict[str, object]:
        k = self._checked(content)
        told = self._page(self.session).explanation(
            self.session, self.cursor.full_trace(), k, int(content["token"])
        )
        return {"explanation": told}

    def _search(self, content: Message) -> dict[str, object]:
        k = self._checked(content)
        page = self._page(self.session)
        return {
            "rows": page.search(self.session, self.cursor.full_trace(), k, str(content["query"]))
        }

    def _machines(self, content: Message) -> dict[str, object]:
        return {"machine": self._page(self.session).machine()}

    def _around(self, content: Message) -> dict[str, object]:
        if content.get("seen", self.session.generation) != self.session.generation:
            return {"around": None}  # Already elsewhere: the page asks again from there.
        k = self._checked(content)
        also = [int(token) for token in content.get("also", ())]
        return {"around": self._page(self.session).around(self.cursor.full_trace(), k, also)}

    def _stages(self, content: Message) -> dict[str, object]:
        k = self._checked(content)
        return {"stages": self._page(self.session).stages(self.cursor.full_trace(), k)}

    def _words(self, content: Message) -> dict[str, object]:
        return {"words": self._page(self.session).words()}

    def _edit(self, content: Message) -> None:
        kind, text = str(content["kind"]), str(content["text"])
        prompt = str(content.get("prompt", ""))
        session = self.session
        if content.get("preset") == kinds.TOY:
            if session.lm is not None and not isinstance(session.lm, ToyModel):
                self._other = session.lm
            self._begin(ToyModel(), toy_constraint(), "")
            return
        constraint = kinds.build(kind, text)
        lm = session.lm
        if isinstance(lm, ToyModel) and content.get("preset"):
            # A preset of another language needs a vocabulary that can write it.
            self._other = lm = self._other or load_model("tiny")
            self._begin(lm, constraint, prompt)
            if self.session.dfa is not None:
                self._written[self.session.dfa] = (kind, text)
                self.refresh()
            return
        dfa = None
        if (kind, text) != self._text():
            dfa = compile(constraint, session.vocabulary, COMPILE)
        new_prompt = (
            prompt if prompt != session.prompt and isinstance(session.prompt, str) else None
        )
        if isinstance(lm, ToyModel):
            new_prompt = None
        if dfa is not None:
            self._written[dfa] = (kind, text)
        if dfa is not None or new_prompt is not None:
            self.cursor.edit(constraint=dfa, prompt=new_prompt)

    def _begin(self, lm: LanguageModel, constraint: Constraint, prompt: str) -> None:
        self.cursor.replace(
            Session(
                lm,
                constraint,
                prompt,
                sampler=self.session.sampler,
                seed=self._seed,
                top_k=self._top_k,
                budget=COMPILE,
            )
        )

    def _sampler(self, content: Message) -> None:
        top_k = content.get("top_k")
        self.cursor.edit(
            sampler=Sampler(
                float(content.get("temperature") or 0.0),
                None if top_k is None else int(top_k),
                content.get("top_p"),
                content.get("min_p"),
            )
        )

    def _export(self, content: Message) -> dict[str, object]:
        from widgets.export import page

        return {"name": "explorer.html", "html": page(self)}

    def _cancel(self, content: Message) -> None:
        return None

    def _checked(self, content: Message) -> int:
        k = int(content.get("k", self.session.index))
        if not 0 <= k <= self.session.length:
            raise ExplorerError(f"There is no position {k}.", remedy="Step or jump first.")
        return k

    def snapshot(self) -> Snapshot:
        """A still of the present position, as SVG and as text."""
        with self.cursor.lock:
            return snapshot(self.cursor.full_trace(), self.session.index, self.session.dfa)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The widget, and a still for where there are no widgets."""
        bundled: object = super()._repr_mimebundle_(**kwargs)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - Untyped.
        found = cast("tuple[dict[str, Any], dict[str, Any]] | None", bundled)
        if found is None:
            return None
        return {**found[0], **self.snapshot().to_mimebundle()}, found[1]

    def to_html(self, path: str | Path) -> Path:
        """Write one offline file that replays this line, with the same views and no kernel.

        Args:
            path: The file; replaced if it is there.

        Returns:
            The path.
        """
        from widgets.export import page

        target = Path(path)
        target.write_text(page(self), encoding="utf-8")
        return target

    _HANDLERS: Final[dict[str, Callable[[Explorer, Message], dict[str, object] | None]]] = {
        "step": _step,
        "take": _take,
        "peek": _peek,
        "back": _back,
        "jump": _jump,
        "run": _run,
        "fork": _fork,
        "switch": _switch,
        "reset": _reset,
        "walk": _walk,
        "why": _why,
        "search": _search,
        "machine": _machines,
        "around": _around,
        "stages": _stages,
        "words": _words,
        "edit": _edit,
        "sampler": _sampler,
        "export": _export,
        "cancel": _cancel,
    }


@cache
def _warm() -> None:
    """Load the compiled loops once, so that the milliseconds shown are those of the constraint."""
    compile(toy_constraint(), ToyModel().vocabulary)


def written(constraint: Constraint | None) -> tuple[str, str]:
    """The kind and the text of a constraint, as the editor shows it.

    Args:
        constraint: The constraint.

    Example:
        >>> from explorer.automata.constraint import choice
        >>> written(choice(["yes", "no"]))
        ('choices', 'yes\\nno')
    """
    if constraint is None:
        return "regex", ""
    match constraint.source:
        case Regex():
            return "regex", constraint.source.pattern
        case Choice():
            return "choices", "\n".join(constraint.source.texts)
        case _:
            return "regex", str(constraint)


def error_packet(error: Exception) -> dict[str, object]:
    """An error for the page: what is wrong, where, what to do; a traceback if it is not ours.

    Args:
        error: What was raised.
    """
    if isinstance(error, RegexError):
        return {
            "title": "This pattern cannot be read",
            "message": f"{error.reason}, at character {error.start}.",
            "remedy": error.remedy,
            "start": error.start,
            "end": error.end,
        }
    if isinstance(error, ExplorerError):
        title = "Too large" if isinstance(error, BudgetExceeded) else "This is not possible"
        return {"title": title, "message": error.message, "remedy": error.remedy}
    return {
        "title": type(error).__name__,
        "message": str(error),
        "remedy": "This is a fault of the explorer; the details say where.",
        "details": "".join(traceback.format_exception(error)),
    }


def _sampler_state(sampler: Sampler) -> dict[str, object]:
    return {
        "temperature": sampler.temperature,
        "top_k": sampler.top_k,
        "top_p": sampler.top_p,
        "min_p": sampler.min_p,
    }


__all__ = ["Explorer", "error_packet", "written"]
