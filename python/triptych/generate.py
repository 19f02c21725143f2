"""Stage 3: from a normalized graph to a program that runs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from . import _C, devices, extensions, names
from .toolchains import Library

OPTIONS = {"fuse": True, "eager_rounding": False, "reuse_memory": True, "strict": False}


class Generated:
    """A generated program: call it with the graph's inputs; it returns a tuple of the outputs.

    Every form on the way can be looked at: `lowered`, `fused`, `mapped` (loop trees), `text` (in
    the writer's language), `memory_plan`, `program`. `run` is the callable itself, without this
    object's own Python call around it. Results never require grad.
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
    ):
        self.graph = graph
        self.executable = executable
        self.milliseconds = milliseconds
        self.run = _C.make_callable(executable, keep_alive)
        self._target = target
        self._options = options
        self._code = code

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        return self.run(*inputs)

    def accepts(self, inputs: Sequence[Any]) -> bool:
        """Whether these inputs fit: types, sizes, guards, no overlap where one is written."""
        return self.executable.accepts(inputs)

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
        return str(self.plan)

    @property
    def memory_plan(self) -> str:
        return self.plan.memory_plan

    @property
    def lowered(self) -> str:
        return self._form("lowered")

    @property
    def fused(self) -> str:
        return self._form("fused")

    @property
    def mapped(self) -> str:
        return self._form("mapped")

    def _form(self, form: str) -> str:
        return _C.intermediate_form(self.graph, form, self._target, self._options)

    def reset(self) -> None:
        """Returns the memory that is kept between calls."""
        self.executable.reset()

    def __str__(self) -> str:
        return "\n".join([*map(str, self.kernels), self.program])

    def __repr__(self) -> str:
        return (
            f"<triptych.Generated: {self.num_kernels} kernels, {self.num_launches} launches, "
            f"{len(self.externals)} external calls>"
        )


def generate(
    graph: _C.Graph,
    device: str = "cpu",
    writer: str | None = None,
    options: Mapping[str, Any] | None = None,
    **more: Any,
) -> Generated:
    """Generates a program for a normalized graph.

    `writer` names one of the device's languages (the CPU has "llvm" and "cpp"); the default is the
    device's first. Options, as a mapping or as keywords: `fuse`, `eager_rounding` (round half and
    bfloat16 intermediates as eager does), `reuse_memory`, `strict` (an external result with other
    strides than the graph says is an error, not a copy).
    """
    chosen = dict(OPTIONS)
    for name, value in {**(options or {}), **more}.items():
        names.check("option", name, OPTIONS)
        chosen[name] = value
    where = devices.find(device)
    entry = where.entry(writer)
    target = _C.Target(device, where.traits(), entry.writer)
    strict = chosen.pop("strict")
    codegen_options = _C.CodegenOptions(**chosen, lowerings=extensions.lowerings())
    code = _C.generate(graph, target, codegen_options)
    milliseconds = dict(code.times)
    start = time.perf_counter()
    compiled, keep_alive = _compile(code, entry, where)
    milliseconds["compile"] = (time.perf_counter() - start) * 1e3
    start = time.perf_counter()
    executable = _C.make_executable(code.program, compiled, where.launcher, strict, graph)
    milliseconds["load"] = (time.perf_counter() - start) * 1e3
    return Generated(graph, target, codegen_options, code, executable, keep_alive, milliseconds)


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
