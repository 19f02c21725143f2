"""Every pointwise row of the op table, lowered, run by the reference interpreter and compared
with eager on special values: NaN, infinities, signed zero, the ends of integer ranges.

The kernels are compared before fusion and mapping; `test_writers.py` holds every writer to the
interpreter.
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import triptych
from triptych import _C, devices

TABLE = Path(__file__).parents[2] / "src/ops/table/pointwise.toml"
ROWS = {name: row for name, row in tomllib.loads(TABLE.read_text()).items() if "expr" in row}

INF, NAN = math.inf, math.nan
FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 0.3, -0.7, 3.0, -3.0, 2.5, -2.5, 6.0, 10.0, -10.0,
    20.5, 88.0, -88.0, 1e-3, 1e-30, INF, -INF, NAN, 0.999, -0.999,
]  # fmt: skip
INTEGERS = {
    torch.int64: [0, 1, -1, 2, -2, 3, 7, -8, 31, 63, 64, 100, -100, 2**31, -(2**63), 2**63 - 1],
    torch.int32: [0, 1, -1, 2, -2, 3, 7, -8, 31, 32, 100, -100, 2**31 - 1, -(2**31)],
    torch.int16: [0, 1, -1, 2, 3, 7, -8, 15, 16, 100, 2**15 - 1, -(2**15)],
    torch.int8: [0, 1, -1, 2, 3, 7, -8, 8, 100, 127, -128],
    torch.uint8: [0, 1, 2, 3, 7, 8, 100, 200, 255],
    torch.bool: [False, True],
}
FLOAT_TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
DTYPES = [*FLOAT_TYPES, *INTEGERS]
MIXED = [
    (torch.float32, torch.int64),
    (torch.bfloat16, torch.float32),
    (torch.int32, torch.float16),
    (torch.uint8, torch.int8),
    (torch.bool, torch.float32),
    (torch.int64, torch.bfloat16),
]
NUMBERS: dict[str, list[Any]] = {
    "alpha": [1, 2],
    "value": [1, 2.5],
    "min": [None, -1.5],
    "max": [1, None],
    "weight": [0.3, 0.7],
    "eps": [None, 0.1],
    "approximate": ["none", "tanh"],
    "rounding_mode": [None, "trunc", "floor"],
    "exponent": [0, 1, 2, 3, 0.5, -0.5, -1, -2, 1.7, 4],
    "posinf": [None, 5.0],
    "nan": [None, 1.0],
    "is_result": [False, True],
    "self": [2, 0.5, -1, 1],
    "other": [2, -3, 0.1, 0.5, True],
}

# Where eager itself is not exact, with the reason: left out, not compared loosely.
INEXACT_EAGER = {
    "aten.gelu.default": (lambda x: torch.isinf(x), "eager's vector code gives NaN for infinity"),
    "aten.fmod.Tensor": (lambda x: x.abs() < 1e-29, "eager's vector fmod fails on huge quotients"),
    "aten.remainder.Tensor": (
        lambda x: x.abs() < 1e-29,
        "eager's vector fmod fails on huge quotients",
    ),
    "aten.remainder.Scalar_Tensor": (lambda x: x.abs() < 1e-29, "as above"),
    "aten.pow.Tensor_Scalar": (lambda x: x.abs() > 1e18, "eager's vector pow loses bits there"),
    "aten.gelu_backward.default": (lambda x: torch.isinf(x), "eager multiplies in another order"),
    "aten.silu_backward.default": (lambda x: torch.isinf(x), "eager multiplies in another order"),
    "aten.special_ndtr.default": (lambda x: x < -1.5, "eager rounds 16-bit intermediates"),
    "aten.logit.default": (lambda x: (x - 0.5).abs() < 0.6, "eager rounds 16-bit intermediates"),
}
# Of these, eager's vector code and the scalar code for the last elements differ where self is NaN.
NAN_BY_POSITION = {
    "aten.elu_backward.default",
    "aten.hardswish_backward.default",
    "aten.hardtanh_backward.default",
}
HALF_ONLY = {"aten.special_ndtr.default", "aten.logit.default"}
# pow of 16-bit infinity and zero by 0.5: eager's scalar code calls pow, its float code sqrt.
POW_BY_ROOT = (torch.float16, torch.bfloat16)


def op_of(name: str) -> Any:
    _, op, overload = name.split(".")
    return getattr(getattr(torch.ops.aten, op), overload)


def values(dtype: torch.dtype) -> torch.Tensor:
    if dtype in INTEGERS:
        return torch.tensor(INTEGERS[dtype], dtype=dtype)
    return torch.tensor(FLOATS, dtype=torch.float64).to(dtype)


def all_pairs(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    i, j = torch.meshgrid(torch.arange(len(a)), torch.arange(len(b)), indexing="ij")
    return a[i.flatten()], b[j.flatten()]


def literal(value: Any, names: dict[int, str]) -> str:
    return f"%{names[id(value)]}" if isinstance(value, torch.Tensor) else _quoted(value)


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def type_of(tensor: torch.Tensor) -> str:
    short = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u"}
    kind, digits = re.fullmatch(r"([a-z]+)(\d*)", str(tensor.dtype).removeprefix("torch.")).groups()  # type: ignore[union-attr]
    return f"{short.get(kind, kind)}{digits}{list(tensor.shape)}"


class External(Exception):
    """The case has no kernel: ATen's own runs, which is right by definition."""


