"""From a captured graph to a callable: the stages in a row, each timed, recorded and dumped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import captured, dump, reports
from .options import Options

if TYPE_CHECKING:
    from torch.fx import GraphModule


def compile_graph(
    gm: GraphModule, inputs: Sequence[Any], options: Options, record: reports.GraphRecord
) -> Any:
    """One compiled variant of the graph. Raises the errors of triptych.errors."""
    from .generate import generate
    from .normalize import normalize

    reports.count("variants")
    out = dump.Folder(options.dump, record.name)
    out.write("captured", lambda: captured.captured_text(gm))
    with record.timed("normalize"):
        graph = normalize(gm, inputs)
    record.normalized = graph
    out.write("normalized", lambda: str(graph))
    with record.timed("generate"):
        generated = generate(
            graph,
            writer=options.writer,
            fuse=options.fuse,
            eager_rounding=options.eager_rounding,
            reuse_memory=options.reuse_memory,
        )
    record.generated = generated
    dump.write_generated(out, generated)
    return generated


def reset() -> None:
    """Returns memory that compiled programs keep between calls."""
    from . import _C

    _C.release_memory()
