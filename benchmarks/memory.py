"""Peak memory of a compiled call against eager's, and the arena that stays."""

from __future__ import annotations

import gc
import pathlib
import re

import torch

from . import fresh_process, models
from .table import Table, at_most, reported

SECTION = "memory"
THIS = "benchmarks.memory"


def _status_kb(field: str) -> int:
    text = pathlib.Path("/proc/self/status").read_text()
    match = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    if match is None:
        raise RuntimeError(f"/proc/self/status has no {field}")
    return int(match.group(1))


def peak_kb(name: str, compiled: bool) -> dict[str, float]:
    """Growth of the resident peak during one warm call, over the resident size before the first."""
    import triptych

    torch.set_num_threads(2)
    function, inputs = models.build(name)
    with torch.no_grad():
        if compiled:
            program = triptych.generate(triptych.normalize(*models.captured(name)))
            arguments = models.captured(name)[1]
            call = lambda: program.run(*arguments)  # noqa: E731
        else:
            call = lambda: function(*inputs)  # noqa: E731
        gc.collect()
        before = _status_kb("VmRSS")
        for _ in range(3):
            call()
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        call()
        peak = _status_kb("VmHWM") - before
        arena = program.executable.retained_bytes / 1024 if compiled else 0
    return {"kb": peak, "arena_kb": arena}


def measure(table: Table, quick: bool) -> None:
    for name in ("gpt2",) if quick else models.MODELS:
        what = f"{name}, peak memory over eager's"
        with table.case(SECTION, what):
            eager = fresh_process.call(THIS, "peak_kb", name, False)
            ours = fresh_process.call(THIS, "peak_kb", name, True)
            ratio = ours["kb"] / max(eager["kb"], 1)
            table.add(at_most(SECTION, what, ratio, "x", 1.0, eager=eager, ours=ours))
            table.add(reported(SECTION, f"{name}, retained arena", ours["arena_kb"], "KB"))
