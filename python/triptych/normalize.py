"""Stage 2 alone: a program and example inputs in, a graph of core ATen ops out."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from . import _C, devices, errors, names, program_state
from .captured import node_location, varies
from .graph_module_runner import GraphModuleRunner
from .leak_guard import no_data

if TYPE_CHECKING:
    from torch.fx import GraphModule

Table = Mapping[Any, Callable[..., Any]]
Symbols = Mapping[tuple[int, int], str]
# (name, kind, example, [(dimension, symbol)]), as _C.trace takes inputs
InputSpec = tuple[str, str, Any, list[tuple[int, str]]]

one_at_a_time = threading.RLock()  # a trace changes state of the process while it runs
# What the tracer's tensors and torch's own say when a kernel asks for their memory.
_NO_MEMORY = (
    "a tensor has no data while its program is traced",
    "its data is not allocated yet",
    "on a tensor with unallocated storage",
)
_LIBRARY_FOLDERS = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(__file__) + os.sep)


def normalize(
    what: Any,
    example_inputs: Any,
    decompositions: Table | None = None,
    keep: Iterable[Any] = (),
) -> _C.Graph:
    """The normalized graph of a program.

    `what` is a callable or an nn.Module (traced without guards), a torch.fx.GraphModule, an
    ExportedProgram, or a Graph. `example_inputs` are the positional arguments: real tensors,
    integers, and nested containers of these; the flattened tensors are the graph's inputs.
    `decompositions` maps ops to functions that replace them. `keep` names ops that stay one node
    ("aten.gelu.default", "aten.linear", `torch.ops.aten.linear`), composite ones too; a call that
    one node cannot stand for (it returns or writes an argument) is taken apart all the same.
    """
    return normalize_with_report(what, example_inputs, decompositions, keep)[0]


def normalize_with_report(
    what: Any,
    example_inputs: Any,
    decompositions: Table | None = None,
    keep: Iterable[Any] = (),
    symbols: Symbols | None = None,
    specialize: bool = False,
    numbers: Mapping[int, float] | None = None,
) -> tuple[_C.Graph, dict[str, Any]]:
    """The same, with counts of what the tracer did (see docs/normalize.md).

    `symbols` names the sizes that stay symbolic: {(flattened input, dimension): name}; an integer
    input has dimension 0. With `specialize` nothing does, whatever the graph module says. `numbers`
    are the values of inputs that the graph module only takes numbers out of: the caller's guards.
    """
    devices.prepare()
    chosen = None if specialize else symbols or {}
    args = example_inputs if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    single = (str, torch._ops.OpOverload, torch._ops.OpOverloadPacket)
    kept = [keep] if isinstance(keep, single) else keep
    if not isinstance(kept, Iterable):
        raise TypeError(f"normalize: keep: expected ops or their names, found {keep!r}")
    if decompositions is not None and not isinstance(decompositions, Mapping):
        raise TypeError(
            f"normalize: decompositions: expected a mapping of ops to functions, "
            f"found {decompositions!r}"
        )
    for op, function in (decompositions or {}).items():
        if not callable(function):
            raise TypeError(
                f"normalize: decompositions: {op}: expected a function, found {function!r}"
            )
    request: dict[str, Any] = {"keep": {name for op in kept for name in op_names(op)}}
    if decompositions:
        request["caller_table"] = {
            name: function for op, function in decompositions.items() for name in op_names(op)
        }
    if isinstance(what, torch.export.ExportedProgram):
        what = what.module()
    if isinstance(what, torch.fx.GraphModule):
        return _trace_graph_module(what, args, request, chosen, numbers or {})
    if isinstance(what, _C.Graph):
        from .graph_program import as_function

        return _trace_callable(as_function(what), args, request, chosen)
    if callable(what):
        return _trace_callable(what, args, request, chosen)
    raise errors.UserError(
        f"normalize takes a callable, a module, a graph module, an exported program or a graph, "
        f"not {type(what).__name__}"
    )


def op_names(op: Any) -> list[str]:
    """The overloads that are meant: "aten.linear.default", "aten.linear" or `torch.ops.aten.linear`
    (all of its overloads). Raises UserError for what is no op, TypeError for what names none."""
    if isinstance(op, torch._ops.OpOverloadPacket):
        return [str(getattr(op, overload)) for overload in op.overloads()]
    if isinstance(op, torch._ops.OpOverload):
        return [str(op)]
    if not isinstance(op, str):
        raise TypeError(f"normalize: expected an op or its name, found {op!r}")
    parts = op.replace("::", ".").split(".")
    found: Any = torch.ops
    for part in parts:
        found = getattr(found, part, None)
    if isinstance(found, torch._ops.OpOverload):
        return [str(found)]
    if isinstance(found, torch._ops.OpOverloadPacket):
        return op_names(found)
    registered = map(str, torch._C._dispatch_get_all_op_names())
    raise errors.UserError(names.unknown("op", op, [_dotted(name) for name in registered]))


def _dotted(name: str) -> str:
    """ "aten::add.Tensor" as "aten.add.Tensor", "aten::relu" as "aten.relu.default"."""
    namespace, _, rest = name.partition("::")
    return f"{namespace}.{rest}" if "." in rest else f"{namespace}.{rest}.default"


def _trace_graph_module(
    gm: GraphModule,
    args: Sequence[Any],
    request: dict[str, Any],
    symbols: Symbols | None,
    numbers: Mapping[int, float],
) -> tuple[_C.Graph, dict[str, Any]]:
    refuse_higher_order(gm)
    runner = GraphModuleRunner(gm, numbers)
    placeholders = [node for node in runner.nodes if node.op == "placeholder"]
    request.update(resolve=runner.resolve, position=runner.position)
    return _trace(runner.run, args, gm, request, symbols, placeholders)


def _trace_callable(
    function: Callable[..., Any],
    args: Sequence[Any],
    request: dict[str, Any],
    symbols: Symbols | None,
) -> tuple[_C.Graph, dict[str, Any]]:
    request.update(is_library_file=is_library_file)
    module = function if isinstance(function, torch.nn.Module) else None
    return _trace(function, args, module, request, symbols)


def _trace(
    function: Callable[..., Any],
    args: Sequence[Any],
    module: torch.nn.Module | None,
    request: dict[str, Any],
    symbols: Symbols | None,
    placeholders: Sequence[Any] = (),
) -> tuple[_C.Graph, dict[str, Any]]:
    """Traces function(*args), with the module's parameters and buffers as further inputs."""
    leaves, structure = pytree.tree_flatten(tuple(args))
    inputs: list[InputSpec] = []
    positions = _add_leaves(leaves, placeholders, symbols, inputs)
    state = ModuleState(module, inputs)
    is_graph = isinstance(module, torch.fx.GraphModule)

    def program(*traced: Any) -> list[Any]:
        flat = [
            leaf if at is None else traced[at] for leaf, at in zip(leaves, positions, strict=True)
        ]
        with state.replaced_by(traced), program_state.kept(sets_grad_mode=is_graph):
            return pytree.tree_leaves(
                function(*pytree.tree_unflatten(flat, structure)), is_leaf=lambda x: x is None
            )

    with one_at_a_time, _dispatch_state_kept(), compiling(), no_data(), _no_memory():
        return _C.trace(program, inputs, default_table=default_decomposition, **request)


