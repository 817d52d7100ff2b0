"""Edits from the page: the prompt, the constraint, the preset.

Some constraints take long to compile, and a page can send "cancel" only to a kernel that is not
blocked. So an edit that compiles is answered later: its `Later` is computed without the cursor's
lock, while everything else goes on with the old constraint, and its result is put in place under
the lock. Only the latest edit of a cursor counts; a newer one, or a cancel, ends the older one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final
from weakref import WeakKeyDictionary

from explorer.analysis.session import Session
from explorer.budget import Budget
from explorer.decoding.models.load import load_model
from explorer.decoding.models.model import LanguageModel
from explorer.decoding.stepping.healing import Heal, without_healing
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.sources.registry import name_of
from explorer.languages.stages.declared import steps_of
from explorer.languages.stages.preprocessed import Preprocessed
from explorer.languages.stages.stage import PipelineStage, stages_alone
from explorer.languages.stages.staged import Placed, stages_of, unstaged
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary
from widgets import kinds
from widgets.compiling.worker import CallOff, CompileWorker, Question, shared_worker
from widgets.cursor import Aside, Cursor
from widgets.dialogue.later import CalledOff, Later
from widgets.figures.machines.character_fsa import character_view
from widgets.toy import ToyModel, toy_constraint

COMPILE: Final = Budget(seconds=10.0)
"""The limits for a constraint that is typed, for which the user waits."""

Put = Callable[[TokenMachine], None]
"""A function that puts a compiled machine in place; called inside the cursor's lock."""

GRACE: Final = 0.5
"""The seconds that a compilation may still take when a newer one waits: about as long as starting
a new process takes."""


EMBEDDED_OFFERED: Final = ("tiny", "tiny-sp", "tiny-chat")
"""The embedded models that a page offers: one byte-level, one in the style of SentencePiece, and
one with control tokens."""


