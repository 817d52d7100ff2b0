"""A session's own restriction: characters or words that every constraint of it is kept to.

It is the stage that `explorer.Constraint.restrict` puts around a constraint, put there by the
session: before the stages of the tokens, so that those still see all of the text. So it is in
traces and explanations, and stands on the pipeline bar. A constraint that has the very stage
already is left as it is, also where the stage was switched off on the bar.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from explorer.arguments import plain, wrong
from explorer.decoding.stepping.healing import without_healing
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint, regex
from explorer.languages.stages.restricted import Restricted
from explorer.languages.stages.stage import TextStage
from explorer.languages.stages.staged import stages_of, unstaged, with_stages
from explorer.tokens.machine import TokenMachine, is_free

Restrict = str | Sequence[str] | Mapping[str, object] | Restricted | None
"""``"ascii"`` or another name of `explorer.Constraint.restrict`, several of them, or its arguments
by name, such as ``{"scripts": ["Latin"], "chars": "§"}``."""

_WANTED = 'a name such as "ascii", or arguments such as {"scripts": ["Latin"]}'
_NAMES = ("name", "scripts", "chars", "words")


def checked_restrict(restrict: object) -> Restricted | None:
    """The stage of a session's restriction; ``None`` without one.

    Args:
        restrict: As the caller gave it.

    Raises:
        ConstraintError: It is something else, nothing is given, or a name is not known.

    Example:
        >>> print(checked_restrict({"scripts": "Latin"}))
        restrict(scripts=['Latin'])
    """
    restrict = plain(restrict)
    if restrict is None or isinstance(restrict, Restricted):
        return restrict
    if isinstance(restrict, Mapping):
        given = cast("Mapping[object, object]", restrict)
        unknown = [key for key in given if key not in _NAMES]
        if unknown:
            raise ConstraintError(
                f"restrict has {unknown[0]!r}, which is not an argument of Constraint.restrict.",
                remedy=f"Use {', '.join(_NAMES)}.",
            )
        parts = {name: given.get(name, ()) for name in _NAMES}
        return Restricted.of(
            given.get("name"), parts["scripts"], given.get("chars", ""), parts["words"]
        )
    if isinstance(restrict, Sequence) and not isinstance(restrict, bytes):
        return Restricted.of(cast("Sequence[object]", restrict), (), "", ())
    raise wrong("restrict", restrict, _WANTED, error=ConstraintError)


def kept_to(
    constraint: Constraint | TokenMachine | None, restrict: Restricted | None
) -> Constraint | TokenMachine | None:
    """A constraint behind a session's restriction.

    Args:
        constraint: What the caller gave.
        restrict: The restriction; ``None`` for none.

    Returns:
        The constraint with the stage; the same object where it has that stage already.

    Raises:
        ConstraintError: A token machine does not know its constraint.
    """
    if restrict is None:
        return constraint
    if constraint is None or (isinstance(constraint, TokenMachine) and is_free(constraint)):
        given = regex("(?s:.*)")
    elif isinstance(constraint, Constraint):
        given = constraint
    elif isinstance(constraint, TokenMachine):  # pyright: ignore[reportUnnecessaryIsInstance] - A user may give anything.
        if constraint.constraint is None:
            raise ConstraintError(
                "This token machine does not know its constraint, so it cannot be restricted.",
                remedy="Give the constraint itself, or a session without restrict.",
            )
        given = constraint.constraint
    else:
        return constraint  # What is wrong with it is said where it is compiled.
    source = without_healing(given).source
    stages = stages_of(source)
    if any(stage == restrict for stage, _ in stages):
        return constraint
    texts = [placed for placed in stages if isinstance(placed[0], TextStage)]
    tokens = [placed for placed in stages if not isinstance(placed[0], TextStage)]
    return Constraint(with_stages(unstaged(source), [*texts, (restrict, True), *tokens]))
