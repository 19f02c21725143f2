"""Ops by themselves and in small groups, against eager: is any kernel slower than the one it
replaces?

Sizes are bytes of the main input. Programs are called directly, as PyTorch's own ops are.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable
from typing import Any

import torch

from . import fresh_process
from .table import Table, at_least, reported
from .timing import geometric_mean, interleaved, median_ratio

THIS = "benchmarks.single_ops"
KB, MB = 1 << 10, 1 << 20
SIZES = (4 * KB, 1 * MB, 16 * MB)
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}

Case = Callable[..., Any]

POINTWISE: dict[str, Case] = {
    "add": lambda x, y: x + y,
    "add broadcast row": lambda x, y: x + y[:1],
    "multiply by a number": lambda x, y: x * 1.5,
    "relu": lambda x, y: torch.relu(x),
    "sigmoid": lambda x, y: torch.sigmoid(x),
    "tanh": lambda x, y: torch.tanh(x),
    "erf": lambda x, y: torch.erf(x),
    "exp": lambda x, y: torch.exp(x),
    "log": lambda x, y: torch.log(x.abs()),
    "sin": lambda x, y: torch.sin(x),
    "gelu": lambda x, y: torch.nn.functional.gelu(x),
    "gelu tanh": lambda x, y: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": lambda x, y: torch.nn.functional.silu(x),
    "pow": lambda x, y: x.abs() ** 1.7,
    "square": lambda x, y: x**2,
    "divide": lambda x, y: x / y,
    "fmod": lambda x, y: torch.fmod(x, y),
    "remainder": lambda x, y: torch.remainder(x, y),
    "where": lambda x, y: torch.where(x > 0, x, y),
    "masked fill": lambda x, y: x.masked_fill(y > 0, float("-inf")),
    "clamp": lambda x, y: x.clamp(-1, 1),
    "compare": lambda x, y: x > y,
    "to other dtype": lambda x, y: x.to(
        torch.bfloat16 if x.dtype == torch.float32 else torch.float32
    ),
    "transpose copy": lambda x, y: x.t().contiguous(),
    "add transposed": lambda x, y: x + y.reshape(y.shape[1], y.shape[0]).t(),
    "cat rows": lambda x, y: torch.cat([x, y]),
    "cat columns": lambda x, y: torch.cat([x, y], 1),
}

REDUCTIONS: dict[str, Case] = {
    "sum of all": lambda x, y: x.sum(),
    "sum of rows": lambda x, y: x.sum(-1),
    "sum of columns": lambda x, y: x.sum(0),
    "mean of rows": lambda x, y: x.mean(-1),
    "amax of rows": lambda x, y: x.amax(-1),
    "amax of columns": lambda x, y: x.amax(0),
    "amax of all": lambda x, y: x.amax(),
    "argmax of rows": lambda x, y: x.argmax(-1),
    "argmax of columns": lambda x, y: x.argmax(0),
    "argmax of all": lambda x, y: x.argmax(),
    "var of rows": lambda x, y: x.var(-1),
    "var of columns": lambda x, y: x.var(0),
    "var of all": lambda x, y: x.var(),
    "var and mean of rows": lambda x, y: torch.var_mean(x, -1),
    "norm of rows": lambda x, y: x.norm(dim=-1),
    "any of rows": lambda x, y: (x > 3).any(-1),
    "prod of rows": lambda x, y: y.prod(-1),
    "logsumexp of rows": lambda x, y: torch.logsumexp(x, -1),
    "softmax of rows": lambda x, y: torch.softmax(x, -1),
    "softmax of columns": lambda x, y: torch.softmax(x, 0),
    "log softmax of rows": lambda x, y: torch.log_softmax(x, -1),
    "rms norm": lambda x, y: torch.nn.functional.rms_norm(x, x.shape[-1:]),
}


def _inputs(group: str, size: int, dtype: torch.dtype) -> list[torch.Tensor]:
    """Two normal tensors; for reductions the second is near 1, so that products stay normal too."""
    torch.manual_seed(0)
    count = size // dtype.itemsize
    columns = 64
    while columns * columns * 4 <= count and columns < 2048:
        columns *= 2
    shape = (count // columns, columns)
    x, y = torch.randn(shape), torch.randn(shape)
    return [x.to(dtype), (1 + y / 64 if group == "reductions" else y).to(dtype)]


def times(group: str, name: str, size: int, dtype_name: str, rounds: int) -> dict[str, Any]:
    """Seconds per call, round by round, results checked first."""
    import triptych

    torch.set_num_threads(2)
    function = {"pointwise": POINTWISE, "reductions": REDUCTIONS}[group][name]
    inputs = _inputs(group, size, DTYPES[dtype_name])
    with torch.no_grad():
        exact = function(*(one.float() for one in inputs))
        program = triptych.generate(triptych.normalize(function, inputs))
        got = program(*inputs)
        tolerance = 3e-2 if DTYPES[dtype_name] == torch.bfloat16 else 1e-4
        for mine, right in zip(got, exact if isinstance(exact, tuple) else (exact,), strict=True):
            torch.testing.assert_close(
                mine.double(), right.double(), rtol=tolerance, atol=tolerance, equal_nan=True
            )
        contenders = {
            "eager": lambda: function(*inputs),
            "triptych": lambda: program.run(*inputs),
        }
        return interleaved(contenders, rounds=rounds, slice_seconds=0.02)


def _measure(table: Table, group: str, names: list[str], quick: bool) -> None:
    dtypes = ("fp32",) if quick else tuple(DTYPES)
    sizes = (1 * MB,) if quick else SIZES
    ratios = []
    for name, dtype, size in itertools.product(names, dtypes, sizes):
        label = f"{size // KB} KB" if size < MB else f"{size // MB} MB"
        what = f"{name} {dtype} {label}, eager's time over ours"
        with table.case(group, what):
            found = fresh_process.call(THIS, "times", group, name, size, dtype, 9)
            ratio = median_ratio(found["eager"], found["triptych"])
            medians = {f"{k}_us": 1e6 * statistics.median(v) for k, v in found.items()}
            table.add(at_least(group, what, ratio, "x", 1.0, **medians))
            ratios.append(ratio)
    if ratios:
        what = f"{group}, geometric mean of eager's time over ours"
        table.add(reported(group, what, geometric_mean(ratios), "x"))


def measure_pointwise(table: Table, quick: bool) -> None:
    _measure(table, "pointwise", list(POINTWISE), quick)


def measure_reductions(table: Table, quick: bool) -> None:
    _measure(table, "reductions", list(REDUCTIONS), quick)
