"""The effect of constraints on a model, and their cost: accuracy, throughput, and the sweep of s.

Three tables after Beurer-Kellner, Fischer, Vechev 2024, on the embedded model `tiny`:

- *accuracy*: 400 arithmetic questions answered in JSON with their operands first, and 400 word
  problems answered in JSON with their steps: unconstrained, with a lookahead of k borders of
  terminals, and with templates;
- *throughput*: tokens per second of CPU time relative to the model alone, for each workload
  (`benchmarks.invasive_cases`), each scheme and each optimisation, one after the other in one
  process, each text by itself;
- *sweep*: count-based speculation with s = 0 to 12 tokens ahead, as in their figure 5.

``python -m benchmarks.invasive --write`` writes ``docs/benchmarks/invasiveness.json`` and ``.md``;
``--part`` measures one of the three and leaves the figures of the others; ``--texts`` and
``--cases`` are for trying out. Texts with proposals are compared with those without. A pass over
several tokens rounds otherwise than passes over one (decision 6), so a random number that lies on
the border of two tokens may draw the other one: such texts are counted, and any other difference
stops the script.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, cast

import torch

import explorer
from benchmarks.invasive_cases import (
    WORKLOADS,
    Question,
    answer_template,
    arithmetic_cases,
    word_problems,
)
from explorer import Sampler, generate
from explorer.analysis.invasiveness import invasiveness, schemes_of
from explorer.analysis.invasiveness.schemes import OURS, TEMPLATES, naturalised
from explorer.decoding.sampling.sampler import masked_logits, uniform
from explorer.decoding.speculation.counts import TokenCounts
from explorer.decoding.speculation.drafting import Drafting
from explorer.decoding.speculation.own_first import own_first
from explorer.tokens.machine import TokenMachine
from explorer.tokens.schemes.lookahead import lookahead_machines
from explorer.tokens.schemes.templates import template_machine
from explorer.tokens.schemes.terminals import FLAT_OBJECT

RESULTS: Final = Path(__file__).parents[1] / "docs" / "benchmarks" / "invasiveness.json"
TABLE: Final = RESULTS.with_suffix(".md")

LONGEST: Final = 40
PLAIN: Final = "a mask at every token"
ALONE: Final = "unconstrained"
LIMITLESS: Final = "k = ∞ (ours)"
EXAMPLE: Final = "Write the sum of 3 and 4 as JSON."
"""The question from which a naturalised template takes the model's tokens."""


# --- accuracy -------------------------------------------------------------------------------------


def ways_of(lm: Any, kinds: set[str]) -> dict[str, Callable[[str], TokenMachine | None]]:
    """The ways of constraining by name; each gives the machine for a kind of question."""
    made: dict[str, Callable[[str], TokenMachine | None]] = {ALONE: lambda _: None}
    lookaheads = (0, 1, None)
    machines = lookahead_machines(FLAT_OBJECT, lm.vocabulary, lookaheads)
    for k, machine in zip(lookaheads, machines, strict=True):
        made[LIMITLESS if k is None else f"k = {k}"] = lambda _, machine=machine: machine
    for name in TEMPLATES:
        machines = {kind: _template(lm, name, kind) for kind in kinds}
        made[name] = lambda kind, machines=machines: machines[kind]
    return made


def _template(lm: Any, name: str, kind: str) -> TokenMachine:
    if name == "naturalised template":
        return naturalised(lm, [{"role": "user", "content": EXAMPLE}], answer_template(kind))
    return template_machine(answer_template(kind), lm.vocabulary, flexible="flexible" in name)


def accuracy(lm: Any, cases: Sequence[Question]) -> dict[str, Any]:
    """The share of well-formed answers, of right operands and of right results for each way."""
    found: dict[str, Any] = {}
    for name, machine_of in ways_of(lm, {case.kind for case in cases}).items():
        operands = results = valid = 0
        for case in cases:
            prompt = [{"role": "user", "content": case.text}]
            text = own_first(lm, prompt, machine_of(case.kind), max_tokens=LONGEST).text
            if case.kind == "story":
                # Leniently: the first two numbers and the last one, whatever the form.
                numbers = [int(number) for number in re.findall("[0-9]+", text)]
                operands += tuple(numbers[:2]) == case.operands
                results += bool(numbers) and numbers[-1] == case.result
            try:
                answer, _ = json.JSONDecoder().raw_decode(text.lstrip())
            except ValueError:
                continue
            answer = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
            if case.kind != "story":
                operands += (answer.get("a"), answer.get("b")) == case.operands
                results += answer.get(case.kind) == case.result
            valid += bool(answer)
        counts = {"valid": valid, "operands": operands, "results": results}
        found[name] = {key: value / len(cases) for key, value in counts.items()}
    return found


