"""Machine code is cached where possible; an unusable cache is the same as no cache."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import config

import explorer
from explorer.automata.construction.minimize import merge_classes
from explorer.hashing import SEED, first_slot, folded, mixed
from explorer.jit import NOTICE, is_too_deep, jit

PACKAGE = Path(explorer.__file__).parent


def module_of(path: Path, text: str) -> Any:
    """A module from a file that a test writes, perhaps twice within a second."""
    path.write_text(text)
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function in a file of its own, whose machine code goes into a fresh folder."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    return module_of(tmp_path / "kernel_of_a_test.py", "def double(x):\n    return 2 * x\n").double


def compiled_of(function: Any) -> Any:
    """Numba's compiled form of a function, which knows where its machine code came from."""
    kernel: Any = jit(function)
    return kernel.compiled


needs_compiler = pytest.mark.skipif(
    bool(config.DISABLE_JIT),  # pyright: ignore[reportAttributeAccessIssue]
    reason="nothing is compiled here",
)


@needs_compiler
def test_a_kernel_is_compiled_once_for_all_numbers(tmp_path: Path) -> None:
    text = """import numpy as np
from explorer.jit import jit

@jit
def twice(x):
    return 2 * x

@jit
def all_of(narrow):
    return twice(3) + twice(-1) + twice(narrow[0]) + twice(len(narrow))
"""
    module = module_of(tmp_path / "kernels_of_a_test.py", text)
    assert module.all_of(np.array([5, 7], np.int32)) == 6 - 2 + 10 + 4
    assert len(module.twice.compiled.signatures) == 1


@needs_compiler
def test_machine_code_is_found_again(kernel: Any) -> None:
    for hits in (0, 1, 1):
        compiled: Any = compiled_of(kernel)
        assert compiled(4) == 8
        assert sum(compiled.stats.cache_hits.values()) == hits


@needs_compiler
def test_a_kernel_is_compiled_anew_when_one_that_it_calls_changes(
    kernel: Any, tmp_path: Path
) -> None:
    """The kernel calls one of a second file, which calls one of a third."""
    call = "def {0}(x):\n    return {1}(x)\n"
    for factor, hits in ((2, 0), (2, 1), (3, 0)):
        first = module_of(tmp_path / "first.py", f"def inner(x):\n    return {factor} * x\n")
        second = module_of(tmp_path / "second.py", call.format("middle", "inner"))
        third = module_of(tmp_path / "third.py", call.format("outer", "middle"))
        second.inner = jit(first.inner)
        third.middle = jit(second.middle)
        compiled: Any = compiled_of(third.outer)
        assert compiled(4) == 4 * factor
        assert sum(compiled.stats.cache_hits.values()) == hits


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1))
def test_the_hash_is_that_of_whole_words_modulo_2_to_the_64(values: list[int]) -> None:
    code, expected = SEED, int(SEED)
    for value in values:
        code = np.uint64(mixed(code, value))
        expected = (expected ^ value) * (2**40 + 0x1B3) % 2**64
    assert int(code) == expected
    assert int(folded(code)) == expected ^ (expected >> 29)
    assert first_slot(code, 15) == expected % 16


def empty(_: bytes) -> bytes:
    return b""


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def garbage(content: bytes) -> bytes:
    return b"\x80garbage" * (len(content) // 8)


def one_bit(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 16]) + content[middle + 1 :]


@needs_compiler
@pytest.mark.parametrize("damage", [empty, half, garbage, one_bit])
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_file_is_compiled_anew(
    kernel: Any, tmp_path: Path, damage: Any, suffix: str
) -> None:
    assert jit(kernel)(4) == 8
    (path,) = (tmp_path / "cache").rglob(f"*{suffix}")
    path.write_bytes(damage(path.read_bytes()))
    again: Any = compiled_of(kernel)
    assert again(4) == 8
    if (suffix, damage) != (".nbi", one_bit):  # That may leave a key or a name that is whole.
        assert not again.stats.cache_hits
    assert jit(kernel)(4) == 8
    last: Any = compiled_of(kernel)
    assert last(4) == 8 and sum(last.stats.cache_hits.values()) == 1


@needs_compiler
def test_a_folder_that_is_lost_later_costs_nothing(kernel: Any, tmp_path: Path) -> None:
    compiled: Any = compiled_of(kernel)
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("a file where the folder was")
    assert compiled(4) == 8


