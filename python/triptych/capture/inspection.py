"""`triptych.capture`: what a call of a function is to the compiler, without compiling it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..reports import Fallback

if TYPE_CHECKING:
    from torch.fx import GraphModule

    from .. import _C


@dataclass
class Captured:
    """The graphs of one call, the guards under which they stand for it, where it broke."""

    graph_modules: list[GraphModule] = field(default_factory=list)
    inputs: list[Sequence[Any]] = field(default_factory=list)  # of each graph
    guards: list[list[str]] = field(default_factory=list)  # of each entry, in source terms
    breaks: list[Fallback] = field(default_factory=list)
    result: Any = None

    @property
    def graphs(self) -> list[_C.Graph]:
        """In our text form: they print, and parse again."""
        from ..captured import from_fx

        return [
            from_fx(gm, inputs) for gm, inputs in zip(self.graph_modules, self.inputs, strict=True)
        ]

    def __str__(self) -> str:
        from ..captured import captured_text

        lines = [f"{len(self.graph_modules)} graphs, {len(self.breaks)} breaks"]
        lines += [f"  {fallback}" for fallback in self.breaks]
        for guards in self.guards:
            lines += ["", f"{len(guards)} guards", *(f"  {guard}" for guard in guards)]
        lines += ["", *(captured_text(gm) for gm in self.graph_modules)]
        return "\n".join(lines)


def capture(
    function: Callable[..., Any], *, dynamic: bool | None = None
) -> Callable[..., Captured]:
    """`capture(fn)(*args)` runs `fn` once, through its captured graphs, and returns those."""
    if not callable(function):
        raise TypeError(f"triptych.capture: expected a function or module, found {function!r}")

    def call(*args: Any, **kwargs: Any) -> Captured:
        from .. import _C, errors, reports
        from . import regions

        if reason := regions.unavailable():
            raise errors.UnsupportedError(reason, "capture.unavailable")
        captured = Captured()

        def keep(gm: Any, inputs: Sequence[Any]) -> Any:
            captured.graph_modules.append(gm)
            captured.inputs.append(inputs)
            return gm.forward

        target = getattr(function, "_torchdynamo_orig_callable", function)
        with reports.capture_notes() as notes:
            compiled = regions.compile_callable(target, regions.Settings(keep, dynamic=dynamic))
            captured.result = compiled(*args, **kwargs)
        captured.breaks = [note for kind, note in notes if kind == "breaks"]
        region = getattr(compiled, "_triptych_region", compiled)
        captured.guards = [entry["guards"] for entry in _C.region_entries(region)]
        return captured

    return call
