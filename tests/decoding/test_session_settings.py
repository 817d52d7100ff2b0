"""Settings of a whole session: its restriction, and the beginning of its answers."""

from __future__ import annotations

import re

import pytest

import explorer
from explorer import choice, generate, regex
from explorer.decoding.models.arguments import prefix_ids
from explorer.decoding.models.model import LanguageModel
from explorer.decoding.stepping.rule import Forced
from explorer.decoding.stepping.settings import checked_restrict, kept_to
from explorer.errors import ExplorerError
from explorer.languages.stages.staged import stages_of

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
    from explorer.languages.stages.staged import Staged

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
    [regex("[a-z ]+").canonical(), regex("[a-z ]+").without_isolated_spaces().canonical()],
    ids=["canonical", "two stages"],
)
@pytest.mark.parametrize("forced", ["step", "run"])
def test_a_text_is_cut_off_where_its_distances_are_not_known(
    constraint: explorer.Constraint, forced: Forced
) -> None:
    """The defaults work, and say that the budget took no part; insisting raises a remedy."""
    lm = TINY
    (text,) = generate(lm, "x", constraint, max_tokens=4, forced=forced)
    assert not text.planned and len(text.tokens) <= 4
    trace = explorer.Session(lm, constraint, "x", max_tokens=4).run()
    assert not trace.masking_budget and trace.ids == text.tokens
    with pytest.raises(ExplorerError) as raised:
        generate(lm, "x", constraint, max_tokens=4, masking_budget=True)
    remedy = str(raised.value.remedy)
    assert remedy.startswith("Give masking_budget=False") and "lazy" not in remedy
    assert generate(lm, "x", constraint, max_tokens=4, masking_budget=False) == [text]


@pytest.mark.parametrize("forced", ["step", "run"])
@pytest.mark.parametrize("drafted", [False, True])
def test_a_grammar_that_recurses_ends_in_time(forced: Forced, drafted: bool) -> None:
    """The defaults of `generate` plan: every text is finished, and several lengths are drawn."""
    if forced == "run" and drafted:
        pytest.skip("two ways to read several tokens at once")
    lm = TINY
    nested = explorer.grammar('root ::= "(" root ")" | "x"')
    depths: set[int] = set()
    for most in (2, 4, 7):
        texts = generate(
            lm, ["x"] * 20, nested, explorer.Sampler(4.0), most, seed=most, forced=forced,
            draft=explorer.load_model("tiny-draft") if drafted else None,
        )  # fmt: skip
        assert all(text.finished and text.planned for text in texts)
        assert all(len(text.tokens) <= most and nested.accepts(text.text) for text in texts)
        depths |= {text.text.count("(") for text in texts}
    assert len(depths) > 2
    trace = explorer.Session(lm, nested, "x", max_tokens=4, sampler=explorer.Sampler(4.0)).run()
    assert trace.masking_budget and trace.finished
    with pytest.raises(ExplorerError, match="the shortest takes 2 tokens"):
        generate(lm, "x", nested, max_tokens=1)


TEXTS = (" Berlin", " Berlin is the capital of Germany", " Rome", " Paris and Rome")


@pytest.mark.parametrize("forced", ["step", "run"])
@pytest.mark.parametrize("drafted", [False, True])
def test_a_few_canonical_texts_end_in_time(forced: Forced, drafted: bool) -> None:
    """With every budget, drawn texts are exactly those whose canonical tokens fit into it."""
    if forced == "run" and drafted:
        pytest.skip("two ways to read several tokens at once")
    lm = TINY
    cities = choice(TEXTS).canonical()
    sizes = {text: len(lm.vocabulary.encode(text) or ()) + 1 for text in TEXTS}
    for most in sorted(set(sizes.values())):
        fitting = {text for text, size in sizes.items() if size <= most}
        drawn = generate(
            lm, ["The capital is"] * 60, cities, explorer.Sampler(3.0), most, seed=most,
            forced=forced, draft=explorer.load_model("tiny-draft") if drafted else None,
        )  # fmt: skip
        assert all(text.finished and text.planned for text in drawn)
        assert {text.text for text in drawn} == fitting
    with pytest.raises(ExplorerError, match="No text of the constraint fits"):
        generate(lm, "x", cities, max_tokens=min(sizes.values()) - 1)


def test_a_batch_plans_where_it_can() -> None:
    """Each row by itself: a table, few texts, free text, and texts with unknown distances."""
    lm = TINY
    rows = [
        choice([" Rome"]),
        choice([" Rome"]).canonical(),
        None,
        regex("[a-z ]{40,}").canonical(),
    ]
    texts = generate(lm, ["In"] * 4, rows, max_tokens=3)
    assert [text.planned for text in texts] == [True, True, True, False]
    assert [text.finished for text in texts[:2]] == [True, True] and not texts[3].finished


def test_the_setting_follows_an_edited_constraint() -> None:
    lm = TINY
    pattern = regex("[a-z ]+")
    session = explorer.Session(lm, pattern, "x", max_tokens=4)
    assert session.trace.masking_budget
    session.edit(constraint=pattern.canonical())
    assert not session.trace.masking_budget
    session.edit(constraint=pattern)
    assert session.trace.masking_budget


def test_generate_keeps_every_row_to_a_restriction() -> None:
    """The texts are those of the restricted constraint; a row without one is kept to it too."""
    words = regex(r"[a-zé]{3}")
    prompts = ["x", "y"]
    sampler = explorer.Sampler(2.0)
    kept = generate(TINY, prompts, words, sampler, 20, restrict="ascii", seed=1)
    assert kept == generate(TINY, prompts, words.restrict("ascii"), sampler, 20, seed=1)
    free, held = generate(
        TINY, prompts, [None, words], sampler, 9, restrict={"chars": "ab"}, masking_budget=False
    )
    assert free.data and set(free.text) <= {"a", "b"} >= set(held.text)
    machine = explorer.compile(words, TINY.vocabulary)
    assert generate(TINY, prompts, machine, sampler, 20, restrict="ascii", seed=1) == kept
    with pytest.raises(ExplorerError, match="scriptz"):
        generate(TINY, prompts, words, restrict={"scriptz": "Latin"})


def test_a_prefix_of_pieces_as_sentencepiece_names_them() -> None:
    cities = choice([" Berlin", " Bonn"])
    named = generate(SP, ["x"], cities, response_prefix=["▁", "B"])
    assert named == generate(SP, ["x"], cities, response_prefix=[" ", "B"])
    whole = SP.vocabulary.ids_of(b" The")[0]
    assert prefix_ids(SP, ["▁The"]) == prefix_ids(SP, [" The"]) == (whole,)
    with pytest.raises(ExplorerError, match="not one token") as refused:
        generate(TINY, ["x"], cities, response_prefix=["ĠB"])
    assert "'Ġ'" in refused.value.remedy
