"""Stage 3: from a normalized graph to a program that runs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _C, devices, errors, extensions, names
from .options import TABLE
from .toolchains import Library

OPTIONS = {
    name: TABLE[name].default for name in ("fuse", "eager_rounding", "reuse_memory", "strict")
}
ARGUMENTS = ("device", "writer", "edited")  # of generate, which are no options


class Generated:
    """A generated program: call it with the graph's inputs; it returns a tuple of the outputs.

    Every form on the way can be looked at: `lowered`, `fused`, `mapped` (loop trees), `text` (in
    the writer's language), `memory_plan`, `program`. `run` is the callable itself, without this
    object's own Python call around it. Results never require grad. A copy, and what is pickled,
    is generated anew from the graph and the options.
    """

    def __init__(
        self,
        graph: _C.Graph,
        target: _C.Target,
        options: _C.CodegenOptions,
        code: _C.GeneratedCode,
        executable: _C.Executable,
        keep_alive: Any,
        milliseconds: dict[str, float],
        start: Start,
        recipe: dict[str, Any] | None,
    ):
        self.graph = graph
        self.executable = executable
        self.milliseconds = milliseconds
        self.run = _C.make_callable(executable, keep_alive)
        self._target = target
        self._options = options
        self._code = code
        self._start = start
        self._recipe = recipe

    def __reduce__(self) -> tuple[Any, ...]:
        if self._recipe is None:
            raise TypeError("a program that was generated from edited texts cannot be copied")
        return generate_again, (self.graph, self._recipe)

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        return self.run(*inputs)

    def accepts(self, inputs: Sequence[Any]) -> bool:
        """Whether these inputs fit: types, sizes, guards, no overlap where one is written."""
        try:
            return self.executable.accepts(inputs)
        except errors.UserError:  # neither a tensor nor an integer
            return False

    @property
    def has_guards(self) -> bool:
        """Whether sizes are symbolic or guarded, so that inputs of one graph may not fit."""
        return self.plan.has_guards

    @property
    def plan(self) -> _C.Plan:
        return self._code.program

    @property
    def kernels(self) -> list[_C.Kernel]:
        """The distinct mapped kernels."""
        return self.plan.kernels

    @property
    def num_kernels(self) -> int:
        return len(self.plan.kernels)

    @property
    def num_launches(self) -> int:
        return self.plan.num_launches

    @property
    def externals(self) -> list[tuple[str, str]]:
        """Nodes that ATen's own kernels run, each with the reason."""
        return self._code.externals

    @property
    def writer(self) -> str:
        return self._code.language

    @property
    def text(self) -> str:
        return self._code.text

    @property
    def program(self) -> str:
        """Slots and steps; `str(plan)` is the same with the mapped kernels, and parses."""
        return self.plan.steps

    @property
    def memory_plan(self) -> str:
        return self.plan.memory_plan

    @property
    def lowered(self) -> str:
        return self.form("lowered").items

    @property
    def fused(self) -> str:
        return self.form("fused").items

    @property
    def mapped(self) -> str:
        return self.form("mapped").items

    def form(self, name: str) -> _C.LoopProgram:
        """ "lowered", "fused" or "mapped", made anew; its text holds the graph too, and parses."""
        return self._start.form(name, self._target, self._options)

    def reset(self) -> None:
        """Returns the memory that is kept between calls."""
        self.executable.reset()

    def __str__(self) -> str:
        return str(self.plan)

    def __repr__(self) -> str:
        return (
            f"<triptych.Generated: {self.num_kernels} kernels, {self.num_launches} launches, "
            f"{len(self.externals)} external calls>"
        )


FORMS = ("lowered", "fused", "mapped")


@dataclass(frozen=True)
class Start:
    """Where generation begins: at a graph, or at a form that was edited."""

    graph: _C.Graph
    name: str = ""  # of the form
    loops: _C.LoopProgram | None = None

    def form(self, name: str, target: _C.Target, options: _C.CodegenOptions) -> _C.LoopProgram:
        if self.loops is not None and FORMS.index(name) >= FORMS.index(self.name):
            return _C.advance(self.loops, self.name, name, target, options)
        return _C.intermediate_form(self.graph, name, target, options)

    def code(self, target: _C.Target, options: _C.CodegenOptions) -> _C.GeneratedCode:
        if self.loops is not None:
            return _C.generate_from_loops(self.loops, self.name, target, options)
        return _C.generate(self.graph, target, options)


def generate(
    graph: _C.Graph,
    device: str = "cpu",
    writer: str | None = None,
    options: Mapping[str, Any] | None = None,
    edited: Mapping[str, str] | None = None,
    **more: Any,
) -> Generated:
    """Generates a program for a normalized graph.

    `writer` names one of the device's languages (the CPU has "llvm" and "cpp"); the default is the
    device's first. Options, as a mapping or as keywords: `fuse`, `eager_rounding` (round half and
    bfloat16 intermediates as eager does), `reuse_memory`, `strict` (an external result with other
    strides than the graph says is an error, not a copy). `edited` maps forms ("lowered", "fused",
    "mapped", "program", "kernels") to texts that are taken in their place; of several the last one
    in this order decides, but for "kernels", which only replaces the writer's text.
    """
    if not isinstance(graph, _C.Graph):
        raise TypeError(
            f"generate: expected a Graph, found {type(graph).__name__}: "
            "triptych.normalize makes one"
        )
    if graph.level != "normalized":
        raise errors.UserError(
            "generate: found a captured graph, expected a normalized one: "
            "triptych.normalize(graph, example_inputs) makes it"
        )
    if problems := graph.verify():
        raise errors.UserError(f"generate: the graph is not well formed: {problems[0]}")
    chosen = _chosen_options({**_mapping("options", options), **more})
    recipe = None if edited else {"device": device, "writer": writer, "options": dict(chosen)}
    where = devices.find(device)
    entry = where.entry(writer)
    target = _C.Target(device, where.traits(), entry.writer)
    strict = chosen.pop("strict")
    codegen_options = _C.CodegenOptions(**chosen, lowerings=extensions.lowerings())
    start, code = _code(graph, target, codegen_options, _mapping("edited", edited))
    milliseconds = dict(code.times)
    begin = time.perf_counter()
    compiled, keep_alive = _compile(code, entry, where)
    milliseconds["compile"] = (time.perf_counter() - begin) * 1e3
    begin = time.perf_counter()
    executable = _C.make_executable(code.program, compiled, where.launcher, strict, graph)
    milliseconds["load"] = (time.perf_counter() - begin) * 1e3
    return Generated(
        graph, target, codegen_options, code, executable, keep_alive, milliseconds, start, recipe
    )


def generate_again(graph: _C.Graph, recipe: dict[str, Any]) -> Generated:
    """What pickle and copy call."""
    return generate(graph, **recipe)


def _mapping(name: str, given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"generate: {name}: expected a mapping of names, found {given!r}")
    return given or {}


def _chosen_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Every option with its value. Raises for an unknown name, or a value of another type."""
    chosen = dict(OPTIONS)
    for name, value in given.items():
        if name in ARGUMENTS:
            raise errors.UserError(
                f"generate: {name!r} is no option but an argument: generate(graph, {name}=...)"
            )
        names.check("option", name, OPTIONS)
        chosen[name] = TABLE[name].check(value)
    return chosen


def _code(
    graph: _C.Graph, target: _C.Target, options: _C.CodegenOptions, edited: Mapping[str, str]
) -> tuple[Start, _C.GeneratedCode]:
    for name in edited:
        names.check("form", name, (*FORMS, "program", "kernels"))
    start = Start(graph)
    # Folding adds constants, which texts name.
    constants = start.form("lowered", target, options).constants if edited else {}
    for name in FORMS:
        if name in edited:
            loops = _C.LoopProgram.parse(edited[name], constants)
            start = Start(graph, name, loops)
    if "program" in edited:
        plan = _C.Plan.parse(edited["program"], constants)
        code = _C.generate_from_plan(plan, target)
    else:
        code = start.code(target, options)
    if "kernels" in edited:
        code.text = edited["kernels"]
    return start, code


def _compile(
    code: _C.GeneratedCode, entry: devices.WriterEntry, device: devices.Device
) -> tuple[list[Any], Any]:
    """What the launcher takes for each kernel, and what must live as long as that."""
    if not code.entries:
        return [], None
    traits = device.traits()
    options = {"cpu": traits.cpu or None, "features": traits.features or None}
    made = entry.toolchain(code.text, code.entries, code.symbols_needed, options)
    if isinstance(made, Library):
        return [made.addresses[name] for name in code.entries], made
    return list(made), made
