"""The best model in a store: its file says which evaluation it is of, and the same model has the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

import gradstream
from gradstream.bundle.commit.origin import CodeOrigin
from gradstream.errors import Unavailable
from gradstream.evaluation.best import BestModel
from gradstream.evaluation.judge import BestEvaluation, JudgeState
from gradstream.process.saving.content import Content
from tests.orders import make_order

BEST = BestEvaluation(metric="eval/loss", value=0.25, samples=640, version=10)
ORDER = make_order("evaluator", -1, origin=CodeOrigin(commit="ab" * 20, dirty=True))


class Store:
    """A folder that may be away."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.away = folder, False

    def put(self, name: str, content: Content) -> None:
        if self.away:
            raise Unavailable("away")
        (self.folder / name).write_bytes(b"".join(content.chunks()))

    def latest(self, name: str, into: Path) -> Path | None:
        return self.folder / name if (self.folder / name).exists() else None

    def resumed(self, name: str, into: Path) -> Path | None:
        return None

    def start(self, into: Path, name: str = "") -> Path | None:
        return None


def kept(folder: Path) -> tuple[Store, BestModel]:
    for name in ("store", "work"):
        (folder / name).mkdir(parents=True)
    store = Store(folder / "store")
    return store, BestModel(store, folder / "work", ORDER)


def test_the_file_says_which_evaluation_and_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    files = []
    for run in range(5):
        store, model = kept(tmp_path / str(run))
        model.keep(BEST, {"w": torch.ones(2), "b": torch.zeros(1)})
        model.note(JudgeState(best=BEST, samples=640))
        files.append((store.folder / "best.safetensors").read_bytes())
        assert model.load() == JudgeState(best=BEST, samples=640)
    assert len(set(files)) == 1
    with safe_open(store.folder / "best.safetensors", "pt") as file:
        about = json.loads(file.metadata()["gradstream"])
    assert about == {
        "version": gradstream.__version__,
        "job": str(ORDER.job_id),
        "name": ORDER.spec.name,
        "strategy": ORDER.spec.strategy.name,
        "commit": "ab" * 20,
        "dirty": True,
        "best": BEST.model_dump(),
    }


def test_what_could_not_be_stored_is_stored_with_the_next_evaluation(tmp_path: Path) -> None:
    store, model = kept(tmp_path)
    store.away = True
    model.keep(BEST, {"w": torch.ones(2)})
    model.note(JudgeState(best=BEST))
    assert model.load() is None
    with pytest.raises(Unavailable):
        model.finish()
    store.away = False
    model.note(JudgeState(best=BEST, without_improvement=1))
    assert (store.folder / "best.safetensors").exists()
    assert model.load() == JudgeState(best=BEST, without_improvement=1)
