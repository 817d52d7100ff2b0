"""``explorer why``: why a token is allowed or masked, in the terminal.

There are five ways to ask. A tokenizer, a pattern and a prefix need no model, and with
``--tokenizer`` no torch either. ``--model tiny`` takes the embedded model's tokenizer. A saved
trace is asked at one of its steps. ``--run FILE`` takes the log of an inference server and prints
the first token that the constraint of the request would have masked (`explorer.cli.served`);
``--line TEXT`` takes a line of a scheduler's log.

The exit status is 0 if the token is allowed, 1 if it is masked, 2 if the question cannot be asked;
a prefix that the constraint itself rejects is such an error, and is explained.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from explorer.analysis.explaining.explanation import (
    Explanation,
    History,
    TextExplanation,
    explain,
    explain_text,
)
from explorer.analysis.explaining.groups import explain_all
from explorer.analysis.verdict.asked import ids_of_text
from explorer.cli.answers import print_json
from explorer.cli.command import Commands, add_command, add_json
from explorer.cli.options import (
    add_constraint,
    add_eos,
    add_lazy,
    add_vocabulary,
    compiled,
    constraint_of,
    ids_of_words,
    named_vocabulary,
)
from explorer.cli.served import add_served, why_line, why_served
from explorer.decoding.models.embedded import EMBEDDED
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.spelling import tokens_at
from explorer.tokens.walks.trie import trie_of
from explorer.vocabulary import Vocabulary

ALLOWED = 0
MASKED = 1


def add_parser(commands: Commands) -> None:
    """Add the command and its options."""
    command = add_command(
        commands,
        "why",
        run,
        "say why a token is allowed or masked",
        "Say why a token is allowed or masked. Exit status: 0 allowed, 1 masked, "
        "2 if the question cannot be asked.",
    )
    command.add_argument("trace", nargs="?", metavar="TRACE", help="a saved trace to ask about")
    command.add_argument("--step", type=int, metavar="K", help="a position of the trace")
    add_served(command)
    add_vocabulary(command)
    add_constraint(command)
    before = command.add_mutually_exclusive_group()
    before.add_argument("--prefix", metavar="TEXT", help="what was written so far, as text")
    before.add_argument("--prefix-ids", metavar="IDS", help="the same as token ids, such as 1,2,3")
    asked = command.add_mutually_exclusive_group()
    asked.add_argument(
        "--token", metavar="TEXT", help="a text; its first masked token is explained"
    )
    asked.add_argument("--token-id", type=int, metavar="N", help="a token id")
    add_eos(command)
    add_lazy(command)
    command.add_argument(
        "--all", action="store_true", help="also the whole mask, grouped by reasons"
    )
    add_json(command)


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Returns:
        0 if the token is allowed, 1 if it is masked.

    Raises:
        ExplorerError, OSError: The question cannot be asked; the command line makes that status 2.
    """
    if arguments.run_file is not None:
        tokens = named_vocabulary(arguments) if arguments.structural_tag is not None else None
        constraint = constraint_of(arguments, tokens)
        return why_served(arguments, constraint, lambda given: tokens or named_vocabulary(given))
    if arguments.line is not None:
        vocabulary = named_vocabulary(arguments)
        return why_line(arguments, constraint_of(arguments, vocabulary), vocabulary)
    token: int | str | None = arguments.token if arguments.token_id is None else arguments.token_id
    if token is None and not arguments.all:
        raise ExplorerError(
            "No token is asked about.", remedy="Give --token TEXT or --token-id N, or --all."
        )
    if arguments.trace is not None:
        if arguments.prefix is not None or arguments.prefix_ids is not None:
            raise ExplorerError(
                "A trace has its own text.", remedy="Give --step K in place of a prefix."
            )
        return _of_trace(arguments, token)
    if arguments.step is not None:
        raise ExplorerError(
            "--step asks about a saved trace, and there is none.",
            remedy="Name the trace first (explorer why trace.json --step 7 ...), or give --prefix.",
        )
    vocabulary = named_vocabulary(arguments)
    constraint = constraint_of(arguments, vocabulary)
    if constraint is None or vocabulary is None:
        raise ExplorerError(
            "A tokenizer and a constraint are needed to say why.",
            remedy="Give --tokenizer or --model, and --regex or --choice; or a saved trace.",
        )
    machine = compiled(arguments, constraint, vocabulary)
    state, text, history = _place(machine, arguments)
    explanation = (
        None if token is None else explain(machine, state, token, text=text, history=history)
    )
    return _print(arguments, explanation, machine, state, text)


UNWEIGHTED = (
    "There are no probabilities: a saved trace does not hold the model's logits. "
    "Session.reasons() has them."
)


