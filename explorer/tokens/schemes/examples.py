"""Two grammars over terminals for pictures, tests and benchmarks."""

from __future__ import annotations

from typing import Final

from explorer.tokens.schemes.terminals import TerminalGrammar

SUMS: Final = TerminalGrammar(
    {"plus": r"\+", "open": r"\(", "close": r"\)", "int": "([1-9][0-9]*)|(0+)"},
    {"E": (("E", "plus", "E"), ("open", "E", "close"), ("int",))},
)
"""The running example of Beurer-Kellner et al. (2024)."""

FLAT_OBJECT: Final = TerminalGrammar(
    {
        "open": r"\{", "close": r"\}", "colon": ":", "comma": ",", "space": " +",
        "string": r'"[^"\\\n]*"', "number": r"-?[0-9]+(\.[0-9]+)?", "word": "true|false|null",
    },
    {
        "object": (("open", "members", "close"),),
        "members": (("member",), ("members", "comma", "ws", "member")),
        "member": (("string", "colon", "ws", "value"),),
        "value": (("string",), ("number",), ("word",)),
        "ws": ((), ("space",)),
    },
)  # fmt: skip
"""A JSON object whose values are not nested, with spaces where they are usual."""
