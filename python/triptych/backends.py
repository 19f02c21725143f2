"""Names for what compiles captured graphs: ours, those of `torch.compile`, and those given here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import names

OURS = "triptych"
_registered: dict[str, Callable[..., Any]] = {}
_default: list[str | Callable[..., Any]] = [OURS]


def register_backend(name: str, function: Callable[..., Any]) -> None:
    """`backend=name` then hands graphs to `function(gm, example_inputs)`: a callable."""
    if not isinstance(name, str) or not callable(function):
        raise TypeError(
            f"register_backend: expected a name and a function, found {name!r}, {function!r}"
        )
    if name == OURS:
        raise ValueError(f"register_backend: {OURS!r} is this compiler itself")
    _registered[name] = function


def unregister_backend(name: str) -> None:
    names.check("registered backend", name, _registered)
    del _registered[name]


def set_default_backend(backend: str | Callable[..., Any]) -> None:
    """What `triptych.compile` takes where no `backend` is given; "triptych" at first."""
    if isinstance(backend, str):
        names.check("backend", backend, list_backends())
    elif not callable(backend):
        raise TypeError(f"backend: expected a name or a callable, found {backend!r}")
    _default[0] = backend


def default_backend() -> str | Callable[..., Any]:
    return _default[0]


def list_backends() -> list[str]:
    """Names that `backend=` accepts."""
    import torch._dynamo

    return sorted({OURS, *_registered, *torch._dynamo.list_backends(exclude_tags=())})


def find(name: str) -> Callable[..., Any]:
    """The function of a name that is not ours. Raises ValueError for unknown ones."""
    if name in _registered:
        return _registered[name]
    names.check("backend", name, list_backends())
    import torch._dynamo

    found: Callable[..., Any] = torch._dynamo.lookup_backend(name)
    return found
