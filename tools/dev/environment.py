"""The virtual environment: made once, brought up to date when a requirements file changes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def ccache_settings() -> dict[str, str]:
    """Precompiled headers, and entries that checkouts share; nothing where ccache is set up."""
    if not shutil.which("ccache"):
        return {}
    query = ["ccache", "--get-config", "base_dir"]
    if subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip():
        return {}
    return {
        "CCACHE_SLOPPINESS": "pch_defines,time_macros,include_file_mtime,include_file_ctime",
        "CCACHE_BASEDIR": str(ROOT),
        "CCACHE_NOHASHDIR": "1",
    }


class Failed(Exception):
    """A step failed; the message is all that the user needs besides the step's own output."""


@dataclass(frozen=True)
class Environment:
    venv: Path
    build_dir: Path
    torch: str  # requirement, for example "torch==2.13.0"

    @property
    def python(self) -> Path:
        return self.venv / "bin" / "python"

    def variables(self, **extra: str) -> dict[str, str]:
        folders = [self.venv / "bin", *self.layers(), os.environ.get("PATH", "")]
        path = os.pathsep.join(str(folder) for folder in folders)
        ours = {"PATH": path, "VIRTUAL_ENV": str(self.venv)}
        return {**ccache_settings(), **os.environ, **ours, **extra}

    def layers(self) -> list[Path]:
        """The programs of environments that this one shows through a .pth file."""
        lines = [
            line
            for file in sorted(self.venv.glob("lib/python*/site-packages/*.pth"))
            for line in file.read_text().splitlines()
        ]
        return [Path(line).parents[2] / "bin" for line in lines if line.endswith("/site-packages")]


def default() -> Environment:
    requirement = (ROOT / "requirements" / "torch.txt").read_text().strip()
    return Environment(ROOT / ".venv", ROOT / "build" / "dev", requirement)


def for_torch(version: str) -> Environment:
    name = f"torch-{version}"
    return Environment(ROOT / ".venv" / name, ROOT / "build" / name, f"torch=={version}")


def jobs() -> int:
    return int(os.environ.get("TRIPTYCH_JOBS") or len(os.sched_getaffinity(0)))


def say(text: str) -> None:
    print(f"== {text}", flush=True)


def call(command: list[str | Path], **options) -> None:
    """Runs a command with its output shown; raises Failed when it does not succeed."""
    line = [str(part) for part in command]
    if (result := subprocess.run(line, cwd=ROOT, **options)).returncode != 0:
        raise Failed(f"exit status {result.returncode} of: {' '.join(line)}")


def stamp_is_current(stamp: Path, *contents: str) -> bool:
    return stamp.exists() and stamp.read_text() == digest(*contents)


def digest(*contents: str) -> str:
    return hashlib.sha256("\0".join(contents).encode()).hexdigest()


def prepare(env: Environment) -> None:
    """Makes the virtual environment and installs what the requirements files pin."""
    if not env.python.exists():
        say(f"virtual environment in {env.venv.relative_to(ROOT)}")
        call([sys.executable, "-m", "venv", env.venv])
    files = [ROOT / "requirements" / name for name in ("build.txt", "dev.txt")]
    contents = [env.torch, *(file.read_text() for file in files)]
    stamp = env.venv / ".triptych-requirements"
    if not stamp_is_current(stamp, *contents):
        say("dependencies")
        # torch comes first and alone: else a package that asks for any torch may choose it.
        pip(env, "install", env.torch)
        pip(env, "install", env.torch, "-r", str(ROOT / "requirements" / "dev.txt"))
        stamp.write_text(digest(*contents))


def ensure_ccache() -> None:
    """Changes the system only on machines of CI; elsewhere ccache is used if present."""
    if shutil.which("ccache") or os.environ.get("CI") != "true" or os.geteuid() != 0:
        return
    if shutil.which("apt-get"):
        say("ccache")
        subprocess.run(["apt-get", "install", "-y", "-qq", "ccache"], check=False)


def pip(env: Environment, *arguments: str) -> None:
    call([env.python, "-m", "pip", "--disable-pip-version-check", *arguments], env=env.variables())


def doctest_include(env: Environment) -> Path | None:
    """The folder with doctest/doctest.h; taken from Debian's package, without root, when absent."""
    if Path("/usr/include/doctest/doctest.h").exists():
        return None
    unpacked = env.venv / "doctest-dev"
    include = unpacked / "usr" / "include"
    if (include / "doctest" / "doctest.h").exists():
        return include
    say("doctest header")
    if not shutil.which("apt-get"):
        raise Failed("doctest/doctest.h not found: install doctest 2.4 (Debian: doctest-dev)")
    with tempfile.TemporaryDirectory() as folder:
        command = ["apt-get", "download", "doctest-dev"]
        if subprocess.run(command, cwd=folder).returncode != 0:
            if os.geteuid() == 0:
                call(["apt-get", "update"])
            if subprocess.run(command, cwd=folder).returncode != 0:
                raise Failed(
                    "doctest/doctest.h not found: install doctest 2.4 (Debian: doctest-dev)"
                )
        package = next(Path(folder).glob("doctest-dev_*.deb"))
        call(["dpkg-deb", "-x", package, unpacked])
    return include
