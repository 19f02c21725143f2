"""What a program reads of classes, metaclasses, abstract classes, modules and containers that have
methods of their own may change between calls: each call is what eager's would be."""

from __future__ import annotations

import abc
import collections.abc
import enum
import types
import typing
from collections.abc import Callable
from typing import Any

import pytest
import torch
from own_capture import compiled

import triptych

pytestmark = pytest.mark.usefixtures("without_gradients", "nothing_compiled")

# A program over a tensor, and what is done after its first call, one after the other.
History = tuple[Callable[[torch.Tensor], Any], list[Callable[[], Any]]]
HISTORIES: list[Callable[[], History]] = []


def history(make: Callable[[], History]) -> Callable[[], History]:
    HISTORIES.append(make)
    return make


def put(owner: Any, **attributes: Any) -> Callable[[], None]:
    def change() -> None:
        for name, value in attributes.items():
            setattr(owner, name, value)

    return change


def answers(make: Callable[[], History], compile: Callable[[Any], Any]) -> list[float]:
    program, changes = make()
    run = compile(program)
    results = [run(torch.zeros(1)).item()]
    for change in changes:
        change()
        results.append(run(torch.zeros(1)).item())
    return results


def no_breaks() -> bool:
    return not any("break" in name for name in triptych.counters())


# Attributes of classes.


@history
def of_the_metaclass() -> History:
    class Meta(type):
        k: Any = 1

    class Own(metaclass=Meta):
        pass

    def delete() -> None:
        del Own.k

    return lambda x: x + Own.k, [put(Meta, k=2), put(Own, k=3), delete]


@history
def property_of_the_metaclass() -> History:
    class Meta(type):
        @property
        def k(cls) -> int:
            return cls.table["k"]

    class Own(metaclass=Meta):
        table = {"k": 1}

    change = put(Own, table={"k": 2})
    return lambda x: x + Own.k, [change, put(Meta, k=property(lambda cls: 7)), put(Meta, k=8)]


@history
def fallback_of_the_metaclass() -> History:
    class Meta(type):
        table = {"k": 1}

        def __getattr__(cls, name: str) -> Any:
            return Meta.table[name]

    class Own(metaclass=Meta):
        pass

    changes = [lambda: Meta.table.update(k=2), put(Meta, __getattr__=lambda cls, name: 5)]
    return lambda x: x + Own.k, [*changes, put(Own, k=100)]


@history
def fallback_that_is_new() -> History:
    class Meta(type):
        pass

    class Own(metaclass=Meta):
        pass

    class Plain:
        pass

    plain = Plain()
    changes = [
        put(Meta, __getattr__=lambda cls, name: 2),
        put(Plain, __getattr__=lambda self, name: 3),
        put(Meta, __getattribute__=lambda cls, name: 4),
    ]
    return lambda x: x + getattr(Own, "k", 1) + getattr(plain, "k", 1), changes


@history
def fallback_after_a_property() -> History:
    class Meta(type):
        @property
        def k(cls) -> int:
            raise AttributeError("k")

        def __getattr__(cls, name: str) -> Any:
            return cls.table[name]

    class Own(metaclass=Meta):
        table = {"k": 1}

    return lambda x: x + Own.k, [lambda: Own.table.update(k=2)]


@history
def methods_of_the_metaclass() -> History:
    class Meta(type):
        table = {"k": 1}

        @staticmethod
        def fixed() -> int:
            return Meta.table["k"]

        @classmethod
        def of_meta(mcs) -> int:
            return mcs.table["k"] * 10

        def bound(cls) -> int:
            return cls.own * 100

    class Own(metaclass=Meta):
        own = 1

    changes = [
        lambda: Meta.table.update(k=2),
        put(Own, own=3),
        put(Meta, bound=lambda cls: 0),
        put(Own, fixed=lambda: 9),
    ]
    return lambda x: x + Own.fixed() + Own.of_meta() + Own.bound(), changes


@history
def another_metaclass() -> History:
    class One(type):
        k = 1

    class Two(type):
        k = 2

    class Own(metaclass=One):
        pass

    return lambda x: x + Own.k, [put(Own, __class__=Two)]


