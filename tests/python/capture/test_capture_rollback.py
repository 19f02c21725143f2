"""A capture leaves the heap as it found it, whether it succeeds, breaks late or fails: everything
that can be reached is the same object with the same content, in the same order."""

from __future__ import annotations

import collections
import contextlib
import gc
import types
from collections.abc import Callable
from typing import Any

import pytest
import test_capture_exceptions as exceptions
import test_capture_handover as handover
import test_capture_programs as programs
import test_capture_writes as writes
import torch
from capture_oracle import Captured

import triptych
from triptych import errors

LEAVES = int | float | complex | str | bytes | types.ModuleType | types.CodeType | None
CONTAINERS = dict | list | tuple | set | frozenset | collections.deque | types.CellType
Arguments = Callable[[], tuple[Any, ...]]


def is_ours(value: Any) -> bool:
    """Of the programs, or a container: not of Python's or torch's own."""
    if isinstance(value, CONTAINERS | torch.Tensor | torch.nn.Module | BaseException):
        return True
    kind = value if isinstance(value, type) else type(value)
    home = value.__module__ if isinstance(value, types.FunctionType) else kind.__module__
    return str(home).startswith("test_capture_") or "defaultdict" in kind.__name__


def content(value: Any) -> list[Any]:
    if hasattr(value, "__dict__"):
        vars(value)  # from now on the dict exists
    if isinstance(value, types.FunctionType):
        value.__annotations__  # noqa: B018
    seen: list[Any] = [id(one) for one in gc.get_referents(value)]
    if isinstance(value, torch.Tensor):
        facts = (value._version, value.requires_grad, value.shape, value.stride(), value.data_ptr())
        seen += [*facts, value.detach().tolist()]
    if isinstance(value, bytearray | collections.deque):
        seen.append(list(value))
    if isinstance(value, collections.OrderedDict):
        seen.append(list(map(id, value)))
    return seen


class Snapshot:
    def __init__(self, *roots: Any):
        self.content: dict[int, list[Any]] = {}
        self.kept = [*roots]  # so that no other object gets the address of one
        left = list(roots)
        while left:
            value = left.pop()
            if id(value) in self.content or isinstance(value, LEAVES) or not is_ours(value):
                continue
            self.content[id(value)] = content(value)
            self.kept.append(value)
            left += gc.get_referents(value)

    def check(self) -> None:
        for value in self.kept:
            if id(value) in self.content:
                assert content(value) == self.content[id(value)], type(value)


def breaking_late(function: Any) -> Any:
    def late(*arguments: Any) -> Any:
        result = function(*arguments)
        triptych.graph_break()
        return result

    return late


def failing_late(function: Any) -> Any:
    def late(*arguments: Any) -> Any:
        function(*arguments)
        raise ValueError("late")

    return late


CASES: list[tuple[Any, Arguments]] = list(programs.PROGRAMS)
CASES += [
    (function, lambda make=make: (torch.arange(2.0), make()))  # type: ignore[misc]
    for function, make, _ in writes.WRITES
]
CASES += [(function, lambda: (handover.X,)) for function in handover.PROGRAMS]
CASES += [
    (function, lambda: (exceptions.X, exceptions.Failure("given", 1)))
    for function in exceptions.PROGRAMS
]


@pytest.mark.parametrize("wrapped", [lambda f: f, breaking_late, failing_late])
@pytest.mark.parametrize(("function", "arguments"), CASES, ids=[f.__name__ for f, _ in CASES])
@torch.no_grad()
def test_heap_is_as_before(function: Any, arguments: Arguments, wrapped: Any) -> None:
    given = list(arguments())
    target = wrapped(function)
    for _ in range(2):  # Python's own caches are filled by the first
        handover.LOG.clear()
        before = Snapshot(given, target, function, handover.LOG, function.__globals__)
        modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        with contextlib.suppress(errors.UnsupportedError):
            Captured(target, *given)
        before.check()
        assert modes == (torch.is_grad_enabled(), torch.is_inference_mode_enabled())
