"""A compiled graph raises at a call: handlers, lines, and what changes before are the program's."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest
import torch
from own_capture import compiled

import triptych

pytestmark = pytest.mark.usefixtures("without_gradients")

TABLE = torch.arange(12.0).reshape(4, 3)
GOOD, BAD = torch.tensor([1, 3]), torch.tensor([1, 4])


class Memory:
    def __init__(self) -> None:
        self.log: list[Any] = []
        self.total = torch.zeros(3)
        self.count = 0


def look_up(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.embedding(index, table)


def raises(memory: Memory, index: torch.Tensor) -> Any:
    rows = look_up(TABLE, index) * 2
    return rows + 1


def is_caught(memory: Memory, index: torch.Tensor) -> Any:
    try:
        rows = look_up(TABLE, index)
    except IndexError:
        rows = TABLE[:2] - 1
    return rows * 2


def changes_before(memory: Memory, index: torch.Tensor) -> Any:
    memory.log.append("begin")
    memory.count += 1
    memory.total = memory.total + 1
    rows = look_up(TABLE, index)
    memory.log.append("end")
    return rows


def writes_before(memory: Memory, index: torch.Tensor) -> Any:
    memory.total.add_(1)
    memory.log.append(memory.total * 2)
    rows = look_up(TABLE, index)
    memory.total.mul_(3)
    return rows


def draws_before(memory: Memory, index: torch.Tensor) -> Any:
    noise = torch.rand(3)
    memory.log.append(noise)
    return look_up(TABLE, index) + noise


def after_a_break(memory: Memory, index: torch.Tensor) -> Any:
    start = TABLE.sum()
    triptych.graph_break()
    memory.log.append(start + 1)
    try:
        rows = look_up(TABLE, index) + start
    except IndexError:
        memory.log.append("caught")
        rows = TABLE[:2] * start
    finally:
        memory.count += 1
    return rows * 2


def in_a_loop(memory: Memory, index: torch.Tensor) -> Any:
    total = torch.zeros(3)
    for k in range(3):
        triptych.graph_break()
        memory.log.append(k)
        total = total + look_up(TABLE, index + k - 2).sum(0)
    return total


def of_a_callee(memory: Memory, index: torch.Tensor) -> Any:
    def inner(shift: int) -> torch.Tensor:
        triptych.graph_break()
        return look_up(TABLE, index + shift) * 2

    try:
        return inner(0)
    except IndexError as error:
        memory.log.append(str(error))
        return inner(-1)


PROGRAMS = [
    raises, is_caught, changes_before, writes_before, draws_before, after_a_break, in_a_loop,
    of_a_callee,
]  # fmt: skip


def outcome(function: Callable[..., Any], index: torch.Tensor) -> Any:
    """What comes of three calls: results or exceptions with their lines, and the state."""
    torch.manual_seed(3)
    memory, results = Memory(), []
    for _ in range(3):
        try:
            results.append(function(memory, index).tolist())
        except IndexError as error:
            lines = [(f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
            here = [line for line in lines if line[0] != "outcome"]
            results.append((str(error), here, error.__context__))
    log = [item.tolist() if isinstance(item, torch.Tensor) else item for item in memory.log]
    state = memory.total.tolist(), memory.total._version, memory.count
    return results, log, state, torch.rand(2).tolist()


# What another backend has written itself remains: tested below.
CASES = [
    pytest.param(function, backend, id=f"{function.__name__}-{backend}")
    for function in PROGRAMS
    for backend in ("triptych", "eager")
    if (function, backend) != (writes_before, "eager")
]


@pytest.mark.parametrize("first", [GOOD, BAD], ids=["good", "bad"])
@pytest.mark.parametrize(("function", "backend"), CASES)
def test_as_eager(function: Callable[..., Any], backend: str, first: torch.Tensor) -> None:
    run = compiled(function, backend=backend)
    for index in (first, GOOD, BAD, GOOD, BAD):
        assert outcome(run, index) == outcome(function, index)
    counters = triptych.counters()
    assert counters["fallback.graph.raised"] > 0 and counters["captures"] > 0


def test_what_a_backend_has_written_remains() -> None:
    run, memory = compiled(writes_before, backend="eager"), Memory()
    run(memory, GOOD)
    with pytest.raises(IndexError) as raised:
        run(memory, BAD)
    assert "the graph of writes_before, which has changed tensors" in raised.value.__notes__[0]
    assert memory.total.tolist() == [4.0] * 3, "once"


def test_a_backend_raises() -> None:
    def backend(gm: Any, inputs: Any) -> Any:
        def graph(*values: Any) -> Any:
            raise stopped

        return graph

    run = compiled(lambda x: x * 2 + 1, backend=backend)
    stopped: BaseException = ValueError("of the backend")
    assert torch.equal(run(TABLE), TABLE * 2 + 1)
    assert triptych.counters()["fallback.graph.raised"] == 1
    stopped = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        run(TABLE)


@pytest.mark.parametrize("backend", ["eager", "triptych"])
def test_nothing_is_printed(backend: str, capfd: pytest.CaptureFixture[str]) -> None:
    table = TABLE.clone().requires_grad_()
    with torch.enable_grad():  # where our compiler leaves a graph as it is
        run = compiled(lambda rows, index: rows[index] + 1, backend=backend)
        run(table, GOOD)
        with pytest.raises(IndexError):
            run(table, BAD)
    assert capfd.readouterr().err == ""
