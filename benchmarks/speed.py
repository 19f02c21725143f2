"""Calls of compiled models and of a tiny program against eager, inductor and a do-nothing
backend."""

from __future__ import annotations

import ctypes
import re
import statistics
from collections.abc import Callable
from typing import Any

import torch

from . import fresh_process, models
from .table import Table, at_least, at_most, reported
from .timing import geometric_mean, interleaved, median_ratio

SECTION = "speed"
THIS = "benchmarks.speed"


def _nothing(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
    return gm.forward


def model_times(name: str, rounds: int) -> dict[str, Any]:
    """Median seconds per call of each contender, errors checked first."""
    import triptych

    torch.set_num_threads(2)
    function, inputs = models.build(name)
    contenders: dict[str, Callable[[], Any]] = {"eager": lambda: function(*inputs)}
    backends: dict[str, Any] = {"inductor": "inductor", "nothing": _nothing}
    with torch.no_grad():
        expected = models.first_tensor(function(*inputs))
        for label, backend in backends.items():
            torch._dynamo.reset()
            compiled = torch.compile(function, backend=backend)
            contenders[label] = lambda compiled=compiled: compiled(*inputs)
            contenders[label]()
        ours = triptych.compile(function)
        contenders["triptych"] = lambda: ours(*inputs)
        errors = {}
        for label, call in contenders.items():
            errors[label] = float((models.first_tensor(call()) - expected).abs().max())
            if errors[label] > 1e-3:
                raise RuntimeError(f"{name}, {label}: max error {errors[label]}")
        times = interleaved(contenders, rounds=rounds, slice_seconds=0.2)
    return {"times": times, "errors": errors}


def tiny_call_us() -> dict[str, float]:
    """A one-kernel program on two 64x64 tensors, and its kernel alone, called in a compiled
    loop; medians of rounds in which they take turns."""
    import triptych

    torch.set_num_threads(1)
    x, y = torch.randn(64, 64), torch.randn(64, 64)
    with torch.no_grad():
        graph = triptych.normalize(lambda a, b: a + b, (x, y))
        program = triptych.generate(graph)
        tensors = [x, y, torch.empty(64, 64)]  # the kernel's calls have their addresses
        kernels, count = _kernel_calls(program, tensors)
        contenders: dict[str, Callable[[], Any]] = {
            "whole": lambda: program.run(x, y),
            "eager": lambda: x + y,
            "empty": lambda: None,
            "kernel": kernels,
        }
        times = interleaved(contenders, rounds=15, slice_seconds=0.03)
    times["kernel"] = [seconds / count for seconds in times["kernel"]]
    over = statistics.median(
        w - e - k for w, e, k in zip(times["whole"], times["empty"], times["kernel"], strict=True)
    )
    return {"over": over * 1e6} | {k: statistics.median(v) * 1e6 for k, v in times.items()}


_REPEAT = """
define void @repeat(ptr %kernel, i64 %n, ptr %buffers, i64 %end, ptr %error) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  call void %kernel(ptr %buffers, ptr null, i64 0, i64 %end, ptr %error, ptr null)
  %next = add i64 %i, 1
  %done = icmp uge i64 %next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret void
}
"""


def _kernel_calls(program: Any, tensors: list[torch.Tensor]) -> tuple[Callable[[], None], int]:
    """A function that calls the program's only kernel from machine code over its whole range, and
    how often it does.

    The tensors are contiguous, so that the kernel is one flat loop over their elements.
    """
    from triptych.toolchains import llvm

    name = re.findall(r"^define void @(\w+)\(", program.text, re.MULTILINE)[-1]
    library = llvm.compile(program.text + _REPEAT, [name, "repeat"], [], None)
    pointer = ctypes.c_void_p
    run = ctypes.CFUNCTYPE(None, pointer, ctypes.c_int64, pointer, ctypes.c_int64, pointer)(
        library.addresses["repeat"]
    )
    buffers = (pointer * len(tensors))(*(t.data_ptr() for t in tensors))
    error = ctypes.c_int32(0)
    count = 5_000
    extent = tensors[0].numel()

    def repeat() -> None:
        run(library.addresses[name], count, buffers, extent, ctypes.byref(error))

    repeat()
    expected = tensors[0] + tensors[1]
    if not torch.equal(tensors[2], expected):
        raise RuntimeError("the kernel, called alone, computed something else than the sum")
    return repeat, count


def measure(table: Table, quick: bool) -> None:
    rounds = 3 if quick else 9
    ratios = []
    for name in models.MODELS:
        with table.case(SECTION, name):
            ratios.append(_model(table, name, rounds))
    if ratios:
        count = (
            f" ({len(ratios)} of {len(models.MODELS)})" if len(ratios) < len(models.MODELS) else ""
        )
        what = f"models, geometric mean of inductor's time over ours{count}"
        table.add(at_least(SECTION, what, geometric_mean(ratios), "x", 1.05))
    what = "call of a one-kernel program on 64x64, over the kernel"
    with table.case(SECTION, what):
        tiny = fresh_process.call(THIS, "tiny_call_us")
        table.add(at_most(SECTION, what, tiny["over"], "us", 1.0, **tiny))


def _model(table: Table, name: str, rounds: int) -> float:
    """Adds the rows of one model; returns inductor's time over ours."""
    measured = fresh_process.call(THIS, "model_times", name, rounds)
    times = measured["times"]
    against = {k: median_ratio(v, times["triptych"]) for k, v in times.items() if k != "triptych"}
    detail = {f"{k}_ms": 1e3 * statistics.median(v) for k, v in times.items()}
    detail |= {f"{k}_max_error": error for k, error in measured["errors"].items()}
    what = f"{name}, inductor's time over ours"
    table.add(at_least(SECTION, what, against["inductor"], "x", 0.97, **detail))
    table.add(at_least(SECTION, f"{name}, eager's time over ours", against["eager"], "x", 1.0))
    what = f"{name}, do-nothing backend's time over ours"
    table.add(reported(SECTION, what, against["nothing"], "x"))
    return against["inductor"]
