"""What a compiled function writes is written as eager does: how often, in which kind of object."""

from __future__ import annotations

import bisect
import collections
import heapq
from collections.abc import Callable
from typing import Any

import pytest
import torch
from own_capture import compiled

import triptych

pytestmark = pytest.mark.usefixtures("nothing_compiled")


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


def behind_autograd(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.data.mul_(2)
    y.add_(1)
    return x + y


VERSIONED = [behind_autograd, twice, once_each, by_a_view, back_again, around_a_break]


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


class Slots:
    __slots__ = ("count", "empty", "tensor")

    def __init__(self) -> None:
        self.count = 1
        self.tensor = torch.ones(2)


class WithDict(Slots):
    pass


class Table(dict[str, Any]):
    pass


class Counted(dict[str, Any]):
    writes = 0

    def __setitem__(self, key: str, value: Any) -> None:
        self.writes += 1
        super().__setitem__(key, value)

    def __missing__(self, key: str) -> Any:
        return len(key)


class Items(list[Any]):
    pass


class Queue(collections.deque[Any]):
    pass


def ordered() -> Any:
    return collections.OrderedDict(a=1, b=torch.ones(2), c=3)


def lists() -> Any:
    return collections.defaultdict(list, a=[1])


WRITES: list[tuple[Callable[..., Any], Callable[[], Any], bool | None]] = []


def writes(make: Callable[[], Any], breaks: bool | None = False) -> Any:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        WRITES.append((function, make, breaks))
        return function

    return add


@writes(ordered)
def ordered_new(x: torch.Tensor, o: Any) -> Any:
    o["n"] = x + 1
    o["a"] = 3
    return o["n"] * 2


@writes(ordered)
def ordered_moved(x: torch.Tensor, o: Any) -> Any:
    o.move_to_end("a")
    o.move_to_end("c", last=False)
    o["b"] = o["b"] + x
    return o["b"].sum()


@writes(ordered)
def ordered_deleted(x: torch.Tensor, o: Any) -> Any:
    del o["b"]
    n = o.pop("a")
    o.setdefault("z", x * n)
    o.update(b=x * 2, c=4)
    o["a"] = 5
    return x + len(o)


@writes(ordered)
def ordered_cleared(x: torch.Tensor, o: Any) -> Any:
    name, value = o.popitem()
    o.clear()
    o[name] = value + 1 if name == "c" else 1
    o["c"] = o.pop(name)
    return x * o["c"], name


@writes(ordered)
def ordered_deleted_and_added(x: torch.Tensor, o: Any) -> Any:
    o["a"] = o.pop("a") + 1
    return x * o["a"], list(o)


@writes(lists)
def default_made(x: torch.Tensor, o: Any) -> Any:
    o["new"].append(x + 1)
    o["a"].append(2)
    return x * len(o)


@writes(lists)
def default_set(x: torch.Tensor, o: Any) -> Any:
    o["a"] += [5]
    o["b"] = x
    return len(o["a"]), x + 1


def three() -> int:
    return 3


@writes(lambda: collections.defaultdict(three, a=1))
def default_of_a_function(x: torch.Tensor, o: Any) -> Any:
    return x * (o["b"] + o["a"])


@writes(lambda: collections.Counter("aab"))
def counted(x: torch.Tensor, o: Any) -> Any:
    o["a"] += 1
    o["z"] += 1
    return x * (o["a"] + o["q"])


# Dynamo, where it is loaded, says what can be traced in place of the C function.
@writes(lambda: collections.Counter("aab"), breaks=None)
def counted_by_c(x: torch.Tensor, o: Any) -> Any:
    o["a"] += 1
    o.update("abc")
    return x * o["a"]


@writes(lambda: Table(a=1))
def of_a_subclass(x: torch.Tensor, o: Any) -> Any:
    o["a"] += 1
    o["b"] = x
    o.name = o["a"]
    return x * o.name


@writes(lambda: Counted(a=1))
def of_own_methods(x: torch.Tensor, o: Any) -> Any:
    o["a"] += 1
    o["b"] = x
    return x * o["other"]


@writes(lambda: Items([1, 2]))
def of_a_list(x: torch.Tensor, o: Any) -> Any:
    o[0] = x
    o.append(3)
    del o[1]
    return x * len(o)


@writes(lambda: {"a": 1, "b": torch.ones(2)})
def dict_cleared(x: torch.Tensor, o: Any) -> Any:
    o["c"] = x
    n = len(o)
    o.clear()
    o["n"] = n
    return x * n


@writes(lambda: {"a": torch.ones(2), "b": 2})
def dict_popped(x: torch.Tensor, o: Any) -> Any:
    key, value = o.popitem()
    o |= {"c": x, "b": value}
    return x * 2, key


@writes(Slots)
def slots(x: torch.Tensor, o: Any) -> Any:
    o.count += 1
    o.tensor = o.tensor + x
    return x * o.count


@writes(Slots)
def slots_deleted(x: torch.Tensor, o: Any) -> Any:
    had = hasattr(o, "empty")
    o.empty = x
    if had:
        del o.empty
    return hasattr(o, "empty"), x * 2


def without_dict() -> WithDict:
    o = WithDict()
    del o.__dict__  # the next use makes a new one
    return o


@writes(without_dict)
def new_dict(x: torch.Tensor, o: Any) -> Any:
    o.count = 7
    return x * o.count


@writes(without_dict)
def new_dict_returned(x: torch.Tensor, o: Any) -> Any:
    return x * 2, o.__dict__


@writes(WithDict)
def slots_and_dict(x: torch.Tensor, o: Any) -> Any:
    o.count = o.other = 7
    return x * o.other


@writes(lambda: [5, 1, 3])
def heap(x: torch.Tensor, o: Any) -> Any:
    heapq.heapify(o)
    heapq.heappush(o, 2)
    return x * heapq.heappop(o)


@writes(lambda: [1, 3, 5])
def sorted_in(x: torch.Tensor, o: Any) -> Any:
    bisect.insort(o, 4)
    return x * bisect.bisect(o, 3)


@writes(lambda: collections.deque([1, 2], maxlen=3), breaks=True)
def queue(x: torch.Tensor, o: Any) -> Any:
    o.append(len(o))
    return x * len(o) + o[0]


@writes(lambda: Queue([1, 2]), breaks=True)
def queue_of_a_class(x: torch.Tensor, o: Any) -> Any:
    o[0] += 5
    total = 0
    for value in o:
        total += value
    return x * len(o) + total


@writes(lambda: bytearray(b"abc"), breaks=True)
def raw_bytes(x: torch.Tensor, o: Any) -> Any:
    o[0] = 65
    o.extend(b"xy")
    return x * len(o) + o[1]


def state(value: Any) -> str:
    slots = [repr(getattr(value, name, None)) for name in getattr(value, "__slots__", ())]
    content = "" if slots or isinstance(value, Slots) else repr(value)
    return f"{content} {slots} {getattr(value, '__dict__', None)}"


NAMES = [function.__name__ for function, _, _ in WRITES]


@pytest.mark.parametrize(("function", "make", "breaks"), WRITES, ids=NAMES)
@torch.no_grad()
def test_written_as_in_eager(function: Any, make: Any, breaks: bool) -> None:
    run = compiled(function)
    x = torch.arange(2.0)
    pairs = [(make(), make()), (make(), make())]
    for one, other in pairs * 2:  # each twice: what was written is there then
        assert repr(run(x, other)) == repr(function(x, one))
        assert state(other) == state(one)
    broke = [name for name in triptych.counters() if name.startswith("fallback")]
    assert breaks is None or bool(broke) == breaks


def alias_attributes(x: torch.Tensor, a: Any, b: Any) -> Any:
    a.count = 7
    return x * b.count


def alias_items(x: torch.Tensor, a: Any, b: Any) -> Any:
    a["k"] = 7
    return x * b.get("k", 2)


def alias_lists(x: torch.Tensor, a: Any, b: Any) -> Any:
    a.append(1)
    return x * len(b)


def alias_sets(x: torch.Tensor, a: Any, b: Any) -> Any:
    a.add(9)
    return x * len(b)


def alias_in_containers(x: torch.Tensor, a: Any, b: Any) -> Any:
    a[0].append(1)
    return x * len(b[0])


def module() -> Any:
    made = torch.nn.Module()
    made.count = 2
    return made


ALIASING = [
    (alias_attributes, Slots),
    (alias_attributes, WithDict),
    (alias_attributes, module),
    (alias_items, dict),
    (alias_items, collections.OrderedDict),
    (alias_items, Table),
    (alias_lists, lambda: [1, 2]),
    (alias_lists, lambda: Items([1, 2])),
    (alias_sets, lambda: {1, 2}),
    (alias_in_containers, lambda: [[1, 2]]),
]


@pytest.mark.parametrize(("function", "make"), ALIASING)
@torch.no_grad()
def test_two_objects_that_become_one(function: Any, make: Any) -> None:
    run = compiled(function)
    x = torch.arange(2.0)
    for _ in range(2):
        torch.testing.assert_close(run(x, make(), make()), function(x, make(), make()))
        both, same = make(), make()
        torch.testing.assert_close(run(x, both, both), function(x, same, same))
    if function is alias_in_containers:  # one list within two
        both, same = [1, 2], [1, 2]
        torch.testing.assert_close(run(x, [both], [both]), function(x, [same], [same]))


def touch(x: torch.Tensor, o: dict[str, Any]) -> Any:
    o["b"] = o.pop("b")
    return x + 1, list(o)


def replace(x: torch.Tensor, o: dict[str, Any]) -> Any:
    del o["b"]
    o["b"] = x.shape[0]
    return x + 1


def count(x: torch.Tensor, o: dict[str, Any]) -> Any:
    o["b"] = o.pop("b", 0) + 1
    return x + 1


@pytest.mark.parametrize("function", [touch, replace, count])
@torch.no_grad()
def test_a_key_written_again_goes_last(function: Any) -> None:
    """Wherever it stands: last when captured, elsewhere at a later call."""
    run = compiled(function)
    contents: list[dict[str, Any]] = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 2, "c": 3}]
    for content in contents * 2:
        mine, eager = dict(content), dict(content)
        assert repr(run(torch.ones(2), mine)) == repr(function(torch.ones(2), eager))
        assert list(mine.items()) == list(eager.items())
