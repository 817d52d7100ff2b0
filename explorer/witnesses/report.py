"""One difference as a report that is ready for an issue tracker, with a script that shows it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from explorer.alphabet import in_quotes
from explorer.analysis.characters.display import show_text
from explorer.witnesses.answers import OURS
from explorer.witnesses.judging import judge_of
from explorer.witnesses.script import printed_by, script_of
from explorer.witnesses.script_runs import ScriptRun, run_scripts
from explorer.witnesses.shrinking.shrink import Shrunk
from explorer.witnesses.table import name_of_token

_NOTATION = {
    "regex": "regular expression", "json_schema": "JSON Schema", "gbnf": "grammar (GBNF)",
    "lark": "grammar (Lark)",
}  # fmt: skip


MOST_QUOTED: Final = 300
"""Characters of what a script printed that a line quotes."""


@dataclass(frozen=True, eq=False)
class DisagreementReport:
    """A difference between an engine and us, as small as it was made.

    Args:
        engine, version: The engine.
        kind: The class of the difference.
        allows: Whether the engine allows the token and we mask it; else the reverse.
        notation: What the constraint is, as `explorer.witnesses.messages.Statement` names it.
        constraint: The constraint.
        prefix: The text before the token.
        token: The token's bytes; ``None`` for the end of text.
        sentence: The reason.
        evidence: What shows it, a line each.
        judge: The independent judge and what it says of a whole text, as a sentence; empty where
            it does not say.
        contradicted: ``"engine"`` or ``"explorer"``: whom the judge contradicts; empty for nobody.
        probability: Of the state and the tokens that differ, by the model; ``None`` without one.
        found_in: The constraint and the prefix in which it was found.
        script: Shows it with the engine's own library alone.
        shows: What the script prints where it shows the difference.
        printed: What it printed when it was run; empty before.
    """

    engine: str
    version: str
    kind: str
    allows: bool
    notation: str
    constraint: str
    prefix: bytes
    token: bytes | None
    sentence: str
    evidence: tuple[str, ...]
    judge: str
    contradicted: str
    probability: float | None
    found_in: str
    script: str
    shows: str = ""
    printed: str = ""

    @property
    def title(self) -> str:
        """A line for the title of an issue."""
        name = "the end of text" if self.token is None else show_text(self.token)
        after = f" after {show_text(self.prefix)}" if self.prefix else " at the start"
        short = " ".join(self.constraint.split())
        verb = "allows" if self.allows else "masks"
        return f"{self.engine} {self.version} {verb} {name}{after}: {short[:60]}"

    def __str__(self) -> str:
        token = "the end of text" if self.token is None else show_text(self.token)
        other = "masks" if self.allows else "allows"
        lines = [
            f"## {self.title}", "",
            f"- class: {self.kind}",
            f"- {self.engine} {self.version}, Python {platform.python_version()}, "
            f"{platform.system()} {platform.machine()}",
            f"- {_NOTATION[self.notation]}:", "", _indented(self.constraint), "",
            f"- prefix: {show_text(self.prefix) if self.prefix else 'nothing'}",
            f"- token: {token}",
            f"- {self.engine} {'allows' if self.allows else 'masks'} it; explorer {other} it",
            f"- reason: {self.sentence}",
        ]  # fmt: skip
        lines += [f"- {each}" for each in self.evidence]
        lines.append(f"- independent judge: {self.judge or 'it does not say'}")
        if self.probability is not None:
            lines.append(f"- probability by the model: {self.probability:.3g}")
        lines += [f"- found in: {self.found_in}", "", "```python", self.script.rstrip(), "```"]
        if self.printed:
            lines += ["", "It printed:", "", "```", self.printed, "```"]
        return "\n".join(lines)


def _indented(text: str) -> str:
    return "\n".join(f"      {line}".rstrip() for line in text.splitlines())


def report_of(shrunk: Shrunk, found_in: str, probability: float | None) -> DisagreementReport:
    """The report on a difference.

    Args:
        shrunk: The difference.
        found_in: The constraint and the prefix in which it was found.
        probability: By the model; ``None`` without one.
    """
    witness, each = shrunk.witness, shrunk.disagreement
    said = witness.testimony(each.engine)
    token = witness.vocabulary.tokens[shrunk.token]
    prefix = witness.prefix[: each.position]
    judged, contradicted = _judged(shrunk)
    return DisagreementReport(
        each.engine,
        said.version,
        each.kind,
        each.allows,
        witness.statement.kind,
        witness.statement.text,
        b"".join(witness.vocabulary.tokens[k] or b"" for k in prefix),
        token,
        each.sentence,
        tuple(f"{name}: {value}" for name, value in each.evidence.items()),
        judged,
        contradicted,
        probability,
        found_in,
        script_of(
            each.engine, said.version, witness.statement, witness.vocabulary, prefix,
            shrunk.token, each.allows, each.same_as,
        ),
        printed_by(each.allows, each.same_as),
    )  # fmt: skip


def tried(
    reports: Sequence[DisagreementReport],
) -> tuple[tuple[DisagreementReport, ...], tuple[str, ...]]:
    """The reports that may be filed, and why the others may not.

    Each script is run. A report whose script does not print what the report claims is not offered,
    nor one in which the independent judge contradicts us and not the engine.

    Args:
        reports: Any.

    Returns:
        The reports whose scripts show them, with what was printed, in their order; and a line for
        each of the others.
    """
    good: list[DisagreementReport] = []
    withheld: list[str] = []
    runs: dict[int, ScriptRun] = {}
    for engine in dict.fromkeys(each.engine for each in reports):
        mine = [k for k, each in enumerate(reports) if each.engine == engine]
        scripts = [reports[k].script for k in mine]
        runs.update(zip(mine, run_scripts(engine, scripts), strict=True))
    for k, each in enumerate(reports):
        ran = runs[k]
        if each.contradicted == OURS:
            why = f"the judge contradicts {OURS}, and not {each.engine}: {each.judge}"
        elif (ran.printed, ran.status) == (each.shows, 0):
            good.append(replace(each, printed=ran.printed))
            continue
        else:
            printed = " ".join(ran.printed.split())[-MOST_QUOTED:] or "nothing"
            ended = "was stopped" if ran.status is None else f"ended with status {ran.status}"
            why = f"its script should print {' '.join(each.shows.split())!r}; it printed "
            why += f"{printed!r} and {ended}"
        withheld.append(f"{each.title}: {why}")
    return tuple(good), tuple(withheld)


def _judged(shrunk: Shrunk) -> tuple[str, str]:
    """What the judge says of a whole text through the token, and whom it contradicts."""
    witness, each = shrunk.witness, shrunk.disagreement
    judge = judge_of(witness.statement)
    if judge is None:
        return "", ""
    text = whole_text_of(shrunk)
    says = None if text is None else judge.verdict(text)
    if text is None or says is None:
        return "", ""
    named = name_of_token(witness.vocabulary, shrunk.token)
    shown = in_quotes(text.decode(errors="replace"))
    verb = "accepts" if says else "refuses"
    against = "" if says is each.allows else "engine"
    # Whoever allows the token and has a whole text stands behind that text.
    if says is each.allows:
        against = OURS
    return f"{judge.name} {verb} {shown}, which goes on with {named}", against


def whole_text_of(shrunk: Shrunk) -> bytes | None:
    """A whole text through the token, by whoever allows it.

    Args:
        shrunk: The difference.
    """
    from explorer.witnesses.readings.variants import machine_of
    from explorer.witnesses.witness import comparison_of

    witness, each = shrunk.witness, shrunk.disagreement
    machine = machine_of(witness.constraint, witness.vocabulary)
    compared = comparison_of(
        machine, witness.constraint, witness.prefix[: each.position],
        witness.testimony(each.engine),
    )  # fmt: skip
    return None if compared is None else compared.whole_text(shrunk.token)
