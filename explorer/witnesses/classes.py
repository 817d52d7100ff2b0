"""The registry of classes of differences: each has a rule by which it is recognised, and evidence.

The classes are asked in their order, and each takes the tokens that its rule recognises; what no
rule recognises is "unexplained", with what was found about it. A rule says *that* the reason holds:
most compile the constraint anew as the other engine would read it and compare the masks token by
token (`explorer.witnesses.variants`).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer.alphabet import in_quotes
from explorer.analysis.characters.display import half_characters, show_text
from explorer.automata.machine import Bool
from explorer.automata.words import shortest_word
from explorer.errors import ExplorerError
from explorer.witnesses.answers import Disagreement
from explorer.witnesses.comparison import Comparison
from explorer.witnesses.rules.past_a_match import past_a_match
from explorer.witnesses.rules.recognised import Recognise, Recognised, flags_of
from explorer.witnesses.rules.spellings import spelled_in_another_way
from explorer.witnesses.variants import BUDGET, SHORT_BUDGET, mask_after, variants_of

PREDICTED: Final = 0.9
"""The part of a change's differences that must be the engine's too."""

MOST_NAMED: Final = 4
"""Characters that a finding names."""

UNEXPLAINED: Final = "unexplained"
"""In place of a class: no rule recognises the difference."""


@dataclass(frozen=True)
class DifferenceClass:
    """A class of differences.

    Args:
        name: As a table names it.
        rule: How it is recognised, as a sentence.
        first: From a comparison, and the ids that no class took yet, to what it takes, by what the
            engine says of itself; asked before all others.
        exact: The same by what the masks are.
        by_place: The same by where the token fails; asked once no class takes anything exactly.
    """

    name: str
    rule: str
    first: Recognise | None = None
    exact: Recognise | None = None
    by_place: Recognise | None = None


# --- the rules ----------------------------------------------------------------------------------


def _forced(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    allowed = np.flatnonzero(comparison.theirs)
    ours = comparison.ours
    if len(allowed) != 1 or not ours[allowed[0]] or int(ours.sum()) < 2:
        return
    data = comparison.vocabulary.tokens[int(allowed[0])]
    byte_machine = comparison.machine.byte_machine
    if data is None or byte_machine is None:
        return
    state = comparison.machine.byte_state(comparison.state)
    for byte in data:
        if byte_machine.expected(state) != bytes([byte]) or byte_machine.is_accepting(state):
            return
        state = byte_machine.step(state, byte)
    yield Recognised(
        ours & left,
        f"only {show_text(data)} can follow, and it allows the one token that a tokenizer would "
        "write it with; the others that begin the same text are masked, which changes what the "
        "model says about them",
        {"forced text": show_text(data)},
    )


def _trim(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    dead = comparison.stages["dead_end"] & comparison.theirs & left
    if not dead.any():
        return
    token = int(np.flatnonzero(dead)[0])
    data = comparison.vocabulary.tokens[token] or b""
    evidence: dict[str, str] = {}
    byte_machine = comparison.machine.byte_machine
    if byte_machine is not None:
        state = comparison.machine.byte_state(comparison.state)
        for byte in data:
            state = byte_machine.step(state, byte)
        try:
            word = comparison.text + data + shortest_word(byte_machine, state)
            evidence["a word that it leads to"] = f"{show_text(word)}, which no tokens write"
        except ExplorerError:
            pass
    yield Recognised(
        dead,
        "the text may go on, but no tokens of this vocabulary can finish it: we trim such states, "
        "it does not",
        evidence,
    )


def _by_variants(kind: str) -> Callable[[Comparison, Bool], Iterator[Recognised]]:
    def recognise(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
        left = left.copy()
        for variant in variants_of(comparison):
            if variant.kind != kind or not left.any():
                continue
            comparison.check_time()
            budget = BUDGET if math.isinf(comparison.deadline) else SHORT_BUDGET
            try:
                mask = mask_after(variant.make(), comparison.vocabulary, comparison.prefix, budget)
            except ExplorerError:
                continue
            if mask is None:
                continue
            changes = mask != comparison.ours
            found = changes & (mask == comparison.theirs) & left
            # A change that predicts what the engine does not do is not what it does. A keyword less
            # allows more spellings of numbers, which the engine may mask for another reason.
            predicted = int((changes & comparison.differing).sum())
            share = 0 if kind == "unsupported keyword" else PREDICTED
            if found.any() and predicted >= share * int(changes.sum()):
                left &= ~found
                yield Recognised(
                    found, variant.sentence,
                    {"compiled anew with that change": f"our mask is the engine's on "
                     f"{'it' if found.sum() == 1 else f'all {int(found.sum()):,}'}"},
                )  # fmt: skip

    return recognise


_CLASS: Final = re.compile(r"\\[wWdDsS]|\(\?[a-z]*i")


def _odd(character: str) -> bool:
    return bool(character) and (ord(character) > 0x7F or character in "\x1c\x1d\x1e\x1f\x0b\x0c\r")


def name_of_character(character: str) -> str:
    """A character in a sentence: its code point, name and category.

    Args:
        character: One.

    Example:
        >>> name_of_character("²")
        'U+00B2 SUPERSCRIPT TWO (No)'
    """
    name = unicodedata.name(character, "control character")
    return f"U+{ord(character):04X} {name} ({unicodedata.category(character)})"


def _unicode(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    named = sorted({found[0] for found in _CLASS.finditer(comparison.statement.text)})
    found: dict[str, int] = {}
    taken: list[int] = []
    for token, _, character in comparison.partings(left) if named else ():
        if _odd(character):
            taken.append(token)
            found.setdefault(character, token)
    if not taken:
        return
    evidence: dict[str, str] = {}
    for character in sorted(found)[:MOST_NAMED]:
        says = [
            f"{each} {'holds' if re.fullmatch(each, character) else 'does not hold'} it in Python"
            for each in named
            if each.startswith("\\")
        ]
        evidence[name_of_character(character)] = ", ".join(says) or "letters without case"
    yield Recognised(
        flags_of(taken, len(left)),
        "the tokens fail at characters that a class of the constraint holds for one of the two and "
        "not for the other",
        evidence,
    )


def _dialect(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    if comparison.statement.kind == "json_schema":
        yield from spelled_in_another_way(comparison, left)
    elif comparison.statement.kind == "lark":
        yield from _lexer(comparison, left)


def _lexer(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    """Lark's own reading of terminals, which its library decides."""
    judge = comparison.judge
    if judge is None:
        return
    taken: list[int] = []
    shown = ""
    for token in np.flatnonzero(left).tolist()[:64]:
        text = comparison.whole_text(token) if comparison.ours[token] else None
        if text is not None and judge.verdict(text) is False:
            taken.append(token)
            shown = shown or show_text(text)
    if taken:
        yield Recognised(
            flags_of(taken, len(left)),
            "it cuts the text into terminals first, each as long as possible, as Lark's lexer "
            "does; we read the grammar letter by letter",
            {judge.name: f"refuses {shown}, which the rules alone derive"},
        )


