"""The values of ``format`` as patterns, each from its standard.

A leap second comes before midnight in UTC, which is another minute of the day in each time zone.
Offsets are followed in steps of a quarter of an hour, as all real ones have been since leap seconds
began (1972). Every minute would take 11,000 states instead of 900.

A label of a host name that begins with ``xn--`` encodes another one, and only the whole label tells
whether that one is allowed (RFC 3492, RFC 5891): a machine would need a state for each beginning.
Such names are known where the schema lists them (``enum``, ``const``, names of members); they are
not written otherwise.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Final

_DAY: Final = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    r"|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_LEAP: Final = r"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
DATE: Final = rf"(?:[0-9]{{4}}-{_DAY}|{_LEAP}-02-29)"
CLOCK: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?"
ZONE: Final = r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"


def _leap_second() -> str:
    """A pattern of the local times with offset at which UTC is 23:59:60 (RFC 3339, section 5.8).

    East of Greenwich the local time is the offset less one minute, in the west 24 hours less the
    offset and one minute.
    """
    ways: list[str] = []
    for east in range(0, 24 * 60, 15):
        minute, west = (east - 1) % (24 * 60), (-east) % (24 * 60)
        zones = [f"{sign}{at // 60:02}:{at % 60:02}" for sign, at in ((r"\+", east), ("-", west))]
        zones += ["[Zz]"] if east == 0 else []
        now = f"{minute // 60:02}:{minute % 60:02}"
        ways.append(rf"{now}:60(?:\.[0-9]+)?(?:{'|'.join(zones)})")
    return "|".join(ways)


TIME: Final = rf"(?:{CLOCK}{ZONE}|{_leap_second()})"

_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4: Final = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_H16: Final = r"[0-9A-Fa-f]{1,4}"
_LS32: Final = rf"(?:{_H16}:{_H16}|{IPV4})"
IPV6: Final = "(?:" + "|".join(
    [rf"(?:{_H16}:){{6}}{_LS32}", rf"::(?:{_H16}:){{5}}{_LS32}"]
    + [
        rf"(?:(?:{_H16}:){{0,{before}}}{_H16})?::"
        + (rf"(?:{_H16}:){{{4 - before}}}" if before < 4 else "")
        + _LS32
        for before in range(5)
    ]
    + [rf"(?:(?:{_H16}:){{0,5}}{_H16})?::{_H16}", rf"(?:(?:{_H16}:){{0,6}}{_H16})?::"]
) + ")"  # fmt: skip

_PLAIN_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# RFC 5890: two hyphens at the third and fourth place are kept for encoded labels.
_ALNUM: Final = "[A-Za-z0-9]"
_HOST_LABEL: Final = (
    rf"(?:{_ALNUM}|{_ALNUM}{{2}}|{_ALNUM}[A-Za-z0-9-]{_ALNUM}"
    rf"|{_ALNUM}[A-Za-z0-9-](?:-{_ALNUM}|{_ALNUM}{_ALNUM}|(?:{_ALNUM}[A-Za-z0-9-]|-{_ALNUM})[A-Za-z0-9-]{{0,58}}{_ALNUM}))"
)
HOSTNAME: Final = rf"{_HOST_LABEL}(?:\.{_HOST_LABEL})*"

_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL: Final = rf'(?:{_ATOM}(?:\.{_ATOM})*|"(?:[ !#-\[\]-~]|\\[ -~])*")'
EMAIL: Final = rf"{_LOCAL}@(?:{_PLAIN_LABEL}(?:\.{_PLAIN_LABEL})*|\[(?:{IPV4}|IPv6:{IPV6})\])"

_UNRESERVED: Final = r"A-Za-z0-9._~\-"
_SUB: Final = r"!$&'()*+,;="
_PCT: Final = r"%[0-9A-Fa-f]{2}"


def _uri(unreserved: str, private: str, *, reference: bool) -> str:
    """A pattern of URIs (RFC 3986, appendix A), or with larger sets of IRIs (RFC 3987)."""
    pchar = rf"(?:[{unreserved}{_SUB}:@]|{_PCT})"
    no_colon = rf"(?:[{unreserved}{_SUB}@]|{_PCT})"
    future = rf"[vV][0-9A-Fa-f]+\.[{_UNRESERVED}{_SUB}:]+"
    host = rf"(?:\[(?:{IPV6}|{future})\]|(?:[{unreserved}{_SUB}]|{_PCT})*)"
    authority = rf"(?:(?:[{unreserved}{_SUB}:]|{_PCT})*@)?{host}(?::[0-9]*)?"
    rooted = rf"/(?:{pchar}+(?:/{pchar}*)*)?"
    after = rf"//{authority}(?:/{pchar}*)*"
    tail = rf"(?:\?(?:{pchar}|[/?{private}])*)?(?:#(?:{pchar}|[/?])*)?"
    absolute = rf"[A-Za-z][A-Za-z0-9+.-]*:(?:{after}|{rooted}|{pchar}+(?:/{pchar}*)*|){tail}"
    if not reference:
        return absolute
    relative = rf"(?:{after}|{rooted}|{no_colon}+(?:/{pchar}*)*|){tail}"
    return rf"(?:{absolute}|{relative})"


_UCS: Final = (
    r"\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U0001fffd\U00020000-\U0002fffd"
    r"\U00030000-\U0003fffd\U000e1000-\U000efffd"
)
_PRIVATE: Final = r"\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"

_POINTER: Final = r"(?:/(?:[^~/]|~[01])*)*"
_SECONDS: Final = r"[0-9]+S"
_MINUTES: Final = rf"[0-9]+M(?:{_SECONDS})?"
_HOURS: Final = rf"[0-9]+H(?:{_MINUTES})?"
_DURATION_TIME: Final = rf"T(?:{_HOURS}|{_MINUTES}|{_SECONDS})"
_DURATION_DAY: Final = r"[0-9]+D"
_DURATION_MONTH: Final = rf"[0-9]+M(?:{_DURATION_DAY})?"
_DURATION_YEAR: Final = rf"[0-9]+Y(?:{_DURATION_MONTH})?"
_DURATION_DATE: Final = (
    rf"(?:{_DURATION_DAY}|{_DURATION_MONTH}|{_DURATION_YEAR})(?:{_DURATION_TIME})?"
)

_VARCHAR: Final = rf"(?:[A-Za-z0-9_]|{_PCT})"
_VARIABLE: Final = rf"{_VARCHAR}(?:\.?{_VARCHAR})*(?:\*|:[1-9][0-9]{{0,3}})?"
_EXPRESSION: Final = rf"\{{[+#./;?&=,!@|]?{_VARIABLE}(?:,{_VARIABLE})*\}}"

FORMATS: Final[dict[str, str]] = {
    "date": DATE,
    "time": TIME,
    "date-time": rf"(?:{DATE}[Tt]{TIME})",
    "duration": rf"P(?:{_DURATION_DATE}|{_DURATION_TIME}|[0-9]+W)",
    "email": EMAIL,
    "hostname": HOSTNAME,
    "ipv4": IPV4,
    "ipv6": IPV6,
    "uri": _uri(_UNRESERVED, "", reference=False),
    "uri-reference": _uri(_UNRESERVED, "", reference=True),
    "iri": _uri(_UNRESERVED + _UCS, _PRIVATE, reference=False),
    "iri-reference": _uri(_UNRESERVED + _UCS, _PRIVATE, reference=True),
    "uuid": r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}",
    "json-pointer": _POINTER,
    "relative-json-pointer": rf"(?:0|[1-9][0-9]*)(?:#|{_POINTER})",
    "uri-template": (rf"(?:[^\x00-\x20\x7f-\x9f\"%<>\\^`{{|}}]|{_PCT}|{_EXPRESSION})*"),
}
"""Patterns of Python's ``re``, to be matched in full."""

