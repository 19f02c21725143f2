"""`out=` into memory that overlaps: eager's answer or eager's error, never another answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import triptych

X = torch.arange(12.0).reshape(3, 4)
Function = Callable[[torch.Tensor], Any]


def outcome(function: Function) -> tuple[Any, torch.Tensor]:
    x = X.clone()
    with torch.no_grad():
        try:
            return function(x), x
        except Exception as error:
            return error, x


@pytest.mark.parametrize(
    ("function", "compiled"),
    [
        (lambda x: torch.add(x[:2], 1, out=x[1:]), False),
        (lambda x: torch.maximum(x[:2], x[1:], out=x[:2]), False),
        (lambda x: torch.add(x, 1, out=x), True),
        (lambda x: torch.add(x[:1], 1, out=x[1:2]), True),
        (lambda x: torch.add(x, x, out=torch.empty(3, 4)), True),
    ],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_as_eager(function: Function, compiled: bool, dynamic: bool) -> None:
    triptych.reset()
    expected, x = outcome(function)
    got, y = outcome(triptych.compile(function, dynamic=dynamic))
    assert torch.equal(x, y)
    if isinstance(expected, Exception):
        assert isinstance(got, type(expected)) and str(expected) in str(got)
    else:
        torch.testing.assert_close(got, expected)
    fell_back = any(name.startswith("fallback.") for name in triptych.counters())
    assert fell_back != compiled


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.add(x[:2], 1, out=x[1:]),
        lambda x: torch.mul(x[:1], 2, out=x.as_strided((1, 4), (0, 0))),
        lambda x: x[1:].add_(x[:-1]),
        lambda x: x[1:].copy_(x[:-1]),
        lambda x: x[:, 1:].add_(x[:, :-1]),
        lambda x: x[:, 1:3].mul_(x[:, :1].expand(3, 4)[:, :2]),
        lambda x: torch.cat([x[:1], x[1:2]], out=x[:2]),
        lambda x: torch.exp(x[:, :3].t(), out=x[:, :3].t().t()),
    ],
)
def test_direct_normalization_leaves_it_to_eager(function: Function) -> None:
    with pytest.raises(triptych.errors.UnsupportedError) as error:
        triptych.normalize(function, (X.clone(),))
    assert error.value.code == "normalize.overlapping_write"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:, :2].add_(x[:, 2:]),
        lambda x: torch.add(x[:, 0], 1, out=x[:, 3]),
        lambda x: x[::2].add_(x[1:2]),
        lambda x: x[:, ::2].mul_(x[:, 1::2]),
        lambda x: x.view(3, 2, 2)[:, 0].add_(x.view(3, 2, 2)[:, 1]),
    ],
)
def test_views_that_interleave_are_compiled(function: Function) -> None:
    expected, x = outcome(function)
    y = X.clone()
    (got,) = triptych.generate(triptych.normalize(function, (y.clone(),)))(y)
    assert torch.equal(got, expected) and torch.equal(x, y)


INTS = torch.zeros(3, 4, dtype=torch.int64)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: torch.add(x, 1, out=i),
        lambda x, i: torch.sqrt(i, out=i),
        lambda x, i: torch.mean(x, 0, out=i[0]),
        lambda x, i: torch.mm(x[:, :3], x, out=i),
        lambda x, i: torch.where(x > 1, x, x, out=i),
        lambda x, i: torch.exp(x, out=i.clone()),
        lambda x, i: torch.index_select(x, 0, i[:, 0].clone(), out=i),
        lambda x, i: torch.cat([x, x], out=torch.zeros(6, 4, dtype=torch.int64)),
        lambda x, i: torch.gt(x, 1, out=i),
    ],
)
def test_out_of_another_dtype(function: Any) -> None:
    """Refused in eager's words while tracing, or converted as in eager."""
    inputs = (X.clone(), INTS.clone())
    try:
        expected = function(*inputs)
    except (RuntimeError, TypeError) as eager:
        with pytest.raises(type(eager)) as ours:
            triptych.normalize(function, (X.clone(), INTS.clone()))
        assert str(eager).splitlines()[0] in str(ours.value)
        return
    got_inputs = (X.clone(), INTS.clone())
    got = triptych.generate(triptych.normalize(function, got_inputs))(*got_inputs)[0]
    assert torch.equal(got, expected)
    assert all(map(torch.equal, got_inputs, inputs))


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bfloat16, torch.float64])
@pytest.mark.parametrize(
    "reduce",
    [
        *(torch.sum, torch.prod, torch.nansum, torch.mean, torch.any, torch.all, torch.amax),
        *(torch.argmax, torch.logsumexp, torch.var, torch.softmax, torch.log_softmax),
        *(torch.cumsum, torch.cumprod, torch.logcumsumexp),
    ],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("given", [torch.float32, torch.int32])
@torch.no_grad()
def test_computed_in_the_dtype_of_out(reduce: Any, dtype: torch.dtype, given: torch.dtype) -> None:
    """Eager sums integers where `out=` has integers: no conversion of a sum of floats."""
    x = torch.tensor([1.5, 1.5, 0.7, 2.1, 0.1])
    outs = [torch.zeros(reduce(x, 0).shape, dtype=dtype) for _ in range(2)]
    x = x.to(given)
    answers = []
    for run, out in zip((reduce, triptych.compile(reduce)), outs, strict=True):
        try:
            answers.append(run(x, 0, out=out))
        except RuntimeError as error:
            answers.append(str(error))
    if isinstance(answers[0], str):
        assert answers[0] == answers[1]
    else:
        assert torch.equal(*answers) and answers[1] is outs[1]
    assert torch.equal(*outs)


def through_expand(x: torch.Tensor) -> Any:
    y = (x * 1e20).expand(3, 4)
    y[0] = 1
    return y


def through_expand_of_input(x: torch.Tensor) -> Any:
    x.expand(3, 4)[1:2].mul_(2)
    return x


def through_unfold(x: torch.Tensor) -> Any:
    made = x * 1
    windows = made.unfold(0, 2, 1)
    windows[0] = 9
    return made, windows


def through_strides(x: torch.Tensor) -> Any:
    made = x * 1
    windows = made.as_strided((3, 2), (1, 1))
    windows[0] = 9
    return made, windows


@pytest.mark.parametrize(
    "function", [through_expand, through_expand_of_input, through_unfold, through_strides]
)
@torch.no_grad()
def test_writes_into_views_of_what_overlaps(function: Function) -> None:
    x, y = torch.arange(4.0), torch.arange(4.0)
    assert repr(triptych.compile(function)(x)) == repr(function(y))
    assert torch.equal(x, y)


@pytest.mark.parametrize("strides", [(0, 1), (1, 0), (0, 2)])
def test_scatter_into_what_overlaps_is_laid_out_anew(strides: tuple[int, int]) -> None:
    x = torch.arange(6.0).as_strided((2, 3), strides)

    def function(x: torch.Tensor) -> Any:
        return torch.select_scatter(x, x[0] + 1, 0, 0), torch.slice_scatter(x, x[:1] + 5, 0, 1)

    got = triptych.generate(triptych.normalize(function, (x,)))(x)
    for one, other in zip(got, function(x), strict=True):
        assert torch.equal(one, other) and one.stride() == other.stride()
