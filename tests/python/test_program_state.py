"""What a program sets in the process is put back, or refused with a reason; never lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

import triptych

SEEDED = {
    "manual_seed": lambda x: torch.manual_seed(3),
    "the seed that is set already": lambda x: torch.manual_seed(torch.initial_seed()),
    "a fixed seed": lambda x: torch.manual_seed(0),
    "seed": lambda x: torch.seed(),
    "random.manual_seed": lambda x: torch.random.manual_seed(1),
    "default_generator": lambda x: torch.default_generator.manual_seed(1),
    "the generator by another name": lambda x: KEPT_GENERATOR.manual_seed(12345),
    "get_rng_state": lambda x: torch.get_rng_state(),
    "set_rng_state": lambda x: torch.set_rng_state(torch.get_rng_state()),
    "fork_rng": lambda x: torch.random.fork_rng().__enter__(),
}
KEPT_GENERATOR = torch.default_generator
SETTINGS: dict[str, Callable[[torch.Tensor], Any]] = {
    "default dtype": lambda x: torch.set_default_dtype(torch.float64),
    "default device": lambda x: torch.set_default_device("cpu"),
    "grad mode": lambda x: torch.set_grad_enabled(True),
    "threads": lambda x: torch.set_num_threads(3),
    "threads by another name": lambda x: KEPT_SET_NUM_THREADS(3),
    "deterministic": lambda x: torch.use_deterministic_algorithms(True),
    "matmul precision": lambda x: torch.set_float32_matmul_precision("medium"),
    "denormals": lambda x: torch.set_flush_denormal(False),
    "autocast": lambda x: torch.set_autocast_enabled("cpu", True),
    "autocast dtype": lambda x: torch.set_autocast_dtype("cpu", torch.float16),
    "anomaly": lambda x: torch.autograd.set_detect_anomaly(True),
}
KEPT_SET_NUM_THREADS = torch.set_num_threads


def state() -> list[Any]:
    return [
        torch.get_default_dtype(),
        getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None),
        torch.is_grad_enabled(),
        torch.get_num_threads(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_float32_matmul_precision(),
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        torch.is_anomaly_enabled(),
        torch.default_generator is KEPT_GENERATOR and torch.random.default_generator,
        torch.set_num_threads is KEPT_SET_NUM_THREADS,
    ]


@pytest.mark.parametrize("name", [*SEEDED, *SETTINGS])
def test_refused_with_a_reason(name: str) -> None:
    change = (SEEDED | SETTINGS)[name]

    def program(x: torch.Tensor) -> torch.Tensor:
        change(x)
        return x + torch.rand(3)

    torch.manual_seed(0)
    before = state()
    with torch.no_grad(), pytest.raises(triptych.errors.UnsupportedError) as refused:
        triptych.normalize(program, torch.ones(3))
    assert refused.value.code == "normalize.global_state"
    assert state() == before


def test_what_a_program_undoes_works() -> None:
    def program(x: torch.Tensor) -> list[torch.Tensor]:
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        wide = torch.zeros(3)
        torch.set_default_dtype(before)
        with torch.autocast("cpu", torch.bfloat16), torch.enable_grad(), torch.device("cpu"):
            half = x @ x
        return [wide + x, half]

    x = torch.randn(3, 3)
    with torch.no_grad():
        graph = triptych.normalize(program, x)
        results = triptych.generate(graph)(x)
        torch.testing.assert_close(results, program(x))


def test_other_threads_keep_their_generator() -> None:
    seeds: list[int] = []

    def seed() -> None:
        torch.manual_seed(7)
        seeds.append(torch.initial_seed())

    def program(x: torch.Tensor) -> torch.Tensor:
        other = threading.Thread(target=seed)
        other.start()
        other.join()
        return x + 1

    torch.manual_seed(7)
    with torch.no_grad():
        triptych.normalize(program, torch.ones(3))
    assert seeds == [7]


def test_a_compiled_function_that_seeds_gives_eagers_answer() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(5)
        return x + torch.rand(3)

    x = torch.ones(3)
    with torch.no_grad():
        torch.testing.assert_close(triptych.compile(program)(x), program(x))


def test_a_seed_in_a_graph_module_falls_back() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(torch.manual_seed, (5,))
    noise = graph.call_function(torch.rand, (3,))
    graph.output((graph.call_function(torch.add, (x, noise)),))
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    from triptych.backend import triptych as backend

    x = torch.ones(3)
    with torch.no_grad():
        run = backend(module, [x])
        torch.manual_seed(9)
        (got,) = run(x)
        torch.testing.assert_close(got, module(x)[0])
