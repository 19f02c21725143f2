"""`out=` into memory that overlaps itself, or an operand in part. Eager refuses most of it; a graph
has values instead of memory, and would give an answer. So it is left to eager."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from . import errors

_OVERLAPS_ITSELF = 1  # of torch._debug_has_internal_overlap; 2: hard to say


def refuse(operands: Any, out: Any) -> None:
    """Raises UnsupportedError for such a write."""
    for written in _tensors(out):
        itself = torch._debug_has_internal_overlap(written) == _OVERLAPS_ITSELF
        if itself or any(_overlaps_in_part(written, read) for read in _tensors(operands)):
            raise errors.UnsupportedError(
                "out= is memory that overlaps itself or an operand", "normalize.overlapping_write"
            )


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _overlaps_in_part(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.untyped_storage()._cdata != b.untyped_storage()._cdata:
        return False
    same = (a.storage_offset(), a.shape, a.stride()) == (b.storage_offset(), b.shape, b.stride())
    return not same and _begin(a) < _end(b) and _begin(b) < _end(a)


def _begin(tensor: torch.Tensor) -> int:
    return tensor.storage_offset()


def _end(tensor: torch.Tensor) -> int:
    if tensor.numel() == 0:
        return tensor.storage_offset()
    reach = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.storage_offset() + reach + 1
