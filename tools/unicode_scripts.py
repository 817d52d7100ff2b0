"""Write `explorer/languages/regex/scripts.json`: the characters of each script.

Python's own `unicodedata` does not know scripts, so each character is matched with the library
`regex`. Run it again for a new version of Unicode:

    python tools/unicode_scripts.py
"""

from __future__ import annotations

import json
from pathlib import Path

import regex

TARGET = Path(__file__).parents[1] / "explorer" / "languages" / "regex" / "scripts.json"
NAMES = (
    "Adlam",
    "Ahom",
    "Arabic",
    "Armenian",
    "Avestan",
    "Balinese",
    "Bamum",
    "Bengali",
    "Bopomofo",
    "Braille",
    "Buginese",
    "Buhid",
    "Canadian_Aboriginal",
    "Cham",
    "Cherokee",
    "Common",
    "Coptic",
    "Cyrillic",
    "Deseret",
    "Devanagari",
    "Ethiopic",
    "Georgian",
    "Glagolitic",
    "Gothic",
    "Greek",
    "Gujarati",
    "Gurmukhi",
    "Han",
    "Hangul",
    "Hanunoo",
    "Hebrew",
    "Hiragana",
    "Inherited",
    "Javanese",
    "Kannada",
    "Katakana",
    "Kayah_Li",
    "Khmer",
    "Lao",
    "Latin",
    "Lepcha",
    "Limbu",
    "Lisu",
    "Malayalam",
    "Mandaic",
    "Meetei_Mayek",
    "Mongolian",
    "Myanmar",
    "New_Tai_Lue",
    "Nko",
    "Ogham",
    "Ol_Chiki",
    "Oriya",
    "Osage",
    "Phags_Pa",
    "Rejang",
    "Runic",
    "Samaritan",
    "Saurashtra",
    "Sinhala",
    "Sundanese",
    "Syloti_Nagri",
    "Syriac",
    "Tagalog",
    "Tagbanwa",
    "Tai_Le",
    "Tai_Tham",
    "Tai_Viet",
    "Tamil",
    "Telugu",
    "Thaana",
    "Thai",
    "Tibetan",
    "Tifinagh",
    "Vai",
    "Yi",
)


def ranges(name: str) -> list[int]:
    """The bounds of a script: low, high, low, high, …, each as its distance to the one before."""
    pattern = regex.compile(rf"\p{{Script={name}}}+")
    text = "".join(map(chr, [k for k in range(0x110000) if not 0xD800 <= k <= 0xDFFF]))
    bounds: list[int] = []
    for match in pattern.finditer(text):
        span = match.span()
        first, last = ord(text[span[0]]), ord(text[span[1] - 1])
        if first < 0xD800 <= last:  # The characters on both sides of the surrogates.
            bounds += [first, 0xD7FF, 0xE000, last]
        else:
            bounds += [first, last]
    return [b - a for a, b in zip([0, *bounds], bounds, strict=False)]


def main() -> None:
    """Write the file."""
    found = {name: ranges(name) for name in NAMES}
    lines = ",\n".join(
        f'"{name}":{json.dumps(steps, separators=(",", ":"))}' for name, steps in found.items()
    )
    TARGET.write_text("{\n" + lines + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
