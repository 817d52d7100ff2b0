"""Texts of JSON values at random: any spelling, damaged ones, and words of a machine."""

from __future__ import annotations

import json
import random
import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from explorer.automata.machine import NO_ARC, ByteMachine

LONGEST_WALK: Final = 200
_PLAIN: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?0+)?")
_LITERAL: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NUMBER: Final = re.compile(r"-?[0-9][0-9.eE+-]*")


class NoDecision(Exception):
    """The text says nothing: a name twice, a number that a float rounds, half a character."""


def value_of(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: It is not JSON.
        NoDecision: It is, and has a name twice, a number that a float rounds, or half of a
            surrogate pair.
    """

    def constant(word: str) -> Any:
        raise ValueError(word)

    def number(word: str) -> float:
        read = float(word)
        try:
            if Decimal(word) != Decimal(repr(read)):
                rounded.append("a number that a float rounds")
        except InvalidOperation:  # An exponent of many digits.
            rounded.append("a number that a float rounds")
        return read

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            rounded.append("a name twice")
        return made

    rounded: list[str] = []
    read = json.loads(text, parse_constant=constant, parse_float=number, object_pairs_hook=members)
    if rounded:
        raise NoDecision(rounded[0])
    try:
        json.dumps(read, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise NoDecision("half a character") from error
    return read


def has_plain_numbers(text: str) -> bool:
    """Whether every number is written in a spelling that all sets of numbers have."""
    bare = _LITERAL.sub('""', text)
    return all(_PLAIN.fullmatch(word) for word in _NUMBER.findall(bare))


def spelled(draw: random.Random, given: Any) -> str:
    """A value in any spelling: white space, order, escapes, zeros and exponents."""

    def blank() -> str:
        return "" if draw.random() < 0.7 else "".join(draw.choices(" \t\n\r", k=draw.randint(1, 2)))

    def string(text: str) -> str:
        letters: list[str] = []
        for letter in text:
            way = draw.random()
            if way < 0.75:
                letters.append(json.dumps(letter, ensure_ascii=False)[1:-1])
            elif way < 0.8 and letter == "/":
                letters.append("\\/")
            else:
                halves = letter.encode("utf-16-be")
                codes = [halves[k : k + 2].hex() for k in range(0, len(halves), 2)]
                letters += ["\\u" + (c.upper() if draw.random() < 0.5 else c) for c in codes]
        return f'"{"".join(letters)}"'

    def number(of: float) -> str:
        word = json.dumps(of)
        if draw.random() < 0.6 or "e" in word:
            return word
        if "." not in word and draw.random() < 0.5:
            word += ".0"
        if "." in word:
            word += "0" * draw.randint(0, 2)
        return word + draw.choice(["", "e0", "E+0", "e-00"])

    def written(of: Any) -> str:
        if isinstance(of, dict):
            names = draw.sample(list(of), len(of))
            members = [
                f"{blank()}{string(name)}{blank()}:{blank()}{written(of[name])}{blank()}"
                for name in names
            ]
            return f"{{{','.join(members) or blank()}}}"
        if isinstance(of, list):
            return f"[{','.join(f'{blank()}{written(item)}{blank()}' for item in of) or blank()}]"
        if isinstance(of, str):
            return string(of)
        if isinstance(of, bool) or of is None:
            return json.dumps(of)
        return number(of)

    return f"{blank()}{written(given)}{blank()}"


def damaged(draw: random.Random, text: str) -> str:
    """A text with one to two characters left out, put in, or changed."""
    letters = list(text)
    for _ in range(draw.randint(1, 2)):
        place = draw.randrange(len(letters) + 1)
        how = draw.random()
        if how < 0.4 and place < len(letters):
            letters.pop(place)
        elif how < 0.6 and place < len(letters):
            letters[place] = draw.choice('"\\{}[],:0123456789abe.-+ \n')
        else:
            letters.insert(place, draw.choice('"\\{}[],:0123456789abe.-+ \n'))
    return "".join(letters)


def walked(draw: random.Random, machine: ByteMachine) -> str | None:
    """A word of a machine by a random walk that prefers ends; ``None`` if it finds none."""
    state, word = machine.start, bytearray()
    while state != NO_ARC and len(word) < LONGEST_WALK:
        choices = machine.expected(state)
        if machine.is_accepting(state) and (not choices or draw.random() < 0.4):
            return word.decode()
        ends = [byte for byte in choices if byte in b'"]},:']
        few = [byte for byte in choices if byte not in b" \t\n\r" and byte < 0x80]
        how = draw.random()
        chosen = ends if ends and how < 0.45 else few if few and how < 0.97 else list(choices)
        byte = draw.choice(chosen)
        word.append(byte)
        state = machine.step(state, byte)
    return None
