"""Configuring, building, and installing the package into the virtual environment."""

from __future__ import annotations

import os
from pathlib import Path

from environment import (
    ROOT,
    Environment,
    call,
    digest,
    doctest_include,
    ensure_ccache,
    jobs,
    pip,
    prepare,
    say,
    stamp_is_current,
)


def setup(env: Environment) -> None:
    build(env, [])
    install(env)


def build(env: Environment, targets: list[str]) -> None:
    prepare(env)
    ensure_ccache()
    configure(env, "dev", env.build_dir)
    compile_targets(env, env.build_dir, targets)


def configure(env: Environment, preset: str, build_dir: Path, *extra: str) -> None:
    """Runs CMake when its command line changed; ninja runs it again by itself when files change."""
    command = ["cmake", "--preset", preset, "-B", str(build_dir)]
    command += [f"-DPython_EXECUTABLE={env.python}", f"-DPython3_EXECUTABLE={env.python}", *extra]
    # Warnings are errors where nobody reads them.
    command.append(f"-DTRIPTYCH_WERROR={'ON' if os.environ.get('CI') == 'true' else 'OFF'}")
    if include := doctest_include(env):
        command.append(f"-DCMAKE_INCLUDE_PATH={include}")
    stamp = build_dir / ".triptych-configured"
    presets = (ROOT / "CMakePresets.json").read_text()
    if stamp_is_current(stamp, presets, *command) and (build_dir / "build.ninja").exists():
        return
    say(f"configure {build_dir.relative_to(ROOT)}")
    call(command, env=env.variables())
    stamp.write_text(digest(presets, *command))


def compile_targets(env: Environment, build_dir: Path, targets: list[str]) -> None:
    say(f"build {build_dir.relative_to(ROOT)}")
    command = ["cmake", "--build", str(build_dir), "--parallel", str(jobs())]
    if targets:
        command += ["--target", *targets]
    call(command, env=env.variables())


def install(env: Environment) -> None:
    """An editable install without a second build: `_C` is built into python/triptych, so the
    package only needs its metadata (the backend's entry point) and a path entry."""
    stamp = env.venv / ".triptych-installed"
    contents = [(ROOT / "pyproject.toml").read_text(), str(ROOT)]
    if stamp_is_current(stamp, *contents):
        return
    say("install the package into the environment (editable)")
    options = ["--no-build-isolation", "--no-deps", "-C", "wheel.cmake=false"]
    pip(env, "install", *options, "-C", "editable.mode=inplace", "--editable", str(ROOT))
    stamp.write_text(digest(*contents))


def install_wheel(env: Environment) -> None:
    """For another torch: the extension module beside the sources stays what it is, so this
    environment gets a wheel of its own."""
    prepare(env)
    say(f"build and install a wheel for {env.torch}")
    options = ["--no-build-isolation", "--no-deps", "--force-reinstall"]
    pip(env, "install", "-v", *options, "-C", f"build-dir={env.build_dir}", str(ROOT))
