"""What a region asks for while it captures: a graph builder, the backend, and to be told on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import errors, logs, reports
from ..captured import forward_of
from ..reports import Fallback


class Host:
    """Of one region. `_C` calls its methods."""

    def __init__(self, backend: Callable[..., Any], name: str, strict: bool):
        self.backend = backend
        self.name = name
        self.strict = strict

    def builder(self) -> Any:
        from .graph import GraphBuilder

        return GraphBuilder()

    def compile(self, builder: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        gm = builder.graph_module(inputs)
        reports.count("captures")
        logs.log("graph", lambda: _graph_text(gm))
        run = self.backend(gm, list(inputs))
        return forward_of(gm) if run == gm.forward else run

    @property
    def wants_guards(self) -> bool:
        return "guards" in logs.enabled()

    def guards(self, texts: Sequence[str]) -> None:
        logs.log("guards", lambda: "\n  ".join([f"of {self.name}", *texts]))

    def recompiles(self, reasons: Sequence[tuple[str, str]]) -> None:
        reports.count("recompiles")
        texts = [f"{text} (read at {location})" if location else text for text, location in reasons]
        reports.note_capture("recompiles", f"{self.name}: {texts[0]}")
        logs.log("recompiles", lambda: "\n  ".join([f"recompiling {self.name}", *texts]))

    def breaks(self, code: str, message: str, location: str, hint: str) -> None:
        fallback = Fallback("capture", code, message, location, hint)
        reports.count(f"fallback.{code}")
        reports.note_capture("breaks", fallback)
        logs.log("breaks", lambda: f"in {self.name}: {fallback}")

    def runs_eagerly(self, is_bug: bool, code: str, message: str, location: str, hint: str) -> None:
        fallback = Fallback("capture", code, message, location, hint)
        reports.count(f"fallback.{code}")
        reports.note_capture("breaks", fallback)
        logs.log("breaks", lambda: f"{self.name} runs eagerly: {fallback}")
        if is_bug:
            reports.warn_once(
                f"{self.name} {code}", f"a bug of the compiler; {self.name} runs eagerly: {message}"
            )
        elif code == "capture.too_many_entries":
            reports.warn_once(
                f"{self.name} {code}", f"{self.name} runs eagerly from now on: {message}"
            )

    def graph_raised(self, error: BaseException, undone: bool) -> bool:
        """Whether the program's own code is to run now: it raises what it raises with the lines
        of the program, after what it changes before, and where its handlers are."""
        is_bug = isinstance(error, errors.InternalError)
        if not isinstance(error, Exception) or (is_bug and self.strict):
            return False
        if not undone:
            where = f"the graph of {self.name}, which has changed tensors before"
            error.add_note(f"triptych: raised within {where}")
            return False
        text = f"the graph raised {type(error).__name__}: {error}"
        self.runs_eagerly(is_bug, "graph.raised", text, getattr(error, "location", ""), "")
        return True


def _graph_text(gm: Any) -> str:
    from ..captured import captured_text

    return captured_text(gm)
