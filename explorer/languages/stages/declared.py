"""The declared steps of a tokenizer's preprocessing, each as a relation between texts.

A step is the JSON of a component of the `tokenizers` library, or one of three further kinds: the
mark that stands for a space, the way in which a decoder joins words, and added tokens that would
cut the text. For a step that changes each character by itself, the library is called with each
character concerned; likewise to learn which characters a splitter drops, separates or keeps
together.
"""

from __future__ import annotations

import json
import re
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
from explorer.languages.stages.normalizing import EachText, few_texts
from explorer.languages.stages.relation import (
    CUT,
    Rewriting,
    before_pieces,
    character_map,
    cut_by_class,
    pieces_joined,
    runs_replaced,
    stripped,
    text_replaced,
)
from explorer.vocabulary.readers.rank_files import RankEncoder
from explorer.vocabulary.readers.sentencepiece_file import SentencePieceEncoder
from explorer.vocabulary.tokenizer.decoder import flatten
from explorer.vocabulary.tokenizer.encoder import TokenizersEncoder
from explorer.vocabulary.tokenizer.preprocessing import combines, only_component, parse_component
from explorer.vocabulary.vocabulary import Vocabulary
from explorer.vocabulary.without_encoder import without_encoder

Step = Mapping[str, Any]
"""A step as a ``tokenizer.json`` declares it."""


_REMEDY: Final = (
    "Restrict the characters of the constraint first, or leave out preprocessed(...) and write the "
    "pattern for what the tokens spell."
)
MARK: Final = "\u2581"
_MANY: Final = 2048
"""The most characters that a normalizer may change: the transducer has an arc for each."""
_MOST_ASKED: Final = 20_000
"""The most characters for which a normalizer is called anew; beyond, a table of all is cached."""
_BY_CHARACTER: Final = frozenset(
    {*get_args(Form), "Lowercase", "Nmt", "StripAccents", "BertNormalizer", "Precompiled"}
)
_SPLITTERS: Final = frozenset(
    {"Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Punctuation", "Digits",
     "CharDelimiterSplit"}
)  # fmt: skip
_CUTTERS: Final = frozenset({"Split", "UnicodeScripts", "FixedLength"})
_RUN: Final = re.compile(r"(\\s|[^\\\\\[\](){}.*+?^$|])(\+|\{(\d+),\})")
"""A pattern of one repeated character or white space, with the fewest repetitions."""

_WHITE: Final = char_set(
    [(9, 13), (32, 32), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
     (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)]
)  # fmt: skip


@dataclass(frozen=True)
class TextsBefore:
    """The texts before a step of a tokenizer, and the steps after it."""

    machine: Dfa
    later: Sequence[Step]
    meter: Meter

    @cached_property
    def alphabet(self) -> CharSet:
        """The characters that the texts may have."""
        return alphabet_of(self.machine)

    @property
    def by_pieces(self) -> bool:
        """Whether a later step works piece by piece, so that cuts matter."""
        return any(
            (step["type"] == "Metaspace" and step.get("prepend_scheme") == "always")
            or (step["type"] == "ByteLevel" and step.get("add_prefix_space"))
            or (step["type"] == "join" and (step["before"] or step["after"]))
            for step in self.later
        )  # fmt: skip


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
            cuts = flatten(
                parse_component(tokenizer.pre_tokenizer, "pre_tokenizer"), "pretokenizers"
            )
            steps = [*normal, *cuts]
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


def relation_of(step: Step, before: TextsBefore) -> Rewriting | None:
    """The relation of a step; ``None`` if it changes nothing.

    Raises:
        UnsupportedTokenizer: The step is not finite-state for these texts, or is not supported.
    """
    _check_known(step)
    return _MAKERS[str(step["type"])](step, before)


def _refused(step: Step, why: str) -> UnsupportedTokenizer:
    return UnsupportedTokenizer(f"preprocessing.{step['type']}", why, remedy=_REMEDY)


