"""Small programs for the tests that compare ways of running: each function's outcome is compared.

An outcome is what a program returns, raises (with the lines of the traceback) and prints.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import itertools
import sys
import traceback
from dataclasses import dataclass, field
from typing import NamedTuple

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def outcome(call, *args):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = ("returned", repr(call(*args)))
        except Exception as error:
            lines = [
                (entry.name, entry.lineno, entry.colno)
                for entry in traceback.extract_tb(error.__traceback__)
                if entry.filename == __file__ and entry.name != "outcome"
            ]
            notes = [repr(error.__cause__), repr(error.__context__)]
            result = ("raised", type(error).__name__, str(error), lines, notes)
    return (*result, printed.getvalue())


@program
def arithmetic():
    a, b = 17, 5
    steps = [a + b, a - b, a * b, a / b, a // b, a % b, a**b, a << 2, a >> 1, a & b, a | b, a ^ b]
    a += 1
    a -= 2
    a *= 3
    a //= 2
    a %= 11
    a **= 2
    a <<= 1
    a >>= 1
    a |= 1
    a &= 29
    a ^= 3
    c = 7.0
    c /= 2
    return steps, a, c, -b, +b, ~b, not b


@program
def comparisons():
    a, b = 1, 2
    chained = a < b <= 2 != 3 > 0
    return (
        chained,
        a == b,
        a is b,
        a is not None,
        a in (1, 2),
        b not in [1],
        [] or {} or "x",
        3 and 0,
    )


@program
def subscripts():
    values = list(range(10))
    values[2:4] = "ab"
    del values[0], values[-2:]
    values[1] += "!" if isinstance(values[1], str) else 1
    nested = {"k": [1, {"z": 2}]}
    nested["k"][1]["z"] *= 5
    return values, values[::2], values[1:3], nested, "hello"[1:-1], (1, 2, 3)[-1]


@program
def unpacking():
    (a, b), *rest, (c, *d) = [(1, 2), 3, 4, (5, 6, 7)]
    x, y = y, x = 1, 2
    first, *_ = "abc"
    *init, last = range(3)
    return a, b, rest, c, d, x, y, first, init, last


@program
def unpacking_fails():
    def too_few():
        a, b, c = [1, 2]

    def too_many():
        a, b = iter(range(3))

    def starred():
        a, *b, c = [1]

    def not_iterable():
        a, b = 5

    return [outcome(f) for f in (too_few, too_many, starred, not_iterable)]


@program
def containers():
    extra = {"c": 3}
    items = [1, *range(2, 4), *(5, 6)]
    table = {"a": 1, **extra, "d": {*items, 9}}
    text = f"{items!r:>30}|{table['a']:03d}|{3.14159:.{2}f}|{'q'!s}|{'ü'!a}"
    return items, table, (*items, 1), sorted({*items}), text, "".join(f"{i}" for i in items)


@program
def comprehensions():
    n = 3
    rows = [[i * j for j in range(n)] for i in range(n) if i]
    table = {k: [v + n for v in range(k)] for k in range(n)}
    odd = {i % 2 for i in range(n)}
    lazy = (i + n for i in range(n))
    x = "kept"
    shadowed = [x for x in range(2)]
    functions = [lambda i=i: i + n for i in range(n)]
    return rows, table, odd, list(lazy), x, shadowed, [f() for f in functions]


@program
def closures():
    count = 0
    log = []

    def bump(by=1):
        nonlocal count
        count += by
        log.append(lambda: count)
        return count

    def outer():
        value = 1

        def middle():
            def inner():
                nonlocal value
                value += 1
                return value + count

            return inner()

        return middle(), value

    return bump(), bump(by=5), [f() for f in log], outer(), bump.__closure__[0].cell_contents


@program
def deleted_variables():
    def local():
        a = 1
        del a
        return a

    def free():
        def inner():
            return b

        b = 1
        del b
        return inner()

    def unbound():
        if not PROGRAMS:
            c = 1
        return c

    def unknown():
        return no_such_name

    return [outcome(f) for f in (local, free, unbound, unknown)]


@program
def calls():
    def f(a, b=2, /, c=3, *args, d, e=5, **kwargs):
        return a, b, c, args, d, e, kwargs

    class Callable:
        def __call__(self, *args, **kwargs):
            return args, kwargs

        @classmethod
        def of(cls, x):
            return cls.__name__, x

        @staticmethod
        def static(x, *, y=0):
            return x, y

    part = functools.partial(f, 1, d=2)
    args, more = [1, 2], {"d": 4, "z": 9}
    return (
        f(1, d=0), f(*args, **more), f(*args, 3, *args, d=1, **{"y": 1}), part(c=7, q=8),
        Callable()(1, x=2), Callable.of(3), Callable().static(1, y=2), max(3, 1, key=lambda v: -v),
        (lambda *a, **k: (a, k))(*"ab", **more), sorted([3, 1, 2], key=lambda v: -v, reverse=True),
    )  # fmt: skip


@program
def calls_fail():
    def f(a, *, b):
        return a, b

    mapping, nothing = {"a": 1}, None
    attempts = [
        lambda: f(),
        lambda: f(1),
        lambda: f(*5),
        lambda: f(**5),
        lambda: f(1, b=1, **{"b": 2}),
        lambda: f(a=1, **mapping),
        lambda: nothing(),
        lambda: f(1, b=2, c=3),
    ]
    return [outcome(attempt) for attempt in attempts]


@program
def generators():
    def count(n):
        try:
            for i in range(n):
                got = yield i
                if got:
                    yield f"got {got}"
        except KeyError as error:
            yield f"caught {error}"
        finally:
            log.append("closed")
        return "end"

    def delegates():
        result = yield from count(2)
        yield result
        yield from [7, 8]

    log = []
    g = count(5)
    seen = [next(g), g.send("x"), next(g), g.throw(KeyError("k"))]
    h = count(3)
    next(h)
    h.close()
    return seen, list(delegates()), log, list(itertools.islice(count(9), 2)), sum(count(4))


@program
def generators_fail():
    def stops():
        yield 1
        raise StopIteration(5)

    def ignores_exit():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    def raises():
        yield 1 / 0

    g = ignores_exit()
    next(g)
    e = raises()
    return outcome(list, stops()), outcome(g.close), outcome(next, e), outcome(next, e, "done")


@program
def exceptions():
    log = []

    def work(kind):
        try:
            try:
                if kind == 0:
                    return "fine"
                if kind == 1:
                    raise ValueError("one")
                if kind == 2:
                    {}["missing"]
                if kind == 3:
                    raise TypeError from KeyError("cause")
                log.append(kind)
            except ValueError as error:
                log.append(repr(error))
                raise RuntimeError("converted") from error
            except (KeyError, IndexError):
                log.append(sys.exc_info()[0])
                raise
            else:
                log.append("else")
            finally:
                log.append(f"finally {kind}")
        except RuntimeError as error:
            return error, error.__cause__
        return "after"

    return [outcome(work, kind) for kind in range(5)], log


@program
def nested_handlers():
    seen = []
    for i in range(4):
        try:
            try:
                1 / (i - 1)
                [][i]
            except ZeroDivisionError:
                seen.append("zero")
                try:
                    raise LookupError(i)
                except LookupError as inner:
                    seen.append(repr(inner.__context__))
                    continue
            finally:
                seen.append(sys.exc_info()[0])
        except IndexError as error:
            seen.append(str(error))
            if i == 3:
                break
    else:
        seen.append("not reached")
    return seen, sys.exc_info()


@program
def finally_overrides():
    def returns():
        try:
            raise ValueError
        finally:
            return "swallowed"

    def loops():
        for i in range(3):
            try:
                if i == 1:
                    return i
            finally:
                if i == 1:
                    continue
        return "loop"

    return returns(), loops()


@program
def exception_groups():
    seen = []

    def work(errors):
        try:
            raise ExceptionGroup("g", errors)
        except* ValueError as group:
            seen.append(group.exceptions)
        except* (TypeError, KeyError) as group:
            seen.append(len(group.exceptions))
            raise RuntimeError("from handler") from None
        return "ok"

    def naked():
        try:
            raise ValueError("naked")
        except* ValueError as group:
            return_later = repr(group)
        return return_later

    nested = ExceptionGroup("n", [ValueError(3), OSError(4)])
    return (
        work([ValueError(1)]), outcome(work, [ValueError(1), TypeError(2)]),
        outcome(work, [nested, ValueError(5)]), naked(), seen,
    )  # fmt: skip


@program
def with_statements():
    log = []

    class Manager:
        def __init__(self, name, swallow=False):
            self.name, self.swallow = name, swallow

        def __enter__(self):
            log.append(f"enter {self.name}")
            return self.name

        def __exit__(self, kind, value, trace):
            log.append((self.name, kind, str(value), trace and trace.tb_lineno))
            return self.swallow

    @contextlib.contextmanager
    def generated(x):
        log.append("before")
        try:
            yield x * 2
        finally:
            log.append("after")

    def leaves_early():
        for i in range(3):
            with Manager(i), generated(i) as doubled:
                if i == 1:
                    return doubled

    def swallows():
        with Manager("a", swallow=True) as a, Manager("b"):
            raise ValueError(a)
        return "went on"

    def passes():
        with Manager("c"), generated(1):
            raise KeyError("through")

    def wrong():
        with 5:
            pass

    return leaves_early(), swallows(), outcome(passes), outcome(wrong), log


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

    def no_module():
        import no_such_module_anywhere

    space = {}
    exec("from math import *\nx: int = floor(2.5)\ndel e", space)
    star = space["x"], "e" in space, space["__annotations__"]
    return p.basename("a/b"), o.__name__, abc.Sized, outcome(missing), outcome(no_module), star


@program
def asynchronous():
    log = []

    class Manager:
        async def __aenter__(self):
            await asyncio.sleep(0)
            return self

        async def __aexit__(self, kind, value, trace):
            log.append(kind)
            return kind is ValueError

    class Ticker:
        def __init__(self, n):
            self.n = n

        def __aiter__(self):
            return self

        async def __anext__(self):
            if self.n == 0:
                raise StopAsyncIteration
            self.n -= 1
            await asyncio.sleep(0)
            return self.n

    async def produce(n):
        try:
            for i in range(n):
                yield i
                await asyncio.sleep(0)
        finally:
            log.append("produced")

    async def work(k):
        async with Manager():
            total = sum([i async for i in produce(4)])
            async for tick in Ticker(3):
                total += tick
            if k == 1:
                raise ValueError(k)
        return total

    async def fails():
        try:
            await 5
        except TypeError as error:
            log.append(str(error))
        async with Manager():
            raise KeyError("out")

    async def main():
        results = await asyncio.gather(*(work(k) for k in range(3)))
        with contextlib.suppress(KeyError):
            await fails()
        agen = produce(3)
        first = await anext(agen)
        await agen.aclose()
        return results, first

    return asyncio.run(main()), log


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


@program
def loops():
    total, seen = 0, []
    for i in range(10):
        if i % 2:
            continue
        for j in itertools.count():
            if j > i:
                break
            total += j
        else:
            seen.append("never")
        while total % 3:
            total += 1
        if total > 50:
            break
    else:
        seen.append("all")
    index = 5
    while index:
        index -= 1
    else:
        seen.append("emptied")
    return total, seen, i, j, index


@program
def walrus_and_conditions():
    values = [y for x in range(6) if (y := x * x) % 2]
    if (n := len(values)) > 2 and not (n == 4 or n is None):
        text = "three" if n == 3 else "more"
    else:
        text = "few"
    assert text, "never"
    try:
        assert n == 0, f"n is {n}"
    except AssertionError as error:
        text += str(error)
    return values, n, text, y


@program
def deep_stack():
    def f(*args, **kwargs):
        return len(args) + len(kwargs)

    return f(
        1, [2, {3: (4, f(5, *[6, f(7, a=f(8), b=[i + f(i) for i in range(3)])]))}], c=f(*range(9))
    )


@program
def large_operands():
    # Constants and jumps beyond 255: EXTENDED_ARG prefixes.
    names = ", ".join(f"{i}.5" for i in range(300))
    body = "\n".join(f"    if x == {i}: y += {i}.25" for i in range(300))
    source = f"def f(x):\n    y = sum([{names}])\n    for _ in range(2):\n"
    source += body.replace("    if", "        if") + "\n    return y\n"
    scope = {}
    exec(source, scope)
    return scope["f"](3), scope["f"](299)
