"""A writer that fails leaves the old file as it was, and nothing beside it."""

from __future__ import annotations

import copy
import errno
import json
import os
import resource
import stat
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer import cli
from explorer.cli import lab
from explorer.errors import DamagedFile, ExplorerError, FileError, MissingFile
from explorer.files import (
    MOST_VALUES,
    check_writable,
    file_errors,
    parse_json,
    read_text,
    write_whole,
)

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
        with pytest.raises(explorer.errors.ExplorerError) as caught:
            write(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(path.parent) in str(caught.value) and ".tmp" not in str(caught.value)
    assert path.read_bytes() == OLD
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_an_interrupt_leaves_the_old_file(tmp_path: Path) -> None:
    """It comes when the new file is complete and is about to take the place of the old one."""

    def interrupt(_: object, event: str, called: object) -> None:
        if event == "c_call" and called is os.replace:
            raise KeyboardInterrupt

    path = tmp_path / "file"
    path.write_bytes(OLD)
    sys.setprofile(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            write_whole(path, b"new")
    finally:
        sys.setprofile(None)
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
    with pytest.raises(FileError, match="not of a folder"):
        write_whole(tmp_path, OLD)


CALLS: dict[str, tuple[bool, Callable[[Any], object]]] = {
    "Trace.load": (False, explorer.Trace.load),
    "Trace.save": (True, save_trace),
    "TokenDFA.load": (False, lambda path: explorer.TokenDFA.load(path, vocabulary())),
    "TokenDFA.save": (True, save_machine),
    "Vocabulary.from_file": (False, explorer.Vocabulary.from_file),
    "to_html": (True, save_page),
    "write_whole": (True, lambda path: write_whole(path, OLD)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_path_that_cannot_be_used_is_named_with_a_remedy(name: str, tmp_path: Path) -> None:
    writes, call = CALLS[name]
    (tmp_path / "file").write_bytes(OLD)
    missing = tmp_path / "none" / "x"
    for path in (missing, tmp_path / "file" / "x", tmp_path, "x" * 5000, f"{tmp_path}/\0", ""):
        if (path == tmp_path and name == "Vocabulary.from_file") or (
            path in ("", f"{tmp_path}/\0") and name == "write_whole"
        ):
            continue  # A folder may hold a tokenizer; and the check of arguments comes before.
        with pytest.raises(ExplorerError) as caught:
            call(path)
        error = caught.value
        assert str(path)[:50] in error.message or repr(path)[:50] in error.message
        assert error.remedy and error.remedy not in error.message
        assert str(error) == f"{error.message} {error.remedy}"
        if path == missing and name != "Vocabulary.from_file":
            assert isinstance(error, FileNotFoundError) and error.errno == errno.ENOENT
            assert ("folder" in error.remedy) == writes
            assert isinstance(copy.copy(error), MissingFile)
    assert (tmp_path / "file").read_bytes() == OLD
    assert {entry.name for entry in tmp_path.iterdir()} == {"file"}


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_file_without_an_end_is_refused(device: str) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a"], eos_ids=[1])
    for read in (
        lambda: explorer.TokenDFA.load(device, vocabulary),
        lambda: explorer.Trace.load(device),
        lambda: explorer.Vocabulary.from_file(device, eos_ids=[1]),
        lambda: read_text(Path(device)),
    ):
        with pytest.raises(FileError, match="It is a device, not a file"):
            read()


def test_whether_a_file_can_be_written_is_known_before(tmp_path: Path) -> None:
    check_writable(tmp_path / "new")
    assert not list(tmp_path.iterdir())
    (tmp_path / "old").write_text("old")
    check_writable(tmp_path / "old")
    assert (tmp_path / "old").read_text() == "old" and len(list(tmp_path.iterdir())) == 1
    for wrong in (tmp_path, tmp_path / "none" / "new", tmp_path / "old" / "new"):
        with pytest.raises(FileError):
            check_writable(wrong)


def test_a_reader_that_has_gone_is_not_a_wrong_path() -> None:
    with pytest.raises(BrokenPipeError), file_errors("/dev/stdout"):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_text_that_is_not_utf_8_is_refused_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "schema.json"
    path.write_bytes(b'"a\xff"')
    with pytest.raises(DamagedFile, match=r"schema\.json is not text in UTF-8, at byte 2"):
        read_text(path)
    with pytest.raises(explorer.errors.ConstraintError, match="at byte 2"):
        explorer.json_schema({"$ref": "schema.json"}, folder=tmp_path)
    assert cli.main(["trace", "--json-schema", str(path)]) == 2
    assert "is not text in UTF-8, at byte 2" in capsys.readouterr().err


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
