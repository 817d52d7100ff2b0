"""The shared part of the widgets on one cursor: the data that they show, and edits.

The cursor reports changes of its line (`widgets.cursor.Happened`); from these and the session's
trace pure functions (`widgets.figures`) compute the message to the page (`widgets.figures.told`):
the whole position, and the new part of the line. `PageData` makes the packets for one machine and
model. Large values are computed when the page requests them by name
(`widgets.dialogue.dialogue`): the vocabulary's text once per page, the machines and their layouts
once per constraint, the figures around a position after its numbers.

Callbacks may arrive on any thread, also while a cell runs, so the cursor's lock guards them.

Cost: a step sends a few kilobytes.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Final, TypedDict, cast
from uuid import uuid4
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from explorer.analysis import machine_traps, session_traps
from explorer.analysis.explaining.step import (
    explain_step,
    explain_trace,
    model_probabilities,
    reasons_at,
)
from explorer.analysis.session import Session
from explorer.analysis.traps import grouped_traps
from explorer.arguments import counted
from explorer.automata.tree.nodes import Source
from explorer.budget import Budget
from explorer.decoding.stepping.healing import without_healing
from explorer.decoding.stepping.tree import Setting
from explorer.decoding.trace.trace import Trace
from explorer.errors import ExplorerError
from explorer.languages.stages.staged import stages_of
from explorer.tokens.machine import TokenMachine, table_of
from widgets import kinds
from widgets.compiling.composed import Composed, drawn_machine
from widgets.compiling.worker import CompileWorker
from widgets.cursor import Cursor, each_of, whole_trace
from widgets.editing import Editing
from widgets.figures.drawing.geometry import Layout
from widgets.figures.drawing.layout import lay_out_figures
from widgets.figures.machines.detokenizing_figure import (
    composed_tokens,
    detokenizing_figure,
    failing_offsets,
    masked_tokens,
    shown_tokens,
)
from widgets.figures.machines.drawn import draw_at, drawn_whole
from widgets.figures.machines.lit import walk_packet
from widgets.figures.machines.machine_figure import MachineFigure
from widgets.figures.machines.pushdown_figure import pushdown_near
from widgets.figures.machines.stages import stages_made
from widgets.figures.packets import (
    class_packet,
    lean,
    machine_packet,
    numbers_packet,
    position_packet,
    schema_behind,
    vocabulary_packet,
    written_pattern,
)
from widgets.figures.panels.phases import phases_packet
from widgets.figures.panels.pipeline import neighbours_packet, pipeline_packet, stage_packet
from widgets.figures.panels.reasons import (
    Grouped,
    grouped,
    more_packet,
    trap_packet,
    verdict_packet,
)
from widgets.figures.panels.stack import stack_steps, with_stack
from widgets.figures.panels.tokens import over_time, rejected_token, strip_packet, strip_token
from widgets.figures.told import (
    AskedState,
    Editor,
    Line,
    LineHistory,
    Moved,
    Named,
    Offered,
    SamplerState,
    ShownPosition,
    TokenBox,
    ToldPlace,
)
from widgets.looks import Looks
from widgets.other_engines import OtherEngines
from widgets.toy import ToyModel

MOST_WAITED_FOR: Final = 20_000
"""The most ids of a vocabulary for whose composition by pynini a first drawing waits. With more the
same machine is drawn at once, and pynini composes it afterwards."""

MOST_INNER: Final = 64
"""The most drawings of the detokenizing FST that are kept."""

Packet = dict[str, object]


class EditorPart(TypedDict):
    """The part of the editor that depends on the machine; see `widgets.figures.told.Editor`."""

    report: str
    pattern: str
    behind: str
    pipeline: Packet
    method: str


class PageData:
    """The data of a page about one machine and model."""

    def __init__(self, session: Session) -> None:
        self.machine = session.machine
        self.lm = session.lm
        self.vocabulary = session.vocabulary
        self._lock = threading.Lock()  # Layouts are made on threads.
        self._machine: Packet | None = None
        self._composing = threading.Lock()
        self._drawn = Composed(self.machine, None)
        self._inner: dict[
            tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]],
            tuple[MachineFigure, Layout],
        ] = {}
        self._groups: tuple[tuple[object, ...], Grouped] | None = None
        self._machine_traps: list[Packet] | None = None
        self.engines = OtherEngines(session.machine)
        self.looks = Looks()

    @property
    def free(self) -> bool:
        """Whether there is no constraint, so that nothing is masked and no machine is drawn."""
        return self.machine.constraint is None

    @cached_property
    def about(self) -> str:
        """The model in a few words, for the title line."""
        if isinstance(self.lm, ToyModel):
            return f"toy preset: {len(self.vocabulary) - 1} tokens + EOS, hand-set probabilities"
        name = "no model" if self.lm is None else f"model {self.lm.name}"
        return f"{name}: {len(self.vocabulary):,} tokens"

    @cached_property
    def editor(self) -> EditorPart:
        """The part of the editor that depends on the machine."""
        return {
            "report": self._report(),
            "pattern": written_pattern(self.machine),
            "behind": schema_behind(self.machine),
            "pipeline": pipeline_packet(self._source, self.vocabulary),
            "method": "" if self.free else self.machine.report.method,
        }

    def _report(self) -> str:
        """The sizes and milliseconds of the compilation, and its warnings, in one line."""
        if self.free:
            return "no constraint"
        report = self.machine.report
        if table_of(self.machine) is None:
            # Without a number: this line is written once, and states are met later.
            if report.byte_machine == "closed":
                line = f"{counted(report.character_states, 'character state')}; token states"
            else:
                line = "character and token states"
            line += " are worked out as they are visited"
            if report.reason:
                line += f" · {report.reason}"
        else:
            line = (
                f"{counted(report.character_states, 'character state')} → "
                f"{counted(report.token_states, 'token state')}, "
                f"{counted(report.token_classes, 'token class')}, "
                f"{report.total_milliseconds:.1f} ms"
            )
        # Below a warning is the line that it is about, but the editor shows that text itself.
        return " · ".join([line, *(each.partition("\n")[0] for each in report.warnings)])

    def composed(self, worker: CompileWorker | None, budget: Budget) -> str | None:
        """A line on how the drawn machine was composed; requested until the process has answered.

        Args:
            worker: The process that compiles; ``None`` if no page has needed one yet.

        Returns:
            The line; ``None`` while the process is busy.
        """
        with self._composing:
            if not self._drawn.line:
                drawn = drawn_machine(self.machine, worker, budget)
                with self._lock:
                    if drawn.machine is not self._drawn.machine:
                        self._machine = None
                    self._drawn = drawn
            return self._drawn.line

    @cached_property
    def vocabulary_name(self) -> Named:
        """The name of the vocabulary; its text is in `vocabulary_packet`."""
        return {"fingerprint": self.vocabulary.fingerprint, "size": len(self.vocabulary)}

    def words(self) -> Packet:
        """The readable text of every token."""
        return vocabulary_packet(self.vocabulary)

    @cached_property
    def machine_name(self) -> dict[str, str]:
        """The ``key`` of the machine, which is equal for equal constraints and vocabularies."""
        if self.free:
            return {"key": ""}
        kind = "table" if table_of(self.machine) is not None else type(self.machine).__name__
        source = None if self.machine.constraint is None else self.machine.constraint.source
        text = f"{self.machine.vocabulary.fingerprint} {kind} {source!r}"
        return {"key": hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]}

    @property
    def drawn(self) -> TokenMachine:
        """The machine that is drawn: pynini's, when that has composed it."""
        return self._drawn.machine

    def machines(self, worker: CompileWorker | None, budget: Budget) -> Packet:
        """The classes of the tokens, and the machines if they can be drawn whole.

        Args:
            worker: The process that compiles; ``None`` if there is none.
        """
        if self.free:
            return {**self.machine_name}
        if self.whole and len(self.vocabulary) <= MOST_WAITED_FOR:
            self.composed(worker, budget)
        with self._lock:
            if self._machine is None:
                self._machine = machine_packet(self.drawn, key=str(self.machine_name["key"]))
            return self._machine

    @property
    def num_stages(self) -> int:
        """The number of stages of the constraint."""
        return 0 if self._source is None else len(stages_of(self._source))

    def stage(self, number: int, session: Session | None = None, *at: Any) -> Packet:
        """One stage; with a session, its trace and a position, the tokens it refuses there too.

        Raises:
            ExplorerError: There is no such stage.
        """
        source = self._source
        if source is None or not 0 <= number < self.num_stages:
            raise ExplorerError(f"There is no stage {number}.", remedy="Choose one that is drawn.")
        packet, (stage, on) = stage_packet(source, number), stages_of(source)[number]
        if session is not None and not self.free and on:
            shares = model_probabilities(session, *at)
            packet["neighbours"] = neighbours_packet(self.machine, stage, *at, probabilities=shares)
        return packet

    def pairs(self, trace: Trace, k: int, probabilities: NDArray[np.float64] | None) -> Packet:
        """The neighbours at a position of each stage of the tokens that is on, by its number."""
        if self._source is None:
            return {}
        by_stage: Packet = {}
        for number, (stage, on) in enumerate(stages_of(self._source)):
            pairs = neighbours_packet(self.machine, stage, trace, k, probabilities) if on else None
            if pairs is not None:
                by_stage[str(number)] = pairs
        return by_stage

    @property
    def _source(self) -> Source | None:
        constraint = self.machine.constraint
        return None if constraint is None else without_healing(constraint).source

    @cached_property
    def _phased(self) -> bool:
        return self.machine.constraint is not None and self.machine.constraint.source.phased

    def classes(self) -> Packet:
        """Only the classes of the tokens, for a page that draws no machine."""
        if self.free:
            return {**self.machine_name}
        pattern = {"pattern": self.editor["pattern"]}
        return {**self.machine_name, **pattern, **class_packet(self.machine)}

    def around(self, trace: Trace, k: int, also: Iterable[int] = ()) -> Packet:
        """The drawings that change with the position: T_V for the tokens that matter, and large
        machines.
        """
        tokens = shown_tokens(trace, k, self.machine, also)
        masked = () if self.free else masked_tokens(trace, k, tokens)
        fails = failing_offsets(self.machine, trace.positions[k].state, masked)
        inner, place = self._detokenizing(tokens, masked, fails)
        figures, layouts = {"detokenizing_fst": inner}, {"detokenizing_fst": place}
        if not self.free and not self.whole:
            near = draw_at(self.drawn, trace, k)
            figures |= near.figures
            layouts |= near.layouts
        shown = sorted(tokens), sorted(masked), sorted(fails.items())
        key = f"{k if len(figures) > 1 else ''}:{shown}"
        stack = pushdown_near(self.machine, trace.positions[k].state)
        if stack is not None:
            figures["pushdown"], layouts["pushdown"] = stack
            key += ",".join(node.id for node in stack[0].nodes)
        return {
            "key": key,
            "machines": {name: lean(drawn.to_dict()) for name, drawn in figures.items()},
            "layouts": {name: drawn.to_dict() for name, drawn in layouts.items()},
        }

    def _detokenizing(
        self, tokens: tuple[int, ...], masked: tuple[int, ...], fails: Mapping[int, int]
    ) -> tuple[MachineFigure, Layout]:
        """T_V of some tokens, laid out; keeps the last drawings, because a run returns to them."""
        name = tokens, masked, tuple(sorted(fails.items()))
        with self._lock:
            known = self._inner.get(name)
            if known is None:
                if len(self._inner) >= MOST_INNER:
                    del self._inner[next(iter(self._inner))]
                figure = detokenizing_figure(self.vocabulary, tokens, masked, fails)
                known = (figure, lay_out_figures({"inner": figure})["inner"])
                self._inner[name] = known
            return known

    def stages(self, trace: Trace, k: int, also: Iterable[int] = ()) -> list[Packet]:
        """The construction over the tokens that are shown, stage by stage."""
        if self.free:
            return []
        packets: list[Packet] = []
        drawn = draw_at(self.drawn, trace, k).figures["token_dfa"]
        shown = shown_tokens(trace, k, self.machine, also)
        tokens = composed_tokens(self.machine, trace.positions[k].state, drawn, shown)
        for made in stages_made(self.machine, tokens):
            layout = lay_out_figures({"stage": made.figure})["stage"]
            packets.append({**made.to_dict(), "layout": layout.to_dict()})
        return packets

    @property
    def whole(self) -> bool:
        """Whether the machines are drawn whole."""
        return not self.free and drawn_whole(self.machine)

    def position(self, trace: Trace, k: int) -> Packet:
        """Everything the page shows of a position."""
        return position_packet(trace, k, self.machine)

    def line(
        self,
        trace: Trace,
        k: int,
        generation: int,
        lines: Sequence[tuple[str, Session]],
        current: int,
    ) -> Line:
        """All tokens of the current line and of the lines beside it."""
        strip = strip_packet(trace.part(0, 0), self.vocabulary)
        strip["tokens"] = self._tokens(trace, self.machine)
        strip["finished"], strip["rejected"] = trace.finished, rejected_token(trace, self.machine)
        if self._phased and (phases := phases_packet(trace)) is not None:
            strip["phases"] = phases
        strip["forks"] = [
            {
                "name": name,
                "current": number == current,
                "tokens": []
                if number == current
                else self._tokens(whole_trace(each), each.machine),
            }
            for number, (name, each) in enumerate(lines if len(lines) > 1 else ())
        ]
        return {
            "index": k,
            "length": len(trace),
            "generation": generation,
            "strip": strip,
            "model": self.lm is not None,
        }

    def history(self, trace: Trace, since: int = 0) -> LineHistory:
        """The values of the charts at the positions of a line, from one of them on."""
        return cast(LineHistory, over_time(trace.part(since, len(trace))).to_dict())

    def grown(
        self, line: Line, history: LineHistory, trace: Trace, k: int, kept: int, generation: int
    ) -> Moved:
        """Bring a line and its history up to a trace; both are changed in place.

        Args:
            kept: The number of tokens of the line that stay; later ones of the trace are new.

        Returns:
            The change, for pages that have the line already.
        """
        strip, before = line["strip"], line["generation"]
        line["index"], line["length"], line["generation"] = k, len(trace), generation
        moved: Moved = {
            "after": before,
            "generation": generation,
            "index": k,
            "length": len(trace),
            "kept": kept,
            "tokens": self._tokens(trace, self.machine, kept),
            "finished": trace.finished,
            "rejected": rejected_token(trace, self.machine),
        }
        if moved["tokens"] or len(strip["tokens"]) > kept:
            strip["tokens"][kept:] = moved["tokens"]
            # The token taken at a position is known only after the step, so that is new too.
            moved["history"] = self.history(trace, kept)
            for name, values in moved["history"].items():
                cast("dict[str, list[object]]", history)[name][kept:] = cast("list[object]", values)
            if self._phased and (phases := phases_packet(trace, kept)) is not None:
                moved["phases"] = phases
                alive = strip["phases"]["alive"][:kept] if "phases" in strip else []
                strip["phases"] = {**phases, "alive": [*alive, *phases["alive"]]}
        strip["finished"], strip["rejected"] = moved["finished"], moved["rejected"]
        return moved

    def _tokens(self, trace: Trace, machine: TokenMachine, since: int = 0) -> list[TokenBox]:
        """The output tokens of the strip."""
        return [strip_token(trace, k, machine) for k in range(since, len(trace))]

    def walk(self, trace: Trace, k: int, token: int) -> Packet:
        """The path of a token through all three machines, byte by byte."""
        if self.free:
            data = self.vocabulary.tokens[token] if token < len(self.vocabulary) else None
            return {"token": token, "bytes": list(data or b""), "lit": {}, "failed_at": None}
        position = trace.positions[k]
        packet = walk_packet(self.machine, position.state, token)
        read = bytes(cast("list[int]", packet["bytes"]))[: cast("int | None", packet["failed_at"])]
        stack = stack_steps(self.machine, position.data, read)
        return packet if stack is None else {**packet, "stack": stack}

    def explanation(
        self, session: Session, trace: Trace, k: int, token: int, *, hints: bool = False
    ) -> Packet:
        """The reason why a token is allowed or masked at a position.

        Args:
            hints: Whether to include the parts that need a search, which the page otherwise
                requests afterwards.
        """
        if self.free:
            return _unconstrained()
        explanation = explain_step(session, token, k, trace=trace)
        packet = with_stack(verdict_packet(explanation), self.machine, explanation.verdict)
        return {**packet, "more": more_packet(explanation)} if hints else packet

    def stored_explanation(
        self, trace: Trace, k: int, token: int, logits: Tensor | None, *, hints: bool
    ) -> Packet:
        """`explanation` for a file of thousands of them: the logits are read only if they matter.

        They show the effect of the sampler's filters on an allowed token, and the likeliest allowed
        tokens near a masked one.

        Args:
            logits: float[W], the model's at that position; ``None`` without a model.
            hints: Whether to include the parts that need a search.
        """
        if self.free:
            return _unconstrained()
        sampler = trace.sampler
        filters = sampler.greedy or (sampler.top_k, sampler.top_p, sampler.min_p) != (None,) * 3
        allowed = token < len(self.vocabulary) and self.machine.step(
            trace.positions[k].state, token
        )
        tell = hints or (allowed is not None and filters)
        explanation = explain_trace(self.machine, trace, token, k, logits=logits if tell else None)
        packet = with_stack(verdict_packet(explanation), self.machine, explanation.verdict)
        return {**packet, "more": more_packet(explanation)} if hints else packet

    def groups(self, session: Session, trace: Trace, k: int) -> Grouped:
        """The groups of reasons at a position; the last answer is kept.

        Args:
            session: A session with the model's logits, which stays on this line.

        Raises:
            ExplorerError: There is no constraint.
        """
        if self.free:
            raise ExplorerError(
                "There is no constraint, so nothing is masked.", remedy="Write a constraint first."
            )
        key = (session.prompt, trace.ids[:k], trace.max_tokens, trace.masking_budget)
        known = self._groups
        if known is None or known[0] != key:
            reasons = reasons_at(session, k, trace=trace)
            probabilities = model_probabilities(session, trace, k)
            known = self._groups = (key, grouped(reasons, trace.allowed(k), probabilities))
        return known[1]

    def traps(self, trace: Trace, session: Session | None = None) -> list[Packet]:
        """The traps of a run, by position, and then those of its constraint.

        Args:
            session: A session at the end of the run, for the traps of its next step.
        """
        if self.free:
            return []
        if self._machine_traps is None:
            traps = grouped_traps(machine_traps(self.machine))
            self._machine_traps = [trap_packet(trap, self.machine) for trap in traps]
        of_run = session_traps(self.machine, trace)
        ahead = () if session is None else self.looks.traps(session)
        packets = [trap_packet(trap, self.machine) for trap in (*of_run, *ahead)]
        return [*packets, *self._machine_traps]


