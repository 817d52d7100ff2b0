"""The stage of texts that are their own normal form.

The machines are `explorer.languages.stages.forms.normal_forms`. NFC of most text is the text
itself: where a constraint has no characters that are replaced, joined or ordered, the stage takes
nothing away and costs nothing. Elsewhere the constraint is intersected with the two machines, in
closed form where that is small, and else while it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self, cast, get_args

from explorer.arguments import plain, shown
from explorer.automata.construction.operations import intersection
from explorer.automata.machine import NO_ARC, Dfa
from explorer.automata.tree.build import build
from explorer.automata.tree.charset import CharSet, char_set
from explorer.automata.tree.nodes import Deferred, Intersect, Node, Written
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.errors import ConstraintError
from explorer.languages.stages.characters import alphabet_of, over_bytes
from explorer.languages.stages.forms.normal_forms import Form, concerns, normal_form_machines
from explorer.languages.stages.stage import TextStage, register_stage


@register_stage
@dataclass(frozen=True)
class Normalized(TextStage):
    """Texts that are their own normal form.

    Args:
        form: ``"NFC"``, ``"NFD"``, ``"NFKC"`` or ``"NFKD"``.

    Raises:
        ConstraintError: There is no such form.
    """

    kind: ClassVar[str] = "normalized"
    alone: ClassVar[bool] = True

    form: Form = "NFC"

    def __post_init__(self) -> None:
        form = cast("object", plain(self.form))
        if not isinstance(form, str) or form not in get_args(Form):
            raise ConstraintError(
                f"{shown(self.form)} is not a normal form of Unicode.",
                remedy=f"Write one of {', '.join(get_args(Form))}.",
            )

    def around(self, part: Written) -> Node:
        """The texts of the part that are in the form."""

        known: list[bool] = []

        def needed(meter: Meter) -> bool:
            if not known:
                machine = build(part, meter)
                empty = machine.start == NO_ARC
                known.append(not empty and concerns(self.form, alphabet_of(machine)))
            return known[0]

        def condition(number: int) -> Node:
            def make(meter: Meter) -> Dfa:
                machines = normal_form_machines(self.form) if needed(meter) else ()
                return machines[number] if number < len(machines) else any_text()

            return self.named(Deferred(0, 0, make))

        return Intersect(0, 0, Intersect(0, 0, part, condition(0)), condition(1))

    def picture(self, meter: Meter) -> Dfa:
        """The machine for a small alphabet: a letter with two marks that it composes with."""
        small = char_set([(ord(c), ord(c)) for c in "aeéè\u0301\u0300\u0323"])
        return normal_machine(self.form, small, meter)

    @property
    def title(self) -> str:
        """The name on the pipeline bar."""
        return self.form

    @property
    def about(self) -> str:
        """A sentence that says what the stage does."""
        return (
            f"only texts that are their own {self.form}; drawn for the characters a e é è and "
            "three combining marks"
        )

    def fields(self) -> dict[str, object]:
        """The form."""
        return {"form": self.form}

    @classmethod
    def load(cls, fields: Mapping[str, object]) -> Self:
        """The stage that was saved."""
        form: Form = fields.get("form", "NFC")  # pyright: ignore[reportAssignmentType] - It is checked.
        return cls(form)

    def __str__(self) -> str:
        return f"normalized({self.form!r})"


def normal_machine(form: Form, alphabet: CharSet, meter: Meter) -> Dfa:
    """The minimal machine of the texts of some characters that are in a normal form.

    Args:
        alphabet: The characters that a text may have.

    Raises:
        BudgetExceeded: A limit was reached.

    Example:
        >>> letters = char_set([(0x61, 0x7A), (0xE0, 0xFF), (0x301, 0x301)])
        >>> machine = normal_machine("NFC", letters, Meter())
        >>> machine.accepts("é".encode()), machine.accepts("e\\u0301".encode())
        (True, False)
    """
    machine = over_bytes(1, {(0, 0): alphabet}, [0], meter)
    if concerns(form, alphabet):
        for condition in normal_form_machines(form):
            machine = intersection(machine, condition, meter)
    return machine