@contextmanager
def _dispatch_state_kept() -> Iterator[None]:
    """The dispatcher's thread state is afterwards what it was, also when a trace fails.

    torch's Python guards end with the frames that hold them, and a traceback keeps those alive: a
    trace that failed inside one (printing a tensor, say) would leave its keys excluded.
    """
    include = torch._C._dispatch_tls_local_include_set()
    exclude = torch._C._dispatch_tls_local_exclude_set()
    with torch._C._ForceDispatchKeyGuard(include, exclude):
        try:
            yield
        except BaseException as error:
            link: BaseException | None = error
            while link is not None:
                traceback.clear_frames(link.__traceback__)
                link = link.__cause__ or link.__context__
            raise


@contextmanager
def _no_memory() -> Iterator[None]:
    """A kernel that reaches for the memory of a traced tensor cannot be traced: that is no bug."""
    try:
        yield
    except errors.TriptychError:
        raise
    except RuntimeError as error:
        if not any(text in str(error) for text in _NO_MEMORY):
            raise
        raise errors.UnsupportedError(
            f"a kernel needs the data of a tensor, which is not known while tracing: {error}",
            "normalize.data_dependent",
        ) from error


def _add_leaves(
    leaves: Sequence[Any],
    placeholders: Sequence[Any],
    given: Symbols | None,
    inputs: list[InputSpec],
) -> list[int | None]:
    """Adds tensors and symbolic integers to the inputs; says for each leaf which input it is.

    An object that comes twice is one input. Other leaves are constants of the trace.
    """
    seen: dict[int, int] = {}
    positions: list[int | None] = []
    named = len(placeholders) == len(leaves)
    for i, leaf in enumerate(leaves):
        node = placeholders[i] if named else None
        name = node.name if node is not None else f"arg{i}"
        symbols: list[tuple[int, str]] = []
        if given is not None:
            symbols = [(dim, symbol) for (at, dim), symbol in given.items() if at == i]
            symbols = symbols or _symbols(node)
        kind = "user"
        if isinstance(leaf, torch.Tensor):
            if id(leaf) in seen:
                positions.append(seen[id(leaf)])
                continue
            seen[id(leaf)] = len(inputs)
            kind = "parameter" if isinstance(leaf, torch.nn.Parameter) else "user"
        elif isinstance(leaf, torch.SymInt):
            symbols = [] if given is None or not varies(leaf) else [(0, _identifier(str(leaf)))]
            leaf = _hint(leaf)
        elif type(leaf) is not int or not (symbols or named):
            positions.append(None)
            continue
        positions.append(len(inputs))
        inputs.append((name, kind, leaf, symbols))
    return positions


