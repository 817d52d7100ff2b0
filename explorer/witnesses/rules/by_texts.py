"""The rules that give whole texts, or single characters, to the engine and to a judge.

One text is tried for each group of tokens that leave a mask at the same byte (`Comparison.alike`);
a group that was not tried is not claimed.

A token begins another *spelling of JSON* if the side that masks it refuses a whole text with the
token but accepts another text of the same value: ``0`` and not ``-0``, ``"/"`` and not ``"\\/"``,
``[1]`` and not ``[ 1 ]``. Without such a pair of texts no rule speaks of spellings.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from explorer.alphabet import in_quotes
from explorer.analysis.characters.display import half_characters, show_text
from explorer.automata.machine import NO_ARC, Bool
from explorer.automata.words import shortest_word
from explorer.witnesses.comparison import Comparison
from explorer.witnesses.judging import Judge
from explorer.witnesses.messages import Statement
from explorer.witnesses.rules.by_masks import Recognised, flags_of

MOST_TRIED: Final = 48
"""The most groups of tokens for which texts are tried."""

_NUMBER: Final = re.compile(rb"(?:^|[\[,:\s])(-?\d*(?:\.\d*)?(?:[eE][-+]?\d*)?)$")

_STRING_OR_MORE: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[^\s"]+')
_SPACE: Final = " \t\n\r"

ESCAPES: Final = "it writes this value with a character spelled in another way, and not so"
NUMBERS: Final = "it writes this value with the number spelled in another way, and not so"
LAYOUT: Final = "it writes this value with other white space between the tokens of JSON, and not so"


def spelled_in_another_way(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """The tokens that begin a spelling of a JSON value which one side refuses.

    Args:
        left: bool[len(vocabulary)], the ids that no rule took yet.
    """
    yield from _paired(comparison, left, _spelling)


def other_layout(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """The tokens at which one side requires, or refuses, white space between JSON tokens.

    Args:
        left: bool[len(vocabulary)], the ids that no rule took yet.
    """
    if comparison.statement.kind == "json_schema":
        yield from _paired(comparison, left, _layout)


def _spelling(before: bytes, character: str) -> str:
    """The sentence for a character within an escape or a number; empty for others."""
    inside = _in_a_string(before)
    if inside and (character == "\\" or before.endswith(b"\\") or b"\\u" in before[-6:]):
        return ESCAPES
    if character and character in "-0123456789.eE+" and _NUMBER.search(before):
        return NUMBERS
    return ""


def _layout(before: bytes, character: str) -> str:
    """The sentence for white space between JSON tokens; empty for anything else."""
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
    """Evidence: a text with the token, and another text of the same value.

    The side that masks the token accepts the other text and refuses this one.
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
    """A JSON text without the white space between its tokens."""
    return b"".join(piece[0] for piece in _STRING_OR_MORE.finditer(text))


def _plain(value: Any) -> Any:
    """A JSON value with integral floats turned into ints."""
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


MOST_NAMED: Final = 4
"""The number of characters that the evidence names."""

_CLASS: Final = re.compile(r"\\[wWdDsS]")


def _odd(character: str) -> bool:
    return bool(character) and (ord(character) > 0x7F or character in "\x1c\x1d\x1e\x1f\x0b\x0c\r")


def name_of_character(character: str) -> str:
    """The code point, name and category of a character, for a sentence.

    Example:
        >>> name_of_character("²")
        'U+00B2 SUPERSCRIPT TWO (No)'
    """
    name = unicodedata.name(character, "control character")
    return f"U+{ord(character):04X} {name} ({unicodedata.category(character)})"


