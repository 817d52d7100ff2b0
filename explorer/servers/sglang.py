"""SGLang's own interface, ``/generate``.

The log-probabilities are triples ``[log_prob, id, text]`` in ``meta_info.output_token_logprobs``
(``return_logprob``); the text is null without ``return_text_in_logprobs``. One request may ask for
several texts, and then the response is a list. Its OpenAI-style interfaces are read by
`explorer.servers.openai`.

Followed: SGLang 0.5.23.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from explorer.servers.formats import register_format
from explorer.servers.log import ServerLog
from explorer.servers.place import LogPlace
from explorer.servers.requested import requested_of
from explorer.servers.run import ServedToken, ServerRun
from explorer.servers.stopping import stops_of


@dataclass(frozen=True, slots=True)
class SglangFormat:
    """The response of ``/generate``."""

    name: str = "SGLang generate"
    looked_for: str = "`meta_info` in the response, or in the first of a list"

    def is_own(self, log: ServerLog) -> bool:
        """Whether the response has ``meta_info``."""
        first = log.first()
        return isinstance(first, dict) and "meta_info" in first

    def runs(self, log: ServerLog) -> tuple[ServerRun, ...]:
        """One run for each text."""
        several = isinstance(log.response.value, list)
        answers = log.response.entries() if several else [log.response]
        return tuple(
            self._run(log, answer, index if several else None)
            for index, answer in enumerate(answers)
        )

    def _run(self, log: ServerLog, answer: LogPlace, index: int | None) -> ServerRun:
        meta = answer.at("meta_info")
        ids = answer.at("output_ids")
        prompt, prompt_ids = _own(log.asked("text"), index), log.asked("input_ids")
        if isinstance(_own(prompt_ids, index).value, list):
            prompt_ids = _own(prompt_ids, index)
        request = _request(log, index)
        return ServerRun(
            place=answer.file,
            format=self.name,
            model=log.model(),
            prompt=prompt.value if isinstance(prompt.value, str) else None,
            prompt_ids=prompt_ids.token_ids() if prompt_ids else None,
            tokens=_tokens(meta, ids),
            text=answer.at("text").optional_text(),
            finish=_finish(meta.at("finish_reason")),
            requested=requested_of(request),
            stops=stops_of(request, meta.at("finish_reason"), "matched"),
        )


def _own(place: LogPlace, index: int | None) -> LogPlace:
    """The value for one of several texts, where each has its own."""
    if index is None or not isinstance(place.value, list):
        return place
    entries = place.entries()
    return entries[index] if index < len(entries) else LogPlace(place.file, place.path, None)


def _request(log: ServerLog, index: int | None) -> LogPlace | None:
    """The request as it stands for one of several texts."""
    if log.request is None:
        return None
    own = _own(log.request.at("sampling_params"), index)
    whole = {**log.request.mapping(), "sampling_params": own.value}
    return LogPlace(log.request.file, log.request.path, whole)


def _tokens(meta: LogPlace, ids: LogPlace) -> tuple[ServedToken, ...]:
    listed = meta.at("output_token_logprobs")
    known = ids.token_ids() if ids else None
    if not listed:
        return tuple(ServedToken(token) for token in known or ())
    triples = [_triple(entry) for entry in listed.entries()]
    if known is not None and known != tuple(token for _, token, _ in triples):
        raise ids.wrong(f"the ids that {listed.path} has")
    top = meta.at("output_top_logprobs")
    likely = [_likely(entry) for entry in top.entries()] if top else []
    if likely and len(likely) != len(triples):
        raise top.wrong(f"a list of {len(triples)} lists, one for each token")
    return tuple(
        ServedToken(token, text, None, log_prob, likely[k] if likely else ())
        for k, (log_prob, token, text) in enumerate(triples)
    )


def _triple(place: LogPlace) -> tuple[float | None, int, str | None]:
    parts = place.entries("a triple of log-probability, id and text")
    if len(parts) not in (2, 3):
        raise place.wrong("a triple of log-probability, id and text")
    text = parts[2].optional_text() if len(parts) == 3 else None
    return parts[0].log_prob(), parts[1].token_id(), text


def _likely(place: LogPlace) -> tuple[tuple[int | str, float | None], ...]:
    if not place:
        return ()
    found = [_triple(entry) for entry in place.entries()]
    return tuple((token, log_prob) for log_prob, token, _ in found)


def _finish(place: LogPlace) -> str | None:
    """The word; SGLang writes an object with a type, and wrote a text before."""
    if isinstance(place.value, dict):
        return place.at("type").optional_text()
    return place.optional_text()


SGLANG: Final = register_format(SglangFormat())
