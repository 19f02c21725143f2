"""Random small programs over tensors, lists, dicts, objects and closures: compiled and eager give
the same results, exceptions and state, also at later calls, given something else."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
import torch
from test_capture_programs import Box, same

import triptych

TENSORS = ("x", "y", "box.value", "table['t']", "items[0]")
NUMBERS = ("n", "len(items)", "table['n']", "len(box.sizes)", "x.dim()", "3")


class Writer:
    """Writes the body of one function."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def tensor(self) -> str:
        one, other = self.random.choice(TENSORS), self.random.choice(TENSORS)
        number = self.random.choice(NUMBERS)
        return self.random.choice(
            [
                f"{one} + {other}",
                f"{one} * {number}",
                f"torch.relu({one}) - {other}",
                f"{one}.sum(0, keepdim=True) + {other}",
                f"add({one})",
                f"{one} @ {other}.T @ {other}" if self.random.random() < 0.3 else f"-{one}",
                f"box.doubled + {other}",
                f"torch.stack([{one}, {other}]).mean(0)",
                f"sum([{one}, {other}])",
                f"{one}[:, :1] + {other}",
            ]
        )

    def simple(self) -> str:
        target = self.random.choice(
            ["x", "y", "box.value", "table['t']", "items[0]", "box.extra", "table['new']"]
        )
        return self.random.choice(
            [
                f"{target} = {self.tensor()}",
                f"{target} = {self.tensor()}",
                f"items.append({self.tensor()})",
                "n += 1",
                f"table['n'] = {self.random.choice(NUMBERS)} + 1",
                "table['n'] += 1",
                f"box.sizes.append({self.random.choice(NUMBERS)})",
                "box.grow(1)",
                "table.pop('new', None)",
                "items[-1] = x",
                f"log.append({self.random.choice(NUMBERS)})",
                "x = x.clone(); x.add_(1)",
                "counter()",
            ]
        )

    def block(self, depth: int, indent: str) -> None:
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.random()
            if depth > 2 or kind < 0.6:
                self.lines.append(indent + self.simple())
            elif kind < 0.7:
                self.lines.append(f"{indent}for k in range({self.random.randint(1, 3)}):")
                self.lines.append(f"{indent}    n = n + k")
                self.block(depth + 1, indent + "    ")
            elif kind < 0.78:
                condition = self.random.choice(
                    ["n > 3", "'new' in table", "len(items) > 2", "x.shape[0] > 2", "box.sizes"]
                )
                self.lines.append(f"{indent}if {condition}:")
                self.block(depth + 1, indent + "    ")
                self.lines.append(f"{indent}else:")
                self.block(depth + 1, indent + "    ")
            elif kind < 0.86:
                self.lines.append(f"{indent}try:")
                self.block(depth + 1, indent + "    ")
                if self.random.random() < 0.5:
                    self.lines.append(f"{indent}    raise KeyError('k')")
                self.lines.append(f"{indent}except KeyError:")
                self.block(depth + 1, indent + "    ")
            elif kind < 0.92:
                self.lines.append(f"{indent}with torch.no_grad():")
                self.block(depth + 1, indent + "    ")
            elif kind < 0.96:
                self.lines.append(f"{indent}for v in [w * 2 for w in items[:2]]:")
                self.lines.append(f"{indent}    y = y + v.sum()")
            elif kind < 0.98:
                self.lines.append(f"{indent}note(n)")  # a break
            else:
                self.lines.append(f"{indent}n = int(x.sum().item() > 0)")  # another

    def function(self) -> Any:
        self.block(0, "    ")
        text = "\n".join(
            [
                "def program(x, y, n, items, table, box):",
                "    log = []",
                "    count = 0",
                "    def add(t):",
                "        return t + n",
                "    def counter():",
                "        nonlocal count",
                "        count += 1",
                *self.lines,
                "    return x, y, n, items, {'log': log, 'count': count, 'box': box}",
            ]
        )
        scope: dict[str, Any] = {"torch": torch, "note": note}
        exec(compile(text, f"<program {text}>", "exec"), scope)
        return scope["program"], text


NOTES: list[Any] = []


@torch.compiler.disable
def note(value: Any) -> None:
    NOTES.append(value)


def arguments(seed: int) -> list[Any]:
    torch.manual_seed(seed)
    shape = (2, 3)
    items = [torch.randn(shape), torch.randn(shape)]
    table = {"t": torch.randn(shape), "n": 2}
    return [torch.randn(shape), torch.randn(shape), 1, items, table, Box(torch.randn(shape), [1])]


def outcome(function: Any, given: list[Any]) -> list[Any]:
    NOTES.clear()
    try:
        result, error = function(*given), None
    except Exception as raised:
        result, error = None, (type(raised), str(raised))
    return [result, error, given, list(NOTES)]


def change(given: list[Any], step: int) -> None:
    if step == 1:
        given[2] = 5
    elif step == 2:
        given[3].append(torch.ones(2, 3))
        given[4]["new"] = torch.ones(2, 3)
    elif step == 3:
        given[5].sizes.clear()
        given[4]["n"] = 0


@pytest.mark.parametrize("seed", range(40))
@torch.no_grad()
def test_random_program(seed: int) -> None:
    triptych.reset()
    function, text = Writer(seed).function()
    compiled = triptych.compile(function, backend="eager", options={"capture": "triptych"})
    for step in range(5):
        for_eager, for_compiled = arguments(seed), arguments(seed)
        change(for_eager, step)
        change(for_compiled, step)
        wanted = outcome(function, for_eager)
        got = outcome(compiled, for_compiled)
        try:
            same(copy.copy(got), wanted, {})
        except AssertionError as error:
            raise AssertionError(f"step {step} of\n{text}") from error
    assert torch.is_grad_enabled() is False
    triptych.reset()
