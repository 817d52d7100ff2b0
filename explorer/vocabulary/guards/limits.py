"""Limits on the declarations of a tokenizer, checked before a library uses them.

Some declarations are well formed and still abort the process or never finish: forty normalizers
that each double the text, components nested three hundred deep, a table of characters that points
outside itself, a prefix longer than the pieces that should start with it. Compiled code cannot be
interrupted and may abort, so this cannot be caught afterwards. Each limit is far above that of any
tokenizer in use, and each error names the part and its effect.

Cost: 20 ms for a table of characters, 0.2 µs for a merge with a prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary.guards.charsmap import check_encoded_charsmap

MAX_NESTING: Final = 16
"""The deepest nesting of components; tokenizers in use have two levels."""

MAX_STEPS: Final = 64
"""The most steps of a normalizer, a pre-tokenizer or a decoder; those in use have up to 15."""

MAX_GROWTH: Final = 4096
"""The largest factor by which a text may grow; SentencePiece's normalizers reach 33."""

MAX_AFFIX: Final = 64
"""The longest mark of a word's end or continuation, in characters; those in use have four."""

MAX_PATTERN: Final = 1 << 14
"""The longest pattern, in characters; the longest in use has about 500."""

_PARTS: Final = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "decoder": "decoders",
    "post_processor": "processors",
}


def check_declaration(declared: Mapping[str, object]) -> None:
    """Check a parsed ``tokenizer.json`` before the library reads it.

    Raises:
        UnsupportedTokenizer: A part exceeds a limit, or would make the library fail or never end.
    """
    for part, inner in _PARTS.items():
        component = declared.get(part)
        if component is not None:
            check_component(component, part, inner)
    padding = declared.get("padding")
    if isinstance(padding, Mapping):
        _check_padding(cast(Mapping[str, object], padding))
    model = declared.get("model")
    if isinstance(model, Mapping):
        _check_model(cast(Mapping[str, object], model))


def check_component(component: object, part: str, inner: str | None = None) -> None:
    """Check a declared normalizer, pre-tokenizer, decoder or post-processor.

    Args:
        inner: The field of a Sequence that holds its steps; by default that of the library.

    Raises:
        UnsupportedTokenizer: It is nested too deeply, has too many steps, can make a text too long,
            or holds a pattern or a table that the library cannot handle.
    """
    growth = 1
    for count, step in enumerate(_steps(component, part, inner or _PARTS[part]), start=1):
        if count > MAX_STEPS:
            raise UnsupportedTokenizer(part, f"it has more than {MAX_STEPS} steps")
        kind = f"{part}.{step.get('type')}"
        growth *= _growth(step, kind)
        if growth > MAX_GROWTH:
            raise UnsupportedTokenizer(
                kind,
                f"with the steps before it, it can make a text more than {MAX_GROWTH:,} times as "
                f"long",
            )


def _steps(component: object, part: str, inner: str) -> Iterator[Mapping[str, object]]:
    """All steps in order, with nested Sequences flattened."""
    waiting: list[tuple[object, int]] = [(component, 0)]
    while waiting:
        current, depth = waiting.pop()
        if not isinstance(current, Mapping):
            continue  # The library's own error says what is wrong with it.
        step = cast(Mapping[str, object], current)
        if step.get("type") != "Sequence":
            yield step
            continue
        if depth >= MAX_NESTING:
            raise UnsupportedTokenizer(
                f"{part}.Sequence", f"it is nested more than {MAX_NESTING} deep"
            )
        steps = step.get(inner)
        if isinstance(steps, list):
            entries = cast(list[object], steps)
            if len(entries) > MAX_STEPS:
                raise UnsupportedTokenizer(part, f"it has {len(entries):,} steps, not {MAX_STEPS}")
            waiting += ((entry, depth + 1) for entry in reversed(entries))


