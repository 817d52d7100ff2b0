"""A kernel with a thousand explorers: equal constraints share a machine, and caches are bounded."""

from __future__ import annotations

import ast
import dataclasses
import gc
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from weakref import ref

import pytest

import explorer
from explorer.decoding.models.embedded import EMBEDDED
from explorer.languages.constraint import Constraint
from explorer.tokens.shared import kept_machine, machines_in_use, shared_machine
from explorer.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.from_file(EMBEDDED["tiny"])


def constraints(k: int) -> tuple[Constraint, ...]:
    """One of each kind, made anew, and different for each number."""
    schema = {**SCHEMA, "properties": {"name": {"const": f"n{k}"}, "age": {"type": "integer"}}}
    return (
        explorer.regex(f"[a-f]{{{k + 1},{k + 3}}}"),
        explorer.choice(["yes", f"no{k}"]),
        explorer.json_schema(schema),
        explorer.grammar(f'root ::= "a{k}" root "b" | ""'),
        explorer.template("{a}!", a=explorer.gen(regex=f"[0-9]{{1,{k + 1}}}")),
        explorer.regex(f"x{k}*").canonical(),
    )


def test_what_equal_sources_leave_out_keeps_machines_apart(vocabulary: Vocabulary) -> None:
    """The class of a type and the rules of a tokenizer are not compared, and they matter."""

    def of(number: int) -> type:
        return dataclasses.make_dataclass("Point", [("x", int)], namespace={"number": number})

    one, other = of(1), of(2)
    first = explorer.Session.from_ids(vocabulary, explorer.from_type(one), [])
    second = explorer.Session.from_ids(vocabulary, explorer.from_type(other), [])
    assert first.machine is not second.machine
    constraint = second.machine.constraint
    assert constraint is not None and constraint.parse('{"x":1}').number == 2

    written = [Vocabulary.from_file(EMBEDDED[name]) for name in ("tiny", "tiny-sp")]
    given = [explorer.regex("a*").canonical(each) for each in written]
    assert given[0].source == given[1].source
    machines = [shared_machine(constraint, written[0]) for constraint in given[:1]]
    with pytest.raises(explorer.errors.ExplorerError):
        shared_machine(given[1], written[0])  # Rules of another vocabulary are not followed.
    assert machines[0].constraint is given[0]

    class Mine(Constraint):
        """A kind of the user's own."""

    mine = Mine(explorer.regex("a*").source)
    plain = shared_machine(explorer.regex("a*"), vocabulary)
    assert shared_machine(mine, vocabulary) is not plain


def test_a_machine_goes_with_the_last_who_holds_it(vocabulary: Vocabulary) -> None:
    gc.collect()
    before = machines_in_use()
    held = [
        explorer.Session.from_ids(vocabulary, explorer.regex(f"[a-z]{{{k},9}}q"), [])
        for k in range(1, 9)
    ]
    watched = ref(held[3].machine)
    assert machines_in_use() == before + 8
    held.clear()
    gc.collect()
    assert machines_in_use() == before and watched() is None


def test_a_table_takes_the_place_of_a_lazy_machine(vocabulary: Vocabulary) -> None:
    constraint = explorer.regex("[a-c]{2,5}z")
    lazy = explorer.compile(constraint, vocabulary, lazy=True)
    table = explorer.compile(constraint, vocabulary, lazy=False)
    assert kept_machine(lazy, constraint, vocabulary, None) is lazy
    assert kept_machine(table, constraint, vocabulary, None) is table
    assert kept_machine(lazy, constraint, vocabulary, None) is table


def test_threads_that_ask_at_once_get_one_machine(vocabulary: Vocabulary) -> None:
    found: list[object] = []
    wait = threading.Barrier(4)

    def ask() -> None:
        wait.wait()
        found.append(shared_machine(explorer.regex("[a-k]{1,7}w"), vocabulary))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(machine) for machine in found}) == 1


def test_equal_rows_of_a_batch_have_one_table() -> None:
    lm = explorer.load_model("tiny")
    equal = [explorer.choice(["yes", "no"]) for _ in range(6)]
    from explorer.decoding.batches.constrained_batch import ConstrainedBatch
    from explorer.decoding.sampling.sampler import Drawing

    batch = ConstrainedBatch(
        [*equal, None, explorer.regex("a+"), None], lm.vocabulary,
        Drawing(explorer.Sampler(), 0, None, None), streams=None, device="cpu",
    )  # fmt: skip
    assert batch.rows.constraint.tolist() == [0, 0, 0, 0, 0, 0, 1, 2, 1]


def grown(vocabulary: Vocabulary, numbers: range) -> int:
    """The bytes that compiling and dropping different constraints leaves behind."""
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for k in numbers:
        for constraint in constraints(k)[:5]:
            shared_machine(constraint, vocabulary).allowed(0)
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before


def test_dropped_machines_leave_nothing_behind(vocabulary: Vocabulary) -> None:
    tracemalloc.start()
    try:
        grown(vocabulary, range(16))  # Bounded caches fill first.
        assert grown(vocabulary, range(16, 32)) < 500_000
    finally:
        tracemalloc.stop()


# --- the law of caches ----------------------------------------------------------------------------

FINITE = {"engine", "flags", "form", "order", "name", "view", "draft", "given", "of_type"}
"""Parameters of which there are only so many values: forms, orders, names of tables and engines."""


def unbounded(source: str) -> Iterator[str]:
    """The functions that remember an answer for each argument without end."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        decorators = {ast.unparse(one) for one in node.decorator_list}
        if not decorators & {"cache", "functools.cache", "lru_cache(maxsize=None)"}:
            continue
        named = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
        if not set(named) <= FINITE:
            yield f"{node.name}({', '.join(named)})"


def test_no_cache_grows_with_what_users_give() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): listed
        for folder in ("explorer", "widgets")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (listed := list(unbounded(path.read_text("utf-8"))))
    }
    assert found == {}


def test_a_cache_without_end_would_be_found() -> None:
    wrong = (
        "@cache\ndef f(pattern): ...\n@cache\ndef g(): ...\n@lru_cache(maxsize=4)\ndef h(x): ..."
    )
    assert list(unbounded(wrong)) == ["f(pattern)"]
