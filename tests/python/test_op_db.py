"""Every sample of PyTorch's own operator database, through normalize and generate, against eager.

The first five samples per op and dtype. A sample that eager refuses is left out; a sample that
Triptych cannot compile must say so with a reason code (UnsupportedError), and is then eager's
business: never a wrong answer. With TRIPTYCH_OP_STATUS_DIR set, each op's outcomes are written
there for the status page.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import pathlib
import unittest.mock
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_unflatten

import triptych
from numerics import check_equal, widen

DTYPES = (torch.float32, torch.bfloat16, torch.int64, torch.bool)
MORE_DTYPES = (torch.float16, torch.float64, torch.complex64)
SAMPLES = 5
STATUS_DIR = os.environ.get("TRIPTYCH_OP_STATUS_DIR")
WIDE_DTYPE = {
    torch.float32: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float16: torch.float64,
    torch.complex64: torch.complex128,
}


def _call(op: Any, tensors: list[torch.Tensor], leaves: list[Any], spec: Any) -> Any:
    supply = iter(tensors)
    filled = [next(supply) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    args, kwargs = tree_unflatten(filled, spec)
    # The database seeds some random ops inside the op, which is refused. Callers seed.
    with (
        unittest.mock.patch("torch.manual_seed"),
        unittest.mock.patch("torch.testing._utils.freeze_rng_state", contextlib.nullcontext),
    ):
        return op(*args, **kwargs)


def _eager(op: Any, tensors: list[torch.Tensor], leaves: list[Any], spec: Any) -> Any:
    torch.manual_seed(0)
    with torch.no_grad():
        return _call(op, tensors, leaves, spec)


def _clone(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Copies with the same strides; memory that several of them share is copied once."""
    storages: dict[int, torch.UntypedStorage] = {}
    copies = []
    for tensor in tensors:
        detached = tensor.detach()
        if detached.layout != torch.strided:
            copies.append(detached.clone())
            continue
        storage = detached.untyped_storage()
        key = storage.data_ptr()
        if key not in storages:
            storages[key] = storage.clone()
        copy = torch.empty(0, dtype=detached.dtype).set_(
            storages[key], detached.storage_offset(), detached.size(), detached.stride()
        )
        if detached.is_conj():
            copy = copy.conj()
        if detached.is_neg():
            copy = torch._neg_view(copy)
        copies.append(copy)
    return copies


def _widen_dtypes(leaves: list[Any]) -> list[Any]:
    """A dtype argument asks for that dtype; in the reference it asks for the wide one."""
    return [WIDE_DTYPE.get(x, x) if isinstance(x, torch.dtype) else x for x in leaves]


def _undefined_values(op: Any) -> bool:
    """Ops whose result is uninitialised memory: only that they compile can be tested."""
    return op.name.startswith(("empty", "new_empty"))


