"""The runtime: signatures, checks, memory, threads, exceptions."""

from __future__ import annotations

import gc
import random
import threading
from typing import Any

import pytest
import torch

import triptych
from triptych import _C, errors
from triptych.generate import generate


def program_of(text: str, **options: object) -> object:
    return generate(_C.Graph.parse(text), **options)


ADD = """graph add normalized {
  %x: f32[64, 64] = input.user("x")
  %y: f32[64, 64] = input.user("y")
  %z: f32[64, 64] = aten.add.Tensor(%x, %y)
  output %z
}
"""


def test_results_are_independent_of_later_calls() -> None:
    program = program_of(ADD)
    x, y = torch.randn(64, 64), torch.randn(64, 64)
    (first,) = program(x, y)
    kept = first.clone()
    program(y, y)
    assert torch.equal(first, kept)
    assert not first.requires_grad


def test_parameters_are_read_at_each_call() -> None:
    program = program_of(ADD)
    x, y = torch.zeros(64, 64), torch.nn.Parameter(torch.ones(64, 64))
    assert program(x, y)[0].sum() == 4096
    with torch.no_grad():
        y.mul_(2)
    assert program(x, y)[0].sum() == 8192
    y.data = torch.full((64, 64), 3.0)
    assert program(x, y)[0].sum() == 3 * 4096


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (lambda x: (x,), "found 1 inputs, expected 2"),
        (lambda x: (x, 3), r"input 1 \(y\): found an integer, expected a tensor"),
        (lambda x: (x, "a"), "found str, expected a tensor or an integer"),
        (lambda x: (x, x.double()), r"input 1 \(y\): found dtype Double, expected dtype Float"),
        (lambda x: (x[:3], x), r"input 0 \(x\): found sizes \[3, 64\]"),
        (lambda x: (x, x[0]), r"input 1 \(y\): found sizes \[64\], expected 2 dimensions"),
        (lambda x: (x.t(), x), r"strides \[1, 64\], expected sizes \[64, 64\] strides \[64, 1\]"),
        (lambda x: (x, x.to("meta")), "found device meta, expected device cpu"),
        (lambda x: (x.to_sparse(), x), "found a tensor with dispatch keys"),
    ],
)
def test_wrong_inputs_are_named(inputs: object, message: str) -> None:
    with pytest.raises(errors.UserError, match=message):
        program_of(ADD)(*inputs(torch.randn(64, 64)))


def test_keyword_arguments_are_refused() -> None:
    with pytest.raises(TypeError):
        program_of(ADD).run(x=torch.randn(64, 64))


def test_an_input_at_an_offset() -> None:
    base = torch.randn(65, 64)
    (z,) = program_of(ADD)(base[1:], base[:-1])
    torch.testing.assert_close(z, base[1:] + base[:-1])


MUTATION = """graph mutation normalized {
  %x: f32[8] = input.user("x")
  %y: f32[8] = input.buffer("y")
  %a: f32[8] = aten.add.Tensor(%y, %x)
  %b: f32[8] = aten.mul.Tensor(%a, %x)
  mutate input 1 to %a
  output %b
  output is input 1
  output views input 1 as f32[4] offset=2
}
"""


@pytest.mark.parametrize("runner", ["program", "graph"])
def test_mutation_and_outputs_that_are_inputs(runner: str) -> None:
    graph = _C.Graph.parse(MUTATION)
    call = generate(graph) if runner == "program" else graph.run
    x, y = torch.randn(8), torch.randn(8)
    expected = y + x
    version = y._version
    b, same, view = call(x, y)
    assert same is y
    assert y._version > version
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(b, expected * x)
    assert view.data_ptr() == y.data_ptr() + 8
    y.zero_()
    assert view.sum() == 0


def test_view_of_an_input_that_stands_at_another_offset() -> None:
    base = torch.randn(20)
    x, y = torch.randn(8), base[5:13]
    _, _, view = program_of(MUTATION)(x, y)
    assert view.data_ptr() == base.data_ptr() + 7 * 4


