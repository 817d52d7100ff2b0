"""Logs that hold a text and no ids: the text is judged, whichever way it was cut into tokens.

The oracles are the generators of the texts (Hypothesis for patterns, `json.dumps` for schemas), and
for texts with a fault the machine over characters alone.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import explorer
from explorer import Vocabulary
from explorer.automata.machine import NO_ARC
from explorer.decoding.models.embedded import EMBEDDED
from explorer.servers import ServerRun, runs_of, verdict_of
from tests.evidence import examples
from tests.servers.logs import PERSON, chat

NAMES: Final = ("tiny", "tiny-sp", "tokenizer.model.v1", "mistral-v3", "gpt2")
"""Two embedded models; a SentencePiece model as Llama 2's, a file of Mistral's package; and two
tokenizers that are kept elsewhere."""

SP: Final = "tiny-sp"


@cache
def vocabulary(name: str) -> Vocabulary:
    if name in EMBEDDED:
        return Vocabulary.from_file(EMBEDDED[name])
    if name.startswith("tokenizer.model"):
        package = pytest.importorskip("mistral_common")
        return Vocabulary.from_file(Path(package.__file__).parent / "data" / name)
    folder = os.environ.get("EXPLORER_TOKENIZERS")
    if not folder:
        pytest.skip("EXPLORER_TOKENIZERS names no folder of further tokenizers")
    return Vocabulary.from_file(Path(folder) / name)


Log = Callable[[str, dict[str, Any], Vocabulary], dict[str, Any]]


def with_text(text: str, request: dict[str, Any], vocab: Vocabulary) -> dict[str, Any]:
    """A chat log with a text alone."""
    del vocab
    return chat(text, request)


def with_bytes(text: str, request: dict[str, Any], vocab: Vocabulary) -> dict[str, Any]:
    """A chat log with the bytes of the tokenizer's own tokens, what it puts before them too."""
    document = chat(text, request)
    entries = [
        {"token": data.decode(errors="replace"), "logprob": -1.0, "bytes": list(data)}
        for data in (vocab.tokens[token] or b"" for token in vocab.encode(text) or ())
    ]
    document["response"]["choices"][0]["logprobs"] = {"content": entries}
    return document


def with_shown_tokens(text: str, request: dict[str, Any], vocab: Vocabulary) -> dict[str, Any]:
    """A log of completions, each token as it is shown alone: without the space before it."""
    shown = [
        (vocab.tokens[token] or b"").decode(errors="replace").lstrip(" ")
        for token in vocab.encode(text) or ()
    ]
    choice = {"text": text, "finish_reason": "stop",
              "logprobs": {"tokens": shown, "token_logprobs": [-1.0] * len(shown)}}  # fmt: skip
    return {"request": request, "response": {"choices": [choice]}}


def with_sglang(text: str, request: dict[str, Any], vocab: Vocabulary) -> dict[str, Any]:
    del vocab
    answer = {"text": text, "meta_info": {"finish_reason": {"type": "stop", "matched": None}}}
    return {"request": request, "response": answer}


def with_tgi(text: str, request: dict[str, Any], vocab: Vocabulary) -> dict[str, Any]:
    del vocab
    answer = {"generated_text": text, "details": {"finish_reason": "eos_token", "tokens": []}}
    return {"request": request, "response": [answer]}


LOGS: Final[tuple[Log, ...]] = (with_text, with_bytes, with_shown_tokens, with_sglang, with_tgi)


def run_of(document: dict[str, Any]) -> ServerRun:
    (run,) = runs_of(document)
    return run


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.__name__)
@pytest.mark.parametrize("request_", [
    {"structured_outputs": {"choice": ["yes", "no"]}},
    {"structured_outputs": {"regex": "yes|no"}},
    {"structured_outputs": {"grammar": 'root ::= "yes" | "no"'}},
], ids=["choice", "regex", "grammar"])  # fmt: skip
def test_a_word_that_the_request_names_is_no_violation(
    name: str, log: Log, request_: dict[str, Any]
) -> None:
    verdict = verdict_of(run_of(log("yes", request_, vocabulary(name))), vocabulary(name))
    assert (verdict.outcome, verdict.token, verdict.byte) == ("whole", None, None)
    assert verdict.session.text == "yes" and verdict.session.rejection is None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.__name__)