def run_sample(op: Any, sample: Any) -> str:
    """Compares one sample with eager; returns "ok", "refused by eager", or the fallback's reason
    code."""
    leaves, spec = tree_flatten(((sample.input, *sample.args), sample.kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    try:
        eager_inputs = _clone(tensors)
        expected = _eager(op, eager_inputs, leaves, spec)
    except Exception:
        return "refused by eager"
    inputs = _clone(tensors)

    def call(*args: torch.Tensor) -> Any:
        return _call(op, list(args), leaves, spec)

    try:
        with torch.no_grad():
            graph = triptych.normalize(call, _clone(tensors))
            # Intermediate values of half overflow in eager: only with eager's rounding the same.
            half = any(t.dtype == torch.float16 for t in tensors)
            compiled = triptych.generate(graph, eager_rounding=half)
    except triptych.errors.UnsupportedError as error:
        return f"fallback: {error.code}"
    torch.manual_seed(0)
    actual = compiled(*inputs)
    if _undefined_values(op):
        return "ok"
    actual_leaves = list(actual) if isinstance(actual, (list, tuple)) else [actual]

    def reference() -> Any:
        wide = _eager(op, widen(_clone(tensors)), _widen_dtypes(leaves), spec)
        return tree_flatten(wide)[0]

    check_equal(actual_leaves, tree_flatten(expected)[0], reference, label=op.name)
    check_equal(inputs, eager_inputs, label=f"{op.name} inputs after the call")
    return "ok"


def name_of(op: Any) -> str:
    return f"{op.name}-{op.variant_test_name}"


def run_op(op: Any, dtypes: tuple[torch.dtype, ...]) -> tuple[dict[str, list[str]], list[str]]:
    """The outcomes of the first samples per dtype, and what is wrong."""
    status: dict[str, list[str]] = {}
    failures: list[str] = []
    for dtype in dtypes:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        torch.manual_seed(0)
        for i, sample in enumerate(itertools.islice(op.sample_inputs("cpu", dtype), SAMPLES)):
            try:
                outcome = run_sample(op, sample)
            except Exception as error:
                outcome = f"wrong: {type(error).__name__}"
                failures.append(f"{dtype} sample {i}: {type(error).__name__}: {error}"[:1500])
            status.setdefault(str(dtype).removeprefix("torch."), []).append(outcome)
    return status, failures


@pytest.mark.parametrize("op", op_db, ids=name_of)
def test_op(op: Any) -> None:
    status, failures = run_op(op, DTYPES)
    if STATUS_DIR:
        row = {"op": op.name, "variant": op.variant_test_name, "samples": status}
        name = f"{op.name}.{op.variant_test_name}".rstrip(".")
        (pathlib.Path(STATUS_DIR) / f"{name}.json").write_text(json.dumps(row))
    assert not failures, "\n".join(failures)


@pytest.mark.sweep
@pytest.mark.parametrize("op", op_db, ids=name_of)
def test_more_dtypes(op: Any) -> None:
    _, failures = run_op(op, MORE_DTYPES)
    assert not failures, "\n".join(failures)


# Spread over the database; in groups, since each capture by Dynamo takes its time.
COMPILED = [op for op in op_db if torch.float32 in op.supported_dtypes("cpu")][::2][:240]
GROUPS = [COMPILED[at : at + 20] for at in range(0, len(COMPILED), 20)]
ENOUGH = 17  # of each group: 204 in all; the others' samples are refused by eager or by Dynamo


def test_two_hundred_samples_are_compiled() -> None:
    assert len(GROUPS) * ENOUGH >= 200


@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_through_torch_compile(group: int) -> None:
    """The first sample of each op through `torch.compile`, Dynamo included."""
    compiled = 0
    failures: list[str] = []
    for op in GROUPS[group]:
        torch.manual_seed(0)
        sample = next(iter(op.sample_inputs("cpu", torch.float32)))
        try:
            compiled += run_compiled(op, sample)
        except Exception as error:
            failures.append(f"{op.name}: {type(error).__name__}: {error}"[:1500])
    assert not failures, "\n".join(failures)
    assert compiled >= ENOUGH


def run_compiled(op: Any, sample: Any) -> bool:
    """Compares with eager; whether the sample was compared at all."""
    leaves, spec = tree_flatten(((sample.input, *sample.args), sample.kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    try:
        eager_inputs = _clone(tensors)
        expected = _eager(op, eager_inputs, leaves, spec)
    except Exception:
        return False
    inputs = _clone(tensors)
    supply = iter(inputs)
    filled = [next(supply) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    args, kwargs = tree_unflatten(filled, spec)
    torch._dynamo.reset()
    function = torch.compile(lambda *a, **k: op.op(*a, **k), backend="triptych")
    torch.manual_seed(0)
    with torch.no_grad(), unittest.mock.patch("torch.manual_seed"):
        try:
            actual = function(*args, **kwargs)
        except torch._dynamo.exc.BackendCompilerFailed:
            raise  # our own
        except torch._dynamo.exc.TorchDynamoException:
            return False
    if _undefined_values(op):
        return True

    def reference() -> Any:
        wide = _eager(op, widen(_clone(tensors)), _widen_dtypes(leaves), spec)
        return tree_flatten(wide)[0]

    check_equal(tree_flatten(actual)[0], tree_flatten(expected)[0], reference, label=op.name)
    check_equal(inputs, eager_inputs, label=f"{op.name} inputs after the call")
    return True
