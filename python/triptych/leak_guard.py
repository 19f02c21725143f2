"""While a program is traced its tensors have no data. Asking for it must raise, not give garbage.

Below functionalization the tracer's tensors refuse by themselves; the wrappers that programs see
do not: `numpy()` of one returns uninitialised memory, `x.data = y` crashes, and since torch 2.14
`str(x)` shows a fake tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from . import errors

_METHODS = ("numpy", "__array__", "__dlpack__", "__repr__", "data_ptr")
_MISSING = object()


def _refuse(name: str) -> errors.UnsupportedError:
    return errors.UnsupportedError(
        f"Tensor.{name} needs the data of a tensor, which is not known while tracing",
        "normalize.data_dependent",
    )


def _guarded(name: str) -> Callable[..., Any]:
    original = getattr(torch.Tensor, name)

    def method(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if torch._is_functional_tensor(self):
            raise _refuse(name)
        return original(self, *args, **kwargs)

    return method


def _guarded_data() -> property:
    data: Any = torch.Tensor.data

    def set_data(self: torch.Tensor, value: torch.Tensor) -> None:
        if torch._is_functional_tensor(self) or torch._is_functional_tensor(value):
            raise errors.UnsupportedError(
                "the data of a traced tensor cannot be set", "normalize.set_"
            )
        data.__set__(self, value)

    return property(data.__get__, set_data)


_GUARDS: dict[str, Any] = {}


@contextmanager
def no_data() -> Iterator[None]:
    """Inside, tensors of a trace refuse to give or take memory; real tensors are as always."""
    if not _GUARDS:
        _GUARDS.update({name: _guarded(name) for name in _METHODS}, data=_guarded_data())
    before = {name: torch.Tensor.__dict__.get(name, _MISSING) for name in _GUARDS}
    for name, guard in _GUARDS.items():
        setattr(torch.Tensor, name, guard)
    try:
        yield
    finally:
        for name, original in before.items():
            if original is _MISSING:
                delattr(torch.Tensor, name)
            else:
                setattr(torch.Tensor, name, original)
