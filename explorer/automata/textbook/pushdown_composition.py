"""Algorithm 3 by OpenFST: a grammar that calls itself, composed with T_V as a push-down automaton.

Koo, Liu & He 2024, Algorithm 3. Each rule is an acceptor with a label for each rule that it calls;
`pdt_replace` makes a push-down automaton of them, whose calls and returns are parentheses, and T_V
is composed with it from the left by `pdt_compose`. So is every sequence of up to so many tokens:
that bounds the stack, and `expand` then makes a finite machine. It is the definition that the
machine which decodes (`explorer.automata.stacks`) is held to, and is made for looking: rules and
tokens that fit on a page.

OpenFST's push-down code can end the whole process where its memory runs out, so it runs in one of
its own: this file as a module.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np

from explorer.alphabet import EPSILON, byte_label, label_token, token_label
from explorer.automata.interchange.openfst import fst_from_arrays, read_fst
from explorer.automata.machine import Network
from explorer.errors import ExplorerError

_CALLS: Final = 1_000
"""The label of the first rule; bytes have smaller ones."""

_PARENTHESES: Final = 1_000_000

SECONDS: Final = 60.0
"""The most seconds that OpenFST may take."""


def token_sequences_by_pynini(
    network: Network, words: Sequence[bytes | None], most: int, seconds: float = SECONDS
) -> list[tuple[int, ...]]:
    """The sequences of tokens that are words of a grammar, composed by OpenFST.

    Args:
        network: The rules, such as ``machine.byte_machine.stacks.network``.
        words: The bytes of each token; ``None`` for an id that is not text.
        most: The most tokens of a sequence.
        seconds: The time limit.

    Returns:
        Ids, ascending.

    Raises:
        ExplorerError: OpenFST broke down or took too long, or pynini is not installed.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b", b"bb"], eos_ids=[3])
        >>> machine = explorer.compile(explorer.grammar('root ::= "a" root "b" | ""'), vocab)
        >>> network = machine.byte_machine.stacks.network
        >>> token_sequences_by_pynini(network, vocab.tokens, 4)
        [(), (0, 0, 1, 1), (0, 0, 2), (0, 1)]
    """
    asked = {
        "rules": [_rule(network, rule) for rule in range(len(network.entry))],
        "words": [None if data is None else list(data) for data in words],
        "most": most,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__], input=json.dumps(asked), capture_output=True,
            text=True, timeout=seconds, check=True,
        )  # fmt: skip
    except subprocess.SubprocessError as error:
        said = str(getattr(error, "stderr", "") or error).strip().splitlines()
        raise ExplorerError(
            f"OpenFST could not compose this grammar: {said[-1] if said else error}.",
            remedy="Ask for fewer tokens, or a smaller grammar; pynini must be installed.",
        ) from error
    return [tuple(ids) for ids in json.loads(done.stdout)]


def _rule(network: Network, rule: int) -> dict[str, object]:
    """A rule as an acceptor over labels of bytes and of called rules."""
    states = [state for state, own in enumerate(network.rule) if own == rule]
    states.sort(key=lambda state: state != network.entry[rule])
    number = {state: k for k, state in enumerate(states)}
    members: dict[int, list[int]] = {}
    for byte, symbol in enumerate(network.symbol_class.tolist()):
        members.setdefault(symbol, []).append(byte_label(byte))
    arcs: list[tuple[int, int, int]] = []
    for state in states:
        for symbol, target in network.arcs(state).items():
            arcs += [(number[state], label, number[target]) for label in members[symbol]]
        for called, after in network.calls[state]:
            arcs.append((number[state], _CALLS + called, number[after]))
    ends = [number[state] for state in states if network.exits[state]]
    return {"states": len(states), "arcs": arcs, "ends": ends}


def _composed(
    rules: list[dict[str, Any]], words: list[list[int] | None], most: int
) -> list[list[int]]:
    """The token sequences; runs in a separate process."""
    import pynini

    library = cast(Any, pynini)
    pairs = [(_CALLS + k, _machine(one["states"], one["arcs"], one["ends"])) for k, one in
             enumerate(rules)]  # fmt: skip
    grammar, parentheses = library.pdt_replace(pairs, start_paren_labels=_PARENTHESES)
    texts: list[tuple[int, int, int, int]] = []
    states = 1
    for token, data in enumerate(words):
        here, read = 0, token_label(token)
        for k, byte in enumerate(data or ()):
            there = 0 if k == len(data or ()) - 1 else states
            states += there == states
            texts.append((here, read, byte_label(byte), there))
            here, read = there, EPSILON
    ends = np.arange(states) == 0
    transducer = fst_from_arrays(states, 0, np.array(texts, np.int32).reshape(-1, 4), ends)
    ids = [token_label(token) for token, data in enumerate(words) if data]
    every = _machine(
        most + 1, [(k, label, k + 1) for k in range(most) for label in ids], range(most + 1)
    )
    read_by = library.compose(every.arcsort("olabel"), cast(Any, transducer).arcsort("ilabel"))
    both = library.pdt_compose(
        read_by.arcsort("olabel"), grammar.arcsort("ilabel"), parentheses,
        compose_filter="expand", left_pdt=False,
    )  # fmt: skip
    machine = library.determinize(both.project("input").rmepsilon().connect())
    if machine.start() < 0:
        return []
    _, start, arcs, accepting = read_fst(machine.write_to_string())
    leaving: dict[int, list[tuple[int, int]]] = {}
    for source, label, _, target in arcs.tolist():
        leaving.setdefault(source, []).append((label_token(label), target))
    paths: list[list[int]] = []
    waiting: list[tuple[int, list[int]]] = [(start, [])]
    while waiting:
        state, path = waiting.pop()
        if accepting[state]:
            paths.append(path)
        waiting += [(target, [*path, token]) for token, target in leaving.get(state, ())]
    return sorted(paths)


def _machine(states: int, arcs: Sequence[Sequence[int]], ends: Any) -> Any:
    rows = [(source, label, label, target) for source, label, target in arcs]
    accepting = np.zeros(states, np.bool_)
    accepting[list(ends)] = True
    return fst_from_arrays(states, 0, np.array(rows, np.int32).reshape(-1, 4), accepting)


if __name__ == "__main__":
    json.dump(_composed(**json.load(sys.stdin)), sys.stdout)
