"""The causes of a fault that a log shows: where the answer went, and the setting that helps.

Each cause is a sentence of the table ``sentences`` in `tables.json`, with the settings of the
server that wrote the log in it, and of no other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from explorer.analysis.explaining.explanation import Explanation, TextExplanation
from explorer.arguments import shown
from explorer.servers.following import RunReading, bytes_of, own_split
from explorer.servers.request import HAS_SCHEMA, unparsed_call
from explorer.servers.run import (
    ENDINGS,
    HARMONY_FINAL,
    REASONING_PARSERS,
    ServerRun,
    is_harmony,
    marks_of,
    parser_is_on,
    parser_of,
    reasoning_in,
    soft_switch,
    thinking_off,
)
from explorer.servers.tables import SERVERS, sentence, setting, table
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.tokenizations import read_tokenizations

# The settings that limit the number of tokens.
_LIMITS: Final = table("limits", tuple[str, ...])

# The options of this package that a reason may name, and what they are at a server.
_WORDS: Final = table("words", tuple[tuple[str, str], ...])

_REPEATED: Final = re.compile(r"(.{2,24}?)\1", re.DOTALL)
_FEWEST_REPEATS: Final = 3


def sentence_on(cause: str, run: ServerRun, **values: object) -> str:
    """The sentence on a cause, with the settings of the run's server."""
    parser, calls = parser_of(run), run.asked("tool_call_parser")
    limit = next((key for key in _LIMITS if isinstance(run.asked(key), int)), "")
    settings = {
        "reasoning": setting(run.server, "reasoning"),
        "thinking": sentence("harmony") if is_harmony(run) else setting(run.server, "thinking"),
        "parser": f"reasoning parser {parser!r}" if parser else "reasoning parser",
        "calls": f" ({calls})" if isinstance(calls, str) else "",
        "limit": f"{limit} ({run.asked(limit)})" if limit else "the limit on tokens",
        "off": thinking_off(run),
    }
    return sentence(cause, **settings, **values)


def in_words(why: Explanation | TextExplanation) -> str:
    """The paragraph of an explanation, which names no option that a server does not have."""
    paragraph = why.paragraph
    for option, words in _WORDS:
        paragraph = paragraph.replace(option, words)
    return paragraph


def causes_of(run: ServerRun, read: RunReading) -> Iterator[str]:
    """The causes of a masked token; some may be empty."""
    vocabulary, mark = read.machine.vocabulary, read.run.mark
    at_start = not read.ids and not read.before
    yield _reasoning(run, read)
    yield _doubled(run, read)
    yield _not_in_force(run, read) if at_start and read.masked not in vocabulary.special else ""
    yield unparsed_call(run.request, run.text or "")
    if at_start and mark and read.after[:1].isspace():
        yield sentence_on("white_space", run, mark=mark)
    allowed = read.machine.allowed(read.states[-1])
    ends = sum(bool(allowed[token]) for token in vocabulary.eos_ids)
    if ends and int(allowed.sum()) == ends:
        key = next((key for key in ("min_tokens", "min_new_tokens") if run.asked(key)), "")
        least, size = run.asked(key), len(read.ids)
        if isinstance(least, int) and size < least:
            yield sentence_on("min_tokens", run, key=key, least=least, size=size)
        if run.asked("ignore_eos") is True:
            yield sentence_on("ignore_eos", run)


def _reasoning(run: ServerRun, read: RunReading) -> str:
    """The sentence on masked reasoning; empty if something else is masked."""
    content, vocabulary = read.run.text, read.machine.vocabulary
    if content is None:
        ids = (token for token in read.run.ids if token not in vocabulary.eos_ids)
        content = bytes_of(ids, vocabulary, names=True).decode(errors="replace")
    reasoning, far = reasoning_in(content), len(read.before)
    if reasoning is None or read.run.mark:
        return ""
    marker = reasoning.marker.encode()
    if reasoning.marker != HARMONY_FINAL and marker in content.encode()[:far]:
        return ""  # The constraint allows the marker.
    where = "begins with" if reasoning.begins else "holds"
    said = f"The text {where} {shown(reasoning.marker)}, a marker of reasoning: "
    said += _in_content(run, reasoning.marker)
    if reasoning.answer is None:
        return f"{said} The reasoning does not end."
    answer = reasoning.answer.encode()
    read_to, whole = read_by(read.machine, answer)
    if read_to < len(answer):
        return f"{said} The answer after it is not allowed either, from its byte {read_to}."
    return f"{said} The answer after it is allowed{'' if whole else ', but not complete'}."


