"""Runs one unittest module and prints each test's outcome as JSON.

usage: run_module.py FOLDER_OF_FRAMES MODE MODULE [SEED EVERY KINDS]
MODE is native, hook (the evaluator is there and leaves every frame to CPython), interpreted, or cut
(at random places).
"""

from __future__ import annotations

import json
import resource
import sys
import threading
import unittest
import warnings


class Outcomes(unittest.TestResult):
    """Test id to outcome; a sub-test that fails counts for its test."""

    def __init__(self):
        super().__init__()
        self.outcomes = {}
        self.reasons = {}

    def note(self, test, outcome, reason=""):
        self.outcomes.setdefault(test.id(), outcome)
        if outcome not in ("ok", "skipped"):
            self.outcomes[test.id()] = outcome
            self.reasons[test.id()] = reason

    def addSuccess(self, test):
        self.note(test, "ok")

    def addFailure(self, test, err):
        self.note(test, "failed", self._exc_info_to_string(err, test))

    def addError(self, test, err):
        self.note(test, "error", self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        self.note(test, "skipped")

    def addExpectedFailure(self, test, err):
        self.note(test, "expected failure")

    def addUnexpectedSuccess(self, test):
        self.note(test, "unexpected success")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note(test, "failed", self._exc_info_to_string(err, test))


def run_tests(module: str) -> Outcomes:
    import importlib

    result = Outcomes()
    suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(module))
    suite.run(result)
    return result


def measured(folder: str, mode: str, module: str, numbers: list[int]) -> dict:
    statistics = {}
    if mode == "native":
        result = run_tests(module)
    else:
        sys.path.insert(0, folder)
        import _frames

        sys.path.pop(0)
        if mode == "interpreted":
            result = _frames.run(run_tests, module)
        elif mode == "hook":
            result = _frames.run_native(run_tests, module)
        else:
            result = _frames.run_cut(*numbers, run_tests, module)
        statistics = _frames.statistics()
        if _frames.installed():
            statistics["installed"] = True
    return {"outcomes": result.outcomes, "reasons": result.reasons, "statistics": statistics}


def main() -> None:
    folder, mode, module, *numbers = sys.argv[1:]
    # Interpreted calls nest on the C stack; both ways get the same room.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.stack_size(512 << 20)
    output = sys.stdout
    sys.stdout = sys.stderr
    warnings.simplefilter("ignore")
    box = {}

    def work():
        box["report"] = measured(folder, mode, module, [int(number) for number in numbers])

    if mode.endswith("thread"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    else:
        work()
    json.dump(box["report"], output)


if __name__ == "__main__":
    main()
