"""A subset of Python whose blocks are nested to a depth, each indented by four blanks more.

It is not context-free that every line of a block begins with as many blanks as the line before: the
number would be needed again for each line, and a stack loses it when it is first read. To a bounded
depth, states are enough. The name of a rule has a letter for each open block: ``after-ci`` has the
lines that may follow where a block other than an ``if`` is open, and inside it an ``if``, after
which an ``else`` may follow. So the indentation is exact to the depth; brackets nest on the stack.

The rules that do not depend on the depth are read from the grammar that ships.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from explorer.arguments import whole_number
from explorer.errors import ConstraintError
from explorer.languages.grammar.shipped import shipped_text

DEPTH: Final = 3
"""The depth of blocks in the grammar that ships."""

MOST_DEPTH: Final = 5
"""The largest depth: the rules double with each."""


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
    head, root, rest = shipped_text("python").partition("root     ::= after-\n")
    lines = [head.replace(f"at most {DEPTH} deep", f"at most {depth} deep"), root]
    for length in range(depth + 1):
        for letters in product("ci", repeat=length):
            lines += _rules("".join(letters), depth)
    return "".join([*lines, "\n", rest.partition("\n\n")[2]])


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
