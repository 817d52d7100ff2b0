"""The compared ways of constraining, each a token machine with its language.

With terminals: tokens that cross at most 0, 1, 2 borders of them. With a template: its fixed text
tokenized beforehand, the same with its white space left to the model, and *naturalised*, with its
fixed text in the tokens that the model itself would choose. And always ours, the language token
by token, which is the lookahead without a limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from explorer.analysis.invasiveness.comparing import RunPair, invasiveness
from explorer.arguments import whole_text
from explorer.budget import Budget
from explorer.decoding.batches.generate import generate
from explorer.decoding.models.arguments import checked_model, prompt_ids
from explorer.decoding.models.model import LanguageModel, LogitsStore, Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.own_first import own_first
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint, literal
from explorer.languages.template.source import Template
from explorer.tokens.compile import compile
from explorer.tokens.filtered.machine import FilteredMachine
from explorer.tokens.machine import TokenMachine
from explorer.tokens.schemes.fixed import FixedTokens, Spots, fixed_tokens
from explorer.tokens.schemes.lookahead import bridges_of, lookahead_machines
from explorer.tokens.schemes.templates import template_machine, template_parts
from explorer.tokens.schemes.terminals import TerminalGrammar
from explorer.tokens.words import DONE

LOOKAHEADS: Final = (0, 1, 2)
"""The numbers of borders of terminals that a token may cross, in the schemes besides ours."""

OURS: Final = "ours"
"""The name of the language itself, token by token."""

TEMPLATES: Final = ("template", "flexible template", "naturalised template")
"""The names of the schemes for templates."""


@dataclass(frozen=True)
class Scheme:
    """A way of constraining.

    Args:
        name: Its name.
        machine: Its token machine.
        language: The machine of the texts that are valid for it.
        grammar: The terminals whose borders are counted, where they are known.
    """

    name: str
    machine: TokenMachine
    language: TokenMachine
    grammar: TerminalGrammar | None = None

    def compared(
        self,
        lm: LanguageModel,
        prompt: Prompt,
        *,
        sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
        seed: int = 0,
        seeds: int = 1,
        max_tokens: int = 64,
        store: LogitsStore | None = None,
    ) -> tuple[RunPair, ...]:
        """Compare a model's texts without and with this scheme; see `invasiveness`.

        Args:
            lm, prompt, sampler, seed, seeds, max_tokens, store: As in `invasiveness`.
        """
        grammar, known = self.grammar, lm.vocabulary
        return invasiveness(
            lm, prompt, self.language, machine=self.machine, sampler=sampler, seed=seed,
            seeds=seeds, max_tokens=max_tokens, store=store,
            bridges=grammar and (lambda text: bridges_of(grammar, known, text.tokens)),
        )  # fmt: skip


def schemes_of(
    lm: LanguageModel,
    prompt: Prompt,
    constraint: Constraint | TerminalGrammar | TokenMachine | None = None,
    *,
    template: Constraint | None = None,
    lookaheads: Sequence[int] = LOOKAHEADS,
    max_tokens: int = 512,
    budget: Budget | None = None,
    failed: dict[str, ExplorerError] | None = None,
) -> tuple[Scheme, ...]:
    """The schemes that apply to a constraint.

    Args:
        lm: The model, for its vocabulary; it chooses the tokens of a naturalised template.
        prompt: The prompt; a naturalised template depends on it.
        constraint: A grammar over terminals, or any other constraint; one from `explorer.template`
            is also taken as ``template``.
        template: A template to compare with.
        lookaheads: The numbers of borders that a token may cross, where terminals are known.
        max_tokens: The most tokens that the model writes to naturalise a template.
        failed: If given, it receives the error of each template that cannot be made, by the name
            of its scheme, and the others are made all the same.

    Returns:
        The lookaheads, ours, and the templates, as far as they apply.

    Raises:
        ExplorerError: There is neither a constraint nor a template, or a scheme cannot be made.

    Example:
        >>> from explorer import gen, load_model, template
        >>> made = template("The capital is {x}.", x=gen(choices=["Paris", "Rome"]))
        >>> [scheme.name for scheme in schemes_of(load_model("tiny"), "France?", made)]
        ['ours', 'template', 'flexible template', 'naturalised template']
    """
    if isinstance(constraint, Constraint) and isinstance(constraint.source, Template):
        template = template or constraint
    if constraint is None:
        constraint = template
    if constraint is None:
        raise ExplorerError("No constraint is given.", remedy="Give a constraint or a template.")
    if template is not None:
        template_parts(template)  # A wrong argument is an error, not a row.
    known = lm.vocabulary
    grammar = constraint if isinstance(constraint, TerminalGrammar) else None
    schemes: list[Scheme] = []
    if isinstance(constraint, TerminalGrammar):
        language: TokenMachine = compile(constraint.constraint, known, budget)
        machines = lookahead_machines(constraint, known, lookaheads, budget)
        for k, machine in zip(lookaheads, machines, strict=True):
            schemes.append(Scheme(f"k = {k}", machine, language, grammar))
    else:
        language = (
            compile(constraint, known, budget) if isinstance(constraint, Constraint) else constraint
        )
    schemes.append(Scheme(OURS, language, language, grammar))
    if template is not None:
        makers: tuple[Callable[[], FilteredMachine[Spots]], ...] = (
            lambda: template_machine(template, known, budget=budget),
            lambda: template_machine(template, known, flexible=True, budget=budget),
            lambda: naturalised(lm, prompt, template, max_tokens=max_tokens, budget=budget),
        )
        for name, make in zip(TEMPLATES, makers, strict=True):
            try:
                made = make()
            except ExplorerError as error:
                if failed is None:
                    raise
                failed[name] = error
            else:
                schemes.append(Scheme(name, made, made.unfiltered, grammar))
    return tuple(schemes)


def naturalised(
    lm: LanguageModel,
    prompt: Prompt,
    template: Constraint,
    *,
    max_tokens: int = 512,
    budget: Budget | None = None,
) -> FilteredMachine[Spots]:
    """A template with its fixed text in the tokens that the model itself would choose.

    The model fills the template in once, greedily, and may split the fixed text as it likes
    (Algorithm 3 of the appendix; see `retokenize`), but no token crosses the border of a hole. The
    ids that it took are then fixed. Fixed text after a cut has the ids that the model would choose
    for it right after the prompt.

    Args:
        prompt: The prompt of the text.
        template: From `explorer.template`.
        max_tokens: The most tokens of the text that is written once; fewer where the model's
            context is full before.

    Raises:
        ConstraintError: The constraint is not a template.

    Example:
        >>> from explorer import gen, load_model, template
        >>> lm = load_model("tiny")
        >>> made = template(' {{"a": {x}}}', x=gen(regex="[0-9]"))
        >>> machine = naturalised(lm, "Write JSON:", made)
        >>> [lm.vocabulary.tokens[i] for i in machine.allowed(machine.start).nonzero()[0]]
        [b' ']
    """
    parts = template_parts(template)
    free = fixed_tokens(
        [literal(part) if isinstance(part, str) else part for part in parts], lm.vocabulary, budget
    )
    rule = cast("FixedTokens", free.filter)
    ids: list[list[int]] = [[] for _ in parts]
    state, part = free.start, 0
    longest: int | None = getattr(lm, "max_length", None)
    if longest is not None:  # The model does not read the last token that it writes.
        max_tokens = max(1, min(max_tokens, longest + 1 - len(prompt_ids(lm, prompt))))
    for token in own_first(lm, prompt, free, max_tokens=max_tokens).tokens:
        after = free.step(state, token)
        if after is None or after == DONE:
            break
        may = rule.parts_that_read(free.known(state), token)
        part = min(number for number in may if number >= part)
        ids[part].append(token)
        state = after
    tokens = lm.vocabulary.tokens
    fixed: list[Sequence[int] | Constraint] = []
    for part, made in zip(parts, ids, strict=True):
        if not isinstance(part, str):
            fixed.append(part)
        elif b"".join(tokens[token] or b"" for token in made) == part.encode():
            fixed.append(made)
        else:
            fixed.append(retokenize(lm, prompt, part, budget=budget).tokens)
    return fixed_tokens(fixed, lm.vocabulary, budget)


@dataclass(frozen=True)
class Retokenized:
    """The tokens that a model chooses for a text.

    Args:
        pieces: The bytes of each.
        log_probs: The natural log-probability of each under the model.
    """

    tokens: tuple[int, ...]
    pieces: tuple[bytes, ...]
    log_probs: tuple[float, ...]

    @property
    def perplexity(self) -> float:
        """The geometric mean of 1/p over the tokens; 1 of none."""
        return math.exp(-math.fsum(self.log_probs) / len(self.tokens)) if self.tokens else 1.0


def retokenize(
    lm: LanguageModel, prompt: Prompt, text: str, *, budget: Budget | None = None
) -> Retokenized:
    """The tokens that a model would choose for a text after a prompt, greedily.

    Algorithm 3 of the appendix of Beurer-Kellner et al. (2024): at each place the likeliest token
    whose bytes begin the rest of the text. That is greedy decoding under the constraint "this
    text", and is done as such; it excludes tokens after which this vocabulary cannot write the
    rest.

    Args:
        prompt: The prompt before the text.
        text: The text to be written.
        budget: Limits for compiling the text.

    Returns:
        The tokens, in order; together they write the text.

    Raises:
        ExplorerError: The argument is not a text.
        IncompatibleVocabulary: The vocabulary cannot write it.

    Example:
        >>> from explorer import load_model
        >>> found = retokenize(load_model("tiny"), "The capital of France is", " Paris.")
        >>> found.pieces
        (b' Paris', b'.')
    """
    lm = checked_model(lm)
    data = whole_text("text", text).encode()
    if not data:
        return Retokenized((), (), ())
    (made,) = generate(
        lm, [prompt], literal(text), Sampler(temperature=0.0), len(data) + 1,
        masking_budget=False, budget=budget,
    )  # fmt: skip
    count = len(made.tokens) - 1  # The end of the text is not part of it.
    return Retokenized(made.tokens[:count], made.pieces[:count], made.log_probs_model[:count])
