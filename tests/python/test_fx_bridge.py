"""Captured graphs from fx, normalized graphs to fx."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import triptych
from numerics import check_equal


def test_captured_graphs_are_refused_in_words() -> None:
    with torch.no_grad():
        graph = triptych.capture(torch.relu)(torch.ones(3)).graphs[0]
    with pytest.raises(ValueError, match="expected a normalized graph, found the captured"):
        triptych.to_fx(graph)


def captured_by_dynamo(
    function: Callable[..., Any], *inputs: Any, dynamic: bool = False
) -> tuple[torch.fx.GraphModule, list[Any]]:
    taken: list[tuple[torch.fx.GraphModule, list[Any]]] = []

    def take(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        taken.append((gm, example_inputs))
        return gm.forward

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(function, backend=take, dynamic=dynamic)(*inputs)
    return taken[0]


def program(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = torch.nn.functional.pad(x[..., 1:], (1, 2), value=float("inf"))
    first, second = y.to(torch.float64).chunk(2, dim=-1)
    return first.permute(1, 0), torch.full_like(second, 2.5, dtype=torch.bfloat16)


@pytest.mark.parametrize("dynamic", [False, True])
def test_captured_graph_round_trips(dynamic: bool) -> None:
    gm, inputs = captured_by_dynamo(program, torch.randn(4, 5), dynamic=dynamic)
    graph = triptych.from_fx(gm, inputs)
    assert graph.level == "captured"
    assert graph.verify() == []
    assert triptych.Graph.parse(str(graph), graph.constants) == graph
    targets = [node.target for node in graph.nodes]
    assert "torch.nn.functional.pad" in targets or "torch._C._nn.pad" in targets
    assert "torch.Tensor.permute" in targets
    assert all(node.location.startswith(__file__) for node in graph.nodes)
    assert bool(graph.symbols) is dynamic


def test_captured_graph_knows_module_paths() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.GELU()))
    gm, inputs = captured_by_dynamo(model, torch.randn(2, 4))
    graph = triptych.from_fx(gm, inputs)
    assert graph.nodes[0].module_path.endswith("0")
    assert [input.kind for input in graph.inputs].count("parameter") == 2


def test_symbolic_graph_to_fx() -> None:
    graph = triptych.Graph.parse("""graph g normalized {
      symbol s0 in [2, inf] hint 8
      %x: f32[s0, 4] = input.user("x")
      %b: f32[4] = input.parameter("b.weight")
      %0: f32[s0, 4] = aten.add.Tensor(%x, %b)
      %1: f32[s0, 1], %2: f32[s0, 3] = aten.split_with_sizes.default(%0, [1, 3], 1)
      %3: f32[2*s0, 2] = aten.view.default(%0, [2*s0, 2])
      mutate input 0 to %0
      output %1
      output %2 is output 0
      output %0 views input 0 detached as f32[4*s0 - 1] offset=1
      output %3
      output literal s0 + 1
    }""")
    assert "views input 0 detached as" in str(graph)
    gm = triptych.to_fx(graph)
    x, b = torch.randn(3, 4), torch.randn(4)
    total = x + b
    one, same, view, folded, size = gm(x, b)
    check_equal(x, total)
    check_equal((one, view, folded), (total[:, :1], total.flatten()[1:], total.view(6, 2)))
    assert same is one
    assert view.data_ptr() == x.data_ptr() + 4
    assert size == 4


@pytest.mark.parametrize("dynamic", [False, True])
def test_normalized_graph_there_and_back(dynamic: bool) -> None:
    x = torch.randn(4, 6)
    gm, inputs = captured_by_dynamo(program, x, dynamic=dynamic)
    with torch.no_grad():
        graph = triptych.normalize(gm, inputs)
        back = triptych.to_fx(graph)
        concrete = [v.node.hint if isinstance(v, torch.SymInt) else v for v in inputs]
        check_equal(list(back(*concrete)), list(program(x)))
        if not dynamic:
            again = triptych.normalize(back, inputs)
            assert [n.target for n in again.nodes] == [n.target for n in graph.nodes]
