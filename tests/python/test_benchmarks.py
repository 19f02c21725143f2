"""The benchmarks' harness: rows are there once measured, and failures do not end a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import benchmarks.__main__ as harness
from benchmarks import fresh_process, models
from benchmarks.table import Table, at_least, at_most


def test_rows_are_printed_and_kept_as_they_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bench.json"
    table = Table(path, {"threads": 2})
    table.add(at_most("s", "first", 3.0, "ms", 5))
    assert "| first | 3 ms | <= 5 ms | y |" in capsys.readouterr().out
    assert [row["what"] for row in json.loads(path.read_text())["rows"]] == ["first"]
    table.add(at_least("s", "second", 0.5, "x", 1))
    assert [row["met"] for row in json.loads(path.read_text())["rows"]] == [True, False]
    assert "missed: second: 0.5 x, goal >= 1 x" in table.summary()


def test_a_failing_case_is_a_row_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def section(table: Table, quick: bool) -> None:
        with table.case("s", "broken"):
            fresh_process.call("benchmarks.models", "no_such_function")
        with table.case("s", "sound"):
            table.add(at_most("s", "sound", 1.0, "ms", 5))

    path = tmp_path / "bench.json"
    monkeypatch.setattr(harness, "SECTIONS", {"toy": section})
    monkeypatch.setattr("sys.argv", ["bench", "toy", "--json", str(path)])
    assert harness.main() == 1
    rows = json.loads(path.read_text())["rows"]
    assert [row["what"] for row in rows] == ["broken", "sound"]
    assert "no_such_function" in rows[0]["error"]
    assert rows[0]["value"] is None
    assert "error: broken" in capsys.readouterr().out


def test_unknown_section(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["bench", "sped"])
    with pytest.raises(SystemExit):
        harness.main()
    assert "unknown section 'sped'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["tiny", *models.SIZES])
def test_models_are_the_same_in_every_process(name: str) -> None:
    function, inputs = models.build(name)
    again, same = models.build(name)
    assert all(a.equal(b) for a, b in zip(inputs, same, strict=True))
    if name != "tiny":
        pairs = zip(function.parameters(), again.parameters(), strict=True)
        assert all(a.equal(b) for a, b in pairs)
