"""Tensors and devices as users give them, checked without waiting for the device."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from explorer.arguments import plain, wrong
from explorer.errors import ExplorerError

_WHOLE: Final = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def checked_tensor(name: str, value: object, wanted: str) -> Tensor:
    """A tensor.

    Args:
        name: The argument.
        value: What was given.
        wanted: What it should be, with its article.

    Raises:
        ExplorerError: It is something else.
    """
    if not isinstance(value, Tensor):
        raise wrong(name, value, wanted)
    return value


def checked_rows(name: str, value: object, batch: int) -> Tensor:
    """One whole number for each row of a batch.

    Args:
        name: The argument.
        value: What was given.
        batch: How many rows there are.

    Raises:
        ExplorerError: It is not a tensor, does not hold whole numbers, or has another shape.
    """
    rows = checked_tensor(name, value, "a tensor, int64[B]")
    if rows.dtype not in _WHOLE:
        raise ExplorerError(
            f"{name} is of {rows.dtype}, not of whole numbers.",
            remedy=f"Give {name} as int64[B].",
            evidence={name: str(rows.dtype)},
        )
    if rows.shape != (batch,):
        raise misfit(name, list(rows.shape), [batch])
    return rows


def misfit(name: str, shape: list[int], expected: list[int]) -> ExplorerError:
    """The error for a tensor of another shape."""
    return ExplorerError(
        f"`{name}` has the shape {shape}, not {expected}.",
        remedy="Logits are [B, W]; states, tokens, constraint and remaining are [B].",
        evidence={"name": name, "shape": shape, "expected": expected},
    )


def checked_device(device: object, *, or_auto: bool = False) -> torch.device:
    """A device that can be used.

    Args:
        device: As torch names it, or torch's own value.
        or_auto: Whether the remedy names "auto" too.

    Raises:
        ExplorerError: There is no device of this name, or it does not work here.
    """
    auto = '"auto", ' if or_auto else ""
    remedy = f'Give {auto}"cpu", or a device of this machine such as "cuda:0".'
    if not isinstance(device, str | torch.device):
        raise wrong("device", device, "the name of a device", remedy=remedy)
    device = plain(device)
    try:
        usable = torch.device(device)
        torch.empty(0, device=usable)
    except (RuntimeError, AssertionError) as error:
        raise ExplorerError(
            f"The device {str(device)!r} cannot be used: {_reason(error)}.",
            remedy=remedy,
            evidence={"device": str(device)},
        ) from error
    return usable


def _reason(error: Exception) -> str:
    """The first sentence of what torch says, without its full stop."""
    return str(error).strip().splitlines()[0].split(". ")[0].rstrip(" .:")
