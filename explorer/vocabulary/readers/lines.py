"""The lines of a text file that lists pieces."""

from __future__ import annotations

from explorer.errors import DamagedFile


def lines_of(data: bytes, where: str) -> list[str]:
    """The lines of a file, without their line ends.

    Only line feeds end a line: pieces may hold other characters at which `str.splitlines` splits.

    Raises:
        DamagedFile: It is not UTF-8; the byte is named.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DamagedFile(
            f"{where} is not UTF-8: byte {error.start} is {data[error.start]:#04x}.",
            remedy="Fetch the file again.",
            evidence={"offset": error.start},
        ) from error
    return [line.removesuffix("\r") for line in text.split("\n")]
