"""`python -m benchmarks [SECTION ...] [--quick] [--json FILE]`: prints the ratio table and writes
JSON, row by row. Exits with 1 when a case failed to run; a goal that is missed is only shown."""

from __future__ import annotations

import argparse
import pathlib
import platform
import sys

import torch

from . import capture, compile_time, kernels, memory, single_ops, speed
from .table import Table

SECTIONS = {
    "capture": capture.measure,
    "compile": compile_time.measure,
    "speed": speed.measure,
    "kernels": kernels.measure,
    "pointwise": single_ops.measure_pointwise,
    "reductions": single_ops.measure_reductions,
    "memory": memory.measure,
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument(
        "--quick", action="store_true", help="fewer cases and rounds; figures are rougher"
    )
    parser.add_argument(
        "--json", default="build/bench.json", help="where the JSON goes (default: %(default)s)"
    )
    arguments = parser.parse_args()
    for name in arguments.sections:
        if name not in SECTIONS:
            parser.error(f"unknown section {name!r}; there are {', '.join(SECTIONS)}")
    machine = _machine()
    print("machine:", ", ".join(f"{key} {value}" for key, value in machine.items()), flush=True)
    table = Table(pathlib.Path(arguments.json), machine)
    for name in arguments.sections or SECTIONS:
        table.section(name)
        SECTIONS[name](table, arguments.quick)
    print(f"\n{table.summary()}")
    return 1 if table.errors else 0


if __name__ == "__main__":
    sys.exit(main())