def test_an_install_and_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    """Folders that cannot be made, also by an administrator: files stand in their place."""
    package = tmp_path / "explorer"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "*.safetensors"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("")
    nowhere = "/dev/null/nowhere"
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")},
        "HOME": nowhere,
        "XDG_CACHE_HOME": nowhere,
        "EXPLORER_CACHE": nowhere,
        "PYTHONPATH": str(tmp_path),
        "PYTHONWARNINGS": "always",
    }
    code = (
        "import explorer, numpy as np\n"
        "from explorer.hashing import SEED, first_slot, mixed\n"
        "print(explorer.__file__, first_slot(np.uint64(mixed(SEED, 7)), 15) < 16)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment, capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(package / "__init__.py"), "True"]
    if not config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        assert done.stderr.count("explorer keeps no machine code") == 1
        assert "NUMBA_CACHE_DIR" in done.stderr


def test_making_machine_code_costs_no_budget() -> None:
    """The first compile of a process without a cache takes many seconds, and none of the budget."""
    script = """
import os, time
import explorer
from explorer.budget import Meter
from explorer.jit import jit, making_code

def double(x):
    return 2 * x

meter = Meter()
began = time.perf_counter()
jit(double)(4)
wall, spent = time.perf_counter() - began, meter.seconds()
assert making_code.seconds > 0
assert spent < wall
assert abs(spent + making_code.seconds - wall) < 0.5 * wall + 0.05, (spent, wall)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


FIRST_QUESTION = """
import explorer

schema = {"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a", "b"]}
constraint = explorer.json_schema({"type": "object", **schema})
print(explorer.explain_text(constraint, '{"a":5}').paragraph)
"""


@needs_compiler
@pytest.mark.long
def test_making_machine_code_takes_no_time_from_the_first_question(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_QUESTION],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, check=True, cwd=PACKAGE.parent,
    )  # fmt: skip
    assert "The property b is missing" in done.stdout


FIRST = """
import sys
import explorer, numpy as np
from explorer.hashing import first_slot

where = sys.argv[1]
if where == "a notebook":
    sys.modules["ipykernel"] = sys
elif where == "a terminal":
    sys.stderr.isatty = lambda: True
assert "numba" not in sys.modules
for _ in range(2):
    print(first_slot(np.uint64(1), 15) < 16)
assert "numba" in sys.modules
"""


@needs_compiler
@pytest.mark.parametrize("where", ["a terminal", "a notebook", "a file"])
def test_the_first_process_says_to_a_person_that_it_makes_machine_code(
    where: str, tmp_path: Path
) -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", FIRST, where],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True, text=True, check=True, cwd=PACKAGE.parent,
        )
        for _ in range(2)
    ]  # fmt: skip
    assert [run.stdout.split() for run in runs] == [["True", "True"]] * 2
    assert [run.stderr.count(NOTICE) for run in runs] == [where != "a file", 0]


INTERRUPTED = """
import os, signal, sys
from explorer.hashing import first_slot
import numpy as np

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.compiler":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupts())
try:
    first_slot(np.uint64(1), 15)
except KeyboardInterrupt:
    print("interrupted")
print(first_slot(np.uint64(1), 15))
"""


@needs_compiler
def test_an_interrupt_waits_until_numba_is_loaded() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        capture_output=True, text=True, check=True, cwd=PACKAGE.parent,
    )  # fmt: skip
    assert done.stdout.split() == ["interrupted", "1"]


CALLER = """
from explorer.hashing import mixed
from explorer.automata.construction.minimize import merge_classes
from explorer.jit import NOTICE, is_too_deep, jit

def outer(code, value):
    return mixed(code, value)
"""


@needs_compiler
def test_machine_code_from_the_disk_goes_into_a_kernel_that_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = mixed(SEED, 7)  # From here on it is on the disk, whatever was there before.
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import caller, explorer.hashing as hashing\n"
        "hashing.mixed(hashing.SEED, 7)\n"
        "assert sum(hashing.mixed.stats.cache_hits.values()) == 1, hashing.mixed.stats\n"
        "kernel = caller.jit(caller.outer)\n"
        "print(int(kernel(hashing.SEED, 7)))\n"
        "assert not kernel.compiled.stats.cache_hits\n"
    )
    (tmp_path / "caller.py").write_text(CALLER)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True, text=True, check=True, cwd=PACKAGE.parent,
    )  # fmt: skip
    assert int(done.stdout) == int(np.uint64(expected))


def test_a_kernel_at_the_limit_of_nested_calls_is_too_deep() -> None:
    machine = explorer.regex("a+b").dfa

    def nested() -> BaseException:
        try:
            merge_classes(machine)
        except (RecursionError, SystemError) as error:
            return error
        return nested()

    assert is_too_deep(nested())
    assert not is_too_deep(SystemError("another fault"))