_ENCODED_LABEL: Final = rf"[Xx][Nn]--[A-Za-z0-9-]{{0,58}}{_ALNUM}"


def _encodes_labels(name: str) -> bool:
    """Whether the labels of a host name that begin with ``xn--`` encode allowed ones.

    If a label is written from right to left, all of them follow the rule for that (RFC 5893).
    """
    import idna  # Its tables are read where a schema lists such a name.

    labels = name.lower().split(".")
    try:
        decoded = [idna.ulabel(each) if each.startswith("xn--") else each for each in labels]
        if any(
            idna.alabel(text) != label.encode() for text, label in zip(decoded, labels, strict=True)
        ):
            return False
        if not any(unicodedata.bidirectional(char) in _FROM_RIGHT for char in "".join(decoded)):
            return True
        return all(idna.check_bidi(text, check_ltr=True) for text in decoded)
    except idna.IDNAError:
        return False


_FROM_RIGHT: Final = ("R", "AL", "AN")

TESTED: Final[dict[str, tuple[str, Callable[[str], bool]]]] = {
    "hostname": (
        rf"(?:{_HOST_LABEL}\.)*{_ENCODED_LABEL}(?:\.(?:{_HOST_LABEL}|{_ENCODED_LABEL}))*",
        _encodes_labels,
    )
}
"""Further texts of a format that must be looked at as a whole: a pattern of them, and the test."""

LONGEST: Final[dict[str, int]] = {"hostname": 253}
"""The most characters of a format whose pattern does not say so (RFC 1035, section 2.3.4)."""
