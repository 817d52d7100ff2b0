"""Tests and examples of what pynini or interegular does are skipped where it is missing."""

from __future__ import annotations

import re
from collections.abc import Generator
from doctest import UnexpectedException
from importlib.util import find_spec

import pytest

from explorer.errors import MissingDependency

INTERCHANGE = ("pynini", "interegular")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Skip a test of what pynini or interegular does where, and only where, it is missing."""
    try:
        yield
    except Exception as error:
        library = _missing(error)
        if library is None or find_spec(library) is not None:
            raise
        pytest.skip(f"{library} is not installed")


def _missing(error: BaseException) -> str | None:
    """The library of the two that a test asked for, a cell of a notebook in it, or an example."""
    if isinstance(error, UnexpectedException):  # Of an example.
        error = error.exc_info[1]
    if isinstance(error, MissingDependency):
        library = error.evidence.get("library")
        return str(library) if library in INTERCHANGE else None
    named = re.search(r"No module named '(pynini|interegular)'", str(error))
    return named[1] if named else None
