"""Functions and modules as regions: callables that capture themselves when called."""

from __future__ import annotations

import copy
import functools
import operator
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import _C, reports
from .host import Host


@dataclass(frozen=True)
class Settings:
    """How regions are made."""

    backend: Callable[..., Any]
    fullgraph: bool = False
    dynamic: bool | None = None
    max_entries: int = 8
    strict: bool = False


def compile_callable(target: Any, settings: Settings) -> Any:
    """A region for a function, a bound method, a module, or any other callable."""
    import torch

    if getattr(target, "_torchdynamo_disable", False):
        return target
    if isinstance(target, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        reports.warn_once(
            "capture.script",
            "what torch.jit has compiled runs as it is: there is no Python to capture",
        )
        reports.count("fallback.capture.script")
        return target
    if isinstance(target, torch.nn.Module):
        return compiled_module(target, settings)
    if isinstance(target, types.FunctionType):
        region = make_region(target, None, settings, target.__qualname__)
        functools.update_wrapper(region, target)
    elif isinstance(target, types.MethodType) and isinstance(target.__func__, types.FunctionType):
        name = target.__func__.__qualname__
        region = make_region(target.__func__, target.__self__, settings, name)
        functools.update_wrapper(region, target)
    else:
        region = make_region(call_anything, target, settings, type(target).__qualname__)
    region._torchdynamo_orig_callable = target
    region.__deepcopy__ = functools.partial(_copied, target, settings)
    region.__reduce_ex__ = functools.partial(_reduced, target)
    return region


def _copied(target: Any, settings: Settings, memo: dict[int, Any]) -> Any:
    """Functions are copied as themselves, a bound method with the object that it is bound to."""
    return compile_callable(copy.deepcopy(target, memo), settings)


def _reduced(target: Any, protocol: int) -> Any:
    """A pickle holds the original."""
    return operator.getitem, ([target], 0)


def make_region(
    function: Callable[..., Any], own: Any, settings: Settings, name: str, **more: Any
) -> Any:
    host = Host(settings.backend, name, settings.strict)
    region = _C.make_region(
        function,
        own,
        host,
        max_entries=settings.max_entries,
        strict=settings.strict,
        fullgraph=settings.fullgraph,
        dynamic=settings.dynamic,
        **more,
    )
    remember(region)
    return region


def call_anything(target: Any, /, *args: Any, **kwargs: Any) -> Any:
    """What is captured where the callable is no Python function: its call."""
    return target(*args, **kwargs)


def compiled_module(module: Any, settings: Settings) -> Any:
    """The module once more, with a compiled call.

    An object of a class made for it, derived from the module's own, which has the very same
    attributes: parameters, state, hooks, mode and names are those of the original.
    """
    kind = type(module)
    whole = make_region(call_anything, module, settings, kind.__qualname__)
    region = whole
    forward = kind.forward
    plain_call = kind.__call__ is _plain_call() and isinstance(forward, types.FunctionType)
    if plain_call:
        name = forward.__qualname__
        region = make_region(forward, module, settings, name, hooked_call=whole)
    whole._torchdynamo_orig_callable = region._torchdynamo_orig_callable = module
    body = {
        "__call__": staticmethod(region),
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        # The original, and nothing of ours that unpickling would need.
        "__reduce_ex__": lambda self, protocol: (operator.getitem, ([module], 0)),
        "__deepcopy__": lambda self, memo: compiled_module(copy.deepcopy(module, memo), settings),
        "_orig_mod": property(lambda self: module),
        "_torchdynamo_orig_callable": property(lambda self: module),
        "_triptych_region": staticmethod(region),
    }
    made: Any = object.__new__(
        types.new_class(kind.__name__, (kind,), {}, lambda ns: ns.update(body))
    )
    made.__dict__ = module.__dict__
    return made


@functools.cache
def _plain_call() -> Any:
    import torch

    return torch.nn.Module.__call__


_regions: list[Any] = []  # weak references


def remember(region: Any) -> None:
    import weakref

    _regions[:] = [kept for kept in _regions if kept() is not None]
    _regions.append(weakref.ref(region))


def reset() -> None:
    """Forgets what every region has captured."""
    for kept in _regions:
        if (region := kept()) is not None:
            _C.reset_region(region)


@functools.cache
def unavailable() -> str:
    """Why this process cannot capture; empty when it can."""
    from .. import errors

    try:
        _C.capture_self_test()
    except errors.TriptychError as error:
        return str(error)
    return ""
