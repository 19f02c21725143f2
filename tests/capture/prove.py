"""The whole proof of the interpreter, on every CPython that is found.

usage: prove.py [--python PATH ...] [--jobs N] [--cuts N] [--library] [MODULE ...]

For each interpreter: builds `_frames`, runs the unit tests, then CPython's test modules natively,
with every frame interpreted, and again cut at random boundaries, with --cuts seeds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compare
import language_modules

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.11", "3.12", "3.13")
UNIT_TESTS = (
    "test_decoder", "test_entry", "test_evaluator", "test_leaks", "test_observer",
    "test_programs", "test_self_test",
)  # fmt: skip
DESCRIBE = (
    "import sys, sysconfig, os, importlib.util as u;"
    "headers = os.path.exists(sysconfig.get_path('include') + '/internal');"
    "print('%d.%d' % sys.version_info[:2], headers,"
    " u.find_spec('test.test_grammar') is not None, os.path.realpath(sys.executable))"
)


def describe(python: Path | str) -> tuple[str, bool, bool, str] | None:
    """Its version, whether it has the headers and the tests, and its real path."""
    done = subprocess.run([python, "-I", "-c", DESCRIBE], capture_output=True, text=True)
    if done.returncode != 0:
        return None
    version, headers, tests, path = done.stdout.strip().split(" ", 3)
    return version, headers == "True", tests == "True", path


def interpreters() -> dict[str, str]:
    """The newest usable one of each version, from pyenv and the PATH."""
    folder = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates: list[Path | str] = sorted(folder.glob("3.1[123].*/bin/python"))
    candidates += [found for v in VERSIONS if (found := shutil.which(f"python{v}"))]
    chosen: dict[str, str] = {}
    for candidate in candidates:
        found = describe(candidate)
        if found and found[0] in VERSIONS and found[1] and found[2] and found[0] not in chosen:
            chosen[found[0]] = found[3]
    return chosen


def build(version: str, python: str) -> Path:
    folder = ROOT / "build" / f"frames-{version}"
    configure = ["cmake", "-S", str(ROOT / "tests" / "capture"), "-B", str(folder), "-G", "Ninja"]
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([*configure, f"-DPython_EXECUTABLE={python}"], **quiet)
    subprocess.run(["cmake", "--build", str(folder)], **quiet)
    return folder


def unit_tests(python: str, folder: Path) -> bool:
    command = [python, "-m", "unittest", *UNIT_TESTS]
    environment = {**os.environ, "TRIPTYCH_FRAMES": str(folder)}
    return subprocess.run(command, cwd=Path(__file__).parent, env=environment).returncode == 0


def jobs_of(modules: list[str], cuts: int) -> list[tuple[str, str, tuple[int, ...]]]:
    jobs = [(module, "interpreted", ()) for module in modules]
    for seed in range(1, cuts + 1):
        # Every other seed leaves out handing over, which ends the interesting part.
        kinds = 15 if seed % 2 else 14
        every = (40, 15, 100)[seed % 3]
        jobs += [(module, "cut", (seed, every, kinds)) for module in modules]
    return jobs


def prove(version: str, python: str, options: argparse.Namespace) -> list[str]:
    started = time.monotonic()
    print(f"== CPython {version}: {python}", flush=True)
    folder = build(version, python)
    failed = [] if unit_tests(python, folder) else [f"{version} unit tests"]
    modules = options.modules or language_modules.LANGUAGE
    if options.library:
        modules = modules + language_modules.LIBRARY
    modules = [module for module in modules if compare.available(python, module)]

    def one(job):
        module, mode, numbers = job
        return mode, numbers, compare.compare(python, folder, mode, module, numbers)

    with ThreadPoolExecutor(options.jobs) as pool:
        for mode, numbers, report in pool.map(one, jobs_of(modules, options.cuts)):
            print(f"{version} {mode} {numbers or ''} {compare.summary(report)}", flush=True)
            for test, reason in report.accepted.items():
                print(f"    known: {test}: {reason}")
            if not report.ok:
                print(report.text(), flush=True)
                failed.append(f"{version} {mode} {numbers} {report.module}")
    print(f"== CPython {version}: {time.monotonic() - started:.0f} s", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cuts", type=int, default=2)
    parser.add_argument("--library", action="store_true", help="modules beyond the language too")
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    options = parser.parse_args()
    chosen = interpreters()
    if options.python:
        chosen = {}
        for python in options.python:
            if (found := describe(python)) is not None:
                chosen[found[0]] = found[3]
    failed = [failure for item in chosen.items() for failure in prove(*item, options)]
    missing = [version for version in VERSIONS if version not in chosen]
    if missing and not options.python:
        print(f"not found with headers and tests, so not proven: {', '.join(missing)}")
    for failure in failed:
        print(f"FAILED: {failure}")
    print("frames: failed" if failed or not chosen else f"frames: the same on {', '.join(chosen)}")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
