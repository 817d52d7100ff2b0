"""One random number per step, as a function of its position: no state to carry, save or rewind.

A generator with a state would tie a draw to everything drawn before it, so that going back and
forth in a session, or decoding in another batch, would change what follows. Here the number at
(seed, stream, position) is the counter-based generator Philox 4x32-10 at that point: the same on
every path to it, in every batch, on every device. A *stream* is one sequence, such as a row of a
batch.

The generator is the one of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
1, 2, 3" (SC 2011), section 3.3: ten rounds of two 32 × 32 → 64-bit products. The key is the seed,
the counter is (position, stream), each as two 32-bit words, low word first. The first two words
of output make the 53 bits of a float64, all of them exact, so that the scalar form, the tensor
form and the fused kernel agree bit for bit.

Cost: a few microseconds for the scalar form; about eighty small tensor operations for the tensor
form, whatever its size. It is not meant for cryptography.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from explorer.errors import ExplorerError

PHILOX_MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
PHILOX_WEYL: Final = (0x9E3779B9, 0xBB67AE85)
PHILOX_ROUNDS: Final = 10

_WORD: Final = 0xFFFFFFFF


def philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Four 32-bit words of Philox 4x32-10 for one counter and key.

    Example:
        >>> [f"{word:08x}" for word in philox((0, 0, 0, 0), (0, 0))]
        ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(PHILOX_ROUNDS):
        first, second = PHILOX_MULTIPLIERS[0] * c0, PHILOX_MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (
            (second >> 32) ^ c1 ^ k0,
            second & _WORD,
            (first >> 32) ^ c3 ^ k1,
            first & _WORD,
        )
        k0, k1 = (k0 + PHILOX_WEYL[0]) & _WORD, (k1 + PHILOX_WEYL[1]) & _WORD
    return c0, c1, c2, c3


def uniform(seed: int, stream: int, position: int) -> float:
    """The random number of one seed, stream and position.

    Args:
        seed: 0 to 2**64 - 1.
        stream: 0 to 2**63 - 1, such as the row of a batch.
        position: 0 to 2**63 - 1, the number of tokens before the one to draw.

    Returns:
        A multiple of 2**-53 in [0, 1).

    Raises:
        ExplorerError: A number is out of its range.

    Example:
        >>> uniform(0, 0, 0) == uniform(0, 0, 0) != uniform(0, 1, 0)
        True
    """
    for name, place in (("stream", stream), ("position", position)):
        if not 0 <= place < 2**63:
            raise ExplorerError(
                f"There is no random number at {name} {place}.",
                remedy=f"A {name} is 0 to 2**63 - 1.",
                evidence={name: place},
            )
    counter = (position & _WORD, position >> 32, stream & _WORD, stream >> 32)
    words = philox(counter, seed_words(seed))
    return ((words[0] >> 5) * 2.0**26 + (words[1] >> 6)) * 2.0**-53


def uniforms(seed: int, streams: Tensor, positions: Tensor) -> Tensor:
    """The random numbers of many streams and positions, on the tensors' device.

    Without host synchronisation and data-dependent shapes, so it can be captured in a CUDA graph.

    Args:
        seed: 0 to 2**64 - 1.
        streams: int64[...], 0 or more.
        positions: int64[...], 0 or more; broadcast against ``streams``.

    Returns:
        float64[...] in [0, 1), each equal to `uniform` of its stream and position.

    Raises:
        ExplorerError: The seed is out of range, or a tensor is not of integers.

    Example:
        >>> rows = torch.arange(3)
        >>> uniforms(7, rows, torch.tensor(5)).tolist() == [uniform(7, row, 5) for row in range(3)]
        True
    """
    k0, k1 = seed_words(seed)
    for name, tensor in (("streams", streams), ("positions", positions)):
        if tensor.dtype != torch.int64:
            raise ExplorerError(
                f"`{name}` is of {tensor.dtype}, not of int64.",
                remedy=f"Write {name}.to(torch.int64).",
                evidence={"name": name, "dtype": str(tensor.dtype)},
            )
    c0, c1 = positions & _WORD, (positions >> 32) & _WORD
    c2, c3 = streams & _WORD, (streams >> 32) & _WORD
    for _ in range(PHILOX_ROUNDS):
        # Signed products wrap modulo 2**64, so their bits equal those of unsigned products; the
        # mask after the arithmetic shift removes the copies of the sign bit.
        first, second = c0 * PHILOX_MULTIPLIERS[0], c2 * PHILOX_MULTIPLIERS[1]
        c0, c1, c2, c3 = (
            ((second >> 32) & _WORD) ^ c1 ^ k0,
            second & _WORD,
            ((first >> 32) & _WORD) ^ c3 ^ k1,
            first & _WORD,
        )
        k0, k1 = (k0 + PHILOX_WEYL[0]) & _WORD, (k1 + PHILOX_WEYL[1]) & _WORD
    return ((c0 >> 5) * 2**26 + (c1 >> 6)).to(torch.float64) * 2.0**-53


def seed_words(seed: int) -> tuple[int, int]:
    """The Philox key of a seed: its low and its high 32 bits.

    Raises:
        ExplorerError: The seed is not a 64-bit number.
    """
    if not 0 <= seed < 2**64:
        raise ExplorerError(
            f"The seed {seed} is not a 64-bit number.",
            remedy="Take one of 0 to 2**64 - 1.",
            evidence={"seed": seed},
        )
    return seed & _WORD, seed >> 32
