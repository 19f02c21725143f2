"""Runs one of CPython's test modules twice, natively and another way, and compares the outcomes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import language_modules

HERE = Path(__file__).resolve().parent
TIMEOUT_S = 900


@dataclass
class Report:
    module: str
    tests: int = 0
    statistics: dict = field(default_factory=dict)
    # Test id: native outcome, outcome, traceback.
    differences: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    accepted: dict[str, str] = field(default_factory=dict)  # test id: reason
    failure: str = ""  # a process that gave no report, or ended badly

    @property
    def ok(self) -> bool:
        return not self.differences and not self.failure

    def text(self) -> str:
        lines = [f"{self.module}: {self.failure}"] if self.failure else []
        for test, (native, other, trace) in self.differences.items():
            lines += [f"{test}: natively {native}, here {other}", trace]
        return "\n".join(lines)


def available(python: Path | str, module: str) -> bool:
    check = f"import importlib.util as u, sys; sys.exit(u.find_spec('test.{module}') is None)"
    return subprocess.run([python, "-c", check], capture_output=True).returncode == 0


def run(python: Path | str, folder: Path, mode: str, module: str, numbers: tuple[int, ...] = ()):
    """(report, None), or (report or None, what went wrong)."""
    # The tests write files where they run, and import no module of ours by accident.
    with tempfile.TemporaryDirectory() as scratch:
        command = [str(python), str(HERE / "run_module.py"), str(folder), mode, f"test.{module}"]
        try:
            done = subprocess.run(
                [*command, *map(str, numbers)],
                cwd=scratch, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None, f"{mode} did not end in {TIMEOUT_S} s"
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return None, f"{mode} ended with {done.returncode}: {done.stderr[-2000:]}"
    bad_end = done.returncode != 0 and module not in language_modules.MAY_CRASH_AT_EXIT
    return report, f"{mode} ended with {done.returncode}" if bad_end else None


def compare(python: Path | str, folder: Path, mode: str, module: str, numbers=()) -> Report:
    report = Report(module)
    native, failure = run(python, folder, "native", module)
    if native is None:
        report.failure = failure
        return report
    other, failure = run(python, folder, mode, module, numbers)
    if other is None:
        report.failure = failure
        return report
    report.failure = failure or ""
    expected, got = native["outcomes"], other["outcomes"]
    report.tests, report.statistics = len(expected), other["statistics"]
    if not report.statistics.get("instructions"):
        report.failure = "nothing was interpreted"
    for test in sorted(expected.keys() | got.keys()):
        pair = expected.get(test, "missing"), got.get(test, "missing")
        if pair[0] != pair[1]:
            report.differences[test] = (*pair, other["reasons"].get(test, ""))
    accept_known(report, python, folder, module)
    return report


def accept_known(report: Report, python: Path | str, folder: Path, module: str) -> None:
    hook = None
    for test in list(report.differences):
        for part, (condition, reason) in language_modules.KNOWN_DIFFERENCES.items():
            if part not in test:
                continue
            if condition == "hook":
                hook = hook or run(python, folder, "hook", module)[0]
                same = hook and hook["outcomes"].get(test) == report.differences[test][1]
                if not same:
                    continue
            report.accepted[test] = reason
            del report.differences[test]
            break


def summary(report: Report) -> str:
    handed = report.statistics.get("handed_over", {})
    leaving = ("return_value", "return_const", "yield_value", "return_generator")
    rest = {op: count for op, count in handed.items() if op not in leaving}
    numbers = f"{report.tests} tests, {report.statistics.get('instructions', 0):,} instructions"
    known = f", {len(report.accepted)} known differences" if report.accepted else ""
    state = "same" if report.ok else "DIFFERENT"
    return f"{report.module}: {state}, {numbers}{known}, handed over otherwise: {rest}"


if __name__ == "__main__":
    chosen = compare(sys.executable, Path(sys.argv[1]), sys.argv[2], sys.argv[3],
                     tuple(int(number) for number in sys.argv[4:]))  # fmt: skip
    print(summary(chosen))
    print(chosen.text())
