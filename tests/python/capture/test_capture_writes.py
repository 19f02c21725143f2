"""What a compiled function writes is written as eager does: how often, in which kind of object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import triptych


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    triptych.reset()
    yield
    triptych.reset()


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return triptych.compile(function, options={"capture": "triptych"})


def twice(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.add_(1)
    x.mul_(2)


def once_each(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.add_(y)
    y.mul_(3)


def by_a_view(x: torch.Tensor, y: torch.Tensor) -> Any:
    x[0] = 3
    x[1:].add_(y[0])
    return x.sum()


def back_again(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.add_(0)
    return y + 1


def around_a_break(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.add_(1)
    triptych.graph_break()
    x.add_(1)
    y.zero_()
    return x + y


VERSIONED = [twice, once_each, by_a_view, back_again, around_a_break]


@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("function", VERSIONED)
@torch.no_grad()
def test_versions_count_as_in_eager(function: Any, views: bool) -> None:
    def arguments() -> list[torch.Tensor]:
        if views:
            return list(torch.ones(2, 4).unbind())
        return [torch.ones(4), torch.ones(4)]

    run = compiled(function)
    for_eager, for_compiled = arguments(), arguments()
    for _ in range(3):
        function(*for_eager)
        run(*for_compiled)
        for one, other in zip(for_compiled, for_eager, strict=True):
            torch.testing.assert_close(one, other)
            assert one._version == other._version


@torch.no_grad()
def test_sizes_are_objects() -> None:
    def function(x: torch.Tensor) -> Any:
        n = x.shape[0]
        same = x.size(0) is x.shape[0], n is n, x.size(0) is not n, (n + 1) is (n + 1)
        return (x + 1, *same)

    run = compiled(function)
    for length in (300, 400, 500, 3, 4, 5, 256, 255, 257, 600):
        assert run(torch.ones(length))[1:] == function(torch.ones(length))[1:]
