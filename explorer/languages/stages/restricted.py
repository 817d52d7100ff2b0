"""The stage that allows only some characters, or only the words of a list.

Scripts are those of Unicode. Digits, spaces, punctuation, symbols, emoji and combining marks belong
to no script of their own (they are *Common* or *Inherited*) and stay allowed beside any script.

A list of words is a trie: a text passes if each of its words (longest runs of letters, digits and
underscores, as ``\\w`` has them) is in the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import ClassVar, Final

from explorer.arguments import listed, plain, shown, wrong
from explorer.automata.machine import Dfa
from explorer.automata.tree.build import build
from explorer.automata.tree.charset import ANY, CharSet, char_set, without
from explorer.automata.tree.nodes import (
    Branch,
    Class,
    Concat,
    Deferred,
    Empty,
    Intersect,
    Node,
    Repeat,
    Texts,
    Written,
)
from explorer.budget import Meter
from explorer.errors import ConstraintError
from explorer.languages.regex.characters import category
from explorer.languages.regex.properties import scripts
from explorer.languages.sources.choice import check_encodable
from explorer.languages.stages.stage import TextStage, register_stage

BLOCKS: Final[Mapping[str, tuple[tuple[int, int], ...]]] = {
    "ascii": ((0, 0x7F),),
    "printable-ascii": ((0x20, 0x7E),),
    "latin-1": ((0, 0xFF),),
    "hangul": ((0x20, 0x20), (0xAC00, 0xD7A3)),
    "digits": ((0x30, 0x39),),
}
"""The named sets of characters; ``hangul`` is the precomposed syllables and the space."""

_REMEDY: Final = (
    'Give the name of a set, scripts=["Latin"], chars="abc" or words=["cat", "dog"]; a session and '
    'generate take these as restrict="ascii" or restrict={"scripts": ["Latin"]}.'
)


@register_stage
@dataclass(frozen=True)
class Restricted(TextStage):
    """Texts of some characters, or of some words.

    Args:
        names: The names of sets in `BLOCKS`.
        words: The only allowed words; empty for any.

    Raises:
        ConstraintError: Nothing is given, or a name is not known.
    """

    kind: ClassVar[str] = "restricted"

    names: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    chars: str = ""
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (self.names or self.scripts or self.chars or self.words):
            raise ConstraintError("restrict(...) is given nothing to keep to.", remedy=_REMEDY)
        for name in self.names:
            _check_set(name)
        for name in self.scripts:
            _check_script(name)
        letters = category("w", 0)
        for word in self.words:
            if not word or any(ord(letter) not in letters for letter in word):
                raise ConstraintError(
                    f"words has {shown(word)}: a word is letters, digits and underscores.",
                    remedy="Use choice([...]) for texts that hold spaces or punctuation.",
                )

    @classmethod
    def of(cls, name: object, scripts: object, chars: object, words: object) -> Restricted:
        """The stage that `explorer.Constraint.restrict` describes.

        Raises:
            ConstraintError: An argument has a wrong type, or nothing is given.
        """
        if isinstance(scripts, str):
            scripts = [scripts]
        chars = plain(chars)
        if not isinstance(chars, str):
            raise wrong("chars", chars, "a text of the characters", error=ConstraintError)
        check_encodable(chars)
        return cls(
            () if name is None else _texts("name", [name] if isinstance(name, str) else name),
            _texts("scripts", scripts),
            "".join(sorted(set(chars))),
            tuple(sorted(set(_texts("words", words)))),
        )

    def characters(self) -> CharSet:
        """The characters that a text may have."""
        ranges = [(ord(char), ord(char)) for char in self.chars]
        ranges += [pair for name in self.names for pair in BLOCKS[name]]
        if self.scripts:
            of = scripts()
            named = (*self.scripts, "Common", "Inherited")
            ranges += [pair for name in named for pair in of[name].ranges]
        return char_set(ranges) if ranges else ANY

    def language(self) -> Node:
        """The syntax tree of the texts that pass."""
        allowed = self.characters()
        if not self.words:
            return Repeat(0, 0, Class(0, 0, allowed), 0, None, False)
        apart = Class(0, 0, without(allowed, category("w", 0)))
        word: Node = Texts(0, 0, self.words)
        again = Concat(0, 0, (word, Repeat(0, 0, apart, 1, None, False)))
        return Concat(
            0,
            0,
            (
                Repeat(0, 0, apart, 0, None, False),
                Repeat(0, 0, again, 0, None, False),
                Branch(0, 0, (word, Empty(0, 0))),
            ),
        )

    def around(self, part: Written) -> Node:
        """The texts of the part that pass."""
        return Intersect(0, 0, part, self.named(Deferred(0, 0, self.picture)))

    def kept(self, meter: Meter) -> Dfa:
        """The machine of the texts that pass."""
        return build(self.language(), meter)

    def picture(self, meter: Meter) -> Dfa:
        """The machine of the texts that pass."""
        return self.kept(meter)

    @property
    def title(self) -> str:
        """The name on the pipeline bar."""
        if self.words:
            return f"{len(self.words):,} words"
        return ", ".join([*self.names, *self.scripts]) or "characters"

    @property
    def about(self) -> str:
        """A sentence that says what the stage does."""
        kept = [*self.names, *(f"the script {name}" for name in self.scripts)]
        if self.chars:
            kept.append(f"the characters {shown(self.chars)}")
        clauses = [f"only characters of {' or '.join(kept)}"] if kept else []
        if self.words:
            clauses.append(f"only words of a list of {len(self.words):,}, a trie")
        return " and ".join(clauses)

    @classmethod
    def load(cls, fields: Mapping[str, object]) -> Restricted:
        """The stage that was saved."""
        return cls.of(*(fields[name] for name in ("names", "scripts", "chars", "words")))

    def __str__(self) -> str:
        given = [repr(name) for name in self.names]
        if self.scripts:
            given.append(f"scripts={list(self.scripts)!r}")
        if self.chars:
            given.append(f"chars={self.chars!r}")
        if self.words:
            few = len(self.words) <= 4
            given.append(f"words={list(self.words)!r}" if few else f"words=[{len(self.words):,}]")
        return f"restrict({', '.join(given)})"


def _texts(name: str, value: object) -> tuple[str, ...]:
    entries = listed(name, value, "a list of texts", error=ConstraintError)
    texts = [plain(entry) for entry in entries]
    for entry in texts:
        if not isinstance(entry, str):
            raise wrong(f"An entry of {name}", entry, "a text", error=ConstraintError)
        check_encodable(entry)
    return tuple(str(entry) for entry in texts)


def _check_set(name: str) -> None:
    """Refuse an unknown name of a set of characters."""
    if name in BLOCKS:
        return
    remedy = (
        f'Choose one of {", ".join(sorted(BLOCKS))}; or write restrict(scripts=["Latin"]) or '
        'restrict(chars="0123456789"), and as the argument of a session or of generate '
        'restrict={"scripts": ["Latin"]} or restrict={"chars": "0123456789"}.'
    )
    script = next((known for known in scripts() if known.casefold() == name.casefold()), "")
    if script:
        remedy = (
            f'{script} is a script: write restrict(scripts=["{script}"]), and as the argument '
            f"of a session or of generate "
            f'restrict={{"scripts": ["{script}"]}}.'
        )
    elif close := get_close_matches(name.casefold(), BLOCKS, 1):
        remedy = f'Did you mean "{close[0]}"? {remedy}'
    raise ConstraintError(
        f"{name!r} is not a set of characters that is known here.",
        remedy=remedy,
        evidence={"name": name},
    )


def _check_script(name: str) -> None:
    """Refuse an unknown name of a script."""
    known = scripts()
    if name in known:
        return
    close = get_close_matches(name.capitalize(), known, 1, 0.5)
    meant = f'Did you mean "{close[0]}"? ' if close else ""
    raise ConstraintError(
        f"{name!r} is not a script that is known here.",
        remedy=f"{meant}Scripts have Unicode's own names, such as Latin, Greek, Cyrillic, Arabic, "
        f"Hangul and Han; {len(known)} are known.",
        evidence={"name": name},
    )