# --- normalizers ----------------------------------------------------------------------------------


def _by_character(step: Step, before: TextsBefore) -> Rewriting | None:
    kind = str(step["type"])
    text = json.dumps(step, sort_keys=True)
    if kind in get_args(Form):
        form = cast("Form", kind)
        if not concerns(form, before.alphabet) or _is_in(form, before):
            return None
        if joins(form, before.alphabet):
            return _asked(step, before, "it composes and orders marks")
    if kind == "Precompiled":
        marks = [code for code in _codes(before.alphabet) if combines(chr(code))]
        if marks:
            why = f"it looks at characters together with marks after them, such as U+{marks[0]:04X}"
            return _asked(step, before, why)
    if sum(high - low + 1 for low, high in before.alphabet.ranges) > _MOST_ASKED:
        changes = _changes_of(text)
    else:
        changes = _changed(text, _codes(before.alphabet))
    changed = [(chr(code), after) for code, after in changes.items() if code in before.alphabet]
    before.meter.check("Reading a normalizer")
    if not changed:
        return None
    if len(changed) > _MANY:
        return _asked(step, before, f"it changes {len(changed):,} characters of this constraint")
    others = without(before.alphabet, characters(char for char, _ in changed))
    return character_map(changed, others)


def _is_in(form: Form, before: TextsBefore) -> bool:
    """Whether all texts are in a normal form already."""
    machine = before.machine
    for condition in normal_form_machines(form):
        machine = intersection(machine, condition, before.meter)
    return equivalent(machine, before.machine, before.meter)


def _asked(step: Step, before: TextsBefore, why: str) -> EachText:
    """The relation that asks the library for each text.

    Raises:
        UnsupportedTokenizer: There are too many texts.
    """
    if few_texts(before.machine, before.meter):
        return EachText(_normalizer_of(json.dumps(step, sort_keys=True)))
    kind = str(step["type"])
    in_form = f"Allow only texts in this form: c.normalized({kind!r}).preprocessed(tokenizer)."
    remedy = in_form if kind in get_args(Form) else _REMEDY
    raise UnsupportedTokenizer(f"preprocessing.{kind}", why, remedy=remedy)


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


@lru_cache(maxsize=16)
def _splitter_of(step: str) -> Callable[[str], int]:
    splitter = only_component("pre_tokenizer", json.loads(step)).pre_tokenizer
    if splitter is None:
        raise UnsupportedTokenizer("pre_tokenizer", "it cannot be rebuilt", remedy=_REMEDY)
    return lambda text: len(splitter.pre_tokenize_str(text))


def _prepend(step: Step, before: TextsBefore) -> Rewriting | None:
    prefix = str(step["prepend"])
    return before_pieces(prefix, char_set([]), before.alphabet, only_first=True)


def _replace(step: Step, before: TextsBefore) -> Rewriting | None:
    pattern, content = cast("Mapping[str, str]", step["pattern"]), str(step["content"])
    if "String" in pattern:
        text = pattern["String"]
        if not text or any(ord(char) not in before.alphabet for char in text):
            return None
        if len(text) > 1:
            return text_replaced(text, content, before.alphabet)
        others = without(before.alphabet, character(text))
        return character_map([(text, content)], others)
    run_of = _RUN.fullmatch(pattern.get("Regex", ""))
    if run_of is None:
        raise _refused(
            step, f"the pattern {pattern.get('Regex', '')!r} is not a run of one character"
        )
    wanted = _WHITE if run_of[1] == "\\s" else character(run_of[1])
    run, others = without(before.alphabet, complement(wanted)), without(before.alphabet, wanted)
    return runs_replaced(run, others, int(run_of[3] or 1), content)


def _strip(step: Step, before: TextsBefore) -> Rewriting | None:
    spaces = without(before.alphabet, complement(_WHITE))
    others = without(before.alphabet, _WHITE)
    left, right = bool(step.get("strip_left", True)), bool(step.get("strip_right", True))
    return stripped(spaces, others, left=left, right=right)


