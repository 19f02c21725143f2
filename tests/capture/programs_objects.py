"""Programs about objects: classes, matching, decorators, imports, frames, callbacks."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field
from typing import NamedTuple

from outcomes import outcome, program


@program
def classes():
    class Meta(type):
        def __new__(mcls, name, bases, space, flag=None):
            space["flag"] = flag
            return super().__new__(mcls, name, bases, space)

        def __prepare__(name, bases, flag=None):
            return {"prepared": True}

    class Base(metaclass=Meta, flag=1):
        table = [x for x in range(3)]
        y: int = 5

        def __init__(self, a):
            self.a = a

        @property
        def double(self):
            return self.a * 2

        @double.setter
        def double(self, value):
            self.a = value // 2

        def method(self):
            return "base"

        def __getattr__(self, name):
            if name.startswith("x"):
                return name
            raise AttributeError(name)

    class Child(Base, flag=2):
        __slots__ = ()

        def __init__(self):
            super().__init__(7)
            self.double = 20

        def method(self):
            return super().method() + __class__.__name__

        def __eq__(self, other):
            return isinstance(other, Child)

        def __bool__(self):
            raise ZeroDivisionError("truth")

    c = Child()
    return (
        c.a, c.double, c.method(), c.xyz, Base.flag, Child.flag, Base.prepared, Base.table,
        Base.__annotations__, c == Child(), c != 1, outcome(lambda: c.nope), outcome(lambda: not c),
        outcome(lambda: 1 if c else 2),
    )  # fmt: skip


@dataclass
class Point:
    x: int
    y: int = 0
    tags: list = field(default_factory=list)


class Pair(NamedTuple):
    left: object
    right: object


@program
def matching():
    def classify(value):
        match value:
            case 0 | 1:
                return "small"
            case int(n) if n > 100:
                return f"large {n}"
            case str() as text:
                return text.upper()
            case [a, b]:
                return "two", a, b
            case [first, *rest]:
                return "many", first, rest
            case {"kind": "point", "at": Point(x=x, y=y), **other}:
                return x, y, other
            case Point(x, 0):
                return "on axis", x
            case Pair(left=Point(), right=None):
                return "pair"
            case None | True:
                return "constant"
            case _:
                return "other"

    values = [
        0, 500, "abc", (1, 2), [1, 2, 3], {"kind": "point", "at": Point(1, 2), "z": 3}, Point(5),
        Point(1, 1), Pair(Point(1), None), None, True, 2.5, {}, {"kind": "point"},
    ]  # fmt: skip
    return [classify(value) for value in values]


@program
def decorators():
    def trace(tag):
        def wrap(function):
            @functools.wraps(function)
            def inner(*args, **kwargs):
                return tag, function(*args, **kwargs)

            return inner

        return wrap

    @trace("a")
    @trace("b")
    def work(x: int, *, y: str = "q") -> tuple:
        """Documented."""
        return x, y

    @functools.lru_cache(maxsize=None)
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    return (
        work(1),
        work.__name__,
        work.__doc__,
        work.__annotations__,
        fib(15),
        fib.cache_info().misses,
    )


@program
def imports():
    import os.path as p
    from collections import OrderedDict as o
    from collections import abc

    def missing():
        from collections import no_such_thing

        return no_such_thing

    def no_module():
        import no_such_module_anywhere

        return no_such_module_anywhere

    def from_no_module():
        from os.path import no_such_name_1, sep

        return sep, no_such_name_1

    space = {}
    exec("from math import *\nx: int = floor(2.5)\ndel e", space)
    star = space["x"], "e" in space, space["__annotations__"]
    failures = [outcome(f) for f in (missing, no_module, from_no_module)]
    return p.basename("a/b"), o.__name__, abc.Sized, failures, star


@program
def frames():
    def here():
        return sys._getframe().f_code.co_name, sys._getframe(1).f_code.co_name, sorted(locals())

    def names(a, b=2):
        c = a + b
        inner = here()
        return inner, sorted(locals()), c

    line = sys._getframe().f_lineno - sys._getframe().f_code.co_firstlineno
    scope = {}
    exec(
        "a = 1\nb = [a + i for i in range(3)]\nclass C:\n    z = a\nc = locals() is globals()",
        scope,
    )
    return names(1), line, scope["b"], scope["C"].z, scope["c"], eval("x + 1", {"x": 4})


@program
def callbacks():
    class Key:
        def __init__(self, value):
            self.value = value

        def __lt__(self, other):
            return self.value < other.value

        def __hash__(self):
            return hash(self.value)

        def __eq__(self, other):
            return self.value == other.value

        def __iter__(self):
            return (i for i in range(self.value))

        def __contains__(self, item):
            return item < self.value

        def __len__(self):
            return self.value

        def __getitem__(self, place):
            if place >= self.value:
                raise IndexError
            return place * 2

    keys = [Key(3), Key(1), Key(2)]
    table = {key: key.value for key in keys}
    return (
        [k.value for k in sorted(keys)], min(keys).value, table[Key(2)], list(keys[0]),
        2 in keys[0], len(keys[0]), list(map(lambda k: k[0], keys)),
        list(filter(None, keys)) == keys,
        functools.reduce(lambda a, k: a + k.value, keys, 0), "-".join(map(str, keys[0])),
        list(zip(*keys)), list(reversed(keys[0])),
    )  # fmt: skip


@program
def destructors():
    log = []

    class Noisy:
        def __init__(self, name):
            self.name = name

        def __del__(self):
            log.append(self.name)

    def work():
        a = Noisy("a")
        b = [Noisy("b"), Noisy("c")]
        a = Noisy("d")
        b.pop()
        del b
        log.append("end")
        return a.name

    name = work()
    try:
        held = Noisy("e")
        raise ValueError
    except ValueError:
        del held
        log.append("handled")
    return name, log
