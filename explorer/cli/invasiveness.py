"""``explorer invasiveness``: the effect of a constraint on a model's text.

For each prompt the model writes by itself and under the constraint, with the same random numbers;
the command shows where the two differ and whether the constraint changed a token that was valid
(Definition 2.1 of Beurer-Kellner et al. 2024; see `explorer.analysis.invasiveness`). A grammar over
terminals adds the schemes that let a token cross only some borders of terminals, a template those
that tokenize its fixed text beforehand; both can be given.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any, cast

from explorer.arguments import file_path
from explorer.cli.answers import print_json
from explorer.cli.command import Commands, add_command
from explorer.cli.compile import positive
from explorer.cli.options import add_constraint, add_json, constraint_of
from explorer.errors import ConstraintError, ExplorerError
from explorer.files import read_text

if TYPE_CHECKING:
    from explorer.analysis.invasiveness import RunPair
    from explorer.tokens.schemes.terminals import TerminalGrammar


def add_parser(commands: Commands) -> None:
    """Add the command and its options."""
    command = add_command(
        commands,
        "invasiveness",
        run,
        "measure what a constraint changes in what a model writes",
        "Write with and without a constraint, with the same random numbers, and show where the two "
        "part. The exit status is 1 if the constraint itself changed a token that was valid.",
    )
    command.add_argument(
        "--model",
        default="tiny",
        metavar="NAME",
        help='"tiny" (embedded, the default), "tiny-sp", "tiny-chat", a folder, or a Hugging Face '
        "name",
    )
    add_constraint(command)
    command.add_argument(
        "--terminals",
        metavar="FILE",
        help='a grammar over terminals, {"terminals": {NAME: REGEX}, "rules": {NAME: [[...]]}}; '
        "its first rule is the start, and k = 0, 1 and 2 are compared too",
    )
    command.add_argument(
        "--prompt", action="append", metavar="TEXT", help="a text to continue; repeatable"
    )
    command.add_argument(
        "--chat", action="store_true", help="send prompts through the model's chat template"
    )
    command.add_argument("--temperature", type=float, default=0.0, help="0 (the default) is greedy")
    command.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="pairs of texts for each prompt"
    )
    command.add_argument(
        "--max-tokens", type=int, default=64, metavar="N", help="the most per text (default 64)"
    )
    command.add_argument(
        "--seconds", type=positive, default=10.0, help="the most time for compiling (default 10)"
    )
    add_json(command)


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Returns:
        1 where the language itself, token by token, changed a valid token; else 0.

    Raises:
        ExplorerError: There is no constraint, or an argument is not usable.
    """
    try:
        from explorer.analysis.invasiveness import Scheme, schemes_of
        from explorer.analysis.invasiveness.comparing import table_of_pairs
        from explorer.analysis.invasiveness.schemes import OURS
        from explorer.budget import Budget
        from explorer.decoding.models.load import load_model
        from explorer.decoding.sampling.sampler import Sampler
    except ImportError as error:
        raise ExplorerError(
            f"A language model needs torch and transformers, and importing failed: {error}.",
            remedy="Install the extra `models` of this package.",
        ) from error
    constraint, terminals = constraint_of(arguments), _terminals(arguments.terminals)
    template = constraint if arguments.template is not None else None
    if constraint is None and terminals is None:
        raise ConstraintError(
            "No constraint is given.", remedy="Give one: --regex, for example, or --terminals FILE."
        )
    if constraint is not None and terminals is not None and template is None:
        raise ConstraintError(
            "Two constraints are given.", remedy="Beside --terminals only --template can be given."
        )
    lm = load_model(arguments.model)
    if arguments.structural_tag is not None:
        constraint = constraint_of(arguments, lm.vocabulary)
    prompts: list[str] = arguments.prompt or [""]
    runs: dict[str, list[tuple[RunPair, ...]]] = {}
    made: tuple[Scheme, ...] = ()
    for text in prompts:
        prompt = [{"role": "user", "content": text}] if arguments.chat else text
        if not made or template is not None:  # A naturalised template depends on the prompt.
            made = schemes_of(
                lm,
                prompt,
                terminals or constraint,
                template=template,
                budget=Budget(seconds=arguments.seconds),
            )
        for scheme in made:
            pairs = scheme.compared(
                lm,
                prompt,
                sampler=Sampler(arguments.temperature),
                seeds=arguments.seeds,
                max_tokens=arguments.max_tokens,
            )
            runs.setdefault(scheme.name, []).append(pairs)
    if arguments.json:
        print_json({name: _told(prompts, pairs) for name, pairs in runs.items()})
    else:
        for number, prompt in enumerate(prompts):
            print(repr(prompt))
            for place, (name, pairs) in enumerate(runs.items()):
                for pair in pairs[number]:
                    _print_pair(pair, name if len(runs) > 1 else "", first=place == 0)
            print()
        print(table_of_pairs(runs))
    broken = any(pair.violation is not None for pairs in runs[OURS] for pair in pairs)
    return int(broken)


def _print_pair(pair: RunPair, name: str, *, first: bool) -> None:
    lines = str(pair).splitlines()
    if not first:
        lines = lines[1:]  # The model's own text is the same for every scheme.
    print("\n".join(f"  {name:<20} {line}".rstrip() if name else f"  {line}" for line in lines))


def _told(prompts: list[str], runs: list[tuple[RunPair, ...]]) -> list[dict[str, object]]:
    return [
        {
            "prompt": prompt,
            "free": pair.free.text,
            "constrained": pair.constrained.text,
            "outcome": pair.outcome,
            "valid": pair.valid,
            "parted": pair.parted,
            "violation": pair.violation,
            "interventions": pair.interventions,
            "perplexity_free": pair.perplexity_free,
            "perplexity": pair.perplexity,
            "bridges": pair.bridges,
        }
        for prompt, pairs in zip(prompts, runs, strict=True)
        for pair in pairs
    ]


def _terminals(path: str | None) -> TerminalGrammar | None:
    """The grammar over terminals of a file; ``None`` without one."""
    if path is None:
        return None
    from explorer.tokens.schemes.terminals import TerminalGrammar

    where = file_path("--terminals", path)
    try:
        data: object = json.loads(read_text(where))
    except json.JSONDecodeError as error:
        raise ConstraintError(
            f"{where} is not JSON: {error.msg} in line {error.lineno}.",
            remedy='Write {"terminals": {...}, "rules": {...}}.',
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConstraintError(f"{where} cannot be read: {error}.") from error
    parts = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    terminals, rules = parts.get("terminals"), parts.get("rules")
    if not isinstance(terminals, dict) or not isinstance(rules, dict):
        raise ConstraintError(
            f"{where} does not hold a grammar over terminals.",
            remedy='Write {"terminals": {"int": "[0-9]+"}, "rules": {"E": [["int"]]}}.',
        )
    alternatives = cast("dict[str, list[list[str]]]", rules)
    try:
        made = {name: tuple(map(tuple, ways)) for name, ways in alternatives.items()}
    except TypeError:
        raise ConstraintError(
            f"A rule of {where} is not a list of alternatives.",
            remedy='Write each rule as a list of lists of names, such as [["E", "plus", "E"]].',
        ) from None
    return TerminalGrammar(cast("dict[str, str]", terminals), made)
