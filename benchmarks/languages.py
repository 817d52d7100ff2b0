"""Equal languages: without that, a comparison of times says nothing.

Each text that is in a language, and each that is not, goes through every engine as the same token
ids, in long tokens and byte by byte; and along every text, as far as it is allowed, the *whole
masks* must be equal. One difference is known and
allowed: where one text only can follow, llguidance allows the single token that its tokenizer would
write and masks the others that begin the same text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.constraints import Case
from benchmarks.engines import Engine, Greedy, Tokens


class LanguagesDiffer(Exception):
    """Two engines read a pattern differently."""


def compare(case: Case, engines: Mapping[str, Engine], tokens: Tokens) -> dict[str, int]:
    """Compile a case with every engine and compare what they accept and allow.

    Args:
        case: The pattern and its texts.
        engines: By name; the first is compared with the others.
        tokens: The vocabulary that they were made for.

    Returns:
        ``texts`` and ``masks`` compared, ``allowed_at_start`` and, of the masks, those that
        llguidance had ``narrowed`` to one token, and those in which disputed tokens were set
        ``aside``.

    Raises:
        LanguagesDiffer: A text or a mask is judged differently.
    """
    compiled: dict[str, Any] = {
        name: engine.compile(case.pattern) for name, engine in engines.items()
    }
    first, *others = engines
    counts = {
        "texts": len(case.accepted) + len(case.rejected),
        "masks": 0,
        "narrowed": 0,
        "aside": 0,
    }
    writers = (Greedy(tokens), Greedy(tokens, longest=1))
    for text in (*case.accepted, *case.rejected):
        for ids in (write(text) for write in writers):
            for name, engine in engines.items():
                if engine.accepts(compiled[name], ids) is not (text in case.accepted):
                    raise LanguagesDiffer(f"{name}, {case.name}: {text!r} is judged wrongly")
            reference = engines[first].masks(compiled[first], ids)
            counts["allowed_at_start"] = len(reference[0])
            counts["masks"] += len(reference)
            for name in others:
                found = engines[name].masks(compiled[name], ids)
                if len(found) != len(reference):
                    raise LanguagesDiffer(
                        f"{name}, {case.name}: {text!r} ends after {len(found) - 1} tokens, "
                        f"not {len(reference) - 1}"
                    )
                for k, (mine, theirs) in enumerate(zip(reference, found, strict=True)):
                    if mine == theirs:
                        continue
                    written = b"".join(tokens.tokens[token] or b"" for token in ids[:k])
                    left = {t for t in mine ^ theirs if not _disputed(case, written, tokens, t)}
                    if not left:
                        counts["aside"] += 1
                        continue
                    if name == "llguidance" and len(theirs) == 1 and theirs < mine:
                        counts["narrowed"] += 1
                        continue
                    raise LanguagesDiffer(
                        f"{name}, {case.name}: after {k} tokens of {text!r} the masks differ in "
                        f"{len(mine ^ theirs)} ids, such as {sorted(mine ^ theirs)[:5]}"
                    )
    return counts


def _disputed(case: Case, written: bytes, tokens: Tokens, token: int) -> bool:
    """Whether a token completes or writes a character that the engines read differently."""
    # The bytes of a character that is not complete yet: what decoding all of them leaves out.
    begun = written[len(written.decode(errors="ignore").encode()) :]
    text = (begun + (tokens.tokens[token] or b"")).decode(errors="ignore")
    return not case.disputed.isdisjoint(text)
