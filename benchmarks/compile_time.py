"""How long compilation takes: per stage, cold, at first call, at import, and as models grow."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import torch

from . import fresh_process, models
from .table import Row, at_most, reported
from .timing import best_of

SECTION = "compile time"
THIS = "benchmarks.compile_time"


def _nothing(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
    return gm.forward


def stage2_ms(name: str) -> dict[str, float]:
    import triptych

    gm, inputs = models.captured(name)
    with torch.no_grad():
        milliseconds = 1e3 * best_of(lambda: triptych.normalize(gm, inputs), 15)
    return {"ms": milliseconds}


def cold_ms(name: str, layers: int) -> dict[str, float]:
    """Stages 2 and 3 with LLVM, the first time in this process; PyTorch itself is warm."""
    import triptych

    gm, inputs = models.captured(name, **({"layers": layers} if layers else {}))
    with torch.no_grad():
        gm(*inputs)
        gc.collect()
        start = time.perf_counter()
        graph = triptych.normalize(gm, inputs)
        middle = time.perf_counter()
        generated = triptych.generate(graph)
        end = time.perf_counter()
    return {
        "ms": 1e3 * (end - start),
        "normalize_ms": 1e3 * (middle - start),
        "generate_ms": 1e3 * (end - middle),
        "kernels": generated.num_kernels,
    }


def first_call_ms(name: str, backend: str) -> dict[str, float]:
    """The first call of torch.compile, everything cold but an eager call."""
    import triptych

    triptych.list_backends()
    function, inputs = models.build(name)
    chosen: Any = _nothing if backend == "nothing" else backend
    with torch.no_grad():
        function(*inputs)
        compiled = torch.compile(function, backend=chosen)
        start = time.perf_counter()
        compiled(*inputs)
        return {"ms": 1e3 * (time.perf_counter() - start)}


def import_ms() -> dict[str, float]:
    start = time.perf_counter()
    import triptych  # noqa: F401

    return {"ms": 1e3 * (time.perf_counter() - start)}


def _median(module: str, function: str, *arguments: Any, runs: int = 3) -> dict[str, float]:
    results = [fresh_process.call(module, function, *arguments) for _ in range(runs)]
    return sorted(results, key=lambda result: result["ms"])[len(results) // 2]


def rows(quick: bool) -> list[Row]:
    runs = 1 if quick else 3
    table: list[Row] = []
    stage2 = _median(THIS, "stage2_ms", "gpt2", runs=runs)
    table.append(at_most(SECTION, "stage 2, GPT-2 of 6 layers", stage2["ms"], "ms", 5))
    cold = _median(THIS, "cold_ms", "gpt2", 6, runs=runs)
    table.append(
        at_most(SECTION, "stages 2 and 3 with LLVM, cold, GPT-2", cold["ms"], "ms", 100, **cold)
    )
    table.append(at_most(SECTION, "distinct kernels of GPT-2", cold["kernels"], "kernels", 8))
    for name, goal in (("tiny", 60), ("mlp", 200), ("gpt2", 200), ("resnet", 200)):
        ours = _median(THIS, "first_call_ms", name, "triptych", runs=runs)["ms"]
        nothing = _median(THIS, "first_call_ms", name, "nothing", runs=runs)["ms"]
        what = f"first call minus a do-nothing backend's, {name}"
        table.append(at_most(SECTION, what, ours - nothing, "ms", goal, ours=ours, nothing=nothing))
        if not quick:
            inductor = fresh_process.call(THIS, "first_call_ms", name, "inductor")["ms"]
            what = f"inductor's first call over ours, {name}"
            table.append(reported(SECTION, what, inductor / ours, "x", inductor=inductor))
    imported = _median(THIS, "import_ms", runs=runs)["ms"] if not quick else None
    if imported is not None:
        table.append(at_most(SECTION, "import triptych on top of torch", imported, "ms", 100))
    table += _growth(quick)
    return table


def _growth(quick: bool) -> list[Row]:
    sizes = [2, 4, 8] if quick else [2, 4, 8, 16, 32, 64]
    results = {n: fresh_process.call(THIS, "cold_ms", "gpt2", n) for n in sizes}
    last, before = sizes[-1], sizes[-2]
    ratio = results[last]["ms"] / results[before]["ms"]
    what = f"compile time of {last} layers over {before}"
    table = [
        at_most(SECTION, what, ratio, "x", 2.2, **{str(n): r["ms"] for n, r in results.items()})
    ]
    distinct = {result["kernels"] for result in results.values()}
    table.append(at_most(SECTION, "kernel counts met as layers grow", len(distinct), "counts", 1))
    return table
