"""The ends of a text: more than one token may end it, and a server may write on after one.

The ends come from the tokenizer and its ``generation_config.json`` (`Vocabulary.eos_ids`), from the
log (the stop that a response names, ``eos_token_id``), and, for the last token of a run, from names
that are ends in every model that has them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final, cast

from explorer.servers.run import ServerRun
from explorer.servers.tables import table
from explorer.vocabulary import Vocabulary

END_NAMES: Final = table("end_names", frozenset[str])
"""The names of tokens that end a text or a turn."""


def with_ends(run: ServerRun, vocabulary: Vocabulary) -> tuple[Vocabulary, tuple[str, ...]]:
    """The vocabulary with the ends that a run has, and a sentence on each that was added."""
    named = {name: token for token, name in vocabulary.special.items()}
    stops = run.stops if run.stop_named else ()
    given = run.asked("eos_token_id", "generation_config.eos_token_id", "server.eos_token_id")
    listed = cast("list[object]", given) if isinstance(given, list) else [given]
    last = run.tokens[-1].token if run.tokens else None
    at_end = vocabulary.special.get(last, "") in END_NAMES if last is not None else False
    named_ends = [
        *((named.get(each) if isinstance(each, str) else each, "the log names it as the stop")
          for each in stops),
        *((each, "the log has it as eos_token_id") for each in listed if type(each) is int),
        *([(last, "its name is that of an end or of padding, and the run ends with it")]
          if at_end else []),
    ]  # fmt: skip
    ends: dict[int, str] = {}
    for token, why in named_ends:
        if (
            token is None
            or not 0 <= token < len(vocabulary)
            or vocabulary.tokens[token] is not None
        ):
            continue
        name = vocabulary.special.get(token, "")
        if token not in vocabulary.eos_ids and not _is_asked_for(run, name):
            ends.setdefault(token, f"{name} (id {token}): {why}")
    if not ends:
        return vocabulary, ()
    said = f"A further end of text was taken: {'; '.join(ends.values())}. "
    return _with_more(vocabulary, tuple(ends)), (f"{said}--eos names the ends otherwise.",)


@lru_cache(maxsize=8)
def _with_more(vocabulary: Vocabulary, ends: tuple[int, ...]) -> Vocabulary:
    return replace(vocabulary, eos_ids=tuple(sorted({*vocabulary.eos_ids, *ends})))


def _is_asked_for(run: ServerRun, name: str) -> bool:
    """Whether the constraint itself may speak of a token, so that it is not taken for an end."""
    asked = run.requested
    if not name or asked is None or asked.kind not in ("structural_tag", "tools"):
        return False
    return name in ("<|call|>" if asked.kind == "tools" else str(asked.place.value))
