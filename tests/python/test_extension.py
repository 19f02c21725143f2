"""An op, a pass and a device from outside the core, with no edit in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch

import triptych
from numerics import check_equal
from triptych import _C


@pytest.fixture(scope="module")
def toy_op() -> Any:
    @torch.library.custom_op("toy::soft_step", mutates_args=())
    def soft_step(x: torch.Tensor, sharpness: float) -> torch.Tensor:
        return torch.sigmoid(x * sharpness)

    @soft_step.register_fake
    def _(x: torch.Tensor, sharpness: float) -> torch.Tensor:
        return torch.empty_like(x)

    return soft_step


def test_toy_op(toy_op: Any) -> None:
    """First one external call between two kernels; with a lowering, one kernel in all."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return toy_op(x + 1, 3.0) * 2

    x = torch.randn(5, 7)
    graph = triptych.normalize(function, [x])
    assert [node.target for node in graph.nodes][1] == "toy.soft_step.default"
    before = triptych.generate(graph)
    check_equal(list(before(x)), [function(x)])
    assert len(before.externals) == 1
    triptych.register_lowering("toy.soft_step.default", "sigmoid(x * sharpness)")
    try:
        after = triptych.generate(graph)
    finally:
        triptych.unregister_lowering("toy.soft_step.default")
    check_equal(list(after(x)), [function(x)])
    assert (after.num_kernels, after.externals) == (1, [])


def test_lowering_that_does_not_parse() -> None:
    with pytest.raises(triptych.errors.UserError):
        triptych.register_lowering("toy.soft_step.default", "sigmoid(x *")


def double_becomes_sum(graph: triptych.Graph) -> triptych.Graph:
    """x * 2 as x + x, on the graph's text."""
    lines = []
    for line in str(graph).splitlines():
        head, found, rest = line.partition("aten.mul.Tensor(")
        operand, _, factor = rest.partition(", ")
        if found and factor.startswith("2)"):
            line = f"{head}aten.add.Tensor({operand}, {operand}{factor[1:]}"
        lines.append(line)
    return triptych.Graph.parse("\n".join(lines), graph.constants)


def test_what_is_no_lowering_or_pass_is_refused() -> None:
    with pytest.raises(triptych.errors.UserError, match="namespace.name.overload"):
        triptych.register_lowering("gelu2", "x")
    with pytest.raises(TypeError, match="expected a function of a graph, found 3"):
        triptych.register_pass("three", 3)  # type: ignore[arg-type]


def test_toy_pass() -> None:
    x = torch.randn(6)
    triptych.register_pass("double_becomes_sum", double_becomes_sum)
    try:
        with torch.no_grad():
            report = triptych.explain(lambda x: (x * 2).exp())(x)
        with pytest.raises(ValueError, match="registered already"):
            triptych.register_pass("double_becomes_sum", double_becomes_sum)
    finally:
        triptych.unregister_pass("double_becomes_sum")
    check_equal(report.result, (x * 2).exp())
    targets = [node.target for node in report.graphs[0].normalized.nodes]
    assert targets == ["aten.add.Tensor", "aten.exp.default"]


class ToyWriter:
    """A chip whose language is the loop tree itself."""

    language = "toy"

    def write(self, kernels: Sequence[Any], traits: Any) -> tuple[str, list[str]]:
        return "\n".join(map(str, kernels)), [kernel.name for kernel in kernels]


def toy_toolchain(
    text: str, entries: Sequence[str], externals: Sequence[str], options: Any
) -> list[str]:
    """ "Compiling" takes the text apart again."""
    parts = ["kernel" + part for part in text.split("kernel ")[1:]]
    assert len(parts) == len(entries)
    return [part.replace("kernel", "kernel ", 1) for part in parts]


@pytest.fixture
def toy_device() -> Iterator[list[str]]:
    launched: list[str] = []

    def launcher(
        kernel: Any, compiled: str, buffers: Sequence[Any], symbols: Sequence[int]
    ) -> None:
        launched.append(kernel.name)
        addresses = [buffer.data_ptr() for buffer in buffers]
        _C.parse_kernel(compiled).interpret(addresses, list(symbols))

    traits = _C.Traits()
    triptych.register_device(
        "toy", traits=traits, writer=ToyWriter(), toolchain=toy_toolchain, launcher=launcher
    )
    yield launched
    triptych.unregister_device("toy")


def test_toy_device(toy_device: list[str]) -> None:
    def function(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x @ weight + 1, dim=-1)

    inputs = [torch.randn(4, 8), torch.randn(8, 6)]
    assert "toy" in triptych.list_devices()
    program = triptych.generate(triptych.normalize(function, inputs), device="toy")
    assert program.text.startswith("kernel ")
    check_equal(list(program(*inputs)), [function(*inputs)])
    assert len(toy_device) == program.num_launches >= 1
