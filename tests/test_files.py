"""A writer that fails leaves the old file as it was, and nothing beside it."""

from __future__ import annotations

import errno
import json
import os
import resource
import stat
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.cli import lab
from explorer.files import MOST_VALUES, parse_json, write_whole

OLD = b"what was there before"


def vocabulary() -> explorer.Vocabulary:
    return explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])


def run() -> Any:
    return explorer.Session.from_ids(vocabulary(), explorer.regex("(foo)+d"), [0, 1, 4, 5])


def save_trace(path: Path) -> None:
    run().trace.save(path)


def save_machine(path: Path) -> None:
    explorer.compile(explorer.regex("(foo)+d"), vocabulary()).save(path)


def save_page(path: Path) -> None:
    from widgets.cursor import Cursor
    from widgets.views.explorer import Explorer

    Explorer(cursor=Cursor(run())).to_html(path)


def copy_notebook(path: Path) -> None:
    record = path.parent / lab.RECORD
    record.write_text(json.dumps({path.name: lab._hash(path.read_bytes())}))
    try:
        lab.copy_notebooks({path.name: bytes(10_000)}, path.parent)
    finally:
        record.unlink()


WRITERS: list[Callable[[Path], object]] = [
    save_trace, save_machine, save_page, copy_notebook,
    lambda path: write_whole(path, bytes(10_000)),
]  # fmt: skip


@pytest.mark.parametrize("write", WRITERS)
def test_a_full_disk_leaves_the_old_file(write: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    write(path)  # Everything that is loaded or compiled on the way is there now.
    assert path.read_bytes() != OLD
    path.write_bytes(OLD)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
    try:
        with pytest.raises((OSError, explorer.errors.ExplorerError)) as caught:
            write(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(path.parent) in str(caught.value) and ".tmp" not in str(caught.value)
    assert path.read_bytes() == OLD
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left")])
def test_an_interrupt_leaves_the_old_file(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    path = tmp_path / "file"
    path.write_bytes(OLD)
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(type(error)):
        write_whole(path, b"new")
    assert path.read_bytes() == OLD and len(list(tmp_path.iterdir())) == 1


def test_a_file_keeps_its_mode_its_links_and_may_have_a_long_name(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_whole(path, OLD)
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    write_whole(link, b"new")
    assert link.is_symlink() and path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_what_is_not_a_plain_file_is_written_in_place(tmp_path: Path) -> None:
    read, write = os.pipe()
    write_whole(f"/dev/fd/{write}", OLD)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == OLD
    write_whole(os.devnull, OLD)
    assert not Path(os.devnull).is_file()
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, OLD)


def test_a_document_is_counted_before_it_is_parsed() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="values"):
            parse_json(b"[" + b"[]," * MOST_VALUES + b"[]]")
        assert tracemalloc.get_traced_memory()[1] < 2 * 3 * MOST_VALUES + 1_000_000
    finally:
        tracemalloc.stop()
    with pytest.raises(ValueError, match="nested too deep"):
        parse_json(b"[" * 100_000)
    with pytest.raises(ValueError, match="NaN"):
        parse_json(b"[NaN]")
    for half in (rb'["\ud800"]', rb'{"\uDFFF": 1}'):
        with pytest.raises(ValueError, match="surrogate"):
            parse_json(half)
    assert parse_json(rb'"\ud83d\ude00"') == "\U0001f600"
