"""The entry that `torch.compile(..., backend="triptych")` calls with a captured graph.

A graph becomes one callable. What cannot be compiled runs eagerly, counted, with a reason code.
With symbolic sizes a graph keeps several compiled variants, each with guards over the integers: a
call takes the first variant whose guards hold, or compiles one more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from . import dump, errors, inference_mode, names, reports
from . import options as option_table
from .captured import forward_of
from .reports import Fallback

if TYPE_CHECKING:
    from torch.fx import GraphModule

# Of torch.compile; there is one way to compile so far.
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
# Reason codes of a call whose inputs a compiled variant was not made for.
MISMATCH = ("runtime.input", "runtime.guard")
OVERLAP = ("runtime.overlap", "normalize.overlapping_inputs")
# Of the numbers of one call: Python's integers have no bounds, and dividing by zero has its error.
ONE_CALL = (*OVERLAP, "runtime.symbols")


def triptych(
    gm: GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compiles a graph of torch-API calls whose placeholders are tensors and integers."""
    check_mode(mode)
    compiler = GraphCompiler(gm, example_inputs, options)
    if inference_mode.covers(gm):
        return inference_mode.compiled_inside(compiler.compile, example_inputs)
    return compiler.compile(example_inputs)


def check_mode(mode: str | None) -> None:
    """Raises for an unknown mode; says once what a known one does not change yet."""
    if mode is None:
        return
    names.check("mode", mode, MODES)
    if mode != "default":
        reports.warn_once(f"mode {mode}", f"mode {mode!r} compiles as 'default' does so far")


