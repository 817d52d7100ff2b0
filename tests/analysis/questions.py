"""Questions that users of constrained decoding ask, and what the explainer answers.

The questions are those that return in the public trackers of constrained-decoding libraries, put in
our own words. Every answer is computed. ``python -m tests.analysis.questions`` writes them to
``docs/questions.md``; a test holds the page current.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import explorer
from explorer import Constraint, Vocabulary, choice, literal, regex
from explorer.analysis.explaining.explanation import explain, explain_text
from explorer.analysis.explaining.groups import explain_all
from explorer.analysis.explaining.step import explain_step, reasons_at
from explorer.analysis.traps import machine_traps, session_traps
from explorer.errors import ExplorerError
from tests.analysis.phase_questions import phase_questions

PAGE = Path(__file__).parents[2] / "docs" / "questions.md"

HEAD = """# Questions about masks, and their answers

Questions that users of constrained decoding ask again and again, each with the answer that
`explorer why`, `explorer.analysis.explain` and its neighbours give. The answers on this page are
computed, not written: `python -m tests.analysis.questions` writes the page, and a test holds it
current. Vocabularies: *Tekken*, a byte-level BPE of 131,072 ids; *SentencePiece*, 32,768 ids with
byte fallback (both from `mistral-common`); *tiny*, the embedded model's; or a few tokens by hand.
"""


@cache
def tekken() -> Vocabulary:
    return Vocabulary.from_file(str(files("mistral_common") / "data" / "tekken_240911.json"))


@cache
def sentencepiece() -> Vocabulary:
    name = "mistral_instruct_tokenizer_240323.model.v3"
    return Vocabulary.from_file(str(files("mistral_common") / "data" / name))


@cache
def tiny() -> Vocabulary:
    return explorer.load_model("tiny").vocabulary


def toy(*tokens: bytes) -> Vocabulary:
    return Vocabulary.from_bytes(tokens, eos_ids=[len(tokens)])


@dataclass(frozen=True)
class Question:
    """One question.

    Args:
        title: The question in one line.
        asked: How it comes up.
        setting: Constraint, vocabulary, text so far, token.
        answer: Computes what we say.
        advice: What to do about it.
        says: Words that the answer must hold, so that it answers the question.
    """

    title: str
    asked: str
    setting: str
    answer: Callable[[], str]
    advice: str
    says: Sequence[str]


def walked(dfa: explorer.TokenDFA, text: bytes) -> int:
    """The token state that a text leads to."""
    machine = dfa.constraint.dfa
    here = machine.start
    for byte in text:
        here = int(machine.table[here, machine.symbol_class[byte]])
    return dfa.char_state.tolist().index(here)


def why(
    title: str,
    asked: str,
    constraint: Constraint,
    vocabulary: Callable[[], Vocabulary],
    prefix: str | bytes,
    token: str | int | bytes,
    advice: str,
    *says: str,
    name: str = "",
) -> Question:
    """A question about one token."""
    before = prefix.encode() if isinstance(prefix, str) else prefix

    def answer() -> str:
        dfa = explorer.compile(constraint, vocabulary())
        wanted = token
        if isinstance(wanted, bytes):
            (wanted, *_) = vocabulary().ids_of(wanted)
        return explain(dfa, walked(dfa, before), wanted, text=before).paragraph

    place = f"after `{prefix!r}`" if prefix else "at the start"
    called = name or f"`{token!r}`"
    names = {"tekken": "Tekken", "sentencepiece": "SentencePiece", "tiny": "tiny"}
    book = names.get(vocabulary.__name__, "toy")
    setting = f"`{constraint}`, {book}, {place}, token {called}"
    return Question(title, asked, setting, answer, advice, says)


def session(constraint: Constraint, prompt: str, **settings: object) -> explorer.Session:
    run = explorer.Session(explorer.load_model("tiny"), constraint, prompt, **settings)  # pyright: ignore[reportArgumentType]
    run.run()
    return run


def traps_of(run: explorer.Session, *kinds: str) -> str:
    dfa = run.machine
    found = session_traps(dfa, run.trace)
    return "\n".join(str(trap) for trap in found if trap.kind in kinds)


def traps_in(constraint: Constraint, vocabulary: Vocabulary) -> str:
    return "\n".join(str(trap) for trap in machine_traps(explorer.compile(constraint, vocabulary)))


def refused(constraint: Constraint, vocabulary: Vocabulary) -> str:
    try:
        explorer.compile(constraint, vocabulary)
    except ExplorerError as error:
        return str(error)
    raise AssertionError("it compiled")


SPACED_JSON = regex(r'\{\s*"a":\s*[0-9]{1,3}\s*\}')
JSON_TEXT = regex(r'\{"text":\s*"[^"\\\n]*"\s*\}')


def questions() -> list[Question]:
    """All of them, in the order of the page."""
    return [
        why(
            "Why can the model not write an umlaut?",
            "German text comes out without its umlauts, though the class looks as if it held every "
            "letter.",
            regex("[a-zA-Z ]+"), tekken, "f", "ü",
            "`a-z` is twenty-six letters. Write the characters that you mean, or `\\w`.",
            "expects", "writes ü",
        ),
        why(
            "Two characters share their first byte. Which one is wrong?",
            "The token was rejected at its second byte, and the first one looked right.",
            regex("K[ä]se"), tekken, "K", "ö",
            "A token that fits half is masked: the lead byte <C3> is common to all of À to ÿ.",
            "expects ä", "writes ö",
        ),
        why(
            "Why is a token allowed that is not a character?",
            "A replacement character shows up among the allowed tokens.",
            regex("[a-z🙂]+"), tekken, "", b"\xf0",
            "It is the first half of an emoji. Bytes are what tokens are made of; keep them.",
            "is allowed", "not a whole character", "must go on with",
            name="`<F0>`",
        ),
        why(
            "After half an emoji a plain letter is masked. Is the machine stuck?",
            "The text ends in bytes that are no character yet.",
            regex("[a-z🙂]+"), tekken, b"\xf0\x9f", "a",
            "Finish the character first; the tokens that can are listed.",
            "in the middle of a character", "expects 🙂",
        ),
        why(
            "Why are there two spaces, ` ` and `<0x20>`?",
            "Two ids decode to the same space, and the mask treats them alike.",
            regex("[a-z]+ [a-z]+"), sentencepiece, "cat", b" ",
            "Count by id, not by text: the model gives them different probabilities.",
            "writes the same bytes", "is allowed",
        ),
        why(
            "Why is ` Paris` masked when `Paris` is a choice?",
            "The likeliest token of all begins with a space.",
            choice(["Paris", "London"]), tekken, "", " Paris",
            "The space belongs to the text. Put it into the choices, or end the prompt with it "
            "only if the model has seen that.",
            "writes a space",
        ),
        why(
            "The tokenizer itself would begin with `▁P`. Why may the model not?",
            "A tokenizer that adds a space in front of a text never writes a choice the way it was "
            "trained to.",
            choice(["Pizza", "Pasta"]), sentencepiece, "", "Pizza",
            "Encoding alone adds a space. Choices with that space have the model's own tokens.",
            "would write ' Pizza'",
        ),
        why(
            "Why is the end of text not offered?",
            "The model wants to stop, and the only thing that it may not do is stop.",
            regex("[0-9]{4}"), tekken, "202", 2,
            "The pattern asks for one more digit. Write `{3,4}` if three will do.",
            "The text is not complete", "needs a digit 0-9",
            name="EOS",
        ),
        why(
            "The answer looks finished, but EOS is masked.",
            "Everything that was asked for seems to be there.",
            regex(r"[a-z ]+\."), tekken, "hello there", 2,
            "The final full stop is not optional. Write `\\.?` if it should be.",
            "The text is not complete",
            name="EOS",
        ),
        Question(
            "Why does generation always run to max_tokens?",
            "Every answer is cut off at the limit.",
            "`regex('[a-z ]+')`, Tekken",
            lambda: traps_in(regex("[a-z ]+"), tekken()),
            "A masking token budget ends the text in time; a bound says how long it should be.",
            ("can go on for ever", "may also end"),
        ),
        Question(
            "Why does it write nothing but newlines and tabs?",
            "After a few characters of JSON the rest of the budget is white space.",
            f"`{SPACED_JSON}`, Tekken",
            lambda: traps_in(SPACED_JSON, tekken()),
            "White space between the parts of JSON is rarely needed: one space at most is enough.",
            ("white space may be written for ever",),
        ),
        why(
            "The string was closed too early, and now the words are masked. Why only white space?",
            "The model put a quote inside its text, which ended the string, and wants to go on "
            "writing.",
            JSON_TEXT, tekken, '{"text": "so-called "', "words",
            "Bound the white space after the string, so that the trap is short, and ask for other "
            "quotation marks in the prompt.",
            "expects", "writes w",
        ),
        Question(
            "How much of what the model wants is masked, and for which reasons?",
            "One number for the whole mask, please.",
            "`regex('(Paris|London)\\\\.?')`, tiny, after the prompt `'The capital of France is'`",
            lambda: str(
                reasons_at(session(regex(r"(Paris|London)\.?"), "The capital of France is"), 0)
            ),
            "Nearly all of the probability asks for a space. Begin the constraint with one.",
            ("offered a space", "allowed"),
        ),
        why(
            "Why is `r` offered after `Ap`, when only `ril` can follow?",
            "With the choices April and August the rest is certain, and still a single letter is "
            "allowed.",
            choice(["April", "August"]), tekken, "Ap", "r",
            "All of `r`, `ri` and `ril` lead to the same text. To allow only the longest would "
            "change the probabilities; a library may skip the model, not its choices.",
            "is allowed", "must go on with 'il'",
        ),
        why(
            "May a token cross from one part of the pattern into the next?",
            "The brace and the quote are two parts of the pattern and one token of the model.",
            regex(r'\{"name": "[a-z]+"\}'), tekken, "", '{"',
            "Yes. What counts is the text, not where its tokens are cut.",
            "is allowed",
        ),
        why(
            "Why is a number masked that begins correctly?",
            "Two digits are asked for; the model would go on.",
            regex("[0-9]{2}"), sentencepiece, "", "1234",
            "A token is allowed as a whole or not at all; this text has several tokens, and the "
            "one that goes too far is named.",
            "The text is complete",
        ),
        why(
            "An id above the vocabulary was drawn. How can that be?",
            "The model's logits are padded to a round number, and nobody masked the rest.",
            regex("[a-z]+"), tekken, "", 131_080,
            "Such ids mean nothing. Our masks cover the padding too.",
            "has only the ids 0 to 131,071",
            name="131080",
        ),
        why(
            "Why is a control token masked under `.*`?",
            "The dot allows any character, and `[INST]` is made of characters.",
            regex(".*"), tekken, "", 3,
            "A control id writes no text. The letters of its name are text, and are allowed.",
            "special or control token",
            name="3",
        ),
        why(
            "Why can the model write `</s>` as text?",
            "The stop token appears in the answer, letter by letter.",
            regex("[^\\n]*"), tekken, "", "</s>",
            "Those are ordinary letters. Exclude them in the pattern if they do harm.",
            "Of the tokens",
        ),
        why(
            "The pattern ends in `</s>`, so why does it never stop?",
            "Someone wrote the stop token into the pattern.",
            regex("[a-z]+</s>"), tekken, "done", 2,
            "Leave it out: EOS is allowed where the pattern is complete, and it is not text.",
            "The text is not complete", "<",
            name="EOS",
        ),
        why(
            "Why are parentheses allowed by `[A-Z'\"-_<> ]`?",
            "A class of harmless characters lets brackets through.",
            regex("[A-Za-z'\"-_<> ]+"), tekken, "Sorry ", "(",
            "`\"-_` is a range, and the parentheses lie in it. Escape the hyphen or put it last.",
            "is allowed",
        ),
        why(
            "Why is a line break masked under `.*`?",
            "Everything should be allowed.",
            regex(".*"), tekken, "one line", "\n",
            "The dot leaves out the newline. Write `(?s).*` for any text.",
            "any character but a newline", "writes a newline",
        ),
        why(
            "Why does `\\d` let strange digits through?",
            "The field is parsed by a program that knows 0 to 9 only.",
            regex(r"\d+"), tekken, "", "٣",
            "`\\d` is every decimal digit of Unicode. Write `[0-9]`, or `(?a)`.",
            "is allowed",
        ),
        why(
            "Why is `Yes` masked when `yes` is a choice?",
            "The model likes capitals.",
            regex("yes|no"), tekken, "", "Yes",
            "Case counts. Write `(?i)yes|no`, or list both.",
            "expects n or y", "writes Y",
        ),
        why(
            "Which part of my pattern forbids this letter?",
            "The class allows it, and still it is masked.",
            regex("(?!foo)[a-z]{3,8}"), tekken, "fo", "o",
            "A lookahead at the front decides three letters later.",
            "The negative lookahead (?!foo) at 0 forbids it",
        ),
        why(
            "I subtracted some words. Why is EOS masked now?",
            "The text matches the pattern, but may not end.",
            regex("[a-z]{3,5}") - choice(["cat", "dog"]), tekken, "cat", 2,
            "The text is one of those that were subtracted. It may go on, and then end.",
            "excluded by choice(['cat', 'dog'])",
            name="EOS",
        ),
        why(
            "Two constraints each allow this. Why not both together?",
            "Each works alone.",
            regex("a(bx|c)") & regex("a(by|c)"), tekken, "a", b"b",
            "No single part is to blame: after `ab` one wants x and the other y.",
            "No single part forbids it, only their combination", "has 'abx'", "has 'aby'",
        ),
        why(
            "The pattern allows it and the tokenizer has it. Why is it masked?",
            "Nothing in the pattern forbids the token.",
            regex("a*d|b"), lambda: toy(b"a", b"b", b"c"), "", b"a",
            "It would lead where these tokens can never finish. A mask without that check walks "
            "into the dead end.",
            "no tokens of this vocabulary can finish",
        ),
        Question(
            "The constraint compiles to nothing. What is missing?",
            "A hand-made vocabulary cannot write the text at all.",
            "`literal('naïve')`, toy: `n`, `a`, `ve`, `<C3>`",
            lambda: refused(literal("naïve"), toy(b"n", b"a", b"ve", b"\xc3")),
            "Use a tokenizer with byte fallback, or leave out what it cannot write.",
            ("can write no word of the constraint", "first 3 of 6 bytes"),
        ),
        Question(
            "Why does greedy decoding take the worse of two choices?",
            "The model knows that the answer is Boston, and writes New York.",
            "`choice([' New York', ' Boston'])`, tiny, prompt `'The night train stops at'`",
            lambda: traps_of(
                session(choice([" New York", " Boston"]), "The night train stops at"), "greedy_trap"
            ),
            "The first token was likely for another city. Compare whole choices.",
            ("' New' was likely",),
        ),
        Question(
            "Why is the answer worse when the prompt ends in a space?",
            "The same constraint, the same model, one space more in the prompt.",
            "`choice(['Paris', 'London'])`, tiny, prompt `'The capital of France is '`",
            lambda: traps_of(
                session(choice(["Paris", "London"]), "The capital of France is "), "prompt_boundary"
            ),
            "The space and the word are one token in training.",
            ("The prompt ends in white space",),
        ),
        Question(
            "The token is allowed and likely. Why is it never drawn?",
            "The mask is right, and still one choice never comes.",
            "`regex('(Paris|London|Berlin)')`, tiny, prompt `'The capital of France is'`, top-k 2, "
            "token `'London'`",
            lambda: explain_step(
                session(
                    regex("(Paris|London|Berlin)"), "The capital of France is",
                    sampler=explorer.Sampler(temperature=1.0, top_k=2), seed=0,
                ),
                "London", 0,
            ).message,
            "The sampler comes after the mask. Raise k.",
            ("is allowed", "top-k keeps 2 tokens"),
        ),
        Question(
            "A run in production broke its constraint. Where?",
            "All that is left are the ids.",
            "`regex('[a-z]+-[0-9]+')`, tiny, ids of `'abc-12x'`",
            lambda: _production(regex("[a-z]+-[0-9]+"), "abc-12x"),
            "`Session.from_ids` replays ids without a model, and reports the first that is not "
            "allowed.",
            ("is masked after 'abc-", "writes x"),
        ),
        Question(
            "Does this text match at all?",
            "No tokenizer, only the constraint and a text.",
            "`regex('[0-9]{4}-[0-9]{2}')`, text `'2024-5'` and `'2024/05'`",
            lambda: "\n".join(
                explain_text(regex("[0-9]{4}-[0-9]{2}"), text).paragraph
                for text in ("2024-5", "2024/05")
            ),
            "`explain_text` says how far a text gets.",
            ("is accepted so far", "is not accepted"),
        ),
        *(Question(*asked) for asked in phase_questions()),
    ]  # fmt: skip


def _production(constraint: Constraint, text: str) -> str:
    vocabulary = tiny()
    run = explorer.Session.from_ids(vocabulary, constraint, vocabulary.encode(text) or ())
    if run.rejection is None:
        raise AssertionError("the run was right")
    return explain_step(run, run.rejection.token).message


def masks_agree() -> str:
    """A sample of `explain_all`, for the page's end."""
    dfa = explorer.compile(regex("[0-9]-[0-9]"), tekken())
    return str(explain_all(dfa, walked(dfa, b"1")))


def page() -> str:
    """The page as it must be."""
    parts = [HEAD]
    for number, question in enumerate(questions(), 1):
        answer = question.answer().strip()
        parts.append(
            f"## {number}. {question.title}\n\n{question.asked}\n\n{question.setting}:\n\n"
            f"```text\n{answer}\n```\n\n{question.advice}\n"
        )
    parts.append(
        "## And the whole mask at once\n\n`regex('[0-9]-[0-9]')`, Tekken, after `'1'`:\n\n"
        f"```text\n{masks_agree()}\n```\n"
    )
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