def test_json_without_white_space_is_no_violation(name: str, log: Log) -> None:
    request = {"structured_outputs": {"json": PERSON}, "disable_any_whitespace": True}
    good, bad = '{"name":"Ada","age":3}', '{"name": "Ada","age":3}'
    run = run_of(log(good, request, vocabulary(name)))
    assert verdict_of(run, vocabulary(name), engine="none").allowed
    run = run_of(log(bad, request, vocabulary(name)))
    verdict = verdict_of(run, vocabulary(name), engine="none")
    assert (verdict.outcome, verdict.byte) == ("masked", 8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.__name__)
def test_white_space_is_as_the_pattern_of_a_request_says(name: str, log: Log) -> None:
    asked = {"json": PERSON, "whitespace_pattern": "[ ]?", "backend": "outlines"}
    request = {"structured_outputs": asked}
    good, bad = '{"name": "Ada", "age":3}', '{"name":  "Ada","age":3}'
    assert verdict_of(run_of(log(good, request, vocabulary(name))), vocabulary(name)).allowed
    verdict = verdict_of(run_of(log(bad, request, vocabulary(name))), vocabulary(name))
    assert (verdict.outcome, verdict.byte) == ("masked", 9)


def test_the_token_is_named_only_where_it_is_certain() -> None:
    request = {"structured_outputs": {"choice": ["yes", "no"]}}
    verdict = verdict_of(run_of(chat("yeah", request)), vocabulary(SP))
    assert (verdict.byte, verdict.token, verdict.index) == (2, None, None)
    assert "byte 2 of the text, in 'a'" in verdict.sentence
    assert "expects s" in str(verdict) and "' y'" not in str(verdict)
    assert verdict.session.rejection is not None, "the session shows one way"
    told = verdict.to_dict()
    assert (told["byte"], told["token"], told["index"]) == (2, None, None)
    # One token of this vocabulary can stand there.
    small = Vocabulary.from_bytes([b"y", b"es", b"e", b"s", b"a"], eos_ids=[5])
    verdict = verdict_of(run_of(chat("yea", request)), small, explorer.choice(["yes"]))
    assert (verdict.byte, verdict.token, verdict.index) == (2, 4, None)
    assert "only the token 4 could stand there" in verdict.sentence
    # After "e" nothing could be finished: it is masked, though some token begins with it.
    small = Vocabulary.from_bytes([b"y", b"es", b"e", b"a"], eos_ids=[4])
    verdict = verdict_of(run_of(chat("yea", request)), small, explorer.choice(["yes"]))
    assert (verdict.byte, verdict.token) == (2, 2)


def test_ids_are_certain_and_the_text_is_told_apart() -> None:
    """An id that writes a space is masked, whatever the server's decoder takes off afterwards."""
    vocab = vocabulary(SP)
    ids = list(vocab.encode("yes") or ())
    document = chat("yes", {"structured_outputs": {"choice": ["yes", "no"]}})
    document["response"]["choices"][0]["token_ids"] = ids
    verdict = verdict_of(run_of(document), vocab)
    assert (verdict.outcome, verdict.index, verdict.token) == ("masked", 0, ids[0])
    assert any("'yes', is allowed" in note for note in verdict.notes)


def test_a_character_that_was_cut_is_not_a_violation() -> None:
    request = {"structured_outputs": {"regex": "(é|x)+y"}}
    document = chat("éé\ufffd", request, "length")
    assert verdict_of(run_of(document), vocabulary("tiny")).outcome == "cut"


def test_a_vocabulary_that_cannot_write_the_text_is_a_note() -> None:
    vocab = Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
    document = chat("aéb", {"guided_regex": "a(é|b)b"})
    verdict = verdict_of(run_of(document), vocab)
    assert verdict.outcome == "whole" and any("write byte 1" in note for note in verdict.notes)
    document = chat("aéa", {"guided_regex": "a(é|b)b"})
    assert verdict_of(run_of(document), vocab).byte == 3


