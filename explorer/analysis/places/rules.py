"""The places of a grammar as parts of a source: one part for each rule, and the open rules."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.analysis.places.part import SourcePart
from explorer.analysis.places.positions import SourcePlace
from explorer.automata.tree.nodes import Source
from explorer.languages.grammar.diagnosis.places import RulePlace, open_rules


def parts_of_rules(
    found: Sequence[RulePlace], source: Source, path: tuple[int, ...]
) -> list[SourcePart]:
    """The parts that expect something, the open rules with the last.

    Args:
        found: The places at which the grammar goes on.
        source: The grammar.
        path: The way to it.
    """
    by_rule: dict[str, list[SourcePlace]] = {}
    for place in found:
        start, end = place.origin.start, place.origin.end
        written = place.origin.source or source
        here = SourcePlace(written, start, end, written.text[start:end], place.origin.label)
        by_rule.setdefault(place.rule, []).append(here)
    parts = [SourcePart("expects", source, path, tuple(each)) for each in by_rule.values()]
    if parts:
        parts[-1] = SourcePart("expects", source, path, parts[-1].positions, note=open_rules(found))
    return parts
