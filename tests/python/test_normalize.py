"""Stage 2: the graph of a program does what the program does, and says so correctly."""

from __future__ import annotations

import itertools
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from graph_interpreter import GuardFailed, Interpreter
from torch.utils._pytree import tree_leaves
from view_programs import PROGRAMS

import triptych
from triptych.normalize import normalize_with_report


@pytest.fixture(autouse=True)
def inference():
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def leaves(value: Any) -> list[Any]:
    return tree_leaves(value, is_leaf=lambda x: x is None)


def same(got: Any, expected: Any, *, strides: bool = True) -> None:
    if not isinstance(expected, torch.Tensor):
        assert got == expected and type(got) is type(expected)
        return
    torch.testing.assert_close(got, expected, equal_nan=True)
    if strides:
        assert got.stride() == expected.stride()


def memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def aliasing(results: list[Any], inputs: list[torch.Tensor]) -> list[Any]:
    """Which results are which objects and share whose memory."""
    tensors = [t for t in [*inputs, *results] if isinstance(t, torch.Tensor)]
    objects = [[a is b for b in tensors] for a in tensors]
    memories = [[a.numel() > 0 and memory(a) == memory(b) for b in tensors] for a in tensors]
    return [objects, memories]


def check(program: Any, *inputs: torch.Tensor, **options: Any) -> triptych.Graph:
    """Normalizes, runs by ATen, compares results, strides, aliasing, changed inputs with eager."""
    graph = triptych.normalize(program, inputs, **options)
    assert graph.verify() == []
    assert triptych.Graph.parse(str(graph), graph.constants) == graph
    ours = [t.clone() if isinstance(t, torch.Tensor) else t for t in inputs]
    theirs = [t.clone() if isinstance(t, torch.Tensor) else t for t in inputs]
    for copies in (ours, theirs):
        for copy, original in zip(copies, inputs, strict=True):
            assert copy.stride() == original.stride()
    state = []
    if isinstance(program, torch.nn.Module):
        state = [*program.parameters(), *program.buffers()]
    torch.manual_seed(7)
    got = Interpreter(graph).run(*ours, *[t.clone() for t in state])
    torch.manual_seed(7)
    expected = leaves(program(*theirs))
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        same(a, b)
    for a, b in zip(ours, theirs, strict=True):
        same(a, b)
    assert aliasing(got, ours) == aliasing(expected, theirs)
    return graph


def names(graph: triptych.Graph) -> list[str]:
    return [node.target.removeprefix("aten.") for node in graph.nodes]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_views_and_in_place(program):
    graph = check(program, torch.randn(4, 4), torch.randn(4))
    assert not any(name.split(".")[0].endswith("_") for name in names(graph))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_views_and_in_place_on_strided_inputs(program):
    x = torch.randn(4, 4).t()
    try:
        program(x.clone(), torch.randn(4))
    except RuntimeError as error:  # a view that these strides do not allow: the same error
        with pytest.raises(RuntimeError, match=str(error)[:40].replace("(", r"\(")):
            triptych.normalize(program, (x.clone(), torch.randn(4)))
        return
    check(program, x, torch.randn(4))


def test_mlp_is_core_aten():
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4), torch.nn.Softmax(-1)
    ).eval()
    graph = check(model, torch.randn(3, 8))
    assert names(graph) == [
        "permute.default", "addmm.default", "gelu.default", "permute.default", "addmm.default",
        "_softmax.default",
    ]  # fmt: skip
    assert [i.kind for i in graph.inputs] == ["user"] + ["parameter"] * 4
    assert graph.inputs[1].name == "0.weight"


