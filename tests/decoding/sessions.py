"""The small session that tests go everywhere with."""

from __future__ import annotations

from typing import Any

import torch

import explorer
from explorer.analysis.session import Session
from explorer.decoding.models.model import Reading
from explorer.decoding.sampling.sampler import Sampler
from tests.decoding.models import HashModel, hash_model

PATTERN = explorer.regex("((foo)+d|yes|no|é)(, ((foo)+d|yes|no|é|[12]{1,9}))*")
LOOSE = Sampler(1.0)


def session(**more: Any) -> Session:
    return Session(hash_model(), PATTERN, "hi", sampler=LOOSE, seed=5, **more)


class Endless(HashModel):
    """Never ends a text by itself."""

    def read(self, tokens: Any) -> Reading:
        logits = super().read(tokens).logits
        logits[23] = -torch.inf
        return Reading(logits)
