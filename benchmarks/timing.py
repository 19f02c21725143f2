"""Timing that survives a noisy machine: contenders run in turn, medians and ratios pair by pair."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence


def seconds_per_call(call: Callable[[], object], at_least: float) -> float:
    """The mean of as many calls as fill `at_least` seconds (one at least)."""
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            call()
        spent = time.perf_counter() - start
        if spent >= at_least or count >= 1 << 20:
            return spent / count
        count = max(count * 2, int(count * at_least / max(spent, 1e-9)))


def interleaved(
    contenders: Mapping[str, Callable[[], object]], *, rounds: int = 9, slice_seconds: float = 0.05
) -> dict[str, list[float]]:
    """Seconds per call of each contender, one figure a round, the contenders in turn (A B C, A B C,
    ...)."""
    for call in contenders.values():
        for _ in range(3):
            call()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    for _ in range(rounds):
        for name in order:
            times[name].append(seconds_per_call(contenders[name], slice_seconds))
        order.append(order.pop(0))
    return times


def median_ratio(base: Sequence[float], other: Sequence[float]) -> float:
    """The median of base / other, pair by pair: above 1 means that `other` is faster."""
    return statistics.median(b / o for b, o in zip(base, other, strict=True))


def geometric_mean(values: Sequence[float]) -> float:
    return statistics.geometric_mean(values)


def best_of(call: Callable[[], object], runs: int) -> float:
    """The smallest of `runs` single timings, in seconds."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best
