"""Custom ops that write their arguments: copied, called, copied back, in the program's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from graph_interpreter import Interpreter

import triptych
from numerics import check_equal

pytestmark = pytest.mark.usefixtures("inference")


@torch.library.custom_op("triptych_mutable::add_one", mutates_args=("x",))
def add_one(x: torch.Tensor) -> None:
    x.add_(1)


@torch.library.custom_op("triptych_mutable::take", mutates_args=("x",))
def take(x: torch.Tensor, y: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
    x.add_(y)
    return x * scale


@take.register_fake
def _(x: torch.Tensor, y: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
    return torch.empty_like(x)


# The optional tensor has no default: torch 2.11 drops an argument that equals its default, and then
# misses it where it marks what is written.
@torch.library.custom_op("triptych_mutable::swap", mutates_args=("x", "y"))
def swap(x: torch.Tensor, y: torch.Tensor | None) -> None:
    if y is None:
        x.neg_()
        return
    before = x.clone()
    x.copy_(y)
    y.copy_(before)


@torch.library.custom_op("triptych_mutable::fill_all", mutates_args=("xs",))
def fill_all(xs: list[torch.Tensor]) -> None:
    for x in xs:
        x.fill_(7)


@torch.library.custom_op("triptych_mutable::noise", mutates_args=("x",))
def noise(x: torch.Tensor) -> None:
    x.add_(torch.rand_like(x))


def on_intermediate(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = x + y
    add_one(z)
    return z * 2


def on_view(x: torch.Tensor, y: torch.Tensor) -> Any:
    add_one(x[1])
    add_one(x[:, 2])
    return x * 2, x[1]


def in_order(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.mul_(2)
    add_one(x)
    x.mul_(3)
    result = take(x, y, 0.5)
    add_one(y)
    return result + y, x


def two_written(x: torch.Tensor, y: torch.Tensor) -> Any:
    swap(x, y)
    swap(x, None)
    return x + 2 * y


def random(x: torch.Tensor, y: torch.Tensor) -> Any:
    before = torch.rand(3)
    noise(x)
    return before, torch.rand(3)


PROGRAMS: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "input": lambda x, y: add_one(x),
    "input and result": lambda x, y: take(x, y),
    "intermediate": on_intermediate,
    "view": on_view,
    "in order": in_order,
    "two written": two_written,
    "random": random,
}
LAYOUTS = {"dense": lambda t: t, "transposed": lambda t: t.t().contiguous().t()}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("runner", ["program", "graph", "interpreter", "compile"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_eager(name: str, runner: str, layout: str) -> None:
    function = PROGRAMS[name]

    def inputs() -> list[torch.Tensor]:
        return [LAYOUTS[layout](torch.arange(12.0).view(3, 4) * k) for k in (1, 2)]

    expected_inputs, given = inputs(), inputs()
    if runner == "compile":
        run: Any = triptych.compile(function)
        run(*inputs())
        assert not any(key.startswith("fallback") for key in triptych.counters())
    else:
        graph = triptych.normalize(function, inputs())
        assert triptych.Graph.parse(str(graph), graph.constants) == graph
        run = {
            "program": lambda: triptych.generate(graph),
            "graph": lambda: graph.run,
            "interpreter": lambda: Interpreter(graph).run,
        }[runner]()
    torch.manual_seed(3)
    expected = function(*expected_inputs)
    torch.manual_seed(3)
    got = run(*given)
    flat = lambda r: list(r) if isinstance(r, (list, tuple)) else [r]  # noqa: E731
    check_equal(
        [r for r in flat(got) if r is not None], [r for r in flat(expected) if r is not None]
    )
    check_equal(given, expected_inputs)


def refused(function: Callable[..., Any], *inputs: torch.Tensor) -> str:
    with pytest.raises(triptych.errors.UnsupportedError) as error:
        triptych.normalize(function, inputs)
    return error.value.code


def test_what_is_refused() -> None:
    constant = torch.zeros(3)
    assert refused(lambda x: fill_all([x]), torch.ones(3)) == "normalize.mutable_op"
    assert refused(lambda x: swap(x, constant), torch.ones(3)) == "normalize.mutation"


def test_outside_of_a_trace_the_op_is_what_it_was() -> None:
    triptych.normalize(add_one, torch.ones(3))
    x = torch.ones(3)
    add_one(x)
    assert x.tolist() == [2, 2, 2]
    compiled = torch.compile(on_intermediate, backend="aot_eager")
    check_equal(compiled(x, x), on_intermediate(x, x))


@torch.library.custom_op("triptych_flat::_twice", mutates_args=("x",))
def underscore_in_the_name(x: torch.Tensor) -> None:
    x.mul_(2)


@torch.library.custom_op("triptych_flat_::twice", mutates_args=("x",))
def underscore_in_the_namespace(x: torch.Tensor) -> None:
    x.mul_(3)


def test_two_ops_with_one_flattened_name_are_told_apart() -> None:
    x = torch.ones(3)
    graph = triptych.normalize(lambda y: underscore_in_the_name(y), x)
    Interpreter(graph).run(x)
    check_equal(x, torch.full((3,), 2.0))
    with pytest.raises(triptych.errors.UnsupportedError) as caught:
        triptych.normalize(lambda y: underscore_in_the_namespace(y), x)
    assert caught.value.code == "normalize.mutable_op"
