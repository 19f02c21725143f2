"""When frames are interpreted, and when not."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
import traceback
import unittest
from pathlib import Path

import frames

_frames = frames.load()


def work(n=50):
    total = 0
    for i in range(n):
        total += i
    return total


def traceback_names(expected, function):
    """The functions in the traceback of the exception that the interpreted function raises."""
    try:
        _frames.run(function)
    except expected as error:
        entries = traceback.extract_tb(error.__traceback__)
        return [entry.name for entry in entries if entry.name != "traceback_names"]
    raise AssertionError(f"{expected} was not raised")


class Installed(unittest.TestCase):
    def test_self_test(self):
        self.assertIsNone(_frames.self_test())

    def test_only_while_something_runs(self):
        self.assertFalse(_frames.installed())
        self.assertTrue(_frames.run(_frames.installed))
        self.assertFalse(_frames.installed())

    def test_not_after_an_exception(self):
        with self.assertRaises(ZeroDivisionError):
            _frames.run(lambda: 1 / 0)
        self.assertFalse(_frames.installed())

    def test_scopes_nest(self):
        def outer():
            inner = _frames.run(work), _frames.installed()
            return inner, work()

        self.assertEqual(_frames.run(outer), ((1225, True), 1225))
        self.assertFalse(_frames.installed())

    def test_a_foreign_evaluator_comes_back_and_gets_other_frames(self):
        def under():
            before = work()
            interpreted = _frames.run(work)
            return before, interpreted, work(), _frames.statistics()["frames"]

        (result, counted, still) = _frames.under_foreign_evaluator(under)
        self.assertEqual(result, (1225, 1225, 1225, 1))
        self.assertEqual(counted, 3)  # `under` and `work` twice, not the interpreted one
        self.assertTrue(still)

    def test_a_foreign_evaluator_on_top_is_left_alone(self):
        result, counted, still = _frames.run(_frames.under_foreign_evaluator, work)
        self.assertEqual((result, counted, still), (1225, 1, True))
        self.assertFalse(_frames.installed())

    def test_scopes_and_foreign_evaluators_alternate(self):
        def inner():
            interpreted = _frames.run(work), _frames.statistics()["frames"]
            return interpreted, work(), _frames.installed()

        def outer():
            result = _frames.under_foreign_evaluator(inner)
            return result, _frames.installed()

        (result, counted, still), after = _frames.run(outer)
        self.assertEqual(result, ((1225, 1), 1225, False))
        self.assertEqual((counted, still, after), (2, True, True))
        self.assertFalse(_frames.installed())


class Threads(unittest.TestCase):
    def test_other_threads_run_natively(self):
        done = []

        def other():
            done.append(work(20_000))

        def main():
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            return len(done)

        self.assertEqual(_frames.run(main), 1)
        self.assertLess(_frames.statistics()["instructions"], 20_000)

    def test_a_loop_lets_other_threads_run(self):
        stop = []

        def main():
            thread = threading.Thread(target=lambda: stop.append(1))
            thread.start()
            while not stop:
                pass
            thread.join()
            return True

        self.assertTrue(_frames.run(main))

    def test_a_second_thread_is_refused(self):
        refused = []

        def other():
            try:
                _frames.run(work)
            except RuntimeError as error:
                refused.append(str(error))

        def main():
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

        _frames.run(main)
        self.assertEqual(refused, ["another thread is being interpreted"])

    def test_signals_are_handled_in_the_frame_that_runs(self):
        seen = []

        def handler(number, frame):
            seen.append(frame.f_code.co_name)

        def spin():
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            end = time.monotonic() + 10
            while not seen and time.monotonic() < end:
                pass

        before = signal.signal(signal.SIGALRM, handler)
        try:
            _frames.run(spin)
        finally:
            signal.signal(signal.SIGALRM, before)
        self.assertEqual(seen, ["spin"])

    def test_an_exception_from_a_signal_has_the_frames_traceback(self):
        def handler(number, frame):
            raise KeyboardInterrupt

        def spin():
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            while True:
                pass

        before = signal.signal(signal.SIGALRM, handler)
        try:
            names = traceback_names(KeyboardInterrupt, spin)
        finally:
            signal.signal(signal.SIGALRM, before)
        self.assertEqual(names, ["spin", "handler"])

    def test_an_exception_from_another_thread(self):
        import ctypes

        def main():
            target = ctypes.c_ulong(threading.get_ident())
            raised = ctypes.py_object(InterruptedError)
            ready = []

            def other():
                while not ready:
                    time.sleep(0.001)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(target, raised)

            threading.Thread(target=other).start()
            end = time.monotonic() + 10
            ready.append(True)
            while time.monotonic() < end:
                pass

        self.assertEqual(traceback_names(InterruptedError, main), ["main"])

    def test_an_exception_from_another_thread_where_a_hook_hears_of_code(self):
        script = """
