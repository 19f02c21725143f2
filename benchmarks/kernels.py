"""Single fused kernels from 4 KB to 64 MB: generated programs against inductor's compiled graphs
and eager.

Both compilers' results are called directly, without the guards of torch.compile around them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from . import fresh_process
from .table import Table, at_least, reported, share_of
from .timing import geometric_mean, interleaved, median_ratio

SECTION = "kernels"
THIS = "benchmarks.kernels"
KB, MB = 1 << 10, 1 << 20
SIZES = (4 * KB, 64 * KB, 1 * MB, 16 * MB, 64 * MB)
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def _softmax(x: torch.Tensor) -> torch.Tensor:
    return F.softmax(x, -1)


def _layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def _gelu_chain(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return F.gelu(x * weight + bias) * 0.5 + x


def _bias_residual_norm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    total = x + bias + residual
    return F.layer_norm(total, total.shape[-1:], weight, bias), total


def case(name: str, size: int, dtype: torch.dtype) -> tuple[Callable[..., Any], list[torch.Tensor]]:
    """The function and inputs; `size` is the bytes of its main input."""
    torch.manual_seed(0)
    columns = 1024
    rows = max(1, size // dtype.itemsize // columns)
    x = torch.randn(rows, columns).to(dtype)
    weight, bias = torch.randn(columns).to(dtype), torch.randn(columns).to(dtype)
    return {
        "softmax": (_softmax, [x]),
        "layer norm": (_layer_norm, [x, weight, bias]),
        "gelu chain": (_gelu_chain, [x, weight, bias]),
        "bias residual norm": (_bias_residual_norm, [x, torch.randn_like(x), weight, bias]),
    }[name]


NAMES = ("softmax", "layer norm", "gelu chain", "bias residual norm")


def _check(actual: Any, expected: Any, dtype: torch.dtype) -> None:
    actual = actual if isinstance(actual, (list, tuple)) else [actual]
    expected = expected if isinstance(expected, (list, tuple)) else [expected]
    tolerance = {torch.float32: 1e-4, torch.bfloat16: 0.1}[dtype]
    for a, e in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, e, rtol=tolerance, atol=tolerance)


def kernel_times(name: str, size: int, dtype_name: str, rounds: int) -> dict[str, list[float]]:
    import torch._inductor

    import triptych

    torch.set_num_threads(2)
    dtype = DTYPES[dtype_name]
    function, inputs = case(name, size, dtype)
    with torch.no_grad():
        expected = function(*inputs)
        program = triptych.generate(triptych.normalize(function, inputs))
        graph, its_inputs = _captured(function, inputs)
        inductor = torch._inductor.compile(graph, its_inputs)
        _check(program(*inputs), expected, dtype)
        _check(inductor(*its_inputs), expected, dtype)
        contenders: dict[str, Callable[[], Any]] = {
            "eager": lambda: function(*inputs),
            "inductor": lambda: inductor(*its_inputs),
            "triptych": lambda: program.run(*inputs),
        }
        return interleaved(contenders, rounds=rounds)


def _captured(
    function: Callable[..., Any], inputs: list[torch.Tensor]
) -> tuple[torch.fx.GraphModule, list[Any]]:
    """The graph of PyTorch's capture and its inputs, in the order of their first use."""
    taken: list[tuple[torch.fx.GraphModule, list[Any]]] = []

    def take(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        taken.append((gm, list(example_inputs)))
        return gm.forward

    torch.compile(function, backend=take, dynamic=False)(*inputs)
    torch._dynamo.reset()
    return taken[0]


def streaming_times(kind: str, rounds: int) -> dict[str, Any]:
    """64 MB in, 64 MB out into warm memory (the output pool's), against copy_ between warm buffers.

    Bandwidth counts bytes read and written; `eager_copy` is copy_ of the same number of bytes.
    """
    import triptych

    torch.set_num_threads(2)
    x = torch.randn(64 * MB // 4 // 1024, 1024)
    target = torch.empty_like(x)
    function = {
        "pointwise": lambda a: torch.relu(a * 2 + 1),
        "row reduction": lambda a: F.softmax(a, -1),
    }[kind]
    with torch.no_grad():
        program = triptych.generate(triptych.normalize(function, [x]))
        _check(program(x), function(x), torch.float32)
        contenders = {
            "copy": lambda: target.copy_(x),
            "triptych": lambda: program.run(x),
            "eager": lambda: function(x),
        }
        return interleaved(contenders, rounds=rounds)


def measure(table: Table, quick: bool) -> None:
    rounds = 3 if quick else 7
    sizes = (4 * KB, 1 * MB) if quick else SIZES
    cases = [(name, size, dtype) for name in NAMES for dtype in DTYPES for size in sizes]
    ratios: list[tuple[float, float]] = []
    for name, size, dtype in cases:
        label = f"{size // KB} KB" if size < MB else f"{size // MB} MB"
        what = f"{name} {dtype} {label}"
        with table.case(SECTION, what):
            times = fresh_process.call(THIS, "kernel_times", name, size, dtype, rounds)
            inductor = median_ratio(times["inductor"], times["triptych"])
            eager = median_ratio(times["eager"], times["triptych"])
            medians = {f"{k}_us": 1e6 * statistics.median(v) for k, v in times.items()}
            over = f"{what}, inductor's time over ours"
            table.add(reported(SECTION, over, inductor, "x", **medians))
            table.add(at_least(SECTION, f"{what}, eager's time over ours", eager, "x", 1.0))
            ratios.append((inductor, eager))
    if ratios:
        count = share_of(len(ratios), len(cases))
        mean = geometric_mean([inductor for inductor, _ in ratios])
        slowest = min(eager for _, eager in ratios)
        what = f"kernels, geometric mean of inductor's time over ours{count}"
        table.add(at_least(SECTION, what, mean, "x", 1.4))
        what = f"kernels, the smallest of eager's time over ours{count}"
        table.add(at_least(SECTION, what, slowest, "x", 1.0))
    for kind in ("pointwise", "row reduction"):
        what = f"fused {kind} on 64 MB, of copy_'s rate"
        with table.case(SECTION, what):
            times = fresh_process.call(THIS, "streaming_times", kind, rounds)
            share = 100 * median_ratio(times["copy"], times["triptych"])
            medians = {f"{k}_ms": 1e3 * statistics.median(v) for k, v in times.items()}
            table.add(at_least(SECTION, what, share, "%", 85, **medians))
            whole = median_ratio(times["eager"], times["triptych"])
            what = f"fused {kind} on 64 MB, eager's time over ours"
            table.add(reported(SECTION, what, whole, "x"))