def _unconstrained() -> Packet:
    said = "There is no constraint, so every token is allowed."
    return {"allowed": True, "message": said, "sentence": said}


def no_op() -> None:
    """Do nothing: there is no subscription to end."""


class ShownPlace:
    """The shared part of the widgets on one cursor.

    Args:
        top_k: The number of tokens shown of a distribution, in a session that the page begins.
    """

    def __init__(self, cursor: Cursor, *, top_k: int = 10) -> None:
        self.cursor = cursor
        self.name = uuid4().hex[:12]
        self.editing = Editing(cursor, top_k=top_k)
        self._page: PageData | None = None
        self._told: ToldPlace | None = None
        self._asked: tuple[Setting, int, AskedState] | None = None
        self._followers: list[Callable[[ToldPlace], None]] = []
        self._stop: Callable[[], None] = no_op

    @classmethod
    def of(cls, cursor: Cursor, *, top_k: int = 10) -> ShownPlace:
        """The place of a cursor, shared by all widgets that show it.

        So all widgets share results, and all of them show a constraint in the form in which the
        user wrote it in one of them.
        """
        # A place holds its cursor, so no other cursor gets this id meanwhile.
        place = _PLACES.get(id(cursor))
        if place is None:
            place = _PLACES[id(cursor)] = cls(cursor, top_k=top_k)
        return place

    def follow(self, show: Callable[[ToldPlace], None]) -> Callable[[], None]:
        """Call a function with the place, now and after each change.

        Args:
            show: The function, called under the cursor's lock.

        Returns:
            A function that ends the subscription.
        """
        with self.cursor.lock:
            if not self._followers:
                self._stop = self.cursor.subscribe(self.refresh)
            now = self.state()
            self._followers.append(show)
            show(now)

        def stop() -> None:
            with self.cursor.lock:
                if show in self._followers:
                    self._followers.remove(show)
                    if not self._followers:
                        self._stop()

        return stop

    def refresh(self) -> None:
        """Compute the message once, and pass it to all followers: the numbers, then the words."""
        with self.cursor.lock:
            told = self._told = self._worked_out()
            self._tell(told)
            trace, k = self.cursor.full_trace(), self.session.index
            position = cast(ShownPosition, self.page.position(trace, k))
            self._told = replace(told, position=position)
            self._tell(replace(self._told, again=True))

    def _tell(self, told: ToldPlace) -> None:
        each_of([partial(show, told) for show in self._followers])

    def catch_up(self) -> None:
        """Refresh if the session moved without the cursor, so that no follower was told."""
        with self.cursor.lock:
            if self._told is None or self._told.line["generation"] != self.cursor.generation:
                self.refresh()

    def state(self) -> ToldPlace:
        """The present place, with the whole line."""
        with self.cursor.lock:
            self.catch_up()
            return replace(cast(ToldPlace, self._told), moved=None)

    @property
    def session(self) -> Session:
        """The current line."""
        return self.cursor.session

    @property
    def page(self) -> PageData:
        """The data of the page about the current line's machine and model."""
        session, page = self.session, self._page
        if page is None or page.machine is not session.machine or page.lm is not session.lm:
            page = self._page = PageData(session)
        return page

    @property
    def offered(self) -> Offered:
        """The choices of the editor, which do not depend on the place."""
        models = list(self.editing.models())
        return {
            "kinds": list(kinds.kinds()),
            "presets": kinds.PICTURED,
            "examples": kinds.EXAMPLES,
            "models": models,
        }

    def _worked_out(self) -> ToldPlace:
        cursor, session, page, told = self.cursor, self.session, self.page, self._told
        happened, trace, k = cursor.happened, cursor.full_trace(), session.index
        question = self._question(session, page)
        position = cast(ShownPosition, numbers_packet(trace, k, page.machine))
        known = told is not None and told.line["generation"] == happened.after
        if told is None or not known or happened.generation != cursor.generation:
            kept = None
        else:
            kept = happened.kept
        if told is None or kept is None:
            line: Line = page.line(trace, k, cursor.generation, cursor.lines, cursor.current)
            history: LineHistory = page.history(trace)
            return ToldPlace(question, line, history, position)
        moved = page.grown(told.line, told.history, trace, k, kept, cursor.generation)
        return ToldPlace(question, told.line, told.history, position, moved)

    def _question(self, session: Session, page: PageData) -> AskedState:
        """The part that is the same at every position, computed once per edit."""
        known, setting, seed = self._asked, session.setting, session.seed
        if known is None or known[0] is not setting or known[1] != seed:
            question: AskedState = {
                "place": self.name,
                "about": page.about,
                "vocabulary": page.vocabulary_name,
                "machine": page.machine_name,
                "editor": self._editor_state(page),
                "sampler": _sampler_state(session),
            }
            known = self._asked = (setting, seed, question)
        return known[2]

    def _editor_state(self, page: PageData) -> Editor:
        toy = isinstance(self.session.lm, ToyModel)
        kind, text = self.editing.text()
        prompt = self.session.prompt
        return {
            "prompt": prompt if isinstance(prompt, str) else json.dumps(prompt) if prompt else "",
            "prompt_fixed": "(a toy has no prompt)" if toy else "",
            "kind": kind,
            "text": text,
            "remark": self.editing.remark,
            "model": "" if self.session.lm is None else self.session.lm.name,
            **page.editor,
        }


_PLACES: Final[WeakValueDictionary[int, ShownPlace]] = WeakValueDictionary()
"""The places by the address of their cursor."""


def _sampler_state(session: Session) -> SamplerState:
    sampler, seed = session.sampler, session.seed
    return {
        "temperature": sampler.temperature,
        "top_k": sampler.top_k,
        "top_p": sampler.top_p,
        "min_p": sampler.min_p,
        # A page's numbers have 53 bits; a larger seed is shown as text and is not changed.
        "seed": seed if seed < 2**53 else str(seed),
    }
