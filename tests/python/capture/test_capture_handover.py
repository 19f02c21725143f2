"""Where a graph breaks while something lives that no recipe makes again (a generator, an exception
that is handled, an open mode), what comes before it is compiled all the same, and what comes
after."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import triptych

X = torch.arange(6.0).reshape(2, 3)
LOG: list[Any] = []
Program = Callable[[torch.Tensor], Any]


pytestmark = pytest.mark.usefixtures("nothing_compiled")


def breaks(x: torch.Tensor) -> torch.Tensor:
    print(end="")
    return x


@contextlib.contextmanager
def managed(value: Any) -> Iterator[Any]:
    LOG.append("in")
    try:
        yield value
    finally:
        LOG.append("out")


def numbers(count: int) -> Iterator[int]:
    try:
        yield from range(count)
    finally:
        LOG.append("closed")


def in_manager(x: torch.Tensor) -> Any:
    y = x.sin()
    with managed(y) as z:
        breaks(z)
        z = z + 1
    return z * y


def in_two_managers(x: torch.Tensor) -> Any:
    y = x.sin()
    with managed(y) as z, managed(3) as n:
        breaks(z)
        z = z * n + 1
    return z * y


def in_loop_over_generator(x: torch.Tensor) -> Any:
    y = x.cos()
    for k in numbers(3):
        y = y.sin()
        x = breaks(x) + k
    return x * y


def in_comprehension(x: torch.Tensor) -> Any:
    y = x.cos()
    return [breaks(y) + k for k in numbers(3)]


def in_generator_expression(x: torch.Tensor) -> Any:
    y = x.cos()
    return sum(breaks(y) * k for k in numbers(3))


def with_live_generator(x: torch.Tensor) -> Any:
    y = x.cos()
    generator = numbers(3)
    first = next(generator)
    breaks(y)
    return y + first, list(generator)


def in_handler(x: torch.Tensor) -> Any:
    y = x.cos()
    try:
        raise KeyError("a")
    except KeyError as error:
        breaks(y)
        y = y + len(error.args)
    return y.sin() * 2


def in_handler_of_operation(x: torch.Tensor) -> Any:
    y = x.cos()
    try:
        z = y.reshape(17)
    except RuntimeError as error:
        breaks(y)
        z = y * len(str(error))
    return z.sin() + y


def in_finally(x: torch.Tensor) -> Any:
    y = x.cos()
    try:
        for k in range(2):
            try:
                if k == 1:
                    raise ValueError("b")
                y = y + 1
            finally:
                breaks(y)
    except ValueError:
        y = y * 2
    return y.sin()


def in_autocast(x: torch.Tensor) -> Any:
    y = x.cos()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = y @ y.t()
        breaks(z)
        z = z @ z
    return z, y.sin()


def in_inference_mode(x: torch.Tensor) -> Any:
    y = x.cos()
    with torch.inference_mode():
        z = y * 2
        breaks(z)
        z = z + 1
    return z, y.sin()


def generator_lives_on(x: torch.Tensor) -> Any:
    y = x.cos()
    generator = numbers(3)
    next(generator)
    if y.sum() > 0:
        return y.sin(), list(generator)
    return y, list(generator)


async def added(x: torch.Tensor) -> Any:
    return x + 1


def in_coroutine(x: torch.Tensor) -> Any:
    y = x.cos()
    coroutine = added(y)
    try:
        coroutine.send(None)
    except StopIteration as stopped:
        y = stopped.value
    return y.sin()


def with_class(x: torch.Tensor) -> Any:
    y = x.cos()

    class Made:
        factor = y.shape[0]

        def __call__(self, z: Any) -> Any:
            return z * self.factor

    return Made()(y.sin())


PROGRAMS = [value for value in globals().values() if getattr(value, "__module__", 0) == __name__]
PROGRAMS = [value for value in PROGRAMS if value.__name__.startswith(("in_", "with_", "generator"))]


@pytest.mark.parametrize("function", PROGRAMS, ids=[value.__name__ for value in PROGRAMS])
@pytest.mark.filterwarnings("error::RuntimeWarning")
@torch.no_grad()
def test_as_eager(function: Program, capsys: pytest.CaptureFixture[str]) -> None:
    LOG.clear()
    wanted = function(X)
    done = list(LOG)
    run = triptych.compile(function, options={"capture": "triptych"})
    for _ in range(4):
        LOG.clear()
        torch.testing.assert_close(run(X), wanted)
        assert done == LOG
    assert capsys.readouterr().err == ""
    # Both parts; but a generator's own frame is left to Python.
    assert triptych.counters()["captures"] >= (1 if function is in_generator_expression else 2)


@torch.no_grad()
def test_one_call_compiles_all_segments() -> None:
    run = triptych.compile(in_loop_over_generator, options={"capture": "triptych"})
    run(X)
    before = triptych.counters()["captures"]
    run(X)
    assert triptych.counters()["captures"] == before
    assert triptych.counters()["fallback.break.call"] > 0


@torch.no_grad()
def test_reason_of_an_early_end() -> None:
    for function, why in ((in_handler, "is being handled"), (in_manager, "lives on")):
        first = triptych.capture(function)(X).breaks[0]
        assert first.code == "break.call"
        assert "print" in first.message and why in first.message
        assert first.location.startswith(__file__)
