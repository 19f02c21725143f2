"""Runs one function of this package in a new Python process with empty caches and returns its JSON
result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

_PROGRAM = """
import importlib, json, sys
module, function, arguments = json.loads(sys.argv[1])
result = getattr(importlib.import_module(module), function)(*arguments)
print("RESULT " + json.dumps(result))
"""


def call(module: str, function: str, *arguments: Any, timeout: float = 600) -> Any:
    with tempfile.TemporaryDirectory() as caches:
        environment = dict(
            os.environ,
            TORCHINDUCTOR_CACHE_DIR=caches,
            TRIPTYCH_CACHE_DIR=caches,
            PYTHONWARNINGS="ignore",
        )
        command = [sys.executable, "-c", _PROGRAM, json.dumps([module, function, arguments])]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line.removeprefix("RESULT "))
    raise RuntimeError(f"{module}.{function}{arguments} failed:\n{done.stderr[-2000:]}")
