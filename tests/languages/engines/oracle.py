"""The reading of an engine, held against the engine itself: every mask along random texts.

    python -m tests.languages.engines.oracle xgrammar 100000

A row of `KNOWN` is a difference that `docs/witnesses.md` lists: it recognises tokens that one of
both allows alone, and they are counted by its name. Every other difference is printed.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from random import Random
from typing import Any

import numpy as np

import explorer
from explorer.budget import Budget
from explorer.errors import ExplorerError
from explorer.languages.engines.reading import as_engine, engine_vocabulary
from explorer.tokens.words import unpack
from explorer.vocabulary import Vocabulary
from tests.languages.engines.requests import Request, random_request

PIECES = [
    *(bytes([byte]) for byte in range(256)),
    *(
        text.encode()
        for text in (
            '{"', '":', '": ', '",', '", "', '"}', '"}}', '"]', "[1", "],", "}]", " {", "  ",
            "\n\n",
            ' "', "true", "false", "null", "ull", "12", "123", "-1", "0.", ".5", "1.0", "e5", "E+",
            '""', "abc", "ab", "name", '"name"', '"a"', '{"a"', "\\n", '\\"', "\\u00", "00e9", "é",
            "日本",
            "2024-02-", "T12:", "/b", '{"a":', ': "', ",\n", "[]", "{}", "x", "1,", "1}", "9]",
            ']}',
        )
    ),
]  # fmt: skip
END, CONTROL = len(PIECES), len(PIECES) + 1
VOCABULARY = Vocabulary(
    (*PIECES, None, None), (END,), special={END: "</s>", CONTROL: "<|im_start|>"}
)
STEPS, WALKS = 14, 2
LONGEST = 3000
"""The longest pattern of which outlines-core makes an index: that of any value has 6,900 characters
and takes 20 seconds."""


class XGrammar:
    """xgrammar over the vocabulary, the control token by its name, as the servers hand it over."""

    notation = "gbnf"

    def __init__(self) -> None:
        self.lib: Any = import_module("xgrammar")
        names = [*PIECES, b"", b"<|im_start|>"]
        info = self.lib.TokenizerInfo(names, self.lib.VocabType.RAW, stop_token_ids=[END])
        self.compiler = self.lib.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def matcher(self, request: Request) -> Any:
        compile_ = {
            "schema": self.compiler.compile_json_schema, "regex": self.compiler.compile_regex,
        }.get(request.kind, self.compiler.compile_grammar)  # fmt: skip
        text = _alternatives(request) if request.kind == "choice" else request.text
        return self.lib.GrammarMatcher(compile_(text), terminate_without_stop_token=False)

    def mask(self, matcher: Any) -> np.ndarray[Any, Any]:
        bits = self.lib.allocate_token_bitmask(1, len(VOCABULARY))
        matcher.fill_next_token_bitmask(bits)
        return unpack(bits.numpy()[0].view(np.uint32), len(VOCABULARY))

    def accept(self, matcher: Any, token: int) -> bool:
        return matcher.accept_token(token)


def _alternatives(request: Request) -> str:
    """The grammar of a choice, as vLLM makes it."""
    quoted = (each.replace("\\", "\\\\").replace('"', '\\"') for each in json.loads(request.text))
    return "root ::= " + " | ".join(f'"{each}"' for each in quoted)


class Wrapped:
    """The vocabulary with the attributes that llguidance reads."""

    eos_token_id, bos_token_id = END, None
    tokens = (*PIECES, b"</s>", b"<|im_start|>")
    special_token_ids = (END, CONTROL)

    def __call__(self, text: Any) -> list[int]:
        """The longest tokens, from the left."""
        data = text if isinstance(text, bytes) else text.encode()
        tokens: list[int] = []
        while data:
            best = max((each for each in PIECES if data.startswith(each)), key=len)
            tokens.append(PIECES.index(best))
            data = data[len(best) :]
        return tokens


class LLGuidance:
    """llguidance over the vocabulary, as vLLM and SGLang use it."""

    notation = "lark"

    def __init__(self) -> None:
        self.lib: Any = import_module("llguidance")
        wrapper = self.lib.TokenizerWrapper(Wrapped())
        self.tokenizer = self.lib.LLTokenizer(wrapper, n_vocab=len(VOCABULARY))

    def matcher(self, request: Request) -> Any:
        read = self.lib.LLMatcher
        grammar = {
            "schema": read.grammar_from_json_schema, "lark": read.grammar_from_lark,
        }.get(request.kind, read.grammar_from_regex)(_pattern_of(request))  # fmt: skip
        matcher = read(self.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def mask(self, matcher: Any) -> np.ndarray[Any, Any]:
        words = np.frombuffer(matcher.compute_bitmask(), np.uint32)
        return unpack(words, len(VOCABULARY))

    def accept(self, matcher: Any, token: int) -> bool:
        return bool(matcher.consume_token(token))


def _pattern_of(request: Request) -> str:
    """A request's text; of a choice, the pattern that vLLM makes of it."""
    if request.kind != "choice":
        return request.text
    return "|".join(map(re.escape, json.loads(request.text)))


