"""Every error that the toolkit raises on purpose.

An error says three things: what is wrong (``message``), the values that show it (``evidence``, a
mapping for programs) and what to do about it (``remedy``). The printed form holds the message and
the remedy, so a traceback in a notebook is enough to act on.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, log10
from sys import getrecursionlimit
from types import MappingProxyType

REPORT_IT = "This is a fault of the toolkit; please report it with the constraint."
"""The remedy where a caller could have done nothing else."""

LONGEST_WORD = 400
"""The most characters of a word in a message, such as a name that a user gave."""

LONGEST_MESSAGE = 8_000
"""The most characters of a whole message."""

_LONG = re.compile(rf"(\S{{{LONGEST_WORD}}})\S+")


def bounded(text: str) -> str:
    """A message with its long words cut off, and cut off itself if it is too long.

    Messages quote users' values: a name of a million characters would bury the rest.

    Example:
        >>> len(bounded("x" * 1_000_000)), bounded("The name x is not known.")
        (401, 'The name x is not known.')
    """
    if len(text) <= LONGEST_WORD:
        return text
    short = _LONG.sub(r"\1…", text)
    return short if len(short) <= LONGEST_MESSAGE else f"{short[:LONGEST_MESSAGE]}…"


class ExplorerError(Exception):
    """The base class of all errors of the toolkit.

    Args:
        message: What is wrong, as one sentence or a short paragraph; long words in it are cut off
            (`bounded`), but kept whole in ``evidence``.
        remedy: What the reader can do, as an imperative sentence.
        evidence: Values that show the fault: offsets, states, limits, sizes.

    Example:
        >>> place = {"offset": 0}
        >>> error = ExplorerError("the pattern is empty.", remedy="Write one.", evidence=place)
        >>> print(error)
        the pattern is empty. Write one.
        >>> error.evidence["offset"]
        0
    """

    def __init__(
        self, message: str, *, remedy: str, evidence: Mapping[str, object] | None = None
    ) -> None:
        message, remedy = bounded(message), bounded(remedy)
        self.message = message
        self.remedy = remedy
        self._evidence = dict(evidence or {})
        gap = "" if not remedy or message.endswith("\n") else " "
        super().__init__(f"{message}{gap}{remedy}")

    @property
    def evidence(self) -> Mapping[str, object]:
        """Values that show the fault, by name."""
        return MappingProxyType(self._evidence)

    def __reduce__(self) -> tuple[object, ...]:
        # Subclasses with further arguments must survive pickling between processes.
        return _restored, (type(self), self.args), self.__dict__


def _restored(kind: type[ExplorerError], args: tuple[object, ...]) -> ExplorerError:
    error = kind.__new__(kind, *args)
    error.args = args
    return error


def display_width(text: str) -> int:
    """The terminal columns that a text occupies (Unicode Standard Annex 11).

    Example:
        >>> display_width("a日e\u0301")
        4
    """
    import wcwidth  # Imported here: its tables take longer to load than this whole module.

    # A control character has the width -1; a terminal shows one column in its place.
    return sum(abs(wcwidth.wcwidth(character)) for character in text)


_AROUND = 100
"""The characters shown before the place in a long line; twice as many are shown from it on."""


def caret(text: str, start: int, end: int | None = None) -> str:
    """The line of a text that holds ``start``, and a line with carets under ``start:end``.

    A long line is cut to the surroundings of the place.

    Args:
        text: The source.
        start: First offset to mark, in characters; ``len(text)`` marks the end.
        end: One past the last offset to mark; default ``start + 1``.

    Example:
        >>> print(caret("a(b", 1))
        a(b
         ^
    """
    start = min(max(start, 0), len(text))
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    stop = start + 1 if end is None else max(start + 1, min(end, line_end))
    # In a pattern of a thousand characters the place would be hard to find.
    before_shown, after_shown = "", ""
    if start - line_start > _AROUND:
        line_start, before_shown = start - _AROUND, "…"
    if line_end > start + 2 * _AROUND:
        line_end, after_shown = start + 2 * _AROUND, "…"
        stop = min(stop, line_end)
    # Control characters would break the alignment.
    shown = "".join(
        c if c.isprintable() or unicodedata.combining(c) else "·" for c in text[line_start:line_end]
    )
    before = display_width(before_shown + shown[: start - line_start])
    under = max(1, display_width(shown[start - line_start : stop - line_start]))
    return f"{before_shown}{shown}{after_shown}\n{' ' * before}{'^' * under}"


class RegexError(ExplorerError):
    """A pattern that cannot be parsed, or that no finite automaton can express.

    Attributes:
        pattern: The whole pattern.
        start, end: The offending span, in characters of the pattern.
    """

    def __init__(
        self, reason: str, *, pattern: str, start: int, end: int | None = None, remedy: str = ""
    ) -> None:
        self.pattern = pattern
        self.start = start
        self.end = start + 1 if end is None else end
        self.reason = reason
        super().__init__(
            f"{reason}, at character {start}:\n{caret(pattern, start, self.end)}"
            + ("\n" if remedy else ""),
            remedy=remedy,
            evidence={"pattern": pattern, "start": start, "end": self.end},
        )


class GrammarError(ExplorerError):
    """A grammar that cannot be parsed, or whose rules cannot be used.

    Attributes:
        reason: What is wrong, without the place.
        text: The whole grammar.
        start, end: The offending span, in characters of the grammar.
        line, column: The position of its start, both counted from 1.
    """

    def __init__(
        self, reason: str, *, text: str, start: int, end: int | None = None, remedy: str = "",
        more: str = "", evidence: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        self.reason = reason
        self.text = text
        self.start = start
        self.end = start + 1 if end is None else end
        self.line = text.count("\n", 0, start) + 1
        self.column = start - (text.rfind("\n", 0, start) + 1) + 1
        shown = f"Line {self.line}, column {self.column}: {reason}.\n"
        shown += f"{caret(text, start, self.end)}\n{more}"
        place = {"start": self.start, "end": self.end, "line": self.line, "column": self.column}
        super().__init__(
            shown, remedy=remedy, evidence={"reason": reason, **place, **(evidence or {})}
        )


class UnsupportedTokenizer(ExplorerError):
    """The exact bytes of a tokenizer's tokens cannot be known.

    Attributes:
        component: The unsupported part of the tokenizer, such as ``decoder.Replace``.
    """

    def __init__(
        self,
        component: str,
        reason: str,
        *,
        remedy: str = "Use a tokenizer without it, or write the bytes of each id by hand with "
        "Vocabulary.from_bytes(...).",
    ) -> None:
        self.component = component
        self.reason = reason
        super().__init__(
            f"{component}: {reason}.", remedy=remedy, evidence={"component": component}
        )


class VocabularyError(ExplorerError):
    """A vocabulary that cannot be used as given: no end of text, or an id out of range."""


class ConstraintError(ExplorerError):
    """A constraint that cannot be used as given: wrong labels, or text that is not UTF-8."""


@dataclass(frozen=True, slots=True)
class Located:
    """The span of a fault in a text, in characters."""

    text: str
    start: int
    end: int

    def evidence(self, reason: str) -> dict[str, object]:
        """The evidence of an error: the span, and the reason without the lines that show it."""
        return {"text": self.text, "start": self.start, "end": self.end, "reason": reason}

    def error(
        self, reason: str, remedy: str, more: Mapping[str, object] = MappingProxyType({})
    ) -> ConstraintError:
        """The error that shows the span under a reason, which may end without a full stop."""
        ended = reason.endswith((".", "?", "!"))
        said = self.evidence(reason if ended else f"{reason}.")
        evidence = {**more, "offset": self.start, **said}
        shown = reason if ended else f"{reason}:"
        return ConstraintError(_pointing(shown, self), remedy=remedy, evidence=evidence)


def _pointing(reason: str, place: Located | None) -> str:
    """A reason, followed by the line of the place with carets under it."""
    if place is None:
        return reason
    return f"{reason}\n{caret(place.text, place.start, place.end)}\n"


class UnsupportedSchema(ExplorerError):
    """A keyword of a JSON Schema that cannot be enforced exactly, or is not well formed.

    Attributes:
        pointer: Its location in the schema, as a JSON Pointer.
        keyword: The keyword.
        reason: What is wrong, without the pointer.
    """

    def __init__(
        self,
        reason: str,
        *,
        pointer: str,
        keyword: str,
        remedy: str = "",
        place: Located | None = None,
    ) -> None:
        self.pointer = pointer
        self.keyword = keyword
        self.reason = reason
        whole = f"{pointer or 'The whole schema'}: {reason}"
        evidence = {} if place is None else place.evidence(whole)
        super().__init__(
            _pointing(whole, place),
            remedy=remedy,
            evidence={"pointer": pointer, "keyword": keyword, **evidence},
        )

    def at(self, place: Located) -> UnsupportedSchema:
        """This error with the place in the schema's text shown."""
        return UnsupportedSchema(
            self.reason, pointer=self.pointer, keyword=self.keyword, remedy=self.remedy, place=place
        )


class EmptyConstraint(ExplorerError):
    """The constraint has no word, so nothing can be generated."""


class UnsatisfiableSchema(EmptyConstraint):
    """A JSON Schema that no value satisfies.

    Attributes:
        pointers: A minimal set of conflicting keywords, as JSON Pointers: without any one of them
            there would be a value. Empty if it could not be determined.

    Args:
        place: The span to show.
        endless: The pointer of a reference whose endless recursion leaves no value; empty if
            no reference does that.
    """

    def __init__(
        self, pointers: tuple[str, ...], place: Located | None = None, *, endless: str = ""
    ) -> None:
        self.pointers = pointers
        # Keywords such as `type` and `required` explain least, so they are named last.
        named = list(pointers)
        for given in (("/type", "/required"), ("/type",)):
            plain = [each for each in pointers if not each.endswith(given)]
            if len(plain) > 1:
                named = plain
                break
        others = [each for each in pointers if each not in named]
        if not named:
            reason = "No value satisfies the schema."
        elif endless:
            listed = " and ".join(pointers)
            reason = (
                f"No value satisfies the schema: {listed} ask for a value that the reference at "
                f"{endless} leads to, which asks for the next one, without end."
            )
        elif named == [""]:
            reason = "No value satisfies the schema: it is false."
        elif len(named) == 1:
            reason = f"No value satisfies the schema: {named[0]} leaves none by itself."
        else:
            listed = f"{', '.join(named[:-1])} and {named[-1]}"
            reason = f"No value satisfies the schema: {listed} exclude each other"
            if _are_alternatives(named):
                reason += ", because oneOf takes a value of exactly one alternative"
            reason += f", given {' and '.join(others)}." if others else "."
        evidence = {} if place is None else place.evidence(reason)
        super().__init__(
            _pointing(reason, place),
            remedy=_remedy_of(named, endless),
            evidence={"pointers": [*named, *others], **evidence},
        )


def _are_alternatives(pointers: list[str]) -> bool:
    """Whether pointers lead into different alternatives of one ``oneOf``."""
    places = [each.partition("/oneOf/") for each in pointers]
    begins = {(before, bool(sign)) for before, sign, _ in places}
    alternatives = {after.partition("/")[0] for _, _, after in places}
    return begins == {(places[0][0], True)} and len(alternatives) > 1


def _remedy_of(named: list[str], endless: str) -> str:
    if endless:
        return "Let the value be absent or null at some depth, or change the reference."
    if not named:
        return "Look for keywords that exclude each other."
    return "Change one of them." if len(named) > 1 else "Change it."


class IncompatibleVocabulary(ExplorerError):
    """The constraint has words, but this vocabulary can write none of them.

    Attributes:
        witness: A shortest word of the constraint, as bytes.
        offset: The number of bytes of the witness that this vocabulary can write.
    """

    def __init__(self, message: str, *, witness: bytes, offset: int, remedy: str = "") -> None:
        self.witness = witness
        self.offset = offset
        super().__init__(message, remedy=remedy, evidence={"witness": witness, "offset": offset})


class BudgetExceeded(ExplorerError):
    """A construction grew past one of its limits and was stopped.

    Attributes:
        resource: ``"states"``, ``"arcs"``, ``"bytes"``, ``"seconds"`` or ``"levels"`` of nesting.
        limit: The limit that was set.
        reached: The size when it stopped, or the size it was about to reach.
        ahead: Whether it stopped before a piece of work that would have passed the limit.
    """

    def __init__(
        self, resource: str, *, limit: float, reached: float, stage: str, ahead: bool = False
    ) -> None:
        self.resource = resource
        self.limit = limit
        self.reached = reached
        self.stage = stage
        self.ahead = ahead
        shown_limit, shown_reached = _shown(limit), _shown(reached)
        super().__init__(
            f"{stage} {'was about to reach' if ahead else 'reached'} {shown_reached} {resource}; "
            f"the limit is {shown_limit}.",
            remedy=(
                f"Make the constraint smaller (bounded repeats multiply, and so do "
                f"alternatives before a long common tail), or raise the limit with "
                f"Budget({resource}=...)."
            ),
            evidence={"resource": resource, "limit": limit, "reached": reached, "stage": stage},
        )

    def advising(self, remedy: str, found: str = "", **evidence: object) -> BudgetExceeded:
        """This error with another remedy, and a sentence on what was found, for a caller that
        knows more."""
        self.message = self.message + found
        self._evidence.update(evidence)
        self.remedy = remedy
        self.args = (f"{self.message} {remedy}",)
        return self


def nested_too_deep(stage: str) -> BudgetExceeded:
    """The error for parts that nest deeper than Python's functions may call each other."""
    most = getrecursionlimit()
    return BudgetExceeded("levels", limit=most, reached=most + 1, stage=stage).advising(
        "Nest fewer parts inside each other, or follow references less deep: max_depth=1."
    )


def _shown(size: float) -> str:
    """A size for a sentence, also if it is too large for a float."""
    if isinstance(size, int) and size.bit_length() > 64:
        return f"about 10^{int(size.bit_length() * log10(2))}"
    return f"{int(size):,}" if float(size).is_integer() else f"{size:,.6g}"


class NotRegular(BudgetExceeded):
    """A finite machine was asked for, but the rules of a grammar recurse, or items are remembered.

    It is a `BudgetExceeded` because no number of states suffices, so that callers with a fallback
    for too large machines use it here too.

    Attributes:
        rules: The rules that call themselves, directly or through each other; or the keywords that
            have a text remembered.
    """

    def __init__(
        self, rules: tuple[str, ...], why: str = "The grammar recurses", bound: str = ""
    ) -> None:
        self.rules = rules
        super().__init__("states", limit=inf, reached=inf, stage="A grammar as a finite machine")
        self.message = f"{why} ({', '.join(rules)}), so no finite machine reads it."
        self.remedy = bound or (
            "Bound the nesting, constraint.bounded(depth=...), inside a combination or a stage "
            "that of each grammar by itself, or a schema's by max_depth=..., and use that."
        )
        self.args = (f"{self.message} {self.remedy}",)


class MissingDependency(ExplorerError, AttributeError):
    """An optional library is not installed; the remedy names the extra that installs it.

    Also an ``AttributeError``, so that ``hasattr`` and ``help`` work for names that need a library.
    """


class NotATable(ExplorerError, AttributeError):
    """A lazy machine was asked for a property that only a table of all states has.

    Also an ``AttributeError``, so that ``hasattr`` can ask whether a machine is a table.
    """


class ContextFull(ExplorerError):
    """The text has more tokens than the model can read, so nothing more can be drawn."""


class DamagedFile(ExplorerError):
    """A saved file that cannot be read: wrong kind, version, fingerprint or content."""

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "Take an undamaged copy of the file.",
        evidence: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy, evidence=evidence)


class FileError(ExplorerError, OSError):
    """A file that cannot be read or written; also an ``OSError``, like the errors of `open`.

    Attributes:
        errno, strerror, filename: As in ``OSError``.
    """

    def __init__(self, message: str, *, remedy: str, path: str, cause: OSError) -> None:
        super().__init__(message, remedy=remedy, evidence={"path": path})
        self.errno = cause.errno
        self.strerror = cause.strerror
        self.filename = path

    def __str__(self) -> str:
        return str(self.args[0])


class MissingFile(FileError, FileNotFoundError):
    """There is no file at a path, or no folder to write it to; also a ``FileNotFoundError``."""
