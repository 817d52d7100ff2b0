"""The grammar of a language like C that ships, beside pycparser, which reads C and writes it."""

from __future__ import annotations

import random
import re

import pytest
from pycparser import c_ast, c_generator, c_parser

from explorer.languages.constraint import Constraint
from explorer.languages.grammar.functions import grammar
from explorer.languages.grammar.notations.gbnf import GbnfReader
from explorer.languages.grammar.shipped import shipped_grammar, shipped_text
from tests.evidence import examples
from tests.languages.grammar.sampling import Sampler, mutated

PROGRAMS = [
    """int add(int a, int b) {
    return a + b;
}

int main(void) {
    int total = 0; // the sum
    for (int i = 0; i < 10; i++) {
        total = add(total, values[i] * 2);
        if (total >= 100 && !done) { break; } else if (total == -1) { continue; } else { stop(); }
    }
    /* it is **printed** */
    printf("%d\\n", total);
    return 0;
}
""",
    """unsigned int n = 0x1F, *p, q[3] = {1, 2, 3,};
const float half = .5f;
void swap(int *a, int b[]) {
    int t = *a;
    *a = b[0];
    b[0] = t;
    do { t <<= 1; --t; } while (t % 2 != 0);
    while (p->next.size > (n & 3)) { p = p->next; ; }
    return;
}
char letter(int k) { return k < 26 ? 'a' + k : k > 1e3 ? '\\\\' : f(g(), -k)[1]; }
""",
]

TOKENS = re.compile(
    r"""//[^\n]*\n|/\*.*?\*/|"[^"\n]*"|'[^'\n]+'|\w+|->|\+\+|--|[-+*/%&|^<>=!]=|<<=?|&&|\|\||\s+|.""",
    re.DOTALL,
)

PIECES = [
    *(
        "int",
        "x",
        "f(",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ";",
        ",",
        "=",
        "==",
        "+",
        " + ",
        "-",
        " - ",
        "*",
    ),
    *(
        "&",
        "&&",
        "!",
        "? 1 :",
        "0",
        "09",
        "1.5",
        "'c'",
        '"s"',
        "return",
        "if (x) {",
        "else",
        "while (x)",
    ),
    *(
        "++",
        "--",
        "->",
        ".",
        "/",
        "//",
        "/* c */",
        " ",
        "\n",
        "const ",
        "unsigned ",
        "sizeof",
        "for",
    ),
]

COMMENT = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|//[^\n]*|/\*.*?\*/""", re.DOTALL)


def parsed(text: str) -> c_ast.FileAST | None:
    """The tree of a program; ``None`` if pycparser does not read it. It reads no comments."""
    try:
        return c_parser.CParser().parse(COMMENT.sub(lambda found: found[1] or " ", text))
    except (c_parser.ParseError, RecursionError):
        return None


PLAIN = (c_ast.FileAST, c_ast.Compound, c_ast.While, c_ast.DoWhile, c_ast.Return, c_ast.Break,
         c_ast.Continue, c_ast.BinaryOp, c_ast.TernaryOp, c_ast.ID, c_ast.EmptyStatement,
         c_ast.If, c_ast.InitList, c_ast.DeclList,
         c_ast.FuncDecl)  # fmt: skip

TYPE = re.compile(r"(unsigned |signed )?(int|char|short|long)|float|double|void")


