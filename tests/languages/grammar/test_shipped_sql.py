"""The grammar of SQL that ships, beside SQLite, which prepares every text and runs none."""

from __future__ import annotations

import random
import re
import sqlite3

import pytest

from explorer.languages.constraint import Constraint
from explorer.languages.grammar.functions import grammar
from explorer.languages.grammar.notations.gbnf import GbnfReader
from explorer.languages.grammar.shipped import shipped_grammar, shipped_text
from tests.evidence import examples
from tests.languages.grammar.sampling import Sampler, mutated

SCHEMA = """
CREATE TABLE users (id INTEGER, name TEXT, born TEXT);
CREATE TABLE orders (id INTEGER, user_id INTEGER, total REAL, placed TEXT);
"""

STATEMENTS = [
    "SELECT * FROM users;",
    "SELECT name, total * 1.2 AS gross FROM users AS u JOIN orders AS o ON u.id = o.user_id",
    "SELECT DISTINCT name FROM users WHERE name LIKE 'A%' ESCAPE '!' AND NOT born IS NULL",
    "SELECT user_id, count(*) FROM orders GROUP BY user_id HAVING sum(total) >= 100",
    "SELECT name FROM users WHERE id IN (SELECT user_id FROM orders WHERE total > 9.5e1)",
    "SELECT CASE WHEN total BETWEEN 1 AND 2 * 3 THEN 'few' ELSE 'many' END FROM orders",
    "SELECT id FROM users UNION ALL SELECT id FROM orders ORDER BY id DESC LIMIT 5 OFFSET 10",
    "SELECT a.name FROM users AS a, (SELECT id FROM orders) AS b\nLEFT OUTER JOIN orders ON 1",
    "SELECT CAST(id AS INTEGER) || 'x' FROM users WHERE EXISTS (SELECT 1) OR (id, 2) = (1, '')",
    "INSERT INTO users (id, \"name\") VALUES (1, 'O''Hara'), (2, NULL)",
    "INSERT INTO orders SELECT id, id, 0, NULL FROM users",
    "UPDATE orders SET total = total - 1, placed = 'x' WHERE id = -1",
    "DELETE FROM orders WHERE total % 2 <> 0",
]

TOKENS = re.compile(
    r"""[a-z_]+\(|(?:[a-z_]+\.)?[a-z_]\w*|[A-Z]+|[\d.]+(?:e\d+)?|'(?:[^']|'')*'|"[^"]+"|[<>|]?[>=|]|\S"""
)

PIECES = ["(", ")", ",", "*", ";", "=", "<>", "+", "-", "/", "||", "SELECT", "DISTINCT", "FROM",
          "WHERE", "AND", "OR", "NOT", "IN", "AS", "ON", "IS", "NULL", "LIKE", "ESCAPE", "BETWEEN",
          "name", "select", "end", "1", "2.5", "'x'", '"y"', "JOIN", "LEFT", "UNION", "ALL",
          "ORDER", "BY", "GROUP", "HAVING", "LIMIT", "OFFSET", "EXISTS", "CASE", "WHEN", "THEN",
          "ELSE", "END", "count(", "CAST", "INTEGER", "DESC", "SET"]  # fmt: skip

BEYOND = re.compile(
    "|".join(
        [
            r"""[a-z0-9)"'] [a-z"']|(NULL|END) [a-z"']""",  # a name after an operand, without AS
            r"[-+] [-+]",  # two signs
            r"(BY|HAVING|WHERE|[A-Z]*SELECT|DISTINCT|AND|OR|NOT|IS|ON|LIKE|ESCAPE|BETWEEN|LIMIT|OFFSET|CASE|WHEN"
            r"|THEN|ELSE|[-+*/%(=>|]) (BY|DESC|END|LEFT|OFFSET|LIKE|CAST(?! \())",  # as names
            r"DESC(?! (LIMIT|;|\)|,)|$)|^(?!.*ORDER BY).* DESC|END [A-Z]|ALL \)",
            r"(UPDATE|DELETE).*(LIMIT|ORDER)",  # an extension
            r"[^(,] NOT NULL",  # behind an operand
            r"IN [^(]|IN \( \)",  # a table, or nothing
            r"(FROM|JOIN|AS|INTO|SET|UPDATE|,) [A-Z']|(?<!AS )INTEGER",  # words, texts as names
            r"^(?!.*LIMIT .*OFFSET).*OFFSET|select|CAST( [^(]|$)|LIKE [A-Z]",
            r"(?<!GROUP)(?<!ORDER) BY|^(?!.*CASE).*\bEND|^(?!.*JOIN.*\bON\b).*\bON\b",
            r"; .",  # what follows the statement
            r"CAST \( (?!.*AS (INTEGER|REAL|TEXT|NUMERIC|BLOB) \))",
        ]
    )
)
"""Some of what SQLite reads beyond the subset."""


