"""A progress bar for work of more than a second, or a callback."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from explorer.arguments import wrong

Progress = bool | Callable[[int, int], None]
"""``True`` for a bar on standard error after a second, ``False`` for none; or a function that is
called with the amount done and the total."""


@contextmanager
def advancing(total: int, what: str, progress: Progress) -> Generator[Callable[[int], None]]:
    """Report progress while the block runs.

    Yields:
        A function to call with each further amount done.

    Example:
        >>> with advancing(3, "texts", lambda done, total: print(done, "of", total)) as advance:
        ...     advance(2)
        2 of 3
    """
    if callable(progress):
        done, tell = 0, progress

        def advance(count: int) -> None:
            nonlocal done
            done += count
            tell(min(done, total), total)

        yield advance
        return
    if progress is not True and progress is not False:
        raise wrong("progress", progress, "True, False or a function of two numbers")
    if not progress or find_spec("tqdm") is None:

        def ignore(count: int) -> None:
            del count

        yield ignore
        return
    tqdm: Any = import_module("tqdm").tqdm
    # Quick answers show no bar, and a finished one does not stay.
    with tqdm(total=total, desc=what, delay=1.0, leave=False) as bar:

        def update(count: int) -> None:
            bar.update(count)

        yield update
