"""Random mapped kernels: loops over random sizes with random arithmetic, on all executors."""

from __future__ import annotations

import random

import pytest
import torch
from kernel_harness import DTYPES, Case, check

UNARY = ("neg", "abs", "floor", "trunc", "sign", "reciprocal")
BINARY = ("add", "sub", "mul", "min", "max", "fmin", "fmax")
INTEGER_BINARY = (
    "add",
    "sub",
    "mul",
    "min",
    "max",
    "bit_and",
    "bit_xor",
    "shift_left",
    "shift_right",
)
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
TYPES = ("f32", "f64", "i64", "i32", "bool", "bf16")


class Program:
    """Prints one kernel: rows by columns, a reduction along the rows, and what follows from it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rows = self.random.choice((1, 3, 16, 37))
        self.columns = self.random.choice((1, 7, 16, 33, 64, 100, 150))
        self.symbolic = self.random.random() < 0.4
        self.width = self.random.choice((4, 8, 16, 32))
        self.next = 0
        self.lines: list[str] = []
        self.inputs: list[tuple[str, str]] = []  # dtype, layout
        self.outputs: list[str] = []

    def new(self) -> str:
        self.next += 1
        return f"v{self.next - 1}"

    def emit(self, text: str) -> str:
        name = self.new()
        self.lines.append(f"{name} = {text}")
        return name

    def pick(self, values: list[tuple[str, str]], dtype: str) -> str | None:
        found = [name for name, d in values if d == dtype]
        return self.random.choice(found) if found else None

    def size(self, which: str) -> str:
        if self.symbolic:
            return {"rows": "s0", "columns": "s1"}[which]
        return str({"rows": self.rows, "columns": self.columns}[which])

    def index(self, layout: str, i: str, j: str) -> str:
        r, c = self.size("rows"), self.size("columns")
        return {
            "matrix": f"{i}*{c} + {j}",
            "transposed": f"{j}*{r} + {i}",
            "row": j,
            "column": i,
            "reversed": f"{i}*{c} + {c} - {j} - 1",
            "halved": f"{i}*{c} + floordiv({j}, 2)",
            "wrapped": f"{i}*{c} + mod({j}, 3)*0 + mod(3*{j} + {i}, {c})",
        }[layout]

    def loads(self, i: str, j: str, count: int) -> list[tuple[str, str]]:
        layouts = ("matrix", "transposed", "row", "column", "reversed", "halved", "wrapped")
        values = []
        for _ in range(count):
            dtype = self.random.choice(TYPES)
            layout = self.random.choice(layouts)
            self.inputs.append((dtype, layout))
            name = self.emit(f"load %x{len(self.inputs) - 1}[{self.index(layout, i, j)}]")
            if dtype == "bf16":
                name, dtype = self.emit(f"cast {name} : f32"), "f32"
            values.append((name, dtype))
        return values

    def arithmetic(self, values: list[tuple[str, str]], steps: int) -> None:
        for _ in range(steps):
            kind = self.random.choice(
                ("unary", "binary", "integer", "compare", "select", "cast", "exp")
            )
            dtype = self.random.choice(
                ("f32", "f64") if kind in ("unary", "binary", "exp") else ("i64", "i32")
            )
            if kind in ("compare", "select", "cast"):
                dtype = self.random.choice(("f32", "f64", "i64", "i32"))
            a, b = self.pick(values, dtype), self.pick(values, dtype)
            if a is None or b is None:
                continue
            if kind == "unary":
                values.append((self.emit(f"{self.random.choice(UNARY)} {a}"), dtype))
            elif kind == "exp":
                low = self.emit(f"const -3.0 : {dtype}")
                values.append((self.emit(f"exp {self.emit(f'min {a}, {low}')}"), dtype))
            elif kind == "compare":
                values.append((self.emit(f"{self.random.choice(COMPARISONS)} {a}, {b}"), "bool"))
            elif kind == "select":
                if condition := self.pick(values, "bool"):
                    values.append((self.emit(f"select {condition}, {a}, {b}"), dtype))
            elif kind == "cast":
                target = self.random.choice(("f32", "f64", "i64", "i32"))
                values.append((self.emit(f"cast {a} : {target}"), target))
            else:
                op = self.random.choice(BINARY if kind == "binary" else INTEGER_BINARY)
                values.append((self.emit(f"{op} {a}, {b}"), dtype))

    def store(self, values: list[tuple[str, str]], index: str) -> None:
        name, dtype = self.random.choice(values[-4:])
        self.outputs.append(dtype)
        self.lines.append(f"store %y{len(self.outputs) - 1}[{index}], {name}")

    def block(self, indent: int) -> str:
        text = "".join("  " * indent + line + "\n" for line in self.lines)
        self.lines = []
        return text

    def schedule(self) -> str:
        if self.random.random() < 0.2:
            return ""
        return f"vector({self.width}) unroll({self.random.choice((1, 2, 3, 4))})"

    def body(self) -> str:
        values = self.loads("i0", "i1", self.random.randint(1, 3))
        self.arithmetic(values, self.random.randint(1, 6))
        exact = [v for v in values if v[1] in ("i64", "i32", "bool")]
        reduced, dtype = self.random.choice(exact or values)
        op = self.random.choice(
            ("any", "all", "argmax") if dtype == "bool" else ("min", "max", "argmin", "argmax")
        )
        if dtype in ("i64", "i32"):
            op = self.random.choice((op, "sum"))
        if self.random.random() < 0.5:
            self.store(values, f"i0*{self.size('columns')} + i1")
        first = self.block(3)
        results = [self.new()] + ([self.new()] if op.startswith("arg") else [])
        reduce = f"reduce({', '.join(results)} = {op} {reduced})"
        loop = (
            f"    for i1 in {self.size('columns')} {self.schedule()} {reduce} {{\n{first}    }}\n"
        )
        outer = [(results[0], dtype)] + [(name, "i64") for name in results[1:]]
        self.arithmetic(outer, 3)
        loop += self.block(2)
        inner = outer + self.loads("i0", "i2", 1)
        self.arithmetic(inner, self.random.randint(1, 5))
        self.store(inner, f"i0*{self.size('columns')} + i2")
        return (
            loop
            + f"    for i2 in {self.size('columns')} {self.schedule()} {{\n{self.block(3)}    }}\n"
        )

    def case(self) -> Case:
        body = self.body()
        cells = f"{self.size('rows')}*{self.size('columns')}"
        parameters = [f"in %x{k}: {d}[{cells}]" for k, (d, _) in enumerate(self.inputs)]
        parameters += [f"out %y{k}: {d}[{cells}]" for k, d in enumerate(self.outputs)]
        symbols = "[s0, s1]" if self.symbolic else ""
        text = (
            f"kernel random{symbols}({', '.join(parameters)}) {{\n"
            f"  for i0 in {self.size('rows')} parallel {{\n{body}  }}\n}}\n"
        )
        count = self.rows * self.columns
        return Case(
            text,
            [self.tensor(dtype, count, k) for k, (dtype, _) in enumerate(self.inputs)],
            [(DTYPES[dtype], count) for dtype in self.outputs],
            symbols=[self.rows, self.columns] if self.symbolic else [],
            end=self.rows,
            chunks=self.random.randint(1, 3),
            ulps=8,  # contraction to fused multiply-add, and exp
            absolute=1e-5,
        )

    def tensor(self, dtype: str, count: int, seed: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(self.random.randint(0, 10**6) + seed)
        if dtype == "bool":
            return torch.rand(count, generator=generator) < 0.5
        # Small whole numbers: arithmetic on them is exact, however it is contracted or ordered.
        x = torch.randint(-8, 9, (count,), generator=generator)
        return x.to(DTYPES[dtype])


@pytest.mark.parametrize("batch", range(4))
def test_random_kernels(batch: int) -> None:
    check([Program(100 * batch + k).case() for k in range(25)])
