"""The dump folder: what every stage made of every graph, as numbered text files.

<folder>/graph_000/01_captured.txt, 02_normalized.txt, 03_lowered.txt, ...
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

SUFFIX = {"llvm": ".ll", "cpp": ".cpp"}


class Folder:
    """One graph's files. Does nothing, and computes no text, when no folder was asked for."""

    def __init__(self, root: str, graph: str):
        self.path = Path(root) / graph if root else None
        self.number = 0

    def write(self, stage: str, text: Callable[[], str], suffix: str = ".txt") -> None:
        if self.path is None:
            return
        self.path.mkdir(parents=True, exist_ok=True)
        if self.number == 0:  # a second variant of the graph goes on where the first one ended
            self.number = len(list(self.path.iterdir()))
        self.number += 1
        name = f"{self.number:02d}_{stage}{suffix}"
        (self.path / name).write_text(text().rstrip("\n") + "\n")


def write_generated(folder: Folder, generated: Any) -> None:
    folder.write("lowered", lambda: generated.lowered)
    folder.write("fused", lambda: generated.fused)
    folder.write("mapped", lambda: generated.mapped)
    folder.write("kernels", lambda: generated.text, SUFFIX.get(generated.writer, ".txt"))
    folder.write("program", lambda: generated.program)
