"""`Invasiveness`: the texts that a model writes under several schemes, as rows of tokens.

There is a row for the model alone and one for each scheme, below each other. A click on a token
opens its step, with its mask, machines and reasons, in an explorer below the rows, and in every
other view on the same cursor. The rows are written anew for another prompt, temperature or seed.

Cost: the texts of all schemes are written when the widget is made; the example takes about a second
of CPU on one thread (more if the threads of torch wait for each other). The model reads a common
beginning of rows only once. The first use after an installation also compiles the engine, which
takes about a minute of CPU. A row becomes a line of the explorer when it is first opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import traitlets

from explorer.analysis.invasiveness import RunPair, Scheme, naturalised, schemes_of
from explorer.analysis.invasiveness.comparing import logits_store
from explorer.analysis.invasiveness.schemes import LOOKAHEADS, OURS, TEMPLATES
from explorer.analysis.session import Session
from explorer.arguments import instance, listed, plain, whole_number
from explorer.budget import Budget
from explorer.decoding.models.arguments import LAST_SEED, MOST_TOKENS, checked_model
from explorer.decoding.models.load import load_model
from explorer.decoding.models.model import LanguageModel
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.own_first import without_filters
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.template.functions import gen, template
from explorer.tokens.machine import TokenMachine
from explorer.tokens.schemes.terminals import FLAT_OBJECT, TerminalGrammar
from widgets.cursor import Cursor, line_of
from widgets.dialogue import messages as ask
from widgets.dialogue.handlers import Reply
from widgets.dialogue.later import Later, Packet, Progress
from widgets.figures.panels.schemes import ALONE, failed_row, schemes_packet
from widgets.figures.snapshot import Snapshot
from widgets.lessons.invasive import rows_picture
from widgets.views import bundle
from widgets.views.compare import Compare
from widgets.views.explorer import Explorer

PROMPT: Final = "Write a JSON record of a person on one line.\n"
"""The prompt of the example that is shown without a constraint."""

FIRST_SECONDS: Final = 30.0
"""The limits for compiling all schemes."""


def example_template() -> Constraint:
    """The template of the example: a person with a name and an age."""
    return template(
        '{{"name": "{name}", "age": {age}}}',
        name=gen(regex="[A-Z][a-z]{1,9}"),
        age=gen(regex="[0-9]{1,2}"),
    )


class Invasiveness(Explorer):
    """The texts of the model alone and under each scheme; a click opens a step in an explorer.

    Args:
        lm: A language model, or the name of one for `load_model`.
        constraint: A grammar over terminals (`explorer.tokens.schemes.terminals`), or any other
            constraint; ``None`` for an example with its own prompt and template.
        prompt: The text before every row; ``None`` for that of the example.
        template: A template to compare with; a constraint that is a template is compared anyway.
        lookaheads: The values of k, the number of borders that a token may cross; one scheme each.
        sampler: The sampler, without filters; default greedy.
        seed: The seed of the random numbers, the same for every row.
        max_tokens: The most tokens of a row, and of the text that naturalises a template.
        top_k: The number of tokens shown of each distribution in the explorer.
        size: ``"normal"``, or ``"projector"`` for text and marks that are 1.4 times as large.

    Raises:
        ExplorerError: The sampler has a filter, an argument has the wrong type, or no scheme can
            write its text. If only some schemes cannot, their rows say why.

    Example:
        >>> import explorer
        >>> towns = explorer.choice([" Paris", " Rome"])
        >>> shown = Invasiveness("tiny", towns, "The capital of France is")
        >>> [(row["name"], row["said"]) for row in shown.schemes["rows"]][1]
        ('ours', 'ends where the model alone goes on')
        >>> shown.show_step("ours", 1)
        >>> shown.session.text, shown.position["k"]
        (' Paris', 1)
    """

    _esm = bundle.module("invasiveness")

    schemes = traitlets.Dict(cast("dict[str, Any]", {})).tag(sync=True)
    opened = traitlets.Int(-1).tag(sync=True)

    def __init__(
        self,
        lm: LanguageModel | str = "tiny",
        constraint: Constraint | TerminalGrammar | TokenMachine | None = None,
        prompt: str | None = None,
        *,
        template: Constraint | None = None,
        lookaheads: Sequence[int] = LOOKAHEADS,
        sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
        seed: int = 0,
        max_tokens: int = 48,
        top_k: int = 10,
        size: str = "normal",
    ) -> None:
        self._lm = load_model(lm) if isinstance(lm, str) else checked_model(lm)
        if constraint is None and template is None:
            constraint, template = FLAT_OBJECT, example_template()
            prompt = PROMPT if prompt is None else prompt
        numbers = listed("lookaheads", lookaheads, "a list of whole numbers")
        borders = tuple(whole_number("lookaheads", number) for number in numbers)
        self._asked = (constraint, template, borders)
        self._max_tokens = whole_number("max_tokens", max_tokens, 1, MOST_TOKENS)
        self._top_k = top_k
        self._lines: dict[int, Session] = {}
        self._schemes: tuple[Scheme, ...] = ()
        self._pairs: dict[str, RunPair] = {}
        self._unmade: dict[str, ExplorerError] = {}
        self._place: tuple[str, Sampler, int] = ("", sampler, 0)
        seed = whole_number("seed", seed, 0, LAST_SEED)
        put = self._written(
            "" if prompt is None else prompt, without_filters(sampler), seed, Progress()
        )
        rows = put()
        super().__init__(cursor=Cursor(self._line(0)), top_k=top_k, size=size)
        self.schemes = rows

    @property
    def pairs(self) -> Mapping[str, RunPair]:
        """The pair of runs of each row, by the name of the scheme."""
        return dict(self._pairs)

    @property
    def machines(self) -> Mapping[str, TokenMachine]:
        """The machine of each scheme by its name, as the ``schemes`` of `Compare`."""
        return {scheme.name: scheme.machine for scheme in self._schemes}

    def write(
        self,
        prompt: str | None = None,
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> None:
        """Write all rows anew.

        Args:
            prompt: The text before every row; ``None`` for the present one.
            temperature: The temperature, 0 for greedy; ``None`` for the present one.
            seed: The seed of the random numbers; ``None`` for the present one.

        Raises:
            ExplorerError: An argument has the wrong type, or no scheme can write its text.
        """
        put = self._written(*self._settings(prompt, temperature, seed), Progress())
        with self.cursor.lock:
            self._put(put())

    def show_step(self, scheme: str | int, k: int) -> None:
        """Show a step of a row in the explorer, and wherever its cursor is shown.

        Args:
            scheme: The name of a row, or its number; 0 is the model alone.
            k: The number of tokens before the step.

        Raises:
            ExplorerError: There is no such row or no such position.
        """
        names = [row["name"] for row in self.schemes["rows"]]
        scheme = plain(scheme)
        if isinstance(scheme, str) and scheme not in names:
            raise ExplorerError(
                f"There is no row {scheme!r}.", remedy=f"Give one of: {', '.join(names)}."
            )
        number = names.index(scheme) if isinstance(scheme, str) else scheme
        self._opened(whole_number("scheme", number, 0, len(names) - 1), k)()

    def compare(self, left: str | None = None, right: str = OURS) -> Compare:
        """Two of the schemes side by side, on the same prompt with the same sampler and seed.

        Args:
            left: The name of a row; default the first scheme that has a text and is not
                ``right``, or the model alone if there is no such scheme.
            right: The name of another row.

        Raises:
            ExplorerError: There is no scheme of that name.
        """
        prompt, sampler, seed = self._place
        right = instance("right", right, str, "the name of a row")
        if left is None:
            left = next((name for name in self._pairs if name != right), ALONE)
        left = instance("left", left, str, "the name of a row")
        return Compare(
            self._lm, left, right, prompt, left_sampler=sampler, right_sampler=sampler, seed=seed,
            top_k=self._top_k, schemes={**self.machines, ALONE: None},
        )  # fmt: skip

    def snapshot(self) -> Snapshot:
        """A still of the rows, as SVG and as text."""
        return rows_picture(self.schemes["rows"])

    # --- the page -------------------------------------------------------------------------------

    def _own_handlers(self) -> Mapping[str, Callable[[Any], Reply]]:
        return {**super()._own_handlers(), "schemes": self._on_schemes, "open": self._on_open}

    def _on_schemes(self, message: ask.WriteSchemes) -> Later:
        settings = self._settings(message.prompt, message.temperature, message.seed)
        progress = Progress()

        def work() -> Callable[[], Packet]:
            put = self._written(*settings, progress)

            def shown() -> Packet:
                self._put(put())
                return {}

            return shown

        return Later(work, progress)

    def _on_open(self, message: ask.OpenStep) -> Later:
        def work() -> Callable[[], Packet]:
            put = self._opened(message.row, message.k)

            def shown() -> Packet:
                put()
                return {}

            return shown

        return Later(work)

    def _settings(
        self, prompt: str | None, temperature: float | None, seed: int | None
    ) -> tuple[str, Sampler, int]:
        now = self.schemes
        return (
            now["prompt"] if prompt is None else prompt,
            Sampler(now["temperature"] if temperature is None else temperature),
            whole_number("seed", now["seed"] if seed is None else seed, 0, LAST_SEED),
        )

    def _written(
        self, prompt: str, sampler: Sampler, seed: int, progress: Progress
    ) -> Callable[[], dict[str, Any]]:
        """Write the rows; the returned function puts them in place of the old ones."""
        constraint, template, lookaheads = self._asked
        lm, known, unmade = self._lm, self._schemes, dict(self._unmade)
        if not known:
            known = schemes_of(
                lm, prompt, constraint, template=template, lookaheads=lookaheads,
                max_tokens=self._max_tokens, budget=Budget(seconds=FIRST_SECONDS), failed=unmade,
            )  # fmt: skip
        else:
            known = self._naturalised_anew(known, prompt, unmade)
        pairs: dict[str, RunPair] = {}
        store = logits_store(lm)  # A common beginning of rows is read once.
        failed = dict(unmade)
        for number, scheme in enumerate(known):
            progress.at(f"{number} of {len(known)} schemes")
            try:
                (pairs[scheme.name],) = scheme.compared(
                    lm, prompt, sampler=sampler, seed=seed, max_tokens=self._max_tokens,
                    store=store,
                )  # fmt: skip
            except ExplorerError as error:
                failed[scheme.name] = error
        if not pairs:
            raise next(iter(failed.values()))
        written = [scheme for scheme in known if scheme.name in pairs]
        rows = schemes_packet(written, pairs, lm.vocabulary)
        rows += [failed_row(name, error) for name, error in failed.items()]
        packet: dict[str, Any] = {
            "rows": rows,
            "prompt": prompt,
            "temperature": sampler.temperature,
            "seed": seed,
        }

        def put() -> dict[str, Any]:
            self._schemes, self._pairs, self._lines = known, pairs, {}
            self._unmade = unmade
            self._place = (prompt, sampler, seed)
            return packet

        return put

    def _naturalised_anew(
        self, known: tuple[Scheme, ...], prompt: str, unmade: dict[str, ExplorerError]
    ) -> tuple[Scheme, ...]:
        """The schemes for another prompt: only a naturalised template depends on it."""
        constraint, template, _ = self._asked
        name = TEMPLATES[-1]
        others = tuple(scheme for scheme in known if scheme.name != name)
        if len(others) == len(known) and name not in unmade:
            return known
        unmade.pop(name, None)
        source = cast("Constraint", constraint if template is None else template)
        try:
            made = naturalised(
                self._lm, prompt, source, max_tokens=self._max_tokens,
                budget=Budget(seconds=FIRST_SECONDS),
            )  # fmt: skip
        except ExplorerError as error:
            unmade[name] = error
            return others
        return (*others, Scheme(name, made, made.unfiltered, others[0].grammar))

    def _put(self, packet: dict[str, Any]) -> None:
        with self.hold_sync():
            self.opened = -1
            self.schemes = packet
        self.cursor.replace(self._line(0))

    def _opened(self, row: int, k: int) -> Callable[[], None]:
        """Make a line of a row; the returned function shows it."""
        line = self._line(row).copy()
        line.jump(k)

        def put() -> None:
            with self.cursor.lock, self.hold_sync():
                self.opened = row
                self.cursor.replace(line)

        return put

    def _line(self, row: int) -> Session:
        """The line of a row, at its start."""
        lines = self._lines
        if row not in lines:
            prompt, sampler, seed = self._place
            names = [ALONE, *self._pairs]
            if not 0 <= row < len(names):
                raise ExplorerError(
                    f"There is no text in row {row}.", remedy=f"Open one of: {', '.join(names)}."
                )
            if row:
                machine, text = self.machines[names[row]], self._pairs[names[row]].constrained
            else:
                machine, text = None, next(iter(self._pairs.values())).free
            lines[row] = line_of(
                self._lm,
                prompt,
                machine,
                text.tokens,
                sampler=sampler,
                seed=seed,
                top_k=self._top_k,
            )
        return lines[row]


__all__ = ["Invasiveness"]
