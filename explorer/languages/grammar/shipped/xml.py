"""XML with elements of given names, each closed under the name with which it was opened (XML 1.0).

The stack knows the closing name: the rule ``in-p`` ends with ``</p>``. To allow each attribute only
once in any order would need a set of names on the stack, so the attributes of an element come in a
given order. References are the five of XML and character numbers, decimal and hexadecimal; there
are comments and CDATA, but no processing instructions and no document type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from explorer.arguments import instance, listed, shown
from explorer.errors import ConstraintError

PAGE: Final[Mapping[str, Sequence[str]]] = {
    "page": ("lang",),
    "p": ("class",),
    "a": ("href", "title"),
    "em": (),
    "img": ("src", "alt"),
}
"""The elements of the grammar that ships, each with its attributes; a document is a ``page``."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

_HEAD: Final = """\
# XML with elements of given names, each closed under the name with which it was opened.
# `explorer.grammars.xml_text` writes this grammar for any names.
# In: attributes in their order, the references of XML and the numbers of characters (&#65; &#x41;),
# comments, CDATA.
# Not: attributes in any order, processing instructions, document types, entities of one's own.
root      ::= prolog? misc "<{root}" in-{root} misc
prolog    ::= "<?xml" s "version" eq "\\"1.0\\"" (s "encoding" eq "\\"UTF-8\\"")? s? "?>"
misc      ::= (s | "<" comment)*
content   ::= text? (("&" reference ";" | "<" (tag | comment | cdata)) text?)*
"""

_TAIL: Final = r"""
# In a text, no ]]>; in a comment, no --; an attribute holds neither < nor its own quote.
text      ::= /(?:(?!\]\]>)[\t\n\r -%'-;=-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF])+/
comment   ::= "!--" ([\t\n\r\x20-,.-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF] | "-" [\t\n\r\x20-,.-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF])* "-->"
cdata     ::= "![CDATA[" /(?:(?!\]\]>)[\t\n\r -\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF])*/ "]]>"
value     ::= "\"" ([\t\n\r !#-%'-;=-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF] | "&" reference ";")* "\"" |
              "'" ([\t\n\r -%(-;=-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF] | "&" reference ";")* "'"
# A number is that of a character of XML.
reference ::= "amp" | "lt" | "gt" | "quot" | "apos" | "#" "0"* decimal | "#x" "0"* code
decimal   ::= "9" | "1" [03] | "3" [2-9] | [4-9] [0-9] | [1-9] [0-9]{2,3} | [1-4] [0-9]{4} | "5" [0-4] [0-9]{3} |
              "55" ([01] [0-9]{2} | "2" ([0-8] [0-9] | "9" [0-5])) | "57" ("3" ("4" [4-9] | [5-9] [0-9]) | [4-9] [0-9]{2}) |
              "5" [89] [0-9]{3} | "6" ([0-4] [0-9]{3} | "5" ([0-4] [0-9]{2} | "5" ([0-2] [0-9] | "3" [0-36-9] | [4-9] [0-9]) | [6-9] [0-9]{2}) | [6-9] [0-9]{3}) |
              [7-9] [0-9]{4} | [1-9] [0-9]{5} | "1" ("0" [0-9]{5} | "10" [0-9]{4} | "11" ([0-3] [0-9]{3} | "4" ("0" [0-9]{2} | "10" [0-9] | "11" [01])))
code      ::= [9aAdD] | [2-9a-fA-F] hex | [1-9a-fA-F] hex{2} | [1-9a-cA-CeE] hex{3} | [dD] [0-7] hex{2} |
              [fF] ([0-9a-eA-E] hex{2} | [fF] ([0-9a-eA-E] hex | [fF] [0-9a-dA-D])) |
              [1-9a-fA-F] hex{4} | "10" hex{4}
hex       ::= [0-9a-fA-F]
eq        ::= s? "=" s?
s         ::= [ \t\n\r]+
"""  # noqa: E501


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
    tags = " | ".join(f'"{name}" in-{name}' for name in elements)
    lines = [_HEAD.format(root=root), f"tag       ::= {tags}\n"]
    for name, attributes in elements.items():
        given = "".join(f'(s "{each}" eq value)? ' for each in attributes)
        rule = f"in-{name}".ljust(9)
        lines.append(f'{rule} ::= {given}s? ("/>" | ">" content "</{name}" s? ">")\n')
    return "".join([*lines, _TAIL])


def _text(name: str, value: object) -> str:
    return instance(name, value, str, "a text", error=ConstraintError)


def _attributes(given: object) -> list[str]:
    """The names of the attributes of an element; a single text is refused."""
    names = listed("The attributes of an element", given, "a list of names", error=ConstraintError)
    return [_text("An attribute", name) for name in names]
