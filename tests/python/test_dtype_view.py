"""Results that show memory as another dtype; lazy bits and changes of memory, which are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import triptych
from numerics import check_equal

pytestmark = pytest.mark.usefixtures("inference")


def real(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def unreal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.complex64)


def fresh_and_views(x: torch.Tensor) -> Any:
    y = x + 1
    return y.view(torch.int32), y, y.view(torch.int16)[:, 2:], y.view(torch.float64)


def only_views(x: torch.Tensor) -> Any:
    y = x + 1
    return y.view(torch.int32), y[1].view(torch.uint8)


def written_through(x: torch.Tensor) -> Any:
    x.view(torch.int32).add_(1)
    return x.view(torch.int16)


PROGRAMS: dict[str, tuple[Callable[[torch.Tensor], Any], torch.Tensor]] = {
    "integers of an input": (lambda x: x.view(torch.int32), real(3, 4)),
    "bytes of a part": (lambda x: x[1:].view(torch.uint8), real(3, 4)),
    "wider elements": (lambda x: x.view(torch.float64), real(3, 4)),
    "of a result": (lambda x: (x + 1).view(torch.int16), real(3, 4)),
    "several of a result": (fresh_and_views, real(3, 4)),
    "no base": (only_views, real(3, 4)),
    "written through": (written_through, real(3, 4)),
    "real and imaginary": (lambda x: (x.real, x.imag, torch.view_as_real(x)), unreal(3)),
    "of a complex result": (lambda x: ((x * 2).imag, torch.view_as_real(x * 3)), unreal(3)),
    "complex of real": (torch.view_as_complex, real(3, 2)),
    "complex written": (lambda x: torch.view_as_real(x).add_(1), unreal(3)),
}


@pytest.mark.parametrize("runner", ["program", "graph", "compile"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_eager(name: str, runner: str) -> None:
    function, example = PROGRAMS[name]
    given, expected_input = example.clone(), example.clone()
    if runner == "compile":
        run: Any = triptych.compile(function)
        run(example.clone())
    else:
        graph = triptych.normalize(function, example)
        run = graph.run if runner == "graph" else triptych.generate(graph)
    flat = lambda r: list(r) if isinstance(r, (list, tuple)) else [r]  # noqa: E731
    got, expected = flat(run(given)), flat(function(expected_input))
    check_equal(got, expected)
    check_equal(given, expected_input)
    for result, wanted in zip(got, expected, strict=True):
        shared = wanted.untyped_storage().data_ptr() == expected_input.untyped_storage().data_ptr()
        assert (result.untyped_storage().data_ptr() == given.untyped_storage().data_ptr()) == shared
        assert result.storage_offset() == wanted.storage_offset()


def test_an_input_at_another_offset() -> None:
    memory = real(9)
    run = triptych.generate(triptych.normalize(lambda x: x[2:].view(torch.float64), memory[:8]))
    check_equal(run(memory[:8])[0], memory[2:8].view(torch.float64))
    with pytest.raises(RuntimeError, match="must be divisible by 2"):
        run(memory[1:9])


REFUSED: dict[str, tuple[Callable[[torch.Tensor], Any], torch.Tensor, str]] = {
    "conjugate of an input": (lambda x: x.conj(), unreal(3), "normalize.lazy_bit"),
    "conjugate and its base": (lambda x: (x * 2, (x * 2).conj())[::-1], unreal(3), ""),
    "conjugate of a result too": (
        lambda x: (lambda y: (y, y.conj()))(x * 2), unreal(3), "normalize.lazy_bit",
    ),
    "negative of an input": (lambda x: torch._neg_view(x), real(3), "normalize.lazy_bit"),
    "lazy conjugate given": (lambda x: x * 2, unreal(3).conj(), "normalize.lazy_bit"),
    "lazy negative given": (lambda x: x * 2, torch._neg_view(real(3)), "normalize.lazy_bit"),
    "written conjugate": (lambda x: x.conj().mul_(2j).real, unreal(3), "normalize.lazy_bit"),
    "other memory": (lambda x: x.set_(torch.ones(3)), real(3), "normalize.set_"),
    "another size": (lambda x: x.resize_(2), real(3), "normalize.mutation"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_counted_fallbacks_with_a_reason(name: str) -> None:
    function, example, code = REFUSED[name]
    if code:
        with pytest.raises(triptych.errors.UnsupportedError) as error:
            triptych.normalize(function, example)
        assert error.value.code == code
    given, expected_input = example.clone(), example.clone()
    check_equal(triptych.compile(function)(given), function(expected_input))
    check_equal(given, expected_input)
