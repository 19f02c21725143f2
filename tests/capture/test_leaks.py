"""Interpreting, cutting and moving frames neither keep nor lose references."""

from __future__ import annotations

import gc
import sys
import unittest

import frames
import programs

_frames = frames.load()

# They make classes, modules, loops, exception groups: CPython keeps something of each for a while.
EXCLUDED = {
    "asynchronous", "classes", "callbacks", "destructors", "exception_groups", "imports",
    "matching", "type_parameters",
}  # fmt: skip


def workload():
    for function in programs.PROGRAMS:
        if function.__name__ not in EXCLUDED:
            programs.outcome(function)


def total():
    """All references in a debug build of CPython, else all memory blocks."""
    gc.collect()
    return getattr(sys, "gettotalrefcount", sys.getallocatedblocks)()


def growth(call, *args, times=8):
    """What each repetition leaves behind, at least: a leak is in every one, noise is not."""
    steps = []
    for _ in range(times):
        before = total()
        call(*args)
        steps.append(total() - before)
    return min(steps)


class Leaks(unittest.TestCase):
    def setUp(self):
        # Only what the tests make is collected: quick, whatever else the process holds.
        gc.collect()
        gc.freeze()
        self.addCleanup(gc.unfreeze)

    def test_the_measure_sees_a_leak(self):
        kept = []
        self.assertGreaterEqual(growth(lambda: kept.append(object())), 1)

    def test_interpreted(self):
        self.assertLessEqual(growth(_frames.run, workload), max(growth(workload), 0))

    def test_cut(self):
        native = max(growth(workload), 0)
        for every, kinds in ((7, 1), (7, 2), (7, 4), (7, 8), (7, 15), (1, 2), (1, 4), (1, 8)):
            with self.subTest(every=every, kinds=kinds):
                cut = growth(_frames.run_cut, 11, every, kinds, workload)
                self.assertLessEqual(cut, native)

    def test_operands_of_every_opcode(self):
        # An object that goes through everything the programs do is as free afterwards.
        marker = object()

        def work():
            values = [marker, marker]
            first, *rest = (marker, *values)
            table = {"k": marker, **{"j": marker}}
            try:
                raise KeyError(marker)
            except KeyError as error:
                table["e"] = error.args[0]
            lazy = (m for m in values if m is marker)
            return [*lazy], rest, f"{marker!r}", table.get("k") is first, (lambda m=marker: m)()

        for run in (work, lambda: _frames.run(work), lambda: _frames.run_cut(3, 2, 15, work)):
            before = sys.getrefcount(marker)
            for _ in range(100):
                run()
            gc.collect()
            self.assertEqual(sys.getrefcount(marker), before)

    def test_decoded_code_is_freed_with_its_code_object(self):
        source = (
            "def f():\n" + "\n".join(f"    x{i} = {i}" for i in range(50)) + "\n    return x1\n"
        )

        def once(run):
            scope = {}
            exec(source, scope)
            run(scope["f"])

        native = growth(once, lambda function: function())
        self.assertLessEqual(growth(once, _frames.run), max(native, 0))


if __name__ == "__main__":
    unittest.main()
