"""CPython's own tests of the language have the same outcomes with every frame interpreted.

The quick part; `./dev test --frames` runs all of it on every interpreter that is found.
"""

from __future__ import annotations

import sys
import unittest

import compare
import frames
import language_modules

HAS_TESTS = compare.available(sys.executable, "test_grammar")


@unittest.skipUnless(HAS_TESTS, "this CPython was installed without its tests (Lib/test)")
class Language(unittest.TestCase):
    maxDiff = None


def add_test(module: str, mode: str, numbers: tuple[int, ...] = ()) -> None:
    def test(self):
        if not compare.available(sys.executable, module):
            self.skipTest(f"this CPython has no {module}")
        report = compare.compare(sys.executable, frames.folder(), mode, module, numbers)
        self.assertTrue(report.ok, report.text())

    setattr(Language, f"{module}_{mode}", test)


for name in language_modules.QUICK:
    add_test(name, "interpreted")
add_test("test_grammar", "cut", (1, 30, 15))
add_test("test_generators", "cut", (2, 30, 15))
add_test("test_with", "cut", (3, 10, 14))


if __name__ == "__main__":
    unittest.main()
