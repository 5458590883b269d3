"""Laws of `group: {tensor: t}`, with real processes: it computes what one process computes, but for the rounding of sums."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream import Workload, sim
from gradstream.errors import InvalidWorkload
from gradstream.group.peers import PeerLost
from gradstream.group.tensor import exchange
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from gradstream.workload import Split
from tests import nets
from tests.unit.group.conftest import GroupProblems, kill_peer

WIDTH, HEADS, EXAMPLES = 12, 6, 28


class Attention(nn.Module):
    """Heads, which are cut between two of them, and the norm of each head, whose weight all heads share."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm, self.dropout = nn.LayerNorm(WIDTH // HEADS), dropout

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for part in (self.q(x), self.k(x), self.v(x)))
        drop = self.dropout if self.training else 0.0
        mixed = nn.functional.scaled_dot_product_attention(self.norm(q), k, v, dropout_p=drop)
        return self.out(mixed.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


class Block(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.up, self.down = Attention(dropout), nn.Linear(WIDTH, 4 * WIDTH + 1), nn.Linear(4 * WIDTH + 1, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.before(x))
        return x + self.down(nn.functional.gelu(self.up(self.between(x))))  # type: ignore[no-any-return]


class Language(nn.Module):
    """Its embedding is its head, too."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.words, self.blocks = nn.Embedding(17, WIDTH), nn.ModuleList(Block(dropout) for _ in range(2))
        self.head = nn.Linear(WIDTH, 17, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)  # type: ignore[no-any-return]


class Images(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 13), nn.Dropout(0.2), nn.Linear(13, 3)
        )


class Tied(nets.Tied):
    """Two layers with one weight, and a frozen one; a layer that is no linear one, and one output that no process shares."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = nn.Bilinear(3, 3, 3)
        self.factor = nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = super().forward(x)
        return self.scores(y, y) * self.factor(y).exp()  # type: ignore[no-any-return]


PAIRS = {"blocks.*.attention.[qkv]": "colwise", "blocks.*.out": "rowwise", "*.up": "colwise", "*.down": "rowwise"}
PLAN = {**PAIRS, "head": "colwise_gather_output", "*.attention.norm": "replicated_with_grad_allreduce"}


class Parted(Workload):
    kind: str
    dropout: float = 0.0
    plan: dict[str, str] | None = None
    double: bool = True

    def model(self) -> nn.Module:
        kinds = {
            "mlp": lambda: nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 4), nn.Tanh(), nn.Linear(4, 3)),
            "images": Images,
            "tied": Tied,
            "language": lambda: Language(self.dropout),
            "dropped": lambda: nn.Sequential(nn.Linear(5, 7), nn.Dropout(), nn.Linear(7, 3), nn.Dropout(0.1)),
        }
        model: nn.Module = kinds[self.kind]()
        return model.double() if self.double else model

    def tensor_plan(self) -> dict[str, str] | None:
        return self.plan

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        return list(model.blocks)  # type: ignore[arg-type]

    def dataset(self, split: Split) -> TensorDataset:
        x = torch.randn(EXAMPLES, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64 if self.double else None)
        if self.kind == "images":
            return TensorDataset(x.repeat(1, 8)[:, :36].view(-1, 1, 6, 6), x[:, :3].argmax(1))
        if self.kind == "language":
            ids = (x * 3).long() % 17
            return TensorDataset(ids, ids.roll(1, 1))
        return TensorDataset(x, x[:, :3].argmax(1))

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        return nn.functional.cross_entropy(model(batch[0]).flatten(0, -2), batch[1].flatten())


SYNC = {"name": "sync", "lr": 0.1}


def job(args: dict[str, Any], group: Any, strategy: dict[str, Any] = SYNC, **more: Any) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "tensor",
            "workload": {"entrypoint": f"{__name__}:Parted", "args": args},
            "batch_size": 8,
            "strategy": strategy,
            "stop": {"epochs": 2},
            "roles": {"worker": {"count": 2, "group": group, "device": "cpu"}},
            **more,
        }
    )


@pytest.mark.parametrize("tensor", [2, 3])
@pytest.mark.parametrize(
    "args",
    [
        {"kind": "mlp"},
        {"kind": "mlp", "plan": {"0": "colwise", "2": "rowwise"}},
        {"kind": "mlp", "plan": {"2": "rowwise"}},
        {"kind": "images"},
        {"kind": "tied"},
        {"kind": "language"},
        {"kind": "language", "plan": PLAN},
        {"kind": "dropped"},
    ],
    ids=lambda args: args["kind"] + ("-planned" if "plan" in args else ""),
)
def test_a_group_computes_what_one_process_computes(args: dict[str, Any], tensor: int, grouped: GroupProblems) -> None:
    """Widths of 13, 7, 4 and 3 over three: one process has fewer columns, or none. Dropout is that of one process."""
    cut, whole = sim.run(job(args, {"tensor": tensor}), grouped), sim.run(job(args, 1), nets.problem)
    assert cut.center.dtype == torch.float64
    torch.testing.assert_close(cut.center, whole.center, rtol=1e-12, atol=1e-12)
