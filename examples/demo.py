"""The main job: compile a 6-layer GPT-2 and show what every stage makes of it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

import models
import triptych
from triptych.captured import captured_text
from triptych.explain import graph_lines
from triptych.reports import recording


def small(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    hidden = torch.nn.functional.gelu(x @ weight + bias)
    return torch.nn.functional.layer_norm(hidden + x, hidden.shape[-1:])


def heading(text: str) -> None:
    print(f"\n==== {text} ====", flush=True)


def show_stages_of_a_function() -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(8, 32), torch.randn(32, 32), torch.randn(32))
    with recording() as graphs, torch.no_grad():
        triptych.compile(small)(*inputs)
    graph = graphs[0]
    for name, text in (
        ("stage 1, captured: what the user wrote", captured_text(graph.captured)),
        ("stage 2, normalized: what it means, in core ATen", str(graph.normalized)),
        ("stage 3, loop trees, fused, for any device", graph.generated.fused),
        ("stage 3, kernel text for this device", graph.generated.text),
        ("stage 3, program", graph.generated.program),
    ):
        heading(name)
        print(text)


def median_milliseconds(functions: list[Callable[[], object]], rounds: int = 30) -> list[float]:
    """Medians of interleaved calls, so that both see the same weather."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, list_ in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            list_.append((time.perf_counter() - start) * 1e3)
    return [statistics.median(list_) for list_ in times]


def show_model() -> None:
    case = models.build("gpt2", layers=6, width=256, vocabulary=5000)
    model, (tokens,) = case.model, case.inputs(2, 128)
    compiled = triptych.compile(model)
    heading("GPT-2, 6 layers, width 256, batch 2 x 128 tokens")
    with torch.no_grad():
        expected = model(tokens).logits
        print("compiling ...", flush=True)
        start = time.perf_counter()
        with recording() as graphs:
            actual = compiled(tokens).logits
        first = time.perf_counter() - start
        for graph in graphs:
            print("\n".join(graph_lines(graph)))
        print(f"first call {first:.2f} s, capture and all stages")
        error = (actual - expected).abs().max().item()
        print(f"max error against eager: {error:.3g} (largest value {expected.abs().max():.3g})")
        torch.testing.assert_close(actual, expected)
        eager, ours = median_milliseconds([lambda: model(tokens), lambda: compiled(tokens)])
    print(f"time per call: eager {eager:.2f} ms, compiled {ours:.2f} ms ({eager / ours:.2f}x)")


if __name__ == "__main__":
    show_stages_of_a_function()
    show_model()
