"""The grammar of a subset of Python that ships, beside CPython's parser and its `ast.unparse`."""

from __future__ import annotations

import ast
import keyword
import random
import re
from functools import cache
from pathlib import Path

import pytest

from explorer.languages.constraint import Constraint
from explorer.languages.grammar.functions import grammar
from explorer.languages.grammar.notations.gbnf import GbnfReader
from explorer.languages.grammar.shipped import shipped_grammar, shipped_text
from tests.evidence import examples
from tests.languages.grammar.sampling import Sampler, mutated

PROGRAM = """\
"Words are counted."
import os.path as path
from sys import argv, exit as leave

class Counter(Base, metaclass=Meta):
    total: int = 0

    def count(self, words: list[str], least=1) -> dict:
        # a comment
        found, other = {}, [-1, not x]
        for word in words:
            found[word] += 1
        while found and not other is None:
            found = other[1:] if len(other) >= 2 else (1,)
        return found

with open(argv[1], mode='r') as file:
    if file.name not in ['a', "b"]:
        pass
    elif 1 < 2 ** ~x:
        raise ValueError('no: \\\\x') from None
    else:
        assert {'a': 1.5e-3, 'b': {2j, 3}}[key](x, [1] if y else z, key=1) is not None
"""

TOKENS = re.compile(r"\n *|#.*|'[^'\n]*'|\"[^\"\n]*\"|\w+|//|\*\*|[<>=!]=|->| +|.")

PIECES = [
    *("\n", "\n    ", "\n        ", " ", "if ", "else:", "elif ", "while ", "not ", "x", "f("),
    *("(", ")", "[", "]", "{", "}", ":", ",", ", ", ".", "=", " = ", " == ", " in ", " is "),
    *(" and ", "-", "0", "007", "1.5", "'a'", "return", "pass", "def f():", "for x in y:"),
    *("None", "lambda", "# c", "*", "j", "import"),
]

NODES = """Module Pass Break Continue Return Raise Assert Global Expr Import ImportFrom alias Assign
AugAssign AnnAssign If While For With withitem ClassDef FunctionDef arguments arg keyword Delete
BinOp UnaryOp BoolOp Compare IfExp Call Attribute Subscript Slice Name Constant Tuple List Dict Set
operator unaryop boolop cmpop expr_context"""

KINDS = tuple(getattr(ast, name) for name in NODES.split())
"""The nodes of the subset; some of them only in some places."""