def _place(
    machine: TokenMachine, arguments: argparse.Namespace
) -> tuple[int, bytes, History | None]:
    """The state after the prefix, its bytes, and the path if its ids were given."""
    ids: Sequence[int]
    if arguments.prefix_ids is not None:
        ids = ids_of_words(arguments.prefix_ids)
    elif arguments.prefix:
        text: str = arguments.prefix
        if machine.constraint is not None:
            _check_prefix(machine.constraint, text.encode(errors="surrogateescape"))
        ids = _written(machine, text)
    else:
        ids = ()
    state, data = machine.start, b""
    states = [state]
    for token in ids:
        following = machine.step(state, token)
        if following is None:
            why = explain(machine, state, token, text=data)
            raise ExplorerError(
                f"The prefix cannot be written. {why.message}",
                remedy="Ask about that token, or give a prefix that the constraint allows.",
                evidence={
                    "token": token,
                    "state": state,
                    "stage": why.stage,
                    "offset": why.byte_offset,
                },
            )
        data += machine.vocabulary.tokens[token] or b""
        state = following
        states.append(state)
    given = arguments.prefix_ids is not None
    return state, data, History(tuple(states), tuple(ids)) if given else None


def _written(machine: TokenMachine, text: str) -> Sequence[int]:
    """A tokenization of the prefix: the tokenizer's own if allowed, else any allowed one."""
    ids, _ = ids_of_text(machine, text)
    data = text.encode()
    here: int | None = machine.start
    for token in ids:
        here = None if here is None else machine.step(here, token)
    if here is not None:
        return ids
    # Under most constraints the tokenization does not matter; then each offset has one state.
    ways: list[dict[int, tuple[int, ...]]] = [{} for _ in range(len(data) + 1)]
    ways[0][machine.start] = ()
    trie = trie_of(machine.vocabulary, machine.byte_machine)
    for begin, states in enumerate(ways[:-1]):
        for end, token in tokens_at(trie, data, begin) if states else ():
            for state, before in states.items():
                following = machine.step(state, token)
                if following is not None:
                    ways[end].setdefault(following, (*before, token))
    return next(iter(ways[-1].values()), ids)


def _check_prefix(constraint: Constraint, prefix: bytes) -> None:
    why = explain_text(constraint, prefix)
    if why.stage == "constraint":
        raise ExplorerError(
            f"The constraint rejects the prefix. {why.message}",
            remedy="The name of a control token is letters in a text: give its id with "
            "--prefix-ids."
            if why.hints
            else "Give a prefix that some text of the constraint begins with.",
            evidence={"stage": why.stage, "offset": why.byte_offset},
        )


def _of_trace(arguments: argparse.Namespace, token: int | str | None) -> int:
    try:
        from explorer.analysis.explaining.step import (
            explain_recorded,
            explain_trace,
            states_along,
        )
        from explorer.decoding.trace.trace import Trace
    except ImportError as error:
        raise ExplorerError(
            f"Traces come with the models, and importing failed: {error}.",
            remedy="Install the extra `models` of this package.",
        ) from error
    trace = Trace.load(arguments.trace)
    if constraint_of(arguments) is not None:
        raise ExplorerError("The trace has its own constraint.", remedy="Leave the other out.")
    vocabulary = named_vocabulary(arguments)
    embedded = EMBEDDED.get(trace.model or "")
    if vocabulary is None and embedded is not None:
        vocabulary = Vocabulary.from_file(embedded)
    constraint = trace.constraint
    last = len(trace.positions) - 1
    step: int = last if arguments.step is None else arguments.step
    if not 0 <= step <= last:
        raise ExplorerError(
            f"The trace has no position {step}; it has the positions 0 to {last}.",
            remedy="Position k is after k tokens.",
        )
    if vocabulary is not None and constraint is not None:
        machine = compiled(arguments, constraint, vocabulary)
        # The machine here may number its states differently from that of the trace.
        state = states_along(machine, trace.ids[:step])[-1]
        explanation = None if token is None else explain_trace(machine, trace, token, step)
        data = trace.positions[step].data
        return _print(arguments, explanation, machine, state, data, UNWEIGHTED)
    if token is None:
        raise ExplorerError(
            "The trace does not hold the whole vocabulary.", remedy="Give --tokenizer or --model."
        )
    if isinstance(token, str):
        data = token.encode(errors="surrogateescape")
        ids = [known for known, written in trace.tokens.data.items() if written == data]
        if not ids:
            raise ExplorerError(
                f"The trace mentions no token {token!r}.",
                remedy="Give --tokenizer or --model, or ask with --token-id.",
            )
        token = ids[0]
    return _print(arguments, explain_recorded(trace, token, step), None, 0, b"")


def _print(
    arguments: argparse.Namespace,
    explanation: Explanation | TextExplanation | None,
    machine: TokenMachine | None,
    state: int,
    text: bytes,
    note: str = "",
) -> int:
    reasons = None
    if arguments.all and machine is None:
        note = "The groups of the whole mask need the vocabulary: give --tokenizer or --model."
    if arguments.all and machine is not None:
        reasons = explain_all(machine, state, text=text)
    if arguments.json:
        answer: dict[str, object] = {} if explanation is None else explanation.to_dict()
        if reasons is not None:
            answer["reasons"] = reasons.to_dict()
        if arguments.all and note:
            answer["note"] = note
        print_json(answer)
    else:
        if explanation is not None:
            print(explanation.paragraph)
        if reasons is not None:
            print(reasons)
        if arguments.all and note:
            print(note)
    return ALLOWED if explanation is None or explanation.allowed else MASKED
