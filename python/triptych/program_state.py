"""State of the process that a program may set: a graph holds none of it, so that setting it must
either be undone by the program itself or be refused. It is never lost in silence.

Refused where it is set: the default random generator (a graph draws from the state that it finds
when it is called) and settings of kernels. Whatever else a program leaves changed is found out at
the end of its trace, put back, and refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from . import errors

# Functions of `torch` that set what the kernels of a later call would have to know of.
_SETTINGS = (
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_num_threads",
    "use_deterministic_algorithms",
)
_GENERATOR_METHODS = ("get_state", "initial_seed", "manual_seed", "seed", "set_state")


def _refused(what: str) -> errors.UnsupportedError:
    return errors.UnsupportedError(
        f"the program changes or reads {what} while it is traced: no graph holds that",
        "normalize.global_state",
        hint="do it outside of the compiled function",
    )


@dataclass(frozen=True)
class _State:
    name: str
    get: Callable[[], Any]
    put: Callable[[Any], Any]


def _default_device() -> Any:
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return None if context is None else context.device


def _autocast(kind: str) -> _State:
    def put(value: tuple[bool, torch.dtype]) -> None:
        torch.set_autocast_enabled(kind, value[0])
        torch.set_autocast_dtype(kind, value[1])

    return _State(
        f"autocast for {kind}",
        lambda: (torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)),
        put,
    )


def _deterministic() -> tuple[bool, bool]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


_STATES = (
    _State("the default dtype", torch.get_default_dtype, torch.set_default_dtype),
    _State("the default device", _default_device, torch.set_default_device),
    _State("the number of threads", torch.get_num_threads, torch.set_num_threads),
    _State(
        "deterministic algorithms",
        _deterministic,
        lambda value: torch.use_deterministic_algorithms(value[0], warn_only=value[1]),
    ),
    _State(
        "the float32 matmul precision",
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
    ),
    _State("anomaly detection", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    _State("autocast's cache", torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
    _autocast("cpu"),
    _autocast("cuda"),
)
_GRAD_MODE = _State("grad mode", torch.is_grad_enabled, torch.set_grad_enabled)


@contextmanager
def kept(*, sets_grad_mode: bool) -> Iterator[None]:
    """Refuses a program that sets such state inside. `sets_grad_mode`: leaving grad mode changed
    is no loss, because whoever made the graph sets it too."""
    states = _STATES if sets_grad_mode else (*_STATES, _GRAD_MODE)
    before = [state.get() for state in states]
    generator = torch._C.default_generator
    seed, drawn = generator.initial_seed(), generator.get_state()
    finished = False
    try:
        with _refusing():
            yield
        finished = True
    finally:
        changed = []
        for state, value in zip(states, before, strict=True):
            if state.get() != value:
                state.put(value)
                changed.append(state.name)
        if generator.initial_seed() != seed:
            generator.set_state(drawn)
            changed.append("the default random generator")
        if finished and changed:
            raise _refused(", ".join(changed))


_tracing_thread = 0  # one trace runs at a time; other threads find everything as it is


class _RefusingGenerator(torch.Generator):
    """Stands for the default generator while a program is traced."""


def _generator_method(name: str) -> Callable[..., Any]:
    def method(self: _RefusingGenerator, *args: Any) -> Any:
        if threading.get_ident() == _tracing_thread:
            raise _refused("the default random generator")
        return getattr(torch._C.default_generator, name)(*args)

    return method


for _name in _GENERATOR_METHODS:
    setattr(_RefusingGenerator, _name, _generator_method(_name))


def _refusing_function(name: str) -> Callable[..., Any]:
    original = getattr(torch, name)

    def function(*args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == _tracing_thread:
            raise _refused(f"what torch.{name} sets")
        return original(*args, **kwargs)

    return function


_REPLACED: list[tuple[Any, str, Any]] = [
    *((module, "default_generator", _RefusingGenerator()) for module in (torch, torch.random)),
    *((torch, name, _refusing_function(name)) for name in _SETTINGS),
]


@contextmanager
def _refusing() -> Iterator[None]:
    global _tracing_thread
    outer = _tracing_thread
    _tracing_thread = threading.get_ident()
    before = [getattr(module, name) for module, name, _ in _REPLACED]
    for module, name, refusing in _REPLACED:
        setattr(module, name, refusing)
    try:
        yield
    finally:
        for (module, name, _), value in zip(_REPLACED, before, strict=True):
            setattr(module, name, value)
        _tracing_thread = outer
