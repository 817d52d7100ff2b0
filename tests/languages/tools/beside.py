"""Masks beside xgrammar's at every state along random conversations.

For the breadth, with GPT-2's vocabulary below ``$EXPLORER_TOKENIZERS``:
``python -m tests.languages.tools.beside``.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import explorer
from explorer import Vocabulary
from explorer.errors import ConstraintError
from tests.languages.tools.conversations import TOOLS, Talk, cut
from tests.optional import Optional

xgrammar: Any = Optional("xgrammar")

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"choice": "required"},
    {"reasoning": "enabled"},
    {"parallel": False},
)

_NUMBER = re.compile(rb"[^\w.+-]-?\d+(\.\d*)?([eE][+-]?\d*)?[ \n\t\r]*([,}\]<].*)?\Z", re.DOTALL)

_HALF = b"\\ud"

NOT_UTF8 = "bytes that are not UTF-8 in free text"

_BROKEN: dict[int, tuple[Vocabulary, dict[bytes, NDArray[np.bool_]]]] = {}


@dataclass
class Beside:
    """The result of a comparison: masks, differences by judgement, and those without one."""

    masks: int = 0
    judged: Counter[str] = field(default_factory=Counter[str])
    open: list[str] = field(default_factory=list[str])

    def add(self, other: Beside) -> None:
        self.masks += other.masks
        self.judged += other.judged
        self.open += other.open


def broken(tail: bytes, vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """The tokens with which a text ends in bytes that are not UTF-8: bool[tokens].

    Args:
        tail: The bytes of its last character, where that is not whole yet.
    """
    known = _BROKEN.setdefault(id(vocabulary), (vocabulary, {}))[1]
    if tail not in known:
        known[tail] = np.array(
            [judged(tail, data or b"", True) == NOT_UTF8 for data in vocabulary.tokens]
        )
    return known[tail]


def judged(before: bytes, token: bytes, theirs: bool) -> str | None:
    """The known difference that a token is, if it is one; see docs/witnesses.md."""
    text = before + token
    if theirs:
        try:
            text.decode()
        except UnicodeDecodeError as error:
            if error.reason != "unexpected end of data" or not token:
                return NOT_UTF8
        return (
            "escapes of half a surrogate pair" if _HALF in (before[-12:] + token).lower() else None
        )
    return "numbers of an enum in other spellings" if _NUMBER.search(text) else None


def _unfinished(text: bytes) -> bytes:
    """The bytes of the last character of a text, where it is not whole."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return text[error.start :]
    return b""


def masks(ours: Any, grammar: Any, vocabulary: Vocabulary, ids: list[int], beside: Beside) -> None:
    """Compare the masks before each of some tokens, and behind the last."""
    matcher, state = xgrammar.GrammarMatcher(grammar), ours.start
    before = b""
    size = len(vocabulary)
    for token in [*ids, None]:
        bits = xgrammar.allocate_token_bitmask(1, size)
        matcher.fill_next_token_bitmask(bits)
        packed = bits.numpy().view(np.uint8)
        theirs = np.unpackbits(packed, bitorder="little")[:size].astype(np.bool_)
        mine = np.asarray(ours.allowed(state))
        beside.masks += 1
        differ = theirs != mine
        # Of a large vocabulary most of what differs is this: it is judged in one step.
        not_utf8 = differ & theirs & broken(_unfinished(before), vocabulary)
        if count := int(not_utf8.sum()):
            beside.judged[NOT_UTF8] += count
        for other in np.flatnonzero(differ & ~not_utf8).tolist():
            written = vocabulary.tokens[other] or b""
            why = judged(before, written, bool(theirs[other]))
            if why is None:
                who = "xgrammar" if theirs[other] else "explorer"
                beside.open.append(f"{who} alone allows {written!r} after {before[-80:]!r}")
            else:
                beside.judged[why] += 1
        if token is None:
            return
        if not theirs[token] or not mine[token]:
            return  # Judged above, or refused by both.
        matcher.accept_token(token)
        state = ours.step(state, token)
        before += vocabulary.tokens[token] or b""


def compared(
    style: str, tools: str, options: dict[str, Any], vocabulary: Vocabulary, *, texts: int,
    seed: int = 0, theirs: dict[str, Any] | None = None,
) -> Beside:  # fmt: skip
    """The masks of one markup, one set of tools and one choice.

    Args:
        theirs: Another structural tag for xgrammar, to see that differences are found.
    """
    beside = Beside()
    constraint = explorer.tools(TOOLS[tools], style=style, **options)
    source: Any = constraint.source
    tag = json.loads(source.tag)
    info = xgrammar.TokenizerInfo(
        [data or b"" for data in vocabulary.tokens], xgrammar.VocabType.RAW,
        vocab_size=len(vocabulary), stop_token_ids=list(vocabulary.eos_ids),
    )  # fmt: skip
    compiler = xgrammar.GrammarCompiler(info, cache_enabled=False)
    grammar = compiler.compile_structural_tag(json.dumps(theirs or tag))
    ours = explorer.compile(constraint, vocabulary, lazy=True)
    full = xgrammar.StructuralTag.from_json(json.dumps(tag)).model_dump(mode="json")["format"]
    talk = Talk(seed)
    for _ in range(texts):
        masks(ours, grammar, vocabulary, cut(talk.text(full), vocabulary, talk.draws), beside)
    return beside


def followed() -> list[str]:
    """The markups of xgrammar whose arguments are followed."""
    from explorer.languages.tools.markups import ALIASES, MARKUPS

    known: list[str] = []
    for style in MARKUPS:
        try:
            explorer.tools(TOOLS["one"], style=style)
        except ConstraintError:
            continue
        if style not in ALIASES:
            known.append(style)
    return known


def main() -> None:
    """Compare at least 20,000 masks and print a line for each markup."""
    vocabulary = Vocabulary.from_file(Path(os.environ["EXPLORER_TOKENIZERS"]) / "gpt2")
    whole = Beside()
    for style in followed():
        part = Beside()
        for tools in TOOLS:
            for k, options in enumerate(OPTIONS):
                part.add(compared(style, tools, options, vocabulary, texts=4, seed=k))
        print(f"{style:16} {part.masks:7,} masks {len(part.open):5} open {dict(part.judged)}")
        whole.add(part)
    print(f"{'together':16} {whole.masks:7,} masks {len(whole.open):5} open {dict(whole.judged)}")


if __name__ == "__main__":
    main()