def test_no_tokenizer_is_needed_to_judge_a_text() -> None:
    vocab = Vocabulary.from_bytes([bytes([byte]) for byte in range(256)], eos_ids=[256])
    assert vocab.encode("a") is None
    assert verdict_of(run_of(chat("aab", {"guided_regex": "a+b"})), vocab).outcome == "whole"


PATTERNS: Final = (
    "[0-9]{2,4}-[a-f]*", "(yes|no|maybe) ?[a-z]{0,5}", r"\w+@\w+\.(com|org)", "a?b*(cd)+",
    r"(é|😀|[ -~]){1,12}", r" ?[A-Z][a-z]+( [A-Z][a-z]+)*\.",
)  # fmt: skip


@st.composite
def conforming(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """A request and a text that conforms to it."""
    kind = draw(st.sampled_from(["pattern", "choice", "schema", "compact", "object"]))
    if kind == "pattern":
        pattern = draw(st.sampled_from(PATTERNS))
        text = draw(st.from_regex(pattern, fullmatch=True, alphabet=st.characters(codec="utf-8")))
        return {"structured_outputs": {"regex": pattern}}, text
    if kind == "choice":
        texts = draw(st.lists(st.text("abc é\n", min_size=1), min_size=1, max_size=4))
        return {"structured_outputs": {"choice": texts}}, draw(st.sampled_from(texts))
    value = {"name": draw(st.text(max_size=8)), "age": draw(st.integers(-999, 999))}
    if kind == "compact":
        outputs = {"json": PERSON, "disable_any_whitespace": True}
        ascii_ = draw(st.booleans())
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_)
        return {"structured_outputs": outputs}, text
    indent = draw(st.sampled_from([None, 0, 2]))
    request = {"json": PERSON} if kind == "schema" else {"json_object": True}
    text = draw(st.sampled_from(["", " ", "\n"])) + json.dumps(value, indent=indent)
    return {"structured_outputs": request}, text


SLOW: Final = settings(max_examples=examples(50), suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", NAMES[:2])
@given(asked=conforming(), log=st.sampled_from(LOGS))
@SLOW
def test_a_text_that_conforms_is_never_a_violation(
    name: str, asked: tuple[dict[str, Any], str], log: Log
) -> None:
    request, text = asked
    run = run_of(log(text, request, vocabulary(name)))
    verdict = verdict_of(run, vocabulary(name), engine="none")
    assert verdict.outcome == "whole", (text, str(verdict))
    assert verdict.session.text == text


@pytest.mark.parametrize("name", NAMES[:2])
@given(asked=conforming(), log=st.sampled_from(LOGS), chosen=st.randoms(use_true_random=False))
@SLOW
def test_the_byte_that_is_named_is_where_the_characters_fail(
    name: str, asked: tuple[dict[str, Any], str], log: Log, chosen: random.Random
) -> None:
    request, text = asked
    at = chosen.randrange(len(text) + 1)
    wrong = text[:at] + chosen.choice('x"{ 0é') + text[at + chosen.choice((0, 1)) :]
    run = run_of(log(wrong, request, vocabulary(name)))
    assert run.requested is not None
    verdict = verdict_of(run, vocabulary(name))
    fails = first_failing(run.requested.constraint(), wrong.encode())
    if fails is None:
        assert verdict.outcome != "masked", (wrong, str(verdict))
    else:
        assert (verdict.outcome, verdict.byte) == ("masked", fails), (wrong, str(verdict))


def first_failing(constraint: explorer.Constraint, data: bytes) -> int | None:
    """The first byte that the constraint's own machine does not read; these are all trimmed."""
    machine = constraint.machine
    state = machine.start
    for offset, byte in enumerate(data):
        state = machine.step(state, byte)
        if state == NO_ARC:
            return offset
    return None


@pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer.model"])
def test_both_files_of_a_model_say_the_same(file: str) -> None:
    vocab = vocabulary(f"mistral-v3/{file}")
    request = {"structured_outputs": {"choice": ["yes", "no"]}}
    assert verdict_of(run_of(chat("yes", request)), vocab).outcome == "whole"
    assert verdict_of(run_of(chat("yea", request)), vocab).byte == 2
