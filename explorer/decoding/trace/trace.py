"""The record of a session: everything that is shown of it, and nothing that needs a model.

A trace is a value. The views, the command line and the exports read traces and nothing else, so a
saved run shows exactly as a live one. It is made of positions and the steps between them
(`explorer.decoding.trace.records`), with what they share (`explorer.decoding.trace.recording`): the
constraint's source, the masks, and the bytes of each token that is mentioned. The masks are rows
over classes of tokens, one form whatever kind of machine made them
(`explorer.decoding.trace.masks`).

Not all of a vocabulary is in it, only its fingerprint and the tokens that occur: those chosen, the
candidates, and a few of each token class, so that an edge or a mask can say what it allows. Full
logits are not in it either; ask the session (`Session.logits`).

Cost: about a kilobyte per step, in memory and as JSON, and the token classes once.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from explorer.arguments import file_path
from explorer.decoding.trace.reading import fields_of_json
from explorer.decoding.trace.recording import Recording
from explorer.decoding.trace.text import record, trace_summary
from explorer.decoding.trace.writing import MOST_BYTES, to_json
from explorer.files import file_errors, write_whole


@dataclass(frozen=True, repr=False)
class Trace(Recording):
    """The path from the start of a session to its cursor.

    Made by `Session.trace` and `Trace.load`.

    Attributes:
        model: The model's name; ``None`` for a run without one.
        prompt: As it was given: a text, messages, or ``None``.
        prompt_ids: What the model read before the first token.
        tokens: The facts about the vocabulary.
        sampler: The temperature and the filters that decide the draws.
        seed: The number from which the draws are made.
        stream: The number of this text among those of the same seed.
        max_tokens: The token budget, EOS included; ``None`` for none.
        masking_budget: Whether the budget takes part in the mask.
        source: The constraint's source as a plain mapping; ``None`` without a constraint.
        num_states: How many states the token machine knew when the trace was made; 0 without a
            constraint.
        num_char_states: The same of the machine over bytes.
        masks: What each position allows; ``None`` without a constraint.
        positions: n + 1 positions; position k is after k tokens.
        steps: n steps; step k leads from position k to position k + 1.
        rejection: The first token of a run from elsewhere that is not allowed.
        unread: The ids after it, which were not read.
        draft: The name of the model that proposed tokens; ``None`` without one.
        prefixed: How many of the last ``prompt_ids`` are the beginning of the answer
            (``response_prefix``).
    """

    def to_records(self) -> list[dict[str, object]]:
        """One flat mapping per position, for a data frame.

        The last one is where the cursor is: its token is ``None``.
        """
        return [record(self, k) for k in range(len(self.positions))]

    def summary(self) -> str:
        """The run as a table for a terminal, one line per step."""
        return trace_summary(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"Trace({self.model!r}, {len(self.steps)} steps: {self.text!r})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as versioned JSON.

        Args:
            path: The file; replaced if it is there, and left as it is if that fails.

        Raises:
            FileError: The file cannot be written.
        """
        write_whole(file_path("path", path), to_json(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Read a saved trace. Needs no model and no tokenizer, and runs nothing.

        Args:
            path: A file that `save` wrote.

        Raises:
            FileError: The file cannot be read.
            DamagedFile: It is of another kind or version, too long, or damaged; the place is named.
        """
        given = file_path("path", path)
        with file_errors(given), open(given, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        return from_json(data, str(given))


def from_json(data: bytes, file: str = "the trace") -> Trace:
    """The trace of a document.

    Args:
        data: What `explorer.decoding.trace.writing.to_json` wrote.
        file: Its name, for messages.

    Raises:
        DamagedFile: It is of another kind or version, too long, or damaged; the place is named.
    """
    return Trace(**fields_of_json(data, file))
