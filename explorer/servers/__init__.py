"""Runs of inference servers: the output of vLLM, SGLang, TGI or an OpenAI-style service, checked
against the constraint of its request.

A server reports its output, not the reasons. A log of a request and its response suffices to find
them: token ids or texts, log-probabilities, and the constraint. `read_runs` reads such logs, and
`session_of` turns each run into a session that steps, explains and is shown like any other.

    runs = read_runs("served.jsonl")
    verdict = verdict_of(runs[0], vocabulary)
    print(verdict)                       # the first token that the constraint would have masked
    Explorer(cursor=Cursor(verdict.session))

Read in this order: `tables` (what is data), `log` (a request and its response, with the place of
each value), `settings` (the servers, and where their settings are), `phases` (structural tags,
tools and reasoning of a request), `request` (the places of its constraint), `run` (a run as a
value), `formats` (reading by a table of paths), `streams` (pieces put together) and `reading` (from
a file to runs), `reasoning` (where the answer begins and may end), `following` (the ids
of a run, and the part that the constraint allows), `causes` (where the answer went, and the setting
that helps), `verdict` (the verdict on a run), `places` and `scheduler` (a line of a scheduler's
log, and settings that accept a token).
`docs/servers.md` describes the content of each format.
"""

from __future__ import annotations

from explorer.servers.formats import format_names
from explorer.servers.reading import read_runs, runs_of
from explorer.servers.request import RequestedConstraint
from explorer.servers.run import ServedToken, ServerRun
from explorer.servers.scheduler import ScheduledTokens, explain_line
from explorer.servers.verdict import RunVerdict, session_of, verdict_of

__all__ = [
    "RequestedConstraint",
    "RunVerdict",
    "ScheduledTokens",
    "ServedToken",
    "ServerRun",
    "explain_line",
    "format_names",
    "read_runs",
    "runs_of",
    "session_of",
    "verdict_of",
]
