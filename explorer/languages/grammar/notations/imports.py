"""The files that a grammar in Lark's notation imports, written into its text.

``%import .folder.file.name``, with names in parentheses or ``-> alias``, takes rules and terminals
of another file of the folder that the user gives, and all that they use. As in Lark, what is only
used gets the file's name in front (``file__name``), and what the file ignores is not imported.
A rule of one of Lark's own libraries is read from Lark's package, if that is installed.

The text that results has no other files, so that carets, saved grammars and other processes need
none. No path leads out of the folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from explorer.arguments import plain, wrong
from explorer.errors import ConstraintError, ExplorerError, GrammarError
from explorer.files import read_text
from explorer.languages.grammar.notations.library import LIBRARIES

WITH_RULES: Final = ("python", "lark")
"""The libraries of Lark that have rules, not only terminals."""
MOST_INSIDE: Final = 50
"""The most files that may import each other in a row."""

_PIECE: Final = re.compile(
    r'"(?:[^"\\\n]|\\.)*"i?|/(?!/)(?:\\/|\\\\|[^/])*?/[imslux]*|(?://|\#)[^\n]*|(?P<arrow>->)'
    r"|(?P<word>%?[A-Za-z_]\w*)"
)
"""A text, a pattern, a comment, or a name."""
_HEAD: Final = re.compile(
    r"[ \t\f]*(?:\{[^}\n]*\})?(?:[ \t]*\.[ \t]*-?\d+|\[[^]\n]*\])?[ \t\f]*:(?!:)"
)
"""The parameters, the priority and the colon after the name of a rule."""
_IMPORT: Final = re.compile(
    r"%import[ \t]+(?P<dot>\.)?(?P<path>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)[ \t]*"
    r"(?:\((?P<names>[^)]*)\))?(?:[ \t]*->[ \t]*(?P<alias>\w+))?"
)


def with_files(text: str, folder: object) -> str:
    """The text of a grammar with the rules and terminals of other files that it imports.

    Args:
        text: The grammar, in Lark's notation.
        folder: The folder of the files; without it, only Lark's own are read.

    Raises:
        ConstraintError: There is no such folder.
        GrammarError: A file is not there, or has no rule or terminal of that name.
    """
    if folder is None:
        return _Folder(None).whole(text, None, ())
    if not isinstance(folder, str | Path):
        raise wrong("folder", folder, "a folder", remedy="Give its path.", error=ConstraintError)
    root = Path(plain(folder))
    try:
        is_there = root.is_dir()
    except (OSError, ValueError):  # A name that is too long, or holds a zero byte.
        is_there = False
    if not is_there:
        raise ConstraintError(
            f"There is no folder {str(root)!r}.", remedy="Give a folder that holds *.lark files."
        )
    return _Folder(root.resolve()).whole(text, root.resolve(), ())


@dataclass(frozen=True)
class _Definition:
    """A rule, a terminal or a directive of a file.

    Args:
        name: What it defines; empty for other directives.
        start, end: Its span.
        words: The names in it, each with its place.
    """

    name: str
    start: int
    end: int
    words: tuple[tuple[str, int], ...]


@dataclass
class _Import:
    """The imports from one file.

    Args:
        start, end: The span of the first of them.
        names: The name here of each name there.
    """

    start: int
    end: int
    names: dict[str, str] = field(default_factory=dict[str, str])


class _Folder:
    """Reads the files of a folder.

    Args:
        root: The folder that no path leaves; ``None`` where none was given.
    """

    def __init__(self, root: Path | None) -> None:
        self._root = root

    def whole(self, text: str, folder: Path | None, inside: tuple[Path, ...]) -> str:
        """A text with what it imports.

        Args:
            folder: The folder of its file.
            inside: The files around it that import it.
        """
        if "%import" not in text:
            return text
        statements = _statements(text)
        imports: dict[Path, _Import] = {}
        pieces: list[tuple[int, int, Path | str]] = []
        for each in statements:
            match = _IMPORT.match(text, each.start)
            if match is None:
                continue
            names, path, rest = self._asked(match, text, folder)
            if path is None:
                continue
            if path not in imports:
                imports[path] = _Import(match.start(), match.end())
                pieces.append((match.start(), match.end(), path))
            else:
                pieces.append((match.start(), match.end(), ""))
            imports[path].names.update(names)
            if rest:
                pieces.append((match.end(), match.end(), rest))
        taken = {word for each in statements for word, _ in each.words}
        made, at = "", 0
        for start, end, piece in pieces:
            made += text[at:start]
            if isinstance(piece, Path):
                made += self._imported(piece, imports[piece], taken, text, inside)
            else:
                made += piece
            at = end
        return made + text[at:]

    def _asked(
        self, match: re.Match[str], text: str, folder: Path | None
    ) -> tuple[list[tuple[str, str]], Path | None, str]:
        """The names that a line imports from a file, with what they are called here, the file, and
        the line that is left; no file for the terminals of a library."""
        parts = match["path"].split(".")
        listed = match["names"]
        names = re.findall(r"\w+", listed) if listed is not None else [parts.pop()]
        called = [(name, match["alias"] or name) for name in names]
        if match["dot"] is None:
            library = ".".join(parts)
            known = LIBRARIES.get(library, {})
            missing = [each for each in called if each[0] not in known and each[0].islower()]
            package = find_spec("lark") if library in WITH_RULES and missing else None
            if package is None or package.origin is None:
                return [], None, ""
            path = Path(package.origin).with_name("grammars") / f"{library}.lark"
            kept = [name for name in names if (name, match["alias"] or name) not in missing]
            rest = f"\n%import {library} ({', '.join(kept)})" if kept else ""
            return missing, path, rest
        if folder is None or self._root is None:
            return [], None, ""
        path = folder.joinpath(*parts).with_suffix(".lark") if parts else None
        if path is None or not path.resolve().is_relative_to(self._root) or not path.is_file():
            shown = "/".join(parts) + ".lark"
            raise GrammarError(
                f"There is no file {shown!r} in the folder", text=text, start=match.start(),
                end=match.end(), remedy="Give folder= the folder of the file that is imported.",
            )  # fmt: skip
        return called, path, ""

    def _imported(
        self, path: Path, asked: _Import, taken: set[str], text: str, inside: tuple[Path, ...]
    ) -> str:
        """The rules and terminals of a file, those that are used included, under new names."""
        try:
            if path in inside or len(inside) >= MOST_INSIDE:
                raise ConstraintError("It imports itself.", remedy="Leave one %import out.")
            read = self.whole(read_text(path), path.parent, (*inside, path))
        except ExplorerError as error:
            raise GrammarError(
                f"The file {path.name!r} cannot be imported: {error.message}", text=text,
                start=asked.start, end=asked.end, remedy=error.remedy,
            ) from error  # fmt: skip
        statements = _statements(read)
        defined = _defined(statements, read)
        for name in asked.names:
            if name not in defined:
                raise GrammarError(
                    f"The file {path.name!r} has no {name!r}", text=text, start=asked.start,
                    end=asked.end, remedy=f"It has {', '.join(sorted(defined)[:12])}.",
                )  # fmt: skip
        used = _used(asked.names, statements, read, defined)
        prefix = path.stem
        while any(_prefixed(prefix, name) in taken for name in used if name not in asked.names):
            prefix += "_"
        called = {name: _prefixed(prefix, name) for name in used}
        called |= {name: name for name in used if name.strip("_").upper() in ("INDENT", "DEDENT")}
        called |= asked.names
        return "\n".join(line for each in statements for line in _renamed(each, read, called))


def _statements(text: str) -> list[_Definition]:
    """The rules, terminals and directives of a text, in its order."""
    begins: list[tuple[str, int]] = []
    words: list[list[tuple[str, int]]] = []
    is_alias = False
    for match in _PIECE.finditer(text):
        word, at = match["word"], match.start()
        if word is None:
            is_alias = match["arrow"] is not None
            continue
        line = text.rfind("\n", 0, at) + 1
        opens = not text[line:at].strip(" \t\f?!")
        if opens and (word.startswith("%") or _HEAD.match(text, match.end())):
            begins.append(("" if word.startswith("%") else word, line))
            words.append([])
        elif (
            words and begins[-1][0] == "" and len(words[-1]) == 1 and _HEAD.match(text, match.end())
        ):
            begins[-1] = word, begins[-1][1]  # After %override or %extend.
        if words and not is_alias:
            words[-1].append((word, at))
        is_alias = False
    ends = [*(start for _, start in begins[1:]), len(text)]
    return [
        _Definition(name, _first(text, start), end, tuple(named))
        for (name, start), end, named in zip(begins, ends, words, strict=True)
    ]


def _first(text: str, line: int) -> int:
    """The place of the first character of a line that is not a blank."""
    while text[line : line + 1] in (" ", "\t", "\f") and line < len(text):
        line += 1
    return line


def _defined(statements: Iterable[_Definition], text: str) -> set[str]:
    """The names that a text defines, imports or declares."""
    names = {each.name for each in statements if each.name}
    for each in statements:
        match = _IMPORT.match(text, each.start)
        if match is not None:
            names |= {alias for _, _, alias in _of_library(match)}
        elif text.startswith("%declare", each.start):
            names |= {word for word, _ in each.words[1:]}
    return names


def _of_library(match: re.Match[str]) -> list[tuple[str, str, str]]:
    """The imports of a line from a library: its name, that of the terminal, and the one here."""
    parts = match["path"].split(".")
    if match["names"] is not None:
        library = match["path"]
        return [(library, name, name) for name in re.findall(r"\w+", match["names"])]
    return [(".".join(parts[:-1]), parts[-1], match["alias"] or parts[-1])]


def _used(
    asked: Iterable[str], statements: Iterable[_Definition], text: str, defined: set[str]
) -> dict[str, None]:
    """Some names of a text, and those that their rules use."""
    uses: dict[str, list[str]] = {}
    for each in statements:
        if each.name:
            uses.setdefault(each.name, []).extend(word for word, _ in each.words)
    used = dict.fromkeys(asked)
    for name in (waiting := [*used]):
        for other in uses.get(name, ()):
            if other in defined and other not in used:
                used[other] = None
                waiting.append(other)
    return used


def _prefixed(prefix: str, name: str) -> str:
    """The name of what an imported file uses, which may begin with an underscore."""
    bare = name.lstrip("_")
    prefix = prefix.upper() if bare.isupper() else prefix.lower()
    return f"{name[: len(name) - len(bare)]}{prefix}__{bare}"


def _renamed(statement: _Definition, text: str, called: Mapping[str, str]) -> list[str]:
    """The lines of a statement that is used, its names changed."""
    start, end = statement.start, statement.end
    if statement.name:
        if statement.name not in called:
            return []
        made = ""
        for word, at in statement.words:
            made += text[start:at] + called.get(word, word)
            start = at + len(word)
        return [made + text[start:end].rstrip()]
    match = _IMPORT.match(text, start)
    if match is not None:
        return [
            f"%import {library}.{name} -> {called[alias]}"
            for library, name, alias in _of_library(match)
            if alias in called
        ]
    if text.startswith("%declare", start):
        names = [called[word] for word, _ in statement.words[1:] if word in called]
        return [f"%declare {' '.join(names)}"] if names else []
    return []
