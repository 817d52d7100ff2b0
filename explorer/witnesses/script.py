"""A script that shows a difference with the engine's own library alone, and not with us.

It holds the tokens that it needs: single bytes and the few longer ones of the case, or the whole
vocabulary where that is small. It prints whether the engine allows or masks the token, and ends
with status 0 if that is what the report says.
"""

from __future__ import annotations

from typing import Final

from explorer.vocabulary import Vocabulary
from explorer.witnesses.messages import Statement

_TOKENS: Final = """\
# {engine} {version}: after {prefix_text!a}, is the token {token_text!a} {verdict}?
import {module}

{tokens}
eos = len(tokens)
prefix = {prefix!r}
token = {token}
constraint = {constraint!a}
"""

_OUTLINES: Final = """
ids = {{}}
for i, data in enumerate(tokens):
    ids.setdefault(data, []).append(i)
{read}
index = outlines_core.Index(pattern, outlines_core.Vocabulary(eos, ids))
state = index.get_initial_state()
for i in prefix:
    state = index.get_next_state(state, i)
allowed = token in (index.get_allowed_tokens(state) or [])
"""

_XGRAMMAR: Final = """
info = xgrammar.TokenizerInfo(
    [*tokens, b""], xgrammar.VocabType.RAW, vocab_size=eos + 1, stop_token_ids=[eos]
)
compiler = xgrammar.GrammarCompiler(info, max_threads=1)
matcher = xgrammar.GrammarMatcher({read})
for i in prefix:
    assert matcher.accept_token(i)
bitmask = xgrammar.allocate_token_bitmask(1, eos + 1)
matcher.fill_next_token_bitmask(bitmask)
allowed = bool(int(bitmask[0][token // 32]) >> token % 32 & 1)
"""

_LLGUIDANCE: Final = """

class Tokenizer:
    eos_token_id, bos_token_id = eos, None
    tokens = [*tokens, b"<eos>"]
    special_token_ids = [eos]

    def __call__(self, text):
        data, found = (text.encode() if isinstance(text, str) else text), []
        while data:  # The longest token that fits.
            size = max(len(t) for t in tokens if data.startswith(t))
            found.append(tokens.index(data[:size]))
            data = data[size:]
        return found


tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokenizer()), n_vocab=eos + 1)
matcher = llguidance.LLMatcher(tokenizer, {read})
assert not matcher.is_error(), matcher.get_error()
for i in prefix:
    assert matcher.consume_token(i)
allowed = bool(matcher.compute_bitmask()[token // 8] >> token % 8 & 1)
"""

_END: Final = """
print("allowed" if allowed else "masked")
raise SystemExit(0 if allowed is {allows} else 1)
"""

_BODY: Final = {"outlines-core": _OUTLINES, "xgrammar": _XGRAMMAR, "llguidance": _LLGUIDANCE}


def script_of(
    engine: str,
    version: str,
    statement: Statement,
    vocabulary: Vocabulary,
    prefix: tuple[int, ...],
    token: int,
    allows: bool,
) -> str:
    """The script for one token after one prefix.

    Args:
        engine, version: The engine.
        statement: The constraint.
        vocabulary: The tokens.
        prefix, token: Ids.
        allows: Whether the engine allows the token.
    """
    texts = vocabulary.tokens
    end = texts[token] is None
    # Ids that are not text are left out, and the end of text is the last one.
    number = {each: k for k, each in enumerate(k for k, data in enumerate(texts) if data)}
    module = engine.replace("-", "_")
    if engine == "outlines-core" and statement.kind == "json_schema":
        module = "outlines_core.json_schema"
    head = _TOKENS.format(
        engine=engine, version=version, module=module, tokens=_tokens(vocabulary),
        prefix=[number[each] for each in prefix], constraint=statement.text,
        token="eos" if end else number[token],
        prefix_text=b"".join(texts[each] or b"" for each in prefix).decode(errors="replace"),
        token_text="the end of text" if end else (texts[token] or b"").decode(errors="replace"),
        verdict="allowed" if allows else "masked",
    )  # fmt: skip
    body = _BODY[engine].format(read=_read(engine, statement))
    return head + body + _END.format(allows=allows)


def _tokens(vocabulary: Vocabulary) -> str:
    texts = [data for data in vocabulary.tokens if data is not None]
    single = [bytes([byte]) for byte in range(256)]
    if texts[:256] == single:
        return f"tokens = [bytes([b]) for b in range(256)] + {texts[256:]!r}"
    return f"tokens = {texts!r}"


def _read(engine: str, statement: Statement) -> str:
    """The expression with which an engine reads the constraint."""
    kind = statement.kind
    compact = statement.whitespace == "compact"
    if engine == "outlines-core":
        if kind == "regex":
            return "pattern = constraint"
        space = ', ""' if compact else ""
        return f"pattern = outlines_core.json_schema.build_regex_from_schema(constraint{space})"
    if engine == "xgrammar":
        if kind == "json_schema":
            layout = 'any_whitespace=False, separators=(",", ":"), ' if compact else ""
            order = ", any_order=True" if statement.any_order else ""
            return f"compiler.compile_json_schema(constraint, {layout}strict_mode=False{order})"
        name = {"regex": "regex", "gbnf": "grammar", "lark": "lark"}[kind]
        return f"compiler.compile_{name}(constraint)"
    if kind == "json_schema":
        if not compact:
            return "llguidance.LLMatcher.grammar_from_json_schema(constraint)"
        return (
            "llguidance.LLMatcher.grammar_from_json_schema(constraint, overrides="
            '{"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"})'
        )
    if kind == "gbnf":
        return (
            "llguidance.LLMatcher.grammar_from_lark("
            '__import__("llguidance.gbnf_to_lark").gbnf_to_lark.gbnf_to_lark(constraint))'
        )
    return f"llguidance.LLMatcher.grammar_from_{kind}(constraint)"
