"""Entering a frame in the middle, with given variables and operand stack."""

from __future__ import annotations

import sys
import unittest

import frames

_frames = frames.load()
NULL = object()


def unit_of(function, opcode, nth=0):
    rows = [row for row in _frames.decode(function.__code__) if row[0] == opcode and row[3]]
    return rows[nth][4]


class Entry(unittest.TestCase):
    def enter(self, function, slots, stack, unit):
        results = []
        for interpreted in (False, True):
            again = [list(value) if isinstance(value, list) else value for value in slots]
            args = (function, tuple(again), tuple(stack), unit, NULL, interpreted)
            results.append(_frames.enter(*args))
            self.assertFalse(_frames.installed())
        self.assertEqual(*results)
        return results[0]

    def test_in_an_expression(self):
        def f(a, b):
            c = a + b * 2
            return a, b, c

        unit = unit_of(f, "binary_op")
        self.assertEqual(self.enter(f, (10, 20, NULL), (1, 5, 2), unit), (10, 20, 11))

    def test_unbound_variables_stay_unbound(self):
        def f(a):
            b = a
            return b, sorted(locals())

        unit = unit_of(f, "store_fast")
        self.assertEqual(self.enter(f, (1, NULL), (9,), unit), (9, ["a", "b"]))
        self.assertEqual(self.enter(f, (NULL, NULL), (9,), unit), (9, ["b"]))

    def test_an_unbound_variable_that_is_read(self):
        def f(a):
            if a:
                b = 1
            return [b]

        unit = unit_of(f, "pop_jump_if_false")
        for interpreted in (False, True):
            with self.assertRaises(UnboundLocalError):
                _frames.enter(f, (1, NULL), (False,), unit, NULL, interpreted)

    def test_in_a_loop_with_its_iterator_on_the_stack(self):
        def f(n):
            total = 0
            for i in range(n):
                total += i
            return total, i

        unit = unit_of(f, "for_iter")
        for interpreted in (False, True):
            iterator = iter([5, 6])
            got = _frames.enter(f, (3, 100, NULL), (iterator,), unit, NULL, interpreted)
            self.assertEqual(got, (111, 6))

    def test_in_a_with_block(self):
        log = []

        def f(manager, x):
            with manager:
                y = x + 1
                log.append(y)
                raise ValueError(y)
            return "swallowed"

        def leave(kind, value, trace):
            log.append((kind, str(value), trace.tb_lineno - f.__code__.co_firstlineno))
            return True

        unit = unit_of(f, "binary_op")
        for interpreted in (False, True):
            log.clear()
            # `log` is a free variable: its cell comes after the locals.
            slots = (None, 7, NULL, f.__closure__[0])
            got = _frames.enter(f, slots, (leave, 7, 1), unit, NULL, interpreted)
            self.assertEqual(got, "swallowed")
            self.assertEqual(log, [8, (ValueError, "8", 4)])

    def test_in_a_try_block(self):
        def f(a):
            try:
                return a[5]
            except IndexError as error:
                return str(error), sys.exc_info()[0]
            finally:
                log.append("finally")

        log = []
        unit = unit_of(f, "binary_subscr")
        slots = (None, NULL, f.__closure__[0])
        got = self.enter(f, slots, ([1], 9), unit)
        self.assertEqual(got, ("list index out of range", IndexError))
        self.assertEqual(log, ["finally"] * 2)
        self.assertIsNone(sys.exc_info()[0])

    def test_cells(self):
        def outer(captured):
            def f(a):
                b = 2

                def inner():
                    return a, b, captured

                b += 10
                return inner()

            return f

        def cell(value):
            return (lambda: value).__closure__[0]

        f = outer("captured")
        code = f.__code__
        given = {"a": cell("a"), "b": cell(20), "inner": lambda: "replaced"}
        # Locals, then cells that are no arguments, then free variables.
        names = list(dict.fromkeys(code.co_varnames + code.co_cellvars))
        slots = tuple(given[name] for name in names) + f.__closure__
        unit = next(row[4] for row in _frames.decode(code) if row[0] == "load_deref")
        self.assertEqual(_frames.enter(f, slots, (), unit, NULL), "replaced")
        self.assertEqual(given["b"].cell_contents, 30)
        unit = unit_of(f, "make_function") - 1  # its code object is loaded just before
        stack = tuple(given[name] for name in ("a", "b")) + f.__closure__
        self.assertEqual(_frames.enter(f, slots, (stack,), unit, NULL, True), ("a", 40, "captured"))

    def test_arguments_of_every_kind(self):
        def f(a, b=2, /, c=3, *args, d, e=5, **kwargs):
            x = a
            return a, b, c, args, d, e, kwargs, x

        unit = unit_of(f, "store_fast")
        slots = (1, 2, 3, 4, 5, (6,), {"k": 7}, NULL)
        got = self.enter(f, slots, (8,), unit)
        self.assertEqual(got, (1, 2, 3, (6,), 4, 5, {"k": 7}, 8))

    def test_an_exception_leaves_the_entered_frame(self):
        def f(a):
            b = a
            return b.missing

        unit = unit_of(f, "store_fast")
        for interpreted in (False, True):
            try:
                _frames.enter(f, (1, NULL), (5,), unit, NULL, interpreted)
            except AttributeError as error:
                trace = error.__traceback__.tb_next
            self.assertEqual(trace.tb_frame.f_code, f.__code__)
            self.assertEqual(trace.tb_lineno, f.__code__.co_firstlineno + 2)
            self.assertFalse(_frames.installed())


if __name__ == "__main__":
    unittest.main()
