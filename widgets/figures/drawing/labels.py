"""Words on arcs and states: characters, bytes and tokens as short, harmless, one-line text.

Token text is untrusted and often invisible: it holds markup, line breaks, direction marks, halves
of characters. The text that is shown is made here, in two steps.
`explorer.alphabet.readable` turns bytes into printable text without spaces,
so that distinct tokens stay distinct; `markup` escapes any text for SVG and HTML, and writes
invisible characters as escapes. A page that sets text nodes needs only the first step; a static
picture needs both.

Labels are short because they lie on arcs; the full text is in their titles.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from explorer.alphabet import readable, show_bytes
from explorer.automata.tree.charset import CharSet, char_set, complement
from explorer.vocabulary import Vocabulary

LABEL_CHARACTERS: Final = 18
"""The longest label of an arc, in characters."""

FEW_CHARACTERS: Final = 12
"""The longest label with several tokens side by side; in a longer one the first stands for all."""

_FEW: Final = 4


_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}

_TAGS: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def markup(text: str) -> str:
    """Any text as text inside SVG or HTML: escaped, and without invisible characters.

    Example:
        >>> markup("<img onerror='x'>\\u202e")
        '&lt;img onerror=&#39;x&#39;&gt;\\\\u202e'
    """
    return _printable(text, _ENTITIES)


def tags_escaped(text: str) -> str:
    """Any text as a label of plotly, which reads tags and their entities, but no entity of a quote.

    Example:
        >>> tags_escaped('"<b>"')
        '"&lt;b&gt;"'
    """
    return _printable(text, _TAGS)


def _printable(text: str, entities: Mapping[str, str]) -> str:
    """A text with some characters replaced, and invisible ones written as escapes."""
    parts: list[str] = []
    for character in text:
        if character in entities:
            parts.append(entities[character])
        elif character == " " or (
            character.isprintable() and unicodedata.category(character) not in ("Cf", "Co", "Cs")
        ):
            parts.append(character)
        else:
            parts.append(character.encode("unicode_escape", "surrogatepass").decode())
    return "".join(parts)


def shorten(text: str, most: int = LABEL_CHARACTERS) -> str:
    """A text cut to a length, with an ellipsis.

    Example:
        >>> shorten("abcdefgh", 5)
        'abcd…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def token_text(vocabulary: Vocabulary, token: int) -> str:
    """A token as one line: its readable text, the name of a special one, or its id.

    Example:
        >>> vocab = Vocabulary.from_bytes([b" the", b"\\xc3"], eos_ids=[2])
        >>> [token_text(vocab, token) for token in (0, 1, 2, 7)]
        ['␣the', '<C3>', 'EOS', 'id 7']
    """
    data = vocabulary.tokens[token] if 0 <= token < len(vocabulary) else None
    if data is not None:
        return readable(data)
    return name_without_text(token, vocabulary.special, vocabulary.eos_ids)


def name_without_text(token: int, special: Mapping[int, str], eos_ids: Collection[int]) -> str:
    """The name of an id that writes no text, in every drawing.

    Example:
        >>> [name_without_text(token, {1: "<pad>", 2: "<eos>"}, (2,)) for token in (1, 2, 7)]
        ['<pad>', 'EOS', 'id 7']
    """
    name = special.get(token, "")
    # A vocabulary written by hand has no name for the end of text.
    if token in eos_ids and name in ("", "<eos>"):
        return "EOS"
    return readable(name.encode(errors="replace")) if name else f"id {token}"


def token_names(vocabulary: Vocabulary, ids: Iterable[int]) -> tuple[str, ...]:
    """Tokens as text; a byte token that has a twin is named by its byte, such as ``<0x20>``.

    Args:
        vocabulary: The tokens.
        ids: Token ids.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b" ", b" ", b"a"], eos_ids=[3])
        >>> [token_names(vocab, [k])[0] for k in vocab.ids_of(b" ")]
        ['<0x20>', '␣']
    """
    names: list[str] = []
    for token in ids:
        data = vocabulary.tokens[token] if 0 <= token < len(vocabulary) else None
        twin = data is not None and len(data) == 1 and len(vocabulary.ids_of(data)) > 1
        first = twin and data is not None and vocabulary.ids_of(data)[0] == token
        named = f"<0x{data[0]:02X}>" if first and data else token_text(vocabulary, token)
        names.append(named)
    return tuple(names)


