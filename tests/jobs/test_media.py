"""Images, figures, tables, texts and histograms that a workload logs in a whole job, and the limit of their rate."""

from __future__ import annotations

import io
import json

import pytest
from PIL import Image

from gradstream.user_logging.media import BURST, PER_MINUTE
from tests.platforms import Lab

EPOCHS, PER_EPOCH = 4, 4
LOGS = {"entrypoint": "logs_media:LogsMedia"}


@pytest.mark.more
def test_media_have_their_worker_and_step_and_evaluations_their_version(lab: Lab) -> None:
    job = lab.submit(
        "media",
        workload=LOGS,
        strategy={"name": "sync", "lr": 0.01},
        batch_size=8,
        evaluate={"every": "1 epochs", "batch_size": 4},
        stop={"epochs": EPOCHS},
    )
    job = lab.ended(job)
    assert job.status == "succeeded", job.message
    stored = {each.name: each for each in lab.client.media(job.id).items}
    assert {name: (each.kind, sorted(each.ranks)) for name, each in stored.items()} == {
        "curve": ("figure", [0, 1]),
        "epoch": ("text", [0, 1]),
        "inputs": ("image", [-1]),
        "scores": ("table", [-1]),
        "weights": ("histogram", [0, 1]),
    }
    texts = list(lab.client.media_items(job.id, "epoch", rank=1))
    assert [lab.client.media_content(job.id, text).decode() for text in texts] == [
        f"<b>pass</b> {epoch} is over" for epoch in range(EPOCHS)
    ]
    assert [text.step for text in texts] == [*range(PER_EPOCH, EPOCHS * PER_EPOCH, PER_EPOCH), EPOCHS * PER_EPOCH]
    scored = [(point.version, point.value) for point in lab.points(job, "eval/loss")]
    tables = [(table.version, lab.client.media_content(job.id, table)) for table in lab.client.media_items(job.id, "scores")]
    assert [(version, json.loads(table)["rows"]) for version, table in tables] == [
        (version, [["loss", pytest.approx(loss)], ["worst", None]]) for version, loss in scored
    ]
    for image in lab.client.media_items(job.id, "inputs"):
        assert (image.width, image.height) == (4, 4), "of the first batch"
        pixels = Image.open(io.BytesIO(lab.client.media_content(job.id, image)))
        assert [pixels.getpixel((x, 0)) for x in range(4)] == [(round(255 * x / 64),) * 3 for x in range(4)]
    assert {sum(one.counts) for one in lab.client.histograms(job.id, "weights").items} == {2}
    assert max(point.value for point in lab.points(job, "worker/media") if point.rank == 0) == 2 * EPOCHS + 1


@pytest.mark.more
def test_a_workload_that_logs_too_often_trains_on_and_an_alert_says_so(lab: Lab) -> None:
    job = lab.submit(
        "often", workload=LOGS | {"args": {"per_batch": True}}, strategy={"name": "sync", "lr": 0.01}, stop={"epochs": 400}
    )
    job = lab.ended(job)
    assert job.status == "succeeded", job.message
    [often] = [each for each in lab.client.media(job.id).items if each.name == "often"]
    assert job.ended_at is not None
    assert job.started_at is not None
    refilled = (job.ended_at - job.started_at).total_seconds() * PER_MINUTE / 60
    assert 2 * BURST <= often.count <= 2 * (BURST + refilled + 1)
    told = [event.message for event in lab.client.events(job.id, kinds=["warning"])]
    for rank in range(2):
        [sentence] = [one for one in told if one.startswith(f"worker-{rank} logs more media than the limits allow")]
        past = sentence.replace("logs more", "logged more").replace("those beyond are", "those beyond were")
        assert any(alert.startswith(past.partition(" Log images")[0]) for alert in job.progress.alerts), "the job has ended"
        log = "".join(chunk.text for chunk in lab.client.logs(job.id, role="worker", rank=rank))
        assert log.count("logged media are dropped: 'often' was logged more than 100 times at once") == 1
    assert max(point.value for point in lab.points(job, "worker/media_dropped")) > 0