@history
def one_instance() -> History:
    class Single(type):
        made: dict[Any, Any] = {}

        def __call__(cls, *arguments: Any) -> Any:
            if cls not in cls.made:
                cls.made[cls] = super().__call__(*arguments)
            return cls.made[cls]

    class Config(metaclass=Single):
        def __init__(self) -> None:
            self.k = 1

    changes = [lambda: put(Config(), k=5)(), Single.made.clear, put(Single, made={})]
    return lambda x: x + Config().k, changes


@history
def registry() -> History:
    class Meta(type):
        known: list[Any] = []

        def __new__(mcs, *arguments: Any) -> Any:
            cls = super().__new__(mcs, *arguments)
            mcs.known.append(cls)
            return cls

    class First(metaclass=Meta):
        weight = 1

    changes = [
        lambda: Meta("Second", (), {"weight": 10}),
        put(First, weight=2),
        put(Meta, known=[First]),
    ]
    return lambda x: x + sum(cls.weight for cls in First.known), changes


@history
def subscript_of_a_class() -> History:
    class Meta(type):
        def __getitem__(cls, key: int) -> int:
            return cls.k + key

    class Own(metaclass=Meta):
        k = 1

    class Plain:
        k = 1

        def __class_getitem__(cls, key: int) -> int:
            return cls.k * key

    return lambda x: x + Own[1] + Plain[100], [put(Own, k=2), put(Plain, k=3)]


@history
def truth_of_a_class() -> History:
    class Meta(type):
        pass

    class Own(metaclass=Meta):
        pass

    return lambda x: x + 1 if Own else x, [put(Meta, __bool__=lambda cls: False)]


@history
def attributes_of_an_enum() -> History:
    class Color(enum.Enum):
        RED = 1
        BLUE = 2

        @property
        def twice(self) -> int:
            return self.value * 2

        def looked_up(self) -> int:
            return table[self]

    table = {Color.RED: 5}
    changes = [
        put(Color, extra=3),
        put(Color.RED, _value_=50),
        lambda: table.update({Color.RED: 6}),
        put(Color, twice=property(lambda self: 1000)),
    ]
    Color.extra = 1  # type: ignore[attr-defined]
    return (
        lambda x: (
            x
            + Color.extra  # type: ignore[attr-defined]
            + len(Color)
            + Color.RED.value
            + Color.RED.twice
            + Color["RED"].looked_up()
        ),
        changes,
    )


@history
def made_up_member() -> History:
    table = {5: 1}

    class Color(enum.Enum):
        RED = 1
        BLUE = 2

        @classmethod
        def _missing_(cls, value: Any) -> Any:
            return cls(table[value])

    return lambda x: x + Color(5).value, [lambda: table.update({5: 2})]


@history
def class_between() -> History:
    class First:
        def k(self) -> int:
            return 1

    class Second(First):
        pass

    class Third(Second):
        def k(self) -> int:
            return super().k()

    third = Third()
    return lambda x: x + third.k(), [put(Second, k=lambda self: 2)]


# isinstance() and issubclass().


@history
def registered() -> History:
    class Abstract(abc.ABC):  # noqa: B024
        pass

    class Plain:
        pass

    plain = Plain()
    return lambda x: x + isinstance(plain, Abstract) + issubclass(Plain, Abstract), [
        lambda: Abstract.register(Plain)
    ]


@history
def registered_with_a_mapping() -> History:
    class Plain:
        pass

    plain = Plain()

    def program(x: torch.Tensor) -> torch.Tensor:
        x = x + isinstance(plain, collections.abc.Mapping) + 2 * isinstance(plain, typing.Sequence)
        return x + 4 * isinstance(plain, int | collections.abc.Set)

    def register() -> None:
        for kind in collections.abc.Mapping, collections.abc.Sequence, collections.abc.Set:
            kind.register(Plain)

    return program, [register]


