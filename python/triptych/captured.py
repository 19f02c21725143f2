"""Captured graphs (C1) from `torch.fx`: what the user wrote, in our text form."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

    from . import _C

FACTS = "triptych_facts"  # of a node: TensorFacts, SizeFacts or ObjectFacts
PARAMETER = "triptych_parameter"  # of a placeholder: it stands for a module's parameter
HINTS = "triptych_hints"  # of a graph module: the value of each symbol when it was captured
_FRAME_START = 'File "'
_FRAME = re.compile(_FRAME_START + r'([^"]+)", line (\d+)')
_TORCH = os.path.dirname(torch.__file__) + os.sep
_BARE = re.compile(r"[^\s\"'()\[\]{}<>,;=#%]+")
_DTYPE_PREFIXES = (
    ("bfloat", "bf"),
    ("float", "f"),
    ("complex", "c"),
    ("uint", "u"),
    ("int", "i"),
)


class TensorFacts(NamedTuple):
    """What a captured graph says of a tensor; sizes that vary are texts ("s0", "2*s0 + 1")."""

    dtype: torch.dtype
    device: torch.device
    requires_grad: bool
    shape: tuple[int | str, ...]
    strides: tuple[int | str, ...]
    offset: int | str

    @classmethod
    def of(cls, tensor: torch.Tensor) -> TensorFacts:
        return cls(
            tensor.dtype,
            tensor.device,
            tensor.requires_grad,
            tuple(map(_size, tensor.shape)),
            tuple(map(_size, tensor.stride())),
            _size(tensor.storage_offset()),
        )


class SizeFacts(NamedTuple):
    text: str


class ObjectFacts(NamedTuple):
    type_name: str


def _size(size: Any) -> int | str:
    return size if type(size) is int else str(size)


def from_fx(gm: GraphModule, example_inputs: Sequence[Any] = ()) -> _C.Graph:
    """The graph of torch-API calls that an `fx.GraphModule` holds.

    Types of values come from the metadata that Dynamo and export leave on nodes, those of inputs
    else from `example_inputs`. Raises UnsupportedError for calls of submodules.
    """
    from . import _C

    if not isinstance(gm, torch.fx.GraphModule):
        raise TypeError(f"from_fx: expected an fx.GraphModule, found {type(gm).__name__}")
    writer = _Writer(gm, example_inputs)
    return _C.Graph.parse(writer.run(), writer.constants)


def forward_of(gm: GraphModule) -> Callable[..., Any]:
    """What runs the graph. The first `forward` of a module that is generated when it is needed goes
    through the module's call, which prints each exception, also one that the program catches."""
    from torch.fx._lazy_graph_module import _LazyGraphModule

    _LazyGraphModule.force_recompile(gm)
    forward: Callable[..., Any] = gm.forward
    return forward


def captured_text(gm: GraphModule) -> str:
    """The captured graph for people: our text form, or what fx prints when that cannot hold it."""
    from . import errors

    try:
        return str(from_fx(gm))
    except errors.TriptychError as error:
        return f"# {error}\n{gm.graph}"


def node_location(node: Node) -> str:
    """The user's "file:line" that made this node: the innermost frame outside torch, "" if none."""
    trace = node.meta.get("stack_trace") or ""
    at = trace.rfind(_FRAME_START)
    while at >= 0:  # from the end, where the innermost frame stands
        frame = _FRAME.match(trace, at)
        if frame is not None and not frame[1].startswith(_TORCH):
            return f"{frame[1]}:{frame[2]}"
        at = trace.rfind(_FRAME_START, 0, at)
    return ""


def module_path(node: Node) -> str:
    """The dotted path of the innermost module that made this node, "" if none."""
    stack = node.meta.get("nn_module_stack")
    return _plain_path(stack[next(reversed(stack))][0]) if stack else ""


