"""What an observer sees and may do."""

from __future__ import annotations

import sys
import unittest

import frames

_frames = frames.load()


def target(*args, **kwargs):
    raise AssertionError("was called")


class Method:
    def target(self, a):
        return a


class Calls(unittest.TestCase):
    def replaced(self, function, *args, of=target):
        return _frames.run_replacing(of, "replaced", function, *args)

    def test_a_call_can_be_given_a_result(self):
        def f(x):
            return [target(), target(x, 1), target(x, a=2, b=3), len("four"), target]

        result, seen = self.replaced(f, 5)
        self.assertEqual(result, ["replaced"] * 3 + [4, target])
        self.assertEqual((seen["replaced"], seen["keywords"]), (3, 2))
        self.assertEqual(seen["calls"], 4)

    def test_calls_with_self(self):
        def f(m):
            return m.target(1), Method.target(m, 2), m.target(a=3)

        result, seen = self.replaced(f, Method(), of=Method.target)
        self.assertEqual(result, ("replaced",) * 3)
        self.assertEqual(seen["replaced"], 3)

    def test_operands_of_a_replaced_call_are_released(self):
        marker = object()

        def f():
            return target(marker, [marker], key=marker)

        before = sys.getrefcount(marker)
        for _ in range(50):
            self.replaced(f)
        self.assertEqual(sys.getrefcount(marker), before)

    def test_calls_in_nested_frames_and_from_c(self):
        def inner(x):
            return target(x)

        def f():
            return [inner(1), *map(inner, range(2))]

        result, seen = self.replaced(f)
        self.assertEqual(result, ["replaced"] * 3)
        self.assertEqual((seen["entered"], seen["left"]), (4, 4))

    def test_an_exception_leaves_each_frame_once(self):
        def inner():
            return {}["missing"]

        def f():
            try:
                inner()
            except KeyError:
                return "caught"

        result, seen = self.replaced(f)
        self.assertEqual(result, "caught")
        self.assertEqual((seen["entered"], seen["left"]), (2, 2))

    def test_a_generator_is_entered_each_time(self):
        def generate():
            yield target()
            yield target()

        def f():
            return list(generate())

        result, seen = self.replaced(f)
        self.assertEqual(result, ["replaced"] * 2)
        self.assertEqual((seen["entered"], seen["left"]), (5, 5))  # f, its making, 2 values, end


if __name__ == "__main__":
    unittest.main()
