"""Random programs, compiled and eager, agree: values, dtypes, shapes and strides."""

from __future__ import annotations

import hypothesis
import pytest
import torch
from hypothesis import HealthCheck, given, settings

import triptych
from numerics import check_equal, widen
from random_programs import Program, programs


def _compare(program: Program, inputs: list[torch.Tensor], writer: str) -> None:
    with torch.no_grad():
        expected = program(*inputs)
        graph = triptych.normalize(program, inputs)
        compiled = triptych.generate(graph, writer=writer)
        actual = compiled(*inputs)
    actual_list = list(actual) if isinstance(actual, (list, tuple)) else [actual]
    check_equal(actual_list, expected, lambda: program(*widen(inputs)), label=repr(program))


@settings(
    max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
@given(programs())
def test_llvm(case: tuple[Program, list[torch.Tensor]]) -> None:
    _compare(*case, writer="llvm")


@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[hypothesis.Phase.generate],
)
@given(programs(max_steps=5))
def test_cpp(case: tuple[Program, list[torch.Tensor]]) -> None:
    _compare(*case, writer="cpp")


@pytest.mark.parametrize("seed", range(3))
def test_generator_draws_runnable_programs(seed: int) -> None:
    """The generator itself: every drawn program runs in eager and has at least one step."""

    @settings(
        max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @hypothesis.seed(seed)
    @given(programs())
    def check(case: tuple[Program, list[torch.Tensor]]) -> None:
        program, inputs = case
        assert program.steps
        program(*inputs)

    check()
