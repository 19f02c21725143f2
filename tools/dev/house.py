"""The house's own limits: lines per file and per function."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from environment import ROOT, Failed

FILE_LINES = 800
FUNCTION_LINES = 60
_RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)  # may close a brace anywhere
_NO_FUNCTION = re.compile(r"\s*(namespace|class|struct|enum|union|extern|template <.*> struct)\b")


def check_sizes(cpp: Iterable[str], python: Iterable[str]) -> None:
    """Raises Failed with every file and function that is too long."""
    found = []
    for name in (*cpp, *python):
        text = (ROOT / name).read_text()
        if (lines := text.count("\n")) > FILE_LINES:
            found.append(f"{name}: {lines} lines, at most {FILE_LINES}")
        functions = python_functions(text) if name.endswith(".py") else cpp_functions(text)
        found += [
            f"{name}:{line}: {function} has {length} lines, at most {FUNCTION_LINES}"
            for function, line, length in functions
            if length > FUNCTION_LINES
        ]
    if found:
        raise Failed("\n".join(found))


def cpp_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, first line, lines) of each function of formatted C++.

    Formatting closes a body with a brace at the indentation of its first line; functions stand at
    the indentation of a namespace or of one class or two.
    """
    lines = _RAW_STRING.sub(lambda found: "\n" * found.group().count("\n"), text).split("\n")
    number = 0
    while number < len(lines):
        line = lines[number]
        indent = len(line) - len(line.lstrip())
        if indent > 4 or not line.strip() or line.lstrip()[0] in "#/}":
            number += 1
            continue
        head_end = number
        while head_end < len(lines) and not lines[head_end].endswith(("{", ";", "}", ":")):
            head_end += 1
        head = " ".join(lines[number : head_end + 1])
        is_function = "(" in head and head.endswith("{") and not re.search(r"[=(,] \{$", head)
        if not is_function or _NO_FUNCTION.match(head):
            number = head_end + 1 if head.endswith(";") else number + 1
            continue
        close = next(
            (
                at
                for at in range(head_end + 1, len(lines))
                if lines[at].startswith(" " * indent + "}")
            ),
            head_end,
        )
        name = re.search(r"([\w:~]+|operator\S+)\s*\(", head)
        yield name.group(1) if name else "a function", number + 1, close - number + 1
        number = close + 1


def python_functions(text: str) -> Iterator[tuple[str, int, int]]:
    try:
        tree = ast.parse(text)
    except SyntaxError:  # of a later Python, for tests that only run there; ruff reads it
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1
