"""A table of words and numbers: as HTML in a notebook, as lines in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from explorer.arguments import wrong
from widgets.figures.drawing.labels import markup


@dataclass(frozen=True, slots=True)
class LessonTable:
    """A table with a caption, as `table_picture` makes it.

    Args:
        caption: What the table shows.
        head: The names of the columns.
        rows: The cells as text, row by row.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        """The table for a terminal."""
        every = (self.head, *self.rows)
        widths = [max(len(row[k]) for row in every) for k in range(len(self.head))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in every
        ]
        return "\n".join([self.caption, *lines])

    def to_mimebundle(self) -> dict[str, str]:
        """By media type, as notebooks want it."""
        left, kept = "text-align:left", "white-space:pre;font-family:monospace"
        head = "".join(f'<th scope="col" style="{left}">{markup(h)}</th>' for h in self.head)
        body = "".join(
            "<tr>" + "".join(f'<td style="{left};{kept}">{markup(c)}</td>' for c in row) + "</tr>"
            for row in self.rows
        )
        caption = f'<caption style="{left}">{markup(self.caption)}</caption>'
        table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return {"text/html": table, "text/plain": self.text}

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """At the end of a cell it shows itself."""
        return self.to_mimebundle()


def table_picture(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[object]], *, digits: int = 2
) -> LessonTable:
    """A table; spaces inside a text are kept as they are.

    Args:
        caption: What the table shows.
        head: The names of the columns.
        rows: The cells; floats are rounded.
        digits: Decimal places of floats.

    Raises:
        ExplorerError: A row has another number of cells than the head.

    Example:
        >>> print(table_picture("Sums", ["text", "log p"], [["a", -0.251]]).text)
        Sums
        text  log p
        a     -0.25
    """
    found = tuple(
        tuple(f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell) for cell in row)
        for row in rows
    )
    if any(len(row) != len(head) for row in found):
        raise wrong("rows", found, f"{len(head)} cells in each row")
    return LessonTable(caption, tuple(head), found)
