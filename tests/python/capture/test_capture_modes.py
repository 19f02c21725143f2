"""Modes of torch that a program sets, and where a capture ends early."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from capture_oracle import Captured
from torch import Tensor

from triptych import errors
from triptych.backend import triptych as our_backend


def test_autocast_inside() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor, bool]:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x.T
            inside = torch.is_autocast_enabled("cpu")
        return y, y.float() + x.sum(), inside

    x = torch.randn(4, 4)
    with torch.no_grad():
        wanted = function(x)
        captured = Captured(function, x)
        for run in (captured.run_graph, our_backend(captured.gm, captured.examples)):
            captured.run_graph = run
            got = captured(x)
            assert got[0].dtype == torch.bfloat16 and got[2] is True
            torch.testing.assert_close(got[:2], wanted[:2], rtol=1e-2, atol=1e-2)
    assert not torch.is_autocast_enabled("cpu")


def test_autocast_outside_is_guarded() -> None:
    def function(x: Tensor) -> Tensor:
        return x @ x.T

    with torch.autocast("cpu", dtype=torch.bfloat16):
        captured = Captured(function, torch.randn(4, 4))
    assert captured.data["examples"][-1].dtype == torch.bfloat16
    assert captured.data["guards"][0] == "the thread's modes are as they were"


def test_grad_mode_left_off() -> None:
    def function(x: Tensor) -> Tensor:
        torch._C._set_grad_enabled(False)
        return x * 2

    captured = Captured(function, torch.randn(3))
    assert torch.is_grad_enabled()
    try:
        captured(torch.randn(3))
        assert not torch.is_grad_enabled()
    finally:
        torch._C._set_grad_enabled(True)


def test_random_numbers_are_nodes() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.nn.functional.dropout(x, 0.5, training=True) + torch.rand(3)

    x = torch.ones(3)
    state = torch.get_rng_state()
    captured = Captured(function, x)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(3)
    wanted = function(x)
    torch.manual_seed(3)
    assert torch.equal(captured(x), wanted)


def helper(x: Tensor) -> Tensor:
    y = x + 1
    print("helper")
    return y


def prints(x: Tensor) -> Tensor:
    y = x * 2
    print("here")
    return y + 1


def calls_helper(x: Tensor) -> Tensor:
    y = x * 2
    return helper(y) + 1


def reads_data(x: Tensor) -> Tensor:
    y = x * 2
    return y if y.sum() > 0 else x


def reads_item(x: Tensor) -> Any:
    y = x * 2
    return y, y.sum().item()


def makes_numpy(x: Tensor) -> Any:
    y = x * 2
    return y.numpy()


def loops(x: Tensor) -> Any:
    for y in [x, x * 2]:
        print(y.shape)
    return x


def inside_with(x: Tensor) -> Tensor:
    with torch.no_grad():
        y = x * 2
        print("inside")
    return y


@pytest.mark.parametrize(
    ("function", "code", "line"),
    [
        (prints, "break.call", 2),
        (calls_helper, "break.call", None),
        (reads_data, "break.data", 2),
        (reads_item, "break.data", 2),
        (makes_numpy, "break.data", 2),
        (loops, "break.call", 2),
        (inside_with, "break.call", 3),
    ],
)
def test_break(function: Any, code: str, line: int | None) -> None:
    x = torch.randn(2, 3)
    captured = Captured(function, x)
    stop = captured.data["stop"]
    assert stop["code"] == code
    start = (helper if line is None else function).__code__.co_firstlineno
    assert stop["location"] == f"{__file__}:{start + (2 if line is None else line)}"
    made = captured.run(x)
    torch._C._set_grad_enabled(True)
    names = captured.code_function.__code__.co_varnames
    slots = zip(names, stop["slots"], strict=False)
    variables = {name: made[recipe] for name, recipe in slots if recipe >= 0}
    assert variables["x"] is x
    if "y" in variables and function is not loops:
        assert torch.equal(variables["y"], x * 2)


def test_break_in_a_loop_keeps_the_iterator() -> None:
    captured = Captured(loops, torch.randn(2))
    x = torch.randn(2)
    made = captured.run(x)
    stack = [made[k] if k >= 0 else None for k in captured.data["stop"]["stack"]]
    assert torch.equal(next(stack[0]), x * 2)
    with pytest.raises(StopIteration):
        next(stack[0])


def test_exceptions_are_left_to_eager() -> None:
    def function(x: Tensor) -> Tensor:
        raise ValueError(f"no {x.dim()}")

    with pytest.raises(errors.UnsupportedError, match="ValueError: no 1"):
        Captured(function, torch.randn(3))