def run_lowered(
    name: str, args: list[Any], kwargs: dict[str, Any], expected: torch.Tensor
) -> torch.Tensor | int:
    """The result of the lowered kernel, or its error word."""
    tensors = {id(a): a for a in [*args, *kwargs.values()] if isinstance(a, torch.Tensor)}
    names = {key: f"a{i}" for i, key in enumerate(tensors)}
    call = [literal(a, names) for a in args] + [
        f"{k}={literal(v, names)}" for k, v in kwargs.items()
    ]
    lines = [
        f'  %{names[key]}: {type_of(t)} = input.user("{names[key]}")' for key, t in tensors.items()
    ]
    lines += [f"  %r: {type_of(expected)} = {name}({', '.join(call)})", "  output %r"]
    graph = _C.Graph.parse("graph g normalized {\n" + "\n".join(lines) + "\n}\n")
    cpu = devices.find("cpu")
    target = _C.Target("cpu", cpu.traits(), cpu.entry(None).writer)
    text = _C.intermediate_form(graph, "lowered", target, _C.CodegenOptions()).items
    if text.startswith("external"):
        raise External(text)
    text = text[text.index("kernel ") :]
    kernel = _C.parse_kernel(text)
    result = torch.empty_like(expected)
    memory = {names[key]: t for key, t in tensors.items()} | {"r": result}
    header = text.partition(")")[0]
    order = re.findall(r"\b(?:in|out) %(\w+):", header)
    error = kernel.interpret([memory[buffer].data_ptr() for buffer in order], [])
    return error if error else result


