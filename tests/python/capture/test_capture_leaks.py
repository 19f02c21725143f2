"""Nothing is left behind: by calls, whatever happens in them, nor by a function that is dropped."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import test_capture_exceptions as exceptions
import test_capture_handover as handover
import test_capture_writes as writes
import torch

import triptych
from triptych import _C

TIMES = 200
X = torch.arange(6.0).reshape(2, 3)


pytestmark = pytest.mark.usefixtures("nothing_compiled")


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    return triptych.compile(function, options={"capture": "triptych"}, **options)


def counts(*objects: Any) -> list[int]:
    gc.collect()
    shared = [None, True, (), torch.Tensor, dict, *objects]
    references = [sys.getrefcount(one) for one in shared]
    return [len(gc.get_objects()), sys.getallocatedblocks(), *references]


def check_constant(call: Callable[[], Any], *objects: Any, warm_up: int = 12) -> None:
    for _ in range(warm_up):
        call()
    for _ in range(3):  # caches of Python and torch may grow once
        before = counts(*objects)
        for _ in range(TIMES):
            call()
        grown = [after - first for after, first in zip(counts(*objects), before, strict=True)]
        if all(growth < TIMES // 10 for growth in grown):
            return
    raise AssertionError(f"left behind by {TIMES} calls: {grown}")


def recompiles(x: torch.Tensor, n: Any) -> Any:
    return x * len(n)


@pytest.mark.parametrize("function", handover.PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:triptych. with_class:UserWarning")
@torch.no_grad()
def test_breaks(function: Any) -> None:
    run = compiled(function)

    def call() -> None:
        run(X)
        handover.LOG.clear()

    check_constant(call, X, function, function.__code__, handover.breaks, handover.__dict__)


@pytest.mark.parametrize(("function", "make", "breaks"), writes.WRITES, ids=writes.NAMES)
@torch.no_grad()
def test_writes(function: Any, make: Any, breaks: bool) -> None:
    run, x = compiled(function), torch.arange(2.0)
    check_constant(lambda: run(x, make()), x, function, function.__code__, type(make()))


@pytest.mark.parametrize("function", exceptions.PROGRAMS, ids=lambda f: f.__name__)
@torch.no_grad()
def test_exceptions(function: Any) -> None:
    run = compiled(function)
    check_constant(lambda: exceptions.outcome(run), function, exceptions.Failure)


@pytest.mark.filterwarnings("ignore:triptych. recompiles runs eagerly:UserWarning")
@torch.no_grad()
def test_recompiles() -> None:
    run = compiled(recompiles)
    lengths = iter(range(10**6))

    def call() -> None:
        n = next(lengths)
        run(torch.ones(2), [0] * (n % 20))
        if n % 20 == 19:
            _C.reset_region(run)

    check_constant(call, recompiles, warm_up=40)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.cache: dict[str, Any] = {}
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        y = self.linear(x)
        if self.calls % 2:
            print(end="")
        self.cache["y"] = y
        return y.sin()


@torch.no_grad()
def test_dropped_regions_are_freed() -> None:
    def once() -> list[Any]:
        model = Net()
        offset = torch.ones(3)

        def function(x: torch.Tensor) -> torch.Tensor:
            print(end="")
            return model(x) + offset

        runs = [compiled(model), compiled(function), compiled(model.forward)]
        for run in runs:
            for _ in range(2):
                run(X)
        kept = [model, model.linear, model.linear.weight, offset, function, *runs]
        kept += [run._triptych_region for run in runs[:1]]
        return [weakref.ref(one) for one in kept]

    once()
    before = counts(Net, Net.forward, Net.forward.__code__)
    for _ in range(10):
        references = once()
        gc.collect()
        assert [one() for one in references] == [None] * len(references)
    grown = [
        after - first
        for after, first in zip(counts(Net, Net.forward, Net.forward.__code__), before, strict=True)
    ]
    assert all(growth < 20 for growth in grown[2:]), grown  # references to shared objects
    # A compiled kernel stays in the cache of kernels.
    assert grown[0] < 100 and grown[1] < 500, grown
