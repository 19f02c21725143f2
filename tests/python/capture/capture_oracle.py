"""Runs a capture as the region runtime does, in plain Python: sources are loaded, the graph runs
eagerly, recipes build the objects, effects are done. An oracle that shares no code with it."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import torch

from triptych import _C
from triptych.capture.graph import GraphBuilder

UNBOUND = object()
# In the order of the enums in src/capture.
SOURCES = [
    *("slot", "stack", "function", "constant"),
    *("instance_dict", "dict_item", "list_item", "tuple_item", "member_slot", "type"),
    *("class_attribute", "cell_contents", "closure_cell"),
    *("function_code", "function_globals", "function_builtins"),
    *("function_defaults", "function_kwdefaults", "method_self", "method_function"),
    *("partial_function", "partial_arguments", "partial_keywords"),
    *("property_getter", "wrapped_function", "tensor_grad"),
]
RECIPES = [
    *("output", "source", "instance_dict", "constant"),
    *("tuple", "list", "dict", "set", "frozenset", "slice"),
    *("cell", "method", "call", "new", "function"),
]
EFFECTS = [
    *("set_attribute", "delete_attribute", "set_item", "delete_item", "clear"),
    *("set_list", "set_set", "set_cell", "set_grad", "call"),
]


def frame_of(function: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, list[Any]]:
    """The function that runs, and its variables as CPython places them before the first
    instruction."""
    if isinstance(function, torch.nn.Module):
        function = function.forward
    if isinstance(function, types.MethodType):
        args, function = (function.__self__, *args), function.__func__
    code = function.__code__
    bound = inspect.signature(function, follow_wrapped=False).bind(*args, **kwargs)
    bound.apply_defaults()
    names = [*code.co_varnames, *(c for c in code.co_cellvars if c not in code.co_varnames)]
    slots = [bound.arguments.get(name, UNBOUND) for name in names]
    return function, slots + [UNBOUND] * len(code.co_freevars)


class Captured:
    """A capture of one call, which can be run for other arguments."""

    def __init__(self, function: Callable[..., Any], *args: Any, **kwargs: Any):
        self.function = function
        self.code_function, slots = frame_of(function, args, kwargs)
        builder = GraphBuilder()
        self.data = _C.capture_frame(self.code_function, slots, [], 0, UNBOUND, builder)
        values = self.load(slots)
        self.examples = [values[k] for k in self.data["inputs"]]
        self.gm = builder.graph_module(self.examples)
        self.run_graph: Callable[..., Any] = self.gm.forward

    def load(self, slots: list[Any]) -> list[Any]:
        values: list[Any] = []
        for kind, parent, number, object_, _ in self.data["sources"]:
            owner = values[parent] if parent >= 0 else None
            try:
                values.append(self.step(SOURCES[kind], owner, number, object_, slots))
            except (KeyError, IndexError, AttributeError, ValueError, StopIteration):
                values.append(None)
        return values

    def step(self, kind: str, owner: Any, number: int, key: Any, slots: list[Any]) -> Any:
        if kind in ("slot", "stack", "function", "constant"):
            roots = {"function": self.code_function, "constant": key}
            return slots[number] if kind == "slot" else roots[kind]
        if kind == "dict_item":
            if not dict.__contains__(owner, key):  # __missing__ is not asked
                raise KeyError(key)
            return dict.__getitem__(owner, key)
        if kind in ("list_item", "tuple_item"):
            return (list if kind == "list_item" else tuple).__getitem__(owner, number)
        attribute = {
            "instance_dict": "__dict__",
            "cell_contents": "cell_contents",
            "function_code": "__code__",
            "function_globals": "__globals__",
            "function_builtins": "__builtins__",
            "function_defaults": "__defaults__",
            "function_kwdefaults": "__kwdefaults__",
            "method_self": "__self__",
            "method_function": "__func__",
            "partial_function": "func",
            "partial_arguments": "args",
            "partial_keywords": "keywords",
            "property_getter": "fget",
            "wrapped_function": "__func__",
            "tensor_grad": "grad",
        }.get(kind)
        if attribute is not None:
            return getattr(owner, attribute)
        if kind == "closure_cell":
            return owner.__closure__[number]
        if kind == "member_slot":
            return key.__get__(owner)
        if kind == "class_attribute":
            return next(c.__dict__[key] for c in owner.__mro__ if key in c.__dict__)
        assert kind == "type"
        return type(owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        assert self.data["stop"] is None, self.data["stop"]
        return self.run(*args, **kwargs)[self.data["result"]]

    def run(self, *args: Any, **kwargs: Any) -> list[Any]:
        """The objects that recipes made, by index, after all effects."""
        _, slots = frame_of(self.function, args, kwargs)
        values = self.load(slots)
        outputs = self.run_graph(*(values[k] for k in self.data["inputs"]))
        made: list[Any] = []
        for kind, index, source, object_, items in self.data["recipes"]:
            parts = [made[k] for k in items]
            name = RECIPES[kind]
            if name == "output":
                made.append(outputs[index])
            elif name == "source":
                made.append(values[source])
            else:
                made.append(build(name, object_, parts))
        for kind, target, key, value, items in self.data["effects"]:
            arguments = [made[k] if k >= 0 else UNBOUND for k in (target, key, value)]
            apply(EFFECTS[kind], *arguments, [made[k] for k in items])
        return made


def build(kind: str, object_: Any, parts: list[Any]) -> Any:
    if kind == "constant":
        return object_
    if kind == "instance_dict":
        return parts[0].__dict__
    if kind in ("tuple", "list", "set", "frozenset"):
        return {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}[kind](parts)
    if kind == "dict":
        return dict(zip(parts[::2], parts[1::2], strict=True))
    if kind == "slice":
        return slice(*parts)
    if kind == "cell":
        return types.CellType(*parts)
    if kind == "method":
        return types.MethodType(*parts)
    if kind == "new":
        return object_.__new__(*parts)
    if kind == "call":
        names = object_ or ()
        positional = parts[1 : len(parts) - len(names)]
        return parts[0](
            *positional, **dict(zip(names, parts[len(parts) - len(names) :], strict=True))
        )
    assert kind == "function"
    *cells, defaults, kwdefaults, globals_ = parts
    function = types.FunctionType(object_, globals_, None, defaults, tuple(cells) or None)
    function.__kwdefaults__ = kwdefaults
    return function


def apply(kind: str, target: Any, key: Any, value: Any, items: list[Any]) -> None:
    if kind == "set_attribute":
        object.__setattr__(target, key, value)
    elif kind == "set_item":
        super_set(target, key, value)
    elif kind == "delete_item":
        dict.__delitem__(target, key)
    elif kind == "clear":
        target.clear()
    elif kind == "set_list":
        target[:] = items
    elif kind == "set_set":
        target.clear()
        target.update(items)
    elif kind == "set_cell":
        target.cell_contents = value
    elif kind == "call":
        target(*items)
    else:
        raise AssertionError(kind)


def super_set(target: Any, key: Any, value: Any) -> None:
    from collections import OrderedDict

    base = OrderedDict if isinstance(target, OrderedDict) else dict
    base.__setitem__(target, key, value)


def compare(got: Any, wanted: Any, tolerance: float, by_attributes: bool = False) -> None:
    """Asserts that two results are alike; objects by `==`, or by their attributes."""
    assert type(got) is type(wanted)
    if isinstance(wanted, torch.Tensor):
        torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance)
    elif isinstance(wanted, dict):
        assert list(got) == list(wanted)
        for key in wanted:
            compare(got[key], wanted[key], tolerance, by_attributes)
    elif isinstance(wanted, list | tuple):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            compare(one, other, tolerance, by_attributes)
    elif by_attributes and hasattr(wanted, "__dict__"):
        compare(vars(got), vars(wanted), tolerance, by_attributes)
    else:
        assert got == wanted
