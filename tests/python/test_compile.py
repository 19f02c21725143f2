"""The public entries: `triptych.compile` and `torch.compile(backend="triptych")`."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch

import triptych
from numerics import check_equal


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    triptych.reset()
    with torch.no_grad():
        yield


def chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu(x * y + 1).sin()


def fallbacks() -> dict[str, int]:
    return {name: n for name, n in triptych.counters().items() if name.startswith("fallback.")}


def agree(function: Callable[..., Any], *args: Any, compiled: Any = None, **options: Any) -> None:
    """Compiled and eager give the same result and leave the arguments in the same state."""
    compiled = compiled or triptych.compile(function, **options)
    copies = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
    actual = compiled(*copies)
    expected = function(*args)
    check_equal(actual, expected)
    check_equal(copies, list(args))


def test_function() -> None:
    agree(chain, torch.randn(8, 8), torch.randn(8, 8))
    assert triptych.counters()["graphs"] == 1
    assert fallbacks() == {}


def test_decorator_with_and_without_arguments() -> None:
    x = torch.randn(4)

    @triptych.compile
    def plain(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1

    @triptych.compile(fullgraph=True, dynamic=False)
    def with_arguments(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1

    check_equal(plain(x), x * 2 + 1)
    check_equal(with_arguments(x), x * 2 + 1)
    assert plain.__name__ == "plain"


def test_module_keeps_its_parameters() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU())
    compiled = triptych.compile(model)
    assert isinstance(compiled, torch.nn.Module)
    assert [p.data_ptr() for p in compiled.parameters()] == [
        p.data_ptr() for p in model.parameters()
    ]
    x = torch.randn(3, 4)
    check_equal(compiled(x), model(x))


def test_torch_compile_finds_the_backend_without_an_import() -> None:
    script = (
        "import sys, torch\n"
        "assert 'triptych' not in sys.modules\n"
        "f = torch.compile(lambda x: (x * 2 + 1).exp(), backend='triptych',"
        " options={'strict': True})\n"
        "x = torch.randn(8)\n"
        "torch.testing.assert_close(f(x), (x * 2 + 1).exp())\n"
        "import triptych\n"
        "assert triptych.counters()['graphs'] == 1, triptych.counters()\n"
        "assert not any(n.startswith('fallback') for n in triptych.counters())\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_disable_returns_the_model() -> None:
    assert triptych.compile(chain, disable=True) is chain


def test_other_backends_are_accepted() -> None:
    seen = []

    def backend(gm: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
        seen.append(len(inputs))
        return gm.forward

    agree(chain, torch.randn(4), torch.randn(4), backend=backend)
    assert seen == [2]
    torch._dynamo.reset()
    agree(chain, torch.randn(4), torch.randn(4), backend="eager")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"backend": "tryptich"}, ValueError, "did you mean 'triptych'"),
        ({"backend": "inducter"}, ValueError, "did you mean 'inductor'"),
        ({"backend": 3}, TypeError, "backend: expected a name or a callable"),
        ({"mode": "defualt"}, ValueError, "did you mean 'default'"),
        ({"mode": "default", "backend": "eager"}, ValueError, "only the backend 'triptych'"),
        ({"options": {"stric": True}}, ValueError, "did you mean 'strict'"),
        ({"options": {"strict": "yes"}}, TypeError, "expected bool"),
    ],
)
def test_bad_arguments_raise_at_once(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        triptych.compile(chain, **arguments)
    with pytest.raises(TypeError, match="expected a function or module"):
        triptych.compile(3)


def test_dynamic_sizes_share_one_graph() -> None:
    compiled = triptych.compile(chain, dynamic=True)
    for n in (5, 8, 13):
        agree(chain, torch.randn(n, 4), torch.randn(n, 4), compiled=compiled)
    assert triptych.counters()["graphs"] == 1
    assert triptych.counters()["variants"] == 1
    assert fallbacks() == {}


def test_automatic_dynamic_sizes() -> None:
    """Dynamo makes a size symbolic when it changes: two graphs, not one per size."""
    compiled = triptych.compile(chain)
    for n in (5, 8, 13, 1, 0):
        agree(chain, torch.randn(n, 4), torch.randn(n, 4), compiled=compiled)
    assert triptych.counters()["graphs"] <= 4
    assert fallbacks() == {}


class Images(torch.nn.Module):
    """Convolutions, norms with momentum and eps, sizes halved and brought back."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.groups = torch.nn.GroupNorm(2, 8)
        self.down = torch.nn.Conv2d(8, 3, 3, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        down = self.down(self.groups(self.norm(self.first(x)).relu()))
        up = torch.nn.functional.interpolate(down, size=x.shape[-2:], mode="bilinear")
        return up + x, torch.nn.functional.interpolate(down, scale_factor=2.0)


def test_dynamic_images_from_the_first_call() -> None:
    model = Images().eval()
    compiled = triptych.compile(model, dynamic=True)
    for sizes in [(2, 3, 16, 20), (3, 3, 24, 18), (5, 3, 14, 32)]:
        x = torch.randn(sizes)
        check_equal(compiled(x), model(x))
    assert fallbacks() == {}
    assert triptych.counters()["variants"] == 1


def test_dynamic_floats_are_guarded() -> None:
    def program(x: torch.Tensor, scale: float) -> torch.Tensor:
        return (x * scale).sin() / scale

    compiled = triptych.compile(program, dynamic=True)
    x = torch.randn(4, 5)
    for scale in (0.5, 2.5, 0.5, -0.0, 0.0, float("nan"), float("nan")):
        check_equal(compiled(x, scale), program(x, scale))
    assert fallbacks() == {}


def test_integer_arguments_and_results() -> None:
    def function(x: torch.Tensor, n: int) -> tuple[torch.Tensor, int]:
        return x * n + x.shape[0], x.shape[0] + n

    compiled = triptych.compile(function, dynamic=True)
    for size, n in ((4, 3), (6, 7), (9, 2)):
        agree(function, torch.randn(size), n, compiled=compiled)


def test_mutated_input() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(y)
        return x * 2

    agree(function, torch.randn(4, 5), torch.randn(5))


def test_overlapping_inputs_with_mutation() -> None:
    """Dynamo's guards do not see that two views overlap: the entry must."""

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x + y

    compiled = triptych.compile(function)
    agree(function, torch.randn(6), torch.randn(6), compiled=compiled)
    ours, theirs = torch.arange(9.0), torch.arange(9.0)
    for offset in (0, 1, 3):
        actual = compiled(ours[:6], ours[offset : offset + 6])
        check_equal(actual, function(theirs[:6], theirs[offset : offset + 6]))
        check_equal(ours, theirs)


def test_same_tensor_twice_with_mutation() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(3)
        return x + y

    compiled = triptych.compile(function)
    agree(function, torch.randn(4), torch.randn(4), compiled=compiled)
    ours, theirs = torch.ones(4), torch.ones(4)
    check_equal(compiled(ours, ours), function(theirs, theirs))


def test_output_that_is_an_input_or_a_view() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x + 1
        return x, x[1:], y, y.t()

    compiled = triptych.compile(function)
    x = torch.randn(3, 3)
    same, view, fresh, transposed = compiled(x)
    assert same is x
    assert view.data_ptr() == x[1:].data_ptr()
    assert transposed.data_ptr() == fresh.data_ptr()
    check_equal((same, view, fresh, transposed), function(x))


@pytest.mark.parametrize("entry", ["triptych", "torch"])
def test_modes_are_accepted_and_what_they_do_not_change_is_said_once(entry: str) -> None:
    triptych.reset()
    x = torch.randn(4)

    def compiled() -> Any:
        if entry == "triptych":
            return triptych.compile(lambda x: x * 2, mode="max-autotune")
        return torch.compile(lambda x: x * 2, backend="triptych", mode="max-autotune")

    with pytest.warns(UserWarning, match="mode 'max-autotune' compiles as 'default' does"):
        assert torch.equal(compiled()(x), x * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(compiled()(x), x * 2)


def test_batch_norm_buffers_in_training_mode() -> None:
    model, twin = torch.nn.BatchNorm2d(3), torch.nn.BatchNorm2d(3)
    compiled = triptych.compile(model)
    for seed in range(3):
        x = torch.randn(2, 3, 5, 5, generator=torch.Generator().manual_seed(seed))
        check_equal(compiled(x), twin(x))
    check_equal(dict(model.named_buffers()), dict(twin.named_buffers()))


def test_random_ops_use_eagers_stream() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        noisy = torch.nn.functional.dropout(x * 2, 0.5)
        return noisy + torch.rand_like(x)

    compiled = triptych.compile(function)
    x = torch.randn(32)
    torch.manual_seed(3)
    expected, state = function(x), torch.get_rng_state()
    torch.manual_seed(3)
    check_equal(compiled(x), expected)
    check_equal(torch.get_rng_state(), state)


def test_gradients_run_eagerly_counted_with_one_warning() -> None:
    model = torch.nn.Linear(4, 4)
    compiled = triptych.compile(lambda x: model(x).relu())
    with torch.enable_grad():
        with pytest.warns(UserWarning, match="gradients runs eagerly"):
            compiled(torch.randn(3, 4)).sum().backward()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compiled(torch.randn(3, 4, requires_grad=True)).sum().backward()
    assert model.weight.grad is not None
    assert fallbacks() == {"fallback.backend.needs_gradients": 2}
    check_equal(compiled(torch.ones(3, 4)), model(torch.ones(3, 4)).relu())
    assert fallbacks() == {"fallback.backend.needs_gradients": 2}


def test_graph_break_gives_the_right_answer() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        x = x * 2
        if x.sum() > 0:
            x = x + 1
        return x.sin()

    agree(function, torch.ones(3))
    assert triptych.counters()["graphs"] >= 2


def test_fullgraph_raises_at_a_graph_break() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.sum() > 0 else x

    with pytest.raises(Exception, match="(?i)data-dependent"):
        triptych.compile(function, fullgraph=True)(torch.ones(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f(torch.randn(3), torch.randn(4)),
        lambda f: f(torch.randn(3, 4), torch.randn(2)),
    ],
)
def test_bad_shapes_raise(call: Callable[[Any], Any]) -> None:
    with pytest.raises(Exception, match=r"(?i)size|shape|broadcast"):
        call(triptych.compile(chain))


def test_index_out_of_range_raises_what_eager_raises() -> None:
    def function(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return table[index] * 2

    compiled = triptych.compile(function)
    table = torch.randn(5, 2)
    agree(function, table, torch.tensor([0, 4]), compiled=compiled)
    with pytest.raises(IndexError):
        compiled(table, torch.tensor([0, 5]))
    agree(function, table, torch.tensor([-1, 4]), compiled=compiled)


def test_autocast_inside_and_outside() -> None:
    linear = torch.nn.Linear(8, 8)

    def inside(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return linear(x).relu()

    agree(inside, torch.randn(4, 8))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        agree(lambda x: linear(x).relu(), torch.randn(4, 8))


def test_inference_mode() -> None:
    with torch.inference_mode():
        agree(chain, torch.randn(4), torch.randn(4))


def test_calls_from_several_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    compiled = triptych.compile(chain)
    inputs = [(torch.randn(64, 64), torch.randn(64, 64)) for _ in range(16)]
    compiled(*inputs[0])

    def call(pair: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        with torch.no_grad():
            return compiled(*pair)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(call, inputs * 4))
    for pair, result in zip(inputs * 4, results, strict=True):
        check_equal(result, chain(*pair))


def test_custom_op_stays_and_runs() -> None:
    @torch.library.custom_op("triptych_tests::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    agree(lambda x: twice(x + 1).relu(), torch.randn(4))


def test_import_is_light() -> None:
    """What costs time is loaded when used; `./dev bench compile` measures the import."""
    script = (
        "import torch, sys\n"
        "import triptych\n"
        "heavy = {'llvmlite', 'torch._dynamo', 'sympy', 'transformers'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("entry", [triptych.compile, partial(torch.compile, backend="triptych")])
@torch.no_grad()
def test_what_is_detached_requires_no_grad(entry: Any) -> None:
    def function(p: torch.Tensor) -> Any:
        return p.detach(), p.data, p.detach().t(), p.detach()[0], p.t(), p

    p = torch.nn.Parameter(torch.ones(2, 2))
    for _ in range(2):
        got, wanted = entry(function)(p), function(p)
        assert [t.requires_grad for t in got] == [t.requires_grad for t in wanted]
        assert all(t.untyped_storage().data_ptr() == p.data_ptr() for t in got)
