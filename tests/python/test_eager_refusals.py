"""What eager refuses for a dtype or a number is refused in the same words, while tracing or at the
call; what eager accepts is accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import triptych

Function = Callable[..., Any]
MASK = torch.tensor([True, False, True, True])
BYTES = torch.tensor([0, 1, 3, 4], dtype=torch.uint8)
INTS = torch.tensor([0, 1, 3, -2])
HALVES = torch.tensor([0.0, 1, 3, -2]).half()
FLOATS = torch.tensor([0.0, 1, 3, -2])


def program(function: Function, *args: torch.Tensor) -> Any:
    with torch.no_grad():
        return triptych.generate(triptych.normalize(function, args))(*args)[0]


def check_refused(function: Function, *args: torch.Tensor) -> None:
    with pytest.raises(Exception) as eager:
        function(*args)
    with pytest.raises(type(eager.value)) as ours:
        program(function, *args)
    assert str(eager.value).splitlines()[0] in str(ours.value)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (torch.relu, MASK),
        (torch.abs, MASK),
        (torch.floor, MASK),
        (torch.argmax, MASK),
        (torch.selu, MASK),
        (F.hardtanh, MASK),
        (F.glu, MASK),
        (torch.trace, MASK.reshape(2, 2)),
        (lambda x: x.clone().sqrt_(), INTS),
        (lambda x: x.clone().add_(1.5), INTS),
        (torch.frac, INTS),
        (torch.var, INTS),
        (F.leaky_relu, INTS),
        (F.silu, INTS),
        (F.softplus, INTS),
        (lambda x: torch.softmax(x, 0), INTS),
        (lambda x: torch.log_softmax(x, 0), BYTES),
        (lambda x: F.layer_norm(x, (4,)), INTS),
        (lambda x: F.batch_norm(x[:, None], None, None, training=True), INTS),
        (lambda x: F.group_norm(x[None], 1), INTS),
        (lambda x: F.mse_loss(x, x), INTS),
        (lambda x: F.cross_entropy(x[None], x[:1]), INTS),
        (lambda x: torch.arange(3, dtype=x.dtype), MASK),
        (lambda x: torch.heaviside(x, x.double()), FLOATS),
        (lambda x: torch.lerp(x, x.double(), 0.5), FLOATS),
        (lambda x: F.layer_norm(x, (4,), x.double()), FLOATS),
    ],
)
def test_dtypes(function: Function, x: torch.Tensor) -> None:
    check_refused(function, x)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda x: x.clamp(min=1000), INTS.to(torch.int8)),
        (lambda x: x.clamp(max=70000.0), HALVES),
        (lambda x: x.clone().clamp_(max=300), BYTES),
        (lambda x: F.hardtanh(x, -1, 1), BYTES),
        (lambda x: F.threshold(x, 0, 300), BYTES),
        (lambda x: x.masked_fill(x > 0, 300), BYTES),
        (lambda x: torch.full_like(x, 1e6), HALVES),
        (lambda x: x.new_full((2,), 300), BYTES),
        (lambda x: F.pad(x, (1, 1), value=-1), BYTES),
        (lambda x: torch.add(x, x, alpha=300), BYTES),
        (lambda x: x**300, BYTES),
        (lambda x: torch.where(x > 0, x, 300), BYTES),
    ],
)
def test_numbers_that_overflow(function: Function, x: torch.Tensor) -> None:
    check_refused(function, x)


def test_step_that_is_zero_as_an_integer() -> None:
    """Eager divides by it in torch 2.11, which ends the process: its words are written here. Torch
    2.14 counts in floats."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.arange(0, 3, 0.5, dtype=x.dtype)

    if torch.__version__ >= torch.torch_version.TorchVersion("2.14"):
        assert torch.equal(program(function, INTS), function(INTS))
        return
    with pytest.raises(ValueError, match="^step must be nonzero$"):
        program(function, INTS)


@pytest.mark.parametrize(
    "pairs",
    [
        lambda x: x.view(2, 6).t(),
        lambda x: x.view(4, 3)[:, :2],
        lambda x: x[1:11].view(5, 2),
        lambda x: x.view(4, 3),
    ],
)
def test_pairs_that_do_not_lie_as_complex_numbers(pairs: Function) -> None:
    check_refused(lambda x: torch.view_as_complex(pairs(x)) * 2, torch.arange(12.0))
    check_refused(torch.view_as_complex, pairs(torch.arange(12.0)))


def test_symbolic_numbers_that_overflow() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.clamp(max=x.shape[0])

    x = torch.zeros(300, dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="without overflow"):
        function(x)
    compiled = triptych.compile(function, dynamic=True)
    with torch.no_grad(), pytest.raises(RuntimeError, match="without overflow"):
        compiled(x)


