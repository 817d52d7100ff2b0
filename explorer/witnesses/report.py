"""One difference as a report for an issue tracker, with a script that shows it.

The script imports only the engine's own library. It holds the tokens that it needs: single bytes
and the few longer ones of the case, or the whole vocabulary if that is small. It prints whether the
engine allows or masks the token. If the reason is that the engine does not notice a change of the
constraint, it asks for the changed constraint too and prints whether the mask is the same. Its exit
status is 0 if everything is as the report says.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from explorer.alphabet import in_quotes
from explorer.analysis.characters.display import show_text
from explorer.vocabulary import Vocabulary
from explorer.witnesses.answers import OURS, name_of_token
from explorer.witnesses.judging import judge_of
from explorer.witnesses.messages import Statement
from explorer.witnesses.process import ScriptRun, run_scripts
from explorer.witnesses.shrinking import Shrunk

_TOKENS: Final = """\
# {engine} {version}: after {prefix_text!a}, is the token {token_text!a} {verdict}?
import {module}

{tokens}
eos = len(tokens)
prefix = {prefix!r}
token = {token}
constraint = {constraint!a}
"""

_OUTLINES: Final = """
ids = {}
for i, data in enumerate(tokens):
    ids.setdefault(data, []).append(i)


def mask(pattern):
    index = outlines_core.Index(pattern, outlines_core.Vocabulary(eos, ids))
    state = index.get_initial_state()
    for i in prefix:
        state = index.get_next_state(state, i)
    return set(index.get_allowed_tokens(state) or [])
"""

_XGRAMMAR: Final = """
info = xgrammar.TokenizerInfo(
    [*tokens, b""], xgrammar.VocabType.RAW, vocab_size=eos + 1, stop_token_ids=[eos]
)
compiler = xgrammar.GrammarCompiler(info, max_threads=1)