def _bytes(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    for allows in (True, False):
        rows = left & (comparison.theirs if allows else comparison.ours)
        taken = [token for token in _list(rows) if _is_half(comparison.vocabulary.tokens[token])]
        if taken:
            example = comparison.vocabulary.tokens[taken[0]] or b""
            yield Recognised(
                flags_of(taken, len(left)),
                "the tokens hold part of a character; it "
                + ("allows" if allows else "masks")
                + " them here, and no rule says why",
                {
                    "bytes": f"{example!r}, {half_characters(example)}".rstrip(", "),
                    **_clues(comparison, flags_of(taken[:1], len(left))),
                },
            )


def _is_half(data: bytes | None) -> bool:
    try:
        (data or b"").decode()
    except UnicodeDecodeError:
        return True
    return False


def _bug(comparison: Comparison, left: Bool) -> Iterator[Recognised]:
    judge = comparison.judge
    if judge is None:
        return
    for allows in (True, False):
        rows = left & (comparison.theirs if allows else comparison.ours)
        ids = _list(rows)
        ids.sort(key=lambda token: len(comparison.vocabulary.tokens[token] or b""))
        for token in ids[:4]:
            text = comparison.whole_text(token)
            says = None if text is None else judge.verdict(text)
            if text is None or says is None or says is allows:
                continue
            shown = in_quotes(text.decode(errors="replace"))
            name = comparison.vocabulary.tokens[token]
            what = "ends" if name is None else "goes on"
            yield Recognised(
                rows,
                f"it accepts the whole text {shown}, which {judge.name} refuses"
                if allows
                else f"{judge.name} accepts {shown}, which {what} so, and it masks that",
                {judge.name: f"{'accepts' if says else 'refuses'} {shown}"},
            )
            break


def _list(tokens: Bool) -> list[int]:
    return [int(token) for token in np.flatnonzero(tokens)]


CLASSES: Final = (
    DifferenceClass(
        "forced tokens",
        "The engine allows one token, and every byte of it is the only byte that can follow.",
        exact=_forced,
    ),
    DifferenceClass(
        "trim",
        "The token leads to a state of the constraint from which no tokens write a word.",
        exact=_trim,
    ),
    DifferenceClass(
        "whitespace rule",
        "With another layout of JSON our mask is the engine's on the token.",
        exact=_by_variants("whitespace rule"),
    ),
    DifferenceClass(
        "unsupported keyword",
        "With a keyword left out of the schema our mask is the engine's on the token.",
        exact=_by_variants("unsupported keyword"),
    ),
    DifferenceClass(
        "Unicode class",
        "With the engine's classes our mask is the engine's on the token; or the token fails at a "
        "character beyond ASCII, or a control character, in a constraint with such a class.",
        exact=_by_variants("Unicode class"),
        by_place=_unicode,
    ),
    DifferenceClass(
        "dialect",
        "With the constraint read in another documented way our mask is the engine's on the token; "
        "or a text through the token has a value that the other writes in another spelling; or the "
        "token fails at the border of a terminal.",
        exact=_by_variants("dialect"),
        by_place=_dialect,
    ),
    DifferenceClass(
        "byte handling",
        "The token holds part of a character, and no rule above recognises it.",
        by_place=_bytes,
    ),
    DifferenceClass(
        "bug",
        "The engine masks what its own pattern goes on with, past a whole match of it (asked "
        "before all others); or no rule above recognises it, and an independent judge contradicts "
        "the engine on a whole text through the token.",
        first=past_a_match,
        by_place=_bug,
    ),
)
"""Every class, in the order in which they are asked."""


def classified(comparison: Comparison, position: int) -> tuple[Disagreement, ...]:
    """Every difference of a comparison, in groups of one reason.

    Args:
        comparison: The masks.
        position: How many tokens of the prefix stand before them.

    Raises:
        OutOfTime: The deadline of the comparison has passed.
    """
    left = comparison.differing.copy()
    found: list[Disagreement] = []
    name = comparison.engine.split()[0]

    def take(kind: str, finding: Recognised) -> None:
        tokens = finding.tokens & left
        for allows in (True, False):
            rows = tokens & (comparison.theirs if allows else comparison.ours)
            if rows.any():
                ids = np.flatnonzero(rows).astype(np.int32)
                found.append(
                    Disagreement(
                        name, kind, allows, ids, finding.sentence, finding.evidence, position
                    )
                )

    ways = [(each.name, each.first) for each in CLASSES]
    ways += [(each.name, each.exact) for each in CLASSES]
    ways += [(each.name, each.by_place) for each in CLASSES]
    for kind, recognise in ways:
        comparison.check_time()
        for finding in (
            () if recognise is None or not left.any() else recognise(comparison, left.copy())
        ):
            take(kind, finding)
            left &= ~finding.tokens
    if left.any():
        take(UNEXPLAINED, Recognised(left, "no rule recognises it", _clues(comparison, left)))
    return tuple(found)


def _clues(comparison: Comparison, left: Bool) -> dict[str, str]:
    token = int(np.flatnonzero(left)[0])
    text = comparison.whole_text(token)
    if text is None:
        return {"a whole text through it": "none was found"}
    judge = comparison.judge
    says = None if judge is None else judge.verdict(text)
    word = {True: "accepts it", False: "refuses it", None: "does not say"}[says]
    named = "the judge" if judge is None else judge.name
    return {"a whole text through it": f"{show_text(text)}; {named} {word}"}
