"""Real disagreements of other engines with an independent judge, as a table and as a page.

Each row is a constraint, a prefix and a token: what the engine says today, a whole text that begins
with both, and what the judge says of that text. ``python -m tests.witnesses.known`` writes the rows
into ``docs/witnesses.md``; a test holds the page to them, and engines and judges to their verdicts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from explorer import Constraint, grammar, json_schema, regex

PAGE: Final = Path(__file__).parents[2] / "docs" / "witnesses.md"
BEGIN: Final = "<!-- known: written by python -m tests.witnesses.known -->"
END: Final = "<!-- end of known -->"
VERSIONS: Final = {"outlines-core": "0.2.14", "xgrammar": "0.2.8", "llguidance": "1.9.1"}
"""The versions that the rows speak of; the extra ``bench`` pins them."""


@dataclass(frozen=True)
class Known:
    """A disagreement.

    Args:
        engine: Who differs.
        kind: ``"regex"``, ``"json_schema"``, ``"gbnf"`` or ``"lark"``.
        text: The constraint.
        prefix, token: The text before, and the token; an empty token is the end of text.
        allows: What the engine says today.
        whole: A whole text that begins with both.
        accepts: What the judge says of it; for GBNF, which has no judge, what the notation says.
        difference: The class.
        why: The reason.
    """

    engine: str
    kind: str
    text: str
    prefix: str
    token: str
    allows: bool
    whole: str
    accepts: bool
    difference: str
    why: str

    @property
    def constraint(self) -> Constraint:
        """The constraint, as we read it."""
        if self.kind == "regex":
            return regex(self.text)
        if self.kind == "json_schema":
            return json_schema(self.text, strict=False)
        syntax: Any = self.kind
        return grammar(self.text, syntax)


def _schema(**keywords: object) -> str:
    return json.dumps(keywords)


KNOWN_ROWS: Final = (
    Known("xgrammar", "regex", r"\d", "", "٣", False, "٣", True, "Unicode class",
          r"its \d is ASCII"),
    Known("xgrammar", "regex", r"\w", "", "é", False, "é", True, "Unicode class",
          r"its \w is ASCII"),
    Known("outlines-core", "regex", r"\w", "", "²", False, "²", True, "Unicode class",
          r"Rust's \w is Alphabetic, marks and decimal digits; Python's asks str.isalnum"),
    Known("llguidance", "regex", r"\s", "", "\x1c", False, "\x1c", True, "Unicode class",
          r"Rust's \s is White_Space; Python's also holds U+001C to U+001F"),
    Known("xgrammar", "regex", "a.", "a", "\n", True, "a\n", False, "dialect",
          "its dot matches a new line"),
    Known("xgrammar", "regex", "[^]]", "b", "", False, "b", True, "contradicted",
          "it reads [^] as a class by itself"),
    Known("xgrammar", "regex", r"a\Z", "a", "", False, "a", True, "contradicted",
          r"it reads \Z as the letter Z, and only prints a warning"),
    Known("llguidance", "regex", "[a-c&&b-d]", "", "a", False, "a", True, "contradicted",
          "&& in a class is an intersection (Rust)"),
    Known("llguidance", "regex", "[[:alpha:]]", "", "b", True, "b", False, "unexplained",
          "[:alpha:] names a class (Rust)"),
    Known("outlines-core", "regex", "(?:a|b)+?", "a", "b", False, "ab", True, "contradicted",
          "a lazy repeat at the end stops at its first end, and the longer texts are lost"),
    Known("outlines-core", "regex", ".+", "a", "\xc3", False, "aé", True, "contradicted",
          "after a whole match it masks a byte that does not complete another: half of an é"),
    Known("outlines-core", "regex", "foo|foobar", "foo", "b", False, "foobar", True, "contradicted",
          "after a whole match it masks a byte that does not complete another"),
    Known("llguidance", "regex", "[a~~b]", "", "~", False, "~", True, "contradicted",
          "~~ in a class is a symmetric difference (Rust)"),
    Known("xgrammar", "regex", r"\s", "", "\u2003", False, "\u2003", True, "Unicode class",
          r"its \s holds U+0009 to U+000D, the space and U+00A0 alone"),
    Known("outlines-core", "regex", "a*d|b", "", "a", True, "ad", True, "trim",
          "it does not trim states that the vocabulary cannot finish, here one without d"),
    Known("llguidance", "regex", "hello", "", "h", False, "hello", True, "forced tokens",
          "where only one text can follow, it allows only its longest token"),
    Known("outlines-core", "json_schema", _schema(type="integer", minimum=3), "2", "", True, "2",
          False, "unsupported keyword", "it ignores minimum"),
    Known("outlines-core", "json_schema", _schema(type="integer", multipleOf=3), "4", "", True,
          "4", False, "unsupported keyword", "it ignores multipleOf"),
    Known("outlines-core", "json_schema", _schema(type="array", prefixItems=[{"type": "null"}]),
          "[", "]", False, "[]", True, "contradicted",
          "it demands the items that prefixItems only allows"),
    Known("outlines-core", "json_schema", _schema(type="number"), "1", "e", False, "1e5", True,
          "contradicted", "after a whole match it masks a byte that does not complete another: no "
          "exponent or fraction can be written after a whole number"),
    Known("xgrammar", "json_schema",
          _schema(type="object", patternProperties={"^x": {"type": "null"}},
                  additionalProperties=False),
          '{"x', "y", False, '{"xy":null}', True, "contradicted",
          "the patterns of patternProperties must match the whole key"),
    Known("xgrammar", "json_schema", _schema(type="string", format="date"), '"2024-02-', "3", True,
          '"2024-02-30"', False, "unexplained", "its dates have days that no month has"),
    Known("xgrammar", "json_schema",
          _schema(type="object", properties={"a": {"type": "null"}}, required=["b"]),
          '{"a":null', "}", True, '{"a":null}', False, "unsupported keyword",
          "it does not demand a required member that properties does not describe"),
    Known("xgrammar", "json_schema", _schema(type="string", minLength=1, pattern="^a*$"), '"',
          '"', True, '""', False, "unsupported keyword", "beside pattern it ignores minLength"),
    Known("xgrammar", "json_schema", _schema(type="string", minLength=2, maxLength=3), '"', "\\",
          False, '"\\n\\n"', True, "contradicted",
          "with bounds on the length it writes no escapes, so no line breaks"),
    Known("xgrammar", "json_schema",
          json.dumps({"oneOf": [{"type": "integer"}, {"type": "number"}]}), "1", "", True, "1",
          False, "unsupported keyword", "it reads oneOf as anyOf"),
    Known("llguidance", "json_schema", _schema(type="string"), '"\\', "/", False, '"\\/"', True,
          "contradicted", r"it does not write the escape \/"),
    Known("llguidance", "gbnf", "root ::= .", "", "\n", False, "\n", True, "dialect",
          "its dot is that of Rust's regex crate; GBNF's is any character"),
    Known("xgrammar", "lark", "start: \"a\" \"b\"\n%ignore \" \"", "", " ", False, " ab", True,
          "contradicted", "it ignores nothing before the first terminal"),
    Known("llguidance", "lark", "start: ESCAPED_STRING\n%import common.ESCAPED_STRING", '"a', "\n",
          True, '"a\n"', False, "unexplained",
          "its ESCAPED_STRING holds new lines, Lark's does not"),
)  # fmt: skip


def cell(text: str) -> str:
    """A text in a cell of a table, its control characters as Python writes them.

    Args:
        text: Any.
    """
    shown = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )
    return f"`{shown}`".replace("|", "\\|") if text else "the end"


def half_token(known: Known) -> bytes | None:
    """The byte that a row's token is, where it is not a whole character; else ``None``.

    Args:
        known: A row.
    """
    whole = known.prefix.encode() + known.token.encode()
    return None if known.whole.encode().startswith(whole) else known.token.encode("latin-1")


def _token(known: Known) -> str:
    if half_token(known):
        return f"the byte {ord(known.token):02X}"
    return cell(known.token)


def rows() -> str:
    """The rows as Markdown."""
    lines = [
        "| engine | constraint | after | token | engine | judge | class | why |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in KNOWN_ROWS:
        judge = f"{'accepts' if each.accepts else 'refuses'} {cell(each.whole)}"
        lines.append(
            f"| {each.engine} {VERSIONS[each.engine]} | {cell(each.text)} | "
            f"{cell(each.prefix) if each.prefix else 'nothing'} | {_token(each)} | "
            f"{'allows' if each.allows else 'masks'} | {judge} | {each.difference} | "
            f"{each.why.replace('|', chr(92) + '|')} |"
        )
    return "\n".join(lines)


def with_rows(page: str) -> str:
    """The page with the rows between its marks.

    Args:
        page: The text.
    """
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{rows()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_rows(PAGE.read_text("utf-8")), encoding="utf-8")
