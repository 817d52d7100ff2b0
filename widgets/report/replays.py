"""A row of a sweep as a stand-alone page that replays it.

The row's tokens are taken again, one by one, by a session with the row's own model, so that the
page shows what the model wanted at each of them; where the model cannot be opened here, there is no
page, and the report says why. A row that another release wrote may hold tokens that its constraint
does not allow; that is said too.

Cost: the row's tokens through the model, and about 0.1 s a token for the reasons in the page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from explorer.analysis.session import Session
from explorer.decoding.models.load import load_model
from explorer.decoding.models.model import LanguageModel
from explorer.errors import ExplorerError
from explorer.sweeps.known import KnownSweep
from widgets.cursor import Cursor
from widgets.export.export import page
from widgets.shown_place import ShownPlace


@dataclass(frozen=True)
class Replay:
    """A row as a page.

    Args:
        html: The page; empty where there is none.
        why_not: Why there is none; empty where there is one.
    """

    html: str
    why_not: str


class Replays:
    """Makes the pages of rows; models are opened once.

    Args:
        known: What the sweep was asked for; ``None`` if the table does not say.
        models: Models by their names in the table, in place of what the sweep knows.
    """

    def __init__(self, known: KnownSweep | None, models: Mapping[str, LanguageModel]) -> None:
        self._known = known
        self._models = dict(models)

    def of(self, row: Mapping[str, Any]) -> Replay:
        """The page of a row, or why there is none.

        Args:
            row: A row of the table, as a mapping.
        """
        if self._known is None:
            return Replay("", "the table does not say what its sweep was asked for")
        try:
            return Replay(self._page(row, self._known), "")
        except ExplorerError as error:
            return Replay("", str(error))

    def _page(self, row: Mapping[str, Any], known: KnownSweep) -> str:
        prompt = row["prompt"]
        session = Session(
            self._model(row, known),
            known.constraint(row["constraint_fingerprint"]),
            json.loads(prompt) if row["prompt_is_chat"] else prompt,
            sampler=known.sampler(row["sampler"]),
            seed=row["seed"],
            max_tokens=known.max_tokens,
            masking_budget=known.masking_budget,
        )
        for token in cast("list[int]", row["tokens"]):
            # As the sampler would, so that the page says so, unless rounding decides otherwise.
            if session.step().token != token:
                session.back()
                session.step(token=token)
        return page(ShownPlace(Cursor(session)))

    def _model(self, row: Mapping[str, Any], known: KnownSweep) -> LanguageModel:
        name: str = row["model"]
        if name in self._models:
            return self._models[name]
        given = known.models.get(row["model_digest"])
        if given is None:
            raise ExplorerError(
                f"The model {name!r} was not given as a name or a folder, so it cannot be opened "
                "again.",
                remedy=f"Give report(..., models={{{name!r}: model}}).",
            )
        model = self._models[name] = load_model(given)
        return model
