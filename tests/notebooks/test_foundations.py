"""The notebooks on tokens and automata run, and show what their text speaks of."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import explorer
from explorer.course.checking import EXERCISES
from tests.notebooks.running import Shown, pictures, widget

Show = Callable[[str], Shown]


def answer(name: str) -> object:
    """The right answer of an exercise."""
    return EXERCISES[name].answer  # type: ignore[attr-defined]


def test_tokens_are_bytes(show: Show) -> None:
    shown = show("01_tokens_are_bytes")
    pictures(shown, "spaces", "half", "twins", "front", "ways")
    assert "The answer is the token of weather." in shown.printed("spaces")
    first = "tiny.vocabulary.tokens[written(tiny, text)[with_space[0]]].decode()"
    assert shown.value(first) == " weather"
    # The clue of the first question.
    texts = shown.value("[(t or b'').hex() for t in tiny.vocabulary.tokens]")
    longer = [text for text in map(bytes.fromhex, texts) if len(text) > 1]
    ends = sum(text.endswith(b" ") for text in longer)
    assert (sum(text.startswith(b" ") for text in longer), ends) == (1332, 4)
    # The obvious mask for food: `tiny` has no such token, and a byte of its own for every byte.
    assert shown.value("list(tiny.vocabulary.ids_of(b'food'))") == []
    assert (
        shown.value("max(len(tiny.vocabulary.ids_of(t)) for t in tiny.vocabulary.tokens if t)") == 1
    )
    assert shown.value("[len(t) for t in tiny.vocabulary.tokens if t].count(1)") == 256
    assert "tiny: The [54 68 65] | ␣weather [20 77 65 61 74 68 65 72] (holds a space) | ␣in [" in (
        shown.plain("spaces")
    )
    assert shown.printed("join").splitlines() == [str("The weather in München".encode()), "True"]
    # One character of four bytes: three tokens, or four; none of them is a character.
    assert "The answer is 3." in shown.printed("half")
    assert shown.plain("half").splitlines()[1:] == [
        "tiny: <F0><9F> [F0 9F] (not a whole character) | <98> [98] (not a whole character) | "
        "<80> [80] (not a whole character)",
        "tiny-sp: <F0> [F0] (not a whole character) | <9F> [9F] (not a whole character) | "
        "<98> [98] (not a whole character) | <80> [80] (not a whole character)",
    ]
    assert "The answer is no." in shown.printed("decode")
    assert shown.printed("decode").splitlines()[-1].endswith("😀")
    assert "The answer is 1." in shown.printed("twins")
    assert shown.value("len(other.vocabulary.ids_of(b'a'))") == 2
    assert "tiny-sp: ␣the" in shown.plain("front") and "dummy prefix" in shown.printed("front")
    # The numbers of the third exercise, counted from the vocabulary alone.
    texts = shown.value("[t.hex() for t in other.vocabulary.tokens if t is not None]")
    said = shown.cells["exercise-3-text"].source
    assert f"{len(texts):,} ids" in said and f"{len(set(texts)):,} different" in said
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
    twins = len(texts) - len(set(texts))
    assert twins == answer("tokens-twins")
    doubled = "sum(len(other.vocabulary.ids_of(t)) == 2 for t in set(other.vocabulary.tokens) if t)"
    assert shown.value(doubled) == twins


def test_from_regex_to_automaton(show: Show) -> None:
    shown = show("02_from_regex_to_automaton")
    figures = (
        "figure-1-ab",
        "figure-1-middle",
        "figure-1-odd",
        "figure-1-runs",
        "figure-2-before",
        "figure-2-after",
    )
    pictures(shown, *figures, "odd-film", "thompson", "determinized", "blocks", "film")
    # What may follow: no match for both texts, and only one of them can still become a number.
    assert [line.split() for line in shown.printed("hook").splitlines()] == [
        ["23.", "None"], ["23.7.", "None"],
    ]  # fmt: skip
    assert [explorer.regex(r"([0-9]+)?\.[0-9]+").accepts(t) for t in ("23.5", "23.7.5")] == [
        True, False,
    ]  # fmt: skip
    assert "The answer is no." in shown.printed("figure-1-odd")
    assert "The answer is 4." in shown.printed("figure-2-after")
    assert "The answer is 3." in shown.printed("blocks")
    # What the lesson says of the six states: the texts that lead to each, and what may follow.
    step = "lambda s, c: fsm.map[s][fsm.alphabet[c]]"
    places = f"[__import__('functools').reduce({step}, t, 0) for t in {{}}]"
    texts = ["", "1", "12", ".", "12.", ".5", "1.55"]
    reached: list[int] = shown.value(places.format(texts))
    # The library numbers its states by the order of a set, which differs from run to run.
    assert [reached.index(each) for each in reached] == [0, 1, 2, 3, 3, 5, 6]
    # Reduced, it is the minimal machine, state by state; None would say that it is not.
    theirs = "dfa_letters(explorer.Constraint.from_fsm(fsm.reduce()).dfa)"
    assert len(shown.value(f"matched({theirs}, minimal)")) == 3
    assert "11 of 12 tokens allowed" in widget(shown)
    assert shown.value("explorer.Session(typist, explorer.regex(pattern)).run().text") == "23.37"
    # The exercises.
    state = "(lambda d, t: __import__('functools').reduce(d.step, t.encode(), d.start))"
    places = shown.value(
        f"[{state}(explorer.regex(pattern).dfa, t) for t in ['7.', '5', '.', '12.', '.5']]"
    )
    together = {
        t for t, at in zip(["5", ".", "12.", ".5"], places[1:], strict=True) if at == places[0]
    }
    assert together == answer("automata-together")
    sizes = [f"explorer.regex('(a|b)*a(a|b){{{{{k}}}}}').dfa.num_states" for k in (1, 2, 5)]
    assert shown.value(f"[{', '.join(sizes)}]".replace("{{", "{").replace("}}", "}")) == [
        4, 8, answer("automata-sets"),
    ]  # fmt: skip


def test_detokenization_is_transduction(show: Show) -> None:
    shown = show("03_detokenization_is_transduction")
    figures = ("figure-3-ab", "figure-3-middle", "figure-3-brackets", "trace", "compact")
    answers = ("figure-3-odd", "second-token", "state", "transduced")
    pictures(shown, *figures, "characters", "own", *answers)
    assert shown.value("[toy.tokens[4].decode(), len(characters.arcs)]") == ["food", 4]
    assert "The answer is 0." in shown.printed("mismatch")
    assert "The answer is xoxox." in shown.printed("figure-3-odd")
    assert "The answer is 9." in shown.printed("trace")
    # Each line of Algorithm 1: one for the root, then one and one for each byte of each token.
    lines = shown.plain("trace").splitlines()[2:]
    assert len(lines) == 1 + 5 + sum(map(len, ["f", "oo", "foo", "for", "food"]))
    assert lines[-1].split() == ["6", "food", "8", "-food:d->", "0", "9", "13"]
    # The state that T_V is in after f and half of oo, as the frames of the answer say.
    assert "The answer is o." in shown.printed("state")
    assert "leads to o; read f, written fo" in shown.plain("state")
    # The sizes, by the engine.
    counted = "[f'{explorer.detokenizing_fst({}, form).num_states():,}' for form in {}]"
    forms = ("compact", "original")
    said = shown.cells["compact-text"].source
    tiny = 'explorer.load_model("tiny").vocabulary'
    for name, words in (("toy", "{} states in place of {}"), (tiny, "it has {} in place of {}")):
        sizes = shown.value(counted.replace("({},", f"({name},").replace("in {}", f"in {forms}"))
        assert words.format(*sizes) in said
    assert "tokens allowed" in widget(shown)
    # The exercises, by the engine.
    small = "explorer.Vocabulary.from_bytes([b'a', b'ab', b'abc'], eos_ids=[3])"
    sizes = [
        f"explorer.detokenizing_fst({small}, {form!r}).num_states()"
        for form in ("original", "compact")
    ]
    assert shown.value(f"[{', '.join(sizes)}]") == [
        answer("transduction-original"), answer("transduction-compact"),
    ]  # fmt: skip
    film = "reading_picture('', compact, ['f', 'oo', 'foo'], names=beginnings, loops=True).text"
    assert f"leads to {answer('transduction-state')}; read f oo, written foofo\n" in (
        shown.value(film)
    )


def test_composition(show: Show) -> None:
    shown = show("04_composition")
    pictures(shown, "pattern", "vocabulary", "pairs", "figure-5", "ways", "cost")
    assert "The answer is 8." in shown.printed("pairs")
    rows = shown.plain("pairs").splitlines()[2:]
    assert len(rows) == 10 and sum(row.endswith("new") for row in rows) == 7
    # Every pair is a state of pynini's machine, and all its arcs are there.
    machines = "explorer.detokenizing_fst(toy), constraint.fsa, connect=False"
    pynini = f"__import__('pynini').compose({machines})"
    theirs = f"fst_letters({pynini}.project('input'))"
    assert len(shown.value(f"matched(product.machine, {theirs})")) == 8
    # All ways, by brute force.
    tokens = ["f", "oo", "foo", "for", "food"]
    for text, said in (("foofood", 2), ("foofoofood", answer("composition-ways"))):
        every = [w for k in range(8) for w in product(tokens, repeat=k) if "".join(w) == text]
        assert len(every) == said == shown.value(f"len(ways({text!r}))")
    assert "The answer is 2." in shown.printed("ways")
    # The three masks, beside a regular expression that a text may still become a number.
    assert "The answer is yes." in shown.printed("same")
    masks = shown.value("{t.decode(): [sorted(m) for m in three] for t, three in masks.items()}")
    for text, three in masks.items():
        fits = [
            k
            for k, token in enumerate(["a", ".", ".2", "1"])
            if re.fullmatch(r"([0-9]+(\.[0-9]?)?)?", text + token)
        ]
        assert three == [fits] * 3
    assert "tokens allowed" in widget(shown)
    # The exercises, by the engine.
    trimmed = (
        "[v.tokens[k].decode() for v in [explorer.Vocabulary.from_bytes([b'a', b'b'], eos_ids=[2])]"
        " for m in [explorer.compile(explorer.regex('a*d|b'), v)]"
        " for k in m.allowed(m.start).nonzero()[0].tolist()]"
    )
    assert set(shown.value(trimmed)) == answer("composition-trimmed")
    after = "(lambda m: m.allowed(m.step(m.start, 2)).nonzero()[0].tolist())"
    after += "(explorer.compile(explorer.regex('f(oo)+'), toy))"
    names = [*tokens, "end"]
    assert {names[k] for k in shown.value(after)} == answer("composition-allowed")
