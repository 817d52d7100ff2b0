"""``explorer trace``: constrained decoding in the terminal, one line per step while it happens.

The command makes a `Session`, prints each step as it is taken, and can save the trace. Like the
rest of the command line it only parses words and prints results; torch and
transformers are imported when the command runs, not when its options are listed.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from explorer.arguments import file_path
from explorer.cli.command import Commands, add_command
from explorer.cli.options import add_constraint, add_lazy, compiled, constraint_of
from explorer.errors import ExplorerError
from explorer.files import check_writable

if TYPE_CHECKING:
    from explorer.decoding.trace.records import Step

DEFAULT_TOKENS = 64


def add_parser(commands: Commands) -> None:
    """Add the command and its options."""
    command = add_command(
        commands,
        "trace",
        run,
        "decode under a constraint and show every step",
        "Decode under a constraint and show every step while it happens.",
    )
    command.add_argument(
        "--model",
        default="tiny",
        metavar="NAME",
        help='"tiny" (embedded, the default), "tiny-sp", "tiny-chat", a folder, or a Hugging Face '
        "name",
    )
    add_constraint(command)
    command.add_argument("--prompt", default="", metavar="TEXT", help="the text to continue")
    command.add_argument(
        "--chat", action="store_true", help="send the prompt through the model's chat template"
    )
    command.add_argument("--temperature", type=float, default=0.0, help="0 (the default) is greedy")
    command.add_argument("--top-k", type=int, metavar="K", help="keep the K likeliest tokens")
    command.add_argument("--top-p", type=float, metavar="P", help="keep the likeliest up to P")
    command.add_argument("--min-p", type=float, metavar="P", help="keep P times the likeliest")
    command.add_argument("--seed", type=int, default=0, help="the seed of the random numbers")
    command.add_argument(
        "--max-tokens",
        type=int,
        default=DEFAULT_TOKENS,
        metavar="N",
        help=f"the text ends within N tokens (default {DEFAULT_TOKENS})",
    )
    command.add_argument(
        "--no-masking-budget",
        action="store_true",
        help="cut the text off at N tokens instead of ending it in time; always so with --lazy and "
        "--canonical",
    )
    command.add_argument(
        "--heal", action="store_true", help="let the text begin inside the prompt's last token"
    )
    add_lazy(command)
    command.add_argument("--device", default="auto", help='"auto", "cpu", "cuda:0", ...')
    command.add_argument("--dtype", default="auto", help='"auto", "float32", "bfloat16", "float16"')
    command.add_argument("--json", metavar="OUT", help="save the trace to a file; - prints it")


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Returns:
        The exit status: 0 if the text ended, 1 if it was cut off.

    Raises:
        ExplorerError: The input is not usable.
    """
    try:
        from explorer.analysis.session import Session
        from explorer.decoding.models.load import load_model
        from explorer.decoding.sampling.sampler import Sampler
        from explorer.decoding.trace.recording import MentionedTokens
        from explorer.decoding.trace.trace import HEADER, ending, step_line
        from explorer.decoding.trace.writing import to_json
    except ImportError as error:
        raise ExplorerError(
            f"A language model needs torch and transformers, and importing failed: {error}.",
            remedy="Install the extra `models` of this package.",
        ) from error
    if arguments.json and arguments.json != "-":
        check_writable(file_path("--json", arguments.json))
    constraint = constraint_of(arguments)
    if constraint is not None:
        _ = constraint.machine  # Reports a wrong constraint before the model is loaded.
    model = load_model(arguments.model, device=arguments.device, dtype=arguments.dtype)
    if arguments.structural_tag is not None:
        constraint = constraint_of(arguments, model.vocabulary)
    prompt: str = arguments.prompt
    machine = None if constraint is None else compiled(arguments, constraint, model.vocabulary)
    session = Session(
        model,
        machine,
        [{"role": "user", "content": prompt}] if arguments.chat else prompt,
        sampler=Sampler(arguments.temperature, arguments.top_k, arguments.top_p, arguments.min_p),
        seed=arguments.seed,
        max_tokens=arguments.max_tokens,
        masking_budget=False if arguments.no_masking_budget else None,
        heal=arguments.heal,
    )
    # The steps go to the stream that the document does not use.
    to_stdout = arguments.json == "-"
    screen = sys.stderr if to_stdout else sys.stdout
    print(f"{model!r}\n{constraint if constraint is not None else 'no constraint'}", file=screen)
    if session.healed:
        print(f"heal   {session.healed!r} of the prompt is written again", file=screen)
    print(HEADER, file=screen, flush=True)

    tokens = MentionedTokens.of(model.vocabulary)

    def show(step: Step) -> bool:
        print(step_line(tokens, step), file=screen, flush=True)
        return False

    trace = session.run(until=show)
    print(f"text   {trace.text!r}\nended  {ending(trace)}", file=screen)
    if to_stdout:
        sys.stdout.write(to_json(trace).decode("utf-8") + "\n")
    elif arguments.json:
        trace.save(arguments.json)
        print(f"saved  {arguments.json}", file=screen)
    return 0 if trace.finished else 1
