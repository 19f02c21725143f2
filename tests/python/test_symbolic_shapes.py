"""Shape rules under symbols: what one trace says of sizes and strides holds at other sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import triptych
from triptych import _C
from triptych.normalize import _identifier, compiling, default_decomposition

Function = Callable[[torch.Tensor], Any]

# Of x: [s0, s1, 16], both sizes symbolic.
ROWS: dict[str, Function] = {
    "add": lambda x: x + x.transpose(0, 1).transpose(0, 1),
    "broadcast": lambda x: x * x[:, :1],
    "compare": lambda x: x > x.mean(0, keepdim=True),
    "where": lambda x: torch.where(x > 0, x, 0.5),
    "transposed add": lambda x: x.transpose(1, 2) + 1,
    "exp of a permutation": lambda x: x.permute(2, 0, 1).exp(),
    "expanded": lambda x: x[:1].expand(x.shape[0], -1, -1).exp(),
    "sum": lambda x: x.sum(1),
    "mean keepdim": lambda x: x.mean((0, 2), keepdim=True),
    "max": lambda x: x.max(1)[0],
    "argmax": lambda x: x.argmax(2),
    "var": lambda x: x.var(-1),
    "cumsum": lambda x: x.cumsum(1),
    "softmax": lambda x: x.transpose(0, 1).softmax(-1),
    "layer norm": lambda x: F.layer_norm(x, (16,)),
    "view": lambda x: x.view(-1, 4, 4),
    "flatten": lambda x: x.flatten(0, 1),
    "merge": lambda x: x.reshape(x.shape[0] * x.shape[1], 16),
    "reshape copies": lambda x: x.transpose(0, 1).reshape(-1, 16),
    "split heads": lambda x: x.view(x.shape[0], x.shape[1], 4, 4).transpose(1, 2),
    "slice": lambda x: x[:, 1:],
    "slice from the end": lambda x: x[:, -1:],
    "slice with a step": lambda x: x[:, ::2],
    "slice of the last": lambda x: x[..., 2:10:3],
    "select": lambda x: x[:, 0],
    "squeeze": lambda x: x.unsqueeze(1).squeeze(1),
    "unfold": lambda x: x.unfold(2, 4, 2),
    "diagonal": lambda x: x.view(-1, 4, 4).diagonal(0, 1, 2),
    "chunk of the last": lambda x: x.chunk(2, -1)[1],
    "split of the last": lambda x: x.split([4, 12], -1)[1],
    "cat": lambda x: torch.cat([x, x], 1),
    "cat of different": lambda x: torch.cat([x, x[:, 1:]], 1),
    "stack": lambda x: torch.stack([x, x], 1),
    "pad": lambda x: F.pad(x, (1, 2, 0, 3)),
    "repeat": lambda x: x.repeat(2, 1, 1),
    "roll": lambda x: x.roll(1, 1),
    "flip": lambda x: x.flip(1),
    "zeros like": lambda x: torch.zeros_like(x.transpose(0, 1)),
    "new zeros": lambda x: x.new_zeros(x.shape[1], x.shape[0] + 2),
    "arange": lambda x: torch.arange(x.shape[1]),
    "arange with a step": lambda x: torch.arange(0, x.shape[1], 2),
    "arange from": lambda x: torch.arange(3, x.shape[0] + 7, 3),
    "full": lambda x: torch.full((x.shape[0], x.shape[1] * 2), 1.5),
    "eye": lambda x: torch.eye(x.shape[1]),
    "tril": lambda x: torch.ones(x.shape[1], x.shape[1]).tril(),
    "matmul": lambda x: x @ x.transpose(1, 2),
    "matmul of rows": lambda x: x @ torch.ones(16, 5),
    "matmul of apart rows": lambda x: x.transpose(0, 1) @ torch.ones(16, 5),
    "matmul of a matrix first": lambda x: torch.ones(5, 16) @ x.transpose(1, 2),
    "matmul with a vector": lambda x: x @ torch.ones(16),
    "matmul of a vector": lambda x: torch.ones(16) @ x.transpose(1, 2),
    "matmul with one of a batch": lambda x: x @ x[:1].transpose(1, 2),
    "matmul of one of a batch": lambda x: x[:1] @ x.transpose(1, 2),
    "matmul of many batches": lambda x: x.unsqueeze(1) @ x.transpose(1, 2).unsqueeze(0),
    "matmul of many with a vector": lambda x: x.transpose(0, 1).unsqueeze(1) @ torch.ones(16),
    "linear": lambda x: F.linear(x, torch.ones(8, 16), torch.ones(8)),
    "einsum": lambda x: torch.einsum("bsd,btd->bst", x, x),
    "attention": lambda x: F.scaled_dot_product_attention(*[x.unsqueeze(1)] * 3),
    "embedding": lambda x: F.embedding(x.long().clamp(0, 3), torch.ones(4, 5)),
    "index": lambda x: x[:, torch.tensor([0, 1, 1])],
    "index select": lambda x: x.index_select(2, torch.tensor([0, 3])),
    "gather": lambda x: x.gather(1, x.long().clamp(0, 0)),
    "sort": lambda x: x.sort(1)[0],
    "topk": lambda x: x.topk(1, 1)[1],
    "conv1d": lambda x: F.conv1d(x.transpose(1, 2), torch.ones(4, 16, 2)),
    "strided conv1d": lambda x: F.conv1d(x.transpose(1, 2), torch.ones(4, 16, 3), None, 2, 1),
    "glu": lambda x: F.glu(x),
    "mse": lambda x: F.mse_loss(x, x + 1, reduction="none"),
    "clone": lambda x: x.transpose(0, 1).clone(),
    "contiguous": lambda x: x.transpose(0, 1).contiguous(),
    "to": lambda x: x.transpose(1, 2).to(torch.bfloat16),
    "dropout": lambda x: F.dropout(x.transpose(0, 1), 0.5),
}
# Of x: [2, 4, s0, s1].
IMAGES: dict[str, Function] = {
    "conv2d": lambda x: F.conv2d(x, torch.ones(6, 4, 3, 3)),
    "strided conv2d": lambda x: F.conv2d(x, torch.ones(6, 4, 3, 3), None, 2, 1),
    "transposed conv2d": lambda x: F.conv_transpose2d(x, torch.ones(4, 6, 2, 2), None, 2),
    "max pool": lambda x: F.max_pool2d(x, 2),
    "max pool, ceiling": lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    "average pool": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "adaptive pool": lambda x: F.adaptive_avg_pool2d(x, 3),
    "group norm": lambda x: F.group_norm(x, 2),
    "batch norm": lambda x: F.batch_norm(x, torch.zeros(4), torch.ones(4)),
    "reflection": lambda x: F.pad(x, (1, 1, 2, 1), "reflect"),
    "pixel shuffle": lambda x: F.pixel_shuffle(x, 2),
    "patches": lambda x: F.unfold(x, 2, stride=2),
    "nearest by a factor": lambda x: F.interpolate(x, scale_factor=2.0),
    "nearest to a size": lambda x: F.interpolate(x, size=(x.shape[2] * 3, x.shape[3] + 1)),
    "exact nearest": lambda x: F.interpolate(x, scale_factor=3, mode="nearest-exact"),
    "bilinear by a factor": lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"),
    "bilinear to a size": lambda x: F.interpolate(
        x, (x.shape[2] + 2, 7), mode="bilinear", align_corners=True
    ),
    "bicubic": lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
    "antialiased": lambda x: F.interpolate(x, (5, x.shape[3]), mode="bilinear", antialias=True),
    "area": lambda x: F.interpolate(x, size=(x.shape[3], x.shape[2]), mode="area"),
}


def traced(function: Function, example: torch.Tensor, symbols: list[tuple[int, str]]):
    def program(x: torch.Tensor) -> list[Any]:
        return [function(x)]

    inputs = [("x", "user", example, symbols)]
    with torch.no_grad(), compiling():
        graph, _ = _C.trace(
            program, inputs, default_table=default_decomposition, caller_table=None, keep=set()
        )
    return graph


def at_sizes(expressions, values: dict[str, int]) -> list[int]:
    return [e if isinstance(e, int) else e.evaluate(values) for e in expressions]


def guards_hold(graph, values: dict[str, int]) -> bool:
    relations = {"==": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__}
    for guard in graph.guards:
        text = str(guard)
        relation = next(r for r in ("==", "!=", "<=", "<") if f" {r} " in text)
        left, right = at_sizes([guard.left, guard.right], values)
        if not relations[relation](left, right):
            return False
    return True


def check(function: Function, make, symbols, sizes: list[tuple[int, int]]) -> None:
    graph = traced(function, make(*sizes[0]), symbols)
    result = graph.outputs[0].value.type
    held = 0
    for s0, s1 in sizes:
        values = {symbols[0][1]: s0, symbols[1][1]: s1}
        if not guards_hold(graph, values):
            continue
        held += 1
        eager = function(make(s0, s1))
        assert at_sizes(result.sizes, values) == list(eager.shape), values
        if eager.numel() > 1:
            assert at_sizes(result.strides, values) == list(eager.stride()), values
    assert held > 1, [str(g) for g in graph.guards]


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str) -> None:
    sizes = [(4, 6), (5, 7), (3, 3), (7, 4), (2, 9)]
    check(ROWS[name], lambda a, b: torch.randn(a, b, 16), [(0, "s0"), (1, "s1")], sizes)


@pytest.mark.parametrize("name", IMAGES)
def test_images(name: str) -> None:
    sizes = [(8, 12), (9, 7), (11, 11), (6, 10)]
    check(IMAGES[name], lambda a, b: torch.randn(2, 4, a, b), [(2, "s0"), (3, "s1")], sizes)


def test_each_expression_has_a_name_of_its_own() -> None:
    """Names of symbols parse as names, and two sizes of different expressions stay apart."""
    expressions = ["s0", "s0 + s1", "s0 - s1", "s0*s1", "2*s0", "s0//2", "Max(s0, 4)", "(s0 + 1)*2"]
    names = [_identifier(expression) for expression in expressions]
    assert len(set(names)) == len(names)
    for name in names:
        assert str(_C.SymExpr.parse(f"{name} + 1")) == f"{name} + 1"


def test_symbol_that_is_one_number_is_a_number() -> None:
    """Dynamo finds that the inner size has to be 4, and keeps a symbol for it."""
    weight = torch.randn(4, 3)
    compiled = triptych.compile(lambda x: x @ weight)
    triptych.reset()
    with torch.no_grad():
        with pytest.raises(Exception, match="(?i)dim|shape|multipl"):
            compiled(torch.randn(2, 5))
        for rows in (3, 6, 7):
            x = torch.randn(rows, 4)
            torch.testing.assert_close(compiled(x), x @ weight)
