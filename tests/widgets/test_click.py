"""The files that one click enters, which somebody opens who follows it from the page and back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import explorer
from explorer.automata.tree.charset import char_set
from explorer.decoding.models.load import load_model
from tests.widgets.page import Page
from widgets.views.explorer import Explorer

ROOT = Path(explorer.__file__).resolve().parents[1]

MOST_OF_THE_ENGINE = 19
MOST_OF_THE_WIDGETS = 15


def entered(act: Callable[[], object]) -> set[str]:
    """The files of both packages in which a function is called."""
    files: set[str] = set()

    def seen(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        act()
    finally:
        sys.setprofile(before)
    inside = (Path(name) for name in files if Path(name).is_relative_to(ROOT))
    paths = (path.relative_to(ROOT).as_posix() for path in inside)
    return {path for path in paths if path.startswith(("explorer/", "widgets/"))}


def test_a_click_enters_few_files() -> None:
    view = Explorer(load_model("tiny"), explorer.regex("[0-9]{4}-[0-9]{2}"), "The date is ")
    page = Page(view)
    for _ in range(2):  # What is worked out once per constraint is known then.
        page.ask("step")
    files = entered(lambda: page.ask("step"))
    assert {"widgets/cursor.py", "explorer/decoding/stepping/walk.py"} <= files
    engine = sorted(path for path in files if path.startswith("explorer/"))
    assert len(engine) <= MOST_OF_THE_ENGINE, engine
    assert len(files) - len(engine) <= MOST_OF_THE_WIDGETS, sorted(files - set(engine))


def test_a_file_that_is_entered_is_noticed() -> None:
    assert "explorer/automata/tree/charset.py" in entered(lambda: char_set([(1, 2)]))
    assert entered(lambda: None) == set()
