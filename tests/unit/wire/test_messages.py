"""Headers and messages come out as they went in, without the vectors that travel beside them."""

import subprocess
import sys

import msgspec
import pytest
import torch

from gradstream.center.entries import (
    Checkpoint,
    Committed,
    Entry,
    Init,
    Join,
    Leave,
    Payload,
    Pull,
    Push,
    Rejected,
    Resend,
    Response,
    Saved,
    StopWorkers,
)
from gradstream.wire.transport.messages import ATTEMPT, Header, Part, ResponseMessage

ENTRIES: list[Entry] = [
    Init(0, 1),
    Join(2, 0),
    Push(1, 0, 7, base=3, steps=1, examples=128, want="center", position=9, norm=1 / 3),
    Push(1, 0, 8, base=3, steps=0, examples=0, want="ack", position=9, finite=False),
    Push(1, 0, 9, base=3, steps=1, examples=4, want="ack", position=(10, ((2**40, 1_700_000_000_000), (0, 0)))),
    Pull(-1, 4, 2),
    Saved(0, 0, 5, checkpoint=1),
    Leave(3, 0, "lost"),
    Checkpoint(6),
    Committed(5),
    StopWorkers('it\'s "time" \u00e9'),
    StopWorkers("one", 2),
    Resend(1, 2, (7, 9)),
    Rejected(1, 2, 31, 8, "applied", True, version=7, brings="center"),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
def test_every_entry_comes_back(entry: Entry) -> None:
    headers = [
        Header(entry),
        Header(entry, observed="packed"),
        Header(entry, (Part(8, 2**32 - 1), Part(0, 0)), {"size": 2, "dtype": "float32"}, (0, 2), into=1, read=12),
    ]
    for header in headers:
        assert Header.unpack(header.pack()) == header


def test_the_entry_that_makes_the_log_says_nothing() -> None:
    assert Header.unpack(ATTEMPT) is None


def test_a_letter_leaves_its_vector_behind() -> None:
    response = Response(1, 0, 7, "applied", 41, 2**40, 2, go=True, brings="center", checkpoint=3, position=9)
    carried = ResponseMessage(5, msgspec.structs.replace(response, payload=Payload(torch.ones(3))), "shared", Part(12, 0))
    assert ResponseMessage.unpack(carried.pack()) == ResponseMessage(5, response, "shared", Part(12, 0))
    assert ResponseMessage.unpack(ResponseMessage(0, response, resend=7).pack()) == ResponseMessage(0, response, resend=7)
    placed = msgspec.structs.replace(response, position=(9, ((40, 5),)))
    assert ResponseMessage.unpack(ResponseMessage(0, placed).pack()) == ResponseMessage(0, placed)


@pytest.mark.parametrize("entry", ["", '["dance",1]', '["leave",0,0,"bored"]', '["push",0]'])
def test_what_no_program_writes_is_refused(entry: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        Header.unpack(f'{{"entry":{entry}}}'.encode())


def test_whoever_only_posts_entries_starts_without_torch() -> None:
    program = "import gradstream.wire.transport.messages, sys; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], timeout=60)
    assert done.returncode == 0


def test_a_push_without_observations_has_no_byte_of_them() -> None:
    assert b"observed" not in Header(ENTRIES[2], (Part(8, 1),), read=3).pack()
