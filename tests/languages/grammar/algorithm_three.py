"""Koo et al.'s Algorithm 3 as written, with the push-down operations of pynini.

Run as a script, because OpenFST's push-down code can abort the whole process: it reads a grammar
and tokens as JSON and writes every sequence of at most so many tokens that the composition accepts.

A rule is an acceptor over characters with a label for each rule that it calls. `pdt_replace` makes
the push-down transducer of them, the detokenizing transducer is composed with it from the left by
`pdt_compose`, and so are all sequences up to the length, which bounds the stack; `pdt_expand` then
makes a finite machine of it. Shares nothing with the engine.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

pynini: Any = import_module("pynini")  # Untyped.


def chain(labels: list[int]) -> Any:
    made = pynini.Fst()
    made.set_start(made.add_state())
    state = made.start()
    for label in labels:
        after = made.add_state()
        made.add_arc(state, pynini.Arc(label, label, 0, after))
        state = after
    made.set_final(state)
    return made


def accepted(rules: dict[str, list[list[str]]], tokens: list[str], most: int) -> list[list[int]]:
    """The sequences of token numbers that are words, of at most so many tokens."""
    calls = {name: 1000 + k for k, name in enumerate(rules)}
    pairs: list[tuple[int, Any]] = []
    for name, options in rules.items():
        body = pynini.Fst()
        for option in options:
            labels = [calls[symbol] if symbol in calls else ord(symbol) for symbol in option]
            body = pynini.union(body, chain(labels)) if body.num_states() else chain(labels)
        pairs.append((calls[name], body.rmepsilon()))
    grammar, parens = pynini.pdt_replace(pairs, start_paren_labels=2000)
    # The detokenizing transducer: from the id of a token, shifted, to its characters.
    words = pynini.Fst()
    root = words.add_state()
    words.set_start(root)
    words.set_final(root)
    for token, text in enumerate(tokens):
        state, enters = root, 1 + token
        for place, character in enumerate(text):
            last = place == len(text) - 1
            after = root if last else words.add_state()
            words.add_arc(state, pynini.Arc(enters, ord(character), 0, after))
            state, enters = after, 0
    every = pynini.Fst()
    state = every.add_state()
    every.set_start(state)
    every.set_final(state)
    for _ in range(most):
        after = every.add_state()
        for token in range(len(tokens)):
            every.add_arc(state, pynini.Arc(1 + token, 1 + token, 0, after))
        every.set_final(after)
        state = after
    read = pynini.compose(every.arcsort("olabel"), words.arcsort("ilabel")).arcsort("olabel")
    both = pynini.pdt_compose(
        read, grammar.arcsort("ilabel"), parens, compose_filter="expand", left_pdt=False
    )
    found = pynini.project(both, "input").rmepsilon().connect()
    if found.start() == pynini.NO_STATE_ID:
        return []
    found = pynini.determinize(found)
    paths: list[list[int]] = []
    stack: list[tuple[int, list[int]]] = [(found.start(), [])]
    while stack:
        state, path = stack.pop()
        if found.final(state) != pynini.Weight.zero(found.weight_type()):
            paths.append(path)
        stack += [(arc.nextstate, [*path, arc.ilabel - 1]) for arc in found.arcs(state)]
    return sorted(paths)


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump(accepted(asked["rules"], asked["tokens"], asked["most"]), sys.stdout)
