"""Addresses of the functions that kernels call: libm, SLEEF as PyTorch ships it, and our own."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterable

from . import ToolchainError


@functools.cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None)


@functools.cache
def _torch() -> ctypes.CDLL:
    import torch

    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    return ctypes.CDLL(os.path.join(folder, "libtorch_cpu.so"))


@functools.cache
def address(name: str) -> int:
    if name.startswith("triptych_"):
        from .. import _C

        return int(_C.math_function_address(name))
    library = _torch() if name.startswith("Sleef_") else _process()
    try:
        function = getattr(library, name)
    except AttributeError:
        raise ToolchainError(f"function {name!r} was not found in this process") from None
    value = ctypes.cast(function, ctypes.c_void_p).value
    assert value is not None
    return value


def addresses(names: Iterable[str]) -> dict[str, int]:
    return {name: address(name) for name in names}
