"""One kernel text, all executors: the reference interpreter, LLVM code of several machines, C++.

Every check compares against the interpreter. C++ kernels are collected and compiled as one file.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from triptych import _C
from triptych.toolchains import Library, cpp, llvm

DTYPES = {
    "bool": torch.bool,
    "u8": torch.uint8,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}
SCRATCH_BYTES = 1 << 20
GUARD = 64  # elements behind each output that must not change

# Machines whose code is printed: a wide one with all that the writer can use on a PC, and one with
# scalar tails and no masks.
MACHINES: dict[str, dict[str, int | bool]] = {
    "wide": {"vector_bytes": 64, "masked_memory": True, "bf16_convert": False},
    "plain": {"vector_bytes": 32, "masked_memory": False, "bf16_convert": False},
}

_FUNCTION = ctypes.CFUNCTYPE(
    None,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_void_p,
)


@dataclass
class Case:
    """A kernel, its inputs, and dtype and size of each output, as its parameters stand."""

    text: str
    inputs: Sequence[torch.Tensor]
    outputs: Sequence[tuple[torch.dtype, int]]
    symbols: Sequence[int] = ()
    end: int = 1
    chunks: int = 1  # calls that share the parallel loop
    ulps: float = 0  # of float results; 0: equal bit for bit, NaNs alike
    absolute: float = 0
    name: str = ""
    error: int = 0
    expected: list[torch.Tensor] = field(default_factory=list)

    def entry(self) -> str:
        return self.text.split("(")[0].split("[")[0].split()[1]

    def fresh_outputs(self) -> list[torch.Tensor]:
        return [
            (torch.arange(size + GUARD) % 7 - 3).to(dtype)
            if dtype != torch.bool
            else torch.zeros(size + GUARD, dtype=dtype)
            for dtype, size in self.outputs
        ]


def pointers(tensors: Sequence[torch.Tensor]) -> list[int]:
    return [tensor.data_ptr() for tensor in tensors]


def chunk_multiple(text: str) -> int:
    """What a launcher's chunks begin at multiples of: whole vectors of the parallel loop."""
    found = re.search(r"parallel vector\((\d+)\)(?: unroll\((\d+)\))?", text)
    return int(found[1]) * int(found[2] or 1) if found else 1


def call(address: int, case: Case, tensors: Sequence[torch.Tensor]) -> int:
    """Runs the kernel at `address`; its error word."""
    addresses = pointers(tensors)
    buffers = (ctypes.c_void_p * len(addresses))(*addresses)
    symbols = (ctypes.c_int64 * max(1, len(case.symbols)))(*case.symbols)
    error = ctypes.c_int32(0)
    scratch = ctypes.create_string_buffer(SCRATCH_BYTES + 64)
    aligned = (ctypes.addressof(scratch) + 63) // 64 * 64
    multiple = chunk_multiple(case.text)
    step = max(1, math.ceil(case.end / case.chunks / multiple) * multiple)
    for begin in range(0, max(case.end, 1), step):
        end = min(begin + step, case.end)
        _FUNCTION(address)(
            ctypes.addressof(buffers),
            ctypes.addressof(symbols),
            begin,
            end,
            ctypes.addressof(error),
            aligned,
        )
    return error.value


def reference(case: Case) -> None:
    outputs = case.fresh_outputs()
    case.error = _C.interpret_kernel(
        case.text, pointers([*case.inputs, *outputs]), list(case.symbols)
    )
    case.expected = outputs


def ulps_apart(found: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Distance in units in the last place of the dtype at `expected`."""
    info = torch.finfo(expected.dtype)
    _, exponent = torch.frexp(expected.double().abs())
    unit = torch.ldexp(torch.ones(len(expected), dtype=torch.float64), exponent - 1) * info.eps
    unit = unit.clamp(min=info.tiny * info.eps)
    distance = (found.double() - expected.double()).abs() / unit
    same = (found == expected) | (found.isnan() & expected.isnan())
    return torch.where(same, 0.0, distance.nan_to_num(nan=math.inf))


def compare(case: Case, found: Sequence[torch.Tensor], error: int, where: str) -> None:
    label = f"{case.name or case.entry()} on {where}"
    assert error == case.error, f"{label}: error word {error}, expected {case.error}\n{case.text}"
    if error:
        return
    for k, (got, want) in enumerate(zip(found, case.expected, strict=True)):
        if want.dtype.is_floating_point:
            absolute = case.absolute
            wrong = (ulps_apart(got, want) > case.ulps) & ~(
                (got.double() - want.double()).abs() <= absolute
            )
            wrong |= (got == 0) & (want == 0) & (torch.signbit(got) != torch.signbit(want))
        else:
            wrong = got != want
        if wrong.any():
            at = int(wrong.nonzero()[0])
            inputs = [t.flatten()[at].item() for t in case.inputs if t.numel() > at]
            raise AssertionError(
                f"{label}: output {k}, element {at} of {len(want)} ({int(wrong.sum())} wrong): "
                f"found {got[at].item()!r}, expected {want[at].item()!r}, "
                f"inputs there {inputs}\n{case.text}"
            )


def run(case: Case, address: int, where: str) -> None:
    outputs = case.fresh_outputs()
    error = call(address, case, [*case.inputs, *outputs])
    compare(case, outputs, error, where)


def renamed(cases: Sequence[Case]) -> None:
    """Distinct entry names, so that the cases form one module."""
    for k, case in enumerate(cases):
        case.name = case.name or case.entry()
        case.text = case.text.replace(f"kernel {case.entry()}", f"kernel case{k}", 1)


def build(cases: Sequence[Case], language: str, **traits: int | bool) -> Library:
    module = _C.write_kernels([case.text for case in cases], language, **traits)
    toolchain = llvm if language == "llvm" else cpp
    return toolchain.compile(module["text"], module["entries"], module["externals"])


def check(cases: Sequence[Case], languages: Sequence[str] = ("llvm", "cpp")) -> None:
    """All cases on all executors against the interpreter."""
    renamed(cases)
    for case in cases:
        reference(case)
    libraries: dict[str, Library] = {}
    if "llvm" in languages:
        libraries = {f"llvm {name}": build(cases, "llvm", **m) for name, m in MACHINES.items()}
    if "cpp" in languages:
        libraries["cpp"] = build(cases, "cpp")
    failures = []
    for where, library in libraries.items():
        for case in cases:
            try:
                run(case, library.addresses[case.entry()], where)
            except AssertionError as failure:
                failures.append(str(failure))
    assert not failures, f"{len(failures)} of {len(cases)} cases failed:\n" + "\n".join(
        failures[:20]
    )
