"""The test at import tells what is wrong, and leaves nothing behind."""

from __future__ import annotations

import sys
import unittest

import frames

_frames = frames.load()

PROBES = """
import sys

def plain(a, b=3):
    c = a * b
    return c, sys._getframe().f_code, locals()

def handles(a):
    return {line}

def consumes():
    return [1, 7, 'end']

def cells(a):
    {cells}

def middle(a):
    b = a + 1
    return [a, b, {middle}]
"""


class SelfTest(unittest.TestCase):
    def tearDown(self):
        self.assertFalse(_frames.installed())
        self.assertIsNone(sys.exc_info()[0])

    def probe(self, line=6, cells="return a + 2", middle="a * b"):
        return _frames.self_test(PROBES.format(line=line, cells=cells, middle=middle))

    def test_passes_here(self):
        self.assertIsNone(_frames.self_test())
        self.assertIsNone(self.probe())

    def test_a_wrong_result_is_named(self):
        self.assertIn("an exception's handler and line went wrong", self.probe(line=7))

    def test_an_exception_is_told(self):
        self.assertIn("cells: division by zero", self.probe(cells="return 1 / 0"))

    def test_a_failed_entry_is_named(self):
        self.assertIn("entering in the middle went wrong", self.probe(middle="0"))
        self.assertIn("entering in the middle failed", self.probe(middle="a.nothing"))

    def test_probes_that_do_not_run(self):
        self.assertIn("the probes do not run", _frames.self_test("1 / 0"))


if __name__ == "__main__":
    unittest.main()
