"""What happened: counters for the process, and records of each compiled graph for reports.

Fallbacks are never silent: each is counted by its reason code, and can be listed with the user's
source line and a hint.
"""

from __future__ import annotations

import collections
import contextlib
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import torch


@dataclass(frozen=True)
class Fallback:
    """One level given up: an op runs as an external call, a graph runs eagerly, capture broke."""

    level: str  # "op", "graph", "capture"
    code: str
    message: str
    location: str = ""
    hint: str = ""

    def __str__(self) -> str:
        where = f" at {self.location}" if self.location else ""
        hint = f"\n      hint: {self.hint}" if self.hint else ""
        return f"{self.level} fallback [{self.code}]{where}: {self.message}{hint}"


@dataclass
class GraphRecord:
    """One graph handed to the compiler: what each stage made of it and how long that took."""

    name: str
    captured: Any = None  # fx.GraphModule
    captured_nodes: int = 0
    normalized: Any = None  # triptych.Graph
    generated: Any = None  # what triptych.generate returned
    milliseconds: dict[str, float] = field(default_factory=dict)
    files: int = 0  # numbers given out in the dump folder
    fallbacks: list[Fallback] = field(default_factory=list)

    @contextlib.contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - start) * 1e3
            self.milliseconds[stage] = self.milliseconds.get(stage, 0.0) + spent


_lock = threading.Lock()
_counters: collections.Counter[str] = collections.Counter()
_warned: set[str] = set()
T = TypeVar("T")
_listeners: list[list[GraphRecord]] = []
_capture_listeners: list[list[tuple[str, Any]]] = []


def counters() -> dict[str, int]:
    """How often each thing happened in this process since the last `triptych.reset()`.

    `graphs`: graphs handed to the compiler. `variants`: compilations of these, one for each set of
    symbolic sizes. `fallback.<reason code>`: what ran one level below. `specialized.<reason code>`:
    graphs compiled for the very sizes given, because symbolic ones did not work
    (`specialized.symbolic.too_large`: sizes whose expressions grew too large). A count of 0 is left
    out.
    """
    with _lock:
        return dict(sorted(_counters.items()))


def count(name: str, by: int = 1) -> None:
    with _lock:
        _counters[name] += by


def reset() -> None:
    with _lock:
        _counters.clear()
        _warned.clear()


def new_record(captured: Any, captured_nodes: int) -> GraphRecord:
    with _lock:
        number = _counters["graphs"]
        _counters["graphs"] += 1
        record = GraphRecord(f"graph_{number:03d}", captured, captured_nodes)
        for listener in _listeners:
            listener.append(record)
    return record


def fall_back(record: GraphRecord, fallback: Fallback) -> None:
    record.fallbacks.append(fallback)
    count(f"fallback.{fallback.code}")


def warn_once(cause: str, message: str) -> None:
    with _lock:
        if cause in _warned:
            return
        _warned.add(cause)
    warnings.warn(f"triptych: {message}", stacklevel=_frames_of_libraries() + 1)


_LIBRARIES = tuple(f"{Path(file).parent}{os.sep}" for file in (__file__, torch.__file__))


def _frames_of_libraries() -> int:
    """How many frames, from the caller on, are Triptych's or PyTorch's: whoever is warned has not
    written them."""
    frame: FrameType | None = sys._getframe(1)
    count = 0
    while frame is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        frame, count = frame.f_back, count + 1
    return count


@contextlib.contextmanager
def _listening(listeners: list[list[T]]) -> Iterator[list[T]]:
    """A list among the listeners while the `with` block runs."""
    heard: list[T] = []
    with _lock:
        listeners.append(heard)
    try:
        yield heard
    finally:
        with _lock:
            listeners[:] = [kept for kept in listeners if kept is not heard]


def recording() -> contextlib.AbstractContextManager[list[GraphRecord]]:
    """Collects the records of all graphs compiled inside the `with` block."""
    return _listening(_listeners)


def note_capture(kind: str, what: Any) -> None:
    """A graph break, an eager call or a recompile of the capture."""
    with _lock:
        for listener in _capture_listeners:
            listener.append((kind, what))


def capture_notes() -> contextlib.AbstractContextManager[list[tuple[str, Any]]]:
    """Collects what `note_capture` is told inside the `with` block."""
    return _listening(_capture_listeners)
