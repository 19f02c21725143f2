"""What stands outside of a program and still matters: tools that watch it, classes that change,
caches of functions, the memory of tensors, copies of what holds a compiled function."""

from __future__ import annotations

import copy
import cProfile
import functools
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from own_capture import compiled

import triptych

pytestmark = pytest.mark.usefixtures("without_gradients")


def under_profile(call: Callable[[], Any]) -> Any:
    return cProfile.Profile().runcall(call)


def under_trace(call: Callable[[], Any]) -> Any:
    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: None)
    try:
        return call()
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("watch", [under_profile, under_trace])
def test_watched_code_runs_once(watch: Any) -> None:
    log: list[Any] = []

    class Memory(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last: Any = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            log.append(x * 2)
            self.last = x if self.last is None else self.last + x
            return self.last

    model = Memory()
    run, x = compiled(model), torch.ones(3)
    for k in range(1, 4):
        assert torch.equal(watch(lambda: run(x)), x * k)
        assert len(log) == k and torch.equal(log[-1], x * 2)
    assert torch.equal(run(x), x * 4) and len(log) == 4, "and is captured when nothing watches"
    assert triptych.counters()["graphs"] > 0


def address(x: torch.Tensor) -> torch.Tensor:
    pointer = x.data_ptr()
    return x + 1 if pointer else x - 1


def same_memory(x: torch.Tensor) -> torch.Tensor:
    other = x.clone()
    return x + 1 if x.data_ptr() == other.data_ptr() else x - 1


def applied(x: torch.Tensor) -> torch.Tensor:
    return (x + 1).apply_(lambda value: value * 3) * 2


def mapped(x: torch.Tensor) -> torch.Tensor:
    return (x + 1).map_(x, lambda a, b: a * b)


def shared(x: torch.Tensor) -> torch.Tensor:
    return x + (x + 1).share_memory_().is_shared()


def storage(x: torch.Tensor) -> torch.Tensor:
    return x + (x * 2).untyped_storage().nbytes()


@pytest.mark.parametrize("function", [address, same_memory, applied, mapped, shared, storage])
def test_memory_is_looked_at(function: Any) -> None:
    run, x = compiled(function), torch.arange(3.0)
    for _ in range(3):
        assert torch.equal(run(x), function(x))


class Shift(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


class Other(Shift):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x - 5


def test_class_of_a_module_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Shift()
    run, x = compiled(model), torch.ones(3)
    assert torch.equal(run(x), x + 1)
    with monkeypatch.context() as patch:
        patch.setattr(Shift, "forward", lambda self, x: x + 7)
        assert torch.equal(run(x), x + 7)
    assert torch.equal(run(x), x + 1)
    with monkeypatch.context() as patch:
        patch.setattr(Shift, "__call__", lambda self, x: x + 9, raising=False)
        assert torch.equal(run(x), x + 9)
    assert torch.equal(run(x), x + 1)
    model.__class__ = Other
    assert torch.equal(run(x), x - 5)


def test_cached_functions_show_what_they_cached() -> None:
    calls = []

    @functools.cache
    def table(n: int) -> torch.Tensor:
        calls.append(n)
        return torch.arange(float(n))

    def program(x: torch.Tensor) -> tuple[torch.Tensor, bool]:
        return x + table(3), table(3) is table(3)

    run, x = compiled(program), torch.ones(3)
    for k in range(3):
        result, same = run(x)
        assert same and torch.equal(result, x + torch.arange(3.0) + k)
        table(3).add_(1)
    assert calls == [3]


def test_copies_of_what_holds_a_compiled_function() -> None:
    model = torch.nn.Linear(3, 2)
    plain = copy.deepcopy(model)
    x = torch.randn(4, 3)
    model.forward = compiled(model.forward)
    model.helper = compiled(torch.nn.functional.gelu)
    torch.testing.assert_close(model(x), plain(x))
    other = copy.deepcopy(model)
    model.weight.zero_()
    torch.testing.assert_close(other(x), plain(x))
    torch.testing.assert_close(other.helper(x), torch.nn.functional.gelu(x))
    assert pickle.loads(pickle.dumps(compiled(len))) is len


def test_scripted_modules_run_as_they_are() -> None:
    scripted = torch.jit.script(torch.nn.ReLU())
    with pytest.warns(UserWarning, match="torch.jit has compiled"):
        run = compiled(scripted)
    x = torch.randn(4)
    assert torch.equal(run(x), x.relu())
    assert triptych.counters()["fallback.capture.script"] == 1
