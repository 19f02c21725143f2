"""Generated programs against eager: from graph text to results, end to end."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import triptych
from triptych import _C, devices
from triptych.generate import generate

ROW = """graph row normalized {
  %x: f32[6, 50] = input.user("x")
  %w: f32[50] = input.parameter("w")
  %a: f32[6, 50] = aten.add.Tensor(%x, %w)
  %s: f32[6, 50] = aten._softmax.default(%a, -1, False)
  output %s
}
"""

CHAIN = """graph chain normalized {
  %x: f32[33, 7] = input.user("x")
  %y: f32[33, 7] = input.user("y")
  %a: f32[33, 7] = aten.mul.Tensor(%x, %y)
  %b: f32[33, 7] = aten.exp.default(%a)
  %c: f32[33, 7] = aten.add.Tensor(%b, %x)
  output %c
}
"""

MIXED = """graph mixed normalized {
  %x: f32[4, 8] = input.user("x")
  %w: f32[6, 8] = input.parameter("w")
  %t: f32[8, 6] strides=[1, 8] = aten.permute.default(%w, [1, 0])
  %n: f32[4, 8] = aten.neg.default(%x)
  %m: f32[4, 6] = aten.mm.default(%n, %t)
  %r: f32[4, 6] = aten.relu.default(%m)
  %v: f32[24] = aten.view.default(%r, [24])
  output %v
}
"""


def graph_of(text: str) -> _C.Graph:
    return _C.Graph.parse(text)


def writers() -> list[str]:
    return list(devices.find("cpu").writers)


@pytest.mark.parametrize("writer", writers())
def test_row(writer: str) -> None:
    x, w = torch.randn(6, 50), torch.randn(50)
    (actual,) = generate(graph_of(ROW), writer=writer)(x, w)
    torch.testing.assert_close(actual, torch.softmax(x + w, -1))


@pytest.mark.parametrize("writer", writers())
def test_chain(writer: str) -> None:
    x, y = torch.randn(33, 7), torch.randn(33, 7)
    (actual,) = generate(graph_of(CHAIN), writer=writer)(x, y)
    torch.testing.assert_close(actual, torch.exp(x * y) + x)


def test_external_calls_views_and_kernels() -> None:
    x, w = torch.randn(4, 8), torch.randn(6, 8)
    program = generate(graph_of(MIXED))
    expected = torch.relu(-x @ w.t()).view(24)
    for _ in range(3):
        torch.testing.assert_close(program(x, w)[0], expected)
    assert [name for name, _ in program.externals] == ["aten.mm.default"]
    (by_nodes,) = graph_of(MIXED).run(x, w)
    torch.testing.assert_close(by_nodes, expected)


def test_every_form_is_shown() -> None:
    program = generate(graph_of(MIXED))
    assert "aten.mm.default" in program.lowered
    assert "aten.mm.default" in program.fused
    assert "kernel" in program.mapped
    assert "launch" in program.program
    assert "arena:" in program.memory_plan
    assert program.text
    assert program.num_kernels >= 1
    assert {"lower", "fuse", "map", "plan", "write", "compile"} <= set(program.milliseconds)


def test_every_form_parses() -> None:
    program = generate(graph_of(MIXED))
    for name in ("lowered", "fused", "mapped"):
        form = program.form(name)
        assert _C.LoopProgram.parse(str(form)) == form
        assert str(form).endswith(getattr(program, name))
    assert _C.Plan.parse(str(program.plan)) == program.plan
    assert str(program.plan).endswith(program.program)
    assert str(program) == str(program.plan)


def edited_once(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, text
    return text.replace(old, new)


@pytest.mark.parametrize("name", ["lowered", "fused", "mapped", "program", "kernels"])
def test_edited_form_is_taken(name: str) -> None:
    """exp becomes its negation: in loops by another operation, in C++ by another sign."""
    graph = graph_of(
        """graph edit normalized {
  %x: f32[40] = input.user("x")
  %a: f32[40] = aten.neg.default(%x)
  %b: f32[40] = aten.exp.default(%a)
  output %b
}
"""
    )
    whole = generate(graph, writer="cpp")
    texts = {"program": str(whole.plan), "kernels": whole.text}
    text = texts[name] if name in texts else str(whole.form(name))
    operation = "-" if name == "kernels" else "= neg v0"
    if name == "kernels":
        (line,) = [line for line in text.splitlines() if "-v0" in line]
        text = text.replace(line, line.replace("-v0", "v0"))
    else:
        text = edited_once(text, operation, "= abs v0")
    edited = generate(graph, writer="cpp", edited={name: text})
    x = torch.rand(40)
    torch.testing.assert_close(whole(x)[0], torch.exp(-x))
    torch.testing.assert_close(edited(x)[0], torch.exp(x))
    if name in ("lowered", "fused", "mapped"):
        assert "abs" in edited.mapped


def test_edited_form_that_does_not_parse() -> None:
    with pytest.raises(triptych.errors.UserError, match="line 2"):
        generate(graph_of(CHAIN), edited={"fused": "loop program\ngraph {"})
    with pytest.raises(ValueError, match="did you mean 'fused'"):
        generate(graph_of(CHAIN), edited={"fuse": ""})


def test_without_fusion_and_without_reuse() -> None:
    x, y = torch.randn(33, 7), torch.randn(33, 7)
    program = generate(graph_of(CHAIN), options={"fuse": False}, reuse_memory=False)
    torch.testing.assert_close(program(x, y)[0], torch.exp(x * y) + x)


def test_equal_kernels_are_compiled_once() -> None:
    text = """graph twice normalized {
  %x: f32[8] = input.user("x")
  %y: f32[8] = input.user("y")
  %a: f32[8] = aten.exp.default(%x)
  %b: f32[8] = aten.exp.default(%y)
  output %a
  output %b
}
"""
    program = generate(graph_of(text), fuse=False)
    assert (program.num_kernels, program.num_launches) == (1, 2)
    x, y = torch.randn(8), torch.randn(8)
    a, b = program(x, y)
    torch.testing.assert_close((a, b), (x.exp(), y.exp()))


def test_unknown_names_are_refused_with_the_closest() -> None:
    with pytest.raises(ValueError, match="did you mean 'fuse'"):
        generate(graph_of(CHAIN), options={"fusee": True})
    with pytest.raises(ValueError, match="unknown device"):
        generate(graph_of(CHAIN), device="toaster")
    with pytest.raises(ValueError, match="unknown writer"):
        generate(graph_of(CHAIN), writer="fortran")


def test_dtypes() -> None:
    text = """graph dtypes normalized {
  %x: bf16[40] = input.user("x")
  %a: bf16[40] = aten.exp.default(%x)
  %b: f64[40] = aten._to_copy.default(%a, dtype=torch.float64)
  %c: bool[40] = aten.gt.Scalar(%x, 0)
  output %a
  output %b
  output %c
}
"""
    x = torch.randn(40, dtype=torch.bfloat16)
    a, b, c = generate(graph_of(text))(x)
    torch.testing.assert_close(a, x.exp())
    torch.testing.assert_close(b, x.exp().double(), rtol=1e-2, atol=1e-2)
    assert torch.equal(c, x > 0)


def test_python_name() -> None:
    assert triptych.generate is generate


class ToyWriter:
    """A language that names kernels and nothing else."""

    language = "toy"

    def write(self, kernels: list[_C.Kernel], traits: _C.Traits) -> tuple[str, list[str]]:
        assert traits.vector_bytes == 16
        return "\n".join(f"run {k.name}" for k in kernels), [k.name for k in kernels]


def test_toy_device_from_outside() -> None:
    launched = []

    def toolchain(
        text: str, entries: list[str], externals: list[str], options: object
    ) -> list[str]:
        assert text.count("run ") == len(entries)
        return [f"compiled {name}" for name in entries]

    def launcher(
        kernel: _C.Kernel, compiled: str, buffers: list[torch.Tensor], symbols: list[int]
    ) -> None:
        assert compiled == f"compiled {kernel.name}"
        launched.append(kernel.name)
        assert kernel.interpret([b.data_ptr() for b in buffers], symbols) == 0

    traits = _C.Traits()
    traits.vector_bytes = 16
    devices.register_device(
        "toy", traits=traits, writer=ToyWriter(), toolchain=toolchain, launcher=launcher
    )
    try:
        x, w = torch.randn(6, 50), torch.randn(50)
        program = generate(graph_of(ROW), device="toy")
        torch.testing.assert_close(program(x, w)[0], torch.softmax(x + w, -1))
        assert launched
        assert program.writer == "toy"
    finally:
        devices.unregister_device("toy")
    assert "toy" not in devices.list_devices()


def test_what_no_input_has_a_part_in_is_computed_once() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        lt = (torch.arange(8)[None] <= torch.arange(8)[:, None]).cumsum(-1) < 5
        mask = torch.where(lt, 0.0, -torch.inf)
        return torch.softmax(x + mask, -1), torch.matmul(mask.exp(), x)

    x = torch.randn(3, 8, 8)
    program = generate(triptych.normalize(function, [x]))
    assert [name for name, _ in program.externals] == ["aten.bmm.default"], "no cumsum"
    assert program.num_kernels <= 2
    for _ in range(2):
        for actual, expected in zip(program(x), function(x), strict=True):
            torch.testing.assert_close(actual, expected)
    assert "arange" not in program.lowered


def test_equal_nodes_are_computed_once() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(torch.cumsum(x.exp() + 1, 0) * k for k in range(1, 4))

    x = torch.randn(5, 7)
    program = generate(triptych.normalize(function, [x]))
    assert len(program.externals) == 1, "one cumsum"
    for actual, expected in zip(program(x), function(x), strict=True):
        torch.testing.assert_close(actual, expected)


def test_outputs_that_are_equal_have_memory_of_their_own() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x + 1, x + 1, torch.arange(4) + 2, torch.arange(4) + 2

    x = torch.randn(5)
    program = generate(triptych.normalize(function, [x]))
    first = program(x)
    for value in first:
        value.zero_()
    second = program(x)
    for actual, expected in zip(second, function(x), strict=True):
        assert torch.equal(actual, expected)
    assert len({value.data_ptr() for value in first}) == 4


def test_random_numbers_are_never_folded_or_merged() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand(4) - torch.rand(4)

    x = torch.zeros(4)
    program = generate(triptych.normalize(function, [x]))
    torch.manual_seed(0)
    expected = [function(x), function(x)]
    torch.manual_seed(0)
    actual = [program(x)[0], program(x)[0]]
    assert torch.equal(actual[0], expected[0])
    assert torch.equal(actual[1], expected[1])
    assert not torch.equal(actual[0], actual[1])


def test_a_constant_that_fails_fails_when_called() -> None:
    graph = _C.Graph.parse("""graph late normalized {
  %x: i64[2] = input.user("x")
  %a: i64[4] = aten.arange.start_step(0, 4, dtype=torch.int64)
  %i: i64[2] = aten.arange.start_step(3, 5, dtype=torch.int64)
  %t: i64[2] = aten.index.Tensor(%a, [%i])
  %y: i64[2] = aten.add.Tensor(%x, %t)
  output %y
}
""")
    program = generate(graph)
    with pytest.raises(IndexError):
        program(torch.zeros(2, dtype=torch.int64))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_kernels_compiled_side_by_side(threads: int) -> None:
    from triptych.toolchains import ToolchainError, llvm

    def function(x: torch.Tensor) -> torch.Tensor:
        for step in (torch.sin, lambda y: torch.softmax(y, -1), lambda y: torch.fmod(y, 0.3)):
            x = torch.mm(step(x), x)
        return x

    x = torch.randn(6, 6)
    program = generate(triptych.normalize(function, [x]))
    code = llvm.compile(
        program.text,
        program._code.entries,
        program._code.symbols_needed,
        {"threads": threads},
    )
    assert sorted(code.addresses) == sorted(program._code.entries)
    assert len(set(code.addresses.values())) == len(code.addresses) > 2
    with pytest.raises(ToolchainError, match="LLVM"):
        llvm.compile(
            program.text.replace("ret void", "ret strange", 1),
            program._code.entries,
            program._code.symbols_needed,
            {"threads": threads},
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("columns", [1, 16, 33, 64, 96, 256])
def test_softmax_down_columns(dtype: torch.dtype, columns: int) -> None:
    """Columns side by side, whole lines of them where they divide; special rows among them."""
    x = torch.randn(3, 37, columns).to(dtype)
    x[0, 3] = torch.inf
    x[1, :, 0] = -torch.inf
    x[2, 5, columns // 2] = torch.nan
    program = generate(triptych.normalize(lambda x: torch.softmax(x, 1), [x]))
    torch.testing.assert_close(program(x)[0], torch.softmax(x, 1), equal_nan=True)


@pytest.mark.parametrize("columns", [2, 7, 64, 1000, 70000])
def test_softmax_of_rows_of_unknown_length(columns: int) -> None:
    """Made for short rows, whose exponentials are kept; then met with others."""
    from triptych.normalize import normalize_with_report

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1)

    example = torch.randn(4, 50)
    symbols = {(0, 0): "s0", (0, 1): "s1"}
    graph = normalize_with_report(function, [example], symbols=symbols)[0]
    program = generate(graph)
    assert str(program.kernels[0]).count("exp") == 1
    for x in (torch.randn(3, columns), example):
        torch.testing.assert_close(program(x)[0], function(x))


def test_a_process_may_fork_and_end_while_llvm_loads() -> None:
    script = (
        "import os, torch, triptych\n"
        "triptych.compile(torch.relu)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    x = torch.randn(4)\n"
        "    program = triptych.generate(triptych.normalize(lambda x: x + 1, [x]))\n"
        "    os._exit(0 if torch.equal(program(x)[0], x + 1) else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    for text in (script, "import torch, triptych\ntriptych.compile(torch.relu)\n"):
        done = subprocess.run([sys.executable, "-c", text], timeout=120, check=False)
        assert done.returncode == 0


def special_inputs(count: int, dtype: torch.dtype, kind: str) -> torch.Tensor:
    generator = torch.Generator().manual_seed(count)
    x = torch.randn(count, generator=generator)
    if kind == "ties":
        x = x.round()
    elif kind == "nan":
        x[count // 3] = torch.nan
        x[count - 2] = torch.nan
    elif kind == "infinite":
        x[count // 2 :] = torch.inf
        x[: count // 4] = -torch.inf
    elif kind == "equal":
        x[:] = -torch.inf
    elif kind == "large mean":
        x += 1000
    return x.to(dtype)


@pytest.mark.parametrize("kind", ["", "ties", "nan", "infinite", "equal", "large mean"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int32])
def test_split_positions_and_moments(kind: str, dtype: torch.dtype) -> None:
    """Reductions long enough to be done in parts: first positions, NaNs, means and variances."""
    if dtype == torch.int32 and kind in ("nan", "infinite", "equal"):
        pytest.skip("no such integers")
    for shape in ((100003,), (3, 40000), (2, 131072), (70000, 2), (5000, 64)):
        x = special_inputs(torch.Size(shape).numel(), dtype, kind).reshape(shape)
        for dim in (None, 0, len(shape) - 1):

            def positions(x: torch.Tensor, dim: int | None = dim) -> tuple[torch.Tensor, ...]:
                return x.argmax(dim), x.argmin(dim)

            program = generate(triptych.normalize(positions, [x]))
            for actual, expected in zip(program(x), positions(x), strict=True):
                assert torch.equal(actual, expected), (shape, dim)
            if not dtype.is_floating_point or kind in ("infinite", "equal"):
                continue  # the mean of infinite numbers depends on their order in eager

            def moments(x: torch.Tensor, dim: int | None = dim) -> tuple[torch.Tensor, ...]:
                return torch.var_mean(x, dim)

            program = generate(triptych.normalize(moments, [x]))
            exact = moments(x.double())
            for actual, expected in zip(program(x), exact, strict=True):
                torch.testing.assert_close(actual, expected.to(dtype), equal_nan=True)


def test_positions_and_moments_of_unknown_length() -> None:
    from triptych.normalize import normalize_with_report

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.argmax(), x.argmin(0), *torch.var_mean(x)

    graph = normalize_with_report(function, [torch.randn(100000)], symbols={(0, 0): "s0"})[0]
    program = generate(graph)
    for size in (2, 63, 65, 1000, 99999, 300000):
        x = special_inputs(size, torch.float32, "ties")
        actual, expected = program(x), function(x)
        assert torch.equal(actual[0], expected[0])
        assert torch.equal(actual[1], expected[1])
        torch.testing.assert_close(actual[2:], expected[2:])
