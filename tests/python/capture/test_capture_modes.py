"""Modes of torch that a program sets, and where a capture ends early."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from capture_oracle import Captured
from torch import Tensor

import triptych
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


def in_inference_mode(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        y = x * 2
    return y, y.is_inference(), torch.is_inference(y), (x + 1).is_inference(), y + 1


@torch.inference_mode()
def decorated(x: torch.Tensor) -> Any:
    return x * 2, torch.is_inference_mode_enabled()


def out_of_inference_mode(x: torch.Tensor) -> Any:
    with torch.inference_mode(False):
        y = x.clone() * 2
        mode = torch.is_inference_mode_enabled()
    return y, mode, y.is_inference()


def requiring_grad(x: torch.Tensor) -> Any:
    y = (x + 1).requires_grad_(False)
    z = x.clone().requires_grad_()
    return y * 2, z.requires_grad, y.requires_grad


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * 3

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return grads[0] * 7 + x


def own_function(x: torch.Tensor) -> Any:
    return (Scaled.apply(x + 1) * 2,)  # type: ignore[no-untyped-call]


def checkpointed(x: torch.Tensor) -> Any:
    from torch.utils.checkpoint import checkpoint

    return (checkpoint(lambda v: v.sin() * 2, x + 1, use_reentrant=False) * 2,)


MODAL = [in_inference_mode, decorated, out_of_inference_mode, requiring_grad, own_function]


@pytest.mark.filterwarnings("ignore:triptych. a region that needs gradients:UserWarning")
@pytest.mark.parametrize("mode", ["no_grad", "enable_grad", "inference_mode"])
@pytest.mark.parametrize("function", [*MODAL, checkpointed])
def test_gradients_and_inference_mode_are_eagers(function: Any, mode: str) -> None:
    if mode != "no_grad" and function is requiring_grad:
        pytest.skip("eager refuses it")

    def outcome(run: Any) -> Any:
        x = torch.arange(1.0, 4.0, requires_grad=mode == "enable_grad")
        with getattr(torch, mode)():
            values = run(x)
            tensors = [value for value in values if isinstance(value, torch.Tensor)]
            if tensors[0].requires_grad:
                tensors[0].sum().backward()
        kinds = [(value.requires_grad, value.is_inference()) for value in tensors]
        return values, kinds, x.grad

    run = triptych.compile(function, options={"capture": "triptych"})
    wanted = outcome(function)
    for _ in range(3):
        torch.testing.assert_close(outcome(run), wanted)
    triptych.reset()
