"""The rewrites that a grammar with two stacks is shown, in the notation that its author writes.

Each sketch is what to write and what it stands for, and each is a grammar that the tests read.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

Sketch = tuple[str, str]
"""The rules to write, and the rules that they replace."""

SKETCHES: Final[Mapping[str, Mapping[str, Sketch]]] = MappingProxyType(
    {
        "left recursion": {
            "gbnf": ('e ::= t ("+" t)*', 'e ::= e "+" t | t'),
            "lark": ('e: t ("+" t)*', 'e: e "+" t | t'),
            "w3c": ("e ::= t ('+' t)*", "e ::= e '+' t | t"),
            "iso": ("e = t, { '+', t };", "e = e, '+', t | t;"),
            "python": ('e = rule("e", t + ("+" + t).star())',
                       'e = rule("e", rule("e") + "+" + t | t)'),
        },
        "end or go on": {
            "gbnf": ('s ::= "if" s ("else" s)? "fi" | "x"', 's ::= "if" s ("else" s)? | "x"'),
            "lark": ('s: "if" s ["else" s] "fi" | "x"', 's: "if" s ["else" s] | "x"'),
            "w3c": ("s ::= 'if' s ('else' s)? 'fi' | 'x'", "s ::= 'if' s ('else' s)? | 'x'"),
            "iso": ("s = 'if', s, [ 'else', s ], 'fi' | 'x';", "s = 'if', s, [ 'else', s ] | 'x';"),
            "python": (
                's = rule("s", "if" + rule("s") + ("else" + rule("s")).optional() + "fi" | "x")',
                's = rule("s", "if" + rule("s") + ("else" + rule("s")).optional() | "x")',
            ),
        },
        "begin alike": {
            "gbnf": ('s ::= "(" s ")" | "x" | "y"',
                     's ::= a | b\na ::= "(" a ")" | "x"\nb ::= "(" b ")" | "y"'),
            "lark": ('s: "(" s ")" | "x" | "y"',
                     's: a | b\na: "(" a ")" | "x"\nb: "(" b ")" | "y"'),
            "w3c": ("s ::= '(' s ')' | 'x' | 'y'",
                    "s ::= a | b\na ::= '(' a ')' | 'x'\nb ::= '(' b ')' | 'y'"),
            "iso": ("s = '(', s, ')' | 'x' | 'y';",
                    "s = a | b;\na = '(', a, ')' | 'x';\nb = '(', b, ')' | 'y';"),
            "python": ('s = rule("s", "(" + rule("s") + ")" | choice(["x", "y"]))',
                       'a = rule("a", "(" + rule("a") + ")" | "x")\n'
                       'b = rule("b", "(" + rule("b") + ")" | "y")\ns = rule("s", a | b)'),
        },
        "keyword": {
            "gbnf": (r"name ::= /(?!(?:if|do)\Z)[a-z]+/", "name ::= [a-z]+"),
            "lark": (r"NAME: /(?!(?:if|do)\Z)[a-z]+/", "NAME: /[a-z]+/"),
            "w3c": (r"name ::= /(?!(?:if|do)\Z)[a-z]+/", "name ::= [a-z]+"),
            "iso": (r"name = /(?!(?:if|do)\Z)[a-z]+/;", "name = /[a-z]+/;"),
            "python": (r'name = rule("name", regex(r"(?!(?:if|do)\Z)[a-z]+"))',
                       'name = rule("name", regex("[a-z]+"))'),
        },
    }
)  # fmt: skip
"""For each kind of ambiguity and each way to write a grammar."""

_ADVICE: Final = {
    "left recursion": "A rule that begins with itself has a stack for every number of times that "
    "it may do so. Write a repetition:",
    "end or go on": "Let what follows tell the two apart: one rule for what may stand before and "
    "one for the rest (matched and unmatched), a repetition for a rule that calls itself twice, or "
    "an end of its own for the inner rule:",
    "begin alike": "Write what the two share once, before the choice:",
    "keyword": "Write what the two share once, before the choice; or if one is a keyword and the "
    "other a name, leave the keywords out of the names:",
}

_LOOSE: Final = (
    "Or give ambiguous=True, and every stack is followed. For some languages, such as palindromes, "
    "nothing else helps."
)


def rewrite_of(kind: str, dialect: str) -> str:
    """The remedy for a text with two stacks.

    Args:
        kind: A kind of `SKETCHES`.
        dialect: How the grammar is written: ``gbnf``, ``lark``, ``w3c``, ``iso`` or ``python``.
    """
    good, bad = (sketch.replace("\n", "\n  ") for sketch in SKETCHES[kind][dialect])
    return f"{_ADVICE[kind]}\n  {good}\nfor\n  {bad}\n{_LOOSE}"
