"""Of too much output the beginning and the end are stored, and a line says what is left out."""

from __future__ import annotations

import pytest

from backend.logs import bounds
from tests.integration.backend.running import Running


def post(running: Running, offset: int, text: str, omitted: int = 0) -> int:
    agent = running.agent
    body = {"process_id": str(agent.order("worker-0").id), "offset": offset, "text": text, "size": len(text), "omitted": omitted}
    answer = agent.http.post("/agent/logs", json=body, headers={"Authorization": f"Bearer {agent.token}"})
    assert answer.status_code == 200, answer.text
    return int(answer.json()["next_offset"])


def test_of_too_much_output_the_beginning_and_the_end_are_stored(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("HEAD", 20), ("TAIL", 90), ("STEP", 15)):
        monkeypatch.setattr(bounds, name, size)
    at, written = 0, ""
    for number in range(25):
        line = f"line {number:03}\n"
        at, written = post(running, at, line), written + line
    chunks = running.items("logs")
    stored = "".join(chunk["text"] for chunk in chunks)
    head, said, tail = stored.partition("\n[")[0], stored.count("left out here"), stored.rpartition("]\n")[2]
    assert said == 1
    assert written.startswith(head)
    assert len(head) >= 20
    assert written.endswith(tail)
    assert 90 <= len(tail) <= 90 + 15 + 2 * len(line)
    assert [chunk["offset"] for chunk in chunks] == sorted(chunk["offset"] for chunk in chunks)


def test_what_its_node_has_left_out_is_not_asked_for_again(running: Running) -> None:
    assert post(running, 0, "begin\n") == 6
    assert post(running, 5_000_100, "end\n") == 6, "a gap that nobody has explained"
    assert post(running, 5_000_100, "end\n", omitted=5_000_094) == 5_000_104
    assert post(running, 5_000_100, "end\n", omitted=5_000_094) == 5_000_104, "once"
    text = "".join(chunk["text"] for chunk in running.items("logs"))
    assert text == "begin\n\n[5.0 MB of output are left out here: the first 16 and the last 48 MiB are kept]\nend\n"
