"""The lines that our recorder for vLLM writes (`explorer.servers.vllm_recorder`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from explorer.servers.formats import register_format
from explorer.servers.log import ServerLog
from explorer.servers.place import LogPlace
from explorer.servers.requested import requested_of
from explorer.servers.run import ServedToken, ServerRun

KIND: Final = "vllm recorder"
VERSION: Final = 1
# The recorder has the same two: it imports nothing of ours, and is not imported here, because
# that would load vLLM where it is installed.


@dataclass(frozen=True, slots=True)
class RecordedFormat:
    """A line of the recorder: a run with its request."""

    name: str = "vLLM recorder"
    looked_for: str = f'`"kind": "{KIND}"`'

    def is_own(self, log: ServerLog) -> bool:
        """Whether the document names itself."""
        value = log.response.value
        return isinstance(value, dict) and cast("dict[str, object]", value).get("kind") == KIND

    def runs(self, log: ServerLog) -> tuple[ServerRun, ...]:
        """The run of the line."""
        line = log.response
        if line.at("version").value != VERSION:
            raise line.at("version").wrong(f"{VERSION}, the version that this release reads")
        ids = line.at("token_ids").token_ids()
        steps = line.at("steps").entries()
        if len(steps) > len(ids):
            raise line.at("steps").wrong(f"a list of at most {len(ids)} steps, one for each id")
        prompt_ids = line.at("prompt_token_ids")
        request = line.at("request")
        notes = () if line.at("ended").value is True else (
            "The recorder's process ended before the request did; the last token may be missing.",
        )  # fmt: skip
        return (
            ServerRun(
                place=line.file,
                format=self.name,
                model=line.at("model").optional_text(),
                prompt=None,
                prompt_ids=prompt_ids.token_ids() if prompt_ids else None,
                tokens=tuple(
                    _token(token, steps[k] if k < len(steps) else None)
                    for k, token in enumerate(ids)
                ),
                text=None,
                finish=None,
                requested=requested_of(request if request else None),
                notes=notes,
            ),
        )


def _token(token: int, step: LogPlace | None) -> ServedToken:
    if step is None:
        return ServedToken(token)
    counted = step.at("num_allowed")
    top: list[tuple[int | str, float | None]] = []
    for entry in step.at("top").entries() if step.at("top") else ():
        pair = entry.entries("a pair of id and log-probability")
        if len(pair) != 2:
            raise entry.wrong("a pair of id and log-probability")
        top.append((pair[0].token_id(), pair[1].log_prob()))
    return ServedToken(
        token=token,
        log_prob=step.at("log_prob").log_prob(),
        top=tuple(top),
        num_allowed=counted.token_id() if counted else None,
    )


RECORDED: Final = register_format(RecordedFormat())