def arguments_of(
    name: str, dtype: torch.dtype, second: torch.dtype
) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    schema = op_of(name)._schema
    is_tensor = [str(a.type) in ("Tensor", "Optional[Tensor]") for a in schema.arguments]
    operands = [
        a.name
        for a, t in zip(schema.arguments, is_tensor, strict=True)
        if t and a.name not in ("condition", "mask")
    ]
    x, y = all_pairs(values(dtype), values(second)) if len(operands) > 1 else (values(dtype),) * 2
    if name in INEXACT_EAGER and (name not in HALF_ONLY or dtype.itemsize == 2):
        inexact = INEXACT_EAGER[name][0]
        keep = ~inexact((x if len(operands) == 1 or "backward" in name else y).double())
        if "fmod" in name or "remainder" in name:
            keep |= y == 0
        x, y = x[keep], y[keep]
    if name in NAN_BY_POSITION:
        keep = ~torch.isnan(y)
        x, y = x[keep], y[keep]
    if (
        re.search("floor_divide|remainder|fmod|_mode", name)
        and not second.is_floating_point
        and len(operands) > 1
    ):
        # By zero eager raises (tested apart); the smallest integer by -1 kills its process.
        keep = (y != 0) if second in (torch.bool, torch.uint8) else (y != 0) & (y != -1)
        x, y = x[keep], y[keep]
    tensors = dict(zip(operands, [x, y, y.flip(0)], strict=False))
    if name.startswith(("aten.fill.", "aten.masked_fill.")) and "value" in tensors:
        tensors["value"] = y[-1].reshape(())
    choices: list[list[Any]] = []
    for argument, tensor in zip(schema.arguments, is_tensor, strict=True):
        if argument.name in tensors:
            choices.append([tensors[argument.name].contiguous()])
        elif tensor:
            choices.append([torch.arange(len(x)) % 3 == 0])
        elif argument.name in NUMBERS:
            choices.append(NUMBERS[argument.name])
        elif argument.has_default_value():
            choices.append([argument.default_value])
        else:
            choices.append([2, 0.5] if str(argument.type) == "number" else [1])
    for chosen in itertools.product(*choices):
        named = list(zip(schema.arguments, chosen, strict=True))
        yield (
            [v for a, v in named if not a.kwarg_only],
            {a.name: v for a, v in named if a.kwarg_only},
        )


def check_case(name: str, args: list[Any], kwargs: dict[str, Any]) -> bool:
    try:
        expected = op_of(name)(*args, **kwargs)
    except (RuntimeError, NotImplementedError, TypeError, IndexError):
        return False  # eager refuses
    root = (
        name == "aten.pow.Tensor_Scalar" and args[0].dtype in POW_BY_ROOT and args[1] in (0.5, -0.5)
    )
    if root or not isinstance(expected, torch.Tensor):
        return False
    try:
        got = run_lowered(name, args, kwargs, expected)
    except External:
        return False
    where = f"{name} {[a if not isinstance(a, torch.Tensor) else a.dtype for a in args]} {kwargs}"
    assert isinstance(got, torch.Tensor), f"{where}: error word {got}"
    torch.testing.assert_close(got, expected, equal_nan=True, msg=lambda m: f"{where}: {m}")
    return True


@pytest.mark.parametrize("name", ROWS)
def test_special_values(name: str) -> None:
    ran = 0
    for dtype in DTYPES:
        for args, kwargs in arguments_of(name, dtype, dtype):
            ran += check_case(name, args, kwargs)
    if len(op_of(name)._schema.returns) == 1 and not op_of(name)._schema.is_mutable:
        assert ran > 0, f"{name} was never lowered"


@pytest.mark.parametrize(
    "name", [n for n in ROWS if ROWS[n].get("schema", "").count("Tensor ") == 2]
)
def test_mixed_dtypes(name: str) -> None:
    """Promotion between tensors, and between a tensor and a 0-d tensor."""
    for first, second in MIXED:
        for args, kwargs in itertools.islice(arguments_of(name, first, second), 1):
            check_case(name, args, kwargs)
            if len(args) > 1 and isinstance(args[1], torch.Tensor) and args[1].numel() > 5:
                check_case(name, [args[0], args[1][5].clone(), *args[2:]], kwargs)


@pytest.mark.parametrize(
    "name", ["aten.floor_divide.default", "aten.remainder.Tensor", "aten.fmod.Tensor"]
)
def test_integer_division_by_zero(name: str) -> None:
    numbers = torch.tensor([1, 2, 3])
    assert run_lowered(name, [numbers, torch.tensor([1, 0, 2])], {}, numbers) == 2


