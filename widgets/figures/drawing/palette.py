"""The light colours of the explorer, for static pictures; a page takes them from its style sheet.

Blue is allowed and past, amber is now, vermilion is masked (after Okabe and Ito, darkened to a
contrast of 4.5 : 1 for text on white). No meaning is in colour alone: masked is struck,
accepting is a double ring, a ghost is dashed.
"""

from __future__ import annotations

from typing import Final

PAPER: Final = "#ffffff"
PANEL: Final = "#f6f7f9"
LINE: Final = "#dde2e8"
INK: Final = "#1a2130"
SOFT: Final = "#5b6678"
OK: Final = "#0063a0"
OK_PAPER: Final = "#d7e9f6"
NO: Final = "#b34a00"
NO_PAPER: Final = "#fbe6d8"
NOW: Final = "#d98c00"
NOW_PAPER: Final = "#ffe3ad"

SANS: Final = "DejaVu Sans, Verdana, sans-serif"
MONO: Final = "DejaVu Sans Mono, Menlo, Consolas, monospace"
