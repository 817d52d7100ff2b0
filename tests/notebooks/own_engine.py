"""The four functions of the lesson *Write your own engine*, as a reader would write them."""

from __future__ import annotations

from typing import Any


def deterministic(nfa: Any) -> tuple[dict[tuple[int, str], int], set[int]]:
    """Number the sets of states that are met together."""

    def closed(states: set[int]) -> frozenset[int]:
        found, waiting = set(states), list(states)
        while waiting:
            state = waiting.pop()
            new = {to for at, letter, _, to in nfa.arcs if at == state and not letter} - found
            found |= new
            waiting += new
        return frozenset(found)

    number = {closed({0}): 0}
    step: dict[tuple[int, str], int] = {}
    waiting = list(number)
    while waiting:
        states = waiting.pop()
        for letter in {arc[1] for arc in nfa.arcs if arc[0] in states and arc[1]}:
            to = closed({arc[3] for arc in nfa.arcs if arc[0] in states and arc[1] == letter})
            if to not in number:
                number[to] = len(number)
                waiting.append(to)
            step[number[states], letter] = number[to]
    return step, {n for states, n in number.items() if states & nfa.accepting}


def trie_of(tokens: list[str]) -> tuple[dict[tuple[int, str], int], dict[int, list[int]]]:
    """Share the beginnings of tokens."""
    step: dict[tuple[int, str], int] = {}
    ends: dict[int, list[int]] = {}
    for number, token in enumerate(tokens):
        node = 0
        for letter in token:
            node = step.setdefault((node, letter), len(step) + 1)
        if token:
            ends.setdefault(node, []).append(number)
    return step, ends


def composed(
    step: dict[tuple[int, str], int], trie: dict[tuple[int, str], int], ends: dict[int, list[int]]
) -> dict[tuple[int, int], int]:
    """Go down the tree and through the machine at once."""
    below: dict[int, list[tuple[str, int]]] = {}
    for (node, letter), child in trie.items():
        below.setdefault(node, []).append((letter, child))
    arcs: dict[tuple[int, int], int] = {}

    def walk(state: int, node: int, here: int) -> None:
        for number in ends.get(node, []):
            arcs[state, number] = here
        for letter, child in below.get(node, []):
            if (here, letter) in step:
                walk(state, child, step[here, letter])

    for state in {0, *step.values()}:
        walk(state, 0, state)
    return arcs


def living(arcs: dict[tuple[int, int], int], accepting: set[int]) -> set[int]:
    """Go back from the accepting states until nothing is added."""
    alive, size = set(accepting), -1
    while len(alive) != size:
        size = len(alive)
        alive |= {state for (state, _), to in arcs.items() if to in alive}
    return alive