def of_the_subset(node: c_ast.Node, *, step: bool = False) -> bool:
    """Whether a tree holds only what the grammar has.

    Args:
        node: The tree.
        step: Whether it stands where a statement may, so that it may assign.
    """
    # The base class of pycparser's nodes has no body here.
    children = [child for _, child in node.children()]  # pyright: ignore[reportGeneralTypeIssues]
    match node:
        case c_ast.Assignment():
            return step and is_place(node.lvalue) and of_the_subset(node.rvalue)
        case c_ast.UnaryOp():
            if node.op in ("p++", "p--", "++", "--"):
                return step and is_place(node.expr)
            return node.op != "sizeof" and not step and of_the_subset(node.expr)
        case c_ast.FuncCall() | c_ast.ArrayRef() | c_ast.StructRef():
            if step and not (isinstance(node, c_ast.FuncCall) and is_place(node)):
                return False
            arguments = node.args.exprs if isinstance(node, c_ast.FuncCall) and node.args else []
            inner = [node.subscript] if isinstance(node, c_ast.ArrayRef) else arguments
            return is_place(node) and all(map(of_the_subset, inner))
        case c_ast.ID() | c_ast.Constant() | c_ast.BinaryOp() | c_ast.TernaryOp() if step:
            return False
        case c_ast.Constant():
            left_out = r"[LuU]|0[bB]|.*(ll|LL|[lL][uU])|0\d+[uUlL]*$|0[xX].*[.pP]"
            return re.match(left_out, node.value) is None
        case c_ast.Compound():
            return all(of_the_subset(child, step=True) for child in children)
        case c_ast.Decl():
            strange = node.storage or node.funcspec or node.align or node.bitsize
            return not strange and node.name is not None and all(map(of_the_subset, children))
        case c_ast.IdentifierType():
            return TYPE.fullmatch(" ".join(node.names)) is not None
        case c_ast.TypeDecl():
            return set(node.quals) <= {"const"} and all(map(of_the_subset, children))
        case c_ast.PtrDecl():
            return not node.quals and all(map(of_the_subset, children))
        case c_ast.FuncDef():  # pycparser reads `int f {}`, and lists of names.
            function = isinstance(node.decl.type, c_ast.FuncDecl | c_ast.PtrDecl)
            return function and all(map(of_the_subset, children))
        case c_ast.ParamList():
            declared = [p for p in children if isinstance(p, c_ast.Decl | c_ast.Typename)]
            if len(declared) == 1 and isinstance(declared[0], c_ast.Typename):
                return is_void(declared[0])
            return len(declared) == len(children) and all(map(of_the_subset, children))
        case c_ast.ArrayDecl():
            plain = node.dim is None or isinstance(node.dim, c_ast.Constant | c_ast.ID)
            return plain and not node.dim_quals and all(map(of_the_subset, children))
        case c_ast.For():
            parts = [node.init, node.next]
            return (
                all(of_the_subset(part, step=True) for part in parts if part is not None)
                and (node.cond is None or of_the_subset(node.cond))
                and isinstance(node.stmt, c_ast.Compound) and of_the_subset(node.stmt)
            )  # fmt: skip
        case _:
            return isinstance(node, PLAIN) and all(map(of_the_subset, children))


def is_void(parameter: c_ast.Typename) -> bool:
    """Whether a parameter without a name means that there are no parameters."""
    kind = parameter.type
    plain = isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type, c_ast.IdentifierType)
    return plain and kind.type.names == ["void"] and not kind.quals


def is_place(node: c_ast.Node) -> bool:
    """Whether a chain of calls, indices and fields begins with a name."""
    match node:
        case c_ast.ID():
            return True
        case c_ast.FuncCall() | c_ast.ArrayRef() | c_ast.StructRef():
            return is_place(node.name)
        case _:
            return False


def drawn(text: str, count: int) -> list[str]:
    """Texts drawn from the rules."""
    chance = random.Random(count)
    sampler = Sampler(tuple(GbnfReader(text).rules()), chance, " abi01")
    words = (sampler.word(depth=chance.randrange(6, 11)) for _ in range(count))
    return [word for word in words if len(word) < 500]


def changed(count: int) -> list[str]:
    """The programs with one to three tokens changed."""
    chance = random.Random(count)
    return [
        "".join(mutated(TOKENS.findall(chance.choice(PROGRAMS)), chance, PIECES))
        for _ in range(count)
    ]


def only_ours(constraint: Constraint, texts: list[str]) -> list[str]:
    """Texts that the grammar reads and pycparser does not."""
    return [text for text in texts if constraint.accepts(text) and parsed(text) is None]


def only_theirs(constraint: Constraint, texts: list[str]) -> tuple[list[str], int]:
    """What pycparser writes of the texts that are of the subset and the grammar does not read, and
    how many it wrote.
    """
    trees = [tree for text in texts if (tree := parsed(text)) is not None]
    written = [c_generator.CGenerator().visit(tree) for tree in trees if of_the_subset(tree)]
    return [text for text in written if not constraint.accepts(text)], len(written)


def test_programs_are_read_by_both() -> None:
    constraint = shipped_grammar("c")
    for text in PROGRAMS:
        assert constraint.accepts(text) and parsed(text) is not None


def test_drawn_and_changed_texts_are_read_by_both_or_neither() -> None:
    constraint = shipped_grammar("c")
    texts = drawn(shipped_text("c"), examples(150))
    assert all(map(constraint.accepts, texts))
    texts += changed(examples(400))
    assert only_ours(constraint, texts) == []
    missed, count = only_theirs(constraint, [*PROGRAMS, *texts])
    assert missed == [] and count > 100


MUTANTS = {
    "a sign too much": ("([-+&] ws)?", "([-+&] ws)*", True),
    "another type": ('"short" | "long"', '"short" | "longer"', True),
    "no fields": ("part        ::= index | field | call", "part        ::= index | call", False),
}


@pytest.mark.long
@pytest.mark.parametrize("name", MUTANTS)
def test_the_oracle_sees_a_wrong_grammar(name: str) -> None:
    before, after, too_much = MUTANTS[name]
    text = shipped_text("c").replace(before, after)
    assert text != shipped_text("c")
    texts = [*PROGRAMS, *drawn(text, 200), *changed(300)]
    mutant = grammar(text)
    assert only_ours(mutant, texts) if too_much else only_theirs(mutant, texts)[0]
