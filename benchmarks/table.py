"""Rows of the ratio table: what was measured, what was reached, what is to be reached."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@dataclasses.dataclass
class Row:
    section: str
    what: str
    value: float
    unit: str
    goal: str = ""
    met: bool | None = None
    detail: dict[str, Any] = dataclasses.field(default_factory=dict)
    error: str = ""  # why there is no value

    def line(self) -> str:
        if self.error:
            return f"| {self.what} | error: {self.error} | | n |"
        mark = {None: " ", True: "y", False: "n"}[self.met]
        return f"| {self.what} | {self.value:.3g} {self.unit} | {self.goal} | {mark} |"


def at_most(section: str, what: str, value: float, unit: str, goal: float, **detail: Any) -> Row:
    return Row(section, what, value, unit, f"<= {goal:g} {unit}", value <= goal, detail)


def at_least(section: str, what: str, value: float, unit: str, goal: float, **detail: Any) -> Row:
    return Row(section, what, value, unit, f">= {goal:g} {unit}", value >= goal, detail)


def reported(section: str, what: str, value: float, unit: str, **detail: Any) -> Row:
    return Row(section, what, value, unit, detail=detail)


def share_of(measured: int, cases: int) -> str:
    """What a row over many cases says when some of them failed."""
    return f" ({measured} of {cases} cases)" if measured < cases else ""


class Table:
    """Prints each row as it comes and keeps the JSON file up to date, so that a run that is cut
    short has lost nothing."""

    def __init__(self, path: Path, machine: dict[str, Any]):
        self.path = path
        self.machine = machine
        self.rows: list[Row] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        self._write()

    def section(self, name: str) -> None:
        print(f"\n## {name}\n| what | measured | reach | met |\n|---|---|---|---|", flush=True)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        print(row.line(), flush=True)
        self._write()

    @contextlib.contextmanager
    def case(self, section: str, what: str) -> Iterator[None]:
        """What fails inside becomes a row that says so, and the run goes on."""
        progress(f"{section}: {what}")
        start = time.perf_counter()
        try:
            yield
        except Exception as error:
            message = (str(error) or type(error).__name__).strip()
            self.add(Row(section, what, float("nan"), "", error=message.splitlines()[-1]))
            print(f"{section}, {what} failed: {message}", file=sys.stderr, flush=True)
        progress(f"{section}: {what}, {time.perf_counter() - start:.0f} s", done=True)

    @property
    def errors(self) -> list[Row]:
        return [row for row in self.rows if row.error]

    @property
    def missed(self) -> list[Row]:
        return [row for row in self.rows if row.met is False]

    def summary(self) -> str:
        reached = sum(row.met is True for row in self.rows)
        counts = f"{len(self.rows)} rows, {reached} reached, {len(self.missed)} missed"
        head = f"{counts}, {len(self.errors)} errors; JSON: {self.path}"
        missed = [
            f"  missed: {row.what}: {row.value:.3g} {row.unit}, goal {row.goal}"
            for row in self.missed
        ]
        return "\n".join([head, *missed, *(f"  error: {row.what}" for row in self.errors)])

    def _write(self) -> None:
        rows = [dataclasses.asdict(row) for row in self.rows]
        for row in rows:
            row["value"] = None if row["error"] else row["value"]  # JSON has no NaN
        text = json.dumps({"machine": self.machine, "rows": rows}, indent=1)
        unfinished = self.path.with_suffix(".partial")
        unfinished.write_text(text)
        unfinished.replace(self.path)


def progress(text: str, done: bool = False) -> None:
    """What runs now, on the terminal alone: the table on standard output stays clean."""
    if sys.stderr.isatty():
        print(f"\r\033[K{'' if done else text}", end="", file=sys.stderr, flush=True)
