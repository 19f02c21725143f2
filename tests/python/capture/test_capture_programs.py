"""Small programs: a captured call gives what eager gives, and leaves the same state behind."""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
import torch
from capture_oracle import Captured
from torch import Tensor

Program = Callable[..., Any]
PROGRAMS: list[tuple[Program, Callable[[], tuple[Any, ...]]]] = []


def program(*arguments: Any) -> Callable[[Program], Program]:
    """A program with arguments that are copied for each run."""

    def add(function: Program) -> Program:
        PROGRAMS.append((function, lambda: copy.deepcopy(arguments)))
        return function

    return add


X = torch.arange(6.0).reshape(2, 3)
SETTINGS = {"scale": 3.0, "names": ["a", "b"]}
COUNTER = 5


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Point(NamedTuple):
    x: Tensor
    y: int


@dataclasses.dataclass
class Box:
    value: Any
    sizes: list[int] = dataclasses.field(default_factory=list)

    @property
    def doubled(self) -> Any:
        return self.value * 2

    def grow(self, by: int) -> None:
        self.sizes.append(by)
        self.value = self.value + by


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


class Lazy:
    factor = 3

    def __init__(self) -> None:
        self.known = {"one": 1}

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("known", ()):
            return self.known[name]
        raise AttributeError(name)

    @classmethod
    def make(cls) -> Lazy:
        return cls()

    @staticmethod
    def twice(x: Any) -> Any:
        return x + x


@program(X, 2)
def numbers(x: Tensor, n: int) -> Any:
    total = x
    for k in range(n):
        total = total + k * math.sqrt(4) - abs(-1)
    return total, n // 2, divmod(7, n), round(2.5), min(n, 3), max([n, 1]), sum([1, n])


@program(X)
def read_globals(x: Tensor) -> Any:
    return x * SETTINGS["scale"] + COUNTER, len(SETTINGS["names"]), SETTINGS.get("missing", 7)


@program(X)
def write_global(x: Tensor) -> Any:
    global COUNTER
    COUNTER += 1
    return x + COUNTER


@program(X, {"a": X + 1, "b": 2})
def dict_argument(x: Tensor, d: dict[str, Any]) -> Any:
    d["c"] = x * d["b"]
    d["b"] += 1
    removed = d.pop("a")
    return list(d), list(d.items()), removed, "a" in d, d.setdefault("e", 5), {**d}


@program(X, [X + 1, 2, [3]])
def list_argument(x: Tensor, items: list[Any]) -> Any:
    first, *rest = items
    items.append(first * 2)
    items[1] = x
    items[2].append(4)
    return items[-1] + 1, len(items), rest, [*items, 1], items[1:]


@program(X, {"same": 2, "set": 1}, Box(X, [1]))
def writes_what_was_there(x: Tensor, d: dict[str, Any], box: Box) -> Any:
    d["same"] = x.dim()
    d["gone"] = 1
    del d["gone"]
    d["set"] = 3
    del d["set"]
    box.value = x
    return x + 1


@program({1, 2}, X)
def set_argument(s: set[int], x: Tensor) -> Any:
    s.add(3)
    return x * len(s), 2 in s, sorted(s), s | {9}


@program(X, Box(X + 1, [1]))
def object_argument(x: Tensor, box: Box) -> Any:
    box.grow(4)
    box.extra = x.sum()  # type: ignore[attr-defined]
    del box.sizes[0]
    return box.doubled, box, hasattr(box, "nothing"), getattr(box, "missing", None)


@program(X)
def fresh_objects(x: Tensor) -> Any:
    box = Box(x, [1, 2])
    box.grow(2)
    other = dataclasses.replace(box, value=x * 3)
    return box, other, Point(x, 3).x + 1, Point(x, 4)


@program(X, Point(X, 3))
def named_tuple(x: Tensor, point: Point) -> Any:
    a, b = point
    return point.x + point.y, a * b, point._replace(y=1)


@program(X, Lazy())
def attributes(x: Tensor, lazy: Lazy) -> Any:
    made = Lazy.make()
    return lazy.one * x, lazy.factor, Lazy.twice(x), made.twice(2), type(lazy).__name__


