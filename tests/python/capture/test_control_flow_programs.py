"""Random programs: compiled and eager give the same results, exceptions and state, also in later
calls with changed inputs."""

from __future__ import annotations

import linecache
import random
import traceback
import types
from collections.abc import Callable
from typing import Any

import control_flow_programs
import pytest
import torch

import triptych

CALLS = 4
OURS = {"capture": "triptych"}


class World:
    """One copy of a program with its own globals and inputs."""

    def __init__(self, source: str, name: str):
        self.file = f"<{name}>"
        linecache.cache[self.file] = (len(source), None, source.splitlines(True), self.file)
        self.module = types.ModuleType("random_program")
        exec(compile(source, self.file, "exec"), self.module.__dict__)
        w = torch.tensor([[1.0, -2.0, 3.0], [0.0, 4.0, -1.0]])
        thing = self.module.Thing(w, 2)
        self.inputs: dict[str, Any] = {
            "x": torch.arange(6.0).reshape(2, 3) - 2,
            "y": torch.ones(2, 3),
            "n": 1,
            "flag": True,
            "items": [1, torch.full((2, 3), 2.0), 3],
            "table": {"t": torch.full((2, 3), -1.0), "n": 3},
            "obj": thing,
        }

    def change(self, seed: int) -> None:
        """One change of what the program reads."""
        i = self.inputs
        changes: list[Callable[[], Any]] = [
            lambda: i.update(n=i["n"] + 1),
            lambda: i.update(flag=not i["flag"]),
            lambda: i["items"].append(7),
            lambda: i["items"].insert(0, torch.zeros(2, 3)),
            lambda: i["table"].pop("t", None),
            lambda: i["table"].update(n=1),
            lambda: setattr(i["obj"], "k", 4),
            lambda: setattr(i["obj"], "child", None),
            lambda: i["obj"].__dict__.pop("extra", None),
            lambda: i.update(x=torch.ones(3, 3), y=torch.zeros(3, 3)),
            lambda: self.module.GLOBALS.update(scale=5),
            lambda: setattr(self.module.Thing, "shared", 1),
            lambda: i.update(x=i["x"].double()),
            lambda: None,
        ]
        random.Random(seed).choice(changes)()

    def call(self, function: Callable[..., Any]) -> Any:
        """What happened: the result or the exception with the lines of its traceback, and every
        object that can be reached, in a form that compares."""
        try:
            outcome = ("returned", function(*self.inputs.values()))
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            places = [(f.name, f.lineno) for f in frames if f.filename == self.file]
            outcome = ("raised", type(error).__name__, str(error), places)
        globals_ = {k: v for k, v in self.module.__dict__.items() if k in ("GLOBALS", "HISTORY")}
        counted = self.module.COUNTED.__closure__
        return comparable((outcome, self.inputs, globals_, [c.cell_contents for c in counted]), {})


def comparable(value: Any, seen: dict[int, int]) -> Any:
    """A tree of plain values; an object that comes again is its number."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return (type(value).__name__, value)
    if id(value) in seen:
        return ("seen", seen[id(value)])
    seen[id(value)] = len(seen)
    keep.append(value)
    if isinstance(value, torch.Tensor):
        data = value.detach()
        return (type(value).__name__, str(data.dtype), data.stride(), data.tolist())
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [comparable(item, seen) for item in value])
    if isinstance(value, dict):
        return ("dict", [(k, comparable(v, seen)) for k, v in value.items()])
    return (type(value).__name__, comparable(vars(value), seen))


keep: list[Any] = []  # so that no object takes the place of another


def check(seed: int, breaks: bool, **how: Any) -> None:
    source = control_flow_programs.write(seed, breaks)
    eager, compiled = World(source, f"eager {seed}"), World(source, f"compiled {seed}")
    run = triptych.compile(compiled.module.program, options=OURS, **how)
    try:
        for call in range(CALLS):
            expected = eager.call(eager.module.program)
            found = compiled.call(run)
            assert found == expected, (
                f"call {call}: {difference(found, expected)} in\n{listing(source)}"
            )
            for world in (eager, compiled):
                world.change(seed * 100 + call)
    finally:
        keep.clear()
        triptych.reset()


def difference(found: Any, expected: Any, place: str = "") -> str:
    """The first place where two trees differ."""
    same_kind = type(found) is type(expected) and isinstance(found, (tuple, list))
    if same_kind and len(found) == len(expected):
        for k, (a, b) in enumerate(zip(found, expected, strict=True)):
            if a != b:
                return difference(a, b, f"{place}.{k}")
    return f"at {place} found {found}, expected {expected}"


def listing(source: str) -> str:
    lines = source.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("def program"))
    return "\n".join(f"{k + 1:4} {line}" for k, line in enumerate(lines) if k >= first)


@pytest.mark.parametrize("seed", range(40))
def test_without_breaks(seed: int) -> None:
    with torch.no_grad():
        check(seed, breaks=False, backend="eager")


@pytest.mark.parametrize("seed", range(1000, 1040))
def test_with_breaks(seed: int) -> None:
    with torch.no_grad():
        check(seed, breaks=True, backend="eager")


@pytest.mark.parametrize("seed", range(2000, 2010))
def test_own_backend(seed: int) -> None:
    with torch.no_grad():
        check(seed, breaks=seed % 2 == 0)


@pytest.mark.parametrize("seed", range(3000, 3010))
def test_gradients_on(seed: int) -> None:
    check(seed, breaks=seed % 2 == 0, backend="eager")


@pytest.mark.sweep
def test_many() -> None:
    with torch.no_grad():
        for seed in range(10_000, 11_000):
            check(seed, breaks=seed % 2 == 0, backend="eager")
