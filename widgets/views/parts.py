"""The parts of the explorer, each as a widget of its own.

A part takes what `Explorer` takes. Two on one cursor follow each other, and so do a part and
an explorer; a token that is pointed at in one is lit in the others.

    from widgets import Explorer, Machines, Stepper
    steps = Stepper()
    steps                               # in one cell
    Machines(cursor=steps.cursor)       # in another
"""

from __future__ import annotations

from widgets.views import bundle
from widgets.views.view import View


class ConstraintEditor(View):
    """The editor of prompt and constraint, which compiles while one types.

    Takes the arguments of `View`.

    Example:
        >>> editor = ConstraintEditor()
        >>> editor.editor["text"], editor.editor["pattern"]
        ('(foo)+d', '(foo)+d')
    """

    _esm = bundle.module("editor")
    _sent = ("editor",)


class Pipeline(View):
    """The stages of the constraint: pattern → stages of the text → tokens → stages of the tokens.

    Takes the arguments of `View`.

    Example:
        >>> import explorer
        >>> bar = Pipeline("tiny", explorer.choice(["Berlin", "Bern"]).canonical())
        >>> [stage["title"] for stage in bar.editor["pipeline"]["stages"]]
        ['canonical']
    """

    _esm = bundle.module("pipeline")
    _sent = ("editor",)


class Stack(View):
    """The open rules of a grammar: what the machine has on its stack, and the tree so far.

    Takes the arguments of `View`.

    Example:
        >>> import explorer
        >>> toy = explorer.Vocabulary.from_bytes([b"a", b"b", b"aaab"], eos_ids=[3])
        >>> grammar = explorer.grammar('root ::= "a" root "b" | ""')
        >>> session = explorer.Session.from_ids(toy, grammar, [2])
        >>> from widgets import Cursor
        >>> shown = Stack(cursor=Cursor(session))
        >>> _ = shown.cursor.jump(1)
        >>> shown.position["stack"]["symbols"], shown.position["stack"]["rows"][0]["expects"]
        (1, 'b')
    """

    _esm = bundle.module("stack")


class Stepper(View):
    """The controls to go to the start, back, one step, play, to the end, fork and reset, as buttons
    and keys.

    Takes the arguments of `View`.

    Example:
        >>> steps = Stepper()
        >>> mask = Mask(cursor=steps.cursor)
        >>> steps.cursor.step().text, mask.position["k"]
        ('foo', 1)
    """

    _esm = bundle.module("stepper")


class TokenStrip(View):
    """The tokens of prompt and output, each in its box; a click goes there.

    Takes the arguments of `View`.

    Example:
        >>> strip = TokenStrip()
        >>> _ = strip.cursor.step()
        >>> [token["text"] for token in strip.line["strip"]["tokens"]]
        ['foo']
    """

    _esm = bundle.module("strip")


class Distribution(View):
    """The model's probabilities at the position, before and after the mask.

    Takes the arguments of `View`.

    Example:
        >>> shown = Distribution()
        >>> {bar["text"]: bar["allowed"] for bar in shown.position["top"]}["for"]
        False
    """

    _esm = bundle.module("distribution")


class Mask(View):
    """The vocabulary as a bitmap: which tokens are allowed at the position.

    Takes the arguments of `View`.

    Example:
        >>> Mask().position["allowed"]
        3
    """

    _esm = bundle.module("mask")
    _sent = ("history",)


class Machines(View):
    """The character FSA, the detokenizing FST and the token DFA, lit together.

    Takes the arguments of `View`.

    Example:
        >>> machines = Machines()
        >>> _ = machines.cursor.step()
        >>> machines.position["lit"]["characters"]["now"]
        ['c3', 'q3', 't']
    """

    _esm = bundle.module("machines")


class OverTime(View):
    """Allowed tokens, feasible mass, entropy and the chosen probability at every position.

    Takes the arguments of `View`.

    Example:
        >>> chart = OverTime()
        >>> _ = chart.cursor.step()
        >>> chart.line["history"]["allowed"]
        [3, 3]
    """

    _esm = bundle.module("over_time")
    _sent = ("history",)


class Reasons(View):
    """The reasons for masked tokens, in a dozen groups, and the traps of the constraint.

    Takes the arguments of `View`.

    Example:
        >>> reasons = Reasons()
        >>> reasons.session.reasons().groups[0].reason
        'expects o, offered a letter'
    """

    _esm = bundle.module("reasons")


class SamplerControls(View):
    """Temperature and filters; a change keeps the tokens that were chosen.

    Takes the arguments of `View`.

    Example:
        >>> SamplerControls().sampler["temperature"]
        0.0
    """

    _esm = bundle.module("sampler")
    _sent = ("sampler",)


__all__ = [
    "ConstraintEditor",
    "Distribution",
    "Machines",
    "Mask",
    "OverTime",
    "Pipeline",
    "Reasons",
    "SamplerControls",
    "Stack",
    "Stepper",
    "TokenStrip",
]
