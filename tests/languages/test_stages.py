"""Stages of a constraint: they are values, they travel, and each can be switched off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import explorer
from explorer import Vocabulary, regex
from explorer.errors import ConstraintError, ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from explorer.languages.stages.stage import TokenStage, register_stage, stage_from_dict
from explorer.languages.stages.staged import (
    Staged,
    stages_of,
    unstaged,
    with_stages,
)
from explorer.tokens.filtered.apply import load_filtered
from explorer.tokens.machine import filtered_of, storable_of
from tests.tokens.canonical_oracle import paths


@pytest.fixture(scope="module")
def toy() -> Vocabulary:
    pieces = {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4}
    tokenizer = Tokenizer(models.BPE(pieces | {"<end>": 5}, [("a", "b"), ("b", "c")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return Vocabulary.from_tokenizer(tokenizer, eos_ids=[5])


def test_a_stage_that_is_off_does_nothing(toy: Vocabulary) -> None:
    source = regex("abc").canonical(toy).source
    off = Constraint(with_stages(source, [(stage, False) for stage, _ in stages_of(source)]))
    assert off.source.token_stages == () and isinstance(off.source, Staged)
    assert repr(off) == "regex('abc')"
    assert set(paths(explorer.compile(off, toy))) == {(0, 1, 2), (3, 2), (0, 4)}
    again = source_from_dict(source_to_dict(off.source))
    assert stages_of(again) == stages_of(off.source)
    assert unstaged(again) == regex("abc").source
    assert (off | regex("b")).accepts("b")  # It filters nothing, so it may be a part.


def test_the_text_of_a_staged_constraint_is_its_parts(toy: Vocabulary) -> None:
    named = explorer.choice({"first": "ab", "second": "ca"}).canonical(toy)
    assert named.parse("ca") == "second"
    assert named.examples() == ["ab", "ca"] and not named.accepts("c")
    machine = explorer.compile(named, toy)
    why = explorer.explain(machine, machine.start, 1)
    assert why.stage == "constraint" and "expects" in why.message


def test_a_saved_machine_is_filtered_anew(toy: Vocabulary, tmp_path: Path) -> None:
    path = tmp_path / "machine.dfa"
    machine = explorer.compile(regex("abc").canonical(toy), toy)
    filtered = filtered_of(machine)
    assert filtered is not None and filtered.filter_name == "canonical"
    machine.save(path)
    again = load_filtered(path, toy)
    assert set(paths(again)) == {(3, 2)} and again.constraint is not None
    assert repr(again.constraint) == "regex('abc').canonical()"
    with pytest.raises(ConstraintError, match="load_filtered"):
        explorer.TokenDFA.load(path, toy)
    lazy = explorer.compile(regex("abc").canonical(toy), toy, lazy=True)
    storable = storable_of(lazy)
    assert storable is not None and filtered_of(lazy) is lazy
    with pytest.raises(ExplorerError, match="over a table"):
        storable.save(path)


@dataclass(frozen=True)
class Sonnet(TokenStage):
    """A stage without a function that applies it."""

    kind: ClassVar[str] = "sonnet of the tests"

    @property
    def title(self) -> str:
        return "sonnet"

    @property
    def about(self) -> str:
        return "fourteen lines"

    def fields(self) -> dict[str, object]:
        return {}

    @classmethod
    def load(cls, fields: Mapping[str, object]) -> Self:
        return cls()

    def __str__(self) -> str:
        return "sonnet()"


def test_a_stage_of_a_notebook_is_registered_once(toy: Vocabulary) -> None:
    register_stage(Sonnet)
    assert register_stage(Sonnet) is Sonnet
    constraint = regex("a").through(Sonnet())
    assert stage_from_dict({"kind": Sonnet.kind}) == Sonnet()
    with pytest.raises(ConstraintError, match="does not say how"):
        explorer.compile(constraint, toy)

    class Other(Sonnet):
        pass

    with pytest.raises(ConstraintError, match="registered already"):
        register_stage(Other)
