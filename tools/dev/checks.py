"""Formatting and static checks."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import house

import build
import environment
from environment import ROOT, Environment, Failed, call, digest, jobs, prepare, say

PYTHON_PATHS = ["python", "tests", "tools", "examples", "benchmarks", "src"]


def tracked(*patterns: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return sorted({name for name in listed.stdout.split("\n") if name and (ROOT / name).exists()})


def cpp_files() -> list[str]:
    return tracked("*.cpp", "*.h")


def python_paths() -> list[str]:
    return [path for path in PYTHON_PATHS if (ROOT / path).exists()]


def fmt() -> None:
    env = environment.default()
    prepare(env)
    call(["clang-format", "-i", *cpp_files()], env=env.variables())
    call(["ruff", "check", "--fix-only", "--select", "I", *python_paths()], env=env.variables())
    call(["ruff", "format", *python_paths()], env=env.variables())


def lint(tidy: bool) -> None:
    """Runs every check before failing, so that one run shows all there is to mend."""
    env = environment.default()
    prepare(env)
    steps = {
        "sizes of files and functions": lambda: house.check_sizes(
            cpp_files(), tracked("*.py", "dev")
        ),
        "clang-format": lambda: call(
            ["clang-format", "--dry-run", "-Werror", *cpp_files()], env=env.variables()
        ),
        "ruff check": lambda: call(["ruff", "check", *python_paths()], env=env.variables()),
        "ruff format": lambda: call(
            ["ruff", "format", "--check", *python_paths()], env=env.variables()
        ),
        "mypy": lambda: call(["mypy"], env=env.variables()),
    }
    if tidy:
        steps["clang-tidy"] = lambda: clang_tidy(env)
    failed = []
    for name, step in steps.items():
        say(name)
        try:
            step()
        except Failed as failure:
            print(failure)
            failed.append(name)
    if failed:
        raise Failed(f"lint: {', '.join(failed)} failed")
    say(f"lint: {len(steps)} checks passed")


def clang_tidy(env: Environment) -> None:
    """Checks the torch-free sources. A file is checked again only when it, a header of the
    project or the configuration changed: digests of clean files are kept in the build folder."""
    build_dir = ROOT / "build" / "tidy"
    build.configure(env, "tidy", build_dir)
    build.compile_targets(env, build_dir, ["triptych_ops"])  # generated headers
    commands = json.loads((build_dir / "compile_commands.json").read_text())
    ours = {str(ROOT / name) for name in tracked("src/*.cpp", "tools/*.cpp")}
    files = sorted({command["file"] for command in commands} & ours)
    headers = [(ROOT / name).read_text() for name in tracked("*.h", ".clang-tidy")]
    clean = build_dir / "tidy-clean.json"
    known = json.loads(clean.read_text()) if clean.exists() else {}
    digests = {file: digest(Path(file).read_text(), *headers) for file in files}
    stale = [file for file in files if known.get(file) != digests[file]]

    def check(file: str) -> tuple[str, int, str]:
        command = ["clang-tidy", "--quiet", "-p", str(build_dir), file]
        run = subprocess.run(command, env=env.variables(), capture_output=True, text=True, cwd=ROOT)
        return file, run.returncode, run.stdout

    bad = []
    with ThreadPoolExecutor(jobs()) as pool:
        for done, (file, status, output) in enumerate(pool.map(check, stale), 1):
            print(f"[{done}/{len(stale)}] {Path(file).relative_to(ROOT)}", flush=True)
            if status == 0:
                known[file] = digests[file]
            else:
                print(output)
                bad.append(file)
    clean.write_text(json.dumps({file: known[file] for file in files if file in known}))
    if bad:
        raise Failed(f"clang-tidy found something in {len(bad)} files")
