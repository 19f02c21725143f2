"""Runs every op's shape rule beside the op itself and collects where their metadata differ."""

from __future__ import annotations

import itertools
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

TABLE = Path(__file__).resolve().parents[2] / "src" / "ops" / "table"


def table_rows() -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for path in sorted(TABLE.glob("*.toml")):
        for name, row in tomllib.loads(path.read_text()).items():
            rows[name.removeprefix("aten.")] = row
    return rows


def op_key(func: torch._ops.OpOverload) -> str:
    return str(func).removeprefix("aten.")


def dtype_of(name: str) -> torch.dtype:
    names = {
        "Float": torch.float32, "Double": torch.float64, "Half": torch.float16,
        "BFloat16": torch.bfloat16, "Long": torch.int64, "Int": torch.int32,
        "Short": torch.int16, "Char": torch.int8, "Byte": torch.uint8, "Bool": torch.bool,
        "ComplexFloat": torch.complex64, "ComplexDouble": torch.complex128,
        "ComplexHalf": torch.complex32,
    }  # fmt: skip
    return names.get(name, name)


def flat_tensors(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [t for part in result for t in flat_tensors(part)]
    return [result]


def found_and_expected(described: Any, real: Any) -> tuple[Any, Any]:
    """The rule's metadata and the real tensor's, as comparable tuples."""
    if real is None or not isinstance(real, torch.Tensor):
        return described, None
    expected = (tuple(real.shape), real.stride(), real.dtype, real.device.type)
    if described is None:
        return None, expected
    found = (
        tuple(described["size"]),
        tuple(described["stride"]),
        dtype_of(described["dtype"]),
        described["device"].split(":")[0],
    )
    if described["alias_of"] >= 0:
        found += (described["storage_offset"],)
        expected += (real.storage_offset(),)
    return found, expected


class RuleChecker(TorchDispatchMode):
    def __init__(self, apply_shape_rule, rows=None):
        super().__init__()
        self.apply = apply_shape_rule
        self.rows = rows or table_rows()
        self.checked: Counter[str] = Counter()
        self.mismatches: dict[str, list[str]] = {}
        self.without_rule: Counter[str] = Counter()

    def describe(self, func, args, kwargs) -> str:
        def show(x):
            if isinstance(x, torch.Tensor):
                return f"{x.dtype}{list(x.shape)}:{list(x.stride())}"
            if isinstance(x, (list, tuple)):
                return "[" + ", ".join(show(y) for y in x) + "]"
            return repr(x)

        parts = [show(a) for a in args] + [f"{k}={show(v)}" for k, v in kwargs.items()]
        return f"{op_key(func)}({', '.join(parts)})"

    def report(self, key: str, text: str) -> None:
        self.mismatches.setdefault(key, []).append(text)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func.namespace != "aten":
            return func(*args, **kwargs)
        key = op_key(func)
        rule = self.rows.get(key, {}).get("shape")
        if rule is None:
            self.without_rule[key] += 1
            return func(*args, **kwargs)
        shown = self.describe(func, args, kwargs)
        described, error = None, None
        try:
            name, overload = func._schema.name, func._schema.overload_name
            described = self.apply(rule, name, overload, tuple(args), dict(kwargs))
        except Exception as e:  # noqa: BLE001 - any difference from eager is a finding
            error = e
        result = func(*args, **kwargs)
        self.checked[key] += 1
        if error is not None:
            self.report(key, f"{shown}: rule raised {type(error).__name__}: {str(error)[:200]}")
            return result
        reals = flat_tensors(result)
        if len(reals) != len(described):
            self.report(key, f"{shown}: {len(described)} results, eager {len(reals)}")
            return result
        for i, (one, real) in enumerate(zip(described, reals, strict=True)):
            found, expected = found_and_expected(one, real)
            if found != expected:
                self.report(key, f"{shown}: result {i} is {found}, eager {expected}")
        return result


def reordered(t: torch.Tensor) -> torch.Tensor:
    """The same values with dimensions laid out in reverse order."""
    if t.dim() < 2 or t.is_sparse:
        return t
    dims = list(range(t.dim()))[::-1]
    return t.permute(dims).contiguous().permute(dims)


def channels_last(t: torch.Tensor) -> torch.Tensor:
    if t.dim() == 5:
        return t.contiguous(memory_format=torch.channels_last_3d)
    return t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t


def gapped(t: torch.Tensor) -> torch.Tensor:
    """The same values in every second element of a larger tensor."""
    if t.dim() == 0 or t.shape[-1] == 0:
        return t
    wide = t.repeat_interleave(2, dim=-1)
    return wide[..., ::2]


def map_tensors(value: Any, function) -> Any:
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map_tensors(v, function) for v in value)
    if isinstance(value, dict):
        return {k: map_tensors(v, function) for k, v in value.items()}
    return value


# What never reaches the tracer (sparse, jiterator), and what is linear algebra by library.
OTHER_WORLDS = ("sparse", "jiterator", "linalg", "ops.", "torch.ops", "masked.")


def run_samples(checker: Any, dtype: torch.dtype, layout: Any, count: int) -> None:
    """The first samples of every op of PyTorch's operator database, under the checker."""
    for op in op_db:
        if op.name.startswith(OTHER_WORLDS) or dtype not in op.supported_dtypes("cpu"):
            continue
        for sample in itertools.islice(op.sample_inputs("cpu", dtype), count):
            inputs = map_tensors((sample.input, sample.args, sample.kwargs), layout)
            torch.manual_seed(0)
            try:
                with checker:
                    op(inputs[0], *inputs[1], **inputs[2])
            except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
                continue  # a layout that eager refuses


def assert_no_mismatch(checker: Any) -> None:
    found = [f"{key}: {texts[0]}" for key, texts in sorted(checker.mismatches.items())]
    assert not found, "\n".join(found)
