"""What a long compile is doing, on a terminal."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TextIO

MANY_NODES = 500  # smaller graphs are done before anyone would read
SECOND = 1.0


class Progress:
    """Shows the stage once a second, from the first second on; nothing where nobody looks."""

    def __init__(self, name: str, nodes: int, stream: TextIO | None = None):
        self.stream = sys.stderr if stream is None else stream
        self.shown = nodes >= MANY_NODES and self.stream.isatty()
        self.title = f"triptych: {name}, {nodes} nodes"
        self.stage = ""
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        start = time.perf_counter()
        while not self.done.wait(SECOND):
            seconds = time.perf_counter() - start
            self.write(f"\r\033[K{self.title}: {self.stage}, {seconds:.0f} s")
        self.write("\r\033[K")

    def write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()

    def __enter__(self) -> Progress:
        if self.shown:
            self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.shown:
            self.done.set()
            self.thread.join()
