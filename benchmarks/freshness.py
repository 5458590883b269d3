"""From an example in a followed folder to the export of its pass: `python -m benchmarks.freshness`.

On a platform of its own. A file comes each second, of which ten are a pass, so the pass alone delays its first example by nine
seconds. Times are between a file's marker and the commit of the export that has its pass, in lengths of a pass. The first passes
warm up: their files were there before the job. The goal is 1.3 for 95 of 100 examples."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import table
from benchmarks.running import Failed, running, until
from gradstream.api.jobs import Job
from gradstream.client import Client
from gradstream.spec import JobSpec

GOAL = 1.3
FILES_OF_PASS, WARM_UP = 10, 2
_STARTS_WITHIN = 240.0
"""Seconds."""
CODE = """\
from torch.nn.functional import binary_cross_entropy_with_logits

from gradstream import Workload, data
from gradstream import nn as gnn


class Clicks(Workload):
    classifies = False
    folder: str

    def model(self):
        return gnn.EmbeddingBag("ids", 1, mode="sum")

    def dataset(self, split):
        if split == "train":
            return data.parquet_folder(self.folder, label="click", ids=["ids"])
        return data.parquet(f"{self.folder}/held-out/eval.parquet", label="click", ids=["ids"])

    def ids(self, batch):
        return {"ids": batch["ids"].ids}

    def loss(self, model, batch):
        logits, clicks = model(*batch["ids"]).squeeze(1), batch["click"].float()
        self.observe(logits, clicks)
        return binary_cross_entropy_with_logits(logits, clicks)
"""


def job(folder: Path, rows: int, workers: int) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "freshness",
            "workload": {"entrypoint": "fresh:Clicks", "args": {"folder": str(folder)}},
            "strategy": {"name": "sync", "lr": 0.1},
            "roles": {"worker": {"count": workers, "device": "cpu"}},
            "batch_size": max(1, rows // 10 // workers),
            "data": {"length": rows * FILES_OF_PASS},
            "stop": {"never": True},
            "evaluate": {"every": "1m"},
            "tables": {"default": {"keep": {"unseen": 30}, "shrink": "1 passes"}},
            "export": {"every": "1 passes", "base": "6 passes"},
        }
    )


def write(file: Path, number: int, rows: int) -> None:
    """Clicks of 8 ids each, of which each has its share of clicks."""
    draw = np.random.default_rng(number)
    ids = draw.zipf(1.2, (rows, 8)) % 100_000
    clicks = draw.random(rows) < 1 / (1 + np.exp(-np.sin(ids).sum(1)))
    columns = {"ids": pa.array(list(ids)), "click": clicks.astype(np.int8)}
    pq.write_table(pa.table(columns), file)


def measured(passes: int, seconds: float, rows: int, workers: int) -> list[float]:
    """Seconds from each example's marker to the commit of its pass, of one example of each file. Raises: Failed."""
    with tempfile.TemporaryDirectory(prefix="freshness-") as home:
        code, folder = Path(home) / "code", Path(home) / "clicks"
        Path(home).chmod(0o1777)  # jobs may have accounts of their own
        (folder / "held-out").mkdir(parents=True)
        code.mkdir()
        (code / "fresh.py").write_text(CODE)
        write(folder / "held-out" / "eval.parquet", 2**20, rows)
        made = list[float]()

        def put() -> None:
            file = folder / f"clicks-{len(made):06}.parquet"
            write(file, len(made), rows)
            file.with_name(f"{file.name}.done").touch()
            made.append(time.time())

        for _ in range(FILES_OF_PASS * WARM_UP):
            put()
        with running(Path(home), "--writable", home) as platform, platform.client() as client:
            found = client.submit(job(folder, rows, workers), code=code)
            commits = dict[int, float]()

            def look() -> dict[int, float]:
                """Add the exports that are there now: older ones are removed."""
                commits.update(_commits(client, found))
                return commits

            until(lambda: WARM_UP in look(), "the passes that were there are not exported", _STARTS_WITHIN)
            begin = time.time()
            for number in range(FILES_OF_PASS * passes):
                time.sleep(max(0.0, begin + number * seconds / FILES_OF_PASS - time.time()))
                put()
                look()
            last = WARM_UP + passes
            until(lambda: max(look()) >= last, "the last pass is not exported", _STARTS_WITHIN)
            client.stop(found.id)
        first = WARM_UP * FILES_OF_PASS
        return [_exported(commits, 1 + number // FILES_OF_PASS) - made[number] for number in range(first, len(made))]


def _commits(client: Client, of: Job) -> dict[int, float]:
    """When the first export with so many passes was committed. Raises: Failed: the job has ended."""
    time.sleep(0.5)  # so that looking costs little
    if client.job(of.id).ended:
        raise Failed("the job has ended: " + "; ".join(event.message for event in client.events(of.id)))
    exports = [each for each in client.exports(of) if each.passes and each.committed_at]
    return {each.passes: each.committed_at.timestamp() for each in exports if each.passes and each.committed_at}


def _exported(commits: dict[int, float], passes: int) -> float:
    """When the first export with this pass was committed: a pass can have none, and the next export has it."""
    return min(at for number, at in commits.items() if number >= passes)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", type=int, default=10, help="passes that are measured")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of a pass")
    parser.add_argument("--rows", type=int, default=2000, help="examples of a file")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    delays = np.array(measured(given.passes, given.seconds, given.rows, given.workers))
    shares = {name: float(np.quantile(delays, q)) / given.seconds for name, q in (("median", 0.5), ("p95", 0.95), ("most", 1.0))}
    behind: dict[str, Any] = shares | {"seconds": given.seconds, "passes": given.passes, "goal": GOAL}
    if given.json:
        print(json.dumps(behind))
    else:
        title = f"example in the folder -> its pass of {given.seconds:g} s exported, in passes"
        row = [title, *(f"{shares[name]:.2f}" for name in ("median", "p95", "most")), f"{GOAL}"]
        print("\n".join(table(["", "median", "p95", "most", "goal (p95)"], [row])))
    return 0 if shares["p95"] <= GOAL else 1


if __name__ == "__main__":
    raise SystemExit(main())