def test_overlapping_inputs_are_reported_when_one_is_written() -> None:
    base = torch.randn(12)
    program = program_of(MUTATION)
    before = base.clone()
    with pytest.raises(errors.UnsupportedError) as caught:
        program(base[:8], base[4:])
    assert caught.value.code == "runtime.overlap"
    assert torch.equal(base, before)
    assert not program.accepts([base[:8], base[4:]])
    assert program.accepts([torch.randn(8), torch.randn(8)])


ALIASES = """graph aliases normalized {
  %x: f32[4, 6] = input.user("x")
  %a: f32[4, 6] = aten.neg.default(%x)
  %t: f32[6, 4] strides=[1, 6] = aten.permute.default(%a, [1, 0])
  output %t
  output views output 0 as f32[6] offset=6
  output is output 0
  output literal None
  output literal 7
}
"""


def test_outputs_that_alias_outputs() -> None:
    x = torch.randn(4, 6)
    t, row, same, none, seven = program_of(ALIASES)(x)
    torch.testing.assert_close(t, -x.t())
    assert t.stride() == (1, 6)
    assert same is t
    assert row.data_ptr() == t.data_ptr() + 24
    assert none is None
    assert seven == 7


SYMBOLIC = """graph symbolic normalized {
  symbol s0 in [2, 100] hint 5
  guard s0 != 13 because "a test"
  %x: f32[s0, 8] = input.user("x")
  %n: int(s0) = input.user("n")
  %a: f32[s0, 8] = aten.exp.default(%x)
  %t: f32[8, s0] strides=[1, 8] = aten.permute.default(%a, [1, 0])
  %m: f32[s0, s0] = aten.mm.default(%a, %t)
  %b: f32[s0, s0] = aten.neg.default(%m)
  output %b
  output literal 2*s0
}
"""


def test_symbolic_sizes() -> None:
    program = program_of(SYMBOLIC)
    assert program.has_guards
    for n in (5, 3, 50, 50, 5, 2):
        x = torch.randn(n, 8)
        b, twice = program(x, n)
        torch.testing.assert_close(b, -(x.exp() @ x.exp().t()))
        assert twice == 2 * n
    assert program.accepts([torch.randn(7, 8), 7])
    assert not program.accepts([torch.randn(7, 8), 8])
    assert not program.accepts([torch.randn(13, 8), 13])
    with pytest.raises(errors.UserError, match="s0 != 13"):
        program(torch.randn(13, 8), 13)
    with pytest.raises(errors.UserError, match="s0 from 2"):
        program(torch.randn(1, 8), 1)
    torch.testing.assert_close(program(x, n)[0], b)  # still usable


EMBEDDING = """graph embedding normalized {
  %w: f32[10, 4] = input.parameter("w")
  %i: i64[3] = input.user("i")
  %e: f32[3, 4] = aten.embedding.default(%w, %i)
  %y: f32[3, 4] = aten.neg.default(%e)
  output %y
}
"""


def test_index_out_of_range_raises_what_eager_raises() -> None:
    program = program_of(EMBEDDING)
    w = torch.randn(10, 4)
    with pytest.raises(IndexError, match="index out of range in self"):
        torch.nn.functional.embedding(torch.tensor([1, 2, 10]), w)
    for bad in (10, -1, 1 << 40):
        with pytest.raises(IndexError, match="index out of range in self"):
            program(w, torch.tensor([1, 2, bad]))
    good = torch.tensor([1, 2, 9])
    torch.testing.assert_close(program(w, good)[0], -w[good])


DIVISION = """graph division normalized {
  %x: i64[3] = input.user("x")
  %y: i64[3] = input.user("y")
  %z: i64[3] = aten.div.Tensor_mode(%x, %y, rounding_mode="floor")
  output %z
}
"""


