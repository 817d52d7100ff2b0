"""The page about servers: its Python runs, and it names every format and every limit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from explorer.files import MOST_VALUES
from explorer.servers.formats import FORMATS
from explorer.servers.reading import MOST_BYTES, MOST_TOKENS
from explorer.servers.request import TOOL_PARSERS, UNREAD_PARSERS
from explorer.servers.run import REASONING_PARSERS
from explorer.servers.tables import SERVERS
from tests.servers.logs import vocabulary

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "servers.md").read_text("utf-8")


def test_the_python_of_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {"vocabulary": vocabulary()}
    exec(block, names)
    assert "token 6 (id 281)" in str(names["verdict"])


def test_the_page_names_every_format_and_limit() -> None:
    assert all(name in PAGE for name in FORMATS)
    assert f"{MOST_VALUES:,}" in PAGE and f"{MOST_TOKENS:,}" in PAGE
    assert f"{MOST_BYTES // 2**20} MB" in PAGE


def test_the_page_names_every_parser_and_setting() -> None:
    for names in (TOOL_PARSERS, UNREAD_PARSERS, REASONING_PARSERS):
        assert all(f"`{name}`" in PAGE for name in names)
    for server in SERVERS.values():
        flags = re.findall(r"--[a-z-]+", f"{server['whitespace']} {server['reasoning']}")
        assert all(flag in PAGE for flag in flags), (server["title"], flags)
