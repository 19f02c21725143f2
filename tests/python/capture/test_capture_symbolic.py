"""A size that was another at a later call is a symbol from then on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import models
import triptych

OURS = {"capture": "triptych"}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    triptych.reset()
    with torch.no_grad():
        yield
    triptych.reset()


def elementwise(x: Tensor) -> Any:
    return torch.relu(x) * 2 + x.sum()


def arithmetic(x: Tensor) -> Any:
    b, n = x.shape
    return x.view(b * n), x.size(0) * 2 + 1, x.shape, b, x.shape[:-1]


def factories(x: Tensor) -> Any:
    rows = x.shape[0]
    return torch.zeros(rows), torch.arange(rows), x.new_ones(x.shape[:-1] + (3,)), x[: rows // 2]


def types(x: Tensor) -> Any:
    return isinstance(x.shape[0], int), type(x.size(0)), x + 1


@pytest.mark.parametrize("backend", ["eager", "triptych"])
@pytest.mark.parametrize("function", [elementwise, arithmetic, factories, types])
def test_one_more_capture_serves_all_sizes(function: Any, backend: str) -> None:
    compiled = triptych.compile(function, backend=backend, options=OURS)
    for rows in (4, 7, 8, 13):
        x = torch.randn(rows, 6)
        check(compiled(x), function(x))
    assert triptych.counters()["captures"] == 2


def check(got: Any, wanted: Any) -> None:
    assert type(got) is type(wanted)
    if isinstance(wanted, Tensor):
        torch.testing.assert_close(got, wanted)
    elif isinstance(wanted, tuple):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            check(one, other)
    else:
        assert got == wanted


def test_a_branch_on_a_size_is_a_relation() -> None:
    def function(x: Tensor) -> Tensor:
        return x * 2 if x.shape[0] > 5 else x + 1

    compiled = triptych.compile(function, backend="eager", options=OURS)
    for rows in (3, 4, 9, 5, 2, 12, 1):
        x = torch.randn(rows)
        check(compiled(x), function(x))
    assert triptych.counters()["captures"] == 4  # 3; up to 5; beyond; one row broadcasts


def test_a_loop_over_a_size_specialises() -> None:
    def function(x: Tensor) -> Any:
        out = x
        for k in range(x.shape[0]):
            out = out + k
        return out, f"{x.shape[0]} rows"

    compiled = triptych.compile(function, backend="eager", options=OURS)
    for rows in (3, 4, 3, 5, 4):
        x = torch.randn(rows)
        check(compiled(x), function(x))


def test_dynamic_from_the_first_call() -> None:
    compiled = triptych.compile(elementwise, backend="eager", options=OURS, dynamic=True)
    for rows in (4, 7, 8):
        x = torch.randn(rows, rows + 1)
        check(compiled(x), elementwise(x))
    assert triptych.counters()["captures"] == 1


@pytest.mark.parametrize("name", ["gpt2", "bert", "resnet"])
def test_model_with_other_batches(name: str) -> None:
    torch.manual_seed(0)
    case = models.build(name)
    compiled = triptych.compile(case.model, backend="eager", options=OURS)
    for batch in (2, 3, 5):
        inputs = case.inputs(batch, case.sizes[0])
        got, wanted = compiled(*inputs), case.model(*inputs)
        torch.testing.assert_close(got[0], wanted[0])
    assert triptych.counters()["captures"] == 2


@pytest.mark.parametrize("backend", ["eager", "triptych"])
def test_an_integer_that_changes(backend: str) -> None:
    def function(x: Tensor, step: int, state: dict[str, int]) -> Any:
        state["calls"] += 1
        return x * step + state["calls"], step + 1, isinstance(step, int), step > 3

    compiled = triptych.compile(function, backend=backend, options=OURS)
    ours, eagers = {"calls": 7}, {"calls": 7}
    for step in range(4, 12):
        x = torch.randn(3)
        check(compiled(x, step, ours), function(x, step, eagers))
        assert ours == eagers
    assert triptych.counters()["captures"] <= 3
    assert not any(name.startswith("fallback") for name in triptych.counters())


class Named:
    def __init__(self, shape: torch.Size) -> None:
        self.shape = shape

    def __repr__(self) -> str:
        return f"Named({self.shape})"


def test_text_of_what_holds_sizes() -> None:
    template = "%s %s"

    def function(x: Tensor) -> Any:
        rows = x.shape[0]
        texts = [
            f"{x.shape}",
            template % (x.shape, rows),
            str([rows * 2]),
            f"{(rows / 3, rows > 4)}",
        ]
        texts += [*map(str, x.shape), repr(Named(x.shape))]
        return texts, {f"{tuple(x.shape)}": x * 2}

    compiled = triptych.compile(function, options=OURS)
    for rows in (3, 4, 7, 4):
        x = torch.randn(rows, 2)
        texts, by_name = compiled(x)
        wanted, tensors = function(x)
        assert texts == wanted
        assert list(by_name) == list(tensors)
    assert not any(name.startswith("fallback") for name in triptych.counters())


def test_integers_beyond_64_bits() -> None:
    def function(x: Tensor, n: int) -> Any:
        return x + 1, n * n, n + 1, [n - 2] * 2

    compiled = triptych.compile(function, options=OURS)
    for n in (5, 6, 7, 2**31, 2**32, 2**33, 2**63 - 1, 2**63, 9):
        x = torch.randn(3)
        check(compiled(x, n), function(x, n))


def windows(x: Tensor) -> Any:
    """Filled up to windows of 7, and merged two by two, again and again."""
    for _ in range(7):
        rows, columns = x.shape
        x = F.pad(x, (0, (7 - columns % 7) % 7, 0, (7 - rows % 7) % 7))
        x = x[:rows, :columns].contiguous()
        x = F.pad(x, (0, columns % 2, 0, rows % 2))
        x = x[0::2, 0::2] + x[1::2, 1::2]
    return x


def pooled(x: Tensor) -> Any:
    for _ in range(5):
        x = F.max_pool2d(x[None], 3, 2, ceil_mode=True)[0]
    return x


@pytest.mark.parametrize("function", [windows, pooled])
def test_sizes_that_grow_at_each_step(function: Any) -> None:
    """A size whose expression grew too large is that number: the other calls compile again."""
    compiled = triptych.compile(function, options=OURS, dynamic=True)
    for shape in ((130, 200), (260, 200), (130, 200), (143, 259)):
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), function(x))
    counters = triptych.counters()
    too_large = counters.get("specialized.symbolic.too_large", 0)
    assert (too_large > 0) == (function is windows)
    assert counters["captures"] <= (3 if function is windows else 2)
    assert not any(name.startswith("fallback") for name in counters)


def convolved(x: Tensor, weight: Tensor, pad: int) -> Any:
    for k in range(4):
        x = F.conv2d(x, weight, None, 2 if k == 0 else 1, pad)
        x = F.batch_norm(x, torch.zeros(x.shape[1]), torch.ones(x.shape[1]))
    return x


def test_convolutions_with_every_size_symbolic() -> None:
    compiled = triptych.compile(convolved, options=OURS)
    for kernel, channels in ((3, 16), (5, 24), (7, 12), (9, 20)):
        x = torch.randn(2, channels, 640 // channels, 40)
        weight = torch.randn(channels, channels, kernel, kernel) / (channels * kernel)
        wanted = convolved(x, weight, kernel // 2)
        torch.testing.assert_close(compiled(x, weight, kernel // 2), wanted)
    assert triptych.counters()["captures"] <= 3


@torch.library.custom_op("triptych_symbolic::rows", mutates_args=())
def rows_of(x: Tensor, weight: Tensor) -> Tensor:
    return x @ weight


@rows_of.register_fake
def _(x: Tensor, weight: Tensor) -> Tensor:
    assert x.size(1) == weight.size(0)
    return torch.empty((x.size(0), weight.size(1)), device=x.device, dtype=x.dtype)


@torch.library.custom_op("triptych_symbolic::plain", mutates_args=())
def plain_sizes(x: Tensor) -> Tensor:
    return x * 2


@plain_sizes.register_fake
def _(x: Tensor) -> Tensor:
    if type(x.shape[0]) is not int:
        raise TypeError("sizes that are plain")
    return torch.empty_like(x)


@torch.library.custom_op("triptych_symbolic::chunks", mutates_args=())
def chunks_of(x: Tensor, n: int) -> list[Tensor]:
    return [part.clone() for part in x.chunk(n)]


@chunks_of.register_fake
def _(x: Tensor, n: int) -> list[Tensor]:
    return [torch.empty_like(part) for part in x.chunk(n)]


def through_custom_ops(x: Tensor) -> Any:
    return rows_of(x, torch.ones(6, 3)) + 1, x.shape[0]


def through_lists(x: Tensor) -> Any:
    first, second = chunks_of(torch.cat([x, x]), 2)
    return first + second


def histogram(x: Tensor) -> Tensor:
    return torch.histc(x, bins=4, min=-1, max=1).cumsum(0) + 1


@pytest.mark.parametrize("function", [through_custom_ops, through_lists, histogram])
def test_calls_of_outside_keep_sizes_symbolic(function: Any) -> None:
    compiled = triptych.compile(function, options=OURS, dynamic=True)
    for rows in (8, 11, 13, 14):
        x = torch.randn(rows, 6)
        check(compiled(x), function(x))
    assert triptych.counters() == {"captures": 1, "graphs": 1, "variants": 1}


def test_an_op_described_for_plain_sizes_only() -> None:
    compiled = triptych.compile(lambda x: plain_sizes(x) + 1, options=OURS, dynamic=True)
    for rows in (8, 11, 8):
        x = torch.randn(rows, 6)
        check(compiled(x), x * 2 + 1)
    assert triptych.counters()["captures"] == 2
