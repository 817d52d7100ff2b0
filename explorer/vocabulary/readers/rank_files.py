"""Reads rank files: vocabularies with token bytes in base64.

tiktoken's text files have one token per line, ``base64 rank``; ranks are ids. They contain neither
special tokens nor the pattern that cuts text into words, so they cannot encode, and the end of text
must be given. Llama 3's ``tokenizer.model`` is such a file.

Mistral's ``tekken.json`` holds the same bytes and a configuration: an id is the rank plus the
number of special tokens, which come first; ranks beyond the default vocabulary size are spare and
have no id. It names its pattern, so tiktoken's library, if installed, can encode with it.

Cost: 0.1 µs a token beyond reading the file; Tekken's 15 MB of JSON take 0.3 s to parse.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from explorer.errors import DamagedFile
from explorer.vocabulary.guards.library import load_if_installed
from explorer.vocabulary.reading import Encoder, TokenizerReading, checked_width

if TYPE_CHECKING:
    from tiktoken import Encoding

RANK_LINE: Final = re.compile(rb"[A-Za-z0-9+/]*={0,2} [0-9]+\r?")
"""A line of a tiktoken file. A token may be empty: ``= 50256`` in OpenAI's multilingual file."""

# The special tokens of the first versions, whose files do not list them.
_TEKKEN_FIRST_SPECIALS: Final = (
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
)


def read_ranks(data: bytes, where: str) -> TokenizerReading:
    """Read a tiktoken rank file.

    Raises:
        DamagedFile: A line is not base64 and a rank, or a rank occurs twice; the line is named.
        VocabularyError: A rank is out of range.
    """
    ranks: dict[int, bytes] = {}
    for line, entry in enumerate(data.split(b"\n"), start=1):
        if not entry.strip():
            continue
        if not RANK_LINE.fullmatch(entry):
            raise damaged_line(where, line, f"{entry[:60]!r} is not base64, a space and a rank")
        encoded, _, number = entry.rstrip(b"\r").partition(b" ")
        # A rank with more digits than any id is not converted.
        rank = int(number) if len(number) < 12 else 10**12
        checked_width(rank, f"{where}, line {line},")
        if rank in ranks:
            raise damaged_line(where, line, f"the rank {rank} stands there a second time")
        try:
            # OpenAI writes the token of no bytes as a lone "=".
            ranks[rank] = binascii.a2b_base64(encoded.removeprefix(b"=") or b"", strict_mode=True)
        except ValueError as error:
            raise damaged_line(where, line, f"{encoded[:60]!r} is not base64") from error
    if not ranks:
        raise DamagedFile(f"{where} holds no ranks.", remedy="Fetch the file again.")
    return TokenizerReading(
        tokens=[ranks.get(rank) for rank in range(max(ranks) + 1)],
        special={},
        notes=(
            "Not proved by encoding: a rank file does not name the pattern that cuts text into "
            "words.",
        ),
        model="BPE",
    )


def read_tekken(declared: Mapping[str, object], where: str) -> TokenizerReading:
    """Read a ``tekken.json``.

    Raises:
        DamagedFile: A field is missing or of the wrong type; its path is named.
        VocabularyError: The declared sizes are out of range.
    """
    config = declared.get("config")
    vocab = declared.get("vocab")
    if not isinstance(config, Mapping) or not isinstance(vocab, list):
        raise _wrong(where, "config and vocab", "an object and a list")
    settings = cast(Mapping[str, object], config)
    width = _count(settings, "default_vocab_size", where)
    checked_width(width - 1, f"{where}, config.default_vocab_size,")
    reserved = _count(settings, "default_num_special_tokens", where)
    entries = cast(Sequence[object], vocab)
    if not 0 <= reserved <= width or width - reserved > len(entries):
        raise DamagedFile(
            f"{where} declares {width:,} ids, {reserved:,} of them special, but holds "
            f"{len(entries):,} ranks.",
            remedy="Fetch the file again.",
            evidence={"width": width, "special": reserved, "ranks": len(entries)},
        )
    ranks = _tekken_ranks(entries, width - reserved, where)
    special = _tekken_specials(declared.get("special_tokens"), reserved, where)
    pattern = settings.get("pattern")
    encoder = _encoder(ranks, reserved, pattern) if isinstance(pattern, str) else None
    unproved = (
        "Not proved by encoding: that needs the library 'tiktoken' (the extra 'tokenizers' brings "
        "it), a pattern in the file, and ranks that hold every byte."
    )
    return TokenizerReading(
        tokens=[None] * reserved + ranks,
        special=special,
        pieces={name: token for token, name in special.items()},
        eos_ids=frozenset(token for token, name in special.items() if name == "</s>"),
        notes=() if encoder is not None else (unproved,),
        encoder=encoder,
        probes=tuple(special.values()),
        model="BPE",
    )


