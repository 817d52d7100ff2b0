"""A random walk that looks for states where engines differ, and shrinks the differences.

The walk writes texts that our machine allows, token by token: by the model's probability if one is
given, otherwise half the time any allowed token, half the time a single byte. Each engine is asked
once for all masks along a text. Differences are classified; each class is reported once for each
engine, the likeliest first if there is a model, and shrunk.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from explorer.analysis.characters.display import show_text
from explorer.arguments import flag, whole_number, wrong
from explorer.languages.constraint import Constraint, GivenConstraint
from explorer.languages.types.source import as_constraint
from explorer.tokens.compile import compile
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE, unpack
from explorer.vocabulary import Vocabulary
from explorer.witnesses.answers import (
    Disagreement,
    Testimony,
    Witness,
    lines_of_rollback,
    name_of_token,
)
from explorer.witnesses.asking import statement_of, vocabulary_of
from explorer.witnesses.comparison import OutOfTime
from explorer.witnesses.judging import judge_of
from explorer.witnesses.messages import Answer
from explorer.witnesses.process import shared_process
from explorer.witnesses.report import DisagreementReport, report_of, tried
from explorer.witnesses.rollbacks import Rollback, drafts_from, rollback_of
from explorer.witnesses.rules.by_masks import SENTENCES
from explorer.witnesses.shrinking import SECONDS_A_STEP, shrink
from explorer.witnesses.witness import (
    checked_engines,
    comparison_of,
    positive_seconds,
    testimony_of,
    unpacked_row,
)

if TYPE_CHECKING:
    from explorer.decoding.models.model import LanguageModel

LONGEST: Final = 32
"""The most tokens in a text of the walk."""

WALK_SHARE: Final = 0.5
"""The fraction of the time that is spent on walking; the rest is for shrinking."""

MOST_REPORTS: Final = 12
"""The largest number of differences that are shrunk and reported."""

LEAST: Final = 0.2
"""The seconds that must be left for another difference to be shrunk."""

SECONDS_A_TEXT: Final = 10.0
"""The longest that an engine may take for the masks along a text."""


@dataclass(frozen=True, eq=False)
class Disagreements:
    """The result of a walk; made by `explorer.disagreements`.

    Args:
        reports: One for each engine, class and reason, shrunk.
        refusals: The engines that did not answer, and why.
        texts: The number of texts written.
        states: The number of states compared with every engine that answered.
        differing: The number of these states at which some engine differs.
        walk_seconds, shrink_seconds: The time spent on each part.
        unclassed: The number of differing masks whose reason was not looked for, because the time
            was up.
        left_out: Differences that were classified but not reported, because the time was up.
        withheld: Reports that are not offered, a line each with the reason: the script did not
            print what the report claims, or the judge contradicts us.
        rollbacks: One for each engine that was given drafts: at a state whose mask had changed once
            they were rolled back, otherwise at the last state tried.
        rolled_back: The number of states at which drafts were rolled back.
    """

    reports: tuple[DisagreementReport, ...]
    refusals: tuple[Testimony, ...]
    texts: int
    states: int
    differing: int
    walk_seconds: float
    shrink_seconds: float
    unclassed: int = 0
    left_out: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    rollbacks: tuple[Rollback, ...] = ()
    rolled_back: int = 0
    vocabulary: Vocabulary | None = None

    @property
    def states_per_second(self) -> float:
        """The number of states that the walk compared per second."""
        return self.states / max(self.walk_seconds, 1e-9)

    def __str__(self) -> str:
        lines = [
            f"{self.states:,} states along {self.texts:,} texts in {self.walk_seconds:.1f} s "
            f"({self.states_per_second:,.0f} a second); engines differ in {self.differing:,}. "
            f"{len(self.reports)} differences, made short in {self.shrink_seconds:.1f} s."
        ]
        lines += [
            f"{each.engine}{': ' if each.stage == 'time' else ' did not answer: '}"
            f"{' '.join(each.refused.split())[:200]}"
            for each in self.refusals
        ]
        if self.unclassed:
            lines.append(f"Masks not looked into, though they differ: {self.unclassed:,}; no time.")
        lines += [f"Not made short, no time: {each}" for each in self.left_out]
        lines += [f"No text to file. {each}" for each in self.withheld]
        if self.rolled_back:
            lines.append(f"Drafts were accepted and rolled back at {self.rolled_back:,} states.")
        if self.vocabulary is not None:
            for rolled in self.rollbacks:
                lines += lines_of_rollback(rolled, self.vocabulary)
        for each in self.reports:
            lines += ["", str(each)]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class _Seen:
    witness: Witness
    disagreement: Disagreement
    probability: float


class _WalkOfTexts:
    """The walk: it writes texts and collects the differences along them."""

    def __init__(
        self,
        machine: TokenMachine,
        constraint: Constraint,
        engines: tuple[str, ...],
        model: LanguageModel | None,
        prompt: tuple[int, ...],
        seed: int,
    ) -> None:
        self.machine = machine
        self.constraint = constraint
        self.statement = statement_of(constraint)
        self.judge = judge_of(self.statement)
        self.engines = engines
        self.model = model
        self.prompt = prompt
        self.random = np.random.default_rng(seed)
        lengths = [len(data or b"") for data in machine.vocabulary.tokens]
        self._short = np.array(lengths) == 1
        self._masks: dict[int, NDArray[np.bool_]] = {}
        self._classed: set[tuple[str, bytes]] = set()
        self.seen: dict[tuple[str, str, bool, str], _Seen] = {}
        self.refusals: dict[str, Testimony] = {}
        self.texts = self.states = self.differing = self.unclassed = self.rolled_back = 0
        self.rollbacks: dict[str, Rollback] = {}

    def write(self) -> tuple[list[int], list[int], list[float]]:
        """Write a text; return its tokens, the states along it and each state's probability."""
        tokens: list[int] = []
        states = [self.machine.start]
        probability = [1.0]
        size = len(self.machine.vocabulary)
        while len(tokens) < LONGEST:
            mask = unpack(self.machine.mask(states[-1]), size)
            weights = self._weights(mask, tokens)
            token = int(self.random.choice(size, p=weights))
            following = self.machine.step(states[-1], token)
            if following is None or following == DONE:
                break
            tokens.append(token)
            states.append(following)
            probability.append(probability[-1] * float(weights[token]))
        return tokens, states, probability

    def _weights(self, mask: NDArray[np.bool_], tokens: list[int]) -> NDArray[np.float64]:
        if self.model is not None:
            logits = np.asarray(self.model.read((*self.prompt, *tokens)).logits.float(), np.float64)
            logits = logits[: len(mask)]
            masked = np.full(len(mask), -np.inf)
            masked[: len(logits)] = np.where(mask[: len(logits)], logits, -np.inf)
            weights = np.exp(masked - masked.max())
            return weights / weights.sum()
        if self.random.random() < 0.5 and (mask & self._short).any():
            mask = mask & self._short
        weights = mask.astype(np.float64)
        return weights / weights.sum()

    def compare(self, until: float, latest: float) -> None:
        """Write a text, and compare the masks along it.

        Args:
            until: By `time.monotonic`; after it no state but the first is compared.
            latest: The deadline for classifying the first difference of the walk.
        """
        tokens, states, probability = self.write()
        self.texts += 1
        vocabulary = self.machine.vocabulary
        said: dict[str, Answer] = {}
        for name in self.engines:
            if name in self.refusals:
                continue
            process = shared_process(name)
            seconds = min(SECONDS_A_TEXT, max(1.0, until - time.monotonic()))
            answer = process.masks(
                self.statement, vocabulary, tuple(tokens), last=False, seconds=seconds
            )
            if isinstance(answer, Answer):
                said[name] = answer
            else:
                self.refusals[name] = Testimony(
                    name, process.version, None, refused=answer.reason, stage=answer.stage
                )
        for k, state in enumerate(states):
            if k and time.monotonic() > until:
                return
            self.states += 1
            ours = unpack(self.machine.mask(state), len(vocabulary))
            differs = False
            for name, answer in said.items():
                if k >= len(answer.rows):
                    continue
                theirs = unpacked_row(answer.rows[k], len(vocabulary))
                if not np.array_equal(ours, theirs):
                    deadline = until if self.seen else latest
                    differs |= self._note(
                        name, tuple(tokens[:k]), ours, theirs, probability[k], deadline
                    )
            self.differing += differs

    def roll_back(self) -> None:
        """Write a text, and let each engine accept and roll back drafts somewhere along it."""
        tokens, states, _ = self.write()
        place = int(self.random.integers(len(states)))
        drafts = drafts_from(self.machine, states[place], self.random)
        prefix = tuple(tokens[:place])
        for name in self.engines if drafts else ():
            if name in self.refusals or not self.rollbacks.get(name, _SAME).same:
                continue
            made = rollback_of(
                shared_process(name), self.statement, self.machine.vocabulary, prefix, drafts,
                SECONDS_A_TEXT,
            )  # fmt: skip
            if made is not None:
                self.rolled_back += 1
                self.rollbacks[name] = made

    def _note(
        self,
        name: str,
        prefix: tuple[int, ...],
        ours: NDArray[np.bool_],
        theirs: NDArray[np.bool_],
        probability: float,
        deadline: float,
    ) -> bool:
        """Classify a difference unless the same one was classified before."""
        key = (name, np.packbits(ours != theirs).tobytes())
        if key in self._classed:
            return True
        self._classed.add(key)
        said = Testimony(name, shared_process(name).version, theirs, len(prefix))
        compared = comparison_of(
            self.machine, self.constraint, prefix, said, self.judge, SECONDS_A_STEP, deadline
        )
        if compared is None or not compared.differing.any():
            return False
        from explorer.witnesses.rules.classes import classified

        try:
            groups = classified(compared, len(prefix))
        except OutOfTime:
            self._classed.discard(key)
            self.unclassed += 1
            return True
        witness = Witness(
            self.constraint, self.statement, self.machine.vocabulary, prefix, (said,), groups
        )
        for each in groups:
            # The sentences of these classes name the text, so they differ at every state.
            own = each.kind in ("bug", "forced tokens", "trim") and each.sentence not in SENTENCES
            kind = (name, each.kind, each.allows, "" if own else each.sentence)
            likelier = kind in self.seen and self.seen[kind].probability >= probability
            if not likelier:
                self.seen[kind] = _Seen(witness, each, probability)
        return True


