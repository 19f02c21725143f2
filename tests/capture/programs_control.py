"""Programs about control: generators, exceptions, with, async, loops."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sys

from outcomes import outcome, program


@program
def generators():
    def count(n):
        try:
            for i in range(n):
                got = yield i
                if got:
                    yield f"got {got}"
        except KeyError as error:
            yield f"caught {error}"
        finally:
            log.append("closed")
        return "end"

    def delegates():
        result = yield from count(2)
        yield result
        yield from [7, 8]

    log = []
    g = count(5)
    seen = [next(g), g.send("x"), next(g), g.throw(KeyError("k"))]
    h = count(3)
    next(h)
    h.close()
    return seen, list(delegates()), log, list(itertools.islice(count(9), 2)), sum(count(4))


@program
def generators_fail():
    def stops():
        yield 1
        raise StopIteration(5)

    def ignores_exit():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    def raises():
        yield 1 / 0

    g = ignores_exit()
    next(g)
    e = raises()
    return outcome(list, stops()), outcome(g.close), outcome(next, e), outcome(next, e, "done")


@program
def exceptions():
    log = []

    def work(kind):
        try:
            try:
                if kind == 0:
                    return "fine"
                if kind == 1:
                    raise ValueError("one")
                if kind == 2:
                    {}["missing"]
                if kind == 3:
                    raise TypeError from KeyError("cause")
                log.append(kind)
            except ValueError as error:
                log.append(repr(error))
                raise RuntimeError("converted") from error
            except (KeyError, IndexError):
                log.append(sys.exc_info()[0])
                raise
            else:
                log.append("else")
            finally:
                log.append(f"finally {kind}")
        except RuntimeError as error:
            return error, error.__cause__
        return "after"

    return [outcome(work, kind) for kind in range(5)], log


@program
def nested_handlers():
    seen = []
    for i in range(4):
        try:
            try:
                1 / (i - 1)
                [][i]
            except ZeroDivisionError:
                seen.append("zero")
                try:
                    raise LookupError(i)
                except LookupError as inner:
                    seen.append(repr(inner.__context__))
                    continue
            finally:
                seen.append(sys.exc_info()[0])
        except IndexError as error:
            seen.append(str(error))
            if i == 3:
                break
    else:
        seen.append("not reached")
    return seen, sys.exc_info()


@program
def finally_overrides():
    def returns():
        try:
            raise ValueError
        finally:
            return "swallowed"

    def loops():
        for i in range(3):
            try:
                if i == 1:
                    return i
            finally:
                if i == 1:
                    continue
        return "loop"

    return returns(), loops()


@program
def exception_groups():
    seen = []

    def work(errors):
        try:
            raise ExceptionGroup("g", errors)
        except* ValueError as group:
            seen.append(group.exceptions)
        except* (TypeError, KeyError) as group:
            seen.append(len(group.exceptions))
            raise RuntimeError("from handler") from None
        return "ok"

    def naked():
        try:
            raise ValueError("naked")
        except* ValueError as group:
            return_later = repr(group)
        return return_later

    nested = ExceptionGroup("n", [ValueError(3), OSError(4)])
    return (
        work([ValueError(1)]), outcome(work, [ValueError(1), TypeError(2)]),
        outcome(work, [nested, ValueError(5)]), naked(), seen,
    )  # fmt: skip


@program
def with_statements():
    log = []

    class Manager:
        def __init__(self, name, swallow=False):
            self.name, self.swallow = name, swallow

        def __enter__(self):
            log.append(f"enter {self.name}")
            return self.name

        def __exit__(self, kind, value, trace):
            log.append((self.name, kind, str(value), trace and trace.tb_lineno))
            return self.swallow

    @contextlib.contextmanager
    def generated(x):
        log.append("before")
        try:
            yield x * 2
        finally:
            log.append("after")

    def leaves_early():
        for i in range(3):
            with Manager(i), generated(i) as doubled:
                if i == 1:
                    return doubled

    def swallows():
        with Manager("a", swallow=True) as a, Manager("b"):
            raise ValueError(a)
        return "went on"

    def passes():
        with Manager("c"), generated(1):
            raise KeyError("through")

    def wrong():
        with 5:
            pass

    return leaves_early(), swallows(), outcome(passes), outcome(wrong), log


@program
def asynchronous():
    log = []

    class Manager:
        async def __aenter__(self):
            await asyncio.sleep(0)
            return self

        async def __aexit__(self, kind, value, trace):
            log.append(kind)
            return kind is ValueError

    class Ticker:
        def __init__(self, n):
            self.n = n

        def __aiter__(self):
            return self

        async def __anext__(self):
            if self.n == 0:
                raise StopAsyncIteration
            self.n -= 1
            await asyncio.sleep(0)
            return self.n

    async def produce(n):
        try:
            for i in range(n):
                yield i
                await asyncio.sleep(0)
        finally:
            log.append("produced")

    async def work(k):
        async with Manager():
            total = sum([i async for i in produce(4)])
            async for tick in Ticker(3):
                total += tick
            if k == 1:
                raise ValueError(k)
        return total

    async def fails():
        try:
            await 5
        except TypeError as error:
            log.append(str(error))
        async with Manager():
            raise KeyError("out")

    async def main():
        results = await asyncio.gather(*(work(k) for k in range(3)))
        with contextlib.suppress(KeyError):
            await fails()
        async with contextlib.aclosing(produce(3)) as agen:
            return results, await anext(agen)

    return asyncio.run(main()), log


@program
def loops():
    total, seen = 0, []
    for i in range(10):
        if i % 2:
            continue
        for j in itertools.count():
            if j > i:
                break
            total += j
        else:
            seen.append("never")
        while total % 3:
            total += 1
        if total > 50:
            break
    else:
        seen.append("all")
    index = 5
    while index:
        index -= 1
    else:
        seen.append("emptied")
    return total, seen, i, j, index


@program
def walrus_and_conditions():
    values = [y for x in range(6) if (y := x * x) % 2]
    if (n := len(values)) > 2 and not (n == 4 or n is None):
        text = "three" if n == 3 else "more"
    else:
        text = "few"
    assert text, "never"
    try:
        assert n == 0, f"n is {n}"
    except AssertionError as error:
        text += str(error)
    return values, n, text, y
