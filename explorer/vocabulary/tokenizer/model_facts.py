"""The properties of a model of the `tokenizers` library beyond its pieces."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer, models

from explorer.errors import UnsupportedTokenizer


@dataclass(frozen=True)
class ModelFacts:
    """The properties of a model that its pieces alone do not show.

    Attributes:
        kind: Its class in the library: BPE, Unigram, WordPiece or WordLevel.
        unknown: The id of its unknown token, or None.
        byte_fallback: Whether text without a piece becomes pieces ``<0xNN>``.
        prefix: The prefix of pieces that continue a word, or "".
        suffix: The suffix of pieces that end a word, or "".
    """

    kind: str
    unknown: int | None
    byte_fallback: bool
    prefix: str
    suffix: str

    @staticmethod
    def of(tokenizer: Tokenizer) -> ModelFacts:
        """The properties of a tokenizer's model.

        Raises:
            UnsupportedTokenizer: The kind of model is not known.
        """
        model = tokenizer.model
        prefix = suffix = ""
        unknown: int | None = None
        byte_fallback = False
        if isinstance(model, models.BPE):
            prefix = model.continuing_subword_prefix or ""
            suffix = model.end_of_word_suffix or ""
            byte_fallback = model.byte_fallback
            unknown = model.token_to_id(model.unk_token) if model.unk_token else None
        elif isinstance(model, models.Unigram):
            # The object exposes neither, but its pickled state does.
            state = model_state(tokenizer)
            unknown, byte_fallback = state.get("unk_id"), bool(state.get("byte_fallback"))
        elif isinstance(model, models.WordPiece):
            prefix = model.continuing_subword_prefix
            unknown = model.token_to_id(model.unk_token)
        elif isinstance(model, models.WordLevel):
            unknown = model.token_to_id(model.unk_token)
        else:
            raise UnsupportedTokenizer(
                f"model.{type(model).__name__}", "a model of an unknown kind"
            )
        return ModelFacts(type(model).__name__, unknown, byte_fallback, prefix, suffix)


def model_state(tokenizer: Tokenizer) -> dict[str, Any]:
    """A model's whole declaration, as in ``tokenizer.json`` under ``model``."""
    return json.loads(tokenizer.model.__getstate__())