def test_batch_norm_in_training_updates_its_buffers():
    model = torch.nn.BatchNorm2d(3).train()
    x = torch.randn(2, 3, 4, 4)
    graph = triptych.normalize(model, (x,))
    kinds = {graph.inputs[m.input].name: m.kind for m in graph.mutations}
    assert kinds == dict.fromkeys(("running_mean", "running_var", "num_batches_tracked"), "data")
    state = {n: t.clone() for n, t in [*model.named_parameters(), *model.named_buffers()]}
    (got,) = Interpreter(graph).run(x, *[state[i.name] for i in graph.inputs[1:]])
    same(got, model(x))
    for name, buffer in model.named_buffers():
        same(state[name], buffer)


DTYPES = [
    torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int8, torch.uint8, torch.bool,
    torch.complex64,
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_promotion(dtype):
    x = torch.randint(0, 5, (3, 4)).to(dtype)

    def program(x):
        y = x + 1
        return (
            y * 2.5,
            y / 2,
            y.to(torch.float32),
            x == x,
            torch.where(x == x, y, 0),
            y.sum(),
            x * x[0, 0],
        )

    check(program, x)


def test_scalars_and_empty_tensors():
    def program(x, s, e):
        return (
            x * s + 2,
            s.exp(),
            e.sum(),
            e + 1,
            torch.cat([e, x[:0]]),
            s.reshape(1, 1) @ s.view(1, 1),
        )

    check(program, torch.randn(3, 4), torch.tensor(1.5), torch.empty(0, 4))


def test_double_scalar_does_not_promote():
    check(
        lambda x, s: (x * s, s * x, s + 1), torch.randn(3), torch.tensor(2.0, dtype=torch.float64)
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype):
    def program(x, w):
        with torch.autocast("cpu", dtype=dtype):
            y = x @ w
            return y, F.softmax(y, -1), F.linear(x, w.t())

    graph = check(program, torch.randn(4, 8), torch.randn(8, 3))
    assert "_to_copy.default" in names(graph)


def test_channels_last_is_kept():
    x = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    check(lambda x: (x + 1, x.relu().mean(1), x * torch.ones(5), x.clone(), x.contiguous()), x)


def test_random_ops_keep_their_order_and_stream():
    def program(x):
        a = torch.rand(3)
        b = F.dropout(x, 0.5, True)
        torch.randn(2)  # nobody reads it: it moves the generator all the same
        c = torch.randint(0, 9, (4,))
        d = x.clone().uniform_()
        return a, b, c, d, torch.randperm(5), torch.bernoulli(x.sigmoid()), torch.rand_like(x)

    check(program, torch.randn(3, 4))


def test_factories_follow_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        graph = triptych.normalize(
            lambda x: (torch.zeros(3), x + torch.full((2,), 0.5)), torch.randn(2)
        )
    finally:
        torch.set_default_dtype(torch.float32)
    outputs = Interpreter(graph).run(torch.randn(2, dtype=torch.float64))
    assert [t.dtype for t in outputs] == [torch.float64] * 2


def test_constants_are_lifted():
    table = torch.arange(6.0).view(2, 3)
    graph = check(lambda x: x + table + torch.tensor([1.0, 2.0, 3.0]), torch.randn(2, 3))
    assert len(graph.constants) == 2


def test_item_of_a_literal_is_known():
    check(lambda x: x * torch.tensor(2.5).item() + int(torch.tensor(3)), torch.randn(3))


def test_inference_mode_inside():
    def program(x):
        with torch.inference_mode():
            y = x * 2
        return (y + 1).detach()

    graph = triptych.normalize(program, torch.randn(3))
    x = torch.randn(3)
    same(Interpreter(graph).run(x)[0], x * 2 + 1)


@pytest.mark.parametrize("symbols", [{(0, 0): "b"}, {(0, 0): "b", (0, 1): "s"}])
@pytest.mark.parametrize("layout", ["rows", "transposed"])
def test_symbolic_sizes(symbols, layout):
    def program(x, w):
        h = x @ w
        y = F.layer_norm(h, (h.shape[-1],)).view(x.shape[0], -1)
        a, b = torch.cat([h, h * x.size(1)], 1).chunk(2, 1)
        z = x.new_zeros(x.shape[0], 3)
        z[:, 1] += 1
        return (
            y,
            a,
            b.transpose(0, 1),
            z,
            x[1:, ::2].sum(0),
            h.softmax(0),
            x.mean(1, keepdim=True),
            x.shape[0] * 2,
        )

    def make(b, s):
        x = torch.randn(b, s, 6)
        return x if layout == "rows" else torch.randn(s, b, 6).transpose(0, 1)

    graph, report = normalize_with_report(program, (make(4, 8), torch.randn(6, 5)), symbols=symbols)
    assert {symbol.name for symbol in graph.symbols} == set(symbols.values())
    assert report["specialized_sizes"] == 0
    for b, s in [(4, 8), (7, 13 if "s" in symbols.values() else 8), (2, 8)]:
        x, w = make(b, s), torch.randn(6, 5)
        try:
            got = Interpreter(graph).run(x, w)
        except GuardFailed:
            assert b != 4
            raise
        for a, e in zip(got, leaves(program(x, w)), strict=True):
            same(a, e)


def test_guards_on_symbols():
    def program(x):
        return x + 1 if x.shape[0] > 5 else x - 1

    graph, _ = normalize_with_report(program, (torch.randn(8),), symbols={(0, 0): "n"})
    same(Interpreter(graph).run(torch.zeros(9))[0], torch.ones(9))
    with pytest.raises(GuardFailed):
        Interpreter(graph).run(torch.zeros(3))


def test_specialized_sizes_are_counted_and_guarded():
    def program(x):
        return x * len(range(x.shape[0]))

    graph, report = normalize_with_report(program, (torch.randn(8),), symbols={(0, 0): "n"})
    assert report["specialized_sizes"] > 0
    with pytest.raises(GuardFailed):
        Interpreter(graph).run(torch.zeros(3))


def test_symbolic_integer_input():
    def program(n, x):
        return x.expand(n, 3) * n, n + 1

    graph, _ = normalize_with_report(program, (5, torch.randn(3)), symbols={(0, 0): "n"})
    x = torch.randn(3)
    got = Interpreter(graph).run(7, x)
    same(got[0], x.expand(7, 3) * 7)
    assert got[1] == 8


def test_sizes_0_and_1_are_not_symbols():
    graph, _ = normalize_with_report(lambda x: x + 1, (torch.randn(1, 4),), symbols={(0, 0): "n"})
    assert not graph.symbols


def test_custom_op_stays_one_node():
    @torch.library.custom_op("triptych_test::twice", mutates_args=())
    def twice(x: torch.Tensor, n: int = 2) -> torch.Tensor:
        return x * n

    @twice.register_fake
    def _(x, n=2):
        return torch.empty_like(x)

    graph = check(lambda x: twice(x + 1, 3) * 2, torch.randn(3, 4))
    assert "triptych_test.twice.default" in [node.target for node in graph.nodes]


def test_keep_and_decompositions():
    x = torch.randn(3, 4)

    def program(x):
        return F.gelu(x), x.t()

    assert "t.default" in names(triptych.normalize(program, x, keep=["aten.t.default"]))
    graph = triptych.normalize(
        program,
        x,
        decompositions={torch.ops.aten.gelu.default: lambda x, approximate="none": x * 3},
    )
    assert names(graph) == ["mul.Tensor", "permute.default"]
    same(Interpreter(graph).run(x)[0], x * 3)


def test_source_locations():
    graph = triptych.normalize(torch.fx.symbolic_trace(lambda x: x.relu() + 1), (torch.randn(3),))
    assert [node.origin for node in graph.nodes] == ["relu", "add"]
    graph = triptych.normalize(lambda x: x.relu(), (torch.randn(3),))
    assert graph.nodes[0].location.startswith(__file__)


def test_exported_program():
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).eval()
    x = torch.randn(2, 4)
    graph = triptych.normalize(torch.export.export(model, (x,)), (x,))
    state = dict(model.named_parameters())
    got = Interpreter(graph).run(x, *[state[i.name] for i in graph.inputs[1:]])
    same(got[0], model(x))


