"""The command line, called as a user calls it."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import unicodedata
from argparse import ArgumentParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import explorer
from explorer import TokenDFA, Vocabulary, cli
from explorer.cli import main
from explorer.cli.options import add_constraint, constraint_of

# The command line, called as a user calls it.


ROOT = Path(__file__).resolve().parent.parent
TEKKEN = str(files("mistral_common") / "data" / "tekken_240911.json")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small tokenizer.json: bytes of ASCII, some longer tokens, one end of text."""
    tokenizers = pytest.importorskip("tokenizers")
    alphabet = [chr(code) for code in range(0x21, 0x7F)]
    vocabulary = {text: token for token, text in enumerate([*alphabet, "fo", "foo", "<eos>"])}
    model = tokenizers.models.BPE(vocab=vocabulary, merges=[("f", "o"), ("fo", "o")])
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=False
    )
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(["<eos>"])
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(path))
    return path


def eos(path: Path) -> str:
    added = json.loads(path.read_text(encoding="utf-8"))["added_tokens"]
    return str(added[0]["id"])


def test_compile_reports_what_the_engine_says(
    tokenizer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compile", "--regex", "(foo)+d", "--tokenizer", str(tokenizer), "--json"]
    assert cli.main([*words, "--eos", eos(tokenizer)]) == 0
    answer = json.loads(capsys.readouterr().out)

    vocabulary = Vocabulary.from_file(tokenizer, eos_ids=[int(eos(tokenizer))])
    dfa = explorer.compile(explorer.regex("(foo)+d"), vocabulary)
    assert answer["tokens"] == len(vocabulary)
    assert answer["allowed_at_start"] == np.flatnonzero(dfa.allowed(dfa.start)).tolist()
    assert {vocabulary.tokens[t] for t in answer["allowed_at_start"]} == {b"f", b"fo", b"foo"}
    assert answer["report"]["token_states"] == dfa.num_states
    assert answer["fewest_tokens"] == 3  # foo, d, the end


def test_compile_takes_the_vocabulary_of_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    answers: list[object] = []
    for option in ("--model", "--tokenizer"):
        assert cli.main(["compile", "--regex", "(foo)+d", option, "tiny", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        answers.append((answer["tokens"], answer["allowed_at_start"]))
    assert answers[0] == answers[1]


def test_a_machine_that_cannot_be_saved_is_not_compiled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compile", "--regex", "a" * 50, "--model", "tiny", "--save", str(tmp_path)]
    assert cli.main(words) == 2
    assert "not of a folder" in capsys.readouterr().err


def test_compile_saves_a_machine(tokenizer: Path, tmp_path: Path) -> None:
    saved = tmp_path / "machine"
    words = ["compile", "--regex", "(foo)+d", "--tokenizer", str(tokenizer), "--save", str(saved)]
    assert cli.main([*words, "--eos", eos(tokenizer)]) == 0
    vocabulary = Vocabulary.from_file(tokenizer, eos_ids=[int(eos(tokenizer))])
    assert TokenDFA.load(saved, vocabulary).constraint.accepts("foofood")


@pytest.mark.parametrize(
    ("pattern", "needle"),
    [
        ("(a", "^"),  # A caret under the spot.
        (r"(a)\1", "^"),
        ("[^\\d\\D]", "no word"),
        ("é", "can write no word"),
    ],
)
def test_a_bad_pattern_is_an_error_with_evidence(
    pattern: str, needle: str, tokenizer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compile", "--regex", pattern, "--tokenizer", str(tokenizer), "--eos", eos(tokenizer)]
    assert cli.main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("explorer: ")
    assert needle in captured.err
    assert "Traceback" not in captured.err


def test_a_missing_and_a_damaged_tokenizer_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "none" / "tokenizer.json"
    assert cli.main(["compile", "--regex", "a", "--tokenizer", str(missing)]) == 2
    assert str(missing) in capsys.readouterr().err

    damaged = tmp_path / "tokenizer.json"
    damaged.write_text('{"model": ', encoding="utf-8")
    assert cli.main(["compile", "--regex", "a", "--tokenizer", str(damaged)]) == 2
    assert capsys.readouterr().err.startswith("explorer: ")


def test_a_budget_that_is_too_small_is_an_error(
    tokenizer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pattern = "".join(f"(?=.*{letter}.*{letter})" for letter in "abcdefghijklmnopqrst") + ".*"
    words = ["compile", "--regex", pattern, "--tokenizer", str(tokenizer), "--seconds", "0.2"]
    assert cli.main([*words, "--eos", eos(tokenizer)]) == 2
    assert "the limit is" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["nothing"], ["compile"], ["compile", "--seconds", "0"]])
def test_a_wrong_command_line_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(words)
    assert stopped.value.code == 2
    assert "usage: explorer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["compil"], "did you mean compile?"),
        (["compile", "--tokenizer", "tiny", "--regx", "a"], "did you mean --regex?"),
        (["why", "--tokn=a"], "did you mean --token?"),
        (["compile", "--tokenizer", "tiny", "--regex"], "written --regex=-1"),
    ],
)
def test_a_misspelled_word_is_answered_in_two_lines(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.main(words)
    said = capsys.readouterr().err
    assert meant in said and said.count("\n") == 2 and "--help" in said


def test_a_control_token_is_shown_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = {"type": "json_schema", "json_schema": {"type": "null"}}
    tag = {"type": "tag", "begin": "<tool_call>", "content": value, "end": "</tool_call>"}
    file = tmp_path / "tag.json"
    file.write_text(json.dumps(tag))
    chat = ["--structural-tag", str(file)]
    assert cli.main(["compile", "--tokenizer", "tiny-chat", *chat]) == 0
    said = capsys.readouterr().out
    assert "<tool_call>" in said.partition("allowed at the start")[2] and "<not text>" not in said
    asked = ["why", "--model", "tiny-chat", *chat, "--prefix", "<tool_call>", "--token", "null"]
    assert cli.main(asked) == 2
    assert "give its id with --prefix-ids" in capsys.readouterr().err
    tool = explorer.load_model("tiny-chat").vocabulary.special.items()
    (token,) = [each for each, name in tool if name == "<tool_call>"]
    assert cli.main([*asked[:-4], "--prefix-ids", str(token), "--token", "null"]) == 0


def test_a_terminal_that_knows_ascii_only_shows_escapes(tokenizer: Path) -> None:
    words = ["compile", "--regex", "é|foo", "--tokenizer", str(tokenizer), "--eos", eos(tokenizer)]
    done = subprocess.run(
        [sys.executable, "-m", "explorer.cli", *words],
        capture_output=True,
        cwd=ROOT,
        check=False,
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    assert b"\\xe9|foo" in done.stdout


def test_standard_output_may_be_any_stream(tokenizer: Path) -> None:
    words = [
        "compile",
        "--regex",
        "(foo)+d",
        "--tokenizer",
        str(tokenizer),
        "--eos",
        eos(tokenizer),
    ]
    caught = io.StringIO()
    with contextlib.redirect_stdout(caught):
        assert cli.main(words) == 0
    assert "(foo)+d  over 97 ids" in caught.getvalue()


@pytest.mark.parametrize(
    "words",
    [
        ["why", "--regex", "a", "--choice", "b", "--json"],
        ["why", "--json", "--token-id", "x"],
        ["why", "--json", "--colour"],
        ["compile", "--json", "--regex", "("],
        ["compile", "--json", "--regex", "(", "--tokenizer", "TOKENIZER"],
        ["doctor", "--json", "more"],
    ],
)
def test_who_asks_for_json_gets_json_whatever_happens(
    words: list[str], tokenizer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = cli.main([str(tokenizer) if word == "TOKENIZER" else word for word in words])
    except SystemExit as ended:
        status = ended.code
    said = capsys.readouterr()
    error = json.loads(said.out)["error"]
    assert (status, said.err) == (2, "")
    assert error["kind"] in ("UsageError", "RegexError")
    assert error["message"] and error["remedy"]


def test_wrong_words_at_a_terminal_are_answered_in_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in (["why", "--token-id", "x"], ["trace", "--json", "out.json", "--colour"]):
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        said = capsys.readouterr()
        assert (ended.value.code, said.out) == (2, "")
        assert said.err.startswith("usage: explorer") and ": error: " in said.err


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_trace_that_is_not_there_has_a_remedy(
    form: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "none.json")
    assert cli.main(["why", path, "--step", "1", "--token", "a", *form]) == 2
    said = capsys.readouterr()
    if form:
        error = json.loads(said.out)["error"]
        assert (error["kind"], error["evidence"]) == ("MissingFile", {"path": path})
        assert error["message"].startswith(path) and error["remedy"]
    else:
        assert said.err.startswith(f"explorer: {path}: ") and "Give the path" in said.err


def test_a_lazy_machine_is_reported_and_not_saved(
    tokenizer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["compile", "--regex", "a", "--tokenizer", str(tokenizer), "--eos", eos(tokenizer)]
    assert cli.main([*given, "--lazy"]) == 0
    assert "no table is made" in capsys.readouterr().out
    assert cli.main([*given, "--lazy", "--save", str(tmp_path / "x.dfa")]) == 2
    assert "has no table" in capsys.readouterr().err and not list(tmp_path.iterdir())


class Interrupted(io.StringIO):
    """A terminal whose user presses Ctrl-C at the first word."""

    def write(self, _: str) -> int:
        raise KeyboardInterrupt


def test_an_interrupt_ends_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.redirect_stdout(Interrupted()):
        assert cli.main(["compile", "--regex", "a", "--model", "tiny"]) == cli.INTERRUPTED == 130
    assert capsys.readouterr().err == "\n"


def test_an_interrupt_during_the_imports_ends_without_a_word() -> None:
    """Each heavy import is interrupted once, just as it begins."""
    script = (
        "import os, signal, sys\n"
        # What runs in the background of a shell is started with interrupts ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from explorer.cli import main\n"
        "heavy = {'numpy', 'numba', 'pynini', 'tokenizers'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == sys.argv[1]:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "sys.exit(main(['--version']))\n"
    )
    for module in ("explorer.cli.commands", "numpy", "explorer.tokens.compile"):
        ended = subprocess.run(
            [sys.executable, "-c", script, module], cwd=ROOT, capture_output=True, text=True
        )
        assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", ""), module


def test_a_reader_that_has_had_enough_is_no_error(tokenizer: Path) -> None:
    """As ``| head -1`` does: the reading end is closed before the output is written."""
    words = ["why", "--regex", "(foo)+d", "--tokenizer", str(tokenizer), "--eos", eos(tokenizer)]
    command = [sys.executable, "-m", "explorer.cli", *words, "--token", "x", "--all"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert said == b"" and process.returncode == cli.UNREAD == 141


# JSON Schemas on the command line: compiled, asked about, traced, refused.


Capture = pytest.CaptureFixture[str]
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 18, "maximum": 99}},
    "required": ["age"],
    "additionalProperties": False,
}


@pytest.fixture
def person(tmp_path: Path) -> str:
    path = tmp_path / "person.json"
    path.write_text(json.dumps(PERSON, indent=2))
    return str(path)


@pytest.mark.parametrize("lazy", [[], ["--lazy"]])
def test_a_schema_is_compiled(person: str, lazy: list[str], capsys: Capture) -> None:
    words = [
        "compile",
        "--json-schema",
        person,
        "--tokenizer",
        TEKKEN,
        "--json",
        *lazy,
    ]
    assert cli.main(words) == 0
    assert json.loads(capsys.readouterr().out)["report"]["kind"] == ("lazy" if lazy else "table")


def test_an_embedded_tokenizer_has_a_name(person: str, capsys: Capture) -> None:
    words = ["compile", "--json-schema", person, "--tokenizer", "tiny", "--json"]
    assert cli.main(words) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == 4_000


def test_a_schema_is_traced(person: str, capsys: Capture) -> None:
    assert cli.main(["trace", "--json-schema", person, "--max-tokens", "12"]) == 0
    assert "age" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ('{"type": "integer",\n "minimum": "3"}', ' "minimum": "3"}\n ^^^^^^^^^^^^^^'),
        ('{"minimum": 3,\n "maximum": 2, "type": "number"}', '{"minimum": 3,\n ^^^^^^^^^^^^'),
        ('{"type":\n object}', " object}\n ^"),
    ],
    ids=["keyword", "conflict", "not JSON"],
)
def test_what_is_wrong_is_shown(schema: str, says: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "schema.json"
    path.write_text(schema)
    for words in (
        ["compile", "--tokenizer", TEKKEN],
        ["why", "--tokenizer", TEKKEN, "--token=x"],
    ):
        assert cli.main([words[0], "--json-schema", str(path), *words[1:]]) == 2
        assert says in capsys.readouterr().err


def test_free_depth_and_escapes_are_options_too(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text('{"type": "array"}')
    words = ["--json-schema", str(path), "--tokenizer", TEKKEN]
    why = ["why", *words, "--prefix", "[[[", "--token=["]
    assert cli.main(why) == 0 and cli.main([*why, "--free-depth", "1"]) == 1
    path.write_text('{"enum": ["a"]}')
    why = ["why", *words, "--prefix", '"', "--token=\\"]
    assert cli.main(why) == 1 and cli.main([*why, "--escapes", "any"]) == 0
    assert cli.main(["compile", *words, "--escapes", "any", "--free-depth", "0"]) == 0


def test_a_schema_in_place_of_its_file(capsys: Capture) -> None:
    words = ["compile", "--json-schema", '{"type": "integer"}', "--tokenizer", TEKKEN]
    assert cli.main(words) == 2
    assert "--constraint 'JSON Schema'" in capsys.readouterr().err


def test_options_of_a_schema_need_one(capsys: Capture) -> None:
    words = [
        "compile",
        "--regex",
        "a",
        "--property-order",
        "any",
        "--tokenizer",
        TEKKEN,
    ]
    assert cli.main(words) == 2
    assert "--property-order says more about --json-schema" in capsys.readouterr().err


def test_a_schema_is_refused_before_the_model_is_loaded(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "strin"}')
    assert cli.main(["trace", "--json-schema", str(path), "--model", "no such model"]) == 2
    assert "'strin' is not a type" in capsys.readouterr().err


# ``--grammar FILE`` on the command line.


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


def test_a_grammar_begins_with_the_rule_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.lark"
    path.write_text('a: "x" b\nb: "y"')
    given = constraint_of(parsed().parse_args(["--grammar", str(path), "--start", "a"]))
    assert given is not None and given.accepts("xy")
    assert main(["compile", "--grammar", str(path), "--tokenizer", "tiny"]) != 0
    assert "give --start the name of another" in capsys.readouterr().err


def test_a_fault_is_printed_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.gbnf"
    path.write_text('root ::= item\nitme ::= "a"')
    asked = ["compile", "--grammar", str(path), "--tokenizer", TEKKEN]
    assert main(asked) != 0
    assert "Line 1, column 10" in capsys.readouterr().err


# No output of a command is an instruction to the terminal.


HOSTILE = "\x1b]0;pwn\x07\x9b2J\u202e\x7f"


def controls(text: str) -> set[str]:
    """The characters of a text that a terminal may not treat as text."""
    return {
        c
        for c in text
        if (unicodedata.category(c) == "Cc" and c not in "\n\t")
        or unicodedata.bidirectional(c) in ("RLO", "LRO", "RLE", "LRE", "PDF")
    }


@pytest.mark.parametrize("options", [[], ["--all"]], ids=["one", "all"])
def test_hostile_characters_are_escaped(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["why", "--model", "tiny", "--regex", f"[a-z]+{HOSTILE[:1]}", "--token", "1", *options]
    cli.main(words)
    told = capsys.readouterr()
    assert told.out and not controls(told.out) and not controls(told.err)


def test_errors_are_escaped_and_json_stays_json(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["compile", "--tokenizer", f"no{HOSTILE}", "--regex", "a"])
    told = capsys.readouterr()
    assert "no" in told.err and not controls(told.err)
    cli.main(["why", "--model", "tiny", "--token", "1", "--regex", f"a{HOSTILE}("])
    told = capsys.readouterr()
    assert not controls(told.out) and not controls(told.err)
    cli.main(["why", "--model", "tiny", "--regex", "a\x85\u2028", "--token", "1", "--json"])
    told = capsys.readouterr().out
    assert json.loads(told) and not controls(told)
