"""The methods of a constraint that put a stage around it.

The file of a stage is imported by its method: they read tokenizers and tables of Unicode, which a
process that uses none of them need not load.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Self, cast

from explorer.arguments import plain
from explorer.errors import ConstraintError

if TYPE_CHECKING:
    from explorer.languages.stages.forms.normal_forms import Form
    from explorer.languages.stages.stage import PipelineStage
    from explorer.vocabulary.vocabulary import Vocabulary


class StageMethods:
    """The stages that a constraint can be sent through, one method for each kind.

    A stage is kept in the constraint's source, so it travels wherever the constraint goes: into
    traces, saved machines and exported pages. The explorer shows the stages as a bar.
    """

    __slots__ = ()

    @abstractmethod
    def through(self, stage: PipelineStage) -> Self:
        """This constraint behind a stage."""

    def restrict(
        self,
        name: str | Sequence[str] | None = None,
        *,
        scripts: str | Sequence[str] = (),
        chars: str = "",
        words: Iterable[str] = (),
    ) -> Self:
        """These texts, as far as they have only some characters, or only some words.

        Args:
            name: A set with a name, or several: ``"ascii"`` (U+0000 to U+007F, line breaks
                included), ``"printable-ascii"`` (the space to ``~``), ``"latin-1"`` (U+0000 to
                U+00FF), ``"digits"`` (0 to 9), ``"hangul"`` (the 11,172 whole syllables and the
                space; no single letters such as ``ㄱ`` and no punctuation, which
                ``scripts=["Hangul"]`` has).
            scripts: Scripts of Unicode, such as ``"Latin"``. What belongs to no script of its own
                stays allowed: digits, spaces, punctuation, symbols, emoji and combining marks.
            chars: Further characters.
            words: The only words there may be; a word is a longest run of letters, digits and
                underscores.

        Raises:
            ConstraintError: Nothing is given, or a name is not known.

        Example:
            >>> from explorer import regex
            >>> regex(r"\\w+").restrict(scripts=["Latin"]).accepts("Straße")
            True
            >>> regex(r"\\w+").restrict(scripts=["Latin"]).accepts("улица")
            False
            >>> regex("[a-z ]{1,12}").restrict(words=["cat", "dog"]).accepts("dog cat")
            True
        """
        from explorer.languages.stages.restricted import Restricted

        return self.through(Restricted.of(name, scripts, chars, words))

    def normalized(self, form: Form | str = "NFC") -> Self:
        """These texts, as far as they are in a normal form of Unicode.

        Args:
            form: ``"NFC"``, ``"NFD"``, ``"NFKC"`` or ``"NFKD"``; small letters are taken as well.

        Raises:
            ConstraintError: There is no such form.

        Example:
            >>> from explorer import choice
            >>> choice(["\\u00e9", "e\\u0301"]).normalized("NFC").examples()
            ['é']
        """
        from explorer.languages.stages.normalized import Normalized

        given = cast("object", plain(form))
        name = given.upper() if isinstance(given, str) else given
        return self.through(Normalized(cast("Form", name)))

    def valid_utf8(self) -> Self:
        """These texts; the stage takes nothing away, and shows the machine of valid UTF-8.

        Example:
            >>> from explorer import literal
            >>> literal("ä").valid_utf8().accepts("ä")
            True
        """
        from explorer.languages.stages.normalized import ValidUtf8

        return self.through(ValidUtf8())

    def preprocessed(self, tokenizer: object = None) -> Self:
        """These texts as a tokenizer rewrites them before its model sees them.

        The tokens of a text spell the rewritten text, so this is what a model is held to: write the
        pattern as text, and put this stage behind it.

        Args:
            tokenizer: A `Vocabulary` that knows its tokenizer, or what one is read from. It has no
                default: this stage changes which texts there are, so it is worked out before the
                constraint meets a vocabulary.

        Raises:
            ConstraintError: No tokenizer is given.
            UnsupportedTokenizer: It is not known how the tokenizer rewrites a text, or a step of
                that is not followed.

        Example:
            >>> import explorer
            >>> from tokenizers import Tokenizer, decoders, models, pre_tokenizers
            >>> pieces = {"▁": 0, "a": 1, "▁a": 2, "<end>": 3}
            >>> tokenizer = Tokenizer(models.BPE(pieces, [("▁", "a")]))
            >>> tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()  # It puts ▁ before a text.
            >>> tokenizer.decoder = decoders.Metaspace()
            >>> vocab = explorer.Vocabulary.from_tokenizer(tokenizer, eos_ids=[3])
            >>> explorer.regex("a+").preprocessed(vocab).examples(2)
            [' a', ' aa']
        """
        from explorer.languages.stages.declared import steps_of
        from explorer.languages.stages.preprocessed import Preprocessed

        vocabulary = _vocabulary(tokenizer)
        if vocabulary is None:
            raise ConstraintError(
                "preprocessed(...) is given no tokenizer, and only that says how a text is "
                "rewritten.",
                remedy="Write preprocessed(lm.vocabulary), or give the tokenizer.",
            )
        return self.through(Preprocessed(steps_of(vocabulary)))

    def without_redundant_bytes(self, tokenizer: object = None) -> Self:
        """These texts, no character that has a token written by tokens of single bytes.

        Args:
            tokenizer: A `Vocabulary`, or what one is read from. By default the one that the
                constraint is compiled for.

        Example:
            >>> import explorer
            >>> pieces = ["é".encode(), b"\\xc3", b"\\xa9", b"\\xa8"]
            >>> vocab = explorer.Vocabulary.from_bytes(pieces, eos_ids=[4])
            >>> c = explorer.regex("é|è").without_redundant_bytes()
            >>> machine = explorer.compile(c, vocab)
            >>> after = machine.step(machine.start, 1)  # 0xC3, which begins both
            >>> [machine.step(after, token) is not None for token in (2, 3)]  # é, è
            [False, True]
        """
        from explorer.languages.stages.tokens import WithoutRedundantBytes

        return self.through(WithoutRedundantBytes(_vocabulary(tokenizer)))

    def without_isolated_spaces(self, tokenizer: object = None) -> Self:
        """These texts, no space alone where the tokenizer would write it with what follows.

        Args:
            tokenizer: A `Vocabulary` that knows its tokenizer, or what one is read from. By default
                that of the vocabulary which the constraint is compiled for.

        Example:
            >>> import explorer
            >>> lm = explorer.load_model("tiny")
            >>> c = explorer.literal("a cat").without_isolated_spaces()
            >>> machine = explorer.compile(c, lm.vocabulary)
            >>> after_a = machine.step(machine.start, lm.vocabulary.ids_of(b"a")[0])
            >>> [lm.vocabulary.tokens[k] for k in machine.allowed(after_a).nonzero()[0]]
            [b' c', b' cat']
        """
        from explorer.languages.stages.tokens import WithoutIsolatedSpaces

        return self.through(WithoutIsolatedSpaces(_vocabulary(tokenizer)))

    def canonical(self, tokenizer: object = None) -> Self:
        """These texts, in the tokens that a tokenizer itself writes them with.

        Texts that its normalizer would rewrite have none. Put `preprocessed` before this where a
        text begins with a dummy prefix, as at the start of a prompt. Special tokens are not text:
        ``</s>`` is spelled in pieces, though some libraries read the special token there.

        Followed are byte-pair encoding behind any chain of steps that cut (GPT-2, GPT-4, GPT-4o,
        Llama 2, Mistral, Gemma 3, Qwen, DeepSeek V3, StarCoder, Falcon, Yi), Unigram, WordPiece and
        RWKV's list of tokens.

        Args:
            tokenizer: A `Vocabulary` that knows its tokenizer, or what one is read from. By default
                that of the vocabulary which the constraint is compiled for.

        Raises:
            UnsupportedTokenizer: A part of its rules is not followed; it is named. Without an
                argument this is said when the constraint is compiled.

        Example:
            >>> from explorer import regex
            >>> regex("[A-Z][a-z]+").canonical()
            regex('[A-Z][a-z]+').canonical()
        """
        from explorer.languages.stages.tokens import Canonical
        from explorer.vocabulary.canonical.rules import rules_of

        return self.through(Canonical(None if tokenizer is None else rules_of(tokenizer)))


def _vocabulary(tokenizer: object) -> Vocabulary | None:
    """The vocabulary of a tokenizer; ``None`` where none was given."""
    from explorer.vocabulary.vocabulary import Vocabulary

    if tokenizer is None or isinstance(tokenizer, Vocabulary):
        return tokenizer
    if isinstance(tokenizer, str | os.PathLike):
        return Vocabulary.from_file(cast("str | os.PathLike[str]", tokenizer))
    return Vocabulary.from_tokenizer(tokenizer)
