"""Random small Python programs over tensors, lists, dicts, attributes and closures, with loops,
`try`, `with`, writes to what they are given, and places where a graph has to break."""

from __future__ import annotations

import random
import textwrap

PRELUDE = """
import contextlib
import torch
import torch.nn.functional as F

GLOBALS = {"scale": 2, "calls": 0}
HISTORY = []


class Thing:
    shared = 3

    def __init__(self, w, k):
        self.w = w
        self.k = k
        self.log = []
        self.child = None

    @property
    def twice(self):
        return self.k * 2

    def step(self, t, by=1):
        self.k += by
        self.log.append(self.k)
        return t + self.k

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, error, trace):
        self.log.append("exit" if kind is None else kind.__name__)
        return kind is KeyError


@contextlib.contextmanager
def noting(log, name):
    log.append("+" + name)
    try:
        yield len(log)
    finally:
        log.append("-" + name)


def helper(t, n=1, *rest, key=None, **more):
    if n > 2:
        t = t * n
    if key is not None:
        t = t - key
    for r in rest:
        t = t + r
    return t + len(more)


def counted(step):
    count = 0

    def inner(t):
        nonlocal count
        count += step
        return t * count

    return inner


def numbers(limit):
    for i in range(limit):
        yield i * 2


COUNTED = counted(2)
"""

PARAMETERS = "x, y, n, flag, items, table, obj"


