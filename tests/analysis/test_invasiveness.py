"""Definition 2.1 as a law, the ways to break it, and what is measured of a constraint."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer import Sampler, Session, choice, generate, regex
from explorer.analysis.invasiveness import (
    invasiveness,
    retokenize,
)
from explorer.automata.machine import Bool
from explorer.decoding.models.model import Reading
from explorer.decoding.speculation.own_first import own_first
from explorer.languages.constraint import Constraint
from explorer.languages.grammar.shipped import shipped_grammar
from explorer.tokens.token_dfa import TokenDFA
from explorer.tokens.words import UInt32, pack
from explorer.vocabulary import Vocabulary
from tests.decoding.models import HashModel
from tests.decoding.test_speculation import TOKENS, VOCABULARY, WORDS, exact
from tests.decoding.untabled import Untabled
from tests.evidence import LONG

XML = '<item id="[0-9]+">([a-z ]+|<b>[a-z]+</b>)*</item>'
LANGUAGES: dict[str, tuple[Constraint, list[str]]] = {
    "json": (
        shipped_grammar("json"),
        [
            "Q: Give me a person as a JSON object.\nA: ",
            "Write a JSON record of a game character on several lines.\n",
            "Q: Write the product of 0 and 8 as JSON.\nA: ",
        ],
    ),
    "arithmetic": (regex(r" ?[0-9]+\. [0-9]+ \+ [0-9]+ = [0-9]+\."), ["Q: What is 12 + 30?\nA:"]),
    "xml": (regex(XML), ["Q: Write an item as XML.\nA: "]),
    "choices": (
        choice([" Paris.", " Rome.", " Berlin.", " Rome"]),
        ["The capital of France is", "The capital of Italy is"],
    ),
}


# --- the law ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["tiny", "tiny-sp"])
@pytest.mark.parametrize("name", LANGUAGES)
def test_what_the_model_would_write_is_written(model: str, name: str) -> None:
    lm = explorer.load_model(model)
    constraint, prompts = LANGUAGES[name]
    machine = explorer.compile(constraint, lm.vocabulary)
    longest = 0
    for prompt in prompts:
        for sampler, seeds in ((Sampler(0.0), 1), (Sampler(1.0), 3 if LONG else 1)):
            for pair in invasiveness(
                lm, prompt, machine, sampler=sampler, seeds=seeds, max_tokens=48
            ):
                assert pair.violation is None, str(pair)
                longest = max(longest, pair.valid)
    # The models have never seen XML: there it is the law of an empty prefix.
    assert longest >= {"json": 15, "arithmetic": 3, "xml": 0, "choices": 2}[name]


class Scripted:
    """A model that writes one of some texts, cut into tokens at random, and goes on or ends."""

    name = "scripted"

    def __init__(self, vocabulary: Vocabulary, texts: Sequence[bytes]) -> None:
        self.vocabulary = vocabulary
        self._texts = texts

    def encode_prompt(self, prompt: object) -> tuple[int, ...]:
        return ()

    def read(self, tokens: Sequence[int]) -> Reading:
        known = self.vocabulary.tokens
        written = b"".join(known[token] or b"" for token in tokens)
        rng = np.random.default_rng([len(tokens), *written])
        logits = rng.standard_normal(len(known)).astype(np.float32)
        for text in self._texts:
            if not text.startswith(written):
                continue
            for token, data in enumerate(known):
                if data and text.startswith(written + data):
                    logits[token] += 6
            if text == written:
                logits[list(self.vocabulary.eos_ids)] += 6
        return Reading(torch.from_numpy(logits))


PIECES = [
    b'"', b'":', b'{"', b'"}', b"}", b"1", b"12", b"+1", b"+", b"(", b")", b">1", b"<b>", b"</",
    b"b>", b"<", b">", b"a", b"b", b"ab", b"/", b"<b", b'{"a":1', b"\n", b"}\n",
]  # fmt: skip
BRIDGING = Vocabulary.from_bytes([*PIECES, None], eos_ids=[len(PIECES)])
SCRIPTS = {
    "json": (regex(r'\{"(a|b|ab)":(1|12)+\}'), [b'{"a":1}', b'{"ab":12}\n', b'{"b":1']),
    "arithmetic": (regex(r"\(*(1|12)(\+1|\+12|\))*"), [b"((12+1)+12)", b"1+1+1"]),
    "xml": (regex(r"<b>(ab?|1)*</b>"), [b"<b>ab1</b>", b"<b></b>\n", b"<b>1<b>"]),
    "choices": (choice(["ab", "a", "12", "1+1"]), [b"ab", b"1+1", b"12+1"]),
}


@given(
    st.sampled_from(sorted(SCRIPTS)),
    st.integers(0, 2),
    st.sampled_from([Sampler(0.0), Sampler(1.0), Sampler(0.3)]),
    st.integers(1, 4),
)
def test_the_law_holds_where_tokens_cross_everything(
    name: str, which: int, sampler: Sampler, seeds: int
) -> None:
    constraint, texts = SCRIPTS[name]
    lm = Scripted(BRIDGING, texts[: which + 1])
    for pair in invasiveness(lm, "", constraint, sampler=sampler, seeds=seeds, max_tokens=20):
        assert pair.violation is None, str(pair)
        assert pair.valid <= len(pair.free.tokens)
        own = pair.free.data
        judged = constraint.accepts(own.decode())
        if pair.outcome == "valid":
            assert judged and pair.free.finished and pair.free.tokens == pair.constrained.tokens
        if pair.outcome == "invalid" and pair.free.finished:
            # Also where the text is of the language and its last token is not: then it was cut.
            assert not judged


class Forbidding(Untabled):
    """A scheme that never allows one token."""

    def __init__(self, dfa: TokenDFA, token: int) -> None:
        super().__init__(dfa)
        self._token = token

    def step(self, state: int, token: int) -> int | None:
        return None if token == self._token else super().step(state, token)

    def allowed(self, state: int) -> Bool:
        found = super().allowed(state).copy()
        found[self._token] = False
        return found

    def mask(self, state: int) -> UInt32:
        return pack(self.allowed(state))


def test_a_scheme_that_forbids_a_bridge_breaks_the_law() -> None:
    constraint, _ = SCRIPTS["arithmetic"]
    lm = Scripted(BRIDGING, [b"1+1+1"])
    bridge = PIECES.index(b"+1")
    dfa = explorer.compile(constraint, BRIDGING)
    pairs = invasiveness(
        lm, "", constraint, machine=Forbidding(dfa, bridge), sampler=Sampler(1.0), seeds=12
    )
    broken = [pair for pair in pairs if pair.violation is not None]
    assert broken
    k = broken[0].violation
    assert k is not None and broken[0].free.tokens[k] == bridge
    assert f"token {k} is" in str(broken[0]) and "b'+1'" in str(broken[0])
    assert all(pair.parted == pair.violation for pair in broken)


# --- the model's own choice first ---------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from(["(foo|x)*(d|no)", "(f|o|oo){1,6}", "d"]))
def test_greedily_it_is_the_text_of_masking(salt: int, pattern: str) -> None:
    lm = HashModel(VOCABULARY, extra=0)
    machine = explorer.compile(regex(pattern), VOCABULARY)
    prompt = str(salt)
    (masked,) = generate(lm, [prompt], machine, max_tokens=12, masking_budget=False)
    mine = own_first(lm, prompt, machine, max_tokens=12)
    assert (mine.tokens, mine.finished) == (masked.tokens, masked.finished)
    assert list(mine.log_probs) == pytest.approx(list(masked.log_probs_model), abs=1e-5)
    steps = Session(lm, machine, prompt).run(12).steps
    assert list(mine.misses) == [step.intervention for step in steps]


def test_drawn_it_has_the_distribution_of_masking() -> None:
    model = HashModel(VOCABULARY, scale=1.0)
    expected = exact(model, WORDS)
    machine = explorer.compile(choice(WORDS), VOCABULARY)
    samples = 900
    counts = Counter(
        own_first(model, "", machine, sampler=Sampler(1.0), max_tokens=9, seed=1, stream=k).tokens
        for k in range(samples)
    )
    assert set(counts) <= set(expected)
    cells = [(p * samples, counts[tokens]) for tokens, p in expected.items() if p * samples >= 5]
    rest = samples - sum(p for p, _ in cells), samples - sum(n for _, n in cells)
    chi = sum((n - p) ** 2 / p for p, n in [*cells, rest])
    assert (chi - len(cells)) / math.sqrt(2 * len(cells)) < 3.5
    # The same numbers under a model that thinks otherwise are not within that.
    other = exact(HashModel(VOCABULARY, scale=0.5), WORDS)
    wrong = [(other[t] * samples, counts[t]) for t in other if other[t] * samples >= 5]
    chi = sum((n - p) ** 2 / p for p, n in wrong)
    assert (chi - len(wrong)) / math.sqrt(2 * len(wrong)) > 5


def test_a_mask_is_worked_out_on_a_miss_only() -> None:
    lm = explorer.load_model("tiny")
    machine = explorer.compile(choice([" Paris", " Rome"]), lm.vocabulary)
    asked: list[int] = []

    class Watched(Untabled):
        def mask(self, state: int) -> UInt32:
            asked.append(state)
            return super().mask(state)

    watched = Watched(machine)
    text = own_first(lm, "The capital of France is", watched)
    assert text.text == " Paris" and len({*asked}) == sum(text.misses) < len(text.tokens)
    assert text.hit_rate == 1 - sum(text.misses) / len(text.tokens)


# --- a model's own tokens of a text -------------------------------------------------------------


@given(st.text(alphabet="fodxn", min_size=1, max_size=9), st.text(max_size=3))
def test_the_tokens_of_a_text_are_the_likeliest_that_agree_with_it(text: str, prompt: str) -> None:
    lm = HashModel(VOCABULARY)
    path, rest, expected = list(lm.encode_prompt(prompt)), text.encode(), list[int]()
    while rest:
        logits = lm.read(path).logits
        fitting = [k for k, data in enumerate(TOKENS) if rest.startswith(data)]
        token = max(fitting, key=lambda k: float(logits[k]))
        expected.append(token)
        path.append(token)
        rest = rest[len(TOKENS[token]) :]
    found = retokenize(lm, prompt, text)
    assert list(found.tokens) == expected and b"".join(found.pieces) == text.encode()
    assert found.perplexity >= 1
