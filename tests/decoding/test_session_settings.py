"""What holds for a whole session: its restriction, and what its answers begin with."""

from __future__ import annotations

import re

import pytest

import explorer
from explorer import choice, generate, regex
from explorer.automata.pipeline.staged import stages_of
from explorer.decoding.models.model import LanguageModel
from explorer.decoding.stepping.kept_to import checked_restrict, kept_to
from explorer.errors import ConstraintError, ExplorerError

TINY = explorer.load_model("tiny")
SP = explorer.load_model("tiny-sp")
GERMANY = "The capital of Germany is"
USER = {"role": "user", "content": "What is the capital of Germany?"}


def kept(session: explorer.Session) -> list[str]:
    """The stages of a session's constraint, those that are off in brackets."""
    assert session.constraint is not None
    return [
        str(stage) if on else f"[{stage}]" for stage, on in stages_of(session.constraint.source)
    ]


def test_a_restriction_is_that_of_the_constraint() -> None:
    words = regex(r" \w{1,8}")
    for restrict, same in [
        ("ascii", words.restrict("ascii")),
        (["ascii", "hangul"], words.restrict(["ascii", "hangul"])),
        ({"scripts": ["Greek"], "chars": "§"}, words.restrict(scripts=["Greek"], chars="§")),
        ({"words": ["Berlin"]}, words.restrict(words=["Berlin"])),
    ]:
        session = explorer.Session(TINY, words, GERMANY, restrict=restrict)  # type: ignore[arg-type]
        other = explorer.Session(TINY, same, GERMANY)
        assert session.constraint and other.constraint
        assert session.constraint.source == other.constraint.source
        allowed = session.machine.allowed(session.machine.start)
        assert (allowed == other.machine.allowed(other.machine.start)).all()
        assert session.restrict == checked_restrict(restrict)


def test_it_stays_when_the_constraint_is_edited() -> None:
    session = explorer.Session(TINY, regex(r" \w+"), GERMANY, restrict="ascii")
    session.edit(constraint=regex("[ aé]+"))
    assert kept(session) == ["restrict('ascii')"]
    assert session.constraint is not None and not session.constraint.accepts("é")
    session.edit(constraint=explorer.compile(regex("[ bé]+"), TINY.vocabulary))
    assert session.constraint.accepts("b") and not session.constraint.accepts("é")
    session.edit(constraint=None)
    assert session.constraint.accepts("any text\n") and not session.constraint.accepts("é")
    session.edit(prompt="Other")
    assert kept(session) == ["restrict('ascii')"]
    assert kept(session.fork()) == ["restrict('ascii')"]


def test_a_stage_that_is_there_is_left_as_it_is() -> None:
    restrict = checked_restrict("ascii")
    one = regex("[aé]").restrict("ascii")
    assert kept_to(one, restrict) is one
    assert kept_to(one, None) is one
    # Switched off on the pipeline bar: somebody wanted that.
    from explorer.automata.pipeline.staged import Staged

    off = explorer.Constraint(Staged(regex("[aé]").source, restrict, False))  # type: ignore[arg-type]
    assert kept_to(off, restrict) is off


def test_it_stands_before_the_stages_of_the_tokens_and_inside_a_healed_prompt() -> None:
    session = explorer.Session(
        SP, regex("[a-zé]{1,6}").canonical(), "the wea", heal="prompt", restrict="ascii"
    )
    assert session.run(max_tokens=12).answer.isascii()
    session.edit(prompt="Schöne Gr", constraint=regex("[a-zü]{1,6}").canonical())
    # The prompt may hold what the answer may not.
    assert session.run(max_tokens=20).answer.isascii()
    plain = explorer.Session(TINY, regex("[a-z]+").canonical(), restrict="ascii")
    assert kept(plain) == ["restrict('ascii')", "canonical()"]


def test_a_machine_without_a_constraint_cannot_be_restricted() -> None:
    machine = explorer.Session(TINY, regex("a")).machine
    assert kept_to(machine, None) is machine
    with pytest.raises(ConstraintError, match="does not know its constraint"):
        kept_to(_Nameless(machine), checked_restrict("ascii"))  # type: ignore[arg-type]


class _Nameless:
    """A token machine that does not know what it was made of."""

    constraint = None

    def __init__(self, machine: object) -> None:
        self._machine = machine

    def __getattr__(self, name: str) -> object:
        return getattr(self._machine, name)


@pytest.mark.parametrize("lm", [TINY, SP], ids=["tiny", "tiny-sp"])
def test_an_answer_begins_with_the_prefix(lm: LanguageModel) -> None:
    words = regex(r" [A-Z][a-z]+\.")
    session = explorer.Session(lm, words, [USER], response_prefix=" The capital is")
    alone = explorer.Session(lm, words, [USER])
    extra = session.trace.prompt_ids[len(alone.trace.prompt_ids) :]
    data = b"".join(lm.vocabulary.tokens[token] or b"" for token in extra)
    assert data == b" The capital is"
    trace = session.run()
    (one,) = generate(lm, [USER], words, response_prefix=" The capital is")
    assert trace.ids == one.tokens and trace.text == one.text
    session.edit(prompt=GERMANY)
    assert session.trace.prompt_ids[-len(extra) :] == extra


@pytest.mark.parametrize("lm", [TINY, SP], ids=["tiny", "tiny-sp"])
def test_one_prompt_is_a_list_of_one(lm: LanguageModel) -> None:
    cities = choice([" Berlin", " Bonn"])
    assert generate(lm, GERMANY, cities) == generate(lm, [GERMANY], cities)
    assert generate(lm, [USER], cities) == generate(lm, [[USER]], cities)
    assert len(generate(lm, [GERMANY, [USER]], cities)) == 2
    assert generate(lm, [], cities) == []
    with pytest.raises(ExplorerError, match=re.escape("prompt[0]")):
        generate(lm, [{"content": "x"}], cities)  # type: ignore[list-item]


@pytest.mark.parametrize(("text", "wrong"), [("e", " e"), (" ", "  ")])
def test_a_token_named_by_its_text_is_that_token(text: str, wrong: str) -> None:
    """A tokenizer that puts a space in front of a text does not choose another token."""
    lm = explorer.load_model("tiny-sp")
    session = explorer.Session(lm, explorer.choice([text + "x", wrong + "x"]), "The letter")
    session.step(token=text)
    assert session.text == text


@pytest.mark.parametrize(
    "constraint",
    [explorer.grammar('root ::= "(" root ")" | "x"'), explorer.choice([" Rome"]).canonical()],
    ids=["grammar", "canonical"],
)
def test_the_remedy_for_a_budget_without_a_table_helps(constraint: explorer.Constraint) -> None:
    """What the error names first is what makes the same call work."""
    lm = explorer.load_model("tiny")
    with pytest.raises(explorer.errors.ExplorerError) as raised:
        explorer.generate(lm, "x", constraint, max_tokens=4)
    remedy = str(raised.value.remedy)
    assert remedy.startswith("Give masking_budget=False") and "lazy" not in remedy
    explorer.generate(lm, "x", constraint, max_tokens=4, masking_budget=False)