class GraphCompiler:
    """Compiles one captured graph, once per variant."""

    def __init__(
        self, gm: GraphModule, example_inputs: Sequence[Any], given: Mapping[str, Any] | None
    ):
        self.gm = gm
        self.options = option_table.resolve(given)
        captured_nodes = sum(
            node.op not in ("placeholder", "output", "get_attr") for node in gm.graph.nodes
        )
        self.record = reports.new_record(gm, captured_nodes)
        # An integer may differ at each call, also where a variant was made for one value of it.
        self.varies = not all(isinstance(value, torch.Tensor) for value in example_inputs)
        self.runs: list[
            Callable[..., Any]
        ] = []  # one per variant; the last may be the graph itself

    def compile(self, inputs: Sequence[Any]) -> Callable[..., Any]:
        """A callable for this graph: a compiled program, a chooser of variants, or the graph."""
        if fallback := self.refusal(inputs):
            self.fall_back(fallback)
            return forward_of(self.gm)
        try:
            variant = self.variant(inputs)
        except errors.UnsupportedError:  # inputs that overlap: others may come
            return self.call
        if variant is None:
            return forward_of(self.gm)
        self.runs.append(variant.run)
        # Dynamo guards what is static; symbolic sizes and overlapping memory are checked here.
        checked = self.varies or variant.has_guards or variant.mutates
        return self.call if checked else variant.run

    def call(self, *inputs: Any) -> Any:
        """Runs the first variant that these inputs fit, or compiles one for them."""
        for run in self.runs:
            try:
                return run(*inputs)
            except errors.TriptychError as error:  # raised before anything has run
                if error.code in ONE_CALL:
                    return self.eager(inputs, error)
                if error.code not in MISMATCH:
                    raise
        if len(self.runs) < self.options.max_variants:
            try:
                variant = self.variant(inputs)
            except errors.UnsupportedError as error:
                return self.eager(inputs, error)
            self.runs.append(forward_of(self.gm) if variant is None else variant.run)
        else:
            self.fall_back(
                Fallback(
                    "graph",
                    "backend.too_many_variants",
                    f"{len(self.runs)} variants exist and none fits; others now run eagerly",
                    hint="raise the option max_variants, or mark fewer sizes as dynamic",
                )
            )
            self.runs.append(forward_of(self.gm))
        return self.runs[-1](*inputs)

    def eager(self, inputs: Sequence[Any], error: errors.TriptychError) -> Any:
        """This one call runs eagerly."""
        self.fall_back(Fallback("graph", error.code, error.args[0], first_location(self.gm)))
        return forward_of(self.gm)(*inputs)

    def refusal(self, inputs: Sequence[Any]) -> Fallback | None:
        """Why this graph is not for the compiler at all, if so."""
        for value in inputs:
            if not isinstance(value, torch.Tensor | torch.SymInt) and type(value) is not int:
                message = f"an input of type {type(value).__name__}"
                return Fallback("graph", "backend.input_kind", message, first_location(self.gm))
        if any(isinstance(value, torch.Tensor) and value.is_meta for value in inputs):
            message = "a tensor on the meta device, which has no data"
            return Fallback("graph", "backend.meta_tensor", message, first_location(self.gm))
        tensors = [id(value) for value in inputs if isinstance(value, torch.Tensor)]
        if len(set(tensors)) < len(tensors):
            message = "one tensor is given for two inputs of a graph that tells them apart"
            return Fallback("graph", "backend.repeated_input", message, first_location(self.gm))
        if inference_mode.changes(self.gm):
            message = "a part of the graph is in inference mode, another part is not"
            return Fallback("graph", "backend.inference_mode", message, first_location(self.gm))
        if needs_gradients(self.gm, inputs):
            reports.warn_once(
                "gradients",
                "a region that needs gradients runs eagerly: training is not compiled yet; call "
                "the function under torch.no_grad() or torch.inference_mode()",
            )
            return Fallback(
                "graph",
                "backend.needs_gradients",
                "grad mode is on and an input or parameter requires grad",
                first_location(self.gm),
                "call it under torch.no_grad() or torch.inference_mode()",
            )
        return None

    def variant(self, inputs: Sequence[Any]) -> Any:
        """One compiled variant, or None when the graph has to run eagerly. Raises UnsupportedError
        only for inputs that overlap, which says nothing about the graph."""
        from . import stages

        try:
            return stages.compile_graph(self.gm, inputs, self.options, self.record)
        except dump.EditedFileError:
            raise
        except errors.UnsupportedError as error:
            if error.code in OVERLAP:
                raise
            self.fall_back(Fallback("graph", error.code, error.args[0], error.location, error.hint))
        except NotImplementedError as error:  # PyTorch has no kernel for tensors without data
            message = str(error).split(". ")[0]
            fallback = Fallback(
                "graph", "normalize.no_fake_kernel", message, first_location(self.gm)
            )
            self.fall_back(fallback)
        except errors.InternalError as error:
            if self.options.strict:
                raise
            self.report_bug(inputs, error)
        except Exception as error:  # PyTorch's: the program's, or a rule of ours refuses too much
            if self.options.strict:
                raise
            return stages.Variant(Suspect(self, error).run, has_guards=False, mutates=False)
        return None

    def report_bug(self, inputs: Sequence[Any], error: Exception) -> None:
        from . import reproducer

        try:
            written = f"Reproducer: {reproducer.write(self.gm, inputs, error, self.options)}"
        except OSError as failure:
            written = f"No reproducer could be written: {failure}"
        reports.warn_once(written, f"a bug of the compiler; the graph runs eagerly. {written}")
        self.fall_back(Fallback("graph", "internal", str(error), first_location(self.gm)))

    def fall_back(self, fallback: Fallback) -> None:
        reports.fall_back(self.record, fallback)


class Suspect:
    """Runs a graph eagerly that compiling refused with an exception of PyTorch's. Eager raises the
    same where the program is wrong; where it does not, the compiler is, which is reported once."""

    def __init__(self, compiler: GraphCompiler, error: Exception):
        self.compiler = compiler
        self.error: Exception | None = error

    def run(self, *inputs: Any) -> Any:
        result = forward_of(self.compiler.gm)(*inputs)
        error, self.error = self.error, None
        if error is not None:
            self.compiler.report_bug(inputs, error)
        return result


def needs_gradients(gm: GraphModule, inputs: Sequence[Any]) -> bool:
    if not any(isinstance(value, torch.Tensor) and value.requires_grad for value in inputs):
        return any(
            node.op == "call_method" and node.target == "requires_grad_" for node in gm.graph.nodes
        )
    return torch.is_grad_enabled() or any(
        node.op == "call_function"
        and node.target is torch._C._set_grad_enabled
        and node.args[0] is True
        for node in gm.graph.nodes
    )


def first_location(gm: GraphModule) -> str:
    """The user's "file:line" of the first node that has one."""
    from .captured import node_location

    for node in gm.graph.nodes:
        if node.op != "placeholder" and (location := node_location(node)):
            return location
    return ""
