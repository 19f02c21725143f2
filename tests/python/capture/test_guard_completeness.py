"""Each kind of guard is needed: with all guards a program stays right when what it depends on
changes; without those of one kind it goes wrong."""

from __future__ import annotations

import abc
import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from triptych import _C, backends
from triptych.capture.regions import Settings, make_region

Call = tuple[Any, ...]
Case = tuple[Callable[..., Any], Callable[[], Iterator[Call]]]


pytestmark = pytest.mark.usefixtures("nothing_compiled")


def tensor() -> torch.Tensor:
    return torch.arange(1.0, 4.0)


class Box:
    def __init__(self, factor: int = 2):
        self.factor = factor

    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor


class Other(Box):
    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        return x - self.factor


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def triple(x: torch.Tensor) -> torch.Tensor:
    return x * 3


helper = double
CASES: dict[str, Case] = {}


def case(kind: str, function: Callable[..., Any]) -> Any:
    """`calls` yields arguments one after the other, and changes the world between."""

    def add(calls: Callable[[], Iterator[Call]]) -> Callable[[], Iterator[Call]]:
        CASES[kind] = function, calls
        return calls

    return add


@case("is", lambda x: helper(x))
def other_function() -> Iterator[Call]:
    global helper
    yield (tensor(),)
    try:
        helper = triple
        yield (tensor(),)
    finally:
        helper = double


@case("type", lambda x, box: box.scaled(x))
def other_class() -> Iterator[Call]:
    yield tensor(), Box()
    yield tensor(), Other()


@case("equals", lambda x, n: x * n)
def other_number() -> Iterator[Call]:
    yield tensor(), 2.5
    yield tensor(), 3.5


@case("length", lambda x, items: x * len(items))
def other_length() -> Iterator[Call]:
    yield tensor(), [1, 2]
    yield tensor(), [1, 2, 3]


def in_order(x: torch.Tensor, table: dict[str, int]) -> torch.Tensor:
    for key in table:
        x = x * table[key] + 1
    return x


@case("keys", in_order)
def other_order() -> Iterator[Call]:
    yield tensor(), {"a": 2, "b": 3}
    yield tensor(), {"b": 3, "a": 2}


@case("has_key", lambda x, table: x * 2 if "k" in table else x)
def key_gone() -> Iterator[Call]:
    yield tensor(), {"k": 1}
    yield tensor(), {}


@case("lacks_key", lambda x, table: x * 2 if "k" in table else x)
def key_there() -> Iterator[Call]:
    yield tensor(), {}
    yield tensor(), {"k": 1}


@case("absent", lambda x, box: x * 2 if hasattr(type(box), "extra") else x)
def class_attribute() -> Iterator[Call]:
    yield tensor(), Box()
    try:
        Box.extra = 1  # type: ignore[attr-defined]
        yield tensor(), Box()
    finally:
        del Box.extra  # type: ignore[attr-defined]


@case("tensor", lambda x: x * x.shape[0])
def other_size() -> Iterator[Call]:
    yield (torch.ones(3),)
    yield (torch.ones(4),)


@case("state", lambda x: x * 2 if torch.is_grad_enabled() else x)
def other_mode() -> Iterator[Call]:
    yield (tensor(),)
    with torch.enable_grad():
        yield (tensor(),)


@case("same", lambda a, b: a * 2 if a is b else a)
def one_then_two() -> Iterator[Call]:
    one = tensor()
    yield one, one
    yield tensor(), tensor()


@case("distinct", lambda a, b: a * 2 if a is b else a)
def two_then_one() -> Iterator[Call]:
    one = tensor()
    yield tensor(), tensor()
    yield one, one


def written(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a.add_(1)
    return b * 2


@case("disjoint", written)
def shared_memory() -> Iterator[Call]:
    memory = torch.zeros(4)
    yield tensor(), tensor()
    yield memory[:3], memory[1:]


class Abstract(abc.ABC):  # noqa: B024
    pass


registered = Box()


@case("abc_token", lambda x: x * 2 if isinstance(registered, Abstract) else x)
def class_registered() -> Iterator[Call]:
    global registered
    new = type("New", (), {})
    registered = new()
    yield (tensor(),)
    Abstract.register(new)
    yield (tensor(),)


@case("relations", lambda a, b: a + 1 if a.shape[0] == b.shape[0] else b + 2)
def other_sizes() -> Iterator[Call]:
    yield torch.ones(3), torch.ones(3)
    yield torch.ones(3), torch.ones(4)


def run_all(function: Callable[..., Any], calls: Callable[[], Iterator[Call]]) -> list[Any]:
    results: list[Any] = []
    for arguments in calls():
        try:
            results.append(function(*copy_of(arguments)))
        except Exception as error:
            results.append(error)
    return results


def copy_of(arguments: Call) -> Call:
    """Tensors that are one stay one, views of one memory too."""
    return copy.deepcopy(arguments)


def agree(found: list[Any], wanted: list[Any]) -> bool:
    pairs = zip(found, wanted, strict=True)
    return all(isinstance(a, torch.Tensor) and torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("kind", _C.guard_names)
@torch.no_grad()
def test_without_guards_of_a_kind(kind: str) -> None:
    function, calls = CASES[kind]
    wanted = run_all(function, calls)

    def region(**options: Any) -> Any:
        # A backend that reorders writes, and trusts the guards on memory.
        backend = backends.find("aot_eager" if kind == "disjoint" else "eager")
        dynamic = kind == "relations"
        return make_region(function, None, Settings(backend, dynamic=dynamic), kind, **options)

    assert agree(run_all(region(), calls), wanted)
    without = run_all(region(without_guards=kind), calls)
    assert agree(without[:1], wanted[:1])
    assert not agree(without, wanted)


def test_unknown_kind() -> None:
    with pytest.raises(ValueError, match="no such kind"):
        make_region(double, None, Settings(lambda gm, inputs: gm), "x", without_guards="others")
