"""The models of a sweep: each has a name, a way to open it, and a digest for the keys of its rows.

A worker is another process, perhaps on another machine. So a model is given as an argument of
`load_model` or as a function, either of which each worker evaluates once. A model object works too
if the sweep stays in this process or the object can be pickled.

The digest tells whether two runs used the same model. For files it covers their names and sizes,
the whole content of files up to `WHOLE` bytes, and the first and last `ENDS` bytes of larger ones:
the header of a safetensors file names each tensor and its offset, and further training changes the
end of a file too. An edit in the middle alone is not noticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from explorer.arguments import plain, wrong
from explorer.decoding.models.arguments import checked_model
from explorer.decoding.models.load import load_model, model_folder
from explorer.decoding.models.model import LanguageModel

WHOLE: Final = 64_000_000
"""The most bytes of a file that are hashed whole."""

ENDS: Final = 1_000_000
"""The bytes at each end of a larger file that are hashed."""

ModelGiven = str | Path | LanguageModel | Callable[[], LanguageModel]
"""A name or a folder for `load_model`, a model, or a function without arguments that opens one."""

_WANTED: Final = "a name or folder for load_model, a model, or a function that opens one"


@dataclass(frozen=True)
class SweepModel:
    """A model of a sweep with its name in the table and its digest."""

    name: str
    given: ModelGiven
    digest: str

    @classmethod
    def of(cls, given: ModelGiven, name: str = "") -> SweepModel:
        """The model of a user's argument.

        Args:
            name: Its name in the table; by default the model's own.

        Raises:
            ExplorerError: The argument is not a model, or no such model exists.

        Example:
            >>> SweepModel.of("tiny").name
            'tiny'
        """
        given = plain(given)
        if isinstance(given, str | Path):
            folder, own = model_folder(given)
            return cls(name or own, str(given), digest_of_folder(folder))
        if isinstance(given, LanguageModel):
            model = checked_model(given)
            parts = ("object", model.name, model.vocabulary.fingerprint)
            return cls(name or model.name, model, digest_of(*parts))
        if callable(given):
            place = f"{given.__module__}:{getattr(given, '__qualname__', type(given))}"
            return cls(name or place, given, digest_of("function", place))
        raise wrong("models", given, _WANTED)

    def open(self) -> LanguageModel:
        """Open the model.

        Raises:
            ExplorerError: It cannot be opened, or the function did not return a model.
        """
        given = self.given
        if isinstance(given, str | Path):
            return load_model(given)
        return checked_model(given if isinstance(given, LanguageModel) else given())


def digest_of(*parts: str) -> str:
    """A digest of some texts, in 32 hexadecimal digits."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", errors="surrogatepass")
        state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()[:32]


def digest_of_folder(folder: Path) -> str:
    """The digest of a folder's files, as the module describes it."""
    state = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if not path.is_file() or path.suffix == ".md":
            continue
        size = path.stat().st_size
        state.update(f"{path.name}\0{size}\0".encode())
        with open(path, "rb") as file:
            if size <= WHOLE:
                state.update(file.read())
            else:
                state.update(file.read(ENDS))
                file.seek(size - ENDS)
                state.update(file.read())
    return state.hexdigest()[:32]