# --- throughput -----------------------------------------------------------------------------------


class Meter:
    """Tokens and CPU seconds of some texts."""

    def __init__(self) -> None:
        self.tokens = self.passes = self.proposed = self.accepted = 0
        self.seconds = 0.0
        self.ids: list[tuple[int, ...]] = []

    def time(self, write: Callable[[], Any]) -> None:
        began = time.process_time()
        text = write()
        self.seconds += time.process_time() - began
        self.tokens += len(text.tokens)
        self.passes += text.passes or len(text.tokens)
        self.proposed += text.proposed
        self.accepted += text.accepted
        self.ids.append(text.tokens)

    @property
    def rate(self) -> float:
        """Tokens per second."""
        return self.tokens / self.seconds

    def row(self, alone: float) -> dict[str, float]:
        """The figures, with the rate relative to that of the model alone."""
        return {
            "relative": self.rate / alone,
            "passes": self.passes / self.tokens,
            "hits": self.accepted / self.proposed if self.proposed else 0.0,
        }


def learned(
    lm: Any, prompt: str, machine: TokenMachine, texts: Sequence[Sequence[int]], ahead: int
) -> Drafting | None:
    """A draft with the counts of some texts; ``None`` for no tokens ahead."""
    counts = TokenCounts(lm, prompt, machine)
    for ids in texts:
        counts.learn(ids)
    return Drafting(counts, ahead, masked=False) if ahead else None


def written(
    lm: Any, prompt: str, machine: TokenMachine | None, seeds: range, draft: Drafting | None,
    own: bool,
) -> Meter:  # fmt: skip
    """Texts of some seeds, one by one."""
    meter, sampler = Meter(), Sampler(1.0)
    for seed in seeds:
        if own or machine is None:
            meter.time(
                lambda seed=seed: own_first(
                    lm, prompt, machine, sampler=sampler, max_tokens=LONGEST, seed=seed,
                    draft=draft,
                )
            )  # fmt: skip
        else:
            meter.time(
                lambda seed=seed: generate(
                    lm, [prompt], machine, sampler, LONGEST, seed=seed, masking_budget=False,
                    draft=draft, log_probs=False,
                )[0]
            )  # fmt: skip
        if draft is not None and isinstance(draft.model, TokenCounts):
            draft.model.learn(meter.ids[-1])
    return meter


ROUNDING: Final = 3e-5
"""How near a random number must lie to the border of two tokens to be a matter of rounding."""


AFTER_A_MISS: Final = 2**60
"""How far behind a place its second random number stands; see `own_first`."""


