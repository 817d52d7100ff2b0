"""The grammars of `benchmarks.grammars`, in the notations of all engines, and texts of each."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from explorer.languages.grammar.shipped import shipped_text

ROOT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Case:
    """One grammar.

    Args:
        name: What it is called.
        gbnf: For us, and for xgrammar unless ``builtin``.
        lark: For llguidance.
        texts: What is read.
        builtin: Whether xgrammar takes its built-in JSON.
    """

    name: str
    gbnf: str
    lark: str
    texts: tuple[str, ...]
    builtin: bool = False


JSON_LARK: Final = r"""start: ws value
value: (object | array | STRING | NUMBER | "true" | "false" | "null") ws
object: "{" ws (member ("," ws member)*)? "}"
member: STRING ws ":" ws value
array: "[" ws (value ("," ws value)*)? "]"
STRING: /"([^"\\\x00-\x1F]|\\(["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/
NUMBER: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/
ws: /[ \t\n\r]*/
"""

ARITHMETIC_LARK: Final = r"""start: ws sum
sum: product (/[-+]/ ws product)*
product: power (/[*\/]/ ws power)*
power: sign* atom ("^" ws power)?
sign: /[-+]/ ws
atom: (NUMBER | NAME | "(" ws sum ")") ws
NUMBER: /[0-9]+(\.[0-9]+)?|\.[0-9]+/
NAME: /[a-zA-Z_][a-zA-Z_0-9]*/
ws: / */
"""

# Names begin with a capital, so that the language is the same with and without a lexer.
C_GBNF: Final = r"""root      ::= ws item*
item      ::= type ws name ws ("(" ws parameters? ")" ws block | ";" ws)
parameters ::= type ws name ws ("," ws type ws name ws)*
type      ::= "int" | "char" | "float" | "void"
block     ::= "{" ws statement* "}" ws
statement ::= block | type ws name ws ("=" ws expr)? ";" ws |
              name ws (("[" ws expr "]" ws)? "=" ws expr | "(" ws arguments? ")" ws) ";" ws |
              "if" ws condition block ("else" ws block)? | "while" ws condition block |
              "return" ws expr? ";" ws
condition ::= "(" ws expr ")" ws
arguments ::= expr ("," ws expr)*
expr      ::= term (operator ws term)*
operator  ::= "+" | "-" | "*" | "/" | "%" | "<" | ">" | "==" | "!=" | "<=" | ">=" | "&&" | "||"
term      ::= number ws | string ws | "(" ws expr ")" ws |
              name ws ("[" ws expr "]" ws | "(" ws arguments? ")" ws)?
number    ::= [0-9]+
string    ::= "\"" [ !#-\[\]-~]* "\""
name      ::= [A-Z_] [A-Za-z0-9_]*
ws        ::= [ \n]*
"""

C_LARK: Final = r"""start: ws item*
item: type ws NAME ws ("(" ws parameters? ")" ws block | ";" ws)
parameters: type ws NAME ws ("," ws type ws NAME ws)*
type: "int" | "char" | "float" | "void"
block: "{" ws statement* "}" ws
statement: block | type ws NAME ws ("=" ws expr)? ";" ws
    | NAME ws (("[" ws expr "]" ws)? "=" ws expr | "(" ws arguments? ")" ws) ";" ws
    | "if" ws condition block ("else" ws block)? | "while" ws condition block
    | "return" ws expr? ";" ws
condition: "(" ws expr ")" ws
arguments: expr ("," ws expr)*
expr: term (operator ws term)*
operator: "+" | "-" | "*" | "/" | "%" | "<" | ">" | "==" | "!=" | "<=" | ">=" | "&&" | "||"
term: NUMBER ws | STRING ws | "(" ws expr ")" ws
    | NAME ws ("[" ws expr "]" ws | "(" ws arguments? ")" ws)?
NUMBER: /[0-9]+/
STRING: /"[ !#-\[\]-~]*"/
NAME: /[A-Z_][A-Za-z0-9_]*/
ws: /[ \n]*/
"""


def json_texts() -> tuple[str, ...]:
    """JSON that people and programs wrote."""
    made = [{"id": k, "tags": ["a", "b"], "note": f'no. {k}: "quoted"\n', "in": [[k], {"x": None}]}
            for k in range(40)]  # fmt: skip
    found = [path.read_text("utf-8") for path in sorted((ROOT / "notebooks").glob("*.ipynb"))[:3]]
    return (json.dumps(made, indent=1), json.dumps(made), *found)


def arithmetic_texts() -> tuple[str, ...]:
    """Sums of some hundred operands, some in brackets."""
    chance = random.Random(7)

    def drawn(depth: int) -> str:
        parts: list[str] = []
        for _ in range(chance.randrange(2, 6)):
            if depth and chance.random() < 0.4:
                parts.append(f"({drawn(depth - 1)})")
            else:
                parts.append(chance.choice(["alpha", "x_1", "3.14", "42", "-7", "Total"]))
        return f" {chance.choice('+-*/^')} ".join(parts)

    return tuple(" + ".join(drawn(4) for _ in range(12)) for _ in range(3))


def c_texts() -> tuple[str, ...]:
    """Programs of some functions each."""
    function = """int Compute{k}(int Count, char Name) {{
    int Total = 0;
    int Index;
    Index = 0;
    while (Index < Count) {{
        if (Values[Index] % {k} == 0 && Index != 12) {{
            Total = Total + Values[Index] * (Index + {k});
            Print("even value: at place {k}", Index);
        }} else {{
            Values[Index + 1] = Lookup(Name, Values[Index], (Total - 1) / 2);
        }}
        Index = Index + 1;
    }}
    return Total;
}}

"""
    return tuple("".join(function.format(k=first + k) for k in range(6)) for first in (2, 40, 700))


def cases() -> tuple[Case, ...]:
    """All of them."""
    return (
        Case("JSON", shipped_text("json"), JSON_LARK, json_texts(), builtin=True),
        Case("arithmetic", shipped_text("arithmetic"), ARITHMETIC_LARK, arithmetic_texts()),
        Case("C-like", C_GBNF, C_LARK, c_texts()),
    )