def test_integer_division_by_zero_raises_what_eager_raises() -> None:
    program = program_of(DIVISION)
    x = torch.tensor([7, -7, 5])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        program(x, torch.tensor([1, 0, 2]))
    y = torch.tensor([2, 2, -3])
    assert torch.equal(program(x, y)[0], torch.div(x, y, rounding_mode="floor"))


@pytest.mark.parametrize(
    "function, bad",
    [
        (lambda x, i: torch.nn.functional.embedding(i, x) * 2, 6),
        (lambda x, i: x[i] + 1, 6),
        (lambda x, i: x[:, i] + 1, -9),
        (lambda x, i: x.index_select(1, i) + 1, 8),
        (lambda x, i: x.gather(0, i[None].expand(6, 2)) + 1, 6),
        (lambda x, i: torch.remainder(x.long(), i[0]) + 1, 0),
    ],
    ids=["embedding", "index", "negative_index", "index_select", "gather", "remainder"],
)
def test_a_failed_check_raises_what_eager_raises(function: Any, bad: int) -> None:
    x = torch.randn(6, 8)
    index = torch.tensor([bad, 1])
    with pytest.raises((IndexError, RuntimeError)) as eager:
        function(x, index)
    program = generate(triptych.normalize(function, (x, torch.tensor([1, 1]))))
    assert program.num_kernels > 0
    with pytest.raises(type(eager.value)) as ours:
        program(x, index)
    assert type(ours.value) is type(eager.value)
    assert str(ours.value).splitlines()[0] == str(eager.value).splitlines()[0]


def test_threads() -> None:
    program = program_of(SYMBOLIC)
    failures = []

    def work(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for i in range(100):
            n = 2 + (seed + i) % 9
            x = torch.randn(n, 8, generator=generator)
            b, twice = program(x, n)
            if twice != 2 * n or not torch.allclose(b, -(x.exp() @ x.exp().t()), rtol=1e-4):
                failures.append((seed, i))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


CUSTOM = """graph custom normalized {{
  op testlib::{op}(Tensor x) -> Tensor
  %x: f32[16] = input.user("x")
  %a: f32[16] = aten.neg.default(%x)
  %b: f32[16] = testlib.{op}.default(%a)
  %c: f32[16] = aten.neg.default(%b)
  output %c
}}
"""


@pytest.fixture(scope="module")
def library() -> object:
    with torch.library._scoped_library("testlib", "FRAGMENT") as library:
        yield library


def define(library: torch.library.Library, name: str, function: object) -> None:
    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, function, "CompositeExplicitAutograd")


def test_custom_op_and_recursion(library: torch.library.Library) -> None:
    """The op calls the same program again, while the outer call is under way."""
    depth = 0

    def again(x: torch.Tensor) -> torch.Tensor:
        nonlocal depth
        depth += 1
        return program(x)[0] if depth < 3 else x * 2

    define(library, "again", again)
    program = program_of(CUSTOM.format(op="again"))
    x = torch.randn(16)
    torch.testing.assert_close(program(x)[0], 2 * x)
    assert depth == 3


def test_exception_half_way_leaks_nothing(library: torch.library.Library) -> None:
    alive = []

    def fails(x: torch.Tensor) -> torch.Tensor:
        raise KeyError("from the op")

    define(library, "fails", fails)
    program = program_of(CUSTOM.format(op="fails"))

    class Watched:
        pass

    for _ in range(5):
        x = torch.randn(16)
        x.mark = Watched()
        gc.collect()
        alive.append(__import__("weakref").ref(x.mark))
        with pytest.raises(KeyError, match="from the op"):
            program(x)
        del x
    gc.collect()
    assert not any(ref() for ref in alive)


def test_an_op_that_returns_its_argument(library: torch.library.Library) -> None:
    """Its result is planned memory: it must be copied before that is used again."""
    define(library, "identity", lambda x: x)
    text = CUSTOM.format(op="identity").replace("output %c", "output %c\n  output %b")
    program = program_of(text)
    x = torch.randn(16)
    c, b = program(x)
    kept = b.clone()
    program(torch.zeros(16))
    assert torch.equal(b, kept)
    torch.testing.assert_close((c, b), (x, -x))


