"""Small programs for the tests that compare ways of running, by their outcomes."""

from __future__ import annotations

import sys

import programs_control
import programs_objects
import programs_values
from outcomes import PROGRAMS, outcome

if sys.version_info >= (3, 12):
    import programs_3_12  # noqa: F401

FILES = [programs_control.__file__, programs_objects.__file__, programs_values.__file__]
__all__ = ["FILES", "PROGRAMS", "outcome"]