class Writer:
    """Writes one program. Tensors all have the shape of `x`, so that every sum is possible."""

    def __init__(self, seed: int, breaks: bool):
        self.random = random.Random(seed)
        self.breaks = breaks
        self.tensors = ["x", "y"]
        self.integers = ["n"]
        self.made = 0
        self.budget = 14
        self.in_loop = False

    def program(self) -> str:
        body = self.block(0, self.random.randint(4, 8))
        result = self.choose(
            f"return {self.tensor()}",
            f"return {self.tensor()}, {self.integer()}, items",
            f"return {{'t': {self.tensor()}, 'o': obj, 'l': [{self.tensor()}, {self.integer()}]}}",
            f"return [{self.tensor()}, obj.log, {self.tensors[-1]}, {self.tensors[-1]}]",
            "return obj",
        )
        lines = [f"def program({PARAMETERS}):", *(f"    {line}" for line in [*body, result])]
        return PRELUDE + "\n\n" + "\n".join(lines) + "\n"

    def choose(self, *options: str) -> str:
        return self.random.choice(options)

    def tensor(self, depth: int = 0) -> str:
        leaf = self.random.choice(self.tensors)
        if depth > 1 or self.random.random() < 0.3:
            return self.choose(leaf, leaf, "obj.w", "x")
        a, n = self.tensor(depth + 1), self.integer()
        b = self.random.choice(self.tensors)
        return self.choose(
            f"({a} + {b})",
            f"({a} * {n})",
            f"({a} - {b})",
            f"torch.relu({a})",
            f"F.hardtanh({a}, -4.0, 9.0)",
            f"torch.where({a} > 0, {b}, {n} - {a})",
            f"{a}.reshape(-1).view(x.shape)",
            f"({a} + {b}.sum())",
            f"helper({a}, {n})",
            f"helper({a}, {n}, {b}, key={n}, extra=1)",
            f"helper(*({a}, {n}), **{{'key': {n}}})",
            f"obj.step({a}, {n})",
            f"COUNTED({a})",
            f"torch.stack([{a}, {b}]).sum(0)",
            f"torch.cat([{a}, {b}], 0)[: x.shape[0]]",
            f"sum([t for t in items if isinstance(t, torch.Tensor)], {a})",
            f"(table.get('t', {a}) * 1)",
            f"(lambda q, r={n}: q + r)({a})",
        )

    def integer(self, depth: int = 0) -> str:
        leaf = self.random.choice(self.integers)
        if depth > 1 or self.random.random() < 0.4:
            return self.choose(leaf, str(self.random.randint(0, 4)), "obj.k", 'GLOBALS["scale"]')
        a = self.integer(depth + 1)
        return self.choose(
            f"({a} + 1)",
            f"({a} % 3)",
            f"min({a}, 4)",
            "len(items)",
            "x.shape[0]",
            "x.dim()",
            "obj.twice",
            "Thing.shared",
            'table.get("n", 2)',
            "len(table)",
            f"int({a} > 2)",
            f"sum(numbers({a} % 4))",
            "sum(i for i in items if isinstance(i, int))",
            f"max([1, {a}], key=lambda v: -v)",
            'getattr(obj, "extra", 5)',
        )

    def condition(self) -> str:
        a = self.integer()
        options = [
            "flag",
            f"{a} > 2",
            f"{a} == {self.integer()} or not flag",
            "'t' in table",
            "obj.child is None",
            "hasattr(obj, 'extra')",
            "isinstance(items[-1], torch.Tensor)",
            "x.shape[0] == 2 and flag",
            "items",
        ]
        if self.breaks and self.random.random() < 0.3:
            options = [f"({self.tensor()}).sum() > {a}", f"float({self.tensor()}.sum()) < 3"]
        return self.random.choice(options)

    def new(self, kind: list[str], prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made}"

    def block(self, depth: int, count: int) -> list[str]:
        lines: list[str] = []
        kept = list(self.tensors), list(self.integers)
        for _ in range(count):
            lines += self.statement(depth)
        if depth > 0:  # names of a block may not be bound behind it
            self.tensors, self.integers = kept
        return lines or ["pass"]

    def indented(self, depth: int, count: int = 2) -> list[str]:
        return textwrap.indent("\n".join(self.block(depth + 1, count)), "    ").splitlines()

    def statement(self, depth: int) -> list[str]:
        self.budget -= 1
        simple = self.budget < 0 or depth > 2 or self.random.random() < 0.62
        return self.simple() if simple else self.compound(depth)

    def simple(self) -> list[str]:
        t, n = self.tensor(), self.integer()
        if self.random.random() < 0.35:
            name = self.new(self.tensors, "t")
            self.tensors.append(name)
            return [f"{name} = {t}"]
        if self.random.random() < 0.2:
            name = self.new(self.integers, "i")
            self.integers.append(name)
            return [f"{name} = {n}"]
        target = self.random.choice(self.tensors)
        options = [
            f"{target} = {t}",
            f"obj.w = {t}",
            f"obj.k = {n}",
            f"obj.k += {n}",
            f"obj.log.append({n})",
            f"obj.extra = {n}",
            f"items.append({t})",
            f"items.append({n})",
            f"items[0] = {t}",
            "items.reverse()",
            "items.extend([1, 2])",
            f"table['t'] = {t}",
            f"table['n'] = {n}",
            f"table.setdefault('s', {n})",
            "table.pop('n', None)",
            f"table.update(a={n}, b={t})",
            "GLOBALS['calls'] += 1",
            f"HISTORY.append({n})",
            f"obj.child = Thing({t}, {n})",
            "obj.child = obj",
            f"{target} += {n}",
            f"x.add_({n} % 3)",
            f"y[0] = {n}",
            f"items, obj.log = [*items, {n}], [f'{{{n}}}:{{flag}}']",
            f"obj.log.append([{n} * v for v in range(3)])",
            f"a, *b = ({t}, {n}, 3)",
            f"obj.log.append(sorted([3, {n}, 1], key=lambda v: -v))",
        ]
        if self.breaks and self.random.random() < 0.3:
            options = [
                "torch._dynamo.graph_break()",
                f"obj.k = int({t}.sum().item()) % 5",
                f"obj.log.append({t}.tolist())",
                f"HISTORY.append(str({t}.sum().item()))",
            ]
        return [self.random.choice(options)]

    def compound(self, depth: int) -> list[str]:
        kind = self.random.choice(
            ["if", "if", "else", "range", "items", "table", "while", "try", "raise", "finally"]
            + ["no_grad", "thing", "noting", "return", "closure"]
        )
        inner = lambda count=2: self.indented(depth, count)  # noqa: E731
        if kind == "if":
            return [f"if {self.condition()}:", *inner()]
        if kind == "else":
            return [f"if {self.condition()}:", *inner(), "else:", *inner()]
        if kind == "range":
            name = self.new(self.integers, "i")
            self.integers.append(name)
            lines = [f"for {name} in range({self.integer()} % 4):", *inner()]
            if self.random.random() < 0.4:
                lines.append(f"    if {self.condition()}: {self.choose('break', 'continue')}")
            self.integers.remove(name)
            return lines
        if kind == "items":  # few of them: bodies make the list longer
            return ["for item in items[:3]:", "    obj.log.append(type(item).__name__)", *inner()]
        if kind == "table":
            key = "obj.log.append(key)"
            return ["for key, value in list(table.items()):", f"    {key}", *inner(1)]
        if kind == "while":
            name = self.new(self.integers, "i")
            lines = [f"{name} = {self.integer()} % 3", f"while {name} > 0:", f"    {name} -= 1"]
            return [*lines, *inner()]
        if kind == "try":
            error = self.choose("KeyError", "(KeyError, TypeError)", "Exception")
            bad = self.choose("table['missing']", "None + 1", "items[99]", "obj.nothing")
            handler = self.choose("obj.log.append(type(e).__name__)", "obj.log.append(str(e))")
            return ["try:", *inner(), f"    {bad}", f"except {error} as e:", f"    {handler}"]
        if kind == "raise":
            raised = self.choose("ValueError(n)", "KeyError('k')", "RuntimeError(f'{n} {flag}')")
            return [f"if {self.condition()}:", *inner(1), f"    raise {raised}"]
        if kind == "finally":
            return ["try:", *inner(), "finally:", "    obj.log.append('finally')"]
        if kind == "no_grad":
            return [f"with {self.choose('torch.no_grad()', 'torch.enable_grad()')}:", *inner()]
        if kind == "thing":
            lines = ["with obj as entered:", *inner()]
            return [*lines, "    table['missing']"] if self.random.random() < 0.3 else lines
        if kind == "noting":
            return ["with noting(obj.log, 'a') as depth:", *inner(), "    obj.log.append(depth)"]
        if kind == "closure":
            name, made = self.new(self.tensors, "t"), self.random.choice(self.tensors)
            lines = [
                f"def local(q, scale={self.integer()}):",
                f"    nonlocal {made}",
                f"    {made} = {made} + 1",
                f"    return q * scale + {made}",
                f"{name} = local({self.tensor()})",
            ]
            self.tensors.append(name)
            return lines
        return [f"if {self.condition()}:", f"    return {self.tensor()}, {self.integer()}"]


def write(seed: int, breaks: bool) -> str:
    return Writer(seed, breaks).program()