def mask(compiled):
    matcher = xgrammar.GrammarMatcher(compiled)
    for i in prefix:
        assert matcher.accept_token(i)
    bitmask = xgrammar.allocate_token_bitmask(1, eos + 1)
    matcher.fill_next_token_bitmask(bitmask)
    return {i for i in range(eos + 1) if int(bitmask[0][i // 32]) >> i % 32 & 1}
"""

_LLGUIDANCE: Final = """

class Tokenizer:
    eos_token_id, bos_token_id = eos, None
    tokens = [*tokens, b"<eos>"]
    special_token_ids = [eos]

    def __call__(self, text):
        data, ids = (text.encode() if isinstance(text, str) else text), []
        while data:  # The longest token that fits.
            size = max(len(t) for t in tokens if data.startswith(t))
            ids.append(tokens.index(data[:size]))
            data = data[size:]
        return ids


tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokenizer()), n_vocab=eos + 1)


def mask(grammar):
    matcher = llguidance.LLMatcher(tokenizer, grammar)
    assert not matcher.is_error(), matcher.get_error()
    for i in prefix:
        assert matcher.consume_token(i)
    bits = matcher.compute_bitmask()
    return {i for i in range(eos + 1) if bits[i // 8] >> i % 8 & 1}
"""

_ALLOWED: Final = """

allowed = mask({read})
print("allowed" if token in allowed else "masked")
"""

_SAME: Final = """
# The same constraint with one change, which the engine does not notice.
changed = {changed!a}
same = mask({read}) == allowed
print("the same mask with the change" if same else "another mask with the change")
"""

_BODY: Final = {"outlines-core": _OUTLINES, "xgrammar": _XGRAMMAR, "llguidance": _LLGUIDANCE}


def script_of(
    engine: str,
    version: str,
    statement: Statement,
    vocabulary: Vocabulary,
    prefix: tuple[int, ...],
    token: int,
    allows: bool,
    same_as: Statement | None = None,
) -> str:
    """The script for one token after one prefix.

    Args:
        same_as: A changed constraint for which the engine is claimed to have the same mask there.
    """
    texts = vocabulary.tokens
    end = texts[token] is None
    # Ids that are not text are left out; the end of text is the last id.
    number = {each: k for k, each in enumerate(k for k, data in enumerate(texts) if data)}
    module = engine.replace("-", "_")
    if engine == "outlines-core" and statement.kind == "json_schema":
        module = "outlines_core.json_schema"
    head = _TOKENS.format(
        engine=engine, version=version, module=module, tokens=_tokens(vocabulary),
        prefix=[number[each] for each in prefix], constraint=statement.text,
        token="eos" if end else number[token],
        prefix_text=b"".join(texts[each] or b"" for each in prefix).decode(errors="replace"),
        token_text="the end of text" if end else (texts[token] or b"").decode(errors="replace"),
        verdict="allowed" if allows else "masked",
    )  # fmt: skip
    body = _BODY[engine] + _ALLOWED.format(read=_read(engine, statement, "constraint"))
    verdict = f"(token in allowed) is {allows}"
    if same_as is not None:
        read = _read(engine, same_as, "changed")
        body += _SAME.format(changed=same_as.text, read=read)
        verdict += " and same"
    return f"{head}{body}raise SystemExit(0 if {verdict} else 1)\n"


def printed_by(allows: bool, same_as: Statement | None) -> str:
    """The text that a script prints if everything is as its report says."""
    first = "allowed" if allows else "masked"
    return first if same_as is None else f"{first}\nthe same mask with the change"


def _tokens(vocabulary: Vocabulary) -> str:
    texts = [data for data in vocabulary.tokens if data is not None]
    single = [bytes([byte]) for byte in range(256)]
    if texts[:256] == single:
        return f"tokens = [bytes([b]) for b in range(256)] + {texts[256:]!r}"
    return f"tokens = {texts!r}"


def _read(engine: str, statement: Statement, name: str) -> str:
    """The expression that compiles the constraint in a variable of this name."""
    kind = statement.kind
    compact = statement.whitespace == "compact"
    if engine == "outlines-core":
        if kind == "regex":
            return name
        space = ', ""' if compact else ""
        return f"outlines_core.json_schema.build_regex_from_schema({name}{space})"
    if engine == "xgrammar":
        if kind == "json_schema":
            layout = 'any_whitespace=False, separators=(",", ":"), ' if compact else ""
            order = ", any_order=True" if statement.any_order else ""
            return f"compiler.compile_json_schema({name}, {layout}strict_mode=False{order})"
        notation = {"regex": "regex", "gbnf": "grammar", "lark": "lark"}[kind]
        return f"compiler.compile_{notation}({name})"
    if kind == "json_schema":
        if not compact:
            return f"llguidance.LLMatcher.grammar_from_json_schema({name})"
        return (
            f"llguidance.LLMatcher.grammar_from_json_schema({name}, overrides="
            '{"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"})'
        )
    if kind == "gbnf":
        return (
            "llguidance.LLMatcher.grammar_from_lark("
            '__import__("llguidance.gbnf_to_lark").gbnf_to_lark.gbnf_to_lark('
            f"{name}))"
        )
    return f"llguidance.LLMatcher.grammar_from_{kind}({name})"


_NOTATION = {
    "regex": "regular expression", "json_schema": "JSON Schema", "gbnf": "grammar (GBNF)",
    "lark": "grammar (Lark)",
}  # fmt: skip


MOST_QUOTED: Final = 300
"""The characters of a script's output that a line quotes."""


@dataclass(frozen=True, eq=False)
class DisagreementReport:
    """A shrunk difference between an engine and us, printed as the text of an issue.

    Args:
        engine, version: The engine.
        kind: The class of the difference.
        allows: Whether the engine allows the token and we mask it; else the reverse.
        notation: The kind of the constraint, as `explorer.witnesses.messages.Statement` names it.
        constraint: The text of the constraint.
        prefix: The text before the token.
        token: The token's bytes; ``None`` for the end of text.
        sentence: The reason.
        evidence: The facts that show the reason, a line each.
        judge: A sentence with the independent judge's verdict on a whole text; empty if it has
            none.
        contradicted: ``"engine"`` or ``"explorer"``, whichever the judge contradicts; empty if
            neither.
        probability: The probability of the state by the model; ``None`` without one.
        found_in: The constraint and the prefix before shrinking.
        script: A script that shows the difference with the engine's own library alone.
        shows: The output of the script if it shows the difference.
        printed: Its output when it was run; empty before.
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
        """The title of an issue, on one line."""
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
    """The report on a shrunk difference.

    Args:
        probability: The probability of the state by the model; ``None`` without one.
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
    """The reports that may be filed, and the reasons why the others may not.

    Each script is run. A report is withheld if its script does not print what the report claims, or
    if the independent judge contradicts us and not the engine.

    Returns:
        The confirmed reports with the output of their scripts, in order; and a line for each of the
        others.
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
    """The judge's verdict on a whole text with the token, and the side that it contradicts."""
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
    # The side that allows the token produced the text, so a refusal contradicts that side.
    if says is each.allows:
        against = OURS
    return f"{judge.name} {verb} {shown}, which goes on with {named}", against


def whole_text_of(shrunk: Shrunk) -> bytes | None:
    """A complete text that contains the token, found by the side that allows it."""
    from explorer.witnesses.variants import machine_of
    from explorer.witnesses.witness import comparison_of

    witness, each = shrunk.witness, shrunk.disagreement
    machine = machine_of(witness.constraint, witness.vocabulary)
    compared = comparison_of(
        machine, witness.constraint, witness.prefix[: each.position],
        witness.testimony(each.engine),
    )  # fmt: skip
    return None if compared is None else compared.whole_text(shrunk.token)
