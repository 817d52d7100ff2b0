"""Runs of inference servers: the output of vLLM, SGLang, TGI or an OpenAI-style service, checked
against the constraint of its request.

A server reports its output, not the reasons. A log of a request and its response suffices to find
them: token ids or texts, log-probabilities, and the constraint. `read_runs` reads such logs, and
the verdict on each run has it as a session that steps, explains and is shown like any other.

    runs = read_runs("served.jsonl")
    verdict = verdict_of(runs[0], vocabulary)
    print(verdict)                       # the first token that the constraint would have masked
    Explorer(cursor=Cursor(verdict.session))

Read in this order: `log` (a request and its response, with the place of each value), `tables`
(what is data: servers, their settings, sentences), `request` (the places of its constraint;
structural tags and tools), `run` (a run as a value), `formats` (reading by a table of paths) and
`reading` (from a file to runs, with streams and text logs), `following` (the ids of a run, and the
part that the constraint allows), `causes` (where the answer went, and the setting that helps),
`verdict` (the verdict on a run) and `scheduler` (a line of a scheduler's log, and settings that
accept a token).
`docs/servers.md` describes the content of each format.
"""

from __future__ import annotations

from explorer.servers.reading import read_runs, runs_of
from explorer.servers.run import ServerRun
from explorer.servers.scheduler import explain_line
from explorer.servers.verdict import RunVerdict, verdict_of

__all__ = ["RunVerdict", "ServerRun", "explain_line", "read_runs", "runs_of", "verdict_of"]