def _growth(step: Mapping[str, object], kind: str) -> int:
    """The largest factor by which a step can lengthen a text."""
    match step.get("type"):
        case "Replace":
            content, pattern = step.get("content"), step.get("pattern")
            added = len(content) if isinstance(content, str) else 0
            literal = ""
            if isinstance(pattern, Mapping):
                _check_pattern(cast(Mapping[str, object], pattern), kind)
                literal = cast(Mapping[str, object], pattern).get("String") or ""
            if isinstance(literal, str) and literal:
                return max(1, -(-added // len(literal)))
            # A regular expression, or an empty text, also matches between two characters.
            return 1 + added
        case "Prepend":
            content = step.get("prepend")
            return 1 + len(content) if isinstance(content, str) else 1
        case "Precompiled":
            table = step.get("precompiled_charsmap")
            if isinstance(table, str) and table:
                return max(1, check_encoded_charsmap(table, kind))
        case "Split":
            pattern = step.get("pattern")
            if isinstance(pattern, Mapping):
                _check_pattern(cast(Mapping[str, object], pattern), kind)
        case "FixedLength":
            if step.get("length") == 0:
                raise UnsupportedTokenizer(kind, "it cuts a text into parts of no characters")
        case "WordPiece" | "BPEDecoder" | "Metaspace":
            for name in ("prefix", "suffix", "replacement"):
                check_affix(step.get(name), f"{kind}.{name}")
        case _:
            pass
    return 1


def _check_pattern(pattern: Mapping[str, object], kind: str) -> None:
    for text in pattern.values():
        if isinstance(text, str) and len(text) > MAX_PATTERN:
            raise UnsupportedTokenizer(
                kind, f"its pattern has {len(text):,} characters, more than {MAX_PATTERN:,}"
            )


def _check_padding(padding: Mapping[str, object]) -> None:
    strategy = padding.get("strategy")
    length: object = padding.get("pad_to_multiple_of")
    if isinstance(strategy, Mapping):
        length = cast(Mapping[str, object], strategy).get("Fixed")
    if isinstance(length, int) and length > 1 << 24:
        raise UnsupportedTokenizer("padding", f"it fills every text up to {length:,} tokens")


def _check_model(model: Mapping[str, object]) -> None:
    kind = f"model.{model.get('type') or 'BPE'}"
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        check_affix(model.get(name), f"{kind}.{name}")
    prefix = model.get("continuing_subword_prefix")
    merges = model.get("merges")
    if isinstance(prefix, str) and prefix and isinstance(merges, list):
        check_prefix(prefix, cast(list[object], merges), kind)


def check_affix(affix: object, component: str) -> None:
    """Check the length of a mark for a word's end or continuation, if it is a string.

    Raises:
        UnsupportedTokenizer: It is too long.
    """
    if isinstance(affix, str) and len(affix) > MAX_AFFIX:
        raise UnsupportedTokenizer(
            component, f"it has {len(affix):,} characters, more than {MAX_AFFIX}"
        )


def check_prefix(prefix: str, merges: Iterable[object], kind: str) -> None:
    """Check that the second piece of every merge starts with the prefix that the library cuts off.

    The library cuts off as many bytes as the prefix has characters, without comparing them.

    Args:
        merges: The merges, each a pair, or a text with a space between its pieces.

    Raises:
        UnsupportedTokenizer: A piece does not, or the prefix is not ASCII.
    """
    component = f"{kind}.continuing_subword_prefix"
    if not prefix.isascii():
        raise UnsupportedTokenizer(
            component, f"the library cuts bytes off where {prefix!r} has characters"
        )
    for merge in merges:
        pair: Sequence[object] = ()
        if isinstance(merge, str):
            pair = merge.split(" ")
        elif isinstance(merge, list):
            pair = cast(list[object], merge)
        if len(pair) == 2 and isinstance(pair[1], str) and not pair[1].startswith(prefix):
            raise UnsupportedTokenizer(
                component,
                f"the merge of {pair[0]!r} and {pair[1]!r} joins a piece that does not start with "
                f"{prefix!r}",
            )