@functools.lru_cache(4096)
def _plain_path(path: str) -> str:
    """A module's path as Dynamo spells it ("L['self'].layers[0]"), as attributes."""
    plain = re.sub(r"\[['\"]?(\w+)['\"]?\]", r".\1", path)
    return re.sub(r"^[LG]\.(self\.)?", "", plain).replace("_modules.", "")


def varies(size: Any) -> bool:
    """Whether a size is symbolic: PyTorch keeps symbols that it has found to be one number."""
    return isinstance(size, torch.SymInt) and not str(size).lstrip("-").isdigit()


def target_name(node: Node) -> str:
    """The public dotted name of what a node calls."""
    from torch.fx.node import _get_qualified_name

    if node.op == "call_method":
        return f"torch.Tensor.{node.target}"
    if isinstance(node.target, torch._ops.OpOverload):
        namespace, name = node.target._schema.name.split("::")
        return f"{namespace}.{name}.{node.target._overloadname}"
    assert callable(node.target)
    return _get_qualified_name(node.target).replace("_operator.", "operator.")


class _Writer:
    def __init__(self, gm: GraphModule, example_inputs: Sequence[Any]):
        self.gm = gm
        self.examples = iter(example_inputs)
        self.names: dict[Node, str] = {}
        self.constants: dict[str, bytes] = {}
        self.symbols: dict[str, tuple[str, int]] = {}  # what PyTorch prints: our name, hint
        self.lines: list[str] = []

    def run(self) -> str:
        for node in self.gm.graph.nodes:
            getattr(self, node.op)(node)
        symbols = [
            f"  symbol {name} in [-inf, inf] hint {hint}" for name, hint in self.symbols.values()
        ]
        return "\n".join(["graph program captured {", *symbols, *self.lines, "}", ""])

    def placeholder(self, node: Node) -> None:
        example = next(self.examples, None)
        value = self.value(node, example)
        is_parameter = isinstance(value, torch.nn.Parameter) or node.meta.get(PARAMETER, False)
        kind = "parameter" if is_parameter else "user"
        self.define(node, self.type(value), f"input.{kind}({json.dumps(str(node.target))})")

    def value(self, node: Node, example: Any) -> Any:
        """What is known of a node's value: our own facts, or what Dynamo and export leave."""
        meta = node.meta
        return meta.get(FACTS, meta.get("example_value", meta.get("val", example)))

    def get_attr(self, node: Node) -> None:
        value: Any = self.gm
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if not isinstance(value, torch.Tensor):
            raise self.unsupported(node, f"attribute {node.target} is no tensor")
        data = value.detach().cpu().contiguous()
        self.constants[str(node.target)] = data.flatten().view(torch.uint8).numpy().tobytes()
        self.define(node, self.type(data), f"constant({json.dumps(str(node.target))})")

    def call_module(self, node: Node) -> None:
        raise self.unsupported(node, f"a call of submodule {node.target}")

    def call_function(self, node: Node) -> None:
        arguments = [self.literal(argument, node) for argument in node.args]
        arguments += [f"{key}={self.literal(value, node)}" for key, value in node.kwargs.items()]
        call = f"{word(target_name(node))}({', '.join(arguments)})"
        value = self.value(node, None)
        self.define(node, self.type(value), call + comment(node))

    call_method = call_function

    def output(self, node: Node) -> None:
        results = node.args[0] if isinstance(node.args[0], list | tuple) else (node.args[0],)
        for result in results:
            if result in self.names:
                self.lines.append(f"  output %{self.names[result]}")
            else:
                self.lines.append(f"  output literal {self.literal(result, node)}")

    def define(self, node: Node, type_: str, text: str) -> None:
        self.names[node] = node.name
        self.lines.append(f"  %{node.name}: {type_} = {text}")

    def type(self, value: Any) -> str:
        if isinstance(value, TensorFacts):
            return self.tensor_type(value)
        if isinstance(value, SizeFacts):
            return f"int({self.size(value.text)})"
        if isinstance(value, ObjectFacts):
            return f"object({json.dumps(value.type_name)})"
        if isinstance(value, torch.Tensor) and value.layout == torch.strided:
            return self.tensor_type(value)
        if isinstance(value, torch.SymInt):
            return f"int({self.size(value)})"
        for kind, name in ((torch.SymBool, "bool"), (torch.SymFloat, "float")):
            if isinstance(value, kind):
                return name
        return f"object({json.dumps(type(value).__name__)})"

    def tensor_type(self, value: torch.Tensor | TensorFacts) -> str:
        if isinstance(value, TensorFacts):
            strides, offset = value.strides, value.offset
        else:
            strides, offset = value.stride(), value.storage_offset()
        parts = [
            f"{short(value.dtype)}[{', '.join(map(self.size, value.shape))}]",
            f"strides=[{', '.join(map(self.size, strides))}]",
            f"offset={self.size(offset)}",
        ]
        if value.device.type != "cpu":
            parts.append(f"device={json.dumps(str(value.device))}")
        if value.requires_grad:
            parts.append("requires_grad")
        return " ".join(parts)

    def size(self, size: Any) -> str:
        """A number, or a symbol for each expression of sizes."""
        if not isinstance(size, str) and not varies(size):
            return str(size)
        printed = size if isinstance(size, str) else str(size.node.expr)
        if printed not in self.symbols:
            plain = printed if printed.isidentifier() else f"e{len(self.symbols)}"
            self.symbols[printed] = (plain, self.hint(size))
        return self.symbols[printed][0]

    def hint(self, size: Any) -> int:
        """The value that a size had when it was captured."""
        from . import _C

        if not isinstance(size, str):
            return int(size.node.hint)
        return int(_C.SymExpr.parse(size).evaluate(self.gm.meta[HINTS]))

    def literal(self, value: Any, node: Node) -> str:
        if isinstance(value, torch.fx.Node):
            return f"%{self.names[value]}"
        if value is None or isinstance(value, bool | int):
            return repr(value)
        if isinstance(value, str):
            return json.dumps(value)
        if isinstance(value, float):
            return repr(value)
        if isinstance(value, complex):
            return f"complex({value.real!r}, {value.imag!r})"
        if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
            return str(value)
        if isinstance(value, torch.device):
            return f"device({json.dumps(str(value))})"
        if value is Ellipsis:
            return "..."
        items = lambda values: ", ".join(self.literal(item, node) for item in values)  # noqa: E731
        if isinstance(value, slice):
            return f"slice({items((value.start, value.stop, value.step))})"
        if isinstance(value, list):
            return f"[{items(value)}]"
        if isinstance(value, tuple):
            return f"({items(value)}{',' if len(value) == 1 else ''})"
        if isinstance(value, dict):
            pairs = (f"{json.dumps(k)}: {self.literal(v, node)}" for k, v in value.items())
            return f"{{{', '.join(pairs)}}}"
        raise self.unsupported(node, f"an argument of type {type(value).__name__}")

    def unsupported(self, node: Node, message: str) -> Exception:
        from . import errors

        return errors.UnsupportedError(message, "captured.no_text", node_location(node))


def short(dtype: torch.dtype) -> str:
    """The text form's name: f32 for torch.float32."""
    name = str(dtype).removeprefix("torch.")
    for prefix, replacement in _DTYPE_PREFIXES:
        if name.startswith(prefix):
            return replacement + name.removeprefix(prefix).replace("_", "")
    return name


def word(text: str) -> str:
    return text if _BARE.fullmatch(text) else json.dumps(text)


def comment(node: Node) -> str:
    """Where a node comes from, in the form that the parser reads."""
    location, path = node_location(node), module_path(node)
    parts = []
    if location:
        file, _, line = location.rpartition(":")
        parts.append(f" {word(file)}:{line}")
    if path:
        parts.append(f" in {word(path)}")
    return f"  #{''.join(parts)}" if parts else ""