def parsed(text: str) -> ast.Module | None:
    """The tree of a text; ``None`` if Python does not read it."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def drawn(text: str, count: int) -> list[str]:
    """Texts drawn from the rules."""
    chance = random.Random(count)
    sampler = Sampler(tuple(GbnfReader(text).rules()), chance, " abi01")
    words = (sampler.word(depth=chance.randrange(12, 22)) for _ in range(count))
    return [word for word in words if len(word) < 800]


def changed(count: int) -> list[str]:
    """The program with one to three tokens changed."""
    chance = random.Random(count)
    tokens = TOKENS.findall(PROGRAM)
    return ["".join(mutated(tokens, chance, PIECES)) for _ in range(count)]


def is_chain(node: ast.expr) -> bool:
    """Whether indices, fields and calls begin with a name."""
    match node:
        case ast.Name():
            return True
        case ast.Attribute() | ast.Subscript():
            return is_chain(node.value)
        case ast.Call():
            return is_chain(node.func)
        case _:
            return False


def targets_fit(node: ast.AST) -> bool:
    """Whether what is assigned to is a place, or several names or places."""
    match node:
        case ast.Assign(targets=[target]) | ast.For(target=target):
            several = target.elts if isinstance(target, ast.Tuple) else [target]
            names = not isinstance(node, ast.For) or all(isinstance(e, ast.Name) for e in several)
            long = not isinstance(target, ast.Tuple) or len(several) > 1
            return long and names and all(map(is_chain, several))
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return is_chain(target)
        case ast.Delete():
            return len(node.targets) == 1 and is_chain(node.targets[0])
        case ast.Assign():
            return False
        case _:
            return True


def of_the_subset(tree: ast.Module) -> bool:
    """Whether a tree holds only what the grammar has."""
    for node in ast.walk(tree):
        if not isinstance(node, KINDS) or not targets_fit(node):
            return False
        if isinstance(node, ast.Constant) and isinstance(node.value, bytes | type(...)):
            return False
        if isinstance(node, ast.Expr):
            value = node.value
            text = isinstance(value, ast.Constant) and isinstance(value.value, str)
            if not text and not is_chain(value):
                return False
        inner = node.func if isinstance(node, ast.Call) else getattr(node, "value", None)
        trailing = isinstance(node, ast.Call | ast.Attribute | ast.Subscript)
        if trailing and isinstance(inner, ast.Constant) and not isinstance(inner.value, str):
            return False
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            return False
    return True


@cache
def shipped() -> Constraint:
    return shipped_grammar("python")


def only_ours(constraint: Constraint, texts: list[str]) -> list[str]:
    """Texts that the grammar reads and Python does not."""
    return [text for text in texts if constraint.accepts(text) and parsed(text) is None]


def only_theirs(constraint: Constraint, texts: list[str]) -> tuple[list[str], int]:
    """What Python writes of the texts that are of the subset and the grammar does not read, and how
    many it wrote.
    """
    trees = [tree for text in texts if (tree := parsed(text)) is not None]
    written = [f"{ast.unparse(tree)}\n" for tree in trees if of_the_subset(tree)]
    return [text for text in written if not constraint.accepts(text)], len(written)


IN_AND_OUT = {
    "x: int = 1\nx += 2\n": True,
    "global x\ndel x\nassert x\nfrom a.b import c as d\n": True,
    "class A(B):\n    def f(self, x: int=1) -> int:\n        return [1, (2,), {3: 'a'}]\n": True,
    "print(a[1:2], b=not c and d is not e)\n": True,
    "@d\ndef f():\n    pass\n": False,
    "try:\n    pass\nfinally:\n    pass\n": False,
    "match x:\n    case 1:\n        pass\n": False,
    "x = lambda: 1\n": False,
    "x = [y for y in z]\n": False,
    "f(*x, **y)\n": False,
    "x = [*y]\n": False,
    "def f(*x):\n    pass\n": False,
    "f((x := 1))\n": False,
    "x = f'a'\n": False,
    "x = b'a'\n": False,
    "x = y[1:2:3]\n": False,
    "a = b = c\n": False,
    "a = 1; b = 2\n": False,
    "async def f():\n    pass\n": False,
}  # fmt: skip


@pytest.mark.parametrize("text", IN_AND_OUT)
def test_what_the_head_of_the_grammar_says_is_in_and_out(text: str) -> None:
    assert parsed(text) is not None and shipped().accepts(text) == IN_AND_OUT[text]


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_drawn_and_changed_texts_are_read_by_both_or_neither() -> None:
    assert f"(?!(?:{'|'.join(keyword.kwlist)})\\Z)" in shipped_text("python")
    assert shipped().accepts(PROGRAM) and parsed(PROGRAM) is not None
    texts = drawn(shipped_text("python"), examples(100))
    assert all(map(shipped().accepts, texts))
    texts += changed(examples(500))
    assert only_ours(shipped(), texts) == []
    missed, count = only_theirs(shipped(), [PROGRAM, *texts])
    assert missed == [] and count > 100


def test_functions_that_people_wrote() -> None:
    """Functions of Python's library that hold only what the subset has, as Python writes them."""
    found = 0
    for path in sorted(Path(ast.__file__).parent.glob("[a-h]*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and of_the_subset(ast.Module([node], [])):
                text = f"{ast.unparse(node)}\n"
                depth = max((len(line) - len(line.lstrip(" "))) // 4 for line in text.split("\n"))
                plain = re.search(r"\\\n|f'|r'|[^\x00-\x7f]|\\x0|\*\w|, /|\*,", text) is None
                if depth <= 3 and plain and not node.decorator_list:
                    found += 1
                    assert shipped().accepts(text), text
    assert found > 30


MUTANTS = {
    "any target": ("name part* | place", 'name part* | "1" " = " exprs | place', True),
    "a name of Python": ("|while|", "|", True),
    "no comparison": ('| "not in"', "", False),
}


@pytest.mark.long
@pytest.mark.parametrize("name", MUTANTS)
def test_the_oracle_sees_a_wrong_grammar(name: str) -> None:
    before, after, too_much = MUTANTS[name]
    text = shipped_text("python").replace(before, after)
    assert text != shipped_text("python")
    texts = ["while = 1\n", "x = y not in z\n", *drawn(text, 300)]
    mutant = grammar(text)
    assert only_ours(mutant, texts) if too_much else only_theirs(mutant, texts)[0]
