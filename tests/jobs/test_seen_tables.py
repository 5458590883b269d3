"""The platform's account of the tables of a whole job, against the rows that the job leaves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.jobs.test_by_hand import gradstream
from tests.platforms import Lab


@pytest.mark.more
def test_hottest_keys_and_single_keys_are_those_of_the_stored_rows(lab: Lab, tmp_path: Path) -> None:
    job = lab.submit(
        "seen",
        workload={"entrypoint": "planted_clicks:Clicks"},
        strategy={"name": "async", "lr": 0.05},
        batch_size=32,
        tables={"default": {"keep": {"score": 0.001, "decay": 0.9, "unseen": 1}, "shrink": "500 samples"}},
        stop={"epochs": 2},
        export={"every": "1h"},
    )
    assert lab.ended(job).status == "succeeded"
    parts = [load_file(lab.client.download(job, f"tables-{k}.safetensors", into=tmp_path)) for k in range(2)]
    keys, values = (np.concatenate([part[f"deep/{column}"] for part in parts]) for column in ("keys", "values"))
    rows = dict(zip(keys.tolist(), values, strict=True))

    found = lab.client.tables(job)
    assert (found.servers, found.of_servers, found.samples) == (2, 2, lab.client.job(job).progress.samples)
    assert [table.name for table in found.items] == ["deep", "wide"]
    deep = found.items[0]
    assert deep.rows == deep.counted == len(rows) == deep.made - deep.evicted
    assert deep.evicted > 0
    assert sum(each.rows for each in deep.ages) == len(rows) == sum(each.rows for each in deep.scores or ())

    def look_up(key: int) -> tuple[list[float | None] | None, float | None]:
        """Its weights in the last export, and its shows in the last checkpoint."""
        [one] = lab.client.look_up_key(job, key, table="deep")
        return one.values, one.checkpoint.shows

    hottest = {int(key.key): key.shows for key in deep.hottest}
    assert list(hottest.values()) == sorted(hottest.values(), key=float, reverse=True)  # type: ignore[arg-type]
    assert len(hottest) == 20
    for key, shows in hottest.items():
        weights, stored = look_up(key)
        assert stored == shows
        assert np.array_equal(np.array(weights, np.float32), rows[key])
    coldest = min(shows for shows in hottest.values() if shows is not None)
    for key in [key for key in rows if key not in hottest][:20]:
        assert (look_up(key)[1] or 0) <= coldest

    listed = gradstream(lab, "tables", "seen", "--table", "deep")
    assert all(str(key) in listed for key in hottest)
    [hot, *_] = hottest
    assert f"table deep, key {hot}\n  Export 1 has its row." in gradstream(
        lab, "tables", "seen", "--key", str(hot), "--table", "deep"
    )
    absent = gradstream(lab, "tables", "seen", "--key", "-5", "--table", "deep")
    assert "No export that is kept has a row for it" in absent
    assert "the model reads first values, drawn from the key, for it" in absent
    assert "the job has no table 'depe'; it has deep" in gradstream(lab, "tables", "seen", "--table", "depe", code=4)
