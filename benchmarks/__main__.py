"""`python -m benchmarks [SECTION ...] [--quick] [--json FILE]`: prints the ratio table and writes
JSON."""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import platform

import torch

from . import compile_time, kernels, memory, speed
from .table import Row, show

SECTIONS = {
    "compile": compile_time.rows,
    "speed": speed.rows,
    "kernels": kernels.rows,
    "memory": memory.rows,
}


def _machine() -> dict[str, str | int]:
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    model = next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), ""
    )
    return {
        "processor": model or platform.processor(),
        "vectors": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument(
        "sections", nargs="*", choices=[[], *SECTIONS], help="all when none is named"
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer cases and rounds; figures are rougher"
    )
    parser.add_argument(
        "--json", default="build/bench.json", help="where the JSON goes (default: %(default)s)"
    )
    arguments = parser.parse_args()
    machine = _machine()
    print("machine:", ", ".join(f"{key} {value}" for key, value in machine.items()), flush=True)
    rows: list[Row] = []
    for name in arguments.sections or SECTIONS:
        print(f"\n## {name}", flush=True)
        section = SECTIONS[name](arguments.quick)
        print(show(section), flush=True)
        rows += section
    path = pathlib.Path(arguments.json)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({"machine": machine, "rows": [dataclasses.asdict(r) for r in rows]}, indent=1)
    )
    missed = [row for row in rows if row.met is False]
    reached = sum(row.met is True for row in rows)
    print(f"\n{len(rows)} rows, {reached} reached, {len(missed)} missed; JSON: {path}")
    for row in missed:
        print(f"  missed: {row.what}: {row.value:.3g} {row.unit}, goal {row.goal}")


if __name__ == "__main__":
    main()
