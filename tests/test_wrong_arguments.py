"""Wrong arguments at the public boundary: one of our errors, which names what was given.

A row says what stands in the message: the argument's name or what was given. Every name of the
façade that can be called has rows; too few arguments are Python's own ``TypeError``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import explorer
from explorer.decoding.models.model import Reading
from explorer.errors import ExplorerError, MissingDependency


class Model:
    """A language model that answers with whatever it was made with."""

    def __init__(
        self, vocabulary: Any, reading: object, ids: object = (), name: Any = "odd"
    ) -> None:
        self.name = name
        self.vocabulary = vocabulary
        self._reading = reading
        self._ids = ids

    def encode_prompt(self, prompt: object) -> Any:
        return self._ids

    def read(self, tokens: Sequence[int]) -> Any:
        return self._reading


@cache
def given() -> Any:
    """The façade without types, and something usable of each kind."""
    vocabulary = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"d"], eos_ids=[4])
    constraint = explorer.regex("(foo)+d")
    dfa = explorer.compile(constraint, vocabulary)
    logits = torch.zeros(5)
    facade = {name: getattr(explorer, name) for name in explorer.__all__}

    def step_of(reading: object, ids: object = ()) -> object:
        return explorer.Session(Model(vocabulary, reading, ids), constraint).step()

    model = Model(vocabulary, Reading(logits))
    return SimpleNamespace(
        **facade,
        v=vocabulary,
        c=constraint,
        d=dfa,
        m=dfa.to("cpu"),
        lazy=explorer.compile(constraint, vocabulary, lazy=True),
        grammars=explorer.grammars,
        lm=model,
        s=explorer.Session(model, constraint),
        step_of=step_of,
        rows=torch.zeros(1, 5),
        states=torch.zeros(1, dtype=torch.int64),
    )


ROWS: list[tuple[str, Callable[[Any], object]]] = [
    # Constraints.
    ("pattern is None", lambda g: g.regex(None)),
    ("pattern is b'a' (bytes)", lambda g: g.regex(b"a")),
    ("'abc'", lambda g: g.choice("abc")),
    ("texts is None", lambda g: g.choice(None)),
    ("schema is 3 (int)", lambda g: g.json_schema(3)),
    ("whitespace is 'loose'", lambda g: g.json_schema({}, whitespace="loose")),
    ("recursion is 'loop'", lambda g: g.json_schema({}, recursion="loop")),
    ("schema is 3 (int)", lambda g: g.profile(3)),
    ("max_object_depth is 'a' (str)", lambda g: g.json("a")),
    ("folder is 3 (int)", lambda g: g.json_schema({}, folder=3)),
    ("part x is 3 (int)", lambda g: g.template("{x}", x=3)),
    ("text is 3 (int)", lambda g: g.template(3)),
    ("part is b'a' (bytes)", lambda g: g.many(b"a")),
    ("min is -1 (int)", lambda g: g.many(g.c, -1)),
    ("separator is 3 (int)", lambda g: g.many(g.c, separator=3)),
    ("stop is 3 (int)", lambda g: g.gen(stop=3)),
    ("name is '[a-z]'", lambda g: g.gen("[a-z]")),
    ("choice without texts", lambda g: g.select(g.lm, "hi", [])),
    ("normalize is 1 (int)", lambda g: g.select(g.lm, "hi", ["f"], normalize=1)),
    ("draft is 7 (int), not a language model", lambda g: g.Session(g.lm, g.c, draft=7)),
    ("forced is 'all'", lambda g: g.Session(g.lm, g.c, forced="all")),
    ("heal is 1 (int)", lambda g: g.Session(g.lm, g.c, heal=1)),
    ("text is 3 (int)", lambda g: g.grammar(3)),
    ("syntax='yacc'", lambda g: g.grammar('root ::= "a"', "yacc")),
    ("ambiguous is 1 (int)", lambda g: g.grammar('root ::= "a"', ambiguous=1)),
    ("elements is 3 (int)", lambda g: g.grammars.xml_text(3, "a")),
    ("attributes of an element is 'ab'", lambda g: g.grammars.xml_text({"a": "ab"}, "a")),
    ("An attribute is [] (list)", lambda g: g.grammars.xml_text({"a": [[]]}, "a")),
    ("name of an element is 3", lambda g: g.grammars.xml_text({3: ()}, "a")),
    ("root is [] (list)", lambda g: g.grammars.xml_text({"a": ()}, [])),
    ("name is [] (list)", lambda g: g.grammars.shipped_text([])),
    ("byte_state is 'x' (str)", lambda g: g.lazy.can_finish("x")),
    ("byte_state is -1 (int)", lambda g: g.lazy.can_finish(-1)),
    ("remaining is 'x' (str)", lambda g: g.lazy.mask_within(g.lazy.start, "x")),
    ("style is 'yaml'", lambda g: g.from_type(int, style="yaml")),
    ("'nonsense'", lambda g: g.from_type("nonsense")),
    ("text is 3 (int)", lambda g: g.c.parse(3)),
    ("texts[1] is None", lambda g: g.choice(["a", None])),
    ("text is ['a'] (list)", lambda g: g.choice([["a"]])),
    ("text is b'a' (bytes)", lambda g: g.literal(b"a")),
    ("source is 'abc' (str)", lambda g: g.Constraint("abc")),
    ("from_fsm() takes", lambda g: g.Constraint.from_fsm("abc")),
    ("from_fst() takes", lambda g: g.Constraint.from_fst("abc")),
    ("labels=3", lambda g: g.Constraint.from_fst(g.c.fsa, labels=3)),
    ("side of | is 3 (int)", lambda g: g.c | 3),
    ("side of | is 3 (int)", lambda g: 3 | g.c),
    ("side of + is 3 (int)", lambda g: g.c + 3),
    ("side of + is 3 (int)", lambda g: 3 + g.c),
    ("side of & is 3 (int)", lambda g: g.c & 3),
    ("side of - is None", lambda g: g.c - None),
    ("text is 3 (int)", lambda g: g.c.accepts(3)),
    ("n is 2.5 (float)", lambda g: g.c.examples(2.5)),
    ("other is 'a' (str)", lambda g: g.c.equivalent("a")),
    ("budget is 3 (int)", lambda g: g.c.within(3)),
    # Budgets.
    ("seconds='x'", lambda g: g.Budget(seconds="x")),
    ("seconds=nan", lambda g: g.Budget(seconds=float("nan"))),
    ("states=0", lambda g: g.Budget(states=0)),
    # Vocabularies.
    ("tokens is 'abc' (str)", lambda g: g.Vocabulary.from_bytes("abc", eos_ids=[1])),
    ("tokens is b'abc' (bytes)", lambda g: g.Vocabulary.from_bytes(b"abc", eos_ids=[1])),
    ("tokens is None", lambda g: g.Vocabulary.from_bytes(None, eos_ids=[1])),
    ("id 0 has 'a'", lambda g: g.Vocabulary.from_bytes(["a"], eos_ids=[1])),
    ("end of text '1'", lambda g: g.Vocabulary.from_bytes([b"a"], eos_ids="1")),
    ("end of text None", lambda g: g.Vocabulary.from_bytes([b"a"], eos_ids=None)),
    ("empty_ids is 3 (int)", lambda g: g.Vocabulary((b"a", None), (1,), empty_ids=3)),
    ("special is 3 (int)", lambda g: g.Vocabulary((b"a", None), (1,), special=3)),
    ("tokenizer is 'gpt2' (str)", lambda g: g.Vocabulary.from_tokenizer("gpt2")),
    ("path is 3 (int)", lambda g: g.Vocabulary.from_file(3)),
    ("path is None", lambda g: g.Vocabulary.from_file(None)),
    ("data is 'foo' (str)", lambda g: g.v.ids_of("foo")),
    ("data is 3 (int)", lambda g: g.v.ids_of(3)),
    ("text is 3 (int)", lambda g: g.v.encode(3)),
    ("width is 2.5 (float)", lambda g: g.v.with_width(2.5)),
    # Compiling, and the token DFA.
    ("constraint is 'abc' (str)", lambda g: g.compile("abc", g.v)),
    ("vocabulary is 'v' (str)", lambda g: g.compile(g.c, "v")),
    ("budget is 3 (int)", lambda g: g.compile(g.c, g.v, 3)),
    ("width is 'x' (str)", lambda g: g.compile(g.c, g.v, width="x")),
    ("constraint is 'abc' (str)", lambda g: g.witness("abc", g.v)),
    ("tokenizer is 3 (int)", lambda g: g.witness(g.c, 3)),
    ("prefix is 3 (int)", lambda g: g.witness(g.c, g.v, 3)),
    ("a token of the prefix is 9 (int)", lambda g: g.witness(g.c, g.v, [9])),
    ("engines is 'vllm' (str)", lambda g: g.witness(g.c, g.v, engines=["vllm"])),
    ("seconds is 0 (int)", lambda g: g.witness(g.c, g.v, seconds=0)),
    ("constraint is 'abc' (str)", lambda g: g.disagreements("abc", g.v)),
    ("seconds is 'a' (str)", lambda g: g.disagreements(g.c, g.v, "a")),
    ("model is 'tiny' (str)", lambda g: g.disagreements(g.c, g.v, model="tiny")),
    ("seed is -1", lambda g: g.disagreements(g.c, g.v, seed=-1)),
    ("state is 'q' (str)", lambda g: g.d.allowed("q")),
    ("state is [0] (list)", lambda g: g.d.allowed([0])),
    ("state is 1.0 (float)", lambda g: g.d.allowed(1.0)),
    ("state is True (bool)", lambda g: g.d.allowed(True)),
    ("state 99", lambda g: g.d.allowed(99)),
    ("state is None", lambda g: g.d.step(None, 0)),
    ("token is 'a' (str)", lambda g: g.d.step(0, "a")),
    ("token is 1.5 (float)", lambda g: g.d.step(0, 1.5)),
    ("state is 'q' (str)", lambda g: g.d.is_final("q")),
    ("tokens is 3 (int)", lambda g: g.d.walk(3)),
    ("state is 'q' (str)", lambda g: g.d.walk([], "q")),
    ("path is 3 (int)", lambda g: g.d.save(3)),
    ("path is None", lambda g: g.TokenDFA.load(None, g.v)),
    ("vocabulary is 'v' (str)", lambda g: g.TokenDFA.load("x", "v")),
    ("device is 3.5 (float)", lambda g: g.d.to(3.5)),
    ("'nowhere'", lambda g: g.d.to("nowhere")),
    ("vocabulary is 'v' (str)", lambda g: g.detokenizing_fst("v")),
    ("form=3", lambda g: g.detokenizing_fst(g.v, 3)),
    ("only is 'ab' (str)", lambda g: g.detokenizing_fst(g.v, only="ab")),
    ("only is 1.5 (float)", lambda g: g.detokenizing_fst(g.v, only=[1.5])),
    # Masks.
    ("constraints is 'ab' (str)", lambda g: g.DeviceMasks("ab")),
    ("constraints is TokenDFA", lambda g: g.DeviceMasks(g.d)),
    ("constraints[0] is regex('(foo)+d')", lambda g: g.DeviceMasks([g.c])),
    ("device is 3.5 (float)", lambda g: g.DeviceMasks([g.d], device=3.5)),
    ("width is 'x' (str)", lambda g: g.DeviceMasks([g.d], width="x")),
    ("vocabulary is 'v' (str)", lambda g: g.DeviceMasks([], vocabulary="v")),
    ("logits is 'x' (str)", lambda g: g.m.mask_("x", g.states)),
    ("states is [0] (list)", lambda g: g.m.mask_(g.rows.clone(), [0])),
    ("states is of torch.float32", lambda g: g.m.mask_(g.rows.clone(), g.states.float())),
    ("constraint is 0 (int)", lambda g: g.m.mask_(g.rows.clone(), g.states, 0)),
    ("remaining is 3 (int)", lambda g: g.m.mask_(g.rows.clone(), g.states, remaining=3)),
    ("`remaining`", lambda g: g.m.mask_(g.rows.clone(), g.states, remaining=g.states.repeat(3))),
    ("states is [0] (list)", lambda g: g.m.advance([0], g.states)),
    ("tokens is 0 (int)", lambda g: g.m.advance(g.states, 0)),
    ("`tokens`", lambda g: g.m.advance(g.states, g.states.repeat(3))),
    ("constraint is 7 (int)", lambda g: g.m.allowed(7, 0)),
    ("state is 'a' (str)", lambda g: g.m.allowed(0, "a")),
    ("state 99", lambda g: g.m.allowed(0, 99)),
    ("remaining is 'x' (str)", lambda g: g.m.allowed(0, 0, "x")),
    # Samplers.
    ("temperature is 'x' (str), not a finite number", lambda g: g.Sampler("x")),
    ("temperature is '1' (str), not a finite number", lambda g: g.Sampler("1")),
    ("temperature is b'1' (bytes)", lambda g: g.Sampler(b"1")),
    ("temperature is array('1'", lambda g: g.Sampler(np.array("1"))),
    ("temperature is array(True)", lambda g: g.Sampler(np.array(True))),
    ("top_k is '1' (str)", lambda g: g.Sampler(1.0, top_k="1")),
    ("top_p is '1' (str)", lambda g: g.Sampler(1.0, top_p="1")),
    ("min_p is '0' (str)", lambda g: g.Sampler(1.0, min_p="0")),
    ("temperature is True (bool)", lambda g: g.Sampler(True)),
    ("top_k is a whole number from 1, not 1.5", lambda g: g.Sampler(1.0, top_k=1.5)),
    ("top_p", lambda g: g.Sampler(1.0, top_p=2)),
    ("logits is [0.0] (list)", lambda g: g.Sampler().filtered([0.0])),
    ("uniform is 0.5 (float)", lambda g: g.Sampler().draw(torch.zeros(1), 0.5)),
    # Sessions.
    ("lm is 'tiny' (str), not a language model", lambda g: g.Session("tiny", g.c)),
    ("constraint is 'abc'", lambda g: g.Session(g.lm, "abc")),
    ("constraint is 3 (int)", lambda g: g.Session(g.lm, 3)),
    ("prompt is 3.5 (float)", lambda g: g.Session(g.lm, g.c, 3.5)),
    ("prompt is None", lambda g: g.Session(g.lm, g.c, None)),
    ("prompt is b'abc' (bytes)", lambda g: g.Session(g.lm, g.c, b"abc")),
    ("prompt[0] is 'a' (str)", lambda g: g.Session(g.lm, g.c, ["a", "b"])),
    ("prompt[0] is {'content': 'a'}", lambda g: g.Session(g.lm, g.c, [{"content": "a"}])),
    ("prompt is {'role': 'user'} (dict)", lambda g: g.Session(g.lm, g.c, {"role": "user"})),
    ("sampler is 'greedy' (str), not a Sampler", lambda g: g.Session(g.lm, g.c, sampler="greedy")),
    ("seed is 'a' (str)", lambda g: g.Session(g.lm, g.c, seed="a")),
    ("stream is -1 (int)", lambda g: g.Session(g.lm, g.c, stream=-1)),
    ("budget is 3 (int)", lambda g: g.Session(g.lm, g.c, budget=3)),
    ("max_tokens is 0 (int)", lambda g: g.Session(g.lm, g.c, max_tokens=0)),
    # What no file could hold is refused where it is given.
    ("max_tokens is 2147483648", lambda g: g.Session(g.lm, g.c, max_tokens=2**31)),
    ("max_tokens is 2147483648", lambda g: g.generate(g.lm, ["a"], g.c, max_tokens=2**31)),
    (
        "max_tokens is 2147483648",
        lambda g: g.ConstraintLogitsProcessor(g.v, g.c, max_tokens=2**31),
    ),
    ("is (-1,) (tuple), not a list of", lambda g: g.Session(Model(g.v, None, (-1,)), g.c)),
    ("is (2147483648,) (tuple)", lambda g: g.Session(Model(g.v, None, (2**31,)), g.c)),
    ("The model's name is 5 (int)", lambda g: g.Session(Model(g.v, None, name=5), g.c)),
    (
        "The model's name has half of a surrogate pair at character 0",
        lambda g: g.Session(Model(g.v, None, name="\ud800"), g.c),
    ),
    ("The model's vocabulary is 'v'", lambda g: g.Session(Model("v", None), g.c)),
    (
        "prompt has half of a surrogate pair at character 1",
        lambda g: g.Session(g.lm, g.c, "a\ud800"),
    ),
    (
        "prompt[0]['content'] has half of a surrogate pair",
        lambda g: g.Session(g.lm, g.c, [{"role": "user", "content": "\udfff"}]),
    ),
    (
        "prompt has half of a surrogate pair",
        lambda g: g.Session.from_ids(g.v, g.c, [0], prompt="\ud800"),
    ),
    ("<int object at", lambda g: g.Session.from_ids(g.v, g.c, [10**5000])),
    ("masking_budget is 'no' (str)", lambda g: g.Session(g.lm, g.c, masking_budget="no")),
    ("top_k is 'a' (str)", lambda g: g.Session(g.lm, g.c, top_k="a")),
    ("logits_bytes is None", lambda g: g.Session(g.lm, g.c, logits_bytes=None)),
    ("(Tensor), not a Reading", lambda g: g.step_of(torch.zeros(5))),
    ("is None, not a Reading", lambda g: g.step_of(None)),
    ("(ndarray), not a tensor", lambda g: g.step_of(Reading(np.zeros(5)))),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ("shape [1, 5]", lambda g: g.step_of(Reading(g.rows))),
    ("is 'ab' (str), not a list of token ids", lambda g: g.step_of(Reading(g.rows[0]), "ab")),
    ("is [0.5] (list), not a list of token ids", lambda g: g.step_of(Reading(g.rows[0]), [0.5])),
    ("vocabulary is 'v' (str)", lambda g: g.Session.from_ids("v", g.c, [0])),
    ("ids is 'abc' (str)", lambda g: g.Session.from_ids(g.v, g.c, "abc")),
    ("ids is None", lambda g: g.Session.from_ids(g.v, g.c, None)),
    ("0.5 is not a token id", lambda g: g.Session.from_ids(g.v, g.c, [0.5])),
    ("logprobs is 3 (int)", lambda g: g.Session.from_ids(g.v, g.c, [0], logprobs=3)),
    ("logprobs[0] is '-1' (str)", lambda g: g.Session.from_ids(g.v, g.c, [0], logprobs=["-1"])),
    ("logprobs[0] is 'a' (str)", lambda g: g.Session.from_ids(g.v, g.c, [0], logprobs=["a"])),
    ("prompt is 3.5 (float)", lambda g: g.Session.from_ids(g.v, g.c, [0], prompt=3.5)),
    ("3.5 is not a token id", lambda g: g.s.step(token=3.5)),
    ("True is not a token id", lambda g: g.s.step(token=True)),
    ("b'f' is not a token id", lambda g: g.s.step(token=b"f")),
    ("'zz' is not one token", lambda g: g.s.step(token="zz")),
    ("n is '1' (str)", lambda g: g.s.back("1")),
    ("back(99) goes too far", lambda g: g.s.back(99)),
    ("forward(99) goes too far", lambda g: g.s.forward(99)),
    ("n is 1.5 (float)", lambda g: g.s.forward(1.5)),
    ("position '1'", lambda g: g.s.jump("1")),
    ("position None", lambda g: g.s.jump(None)),
    ("seed is 'x' (str)", lambda g: g.s.fork(seed="x")),
    ("max_tokens is 'a' (str)", lambda g: g.s.run(max_tokens="a")),
    ("until is 3 (int)", lambda g: g.s.run(until=3)),
    ("constraint is 'abc'", lambda g: g.s.edit(constraint="abc")),
    ("prompt is 3.5 (float)", lambda g: g.s.edit(prompt=3.5)),
    ("sampler is None, not a Sampler", lambda g: g.s.edit(sampler=None)),
    ("position 'a'", lambda g: g.s.logits("a")),
    ("token is None", lambda g: g.s.explain(None)),
    ("position is 'a' (str)", lambda g: g.s.explain(0, position="a")),
    ("position is 'a' (str)", lambda g: g.s.reasons("a")),
    ("profile has no option 'foo'", lambda g: g.profile({"type": "string"}, foo=3)),
    # Traces.
    ("model is 3 (int), not a name", lambda g: g.Trace(*[3] * 15)),
    ("prompt_ids is 'a' (str), not a tuple", lambda g: g.Trace(*["a"] * 15)),
    ("tokens is ()", lambda g: g.Trace(None, None, *[()] * 13)),
    ("remaining is 'x'", lambda g: g.m.packed_rows(torch.ones(1).long(), remaining="x")),
    ("budget is tensor", lambda g: g.s.ahead(budget=torch.zeros(0))),
    ("seed is None", lambda g: replace(g.s.trace, seed=None)),
    ("seed is True", lambda g: replace(g.s.trace, seed=True)),
    ("masks is 3", lambda g: replace(g.s.trace, masks=3)),
    ("source is 'a'", lambda g: replace(g.s.trace, source="a")),
    ("positions is None", lambda g: replace(g.s.trace, positions=None)),
    ("One of the positions is 3", lambda g: replace(g.s.trace, positions=(3,), steps=())),
    ("One of the steps is 3", lambda g: replace(g.s.trace, steps=(3,))),
    ("path is 3 (int)", lambda g: g.Trace.load(3)),
    ("path is 'a\\x00b' (str), not a path", lambda g: g.Trace.load("a\0b")),
    ("path is 'a\\x00b' (str), not a path", lambda g: g.s.trace.save("a\0b")),
    ("path is None", lambda g: g.s.trace.save(None)),
    ("k is 'a' (str)", lambda g: g.s.trace.row("a")),
    ("position 99", lambda g: g.s.trace.allowed(99)),
    # Explanations.
    ("machine is regex('(foo)+d')", lambda g: g.explain(g.c, 0, 1)),
    ("state is 'q' (str)", lambda g: g.explain(g.d, "q", 3)),
    ("token is 1.5 (float)", lambda g: g.explain(g.d, 0, 1.5)),
    ("token is b'a' (bytes)", lambda g: g.explain(g.d, 0, b"a")),
    ("text is 3 (int)", lambda g: g.explain(g.d, 0, 1, text=3)),
    ("probabilities is 'a' (str)", lambda g: g.explain(g.d, 0, 1, probabilities="a")),
    ("history is 3 (int)", lambda g: g.explain(g.d, 0, 1, history=3)),
    ("constraint is 'abc' (str)", lambda g: g.explain_text("abc", "x")),
    ("text is None", lambda g: g.explain_text(g.c, None)),
    # Sweeps.
    ("prompts is 3 (int)", lambda g: g.sweep(3, g.c, g.lm)),
    ("prompt is 3.5 (float)", lambda g: g.sweep([3.5], g.c, g.lm)),
    ("constraint is 'abc' (str)", lambda g: g.sweep("a", "abc", g.lm)),
    ("constraint is 3 (int)", lambda g: g.sweep("a", [3], g.lm)),
    ("models is 3 (int)", lambda g: g.sweep("a", g.c, 3)),
    ("There is no model 'no-model'", lambda g: g.sweep("a", g.c, "no-model")),
    ("samplers is 'greedy' (str)", lambda g: g.sweep("a", g.c, g.lm, "greedy")),
    ("sampler is 3 (int)", lambda g: g.sweep("a", g.c, g.lm, [3])),
    ("seed is -1", lambda g: g.sweep("a", g.c, g.lm, seeds=[-1])),
    ("seeds is 'a' (str)", lambda g: g.sweep("a", g.c, g.lm, seeds="a")),
    ("has no rows", lambda g: g.sweep([], g.c, g.lm)),
    ("max_tokens is 0", lambda g: g.sweep("a", g.c, g.lm, max_tokens=0)),
    ("batch_size is 0", lambda g: g.sweep("a", g.c, g.lm, batch_size=0)),
    ("traces is 'yes' (str)", lambda g: g.sweep("a", g.c, g.lm, traces="yes")),
    ("retry_failures is 3 (int)", lambda g: g.sweep("a", g.c, g.lm, retry_failures=3)),
    ("progress is 3 (int)", lambda g: g.sweep("a", g.c, g.lm, progress=3)),
    ("cancel is 3 (int)", lambda g: g.sweep("a", g.c, g.lm, cancel=3)),
    ("where is 'moon' (str)", lambda g: g.sweep("a", g.c, g.lm, where="moon")),
    ("folder is 3 (int)", lambda g: g.sweep("a", g.c, g.lm, folder=3)),
    ("budget is 3 (int)", lambda g: g.sweep("a", g.c, g.lm, budget=3)),
    ("table is 3 (int)", lambda g: g.report(3)),
    ("holds no rows of a sweep", lambda g: g.report("no-folder")),
    ("path is 3 (int)", lambda g: g.report(g.sweep("a", g.c, g.lm), 3)),
    ("title is 3 (int)", lambda g: g.report(g.sweep("a", g.c, g.lm), title=3)),
    ("worst is -1", lambda g: g.report(g.sweep("a", g.c, g.lm), worst=-1)),
    ("seconds is 'a' (str)", lambda g: g.report(g.sweep("a", g.c, g.lm), seconds="a")),
    ("models is 3 (int)", lambda g: g.report(g.sweep("a", g.c, g.lm), models=3)),
    ("lm is 3 (int)", lambda g: g.report(g.sweep("a", g.c, g.lm), models={"a": 3})),
    # Batches.
    ("lm is 'tiny' (str), not a language model", lambda g: g.generate("tiny", ["a"], g.c)),
    ("prompts is 3 (int)", lambda g: g.generate(g.lm, 3, g.c)),
    ("prompts is b'abc' (bytes)", lambda g: g.generate(g.lm, b"abc", g.c)),
    ("restrict is 3 (int)", lambda g: g.Session(g.lm, g.c, restrict=3)),
    ("'klingon'", lambda g: g.Session(g.lm, g.c, restrict="klingon")),
    ("restrict has 'script'", lambda g: g.Session(g.lm, g.c, restrict={"script": "Latin"})),
    ("response_prefix is 3 (int)", lambda g: g.Session(g.lm, g.c, response_prefix=3)),
    ("prompt is 3.5 (float)", lambda g: g.generate(g.lm, [3.5], g.c)),
    ("constraint is 'abc'", lambda g: g.generate(g.lm, ["a"], "abc")),
    ("constraint is 3 (int)", lambda g: g.generate(g.lm, ["a"], [3])),
    ("2 constraints for 1 rows", lambda g: g.generate(g.lm, ["a"], [g.c, g.c])),
    ("sampler is 'greedy' (str), not a Sampler", lambda g: g.generate(g.lm, ["a"], g.c, "greedy")),
    ("max_tokens is None", lambda g: g.generate(g.lm, ["a"], g.c, max_tokens=None)),
    ("streams is 3 (int)", lambda g: g.generate(g.lm, ["a"], g.c, streams=3)),
    ("masking_budget is 'no' (str)", lambda g: g.generate(g.lm, ["a"], g.c, masking_budget="no")),
    ("budget is 3 (int)", lambda g: g.generate(g.lm, ["a"], g.c, budget=3)),
    ("not a Reading", lambda g: g.generate(Model(g.v, g.rows[0]), ["a"], g.c)),
    ("draft is 'tiny' (str)", lambda g: g.generate(g.lm, ["a"], g.c, draft="tiny")),
    ("forced is 'all' (str)", lambda g: g.generate(g.lm, ["a"], g.c, forced="all")),
    ("log_probs is 3 (int)", lambda g: g.generate(g.lm, ["a"], g.c, log_probs=3)),
    ("response_prefix is 3 (int)", lambda g: g.generate(g.lm, ["a"], g.c, response_prefix=3)),
    ("is not one token", lambda g: g.generate(g.lm, ["a"], g.c, response_prefix=["zz"])),
    # Probabilities.
    ("lm is 'tiny' (str), not a language model", lambda g: g.probability("tiny", "a", [0], g.c)),
    ("ids is 3 (int)", lambda g: g.probability(g.lm, "a", 3, g.c)),
    ("constraint is 'abc'", lambda g: g.probability_mass(g.lm, "a", "abc")),
    ("method is 'all' (str)", lambda g: g.probability_mass(g.lm, "a", g.c, method="all")),
    ("nodes is 0", lambda g: g.probability_mass(g.lm, "a", g.c, nodes=0)),
    ("vocabulary is 'v' (str)", lambda g: g.ConstraintLogitsProcessor("v", g.c)),
    ("constraint is 'abc'", lambda g: g.ConstraintLogitsProcessor(g.v, "abc")),
    ("max_tokens is 'a' (str)", lambda g: g.ConstraintLogitsProcessor(g.v, g.c, max_tokens="a")),
    ("streams is 'a' (str)", lambda g: g.ConstraintLogitsProcessor(g.v, g.c, streams="a")),
    ("budget is '1' (str)", lambda g: g.ConstraintLogitsProcessor(g.v, g.d, budget="1")),
    ("record is 1 (int)", lambda g: g.ConstraintLogitsProcessor(g.v, g.c, record=1)),
    ("input_ids is [[0]]", lambda g: g.ConstraintLogitsProcessor(g.v, g.c)([[0]], g.rows)),
    ("scores has the shape", lambda g: g.ConstraintLogitsProcessor(g.v, g.c)(g.rows, g.rows[0])),
    ("1.5 is not a control token", lambda g: g.token(1.5)),
    ("single characters", lambda g: g.any_tokens(excluding="<a>")),
    ("has ''", lambda g: g.any_text(excluding=[""])),
    ("has 3", lambda g: g.text_until(3)),
    ("name is 3 (int)", lambda g: g.phase(3, g.c)),
    ("3 is not a phase", lambda g: g.phases(3)),
    ("3 is not a structural tag", lambda g: (g.structural_tag(3), g.tools(3, style="llama"))),
    # Models.
    ("name is 3 (int)", lambda g: g.load_model(3)),
    ("folder ''", lambda g: g.load_model("")),
    ("device is 3.5 (float)", lambda g: g.load_model("tiny", device=3.5)),
    ("dtype is 3", lambda g: g.load_model("tiny", dtype=3)),
]


@pytest.mark.parametrize(
    ("words", "call"), ROWS, ids=[f"{k}-{words}" for k, (words, _) in enumerate(ROWS)]
)
def test_a_wrong_argument_is_our_own_error(words: str, call: Callable[[Any], object]) -> None:
    with pytest.raises(ExplorerError) as caught:
        call(given())
    if isinstance(caught.value, MissingDependency):
        raise caught.value  # Skipped, where it is pynini or interegular.
    assert words in str(caught.value)
    assert caught.value.remedy.endswith(".") and len(caught.value.remedy) > 5


def test_every_name_of_the_facade_has_rows() -> None:
    asked = {name for _, call in ROWS for name in call.__code__.co_names}
    callable_names = {name for name in explorer.__all__ if callable(getattr(explorer, name))}
    assert callable_names - asked == set()


def test_what_is_exact_is_taken() -> None:
    g = given()
    one = np.int64(0)
    assert g.d.allowed(one).tolist() == g.d.allowed(0).tolist()
    assert g.d.step(one, np.int32(0)) == g.d.step(0, 0)
    assert g.m.allowed(0, one).tolist() == g.d.allowed(0).tolist()
    assert g.Session.from_ids(g.v, g.c, torch.tensor([0, 1])).text == "foo"
    odd = Model(g.v, Reading(g.rows[0]), torch.tensor([1, 2]))
    assert g.Session(odd, g.c).trace.prompt_ids == (1, 2)
    assert g.Vocabulary.from_bytes((b"a" for _ in range(1)), eos_ids=1).eos_ids == (1,)


class Raises(list[Any]):
    """A list that cannot be iterated, nor counted."""

    def __iter__(self) -> Any:
        raise ZeroDivisionError

    def __len__(self) -> int:
        raise ZeroDivisionError


class RaisesLater:
    """It gives one entry, and raises for the next."""

    def __iter__(self) -> Any:
        yield 0
        raise ZeroDivisionError


class RaisesItems(dict[str, Any]):
    """A mapping that cannot be read."""

    def items(self) -> Any:
        raise ZeroDivisionError

    def keys(self) -> Any:
        raise ZeroDivisionError

    def __iter__(self) -> Any:
        raise ZeroDivisionError


@pytest.mark.parametrize("odd", [Raises([0]), RaisesLater()])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("eos_ids", lambda g, odd: g.Vocabulary.from_bytes([b"a"], eos_ids=odd)),
        ("tokens", lambda g, odd: g.Vocabulary.from_bytes(odd, eos_ids=[1])),
        ("texts", lambda g, odd: g.choice(odd)),
        ("tokens", lambda g, odd: g.d.walk(odd)),
        ("prompt", lambda g, odd: g.Session(g.lm, g.c, odd)),
        ("prompts", lambda g, odd: g.generate(g.lm, odd, g.c)),
        ("constraint", lambda g, odd: g.generate(g.lm, ["a"], odd)),
        ("constraint", lambda g, odd: g.ConstraintLogitsProcessor(g.v, odd)),
        ("streams", lambda g, odd: g.generate(g.lm, ["a"], g.c, streams=odd)),
        ("ids", lambda g, odd: g.Session.from_ids(g.v, g.c, odd)),
        ("logprobs", lambda g, odd: g.Session.from_ids(g.v, g.c, [0], logprobs=odd)),
        ("history", lambda g, odd: g.explain(g.d, 0, 1, history=odd)),
        ("probabilities", lambda g, odd: g.explain(g.d, 0, 1, probabilities=odd)),
        ("masks", lambda g, odd: g.DeviceMasks(odd)),
    ],
)
def test_what_raises_while_it_is_iterated_is_our_own_error(
    name: str, call: Callable[[Any, Any], object], odd: object
) -> None:
    with pytest.raises(ExplorerError):
        call(given(), odd)


def test_a_schema_that_raises_while_it_is_read() -> None:
    for schema in (
        RaisesItems(type="string"),
        {"enum": Raises([1])},
        {"properties": RaisesItems(a=True)},
    ):
        with pytest.raises(ExplorerError):
            explorer.json_schema(schema)