def other_class(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """The tokens that fail at a character which a class such as ``\\w`` holds for one side only.

    The engine and Python are each asked about the class alone.

    Args:
        left: bool[len(vocabulary)], the ids that no rule took yet.
    """
    named = sorted({found[0] for found in _CLASS.finditer(comparison.statement.text)})
    if not named:
        return
    evidence: dict[str, str] = {}
    taken: list[int] = []
    tried: dict[tuple[str, bool], str] = {}
    for group, ids in comparison.alike(left).items():
        key = group.character, group.allows
        if not _odd(group.character) or (key not in tried and len(tried) >= MOST_TRIED):
            continue
        if key not in tried:
            comparison.check_time()
            tried[key] = _class_of(comparison, named, *key)
        if tried[key]:
            taken += ids
            if len(evidence) < MOST_NAMED:
                evidence.setdefault(name_of_character(group.character), tried[key])
    if taken:
        yield Recognised(
            flags_of(taken, len(left)),
            "the tokens fail at characters that a class of the constraint holds for one of the two "
            "and not for the other",
            evidence,
        )


def _class_of(comparison: Comparison, named: list[str], character: str, allows: bool) -> str:
    """The difference about a class that holds the character only for the side that allows it.

    Returns:
        A phrase, empty if no named class differs so.
    """
    lark = comparison.statement.kind == "lark"
    for each in named:
        asked = Statement("lark", f"start: /{each}/") if lark else Statement("regex", each)
        engine = comparison.accepts(character.encode(), asked)
        ours = re.fullmatch(each, character) is not None
        if engine is allows and ours is not allows:
            first, second = ("the engine", "Python") if engine else ("Python", "the engine")
            return f"{each} holds it in {first}, and not in {second}"
    return ""


def lexer(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """The tokens that the engine masks as Lark's own lexer does, by the verdict of Lark's library.

    Args:
        left: bool[len(vocabulary)], the ids that no rule took yet.
    """
    judge = comparison.judge
    if judge is None:
        return
    taken: list[int] = []
    shown = ""
    for group, ids in list(comparison.alike(left & comparison.ours).items())[:MOST_TRIED]:
        comparison.check_time()
        text = None if group.read is None else comparison.whole_text(ids[0])
        if text is None or judge.verdict(text) is not False or comparison.accepts(text):
            continue
        taken += ids
        shown = shown or show_text(text)
    if taken:
        yield Recognised(
            flags_of(taken, len(left)),
            "Lark's own parser, whose lexer cuts the text into terminals first, each as long as "
            "possible, refuses such texts as it does; we read the grammar letter by letter",
            {judge.name: f"refuses {shown}, which the rules alone derive; the engine refuses it"},
        )


def half_a_character(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """The tokens that hold part of a character; the rule knows no reason for the difference.

    Args:
        left: bool[len(vocabulary)], the ids that no rule took yet.
    """
    for allows in (True, False):
        rows = left & (comparison.theirs if allows else comparison.ours)
        taken = [token for token in ids_of(rows) if _is_half(comparison.vocabulary.tokens[token])]
        if taken:
            example = comparison.vocabulary.tokens[taken[0]] or b""
            yield Recognised(
                flags_of(taken, len(left)),
                "the tokens hold part of a character; it "
                + ("allows" if allows else "masks")
                + " them here, and no rule says why",
                {
                    "bytes": f"{example!r}, {half_characters(example)}".rstrip(", "),
                    **clues(comparison, flags_of(taken[:1], len(left))),
                },
            )


def _is_half(data: bytes | None) -> bool:
    try:
        (data or b"").decode()
    except UnicodeDecodeError:
        return True
    return False


def against_a_judge(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """The tokens for which a judge contradicts the engine on a whole text.

    A refusal by the judge counts only if it accepts a text that differs in that one place.

    Args:
        left: bool[len(vocabulary)], the ids that no rule took yet.
    """
    judge = comparison.judge
    if judge is None:
        return
    taken: dict[bool, list[int]] = {True: [], False: []}
    said: dict[bool, tuple[str, dict[str, str]]] = {}
    for group, ids in list(comparison.alike(left).items())[:MOST_TRIED]:
        comparison.check_time()
        text = comparison.whole_text(ids[0])
        says = None if text is None else judge.verdict(text)
        if text is None or says is None or says is group.allows:
            continue
        control = _repaired(comparison, judge, text) if group.allows else ""
        if control is None:
            continue  # The judge may refuse the text for another reason.
        taken[group.allows] += ids
        if group.allows in said:
            continue
        shown = in_quotes(text.decode(errors="replace"))
        evidence = {judge.name: f"{'accepts' if says else 'refuses'} {shown}"}
        if group.allows:
            evidence["beside it"] = f"{judge.name} accepts {in_quotes(control)}"
            sentence = f"it accepts the whole text {shown}, which {judge.name} refuses"
        else:
            what = "ends" if group.read is None else "goes on"
            sentence = f"{judge.name} accepts {shown}, which {what} so, and it masks that"
            takes = comparison.accepts(text)
            if takes is not None:
                verb = "accepts" if takes else "refuses"
                evidence["the engine"] = f"{verb} the same text in its shortest tokens"
        said[group.allows] = sentence, evidence
    for allows, (sentence, evidence) in said.items():
        yield Recognised(flags_of(taken[allows], len(left)), sentence, evidence)


def _repaired(comparison: Comparison, judge: Judge, text: bytes) -> str | None:
    """A text that the judge and we accept, and that differs only at the byte that we refuse.

    Without one, the judge may refuse the text for a reason elsewhere in it.
    """
    machine = comparison.machine.byte_machine
    if machine is None:
        return None
    state, at = machine.start, 0
    while at < len(text) and (after := machine.step(state, text[at])) != NO_ARC:
        state, at = after, at + 1
    if at == len(text):
        candidates = [text + shortest_word(machine, state)]
    else:
        expected = [bytes([byte]) for byte in machine.expected(state)[:MOST_TRIED]]
        candidates = [text[:at] + byte + text[at + 1 :] for byte in expected]
        candidates += [text[:at] + text[at + 1 :], *(text[:at] + b + text[at:] for b in expected)]
    for candidate in candidates:
        if comparison.constraint.accepts(candidate) and judge.verdict(candidate):
            return candidate.decode(errors="replace")
    return None


def clues(comparison: Comparison, left: Bool) -> dict[str, str]:
    """The evidence for tokens that no rule recognises: a whole text and the judge's verdict on it.

    Args:
        left: bool[len(vocabulary)], the ids.
    """
    text = comparison.whole_text(ids_of(left)[0])
    if text is None:
        return {"a whole text through it": "none was found"}
    judge = comparison.judge
    says = None if judge is None else judge.verdict(text)
    word = {True: "accepts it", False: "refuses it", None: "does not say"}[says]
    named = "the judge" if judge is None else judge.name
    return {"a whole text through it": f"{show_text(text)}; {named} {word}"}


def ids_of(tokens: Bool) -> list[int]:
    """The ids of a mask.

    Args:
        tokens: bool[len(vocabulary)].
    """
    return [token for token, on in enumerate(tokens.tolist()) if on]
