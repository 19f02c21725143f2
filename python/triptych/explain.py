"""`triptych.explain`: what became of one call, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import names, reports
from . import options as option_table
from .compile import CAPTURING, capture, check_flags, choose_backend
from .reports import Fallback, GraphRecord

ARGUMENTS = ("fullgraph", "dynamic", "mode", "options")  # of `compile`, that `explain` takes too


@dataclass
class Report:
    """What compiling one call produced. Printing it gives the page for people."""

    graphs: list[GraphRecord] = field(default_factory=list)
    breaks: list[Fallback] = field(default_factory=list)
    recompiles: list[str] = field(default_factory=list)
    guards: list[list[str]] = field(default_factory=list)  # of each entry, of our own capture
    result: Any = None

    @property
    def fallbacks(self) -> list[Fallback]:
        """Every fallback of capture and of whole graphs."""
        return [*self.breaks, *(f for graph in self.graphs for f in graph.fallbacks)]

    @property
    def kernels(self) -> int:
        return sum(g.generated.num_kernels for g in self.graphs if g.generated is not None)

    @property
    def external_calls(self) -> int:
        return sum(len(g.generated.externals) for g in self.graphs if g.generated is not None)

    def __str__(self) -> str:
        head = (
            f"{len(self.graphs)} graphs, {len(self.breaks)} graph breaks, {self.kernels} kernels, "
            f"{self.external_calls} external calls, {len(self.fallbacks)} fallbacks"
        )
        lines = [head, *(f"  {fallback}" for fallback in self.breaks)]
        lines += [f"  recompiled: {reason}" for reason in self.recompiles]
        lines += [f"  entry {k}: {len(guards)} guards" for k, guards in enumerate(self.guards)]
        for graph in self.graphs:
            lines += ["", *graph_lines(graph)]
        return "\n".join(lines)

    def show(self) -> Report:
        print(self)
        return self


def graph_lines(graph: GraphRecord) -> list[str]:
    lines = [f"{graph.name}", f"  captured    {graph.captured_nodes} nodes"]
    if graph.normalized is not None:
        lines.append(f"  normalized  {len(graph.normalized.nodes)} nodes")
    if (generated := graph.generated) is not None:
        lines.append(
            f"  generated   {generated.num_kernels} distinct kernels, "
            f"{generated.num_launches} launches, {len(generated.externals)} external calls"
        )
        reasons: dict[str, list[str]] = {}
        for node, reason in generated.externals:
            reasons.setdefault(reason, []).append(node)
        lines += [f"    external ({len(n)}) {r}: {shorten(n)}" for r, n in reasons.items()]
    times = "  ".join(f"{stage} {ms:.1f} ms" for stage, ms in graph.milliseconds.items())
    if times:
        lines.append(f"  time        {times}")
    return [*lines, *(f"  {fallback}" for fallback in graph.fallbacks)]


def shorten(nodes: list[str], limit: int = 6) -> str:
    more = f", and {len(nodes) - limit} more" if len(nodes) > limit else ""
    return ", ".join(nodes[:limit]) + more


def explain(function: Callable[..., Any], **arguments: Any) -> Callable[..., Report]:
    """`explain(fn)(*args)` compiles and runs `fn` afresh on `args`, prints a report and returns it.

    Further arguments are `fullgraph`, `dynamic`, `mode` and `options` of `triptych.compile`. A
    compiled function is explained as the function that it was made of.
    """
    if not callable(function):
        raise TypeError(f"triptych.explain: expected a function or module, found {function!r}")
    function = getattr(function, "_torchdynamo_orig_callable", function)
    function = getattr(function, "_orig_mod", function)
    for name in arguments:
        names.check("argument", name, ARGUMENTS)
    options = arguments.pop("options", None)
    fullgraph, dynamic = arguments.get("fullgraph", False), arguments.get("dynamic")
    check_flags(fullgraph=fullgraph, dynamic=dynamic)

    def call(*args: Any, **kwargs: Any) -> Report:
        backend = choose_backend("triptych", arguments.get("mode"), options)
        report = Report()

        def explaining(gm: Any, example_inputs: Any) -> Any:
            note_break(report, gm)
            return backend(gm, example_inputs)

        given = option_table.as_mapping(options)
        capturing = {name: value for name, value in given.items() if name in CAPTURING}
        compiled = capture(
            function, explaining, fullgraph=fullgraph, dynamic=dynamic, given=capturing
        )
        with reports.recording() as report.graphs, reports.capture_notes() as notes:
            report.result = compiled(*args, **kwargs)
        report.breaks += [note for kind, note in notes if kind == "breaks"]
        report.recompiles = [note for kind, note in notes if kind == "recompiles"]
        report.guards = guards_of(compiled)
        return report.show()

    return call


def guards_of(compiled: Any) -> list[list[str]]:
    """The guards of each entry, in source terms; nothing where Dynamo captured."""
    from . import _C

    region = getattr(compiled, "_triptych_region", compiled)
    if not _C.is_region(region):
        return []
    return [entry["guards"] for entry in _C.region_entries(region)]


def note_break(report: Report, gm: Any) -> None:
    """Dynamo says on each graph why it ended; a return is no break."""
    reason = getattr(gm, "compile_subgraph_reason", None)
    if reason is None or not getattr(reason, "graph_break", False):
        return
    stack = getattr(reason, "user_stack", None) or []
    location = f"{stack[-1].filename}:{stack[-1].lineno}" if stack else ""
    message = str(reason.reason).strip().split("\n")
    report.breaks.append(Fallback("capture", "capture.graph_break", message[0], location))
