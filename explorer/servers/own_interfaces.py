"""Servers' own interfaces: SGLang, TGI, and the lines of our recorder for vLLM.

SGLang's own interface is ``/generate``. The log-probabilities are triples ``[log_prob, id, text]``
in ``meta_info.output_token_logprobs`` (``return_logprob``); the text is null without
``return_text_in_logprobs``. A request for several texts has a list as its response. Its
OpenAI-style interfaces are read by `explorer.servers.openai`. Checked against SGLang 0.5.23.

Text Generation Inference's own interface is ``/generate`` too. With ``"details": true`` each token
is an object with its id, its text, its log-probability and whether it is special; ``best_of`` adds
further sequences to the first. Its OpenAI-style interfaces are read by `explorer.servers.openai`.
Checked against the interface of TGI 2 and 3.

`explorer.servers.vllm_recorder` writes the lines of our recorder for vLLM.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from explorer.servers.formats import register_format
from explorer.servers.log import LogPlace, ServerLog
from explorer.servers.run import RequestedConstraint, ServedToken, ServerRun, requested_of, stops_of


@dataclass(frozen=True, slots=True)
class SglangFormat:
    """The format of SGLang's ``/generate``."""

    name: str = "SGLang generate"
    looked_for: str = "`meta_info` in the response, or in the first of a list"

    def is_own(self, log: ServerLog) -> bool:
        """Whether the response has ``meta_info``."""
        first = log.first()
        return isinstance(first, dict) and "meta_info" in first

    def runs(self, log: ServerLog) -> tuple[ServerRun, ...]:
        """One run for each text."""
        several = isinstance(log.response.value, list)
        return tuple(
            self._run(log, answer, index if several else None)
            for index, answer in enumerate(log.answers())
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
            tokens=_sglang_tokens(meta, ids),
            text=answer.at("text").optional_text(),
            finish=_sglang_finish(meta.at("finish_reason")),
            requested=requested_of(request),
            stops=stops_of(request, meta.at("finish_reason"), "matched"),
        )


def _own(place: LogPlace, index: int | None) -> LogPlace:
    """The value for one of several texts, if each has its own."""
    if index is None or not isinstance(place.value, list):
        return place
    entries = place.entries()
    return entries[index] if index < len(entries) else LogPlace(place.file, place.path, None)


def _request(log: ServerLog, index: int | None) -> LogPlace | None:
    """The request as it applies to one of several texts."""
    if log.request is None:
        return None
    own = _own(log.request.at("sampling_params"), index)
    whole = {**log.request.mapping(), "sampling_params": own.value}
    return LogPlace(log.request.file, log.request.path, whole)


def _sglang_tokens(meta: LogPlace, ids: LogPlace) -> tuple[ServedToken, ...]:
    listed = meta.at("output_token_logprobs")
    known = ids.token_ids() if ids else None
    if not listed:
        return tuple(ServedToken(token) for token in known or ())
    triples = [_triple(entry) for entry in listed.entries()]
    if known is not None and known != tuple(token for _, token, _ in triples):
        raise ids.wrong(f"the ids that {listed.path} has")
    top = meta.at("output_top_logprobs").for_each(len(triples))
    likely = [_sglang_likely(entry) for entry in top] or [()] * len(triples)
    return tuple(
        ServedToken(token, text, None, log_prob, near)
        for (log_prob, token, text), near in zip(triples, likely, strict=True)
    )


def _triple(place: LogPlace) -> tuple[float | None, int, str | None]:
    parts = place.entries("a triple of log-probability, id and text")
    if len(parts) not in (2, 3):
        raise place.wrong("a triple of log-probability, id and text")
    text = parts[2].optional_text() if len(parts) == 3 else None
    return parts[0].log_prob(), parts[1].token_id(), text


def _sglang_likely(place: LogPlace) -> tuple[tuple[int | str, float | None], ...]:
    if not place:
        return ()
    triples = [_triple(entry) for entry in place.entries()]
    return tuple((token, log_prob) for log_prob, token, _ in triples)


def _sglang_finish(place: LogPlace) -> str | None:
    """The reason for the end; SGLang writes an object with a type, and formerly a text."""
    if isinstance(place.value, dict):
        return place.at("type").optional_text()
    return place.optional_text()


SGLANG: Final = register_format(SglangFormat())


@dataclass(frozen=True, slots=True)
class TgiFormat:
    """The format of TGI's ``/generate``."""

    name: str = "TGI generate"
    looked_for: str = "`generated_text` in the response, or in the first of a list"

    def is_own(self, log: ServerLog) -> bool:
        """Whether the response has ``generated_text``."""
        first = log.first()
        return isinstance(first, dict) and "generated_text" in first

    def runs(self, log: ServerLog) -> tuple[ServerRun, ...]:
        """One run, and one for each further sequence of ``best_of``."""
        requested = requested_of(log.request)
        runs: list[ServerRun] = []
        for answer in log.answers():
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
            tokens=_tgi_tokens(details) if details else (),
            text=answer.at("generated_text").optional_text(),
            finish=details.at("finish_reason").optional_text() if details else None,
            requested=requested,
            stops=stops_of(log.request),
        )


def _tgi_tokens(details: LogPlace) -> tuple[ServedToken, ...]:
    tokens = details.at("tokens").entries("a list of tokens") if details.at("tokens") else []
    top = details.at("top_tokens").for_each(len(tokens))
    likely = [_tgi_likely(entry) for entry in top] or [()] * len(tokens)
    return tuple(
        ServedToken(
            token=entry.at("id").token_id(),
            text=entry.at("text").optional_text(),
            log_prob=entry.at("logprob").log_prob(),
            top=near,
        )
        for entry, near in zip(tokens, likely, strict=True)
    )


def _tgi_likely(place: LogPlace) -> tuple[tuple[int | str, float | None], ...]:
    return tuple(
        (entry.at("id").token_id(), entry.at("logprob").log_prob()) for entry in place.entries()
    )


TGI: Final = register_format(TgiFormat())


KIND: Final = "vllm recorder"
VERSION: Final = 1
# The recorder has its own copies: it imports nothing of ours, and importing it here would
# load vLLM where it is installed.


@dataclass(frozen=True, slots=True)
class RecordedFormat:
    """A line of the recorder: a run with its request."""

    name: str = "vLLM recorder"
    looked_for: str = f'`"kind": "{KIND}"`'

    def is_own(self, log: ServerLog) -> bool:
        """Whether the document names this kind."""
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
                    _recorded_token(token, steps[k] if k < len(steps) else None)
                    for k, token in enumerate(ids)
                ),
                text=None,
                finish=None,
                requested=requested_of(request if request else None),
                notes=notes,
            ),
        )


def _recorded_token(token: int, step: LogPlace | None) -> ServedToken:
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
