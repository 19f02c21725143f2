"""For all tests: bugs of the compiler are raised, and every text form round-trips.

`parse(print(x)) == x` is asserted for every graph, loop program (lowered, fused, mapped), kernel
and program that any test makes; each is verified on the way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import torch

os.environ.setdefault("TRIPTYCH_STRICT", "1")

import triptych  # noqa: E402
from triptych import _C  # noqa: E402


def check_round_trip(form: Any, parse: Any) -> None:
    text = str(form)
    again = parse(text)
    assert again == form, f"parses to something else:\n{text}"
    assert str(again) == text, f"prints differently once parsed:\n{text}"


def check_graph(graph: _C.Graph) -> None:
    check_round_trip(graph, partial(_C.Graph.parse, constants=graph.constants))


def check_generated(
    graph: _C.Graph, code: _C.GeneratedCode, target: _C.Target, options: _C.CodegenOptions
) -> None:
    for name in ("lowered", "fused", "mapped"):
        loops = _C.intermediate_form(graph, name, target, options)
        constants = loops.constants
        assert loops.verify() == []
        check_round_trip(loops, partial(_C.LoopProgram.parse, constants=constants))
    assert code.program.verify() == []
    constants = code.program.constants
    check_round_trip(code.program, partial(_C.Plan.parse, constants=constants))
    for kernel in code.program.kernels:
        check_round_trip(kernel, _C.parse_kernel)


@pytest.fixture
def inference() -> Iterator[None]:
    """Nothing compiled yet, one seed, no gradients; modules ask for it for all of their tests."""
    triptych.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield


@pytest.fixture(autouse=True, scope="session")
def texts_round_trip() -> Any:
    trace, generate = _C.trace, _C.generate

    def checked_trace(*args: Any, **kwargs: Any) -> Any:
        graph, report = trace(*args, **kwargs)
        check_graph(graph)
        return graph, report

    def checked_generate(graph: Any, target: Any, options: Any) -> Any:
        code = generate(graph, target, options)
        check_generated(graph, code, target, options)
        return code

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_C, "trace", checked_trace)
        patch.setattr(_C, "generate", checked_generate)
        yield
