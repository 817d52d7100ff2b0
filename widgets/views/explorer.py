"""`Explorer`, the widget that shows constrained decoding, and its parts as separate widgets.

The explorer contains all the other views. In addition it has a still of the present position, and
it can write a file that replays the line without a kernel.

A part takes the same arguments as `Explorer`. Widgets on one cursor show the same position, and a
token that is pointed at in one is lit in the others.

    from widgets import Explorer, Machines, Stepper
    steps = Stepper()
    steps                               # in one cell
    Machines(cursor=steps.cursor)       # in another
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from explorer.arguments import file_path
from explorer.files import file_errors, write_whole
from widgets.cursor import Cursor
from widgets.dialogue.messages import Reply
from widgets.export import exported, page
from widgets.figures.animation import animated
from widgets.views import bundle
from widgets.views.stilled import Stilled
from widgets.views.view import View


class Explorer(Stilled, View):
    """The explorer: constraint, steps, the three machines, the distribution, the mask.

    Args:
        lm: A language model, or the name of one for `load_model`; a vocabulary, for steps that the
            user takes and no probabilities; ``None`` for the toy preset.
        constraint: The constraint; ``None`` starts with a quoted text, except in the toy preset.
        prompt: The text to continue.
        cursor: A cursor to show, which other views may show too. It has a session of its own, so
            the model, the constraint and all settings of a session are refused beside it.
        sampler: The sampler; default greedy.
        seed: The seed of the random numbers; default 0.
        max_tokens: The token budget; see `Session`.
        top_k: The number of tokens shown of each distribution.
        heal, restrict, response_prefix: As in `Session`; see `View`.
        size: ``"normal"``, or ``"projector"`` for text and marks that are 1.4 times as large; the
            button "A A" of the page changes it too.

    Raises:
        ExplorerError: An argument has the wrong type, or is given beside ``cursor``.

    Example:
        >>> explorer = Explorer()
        >>> explorer.cursor.step().text, explorer.position["k"], explorer.position["allowed"]
        ('foo', 1, 3)
    """

    _esm = bundle.module("explorer")
    _sent = ("about", "editor", "sampler", "history")

    def _own_handlers(self) -> Mapping[str, Callable[..., Reply]]:
        return {**super()._own_handlers(), "export": self._export}

    def _export(self, _: str, picture: bool = False) -> Reply:
        return exported(self.shown, picture=picture)

    def _pictured(self) -> Mapping[str, Cursor]:
        return {"": self.cursor}

    def to_html(self, path: str | Path) -> Path:
        """Write one offline file that replays this line, with the same views and no kernel.

        If the machine has a table of at most 4,000 states, a reader may also take other tokens.

        Args:
            path: The file; an existing one is replaced.

        Returns:
            The path.

        Raises:
            FileError: The folder does not exist or is not writable.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     Explorer().to_html(f"{folder}/run.html").name
            'run.html'
        """
        return _written(path, lambda: page(self.shown))

    def to_animation(self, path: str | Path) -> Path:
        """Write this line as an animated picture: one SVG file that repeats.

        Each position shows the machines and the bars of the next token, whose constrained ones grow
        from the model's; the letters of the first tokens are read one by one. Of a long line the
        first 24 positions are shown.

        Args:
            path: The file; an existing one is replaced.

        Returns:
            The path.

        Raises:
            FileError: The folder does not exist or is not writable.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     Explorer().to_animation(f"{folder}/run.svg").name
            'run.svg'
        """
        trace, machine = self.cursor.full_trace(), self.session.machine
        return _written(path, lambda: animated(trace, machine))


def _written(path: str | Path, made: Callable[[], str]) -> Path:
    """Write a text to a file, which is looked at before the slow work."""
    target = file_path("path", path)
    with file_errors(target, writing=True):
        target.parent.stat()
    write_whole(target, made().encode())
    return target


__all__ = ["Explorer"]


class ConstraintEditor(View):
    """The editor of prompt and constraint, which compiles during typing.

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
    """The open rules of a grammar: the machine's stack, and the derivation tree so far.

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
    """The controls of a session, as buttons and keys: to the start, back, step, play, to the end,
    fork and reset.

    Takes the arguments of `View`.

    Example:
        >>> steps = Stepper()
        >>> mask = Mask(cursor=steps.cursor)
        >>> steps.cursor.step().text, mask.position["k"]
        ('foo', 1)
    """

    _esm = bundle.module("stepper")


class TokenStrip(View):
    """The tokens of prompt and output, each in its box; a click goes to its position.

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
    """The mask at the position, as a bitmap of the vocabulary.

    Takes the arguments of `View`.

    Example:
        >>> Mask().position["allowed"]
        3
    """

    _esm = bundle.module("mask")


class Machines(Stilled, View):
    """The character FSA, the detokenizing FST and the token DFA, lit together.

    Takes the arguments of `View`.

    Example:
        >>> machines = Machines()
        >>> _ = machines.cursor.step()
        >>> machines.position["lit"]["characters"]["now"]
        ['c3', 'q3', 't']
    """

    _esm = bundle.module("machines")

    def _pictured(self) -> Mapping[str, Cursor]:
        return {"": self.cursor}


class OverTime(View):
    """Allowed tokens, feasible mass, entropy and the chosen probability at every position.

    Takes the arguments of `View`.

    Example:
        >>> chart = OverTime()
        >>> _ = chart.cursor.step()
        >>> chart.history["allowed"]
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
    """Temperature and filters of the sampler; a change keeps the tokens chosen so far.

    Takes the arguments of `View`.

    Example:
        >>> SamplerControls().sampler["temperature"]
        0.0
    """

    _esm = bundle.module("sampler")
    _sent = ("sampler",)
