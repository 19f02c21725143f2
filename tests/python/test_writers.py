"""Writers against the reference interpreter: every scalar op, dtype, cast and reduction, all kinds of memory access.

Each test runs its kernels on every executor of kernel_harness.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest
import torch
from kernel_harness import DTYPES, Case, check
from triptych import _C

INTEGERS = ("u8", "i8", "i16", "i32", "i64")
FLOATS = ("f32", "f64")
N = 67  # a full pair of vectors, and a tail
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 1e30, -1e30)
# Ops whose meaning for all arguments is exact in every executor.
ROUNDED = {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos"}
ROUNDED |= {"atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "atan2", "hypot", "erf", "erfc"}
ROUNDED |= {"erfinv", "lgamma", "digamma", "sigmoid", "i0", "pow", "rsqrt"}
LOOPS = {"vector": "vector(16) unroll(2)", "serial": ""}


def values(dtype: str, seed: int, count: int = N) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    torch_dtype = DTYPES[dtype]
    if dtype == "bool":
        return torch.randint(0, 2, (count,), generator=generator).bool()
    if torch_dtype.is_floating_point:
        x = torch.randn(count, generator=generator, dtype=torch.float64) * 3
        special = torch.tensor(SPECIAL, dtype=torch.float64)
        at = torch.randperm(count, generator=generator)[: len(SPECIAL)]
        x[at] = special[: len(at)]
        return x.to(torch_dtype)
    info = torch.iinfo(torch_dtype)
    x = torch.randint(max(info.min, -20), min(info.max, 20), (count,), generator=generator)
    wide = torch.randint(info.min, info.max, (count,), generator=generator)
    x = torch.where(torch.rand(count, generator=generator) < 0.3, wide, x).to(torch_dtype)
    x[:4] = torch.tensor([info.min, info.max, 0, 1], dtype=torch_dtype)
    return x[torch.randperm(count, generator=generator)]


def pointwise(
    name: str, inputs: Sequence[str], output: str, body: Sequence[str], loop: str, n: int = N
) -> str:
    """`body` computes v<len(inputs)>... from v0, v1, ...; the last one defined is stored."""
    parameters = [f"in %x{k}: {dtype}[{n}]" for k, dtype in enumerate(inputs)]
    parameters.append(f"out %y: {output}[{n}]")
    lines = [f"v{k} = load %x{k}[i0]" for k in range(len(inputs))]
    lines += body
    last = body[-1].split()[0]
    text = "\n    ".join([*lines, f"store %y[i0], {last}"])
    return f"kernel {name}({', '.join(parameters)}) {{\n  for i0 in {n} {loop} {{\n    {text}\n  }}\n}}\n"


def op_cases() -> list[Case]:
    cases = []
    for op, arity, bool_result, floats_only in _C.scalar_ops():
        if arity < 1 or op in ("cast", "bitcast", "select"):
            continue
        dtypes = FLOATS if floats_only else (*FLOATS, *INTEGERS, "bool")
        for dtype, (kind, loop) in itertools.product(dtypes, LOOPS.items()):
            if not _defined(op, dtype, bool_result):
                continue
            output = "bool" if bool_result else dtype
            arguments = ", ".join(f"v{k}" for k in range(arity))
            text = pointwise(op, [dtype] * arity, output, [f"v{arity} = {op} {arguments}"], loop)
            inputs = [values(dtype, 10 * k + len(op)) for k in range(arity)]
            cases.append(
                Case(
                    text,
                    inputs,
                    [(DTYPES[output], N)],
                    ulps=_tolerance(op, dtype),
                    name=f"{op} {dtype} {kind}",
                )
            )
    return cases


def _defined(op: str, dtype: str, bool_result: bool) -> bool:
    if dtype == "bool":
        return bool_result or op in {"bit_and", "bit_or", "bit_xor", "bit_not", "min", "max", "add", "mul"}
    if dtype in FLOATS:
        return not (op.startswith("bit_") or op.startswith("shift_"))
    return op not in {"reciprocal", "isinf", "copysign", "nextafter", "div"}


def _tolerance(op: str, dtype: str) -> float:
    if op in {"erfinv", "digamma", "lgamma", "i0"}:
        return 8
    return 2.5 if op in ROUNDED else 0


def test_scalar_ops() -> None:
    check(op_cases())


def test_casts() -> None:
    cases = []
    names = list(DTYPES)
    for source, target in itertools.product(names, names):
        for kind, loop in LOOPS.items():
            text = pointwise("cast", [source], target, [f"v1 = cast v0 : {target}"], loop)
            x = values(source, 3)
            if source in ("f32", "f64"):
                x[:8] = torch.tensor([3e9, -3e9, 1e19, 300.7, -129.5, 2147483647.5, -2147483648.5, 65519.9])
            cases.append(Case(text, [x], [(DTYPES[target], N)], name=f"{source} to {target} {kind}"))
    check(cases)
