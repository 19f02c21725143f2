"""Reports, counters, the dump folder and the reproducer."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import triptych
from triptych import _C, errors, progress, reproducer
from triptych.options import resolve


def layers(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x @ weight).softmax(-1)


INPUTS = (torch.randn(8, 16), torch.randn(16, 16))


def test_report_of_one_graph(capsys: pytest.CaptureFixture[str]) -> None:
    with torch.no_grad():
        report = triptych.explain(layers)(*INPUTS)
    torch.testing.assert_close(report.result, layers(*INPUTS))
    assert len(report.graphs) == 1
    assert report.kernels >= 1
    assert report.external_calls == 1
    assert report.fallbacks == []
    printed = capsys.readouterr().out
    assert printed.strip() == str(report).strip()
    for text in ("1 graphs", "captured", "normalized", "kernels", "external (1)", "mm", "time"):
        assert text in printed, printed
    assert {"normalize", "generate"} <= set(report.graphs[0].milliseconds)


@pytest.mark.parametrize(
    ("capture", "code"), [("triptych", "break.data"), ("dynamo", "capture.graph_break")]
)
def test_report_names_graph_breaks_with_the_line(capture: str, code: str) -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        x = x * 2
        if x.sum() > 0:  # the break
            x = x + 1
        return x.sin()

    line = broken.__code__.co_firstlineno + 2
    with torch.no_grad():
        report = triptych.explain(broken, options={"capture": capture})(torch.ones(3))
    assert [fallback.code for fallback in report.breaks] == [code]
    assert report.breaks[0].location == f"{__file__}:{line}"
    assert f"{__file__}:{line}" in str(report)


def test_report_of_a_graph_that_needs_gradients() -> None:
    weight = torch.randn(4, requires_grad=True)
    report = triptych.explain(lambda x: x * weight)(torch.randn(4))
    (fallback,) = report.fallbacks
    assert fallback.code == "backend.needs_gradients"
    assert fallback.location.startswith(__file__)
    assert "no_grad" in fallback.hint
    assert report.kernels == 0


def test_explain_a_compiled_function_and_a_module() -> None:
    with torch.no_grad():
        assert triptych.explain(triptych.compile(layers))(*INPUTS).kernels >= 1
        model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.GELU())
        assert triptych.explain(triptych.compile(model))(INPUTS[0]).kernels >= 1


def test_dump_folder_holds_every_stage(tmp_path: Path) -> None:
    with torch.no_grad(), triptych.configure(dump=str(tmp_path)):
        triptych.reset()
        triptych.compile(layers)(*INPUTS)
    (folder,) = tmp_path.iterdir()
    assert folder.name == "graph_000"
    names = sorted(path.name for path in folder.iterdir())
    stages = ["captured", "normalized", "lowered", "fused", "mapped", "kernels", "program"]
    assert [name.split("_")[1].split(".")[0] for name in names] == stages
    assert all(path.read_text().strip() for path in folder.iterdir())
    assert __file__ in (folder / "01_captured.txt").read_text()
    assert "aten.mm" in (folder / "02_normalized.txt").read_text()
    assert "define" in (folder / "06_kernels.ll").read_text()


def test_dumped_files_parse(tmp_path: Path) -> None:
    """Each file is a whole text: the command line reads it without the others."""
    with torch.no_grad(), triptych.configure(dump=str(tmp_path)):
        triptych.reset()
        triptych.compile(lambda x: layers(x, INPUTS[1]) + torch.tensor([1.0, 2.0] * 8))(INPUTS[0])
    folder = tmp_path / "graph_000"
    assert triptych.Graph.load(str(folder / "02_normalized.txt")).verify() == []
    assert (folder / "02_normalized.txt.bin").exists()
    for name in ("03_lowered", "04_fused", "05_mapped"):
        text = (folder / f"{name}.txt").read_text()
        assert str(_C.LoopProgram.parse(text)) == text
    text = (folder / "07_program.txt").read_text()
    assert str(_C.Plan.parse(text)) == text


def test_edited_files_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).exp()

    dumped, edited = tmp_path / "dumped", tmp_path / "edited"
    monkeypatch.setenv("TRIPTYCH_DUMP", str(dumped))
    x = torch.randn(8)

    def run() -> torch.Tensor:
        triptych.reset()
        with torch.no_grad():
            return triptych.compile(function)(x)

    torch.testing.assert_close(run(), (x * 2).exp())
    monkeypatch.setenv("TRIPTYCH_OVERRIDE", str(edited))
    for file, old, new, expected in (
        ("02_normalized.txt", "exp", "sin", (x * 2).sin()),
        ("04_fused.txt", "= exp", "= neg", (x * 2).neg()),
        ("05_mapped.txt", "const 2.0", "const 3.0", (x * 3).exp()),
        ("07_program.txt", "= exp", "= neg", (x * 2).neg()),
    ):
        (edited / "graph_000").mkdir(parents=True)
        text = (dumped / "graph_000" / file).read_text()
        (edited / "graph_000" / file).write_text(text.replace(old, new))
        torch.testing.assert_close(run(), expected)
        (edited / "graph_000" / file).unlink()
        (edited / "graph_000").rmdir()
        torch.testing.assert_close(run(), (x * 2).exp())  # dumps the unedited texts again


@pytest.mark.parametrize("strict", ["0", "1"])
@pytest.mark.parametrize("file", ["02_normalized.txt", "04_fused.txt", "07_program.txt"])
def test_edited_files_that_do_not_parse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, strict: str
) -> None:
    monkeypatch.setenv("TRIPTYCH_STRICT", strict)
    (tmp_path / "graph_000").mkdir()
    (tmp_path / "graph_000" / file).write_text("graph { no such text")
    for folder, message in (
        (tmp_path, f"override: {tmp_path}/graph_000"),
        (tmp_path / "nowhere", "there is no folder .*nowhere"),
    ):
        triptych.reset()
        run = triptych.compile(lambda x: x * 2, options={"override": str(folder)})
        with torch.no_grad(), pytest.raises(errors.UserError, match=message):
            run(torch.ones(3))


def test_warnings_point_at_the_caller() -> None:
    triptych.reset()
    with pytest.warns(UserWarning, match="runs eagerly: training") as caught:
        triptych.compile(lambda x: x * 2)(torch.ones(3, requires_grad=True))
    assert caught[0].filename == __file__


def test_dumped_text_is_the_same_each_time(tmp_path: Path) -> None:
    texts = []
    for run in ("one", "two"):
        triptych.reset()
        with torch.no_grad(), triptych.configure(dump=str(tmp_path / run)):
            triptych.compile(layers)(*INPUTS)
        texts.append({p.name: p.read_text() for p in (tmp_path / run / "graph_000").iterdir()})
    assert texts[0] == texts[1]


def test_reproducer_is_a_script_that_runs(tmp_path: Path) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor, n: int) -> tuple[torch.Tensor]:
            return (torch.nn.functional.gelu(x, approximate="tanh").reshape(-1) * n,)

    gm = torch.fx.symbolic_trace(Model())
    options = resolve({"reproducers": str(tmp_path)})
    inputs = [torch.randn(4, 4).t(), 3]
    path = reproducer.write(gm, inputs, RuntimeError("found"), options)
    assert path.parent == tmp_path
    assert "RuntimeError: found" in path.read_text()
    subprocess.run([sys.executable, str(path)], check=True)


def test_internal_error_warns_once_and_runs_eagerly(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from triptych import stages

    def broken(*_: object) -> None:
        raise triptych.errors.InternalError("a bug", "test.bug")

    monkeypatch.setattr(stages, "compile_graph", broken)
    triptych.reset()
    given = {"strict": False, "reproducers": str(tmp_path)}
    with torch.no_grad(), pytest.warns(UserWarning, match="Reproducer: .*py"):
        result = triptych.compile(layers, options=given)(*INPUTS)
    torch.testing.assert_close(result, layers(*INPUTS))
    assert triptych.counters()["fallback.internal"] == 1
    assert len(list(tmp_path.iterdir())) == 1
    triptych.reset()
    with torch.no_grad(), pytest.raises(Exception, match="a bug"):
        triptych.compile(layers, options={"strict": True})(*INPUTS)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_folders_that_cannot_be_written_stop_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nowhere = tmp_path / "file" / "folder"
    nowhere.parent.write_text("not a folder")
    x = torch.ones(3)
    with torch.no_grad(), pytest.warns(UserWarning, match="dump folder cannot be written"):
        compiled = triptych.compile(lambda y: y + 1, options={"dump": str(nowhere)})
        assert compiled(x).tolist() == [2, 2, 2]
    assert triptych.counters().get("fallback.internal", 0) == 0

    def fails(*args: object, **kwargs: object) -> None:
        raise triptych.errors.InternalError("on purpose")

    monkeypatch.setattr("triptych.stages.compile_graph", fails)
    chosen = {"reproducers": str(nowhere), "strict": False}
    with torch.no_grad(), pytest.warns(UserWarning, match="No reproducer could be written"):
        assert triptych.compile(lambda y: y + 2, options=chosen)(x).tolist() == [3, 3, 3]


def test_long_compile_shows_its_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECOND", 0.01)
    terminal = Terminal()
    with progress.Progress("graph_007", progress.MANY_NODES, terminal) as shown:
        shown.stage = "generate"
        while "generate" not in terminal.getvalue():
            time.sleep(0.01)
    assert "triptych: graph_007, 500 nodes: generate, 0 s" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\033[K")


@pytest.mark.parametrize(
    ("nodes", "stream"),
    [(progress.MANY_NODES - 1, Terminal()), (progress.MANY_NODES, io.StringIO())],
)
def test_no_progress_for_small_graphs_and_files(
    monkeypatch: pytest.MonkeyPatch, nodes: int, stream: io.StringIO
) -> None:
    monkeypatch.setattr(progress, "SECOND", 0.001)
    with progress.Progress("graph_000", nodes, stream):
        time.sleep(0.05)
    assert stream.getvalue() == ""


def test_command_line() -> None:
    def run(command: str) -> str:
        return subprocess.check_output([sys.executable, "-m", "triptych", command], text=True)

    assert "triptych 0." in run("version")
    assert "max_variants" in run("options")
    assert "triptych" in run("backends").split()
    assert "aten.add.Tensor" in run("ops")
