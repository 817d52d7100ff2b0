"""The methods of a constraint that put a stage around it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Self

from explorer.automata.pipeline.canonical import Canonical
from explorer.automata.pipeline.normalized import Form, Normalized
from explorer.automata.pipeline.restricted import Restricted
from explorer.automata.pipeline.stage import PipelineStage
from explorer.automata.pipeline.valid import ValidUtf8
from explorer.vocabulary.canonical.rules import rules_of


class StageMethods:
    """What a constraint can be sent through, one method for each kind of stage.

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
            name: A set with a name, or several: ``"ascii"``, ``"printable-ascii"``, ``"latin-1"``,
                ``"hangul"``, ``"digits"``.
            scripts: Scripts of Unicode, such as ``"Latin"``. Digits, spaces, punctuation and
                combining marks stay allowed.
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
        return self.through(Restricted.of(name, scripts, chars, list(words)))

    def normalized(self, form: Form = "NFC") -> Self:
        """These texts, as far as they are in a normal form of Unicode.

        Args:
            form: ``"NFC"``, ``"NFD"``, ``"NFKC"`` or ``"NFKD"``.

        Raises:
            ConstraintError: There is no such form.

        Example:
            >>> from explorer import choice
            >>> choice(["\\u00e9", "e\\u0301"]).normalized("NFC").examples()
            ['é']
        """
        return self.through(Normalized(form))

    def valid_utf8(self) -> Self:
        """These texts; the stage takes nothing away, and shows the machine of valid UTF-8.

        Example:
            >>> from explorer import literal
            >>> literal("ä").valid_utf8().accepts("ä")
            True
        """
        return self.through(ValidUtf8())

    def canonical(self, tokenizer: object = None) -> Self:
        """These texts, in the tokens that a tokenizer itself writes them with.

        Args:
            tokenizer: A `Vocabulary` that knows its tokenizer, or what one is read from. By default
                that of the vocabulary which the constraint is compiled for.

        Raises:
            UnsupportedTokenizer: Its rules are not followed (Unigram, WordPiece, …). Without an
                argument this is said when the constraint is compiled.

        Example:
            >>> from explorer import regex
            >>> regex("[A-Z][a-z]+").canonical()
            regex('[A-Z][a-z]+').canonical()
        """
        return self.through(Canonical(None if tokenizer is None else rules_of(tokenizer)))
