"""Programs about values: operators, containers, closures, calls."""

from __future__ import annotations

import functools

from outcomes import PROGRAMS, outcome, program


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