@history
def often_registered() -> History:
    class Abstract(abc.ABC):  # noqa: B024
        pass

    class Plain:
        pass

    plain = Plain()
    others = [lambda: Abstract.register(type("Other", (), {}))] * 12
    return lambda x: x + isinstance(plain, Abstract), [*others, lambda: Abstract.register(Plain)]


@history
def hook() -> History:
    class Abstract(abc.ABC):  # noqa: B024
        @classmethod
        def __subclasshook__(cls, other: Any) -> Any:
            return hasattr(other, "quack") or NotImplemented

    class Plain:
        pass

    plain = Plain()

    def change() -> None:
        Plain.quack = 1  # type: ignore[attr-defined]
        Abstract._abc_caches_clear()  # type: ignore[attr-defined]

    return lambda x: x + isinstance(plain, Abstract), [change]


@history
def own_checks() -> History:
    class Meta(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return getattr(instance, "tag", None) == cls.tag

        def __subclasscheck__(cls, other: Any) -> bool:
            return cls.tag == "b"

    class Own(metaclass=Meta):
        tag = "a"

    class Plain:
        tag = "a"

    plain = Plain()

    def program(x: torch.Tensor) -> torch.Tensor:
        x = x + isinstance(plain, Own) + 2 * isinstance(plain, (str, Own | None))
        return x + 4 * issubclass(Plain, (Own,)) + 8 * isinstance(x, Own)

    changes = [
        put(plain, tag="b"),
        put(Own, tag="b"),
        put(Meta, __instancecheck__=lambda cls, instance: True),
        put(Meta, __subclasscheck__=lambda cls, other: False),
    ]
    return program, changes


@history
def own_checks_on_top_of_abstract_ones() -> History:
    class Meta(abc.ABCMeta):
        def __instancecheck__(cls, instance: Any) -> bool:
            return super().__instancecheck__(instance) or getattr(instance, "tag", False)

    class Sub(abc.ABCMeta):
        ok = False

        def __subclasscheck__(cls, other: Any) -> bool:
            return cls.ok or super().__subclasscheck__(other)

    class Own(metaclass=Meta):
        pass

    class Other(metaclass=Sub):
        pass

    class Plain:
        tag = False

    plain = Plain()
    changes = [put(plain, tag=True), put(plain, tag=False), lambda: Own.register(Plain)]

    def program(x: torch.Tensor) -> torch.Tensor:
        return (
            x + isinstance(plain, Own) + 2 * isinstance(plain, Other) + 4 * issubclass(int, Other)
        )

    return program, [*changes, put(Sub, ok=True)]


# Python modules.


@history
def class_of_a_module() -> History:
    class Lazy(types.ModuleType):
        @property
        def p(self) -> int:
            return 10

    class Lazier(types.ModuleType):
        def __getattribute__(self, name: str) -> Any:
            return 33

    module = types.ModuleType("module")
    module.k = 1  # type: ignore[attr-defined]
    changes = [put(module, __class__=Lazy), put(module, __class__=Lazier)]
    return lambda x: x + (module.p if hasattr(module, "p") else module.k), changes


# Containers with methods of their own.


class Twice(list):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return super().__len__() * 2


class Counted(dict):  # type: ignore[type-arg]
    n = 9

    def __len__(self) -> int:
        return self.n


class Judged(set):  # type: ignore[type-arg]
    ok = True

    def __bool__(self) -> bool:
        return self.ok


class Long(tuple):  # type: ignore[type-arg]
    __slots__ = ()

    def __len__(self) -> int:
        return 9


@history
def own_length() -> History:
    items, table, group, pair = Twice([1, 2]), Counted(a=1), Judged([1]), Long((1,))

    def program(x: torch.Tensor) -> torch.Tensor:
        x = x + len(items) + sum(items) + items[-1] + len(table) + len(list(table))
        x = x + len(pair) + len(list(pair)) + len(group)
        for k, container in enumerate((items, table, group, pair)):
            if container:
                x = x + 100 * 2**k
        return x

    changes = [
        lambda: items.append(3),
        put(table, n=0),
        lambda: table.update(b=1),
        put(group, ok=False),
        lambda: group.add(2),
        lambda: items.pop(0),
    ]
    return program, changes


@history
def length_that_is_new() -> History:
    class Items(list):  # type: ignore[type-arg]
        pass

    items = Items([1, 2])
    return lambda x: x + len(items) + bool(items), [put(Items, __len__=lambda self: 0)]


@history
def length_in_a_pattern() -> History:
    class Items(list):  # type: ignore[type-arg]
        n = 2

        def __len__(self) -> int:
            return self.n

    items = Items([1, 2])

    def program(x: torch.Tensor) -> torch.Tensor:
        match items:
            case [a, b]:
                return x + a + b
        return x - 1

    return program, [put(items, n=3)]


@history
def truth_of_items() -> History:
    lists: list[list[int]] = [[], []]
    return lambda x: x + any(lists) + 2 * all(lists), [
        lambda: lists[0].append(1),
        lambda: lists[1].append(1),
    ]


@history
def items_that_are_kept() -> History:
    lists: list[list[int]] = [[1], []]
    return lambda x: x + len(list(filter(None, lists))), [lambda: lists[1].append(1)]


@history
def order_of_containers() -> History:
    first, second = [2], [1]
    pairs = [(2, first), (2, second)]

    def program(x: torch.Tensor) -> torch.Tensor:
        x = x + 1 if max(first, second) is first else x
        x = x + 2 if min([first, second]) is first else x
        x = x + 4 if sorted([first, second])[0] is first else x
        x = x + 8 if sorted(pairs)[0][1] is first else x
        mine = [first, second]
        mine.sort()
        return x + 16 if mine[0] is first else x

    return program, [lambda: second.__setitem__(0, 7)]


@history
def annotations() -> History:
    class Own:
        k: int

    return lambda x: x + len(Own.__annotations__), [lambda: Own.__annotations__.update(n=int)]


@pytest.mark.parametrize("make", HISTORIES)
def test_each_call_is_eagers(make: Callable[[], History]) -> None:
    wanted = answers(make, lambda program: program)
    assert len(set(wanted)) > 1, "the changes matter"
    assert answers(make, compiled) == wanted
    # A class of modules may look attributes up in its own way.
    assert no_breaks() or make is class_of_a_module


def test_common_checks_cost_nothing() -> None:
    class Given(collections.abc.Mapping):  # type: ignore[type-arg]
        def __getitem__(self, key: Any) -> Any:
            return key

        def __iter__(self) -> Any:
            return iter(())

        def __len__(self) -> int:
            return 0

    given, parameter = Given(), torch.nn.Parameter(torch.ones(1))

    def program(x: torch.Tensor) -> torch.Tensor:
        if isinstance(given, collections.abc.Mapping) and isinstance(parameter, torch.nn.Parameter):
            return x + isinstance(x, torch.nn.Parameter) + isinstance(given, (list, tuple))
        return x

    captured = triptych.capture(program)(torch.ones(1))
    (guards,) = captured.guards
    assert not any("registered" in guard for guard in guards), "what is an instance stays one"


def test_hook_that_writes_is_not_followed() -> None:
    def make(calls: list[Any]) -> History:
        class Abstract(abc.ABC):  # noqa: B024
            @classmethod
            def __subclasshook__(cls, other: Any) -> Any:
                calls.append(other.__name__)
                return NotImplemented

        class Plain:
            pass

        plain = Plain()
        return lambda x: x + isinstance(plain, Abstract), [
            lambda: None,
            lambda: Abstract.register(Plain),
        ]

    logs: list[list[Any]] = [[], []]
    wanted = answers(lambda: make(logs[0]), lambda program: program)
    assert answers(lambda: make(logs[1]), compiled) == wanted
    assert logs[1] == logs[0]
    assert not no_breaks()


def test_protocols_break() -> None:
    @typing.runtime_checkable
    class Sized(typing.Protocol):
        k: int

    class Plain:
        pass

    def make() -> History:
        plain = Plain()
        return lambda x: x + isinstance(plain, Sized), [put(plain, k=1)]

    assert answers(make, compiled) == [0, 1]
    assert not no_breaks()
