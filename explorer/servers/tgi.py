"""Text Generation Inference's own interface, ``/generate``.

With ``"details": true`` each token is an object with its id, its text, its log-probability and
whether it is special; ``best_of`` writes further sequences beside the first. Its OpenAI-style
interfaces are read by `explorer.servers.openai`.

Followed: the interface of TGI 2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from explorer.servers.formats import register_format
from explorer.servers.log import ServerLog
from explorer.servers.place import LogPlace
from explorer.servers.requested import RequestedConstraint, requested_of
from explorer.servers.run import ServedToken, ServerRun
from explorer.servers.stopping import stops_of


@dataclass(frozen=True, slots=True)
class TgiFormat:
    """The response of ``/generate``."""

    name: str = "TGI generate"
    looked_for: str = "`generated_text` in the response, or in the first of a list"

    def is_own(self, log: ServerLog) -> bool:
        """Whether the response has ``generated_text``."""
        first = log.first()
        return isinstance(first, dict) and "generated_text" in first

    def runs(self, log: ServerLog) -> tuple[ServerRun, ...]:
        """One run, and one for each further sequence of ``best_of``."""
        several = isinstance(log.response.value, list)
        answers = log.response.entries() if several else [log.response]
        requested = requested_of(log.request)
        runs: list[ServerRun] = []
        for answer in answers:
            runs.append(self._run(log, answer, answer.at("details"), requested))
            if answer.at("details") and answer.at("details").at("best_of_sequences"):
                for other in answer.at("details").at("best_of_sequences").entries():
                    runs.append(self._run(log, other, other, requested))
        return tuple(runs)

    def _run(
        self,
        log: ServerLog,
        answer: LogPlace,
        details: LogPlace,
        requested: RequestedConstraint | None,
    ) -> ServerRun:
        inputs = log.asked("inputs")
        prefill = details.at("prefill") if details else details
        return ServerRun(
            place=answer.file,
            format=self.name,
            model=log.model(),
            prompt=inputs.value if isinstance(inputs.value, str) else None,
            prompt_ids=tuple(one.at("id").token_id() for one in prefill.entries())
            if prefill
            else None,
            tokens=_tokens(details) if details else (),
            text=answer.at("generated_text").optional_text(),
            finish=details.at("finish_reason").optional_text() if details else None,
            requested=requested,
            stops=stops_of(log.request),
        )


def _tokens(details: LogPlace) -> tuple[ServedToken, ...]:
    top = details.at("top_tokens")
    likely = [_likely(entry) for entry in top.entries()] if top else []
    tokens = details.at("tokens").entries("a list of tokens") if details.at("tokens") else []
    if likely and len(likely) != len(tokens):
        raise top.wrong(f"a list of {len(tokens)} lists, one for each token")
    return tuple(
        ServedToken(
            token=entry.at("id").token_id(),
            text=entry.at("text").optional_text(),
            log_prob=entry.at("logprob").log_prob(),
            top=likely[k] if likely else (),
        )
        for k, entry in enumerate(tokens)
    )


def _likely(place: LogPlace) -> tuple[tuple[int | str, float | None], ...]:
    return tuple(
        (entry.at("id").token_id(), entry.at("logprob").log_prob()) for entry in place.entries()
    )


TGI: Final = register_format(TgiFormat())
