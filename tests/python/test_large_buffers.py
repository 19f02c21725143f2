"""Buffers larger than the caches: stores past them, rows asked for early."""

from __future__ import annotations

import pytest
import torch
from kernel_harness import Case, build, reference, renamed, run

from triptych import _C

STREAM = """kernel stream(in %x: f32[1000], out %y: f32[1001], out %z: bf16[1000]) {
  for i0 in 1000 parallel vector(16) unroll(2) {
    v0 = load %x[i0]
    v1 = const 2.0 : f32
    v2 = mul v0, v1
    store %y[i0 + OFFSET], v2
    v3 = cast v0 : bf16
    store %z[i0], v3
  }
}
"""


@pytest.mark.parametrize("offset", [0, 1])
def test_streaming_stores(offset: int) -> None:
    case = Case(
        STREAM.replace("OFFSET", str(offset)),
        [torch.randn(1000)],
        [(torch.float32, 1001), (torch.bfloat16, 1000)],
        end=1000,
        chunks=3,
    )
    renamed([case])
    reference(case)
    text = _C.write_kernels([case.text], "llvm", vector_bytes=64, streaming_store_bytes=4000)[
        "text"
    ]
    assert text.count("!nontemporal") == 2, "two groups of %y; %z is too small"
    library = build([case], "llvm", streaming_store_bytes=4000)
    run(case, library.addresses[case.entry()], "llvm streaming")


@pytest.mark.parametrize("size", [16, 999, 1000, 4096])
def test_streaming_stores_of_unknown_size(size: int) -> None:
    """From 4000 bytes on past the caches, below that as usual."""
    text = """kernel stream[s0](in %x: f32[s0], out %y: f32[s0], out %z: f32[s0]) {
  for i0 in s0 parallel vector(16) unroll(2) {
    v0 = load %x[i0]
    v1 = const 2.0 : f32
    v2 = mul v0, v1
    store %y[i0], v2
    store %z[i0], v0
  }
}
"""
    outputs = [(torch.float32, size)] * 2
    case = Case(text, [torch.randn(size)], outputs, symbols=[size], end=size, chunks=3)
    renamed([case])
    reference(case)
    traits = {"vector_bytes": 64, "streaming_store_bytes": 4000}
    assert "!nontemporal" in _C.write_kernels([case.text], "llvm", **traits)["text"]
    library = build([case], "llvm", **traits)
    run(case, library.addresses[case.entry()], "llvm streaming")


@pytest.mark.parametrize("rows", [4, 64])
def test_next_row_is_asked_for(rows: int) -> None:
    """While a row of a large input is computed on. The last asks beyond the input: no fault."""
    text = f"""kernel row(in %x: f32[{rows * 40}], out %y: f32[{rows * 40}]) {{
  for i0 in {rows} parallel {{
    for i1 in 40 vector(16) reduce(v1 = max v0) {{
      v0 = load %x[40*i0 + i1]
    }}
    for i2 in 40 vector(16) {{
      v2 = load %x[40*i0 + i2]
      v3 = sub v2, v1
      store %y[40*i0 + i2], v3
    }}
    for i3 in 40 vector(16) {{
      v4 = load %x[40*i0 + i3]
    }}
  }}
}}
"""
    case = Case(text, [torch.randn(rows * 40)], [(torch.float32, rows * 40)], end=rows)
    renamed([case])
    reference(case)
    traits = {"vector_bytes": 64, "l2_bytes": 4000}
    printed = _C.write_kernels([case.text], "llvm", **traits)["text"]
    assert printed.count("call void @llvm.prefetch") == (2 if rows == 64 else 0), "vectors and tail"
    library = build([case], "llvm", **traits)
    run(case, library.addresses[case.entry()], "llvm prefetching")
