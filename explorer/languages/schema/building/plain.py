"""Objects whose members are all named, drawn as they are written.

Most schemas that people write for a model are an object with some named members and no others. In
a machine that discovers its states the values of the members wait
(`explorer.languages.schema.building.waiting`), so what is there at first is ``{``, the names in
their order, commas and ``}``. That needs no sets of values and no minimal machine: it is drawn here
at once, and the schema is not even read further before a text comes to a value.

Only what is certain is drawn so: each value may wait, or is one of a few words. Whatever is not
understood at a glance (references, patterns for names, bounds on the number of members) is left to
the compiler, which gives the same language.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, Final, cast

import numpy as np
from referencing import Registry

from explorer.automata.construction.operations import minimal_dfa
from explorer.automata.machine import Nfa
from explorer.automata.tree.layout import lay_out
from explorer.automata.tree.nodes import Deferred, Node, Outline
from explorer.budget import Meter
from explorer.errors import UnsupportedSchema
from explorer.languages.schema.building.certain import Certain
from explorer.languages.schema.building.making import Depth
from explorer.languages.schema.reading.keywords import WELL_FORMED, check_well_formed
from explorer.languages.schema.reading.sharing import REMARKS
from explorer.languages.schema.reading.subschemas import DEFAULT_DRAFT, DRAFTS, Schema, Subschema

STAGE: Final = "The members of an object"

_READ: Final = REMARKS | {"type", "properties", "required", "additionalProperties", "$schema"}

_WORDS: Final = {"null": ("null",), "boolean": ("false", "true")}

OutlineOf = Callable[[str, Meter], Outline]
"""From the name of a member to the tree of its values."""

OutlineOfType = Callable[[str, int], Outline]
"""From a type, with no other keyword, and a draft to the tree of its values."""


def plain_outline(
    schema: Schema, meter: Meter, value: OutlineOf, of_type: OutlineOfType
) -> Outline | None:
    """The tree of an object whose members are all named; ``None`` for another schema."""
    if not isinstance(schema, dict) or not all(map(_is_read, schema)):
        return None
    address = schema.get("$schema")
    if address is not None and (not isinstance(address, str) or address.rstrip("#") not in DRAFTS):
        return None
    draft = DRAFTS[address.rstrip("#")][0] if address else DEFAULT_DRAFT
    members, needed = schema.get("properties"), schema.get("required", [])
    if schema.get("type") != "object" or schema.get("additionalProperties") is not False:
        return None
    if not isinstance(members, dict) or not isinstance(needed, list):
        return None
    named = cast("dict[str, Schema]", members)
    try:
        check_well_formed(schema, "", draft)
        if not set(cast("list[str]", needed)) <= named.keys():
            return None
        whole = Subschema(schema, _nowhere(), "", draft)
        certain = Certain(_as_deep)
        values: list[Node | tuple[str, ...]] = []
        for name, part in named.items():
            below = whole.below(part, "properties", name)
            words = _words(part)
            if words is None and not certain.may_wait(below, _NO_DEPTH):
                return None
            given = _only_type(part)
            if words is not None:
                values.append(words)
            elif given is not None:
                values.append(_of_type(given, min(draft, 6), of_type))
            else:
                values.append(_later(name, value))
        return _drawn(list(named), set(cast("list[str]", needed)), values, meter)
    except (UnsupportedSchema, UnicodeEncodeError):  # Whoever reads it all says what is wrong.
        return None


_NO_DEPTH: Final = Depth(0, 0, 0, 0)


def _is_read(keyword: str) -> bool:
    """Whether a keyword is read here, or says nothing."""
    known = keyword in WELL_FORMED or keyword in ("id", "const", "definitions")
    return keyword in _READ or not (known or keyword.startswith("$"))


def _as_deep(depth: Depth, _: str, __: tuple[Subschema, ...]) -> Depth:
    """The depth inside a container that is described, and that no reference led to."""
    return depth


@cache
def _nowhere() -> Any:
    """Follows no reference."""
    registry: Registry[Any] = Registry()
    return registry.resolver()


def _later(name: str, value: OutlineOf) -> Deferred:
    """The values of a member, to be laid out when a text comes to them."""
    node = Deferred(
        0, 0, make=lambda meter: minimal_dfa(lay_out(node, meter).nfa, meter),
        outline=lambda meter: value(name, meter), is_late=True,
    )  # fmt: skip
    return node


@cache
def _of_type(given: str, draft: int, of_type: OutlineOfType) -> Deferred:
    """The values of a type, made once."""
    return _later(given, lambda name, _: of_type(name, draft))


def _only_type(schema: Schema) -> str | None:
    """The type of a schema that says nothing else."""
    if isinstance(schema, bool) or not schema.keys() <= REMARKS | {"type"}:
        return None
    given: object = schema.get("type")
    return given if given in ("string", "integer", "number") else None


def _words(schema: Schema) -> tuple[str, ...] | None:
    """The texts of a schema that allows a few words: strings of a list, truth values, null."""
    if isinstance(schema, bool) or not schema.keys() <= REMARKS | {"type", "enum"}:
        return None
    given: object = schema.get("type")
    if "enum" not in schema:
        return _WORDS.get(given) if isinstance(given, str) else None
    listed: object = schema["enum"]
    if given not in (None, "string") or not isinstance(listed, list) or not listed:
        return None
    texts = cast("list[object]", listed)
    if not all(isinstance(text, str) for text in texts):
        return None
    return tuple(dict.fromkeys(json.dumps(text, ensure_ascii=False) for text in texts))


def _drawn(
    names: list[str], needed: set[str], values: list[Node | tuple[str, ...]], meter: Meter
) -> Outline:
    """The automaton: states before a first member, before a further one, and after one.

    Raises:
        UnicodeEncodeError: Half of a surrogate pair stands in a name or a word.
        BudgetExceeded: It is too large.
    """
    count = len(names)
    written = [json.dumps(name, ensure_ascii=False).encode() + b":" for name in names]
    # 0 the start, 1 the end; then before a first member from k on, before a further one, after k.
    first, further, after = 2, 3 + count, 3 + 2 * count
    begin = 3 + 3 * count
    lengths = np.array([len(data) for data in written], np.int64)
    starts = begin + np.cumsum(lengths + 1) - lengths - 1
    states = begin + int((lengths + 1).sum())
    meter.check(STAGE, states=states, arcs=states)
    data = np.frombuffer(b"".join(written), np.uint8)
    sources = np.arange(len(data)) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    chains = np.stack([sources, data, data, sources + 1], axis=1)
    last = max((k for k, name in enumerate(names) if name in needed), default=-1)
    arcs: list[tuple[int, int, int, int]] = [(0, 0x7B, 0x7B, first)]
    epsilons: list[tuple[int, int]] = []
    parts: list[tuple[int, Node, int]] = []
    if last < 0:
        arcs.append((first, 0x7D, 0x7D, 1))
    for k, name in enumerate(names):
        member, value = int(starts[k]), int(starts[k] + lengths[k])
        epsilons += [(first + k, member), (further + k, member)]
        if name not in needed:
            epsilons.append((first + k, first + k + 1))
            if k + 1 < count:
                epsilons.append((further + k, further + k + 1))
        texts = values[k]
        if isinstance(texts, tuple):
            for text in texts:
                here = value
                for byte in text.encode()[:-1]:
                    arcs.append((here, byte, byte, states))
                    here, states = states, states + 1
                end = ord(text[-1])
                arcs.append((here, end, end, after + k))
        else:
            parts.append((value, texts, after + k))
        if k + 1 < count:
            arcs.append((after + k, 0x2C, 0x2C, further + k + 1))
        if k >= last:
            arcs.append((after + k, 0x7D, 0x7D, 1))
    meter.check(STAGE, states=states, arcs=len(arcs) + len(chains))
    nfa = Nfa(
        states, 0, np.concatenate([chains, np.array(arcs, np.int64)]).astype(np.int32),
        np.array(epsilons, np.int32).reshape(-1, 2), np.array([1], np.int32),
    )  # fmt: skip
    return Outline(nfa, tuple(parts))