def test_a_graph_is_normalized_again():
    x = torch.randn(3, 4)
    first = triptych.normalize(lambda x: (x.t(), F.gelu(x) + 1), x, keep=["aten.t.default"])
    again = triptych.normalize(first, x)
    assert names(again)[:2] == ["gelu.default", "add.Tensor"] and "t.default" not in names(again)
    assert again.outputs[0].kind == "view_of_input"
    got = Interpreter(again).run(x)
    same(got[0], x.t())
    same(got[1], F.gelu(x) + 1)


@pytest.mark.parametrize(
    "look",
    [
        lambda x: x.sum().item(),
        lambda x: bool(x.sum() > 0),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: x.numpy(),
        lambda x: (x + 1).data_ptr(),
        lambda x: x.tolist(),
        lambda x: torch.unique(x),
        lambda x: torch.repeat_interleave(x, torch.ones(3, dtype=torch.int64)),
        lambda x: setattr(x, "data", torch.zeros(3)),
    ],
)
def test_looking_at_data_is_unsupported(look):
    with pytest.raises((triptych.errors.UnsupportedError, RuntimeError)):
        triptych.normalize(look, torch.randn(3))
    nothing_left_behind()


def test_data_dependent_says_so():
    with pytest.raises(triptych.errors.UnsupportedError) as caught:
        triptych.normalize(lambda x: x if x.sum() > 0 else -x, torch.randn(3))
    assert caught.value.code == "normalize.data_dependent"
    nothing_left_behind()


