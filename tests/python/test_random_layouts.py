"""Random numbers in tensors of other layouts: drawn in the order of memory, as eager does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from graph_interpreter import Interpreter

import triptych


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    triptych.reset()
    yield


LAYOUTS = {
    "contiguous": lambda: torch.ones(3, 40),
    "transposed": lambda: torch.ones(2, 3).t(),
    "transposed_large": lambda: torch.ones(70, 33).t(),
    "permuted": lambda: torch.ones(3, 4, 5).permute(2, 0, 1),
    "size_one": lambda: torch.ones(4, 1, 5).permute(2, 1, 0),
    "channels_last": lambda: torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "sliced": lambda: torch.ones(8, 9)[1:7:2, 2:6],
    "sliced_transposed": lambda: torch.ones(8, 9).t()[1:7:2, 2:6],
    "scalar": lambda: torch.ones(()),
}


def fill(x: torch.Tensor) -> torch.Tensor:
    return x.clone().bernoulli_(0.3)


def fill_view(x: torch.Tensor) -> torch.Tensor:
    base = torch.zeros(6, 8)
    base.t()[1:5, 1:6].bernoulli_(0.3)
    return base + x.sum()


def dropout(x: torch.Tensor) -> torch.Tensor:
    return F.dropout(x, 0.5)


def twice(x: torch.Tensor) -> torch.Tensor:
    return F.dropout(F.dropout(x, 0.5) + 1, 0.1)


def outcome(function: Any, *args: Any) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(3)
    result = function(*args)
    return (result[0] if isinstance(result, (list, tuple)) else result), torch.get_rng_state()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", [fill, fill_view, dropout, twice])
def test_draws_as_eager(function: Any, layout: str) -> None:
    x = LAYOUTS[layout]()
    with torch.no_grad():
        expected, state = outcome(function, x)
        graph = triptych.normalize(function, (x,))
        for run in (Interpreter(graph).run, triptych.compile(function)):
            got, after = outcome(run, x)
            assert torch.equal(got, expected)
            assert got.stride() == expected.stride()
            assert torch.equal(after, state)


def test_draws_into_an_input_as_eager() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.bernoulli_(0.5) + 1

    with torch.no_grad():
        expected, state = outcome(function, torch.ones(5, 6).t())
        got, after = outcome(triptych.compile(function), torch.ones(5, 6).t())
    assert torch.equal(got, expected)
    assert torch.equal(after, state)


@pytest.mark.parametrize("batch_first", [False, True])
def test_transformer_layer_in_training(batch_first: bool) -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=batch_first).train()
    x = torch.randn(3, 5, 16).transpose(0, 1)
    with torch.no_grad():
        expected, state = outcome(layer, x)
        got, after = outcome(triptych.compile(layer), x)
    torch.testing.assert_close(got, expected)
    assert torch.equal(after, state)


@pytest.mark.parametrize(
    "view", [lambda b: b[1:9, 1:30], lambda b: b.diagonal(), lambda b: b[:, 3]]
)
def test_normal_numbers_in_a_view_with_gaps(view: Any) -> None:
    """Eager has another algorithm there than for contiguous memory: not compiled."""

    def function(x: torch.Tensor) -> torch.Tensor:
        base = x * 0
        view(base).normal_()
        return base

    x = torch.ones(20, 40)
    with torch.no_grad():
        expected, state = outcome(function, x)
        got, after = outcome(triptych.compile(function), x)
    assert torch.equal(got, expected)
    assert torch.equal(after, state)


@pytest.mark.parametrize("draw", ["uniform_", "exponential_", "random_", "cauchy_"])
@pytest.mark.parametrize(
    "view", [lambda b: b[1:9, 1:30], lambda b: b[:, ::3].t(), lambda b: b[:, 3]]
)
def test_numbers_in_a_view_with_gaps(view: Any, draw: str) -> None:
    """Drawn in the order of memory, whether it is contiguous or not: compiled."""

    def function(x: torch.Tensor) -> torch.Tensor:
        base = x * 0
        getattr(view(base), draw)()
        return base

    x = torch.ones(20, 40)
    with torch.no_grad():
        expected, state = outcome(function, x)
        graph = triptych.normalize(function, (x,))
        for run in (Interpreter(graph).run, triptych.generate(graph)):
            got, after = outcome(run, x)
            assert torch.equal(got, expected)
            assert torch.equal(after, state)


def test_poisson_draws_in_order_of_elements() -> None:
    x = (torch.rand(5, 6) * 9).t()
    graph = triptych.normalize(torch.poisson, (x,))
    expected, state = outcome(torch.poisson, x)
    got, after = outcome(triptych.generate(graph), x)
    assert torch.equal(got, expected) and got.stride() == expected.stride()
    assert torch.equal(after, state)
