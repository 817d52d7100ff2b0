"""Reads tokenizers of the `tokenizers` library: every ``tokenizer.json``, transformers' fast ones.

Bytes come from the model's pieces through the declared decoder. An added token that is not special
writes its content, with marks for spaces read as spaces. If the decoder puts spaces between words,
an added token counts as a word and gets one too. A tokenizer is refused if an added token is also a
piece of the model with other bytes. Ids that the library calls special, and the unknown token, are
not text.

Cost: about 2 µs for each piece. The caller's object is not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast

from tokenizers import AddedToken, Tokenizer, models
from tokenizers.decoders import Decoder

from explorer.arguments import instance
from explorer.errors import UnsupportedTokenizer, VocabularyError
from explorer.vocabulary.configs import TIMESTAMPS_NOTE, timestamps
from explorer.vocabulary.guards.limits import check_affix, check_component
from explorer.vocabulary.reading import TokenizerReading, checked_width
from explorer.vocabulary.tokenizer.byte_alphabet import BYTE_OF
from explorer.vocabulary.tokenizer.decoder import (
    ChainReader,
    Component,
    PieceReader,
    WordReader,
    piece_reader,
)
from explorer.vocabulary.tokenizer.encoder import TokenizersEncoder
from explorer.vocabulary.tokenizer.model_facts import ModelFacts
from explorer.vocabulary.tokenizer.preprocessing import Declaration, declaration, parse_component

_DECODERS: Final = {
    "ByteLevel": "tokenizers.decoders.ByteLevel()",
    "Metaspace": "tokenizers.decoders.Metaspace()",
    "WordPiece": "tokenizers.decoders.WordPiece()",
}


def read_tokenizer(
    tokenizer: Tokenizer,
    also_special: Mapping[int, str] | None = None,
    special_names: Iterable[str] = (),
    *,
    decoder: Component | None = None,
    parsed: object = None,
) -> TokenizerReading:
    """Read a tokenizer of the `tokenizers` library.

    Args:
        tokenizer: The tokenizer, which is not changed.
        also_special: Special ids beyond those that the tokenizer's own flags mark, with names.
        special_names: The names of further special tokens.
        decoder: The declaration of a decoder, for a tokenizer that has none.
        parsed: The table of pieces from its file, if it was parsed already, to save asking the
            library for it.

    Raises:
        UnsupportedTokenizer: A component does not give each piece bytes of its own, or exceeds a
            limit (see `explorer.vocabulary.guards.limits`).
        VocabularyError: Ids are out of range, one id has two pieces, or a decoder is given to a
            tokenizer that has one.
    """
    _check_components(tokenizer)
    model = ModelFacts.of(tokenizer)
    declared = declaration(tokenizer)
    reader = _reader(tokenizer, model, declared, decoder)
    added = tokenizer.get_added_tokens_decoder()
    pieces = cast("dict[str, int]", parsed) if isinstance(parsed, dict) else {}
    if len(pieces) != tokenizer.get_vocab_size(with_added_tokens=False):
        pieces = tokenizer.get_vocab(with_added_tokens=False)
    width = checked_width(max([*pieces.values(), *added, -1]), "The tokenizer")

    names: list[str | None] = [None] * width
    contents = ((entry.content, token) for token, entry in added.items())
    for piece, token in (*pieces.items(), *contents):
        if names[token] not in (None, piece):
            raise _two_pieces(pieces, added)
        names[token] = piece
    # A piece that is listed twice (Unigram allows it) keeps both ids; the dictionary has one.
    if len(pieces) < width:
        for token, name in enumerate(names):
            if name is None:
                names[token] = tokenizer.id_to_token(token)

    tokens = [None if name is None else reader.read(name) for name in names]
    known = {**pieces, **{entry.content: token for token, entry in added.items()}}
    special = {token: name for token, name in (also_special or {}).items() if token < width}
    special.update({known[name]: name for name in special_names if name in known})
    if model.unknown is not None:
        special.setdefault(model.unknown, names[model.unknown] or "<unk>")
    special.update({token: entry.content for token, entry in added.items() if entry.special})
    stamps = timestamps(known)
    special.update({known[name]: name for name in stamps})
    notes = [*declared.notes, *reader.notes]
    if stamps:
        notes.append(TIMESTAMPS_NOTE)
    differing: list[int] = []
    for token, entry in added.items():
        if token not in special:
            literal = declared.literal(entry.content)
            tokens[token] = reader.read(entry.content) if reader.joins == "before" else literal
            if reader.read(entry.content) != tokens[token]:
                if entry.content in pieces and reader.joins == "none":
                    raise UnsupportedTokenizer(
                        f"added_token {entry.content!r}",
                        f"its id {token} is also a piece of the model, where it stands for "
                        f"{reader.read(entry.content)!r}",
                    )
                differing.append(token)
            content = declared.normalize(entry.content) if entry.normalized else entry.content
            if entry.lstrip or entry.rstrip or declared.literal(content) != literal:
                notes.append(
                    f"The added token {entry.content!r} is found as {content!r}"
                    + " with the spaces beside it" * (entry.lstrip or entry.rstrip)
                    + ", which is not what it writes."
                )
    if differing:
        notes.append(
            f"{len(differing)} added tokens (the first is {differing[0]}) are their literal "
            f"content here; the decoder would print them otherwise."
        )
    if model.unknown is not None:
        notes.append(
            f"Text without a piece becomes the unknown token {special[model.unknown]!r} "
            f"(id {model.unknown}), which writes nothing."
        )
    elif model.kind == "BPE" and not _covers_bytes(reader, pieces):
        notes.append("Text without a piece is dropped when it is encoded, without a trace.")
    for token in special:
        tokens[token] = None

    # A token that normalizes to the empty text is never found and breaks the library's search.
    literals = {
        token: entry
        for token, entry in added.items()
        if token not in special and not (entry.normalized and not declared.normalize(entry.content))
    }
    return TokenizerReading(
        tokens=tokens,
        special=special,
        pieces=known,
        notes=tuple(dict.fromkeys(notes)),
        encoder=TokenizersEncoder(tokenizer, model, reader, declared, literals, frozenset(special)),
        literal=reader.read if reader.joins == "before" else declared.literal,
        probes=tuple(
            text
            for text in (*special.values(), *(entry.content for entry in literals.values()))
            if text
        ),
        model=model.kind,
    )


def _two_pieces(pieces: Mapping[str, int], added: Mapping[int, AddedToken]) -> VocabularyError:
    """The error for the lowest id with two pieces.

    The order of the library's dictionary varies between processes; the message must not.
    """
    owners: dict[int, set[str]] = {}
    for piece, token in pieces.items():
        owners.setdefault(token, set()).add(piece)
    for token, entry in added.items():
        owners.setdefault(token, set()).add(entry.content)
    token = min(token for token, named in owners.items() if len(named) > 1)
    first, second, *_ = sorted(owners[token])
    return VocabularyError(
        f"The id {token} belongs to two pieces, {first!r} and {second!r}.",
        remedy="Correct the file: every piece has an id of its own. Or write the bytes of each id "
        "by hand with Vocabulary.from_bytes(...).",
        evidence={"id": token, "pieces": (first, second)},
    )


def declared_decoder(decoder: object) -> Component | None:
    """The declaration of a caller's decoder, or None without one.

    Raises:
        VocabularyError: It is not a decoder of the `tokenizers` library.
        UnsupportedTokenizer: It exceeds a limit, or is written in Python.
    """
    if decoder is None:
        return None
    instance(
        "decoder",
        decoder,
        Decoder,
        "a decoder of the tokenizers library",
        remedy="Give for example decoder=tokenizers.decoders.ByteLevel().",
        error=VocabularyError,
    )
    declared = parse_component(decoder, "decoder")
    check_component(declared, "decoder")
    return declared


def _check_components(tokenizer: Tokenizer) -> None:
    for part, component in (
        ("normalizer", tokenizer.normalizer),
        ("pre_tokenizer", tokenizer.pre_tokenizer),
        ("decoder", tokenizer.decoder),
    ):
        check_component(parse_component(component, part), part)
    kind, model = type(tokenizer.model).__name__, tokenizer.model
    if isinstance(model, models.BPE | models.WordPiece):
        check_affix(model.continuing_subword_prefix, f"model.{kind}.continuing_subword_prefix")
    if isinstance(model, models.BPE):
        check_affix(model.end_of_word_suffix, f"model.{kind}.end_of_word_suffix")


def _reader(
    tokenizer: Tokenizer,
    model: ModelFacts,
    preprocessing: Declaration,
    given: Component | None,
) -> PieceReader:
    """The reader of the declared decoder, checked against the model."""
    declared = parse_component(tokenizer.decoder, "decoder")
    if given is not None:
        if declared is not None:
            raise VocabularyError(
                f"The tokenizer declares the decoder {declared.get('type')}, and another one is "
                f"given.",
                remedy="Leave decoder= out: it is for tokenizers that declare no decoder.",
                evidence={"declared": declared.get("type"), "given": given.get("type")},
            )
        declared = given
    if declared is None and model.kind == "WordLevel":
        # A piece is a whole word, and without a decoder the library puts a space between words.
        note = "Every word writes a space before it; a text's first word does not print it."
        return PieceReader(WordReader(), (note,), joins="before")
    if declared is None:
        advice = _DECODERS.get(model.kind) or next(
            (_DECODERS[kind] for kind in preprocessing.kinds if kind in _DECODERS), ""
        )
        raise UnsupportedTokenizer(
            "decoder",
            "none is declared, so the text between two pieces is not known (the library would "
            "print a space between any two)",
            remedy=f"If its pieces are written as its pre-tokenizer writes them, pass "
            f"decoder={advice} to Vocabulary.from_file(...) or from_tokenizer(...)."
            if advice
            else "Pass decoder=... to Vocabulary.from_file(...) or from_tokenizer(...) with the "
            "decoder that its owner uses, such as tokenizers.decoders.Fuse() for pieces that "
            "follow each other directly.",
        )
    reader = piece_reader(declared)
    if reader.suffix and not model.suffix and not _any_holds(tokenizer, reader.suffix):
        note = (
            f"The decoder looks for {reader.suffix!r}, which no piece has: pieces follow each "
            f"other directly."
        )
        reader = PieceReader(ChainReader((), byte_fallback=False), (note,))
    if model.byte_fallback and not reader.byte_fallback:
        raise UnsupportedTokenizer(
            f"model.{model.kind}.byte_fallback",
            "the model writes bytes as <0xNN>, but the decoder does not read them back",
        )
    if model.suffix and reader.byte_level:
        raise UnsupportedTokenizer(
            f"model.{model.kind}.end_of_word_suffix",
            f"words end in {model.suffix!r}, which the decoder ByteLevel prints as it stands; what "
            f"the model's owner prints there is not declared",
            remedy="Write the bytes of each id by hand with Vocabulary.from_bytes(...).",
        )
    if model.suffix != reader.suffix:
        raise UnsupportedTokenizer(
            f"model.{model.kind}.end_of_word_suffix",
            f"words end in {model.suffix!r} for the model and in {reader.suffix!r} for the decoder",
        )
    if model.prefix != reader.prefix:
        raise UnsupportedTokenizer(
            f"model.{model.kind}.continuing_subword_prefix",
            f"words go on with {model.prefix!r} for the model and {reader.prefix!r} for the "
            f"decoder",
        )
    return reader


def _any_holds(tokenizer: Tokenizer, text: str) -> bool:
    return any(text in piece for piece in tokenizer.get_vocab(with_added_tokens=True))


def _covers_bytes(reader: PieceReader, pieces: Mapping[str, int]) -> bool:
    """Whether every byte has a piece, so that every text can be encoded."""
    if reader.byte_fallback:
        return all(f"<0x{byte:02X}>" in pieces for byte in range(256))
    return reader.byte_level and all(character in pieces for character in BYTE_OF)
