"""A job with a click model on Parquet files: large ids, ragged strings, and AUC as its target."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.torch import load_file

from gradstream import nn as gnn
from tests.platforms import Lab

USERS = 2**53 + 1 + np.arange(50)
TAGS = [f"tag {number}" for number in range(20)]


def write_clicks(file: Path, seed: int, examples: int) -> None:
    """Clicks by a planted logit of each user and of each tag. Float64 would make one user of two."""
    planted, draw = np.random.default_rng(0), np.random.default_rng(seed)
    of_user, of_tag = planted.normal(0, 1.5, len(USERS)), planted.normal(0, 1, len(TAGS))
    user = draw.integers(0, len(USERS), examples)
    tags = [draw.choice(len(TAGS), draw.integers(0, 4), replace=False) for _ in range(examples)]
    logits = of_user[user] + np.array([of_tag[chosen].sum() for chosen in tags])
    columns = {
        "user": USERS[user],
        "tags": pa.array([[TAGS[tag] for tag in chosen] for chosen in tags], pa.list_(pa.string())),
        "price": draw.random(examples),
        "click": draw.random(examples) < 1 / (1 + np.exp(-logits)),
    }
    pq.write_table(pa.table(columns), file, row_group_size=500)


@pytest.mark.more
@pytest.mark.parametrize("streams", [False, True])
def test_a_click_model_with_two_tables_reaches_the_auc_that_it_is_trained_for(streams: bool, lab: Lab, tmp_path: Path) -> None:
    for split, seed, examples in (("train", 1, 4000), ("eval", 2, 1000)):
        write_clicks(tmp_path / f"{split}.parquet", seed, examples)
    job = lab.ended(
        lab.submit(
            "streamed" if streams else "loaded",
            workload={"entrypoint": "parquet_clicks:ParquetClicks", "args": {"folder": str(tmp_path), "streams": streams}},
            strategy={"name": "sync", "lr": 0.1},
            batch_size=50,
            evaluate={"every": "2000 samples"},
            tables={"default": {"rule": {"name": "adagrad", "lr": 0.3}}},
            stop={"epochs": 20, "target": {"metric": "eval/auc", "at_least": 0.83}},
        )
    )
    assert job.status == "succeeded", lab.messages(job)
    evaluated = lab.points(job, "eval/auc")
    assert evaluated[0].value < 0.6
    assert evaluated[-1].value >= 0.83
    assert evaluated[-1].samples < 20 * 4000
    assert lab.points(job, "train/auc")[-1].value > 0.7
    keys: dict[str, set[int]] = {"user": set(), "tags": set()}
    for artifact in lab.client.artifacts(job.id):
        if artifact.name.startswith("tables-"):
            tensors = load_file(lab.client.download(job.id, artifact.name, into=tmp_path))
            for name, found in keys.items():
                found |= set(tensors[f"{name}/keys"].tolist())
    assert keys == {"user": set(USERS.tolist()), "tags": set(gnn.hashed(TAGS, "tags").tolist())}
