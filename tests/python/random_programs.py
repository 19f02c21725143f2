"""Random tensor programs for property tests: pointwise, reduction and view ops over random shapes,
strides and dtypes. A program is drawn as data, so that a failing one prints as a few readable
lines."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from hypothesis import strategies as st

FLOATS = (torch.float32, torch.bfloat16, torch.float64)
DTYPES = (
    torch.float32,
    torch.float32,
    torch.bfloat16,
    torch.float64,
    torch.int64,
    torch.int32,
    torch.bool,
)


@dataclasses.dataclass(frozen=True)
class Op:
    """`apply` takes `arity` tensors; `accepts` says which operands it makes sense for."""

    name: str
    arity: int
    apply: Callable[..., torch.Tensor]
    accepts: Callable[..., bool]


def _any(*_: torch.Tensor) -> bool:
    return True


def _floating(*xs: torch.Tensor) -> bool:
    return all(x.dtype.is_floating_point for x in xs)


def _numeric(*xs: torch.Tensor) -> bool:
    return all(x.dtype != torch.bool for x in xs)


def _integral(*xs: torch.Tensor) -> bool:
    return all(not x.dtype.is_floating_point for x in xs)


def _dims(n: int) -> Callable[[torch.Tensor], bool]:
    return lambda x: x.dim() >= n


def _both(*tests: Callable[..., bool]) -> Callable[..., bool]:
    return lambda *xs: all(test(*xs) for test in tests)


def _nonempty_last(x: torch.Tensor) -> bool:
    return x.dim() > 0 and x.shape[-1] > 0


UNARY = [
    Op("relu", 1, torch.relu, _numeric),
    Op("neg", 1, torch.neg, _numeric),
    Op("abs", 1, torch.abs, _numeric),
    Op("sigmoid", 1, torch.sigmoid, _any),
    Op("tanh", 1, torch.tanh, _any),
    Op("exp_neg_abs", 1, lambda x: torch.exp(-x.abs()), _floating),
    Op("gelu", 1, torch.nn.functional.gelu, _floating),
    Op("gelu_tanh", 1, lambda x: torch.nn.functional.gelu(x, approximate="tanh"), _floating),
    Op("silu", 1, torch.nn.functional.silu, _floating),
    Op("sin", 1, torch.sin, _any),
    Op("floor", 1, torch.floor, _numeric),
    Op("round", 1, torch.round, _numeric),
    Op("sign", 1, torch.sign, _any),
    Op("times_two_and_a_half", 1, lambda x: x * 2.5, _any),
    Op("plus_three", 1, lambda x: x + 3, _any),
    Op("clamp", 1, lambda x: x.clamp(-1, 2), _numeric),
    Op("square", 1, lambda x: x * x, _any),
    Op("logical_not", 1, torch.logical_not, _any),
    Op("isnan", 1, torch.isnan, _any),
    Op("to_f32", 1, lambda x: x.to(torch.float32), _any),
    Op("to_bf16", 1, lambda x: x.to(torch.bfloat16), _any),
    Op(
        "to_i64",
        1,
        lambda x: (
            x.clamp(-1e6, 1e6).to(torch.int64) if x.dtype.is_floating_point else x.to(torch.int64)
        ),
        _any,
    ),
    Op("to_bool", 1, lambda x: x.to(torch.bool), _any),
    Op("bitwise_not", 1, torch.bitwise_not, _integral),
]
BINARY = [
    Op("add", 2, torch.add, _any),
    Op("mul", 2, torch.mul, _any),
    Op("sub", 2, torch.sub, _numeric),
    Op("maximum", 2, torch.maximum, _any),
    Op("minimum", 2, torch.minimum, _any),
    Op("lt", 2, torch.lt, _any),
    Op("eq", 2, torch.eq, _any),
    Op("logical_and", 2, torch.logical_and, _any),
    Op("where_positive", 2, lambda x, y: torch.where(x > 0, x, y), _any),
    Op("div_shifted", 2, lambda x, y: x / (y.abs() + 1), _numeric),
    Op("bitwise_xor", 2, torch.bitwise_xor, _integral),
]
REDUCTIONS = [
    Op("sum_last", 1, lambda x: x.sum(-1), _dims(1)),
    Op("sum_last_keepdim", 1, lambda x: x.sum(-1, keepdim=True), _dims(1)),
    Op("sum_first", 1, lambda x: x.sum(0), _dims(1)),
    Op("sum_all", 1, lambda x: x.sum(), _any),
    Op("mean_last", 1, lambda x: x.mean(-1, keepdim=True), _both(_floating, _nonempty_last)),
    Op("mean_first", 1, lambda x: x.mean(0), _both(_floating, _dims(1), lambda x: x.shape[0] > 0)),
    Op("amax_last", 1, lambda x: x.amax(-1, keepdim=True), _nonempty_last),
    Op("amin_first", 1, lambda x: x.amin(0), _both(_dims(1), lambda x: x.shape[0] > 0)),
    Op("argmax_last", 1, lambda x: x.argmax(-1), _both(_numeric, _nonempty_last)),
    Op("any_last", 1, lambda x: x.any(-1), _dims(1)),
    Op("all", 1, lambda x: x.all(), _any),
    Op("softmax_last", 1, lambda x: x.softmax(-1), _both(_floating, _dims(1))),
    Op("log_softmax_first", 1, lambda x: x.log_softmax(0), _both(_floating, _dims(1))),
    Op(
        "var_last",
        1,
        lambda x: x.var(-1, correction=0, keepdim=True),
        _both(_floating, _nonempty_last),
    ),
    Op(
        "layer_norm",
        1,
        lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
        _both(_floating, _nonempty_last),
    ),
]
VIEWS = [
    Op("transpose", 1, lambda x: x.transpose(0, -1), _dims(2)),
    Op("unsqueeze", 1, lambda x: x.unsqueeze(0), lambda x: x.dim() < 4),
    Op("flatten", 1, lambda x: x.reshape(-1), _any),
    Op("split_last", 1, lambda x: x[..., : (x.shape[-1] + 1) // 2], _dims(1)),
    Op("every_second", 1, lambda x: x[..., ::2], _dims(1)),
    Op("select", 1, lambda x: x[..., -1], _nonempty_last),
    Op("expand", 1, lambda x: x.unsqueeze(0).expand(3, *x.shape), lambda x: x.dim() < 3),
    Op("flip", 1, lambda x: x.flip(-1), _dims(1)),
    Op("contiguous", 1, lambda x: x.contiguous(), _any),
    Op("cat_self", 1, lambda x: torch.cat([x, x], -1), _dims(1)),
    Op("pad", 1, lambda x: torch.nn.functional.pad(x, (1, 2)), _both(_dims(1), _numeric)),
    Op(
        "stack_self",
        1,
        lambda x: torch.stack([x, x * 2], 0),
        _both(_numeric, lambda x: x.dim() < 4),
    ),
]
OPS = UNARY + BINARY + REDUCTIONS + VIEWS


@dataclasses.dataclass(frozen=True)
class Step:
    op: Op
    operands: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Program:
    """Runs `steps` over its inputs; every value has a number, inputs first."""

    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    def __call__(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        values = list(inputs)
        for step in self.steps:
            values.append(step.op.apply(*(values[i] for i in step.operands)))
        return [values[i] for i in self.outputs]

    def __repr__(self) -> str:
        lines = [f"{s.op.name}{s.operands}" for s in self.steps]
        return f"Program({'; '.join(lines)} -> {self.outputs})"


@st.composite
def tensors(draw: Any) -> torch.Tensor:
    """A tensor of up to four dimensions: contiguous, permuted, sliced or expanded."""
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 17, 33]), max_size=3))
    layout = draw(st.sampled_from(["plain", "plain", "permuted", "sliced", "expanded"]))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**16)))
    base = list(shape)
    if layout == "permuted":
        base.reverse()
    elif layout == "sliced" and base:
        base[-1] = base[-1] * 2 + 1
    elif layout == "expanded" and base:
        base[0] = 1
    if dtype == torch.bool:
        x = torch.rand(base, generator=generator) > 0.5
    elif dtype.is_floating_point:
        x = (torch.randn(base, generator=generator) * 3).to(dtype)
    else:
        x = torch.randint(-9, 10, base, generator=generator, dtype=dtype)
    if layout == "permuted":
        x = x.permute(tuple(range(x.dim() - 1, -1, -1)))
    elif layout == "sliced" and base:
        x = x[..., 1::2]
    elif layout == "expanded" and base:
        x = x.expand(shape)
    return x


@st.composite
def programs(draw: Any, max_steps: int = 8) -> tuple[Program, list[torch.Tensor]]:
    """A program and inputs for which eager runs it."""
    inputs = draw(st.lists(tensors(), min_size=1, max_size=3))
    values = list(inputs)
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, max_steps))):
        op = draw(st.sampled_from(OPS))
        operands = tuple(draw(st.integers(0, len(values) - 1)) for _ in range(op.arity))
        chosen = [values[i] for i in operands]
        if not op.accepts(*chosen):
            continue
        try:
            result = op.apply(*chosen)
        except (RuntimeError, IndexError):
            continue
        if result.numel() > 50_000:
            continue
        steps.append(Step(op, operands))
        values.append(result)
    if not steps:
        steps.append(Step(BINARY[0], (0, 0)))
        values.append(values[0] + values[0])
    first = len(inputs)
    picked = draw(st.sets(st.integers(first, len(values) - 1), min_size=1, max_size=3))
    return Program(tuple(steps), tuple(sorted(picked | {len(values) - 1}))), inputs
