"""The dump folder: what every stage made of every graph, as numbered text files; and the override
folder, whose files of the same names are taken in their place.

<folder>/graph_000/01_captured.txt, 02_normalized.txt, 03_lowered.txt, ...
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import errors, reports

if TYPE_CHECKING:
    from .options import Options
    from .reports import GraphRecord

SUFFIX = {"llvm": ".ll", "cpp": ".cpp"}
GENERATED = ("lowered", "fused", "mapped", "kernels", "program")


class EditedFileError(errors.UserError):
    """An edited file that cannot stand for its stage."""


class Folder:
    """One graph's files. Computes no text when no folder was asked for."""

    def __init__(self, options: Options, record: GraphRecord):
        self.dump = Path(options.dump) / record.name if options.dump else None
        self.override = Path(options.override) / record.name if options.override else None
        if options.override and not Path(options.override).is_dir():
            raise EditedFileError(
                f"override: there is no folder {options.override}", "dump.override"
            )
        self.record = record  # a second variant of the graph goes on where the first one ended

    def file_name(self, stage: str, ahead: int = 1, suffix: str = ".txt") -> str:
        return f"{self.record.files + ahead:02d}_{stage}{suffix}"

    def edited(self, stage: str, ahead: int = 1, suffix: str = ".txt") -> Path | None:
        """The file that replaces the stage's text, if there is one."""
        if self.override is None:
            return None
        path = self.override / self.file_name(stage, ahead, suffix)
        return path if path.exists() else None

    def edited_forms(self, writer: str) -> dict[str, str]:
        """What replaces the forms of stage 3, which are made in one go, by name."""
        found = {}
        for ahead, stage in enumerate(GENERATED, 1):
            suffix = SUFFIX.get(writer, ".txt") if stage == "kernels" else ".txt"
            if (path := self.edited(stage, ahead, suffix)) is not None:
                found[stage] = path.read_text()
        return found

    @contextlib.contextmanager
    def naming(self, path: Path | None) -> Iterator[None]:
        """What goes wrong in the block is said to be of the edited file."""
        try:
            yield
        except errors.TriptychError as error:
            if path is None:
                raise
            raise EditedFileError(f"override: {path}: {error}", "dump.override") from error

    def write(self, stage: str, text: Callable[[], str], suffix: str = ".txt") -> None:
        name = self.file_name(stage, suffix=suffix)
        self.record.files += 1
        if self.dump is None:
            return
        try:
            self.dump.mkdir(parents=True, exist_ok=True)
            (self.dump / name).write_text(text().rstrip("\n") + "\n")
        except OSError as failure:  # of the folder, which is no reason not to compile
            reports.warn_once(str(self.dump), f"the dump folder cannot be written: {failure}")
            self.dump = None

    def write_graph(self, stage: str, graph: Any) -> Any:
        """Writes a graph and its constants; returns the edited one where there is one."""
        from ._C import Graph

        if (path := self.edited(stage)) is not None:
            with self.naming(path):
                graph = Graph.load(str(path))
        name = self.file_name(stage)
        self.write(stage, lambda: str(graph))
        if self.dump is not None and all(value is not None for value in graph.constants.values()):
            graph.save(str(self.dump / name))
        return graph


def write_generated(folder: Folder, generated: Any) -> None:
    texts: Mapping[str, Callable[[], str]] = {
        "lowered": lambda: str(generated.form("lowered")),
        "fused": lambda: str(generated.form("fused")),
        "mapped": lambda: str(generated.form("mapped")),
        "program": lambda: str(generated.plan),
        "kernels": lambda: generated.text,
    }
    for stage in GENERATED:
        suffix = SUFFIX.get(generated.writer, ".txt") if stage == "kernels" else ".txt"
        folder.write(stage, texts[stage], suffix)