_SAME: Final = Rollback("", "", (), 0)


def disagreements(
    constraint: GivenConstraint,
    tokenizer: object,
    seconds: float = 30.0,
    model: LanguageModel | None = None,
    seed: int = 0,
    *,
    prompt: str = "",
    engines: Iterable[str] | None = None,
    rollback: bool = False,
) -> Disagreements:
    """Look for states where other engines differ from us, and shrink each difference.

    Args:
        constraint: A regex, a choice, a JSON Schema, or a grammar in GBNF or Lark.
        tokenizer: A Vocabulary, a model, the path of a tokenizer, or a tokenizer object.
        seconds: The time for walking and shrinking, counted once the engines hold the vocabulary;
            a step that has begun is finished, so it may take a second or two more.
        model: A language model whose probabilities decide which states are visited and which
            differences are reported first.
        seed: The seed of the random choices.
        prompt: The text before everything that the model writes.
        engines: Some of outlines-core, xgrammar and llguidance; by default all of them.
        rollback: Whether each engine also accepts drafts and rolls them back, as in speculative
            decoding, and its mask is compared with the one it had before.

    Returns:
        A value that prints as reports, each ready for an issue tracker. The script of each report
        has been run; if it did not show the difference, a line says so in place of the report.
        Running the scripts takes time beyond ``seconds``: the library of each engine is loaded
        once more.

    Raises:
        ConstraintError: The constraint is of a kind that no other engine reads.
        ExplorerError: An argument is invalid.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
        >>> found = disagreements(explorer.regex("a*d|b"), vocab, 2, engines=["outlines-core"])
        >>> [(each.kind, each.token) for each in found.reports]
        [('trim', b'a')]
    """
    constraint = as_constraint(constraint)
    if model is not None and not hasattr(model, "read"):
        raise wrong("model", model, "a language model", remedy="Give load_model(...), or None.")
    vocabulary = vocabulary_of(tokenizer)
    before: tuple[int, ...] = ()
    if model is not None:
        from explorer.decoding.models.arguments import prompt_ids

        before = tuple(prompt_ids(model, prompt))
    limit = positive_seconds(seconds)
    rollback = flag("rollback", rollback)
    machine = compile(constraint, vocabulary, lazy=True)
    walk = _WalkOfTexts(
        machine, constraint, checked_engines(engines), model, before, whole_number("seed", seed, 0)
    )
    # The processes start and load the vocabulary before the clock runs.
    for name in walk.engines:
        testimony_of(shared_process(name), walk.statement, vocabulary, (), SECONDS_A_TEXT)
    began = time.monotonic()
    until, latest = began + WALK_SHARE * limit, began + limit
    while True:
        walk.compare(until, latest)
        if rollback:
            walk.roll_back()
        if time.monotonic() > until or len(walk.refusals) == len(walk.engines):
            break
    walked = time.monotonic() - began
    chosen = sorted(walk.seen.values(), key=lambda each: -each.probability)[:MOST_REPORTS]
    reports: list[DisagreementReport] = []
    for number, each in enumerate(chosen):
        left = latest - time.monotonic()
        if reports and left < LEAST:
            break
        shrunk = shrink(each.witness, each.disagreement, max(LEAST, left) / (len(chosen) - number))
        reports.append(
            report_of(shrunk, _found_in(each), each.probability if model is not None else None)
        )
    shrunk_in = time.monotonic() - began - walked
    offered, withheld = tried(_without_repeats(reports))
    return Disagreements(
        offered, tuple(walk.refusals.values()), walk.texts, walk.states,
        walk.differing, walked, shrunk_in, walk.unclassed,
        tuple(map(_in_a_line, chosen[len(reports) :])), withheld,
        tuple(walk.rollbacks.values()), walk.rolled_back, vocabulary,
    )  # fmt: skip


def _in_a_line(seen: _Seen) -> str:
    each = seen.disagreement
    verb = "allows" if each.allows else "masks"
    token = name_of_token(seen.witness.vocabulary, int(each.tokens[0]))
    after = show_text(seen.witness.text) if seen.witness.text else "nothing"
    return f"[{each.kind}] {each.engine} {verb} {token} after {after}: {each.sentence}"


def _found_in(seen: _Seen) -> str:
    text = " ".join(seen.witness.statement.text.split())
    text = text if len(text) <= 200 else f"{text[:199]}…"
    return f"{text} after {seen.witness.text.decode(errors='replace')!r}"


def _without_repeats(reports: list[DisagreementReport]) -> tuple[DisagreementReport, ...]:
    """The reports without those that were shrunk to the same case."""
    cases = {
        (each.engine, each.constraint, each.prefix, each.token, each.allows): each
        for each in reversed(reports)
    }
    return tuple(reversed(cases.values()))
