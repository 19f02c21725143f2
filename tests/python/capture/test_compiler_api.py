"""What programs say through torch.compiler and torch._dynamo is followed by our own capture."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
import torch
import torch._dynamo
from own_capture import compiled

import triptych
from triptych import errors

pytestmark = pytest.mark.usefixtures("without_gradients")


def graphs() -> int:
    return triptych.counters().get("graphs", 0)


def test_graph_break() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    x = torch.randn(4)
    assert torch.equal(compiled(program)(x), program(x))
    assert graphs() == 2
    with pytest.raises(errors.UnsupportedError, match="a call of graph_break"):
        compiled(program, fullgraph=True)(x)


@pytest.mark.parametrize("mark", [torch.compiler.allow_in_graph, torch._dynamo.nonstrict_trace])
def test_one_node(mark: Any) -> None:
    @mark
    def helper(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) * y

    found = []

    def backend(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        found.extend(node.target for node in gm.graph.nodes if node.op == "call_function")
        return gm

    def program(x: torch.Tensor) -> torch.Tensor:
        return helper(x + 1, x) - 1

    x = torch.randn(4)
    assert torch.equal(compiled(program, backend=backend, fullgraph=True)(x), program(x))
    assert helper in found and torch.sin not in found
    assert torch.allclose(compiled(program, fullgraph=True)(x), program(x))


def test_substitute_in_graph() -> None:
    @torch.compiler.substitute_in_graph(zlib.adler32, skip_signature_check=True)
    def adler32(data: bytes) -> int:
        low, high = 1, 0
        for byte in data:
            low = (low + byte) % 65521
            high = (high + low) % 65521
        return high << 16 | low

    def program(x: torch.Tensor) -> torch.Tensor:
        return x * (zlib.adler32(b"triptych") % 7)

    x = torch.randn(4)
    assert torch.equal(compiled(program, fullgraph=True)(x), program(x))


def test_nested_compile_region() -> None:
    @torch.compiler.nested_compile_region
    def block(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) * 2

    def program(x: torch.Tensor) -> torch.Tensor:
        return block(x) + block(x + 1)

    x = torch.randn(4)
    assert torch.allclose(compiled(program, fullgraph=True)(x), program(x))


def test_error_on_graph_break() -> None:
    def program(x: torch.Tensor, strict: bool) -> torch.Tensor:
        with torch._dynamo.error_on_graph_break(strict):
            y = x + 1
            torch._dynamo.graph_break()
            return y * 2

    x = torch.randn(4)
    region = compiled(program)
    assert torch.equal(region(x, False), program(x, False))
    with pytest.raises(errors.UnsupportedError, match="error_on_graph_break"):
        region(x, True)
    assert torch.equal(region(x, False), program(x, False))
    assert not torch._dynamo.utils._get_error_on_graph_break()


def test_stances() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + torch.compiler.is_compiling()

    eager, in_graph = torch.zeros(4), torch.ones(4)
    region, x = compiled(program), torch.zeros(4)
    with torch.compiler.set_stance("eager_on_recompile"):
        assert torch.equal(region(x), eager) and graphs() == 0
    failing = torch.compiler.set_stance("fail_on_recompile")
    with failing, pytest.raises(RuntimeError, match="fail_on_recompile"):
        region(x)
    assert torch.equal(region(x), in_graph) and graphs() == 1
    with torch.compiler.set_stance("force_eager"):
        assert torch.equal(region(x), eager)
    for stance in ("eager_on_recompile", "fail_on_recompile"):
        with torch.compiler.set_stance(stance):  # what is compiled already is used
            assert torch.equal(region(x), in_graph)
    with torch.compiler.set_stance("eager_then_compile"):
        later = compiled(program)
        assert torch.equal(later(x), eager)
        assert torch.equal(later(x), in_graph)


@pytest.mark.parametrize("recursive", [True, False])
def test_disable(recursive: bool) -> None:
    @torch.compiler.disable(recursive=recursive)
    def outside(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + torch.compiler.is_compiling()

    def program(x: torch.Tensor) -> torch.Tensor:
        return outside(x + 1) + 1

    x = torch.randn(4)
    assert torch.equal(compiled(program)(x), program(x))
    assert graphs() == 2
