"""Exceptions raised, caught and changed in compiled functions: as in eager, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import triptych

X = torch.arange(1.0, 3.0)
Program = Callable[[torch.Tensor, BaseException], Any]


pytestmark = pytest.mark.usefixtures("nothing_compiled")


class Failure(Exception):
    def __init__(self, text: str, number: int):
        super().__init__(text)
        self.number = number
        self.add_note(f"note {number}")


class OfValue(ValueError):
    def __init__(self, number: int):
        ValueError.__init__(self, number + 1)
        self.number = number


def adds_note(x: torch.Tensor, given: BaseException) -> Any:
    y = x + 1
    given.add_note("seen")
    return y


def catches(x: torch.Tensor, given: BaseException) -> Any:
    y = x + 1
    try:
        raise given
    except Failure as caught:
        caught.add_note("caught")
    return y * 2


def raises_again(x: torch.Tensor, given: BaseException) -> Any:
    y = x + 1
    try:
        raise given
    except Failure as caught:
        caught.add_note(f"caught {y.shape[0]}")
        raise


def raises_other(x: torch.Tensor, given: BaseException) -> Any:
    raise Failure("other", x.shape[0]) from given


def raises_in_handler(x: torch.Tensor, given: BaseException) -> Any:
    try:
        raise OfValue(3)
    except ValueError as caught:
        caught.add_note("first")
        raise Failure("other", caught.number) from None


def made_and_caught(x: torch.Tensor, given: BaseException) -> Any:
    try:
        raise OfValue(3)
    except ValueError as caught:
        return x + caught.args[0] + caught.number


def initializes(x: torch.Tensor, given: BaseException) -> Any:
    given.__init__("again", 5)  # type: ignore[misc]
    return x + 1


def sets_attribute(x: torch.Tensor, given: Any) -> Any:
    given.number = given.number + 1
    return x + given.number


def sets_arguments(x: torch.Tensor, given: Any) -> Any:
    given.args = ("other",)
    return x + 1


def strips_traceback(x: torch.Tensor, given: BaseException) -> Any:
    y = x + 1
    try:
        raise given.with_traceback(None)
    except Failure:
        print(end="")
    return y


def failing_operation(x: torch.Tensor, given: BaseException) -> Any:
    try:
        return x.reshape(7)
    except RuntimeError as error:
        error.add_note("of a reshape")
        raise


PROGRAMS = [value for value in globals().values() if getattr(value, "__module__", 0) == __name__]
PROGRAMS = [value for value in PROGRAMS if not isinstance(value, type)]


def described(error: BaseException | None, depth: int = 2) -> Any:
    if error is None or depth == 0:
        return None
    lines = []
    traceback = error.__traceback__
    while traceback is not None:
        lines.append((traceback.tb_frame.f_code.co_name, traceback.tb_lineno))
        traceback = traceback.tb_next
    context = [described(error.__cause__, depth - 1), described(error.__context__, depth - 1)]
    ours = [line for line in lines if line[0] != "outcome"]
    return type(error), error.args, dict(vars(error)), ours, context, error.__suppress_context__


def outcome(function: Program) -> Any:
    given = Failure("given", 1)
    result, raised = None, None
    try:
        result = function(X, given)
    except Exception as error:
        raised = error
    return result, described(raised), described(given)


@pytest.mark.parametrize("function", PROGRAMS, ids=[value.__name__ for value in PROGRAMS])
@torch.no_grad()
def test_as_eager(function: Program) -> None:
    wanted = outcome(function)
    run = triptych.compile(function, options={"capture": "triptych"})
    for _ in range(3):
        found = outcome(run)
        torch.testing.assert_close(found[0], wanted[0])
        assert found[1:] == wanted[1:]
