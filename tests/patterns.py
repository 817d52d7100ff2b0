"""Random patterns over the whole supported syntax, as Hypothesis strategies.

The alphabet is small and adversarial: letters that fold together, a newline for the anchors, a
digit and a space for the classes, and characters of one, two, three and four bytes.
"""

from __future__ import annotations

import re
import warnings

from hypothesis import strategies as st

ALPHABET = "ab1 \nä🙂"

_literals = st.sampled_from(["a", "b", "1", " ", "\\n", "ä", "🙂", "\\x61", "\\u00e4"])
_classes = st.sampled_from(
    [".", "[ab]", "[^a]", "[a-zä]", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "[\\d ]", "[^\\w\\n]",
     "[ä🙂]", "[^ä]", "[😀-🙂]"]
)  # fmt: skip
_quantifiers = st.sampled_from(
    ["*", "+", "?", "{2}", "{0}", "{1,2}", "{,2}", "{2,}", "*?", "+?", "??", "{1,2}?"]
)
_anchors = st.sampled_from(["^", "$", "\\A", "\\Z", "\\b", "\\B"])
_flags = st.sampled_from(["i", "s", "m", "x", "a", "is", "im", "-i", "s-i", "i-s"])


def _combined(children: st.SearchStrategy[str], assertions: bool) -> st.SearchStrategy[str]:
    wrapped = st.builds(lambda p: f"(?:{p})", children)
    forms = [
        st.builds(lambda p, q: p + q, children, children),
        st.builds(lambda p, q: f"(?:{p}|{q})", children, children),
        st.builds(lambda p, q: f"({p}|{q})", children, children),
        st.builds(lambda p, q: p + q, wrapped, _quantifiers),
    ]
    if assertions:
        fixed = st.one_of(_literals, _classes, st.builds(lambda p, q: p + q, _literals, _classes))
        forms += [
            st.builds(lambda p: f"(?={p})", children),
            st.builds(lambda p: f"(?!{p})", children),
            st.builds(lambda p, a: f"(?<={p}{a})", fixed, st.sampled_from(["", "(?=a)", "\\b"])),
            st.builds(lambda a, p: f"(?<!{a}{p})", st.sampled_from(["", "(?<=b)"]), fixed),
            st.builds(lambda f, p: f"(?{f}:{p})", _flags, children),
            _anchors,
        ]
    return st.one_of(forms)


def _compiles(pattern: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError):
            return False
    return True


def patterns(assertions: bool = True, leaves: int = 6) -> st.SearchStrategy[str]:
    """Patterns that ``re`` compiles.

    Args:
        assertions: Also anchors, lookarounds and scoped flags.
        leaves: About how many characters and classes at most.
    """
    leaf = st.one_of(_literals, _classes, _anchors if assertions else _literals)
    return st.recursive(
        leaf, lambda children: _combined(children, assertions), max_leaves=leaves
    ).filter(_compiles)


def vocabularies(alphabet: str = ALPHABET) -> st.SearchStrategy[list[bytes | None]]:
    """Token bytes with whole and half characters, duplicates and ids that are not text.

    The last id is left for EOS by the caller.
    """
    texts = st.text(st.sampled_from(alphabet), min_size=1, max_size=3).map(str.encode)
    halves = st.sampled_from([b"\xc3", b"\xa4", b"\xf0\x9f", b"\x99\x82", b"\x82a", b"a\xc3"])
    token = st.one_of(texts, texts, texts, halves, st.none())
    # Mostly enough single characters to write something, in any order, sometimes not.
    single = st.lists(st.sampled_from([*alphabet]).map(str.encode), max_size=8)
    return st.builds(
        lambda first, second: [*first, *second], single, st.lists(token, min_size=1, max_size=14)
    )
