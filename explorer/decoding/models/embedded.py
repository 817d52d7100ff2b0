"""The models shipped with the package, by the names that `load_model` knows."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from explorer.decoding.models.tiny import FOLDER as _TINY
from explorer.decoding.models.tiny_chat import FOLDER as _TINY_CHAT
from explorer.decoding.models.tiny_draft import FOLDER as _TINY_DRAFT
from explorer.decoding.models.tiny_sp import FOLDER as _TINY_SP

EMBEDDED: Final = MappingProxyType(
    {"tiny": _TINY, "tiny-sp": _TINY_SP, "tiny-draft": _TINY_DRAFT, "tiny-chat": _TINY_CHAT}
)
"""The folder of each model: ``"tiny"`` has a byte-level tokenizer, ``"tiny-sp"`` one like
SentencePiece's, ``"tiny-draft"`` is a smaller model with the tokenizer of ``"tiny"``, and
``"tiny-chat"`` is ``"tiny"`` with control tokens for reasoning and tool calls."""