@program(X, Slotted(X * 2))
def slots(x: Tensor, s: Slotted) -> Any:
    return x + s.value


@program(X)
def closures(x: Tensor) -> Any:
    count = 0

    def add(y: Tensor, by: int = 2) -> Tensor:
        nonlocal count
        count += by
        return y + count

    return add(add(x)), count, (lambda z: z * 2)(x)


@program(X)
def returns_function(x: Tensor) -> Any:
    def inner(y: Tensor) -> Tensor:
        return x + y

    return inner(x)


@program(X)
def what_a_function_is(x: Tensor) -> Any:
    """As libraries name what was called."""
    kind = read_globals.__class__
    named = read_globals.__name__ if isinstance(read_globals, kind) else kind.__name__
    return x * 2, kind, f"{read_globals.__module__}.{named}", kind.__name__


@program(X)
def comprehensions(x: Tensor) -> Any:
    rows = [row * 2 for row in x]
    table = {k * 2: v for k, v in zip("ab", rows, strict=True)}
    return rows, table, tuple(r.sum() for r in x), {len(k) for k in table}


@program(X)
def generators(x: Tensor) -> Any:
    def parts() -> Iterator[Tensor]:
        try:
            for k in range(3):
                yield x + k
        finally:
            pass

    def all_parts() -> Iterator[Tensor]:
        yield from parts()
        yield x

    return sum(all_parts()), next(parts()), any(k > 1 for k in range(3)), list(map(abs, [-1, 2]))


@program(X)
def sums(x: Tensor) -> Any:
    def parts() -> Iterator[Tensor]:
        for k in range(3):
            yield x * k if k == 1 else x
            x.add_(1)

    return sum(parts()), sum([0.1] * 10), sum([1, x, 2.5], start=3), sum([], x), sum(x)


@program(X)
def refused_sums(x: Tensor) -> Any:
    refused = []
    unfit: Any
    start: Any
    for unfit, start in ((["a"], ""), ([1], None), (3, 0)):
        try:
            sum(unfit, start)
        except TypeError as error:
            refused.append(str(error))
    return x + len(refused), refused


@program(X)
def exceptions(x: Tensor) -> Any:
    caught = []
    try:
        raise ValueError("no")
    except ValueError as error:
        caught.append(str(error))
    try:
        x @ x
    except RuntimeError:
        caught.append("shapes")
    finally:
        caught.append("end")
    try:
        {}["k"]
    except KeyError as error:
        caught.append(error.args[0])
    return x + len(caught), caught


@program(X)
def contexts(x: Tensor) -> Any:
    log = []

    @contextlib.contextmanager
    def scope(name: str) -> Iterator[int]:
        log.append(name)
        try:
            yield 3
        finally:
            log.append("end")

    with scope("a") as three, contextlib.suppress(ValueError):
        x = x * three
    with torch.no_grad():
        y = x + 1
    return x, y, log


@program(X)
def functional_tools(x: Tensor) -> Any:
    add = functools.partial(operator.add, x)
    total = functools.reduce(lambda a, b: a + b, [x, x, x])
    return add(2), total, sorted([3, 1, 2], key=lambda v: -v), list(enumerate("ab"))


@program(X, Color.RED)
def enums(x: Tensor, color: Color) -> Any:
    if color is Color.RED:
        return x + color.value, color.name, color == Color.BLUE
    return x


@program(X)
def strings(x: Tensor) -> Any:
    text = f"{x.shape[0]}-{'a' * 2}-{3.14159:.2f}"
    return x * len(text), text.upper().split("-"), str(3), ",".join(["a", "b"])


@program(X)
def tensor_metadata(x: Tensor) -> Any:
    b, n = x.shape
    return (
        x.view(b * n),
        x.size(),
        x.dim(),
        x.dtype,
        x.device,
        x.numel(),
        x.stride(),
        x.is_floating_point(),
    )


@program(X)
def tensor_attributes(x: Tensor) -> Any:
    return x.T, x.mT + 1, x.requires_grad, x.is_cuda, hasattr(x, "nothing"), x.real


