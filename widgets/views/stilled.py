"""The views with a still: an ordinary output below the view, for pages without a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import anywidget  # pyright: ignore[reportMissingTypeStubs] - It has no stubs.

from widgets.cursor import Cursor
from widgets.export import Still
from widgets.figures.snapshot import Snapshot, snapshot, stacked


class Stilled(anywidget.AnyWidget):
    """A view that displays a still below itself, which remains without a kernel."""

    _still: Still | None = None

    def _pictured(self) -> Mapping[str, Cursor]:
        """The cursors that the picture shows, by heading."""
        raise NotImplementedError

    def snapshot(self) -> Snapshot:
        """A still of the present position, as SVG and as text; at the end of a cell it shows."""
        pictures: dict[str, Snapshot] = {}
        for heading, cursor in self._pictured().items():
            with cursor.lock:
                trace, k = cursor.full_trace(), cursor.session.index
                machine = cursor.session.machine
            # Outside the lock, so that a step does not wait for a picture.
            pictures[heading] = snapshot(trace, k, machine)
        return stacked(pictures)

    def close(self) -> None:
        """Close the widget; it no longer follows its cursor."""
        if self._still is not None:
            self._still.close()
        super().close()

    def _ipython_display_(self) -> None:
        """Display the widget, and a collapsed still below it."""
        if self._still is None:
            self._still = Still(tuple(self._pictured().values()), self.snapshot)
        self._still.show(self._repr_mimebundle_())

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The widget, and a still for pages without widgets: nbconvert, GitHub, a terminal."""
        bundled: object = super()._repr_mimebundle_(**kwargs)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - Untyped.
        bundles = cast("tuple[dict[str, Any], dict[str, Any]] | None", bundled)
        if bundles is None:
            return None
        return {**bundles[0], **self.snapshot().to_mimebundle()}, bundles[1]


__all__ = ["Stilled"]
