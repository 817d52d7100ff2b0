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
    ends: dict[int, str] = {}
    for stop in run.stops.possible if run.stops.known else ():
        token = stop if isinstance(stop, int) else _named(stop, vocabulary)
        if token is not None:
            ends[token] = "the log names it as the stop"
    given = run.asked("eos_token_id", "generation_config.eos_token_id", "server.eos_token_id")
    for token in cast("list[object]", given) if isinstance(given, list) else [given]:
        if type(token) is int:
            ends.setdefault(token, "the log has it as eos_token_id")
    written = [token.token for token in run.tokens]
    while len(written) > 1 and written[-1] == written[-2]:
        written.pop()  # Padding.
    last = written[-1] if written else None
    if last is not None and vocabulary.special.get(last, "") in END_NAMES:
        ends.setdefault(last, "its name is that of an end or of padding, and the run ends with it")
    known = {
        token: why for token, why in ends.items()
        if 0 <= token < len(vocabulary) and vocabulary.tokens[token] is None
        and token not in vocabulary.eos_ids
        and not _is_asked_for(run, vocabulary.special.get(token))
    }  # fmt: skip
    if not known:
        return vocabulary, ()
    names = [
        f"{vocabulary.special.get(token, '')} (id {token}): {why}" for token, why in known.items()
    ]
    said = f"A further end of text was taken: {'; '.join(names)}. --eos names the ends otherwise."
    return _with_more(vocabulary, tuple(known)), (said,)


@lru_cache(maxsize=8)
def _with_more(vocabulary: Vocabulary, ends: tuple[int, ...]) -> Vocabulary:
    return replace(vocabulary, eos_ids=tuple(sorted({*vocabulary.eos_ids, *ends})))


def _named(text: str, vocabulary: Vocabulary) -> int | None:
    return next((token for token, name in vocabulary.special.items() if name == text), None)


def _is_asked_for(run: ServerRun, name: str | None) -> bool:
    """Whether the constraint itself may speak of a token, so that it is not taken for an end."""
    asked = run.requested
    if not name or asked is None or asked.kind not in ("structural_tag", "tools"):
        return False
    return name in ("<|call|>" if asked.kind == "tools" else str(asked.place.value))


def min_tokens_said(run: ServerRun, written: int, *, only_the_end: bool) -> str:
    """A sentence on ``min_tokens`` where it leaves nothing; empty where it does not.

    Args:
        written: The number of tokens before the masked one.
        only_the_end: Whether the constraint allows only the end of the text there.
    """
    keys = ("min_tokens", "min_new_tokens")
    key, least = next(((key, run.asked(key)) for key in keys if run.asked(key)), ("", 0))
    if type(least) is not int or written >= least or not only_the_end:
        return ""
    return (
        f"{key} ({least}) forbids the end after {written} tokens, and the constraint allows "
        "only the end: every token was masked, and the largest of equal numbers is the first id, "
        f"0. Lower {key}, or let the constraint go on."
    )