@pytest.mark.parametrize("writer", ["interpreter", "llvm", "cpp"])
@pytest.mark.parametrize("mode", ["trunc", "floor"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_quotients_by_numbers_are_rounded_once(
    dtype: torch.dtype, mode: str, writer: str
) -> None:
    """By a number, or by one element, eager divides in float32; by a tensor it rounds first."""
    x = torch.linspace(-300, 300, 2001).to(dtype)
    divisors = [0.1, 0.3, 3, 1.1, -0.7, torch.tensor(0.3), torch.tensor(0.3).to(dtype)]
    divisors += [torch.tensor([0.3]).to(dtype), torch.full_like(x, 0.3), x.flip(0) / 9, x * 0 - 0.7]
    for divisor in divisors:
        if writer == "interpreter":
            name = f"aten.div.{'Tensor' if isinstance(divisor, torch.Tensor) else 'Scalar'}_mode"
            expected = op_of(name)(x, divisor, rounding_mode=mode)
            got = run_lowered(name, [x, divisor], {"rounding_mode": mode}, expected)
        else:
            inputs = [x, divisor] if isinstance(divisor, torch.Tensor) else [x]

            def program(x: torch.Tensor, other: Any = divisor) -> torch.Tensor:
                return torch.div(x, other, rounding_mode=mode)

            graph = triptych.normalize(program, inputs)
            run = triptych.generate(graph, writer=writer)
            got, expected = run(*inputs)[0], program(*inputs)
        torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("writer", ["interpreter", "llvm", "cpp"])
def test_extremes_keep_signed_zeros(writer: str) -> None:
    """Of two zeros, relu, clamp, maximum and their kind give the first operand, as eager does.

    Eager's vector code takes maximum's and minimum's second: they are compared below its width.
    """
    x, y = torch.tensor([0.0, 0.0, -0.0, -0.0]), torch.tensor([0.0, -0.0, 0.0, -0.0])
    for name, args in [
        ("aten.relu.default", [x]),
        ("aten.hardtanh.default", [x, 0.0, 6.0]),  # relu6
        ("aten.clamp.default", [x, 0]),
        ("aten.clamp.default", [x, -0.0]),
        ("aten.clamp.default", [x, None, 0]),
        ("aten.maximum.default", [x, y]),
        ("aten.minimum.default", [x, y]),
        ("aten.fmax.default", [x, y]),
        ("aten.fmin.default", [x, y]),
    ]:
        expected = op_of(name)(*args)
        assert torch.equal(torch.signbit(expected), torch.signbit(x))
        if writer == "interpreter":
            got = run_lowered(name, args, {}, expected)
        else:
            tensors = [a for a in args if isinstance(a, torch.Tensor)]
            rest = args[len(tensors) :]

            def program(*tensors: torch.Tensor, name: str = name, rest: Any = rest) -> Any:
                return op_of(name)(*tensors, *rest)

            got = triptych.generate(triptych.normalize(program, tensors), writer=writer)(*tensors)[
                0
            ]
        assert torch.equal(torch.signbit(got), torch.signbit(expected)), name


@pytest.mark.parametrize("writer", ["llvm", "cpp"])
@pytest.mark.parametrize("wide", [torch.float32, torch.float64])
@pytest.mark.parametrize("narrow", [torch.bfloat16, torch.float16])
def test_a_cast_of_the_program_rounds(wide: torch.dtype, narrow: torch.dtype, writer: str) -> None:
    """Fused or not: the rest that rounding leaves is what the program asks for."""

    def rest(x: torch.Tensor) -> torch.Tensor:
        return x - x.to(narrow).to(wide)

    def rest_of_product(x: torch.Tensor) -> torch.Tensor:
        product = x * 3
        return product - product.to(narrow)

    def centred(x: torch.Tensor) -> torch.Tensor:
        y = x.to(narrow).float()
        return y - y.amax(-1, keepdim=True)

    def copied(x: torch.Tensor) -> torch.Tensor:
        return x - torch.empty_like(x, dtype=narrow).copy_(x)

    x = torch.randn(33, 5, dtype=wide, generator=torch.Generator().manual_seed(0))
    for program in (rest, rest_of_product, centred, copied):
        expected = program(x)
        assert expected.abs().max() > 0
        got = triptych.generate(triptych.normalize(program, [x]), writer=writer)(x)[0]
        assert torch.equal(got, expected), program.__name__