# --- pre-tokenizers -------------------------------------------------------------------------------


def _byte_level(step: Step, before: TextsBefore) -> Rewriting | None:
    if not step.get("add_prefix_space"):
        return None
    return _prefixed(" ", before, only_first=False)


def _prefixed(prefix: str, before: TextsBefore, *, only_first: bool) -> Rewriting | None:
    unless = character(prefix) if ord(prefix) in before.alphabet else char_set([])
    others = without(before.alphabet, character(prefix))
    return before_pieces(prefix, unless, others, only_first=only_first)


def _metaspace(step: Step, before: TextsBefore) -> Rewriting | None:
    # Writing the mark for spaces is a separate step: see `parts_of_step`.
    if step.get("split", True) and before.by_pieces:
        raise _refused(step, "it cuts before each mark, and a later step works piece by piece")
    scheme = str(step.get("prepend_scheme", "always"))
    if scheme == "never":
        return None
    return _prefixed(str(step["replacement"]), before, only_first=scheme == "first")


def _marks_as_spaces(step: Step, before: TextsBefore) -> Rewriting | None:
    marks = [mark for mark in step["marks"] if ord(mark) in before.alphabet]
    if not marks:
        return None
    others = without(before.alphabet, characters(marks))
    return character_map([(mark, " ") for mark in marks], others)


def _split_by_class(step: Step, before: TextsBefore) -> Rewriting | None:
    behavior = step.get("behavior", "Isolated")
    if step["type"] == "Punctuation" and behavior not in ("Isolated", "Contiguous", "Removed"):
        if before.by_pieces:
            raise _refused(step, f"{behavior} joins what it cuts with its neighbours")
        return None
    pieces = _splitter_of(json.dumps(step, sort_keys=True))
    drop: list[int] = []
    alone: list[int] = []
    runs: list[list[int]] = []
    for code in _codes(before.alphabet):
        char = chr(code)
        if not pieces(char):
            drop.append(code)
        elif pieces(char * 2) > 1:
            alone.append(code)
        else:
            for run in runs:
                if pieces(chr(run[0]) + char) == 1:
                    run.append(code)
                    break
            else:
                runs.append([code])
    before.meter.check("Reading a splitter")
    if not before.by_pieces and not drop:
        return None
    sets = [char_set((c, c) for c in codes) for codes in (drop, alone, *runs)]
    return cut_by_class(sets[0], sets[1], sets[2:])


def _cut_by_pattern(step: Step, before: TextsBefore) -> Rewriting | None:
    removes = step.get("behavior") == "Removed"
    if removes or before.by_pieces:
        raise _refused(
            step,
            "it drops what its pattern matches" if removes
            else "it cuts by a pattern, and a later step works piece by piece",
        )  # fmt: skip
    return None


# --- ours -----------------------------------------------------------------------------------------


def _join(step: Step, before: TextsBefore) -> Rewriting | None:
    machine = before.machine
    cut = (machine.table[:, machine.symbol_class[CUT]] >= 0).any()
    if not (step["before"] or step["after"] or cut):
        return None
    tight = cast("list[str]", step.get("tight", []))
    return pieces_joined(str(step["before"]), str(step["after"]), before.alphabet, tight)


def _added(step: Step, before: TextsBefore) -> Rewriting | None:
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


_MAKERS: Final[Mapping[str, Callable[[Step, TextsBefore], Rewriting | None]]] = {
    **dict.fromkeys(_BY_CHARACTER, _by_character),
    **dict.fromkeys(_SPLITTERS, _split_by_class),
    **dict.fromkeys(_CUTTERS, _cut_by_pattern),
    "Prepend": _prepend,
    "Replace": _replace,
    "Strip": _strip,
    "ByteLevel": _byte_level,
    "Metaspace": _metaspace,
    "spaces": _marks_as_spaces,
    "join": _join,
    "added": _added,
}
