"""The declared steps of a tokenizer's preprocessing, each as a relation between texts.

A step is the JSON of a component of the `tokenizers` library, or one of three further kinds: the
mark that stands for a space, the way in which a decoder joins words, and added tokens that would
cut the text. Followed in any language are prefixes, single characters that are replaced (for a step
that changes each character by itself, the library is called with each character concerned), and
cuts that drop nothing. The other steps are followed a text at a time, by the library's own
functions (`rewriting_function`).
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, cast, get_args

from explorer.automata.construction.operations import equivalent, intersection
from explorer.automata.interchange.interegular_bridge import alphabet_of
from explorer.automata.machine import Dfa
from explorer.automata.tree.charset import (
    CharSet,
    char_set,
    character,
    characters,
    complement,
    without,
)
from explorer.budget import Meter
from explorer.errors import UnsupportedTokenizer
from explorer.languages.stages.forms.normal_forms import (
    Form,
    concerns,
    joins,
    normal_form_machines,
)
from explorer.languages.stages.relation import Relation, character_map, prefixed
from explorer.vocabulary.readers.rank_files import RankEncoder
from explorer.vocabulary.readers.sentencepiece_file import SentencePieceEncoder
from explorer.vocabulary.tokenizer.byte_alphabet import BYTE_OF
from explorer.vocabulary.tokenizer.decoder import flatten
from explorer.vocabulary.tokenizer.encoder import TokenizersEncoder
from explorer.vocabulary.tokenizer.preprocessing import combines, only_component, parse_component
from explorer.vocabulary.vocabulary import Vocabulary
from explorer.vocabulary.without_encoder import without_encoder

Step = Mapping[str, Any]
"""A step as a ``tokenizer.json`` declares it."""


_REMEDY: Final = (
    "Restrict the characters of the constraint first, give a choice of texts, or leave out "
    "preprocessed(...) and write the pattern for what the tokens spell."
)
MARK: Final = "\u2581"
_MANY: Final = 2048
"""The most characters that a normalizer may change: the transducer has an arc for each."""
_MOST_ASKED: Final = 20_000
"""The most characters for which a normalizer is called anew; beyond, a table of all is cached."""
_BY_CHARACTER: Final = frozenset(
    {*get_args(Form), "Lowercase", "Nmt", "StripAccents", "BertNormalizer", "Precompiled"}
)
_CUTTERS: Final = frozenset(
    {"Split", "UnicodeScripts", "FixedLength", "Punctuation", "Digits", "CharDelimiterSplit"}
)
_OF_WHITE: Final = frozenset({"Strip", "Whitespace", "WhitespaceSplit", "BertPreTokenizer"})
_NORMALIZERS: Final = _BY_CHARACTER | {"Prepend", "Replace", "Strip"}
_PRE_TOKENIZERS: Final = (_CUTTERS | _OF_WHITE | {"ByteLevel", "Metaspace"}) - _NORMALIZERS
_NO_JOIN: Final[Step] = {"type": "join", "before": "", "after": ""}

_WHITE: Final = char_set(
    [(9, 13), (32, 32), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
     (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)]
)  # fmt: skip


@dataclass(frozen=True)
class TextsBefore:
    """The texts before a step of a tokenizer, and whether a step before it cuts them."""

    machine: Dfa
    is_cut: bool
    meter: Meter

    @cached_property
    def alphabet(self) -> CharSet:
        """The characters that the texts may have."""
        return alphabet_of(self.machine)


def steps_of(vocabulary: Vocabulary) -> tuple[str, ...]:
    """The steps of a tokenizer's preprocessing, each as JSON.

    Raises:
        UnsupportedTokenizer: There is no tokenizer, or a step is not supported.
    """
    steps: list[Step] = []
    match vocabulary.encoder:
        case TokenizersEncoder() as encoder:
            tokenizer = encoder.tokenizer
            normal = flatten(parse_component(tokenizer.normalizer, "normalizer"), "normalizers")
            splits = flatten(
                parse_component(tokenizer.pre_tokenizer, "pre_tokenizer"), "pretokenizers"
            )
            steps = [*normal, *splits]
            for step in steps:
                _check_known(step)
            before, after = {"none": ("", ""), "before": (" ", ""), "after": ("", " ")}[
                encoder.joins
            ]
            marks = [m for step in steps if (m := _space_mark(step)) is not None]
            plain = all(step["type"] in _BY_CHARACTER or not _writes(step) for step in steps)
            rules = tokenizer.normalizer
            harmful = sorted(
                text for text in (entry.content for entry in encoder.literal.values())
                if not plain or (rules is not None and rules.normalize_str(text) != text)
            )  # fmt: skip
            if harmful:
                steps = [{"type": "added", "texts": harmful}, *steps]
            join: dict[str, object] = {"type": "join", "before": before, "after": after}
            steps += [{**join, "tight": tight} if (tight := encoder.tight_starts()) else join]
            steps += [{"type": "spaces", "marks": sorted(set(marks))}]
        case RankEncoder():
            pass
        case SentencePieceEncoder() as encoder:
            steps = _of_sentencepiece(encoder)
        case None:
            raise without_encoder(vocabulary, "what it does to a text")
        case encoder:
            raise UnsupportedTokenizer(
                f"tokenizer.{type(encoder).__name__}",
                "what it does to a text is not declared",
                remedy="Give the tokenizer.json of the same model.",
            )
    return tuple(json.dumps(step, sort_keys=True) for step in steps)


def parts_of_step(step: Step) -> tuple[Step, ...]:
    """The steps that a step is made of, each one relation.

    Example:
        >>> [one["type"] for one in parts_of_step({"type": "Metaspace", "replacement": "▁"})]
        ['Replace', 'Metaspace']
    """
    if step["type"] != "Metaspace":
        return (step,)
    spaces = {"type": "Replace", "pattern": {"String": " "}, "content": step["replacement"]}
    return spaces, step


def cuts(step: Step) -> bool:
    """Whether a step cuts a text into parts."""
    if step["type"] in ("ByteLevel", "Metaspace"):
        return bool(step.get("use_regex" if step["type"] == "ByteLevel" else "split", True))
    return step["type"] in _PRE_TOKENIZERS


def _check_known(step: Step) -> None:
    if step["type"] not in _MAKERS:
        raise UnsupportedTokenizer(
            f"preprocessing.{step['type']}", "a step of a kind that is not followed", remedy=_REMEDY
        )


def _writes(step: Step) -> bool:
    """Whether a step of the pre-tokenizer changes the text, not only cuts it."""
    return not (
        step["type"] in _CUTTERS
        or step["type"] in ("Punctuation", "Digits")
        or (step["type"] == "ByteLevel" and not step.get("add_prefix_space"))
    )


def _space_mark(step: Step) -> str | None:
    if step["type"] == "Metaspace":
        return str(step["replacement"])
    if step["type"] == "Replace" and step.get("pattern") == {"String": " "}:
        content = step["content"]
        return content if len(content) == 1 else None
    return None


def _of_sentencepiece(encoder: SentencePieceEncoder) -> list[Step]:
    """The steps of a SentencePiece model, as its library shows them.

    Raises:
        UnsupportedTokenizer: The model rewrites more than the beginning of a text.
    """
    odd = [chr(k) for k in range(1, 0x3100) if unicodedata.normalize("NFKC", chr(k)) != chr(k)]
    text = encoder.rewritten(("a  b", "a ", "\t", "\r\n", "e\u0301", *odd))
    if text is not None:
        raise UnsupportedTokenizer(
            "normalizer.charsmap",
            f"it rewrites text such as {text!r}, and its rules are not read from this format",
            remedy="Give the tokenizer.json of the same model.",
        )
    prefix = encoder.prefix
    steps: list[Step] = [{"type": "Prepend", "prepend": prefix}] if prefix else []
    return [*steps, {"type": "spaces", "marks": [MARK]}]


def relation_of(step: Step, before: TextsBefore) -> Relation | None:
    """The relation of a step; ``None`` if it changes nothing.

    Raises:
        UnsupportedTokenizer: The step is not finite-state for these texts, or is not supported.
    """
    _check_known(step)
    return _MAKERS[str(step["type"])](step, before)


def _refused(step: Step, why: str, remedy: str = _REMEDY) -> UnsupportedTokenizer:
    return UnsupportedTokenizer(f"preprocessing.{step['type']}", why, remedy=remedy)


# --- normalizers ----------------------------------------------------------------------------------


def _by_character(step: Step, before: TextsBefore) -> Relation | None:
    kind = str(step["type"])
    text = json.dumps(step, sort_keys=True)
    if kind in get_args(Form):
        form = cast("Form", kind)
        if not concerns(form, before.alphabet) or _is_in(form, before):
            return None
        if joins(form, before.alphabet):
            in_form = (
                f"Allow only texts in this form: c.normalized({kind!r}).preprocessed(tokenizer)."
            )
            raise _refused(step, "it composes and orders marks", in_form)
    if kind == "Precompiled":
        marks = [code for code in _codes(before.alphabet) if combines(chr(code))]
        if marks:
            why = f"it looks at characters together with marks after them, such as U+{marks[0]:04X}"
            raise _refused(step, why)
    if sum(high - low + 1 for low, high in before.alphabet.ranges) > _MOST_ASKED:
        changes = _changes_of(text)
    else:
        changes = _changed(text, _codes(before.alphabet))
    changed = [(chr(code), after) for code, after in changes.items() if code in before.alphabet]
    before.meter.check("Reading a normalizer")
    if not changed:
        return None
    if len(changed) > _MANY:
        raise _refused(step, f"it changes {len(changed):,} characters of this constraint")
    others = without(before.alphabet, characters(char for char, _ in changed))
    return character_map(changed, others)


def _is_in(form: Form, before: TextsBefore) -> bool:
    """Whether all texts are in a normal form already."""
    machine = before.machine
    for condition in normal_form_machines(form):
        machine = intersection(machine, condition, before.meter)
    return equivalent(machine, before.machine, before.meter)


def _codes(chars: CharSet) -> list[int]:
    return [code for low, high in chars.ranges for code in range(low, high + 1)]


def _changed(step: str, codes: Iterable[int]) -> dict[int, str]:
    """The replacements of those of the given characters that a normalizer changes."""
    normalize = _normalizer_of(step)
    return {code: text for code in codes if (text := normalize(chr(code))) != chr(code)}


@lru_cache(maxsize=4)
def _changes_of(step: str) -> Mapping[int, str]:
    """The replacements of all characters that a normalizer changes."""
    return _changed(step, (code for code in range(0x110000) if not 0xD800 <= code < 0xE000))


@lru_cache(maxsize=16)
def _normalizer_of(step: str) -> Callable[[str], str]:
    normalizer = only_component("normalizer", json.loads(step)).normalizer
    if normalizer is None:
        raise UnsupportedTokenizer("normalizer", "it cannot be rebuilt", remedy=_REMEDY)
    return normalizer.normalize_str


def _prepend(step: Step, before: TextsBefore) -> Relation | None:
    return prefixed(str(step["prepend"]), char_set([]), before.alphabet)


def _replace(step: Step, before: TextsBefore) -> Relation | None:
    text = cast("Mapping[str, str]", step["pattern"]).get("String")
    if text is None or len(text) != 1:
        if text is not None and any(ord(char) not in before.alphabet for char in text):
            return None
        raise _refused(step, "it replaces runs or longer texts")
    if ord(text) not in before.alphabet:
        return None
    return character_map([(text, str(step["content"]))], without(before.alphabet, character(text)))


def _beside_spaces(step: Step, before: TextsBefore) -> Relation | None:
    """A step that looks for white space alone, and drops it."""
    if without(before.alphabet, complement(_WHITE)).ranges:
        raise _refused(step, "it drops white space")
    return None


# --- pre-tokenizers -------------------------------------------------------------------------------


def _byte_level(step: Step, before: TextsBefore) -> Relation | None:
    return _with_prefix(" ", step, before) if step.get("add_prefix_space") else None


def _metaspace(step: Step, before: TextsBefore) -> Relation | None:
    # Writing the mark for spaces is a separate step: see `parts_of_step`.
    scheme = str(step.get("prepend_scheme", "always"))
    return None if scheme == "never" else _with_prefix(str(step["replacement"]), step, before)


def _with_prefix(prefix: str, step: Step, before: TextsBefore) -> Relation | None:
    if before.is_cut and step.get("prepend_scheme") != "first":
        raise _refused(step, "it puts a prefix before each part of a text that a step before cut")
    unless = character(prefix) if ord(prefix) in before.alphabet else char_set([])
    return prefixed(prefix, unless, without(before.alphabet, character(prefix)))


def _marks_as_spaces(step: Step, before: TextsBefore) -> Relation | None:
    marks = [mark for mark in step["marks"] if ord(mark) in before.alphabet]
    if not marks:
        return None
    others = without(before.alphabet, characters(marks))
    return character_map([(mark, " ") for mark in marks], others)


def _cut(step: Step, before: TextsBefore) -> Relation | None:
    """A step that cuts a text, whose parts are joined again as they were."""
    if step.get("behavior") == "Removed" or step["type"] == "CharDelimiterSplit":
        raise _refused(step, "it drops where it cuts")
    return None


# --- ours -----------------------------------------------------------------------------------------


def _join(step: Step, before: TextsBefore) -> Relation | None:
    if step["before"] or step["after"]:
        raise _refused(step, "the decoder puts a space between words")
    return None


def _added(step: Step, before: TextsBefore) -> Relation | None:
    """Refuse texts that contain an added token, which the tokenizer would find before all else."""
    machine = before.machine
    for text in cast("list[str]", step["texts"]):
        states = set(range(machine.num_states))
        for byte in text.encode():
            column = machine.symbol_class[byte]
            states = {int(t) for s in states if (t := machine.table[s, column]) >= 0}
        if states:
            raise UnsupportedTokenizer(
                f"added_token {text!r}",
                "it cuts a text before anything else does, and texts of this constraint may hold "
                "it",
                remedy="Take texts that hold it away from the constraint.",
            )
    return None


_MAKERS: Final[Mapping[str, Callable[[Step, TextsBefore], Relation | None]]] = {
    **dict.fromkeys(_BY_CHARACTER, _by_character),
    **dict.fromkeys(_CUTTERS, _cut),
    **dict.fromkeys(_OF_WHITE, _beside_spaces),
    "Prepend": _prepend,
    "Replace": _replace,
    "ByteLevel": _byte_level,
    "Metaspace": _metaspace,
    "spaces": _marks_as_spaces,
    "join": _join,
    "added": _added,
}


# --- a text at a time -----------------------------------------------------------------------------


def rewriting_function(steps: Sequence[Step]) -> Callable[[str], str]:
    """The steps as a function of a text, made of the library's own.

    Raises:
        UnsupportedTokenizer: A step is of an unknown kind, or cannot be rebuilt.
    """
    for step in steps:
        _check_known(step)
    splits = [step for step in steps if step["type"] in _PRE_TOKENIZERS]
    normal = [step for step in steps if step["type"] in _NORMALIZERS]
    normalize = _normalizer_of(json.dumps({"type": "Sequence", "normalizers": normal}))
    sequence = {"type": "Sequence", "pretokenizers": splits}
    splitter = only_component("pre_tokenizer", sequence).pre_tokenizer
    if splitter is None:
        raise UnsupportedTokenizer("pre_tokenizer", "it cannot be rebuilt", remedy=_REMEDY)
    over_bytes = any(step["type"] == "ByteLevel" for step in splits)
    (join,) = [step for step in steps if step["type"] == "join"] or [_NO_JOIN]
    marks = [mark for step in steps if step["type"] == "spaces" for mark in step["marks"]]
    tight = tuple(join.get("tight", ()))

    def rewritten(text: str) -> str:
        text = normalize(text)
        pieces = [piece for piece, _ in splitter.pre_tokenize_str(text)] if splits else [text]
        if over_bytes:
            pieces = [bytes(map(BYTE_OF.__getitem__, piece)).decode() for piece in pieces]
        words = [
            f"{'' if piece.startswith(tight) else join['before']}{piece}{join['after']}"
            for piece in pieces if piece
        ]  # fmt: skip
        whole = "".join(words)
        for mark in marks:
            whole = whole.replace(mark, " ")
        return whole

    return rewritten
