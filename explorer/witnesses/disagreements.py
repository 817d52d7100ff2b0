"""A random walk that looks for states where engines differ.

The walk writes texts that our machine allows, token by token: by the model's probability if one is
given, otherwise half the time any allowed token, half the time a single byte. Each engine is asked
once for all masks along a text. A difference is reported once for each engine, class and reason, at
its likeliest state if there is a model, else at the shortest text.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from explorer.analysis.characters.display import show_text
from explorer.arguments import whole_number, wrong
from explorer.languages.constraint import Constraint, GivenConstraint
from explorer.languages.types.source import as_constraint
from explorer.tokens.compile import compile
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE, unpack
from explorer.witnesses.answers import WIDTH, Disagreement, Testimony, lines_of_group
from explorer.witnesses.asking import statement_of, vocabulary_of
from explorer.witnesses.messages import Answer
from explorer.witnesses.process import SECONDS, shared_process
from explorer.witnesses.witness import (
    checked_engines,
    differences,
    place_after,
    positive_seconds,
    testimony_of,
    unpacked_row,
)

if TYPE_CHECKING:
    from explorer.decoding.models.model import LanguageModel
    from explorer.vocabulary import Vocabulary

LONGEST: Final = 32
"""The most tokens in a text of the walk."""


@dataclass(frozen=True, eq=False)
class EngineDifference:
    """A state of the walk at which an engine differs from us.

    Args:
        disagreement: The tokens, the class and the reason.
        version: The version of the engine's distribution.
        prefix: The text before the tokens.
        probability: The probability of the text by the model; ``None`` without one.
    """

    disagreement: Disagreement
    version: str
    prefix: bytes
    probability: float | None
    vocabulary: Vocabulary

    @property
    def engine(self) -> str:
        """The name of the engine."""
        return self.disagreement.engine

    @property
    def kind(self) -> str:
        """The class, a key of `explorer.witnesses.reasons.CLASSES`."""
        return self.disagreement.kind

    @property
    def token(self) -> bytes | None:
        """The bytes of the first token on which they differ; ``None`` for the end of text."""
        return self.vocabulary.tokens[int(self.disagreement.tokens[0])]

    def __str__(self) -> str:
        after = show_text(self.prefix) if self.prefix else "nothing"
        chance = "" if self.probability is None else f", of probability {self.probability:.3g}"
        lines = [f"after {after}{chance} ({self.engine} {self.version})"]
        return "\n".join(lines + lines_of_group(self.disagreement, self.vocabulary))


@dataclass(frozen=True, eq=False)
class Disagreements:
    """The result of a walk; made by `explorer.disagreements`.

    Args:
        differences: One for each engine, class and reason.
        refusals: The engines that did not answer, and why.
        texts: The number of texts written.
        states: The number of states compared with every engine that answered.
        differing: The number of these states at which some engine differs.
        seconds: The time of the walk.
    """

    differences: tuple[EngineDifference, ...]
    refusals: tuple[Testimony, ...]
    texts: int
    states: int
    differing: int
    seconds: float

    @property
    def states_per_second(self) -> float:
        """The number of states that the walk compared per second."""
        return self.states / max(self.seconds, 1e-9)

    def __str__(self) -> str:
        head = (
            f"{self.states:,} states along {self.texts:,} texts in {self.seconds:.1f} s; engines "
            f"differ in {self.differing:,}, for {len(self.differences)} reasons."
        )
        lines = textwrap.wrap(head, WIDTH)
        lines += [
            f"{each.engine}{': ' if each.stage == 'time' else ' did not answer: '}"
            f"{' '.join(each.refused.split())[:200]}"
            for each in self.refusals
        ]
        for each in self.differences:
            lines += ["", str(each)]
        return "\n".join(lines)


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
        self.engines = engines
        self.model = model
        self.prompt = prompt
        self.random = np.random.default_rng(seed)
        lengths = [len(data or b"") for data in machine.vocabulary.tokens]
        self._short = np.array(lengths) == 1
        self._known: set[tuple[str, bytes]] = set()
        self.seen: dict[tuple[str, str, bool, str], EngineDifference] = {}
        self.refusals: dict[str, Testimony] = {}
        self.texts = self.states = self.differing = 0

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

    def compare(self, until: float) -> None:
        """Write a text, and compare the masks along it.

        Args:
            until: By `time.monotonic`; after it no state but the first is compared.
        """
        tokens, states, probability = self.write()
        self.texts += 1
        vocabulary = self.machine.vocabulary
        said: dict[str, Answer] = {}
        for name in self.engines:
            if name in self.refusals:
                continue
            process = shared_process(name)
            seconds = min(SECONDS, max(1.0, until - time.monotonic()))
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
                if k < len(answer.rows):
                    theirs = unpacked_row(answer.rows[k], len(vocabulary))
                    if not np.array_equal(ours, theirs):
                        differs |= self._note(name, tuple(tokens[:k]), theirs, probability[k])
            self.differing += differs

    def _note(
        self, name: str, prefix: tuple[int, ...], theirs: NDArray[np.bool_], probability: float
    ) -> bool:
        """Explain a difference unless the same one was explained before."""
        place, _ = place_after(self.machine, self.constraint, prefix)
        key = (name, np.packbits(place.ours != theirs).tobytes())
        if key in self._known:
            return True
        process = shared_process(name)
        groups = differences(place, process, theirs, SECONDS)
        if groups:
            self._known.add(key)
        chance = None if self.model is None else probability
        for each in groups:
            made = EngineDifference(
                each, process.version, place.text, chance, place.machine.vocabulary
            )
            kind = (name, each.kind, each.allows, each.sentence)
            known = self.seen.get(kind)
            if known is None or _rank(made) < _rank(known):
                self.seen[kind] = made
        return bool(groups)


def _rank(each: EngineDifference) -> tuple[float, int]:
    return -(each.probability or 0.0), len(each.prefix)


def disagreements(
    constraint: GivenConstraint,
    tokenizer: object,
    seconds: float = 30.0,
    model: LanguageModel | None = None,
    seed: int = 0,
    *,
    prompt: str = "",
    engines: Iterable[str] | None = None,
) -> Disagreements:
    """Look for states where other engines differ from us.

    Args:
        constraint: A regex, a choice, a JSON Schema, or a grammar in GBNF or Lark.
        tokenizer: A Vocabulary, a model, the path of a tokenizer, or a tokenizer object.
        seconds: The time of the walk, counted once the engines hold the vocabulary; a step that
            has begun is finished, so it may take some seconds more.
        model: A language model whose probabilities decide which states are visited and which
            differences are reported first.
        seed: The seed of the random choices.
        prompt: The text before everything that the model writes.
        engines: Some of outlines-core, xgrammar and llguidance; by default all of them.

    Returns:
        A value that prints the differences, one for each engine, class and reason.

    Raises:
        ConstraintError: The constraint is of a kind that no other engine reads.
        ExplorerError: An argument is invalid.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
        >>> found = disagreements(explorer.regex("a*d|b"), vocab, 2, engines=["outlines-core"])
        >>> [(each.kind, each.token) for each in found.differences]
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
    machine = compile(constraint, vocabulary, lazy=True)
    walk = _WalkOfTexts(
        machine, constraint, checked_engines(engines), model, before, whole_number("seed", seed, 0)
    )
    # The processes start and load the vocabulary before the clock runs.
    for name in walk.engines:
        testimony_of(shared_process(name), walk.statement, vocabulary, (), SECONDS)
    began = time.monotonic()
    until = began + limit
    while True:
        walk.compare(until)
        if time.monotonic() > until or len(walk.refusals) == len(walk.engines):
            break
    return Disagreements(
        tuple(sorted(walk.seen.values(), key=_rank)), tuple(walk.refusals.values()), walk.texts,
        walk.states, walk.differing, time.monotonic() - began,
    )  # fmt: skip


__all__ = ["Disagreements", "EngineDifference", "disagreements"]
