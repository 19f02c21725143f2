"""Runs every op's C++ decomposition beside the op: values, metadata, and what it is made of."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from rule_checker import flat_tensors, op_key, table_rows
from torch.utils._python_dispatch import TorchDispatchMode


class CalledOps(TorchDispatchMode):
    """Records the ops that a decomposition ends in; composite ones are followed down."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[torch._ops.OpOverload] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = NotImplemented
        if torch.Tag.core not in func.tags:
            with self:
                result = func.decompose(*args, **kwargs)
        if result is not NotImplemented:
            return result
        self.ops.append(func)
        return func(*args, **kwargs)


def described(t: torch.Tensor, with_strides: bool = True) -> tuple[Any, ...]:
    """Dtype, sizes, and those strides that place elements."""
    if t.numel() < 2 or not with_strides:
        return t.dtype, tuple(t.shape)
    strides = [s for s, size in zip(t.stride(), t.shape, strict=True) if size > 1]
    return t.dtype, tuple(t.shape), strides


def storage_of(t: torch.Tensor) -> int:
    return t.untyped_storage().data_ptr()


class DecompositionChecker(TorchDispatchMode):
    def __init__(self, apply_decomposition, rows=None):
        super().__init__()
        self.apply = apply_decomposition
        self.rows = rows or table_rows()
        self.checked: Counter[str] = Counter()
        self.mismatches: dict[str, list[str]] = {}
        self.ends_in: dict[str, set[str]] = {}

    def allowed(self, func: torch._ops.OpOverload) -> bool:
        """What may stay, and what the tracer takes further down by its own decomposition."""
        row = self.rows.get(op_key(func), {})
        identity = op_key(func) in ("detach.default", "alias.default", "lift_fresh.default")
        stays = torch.Tag.core in func.tags or "kept" in row.get("tags", [])
        return stays or identity or "decompose" in row

    def report(self, key: str, text: str) -> None:
        self.mismatches.setdefault(key, []).append(text)

    def compare(self, key: str, shown: str, ours: Any, real: Any, is_view: bool) -> None:
        if not isinstance(real, torch.Tensor):
            return
        # A view of other values (a conjugate) becomes memory of its own, laid out in its own way.
        copied = is_view and storage_of(ours) != storage_of(real)
        mine, theirs = (described(t, with_strides=not copied) for t in (ours, real))
        if mine != theirs:
            self.report(key, f"{shown}: is {mine}, eager {theirs}")
            return
        if "empty" in key:  # no values to compare
            return
        try:
            # In here nothing heeds the bits of a lazy conjugate or negative.
            ours, real = (t.resolve_conj().resolve_neg() for t in (ours, real))
            torch.testing.assert_close(ours, real, equal_nan=True)
        except AssertionError as e:
            self.report(key, f"{shown}: {str(e)[:300]}")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        key = op_key(func)
        name = self.rows.get(key, {}).get("decompose") if func.namespace == "aten" else None
        if name is None:
            return func(*args, **kwargs)
        shown = f"{key}({args}, {kwargs})".replace("\n", "")[:500]
        try:
            with CalledOps() as called:
                schema = func._schema
                ours = self.apply(name, schema.name, schema.overload_name, tuple(args), kwargs)
        except Exception as e:  # noqa: BLE001 - compared with eager's below
            ours, called = e, None
        try:
            result = func(*args, **kwargs)
        except Exception:
            if not isinstance(ours, Exception):
                self.report(key, f"{shown}: eager raises, the decomposition does not")
            raise
        self.checked[key] += 1
        if isinstance(ours, Exception):
            self.report(key, f"{shown}: raised {type(ours).__name__}: {str(ours)[:200]}")
            return result
        for op in called.ops:
            self.ends_in.setdefault(key, set()).add(op_key(op))
            if not self.allowed(op):
                self.report(key, f"{shown}: ends in {op}, which is not core")
        is_view = any(returned.alias_info for returned in func._schema.returns)
        for mine, theirs in zip(flat_tensors(ours), flat_tensors(result), strict=True):
            self.compare(key, shown, mine, theirs, is_view)
        return result
