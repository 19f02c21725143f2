"""How the tests run a small program: an outcome is what it returns, raises (with the lines of the
traceback) and prints."""

from __future__ import annotations

import contextlib
import io
import traceback
from pathlib import Path

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def outcome(call, *args):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = ("returned", repr(call(*args)))
        except Exception as error:
            lines = [
                (entry.name, entry.lineno, entry.colno)
                for entry in traceback.extract_tb(error.__traceback__)
                if Path(entry.filename).name.startswith("programs_")
            ]
            notes = [repr(error.__cause__), repr(error.__context__)]
            result = ("raised", type(error).__name__, str(error), lines, notes)
    return (*result, printed.getvalue())