def check_rounding(
    lm: Any, prompt: str, machine: TokenMachine, seed: int, one: Sequence[int], other: Sequence[int]
) -> None:
    """Stop unless two texts first differ in a draw on the border of two tokens."""
    place = next(k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    state = machine.start
    for token in one[:place]:
        after = machine.step(state, token)
        assert after is not None
        state = after
    logits = lm.read((*lm.encode_prompt(prompt), *one[:place])).logits
    # Drawn from the model's own distribution, under the mask, and under it after a miss.
    masked = masked_logits(logits, machine.allowed(state))
    ways = ((logits, place), (masked, place), (masked, place + AFTER_A_MISS))
    near = min(
        float((scores.double().softmax(-1).cumsum(-1) - uniform(seed, 0, number)).abs().min())
        for scores, number in ways
    )
    if near > ROUNDING:
        raise AssertionError(f"{prompt!r}, seed {seed}: proposals changed token {place}")


def differing(
    lm: Any, prompt: str, machine: TokenMachine, plain: Sequence[tuple[int, ...]],
    quick: Sequence[tuple[int, ...]],
) -> int:  # fmt: skip
    """The number of texts that differ, each by rounding."""
    found = 0
    for seed, (one, other) in enumerate(zip(plain, quick, strict=True)):
        if one != other:
            check_rounding(lm, prompt, machine, seed, one, other)
            found += 1
    return found


def throughput(lm: Any, texts: int, ahead: int) -> dict[str, Any]:
    """For each workload, scheme and way of decoding the rate relative to the model alone."""
    found: dict[str, Any] = {}
    seeds, earlier = range(texts), range(1000, 1000 + texts)
    for name, workload in WORKLOADS.items():
        prompt = workload.prompt
        machines: dict[str, TokenMachine] = {
            scheme.name: scheme.machine
            for scheme in schemes_of(
                lm, prompt, workload.grammar, lookaheads=(0, 1),
                template=workload.template and workload.template(),
            )
        }  # fmt: skip
        # Ours as a user has it: the language over characters, a table where it is regular.
        machines[OURS] = explorer.compile(workload.constraint(), lm.vocabulary)
        own_first(lm, prompt, None, max_tokens=LONGEST)
        free = written(lm, prompt, None, seeds, None, own=True)
        pairs = invasiveness(
            lm, prompt, machines[OURS], sampler=Sampler(1.0), seeds=texts, max_tokens=LONGEST
        )
        alone = {
            "rate": free.rate,
            "valid": sum(pair.outcome != "invalid" for pair in pairs) / texts,
            "violations": sum(pair.violation is not None for pair in pairs),
        }
        rows = {
            scheme: rates(lm, prompt, machine, seeds, earlier, ahead)
            for scheme, machine in machines.items()
        }
        found[name] = {"alone": alone, "schemes": rows}
        print(name, json.dumps(found[name]), flush=True)
    return found


def rates(
    lm: Any, prompt: str, machine: TokenMachine, seeds: range, earlier: range, ahead: int
) -> dict[str, Any]:
    """The rates of one machine, with and without each optimisation."""
    warm = written(lm, prompt, machine, earlier, None, own=True).ids  # Masks are kept from now.
    written(lm, prompt, machine, earlier, None, own=False)
    alone = written(lm, prompt, None, seeds, None, own=True).rate  # Measured anew beside each.
    rows: dict[str, Any] = {}
    kept: dict[bool, list[tuple[int, ...]]] = {}
    for counted in (False, True):
        for own in (False, True):
            draft = learned(lm, prompt, machine, warm, ahead) if counted else None
            made = written(lm, prompt, machine, seeds, draft, own=own)
            ways = [*(["own choice first"] if own else []), *(["counts"] if counted else [])]
            row = rows[" + ".join(ways) or PLAIN] = made.row(alone)
            plain = kept.setdefault(own, made.ids)
            row["differing"] = differing(lm, prompt, machine, plain, made.ids)
    return rows


def sweep(lm: Any, texts: int) -> dict[str, Any]:
    """The rate for each s, on JSON with a schema and on free JSON."""
    found: dict[str, Any] = {}
    seeds, earlier = range(texts), range(1000, 1000 + texts)
    for name in ("JSON with schema", "JSON"):
        prompt = WORKLOADS[name].prompt
        machine = explorer.compile(WORKLOADS[name].constraint(), lm.vocabulary)
        warm = written(lm, prompt, machine, earlier, None, own=True).ids
        alone = written(lm, prompt, None, seeds, None, own=True).rate
        plain = written(lm, prompt, machine, seeds, None, own=True).ids
        rows: list[dict[str, float]] = []
        for ahead in range(13):
            draft = learned(lm, prompt, machine, warm, ahead)
            made = written(lm, prompt, machine, seeds, draft, own=True)
            row = made.row(alone)
            row["differing"] = differing(lm, prompt, machine, plain, made.ids)
            rows.append(row)
        found[name] = rows
    return found


# --- the page -------------------------------------------------------------------------------------


def accuracy_table(right: dict[str, Any]) -> list[str]:
    """One task as lines."""
    return [
        "| way | well-formed | operands right | result right |",
        "|---|---|---|---|",
        *(
            f"| {name} | {row['valid']:.1%} | {row['operands']:.1%} | {row['results']:.1%} |"
            for name, row in right.items()
        ),
    ]


def throughput_table(found: dict[str, Any]) -> list[str]:
    """All workloads as lines."""
    first = next(iter(next(iter(found.values()))["schemes"].values()))
    lines = [
        "| workload | scheme | " + " | ".join(first) + " |",
        "|---|---|" + "---|" * len(first),
    ]
    for name, workload in found.items():
        alone = workload["alone"]
        lines.append(
            f"| **{name}** | unconstrained: {alone['rate']:,.0f} tokens/s, {alone['valid']:.0%} of "
            "its texts stay in the language |" + " 1 |" + " |" * (len(first) - 1)
        )
        for scheme, rows in workload["schemes"].items():
            cells = (f"{row['relative']:.2f} ({row['passes']:.2f})" for row in rows.values())
            lines.append(f"| | {LIMITLESS if scheme == OURS else scheme} | {' | '.join(cells)} |")
    return lines


def table(results: dict[str, Any]) -> str:
    """The page of the documentation."""
    found, sweeps = results["throughput"], results["sweep"]
    every = [
        row
        for workload in found.values()
        for rows in workload["schemes"].values()
        for row in rows.values()
    ]
    every += [row for rows in sweeps.values() for row in rows]
    total = sum(row["differing"] for row in every)
    texts = results["texts"]["throughput"]
    load = ", ".join(f"{part} {value:.1f}" for part, value in results["load"].items())
    lines = [
        "# Invasiveness: accuracy, throughput, speculation by counts",
        "",
        "Written by `python -m benchmarks.invasive --write`, on the embedded model `tiny`, each "
        f"part in one process on a computer of {results['cores']} cores (load while it ran: "
        f"{load}; rates are of CPU time). The ways are those of Beurer-Kellner, Fischer, Vechev "
        "(2024); see `explorer.tokens.schemes`, `explorer.decoding.speculation`, and the workloads "
        "in `benchmarks/invasive_cases.py`.",
        "",
        "## Accuracy",
        "",
        f"{results['cases']} sums, differences and products, asked as in the training corpus and "
        'answered in JSON, the operands first (`{"a": 3, "b": 4, "sum": 7}`). Greedy.',
        "",
        *accuracy_table(results["accuracy"]["arithmetic"]),
        "",
        "The paper reports 0.415 unconstrained, 0.308 and 0.1 with too little lookahead and 0.418 "
        "with k = ∞ (Mistral 7B on GSM8K). The shape is the same here. With k = ∞ the model writes "
        "the same texts as alone. With k = 1 the answer ends after its first number: the model's "
        'next token, `, "`, crosses two borders of terminals and is forbidden. With k = 0 the '
        'token `{"` is forbidden too, and the model writes texts that answer nothing. The two '
        "other templates keep these tokens. The whitespace-flexible template cuts them at the "
        "white space, and the model then writes more digits or more spaces.",
        "",
        f"{results['cases']} word problems in plain words of the corpus (`Ada has 3 apples and "
        "gets 4 more. How many apples does Ada have?`), answered in JSON with the steps. Here the "
        "first two numbers of a text count as its operands and the last one as its result, "
        "whatever its form:",
        "",
        *accuracy_table(results["accuracy"]["word problems"]),
        "",
        "The embedded models have never seen a story and do not read one: the model alone answers "
        "with a sum of other numbers. A right result there is chance, so no way of constraining "
        "can lose or gain anything, and the effect is shown on the sums above.",
        "",
        "## Throughput",
        "",
        "Tokens per second of CPU time relative to the model alone on the same prompt (1 = as "
        f"fast), {texts} sampled texts of at most {LONGEST} tokens each, one by one, "
        f"s = {results['ahead']} after {texts} texts to count; in brackets forward passes per "
        "token. k = ∞ is the language over characters; k = 0 and 1 are the same over terminals. "
        "Masks of the schemes are made in Python and kept.",
        "",
        *throughput_table(found),
        "",
        "`tiny` writes neither XML nor C by itself: there the unconstrained row is the speed of "
        "the same model on the same prompt, with other texts. A pass of this model costs two or "
        "three milliseconds, so what a scheme does beside it shows; a larger model hides that and "
        "gains what its passes are saved.",
        "",
        "## Tokens ahead",
        "",
        "Count-based speculation, the model's own choice first, "
        f"{results['texts']['sweep']} texts. The texts are the same for each s; "
        f"of all texts with proposals on this page, {total} differ, in a draw that lies within "
        f"{ROUNDING:g} of the border of two tokens (decision 6).",
        "",
        "| s | " + " | ".join(f"{name}: rate | passes per token | hits" for name in sweeps) + " |",
        "|---|" + "---|---|---|" * len(sweeps),
    ]  # fmt: skip
    for s in range(13):
        cells = (
            f"{rows[s]['relative']:.2f} | {rows[s]['passes']:.2f} | "
            + (f"{rows[s]['hits']:.0%}" if s else "–")
            for rows in sweeps.values()
        )
        lines.append(f"| {s} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "Hits are the proposals that the model would have taken anyway. The paper reports up to "
        "1.77 × on JSON with a schema, with models whose passes cost more beside a mask.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and print; with ``--write`` also write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=20)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--ahead", type=int, default=8)
    parser.add_argument("--part", choices=("accuracy", "throughput", "sweep"))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    results = cast("dict[str, Any]", json.loads(RESULTS.read_text("utf-8")))
    results |= {"cores": os.cpu_count(), "ahead": given.ahead}
    results["load"] = dict(results.get("load", {}))
    # Each part with a model of its own, whose key-values begin empty.
    for part in ("accuracy", "throughput", "sweep") if given.part is None else (given.part,):
        lm = explorer.load_model("tiny")
        if part == "accuracy":
            results["cases"] = given.cases
            results[part] = {
                "arithmetic": accuracy(lm, arithmetic_cases(given.cases)),
                "word problems": accuracy(lm, word_problems(given.cases)),
            }
        else:
            texts = results.get("texts")
            results["texts"] = {**(texts if isinstance(texts, dict) else {}), part: given.texts}
            results[part] = (
                sweep(lm, given.texts)
                if part == "sweep"
                else throughput(lm, given.texts, given.ahead)
            )
        results["load"][part] = os.getloadavg()[1]
        if given.write:
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    if given.write:
        TABLE.write_text(table(results), "utf-8")
    print(table(results))


if __name__ == "__main__":
    main()
