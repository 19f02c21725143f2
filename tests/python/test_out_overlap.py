"""`out=` into memory that overlaps: eager's answer or eager's error, never another answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import triptych

X = torch.arange(12.0).reshape(3, 4)
Function = Callable[[torch.Tensor], Any]


def outcome(function: Function) -> tuple[Any, torch.Tensor]:
    x = X.clone()
    with torch.no_grad():
        try:
            return function(x), x
        except Exception as error:
            return error, x


@pytest.mark.parametrize(
    ("function", "compiled"),
    [
        (lambda x: torch.add(x[:2], 1, out=x[1:]), False),
        (lambda x: torch.maximum(x[:2], x[1:], out=x[:2]), False),
        (lambda x: torch.add(x, 1, out=x), True),
        (lambda x: torch.add(x[:1], 1, out=x[1:2]), True),
        (lambda x: torch.add(x, x, out=torch.empty(3, 4)), True),
    ],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_as_eager(function: Function, compiled: bool, dynamic: bool) -> None:
    triptych.reset()
    expected, x = outcome(function)
    got, y = outcome(triptych.compile(function, dynamic=dynamic))
    assert torch.equal(x, y)
    if isinstance(expected, Exception):
        assert isinstance(got, type(expected)) and str(expected) in str(got)
    else:
        torch.testing.assert_close(got, expected)
    code = "fallback.normalize.overlapping_write"
    assert (code not in triptych.counters()) == compiled
