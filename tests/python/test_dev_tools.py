"""`./dev`: its help, and the house's own checks."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "dev"))
    import house

    yield house
    for name in ("house", "environment"):
        sys.modules.pop(name, None)


CPP = """namespace a {

// One line of text that is no function.
int table[] = {
    1,
};

static int short_one(int x) { return x; }

int two(int x,
        int y) {
  if (x) {
    return y;
  }
  return R"(
}
)"[0];
}

class C {
 public:
  explicit C(int x) : x_(x) {
    x_ += 1;
  }
  int get() const {
    return x_;
  }
};

}  // namespace a
"""


def test_functions_of_cpp(house: ModuleType) -> None:
    found = list(house.cpp_functions(CPP))
    assert found == [("two", 10, 9), ("C", 22, 3), ("get", 25, 3)]


def test_functions_of_python(house: ModuleType) -> None:
    text = "def f():\n    return 1\n\nclass C:\n    def g(self):\n        pass\n"
    assert list(house.python_functions(text)) == [("f", 1, 2), ("g", 5, 2)]


def test_too_long_is_an_error(
    house: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house, "ROOT", tmp_path)
    (tmp_path / "a.cpp").write_text("void f() {\n" + "  g();\n" * 60 + "}\n")
    (tmp_path / "b.py").write_text("x = 1\n" * 801)
    with pytest.raises(house.Failed) as caught:
        house.check_sizes(["a.cpp"], ["b.py"])
    assert str(caught.value).splitlines() == [
        "a.cpp:1: f has 62 lines, at most 60",
        "b.py: 801 lines, at most 800",
    ]
    house.check_sizes([], [])


def test_help_names_every_command() -> None:
    """What the dispatcher knows, help says, and the other way round."""
    page = subprocess.check_output(["./dev", "help"], cwd=ROOT, text=True)
    source = (ROOT / "tools" / "dev" / "__main__.py").read_text()
    known = set(re.findall(r'^        "(\w+)": lambda', source, re.MULTILINE)) | {"help"}
    assert known == set(re.findall(r"^  (\w+) ", page, re.MULTILINE))
    for option in re.findall(r'add_argument\("(--\w+)"', (ROOT / "tools/dev/tests.py").read_text()):
        assert option in page
    unknown = subprocess.run(["./dev", "tets"], cwd=ROOT, capture_output=True, text=True)
    assert unknown.returncode == 2
    assert "unknown command 'tets'" in unknown.stderr
