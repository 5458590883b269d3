"""DeepFM in one plain process, from a stream and a topic that its own script fills."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from urllib.parse import quote

import pytest
import redis

from gradstream import jobfile, local_run
from gradstream.local.servers.redis import Redis
from tests.kafka import KafkaBroker

EXAMPLE = Path(__file__).parents[3] / "examples" / "deepfm"


@pytest.mark.more
def test_deepfm_learns_from_a_stream(redis_server: Callable[..., Redis], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    server, file = redis_server(tcp=True), tmp_path / "url"
    file.write_text(server.url.replace("redis://", f"redis://:{quote(server.password)}@") + "/0\n")
    client = redis.Redis.from_url(file.read_text().strip())
    fill = import_module("fill").fill
    fill(tmp_path, examples=5000, every=0, files=3, client=client)
    client.xtrim("clicks", maxlen=15_000, approximate=False)
    fill(tmp_path, examples=5000, every=0, files=4, client=client)
    assert client.xlen("clicks") == 20_000, "it goes on where it was"
    args = [f"workload.args.folder={tmp_path}", f"workload.args.url_file={file}", "stop={steps: 78}"]
    last = list(local_run.train(jobfile.load(EXAMPLE / "online.yaml", args), EXAMPLE))[-1]
    assert last.samples == 78 * 256
    assert last.observed["auc"] > 0.65
    assert last.evaluation["auc"] > 0.7


@pytest.mark.more
def test_deepfm_learns_from_a_topic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    broker = KafkaBroker()
    broker.create("clicks", 3)
    fill, topic = import_module("fill").fill, import_module("topic").FilledTopic(broker.servers, "clicks")
    fill(tmp_path, examples=5000, every=0, files=3, topic=topic)
    fill(tmp_path, examples=5000, every=0, files=4, topic=topic)
    assert topic.count() == 20_000, "it goes on where it was"
    args = [f"workload.args.folder={tmp_path}", f"workload.args.servers={broker.servers}", "stop={steps: 78}"]
    last = list(local_run.train(jobfile.load(EXAMPLE / "online.yaml", args), EXAMPLE))[-1]
    broker.stop()
    assert last.samples == 78 * 256
    assert last.observed["auc"] > 0.65
    assert last.evaluation["auc"] > 0.7
