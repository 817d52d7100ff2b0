"""The machines of a schema that is changed a little, which share what they have in common.

Values that a change leaves alone are drawn once for all machines with the same options: their
subschemas are the same objects. Where a reference leads to what is changed, or the schema is
followed on a stack or remembers items, a machine is made by itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final

from explorer.automata.discovered.discover import discover
from explorer.automata.machine import ByteMachine
from explorer.automata.tree.nodes import Outline
from explorer.budget import Budget, Meter
from explorer.languages.schema.diagnosis.keywords import REFERENCES
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.reading.subschemas import Schema, every_part, not_too_deep
from explorer.languages.schema.values.sets import ValueSets
from explorer.languages.schema.values.spelled import JsonTexts, drawn_by

LIMITS: Final = Budget(states=100_000, seconds=3)
"""The budget of one machine."""
MOST_SETS: Final = 4
"""The most options for which drawn values are kept."""
MOST_SHARING: Final = 300
"""The most machines that share drawn values; then others are drawn."""


class _Shared:
    """The values that the machines with some options share.

    Args:
        schema, remotes: As for `Variants`.
    """

    def __init__(
        self, schema: Schema, remotes: Mapping[str, Schema], options: SchemaOptions
    ) -> None:
        self.count = 0
        self._options = options
        self._sets = ValueSets(options, Meter())
        self._texts = JsonTexts(self._sets, options, late=True)
        self._root, _ = self._sets.root(schema, remotes)

    def drawn(self, schema: Schema, meter: Meter) -> Outline:
        """The texts of a changed schema."""
        self._sets.watch(meter)
        root = self._sets.changed(self._root, schema)
        return not_too_deep(lambda: self._texts.whole(*root, self._options.depth))


@dataclass(eq=False)
class Variants:
    """Makes the machines.

    Args:
        schema: The schema as it was written.
        remotes: Schemas that references may name, by their address.
        may_share: Whether values can be drawn for several machines.
        alone: Makes the machine of a schema by itself.
    """

    schema: Schema
    remotes: Mapping[str, Schema]
    may_share: bool
    alone: Callable[[Schema, SchemaOptions], ByteMachine]
    _shared: OrderedDict[SchemaOptions, _Shared] = field(
        default_factory=OrderedDict[SchemaOptions, _Shared]
    )

    def machine(
        self, schema: Schema, options: SchemaOptions, changed: Iterable[str]
    ) -> ByteMachine:
        """The machine of a schema, discovered as far as it is asked.

        Args:
            changed: The pointers at which it differs from `schema`.

        Raises:
            ExplorerError: There is no such schema, or it is too large.
        """
        on_stack = options.recursion == "stack" or not (
            self.may_share or options.recursion == "unroll"
        )
        if on_stack or any(map(self._is_referenced, changed)):
            return self.alone(schema, options)
        shared = self._shared.get(options)
        if shared is None or shared.count == MOST_SHARING:
            shared = self._shared[options] = _Shared(self.schema, self.remotes, options)
            if len(self._shared) > MOST_SETS:
                self._shared.popitem(last=False)
        self._shared.move_to_end(options)
        shared.count += 1
        return discover(drawn_by(partial(shared.drawn, schema)), LIMITS)

    @cached_property
    def _targets(self) -> tuple[str, ...]:
        """The places to which references lead; the whole schema where that is not evident."""
        targets: dict[str, None] = {}
        for _, here, _ in every_part(self.schema):
            for reference in (here[keyword] for keyword in REFERENCES if keyword in here):
                is_pointer = isinstance(reference, str) and reference[:2] == "#/"
                targets[reference[1:] if is_pointer else ""] = None
        return tuple(targets)

    def _is_referenced(self, pointer: str) -> bool:
        """Whether a reference leads to what is changed, or into it."""
        return any(
            f"{pointer}/".startswith(f"{target}/") or target.startswith(f"{pointer}/")
            for target in self._targets
        )
