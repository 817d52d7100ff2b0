"""The stages for Unicode's conditions on texts: valid UTF-8, and being in a normal form.

Every constraint allows only valid UTF-8; the stage makes the machine visible. The machines of the
normal forms are in `explorer.languages.stages.forms.normal_forms`. Most text is in NFC already: if
a constraint has no characters that are replaced, composed or ordered, the stage removes nothing and
costs nothing. Otherwise the constraint is intersected with the two machines, in closed form if that
is small, else while it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self, cast, get_args

from explorer.arguments import plain, shown
from explorer.automata.construction.operations import intersection
from explorer.automata.interchange.interegular_bridge import alphabet_of
from explorer.automata.machine import NO_ARC, Dfa
from explorer.automata.tree.build import build
from explorer.automata.tree.charset import characters
from explorer.automata.tree.nodes import Class, Deferred, Intersect, Node, Repeat, Written
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.errors import ConstraintError
from explorer.languages.stages.forms.normal_forms import Form, concerns, normal_form_machines
from explorer.languages.stages.stage import TextStage, register_stage


@register_stage
@dataclass(frozen=True)
class Normalized(TextStage):
    """Texts that are in a normal form.

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
        """The machine over a small alphabet: two letters, three marks, composed characters."""
        small = characters("aeéè\u0301\u0300\u0323")
        machine = build(Repeat(0, 0, Class(0, 0, small), 0, None, False), meter)
        for condition in normal_form_machines(self.form):
            machine = intersection(machine, condition, meter)
        return machine

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

    @classmethod
    def load(cls, fields: Mapping[str, object]) -> Self:
        """The stage that was saved."""
        form: Form = fields.get("form", "NFC")  # pyright: ignore[reportAssignmentType] - It is checked.
        return cls(form)

    def __str__(self) -> str:
        return f"normalized({self.form!r})"


@register_stage
@dataclass(frozen=True)
class ValidUtf8(TextStage):
    """Bytes that are UTF-8: no overlong form, no half of a surrogate pair, nothing past U+10FFFF.

    Its machine is the decoder of Höhrmann (2010, "Flexible and Economical UTF-8 Decoder"), with the
    eight states of the Unicode Standard's table 3-7. All constraints allow only texts, so the stage
    removes nothing.
    """

    kind: ClassVar[str] = "utf8"
    in_bytes: ClassVar[bool] = True
    alone: ClassVar[bool] = True

    @property
    def title(self) -> str:
        """The name on the pipeline bar."""
        return "UTF-8"

    @property
    def about(self) -> str:
        """A sentence that says what the stage does."""
        return "only bytes that are valid UTF-8; true of every constraint, here to be looked at"

    def around(self, part: Written) -> Node:
        """The part unchanged, since its texts are valid."""
        return Written(0, 0, part)

    def picture(self, meter: Meter) -> Dfa:
        """Höhrmann's machine."""
        return any_text()

    def __str__(self) -> str:
        return "valid_utf8()"