class Editing:
    """The edits of one cursor.

    Args:
        top_k: The number of tokens shown of a distribution, in a session that an edit begins.

    Attributes:
        budget: The limits of each compilation.
        worker: The worker that compiles; ``None`` until a page has shown the editor, or has edited.
    """

    def __init__(self, cursor: Cursor, *, top_k: int = 10) -> None:
        self.budget = COMPILE
        self.worker: CompileWorker | None = None
        self._cursor = cursor
        self._top_k = top_k
        self._newest = CallOff()
        self._aside: Aside | None = None  # The user's lines, while a preset's own model is shown.
        self._guest: LanguageModel | None = None  # That model, if it is not the toy.
        self._own = cursor.session.lm
        self._written: WeakKeyDictionary[TokenMachine, tuple[str, str]] = WeakKeyDictionary()

    def ready(self) -> None:
        """Start a warm worker when a page shows the editor, so that the first edit is quick."""
        if self.worker is None:
            self.worker = shared_worker()
            self.worker.warm(self._cursor.session.vocabulary)

    def text(self) -> tuple[str, str]:
        """The kind and the text of the constraint, as the user wrote it."""
        known = self._written.get(self._cursor.session.machine)
        return known or written_constraint(self._cursor.session.constraint)

    def cancel(self) -> None:
        """Cancel the running compilation; the last good constraint stays."""
        self._newest.call()

    def edit(self, kind: str, text: str, prompt: str, preset: str | None = None) -> Later | None:
        """Change the constraint and the prompt.

        Args:
            preset: The name of the preset that they come from, if they come from one.

        Returns:
            The rest of the edit, if something has to be compiled; ``None`` if it is done.

        Raises:
            ExplorerError: The session refuses the prompt.
        """
        self._newest.call(GRACE)
        self._newest = CallOff()
        question = kind, text
        session = self._cursor.session
        if preset == kinds.TOY:
            self._set_aside()
            self._begin(ToyModel(), toy_constraint(), "")
            return None
        chosen = None if preset is None else kinds.preset_of(preset)
        brings = chosen is not None and bool(chosen.model)
        # A preset in another language needs a vocabulary that can write it.
        elsewhere = preset is not None and self._has_guest() and not brings
        if preset is not None:
            prompt = "" if chosen is None else chosen.prompt
        if question == self.text() and not elsewhere and not brings:
            self._change(None, prompt)
            return None
        before = self._aside.session if elsewhere and self._aside else session
        stages = () if brings else self._stages(before)
        asked = question if preset is not None else self._with_options(question)

        def make() -> tuple[Question, Vocabulary, tuple[Placed, ...], Put]:
            lm, vocabulary, aside = session.lm, session.vocabulary, self._aside
            if brings and chosen is not None:
                if lm is None or lm.name != chosen.model:
                    lm = kinds.preset_model(chosen)
                vocabulary = lm.vocabulary
            elif elsewhere and aside is not None:
                vocabulary = aside.session.vocabulary
            elif elsewhere:
                lm = load_model("tiny")
                vocabulary = lm.vocabulary

            def put(dfa: TokenMachine) -> None:
                if self._cursor.session.lm is not session.lm:
                    raise CalledOff("Another model was chosen meanwhile.")
                self._written[dfa] = question
                if brings and lm is not None:
                    self._set_aside()
                    self._guest = lm
                    self._begin(lm, dfa, prompt)
                elif elsewhere and aside is not None:
                    self._back(aside, dfa, prompt)
                elif elsewhere and lm is not None:
                    self._begin(lm, dfa, prompt)
                else:
                    self._change(dfa, prompt)

            return asked, vocabulary, stages, put

        return self._compiled(make)

    def _with_options(self, question: tuple[str, str]) -> Question:
        """A kind and a text, with the options of the present constraint if it is of that kind."""
        constraint = self._cursor.session.constraint
        if constraint is None:
            return question
        source = unstaged(without_healing(constraint).source)
        edited = source.edited(question[1]) if name_of(source) == question[0] else None
        return question if edited is None else Constraint(edited)

    @property
    def remark(self) -> str:
        """The options of the constraint that are not in its text."""
        constraint = self._cursor.session.constraint
        return "" if constraint is None else unstaged(without_healing(constraint).source).remark

    def models(self) -> tuple[str, ...]:
        """The names of the models that a page may choose: the user's own, and the embedded ones."""
        if self._own is None:
            return ()  # A run from elsewhere belongs to one vocabulary.
        return tuple(dict.fromkeys([self._own.name, *EMBEDDED_OFFERED]))

    def choose_model(self, name: str) -> Later:
        """Ask another model the same question, with its own tokenizer.

        Args:
            name: One of `models`.

        Returns:
            The rest of the edit: the constraint is compiled for the other vocabulary.

        Raises:
            ExplorerError: There is no such model.
        """
        own = self._own
        if own is None or name not in self.models():
            raise ExplorerError(
                f"There is no model {name!r} to choose here.",
                remedy=f"Choose one of {', '.join(self.models())}.",
            )
        session, written = self._cursor.session, self.text()
        stages, question = self._stages(session), self._with_options(written)

        def make() -> tuple[Question, Vocabulary, tuple[Placed, ...], Put]:
            lm = own if name == own.name else load_model(name)
            around = tuple((_for_vocabulary(stage, lm.vocabulary), on) for stage, on in stages)

            def put(machine: TokenMachine) -> None:
                self._aside = self._guest = None  # This one was chosen, and stays.
                self._written[machine] = written
                typed = session.prompt if isinstance(session.prompt, str) else ""
                self._begin(lm, machine, "" if isinstance(lm, ToyModel) else typed)

            return question, lm.vocabulary, around, put

        return self._compiled(make)

    def switch_stage(self, number: int, on: bool) -> Later:
        """Switch a stage of the constraint on or off.

        Returns:
            The rest of the edit: compiling.

        Raises:
            ExplorerError: There is no such stage.
        """
        stages = self._stages(self._cursor.session)
        if not 0 <= number < len(stages):
            raise ExplorerError(
                f"There is no stage {number}.", remedy=f"Choose one from 0 to {len(stages) - 1}."
            )
        stage = stages[number][0]
        return self._restage((*stages[:number], (stage, on), *stages[number + 1 :]))

    def add_stage(self, kind: str) -> Later:
        """Put another stage around the constraint.

        Returns:
            The rest of the edit: compiling.

        Raises:
            ExplorerError: There is no such stage, or there is no constraint.
        """
        made = [stage for stage in stages_alone() if stage.kind == kind]
        if not made:
            raise ExplorerError(
                f"There is no stage {kind!r} that needs no arguments.",
                remedy=f"Choose one of {', '.join(stage.kind for stage in stages_alone())}.",
            )
        return self._restage((*self._stages(self._cursor.session), (made[0], True)))

    def rewrite(self, token: int, writes: str | None, missing: bool) -> Later:
        """Change an arc of the detokenizing transducer: the text that a token writes, or remove it.

        Args:
            writes: The text; ``None`` for the usual bytes.
            missing: Whether the token's arc is removed.

        Returns:
            The rest of the edit: compiling.

        Raises:
            ExplorerError: It is not an id of text, or there is no constraint.
        """
        session, question = self._cursor.session, self.text()
        constraint = session.constraint
        if constraint is None:
            raise ExplorerError(
                "There is no constraint, so nothing is composed.",
                remedy="Write a constraint first.",
            )
        now = session.vocabulary
        usual = now if session.lm is None else session.lm.vocabulary
        data = usual.tokens[token] if 0 <= token < len(usual) else None
        if data is None:
            raise ExplorerError(
                f"The id {token} is not a token of text.", remedy="Choose a token that writes text."
            )
        data = None if missing else data if writes is None else writes.encode()
        tokens = (*now.tokens[:token], data, *now.tokens[token + 1 :])
        vocabulary = usual if tokens == usual.tokens else now.writing(tokens)
        stages = self._stages(session)
        asked = Constraint(unstaged(without_healing(constraint).source))
        return self._compiled(lambda: (asked, vocabulary, stages, self._changed(question)))

    def _stages(self, session: Session) -> tuple[Placed, ...]:
        constraint = session.constraint
        return () if constraint is None else stages_of(without_healing(constraint).source)

    def _restage(self, stages: tuple[Placed, ...]) -> Later:
        constraint = self._cursor.session.constraint
        if constraint is None:
            raise ExplorerError(
                "There is no constraint, so there is nothing to filter.",
                remedy="Write a constraint first.",
            )
        return self.ask(lambda: constraint, stages)

    def ask(
        self, constraint: Callable[[], Constraint], stages: tuple[Placed, ...] | None = None
    ) -> Later:
        """Change the constraint, with the present stages or with others.

        Args:
            constraint: Makes it; called outside the cursor's lock.

        Returns:
            The rest of the edit: compiling.
        """
        session = self._cursor.session
        around = self._stages(session) if stages is None else stages

        def make() -> tuple[Question, Vocabulary, tuple[Placed, ...], Put]:
            asked = Constraint(unstaged(without_healing(constraint()).source))
            return asked, session.vocabulary, around, self._changed(written_constraint(asked))

        return self._compiled(make)

    def decode_on_pynini(self, drawn: Callable[[], TokenMachine | None]) -> Later:
        """Step on the machine that pynini composed.

        Args:
            drawn: Composes it; ``None`` while the process is busy. Called outside the lock.

        Returns:
            The rest of the edit.
        """
        put, mine = self._changed(self.text()), self._newest

        def work() -> Callable[[], None]:
            deadline = time.monotonic() + self.budget.seconds
            while (machine := drawn()) is None and time.monotonic() < deadline:
                mine.check()
                time.sleep(BUSY)
            if machine is None or machine.report.method != "pynini":
                raise ExplorerError(
                    "pynini has not composed this machine.",
                    remedy="The line above says why; the machine of the functions stays.",
                )
            return lambda: put(machine)

        return Later(work)

    def _changed(self, written: tuple[str, str]) -> Put:
        """Put a machine in the place of the present one, if the model is still the same."""
        lm = self._cursor.session.lm

        def put(machine: TokenMachine) -> None:
            if self._cursor.session.lm is not lm:
                raise CalledOff("Another model was chosen meanwhile.")
            self._written[machine] = written
            self._cursor.edit(constraint=machine)

        return put

    def _compiled(
        self, make: Callable[[], tuple[Question, Vocabulary, tuple[Placed, ...], Put]]
    ) -> Later:
        """Compile in the worker; a newer edit, or a cancel, ends it.

        Args:
            make: The question, the vocabulary, the stages around it, and what puts the machine in
                place; called outside the cursor's lock.
        """
        self._newest.call(GRACE)
        mine = self._newest = CallOff()
        worker = self._worker()

        def work() -> Callable[[], None]:
            question, vocabulary, stages, put = make()
            machine = worker.compile(question, vocabulary, self.budget, mine, stages)
            character_view(machine)  # The page needs it at once, and no step waits for it here.

            def put_unless_called_off() -> None:
                mine.check()
                put(machine)

            return put_unless_called_off

        return Later(work)

    def _worker(self) -> CompileWorker:
        if self.worker is None:
            self.worker = shared_worker()
        return self.worker

    def _has_guest(self) -> bool:
        """Whether the model is one that a preset brought, or the toy."""
        lm = self._cursor.session.lm
        return isinstance(lm, ToyModel) or (lm is not None and lm is self._guest)

    def _set_aside(self) -> None:
        """Keep the user's own lines until the model that a preset brought is left again."""
        lm = self._cursor.session.lm
        if lm != ToyModel() and (lm is None or lm is not self._guest):
            self._aside = self._cursor.aside()

    def _change(self, dfa: TokenMachine | None, prompt: str) -> None:
        session = self._cursor.session
        fixed = isinstance(session.lm, ToyModel) or not isinstance(session.prompt, str)
        changed = None if fixed or prompt == session.prompt else prompt
        if dfa is not None or changed is not None:
            self._cursor.edit(constraint=dfa, prompt=changed)

    def _back(self, aside: Aside, dfa: TokenMachine, prompt: str) -> None:
        """Restore the lines from before the toy, and change the current one's constraint."""
        old, sampler = aside.session, self._cursor.session.sampler
        typed = isinstance(old.prompt, str) and prompt not in ("", old.prompt)
        self._cursor.restore(
            aside,
            constraint=dfa,
            prompt=prompt if typed else None,
            sampler=None if sampler == old.sampler else sampler,
        )
        self._aside = self._guest = None

    def _begin(
        self,
        lm: LanguageModel,
        constraint: Constraint | TokenMachine,
        prompt: str,
        heal: Heal = False,
    ) -> None:
        session = self._cursor.session
        self._cursor.replace(
            Session(
                lm,
                constraint,
                prompt,
                sampler=session.sampler,
                seed=session.seed,
                top_k=self._top_k,
                budget=self.budget,
                heal=heal,
            )
        )


def _for_vocabulary(stage: PipelineStage, vocabulary: Vocabulary) -> PipelineStage:
    """A stage for the tokenizer of another vocabulary."""
    if isinstance(stage, Preprocessed):
        return Preprocessed(steps_of(vocabulary))
    return stage.to_send()


def written_constraint(constraint: Constraint | None) -> tuple[str, str]:
    """The kind and the text of a constraint, as the editor shows it.

    Example:
        >>> from explorer.languages.constraint import choice
        >>> written_constraint(choice(["yes", "no"]))
        ('choices', 'yes\\nno')
    """
    if constraint is None:
        return "regex", ""
    # The session puts the end of the prompt before it; the pipeline bar shows the stages.
    source = unstaged(without_healing(constraint).source)
    return name_of(source), source.text


BUSY: Final = 0.1
"""The seconds between two questions to a process that composes something else."""


__all__ = ["COMPILE", "Editing", "written_constraint"]
