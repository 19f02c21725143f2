"""How long compilation takes: per stage, cold, at first call, at import, and as models grow."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from . import fresh_process, models
from .table import Table, at_most, progress, reported
from .timing import best_of

SECTION = "compile time"
THIS = "benchmarks.compile_time"
META_MODELS = ("gpt2", "llama", "bert", "vit", "resnet")


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
    chosen: Any = _nothing if backend == "nothing" else backend
    if backend == "triptych":
        chosen = _registered()
    function, inputs = models.build(name)
    with torch.no_grad():
        function(*inputs)
        compiled = torch.compile(function, backend=chosen)
        start = time.perf_counter()
        compiled(*inputs)
        return {"ms": 1e3 * (time.perf_counter() - start)}


def _registered() -> Any:
    """The backend by name where the package is installed, else the function that the entry point
    names: both are in place before the clock starts, as any backend of PyTorch's own is."""
    import torch._dynamo

    if "triptych" in torch._dynamo.list_backends(exclude_tags=()):
        torch._dynamo.lookup_backend("triptych")
        return "triptych"
    from triptych.backend import triptych as function

    return function


def python_meta_kernels(name: str) -> dict[str, int]:
    """How often stage 2 had to ask a Python Meta kernel, by op."""
    from triptych.normalize import normalize_with_report

    gm, inputs = models.captured(name)
    with torch.no_grad():
        return normalize_with_report(gm, inputs)[1]["python_meta"]


def import_ms() -> dict[str, float]:
    start = time.perf_counter()
    import triptych  # noqa: F401

    return {"ms": 1e3 * (time.perf_counter() - start)}


def _median(module: str, function: str, *arguments: Any, runs: int = 3) -> dict[str, float]:
    results = [fresh_process.call(module, function, *arguments) for _ in range(runs)]
    return sorted(results, key=lambda result: result["ms"])[len(results) // 2]


def measure(table: Table, quick: bool) -> None:
    runs = 1 if quick else 3
    with table.case(SECTION, "stage 2, GPT-2 of 6 layers"):
        stage2 = _median(THIS, "stage2_ms", "gpt2", runs=runs)
        table.add(at_most(SECTION, "stage 2, GPT-2 of 6 layers", stage2["ms"], "ms", 5))
    for name in META_MODELS:
        what = f"Python Meta kernels met in stage 2, {name}"
        with table.case(SECTION, what):
            met = fresh_process.call(THIS, "python_meta_kernels", name)
            table.add(at_most(SECTION, what, sum(met.values()), "calls", 0, **met))
    with table.case(SECTION, "stages 2 and 3 with LLVM, cold, GPT-2"):
        cold = _median(THIS, "cold_ms", "gpt2", 6, runs=runs)
        what = "stages 2 and 3 with LLVM, cold, GPT-2"
        table.add(at_most(SECTION, what, cold["ms"], "ms", 100, **cold))
        table.add(at_most(SECTION, "distinct kernels of GPT-2", cold["kernels"], "kernels", 8))
    for name, goal in (("tiny", 60), ("mlp", 200), ("gpt2", 200), ("resnet", 200)):
        with table.case(SECTION, f"first call, {name}"):
            _first_call(table, name, goal, quick)
    if not quick:
        with table.case(SECTION, "import triptych on top of torch"):
            imported = _median(THIS, "import_ms", runs=runs)["ms"]
            table.add(at_most(SECTION, "import triptych on top of torch", imported, "ms", 100))
    with table.case(SECTION, "compile time as layers grow"):
        _growth(table, quick)


def _first_call(table: Table, name: str, goal: float, quick: bool) -> None:
    pairs = []
    for _ in range(1 if quick else 5):  # in turn, so that both see the same machine
        ours = fresh_process.call(THIS, "first_call_ms", name, "triptych")["ms"]
        pairs.append((ours, fresh_process.call(THIS, "first_call_ms", name, "nothing")["ms"]))
    difference = statistics.median(ours - nothing for ours, nothing in pairs)
    ours, nothing = map(statistics.median, zip(*pairs, strict=True))
    what = f"first call minus a do-nothing backend's, {name}"
    table.add(at_most(SECTION, what, difference, "ms", goal, ours=ours, nothing=nothing))
    if not quick:
        inductor = fresh_process.call(THIS, "first_call_ms", name, "inductor")["ms"]
        what = f"inductor's first call over ours, {name}"
        table.add(reported(SECTION, what, inductor / ours, "x", inductor=inductor))


def _growth(table: Table, quick: bool) -> None:
    sizes = [2, 4, 8] if quick else [2, 4, 8, 16, 32, 64]
    results = {}
    for n in sizes:
        progress(f"{SECTION}: {n} layers")
        results[n] = fresh_process.call(THIS, "cold_ms", "gpt2", n)
    last, before = sizes[-1], sizes[-2]
    ratio = results[last]["ms"] / results[before]["ms"]
    what = f"compile time of {last} layers over {before}"
    detail = {str(n): r["ms"] for n, r in results.items()}
    table.add(at_most(SECTION, what, ratio, "x", 2.2, **detail))
    distinct = {result["kernels"] for result in results.values()}
    table.add(at_most(SECTION, "kernel counts met as layers grow", len(distinct), "counts", 1))
