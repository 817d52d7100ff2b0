"""The rule for the spelling of numbers and characters in JSON, shown with two texts of one value.

A token is recognised where a whole text through it has a value that whoever masks the token writes
too, in another spelling: ``-0`` beside ``0``, ``"\\/"`` beside ``"/"``. Without such a pair nothing
is said about spellings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from explorer.analysis.characters.display import show_text
from explorer.automata.machine import NO_ARC, Bool
from explorer.witnesses.comparison import Comparison
from explorer.witnesses.rules.recognised import Recognised, flags_of

TRIED: Final = 3
"""Tokens of one character for which a pair of texts is looked for."""

_NUMBER: Final = re.compile(rb"(?:^|[\[,:\s])(-?\d*(?:\.\d*)?(?:[eE][-+]?\d*)?)$")

ESCAPES: Final = "it writes this value with a character spelled in another way, and not so"
NUMBERS: Final = "it writes this value with the number spelled in another way, and not so"


def spelled_in_another_way(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """The tokens that begin a spelling which one of the two does not write.

    Args:
        comparison: The masks.
        left: bool[len(vocabulary)], the ids that no rule took yet.
    """
    groups: dict[tuple[str, str, bool], list[int]] = {}
    for token, offset, character in comparison.partings(left):
        data = comparison.vocabulary.tokens[token] or b""
        before = comparison.text + data[:offset]
        quotes = len(re.findall(rb'(?<!\\)(?:\\\\)*"', before))
        allows = bool(comparison.theirs[token])
        if quotes % 2 and (character == "\\" or before.endswith(b"\\") or b"\\u" in before[-6:]):
            groups.setdefault((ESCAPES, character, allows), []).append(token)
        elif character and character in "-0123456789.eE+" and _NUMBER.search(before):
            groups.setdefault((NUMBERS, character, allows), []).append(token)
    shown: dict[tuple[str, bool], dict[str, str]] = {}
    taken: dict[tuple[str, bool], list[int]] = {}
    tokens = comparison.vocabulary.tokens
    for (sentence, _, allows), ids in groups.items():
        ids.sort(key=lambda token: len(tokens[token] or b""))
        for token in ids[:TRIED]:
            pair = _pair(comparison, token)
            if pair is not None:
                taken.setdefault((sentence, allows), []).extend(ids)
                shown.setdefault((sentence, allows), pair)
                break
    for (sentence, allows), ids in taken.items():
        other = sentence.replace("it writes", "we write", 1) if allows else sentence
        yield Recognised(flags_of(ids, len(left)), other, shown[sentence, allows])


def _pair(comparison: Comparison, token: int) -> dict[str, str] | None:
    """Evidence: a text through the token, and another text of the same value."""
    text = comparison.whole_text(token)
    if text is None:
        return None
    try:
        value: Any = json.loads(text)
        plain = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return None
    if plain == text or json.loads(plain) != value:
        return None
    theirs = bool(comparison.theirs[token])
    if not (_ours(comparison, plain) if theirs else comparison.accepts(plain)):
        return None
    who = ("explorer", comparison.engine) if theirs else (comparison.engine, "explorer")
    return {"one value": f"{who[0]} writes {show_text(plain)}, {who[1]} also {show_text(text)}"}


def _plain(value: Any) -> Any:
    """A value whose numbers are whole where they can be."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {
            name: _plain(each)
            for name, each in value.items()  # pyright: ignore[reportUnknownVariableType]
        }
    return value


def _ours(comparison: Comparison, text: bytes) -> bool:
    machine = comparison.machine.byte_machine
    if machine is None:
        return False
    state = machine.start
    for byte in text:
        if state == NO_ARC:
            return False
        state = machine.step(state, byte)
    return machine.is_accepting(state)
