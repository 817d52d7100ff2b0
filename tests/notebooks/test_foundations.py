"""The notebooks on tokens and automata run, and show what their text speaks of."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from explorer.course.checking import EXERCISES
from tests.notebooks.running import Shown, pictures, widget

Show = Callable[[str], Shown]


def answer(name: str) -> object:
    """The right answer of an exercise."""
    return EXERCISES[name].answer  # type: ignore[attr-defined]


def test_tokens_are_bytes(show: Show) -> None:
    shown = show("01_tokens_are_bytes")
    pictures(shown, "spaces", "half", "twins", "front", "lengths", "ways")
    assert "It is 3." in shown.printed("spaces")
    assert "tiny: The [54 68 65] | ␣weather [20 77 65 61 74 68 65 72] (holds a space) | ␣in [" in (
        shown.plain("spaces")
    )
    assert shown.printed("join").splitlines() == [str("The weather in München".encode()), "True"]
    # One character of four bytes: three tokens, or four; none of them is a character.
    assert "It is 3." in shown.printed("half")
    assert shown.plain("half").splitlines()[1:] == [
        "tiny: <F0><9F> [F0 9F] (not a whole character) | <98> [98] (not a whole character) | "
        "<80> [80] (not a whole character)",
        "tiny-sp: <F0> [F0] (not a whole character) | <9F> [9F] (not a whole character) | "
        "<98> [98] (not a whole character) | <80> [80] (not a whole character)",
    ]
    assert "It is False." in shown.printed("decode")
    assert shown.printed("decode").splitlines()[-1].endswith("😀")
    assert "It is 1." in shown.printed("twins")
    assert shown.value("len(other.vocabulary.ids_of(b'a'))") == 2
    assert "tiny-sp: ␣the" in shown.plain("front") and "dummy prefix" in shown.printed("front")
    # The table, counted again from the vocabularies alone.
    counts = shown.value("counts")
    for name, expression in (("toy", "toy"), ("tiny", "tiny.vocabulary")):
        texts = shown.value(f"[t.hex() for t in {expression}.tokens if t is not None]")
        assert counts[name]["ids that write bytes"] == len(texts)
        assert counts[name]["bytes of the longest"] == max(map(len, texts)) // 2
        assert counts[name]["begin with a space"] == sum(t.startswith("20") for t in texts)
        assert counts[name]["not whole characters"] == sum(
            "\ufffd" in bytes.fromhex(t).decode(errors="replace") for t in texts
        )
    assert counts["toy"]["ids"] == 6 and counts["tiny-sp"]["different byte strings"] == 3911
    # All ways to cut the text, by brute force.
    known = set(shown.value("[t.hex() for t in tiny.vocabulary.tokens if t is not None]"))
    ways = 0
    for cuts in product((False, True), repeat=3):
        pieces = [b"f"]
        for cut, letter in zip(cuts, b"ood", strict=True):
            pieces = (
                [*pieces, bytes([letter])] if cut else [*pieces[:-1], pieces[-1] + bytes([letter])]
            )
        ways += all(piece.hex() in known for piece in pieces)
    assert shown.printed("ways").startswith(f"{ways} ways")
    assert "tokens allowed" in widget(shown)
    # The exercises.
    assert b"".join([b"f", b"\xc3", b"\xbc", b"r"]).decode() == answer("tokens-text")
    assert len("水!".encode()) == answer("tokens-bytes")
    twins = counts["tiny-sp"]["ids that write bytes"] - counts["tiny-sp"]["different byte strings"]
    assert twins == answer("tokens-twins")
    doubled = "sum(len(other.vocabulary.ids_of(t)) == 2 for t in set(other.vocabulary.tokens) if t)"
    assert shown.value(doubled) == twins
