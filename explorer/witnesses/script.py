"""A script that shows a difference with the engine's own library alone, and not with us.

It holds the tokens that it needs: single bytes and the few longer ones of the case, or the whole
vocabulary where that is small. It prints whether the engine allows or masks the token. Where the
reason is that the engine does not notice a change of the constraint, it asks for that as well, and
prints whether the mask is the same. It ends with status 0 if all is as the report says.
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
ids = {}
for i, data in enumerate(tokens):
    ids.setdefault(data, []).append(i)


def mask(pattern):
    index = outlines_core.Index(pattern, outlines_core.Vocabulary(eos, ids))
    state = index.get_initial_state()
    for i in prefix:
        state = index.get_next_state(state, i)
    return set(index.get_allowed_tokens(state) or [])
"""

_XGRAMMAR: Final = """
info = xgrammar.TokenizerInfo(
    [*tokens, b""], xgrammar.VocabType.RAW, vocab_size=eos + 1, stop_token_ids=[eos]
)
compiler = xgrammar.GrammarCompiler(info, max_threads=1)


def mask(compiled):
    matcher = xgrammar.GrammarMatcher(compiled)
    for i in prefix:
        assert matcher.accept_token(i)
    bitmask = xgrammar.allocate_token_bitmask(1, eos + 1)
    matcher.fill_next_token_bitmask(bitmask)
    return {i for i in range(eos + 1) if int(bitmask[0][i // 32]) >> i % 32 & 1}
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


def mask(grammar):
    matcher = llguidance.LLMatcher(tokenizer, grammar)
    assert not matcher.is_error(), matcher.get_error()
    for i in prefix:
        assert matcher.consume_token(i)
    bits = matcher.compute_bitmask()
    return {i for i in range(eos + 1) if bits[i // 8] >> i % 8 & 1}
"""

_ALLOWED: Final = """

allowed = mask({read})
print("allowed" if token in allowed else "masked")
"""

_SAME: Final = """
# The same constraint with one change, which the engine does not notice.
changed = {changed!a}
same = mask({read}) == allowed
print("the same mask with the change" if same else "another mask with the change")
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
    same_as: Statement | None = None,
) -> str:
    """The script for one token after one prefix.

    Args:
        engine, version: The engine.
        statement: The constraint.
        vocabulary: The tokens.
        prefix, token: Ids.
        allows: Whether the engine allows the token.
        same_as: Another constraint for which the engine is said to show the same mask there.
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
    body = _BODY[engine] + _ALLOWED.format(read=_read(engine, statement, "constraint"))
    verdict = f"(token in allowed) is {allows}"
    if same_as is not None:
        read = _read(engine, same_as, "changed")
        body += _SAME.format(changed=same_as.text, read=read)
        verdict += " and same"
    return f"{head}{body}raise SystemExit(0 if {verdict} else 1)\n"


def printed_by(allows: bool, same_as: Statement | None) -> str:
    """The text that a script prints where all is as its report says.

    Args:
        allows: Whether the engine allows the token.
        same_as: As for `script_of`.
    """
    first = "allowed" if allows else "masked"
    return first if same_as is None else f"{first}\nthe same mask with the change"


def _tokens(vocabulary: Vocabulary) -> str:
    texts = [data for data in vocabulary.tokens if data is not None]
    single = [bytes([byte]) for byte in range(256)]
    if texts[:256] == single:
        return f"tokens = [bytes([b]) for b in range(256)] + {texts[256:]!r}"
    return f"tokens = {texts!r}"


def _read(engine: str, statement: Statement, name: str) -> str:
    """The expression with which an engine reads the constraint of that name."""
    kind = statement.kind
    compact = statement.whitespace == "compact"
    if engine == "outlines-core":
        if kind == "regex":
            return name
        space = ', ""' if compact else ""
        return f"outlines_core.json_schema.build_regex_from_schema({name}{space})"
    if engine == "xgrammar":
        if kind == "json_schema":
            layout = 'any_whitespace=False, separators=(",", ":"), ' if compact else ""
            order = ", any_order=True" if statement.any_order else ""
            return f"compiler.compile_json_schema({name}, {layout}strict_mode=False{order})"
        notation = {"regex": "regex", "gbnf": "grammar", "lark": "lark"}[kind]
        return f"compiler.compile_{notation}({name})"
    if kind == "json_schema":
        if not compact:
            return f"llguidance.LLMatcher.grammar_from_json_schema({name})"
        return (
            f"llguidance.LLMatcher.grammar_from_json_schema({name}, overrides="
            '{"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"})'
        )
    if kind == "gbnf":
        return (
            "llguidance.LLMatcher.grammar_from_lark("
            '__import__("llguidance.gbnf_to_lark").gbnf_to_lark.gbnf_to_lark('
            f"{name}))"
        )
    return f"llguidance.LLMatcher.grammar_from_{kind}({name})"
