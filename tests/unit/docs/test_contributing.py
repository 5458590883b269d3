"""The strategy that CONTRIBUTING.md writes down works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradstream import sim
from gradstream.sim.toys import Bowl, job

TEXT = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text()


def test_the_worked_example_trains_and_mu_holds_its_steps_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [written] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "proximal_of_the_documents.py").write_text(written)
    monkeypatch.syspath_prepend(tmp_path)
    import proximal_of_the_documents as made  # type: ignore[import-not-found]

    spec = job({"name": "sync"}, workers=3, steps=100)

    def first_push(mu: float) -> float:
        strategy = made.Proximal(window=5, mu=mu, lr=0.1)
        run = sim.run(spec.model_copy(update={"strategy": strategy, "gate": strategy.gate}), Bowl)
        assert run.version == 20, "a version for each round of 5 steps"
        return run.decisions[0].norm

    assert 0 < first_push(mu=5) < first_push(mu=0)
