"""Numbers beside tensors: the dtype that both have together comes first, errors are eager's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from graph_interpreter import Interpreter

import triptych
from numerics import check_equal


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    triptych.reset()
    yield


NUMBERS = (0, 1, -3, 1.5)
DTYPES = (torch.uint8, torch.int8, torch.int64, torch.float16, torch.float32)


def values(dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.tensor([0, 1, -2.5, 200], dtype=dtype)
    info = torch.iinfo(dtype)
    return torch.tensor([0, 1, 3, info.min, info.max], dtype=dtype)


def check(function: Any, *args: Any) -> None:
    with torch.no_grad():
        expected = function(*args)
        (got,) = Interpreter(triptych.normalize(function, args)).run(*args)
        compiled = triptych.compile(function)(*args)
    assert got.dtype == compiled.dtype == expected.dtype
    check_equal(got, expected)
    torch.testing.assert_close(compiled, expected)


def check_raises(function: Any, *args: Any) -> None:
    with pytest.raises(RuntimeError) as eager:
        function(*args)
    with pytest.raises(RuntimeError) as ours:
        triptych.normalize(function, args)
    assert str(eager.value).splitlines()[0] in str(ours.value)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", NUMBERS)
def test_number_minus_tensor(dtype: torch.dtype, number: float) -> None:
    if dtype is torch.uint8 and number == -3:
        number = 250
    check(lambda x: number - x, values(dtype))
    check(lambda x: torch.rsub(x, number, alpha=2), values(dtype))


def test_number_minus_scalar_tensor() -> None:
    check(lambda x: 1.0 - x, torch.tensor(200, dtype=torch.uint8))
    check(lambda x: torch.rsub(x, 1.0, alpha=0.5), values(torch.uint8))
    check(lambda x: (1 + 2j) - x, values(torch.uint8))


def test_subtraction_of_bools_is_refused() -> None:
    mask = torch.tensor([True, False])
    for number in (1, 1.0, True):
        check_raises(lambda x, number=number: number - x, mask)
    check_raises(lambda x: True - x, values(torch.uint8))
    check_raises(lambda x: torch.rsub(x, 1, alpha=0.5), values(torch.int64))
    check_raises(lambda x: torch.rsub(x, 1, alpha=True), values(torch.int64))


def test_xlogy_promotes_first() -> None:
    half = torch.rand(2).half()
    ints = torch.tensor([2, 3])
    for function in (torch.xlogy, torch.special.xlog1py):
        check(lambda x, y, function=function: function(x, y), half, ints)
        check(lambda x, y, function=function: function(x, y), ints, half)
        check(lambda x, y, function=function: function(x, y), ints, ints.to(torch.uint8))
        check(lambda x, y, function=function: function(x, y), half, torch.tensor(2.0).double())


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int64, torch.bool])
def test_integers_to_negative_powers_are_refused(dtype: torch.dtype) -> None:
    x = torch.ones(2, dtype=dtype)
    check_raises(lambda x: x**-1, x)
    check_raises(lambda x: x.clone().pow_(-2), x)
    check(lambda x: x**-1.0, x)
    check(lambda x: x**2, x)


# Eager rounds a number to the dtype of a 16-bit tensor first, except where its kernel computes with
# it in float32.
SIXTEEN = (torch.float16, torch.bfloat16)
ROUNDED = {
    "add": lambda x, k: x + k,
    "sub": lambda x, k: x - k,
    "number minus": lambda x, k: k - x,
    "alpha": lambda x, k: torch.add(x * 0, x, alpha=k),
    "pow": lambda x, k: x.abs() ** k,
    "number to the power": lambda x, k: abs(k) ** x,
    "remainder": lambda x, k: x % k,
    "greater": lambda x, k: x > k,
    "hardshrink": lambda x, k: torch.nn.functional.hardshrink(x, abs(k)),
    "0-d tensor": lambda x, k: x + torch.tensor(k),
    "0-d tensor in double": lambda x, k: x > torch.tensor(k, dtype=torch.float64),
    "0-d tensor times": lambda x, k: torch.mul(torch.tensor(k), x),
}
EXACT = {
    "mul": lambda x, k: x * k,
    "div": lambda x, k: x / k,
    "floor": lambda x, k: torch.div(x, k, rounding_mode="floor"),
    "times 0-d tensor": lambda x, k: x * torch.tensor(k),
    "addcmul": lambda x, k: torch.addcmul(x * 0, x, torch.ones_like(x), value=k),
    "leaky_relu": lambda x, k: torch.nn.functional.leaky_relu(x, k),
    "threshold": lambda x, k: torch.nn.functional.threshold(x, k, 0),
}


@pytest.mark.parametrize("dtype", SIXTEEN)
@pytest.mark.parametrize("name", [*ROUNDED, *EXACT])
@pytest.mark.parametrize("number", [1001.3, -1.7001, 1 / 3])
def test_numbers_beside_16_bit_floats(dtype: torch.dtype, name: str, number: float) -> None:
    function = {**ROUNDED, **EXACT}[name]
    near = torch.tensor(number, dtype=dtype)
    x = torch.cat([torch.linspace(-5, 5, 40).to(dtype), near[None], near[None] * 2])
    with torch.no_grad():
        expected = function(x, number)
        graph = triptych.normalize(lambda x: function(x, number), (x,))
        got = triptych.generate(graph)(x)[0]
    assert torch.equal(got, expected)
    used = torch.tensor(number, dtype=dtype).item() if name in ROUNDED else number
    wide = function(x.float(), used)
    assert torch.equal(expected, wide.to(expected.dtype))  # what the test is about


@pytest.mark.parametrize("exponent", [0.5, -0.5])
@pytest.mark.parametrize("dtype", [*SIXTEEN, torch.float32])
def test_roots_of_negative_zero_and_infinity(dtype: torch.dtype, exponent: float) -> None:
    x = torch.tensor([-0.0, 0.0, -float("inf"), float("inf"), 4.0], dtype=dtype)
    got = triptych.generate(triptych.normalize(lambda x: x**exponent, (x,)))(x)[0]
    expected = x**exponent
    torch.testing.assert_close(got, expected, equal_nan=True)
    numbers = ~expected.isnan()
    assert torch.equal(got.signbit()[numbers], expected.signbit()[numbers])


def check_program(function: Any, *args: torch.Tensor) -> None:
    """Both writers, bit for bit; or both refuse in eager's words."""
    for writer in ("llvm", "cpp"):
        with torch.no_grad():
            program = triptych.generate(triptych.normalize(function, args), writer=writer)
            try:
                expected = function(*args)
            except RuntimeError as error:
                with pytest.raises(RuntimeError) as ours:
                    program(*args)
                assert str(error).splitlines()[0] in str(ours.value)
                continue
            (got,) = program(*args)
        assert got.dtype == expected.dtype
        torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)


