"""What a program says to the compiler: stop here, leave this alone, am I being compiled?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _C

# A C function that no tracer knows.
graph_break = _C.graph_break


def is_compiling() -> bool:
    """Whether the caller is being captured, by Triptych or by `torch.compile`."""
    import torch

    return torch.compiler.is_compiling()


def disable(
    function: Callable[..., Any] | None = None, *, recursive: bool = True, reason: str | None = None
) -> Any:
    """Leaves a function to Python: the graph breaks around its calls. Also a decorator, with or
    without arguments. Without `recursive` what the function calls may be compiled."""
    import torch

    if function is not None and not callable(function):
        raise TypeError(f"triptych.disable: expected a function, found {function!r}")
    return torch.compiler.disable(function, recursive=recursive, reason=reason)
