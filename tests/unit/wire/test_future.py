"""Messages from the future: what a newer version adds is ignored, and a kind that is not known is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradstream.api.progress import Progress
from gradstream.center.entries import Leave, Push, Response
from gradstream.client.sse import events
from gradstream.process import exits
from gradstream.process.exits import ExitReason
from gradstream.process.order import ProcessOrder
from gradstream.wire.transport.messages import Header, ResponseMessage
from tests.orders import make_order


@pytest.mark.parametrize("entry", [Leave(0, 0, "done"), Push(0, 0, 1, 0, 1, 32, "center", 1)])
def test_an_entry_and_its_header(entry: Leave | Push) -> None:
    told = json.loads(Header(entry).pack())
    told["entry"].append({"moon": "full"})
    found = Header.unpack(json.dumps(told | {"moon": "full"}).encode())
    assert found
    assert found.entry == entry


def test_an_entry_of_a_kind_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="levitate"):
        Header.unpack(b'{"entry":["levitate",0,0]}')


def test_a_letter() -> None:
    told = json.loads(ResponseMessage(3, Response(0, 0, 1, "ok", 0, 0, 0)).pack())
    assert ResponseMessage.unpack(json.dumps([*told, "moon"]).encode()).number == 3


def test_an_order_in_the_zygotes_pipe() -> None:
    order = make_order()
    assert ProcessOrder.model_validate_json(json.dumps(order.model_dump(mode="json") | {"moon": "full"})) == order


def test_how_a_process_ended(tmp_path: Path) -> None:
    (tmp_path / "exit.json").write_text('{"reason": "user_error", "message": "no", "moon": "full"}')
    assert exits.read(tmp_path, 1).reason is ExitReason.USER_ERROR
    (tmp_path / "exit.json").write_text('{"reason": "levitated", "message": "up"}')
    assert exits.read(tmp_path, 1).reason is ExitReason.INTERNAL


def test_what_the_sdk_is_answered() -> None:
    progress = Progress.model_validate({"samples": 3, "moon": {"phase": 1}, "exchange": None, "shards": []})
    assert progress.samples == 3


def test_a_stream() -> None:
    [event] = events(["moon: full", "event: levitated", "data: {}", "retry: 3", ""])
    assert (event.event, event.data) == ("levitated", "{}")