def test_other_strides_than_promised(library: torch.library.Library) -> None:
    library.define("strided(Tensor x) -> Tensor")
    library.impl("strided", lambda x: (x * 2).t().contiguous().t(), "CompositeExplicitAutograd")
    text = """graph strided normalized {
  op testlib::strided(Tensor x) -> Tensor
  %x: f32[4, 6] = input.user("x")
  %b: f32[4, 6] = testlib.strided.default(%x)
  %c: f32[4, 6] = aten.neg.default(%b)
  output %c
}
"""
    x = torch.randn(4, 6)
    program = program_of(text)
    torch.testing.assert_close(program(x)[0], -2 * x)
    assert program.executable.restrided_results == 1
    with pytest.raises(errors.InternalError, match="found strides"):
        program_of(text, strict=True)(x)


def test_random_ops_follow_eagers_generator() -> None:
    text = """graph random normalized {
  %x: f32[50] = input.user("x")
  %r: f32[50] = aten.rand_like.default(%x)
  %s: f32[50] = aten.randn_like.default(%x)
  %y: f32[50] = aten.add.Tensor(%r, %s)
  output %y
}
"""
    x = torch.zeros(50)
    program = program_of(text)
    torch.manual_seed(3)
    (actual,) = program(x)
    after = torch.get_rng_state()
    torch.manual_seed(3)
    expected = torch.rand_like(x) + torch.randn_like(x)
    assert torch.equal(actual, expected)
    assert torch.equal(after, torch.get_rng_state())


