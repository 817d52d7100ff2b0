"""``--grammar FILE`` on the command line."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import pytest

from explorer.cli import demo, main
from explorer.cli.options import add_constraint, constraint_of
from explorer.errors import ConstraintError, GrammarError


def parsed() -> ArgumentParser:
    parser = ArgumentParser()
    add_constraint(parser)
    return parser


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.gbnf", 'root ::= "(" root ")" | "x"'),
        ("a.txt", 'root ::= "(" root ")" | "x"'),
        ("a.lark", 'start: "(" start ")" | "x"'),
        ("a.ebnf", 'root ::= "(" root ")" | "x"'),
    ],
)
def test_the_ending_of_the_file_says_the_notation(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    parser = parsed()
    given = constraint_of(parser.parse_args(["--grammar", str(tmp_path / name)]))
    assert given is not None and given.accepts("((x))") and not given.accepts("((x)")


def test_several_stacks(tmp_path: Path) -> None:
    path = tmp_path / "sums.gbnf"
    path.write_text('root ::= root "+" root | "1"')
    parser = parsed()
    with pytest.raises(ConstraintError, match="--unambiguous"):
        constraint_of(parser.parse_args(["--unambiguous", "--regex", "a"]))
    given = constraint_of(parser.parse_args(["--grammar", str(path)]))
    assert given is not None and given.accepts("1+1+1")
    with pytest.raises(GrammarError, match="two stacks"):
        constraint_of(parser.parse_args(["--unambiguous", "--grammar", str(path)]))


def test_a_fault_is_printed_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.gbnf"
    path.write_text('root ::= item\nitme ::= "a"')
    asked = ["compile", "--grammar", str(path), "--tokenizer", str(demo.shipped_tokenizer())]
    assert main(asked) != 0
    assert "Line 1, column 10" in capsys.readouterr().err