def _tekken_ranks(entries: Sequence[object], count: int, where: str) -> list[bytes | None]:
    """The bytes of the first ``count`` ranks."""
    ranks: list[bytes | None] = [None] * count
    for place, entry in enumerate(entries):
        try:
            fields = cast(Mapping[str, object], entry)
            rank, encoded = fields["rank"], fields["token_bytes"]
            data = binascii.a2b_base64(cast(str, encoded))
        except (KeyError, TypeError, ValueError) as error:
            raise _wrong(where, f"vocab[{place}]", "a rank and token_bytes in base64") from error
        if type(rank) is not int or rank < 0:
            raise _wrong(where, f"vocab[{place}].rank", "a whole number from 0 on")
        if rank < count:
            if ranks[rank] is not None:
                raise _wrong(where, f"vocab[{place}].rank", "a rank that stands there once")
            ranks[rank] = data
    return ranks


def _tekken_specials(listed: object, reserved: int, where: str) -> dict[int, str]:
    if listed is None:
        return dict(enumerate(_TEKKEN_FIRST_SPECIALS[:reserved]))
    if not isinstance(listed, list):
        raise _wrong(where, "special_tokens", "a list")
    special: dict[int, str] = {}
    for place, entry in enumerate(cast(Sequence[object], listed)):
        if not isinstance(entry, Mapping):
            raise _wrong(where, f"special_tokens[{place}]", "an object")
        fields = cast(Mapping[str, object], entry)
        rank, name = fields.get("rank"), fields.get("token_str")
        if not isinstance(rank, int) or not isinstance(name, str) or not 0 <= rank < reserved:
            raise _wrong(where, f"special_tokens[{place}]", f"a rank below {reserved} and a name")
        special[rank] = name
    return special


def _count(settings: Mapping[str, object], name: str, where: str) -> int:
    value = settings.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _wrong(where, f"config.{name}", "a whole number from 0 on")
    return value


def _wrong(where: str, spot: str, expected: str) -> DamagedFile:
    return DamagedFile(
        f"{where}: {spot} should be {expected}.",
        remedy="Fetch the file again, or check that it is the one you mean.",
        evidence={"spot": spot},
    )


def damaged_line(where: str, line: int, what: str) -> DamagedFile:
    """The error for a line of a file that cannot be read."""
    return DamagedFile(
        f"{where}, line {line}: {what}.",
        remedy="Fetch the file again, or check that it is the one you mean.",
        evidence={"line": line},
    )


class RankEncoder:
    """An encoder that runs tiktoken's library on the ranks and the pattern of a file."""

    greedy = False
    apart: frozenset[int] = frozenset()

    def __init__(
        self, encoding: Encoding, offset: int, ranks: Mapping[bytes, int], pattern: str
    ) -> None:
        self._encoding = encoding
        self.offset = offset
        self.ranks = ranks
        self.pattern = pattern

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of ``text``; names of special tokens in it are text."""
        return tuple(rank + self.offset for rank in self._encoding.encode_ordinary(text))

    def image(self, text: str) -> bytes:
        """The text's own bytes: nothing is normalized."""
        return text.encode()

    def loses(self, text: str) -> bool:
        """False for every text: all 256 bytes have ranks (checked when the encoder is made)."""
        return False


def _encoder(ranks: Sequence[bytes | None], offset: int, pattern: str) -> Encoder | None:
    library = load_if_installed("tiktoken")
    by_bytes = {data: rank for rank, data in enumerate(ranks) if data}
    complete = all(bytes((byte,)) in by_bytes for byte in range(256))
    # The library takes neither gaps nor equal tokens, and needs every byte.
    if library is None or not complete or len(by_bytes) != len(ranks):
        return None
    try:
        encoding: Encoding = library.Encoding(
            name="ranks", pat_str=pattern, mergeable_ranks=by_bytes, special_tokens={}
        )
    except Exception as error:
        raise DamagedFile(
            f"config.pattern is not a pattern that tiktoken reads: {error}."
        ) from error
    return RankEncoder(encoding, offset, by_bytes, pattern)
