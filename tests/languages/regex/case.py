"""The form of a hand-written case."""

from __future__ import annotations

Case = tuple[str, list[str], list[str]]
"""A pattern, texts that it matches in full, and texts that it does not."""
