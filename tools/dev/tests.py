"""Running the tests, the demo and the benchmarks."""

from __future__ import annotations

import argparse

import build
import environment
from environment import ROOT, Environment, call, jobs, prepare, say

TESTS_OF_BUILT_MODULES = [
    f"tests/python/capture/test_{name}.py" for name in ("guards", "guard_shortcuts", "regions")
]


def test(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev test", add_help=False)
    parser.add_argument("--cpp", action="store_true")
    parser.add_argument("--python", action="store_true")
    parser.add_argument("--asan", action="store_true")
    parser.add_argument("--tsan", action="store_true")
    parser.add_argument("--torch", metavar="X")
    parser.add_argument("--frames", action="store_true")
    options, rest = parser.parse_known_args(arguments)
    rest = [argument for argument in rest if argument != "--"]
    if options.asan or options.tsan:
        sanitized_tests("asan" if options.asan else "tsan")
        return
    if options.frames:
        # Builds for interpreters of its own: the environment only brings cmake and ninja.
        env = environment.default()
        prepare(env)
        call([env.python, "tests/capture/prove.py", *rest], env=env.variables())
        return
    if options.torch:
        env = environment.for_torch(options.torch)
        build.install_wheel(env)
        # A wheel has none of the modules that are built for tests alone.
        where = [] if any(a.startswith("tests/") for a in rest) else ["tests/python"]
        without = (f"--ignore={path}" for path in TESTS_OF_BUILT_MODULES)
        python_tests(env, [*where, *without, *rest])
        return
    env = environment.default()
    build.setup(env)
    if not options.python:
        cpp_tests(env, env.build_dir)
    if not options.cpp:
        python_tests(env, rest)


def sanitized_tests(preset: str) -> None:
    env = environment.default()
    prepare(env)
    build_dir = ROOT / "build" / preset
    build.configure(env, preset, build_dir)
    build.compile_targets(env, build_dir, [])
    cpp_tests(env, build_dir)


def cpp_tests(env: Environment, build_dir, **variables: str) -> None:
    say("C++ tests")
    command = ["ctest", "--test-dir", build_dir, "--output-on-failure", "--no-tests=error"]
    call([*command, "--parallel", str(jobs())], env=env.variables(**variables))


def python_tests(env: Environment, arguments: list[str], **variables: str) -> None:
    say("Python tests")
    # Workers that spin on each other's cores slow everything down: parallel regions wait passively.
    ours = {"TRIPTYCH_STRICT": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    ours["TRIPTYCH_FRAMES"] = str(env.build_dir / "capture_tests")
    variables = {**ours, **variables}
    workers = [] if any(a.startswith("-n") for a in arguments) else ["-n", str(jobs())]
    call([env.python, "-m", "pytest", *workers, *arguments], env=env.variables(**variables))


def bless(arguments: list[str]) -> None:
    """Golden tests write what they got when TRIPTYCH_BLESS is set; read `git diff` afterwards."""
    env = environment.default()
    build.setup(env)
    cpp_tests(env, env.build_dir, TRIPTYCH_BLESS="1")
    python_tests(env, ["-k", "golden", *arguments], TRIPTYCH_BLESS="1")


def run(program: list[str], arguments: list[str]) -> None:
    """Runs Python with the built package: a script or a module of the checkout."""
    env = environment.default()
    build.setup(env)
    call([env.python, *program, *arguments], env=env.variables())
