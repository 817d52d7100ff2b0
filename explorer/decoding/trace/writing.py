"""A trace as versioned JSON; `explorer.decoding.trace.reading` is the way back.

What can be worked out is not stored: texts and sums of log-probabilities come from the tokens, so
they cannot disagree with them. Distinct rows over token classes are stored once, all together, and
a position names its row by number. -inf is written ``"-inf"``; NaN never occurs. A checksum over
the content stands at the end, so that a value that was changed for another possible one is noticed
too. It is no signature: whoever writes a file can write its checksum.

Version 2 added the checksum and the numbers of states.

Size at 131,072 tokens: about 1.2 kB a step and 10 to 150 kB for the token classes. A thousand
steps of a JSON constraint take 1.3 MB.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Final

from explorer.decoding.trace.json_place import pack
from explorer.decoding.trace.masks import MaskRows
from explorer.decoding.trace.records import Position, Step
from explorer.decoding.trace.trace import MentionedTokens, Trace

KIND: Final = "explorer.Trace"
VERSION: Final = 2
"""Raised whenever a file of the old form would be read wrongly."""


def to_json(trace: Trace) -> bytes:
    """The document of a trace, as UTF-8.

    Args:
        trace: Any trace.
    """
    masks = trace.masks
    document: dict[str, object] = {
        "kind": KIND,
        "version": VERSION,
        "model": trace.model,
        "prompt": trace.prompt
        if isinstance(trace.prompt, str | None)
        else [dict(message) for message in trace.prompt],
        "prompt_ids": list(trace.prompt_ids),
        "tokens": _tokens_out(trace.tokens),
        "sampler": {
            "temperature": trace.sampler.temperature,
            "top_k": trace.sampler.top_k,
            "top_p": trace.sampler.top_p,
            "min_p": trace.sampler.min_p,
        },
        "seed": trace.seed,
        "stream": trace.stream,
        "max_tokens": trace.max_tokens,
        "masking_budget": trace.masking_budget,
        "constraint": None
        if masks is None
        else {
            "source": trace.source,
            "num_states": trace.num_states,
            "num_char_states": trace.num_char_states,
            "num_classes": masks.num_classes,
            "bytes_per_class": masks.bytes_per_class,
            "token_class": pack(masks.class_bytes),
            "num_rows": len(masks.rows),
            "rows": pack(b"".join(masks.rows)),
        },
        "positions": [_position_out(position, masks) for position in trace.positions],
        "steps": [_step_out(step) for step in trace.steps],
        "rejection": None
        if trace.rejection is None
        else {"token": trace.rejection.token, "unread": list(trace.unread)},
    }
    document["sha256"] = checksum(document)
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8")


def checksum(document: Mapping[str, object]) -> str:
    """SHA-256 of a document's content, in hexadecimal; neither layout nor the order of keys count.

    Args:
        document: The document; its own ``sha256`` is left out.

    Example:
        >>> checksum({"a": 1, "b": 2}) == checksum({"b": 2, "a": 1, "sha256": "..."})
        True
    """
    content = {key: value for key, value in document.items() if key != "sha256"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _tokens_out(tokens: MentionedTokens) -> dict[str, object]:
    def written(data: bytes | None) -> object:
        if data is None:
            return None
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return {"hex": data.hex()}

    return {
        "fingerprint": tokens.fingerprint,
        "size": tokens.size,
        "eos_ids": list(tokens.eos_ids),
        "data": {str(token): written(data) for token, data in tokens.data.items()},
        "special": {str(token): name for token, name in tokens.special.items()},
    }


def _position_out(position: Position, masks: MaskRows | None) -> dict[str, object]:
    distribution = position.distribution
    return {
        "state": position.state,
        "char_state": position.char_state,
        "row": None if masks is None else masks.row_of[position.index],
        "kept_row": None if masks is None else masks.kept_row_of[position.index],
        "num_allowed": position.num_allowed,
        "over_budget": position.over_budget,
        "distribution": None
        if distribution is None
        else {
            "log_z": distribution.log_z,
            "entropy_before": distribution.entropy_before,
            "entropy_after": distribution.entropy_after,
            "kl": distribution.kl,
            "num_drawable": distribution.num_drawable,
            "first_choice": distribution.first_choice,
            "first_choice_log_prob": distribution.first_choice_log_prob,
            "intervention": distribution.intervention,
            "candidates": {
                "token": [entry.token for entry in distribution.candidates],
                "allowed": [entry.allowed for entry in distribution.candidates],
                "model": [_number_out(entry.model) for entry in distribution.candidates],
                "filtered": [_number_out(entry.filtered) for entry in distribution.candidates],
                "constrained": [_number_out(e.constrained) for e in distribution.candidates],
            },
            "milliseconds": {
                "model": distribution.timing.model,
                "mask": distribution.timing.mask,
                "sampling": distribution.timing.sampling,
            },
            "computed": distribution.computed,
            "note": distribution.note,
        },
    }


def _step_out(step: Step) -> dict[str, object]:
    return {
        "token": step.token,
        "chosen_by": step.chosen_by,
        "model": _number_out(step.log_prob_model),
        "filtered": _number_out(step.log_prob_filtered),
        "constrained": _number_out(step.log_prob_constrained),
        "rank": step.rank,
        "uniform": step.uniform,
    }


def _number_out(value: float | None) -> float | str | None:
    return "-inf" if value == -math.inf else value
