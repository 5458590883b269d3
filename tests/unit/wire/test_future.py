"""Messages from the future: what a newer version adds is ignored, and a kind that is not known is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from msgspec.structs import asdict

from backend.submission.schemas import GivenOrigin
from gradstream.api.progress import Progress
from gradstream.center.entries import Leave, Push, Response
from gradstream.center.gate import keeper
from gradstream.center.ledger import Account
from gradstream.client.sse import events
from gradstream.gate import Gate
from gradstream.local.folder import DataFolder, RunningPlatform
from gradstream.process import exits
from gradstream.process.exits import ExitReason
from gradstream.process.order import ProcessOrder
from gradstream.process.saving.part_list import PartList
from gradstream.wire.transport.messages import FIELD, Header, ResponseMessage, message_in
from tests.orders import make_order


@pytest.mark.parametrize("entry", [Leave(0, 0, "done"), Push(0, 0, 1, 0, 1, 32, "center", 1)])
def test_an_entry_and_its_header(entry: Leave | Push) -> None:
    told = json.loads(Header(entry).pack())
    told["entry"].append({"moon": "full"})
    found = Header.unpack(json.dumps(told | {"moon": "full"}).encode())
    assert found
    assert found.entry == entry


def test_an_entry_of_the_log_with_more_fields_in_any_order() -> None:
    packed = Header(Leave(0, 0, "done")).pack()
    assert message_in([FIELD, packed, b"moon", b"full"]) == packed
    assert message_in([b"moon", FIELD, FIELD, packed]) == packed
    with pytest.raises(ValueError, match="is not in"):
        message_in([b"moon", b"full"])


def test_an_account_of_pushes_with_more_counts() -> None:
    assert Account.unpack(b"5 3 1 1 7") == Account(5, 3, 1, 1)


def test_a_pending_push_of_a_checkpoint_with_more_fields() -> None:
    gate = keeper(Gate(mode="bsp"))
    stored = asdict(Push(0, 4, 1, 0, 1, 32, "center", 1)) | {"moon": "full"}
    gate.load({"pending": [(stored, torch.ones(2))], "cohort": [0], "number": 3}, torch.device("cpu"))
    [(push, _)] = gate.pending.values()
    assert push == Push(0, -1, 1, 0, 1, 32, "center", 1)


def test_the_list_of_a_parts_files() -> None:
    file = {"name": "worker-0.x", "size": 1, "sha256": "0" * 64, "moon": "full"}
    assert PartList.model_validate({"files": [file], "rests_on": [], "moon": "full"}).files[0].name == "worker-0.x"


def test_the_note_of_a_running_platform(tmp_path: Path) -> None:
    note = {"pid": 1, "url": "http://127.0.0.1:1", "data_dir": str(tmp_path), "started": 1.0, "run_dir": "/tmp/x"}
    (tmp_path / "platform.json").write_text(json.dumps(note | {"moon": "full"}))
    assert DataFolder(tmp_path).holder() == RunningPlatform(**note)  # type: ignore[arg-type]


def test_the_origin_of_code() -> None:
    assert GivenOrigin.model_validate({"client": "9.0", "moon": "full"}).client == "9.0"


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
