"""Shape rules against eager: sizes, strides, dtypes, aliasing and error messages, bit by bit."""

from __future__ import annotations

import random
import warnings

import pytest
import torch
from rule_checker import (
    RuleChecker,
    assert_no_mismatch,
    channels_last,
    gapped,
    reordered,
    run_samples,
    table_rows,
)

from triptych import _C

LAYOUTS = {
    "as_given": lambda t: t,
    "reordered": reordered,
    "channels_last": channels_last,
    "gapped": gapped,
}


@pytest.mark.sweep
@pytest.mark.parametrize("layout", LAYOUTS)
def test_op_db_float32(layout: str) -> None:
    checker = RuleChecker(_C.apply_shape_rule)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_samples(checker, torch.float32, LAYOUTS[layout], 6)
    assert_no_mismatch(checker)
    assert len(checker.checked) > 250


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_op_db_dtypes(dtype: torch.dtype) -> None:
    checker = RuleChecker(_C.apply_shape_rule)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_samples(checker, dtype, LAYOUTS["as_given"], 4)
        run_samples(checker, dtype, LAYOUTS["reordered"], 2)
    assert_no_mismatch(checker)
    assert len(checker.checked) > 100


def random_layout(draw: random.Random, shape: list[int]) -> torch.Tensor:
    """A tensor of the shape: permuted, expanded, sliced or dense, of a random dtype."""
    dtype = draw.choice([torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool])
    order = list(range(len(shape)))
    draw.shuffle(order)
    kept = [1 if draw.random() < 0.15 else size for size in shape]
    step = draw.choice([1, 1, 2])
    physical = [kept[d] * (step if i == len(order) - 1 else 1) for i, d in enumerate(order)]
    t = torch.zeros(physical, dtype=dtype)
    if order and step > 1:
        t = t[..., ::step]
    inverse = sorted(range(len(order)), key=lambda i: order[i])
    t = t.permute(inverse)
    return t.expand(shape) if draw.random() < 0.5 else t


def test_iterator_strides_on_random_layouts() -> None:
    """Two and three operands of every layout: the hardest part of a pointwise rule."""
    draw = random.Random(0)
    checker = RuleChecker(_C.apply_shape_rule)
    for _ in range(1500):
        shape = [draw.choice([1, 2, 3, 5, 0]) if draw.random() < 0.1 else draw.choice([1, 2, 3])
                 for _ in range(draw.randrange(0, 6))]  # fmt: skip
        a, b, c = (random_layout(draw, shape[draw.randrange(0, 2) :]) for _ in range(3))
        with checker:
            torch.mul(a, b)
            torch.eq(a, b)
            torch.atan(a)
            torch.add(c, 1.5)
            torch.where(a.bool(), b, c)
            torch.true_divide(a, 2)
            a.clone()
            torch.empty_like(b)
    assert_no_mismatch(checker)


