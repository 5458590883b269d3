"""Models that are chains of blocks, for the laws of stages, and some that are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import TensorDataset

from gradstream import Workload
from gradstream.spec import JobSpec
from gradstream.workload import Split

EXAMPLES, WORDS, WIDTH = 48, 11, 8


class Broken(torch.autograd.Function):
    """Its backward raises."""

    @staticmethod
    def forward(_ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(_ctx: Any, *_gradients: Tensor) -> Tensor:
        raise ValueError("this backward is broken")


class Chain(nn.Module):
    """Something before the blocks, something behind them, an argument beside the chain, and a weight that is at both ends."""

    def __init__(self, blocks: int, doing: str) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(WIDTH, 2, 16, 0.0, batch_first=True) for _ in range(blocks))
        if doing.startswith("broken "):
            within = self.layers[int(doing.removeprefix("broken "))].linear2
            within.register_forward_hook(lambda module, inputs, output: Broken.apply(output))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.words.weight
        self.doing = doing

    def forward(self, x: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
        hidden = first = self.words(x)
        if self.doing == "noise":
            hidden = hidden * (1 + torch.rand(()))
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden, src_mask=mask)
            if self.doing == "in place":
                hidden += 1
            first = hidden if number == 0 else first
        if self.doing == "goes around":
            hidden = hidden + first
        if self.doing == "backwards":
            hidden = self.layers[0](hidden)
        return self.head(self.norm(hidden))


@dataclass
class Given:
    hidden: Tensor


class Wrapped(nn.Module):
    """A block that gives an object: what a stage sends of it would have no gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(5, 5)

    def forward(self, x: Tensor | Given) -> Given:
        return Given(self.linear(x.hidden if isinstance(x, Given) else x.float()))


class Opened(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wrapped, self.last = nn.Sequential(Wrapped(), Wrapped()), nn.Linear(5, WORDS)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.wrapped(x).hidden).unsqueeze(1).expand(-1, 5, -1)  # type: ignore[no-any-return]


class Within(nn.Module):
    """A block that runs backward within its own, twice: the gradient of its layer comes in two pieces."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x: Tensor) -> Tensor:
        x = x if x.requires_grad else x.clone().requires_grad_()
        y: Tensor = checkpoint(self.linear, x, use_reentrant=True) + checkpoint(self.linear, 2 * x, use_reentrant=True)
        return y.tanh()


class Skips(nn.Module):
    """Its last block also gets what the first one gives, as in a U-Net. The widths differ."""

    def __init__(self) -> None:
        super().__init__()
        self.levels = nn.ModuleList([nn.Linear(64, 4), nn.Linear(4, 40), nn.Linear(40, 12), nn.Linear(16, 3)])

    def forward(self, x: Tensor) -> Tensor:
        first = self.levels[0](x.flatten(1))
        last = self.levels[2](self.levels[1](first))
        return self.levels[3](torch.cat([first, last], 1))  # type: ignore[no-any-return]


class Scripts(Workload):
    blocks_: int = 4
    doing: str = ""

    def model(self) -> nn.Module:
        if self.doing == "images":
            layers = [
                nn.Conv2d(1, 4, 3),
                nn.BatchNorm2d(4),
                nn.ReLU(inplace=True),
                nn.Conv2d(4, 4, 3),
                nn.BatchNorm2d(4),
                nn.Flatten(),
            ]
            return nn.Sequential(*layers, nn.Linear(64, 3))
        if self.doing == "objects":
            return Opened()
        if self.doing == "skips":
            return Skips()
        if self.doing == "within":
            return nn.Sequential(nn.Flatten(), Within(), Within(), nn.Linear(64, 3))
        if self.doing == "wide":
            return nn.Sequential(nn.Flatten(), nn.Linear(64, 1024), *[nn.Linear(1024, 1024) for _ in range(10)], nn.Linear(1024, 3))
        if self.doing == "rectified":
            return nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(inplace=True), nn.Linear(64, 3))
        return Chain(self.blocks_, self.doing)

    def dataset(self, split: Split) -> TensorDataset:
        generator = torch.Generator().manual_seed(1)
        if self.doing in ("images", "rectified", "skips", "wide", "within"):
            return TensorDataset(torch.randn(EXAMPLES, 1, 8, 8, generator=generator), torch.arange(EXAMPLES) % 3)
        x = torch.randint(WORDS, (EXAMPLES, 5), generator=generator)
        return TensorDataset(x, (x + 1) % WORDS)

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        if self.doing == "twice":
            model(batch[0])
        if self.doing == "noise":
            return nn.functional.cross_entropy(model(batch[0]).flatten(0, -2), batch[1].flatten()) * (1 + torch.rand(()))
        scores = model(batch[0])
        loss = nn.functional.cross_entropy(scores.flatten(0, -2), batch[1].flatten())
        if self.doing == "penalty":
            loss = loss + 0.1 * torch.stack([p.square().sum() for p in model.parameters()]).sum()
        return loss


def job(strategy: dict[str, Any], stages: int, accumulate: int, args: dict[str, Any] | None = None, **more: Any) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "stages",
            "workload": {"entrypoint": f"{__name__}:Scripts", "args": args or {}},
            "batch_size": 8,
            "accumulate": accumulate,
            "strategy": strategy,
            "stop": {"epochs": 2},
            "roles": roles({"stages": stages}),
            **more,
        }
    )


def roles(group: Any) -> dict[str, Any]:
    return {"worker": {"count": 2, "group": group, "device": "cpu"}}


SYNC = {"name": "sync", "lr": 0.1}
ADAG = {"name": "adag", "lr": 0.1, "window": 2}