def test_errors_of_the_program_pass_through():
    def wrong_shapes(x):
        return x @ x

    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        triptych.normalize(wrong_shapes, torch.randn(2, 3))

    def raises(x):
        with torch.inference_mode():
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        triptych.normalize(raises, torch.randn(2))
    nothing_left_behind()


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x[:1].expand(6, 8).add_(1),
        lambda x: x[:1].expand(6, 8).fill_(3.0),
        lambda x: x[:1].expand(6, 8).zero_(),
        lambda x: x.view(-1).unfold(0, 3, 1).mul_(2),
        lambda x: x.as_strided((3, 2), (1, 1)).add_(1),
    ],
    ids=["add_", "fill_", "zero_", "unfold", "as_strided"],
)
def test_a_write_into_elements_that_share_memory_is_refused(write):
    with pytest.raises(triptych.errors.UnsupportedError) as caught:
        triptych.normalize(write, (torch.ones(2, 8),))
    assert caught.value.code == "normalize.overlapping_write"


def test_a_write_into_a_view_without_shared_elements_is_traced():
    def write(x):
        x.t()[1:, ::2].add_(1)
        return x.as_strided((2, 2), (4, 1)).mul_(2)

    expected = torch.ones(2, 8)
    write(expected)
    x = torch.ones(2, 8)
    triptych.normalize(write, (x,)).run(x)
    torch.testing.assert_close(x, expected)


def test_broadcast_of_an_in_place_result_is_refused_as_in_eager():
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        triptych.normalize(lambda x, y: x.clone().add_(y), (torch.randn(3), torch.randn(2, 3)))


def test_overlapping_inputs_are_refused_when_written():
    x = torch.randn(6)
    with pytest.raises(triptych.errors.UnsupportedError) as caught:
        triptych.normalize(lambda a, b: a.add_(b), (x[:4], x[2:]))
    assert caught.value.code == "normalize.overlapping_inputs"
    triptych.normalize(lambda a, b: a + b, (x[:4], x[2:]))  # only read
    triptych.normalize(lambda a, b: a.add_(b), (x[:3], x[3:]))  # apart


