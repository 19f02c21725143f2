"""C++ decompositions against eager: values, metadata, and that they end in core ops."""

from __future__ import annotations

import warnings

import pytest
import torch
from decomposition_checker import DecompositionChecker
from rule_checker import (
    assert_no_mismatch,
    channels_last,
    reordered,
    run_samples,
    table_rows,
)

from triptych import _C


@pytest.mark.sweep
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64]
)
def test_op_db(dtype: torch.dtype) -> None:
    checker = DecompositionChecker(_C.apply_decomposition)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_samples(checker, dtype, lambda t: t, 6)
        run_samples(checker, dtype, reordered, 3)
        run_samples(checker, dtype, channels_last, 2)
    assert_no_mismatch(checker)
    assert len(checker.checked) > (70 if dtype is torch.float32 else 25)


X = torch.linspace(-7, 7, 60).reshape(3, 4, 5)
TRICKY = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 89.0, -104.0, 1e-8])
CALLS = [
    ("silu.default", (TRICKY,)),
    ("mish.default", (TRICKY,)),
    ("softplus.default", (TRICKY, 2, 3)),
    ("hardswish.default", (TRICKY,)),
    ("hardsigmoid.default", (TRICKY,)),
    ("hardshrink.default", (TRICKY, 0.5)),
    ("softshrink.default", (TRICKY, 0.5)),
    ("celu.default", (TRICKY, 0.7)),
    ("threshold.default", (TRICKY, 0.1, 20)),
    ("nan_to_num.default", (TRICKY,)),
    ("heaviside.default", (TRICKY, torch.tensor(0.5))),
    ("fmax.default", (TRICKY, TRICKY.flip(0))),
    ("fmin.default", (TRICKY, TRICKY.flip(0))),
    ("xlogy.Tensor", (TRICKY, TRICKY.flip(0))),
    *(("logit.default", (X / 9 + 0.4, eps)) for eps in (None, 0.2, 0.6, 1.5, -0.1, float("nan"))),
    ("logit.default", (X.double() / 9 + 0.4, 0.6)),
    ("logit.default", (X.bfloat16() / 9 + 0.4, 0.6)),
    ("logsumexp.default", (torch.full((3, 4), -float("inf")), [1])),
    ("logsumexp.default", (X, [0, 2], True)),
    ("linalg_vector_norm.default", (X, 3, [1])),
    ("linalg_vector_norm.default", (X, float("inf"), None, True)),
    ("std.correction", (X, [1])),
    ("var_mean.correction", (X.bfloat16(), [1])),
    ("all.dim", ((X > 0).to(torch.uint8), 1)),
    ("_safe_softmax.default", (torch.full((2, 3), -float("inf")), -1)),
    ("baddbmm.default", (torch.full((1, 3, 3), float("nan")), X[:1, :3, :4], X[:1, :4, :3])),
    ("roll.default", (X, [1, -2], [0, 2])),
    ("roll.default", (X, [7])),
    ("_conj.default", (torch.complex(X, X.flip(0))[..., ::2],)),
    ("_neg_view.default", (X[..., ::2],)),
    ("view_as_complex.default", (torch.randn(3, 4, 6)[..., 2:4],)),
    ("eye.m", (3, 5)),
    ("tril.default", (X, -1)),
    ("pixel_shuffle.default", (torch.arange(48.0).reshape(1, 12, 2, 2), 2)),
    ("upsample_nearest2d.default", (torch.randn(1, 2, 5, 7), [8, 3])),
    ("upsample_nearest2d.default", (channels_last(torch.randn(1, 4, 5, 7)), [10, 14], 2.0, 2.0)),
    ("_upsample_nearest_exact2d.default", (torch.randn(1, 2, 5, 7), [8, 3])),
    ("upsample_bilinear2d.default", (torch.randn(1, 2, 5, 7), [8, 3], False)),
    ("upsample_bilinear2d.default", (torch.randn(1, 2, 5, 7), [10, 14], True, 2.0, 2.0)),
    (
        "native_batch_norm.default",
        (X, None, None, torch.zeros(4), torch.ones(4), False, 0.1, 1e-5),
    ),
    ("native_batch_norm.default", (X, None, None, None, None, True, 0.1, 1e-5)),
    (
        "_native_batch_norm_legit_functional.default",
        (X, None, None, torch.zeros(4), torch.ones(4), True, 0.1, 1e-5),
    ),
]


@pytest.mark.parametrize("call", CALLS, ids=[f"{i}-{c[0]}" for i, c in enumerate(CALLS)])
def test_edge_values(call) -> None:
    key, args = call
    base, overload = key.split(".")
    op = getattr(getattr(torch.ops.aten, base), overload)
    checker = DecompositionChecker(_C.apply_decomposition)
    with checker:
        op(*args)
    assert_no_mismatch(checker)
    assert checker.checked[key] == 1


def test_rms_norm() -> None:
    """On the CPU the op is composite, so that it is not met there."""
    weight = torch.arange(5.0)
    for x in (X, X.bfloat16()):
        args = (x, [5], weight.to(x.dtype), None)
        ours = _C.apply_decomposition("fused_rms_norm", "aten::_fused_rms_norm", "", args, {})
        torch.testing.assert_close(ours[0], torch.nn.functional.rms_norm(*args))


def test_every_decomposition_of_the_table_exists() -> None:
    named = {row["decompose"] for row in table_rows().values() if "decompose" in row}
    assert len(named) > 90
    assert [name for name in sorted(named) if not _C.has_decomposition(name)] == []
    assert not _C.has_decomposition("no_such_decomposition")
