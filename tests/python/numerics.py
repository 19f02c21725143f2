"""The project's rule for "equal to eager" (docs/numerics.md), used by every test that compares
results.

A tensor passes if it is close to eager's at the dtype's default tolerance; else if its largest
error against a float64 reference is at most twice eager's plus two units in the last place of the
output dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map

_WIDE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


def widen(tree: Any) -> Any:
    """Every floating or complex tensor in `tree` in double precision."""

    def one(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.dtype in _WIDE:
            return leaf.detach().to(_WIDE[leaf.dtype])
        return leaf

    return tree_map(one, tree)


def _unit_in_last_place(reference: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    magnitude = reference.abs().max() if reference.numel() else torch.zeros((), dtype=torch.float64)
    return magnitude.to(torch.float64) * torch.finfo(dtype).eps


def _passes_reference(actual: torch.Tensor, eager: torch.Tensor, reference: torch.Tensor) -> bool:
    if not actual.dtype.is_floating_point and not actual.dtype.is_complex:
        return False
    reference = reference.to(_WIDE.get(actual.dtype, actual.dtype))
    if not torch.equal(torch.isnan(actual), torch.isnan(eager)):
        return False
    if not torch.equal(torch.isinf(actual), torch.isinf(eager)):
        return False
    finite = torch.isfinite(reference) & torch.isfinite(actual) & torch.isfinite(eager)
    wide = reference.dtype
    ours = (actual.to(wide) - reference).abs()[finite]
    theirs = (eager.to(wide) - reference).abs()[finite]
    if ours.numel() == 0:
        return True
    limit = 2 * theirs.max() + 2 * _unit_in_last_place(reference[finite], actual.dtype)
    return bool(ours.max() <= limit)


def _check_metadata(got: torch.Tensor, want: torch.Tensor, strides: bool, where: str) -> None:
    assert isinstance(got, torch.Tensor), f"{where}: {type(got).__name__}, expected a tensor"
    assert got.dtype == want.dtype, f"{where}: dtype {got.dtype}, expected {want.dtype}"
    assert got.shape == want.shape, (
        f"{where}: shape {tuple(got.shape)}, expected {tuple(want.shape)}"
    )
    if strides and want.layout == torch.strided and want.numel() > 1:
        same = [
            a == b for a, b, n in zip(got.stride(), want.stride(), want.shape, strict=True) if n > 1
        ]
        assert all(same), f"{where}: strides {got.stride()}, expected {want.stride()}"


def check_equal(
    actual: Any,
    eager: Any,
    reference: Callable[[], Any] | None = None,
    *,
    strides: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    label: str = "",
) -> None:
    """Raises AssertionError unless `actual` equals `eager` by the rule.

    `reference` computes the same thing in float64 (see `widen`); it is called only when the first
    half of the rule fails. Structure, dtype, device, shape and (with `strides`) strides must be
    eager's.
    """
    got, got_spec = tree_flatten(actual)
    want, want_spec = tree_flatten(eager)
    assert len(got) == len(want), f"{label}: {len(got)} results, expected {len(want)}"
    assert got_spec == want_spec, f"{label}: structure {got_spec}, expected {want_spec}"
    wide: list[Any] | None = None
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        where = f"{label} result {i}"
        if not isinstance(w, torch.Tensor):
            assert g == w or (g != g and w != w), f"{where}: {g!r}, expected {w!r}"
            continue
        _check_metadata(g, w, strides, where)
        try:
            torch.testing.assert_close(
                g, w, rtol=rtol, atol=atol, equal_nan=True, check_stride=False
            )
        except AssertionError as first:
            if reference is None:
                raise AssertionError(f"{where}: {first}") from None
            if wide is None:
                wide = tree_flatten(reference())[0]
            if not _passes_reference(g, w, wide[i]):
                raise AssertionError(f"{where}: {first}") from None
