"""Reasoning that stands in the text of an answer: the markers of common models.

A model that reasons writes it between two markers before its answer. A server with a reasoning
parser puts it into a field of its own; without one it stays in the content, where the constraint
does not allow it. A verdict then names the marker, and what the constraint says of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MARKERS: Final[tuple[tuple[str, str], ...]] = (
    ("<think>", "</think>"),  # DeepSeek R1, Qwen 3, GLM, MiniMax, Nemotron
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<reason>", "</reason>"),
    ("<reflection>", "</reflection>"),
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<seed:think>", "</seed:think>"),  # Seed-OSS
    ("<|channel|>analysis<|message|>", "<|end|>"),  # gpt-oss
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    ("<|begin_of_thought|>", "<|end_of_thought|>"),  # OpenThinker
    ("<unused94>thought", "<unused95>"),  # MedGemma
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"),  # Kimi-VL
)
"""The marker that begins the reasoning and the one that ends it; models that write them."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The reasoning that was found in a text.

    Args:
        marker: The marker that shows it.
        begins: Whether that marker begins the reasoning; some templates write that one into the
            prompt, and the text holds only the one that ends it.
        answer: The text after it; ``None`` where the reasoning does not end.
    """

    marker: str
    begins: bool
    answer: str | None


def reasoning_in(text: str) -> Reasoning | None:
    """The reasoning with which a text begins.

    Args:
        text: The content of an answer.

    Returns:
        ``None`` where it begins with no marker and holds none that ends reasoning.

    Example:
        >>> reasoning_in("<think>Two.</think>\\n2")
        Reasoning(marker='<think>', begins=True, answer='2')
        >>> reasoning_in("Two, then.</think>2").begins
        False
    """
    stripped = text.lstrip()
    for first, last in MARKERS:
        if stripped.startswith(first):
            before, found, answer = stripped.partition(last)
            return Reasoning(first, True, answer.lstrip() if found else None)
    for first, last in MARKERS:
        before, found, answer = text.partition(last)
        if found and first not in before:
            return Reasoning(last, False, answer.lstrip())
    return None


def marker_of(name: str) -> str | None:
    """The marker that a control token of this name writes or begins; ``None`` for any other.

    Args:
        name: The name of a token.

    Example:
        >>> marker_of("<think>"), marker_of("<|im_end|>")
        ('<think>', None)
    """
    return next((one for pair in MARKERS for one in pair if name and one.startswith(name)), None)
