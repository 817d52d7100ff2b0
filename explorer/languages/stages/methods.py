"""The methods of a constraint that put a stage around it.

Each method imports the file of its stage, so that a process loads the readers of tokenizers and the
tables of Unicode only when it uses them.
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

    A stage is part of the constraint's source, so it is kept in traces, saved machines and exported
    pages. The explorer shows the stages as a bar.
    """

    __slots__ = ()

    @abstractmethod
    def through(self, stage: PipelineStage) -> Self:
        """This constraint with a stage around it."""

    def restrict(
        self,
        name: str | Sequence[str] | None = None,
        *,
        scripts: str | Sequence[str] = (),
        chars: str = "",
        words: Iterable[str] = (),
    ) -> Self:
        """These texts, restricted to some characters or some words.

        Args:
            name: A named set, or several: ``"ascii"`` (U+0000 to U+007F, line breaks
                included), ``"printable-ascii"`` (the space to ``~``), ``"latin-1"`` (U+0000 to
                U+00FF), ``"digits"`` (0 to 9), ``"hangul"`` (the 11,172 whole syllables and the
                space; no single letters such as ``ㄱ`` and no punctuation, which
                ``scripts=["Hangul"]`` has).
            scripts: Scripts of Unicode, such as ``"Latin"``. Characters without a script of their
                own stay allowed: digits, spaces, punctuation, symbols, emoji and combining marks.
            chars: Further allowed characters.
            words: The only allowed words; a word is a longest run of letters, digits and
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
        """These texts, restricted to those in a normal form of Unicode.

        Args:
            form: ``"NFC"``, ``"NFD"``, ``"NFKC"`` or ``"NFKD"``, in any case.

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
        """These texts; the stage removes nothing, and shows the machine of valid UTF-8.

        Example:
            >>> from explorer import literal
            >>> literal("ä").valid_utf8().accepts("ä")
            True
        """
        from explorer.languages.stages.normalized import ValidUtf8

        return self.through(ValidUtf8())

    def preprocessed(self, tokenizer: object = None) -> Self:
        """These texts as a tokenizer rewrites them before its model sees them.

        The tokens of a text spell the rewritten text, so a model must be held to that text: write
        the pattern for the original text, and put this stage around it.

        Args:
            tokenizer: A `Vocabulary` that knows its tokenizer, or anything from which one is read.
                It is required, because this stage changes the texts before the constraint is
                compiled for a vocabulary.

        Raises:
            ConstraintError: No tokenizer is given.
            UnsupportedTokenizer: The steps of the tokenizer are not known, or one of them is not
                supported.

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
        """These texts, with no character written in bytes that has a token of its own.

        Args:
            tokenizer: A `Vocabulary`, or anything from which one is read. By default the one that
                the constraint is compiled for.

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
        """These texts, with no lone space where the tokenizer would join it to the next text.

        Args:
            tokenizer: A `Vocabulary` that knows its tokenizer, or anything from which one is read.
                By default the one that the constraint is compiled for.

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
        """These texts, in the tokens that a tokenizer itself writes for them.

        Texts that its normalizer would rewrite have no such tokens. Put `preprocessed` before this
        stage where a text begins with a dummy prefix, as at the start of a prompt. Special tokens
        are not text: ``</s>`` is spelled in pieces, though some libraries read the special token.

        Supported are byte-pair encoding after any chain of steps that cut (GPT-2, GPT-4, GPT-4o,
        Llama 2, Mistral, Gemma 3, Qwen, DeepSeek V3, StarCoder, Falcon, Yi), Unigram and
        WordPiece.

        Args:
            tokenizer: A `Vocabulary` that knows its tokenizer, or anything from which one is read.
                By default the one that the constraint is compiled for.

        Raises:
            UnsupportedTokenizer: A rule of the tokenizer, which is named, is not supported. Without
                an argument this is raised when the constraint is compiled.

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
