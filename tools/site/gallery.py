"""Runs as replay pages: each is one file that the explorer itself exported, and works offline."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import explorer
from explorer.decoding.models.load import load_model
from widgets import Explorer

_PERSON: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z][a-z]{2,8}$"},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}

_SUMS: Final = r"""root ::= sum "=" number
sum ::= term ("+" term)+
term ::= number | "(" sum ")"
number ::= [1-9] [0-9]?
"""


@dataclass(frozen=True)
class Replay:
    """A run of the gallery.

    Args:
        name: The name of its file, without the ending.
        title: The heading.
        seen: What to look at, in one or two sentences.
        make: Makes the explorer, before its first step.
        tokens: The most tokens of the run.
        begin: The first tokens of the run, regardless of the model's choice.
    """

    name: str
    title: str
    seen: str
    make: Callable[[], Explorer]
    tokens: int = 40
    begin: tuple[str, ...] = ()


def _date() -> Explorer:
    date = explorer.regex(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")
    return Explorer(load_model("tiny"), date, "The date is ")


def _trap() -> Explorer:
    stops = explorer.choice([" New York", " Boston"])
    return Explorer(load_model("tiny"), stops, "The night train stops at")


def _canonical() -> Explorer:
    stops = explorer.choice([" New York", " Boston"]).canonical()
    return Explorer(load_model("tiny"), stops, "The night train stops at")


def _person() -> Explorer:
    prompt = "Write a JSON record of a person on one line.\n"
    return Explorer(load_model("tiny"), explorer.json_schema(_PERSON), prompt)


def _sums() -> Explorer:
    return Explorer(load_model("tiny"), explorer.grammar(_SUMS), "A sum: ")


REPLAYS: Final = (
    Replay(
        "toy",
        "The toy: five tokens, one trap",
        "The three machines on one axis. The last token of every text is `food`, because no token "
        "writes a lone `d`. Switch slow motion on and step inside a token.",
        Explorer,
    ),
    Replay(
        "date",
        "A date, by a real model",
        "The mask of 4,000 tokens at each position, and the groups of reasons beside it.",
        _date,
    ),
    Replay(
        "trap",
        "The greedy trap",
        "The model takes ` New` because of New Delhi. At the next position hardly any of its "
        "probability is allowed.",
        _trap,
    ),
    Replay(
        "canonical",
        "The same cities, as the tokenizer writes them",
        "Two tokens are allowed at the start in place of five, and everything after the first "
        "token is forced.",
        _canonical,
    ),
    Replay(
        "person",
        "A JSON Schema",
        "Names of members are forced, values are free: watch the number of allowed tokens over "
        "time.",
        _person,
    ),
    Replay(
        "sums",
        "A grammar, with its stack",
        "Parentheses are counted by the stack beside the machines: what is open, and what each "
        "open rule waits for. The first three tokens were taken by hand. (The model cannot add.)",
        _sums,
        begin=("1", "+", "("),
    ),
)


def write_replay(replay: Replay, folder: Path) -> str:
    """Run a session to its end, or to its most tokens, and export it, with a picture of its middle.

    Args:
        replay: The run.
        folder: The folder for the page and the picture.

    Returns:
        The text that the session wrote.
    """
    view = replay.make()
    try:
        for token in replay.begin:
            view.session.step(token=token)
        text = view.session.run(max_tokens=replay.tokens).text
        view.session.jump(view.session.length // 2)
        (folder / f"{replay.name}.svg").write_text(view.snapshot().svg, encoding="utf-8")
        view.session.jump(0)  # The page opens at this position.
        view.to_html(folder / f"{replay.name}.html")
        return text
    finally:
        view.close()


def gallery_page(written: dict[str, str]) -> str:
    """The page that names the replays.

    Args:
        written: The text of each run, by its name.
    """
    parts = [
        "# Gallery of replays\n\nEach of these pages is one file, exported from the explorer with "
        '`view.to_html("run.html")`. It needs no kernel, no server and no network: save it, open '
        "it from a disk, send it to a colleague. Step with the arrow keys, click a token for the "
        "reason why it was masked.\n"
    ]
    for replay in REPLAYS:
        if replay.name in written:
            text = html.escape(written[replay.name])
            parts.append(
                f"## {replay.title}\n\n{replay.seen}\n\nIt wrote <code>{text}</code>\n\n"
                f'<a href="{replay.name}.html"><img src="{replay.name}.svg" width="380" '
                f'alt="The middle of the run: {html.escape(replay.title)}" /></a>\n\n'
                f'<a href="{replay.name}.html" class="md-button">Open the replay: '
                f"{html.escape(replay.title)}</a>\n"
            )
    return "\n".join(parts)


__all__ = ["REPLAYS", "Replay", "gallery_page", "write_replay"]
