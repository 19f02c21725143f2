"""Lambdas and inner functions that are made anew for each call: they are what their code, closure
and defaults are, unless it matters which object they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import triptych

X = torch.arange(1.0, 4.0)
Function = Callable[..., Any]


pytestmark = pytest.mark.usefixtures("nothing_compiled")


def compiled(function: Function) -> Any:
    return triptych.compile(function, options={"capture": "triptych"})


def scaled_by(factor: Any) -> Function:
    return lambda x: x * factor


def with_default(factor: Any) -> Function:
    def inner(x: Any, by: Any = factor) -> Any:
        return x * by

    return inner


def with_keyword_default(factor: Any) -> Function:
    def inner(x: Any, *, by: Any = factor) -> Any:
        return x * by

    return inner


def with_attribute(factor: Any) -> Function:
    def inner(x: Any) -> Any:
        return x * getattr(inner, "factor", 1)

    if factor > 2:
        inner.factor = factor  # type: ignore[attr-defined]
    return inner


def applied(function: Function, x: torch.Tensor) -> Any:
    return function(x) + 1


@pytest.mark.parametrize("make", [scaled_by, with_default, with_keyword_default, with_attribute])
@torch.no_grad()
def test_passed_in(make: Function) -> None:
    run = compiled(applied)
    for factor in (2, 2, 2, 3.5, 3.5, 2):
        torch.testing.assert_close(run(make(factor), X), applied(make(factor), X))
    tensor = torch.full((3,), 7.0)
    if make is scaled_by:
        torch.testing.assert_close(run(make(tensor), X), X * tensor + 1)
        assert triptych.counters()["captures"] == 3


def across_breaks(x: torch.Tensor) -> Any:
    factor = x.shape[0]

    def inner(y: torch.Tensor) -> torch.Tensor:
        return y * factor

    triptych.graph_break()
    y = inner(x)
    triptych.graph_break()
    return inner(y) + 1


@torch.no_grad()
def test_alive_at_a_break() -> None:
    run = compiled(across_breaks)
    for _ in range(12):
        torch.testing.assert_close(run(X), across_breaks(X))
    assert triptych.counters()["captures"] == 2
    assert "recompiles" not in triptych.counters()


def compares(f: Function, g: Function, x: torch.Tensor) -> Any:
    return f(x) if f is g else g(x) + 1


def compares_equal(f: Function, g: Function, x: torch.Tensor) -> Any:
    return f(x) if f == g else g(x) + 1


def finds(f: Function, g: Function, x: torch.Tensor) -> Any:
    return x * 2 if g in [f] else x


def counts(f: Function, g: Function, x: torch.Tensor) -> Any:
    return x * len({f, g})


def numbered(f: Function, g: Function, x: torch.Tensor) -> Any:
    return x * 2 if id(f) == id(g) else x


@pytest.mark.parametrize("function", [compares, compares_equal, finds, counts, numbered])
@torch.no_grad()
def test_which_one_it_is(function: Function) -> None:
    run = compiled(function)
    for _ in range(3):
        one = scaled_by(2)
        torch.testing.assert_close(run(one, one, X), function(one, one, X))
        other = scaled_by(2)
        torch.testing.assert_close(run(one, other, X), function(one, other, X))
    run = compiled(function)  # the other way about
    for _ in range(3):
        one, other = scaled_by(2), scaled_by(2)
        torch.testing.assert_close(run(one, other, X), function(one, other, X))
        torch.testing.assert_close(run(one, one, X), function(one, one, X))


def looks_up(table: dict[Any, int], f: Function, x: torch.Tensor) -> Any:
    return x * table.get(f, 1)


def writes_by(table: dict[Any, int], f: Function, x: torch.Tensor) -> Any:
    table[f] = 5
    return x * len(table)


def is_named(table: dict[Any, int], f: Function, x: torch.Tensor) -> Any:
    return x * len(f.__name__)


@pytest.mark.parametrize("function", [looks_up, writes_by, is_named])
@torch.no_grad()
def test_as_a_key(function: Function) -> None:
    run = compiled(function)
    for factor in (2, 3, 4):
        one, other = scaled_by(factor), scaled_by(factor)
        other.__name__ = "another"
        for f in (one, other, one):
            for_eager, for_compiled = {one: factor}, {one: factor}
            wanted = function(for_eager, f, X)
            torch.testing.assert_close(run(for_compiled, f, X), wanted)
            assert for_compiled == for_eager
