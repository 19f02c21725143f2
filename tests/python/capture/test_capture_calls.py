"""Captured calls of small functions and modules, against eager."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
from capture_oracle import Captured, compare

from triptych.backend import triptych as our_backend


def check(function: Any, *args: Any, **kwargs: Any) -> Captured:
    """Captures, and compares the graph run eagerly and compiled with the program itself."""
    with torch.no_grad():
        wanted = function(*args, **kwargs)
        captured = Captured(function, *args, **kwargs)
        compare(captured(*args, **kwargs), wanted, 0.0)
        if captured.data["examples"]:
            captured.run_graph = our_backend(captured.gm, captured.examples)
            compare(captured(*args, **kwargs), wanted, 1e-5)
    return captured


def test_two_tensors() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ y) + 1

    captured = check(function, torch.randn(3, 4), torch.randn(4, 5))
    assert [node.op for node in captured.gm.graph.nodes].count("call_function") == 3


def test_structure_of_results() -> None:
    def function(x: torch.Tensor) -> Any:
        y = x * 2
        return {"a": (y, [y, None, 3]), "shape": x.shape, "name": f"{x.dtype}"}, x, slice(1, 2)

    x = torch.randn(3)
    captured = check(function, x)
    (tree, same, _) = captured(x)
    assert same is x
    assert tree["a"][0] is tree["a"][1][0]


def test_mlp() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    captured = check(model, torch.randn(3, 4))
    assert len(captured.data["examples"]) == 3
    guards = "\n".join(captured.data["guards"])
    assert "L['self'][0].weight: Float[8, 4] on cpu" in guards
    assert "len(L['self'][2]._forward_hooks) == 0" in guards


def test_nothing_remains_of_a_failed_capture() -> None:
    def function(x: torch.Tensor, state: dict[str, Any]) -> torch.Tensor:
        with torch.no_grad():
            state["y"] = x + 1
            if x.sum() > 0:
                return x
        return state["y"]

    state: dict[str, Any] = {}
    x = torch.randn(3)
    keys = torch._C._dispatch_tls_local_include_set()
    captured = Captured(function, x, state)
    assert captured.data["stop"]["code"] == "break.data"
    assert state == {}
    assert torch.is_grad_enabled()
    assert repr(torch._C._dispatch_tls_local_include_set()) == repr(keys)
    assert not torch.compiler.is_compiling()
    assert (x + 1).shape == (3,)


def test_no_exception_remains_handled() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        try:
            raise KeyError("k")
        except KeyError:
            if x.sum() > 0:
                return x
        return x + 1

    captured = Captured(function, torch.randn(3))  # up to where the exception is raised
    assert captured.data["stop"]["code"] == "break.data"
    assert sys.exc_info() == (None, None, None)


@pytest.mark.parametrize("grad", [True, False])
def test_grad_mode_is_a_node(grad: bool) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, bool, bool]:
        with torch.set_grad_enabled(grad):
            y = x * 2
            inside = torch.is_grad_enabled()
        return y, inside, torch.is_grad_enabled()

    captured = Captured(function, torch.randn(3, requires_grad=True))
    y, inside, outside = captured(torch.randn(3, requires_grad=True))
    assert (inside, outside, y.requires_grad) == (grad, True, grad)
