"""The rules for spellings of JSON, shown with two texts of one value.

A token is recognised where a whole text through it has a value that whoever masks the token writes
too, in another spelling: ``-0`` beside ``0``, ``"\\/"`` beside ``"/"``, ``[ 1 ]`` beside ``[1]``,
and refuses the whole text. Without such a pair nothing is said about spellings; a pair is looked
for wherever tokens part from a mask (`Comparison.alike`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from explorer.analysis.characters.display import show_text
from explorer.automata.machine import NO_ARC, Bool
from explorer.witnesses.comparison import Comparison
from explorer.witnesses.rules.recognised import Recognised, flags_of

MOST_TRIED: Final = 48
"""Groups of tokens for which a pair of texts is looked for."""

_NUMBER: Final = re.compile(rb"(?:^|[\[,:\s])(-?\d*(?:\.\d*)?(?:[eE][-+]?\d*)?)$")

_STRING_OR_MORE: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[^\s"]+')
_SPACE: Final = " \t\n\r"

ESCAPES: Final = "it writes this value with a character spelled in another way, and not so"
NUMBERS: Final = "it writes this value with the number spelled in another way, and not so"
LAYOUT: Final = "it writes this value with other white space between the tokens of JSON, and not so"


def spelled_in_another_way(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """The tokens that begin a spelling which one of the two does not write.

    Args:
        comparison: The masks.
        left: bool[len(vocabulary)], the ids that no rule took yet.
    """
    yield from _paired(comparison, left, _spelling)


def other_layout(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """The tokens that begin white space which one of the two does not write, or does not leave out.

    Args:
        comparison: The masks.
        left: bool[len(vocabulary)], the ids that no rule took yet.
    """
    if comparison.statement.kind == "json_schema":
        yield from _paired(comparison, left, _layout)


def _spelling(before: bytes, character: str) -> str:
    """The sentence for a character of JSON that may be spelled otherwise; empty for others."""
    inside = _in_a_string(before)
    if inside and (character == "\\" or before.endswith(b"\\") or b"\\u" in before[-6:]):
        return ESCAPES
    if character and character in "-0123456789.eE+" and _NUMBER.search(before):
        return NUMBERS
    return ""


def _layout(before: bytes, character: str) -> str:
    """The sentence for white space between tokens of JSON; empty for anything else."""
    space = character in _SPACE if character else False
    return LAYOUT if (space or before[-1:] in (b" ", b"\n")) and not _in_a_string(before) else ""


def _in_a_string(before: bytes) -> bool:
    return len(re.findall(rb'(?<!\\)(?:\\\\)*"', before)) % 2 == 1


def _paired(
    comparison: Comparison, left: Bool, sentence_for: Callable[[bytes, str], str]
) -> Iterator[Recognised]:
    taken: dict[tuple[str, bool], list[int]] = {}
    shown: dict[tuple[str, bool], dict[str, str]] = {}
    tried = 0
    for group, ids in comparison.alike(left).items():
        if group.read is None or tried >= MOST_TRIED:
            continue
        offset = comparison.parting(ids[0])[0]
        sentence = sentence_for(comparison.text + group.read[:offset], group.character)
        if not sentence:
            continue
        tried += 1
        comparison.check_time()
        pair = _pair(comparison, ids[0], sentence == LAYOUT)
        if pair is not None:
            taken.setdefault((sentence, group.allows), []).extend(ids)
            shown.setdefault((sentence, group.allows), pair)
    for (sentence, allows), ids in taken.items():
        other = sentence.replace("it writes", "we write", 1) if allows else sentence
        yield Recognised(flags_of(ids, len(left)), other, shown[sentence, allows])


def _pair(comparison: Comparison, token: int, layout: bool) -> dict[str, str] | None:
    """Evidence: a text through the token, and another text of the same value.

    Whoever masks the token accepts the other text and refuses this one.
    """
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
    if layout is not (_without_space(plain) == _without_space(text)):
        return None  # The two differ in more than white space, or in nothing else.
    theirs = bool(comparison.theirs[token])
    accepts = partial(_ours, comparison) if theirs else comparison.accepts
    if not accepts(plain) or accepts(text) is not False:
        return None
    who = ("explorer", comparison.engine) if theirs else (comparison.engine, "explorer")
    return {"one value": f"{who[0]} writes {show_text(plain)}, {who[1]} also {show_text(text)}"}


def _without_space(text: bytes) -> bytes:
    """A text of JSON without the white space between its tokens."""
    return b"".join(found[0] for found in _STRING_OR_MORE.finditer(text))


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
