"""Grammar files that import each other: their texts are those of Lark, which reads the files."""

from __future__ import annotations

import pickle
from itertools import product
from pathlib import Path

import lark
import pytest

import explorer
from explorer.errors import ConstraintError, GrammarError

FILES = {
    "main.lark": """
        start: item ("," item)* STOP?
        %import .parts.items.item
        %import .parts.items.END -> STOP
    """,
    "named.lark": """
        %import .parts.items (END, item)
        %import .parts.letters.list
        start: item | item END | list{"b"} | row
        row: "-" // not the row of items
        %ignore " "
    """,
    "changed.lark": """
        %import .parts.items.item -> thing
        %extend thing: "-"
        start: thing+
    """,
    "parts/items.lark": """
        // A comment with item: in it.
        ?item.2: row | pair "!"i  -> alias
        row: LETTER
           | "(" [item] ")"
        pair: LETTER LETTER # of letters
        END: /[.;]\\/?/ | "%x"
        %import .letters (LETTER)
        %import common.WS
        unused: WS
        %ignore WS
    """,
    "parts/letters.lark": """
        LETTER: "a" | BEE
        BEE: "b"
        list{x}: x ("," x)*
    """,
}
ALPHABET = "ab(),!.;- "


def folder_of(tmp_path: Path) -> Path:
    """The files above in a folder."""
    for name, text in FILES.items():
        path = tmp_path / "grammars" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path / "grammars"


@pytest.mark.parametrize("name", ["main.lark", "named.lark", "changed.lark"])
def test_the_texts_are_those_of_lark(name: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    path = folder / name
    ours = explorer.grammar(path.read_text("utf-8"), "lark", folder=folder)
    parser = lark.Lark.open(str(path), parser="earley", lexer="dynamic_complete")
    accepted = 0
    for length in range(1, 5):
        for text in map("".join, product(ALPHABET, repeat=length)):
            try:
                parser.parse(text)
                expected = True
            except lark.exceptions.LarkError:
                expected = False
            assert ours.accepts(text) == expected, text
            accepted += expected
    assert accepted > 10


def test_what_is_saved_needs_no_files(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    made = explorer.grammar(FILES["main.lark"], "lark", folder=folder)
    again = pickle.loads(pickle.dumps(made))
    assert again.accepts("a,(ab!).") and not again.accepts("a,")


def test_rules_of_larks_own_grammar_of_python() -> None:
    made = explorer.grammar("start: test NAME\n%import python (test, NAME)", "lark")
    assert made.accepts("f(x)+1y") and not made.accepts("f(x+1y")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("%import .absent.a", "There is no file 'absent.lark'"),
        ("%import .parts.items.nothing", "has no 'nothing'"),
        ("%import .outside.a", "There is no file 'outside.lark'"),
        ("%import .again.start", "imports itself"),
    ],
)
def test_what_is_not_read(line: str, reason: str, tmp_path: Path) -> None:
    """Nothing outside of the folder is read, even by a link."""
    folder = folder_of(tmp_path)
    (tmp_path / "secret.lark").write_text('a: "secret"', "utf-8")
    (folder / "outside.lark").symlink_to(tmp_path / "secret.lark")
    (folder / "again.lark").write_text("start: more\n%import .again.start -> more", "utf-8")
    with pytest.raises(GrammarError) as raised:
        explorer.grammar(f'start: "x"\n{line}', "lark", folder=folder)
    assert reason in raised.value.message and line in raised.value.message


def test_a_folder_is_asked_for() -> None:
    with pytest.raises(GrammarError, match="can be imported") as raised:
        explorer.grammar("start: a\n%import .other.a", "lark")
    assert "folder" in raised.value.remedy
    with pytest.raises(ConstraintError, match="no folder"):
        explorer.grammar("start: a", "lark", folder="/no/such/folder")
    with pytest.raises(ConstraintError, match="GBNF"):
        explorer.grammar('root ::= "a"', folder=".")


def test_a_declared_terminal_is_to_be_written() -> None:
    with pytest.raises(GrammarError) as raised:
        explorer.grammar('start: A "x"\n%declare A', "lark")
    assert "%declare" in raised.value.remedy