class Outlines:
    """outlines-core over the vocabulary; the index of a pattern is made once."""

    notation = ""

    def __init__(self) -> None:
        self.lib: Any = import_module("outlines_core")
        self.of_schema = import_module("outlines_core.json_schema").build_regex_from_schema
        ids: dict[bytes, list[int]] = {}
        for token, data in enumerate(PIECES):
            ids.setdefault(data, []).append(token)
        self.vocabulary = self.lib.Vocabulary(END, ids)
        self.index = lru_cache(maxsize=64)(lambda pattern: self.lib.Index(pattern, self.vocabulary))

    def matcher(self, request: Request) -> Any:
        pattern = _pattern_of(request)
        pattern = self.of_schema(pattern) if request.kind == "schema" else pattern
        if len(pattern) > LONGEST and request.text != '{"type": "object"}':
            raise ValueError("Its index takes 20 seconds.")
        index = self.index(pattern)
        return [index, index.get_initial_state()]

    def mask(self, matcher: Any) -> np.ndarray[Any, Any]:
        index, state = matcher
        row = np.zeros(len(VOCABULARY), np.bool_)
        row[list(index.get_allowed_tokens(state) or ())] = True
        return row

    def accept(self, matcher: Any, token: int) -> bool:
        matcher[1] = matcher[0].get_next_state(matcher[1], token)
        return matcher[1] is not None


ENGINES: dict[str, Any] = {"xgrammar": XGrammar, "llguidance": LLGuidance, "outlines": Outlines}


@dataclass
class Tally:
    """The masks that were compared."""

    masks: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    unread: list[str] = field(default_factory=list)
    known: Counter[str] = field(default_factory=Counter)
    differences: list[tuple[str, str, str, str]] = field(default_factory=list)


def compare(engine: str, masks: int, seed: int = 0, most: int = 20, reading: str = "") -> Tally:
    """Compare masks along random texts of random requests, until enough or too many differ.

    Args:
        reading: Another reading, to see the differences.
    """
    peer, tally = ENGINES[engine](), Tally()
    vocabulary = engine_vocabulary(VOCABULARY, engine)
    while tally.masks < masks and len(tally.differences) < most:
        request, chance = random_request(seed, peer.notation), Random(seed)
        seed += 1
        try:
            peer.matcher(request)
        except Exception:
            tally.refused[request.kind] += 1
            continue
        try:
            read = as_engine(request.constraint(), reading or engine)
            machine = explorer.compile(read, vocabulary, Budget(seconds=20), lazy=True)
        except ExplorerError as error:
            tally.unread.append(f"{request.text}: {error.message}")
            continue
        tally.requests[request.kind] += 1
        seen: set[tuple[int, ...]] = set()
        for _ in range(WALKS):
            if not _walk(engine, peer, tally, request, read, machine, chance, seen):
                break
    return tally


def _walk(
    engine: str, peer: Any, tally: Tally, request: Request, read: Any, machine: Any,
    chance: Random, seen: set[tuple[int, ...]],
) -> bool:  # fmt: skip
    """Compare the masks along one random text; whether there is no new difference."""
    matcher, state = peer.matcher(request), machine.start
    prefix: list[int] = []
    for _ in range(STEPS):
        theirs = peer.mask(matcher)
        ours = unpack(machine.mask(state), len(VOCABULARY))
        if tuple(prefix) not in seen:
            seen.add(tuple(prefix))
            tally.masks += 1
            if (theirs != ours).any() and _sort(
                engine, peer, tally, request, read, prefix, theirs, ours
            ):
                return False
        both = [int(token) for token in np.flatnonzero(theirs & ours) if token != END]
        if not both:
            return True
        token = _drawn(chance, both)
        prefix.append(token)
        state = machine.step(state, token)
        if not peer.accept(matcher, token) or state is None:
            return True
    return True


def _drawn(chance: Random, tokens: list[int]) -> int:
    """A token, the longer ones likelier, and white space not too often."""
    better = [token for token in tokens if token >= 256 or 33 <= token < 127]
    return chance.choice(better or tokens) if chance.random() < 0.9 else chance.choice(tokens)


def _sort(
    engine: str, peer: Any, tally: Tally, request: Request, read: Any, prefix: list[int],
    theirs: Any, ours: Any,
) -> bool:  # fmt: skip
    """Count the known differences of two masks; whether there is another one."""
    written = b"".join(PIECES[token] if token < END else b"<|im_start|>" for token in prefix)
    allowed = [PIECES[token] for token in np.flatnonzero(theirs) if token < END]
    for token in np.flatnonzero(theirs != ours):
        data = PIECES[token] if token < END else b"END" if token == END else b"CONTROL"
        asked = Difference(
            peer, request, prefix, int(token), read, written, data, bool(theirs[token]), allowed
        )
        name = next((name for name, holds in KNOWN.get(engine, ()) if holds(asked)), None)
        if name is None:
            side = "allows" if theirs[token] else "masks"
            tally.differences.append((request.text, repr(written), repr(data), side))
            return True
        tally.known[name] += 1
    return False


