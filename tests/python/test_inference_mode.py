"""What a program makes in inference mode is of another kind, compiled or not."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch

import triptych

X = torch.randn(3, 4)
Function = Callable[[torch.Tensor], Any]


@torch.inference_mode()
def decorated(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) + 1


def whole(x: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return torch.relu(x) + 1


def part(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    with torch.inference_mode():
        y = x + 1
    return y * 2, y


def turned_off(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    with torch.inference_mode():
        y = x + 1
        with torch.inference_mode(False):
            z = x * 3
    return y, z, x * 2


def view(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x * 2
    with torch.inference_mode():
        y.add_(1)
        v = y.view(-1)
    return y, v


# Dynamo has the mode in its graphs; our own capture breaks where it begins and ends.
CAPTURES = pytest.mark.parametrize("capture", ["triptych", "dynamo"])


@CAPTURES
@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad, torch.inference_mode])
@pytest.mark.parametrize("function", [decorated, whole, part, turned_off, view])
def test_kinds_of_results(
    function: Function, mode: Callable[[], AbstractContextManager], capture: str
) -> None:
    triptych.reset()
    compiled = triptych.compile(function, options={"capture": capture})
    for _ in range(2):
        with mode():
            expected, got = function(X), compiled(X)
        for e, g in zip(*map(torch.utils._pytree.tree_leaves, (expected, got)), strict=True):
            torch.testing.assert_close(g, e)
            assert g.is_inference() == e.is_inference()
    assert triptych.counters()["graphs"] > 0
    fell_back = triptych.counters().get("fallback.backend.inference_mode", 0)
    in_graph = capture == "dynamo" and function not in (decorated, whole)
    assert fell_back == (1 if in_graph else 0)


@CAPTURES
def test_modules_whose_parameters_require_grad_are_compiled(capture: str) -> None:
    triptych.reset()
    layer = torch.nn.Linear(4, 4)
    program = torch.inference_mode()(lambda x: layer(x))
    compiled = triptych.compile(program, options={"capture": capture})
    result = compiled(X)
    assert result.is_inference() and not result.requires_grad
    torch.testing.assert_close(result, layer(X).detach())
    assert triptych.counters()["graphs"] == 1
    assert not [name for name in triptych.counters() if name.startswith("fallback.backend")]


def test_dynamic_sizes() -> None:
    triptych.reset()
    compiled = triptych.compile(decorated, dynamic=True)
    for rows in (3, 5, 8):
        x = torch.randn(rows, 4)
        result = compiled(x)
        assert result.is_inference()
        torch.testing.assert_close(result, decorated(x))
