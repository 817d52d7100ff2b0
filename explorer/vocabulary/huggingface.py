"""Tokenizers of the `tokenizers` library: every ``tokenizer.json`` and transformers' fast ones.

Bytes come from the model's pieces through the declared decoder; an added token that is not special
is literally its content, whatever the decoder would make of it (but a character that stands for a
space stands for one there too). An added token that is a piece of the model as well, with other
bytes, would mean two things: such a tokenizer is refused. Ids the library calls special, and the
unknown token, are not text.

Cost: about 2 µs for each piece. The caller's object stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tokenizers import Tokenizer

from explorer.errors import UnsupportedTokenizer, VocabularyError
from explorer.vocabulary.byte_alphabet import BYTE_OF
from explorer.vocabulary.decoder import PieceReader, piece_reader
from explorer.vocabulary.encoder import TokenizersEncoder
from explorer.vocabulary.image import declaration, parse_component
from explorer.vocabulary.model_facts import ModelFacts
from explorer.vocabulary.reading import Reading, checked_width


def read_tokenizer(
    tokenizer: Tokenizer,
    also_special: Mapping[int, str] | None = None,
    special_names: Iterable[str] = (),
) -> Reading:
    """Read a tokenizer of the `tokenizers` library.

    Args:
        tokenizer: The tokenizer; left as it is.
        also_special: Ids that its owner calls special beyond the tokenizer's own flags.
        special_names: Pieces or added tokens that its owner calls special, by name.

    Raises:
        UnsupportedTokenizer: A component does not leave each piece its own bytes.
        VocabularyError: Ids are out of range, or one id has two pieces.
    """
    model = ModelFacts.of(tokenizer)
    declared = declaration(tokenizer)
    reader = _reader(tokenizer, model)
    added = tokenizer.get_added_tokens_decoder()
    pieces = tokenizer.get_vocab(with_added_tokens=False)
    width = checked_width(max([*pieces.values(), *added, -1]), "The tokenizer")

    names: list[str | None] = [None] * width
    contents = ((entry.content, token) for token, entry in added.items())
    for piece, token in (*pieces.items(), *contents):
        if names[token] not in (None, piece):
            raise VocabularyError(
                f"The id {token} belongs to two pieces, {names[token]!r} and {piece!r}.",
                remedy="Give every piece an id of its own.",
                evidence={"id": token, "pieces": (names[token], piece)},
            )
        names[token] = piece
    # A piece that stands twice (Unigram lists may) keeps both ids; the dictionary has one.
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
    notes = [*declared.notes, *reader.notes]
    differing: list[int] = []
    for token, entry in added.items():
        if token not in special:
            tokens[token] = declared.literal(entry.content)
            if reader.read(entry.content) != tokens[token]:
                if entry.content in pieces and reader.joins == "none":
                    raise UnsupportedTokenizer(
                        f"added_token {entry.content!r}",
                        f"its id {token} is also a piece of the model, where it stands for "
                        f"{reader.read(entry.content)!r}",
                    )
                differing.append(token)
            found = declared.normalize(entry.content) if entry.normalized else entry.content
            if entry.lstrip or entry.rstrip or declared.literal(found) != tokens[token]:
                notes.append(
                    f"The added token {entry.content!r} is found as {found!r}"
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

    # What normalizes to nothing is never found, and the library's search for it breaks down.
    literal = {
        token: entry
        for token, entry in added.items()
        if token not in special and not (entry.normalized and not declared.normalize(entry.content))
    }
    return Reading(
        tokens=tokens,
        special=special,
        pieces=known,
        notes=tuple(dict.fromkeys(notes)),
        encoder=TokenizersEncoder(tokenizer, model, reader, declared, literal, frozenset(special)),
        probes=tuple(
            text
            for text in (*special.values(), *(entry.content for entry in literal.values()))
            if text
        ),
    )


def _reader(tokenizer: Tokenizer, model: ModelFacts) -> PieceReader:
    """The declared decoder's reader, where it fits the model."""
    declared = parse_component(tokenizer.decoder, "decoder")
    if declared is None and model.kind == "WordLevel":
        # One piece is one whole word, and without a decoder the library puts a space between two.
        note = "Every word writes a space before it; a text's first word does not print it."
        return PieceReader(lambda piece: f" {piece}".encode(), (note,), joins="before")
    reader = piece_reader(declared)
    if model.byte_fallback and not reader.byte_fallback:
        raise UnsupportedTokenizer(
            f"model.{model.kind}.byte_fallback",
            "the model writes bytes as <0xNN>, but the decoder does not read them back",
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


def _covers_bytes(reader: PieceReader, pieces: Mapping[str, int]) -> bool:
    """Whether every byte has a piece, so that there is no text without one."""
    if reader.byte_fallback:
        return all(f"<0x{byte:02X}>" in pieces for byte in range(256))
    return reader.byte_level and all(character in pieces for character in BYTE_OF)
