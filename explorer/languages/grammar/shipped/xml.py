"""XML with elements of given names, each closed under the name with which it was opened (XML 1.0).

The stack knows the closing name: the rule ``in-p`` ends with ``</p>``. To allow each attribute only
once in any order would need a set of names on the stack, so the attributes of an element come in a
given order. References are the five of XML and character numbers, decimal and hexadecimal; there
are comments and CDATA, but no processing instructions and no document type.

The rules that do not depend on the names are read from the grammar that ships.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from explorer.arguments import instance, listed, shown
from explorer.errors import ConstraintError
from explorer.languages.grammar.shipped import shipped_text

ROOT: Final = "page"
"""The outermost element of the grammar that ships."""

PAGE: Final[Mapping[str, Sequence[str]]] = {
    ROOT: ("lang",),
    "p": ("class",),
    "a": ("href", "title"),
    "em": (),
    "img": ("src", "alt"),
}
"""The elements of the grammar that ships, each with its attributes."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def xml_text(elements: Mapping[str, Sequence[str]], root: str) -> str:
    """The grammar of XML documents with some elements, in GBNF.

    Args:
        elements: The name of each element, and its attributes in the order in which they come;
            each may be left out.
        root: The outermost element of a document.

    Raises:
        ConstraintError: An argument is something else, a name has other characters than letters,
            digits, ``-`` and ``_``, an attribute is given twice, or ``root`` is not an element.

    Example:
        >>> import explorer
        >>> notes = explorer.grammar(xml_text({"note": ("to",), "b": ()}, "note"))
        >>> notes.accepts('<note to="A">a <b>c</b></note>'), notes.accepts("<note><b></note></b>")
        (True, False)
    """
    remedy = 'Give a dict such as {"note": ("to",), "b": ()}.'
    mapping = cast("type[Mapping[Any, Any]]", Mapping)
    given = instance(
        "elements", elements, mapping, "a dict from names to their attributes",
        remedy=remedy, error=ConstraintError,
    )  # fmt: skip
    elements = {
        _text("The name of an element", name): _attributes(each) for name, each in given.items()
    }
    root = _text("root", root)
    if root not in elements:
        raise ConstraintError(
            f"root={shown(root)} is not among the elements.",
            remedy="Name one of the elements as the root.",
        )
    for name, attributes in elements.items():
        for each in (name, *attributes):
            if _NAME.fullmatch(each) is None or each.lower().startswith("xml"):
                raise ConstraintError(
                    f"{shown(each)} is not a name that can be used here.",
                    remedy="Use letters, digits, '-' and '_', and do not begin with xml.",
                )
        if len(set(attributes)) < len(attributes):
            raise ConstraintError(
                f"An attribute of {shown(name)} is given twice.", remedy="Name each once."
            )
    head, _, rest = shipped_text("xml").partition("tag       ::= ")
    head = head.replace(f'"<{ROOT}" in-{ROOT}', f'"<{root}" in-{root}')
    tags = " | ".join(f'"{name}" in-{name}' for name in elements)
    lines = [head, f"tag       ::= {tags}\n"]
    for name, attributes in elements.items():
        given = "".join(f'(s "{each}" eq value)? ' for each in attributes)
        rule = f"in-{name}".ljust(9)
        lines.append(f'{rule} ::= {given}s? ("/>" | ">" content "</{name}" s? ">")\n')
    return "".join([*lines, "\n", rest.partition("\n\n")[2]])


def _text(name: str, value: object) -> str:
    return instance(name, value, str, "a text", error=ConstraintError)


def _attributes(given: object) -> list[str]:
    """The names of the attributes of an element; a single text is refused."""
    names = listed("The attributes of an element", given, "a list of names", error=ConstraintError)
    return [_text("An attribute", name) for name in names]
