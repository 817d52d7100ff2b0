"""JSON without a schema, to a stated depth (Koo et al. 2024, section 5.1).

JSON nests without end, so no finite machine reads all of it. With a limit on how deep objects and
on how deep arrays nest inside each other it is regular: a value with ``o`` objects and ``a`` arrays
left is a scalar, an object of values with ``o - 1`` and ``a`` left, or an array of values with
``o`` and ``a - 1``. The machine has a copy of the scalars for each order in which objects and
arrays can nest, so its size grows as the number of those orders.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import comb
from typing import Any, ClassVar, Self

from explorer.arguments import whole_number
from explorer.automata.machine import Dfa
from explorer.automata.tree.changes import NamedSpan
from explorer.automata.tree.nodes import Deferred, Loop, Node, Offered, Source
from explorer.budget import Meter
from explorer.errors import ConstraintError, DamagedFile, ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.schema.diagnosis.remedies import LOOP_REMEDIES
from explorer.languages.schema.machine import compile_schema
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.reading.text import spot_of, value_of_json
from explorer.languages.schema.text.strings import Whitespace
from explorer.languages.sources.registry import register

DEEPEST = 50
"""The deepest limit that can be given; what a budget allows is far less."""


@register("JSON")
@dataclass(frozen=True)
class FreeJson(Source):
    """Every JSON value whose objects and arrays nest no deeper than two limits."""

    kind: ClassVar[str] = "json"
    plain_text: ClassVar[bool] = False

    max_object_depth: int = 3
    max_array_depth: int = 3
    whitespace: Whitespace = "compact"

    def __post_init__(self) -> None:
        whole_number("max_object_depth", self.max_object_depth, 0, DEEPEST, error=ConstraintError)
        whole_number("max_array_depth", self.max_array_depth, 0, DEEPEST, error=ConstraintError)
        checked = SchemaOptions(whitespace=self.whitespace)
        object.__setattr__(self, "whitespace", checked.whitespace)

    @property
    def text(self) -> str:
        """The call that makes it."""
        return (
            f"json(max_object_depth={self.max_object_depth}, "
            f"max_array_depth={self.max_array_depth}, whitespace={self.whitespace!r})"
        )

    @property
    def space_remedy(self) -> str:
        """The remedy for white space without end."""
        return LOOP_REMEDIES["space"]

    def loop_remedy(self, what: Loop) -> str:
        """The remedy for a loop: an option, or a schema with a keyword that bounds it."""
        return LOOP_REMEDIES[what]

    def lower(self) -> Node:
        """One machine, built later."""
        return Deferred(0, len(self.text), self.build, self.locate)

    def locate(
        self, data: bytes, byte: int | None = None, rest: bytes = b"", offered: Offered = "token"
    ) -> tuple[NamedSpan, ...]:
        """The limit that forbids the value, else the whole call.

        Args:
            byte: The byte that fails; ``None`` asks what must come before the text may end.
        """
        limits = {
            ord("{"): ("max_object_depth", self.max_object_depth, "objects"),
            ord("["): ("max_array_depth", self.max_array_depth, "arrays"),
        }
        if byte in limits and spot_of(data).awaits_value:
            name, limit, what = limits[byte]
            written = f"{name}={limit}"
            start = self.text.index(written)
            label = f"{written}, the deepest that {what} nest"
            return (NamedSpan(start, start + len(written), label),)
        return (NamedSpan(0, len(self.text), "json(...)"),)

    def build(self, meter: Meter) -> Dfa:
        """The machine over the text of JSON.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        orders = comb(self.max_object_depth + self.max_array_depth, self.max_array_depth)
        meter.check("JSON without a schema", states=orders)  # There are at least as many.
        options = SchemaOptions(whitespace=self.whitespace)
        return compile_schema(self._schema(), meter, options)[0]

    def _schema(self) -> dict[str, Any]:
        """A schema with one definition for each pair of remaining depths."""
        values: dict[str, Any] = {}
        pairs = product(range(self.max_object_depth + 1), range(self.max_array_depth + 1))
        for objects, arrays in sorted(pairs, key=sum):
            value: dict[str, Any] = {"type": ["null", "boolean", "number", "string"]}
            if objects:
                value["type"].append("object")
                value["additionalProperties"] = {"$ref": f"#/$defs/{objects - 1},{arrays}"}
            if arrays:
                value["type"].append("array")
                value["items"] = {"$ref": f"#/$defs/{objects},{arrays - 1}"}
            values[f"{objects},{arrays}"] = value
        whole = f"#/$defs/{self.max_object_depth},{self.max_array_depth}"
        return {"$ref": whole, "$defs": values}

    def parse(self, data: bytes) -> object:
        """The value that a JSON text stands for, as `json.loads` gives it."""
        return value_of_json(data.decode())

    def fields(self) -> dict[str, object]:
        """The limits."""
        return {
            "max_object_depth": self.max_object_depth, "max_array_depth": self.max_array_depth,
            "whitespace": self.whitespace,
        }  # fmt: skip

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The limits that were saved."""
        given: dict[str, Any] = {
            each.name: fields.get(each.name) for each in dataclasses.fields(cls)
        }
        try:
            return cls(**given)
        except ExplorerError as error:
            raise DamagedFile(f"Saved limits of JSON cannot be read: {error}") from error

    def __str__(self) -> str:
        return self.text


def json(
    max_object_depth: int = 3, max_array_depth: int = 3, *, whitespace: Whitespace = "compact"
) -> Constraint:
    """Every JSON text whose objects and arrays nest no deeper than two limits; no schema.

    Args:
        max_object_depth: How many objects may nest inside each other; 0 for no object.
        max_array_depth: How many arrays may nest inside each other; 0 for no array. The machine
            grows with the number of ways in which both can nest.
        whitespace: As in `json_schema`.

    Raises:
        ConstraintError: A limit is not a whole number from 0 to 50.
        BudgetExceeded: When the machine is built: the limits are too large.

    Source:
        Koo, Liu, He 2024, section 5.1.

    Example:
        >>> flat = json(max_object_depth=1, max_array_depth=0)
        >>> flat.accepts('{"a":1}'), flat.accepts('{"a":{}}'), flat.accepts("[]")
        (True, False, False)
    """
    return Constraint(FreeJson(max_object_depth, max_array_depth, whitespace))