def test_autocast_and_grad_mode_of_the_caller_change_nothing() -> None:
    text = """graph mm normalized {
  %x: f32[4, 4] = input.user("x")
  %m: f32[4, 4] = aten.mm.default(%x, %x)
  output %m
}
"""
    program = program_of(text)
    x = torch.randn(4, 4, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (m,) = program(x)
    assert m.dtype == torch.float32
    assert not m.requires_grad
    with torch.inference_mode():
        torch.testing.assert_close(program(x)[0], m)


LARGE = """graph large normalized {
  %x: f32[2097152] = input.user("x")
  %a: f32[2097152] = aten.exp.default(%x)
  %r: f32[2097152] = aten.cumsum.default(%a, 0)
  %b: f32[2097152] = aten.neg.default(%r)
  output %b
}
"""


def test_large_memory_is_reused_and_released() -> None:
    _C.release_memory()
    used, _ = _C.large_memory_bytes()
    program = program_of(LARGE)
    x = torch.zeros(2097152)
    (first,) = program(x)
    address = first.data_ptr()
    del first
    (second,) = program(x)
    assert second.data_ptr() == address
    assert second[:3].tolist() == [-1, -2, -3]
    assert program.executable.retained_bytes >= 8 << 20
    del second
    program.reset()
    assert program.executable.retained_bytes == 0
    _C.release_memory()
    assert _C.large_memory_bytes() == (used, 0)


def test_profiler_names_kernels() -> None:
    program = program_of(ADD)
    x = torch.randn(64, 64)
    with torch.profiler.profile() as profile:
        program(x, x)
    names = {event.key for event in profile.key_averages()}
    assert program.kernels[0].name in names


def test_empty_and_zero_dimensional_tensors() -> None:
    text = """graph empty normalized {
  %x: f32[0, 3] = input.user("x")
  %s: f32[] = input.user("s")
  %a: f32[0, 3] = aten.mul.Tensor(%x, %s)
  %b: f32[] = aten.exp.default(%s)
  output %a
  output %b
}
"""
    a, b = program_of(text)(torch.empty(0, 3), torch.tensor(0.5))
    assert a.shape == (0, 3)
    torch.testing.assert_close(b, torch.tensor(0.5).exp())


SWAP = """graph swap normalized {
  %x: f32[4] = input.user("x")
  %y: f32[4] = input.user("y")
  %old: f32[4] = aten.view.default(%x, [4])
  mutate input 0 to %y
  mutate input 1 to %x
  output %old
}
"""


@pytest.mark.parametrize("runner", ["program", "graph"])
def test_values_are_what_they_were_before_inputs_change(runner: str) -> None:
    graph = _C.Graph.parse(SWAP)
    call = generate(graph) if runner == "program" else graph.run
    x, y = torch.zeros(4), torch.ones(4)
    (old,) = call(x, y)
    assert (x.sum(), y.sum(), old.sum()) == (4, 0, 0)
    assert old.data_ptr() != x.data_ptr()


def test_prepared_in_inference_mode_used_outside() -> None:
    program = program_of(SYMBOLIC)
    x = torch.randn(5, 8)
    with torch.inference_mode():
        expected = program(x, 5)[0].clone()
    torch.testing.assert_close(program(x, 5)[0], expected)


def test_view_of_another_dtype_at_an_offset() -> None:
    text = """graph real normalized {
  %x: c64[4] offset=3 = input.user("x")
  %v: f32[4, 2] offset=6 = aten.view_as_real.default(%x)
  %s: f32[4, 2] = aten.cumsum.default(%v, 0)
  %y: f32[4, 2] = aten.neg.default(%v)
  output %y
  output %s
}
"""
    x = torch.randn(9, dtype=torch.complex64)[3:7]
    y, s = program_of(text)(x)
    torch.testing.assert_close(y, -torch.view_as_real(x))
    torch.testing.assert_close(s, torch.view_as_real(x).cumsum(0))


def test_small_outputs_are_recycled_but_never_shared() -> None:
    """Sizes around the classes of blocks; kept, dropped, resized, dropped by another thread."""
    chooser = random.Random(1)
    programs = {}
    for size in (1, 15, 16, 17, 20, 21, 64, 1000, 4096, 32767, 32768, 32769):
        x = torch.arange(size, dtype=torch.float32)
        programs[size] = (triptych.generate(triptych.normalize(lambda x: x + 1, [x])), x)
    alive: list[torch.Tensor] = []
    for step in range(600):
        program, x = programs[chooser.choice(list(programs))]
        result = program(x)[0]
        assert result.data_ptr() % 64 == 0
        assert result.untyped_storage().nbytes() == 4 * x.numel()
        result.add_(step)
        alive.append(result)
        if step % 7 == 0:
            alive[-1].resize_(2 * x.numel())[x.numel() :] = 0
        if len(alive) > 20:
            dropped = [alive.pop(chooser.randrange(len(alive))) for _ in range(8)]
            other = threading.Thread(target=dropped.clear)
            other.start()
            other.join()
        for tensor in alive[-3:]:
            half = tensor[: next(n for n in programs if n in (tensor.numel(), tensor.numel() // 2))]
            assert half[0] == half[-1] - (half.numel() - 1)
    spans = sorted((t.data_ptr(), t.data_ptr() + 4 * t.numel()) for t in alive)
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:], strict=False))
    triptych.reset()
    for program, x in programs.values():
        assert torch.equal(program(x)[0], x + 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.logsumexp(-1),
        lambda x: x.real.amax(-1, True),
        lambda x: torch.view_as_real(x).select(2, 1) + 1,
        lambda x: x.conj().logsumexp(-1),
        lambda x: x.conj().imag + 1,
        lambda x: x[:, 1:].logsumexp(0),
    ],
)
@pytest.mark.parametrize("columns", [2, 33])
def test_external_views_of_expanded_inputs(function: Any, columns: int) -> None:
    x = torch.randn(1, columns, dtype=torch.complex64).expand(3, columns)
    triptych.reset()
    with torch.no_grad():
        torch.testing.assert_close(triptych.compile(function)(x), function(x))
