"""What stage 1 costs: captures, guards, calls, graph breaks; against Dynamo and eager."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

import triptych
from triptych import _C

from . import fresh_process, models
from .table import Table, at_least, at_most, reported
from .timing import best_of, interleaved

SECTION = "capture"
THIS = "benchmarks.capture"
MODELS = ("gpt2", "resnet", "bert")


def two_tensors(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


def broken(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = x + y
    triptych.graph_break()
    return z * y


def whole(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = x + y
    return z * y


class Mlp(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(8, 16),
            torch.nn.ReLU(),
            torch.nn.Linear(16, 16),
            torch.nn.ReLU(),
            torch.nn.Linear(16, 4),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def _keep(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
    return gm.forward


def capture_ms(name: str, layers: int) -> dict[str, float]:
    """Ours with a backend that does nothing, the best of several: what the first capture of a
    process pays once is the first call's to show."""
    function, inputs = models.build(name, **({"layers": layers} if layers else {}))
    with torch.no_grad():
        function(*inputs)
        compiled = triptych.compile(function, backend=_keep)
        times = []
        for _ in range(5):
            triptych.reset()
            gc.collect()
            start = time.perf_counter()
            compiled(*inputs)
            end = time.perf_counter()
            function(*inputs)
            times.append(1e3 * (end - start))
        eager = 1e3 * best_of(lambda: function(*inputs), 5)
    captures = triptych.counters().get("captures", 0)
    return {"ms": max(min(times) - eager, 0.0), "captures": captures}


def dynamo_ms(name: str, layers: int) -> dict[str, float]:
    function, inputs = models.build(name, **({"layers": layers} if layers else {}))
    with torch.no_grad():
        function(*inputs)
        compiled = torch.compile(function, backend=_keep)
        times = []
        for _ in range(2):
            torch._dynamo.reset()
            start = time.perf_counter()
            compiled(*inputs)
            times.append(1e3 * (time.perf_counter() - start))
        eager = 1e3 * best_of(lambda: function(*inputs), 5)
    return {"ms": min(times) - eager}


def first_call_ms(name: str, layers: int, ours: bool) -> dict[str, float]:
    """Everything cold but an eager call."""
    function, inputs = models.build(name, **({"layers": layers} if layers else {}))
    with torch.no_grad():
        function(*inputs)
        compiled = triptych.compile(function) if ours else torch.compile(function)
        start = time.perf_counter()
        compiled(*inputs)
        return {"ms": 1e3 * (time.perf_counter() - start)}


def dispatch_us(what: str) -> dict[str, float]:
    """Binding the arguments, reading the modes, guards: until the entry is found."""
    if what == "two tensors":
        function, inputs = two_tensors, (torch.randn(8), torch.randn(8))
    elif what == "mlp":
        function, inputs = Mlp().eval(), (torch.randn(2, 8),)
    else:
        function, inputs = models.build("gpt2", layers=12)
    with torch.no_grad():
        compiled = triptych.compile(function, backend=_keep)
        compiled(*inputs)
        region = getattr(compiled, "_triptych_region", compiled)
        warm = min(_C.time_dispatch(region, *inputs, times=2000) for _ in range(7))
        cold = []
        for _ in range(20):
            compiled(*inputs)
            cold.append(_C.time_dispatch(region, *inputs, times=1))
    guards = sum(len(entry["guards"]) for entry in _C.region_entries(region))
    return {"us": 1e6 * warm, "between_runs_us": 1e6 * sorted(cold)[10], "guards": guards}


def _per_call_us(function: Callable[..., Any], inputs: tuple[Any, ...], times: int) -> float:
    def run() -> None:
        for _ in range(times):
            function(*inputs)

    run()
    return 1e6 * best_of(run, 7) / times


def call_us() -> dict[str, float]:
    """A tiny function: eager's own work against everything that a compiled call does."""
    inputs = (torch.randn(8), torch.randn(8))
    with torch.no_grad():
        ours = _per_call_us(triptych.compile(two_tensors), inputs, 20000)
        theirs = _per_call_us(torch.compile(two_tensors), inputs, 2000)
        eager = _per_call_us(two_tensors, inputs, 20000)
        calls = {f.__name__: partial(triptych.compile(f), *inputs) for f in (whole, broken)}
        times = interleaved(calls, rounds=15)
    break_us = 1e6 * (min(times["broken"]) - min(times["whole"]))
    return {"us": ours, "theirs_us": theirs, "eager_us": eager, "break_us": break_us}


def measure(table: Table, quick: bool) -> None:
    for name in MODELS[:1] if quick else MODELS:
        layers = 6 if name == "gpt2" else 0
        with table.case(SECTION, f"capture of {name}"):
            ours = fresh_process.call(THIS, "capture_ms", name, layers)
            table.add(at_most(SECTION, f"capture of {name}", ours["ms"], "ms", 40, **ours))
            theirs = fresh_process.call(THIS, "dynamo_ms", name, layers)
            ratio = theirs["ms"] / max(ours["ms"], 1e-9)
            table.add(
                at_least(SECTION, f"capture of {name}, against Dynamo", ratio, "x", 20, **theirs)
            )
    with table.case(SECTION, "first call of gpt2"):
        ours = fresh_process.call(THIS, "first_call_ms", "gpt2", 6, True)
        table.add(at_most(SECTION, "first call of gpt2, all cold", ours["ms"], "ms", 250))
        if not quick:
            theirs = fresh_process.call(THIS, "first_call_ms", "gpt2", 6, False)
            ratio = theirs["ms"] / ours["ms"]
            table.add(at_least(SECTION, "first call, against inductor", ratio, "x", 50, **theirs))
    for what, goal in (("two tensors", 0.4), ("mlp", 1.5), ("gpt2, 12 layers", 5.0)):
        with table.case(SECTION, f"guards of {what}"):
            found = fresh_process.call(THIS, "dispatch_us", what)
            name = f"guards and dispatch, {what}"
            table.add(at_most(SECTION, name, found["us"], "us", goal, **found))
            cold = found["between_runs_us"]
            table.add(reported(SECTION, f"the same between model runs, {what}", cold, "us"))
    with table.case(SECTION, "calls"):
        found = fresh_process.call(THIS, "call_us")
        table.add(at_most(SECTION, "call of a tiny function", found["us"], "us", 1.2, **found))
        ratio = found["theirs_us"] / found["us"]
        table.add(at_least(SECTION, "the same against torch.compile", ratio, "x", 10))
        table.add(at_most(SECTION, "one graph break more", found["break_us"], "us", 2))
