"""Rows of the ratio table: what was measured, what was reached, what is to be reached."""

from __future__ import annotations

import dataclasses
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

    def line(self) -> str:
        mark = {None: " ", True: "y", False: "n"}[self.met]
        return f"| {self.what} | {self.value:.3g} {self.unit} | {self.goal} | {mark} |"


def at_most(section: str, what: str, value: float, unit: str, goal: float, **detail: Any) -> Row:
    return Row(section, what, value, unit, f"<= {goal:g} {unit}", value <= goal, detail)


def at_least(section: str, what: str, value: float, unit: str, goal: float, **detail: Any) -> Row:
    return Row(section, what, value, unit, f">= {goal:g} {unit}", value >= goal, detail)


def reported(section: str, what: str, value: float, unit: str, **detail: Any) -> Row:
    return Row(section, what, value, unit, detail=detail)


def show(rows: list[Row]) -> str:
    lines = ["| what | measured | reach | met |", "|---|---|---|---|"]
    return "\n".join(lines + [row.line() for row in rows])
