"""A subset of Python whose blocks are nested to a depth, each indented by four blanks more.

It is not context-free that every line of a block begins with as many blanks as the line before: the
number would be needed again for each line, and a stack loses it when it is first read. To a bounded
depth, states are enough. The name of a rule has a letter for each open block: ``after-ci`` has the
lines that may follow where a block other than an ``if`` is open, and inside it an ``if``, after
which an ``else`` may follow. So the indentation is exact to the depth; brackets nest on the stack.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from itertools import product
from typing import Final

from explorer.arguments import whole_number
from explorer.errors import ConstraintError

DEPTH: Final = 3
"""The depth of blocks in the grammar that ships."""

MOST_DEPTH: Final = 5
"""The largest depth: the rules double with each."""

_HEAD: Final = """\
# A subset of Python: blocks nested at most {depth} deep, each indented by four blanks more. In the
# names of rules c stands for an open class, def, for, while or with, i for an open if or elif.
# `explorer.grammars.python_text` writes this grammar for another depth. White space is that of
# ast.unparse.
# In: def with annotations and defaults, class, if, elif, else, for, while, with, return, raise,
# assert, del, global, import, from, pass, break, continue, =, += and the like, x: int = 1;
# operators, comparisons, and, or, not, x if y else z, calls with named arguments, indices, slices
# a:b, fields, tuples, lists, sets, dicts, numbers, texts in single, double and three double quotes,
# comments.
# Not: decorators, try, match, async, lambda, comprehensions, * and ** in calls, lists and
# parameters, :=, yield, nonlocal, f-strings, bytes, slices a:b:c, a = b = c, several statements in
# a line, lines that go on.
root     ::= after-
"""

_TAIL: Final = r"""
blank    ::= " "* ("#" [^\x00\r\n]*)? "\n"
end      ::= " "* ("#" [^\x00\r\n]*)? "\n"
simple   ::= ("pass" | "break" | "continue" | "return" (" " exprs)? | "raise" (" " expr (" from " expr)?)? |
             "del " name (part* (index | field))? | "global " name (", " name)* | "assert " expr (", " expr)? |
             "import " module (" as " name)? (", " module (" as " name)?)* | "from " module " import " name (" as " name)? (", " name (" as " name)?)* |
             string | name part* | place (", " place)* " = " exprs | place " " augment " " exprs | place ": " expr (" = " exprs)?) end
augment  ::= ([-+*/%&|^@] | "//" | "**" | "<<" | ">>") "="
header   ::= ("while " expr | "for " name (", " name)* " in " exprs | "class " name ("(" arguments ")")? |
             "def " name "(" parameters ")" (" -> " expr)? | "with " expr (" as " name)?) ":" end
place    ::= name (part* (index | field))?
module   ::= name ("." name)*
parameters ::= (parameter (", " parameter)* (", " given)* | given (", " given)*)?
parameter ::= name (": " expr)?
given    ::= name ("=" expr | ": " expr ("=" | " = ") expr)
arguments ::= (expr (", " expr)* (", " name "=" expr)* | name "=" expr (", " name "=" expr)*)?

exprs    ::= expr (", " expr)*
expr     ::= (either " if " either " else ")* either
either   ::= negated (" " operator " " operand | " is " denied | " " ("and" | "or") " " negated)*
operator ::= [-+*/%&|^@<>] | "//" | "**" | "<<" | ">>" | "<=" | ">=" | "==" | "!=" | "in" | "not in"
negated  ::= "not "* operand
denied   ::= "not "? operand
operand  ::= [-+~]* (number | "True" | "False" | "None" | (string | name | group | list | braces) part*)
group    ::= "(" (exprs ","?)? ")"
list     ::= "[" exprs? "]"
braces   ::= "{" (expr ": " expr (", " expr ": " expr)* | exprs)? "}"
part     ::= index | field | call
index    ::= "[" (expr | expr? ":" expr?) "]"
field    ::= "." name
call     ::= "(" arguments ")"
number   ::= ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)? "j"?
string   ::= "'" ([^'\\\x00-\x1F] | escape)* "'" | "\"" ([^"\\\x00-\x1F] | escape)* "\"" |
             "\"\"\"" ("\""{0,2} ([^"\\\x00\r] | escape))* "\"\"\""
escape   ::= "\\" ([\\'"abfnrtv] | "x" hex{2} | "u" hex{4})
hex      ::= [0-9a-fA-F]
"""  # noqa: E501


def python_text(depth: int = DEPTH) -> str:
    r"""The grammar of a subset of Python, in GBNF.

    Args:
        depth: How deep blocks are nested at most, from 1 to `MOST_DEPTH`.

    Raises:
        ConstraintError: The depth is not a whole number in this range.

    Example:
        >>> import explorer
        >>> flat = explorer.grammar(python_text(1))
        >>> flat.accepts("if x:\n    print([x, 2])\n"), flat.accepts("if x:\nprint(x)\n")
        (True, False)
    """
    depth = whole_number("depth", depth, 1, error=ConstraintError)
    if depth > MOST_DEPTH:
        raise ConstraintError(
            f"depth={depth} is more than {MOST_DEPTH}.", remedy="Nest blocks less deep."
        )
    lines = [_HEAD.format(depth=depth)]
    for length in range(depth + 1):
        for letters in product("ci", repeat=length):
            lines += _rules("".join(letters), depth)
    words = "|".join(keyword.kwlist)
    name = f"name     ::= /(?!(?:{words})\\Z)[A-Za-z_][A-Za-z_0-9]*/\n"
    return "".join([*lines, _TAIL, name])


def _rules(context: str, depth: int) -> Iterator[str]:
    """The rules for the lines that may follow where some blocks are open."""
    level = len(context)
    options = ["blank after-" + context]
    for k in range(level + 1):
        indent = f'"{" " * 4 * k}" ' if k else ""
        other = "other" if k < level and context[k] == "i" else "line"
        options.append(f"{indent}{other}-{context[:k]}")
    yield f'after-{context} ::= "" | {" | ".join(options)}\n'
    if context:
        yield f'open-{context} ::= blank open-{context} | "{" " * 4 * level}" line-{context}\n'
    line = [f"simple after-{context}"]
    if level < depth:
        line += [f'"if " expr ":" end open-{context}i', f"header open-{context}c"]
    yield f"line-{context} ::= {' | '.join(line)}\n"
    if level < depth:
        more = [f'"elif " expr ":" end open-{context}i', f'"else:" end open-{context}c']
        yield f"other-{context} ::= {' | '.join([*line, *more])}\n"