def test_one_tensor_twice_is_one_input():
    x = torch.randn(3)
    graph = triptych.normalize(lambda a, b: a.add_(1) + b, (x, x))
    assert len(graph.inputs) == 1
    y = x.clone()
    same(Interpreter(graph).run(y)[0], (x + 1) * 2)


def test_writing_a_constant_is_refused():
    table = torch.zeros(3)
    with pytest.raises((triptych.errors.UnsupportedError, RuntimeError)):
        triptych.normalize(lambda x: table.add_(x), torch.randn(3))
    assert table.tolist() == [0, 0, 0]
    nothing_left_behind()


def nothing_left_behind():
    """Eager works as before a failed trace."""
    x = torch.ones(3)
    x.add_(1)
    assert (
        (x + 1).tolist() == [3, 3, 3] and x.numpy().sum() == 6 and not torch.compiler.is_compiling()
    )
    assert not torch.is_grad_enabled() and torch.nn.Linear(2, 2).weight.sum().item() is not None
    assert not torch.is_inference_mode_enabled()


def test_a_failed_trace_leaves_the_dispatcher_as_it_was() -> None:
    """Printing a traced tensor fails inside guards of torch's that its traceback keeps alive."""

    def state() -> tuple[str, str]:
        return (
            str(torch._C._dispatch_tls_local_include_set()),
            str(torch._C._dispatch_tls_local_exclude_set()),
        )

    before = state()
    for function in (lambda x: torch.cummax(x, 0), lambda x: f"{x}"):
        with pytest.raises(triptych.errors.UnsupportedError):
            triptych.normalize(function, [torch.randn(())])
        assert state() == before
    graph = triptych.normalize(torch.square, [torch.tensor([True, False])])
    assert graph.run(torch.tensor([True, False]))[0].dtype == torch.int64


@pytest.mark.parametrize("dtype", [None, torch.complex64, torch.complex128])
@pytest.mark.parametrize("order", [0, 1, 2, 2.5, float("inf"), -float("inf")])
def test_norms_of_complex_numbers_are_real(order, dtype):
    x = torch.randn(3, 4, dtype=torch.complex64)
    check(lambda x: torch.linalg.vector_norm(x, order, 1, dtype=dtype), x)
    check(lambda x: torch.linalg.vector_norm(x, order, dtype=dtype), x)


@pytest.mark.parametrize(
    "given, wanted", [(torch.float32, torch.complex64), (torch.complex64, torch.float32),
                      (torch.float64, torch.float32), (torch.float32, torch.int64)],
)  # fmt: skip
def test_a_norm_refuses_what_eager_refuses(given, wanted):
    x = torch.ones(3, dtype=given)

    def program(x):
        return torch.linalg.vector_norm(x, dtype=wanted)

    with pytest.raises(RuntimeError) as eager:
        program(x)
    with pytest.raises(RuntimeError) as ours:
        triptych.normalize(program, x)
    assert str(ours.value) == str(eager.value)


def test_kept_composites_are_one_node():
    q, k, v = (torch.randn(2, 3, 5, 8) for _ in range(3))
    graph = check(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v.exp(), is_causal=True) + 1,
        *(q, k, v.transpose(1, 2).contiguous().transpose(1, 2)),
        keep=[torch.ops.aten.scaled_dot_product_attention],
    )
    assert names(graph) == ["exp.default", "scaled_dot_product_attention.default", "add.Tensor"]
    x, w, b = torch.randn(2, 5, 4), torch.randn(3, 4), torch.randn(3)
    graph = check(lambda x, w, b: F.linear(x.relu_(), w, b), x, w, b, keep=["aten.linear.default"])
    assert names(graph) == ["relu.default", "linear.default"]
    graph = check(lambda x: F.layer_norm(x, (4,)).mul_(2), x, keep=["aten.layer_norm"])
    assert names(graph) == ["layer_norm.default", "mul.Tensor"]
    graph = check(lambda x: torch.tensor_split(x, 2, 1)[0], x, keep=["aten.tensor_split"])
    assert names(graph) == ["slice.Tensor"]  # a view: the graph says it is one
    program = triptych.generate(triptych.normalize(lambda *a: F.linear(*a).exp(), (x, w, b),
                                                   keep=["aten.linear"]))  # fmt: skip
    same(program(x, w, b)[0], F.linear(x, w, b).exp())


