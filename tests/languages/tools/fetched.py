"""Chat templates of models, from two source distributions, which are never committed.

`unearth`, the downloader of PDM, gets a source distribution without building it, so nothing of it
is run. Its hash is checked, the templates are read from the archive, and they are kept in pytest's
cache.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

import pytest

UNEARTH: Final = "unearth==0.19.0"
PACKAGES: Final = {
    "llama.cpp": (
        "llama-cpp-python==0.3.36",
        "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e",
        r"vendor/llama\.cpp/models/templates/(.+)\.jinja",
    ),
    "vllm": (
        "vllm==0.33.0",
        "f4c33c2503d52bb411146afa9618a4f48bed68912f617e6803ac8d76e4c74112",
        r"examples/tool_chat_template_(.+)\.jinja",
    ),
}
"""By the name that a file of a `Form` begins with: the release, its SHA-256, its templates."""


def templates(cache: Path, place: Path) -> dict[str, str]:
    """The templates of both packages, as ``llama.cpp/NAME`` and ``vllm/NAME``.

    Args:
        cache: A folder that outlives the run.
        place: An empty folder for the downloads.
    """
    found: dict[str, str] = {}
    for name, (release, digest, pattern) in PACKAGES.items():
        kept = cache / f"{digest}.json"
        if not kept.exists():
            texts = _read(_downloaded(release, place), digest, pattern)
            kept.write_text(json.dumps(texts), "utf-8")
        texts = json.loads(kept.read_text("utf-8"))
        found |= {f"{name}/{file}": text for file, text in texts.items()}
    return found


def _downloaded(release: str, place: Path) -> Path:
    """The source distribution of a release; the test is skipped where it is out of reach."""
    tools = place / "tools"
    if not tools.exists():
        _run("-m", "pip", "install", "--quiet", "--target", str(tools), UNEARTH)
    code = (
        f"import sys; sys.path.insert(0, {str(tools)!r}); from unearth.__main__ import cli; cli()"
    )
    answer = _run("-c", code, "--no-binary", "--download", str(place), release)
    return Path(json.loads(answer)["local_path"])


def _run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        pytest.skip(f"the registry is out of reach: {done.stderr.strip()[-200:]}")
    return done.stdout


def _read(archive: Path, digest: str, pattern: str) -> dict[str, str]:
    """The texts of an archive's templates, by name."""
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == digest, archive.name
    texts: dict[str, str] = {}
    with tarfile.open(archive) as packed:
        for member in packed:
            match = re.fullmatch(rf"[^/]+/{pattern}", member.name)
            content = packed.extractfile(member) if match and member.isfile() else None
            if match and content is not None:
                texts[match[1]] = content.read().decode()
    archive.unlink()
    return texts