def character_text(code: int) -> str:
    """One code point, printable.

    Example:
        >>> character_text(0x20), character_text(0xE4), character_text(10), character_text(0x7F)
        ('␣', 'ä', '\\\\n', '\\\\x7f')
    """
    return readable(chr(code).encode(errors="replace"))


def byte_text(byte: int) -> str:
    """One byte: printable ASCII as itself, any other in the form ``<C3>``.

    Example:
        >>> byte_text(0x66), byte_text(0xC3)
        ('f', '<C3>')
    """
    return character_text(byte) if 0x20 <= byte < 0x7F else show_bytes(bytes([byte]))


def prefix_label(data: bytes) -> str:
    """A token as at most three characters, a longer one as "…" and its end; empty if not text."""
    text = data.decode(errors="replace")
    if "\ufffd" in text or not text.isprintable():
        return ""
    return (text if len(text) <= 3 else f"…{text[-2:]}").replace(" ", "␣")


def ranges_label(ranges: Sequence[tuple[int, int]], *, in_bytes: bool = False) -> str:
    """Ranges of characters or of bytes as the label of an arc.

    Args:
        ranges: ``(low, high)`` pairs, both included, ascending.

    Example:
        >>> ranges_label([(48, 57), (97, 102)]), ranges_label([(0xC3, 0xC3)], in_bytes=True)
        ('0-9 a-f', '<C3>')
        >>> ranges_label([(0, 33), (35, 91), (93, 0x10FFFF)])
        'all but " \\\\'
    """
    if not in_bytes:
        chars = char_set(ranges)
        if (words := _nearly_all(chars)) is not None:
            return words
        ranges = chars.ranges
    show = byte_text if in_bytes else character_text
    pieces: list[str] = []
    for low, high in ranges:
        if high - low < 2:
            pieces += [show(code) for code in range(low, high + 1)]
        else:
            pieces.append(f"{show(low)}-{show(high)}")
    return _joined(pieces)


def _nearly_all(chars: CharSet) -> str | None:
    """Words for a large set, which names the few elements that it lacks."""
    if chars.size() < 100_000:
        return None
    missing = complement(chars)
    if not missing.ranges:
        return "any"
    plain = [code for low, high in missing.ranges for code in range(low, min(high, low + 40) + 1)]
    shown = [character_text(code) for code in plain if chr(code).isprintable()]
    hidden = len(shown) < missing.size()
    if not shown:
        names = [character_text(code) for code in plain]
        return "all but " + (names[0] if len(names) == 1 else f"{names[0]}…")
    return _joined(["all but", *shown[:_FEW], *(["…"] if hidden or len(shown) > _FEW else [])])


def _joined(pieces: Iterable[str]) -> str:
    """Pieces beside each other while they fit, then an ellipsis."""
    text = ""
    for piece in pieces:
        longer = f"{text} {piece}" if text else piece
        if len(longer) > LABEL_CHARACTERS and text:
            return text if text.endswith("…") else f"{text} …"
        text = longer
    return shorten(text)


def tokens_label(texts: Sequence[str], count: int) -> str:
    """Some tokens as the label of an arc: all of them, or the first and how many more.

    Tokens of one character each, all given, are written as a range, as on the character FSA's arcs.

    Args:
        texts: The first tokens, readable; at least one.

    Example:
        >>> tokens_label(["foo"], 1), tokens_label(["a", "b"], 2), tokens_label(["a", "a"], 2)
        ('foo', 'a  b', 'a ×2')
        >>> tokens_label(['"'], 12345), tokens_label([str(d) for d in range(10)], 10)
        ('" +12,344', '0-9')
    """
    different = list(dict.fromkeys(texts))
    if len(texts) >= count:
        # Several ids may write the same bytes.
        if len(different) == 1 and count > 1:
            return f"{shorten(different[0], 14)} ×{count}"
        text = "  ".join(different)
        if len(different) == count and all(len(one) == 1 for one in different) and count > 2:
            codes = sorted(map(ord, different))
            short = ranges_label([(code, code) for code in codes])
            if "…" not in short:
                return short
        if len(different) == count and len(text) <= FEW_CHARACTERS:
            return text
    if count == 1:
        return shorten(texts[0])
    return f"{shorten(texts[0], 8)} +{count - 1:,}"
