"""From a captured graph to a callable: the stages in a row, each timed, recorded and dumped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from . import captured, dump, errors, number_inputs, reports
from .options import Options
from .progress import Progress

if TYPE_CHECKING:
    from torch.fx import GraphModule

    from . import _C


def compile_graph(
    gm: GraphModule, inputs: Sequence[Any], options: Options, record: reports.GraphRecord
) -> Variant:
    """One compiled variant of the graph. Raises the errors of triptych.errors."""
    with Progress(record.name, record.captured_nodes) as progress:
        return _compile(gm, inputs, options, record, progress)


def _compile(
    gm: GraphModule,
    inputs: Sequence[Any],
    options: Options,
    record: reports.GraphRecord,
    progress: Progress,
) -> Variant:
    from .generate import generate

    reports.count("variants")
    out = dump.Folder(options, record)
    out.write("captured", lambda: captured.captured_text(gm))
    progress.stage = "normalize"
    with record.timed("normalize"):
        numbers = number_inputs.find(gm, inputs)
        graph = normalize(gm, inputs, record, numbers)
        graph = run_passes(graph, out)
    record.normalized = graph
    progress.stage = "generate"
    with record.timed("generate"):
        edited = out.edited_forms(options.writer)
        with out.naming(out.override if edited else None):
            generated = generate(
                graph,
                writer=options.writer,
                edited=edited,
                fuse=options.fuse,
                eager_rounding=options.eager_rounding,
                reuse_memory=options.reuse_memory,
                strict=options.strict,
            )
    record.generated = generated
    dump.write_generated(out, generated)
    run = with_calling_convention(gm, generated.run, graph)
    if numbers:
        run = number_inputs.checked(run, numbers)
    return Variant(run, generated.has_guards or bool(numbers), bool(graph.mutations))


def normalize(
    gm: GraphModule,
    inputs: Sequence[Any],
    record: reports.GraphRecord,
    numbers: Mapping[int, float],
) -> _C.Graph:
    """With symbolic sizes where that works, else for these sizes alone, counted."""
    from .normalize import normalize_with_report

    if all(isinstance(value, torch.Tensor) for value in inputs):
        return normalize_with_report(gm, inputs, numbers=numbers)[0]
    try:
        return normalize_with_report(gm, inputs, numbers=numbers)[0]
    except errors.InternalError:
        raise
    except (errors.UnsupportedError, NotImplementedError, RuntimeError) as error:
        graph, _ = normalize_with_report(gm, inputs, specialize=True, numbers=numbers)
        code = getattr(error, "code", "") or "normalize.symbolic"
        message = f"compiled for these sizes only: {str(error).splitlines()[0]}"
        record.fallbacks.append(reports.Fallback("sizes", code, message))
        reports.count(f"specialized.{code}")
        return graph


def run_passes(graph: _C.Graph, out: dump.Folder) -> _C.Graph:
    from . import extensions

    graph = out.write_graph("normalized", graph)
    return extensions.run_passes(graph, out.write_graph)


@dataclass(frozen=True)
class Variant:
    """A program that takes and returns what the captured graph does."""

    run: Callable[..., Any]
    has_guards: bool  # inputs of the same graph may not fit
    mutates: bool


def with_calling_convention(
    gm: GraphModule, run: Callable[..., Any], graph: _C.Graph
) -> Callable[..., Any]:
    """Programs take tensors and integers and return a flat tuple: graphs that hold state themselves
    pass it along, graphs with nested results have them rebuilt."""
    from torch.utils import _pytree as pytree

    placeholders = sum(node.op == "placeholder" for node in gm.graph.nodes)
    if len(graph.inputs) > placeholders:
        by_name = dict([*gm.named_parameters(), *gm.named_buffers()])
        extra = [by_name[input.name] for input in graph.inputs[placeholders:]]
        flat, run = run, lambda *inputs: flat(*inputs, *extra)
    (results,) = next(node for node in reversed(gm.graph.nodes) if node.op == "output").args
    is_leaf = lambda value: not isinstance(value, list | tuple | dict)  # noqa: E731
    if isinstance(results, list | tuple) and all(map(is_leaf, results)):
        return run
    _, structure = pytree.tree_flatten(results)
    inner = run
    return lambda *inputs: pytree.tree_unflatten(inner(*inputs), structure)


def reset() -> None:
    """Returns memory that compiled programs keep between calls."""
    from . import _C

    _C.release_memory()
