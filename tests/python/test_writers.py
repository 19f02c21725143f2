"""Writers against the reference interpreter: scalar ops, casts, reductions, memory access.

Each test runs its kernels on every executor of kernel_harness.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from kernel_harness import DTYPES, Case, check

import triptych
from triptych import _C

INTEGERS = ("u8", "i8", "i16", "i32", "i64")
FLOATS = ("f32", "f64")
N = 67  # a full pair of vectors, and a tail
SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    3.0,
    math.inf,
    -math.inf,
    math.nan,
    1e-40,
    -1e-40,
    1e30,
    -1e30,
)
# Ops whose meaning for all arguments is exact in every executor.
ROUNDED = {
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
}
ROUNDED |= {
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "atan2",
    "hypot",
    "erf",
    "erfc",
}
ROUNDED |= {"erfinv", "lgamma", "digamma", "sigmoid", "i0", "pow", "rsqrt"}
LOOPS = {"vector": "vector(16) unroll(2)", "serial": ""}


def values(dtype: str, seed: int, count: int = N) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    torch_dtype = DTYPES[dtype]
    if dtype == "bool":
        return torch.randint(0, 2, (count,), generator=generator).bool()
    if torch_dtype.is_floating_point:
        x = torch.randn(count, generator=generator, dtype=torch.float64) * 3
        special = torch.tensor(SPECIAL, dtype=torch.float64)
        at = torch.randperm(count, generator=generator)[: len(SPECIAL)]
        x[at] = special[: len(at)]
        return x.to(torch_dtype)
    info = torch.iinfo(torch_dtype)
    x = torch.randint(max(info.min, -20), min(info.max, 20), (count,), generator=generator)
    wide = torch.randint(info.min, info.max, (count,), generator=generator)
    x = torch.where(torch.rand(count, generator=generator) < 0.3, wide, x).to(torch_dtype)
    x[:4] = torch.tensor([info.min, info.max, 0, 1], dtype=torch_dtype)
    return x[torch.randperm(count, generator=generator)]


def pointwise(
    name: str, inputs: Sequence[str], output: str, body: Sequence[str], loop: str, n: int = N
) -> str:
    """`body` computes v<len(inputs)>... from v0, v1, ...; the last one defined is stored."""
    parameters = [f"in %x{k}: {dtype}[{n}]" for k, dtype in enumerate(inputs)]
    parameters.append(f"out %y: {output}[{n}]")
    lines = [f"v{k} = load %x{k}[i0]" for k in range(len(inputs))]
    lines += body
    last = body[-1].split()[0]
    text = "\n    ".join([*lines, f"store %y[i0], {last}"])
    head = f"kernel {name}({', '.join(parameters)})"
    return f"{head} {{\n  for i0 in {n} {loop} {{\n    {text}\n  }}\n}}\n"


def op_cases() -> list[Case]:
    cases = []
    for op, arity, bool_result, floats_only in _C.scalar_ops():
        if arity < 1 or op in ("cast", "bitcast", "select"):
            continue
        dtypes = FLOATS if floats_only else (*FLOATS, *INTEGERS, "bool")
        for dtype, (kind, loop) in itertools.product(dtypes, LOOPS.items()):
            if not _defined(op, dtype, bool_result):
                continue
            output = "bool" if bool_result else dtype
            arguments = ", ".join(f"v{k}" for k in range(arity))
            text = pointwise(op, [dtype] * arity, output, [f"v{arity} = {op} {arguments}"], loop)
            inputs = [values(dtype, 10 * k + len(op)) for k in range(arity)]
            cases.append(
                Case(
                    text,
                    inputs,
                    [(DTYPES[output], N)],
                    ulps=_tolerance(op, dtype),
                    name=f"{op} {dtype} {kind}",
                )
            )
    return cases


def _defined(op: str, dtype: str, bool_result: bool) -> bool:
    if dtype == "bool":
        return bool_result or op in {
            "bit_and",
            "bit_or",
            "bit_xor",
            "bit_not",
            "min",
            "max",
            "add",
            "mul",
        }
    if dtype in FLOATS:
        return not (op.startswith("bit_") or op.startswith("shift_"))
    return op not in {"reciprocal", "isinf", "copysign", "nextafter", "div"}


def _tolerance(op: str, dtype: str) -> float:
    if op in {"erfinv", "digamma", "lgamma", "i0"}:
        return 8
    if op in {"erf", "tanh"} and dtype == "f32":
        return 6  # 3e-7 below 1, where a unit in the last place is 6e-8
    return 2.5 if op in ROUNDED else 0


def test_scalar_ops() -> None:
    check(op_cases())


def test_casts() -> None:
    cases = []
    names = list(DTYPES)
    for source, target in itertools.product(names, names):
        for kind, loop in LOOPS.items():
            text = pointwise("cast", [source], target, [f"v1 = cast v0 : {target}"], loop)
            x = values(source, 3)
            if source in ("f32", "f64"):
                x[:8] = torch.tensor(
                    [3e9, -3e9, 1e19, 300.7, -129.5, 2147483647.5, -2147483648.5, 65519.9]
                )
            cases.append(
                Case(text, [x], [(DTYPES[target], N)], name=f"{source} to {target} {kind}")
            )
    check(cases)


REDUCTIONS = {
    "sum": ("f32", "f64", "i64", "i32"),
    "prod": ("f32", "f64", "i64"),
    "min": ("f32", "f64", "i64", "i32", "u8", "bool"),
    "max": ("f32", "f64", "i64", "i32", "i8", "bool"),
    "any": ("bool",),
    "all": ("bool",),
    "argmin": ("f32", "f64", "i64", "i32", "u8"),
    "argmax": ("f32", "f64", "i64", "i32", "bool"),
    "welford": ("f32", "f64"),
}
SIZES = (0, 1, 5, 16, 67, 128, 300)


def results_of(op: str, dtype: str) -> list[str]:
    if op == "welford":
        return [dtype, dtype]
    return [dtype, "i64"] if op.startswith("arg") else [dtype]


def reduction_input(op: str, dtype: str, rows: int, columns: int, seed: int) -> torch.Tensor:
    """Values whose reduction is exact in any order, except for sums and products of floats."""
    generator = torch.Generator().manual_seed(seed)
    count = rows * columns
    if dtype == "bool":
        return torch.rand(count, generator=generator) < (0.02 if op in ("any", "argmax") else 0.98)
    x = torch.randint(0, 100, (count,), generator=generator)
    if DTYPES[dtype].is_floating_point:
        values = x.to(DTYPES[dtype]) - 50
        if op == "prod":
            values = 1 + values / 5000
        elif op not in ("sum", "welford") and count and seed % 3 == 0:
            values[torch.randint(0, count, (3,), generator=generator)] = math.nan
        elif op not in ("sum", "welford") and seed % 3 == 1:
            values = torch.full_like(values, -math.inf if "max" in op else math.inf)
        return values
    return (x - (50 if dtype != "u8" else 0)).to(DTYPES[dtype])


def reduction_case(op: str, dtype: str, columns: int, loop: str, along: str, seed: int) -> Case:
    rows = 5 if along == "row" else 37
    if along == "row":
        index, outer, inner, rows_loop = f"{columns}*i0 + i1", rows, columns, "parallel"
    else:
        index, outer, inner, rows_loop = f"i0 + {rows}*i1", rows, columns, loop
        loop = ""
    results = results_of(op, dtype)
    names = ", ".join(f"v{k + 1}" for k in range(len(results)))
    outs = ", ".join(f"out %y{k}: {d}[{outer}]" for k, d in enumerate(results))
    stores = "\n    ".join(f"store %y{k}[i0], v{k + 1}" for k in range(len(results)))
    text = f"""kernel {op}(in %x: {dtype}[{max(1, rows * columns)}], {outs}) {{
  for i0 in {outer} {rows_loop} {{
    for i1 in {inner} {loop} reduce({names} = {op} v0) {{
      v0 = load %x[{index}]
    }}
    {stores}
  }}
}}
"""
    floats = dtype in FLOATS
    return Case(
        text,
        [reduction_input(op, dtype, rows, columns, seed)],
        [(DTYPES[d], outer) for d in results],
        end=outer,
        chunks=2 if along == "row" else 1,
        ulps=64 if floats and op in ("sum", "prod", "welford") else 0,
        absolute=1e-3 if floats and op in ("sum", "welford") else 0,
        name=f"{op} {dtype} {columns} {along}",
    )


@pytest.mark.parametrize("along", ["row", "column"])
def test_reductions(along: str) -> None:
    cases = []
    for seed, (op, columns) in enumerate(itertools.product(REDUCTIONS, SIZES)):
        for dtype in REDUCTIONS[op]:
            if columns == 0 and (
                op in ("min", "max") and dtype not in FLOATS or op.startswith("arg")
            ):
                continue  # no value exists; lowering refuses where eager raises
            loop = "vector(16) unroll(4)" if seed % 4 else ""
            cases.append(reduction_case(op, dtype, columns, loop, along, seed))
    check(cases)


ACCESSES = {
    "contiguous": ("i0", 1),
    "shifted": ("i0 + 3", 1),
    "strided": ("3*i0", 3),
    "reversed": ("66 - i0", 1),
    "same": ("5", 1),
    "folded": ("mod(i0, 7) + 10*floordiv(i0, 7)", 2),
    "clamped": ("min(i0, 40)", 1),
    "both": ("max(i0 - 5, 0)", 1),
}


def test_loads_and_stores() -> None:
    cases = []
    for (access, (index, scale)), dtype in itertools.product(ACCESSES.items(), DTYPES):
        size = N * scale + 3
        for loop in ("vector(16) unroll(2)", "vector(16)"):
            text = f"""kernel load(in %x: {dtype}[{size}], out %y: {dtype}[{N}]) {{
  for i0 in {N} {loop} {{
    v0 = load %x[{index}]
    store %y[i0], v0
  }}
}}
"""
            x = values(dtype, 5, size)
            cases.append(Case(text, [x], [(DTYPES[dtype], N)], name=f"load {access} {dtype}"))
        if access in ("strided", "reversed", "shifted", "folded"):
            text = f"""kernel store(in %x: {dtype}[{N}], out %y: {dtype}[{size}]) {{
  for i0 in {N} vector(16) unroll(2) {{
    v0 = load %x[i0]
    store %y[{index}], v0
  }}
}}
"""
            x = values(dtype, 6, N)
            cases.append(Case(text, [x], [(DTYPES[dtype], size)], name=f"store {access} {dtype}"))
    check(cases)


def test_transposed_and_broadcast() -> None:
    text = """kernel transpose(in %x: f32[1147], in %b: f32[37], out %y: f32[1147]) {
  for i0 in 31 parallel {
    for i1 in 37 vector(16) unroll(2) {
      v0 = load %x[31*i1 + i0]
      v1 = load %b[i1]
      v2 = load %b[i0]
      v3 = add v0, v1
      v4 = mul v3, v2
      store %y[37*i0 + i1], v4
    }
  }
}
"""
    x, b = torch.randn(37 * 31), torch.randn(37)
    check([Case(text, [x, b], [(torch.float32, 37 * 31)], end=31, chunks=3)])


GATHER = """kernel gather[s0](in %table: f32[20*s0], in %at: i64[s0], out %y: f32[6*s0]) {
  for i0 in s0 parallel {
    v0 = load %at[i0]
    v1 = const 0 : i64
    v2 = const 20 : i64
    v3 = ge v0, v1
    v4 = lt v0, v2
    v5 = logical_and v3, v4
    check v5, index_out_of_range
    for i1 in 6 vector(16) {
      v6 = load %table[6*v0 + i1]
      store %y[6*i0 + i1], v6
    }
  }
}
"""
GATHER_LANES = """kernel lanes(
  in %table: f32[20], in %at: i64[67], in %by: i64[67], out %y: f32[67], out %z: i64[67]) {
  for i0 in 67 parallel vector(16) unroll(2) {
    v0 = load %at[i0]
    v1 = const 0 : i64
    v2 = const 20 : i64
    v3 = ge v0, v1
    v4 = lt v0, v2
    v5 = logical_and v3, v4
    check v5, index_out_of_range
    v6 = load %table[v0]
    store %y[i0], v6
    v7 = load %by[i0]
    v8 = ne v7, v1
    check v8, division_by_zero
    v9 = floor_div v0, v7
    store %z[i0], v9
  }
}
"""


def test_indirect_and_checks() -> None:
    table = torch.randn(400)
    cases = []
    for bad in (None, 20, -1):
        at = torch.randint(0, 20, (20,))
        if bad is not None:
            at[13] = bad
        cases.append(Case(GATHER, [table, at], [(torch.float32, 120)], symbols=[20], end=20))
    for index, divisor in ((None, None), (20, None), (-7, None), (None, 0)):
        for position in (3, 66):
            at, by = torch.randint(0, 20, (N,)), torch.randint(1, 5, (N,))
            if index is not None:
                at[position] = index
            if divisor is not None:
                by[position] = divisor
            outputs = [(torch.float32, N), (torch.int64, N)]
            cases.append(Case(GATHER_LANES, [table[:20].clone(), at, by], outputs, end=N))
    check(cases)


SOFTMAX = """kernel softmax[s0, s1](in %x: bf16[s0*s1], out %y: bf16[s0*s1]) {
  local %t: f32[s1]
  local %u: f32[s1]
  for i0 in s0 parallel {
    for i1 in s1 vector(16) unroll(4) reduce(v2 = max v1) {
      v0 = load %x[i0*s1 + i1]
      v1 = cast v0 : f32
      store %u[i1], v1
    }
    for i2 in s1 vector(16) unroll(2) reduce(v6 = sum v5) {
      v3 = load %u[i2]
      v4 = sub v3, v2
      v5 = exp v4
      store %t[i2], v5
    }
    for i3 in s1 vector(16) unroll(4) {
      v7 = load %t[i3]
      v8 = div v7, v6
      v9 = cast v8 : bf16
      store %y[i0*s1 + i3], v9
    }
  }
}
"""


def test_symbolic_softmax_with_locals() -> None:
    cases = []
    for rows, columns in ((1, 1), (3, 7), (4, 64), (5, 100), (2, 333)):
        x = (torch.randn(rows * columns) * 4).bfloat16()
        cases.append(
            Case(
                SOFTMAX,
                [x],
                [(torch.bfloat16, rows * columns)],
                symbols=[rows, columns],
                end=rows,
                chunks=2,
                ulps=1,
            )
        )
    check(cases)
    x, y = cases[-1].inputs[0], cases[-1].expected[0][: 2 * 333]
    torch.testing.assert_close(y.view(2, 333), torch.softmax(x.view(2, 333), 1))


def test_parallel_vector_chunks() -> None:
    text = """kernel add[s0](
  in %a: f32[s0], in %b: f64[s0], in %c: u8[s0], out %y: f64[s0], out %z: bool[s0]) {
  for i0 in s0 parallel vector(16) unroll(4) {
    v0 = load %a[i0]
    v1 = cast v0 : f64
    v2 = load %b[i0]
    v3 = add v1, v2
    v4 = load %c[i0]
    v5 = cast v4 : f64
    v6 = mul v3, v5
    store %y[i0], v6
    v7 = lt v1, v2
    store %z[i0], v7
    v8 = index [i0]
  }
}
"""
    cases = []
    for n, chunks in ((1, 1), (64, 1), (100, 3), (1000, 4)):
        inputs = [
            torch.randn(n),
            torch.randn(n, dtype=torch.float64),
            values("u8", 4, max(n, 20))[:n],
        ]
        outputs = [(torch.float64, n), (torch.bool, n)]
        cases.append(Case(text, inputs, outputs, symbols=[n], end=n, chunks=chunks))
    check(cases)


def test_streams_of_mixed_index() -> None:
    text = """kernel iota(out %y: f32[670], out %z: i64[670]) {
  for i0 in 10 parallel {
    for i1 in 67 vector(16) unroll(2) {
      v0 = index [67*i0 + i1]
      v1 = cast v0 : f32
      store %y[67*i0 + i1], v1
      v2 = index [mod(67*i0 + i1, 13) - floordiv(i1, 5)*i0]
      store %z[67*i0 + i1], v2
    }
  }
}
"""
    check([Case(text, [], [(torch.float32, 670), (torch.int64, 670)], end=10)])


def test_parallel_loops_of_whole_vectors() -> None:
    """A constant number of whole vectors: no masks and no tail, whatever the chunks."""
    text = """kernel whole(in %a: f32[COUNT], out %y: f32[COUNT], out %z: bf16[COUNT]) {
  for i0 in COUNT parallel vector(16) unroll(UNROLL) {
    v0 = load %a[i0]
    v1 = erf v0
    store %y[i0], v1
    v2 = cast v0 : bf16
    store %z[i0], v2
  }
}
"""
    cases = []
    for count, unroll, chunks in ((16, 1, 1), (64, 2, 2), (960, 4, 4), (960, 1, 7), (976, 2, 3)):
        of_size = text.replace("COUNT", str(count)).replace("UNROLL", str(unroll))
        outputs = [(torch.float32, count), (torch.bfloat16, count)]
        cases.append(
            Case(
                of_size,
                [values("f32", count, max(count, 20))[:count]],
                outputs,
                end=count,
                chunks=chunks,
                ulps=4,
                absolute=1e-37,
            )
        )
    check(cases)
    texts = [case.text for case in cases]
    wide = [
        _C.write_kernels([one], "llvm", vector_bytes=64, masked_memory=True)["text"]
        for one in texts
    ]
    assert ["masked" in one for one in wide] == [False, False, False, False, True]


def test_fmod_of_far_apart_numbers() -> None:
    """Exact for quotients of any size, around whole ones, for tiny and infinite numbers."""
    cases = []
    for dtype, lanes in (("f32", 16), ("f64", 8)):
        torch_dtype = DTYPES[dtype]
        info = torch.finfo(torch_dtype)
        generator = torch.Generator().manual_seed(3)
        count = 4096
        exponents = torch.randint(-60, 60, (2, count), generator=generator)
        mantissas = torch.randn(2, count, generator=generator, dtype=torch.float64)
        a, b = (mantissas * torch.pow(2.0, exponents.double())).to(torch_dtype)
        whole = torch.randint(1, 1 << 20, (count,), generator=generator).to(torch_dtype)
        near = (b * whole).clone()
        steps = torch.tensor([math.inf, -math.inf], dtype=torch_dtype)
        near[::3] = torch.nextafter(near[::3], steps[0])
        near[1::3] = torch.nextafter(near[1::3], steps[1])
        special = torch.tensor(
            [0.0, -0.0, math.inf, -math.inf, math.nan, info.tiny / 8, -info.tiny, info.max, 1.0],
            dtype=torch_dtype,
        )
        x = torch.cat([a, near, special.repeat(len(special))])
        y = torch.cat([b, b, special.repeat_interleave(len(special))])
        n = x.numel()
        for op in ("fmod", "remainder"):
            array = f"{dtype}[{n}]"
            text = f"""kernel {op}(in %a: {array}, in %b: {array}, out %y: {array}) {{
  for i0 in {n} parallel vector({lanes}) {{
    v0 = load %a[i0]
    v1 = load %b[i0]
    v2 = {op} v0, v1
    store %y[i0], v2
  }}
}}
"""
            cases.append(Case(text, [x, y], [(torch_dtype, n)], end=n, chunks=2))
    check(cases)


@pytest.mark.parametrize("op", ["sin", "cos"])
def test_sine_and_cosine_of_any_size(op: str) -> None:
    """Near 0, near multiples of pi/2, at the limit of the short reduction and beyond."""
    generator = torch.Generator().manual_seed(5)
    parts = [torch.randn(4000, generator=generator) * scale for scale in (1e-3, 1, 30, 9e3, 1e6)]
    halves = (torch.arange(-9000, 9000, 7, dtype=torch.float64) * (math.pi / 2)).float()
    limit = torch.tensor([30000.0, -30000.0, 30000.004, 0.0, -0.0, 1e38, math.inf, math.nan, 1e-42])
    x = torch.cat([*parts, halves, limit])
    n = x.numel()
    text = f"""kernel one(in %a: f32[{n}], out %y: f32[{n}]) {{
  for i0 in {n} parallel vector(16) {{
    v0 = load %a[i0]
    v1 = {op} v0
    store %y[i0], v1
  }}
}}
"""
    case = Case(text, [x], [(torch.float32, n)], end=n, ulps=2)
    check([case], languages=("llvm",))
    zeros = case.expected[0][:n][x == 0]
    assert torch.equal(torch.signbit(zeros), torch.signbit(getattr(torch, op)(x[x == 0])))


def test_bf16_results_that_need_no_rounding() -> None:
    """Every bf16, NaNs and denormals among them, through what passes values on; beside sums."""
    every = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16)
    x = every.view(torch.bfloat16)
    y = x.flip(0).roll(77)
    n = x.numel()
    names = [f"y{k}" for k in range(5)]
    outputs = ", ".join(f"out %{name}: bf16[{n}]" for name in names)
    stores = "\n".join(f"    v{20 + k} = cast v{10 + k} : bf16" for k in range(5))
    stores += "\n" + "\n".join(f"    store %y{k}[i0], v{20 + k}" for k in range(5))
    text = f"""kernel pass(in %a: bf16[{n}], in %b: bf16[{n}], {outputs}) {{
  for i0 in {n} parallel vector(16) unroll(2) {{
    v0 = load %a[i0]
    v1 = cast v0 : f32
    v2 = load %b[i0]
    v3 = cast v2 : f32
    v4 = const 0.0 : f32
    v5 = const 0.1 : f32
    v10 = max v1, v4
    v6 = lt v1, v3
    v11 = select v6, v1, v3
    v12 = neg v3
    v13 = add v1, v3
    v14 = min v1, v5
{stores}
  }}
}}
"""
    check([Case(text, [x, y], [(torch.bfloat16, n)] * 5, end=n, chunks=3)])


@pytest.mark.parametrize("loop", ["vector(16) unroll(2)", ""])
def test_sums_of_bf16_are_rounded_once(loop: str) -> None:
    """259 ones are 260, the nearest bf16 with an even last digit; cut it would be 258."""
    text = f"""kernel sums(in %a: bf16[518], out %y: bf16[2], out %z: bf16[2], out %m: bf16[2]) {{
  for i0 in 2 parallel {{
    for i1 in 259 {loop} reduce(v2 = sum v1; v3, v4 = welford v1; v5 = max v1) {{
      v0 = load %a[259*i0 + i1]
      v1 = cast v0 : f32
    }}
    v6 = cast v2 : bf16
    store %y[i0], v6
    v7 = cast v4 : bf16
    store %z[i0], v7
    v8 = cast v5 : bf16
    store %m[i0], v8
  }}
}}
"""
    x = torch.cat([torch.ones(259), torch.arange(259.0) % 3]).bfloat16()
    case = Case(text, [x], [(torch.bfloat16, 2)] * 3, end=2)
    check([case])
    assert case.expected[0][0] == 260


def test_one_scalar_in_loops_of_several_widths() -> None:
    """A broadcast belongs to its width: sibling loops of other widths have their own."""
    text = """kernel widths(in %x: f32[42], in %c: f32[1], in %b: u8[1], OUTPUTS) {
  v0 = load %c[0]
  v1 = load %b[0]
  v2 = bitcast v1 : i8
  for i3 in 3 {
    for i0 in 2 vector(2) {
      v3 = load %x[14*i3 + i0]
      v4 = mul v3, v0
      store %y[14*i3 + i0], v4
      v5 = cast v3 : i32
      v6 = cast v1 : i32
      v7 = add v5, v6
      store %z[14*i3 + i0], v7
    }
    for i1 in 4 vector(4) {
      v8 = load %x[14*i3 + i1 + 2]
      v9 = mul v8, v0
      store %y[14*i3 + i1 + 2], v9
      v10 = cast v8 : i32
      v11 = cast v2 : i32
      v12 = add v10, v11
      store %z[14*i3 + i1 + 2], v12
    }
    for i2 in 8 vector(4) {
      v13 = load %x[14*i3 + i2 + 6]
      v14 = mul v13, v0
      store %y[14*i3 + i2 + 6], v14
      v15 = cast v13 : i32
      v16 = cast v1 : i32
      v17 = add v15, v16
      store %z[14*i3 + i2 + 6], v17
    }
  }
}
"""
    text = text.replace("OUTPUTS", "out %y: f32[42], out %z: i32[42]")
    inputs = [torch.randn(42), torch.tensor([2.5]), torch.tensor([200], dtype=torch.uint8)]
    check([Case(text, inputs, [(torch.float32, 42), (torch.int32, 42)])])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("loop", ["vector(16) unroll(2)", ""])
def test_extremes_of_zeros_are_the_first_operand(dtype: str, loop: str) -> None:
    """As in eager: relu(-0) is -0. Also beside a literal, which drops the check for NaN."""
    text = f"""kernel zeros(in %a: {dtype}[40], in %b: {dtype}[40], OUTPUTS) {{
  for i0 in 40 {loop} {{
    v0 = load %a[i0]
    v1 = load %b[i0]
    v2 = const 0.0 : {dtype}
"""
    made = [(op, "v1") for op in ("min", "max", "fmin", "fmax")] + [("min", "v2"), ("max", "v2")]
    for k, (op, other) in enumerate(made):
        text += f"    v{3 + k} = {op} v0, {other}\n    store %y{k}[i0], v{3 + k}\n"
    outputs = ", ".join(f"out %y{k}: {dtype}[40]" for k in range(len(made)))
    text = text.replace("OUTPUTS", outputs) + "  }\n}\n"
    a = torch.tensor([0.0, 0.0, -0.0, -0.0, math.nan], dtype=DTYPES[dtype]).repeat(8)
    b = torch.tensor([0.0, -0.0, 0.0, -0.0], dtype=DTYPES[dtype]).repeat(10)
    case = Case(text, [a, b], [(DTYPES[dtype], 40)] * len(made))
    check([case])
    for result in case.expected:
        at = ~a.isnan()
        assert torch.equal(torch.signbit(result[:40][at]), torch.signbit(a[at]))


@pytest.mark.parametrize("half", ["bf16", "f16"])
@pytest.mark.parametrize("loop", ["vector(16) unroll(2)", ""])
def test_rounding_through_bits(half: str, loop: str) -> None:
    """What a cast that the program asks for becomes: no executor may take the wider value."""
    text = f"""kernel bits(in %x: f32[{N}], out %y: f32[{N}]) {{
  for i0 in {N} {loop} {{
    v0 = load %x[i0]
    v1 = cast v0 : {half}
    v2 = bitcast v1 : i16
    v3 = bitcast v2 : {half}
    v4 = cast v3 : f32
    v5 = sub v0, v4
    store %y[i0], v5
  }}
}}
"""
    x = values("f32", 5)
    case = Case(text, [x], [(torch.float32, N)])
    check([case])
    rest = x - x.to(DTYPES[half]).float()
    assert torch.equal(case.expected[0][:N].nan_to_num(), rest.nan_to_num())


@pytest.mark.parametrize("function", [torch.relu, lambda x: x.clamp(0, 1)])
def test_literals_are_not_asked_whether_they_are_nan(function: Any) -> None:
    x = torch.tensor([1.0, -1, 0, -0.0, float("nan"), float("inf")] * 9)
    program = triptych.generate(triptych.normalize(function, (x,)))
    assert not re.search(r"fcmp uno [^,%]*, [^,%]*$", program.text, re.MULTILINE)
    torch.testing.assert_close(program(x)[0], function(x), equal_nan=True)


def test_bound_that_is_nan() -> None:
    """Makes everything NaN, as in eager since torch 2.12, which had no one rule for it before."""
    x = torch.tensor([1.0, -1, float("nan")])
    nan = torch.full((3,), float("nan"))
    number = torch.tensor([2.0, 2, float("nan")])
    for function, expected in (
        (lambda x: x.clamp(min=float("nan")), nan),
        (lambda x: x.clamp(max=float("nan")), nan),
        (lambda x: torch.fmax(x, x * 0 + 2), number),
    ):
        program = triptych.generate(triptych.normalize(function, (x,)))
        torch.testing.assert_close(program(x)[0], expected, equal_nan=True)
