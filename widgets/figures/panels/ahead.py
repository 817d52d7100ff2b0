"""The look ahead: a thin bar for each of the likeliest allowed tokens, and a sentence about it.

The bar is the feasible mass after the token: full if the constraint then allows everything that the
model wants to write, empty if it masks nearly all of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from explorer.analysis.ahead import Ahead
from explorer.analysis.characters.display import show_text
from explorer.arguments import counted
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import token_text

LONGEST: Final = 40
"""The most bytes of an ending that are shown."""


def ahead_packet(entries: Sequence[Ahead], vocabulary: Vocabulary) -> dict[str, object]:
    """The entries of a look ahead, by id.

    Returns:
        For each id ``mass``, between 0 and 1, or ``None`` if nothing follows; ``lost``, whether the
        model's next choice is then masked; and ``said``, the tooltip.

    Example:
        >>> vocab = Vocabulary.from_bytes([b" New", b" York", b" Delhi"], eos_ids=[3])
        >>> entry = Ahead(0, b" New", 0.49, 0.0057, 2, False, False, 2, b" York")
        >>> print(ahead_packet([entry], vocab)["0"]["said"])
        After it 0.57% of the model's probability is allowed: it wants ␣Delhi, which is masked. \
The shortest end is ' York' (2 tokens, the end of the text included).
    """
    return {
        str(entry.token): {
            "mass": entry.mass,
            "lost": entry.mass is not None and not entry.wish_allowed,
            "said": _sentence(entry, vocabulary),
        }
        for entry in entries
    }


def _sentence(entry: Ahead, vocabulary: Vocabulary) -> str:
    if entry.data is None and entry.distance == 0:
        return "The text ends with it."
    if entry.mass is None or entry.wished is None:
        return f"No token can follow it.{_ending(entry)}"
    wish = f"it wants {token_text(vocabulary, entry.wished)}"
    wish += "" if entry.wish_allowed else ", which is masked"
    share = f"{100 * entry.mass:.{2 if entry.mass < 0.095 else 3}g}%"
    return f"After it {share} of the model's probability is allowed: {wish}.{_ending(entry)}"


def _ending(entry: Ahead) -> str:
    """The fewest tokens to the end and a shortest ending, if they are known."""
    tokens = None if entry.distance is None else counted(entry.distance, "token")
    if entry.complete and not entry.ending:
        return " The text may end there."
    if entry.ending is not None and len(entry.ending) <= LONGEST:
        size = "" if tokens is None else f" ({tokens}, the end of the text included)"
        return f" The shortest end is {show_text(entry.ending)}{size}."
    return "" if tokens is None else f" At least {tokens} follow, the end of the text included."
