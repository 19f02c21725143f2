"""Inputs that a program changes are written by the kernel that makes their new contents, where
nothing can tell the difference from a copy at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import triptych
from numerics import check_equal

pytestmark = pytest.mark.usefixtures("inference")


def update(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.mul_(0.9).add_(y, alpha=0.1)


def update_and_use(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.add_(y)
    return (x * y).sum(1)


def optimizer(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.mul_(0.9).add_(y)
    y.sub_(x, alpha=0.01)


def overwritten(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.copy_(y.exp())


def rows(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.copy_(torch.softmax(x, -1))


DIRECT: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "update": update,
    "used behind": update_and_use,
    "two inputs": optimizer,
    "overwritten": overwritten,
    "filled": lambda x, y: x.fill_(2.0),
    "a result beside it": lambda x, y: (x.add_(1), y * 2)[1],
}


def old_contents(x: torch.Tensor, y: torch.Tensor) -> Any:
    before = x * 2
    x.copy_(torch.cumsum(y, 0))
    return before


def old_and_new(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = x.clone()
    x.add_(y)
    return z, x.t() @ z


def swapped(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = x.clone()
    x.copy_(y)
    y.copy_(z)


def read_by_a_product(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = x @ y.t()
    x.add_(1)
    return z


def a_product_behind(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.add_(1)
    return x @ y.t()


def may_fail(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.add_(1)
    return y[y.long().clamp(0, 1)[:, 0]]


COPIED: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "flipped": lambda x, y: x.copy_(x.flip(0)),
    "shifted": lambda x, y: x.copy_(x.roll(1, 1)),
    "half of it": lambda x, y: x[:, ::2].add_(y[:, ::2]),
    "swapped": swapped,
    "a product behind": a_product_behind,
    "may fail": may_fail,
}
EITHER: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "old and new": old_and_new,
    "old contents": old_contents,
    "rows": rows,
    "read by a product": read_by_a_product,
    "summed": lambda x, y: x.sub_(x.sum(0)),
    "an external op before": lambda x, y: x.copy_(torch.cumsum(y, 0)),
}
LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "dense": lambda t: t,
    "transposed": lambda t: t.t().contiguous().t(),
    "at an offset": lambda t: torch.cat([t.flatten()[:1], t.flatten()])[1:].view(t.shape),
    "gapped": lambda t: torch.cat([t, t], 1)[:, : t.shape[1]],
}


def copies(program: Any) -> int:
    return sum(line.strip().startswith("copy %") for line in program.program.splitlines())


def compare(function: Any, program: Any, make: Callable[[], list[torch.Tensor]]) -> None:
    given, expected_inputs = make(), make()
    versions = [t._version for t in given]
    flat = lambda r: [] if r is None else list(r) if isinstance(r, (list, tuple)) else [r]  # noqa: E731
    got, expected = flat(program(*given)), flat(function(*expected_inputs))
    check_equal([t for t in got if t is not None], expected)
    check_equal(given, expected_inputs)
    changed = [not torch.equal(a, b) for a, b in zip(given, make(), strict=True)]
    for tensor, before, different in zip(given, versions, changed, strict=True):
        assert tensor._version > before or not different


@pytest.mark.parametrize("writer", ["llvm", "cpp"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*DIRECT, *COPIED, *EITHER])
def test_as_in_eager(name: str, layout: str, writer: str) -> None:
    function = (DIRECT | COPIED | EITHER)[name]

    def make() -> list[torch.Tensor]:
        torch.manual_seed(1)
        return [LAYOUTS[layout](torch.randn(6, 10)) for _ in range(2)]

    program = triptych.generate(triptych.normalize(function, make()), writer=writer)
    if name in DIRECT and layout in ("dense", "at an offset"):
        assert copies(program) == 0, program.program
    if name in COPIED:
        assert copies(program) > 0, program.program
    compare(function, program, make)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
@pytest.mark.parametrize("size", [1, 7, 1000, 3_000_001])
def test_sizes_and_dtypes(size: int, dtype: torch.dtype) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        x.logical_or_(y) if dtype == torch.bool else x.add_(y)

    def make() -> list[torch.Tensor]:
        torch.manual_seed(1)
        return [(torch.randn(size) * 5).to(dtype) for _ in range(2)]

    program = triptych.generate(triptych.normalize(function, make()))
    assert copies(program) == 0
    compare(function, program, make)


def test_symbolic_sizes() -> None:
    from triptych.normalize import normalize_with_report

    graph, _ = normalize_with_report(
        update, (torch.ones(4, 5), torch.ones(4, 5)), symbols={(0, 0): "n", (1, 0): "n"}
    )
    program = triptych.generate(graph)
    assert copies(program) == 0
    for n in (2, 9):
        compare(update, program, lambda n=n: [torch.ones(n, 5), torch.full((n, 5), 2.0)])


def test_inputs_that_share_memory_are_refused_before_anything_is_written() -> None:
    program = triptych.generate(triptych.normalize(update, (torch.ones(4), torch.ones(4))))
    memory = torch.arange(6.0)
    with pytest.raises(triptych.errors.TriptychError):
        program(memory[:4], memory[1:5])
    assert memory.tolist() == [0, 1, 2, 3, 4, 5]


def test_nothing_is_written_when_a_check_fails() -> None:
    def function(x: torch.Tensor, index: torch.Tensor) -> Any:
        x.add_(1)
        return x[index]

    x = torch.zeros(3)
    program = triptych.generate(triptych.normalize(function, (x, torch.tensor([0, 1]))))
    with pytest.raises(IndexError):
        program(x, torch.tensor([0, 7]))
    assert x.tolist() == [0, 0, 0]


def inference_tensor() -> torch.Tensor:
    with torch.inference_mode():
        return torch.ones(4)


def test_an_inference_tensor_is_refused_before_anything_is_written() -> None:
    x = inference_tensor()
    program = triptych.generate(triptych.normalize(update, (torch.ones(4), torch.ones(4))))
    with pytest.raises(RuntimeError, match="inference tensor"):
        update(inference_tensor(), torch.ones(4))
    with pytest.raises(RuntimeError, match="inference tensor"):
        program(x, torch.zeros(4))
    assert x.tolist() == [1, 1, 1, 1]
    with torch.inference_mode():
        program(x, torch.zeros(4))
    assert x.tolist() == pytest.approx([0.9] * 4)
