"""The README's animation: a run of the toy, drawn as *Animated picture…* of the explorer draws it.

``python -m tools.animation`` writes ``docs/images/explorer-steps.svg``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from widgets import Explorer

TARGET: Final = Path(__file__).resolve().parents[1] / "docs" / "images" / "explorer-steps.svg"

TOKENS: Final = ("foo", "food", None)
"""The tokens of the run; ``None`` ends the text."""


def main(target: Path = TARGET) -> None:
    """Step through the toy, and write its animated picture."""
    toy = Explorer()
    words = toy.session.vocabulary
    for token in TOKENS:
        toy.session.step(words.eos_ids[0] if token is None else words.ids_of(token.encode())[0])
    toy.to_animation(target)
    toy.close()
    print(f"{target}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