@dataclass(frozen=True)
class Difference:
    """A token that only one allows."""

    peer: Any
    request: Request
    prefix: list[int]
    token: int
    read: Any
    written: bytes
    data: bytes
    theirs: bool
    allowed: list[bytes]

    @property
    def is_taken(self) -> bool:
        """Whether the engine masks the token, and takes it all the same."""
        matcher = self.peer.matcher(self.request)
        return not self.theirs and all(
            self.peer.accept(matcher, token) for token in (*self.prefix, self.token)
        )

    @property
    def past_a_text(self) -> bool:
        """Whether what was written goes on behind a whole text, which the engine takes for the
        end, or for the better alternative."""
        if self.theirs or self.data == b"CONTROL":
            return False
        whole = self.written + (b"" if self.data == b"END" else self.data)
        return any(_is_text(self.read, whole[:k]) for k in range(len(whole)))

    @property
    def is_new_character(self) -> bool:
        """Whether a class of Unicode, of which the engine has a newer version, decides."""
        text = self.written + self.data
        has_class = re.search(r'\\[dDwW]|"format"', self.request.text) is not None
        return has_class and re.search(rb"[\xe0-\xf4][\x80-\xff]{1,3}$", text) is not None

    @property
    def is_not_text(self) -> bool:
        """Whether the bytes are not those of any text."""
        try:
            (self.written + self.data).decode()
        except UnicodeDecodeError as error:
            return self.theirs and error.reason != "unexpected end of data"
        return False

    @property
    def is_forced(self) -> bool:
        """Whether a longer token that begins with this one is allowed in its place."""
        return not self.theirs and len(self.allowed) == 1

    @property
    def is_60th_second(self) -> bool:
        """Whether it begins the seconds of a time with a 6."""
        is_time = (
            '"format": "time"' in self.request.text or '"format": "date-time"' in self.request.text
        )
        return is_time and self.data.startswith(b"6") and self.written.endswith(b":")

    @property
    def is_bounded_number(self) -> bool:
        """Whether it is in a number with bounds, whose zeros and minus are spelled otherwise, and
        which may not end where the digits of a bound go on."""
        bounds = re.findall(r'(?:M|m)(?:in|ax)imum": (-?[0-9.]+)', self.request.text)
        data = b"" if self.data == b"END" else self.data
        number = re.search(r"(-?[0-9.]+)[^0-9a-z.]*$", (self.written + data).decode("latin-1"))
        if number is None or not bounds:
            return False
        zeros = re.search(r"^-0|\.[0-9]*0$|^[0-9]+\.?$|^-$", number[1])
        return zeros is not None or any(bound.startswith(number[1]) for bound in bounds)


def _is_drawn(source: Any) -> bool:
    return source.kind == "engine_schema"


def _is_text(read: Any, data: bytes) -> bool:
    try:
        return read.accepts(data.decode())
    except UnicodeDecodeError:
        return False


KNOWN: dict[str, tuple[tuple[str, Any], ...]] = {
    "xgrammar": (
        ("bytes that are not UTF-8", lambda asked: asked.is_not_text),
        ("past the end of a root that calls itself", lambda asked: asked.is_taken),
    ),
    "outlines": (
        ("after a whole text", lambda asked: asked.past_a_text),
        ("characters of a newer Unicode", lambda asked: asked.is_new_character),
    ),
    "llguidance": (
        ("forced tokens", lambda asked: asked.is_forced),
        ("characters of a newer Unicode", lambda asked: asked.is_new_character),
        ("judged by JSON Schema itself", lambda asked: not _is_drawn(asked.read.source)),
        ("zeros and minus of a bounded number", lambda asked: asked.is_bounded_number),
        ("a 60th second at any time", lambda asked: asked.is_60th_second),
    ),
}


def main(arguments: list[str]) -> Iterator[str]:
    engine, masks = arguments[0], int(arguments[1])
    seed = int(arguments[2]) if len(arguments) > 2 else 0
    tally = compare(engine, masks, seed)
    yield f"{engine}: {tally.masks:,} masks of requests: {dict(tally.requests)}; seed {seed}"
    yield f"refused by the engine: {dict(tally.refused)}; not read here: {len(tally.unread)}"
    yield from tally.unread[:5]
    yield f"known differences: {dict(tally.known)}"
    for difference in tally.differences:
        yield " | ".join(difference)


if __name__ == "__main__":
    for line in main(sys.argv[1:]):
        print(line)
