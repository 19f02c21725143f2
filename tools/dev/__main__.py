"""`./dev`: set up, build, test, show, measure and tidy the project.

usage: ./dev COMMAND [ARGUMENTS]

  setup               make .venv with the pinned dependencies, build, install the package into it
  build [TARGET ...]  build the extension module and the C++ tests (or the named CMake targets)
  test                set up, then all C++ and Python tests
    test --cpp | --python   only one of the two
    test --asan             the torch-free C++ tests under address and UB sanitizers
    test --tsan             the same under the thread sanitizer
    test --frames       the frame interpreter against CPython's own tests, on every CPython found
    test --torch X          the Python tests of a wheel for torch X (such as 2.14.1)
    test -- ARGUMENTS       further arguments go to pytest
  demo                compile a 6-layer GPT-2 and show every stage
  bench [SECTION ...] measure against eager and inductor; `bench --help` names the sections
    bench --quick           fewer cases and rounds
  bless               rewrite the golden files of the tests from what the code prints now
  fmt                 format C++ and Python
  lint [--tidy]       check format, ruff, mypy; with --tidy clang-tidy too (minutes)
  help                this text

Environment: TRIPTYCH_PYTHON (interpreter for .venv), TRIPTYCH_JOBS (parallel jobs).
"""

from __future__ import annotations

import sys

import build
import checks
import environment
import tests


def main(arguments: list[str]) -> int:
    command, rest = (arguments[0], arguments[1:]) if arguments else ("help", [])
    commands = {
        "setup": lambda: build.setup(environment.default()),
        "build": lambda: build.build(environment.default(), rest),
        "test": lambda: tests.test(rest),
        "demo": lambda: tests.run(["examples/demo.py"], rest),
        "bench": lambda: tests.run(["-m", "benchmarks"], rest),
        "bless": lambda: tests.bless(rest),
        "fmt": lambda: checks.fmt(),
        "lint": lambda: checks.lint(tidy="--tidy" in rest),
    }
    if command in ("help", "-h", "--help"):
        print(__doc__)
        return 0
    if command not in commands:
        print(f"dev: unknown command {command!r}\n\n{__doc__}", file=sys.stderr)
        return 2
    try:
        commands[command]()
    except environment.Failed as failure:
        print(f"dev: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
