"""`python -m triptych`: its commands, alone and into a pipe."""

from __future__ import annotations

import subprocess
import sys

import pytest

RUN = [sys.executable, "-m", "triptych"]


def test_no_command_prints_help() -> None:
    run = subprocess.run(RUN, capture_output=True, text=True)
    assert run.returncode == 0
    for command in ("version", "options", "backends", "ops"):
        assert command in run.stdout


def test_unknown_command() -> None:
    run = subprocess.run([*RUN, "opts"], capture_output=True, text=True)
    assert run.returncode == 2 and "invalid choice" in run.stderr


@pytest.mark.parametrize("command", ["ops", "options"])
def test_reader_that_stops_early(command: str) -> None:
    with subprocess.Popen([*RUN, command], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None and run.stderr is not None
        run.stdout.readline()
        run.stdout.close()
        assert run.stderr.read() == b""
        assert run.wait() == 0
