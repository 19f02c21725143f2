"""Models in wrappers for data parallel training, and compiled functions in DataLoader workers."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from own_capture import compiled
from torch.utils.data import DataLoader, Dataset

import triptych

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture
def group(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process alone."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")  # whatever the machine's name resolves to
    triptych.reset()
    store = f"file://{tmp_path / 'store'}"
    dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))


def data_parallel(module: torch.nn.Module) -> torch.nn.Module:
    return torch.nn.parallel.DistributedDataParallel(module)


def fully_sharded(module: torch.nn.Module) -> torch.nn.Module:
    from torch.distributed.fsdp import FullyShardedDataParallel

    return FullyShardedDataParallel(module, device_id=torch.device("cpu"))


def sharded_in_place(module: torch.nn.Module) -> torch.nn.Module:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    fully_shard(module, mesh=init_device_mesh("cpu", (1,)))
    return module


def data_parallel_outside(module: torch.nn.Module) -> torch.nn.Module:
    return data_parallel(compiled(module))


WRAPPERS = (data_parallel, fully_sharded, sharded_in_place, data_parallel_outside)


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_wrapped_models(group: None, wrap: Any) -> None:
    expected, plain = model(), model()
    x = torch.randn(3, 4)
    run = wrap(plain)
    if wrap is not data_parallel_outside:
        run = compiled(run)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(run(x), expected(x))
    run(x).sum().backward()
    expected(x).sum().backward()
    gradients = [p.grad for p in run.parameters()]
    wanted = [p.grad for p in expected.parameters()]
    if wrap in (data_parallel, data_parallel_outside):
        torch.testing.assert_close(gradients, wanted)
    assert all(gradient is not None for gradient in gradients)


class Squares(Dataset[torch.Tensor]):
    def __init__(self) -> None:
        self.run = compiled(lambda x: x * x + 1)
        self.run(torch.zeros(3))

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> torch.Tensor:
        found: torch.Tensor = self.run(torch.full((3,), float(index)))
        return found


@pytest.mark.parametrize("workers", [0, 2])
def test_in_data_loader_workers(workers: int) -> None:
    batches = list(DataLoader(Squares(), batch_size=2, num_workers=workers))
    rows = torch.arange(6.0)[:, None].expand(6, 3)
    assert torch.equal(torch.cat(batches), rows * rows + 1)
