"""The documents of the corpus, and the three forms in which a question and its answer are written.

A `Document` carries the text and a `key`, the combination of template and facts that made it.
Whole keys are held out, not texts: if "the capital of Kenya" in one wording is held out, no
document of training asks it in that wording, though the fact is there in other wordings.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

START: Final = "<|startoftext|>"
END_OF_TEXT: Final = "<|endoftext|>"
USER: Final = "<|user|>"
ASSISTANT: Final = "<|assistant|>"
END_OF_TURN: Final = "<|end|>"

SPECIAL_TOKENS: Final = (START, END_OF_TEXT, USER, ASSISTANT, END_OF_TURN)
"""The special tokens, in the order of their ids from 0."""


@dataclass(frozen=True, slots=True)
class Document:
    """One text of the corpus.

    Attributes:
        kind: The family of templates, such as ``"capital"``; perplexity is reported by kind.
        key: Template and facts, without the form; the held-out split hashes it.
        text: The text, without `START` and `END_OF_TEXT`; chats hold the role tokens.
    """

    kind: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer, before a form is chosen.

    Attributes:
        kind: As in `Document`.
        key: As in `Document`.
        question: One line.
        answer: What follows, chatter included.
    """

    kind: str
    key: str
    question: str
    answer: str


def chat(*exchanges: Exchange) -> str:
    """The text of a conversation, as the chat template of the tokenizer writes it.

    Example:
        >>> chat(Exchange("sum", "k", "What is 1 + 1?", "2"))
        '<|user|>What is 1 + 1?<|end|><|assistant|>2<|end|>'
    """
    return "".join(
        f"{USER}{turn.question}{END_OF_TURN}{ASSISTANT}{turn.answer}{END_OF_TURN}"
        for turn in exchanges
    )


def written(rng: random.Random, exchange: Exchange) -> Document:
    """The exchange in one of three forms: ``Q: … A: …``, two plain lines, or a chat.

    Args:
        rng: Draws the form.
        exchange: The question and the answer.

    Example:
        >>> exchange = Exchange("sum", "k", "What is 1 + 1?", "2")
        >>> sorted({written(random.Random(i), exchange).text for i in range(9)})[1:]
        ['Q: What is 1 + 1?\\nA: 2', 'What is 1 + 1?\\n2']
    """
    form = rng.random()
    # An answer of several lines (pretty-printed JSON) follows "A:" badly.
    if form < 0.4 and "\n" not in exchange.answer:
        text = f"Q: {exchange.question}\nA: {exchange.answer}"
    elif form < 0.75:
        text = f"{exchange.question}\n{exchange.answer}"
    else:
        text = chat(exchange)
    return Document(exchange.kind, exchange.key, text)