def test_kept_composites_in_a_module_and_inside_others():
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).train()
    layer.dropout.p = layer.dropout1.p = layer.dropout2.p = layer.self_attn.dropout = 0.0
    graph = triptych.normalize(layer, (torch.randn(2, 3, 16),), keep=["aten.linear"])
    assert names(graph).count("linear.default") == 4  # that of the attention is inside it


@pytest.mark.parametrize("function", [F.linear, torch.matmul])
def test_kept_composites_with_symbolic_sizes(function):
    x, w = torch.randn(2, 6, 4), torch.randn(4, 4)
    name = f"aten.{function.__name__}"
    graph, report = normalize_with_report(function, (x, w), keep=[name], symbols={(0, 1): "n"})
    assert names(graph) == [f"{function.__name__}.default"]
    assert str(graph.outputs[0].value.type.sizes[1]) == "n"
    graph, report = normalize_with_report(function, (x, w), symbols={(0, 1): "n"})
    assert "mm.default" in names(graph) and report["specialized_sizes"] == 0


def test_matmul_of_every_rank():
    shapes = [(4,), (3, 4), (2, 3, 4), (1, 3, 4), (5, 2, 3, 4), (0, 3, 4), (2, 3, 0)]
    for left, right in itertools.product(shapes, shapes):
        x, y = torch.randn(left), torch.randn(right)
        y = y.mT if y.dim() > 1 else y
        try:
            torch.matmul(x, y)
        except RuntimeError as error:
            with pytest.raises(type(error)) as ours:
                triptych.normalize(torch.matmul, (x, y))
            assert str(error) == str(ours.value)
            continue
        check(torch.matmul, x, y)
        check(torch.matmul, x.transpose(0, -1).contiguous().transpose(0, -1), y)
    with pytest.raises(RuntimeError, match="at least 1D, but they are 0D and 1D"):
        triptych.normalize(torch.matmul, (torch.tensor(2.0), torch.ones(3)))


def test_matmul_under_autocast():
    x, y = torch.randn(2, 3, 4), torch.randn(4, 5)

    def program(x, y):
        with torch.autocast("cpu", torch.bfloat16):
            return x @ y, x @ y[:, 0], y[:, 0] @ y[:, 1]

    graph = check(program, x, y)
    assert [output.value.type.dtype for output in graph.outputs] == [torch.bfloat16] * 3


def test_composites_that_one_node_cannot_stand_for_are_taken_apart():
    x = torch.randn(3, 4)
    graph = check(lambda x: F.dropout(x, 0.5, False) + 1, x, keep=["aten.dropout"])
    assert names(graph) == ["add.Tensor"]  # it returned its argument
    mean, var = torch.zeros(4), torch.ones(4)
    graph = check(
        lambda x, m, v: F.batch_norm(x, m, v, training=True), x, mean, var, keep=["aten.batch_norm"]
    )
    assert "batch_norm.default" not in names(graph)  # it wrote its statistics
    assert len(graph.mutations) == 2
    graph = check(lambda x, m, v: F.batch_norm(x, m, v), x, mean, var, keep=["aten.batch_norm"])
    assert names(graph) == ["batch_norm.default"]


def test_kept_composites_under_autocast_and_with_gradients():
    x, w = torch.randn(3, 4), torch.randn(5, 4)

    def program(x, w):
        with torch.autocast("cpu", torch.bfloat16):
            return F.linear(x, w)

    graph = check(program, x, w, keep=["aten.linear"])
    assert names(graph) == ["_to_copy.default", "_to_copy.default", "linear.default"]