SCALARS = [
    torch.tensor(2**40),
    torch.tensor(256),
    torch.tensor(-1),
    torch.tensor(300, dtype=torch.int32),
    torch.tensor(1e10),
    torch.tensor(1e-10, dtype=torch.float64),
    torch.tensor(float("inf")),
    torch.tensor(True),
]


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_truth_of_a_number_that_is_converted_first(
    dtype: torch.dtype, scalar: torch.Tensor
) -> None:
    """A 0-d tensor of the same category has no say in the dtype, and may become zero in it."""
    for function in (torch.logical_and, torch.logical_or, torch.logical_xor):
        check_program(function, values(dtype), scalar)
        check_program(lambda x, y, f=function: f(y, x), values(dtype), scalar)


@pytest.mark.parametrize("scalar", [*SCALARS, torch.tensor(3 + 4j), torch.tensor(3 + 0j)], ids=str)
@pytest.mark.parametrize("dtype", [*DTYPES, torch.bool, torch.complex64])
def test_a_fill_by_a_tensor_that_does_not_fit(dtype: torch.dtype, scalar: torch.Tensor) -> None:
    x = torch.tensor([0, 1, 0, 1, 1]).to(dtype)
    check_program(lambda x, y: x.masked_fill(x != 0, y), x, scalar)
    check_program(lambda x, y: x.clone().masked_fill_(x != 0, y), x, scalar.to(torch.complex64))
    number = scalar.item()
    check_program(lambda x: x.masked_fill(x != 0, torch.tensor(number)), x)


@pytest.mark.parametrize("by", [2, True, -1, torch.tensor([1, 0, 2]), torch.tensor(1)], ids=str)
def test_shifts_of_bools(by: Any) -> None:
    mask = torch.tensor([True, False, True])
    args = (by,) if isinstance(by, torch.Tensor) else ()
    for function in (
        lambda x, y=by: x << y,
        lambda x, y=by: x >> y,
    ):
        if by is True:
            with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
                triptych.normalize(function, (mask,))
        else:
            check_program(function, mask, *args)


def test_interpolation_by_one_number() -> None:
    ints, halves = torch.tensor([1, 5, -3]), torch.tensor([1, 5, -3]).half()
    for weight in (torch.tensor(0.25), torch.tensor(0.75, dtype=torch.float64)):
        for x in (ints, halves, halves.float()):
            try:
                torch.lerp(x, x + 4, weight)
            except RuntimeError:
                continue  # torch 2.11 wants one dtype
            check_program(lambda x, y, w: torch.lerp(x, y, w), x, x + 4, weight)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_products_with_logarithms_of_extremes(dtype: torch.dtype) -> None:
    x = torch.tensor([0.0, 1, float("inf"), float("nan"), -1], dtype=dtype)
    for function in (torch.xlogy, torch.special.xlog1py):
        for number in (0, 1, float("inf"), float("nan"), 1e10):
            check_program(lambda x, f=function, k=number: f(x * 0, k), x)
            check_program(lambda x, f=function, k=number: f(k, x - x), x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_mean_beside_a_spread_of_infinities(dtype: torch.dtype) -> None:
    inf = float("inf")
    x = torch.tensor([[1, inf, 3, 4], [-inf, 2, 3, 4], [1, 2, 3, 4], [inf, 1, -inf, 2]]).to(dtype)
    for function in (torch.var_mean, torch.std_mean):
        check_program(lambda x, f=function: f(x, 1)[1], x)
        check_program(lambda x, f=function: f(x, 1)[1], x.t().contiguous().t())
        check_program(lambda x, f=function: f(x[:, 1:2], 1, correction=0)[1], x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["sin", "tan", "sinh", "tanh", "asin", "atan", "erf", "expm1"])
def test_odd_functions_keep_the_sign_of_zero(name: str, dtype: torch.dtype) -> None:
    x = torch.tensor([0.0, -0.0] * 20, dtype=dtype)
    for writer in ("llvm", "cpp"):
        graph = triptych.normalize(lambda x: getattr(torch, name)(x), (x,))
        (got,) = triptych.generate(graph, writer=writer)(x)
        assert torch.equal(torch.signbit(got), torch.signbit(x))