def _hint(value: torch.SymInt) -> int:
    node = value.node
    return int(node.hint) if getattr(node, "hint", None) is not None else int(value)


def _symbols(node: Any) -> list[tuple[int, str]]:
    """The dimensions of a placeholder that its graph holds as symbols."""
    if node is not None and (named := node.meta.get("triptych_symbols")):
        return list(named)
    value = node.meta.get("example_value") if node is not None else None
    if isinstance(value, torch.SymInt):
        return [(0, _identifier(str(value)))] if varies(value) else []
    if not isinstance(value, torch.Tensor):
        return []
    return [(dim, _identifier(str(size))) for dim, size in enumerate(value.shape) if varies(size)]


_SPELLED = {" ": "", "+": "_plus_", "-": "_minus_", "*": "_times_", "/": "_by_"}


def _identifier(expression: str) -> str:
    """A symbol's name for a size; one that is an expression gets a symbol of its own, each
    expression another."""
    name = "".join(
        c if c.isalnum() or c == "_" else _SPELLED.get(c, f"_{ord(c)}_") for c in expression
    )
    return name if name[0].isalpha() else f"e_{name}"


class ModuleState:
    """A module's parameters and buffers as inputs of a trace, and their exchange while it runs."""

    def __init__(self, module: torch.nn.Module | None, inputs: list[InputSpec]):
        self.places: list[tuple[dict[str, Any], str, torch.Tensor, int]] = []
        if module is None:
            return
        seen: dict[int, int] = {}
        for prefix, part in module.named_modules():
            for kind, table in (("parameter", part._parameters), ("buffer", part._buffers)):
                for key, tensor in table.items():
                    if tensor is None:
                        continue
                    if id(tensor) not in seen:
                        seen[id(tensor)] = len(inputs)
                        name = f"{prefix}.{key}" if prefix else key
                        inputs.append((name, kind, tensor, []))
                    self.places.append((table, key, tensor, seen[id(tensor)]))

    @contextmanager
    def replaced_by(self, traced: Sequence[torch.Tensor]) -> Any:
        try:
            for table, key, _, index in self.places:
                table[key] = traced[index]
            yield
        finally:
            for table, key, tensor, _ in self.places:
                table[key] = tensor


def refuse_higher_order(gm: GraphModule) -> None:
    """Operators that take functions (cond, scan, checkpoints) are not traced."""
    for node in gm.graph.nodes:
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            raise errors.UnsupportedError(
                f"the higher-order operator {node.target} is not traced",
                "normalize.higher_order",
                node_location(node),
            )


@contextmanager
def compiling() -> Any:
    """`torch.compiler.is_compiling()` is true inside: libraries then leave out checks of data.

    Modes that the program turns on and an exception leaves on are put back.
    """
    before = torch.compiler._is_compiling_flag
    grad = torch.is_grad_enabled()
    torch.compiler._is_compiling_flag = True
    try:
        yield
    finally:
        torch.compiler._is_compiling_flag = before
        torch.set_grad_enabled(grad)


def is_library_file(path: str) -> bool:
    return path.startswith(_LIBRARY_FOLDERS) or path.startswith("<frozen")


_default_table: dict[str, Callable[..., Any]] = {}


def default_decomposition(name: str) -> Callable[..., Any] | None:
    """PyTorch's own Python decomposition of an op, by name."""
    if not _default_table:
        from torch._decomp import core_aten_decompositions

        _default_table.update((str(op), f) for op, f in core_aten_decompositions().items())
    return _default_table.get(name)