@program(X.clone())
def in_place(x: Tensor) -> Any:
    x.add_(1)
    x[0] = 5
    x += 2
    y = x[1:]
    y.mul_(2)
    return x, y.sum()


@program(X)
def indexing(x: Tensor) -> Any:
    return x[0], x[:, 1], x[..., None].shape, x[torch.tensor([1, 0])], x[-1, -1]


class Window:
    def __init__(self, items: list[int]) -> None:
        self.items = items

    def __getitem__(self, key: slice) -> list[int]:
        return self.items[key]

    def __setitem__(self, key: slice, value: int) -> None:
        self.items[key.start] = value


@program(X.clone(), [1, 2, 3, 4], Window([5, 6]))
def slices(x: Tensor, items: list[Any], window: Window) -> Any:
    x[:1] = x[1:] + len(items[1:3])
    items[1:2] = [x[0, :2], 7]
    fresh = list(items)
    fresh[:1] = ()
    window[1:2] = 9
    return x[:, 1:], items[:-1], fresh, window[0:2], "abc"[1:], (x, 1, 2)[:2]


@program(X)
def several_results(x: Tensor) -> Any:
    values, indices = torch.max(x, dim=1)
    a, b, c = x.unbind(1)
    top = torch.topk(x, 2)
    return values, indices, a + c, top.values, torch.split(x, 2, dim=1)[1]


@program(X)
def factories(x: Tensor) -> Any:
    return torch.zeros(2) + torch.ones_like(x)[:, :2], torch.arange(3), torch.tensor([1.0, 2.0])


@program(X)
def ordered(x: Tensor) -> Any:
    d = collections.OrderedDict(a=x, b=x + 1)
    d.move_to_end("a")
    return d, list(d)


@program(X, [X, X + 1], {"k": X * 2})
def unpacked(x: Tensor, args: list[Tensor], kwargs: dict[str, Tensor]) -> Any:
    def inner(*args: Tensor, k: Tensor, **rest: Any) -> Any:
        return args[0] + args[1] * k, rest

    return inner(*args, **kwargs), inner(*args, **{**kwargs, "z": 1})


@program(X)
def match_values(x: Tensor) -> Any:
    match x.dim():
        case 1:
            return x
        case 2 | 3:
            return x * 2
    return None


@program(X)
def aliases(x: Tensor) -> Any:
    y = x + 1
    pair = [y, y]
    pair.append(pair)
    return pair, {"same": y}, x


@program(X)
def is_compiling(x: Tensor) -> Any:
    return x + 1 if torch.jit.is_scripting() else x + 2


def same(got: Any, wanted: Any, seen: dict[int, int]) -> None:
    """Equal in value, type and aliasing."""
    assert type(got) is type(wanted)
    if isinstance(wanted, torch.Tensor | list | dict | Box):
        assert seen.setdefault(id(wanted), id(got)) == id(got)
        if seen.get(-id(wanted)):
            return
        seen[-id(wanted)] = 1
    if isinstance(wanted, torch.Tensor):
        torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    elif isinstance(wanted, dict):
        assert list(got) == list(wanted)
        for key in wanted:
            same(got[key], wanted[key], seen)
    elif isinstance(wanted, list | tuple):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            same(one, other, seen)
    elif isinstance(wanted, Box | Lazy | Window):
        same(vars(got), vars(wanted), seen)
    elif isinstance(wanted, Slotted):
        same(got.value, wanted.value, seen)
    else:
        assert got == wanted


@pytest.mark.parametrize(
    ("function", "arguments"), PROGRAMS, ids=lambda p: getattr(p, "__name__", "")
)
def test_program(function: Program, arguments: Callable[[], tuple[Any, ...]]) -> None:
    global COUNTER
    COUNTER = 5
    before, captured_for, eager, replayed = (arguments() for _ in range(4))
    wanted = function(*eager)
    COUNTER = 5
    captured = Captured(function, *captured_for)
    assert captured.data["stop"] is None, captured.data["stop"]
    same(captured_for, before, {})
    assert COUNTER == 5
    got = captured(*replayed)
    same([got, replayed], [wanted, eager], {})
    assert (6 if function is write_global else 5) == COUNTER
    COUNTER = 5
