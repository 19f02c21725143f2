"""Small programs give one outcome, however they are run and wherever they are cut."""

from __future__ import annotations

import contextlib
import unittest

import frames
import programs

_frames = frames.load()

DELEGATE, SEGMENT, MOVE, RETURN = 1, 2, 4, 8


class Programs(unittest.TestCase):
    maxDiff = None

    def same(self, function, expected, got, how=""):
        self.assertEqual(got, expected, f"{function.__name__} {how}")

    def test_interpreted(self):
        for function in programs.PROGRAMS:
            expected = programs.outcome(function)
            self.same(function, expected, _frames.run(programs.outcome, function))
            self.assertGreater(_frames.statistics()["instructions"], 20, function.__name__)

    def test_only_leaving_instructions_are_handed_over(self):
        leaving = {"return_value", "return_const", "return_generator", "yield_value"}
        # These hand over where the frame is about to end with an exception.
        leaving |= {"async_gen_wrap", "reraise", "raise_varargs", "end_async_for", "cleanup_throw"}
        for function in programs.PROGRAMS:
            _frames.run(programs.outcome, function)
            self.assertLessEqual(set(_frames.statistics()["handed_over"]), leaving, function)

    def test_cut_at_every_boundary(self):
        for kinds, name in {SEGMENT: "segments", MOVE: "moves", RETURN: "returns"}.items():
            for function in programs.PROGRAMS:
                expected = programs.outcome(function)
                got = _frames.run_cut(0, 1, kinds, programs.outcome, function)
                self.same(function, expected, got, name)
                self.assertGreater(_frames.statistics()[name], 10, function.__name__)

    def test_cut_at_random_boundaries(self):
        for function in programs.PROGRAMS:
            expected = programs.outcome(function)
            for seed in range(40):
                kinds = (DELEGATE, DELEGATE | SEGMENT | MOVE | RETURN, SEGMENT | MOVE)[seed % 3]
                every = (3, 20, 60)[seed // 3 % 3]
                got = _frames.run_cut(seed, every, kinds, programs.outcome, function)
                self.same(function, expected, got, f"seed {seed}, one of {every}, kinds {kinds}")

    def test_many_moves_do_not_nest(self):
        def f(n):
            total = 0
            for i in range(n):
                total += i
            return total

        self.assertEqual(_frames.run_cut(0, 1, MOVE, f, 20_000), sum(range(20_000)))
        self.assertGreater(_frames.statistics()["moves"], 100_000)

    def test_a_frame_ends_with_a_result_wherever_it_is(self):
        # The code of the first returns constants only, that of the last nothing at all.
        def initialise(box, value):
            for item in value:
                box.append(item)

        def nested(x):
            for k in range(4):
                with contextlib.suppress(KeyError):
                    try:
                        if k == x:
                            return [k, *(n for n in range(x))]
                    finally:
                        x += 1
            return "none"

        def endless(x):
            while True:
                x.pop()

        for seed in range(60):
            box = []
            _frames.run_cut(seed, 3, RETURN, initialise, box, range(9))
            self.assertEqual(box, list(range(9)))
            self.assertEqual(_frames.run_cut(seed, 5, RETURN, nested, 3), nested(3))
            with self.assertRaises(IndexError):
                _frames.run_cut(seed, 3, RETURN, endless, [1, 2, 3])

    def test_one_seed_gives_one_sequence_of_cuts(self):
        function = next(f for f in programs.PROGRAMS if f.__name__ == "loops")
        counts = []
        for _ in range(2):
            _frames.run_cut(7, 5, DELEGATE | SEGMENT | MOVE, function)
            counts.append(_frames.statistics())
        self.assertEqual(counts[0], counts[1])


if __name__ == "__main__":
    unittest.main()