def test_convolutions_of_every_layout() -> None:
    draw = random.Random(0)
    checker = RuleChecker(_C.apply_shape_rule)
    convolve = {1: torch.conv1d, 2: torch.conv2d, 3: torch.conv3d}
    transposed = {1: torch.conv_transpose1d, 2: torch.conv_transpose2d, 3: torch.conv_transpose3d}
    for _ in range(150):
        dims = draw.randrange(1, 4)
        groups = draw.choice([1, 1, 2])
        dtype = draw.choice([torch.float32, torch.bfloat16, torch.float64])
        channels = groups * draw.randrange(1, 4)
        kernel = draw.randrange(1, 4)
        size = draw.randrange(5, 9)
        x = torch.randn(draw.randrange(1, 3), channels, *[size] * dims).to(dtype)
        w = torch.randn(channels, channels // groups, *[kernel] * dims).to(dtype)
        x, w = (channels_last(t) if draw.random() < 0.5 else t for t in (x, w))
        b = torch.randn(channels).to(dtype) if draw.random() < 0.5 else None
        stride, padding, dilation = (draw.randrange(1, 3) for _ in range(3))
        with checker:
            if draw.random() < 0.3:
                extra = draw.randrange(0, stride)
                transposed[dims](x, w, b, stride, padding, extra, groups, dilation)
            else:
                convolve[dims](x, w, b, stride, padding, dilation, groups)
    assert_no_mismatch(checker)


def permuted(draw: random.Random, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
    order = draw.sample(range(len(shape)), len(shape))
    dense = torch.randn([shape[d] for d in order], dtype=dtype)
    return dense.permute([order.index(d) for d in range(len(shape))])


def test_fourier_transforms_of_every_layout() -> None:
    draw = random.Random(0)
    checker = RuleChecker(_C.apply_shape_rule)
    for _ in range(200):
        shape = [draw.randrange(1, 6) for _ in range(draw.randrange(1, 5))]
        dims = draw.sample(range(len(shape)), draw.randrange(1, len(shape) + 1))
        real = permuted(draw, shape, torch.float32)
        unreal = permuted(draw, shape, torch.complex64)
        with checker:
            torch.fft.fftn(unreal, dim=dims)
            torch.fft.rfftn(real, dim=dims)
            torch.fft.irfftn(unreal, [shape[d] + 1 for d in dims], dim=dims)
            torch.fft.fft(real, dim=dims[0])
    assert_no_mismatch(checker)
    assert {"_fft_c2c.default", "_fft_r2c.default", "_fft_c2r.default"} <= set(checker.checked)


def test_complex_parts_of_every_layout() -> None:
    draw = random.Random(0)
    checker = RuleChecker(_C.apply_shape_rule)
    for _ in range(50):
        x = permuted(draw, [draw.randrange(1, 4) for _ in range(3)], torch.complex64)
        for t in (x, gapped(x), x[:1].expand(x.shape)):
            with checker:
                torch.angle(t)
                torch.abs(t)
                torch.sgn(t)
                torch.view_as_real(t)
                torch.complex(t.real, t.imag)
                torch.polar(t.real, t.imag)
    assert_no_mismatch(checker)
    assert {"angle.default", "abs.default", "complex.default"} <= set(checker.checked)


def test_attention_and_singular_values_of_every_layout() -> None:
    draw = random.Random(0)
    checker = RuleChecker(_C.apply_shape_rule)
    for _ in range(60):
        batch, heads, length, depth = (draw.randrange(1, 4) for _ in range(4))
        order = draw.sample(range(3), 3)  # the last dimension stays innermost
        sizes = [batch, heads, length]
        query = torch.randn(*(sizes[d] for d in order), 8 * depth * draw.choice([1, 2]))
        query = query[..., : 8 * depth].permute(*(order.index(d) for d in range(3)), 3)
        key, value = (torch.randn(batch, heads, 5, 8 * depth) for _ in range(2))
        matrices = permuted(draw, [batch, heads, length], torch.float32)
        with checker:
            torch.nn.functional.scaled_dot_product_attention(query, key, value)
            torch.linalg.svd(matrices, full_matrices=draw.random() < 0.5)
    assert_no_mismatch(checker)
    assert checker.checked["_scaled_dot_product_flash_attention_for_cpu.default"] > 10


X = torch.zeros(2, 3)
BAD_CALLS = [
    ("add.Tensor", (X, torch.zeros(2, 4)), {}),
    ("add.Tensor", (X.long(), X.long()), {"alpha": 1.5}),
    ("sub.Tensor", (X.bool(), X.bool()), {}),
    ("neg.default", (X.bool(),), {}),
    ("sum.dim_IntList", (X, [5]), {}),
    ("sum.dim_IntList", (X, [0, 0]), {}),
    ("mean.dim", (X.long(), [0]), {}),
    ("amax.default", (torch.zeros(0, 3), [0]), {}),
    ("amax.default", (torch.zeros(0, 3), []), {}),
    ("argmax.default", (torch.zeros(0),), {}),
    ("max.dim", (torch.zeros(0, 3), 0), {}),
    ("view.default", (X, [5]), {}),
    ("view.default", (X.t(), [6]), {}),
    ("view.default", (X, [-1, -1]), {}),
    ("permute.default", (X, [0, 0]), {}),
    ("permute.default", (X, [0]), {}),
    ("transpose.int", (X, 0, 3), {}),
    ("t.default", (torch.zeros(1, 2, 3),), {}),
    ("expand.default", (X, [3]), {}),
    ("expand.default", (X, [4, 4]), {}),
    ("select.int", (X, 0, 2), {}),
    ("slice.Tensor", (X, 0, 0, 2, 0), {}),
    ("unsqueeze.default", (X, 4), {}),
    ("split_with_sizes.default", (X, [1, 1], 1), {}),
    ("unfold.default", (X, 1, 4, 1), {}),
    ("mm.default", (X, X), {}),
    ("mm.default", (X, torch.zeros(3)), {}),
    ("addmm.default", (torch.zeros(5), X, torch.zeros(3, 4)), {}),
    ("bmm.default", (torch.zeros(1, 2, 3), torch.zeros(1, 2, 3)), {}),
    ("cat.default", ([X, torch.zeros(2, 4)], 0), {}),
    ("cat.default", ([torch.tensor(1.0)], 0), {}),
    ("stack.default", ([X, torch.zeros(3)], 0), {}),
    ("native_layer_norm.default", (X, [2], None, None, 1e-5), {}),
    ("index_select.default", (X, 0, torch.zeros(2)), {}),
    ("gather.default", (X, 0, torch.zeros(2, dtype=torch.int64)), {}),
    ("embedding.default", (X, torch.zeros(2)), {}),
    ("arange.start_step", (0, 5, 0), {}),
    ("arange.start_step", (0, 5, -1), {}),
    ("full.default", ([-1], 0), {}),
    ("constant_pad_nd.default", (X, [-4, 0]), {}),
    ("topk.default", (X, 4), {}),
    ("where.self", (X, X, X), {}),
    ("repeat.default", (X, [2]), {}),
    ("glu.default", (X, 1), {}),
    (
        "convolution.default",
        (
            torch.zeros(1, 3, 4, 4),
            torch.zeros(2, 2, 3, 3),
            None,
            [1, 1],
            [0, 0],
            [1, 1],
            False,
            [0, 0],
            1,
        ),
        {},
    ),  # fmt: skip
    (
        "convolution.default",
        (
            torch.zeros(1, 2, 2, 2),
            torch.zeros(2, 2, 3, 3),
            None,
            [1, 1],
            [0, 0],
            [1, 1],
            False,
            [0, 0],
            1,
        ),
        {},
    ),  # fmt: skip
    ("max_pool2d_with_indices.default", (torch.zeros(1, 1, 2, 2), [3, 3]), {}),
]


@pytest.mark.parametrize("call", BAD_CALLS, ids=[f"{i}-{c[0]}" for i, c in enumerate(BAD_CALLS)])
def test_bad_arguments_raise_what_eager_raises(call) -> None:
    key, args, kwargs = call
    base, overload = key.split(".")
    op = getattr(getattr(torch.ops.aten, base), overload)
    with pytest.raises((RuntimeError, IndexError, ValueError)) as eager:
        op(*args, **kwargs)
    rule = table_rows()[key]["shape"]
    with pytest.raises((RuntimeError, IndexError, ValueError)) as ours:
        _C.apply_shape_rule(rule, op._schema.name, op._schema.overload_name, args, kwargs)
    assert type(ours.value) is type(eager.value)
    assert str(ours.value).split("\n")[0] == str(eager.value).split("\n")[0]


def test_every_rule_of_the_table_exists() -> None:
    named = {row["shape"] for row in table_rows().values() if "shape" in row}
    assert len(named) > 100
    assert [rule for rule in sorted(named) if not _C.has_shape_rule(rule)] == []
    assert not _C.has_shape_rule("no_such_rule")


def test_a_missing_rule_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        _C.apply_shape_rule("no_such_rule", "aten::relu", "", (X,), {})
