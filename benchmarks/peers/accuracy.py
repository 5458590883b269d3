"""What Gradstream learns from equal samples on the platform, in real processes, and in the simulator, which loses nothing by
construction: speed that is bought with lost or torn updates would show here."""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from benchmarks.peers import ours
from benchmarks.peers.system import Told
from benchmarks.peers.systems import SYSTEMS
from gradstream import sim
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec

Found = dict[str, dict[str, Any]]


def compare(items: Iterable[str], systems: Iterable[str], data: Path, seeds: int, epochs: Mapping[str, float]) -> dict[str, Found]:
    """By item, then by system: accuracies on all test images, one for each seed, of both; or why there are none."""
    return {item: {name: _both(name, item, data, seeds, epochs[item]) for name in systems} for item in items}


def _both(name: str, item: str, data: Path, seeds: int, epochs: float) -> dict[str, Any]:
    made: dict[str, Any] = {"epochs": epochs, "platform": [], "simulator": []}
    for seed in range(1, seeds + 1):
        print(f"{item} {name}: accuracy, seed {seed}", file=sys.stderr)
        folder = Path(tempfile.mkdtemp(prefix="gs-peer-"))
        told = Told(item, str(folder), str(data), seed=seed, options=dict(SYSTEMS[name].options))
        try:
            args = {"item": item, "data": str(data)}
            spec = ours.job(told, stop={"epochs": epochs}, workload={"entrypoint": "benchmarks.peers.workload:Work", "args": args})
            books = ours.Books()
            failed, result = ours.run(spec, folder / "job", bool(told.options["shared_memory"]), lambda: False, books.take)
            if failed or result is None:
                return {"absent": failed or "the evaluator left no result"}
            made["platform"].append(result["eval"]["accuracy"])
            made["ledger_closes"] = made.get("ledger_closes", True) and books.closed()["ledger_closes"]
            made["simulator"].append(_simulated(spec))
        except ValidationError as error:
            return {"absent": f"the job is refused: {error.errors()[0]['msg']}"}
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return made | _summary(made["platform"], made["simulator"])


def _simulated(spec: JobSpec) -> float:
    """One thread, as on the platform. Workers take turns at random: in strict turns both would make their last, small mini-batches
    at the same time, which costs asynchronous strategies a percent or two and happens on no machine."""
    torch.set_num_threads(1)
    workloads = Workloads(spec, ours.CODE)
    return workloads.evaluate(_End(sim.run(spec, workloads, schedule="random").center))["accuracy"]


@dataclass(frozen=True)
class _End:
    """Where a simulation ended; the models of all items are without buffers."""

    at: Tensor

    def center(self) -> Tensor:
        return self.at

    def buffers(self) -> None:
        return None


def _summary(platform: list[float], simulator: list[float]) -> dict[str, float]:
    """`noise`: the standard error of the difference of the two means, from the spread over the seeds."""
    difference = statistics.mean(platform) - statistics.mean(simulator)
    if len(platform) < 2:
        return {"difference": difference}
    noise = ((statistics.variance(platform) + statistics.variance(simulator)) / len(platform)) ** 0.5
    return {"difference": difference, "noise": noise}


def markdown(found: Mapping[str, Found]) -> str:
    header = "| item | system | epochs | platform | simulator | difference (noise) | ledger |"
    lines = ["### Accuracy after equal samples", "", header, "|---|---|---|---|---|---|---|"]
    for item, row in found.items():
        for name, cell in row.items():
            if "absent" in cell:
                lines.append(f"| {item} | {name} | | absent: {cell['absent'].splitlines()[0]} | | | |")
                continue
            both = [", ".join(f"{value:.4f}" for value in cell[side]) for side in ("platform", "simulator")]
            noise = f" ({cell['noise']:.4f})" if "noise" in cell else ""
            books = "closes" if cell["ledger_closes"] else "OPEN"
            values = [item, name, f"{cell['epochs']:g}", *both, f"{cell['difference']:+.4f}{noise}", books]
            lines.append(f"| {' | '.join(values)} |")
    return "\n".join(lines) + "\n"
