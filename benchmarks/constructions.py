"""Our constructions beside pynini's operations of the same meaning, and the two ways to compose.

``python -m benchmarks.constructions`` prints the table that the decisions quote and writes
``docs/benchmarks/constructions.json``. pynini gets one arc per symbol class, as ours do, and its
time does not include the conversion.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pynini

import explorer
from benchmarks.constraints import CASES
from benchmarks.measure import interleaved
from benchmarks.vocabularies import tekken_131k
from explorer.automata.construction.operations import minimal_dfa
from explorer.automata.construction.subset import net_of
from explorer.automata.interchange.openfst import fst_from_arrays
from explorer.automata.machine import Nfa
from explorer.automata.tree.layout import lay_out
from explorer.budget import Meter
from explorer.languages.regex import parse

OUT = Path(__file__).parents[1] / "docs" / "benchmarks" / "constructions.json"
EXTRA = {"dot 0..4000": ".{0,4000}", "words": r"\w+( \w+){0,5}"}


def over_classes(nfa: Nfa) -> pynini.Fst:
    """The same automaton for pynini, one arc per symbol class."""
    net = net_of(nfa, Meter())
    assert net is not None
    symbol_class = net.symbol_class
    rows = [
        (source, class_ + 1, class_ + 1, target)
        for source, low, high, target in nfa.arcs
        for class_ in range(symbol_class[low], symbol_class[high] + 1)
    ]
    rows += [(source, 0, 0, target) for source, target in nfa.epsilons]
    accepting = np.zeros(nfa.num_states, np.bool_)
    accepting[nfa.accepting] = True
    arcs = np.array(rows, np.int32).reshape(-1, 4)
    return fst_from_arrays(nfa.num_states, nfa.start, arcs, accepting)


def determinize_and_minimize(fst: pynini.Fst) -> pynini.Fst:
    """The definition of a minimal machine."""
    return pynini.determinize(fst.copy().rmepsilon()).minimize()


def compose(transducer: pynini.Fst, acceptor: pynini.Fst) -> pynini.Fst:
    """The definition of the token machine."""
    composed = pynini.compose(transducer, acceptor)
    composed.project("input")
    return pynini.determinize(composed.rmepsilon())


def main() -> None:
    vocabulary = tekken_131k()
    transducer = explorer.detokenizing_fst(vocabulary)
    transducer.set_input_symbols(None)
    transducer.set_output_symbols(None)
    transducer.arcsort("olabel")
    patterns = {case.name: case.pattern for case in CASES} | EXTRA
    rows: dict[str, dict[str, float]] = {}
    print("| pattern | states | ours, ms | pynini, ms | composition: ours, ms | pynini, ms |")
    print("|---|---|---|---|---|---|")
    for name, pattern in patterns.items():
        nfa = lay_out(parse(pattern).root, Meter())
        fst = over_classes(nfa)
        constraint = explorer.regex(pattern)
        states = constraint.dfa.num_states
        acceptor = constraint.fsa
        tasks: dict[str, Callable[[], object]] = {
            "ours": lambda nfa=nfa: minimal_dfa(nfa, Meter()),
            "pynini": lambda fst=fst: determinize_and_minimize(fst),
            "compose_ours": lambda c=constraint: explorer.compile(c, vocabulary),
        }
        if states < 1000:
            tasks["compose_pynini"] = lambda a=acceptor: compose(transducer, a)
        timed = interleaved(tasks, repeats=7)
        rows[name] = {"states": states} | {task: timed[task]["median"] for task in timed}
        figures = [f"{rows[name].get(task, float('nan')):.3f}" for task in
                   ("ours", "pynini", "compose_ours", "compose_pynini")]  # fmt: skip
        print(f"| {name} | {states} | {' | '.join(figures)} |", flush=True)
    OUT.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
