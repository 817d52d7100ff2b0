"""Runs of inference servers: what vLLM, SGLang, TGI or an OpenAI-style service wrote, held against
the constraint of its request.

A server says what it wrote, not why. A log of a request and its response holds enough to find out:
token ids or texts, log-probabilities, and the constraint. `read_runs` reads such logs, and
`session_of` makes each a session that steps, explains and is shown as any other.

    runs = read_runs("served.jsonl")
    verdict = verdict_of(runs[0], vocabulary)
    print(verdict)                       # the first token that the constraint would have masked
    Explorer(cursor=Cursor(verdict.session))

Read in this order: `log` (a value of a log and where it stands; a request and its response),
`phases` (structural tags, tools and reasoning of a request), `run`
(the constraint of a request, what ended a text, and a run as a value), `formats` (the protocol of a
format, the registry, and what no format reads), `openai` and `own_interfaces` (the formats),
`reading` (from a file to runs), `following` (the ids of a run, and how far the constraint follows
it), `sentences` and `verdict` (what it says of the run), `scheduler` (a line of a scheduler's log,
and settings that take a token), `beside` (its numbers beside a model's).
`vllm_recorder` is a script that stands alone, for a server of yours. `docs/servers.md` says what
each format holds.
"""

from __future__ import annotations

from explorer.servers.beside import NumbersBeside, RunBeside, run_beside
from explorer.servers.formats import LogFormat, format_names, register_format
from explorer.servers.reading import read_runs, runs_of
from explorer.servers.run import RequestedConstraint, ServedToken, ServerRun
from explorer.servers.scheduler import ScheduledTokens, explain_line
from explorer.servers.verdict import RunVerdict, session_of, verdict_of

__all__ = [
    "LogFormat",
    "NumbersBeside",
    "RequestedConstraint",
    "RunBeside",
    "RunVerdict",
    "ScheduledTokens",
    "ServedToken",
    "ServerRun",
    "explain_line",
    "format_names",
    "read_runs",
    "register_format",
    "run_beside",
    "runs_of",
    "session_of",
    "verdict_of",
]