@pytest.mark.parametrize("name", ["aten.no_such_op", "linear", "aten.linear.no_such_overload"])
def test_keep_refuses_what_is_no_operator(name):
    with pytest.raises(triptych.errors.UserError, match="unknown op"):
        triptych.normalize(torch.relu, (torch.ones(2),), keep=[name])


BATCH_NORM_OUTSIDE = """
import sys, torch
import torch._dynamo
sys.path.insert(0, sys.argv[1])

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm2d(3)

    def forward(self, x):
        return self.norm(x).sin()

def outside():
    torch._dynamo.reset()
    torch.manual_seed(0)
    results = []
    x = torch.randn(2, 3, 4, 4)
    net = Net().train()
    from torch.fx.experimental.proxy_tensor import make_fx
    w = torch.ones(3)
    f = lambda x, m, v: torch.native_batch_norm(x, w, None, m, v, True, 0.1, 1e-5)[0]
    traced = make_fx(torch.func.functionalize(f))(x, torch.zeros(3), torch.ones(3))
    results.append(str(traced.graph))
    compiled = torch.compile(net, backend="aot_eager")
    y = compiled(x.clone().requires_grad_())
    y.sum().backward()
    results += [y.detach(), net.norm.running_mean.clone(), net.norm.weight.grad.clone()]
    return results

before = outside()
import triptych
with torch.no_grad():
    graph = triptych.normalize(Net().train(), (torch.randn(2, 3, 4, 4),))
assert len(graph.mutations) == 3, graph
after = outside()
assert before[0] == after[0], (before[0], after[0])
for a, b in zip(before[1:], after[1:]):
    torch.testing.assert_close(a, b, rtol=0, atol=0)
print("same")
"""


def test_tracing_changes_nothing_for_others(tmp_path):
    """A process in which nothing of ours is imported yet; batch norm is caught specially."""
    package = pathlib.Path(triptych.__file__).parents[1]
    script = tmp_path / "outside.py"
    script.write_text(BATCH_NORM_OUTSIDE)
    done = subprocess.run(
        [sys.executable, str(script), str(package)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["same"]
    assert "Overriding" not in done.stderr


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.cummax(0),
        lambda x: x.cummin(-1),
        lambda x: x.frexp(),
        lambda x: x.kthvalue(2, 0),
        lambda x: torch.complex(x, x + 1),
        lambda x: torch.polar(x.abs(), x),
        lambda x: x.logcumsumexp(1),
        lambda x: x.median(0),
    ],
    ids=[
        "cummax",
        "cummin",
        "frexp",
        "kthvalue",
        "complex",
        "polar",
        "logcumsumexp",
        "median",
    ],
)
def test_an_op_that_its_kernel_only_wraps_stays_one_node(function):
    x = torch.randn(4, 5)
    for given in (x, x.t()):
        graph = triptych.normalize(lambda y: function(y * 2), (given,))
        expected = tree_leaves(function(given * 2))
        for got, wanted in zip(Interpreter(graph).run(given), expected, strict=True):
            same(got, wanted)


@pytest.mark.parametrize(
    "function",
    [torch.linalg.inv, torch.linalg.cholesky, lambda x: torch.linalg.solve(x, x + 1)],
    ids=["inv", "cholesky", "solve"],
)
def test_checks_of_values_stay_and_raise_what_eager_raises(function):
    good = torch.eye(3) * 2 + 0.1
    graph = triptych.normalize(lambda y: function(y * 2), (good,))
    program = triptych.generate(graph)
    torch.testing.assert_close(program(good)[0], function(good * 2))
    for bad in (torch.zeros(3, 3), -torch.ones(3, 3)):
        with pytest.raises(RuntimeError) as eager:
            function(bad * 2)
        with pytest.raises(type(eager.value)) as ours:
            program(bad)
        assert str(ours.value) == str(eager.value)