import sys, unittest
sys.addaudithook(lambda event, args: None)
test = "test_evaluator.Threads.test_an_exception_from_another_thread"
unittest.main(module=None, argv=["tests", "-q", test])
"""
        here = Path(__file__).parent
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=here, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)


class Tools(unittest.TestCase):
    def test_a_tracer_sees_all_lines(self):
        events = []

        def tracer(frame, event, arg):
            if frame.f_code is work.__code__:
                events.append(event)
            return tracer

        def traced():
            before = sys.gettrace()
            sys.settrace(tracer)
            try:
                return work(3)
            finally:
                sys.settrace(before)

        traced()
        expected = list(events)
        events.clear()
        _frames.run(traced)
        self.assertEqual(events, expected)
        self.assertGreater(_frames.statistics()["native"], 0)

    def test_a_tracer_that_was_there_means_native(self):
        before = sys.gettrace()
        sys.settrace(lambda *event: None)
        try:
            _frames.run(work)
        finally:
            sys.settrace(before)
        self.assertEqual(_frames.statistics()["instructions"], 0)

    def test_a_profiler_means_native(self):
        before = sys.getprofile()
        sys.setprofile(lambda *event: None)
        try:
            _frames.run(work)
        finally:
            sys.setprofile(before)
        self.assertEqual(_frames.statistics()["instructions"], 0)

    @unittest.skipUnless(sys.version_info >= (3, 12), "sys.monitoring came with 3.12")
    def test_monitoring_means_native(self):
        monitoring = sys.monitoring
        lines = []
        monitoring.use_tool_id(3, "test")
        try:
            monitoring.register_callback(
                3, monitoring.events.LINE, lambda code, line: lines.append(line)
            )
            monitoring.set_local_events(3, work.__code__, monitoring.events.LINE)
            _frames.run(work, 2)
            local = len(lines), _frames.statistics()["instructions"]
            monitoring.set_local_events(3, work.__code__, 0)
            monitoring.set_events(3, monitoring.events.PY_START)
            _frames.run(work, 2)
            everywhere = _frames.statistics()["instructions"]
        finally:
            monitoring.set_events(3, 0)
            monitoring.register_callback(3, monitoring.events.LINE, None)
            monitoring.free_tool_id(3)
        self.assertEqual((local[1], everywhere), (0, 0))
        self.assertGreater(local[0], 3)

    def test_an_exception_after_a_tracer_came_reaches_it(self):
        events = []

        def tracer(frame, event, arg):
            events.append((frame.f_code.co_name, event))
            return tracer

        def installs():
            sys.settrace(tracer)
            sys._getframe(1).f_trace = tracer
            raise ValueError

        def handles():
            with contextlib.suppress(KeyError):
                try:
                    installs()
                except ValueError:
                    raise KeyError from None
            sys.settrace(None)

        handles()
        expected = list(events)
        events.clear()
        _frames.run(handles)
        self.assertEqual(events, expected)
        self.assertIn(("handles", "exception"), expected)


class Depth(unittest.TestCase):
    def test_recursion_limit(self):
        def down(n):
            return 0 if n == 0 else 1 + down(n - 1)

        def measured():
            try:
                down(1_000_000)
            except RecursionError:
                return "limited"

        self.assertEqual(_frames.run(down, 300), 300)
        self.assertEqual(_frames.run(measured), "limited")
        self.assertEqual(_frames.run(down, 300), 300)

    def test_the_c_stack_is_no_limit_that_crashes(self):
        result = []

        def down(n):
            return 0 if n == 0 else 1 + down(n - 1)

        def deep():
            limit = sys.getrecursionlimit()
            sys.setrecursionlimit(1_000_000)
            try:
                _frames.run(down, 900_000)
            except RecursionError:
                result.append("limited")
            finally:
                sys.setrecursionlimit(limit)

        size = threading.stack_size(1 << 20)
        thread = threading.Thread(target=deep)
        thread.start()
        thread.join()
        threading.stack_size(size)
        self.assertEqual(result, ["limited"])


if __name__ == "__main__":
    unittest.main()
