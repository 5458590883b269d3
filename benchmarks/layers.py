"""The cost of a LARS step on one flat vector, beside the least that it could be: `python -m benchmarks.layers`.

The least is the norms of each parameter and of its gradient, and one step of SGD with momentum and weight decay over the raw
vector. All take turns in one process on one thread, so that a drift of the machine hits all alike."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from benchmarks import common
from gradstream.optim.flat import FlatOptimizer
from gradstream.optim.parameters import ParameterShape
from gradstream.optim.spec import Lars

AIM = 1.3
MODELS: dict[str, Sequence[tuple[int, ...]]] = {
    "mlp, 0.5 M": [(500, 784), (500,), (300, 500), (300,), (10, 300), (10,)],
    "wide, 20 M": [(4096, 784), (4096,), (4096, 4096), (4096,), (10, 4096), (10,)],
    "transformer, 28 M": [shape for _ in range(4) for shape in ((2304, 768), (768, 768), (3072, 768), (768, 3072), (768,), (768,))],
}
RULE = Lars(lr=0.01, weight_decay=1e-4)


class _Least:
    """The norms, and one step over memory."""

    def __init__(self, theta: Tensor, sizes: Sequence[int]) -> None:
        self._theta, self._sizes, self._momentum = theta, sizes, torch.zeros_like(theta)

    def norms(self, g: Tensor) -> None:
        for part in (*self._theta.split(self._sizes), *g.split(self._sizes)):
            torch.linalg.vector_norm(part)

    def step(self, g: Tensor) -> None:
        self._momentum.mul_(RULE.momentum).add_(g, alpha=1e-5).add_(self._theta, alpha=1e-9)
        self._theta.sub_(self._momentum)


def measure(shapes: Sequence[tuple[int, ...]], rounds: int) -> dict[str, Any]:
    parameters = [ParameterShape(str(number), shape) for number, shape in enumerate(shapes)]
    sizes = [parameter.size for parameter in parameters]
    theta, g = (torch.randn(sum(sizes), generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
    lars, least = FlatOptimizer(theta.clone(), RULE, 0.01, parameters=parameters), _Least(theta.clone(), sizes)
    work: dict[str, Callable[[Tensor], None]] = {"lars": lars.step, "norms": least.norms, "step": least.step}
    times: dict[str, list[float]] = {name: [] for name in work}
    for number in range(rounds + 2):
        for name, run in work.items():
            began = time.perf_counter()
            run(g)
            if number >= 2:
                times[name].append(time.perf_counter() - began)
    ratios = [lars / (norms + step) for lars, norms, step in zip(*times.values(), strict=True)]
    return {"parameters": sum(sizes), "ratio": common.spread(ratios)} | {name: common.spread(of, 1e3) for name, of in times.items()}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.layers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout instead of the table")
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    found = {name: measure(shapes, args.rounds) for name, shapes in MODELS.items()}
    result = common.about(rounds=args.rounds) | {"models": found, "aim": AIM}
    if args.json:
        print(json.dumps(result))
        return 0
    rows = [
        (name, *(common.said(one[what]) for what in ("norms", "step", "lars", "ratio")), f"<= {AIM}") for name, one in found.items()
    ]
    print("\n".join([*common.head(result), *common.table(("model", "norms, ms", "step, ms", "LARS, ms", "ratio", "aim"), rows)]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