def read_by(machine: TokenMachine, data: bytes) -> tuple[int, bool]:
    """The number of bytes of a text that a machine reads, and whether it is a whole text."""
    read = read_tokenizations(machine, data, own_split(data.decode(), machine.vocabulary))
    return read.writable, read.num_bytes == len(data) and machine.is_final(read.states[-1])


def _in_content(run: ServerRun, marker: str) -> str:
    """A clause on reasoning in the content, which a marker shows, with the remedy."""
    if run.reasoning:
        return sentence_on("twice", run)
    if marker.startswith("<|channel|>"):
        # The reasoning of gpt-oss has no switch.
        return f"{sentence_on('no_parser', run)}. The constraint must begin after {HARMONY_FINAL}."
    off = "not_followed" if thinking_off(run) else "or_off"
    is_empty = soft_switch(run) == "/no_think" and not thinking_off(run)
    return sentence_on("empty_marks" if is_empty else "no_parser", run) + sentence_on(off, run)


def _doubled(run: ServerRun, read: RunReading) -> str:
    """A sentence on a run in which everything stands twice; empty for any other run."""
    sizes = range(2, min(20, len(read.after) + 1))
    begins = any(read.before.endswith(read.after[:size]) for size in sizes)
    text = (read.before + read.after).decode(errors="replace")
    repeats = [match[1] for match in _REPEATED.finditer(text) if len(set(match[1])) > 1]
    return sentence_on("doubled", run) if begins and len(repeats) >= _FEWEST_REPEATS else ""


def _not_in_force(run: ServerRun, read: RunReading) -> str:
    """A sentence on a code fence or free text where the constraint begins; else empty."""
    after, kind = read.after, run.requested.kind if run.requested else ""
    needs = SERVERS[run.server]["enforced"] if run.server else ""
    check = f" Check that {needs}." if needs else ""
    if after.startswith(b"```"):
        late = sentence_on("late", run, mark=read.run.mark)
        return late if read.run.mark else sentence_on("fence", run) + check
    prose = kind in HAS_SCHEMA and (after[:2].isalpha() or after[:1].isupper())
    if not prose or reasoning_in(run.text or after.decode(errors="ignore")) is not None:
        return ""
    return sentence_on("prose", run) + check


def misfits(run: ServerRun, *, masked: bool) -> Iterator[str]:
    """Sentences on settings of the reasoning that do not fit each other.

    Args:
        masked: Whether the constraint masks something of the run.
    """
    if parser_of(run) and parser_of(run) not in REASONING_PARSERS:
        yield sentence_on("unknown_parser", run)
    if not masked or not parser_is_on(run):
        return
    if thinking_off(run):
        ignored = [sentence_on("no_switch", run)] if soft_switch(run) == "/think" else []
        yield " ".join([sentence_on("never_begins", run), *ignored])
    asked = run.requested
    if asked is not None and asked.kind == "structural_tag":
        text = json.dumps(asked.place.value, ensure_ascii=False)
        mark = next((mark for mark in marks_of(run) if mark in text), None)
        if mark is not None:
            yield sentence_on("two_owners", run, mark=mark)


def where_it_went(run: ServerRun, machine: TokenMachine) -> tuple[str, str]:
    """The outcome and the sentence for a run without an answer."""
    thought = (run.reasoning or "").strip().encode()
    read_to, whole = read_by(machine, thought) if thought else (0, False)
    fits = bool(thought) and read_to == len(thought)
    if thought and whole:
        return "ended early", sentence_on("in_reasoning", run, reasoning_text=shown(run.reasoning))
    if run.finish in ENDINGS["limited"]:
        return "cut", sentence_on("used_up" if parser_is_on(run) else "used_up_unseen", run)
    if run.finish in ENDINGS["called"] or run.asked("tool_choice") in ("required", "any"):
        return "ended early", sentence_on("lost_call", run)
    if run.reasoning:
        how = "allowed so far, but not complete" if fits else "not allowed there either"
        return "ended early", sentence_on("only_reasoning", run, how=how)
    why = f"the server stopped for {run.finish!r}" if run.finish else "the log does not say why"
    return "ended early", sentence_on("empty", run, why=why)
