"""`Explorer`: constrained decoding that one can see, as one widget.

It is the view that holds all the others. In addition it has a still of the present place and the
file that replays the line without a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from explorer.arguments import file_path
from explorer.files import file_errors, write_whole
from widgets.dialogue.handlers import Reply
from widgets.dialogue.messages import Export
from widgets.export.export import exported, page
from widgets.export.still import Still
from widgets.figures.snapshot import Snapshot, snapshot
from widgets.views import bundle
from widgets.views.view import View


class Explorer(View):
    """The explorer: constraint, steps, the three machines, the distribution, the mask.

    Args:
        lm: A language model, or the name of one for `load_model`; ``None`` for the toy preset,
            which needs no model.
        constraint: What the text must be; with a model ``None`` starts with a quoted text.
        prompt: A text to go on with.
        cursor: Show this place instead, with others that show it too; the first three arguments
            and those of the session are then left aside.
        sampler: How a token is chosen; default greedy.
        seed: The seed of the random numbers.
        max_tokens: The token budget; see `Session`.
        top_k: How many tokens of each distribution are shown.
        heal, restrict, response_prefix: As `Session` has them; see `View`.
        size: ``"projector"`` for text and marks that are 1.4 times as large; the button "A A" of
            the page sets it too.

    Example:
        >>> explorer = Explorer()
        >>> explorer.cursor.step().text, explorer.position["k"], explorer.position["allowed"]
        ('foo', 1, 3)
    """

    _esm = bundle.module("explorer")
    _sent = ("about", "editor", "sampler", "history")
    _still: Still | None = None

    def _own_handlers(self) -> Mapping[str, Callable[[Any], Reply]]:
        return {**super()._own_handlers(), "export": self._export}

    def _export(self, _: Export) -> Reply:
        return exported(self.shown)

    def snapshot(self) -> Snapshot:
        """A still of the present position, as SVG and as text; at the end of a cell it shows."""
        with self.cursor.lock:
            trace, k = self.cursor.full_trace(), self.session.index
            machine = self.session.machine
        return snapshot(trace, k, machine)  # Outside the lock: a step does not wait for a picture.

    def close(self) -> None:
        """End the widget; the cursor no longer tells it."""
        if self._still is not None:
            self._still.close()
        super().close()

    def _ipython_display_(self) -> None:
        """Display the widget, and below it, collapsed, the still that outlives the kernel."""
        if self._still is None:
            self._still = Still(self.cursor, self.snapshot)
        self._still.show(self._repr_mimebundle_())

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The widget, and a still for where there are no widgets: nbconvert, GitHub, a terminal."""
        bundled: object = super()._repr_mimebundle_(**kwargs)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - Untyped.
        found = cast("tuple[dict[str, Any], dict[str, Any]] | None", bundled)
        if found is None:
            return None
        return {**found[0], **self.snapshot().to_mimebundle()}, found[1]

    def to_html(self, path: str | Path) -> Path:
        """Write one offline file that replays this line, with the same views and no kernel.

        Args:
            path: The file; replaced if it is there.

        Returns:
            The path.

        Raises:
            FileError: There is no such folder, or it is not writable.
        """
        target = file_path("path", path)
        with file_errors(target, writing=True):
            target.parent.stat()  # The page takes a while: what cannot work is said first.
        write_whole(target, page(self.shown).encode())
        return target


__all__ = ["Explorer"]
