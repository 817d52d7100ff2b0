"""The terminals of the libraries that come with Lark, as patterns in Python's syntax.

They are those of ``lark/grammars`` (Lark 1.3), written as one pattern each. Where Lark's own
definition is lazy, as that of strings is, the pattern ends where Lark's lexer ends it:
``ESCAPED_STRING`` at its first quote without a backslash before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_INT: Final = "[0-9]+"
_DECIMAL: Final = rf"(?:{_INT}\.(?:{_INT})?|\.{_INT})"
_EXPONENT: Final = rf"[eE][+-]?{_INT}"
_FLOAT: Final = rf"(?:{_INT}{_EXPONENT}|{_DECIMAL}(?:{_EXPONENT})?)"
_NUMBER: Final = rf"(?:{_FLOAT}|{_INT})"
_ESCAPED: Final = r'"(?:[^"\\\n]|\\[^\n])*"'

_DIGITS: Final = "[0-9](?:_?[0-9])*"
_PYTHON_EXPONENT: Final = rf"[eE][+-]?{_DIGITS}"
_PYTHON_DECIMAL: Final = rf"(?:\.{_DIGITS}|{_DIGITS}\.(?:{_DIGITS})?)"
_PYTHON_FLOAT: Final = rf"(?:{_DIGITS}{_PYTHON_EXPONENT}|{_PYTHON_DECIMAL}(?:{_PYTHON_EXPONENT})?)"
_PREFIX: Final = "(?i:[ubf]?r?|r[ubf])"

LIBRARIES: Final[Mapping[str, Mapping[str, str]]] = {
    "common": {
        "DIGIT": "[0-9]",
        "HEXDIGIT": "[a-fA-F0-9]",
        "INT": _INT,
        "SIGNED_INT": f"[+-]?{_INT}",
        "DECIMAL": _DECIMAL,
        "_EXP": _EXPONENT,
        "FLOAT": _FLOAT,
        "SIGNED_FLOAT": f"[+-]?{_FLOAT}",
        "NUMBER": _NUMBER,
        "SIGNED_NUMBER": f"[+-]?{_NUMBER}",
        "_STRING_INNER": ".*?",
        "_STRING_ESC_INNER": r"(?:[^\\\n]|\\[^\n])*?",
        "ESCAPED_STRING": _ESCAPED,
        "LCASE_LETTER": "[a-z]",
        "UCASE_LETTER": "[A-Z]",
        "LETTER": "[A-Za-z]",
        "WORD": "[A-Za-z]+",
        "CNAME": "[_A-Za-z][_A-Za-z0-9]*",
        "WS_INLINE": r"[ \t]+",
        "WS": r"[ \t\f\r\n]+",
        "CR": r"\r",
        "LF": r"\n",
        "NEWLINE": r"(?:\r?\n)+",
        "SH_COMMENT": r"#[^\n]*",
        "CPP_COMMENT": r"//[^\n]*",
        "C_COMMENT": r"/\*(?:[^*]|\*+[^*/])*\*+/",
        "SQL_COMMENT": r"--[^\n]*",
    },
    "unicode": {
        "WS_INLINE": r"[ \t\xa0]+",
        "WS": r"[ \t\xa0\f\r\n]+",
    },
    "python": {
        "NAME": r"[^\W\d]\w*",
        "COMMENT": r"#[^\n]*",
        "STRING": (
            _PREFIX + r'(?:"(?!"")(?:[^"\\\n]|\\[^\n])*"' + r"|'(?!'')(?:[^'\\\n]|\\[^\n])*')"
        ),
        "LONG_STRING": (
            _PREFIX + r'(?s:"""(?:[^"\\]|\\.|"(?!""))*"""' + r"|'''(?:[^'\\]|\\.|'(?!''))*''')"
        ),
        "_SPECIAL_DEC": _DIGITS,
        "DEC_NUMBER": "[1-9](?:_?[0-9])*|0(?:_?0)*",
        "HEX_NUMBER": "0[xX](?:_?[0-9a-fA-F])+",
        "OCT_NUMBER": "0[oO](?:_?[0-7])+",
        "BIN_NUMBER": "0[bB](?:_?[01])+",
        "_EXP": _PYTHON_EXPONENT,
        "DECIMAL": _PYTHON_DECIMAL,
        "FLOAT_NUMBER": _PYTHON_FLOAT,
        "IMAG_NUMBER": f"(?:{_DIGITS}|{_PYTHON_FLOAT})[jJ]",
        "_NEWLINE": r"(?:\r?\n[\t ]*|#[^\n]*)+",
        "SLASH": "/",
        "ASYNC": "async",
        "AWAIT": "await",
    },
    "lark": {
        "OP": "[+*]|[?](?![a-z])",
        "RULE": "!?[_?]?[a-z][_a-z0-9]*",
        "TOKEN": "_?[A-Z][_A-Z0-9]*",
        "STRING": f"{_ESCAPED}i?",
        "REGEXP": r"/(?!/)(?:\\/|\\\\|[^/])*?/[imslux]*",
        "NUMBER": f"[+-]?{_INT}",
        "COMMENT": r"\s*(?://|#)[^\n]*",
        "_NL": r"(?:\r?\n)+\s*",
        "_VBAR": r"(?:(?:\r?\n)+\s*)?\|",
        "_STRING": _ESCAPED,
        "WS_INLINE": r"[ \t]+",
    },
}
"""The pattern of each terminal, by library and name."""