@pytest.fixture(scope="module")
def database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    return connection


def prepares(database: sqlite3.Connection, text: str) -> str:
    """``"yes"``, ``"meaning"`` where names or types are wrong, ``"syntax"`` else."""
    try:
        database.execute(f"EXPLAIN {text}").close()
    except (sqlite3.Error, sqlite3.Warning) as error:
        of_form = ("syntax error", "incomplete input", "unrecognized token", "one statement")
        return "syntax" if any(each in str(error) for each in of_form) else "meaning"
    return "yes"


def drawn(grammar: str, count: int) -> list[str]:
    """Texts drawn from the rules."""
    chance = random.Random(count)
    sampler = Sampler(tuple(GbnfReader(grammar).rules()), chance, " abcst019'")
    words = (sampler.word(depth=chance.randrange(7, 11)) for _ in range(count))
    return [word for word in words if len(word) < 400]


def changed(count: int) -> list[str]:
    """The statements with one to three tokens changed, a blank between any two tokens."""
    chance = random.Random(count)
    found: list[str] = []
    for _ in range(count):
        tokens = TOKENS.findall(chance.choice(STATEMENTS))
        found.append(" ".join(mutated(tokens, chance, PIECES)))
    return found


def differences(
    constraint: Constraint, database: sqlite3.Connection, texts: list[str]
) -> tuple[list[str], list[str]]:
    """Texts that only we read, and those that only SQLite reads and that are of the subset."""
    ours: list[str] = []
    theirs: list[str] = []
    for text in texts:
        accepted, prepared = constraint.accepts(text), prepares(database, text) != "syntax"
        if accepted and not prepared:
            ours.append(text)
        if prepared and not accepted and BEYOND.search(text) is None:
            theirs.append(text)
    return ours, theirs


def test_statements_prepare_and_are_read(database: sqlite3.Connection) -> None:
    constraint = shipped_grammar("sql")
    for text in STATEMENTS:
        assert prepares(database, text) == "yes", text
        assert constraint.accepts(text), text


def test_drawn_texts_are_read_by_both(database: sqlite3.Connection) -> None:
    constraint = shipped_grammar("sql")
    texts = drawn(shipped_text("sql"), examples(200))
    assert all(map(constraint.accepts, texts))
    assert differences(constraint, database, texts) == ([], [])


def test_changed_texts_are_read_by_both_or_neither(database: sqlite3.Connection) -> None:
    constraint = shipped_grammar("sql")
    texts = changed(examples(1_500))
    assert differences(constraint, database, texts) == ([], [])
    assert 30 < sum(map(constraint.accepts, texts)) < len(texts) / 2


def test_every_kept_word_is_kept(database: sqlite3.Connection) -> None:
    """A bare name is not a word that SQLite refuses as a name in some places."""
    constraint = shipped_grammar("sql")
    for word in (*re.findall("[a-z_]+", shipped_text("sql").partition("(?!")[2]), "key", "desc"):
        texts = [
            f"SELECT {word} ( {word} ) AS {word} FROM {word} WHERE {word} . {word} IN ( {word} )",
            f"SELECT ( {word} ) FROM a",
            f"SELECT {word}(*)",
        ]
        read = all(prepares(database, text.replace(" . ", ".")) != "syntax" for text in texts)
        ours = all(
            constraint.accepts(text.replace(" . ", ".").replace(f"{word} (", f"{word}("))
            for text in texts
        )
        assert ours <= read, word


MUTANTS = {
    "a keyword as a function": ('"COUNT" | "IFNULL"', '"COUNT" | "VALUES"', True),
    "a word too much": ('"BY" sp exprs', '("BY" | "FOR") sp exprs', True),
    "two minus signs": ("[-+] ws atom | early", "([-+] ws)+ atom | early", True),
    "no descending order": ('("ASC" | "DESC")', '"ASC"', False),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_oracle_sees_a_wrong_grammar(name: str, database: sqlite3.Connection) -> None:
    before, after, too_much = MUTANTS[name]
    text = shipped_text("sql").replace(before, after)
    assert text != shipped_text("sql")
    texts = [*STATEMENTS, "SELECT VALUES(1)", *drawn(text, 60), *changed(100)]
    ours, theirs = differences(grammar(text), database, texts)
    assert ours if too_much else theirs