def test_values_that_eager_checks() -> None:
    check_refused(lambda x: F.binary_cross_entropy(x, torch.ones_like(x)), FLOATS)
    rows, bad = torch.rand(2, 5), torch.tensor([1, 6])
    check_refused(F.nll_loss, rows, bad)
    check_refused(F.cross_entropy, rows, bad)
    check_refused(F.nll_loss, torch.rand(2, 5, 3, 3), torch.full((2, 3, 3), 6))


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x: x // 300, (BYTES,)),
        (lambda x: x + 1000, (BYTES,)),
        (lambda x: torch.add(x, x, alpha=-1), (MASK,)),
        (lambda x, y: torch.addcmul(x, y, y), (FLOATS.double(), BYTES * 50)),
        (lambda x: torch.addcmul(x, x, x, value=1.5), (INTS,)),
        (F.mse_loss, (FLOATS, MASK)),
        (F.huber_loss, (FLOATS, FLOATS.double())),
        (F.smooth_l1_loss, (FLOATS, MASK)),
        (F.binary_cross_entropy_with_logits, (FLOATS.double(), FLOATS.half())),
        (lambda x: F.softshrink(x, True), (FLOATS,)),
        (lambda x: torch.arange(0, 1000, 1000 / 3, dtype=x.dtype), (INTS,)),
        (lambda x: F.elu(x * 0, -1.7), (FLOATS,)),
        (lambda x: torch.cosine_similarity(x, x.half(), 0), (INTS,)),
        (torch.digamma, (torch.tensor([-1e-30, -1e-8, 1e-30, -0.5]),)),
        (F.binary_cross_entropy, (torch.tensor([0.0, 1, 0.5]), torch.ones(3))),
        (lambda x, y: F.nll_loss(x, y, reduction="none"), (FLOATS[None], torch.tensor([3]))),
    ],
)
def test_accepted_as_in_eager(function: Function, args: tuple[torch.Tensor, ...]) -> None:
    with torch.no_grad():
        expected = function(*args)
    got = program(function, *args)
    torch.testing.assert_close(got, expected)
    assert torch.equal(got.signbit(), expected.signbit())


def test_trials_leave_no_trace() -> None:
    """Asking eager draws no random numbers, records no nodes, and is done once per program text."""
    state = torch.get_rng_state()
    graphs = [triptych.normalize(lambda x: x.clamp(0, 1), (FLOATS,)) for _ in range(2)]
    assert torch.equal(torch.get_rng_state(), state)
    assert [node.target for node in graphs[0].nodes] == ["aten.clamp.default"]
    assert str(graphs[0]) == str(graphs[1])


@pytest.mark.parametrize("size", [0, 5, 100])
def test_out_that_resizes_an_input_is_not_compiled(size: int) -> None:
    def function(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return torch.add(x, x, out=out)

    with pytest.raises(triptych.errors.UnsupportedError, match="resized by out="):
        triptych.normalize(function, (FLOATS, torch.empty(size)))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.slice_scatter(x, torch.ones(3, 4), 0, 0, 2),
        lambda x: torch.select_scatter(x, torch.ones(3), 0, 0),
        lambda x: torch.diagonal_scatter(x, torch.ones(3)),
        lambda x: torch.as_strided_scatter(x, torch.ones(3), (2,), (1,)),
    ],
)
def test_scatter_of_another_size(function: Function) -> None:
    check_refused(function, torch.zeros(5, 4))


TABLE = torch.ones(3, 2)
PLACES = torch.tensor([0, 50])


def unused(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    x[i]
    return x + 1


@pytest.mark.parametrize(
    "function",
    [
        unused,
        lambda x, i: (F.embedding(i, x), x + 1)[1],
        lambda x, i: (i // torch.zeros_like(i), x + 1)[1],
        lambda x, i: (x.gather(0, i[None]), x + 1)[1],
        lambda x, i: (F.cross_entropy(x[:2], i), x + 1)[1],
        lambda x, i: x[i][:1] + 1,
        lambda x, i: F.embedding(i, x)[0] * 2,
        lambda x, i: torch.cat([x[i][:1], x]),
        lambda x, i: (i // torch.tensor([1, 0]))[:1] + 1,
        lambda x, i: x[i][:, :0].sum(),
    ],
)
def test_numbers_are_refused_though_nobody_reads_the_result(function: Function) -> None:
    """All of the result or a part of it."""
    with pytest.raises((IndexError, RuntimeError)) as eager:
        function(TABLE, PLACES)
    with pytest.raises(type(eager.value)) as ours:
        program(function, TABLE, PLACES)
    assert str(ours.value) == str(eager.value)


def test_a_handler_of_an_unused_result_runs() -> None:
    def function(x: torch.Tensor, i: torch.Tensor) -> Any:
        try:
            x[i]
        except IndexError:
            return "handled"
        return x + 1

    assert triptych.compile(function)(TABLE, PLACES) == "handled"
