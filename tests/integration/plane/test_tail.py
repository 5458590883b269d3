"""A Valkey that was killed and comes back without the end of its log: its append-only file was cut back."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradstream.center.entries import Join, Leave
from gradstream.errors import PlaneLost
from gradstream.local.servers.redis import Redis
from gradstream.process.order import PlaneAccess
from gradstream.shard_server.log_reader import LogReader
from gradstream.wire import plane
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import BLOCK, connect
from gradstream.wire.redis.resp import Resp
from gradstream.wire.redis.tail import check_written
from tests.support import eventually

J = "0f.1"


class Durable(Redis):
    """It keeps an append-only file, as operators' servers do."""

    def _write_configuration(self) -> None:
        super()._write_configuration()
        with (self._run / "redis.conf").open("a") as file:
            file.write("appendonly yes\nappendfsync always\naof-load-truncated yes\n")

    @property
    def file(self) -> Path:
        [found] = (self._run / "appendonlydir").glob("*.incr.aof")
        return found

    def restart(self, keep: int | None = None) -> None:
        """Killed, and started again with so many bytes of its file; None: with all."""
        pid = self.child.pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: self.child.poll() is not None, "its end")
        if keep is not None:
            os.truncate(self.file, keep)
        self.start()
        self.wait()


@pytest.fixture
def durable(short_dir: Path, password_file: Path, tmp_path: Path) -> Iterator[Durable]:
    server = Durable("durable", short_dir / f"d{os.getpid()}", log=tmp_path / "log", password_file=password_file)
    server.start()
    server.wait()
    yield server
    server.stop()


class Log:
    """An attempt's log on that server, its writer, and one reader."""

    def __init__(self, server: Durable) -> None:
        self.server, self.admin = server, connect(server.url, password=server.password)
        plane.create(self.admin, J, password="of the attempt")
        self.access = PlaneAccess(url=server.url, user=plane.account(J), password="of the attempt")
        self.reader = LogReader(self.access, J, 0, most=100)

    def write(self, count: int) -> str:
        """Returns the last id."""
        for rank in range(count):
            plane.post(self.admin, J, Join(rank, 0))
        [[last, _]] = self.admin.xrevrange(keys.log(J), count=1)  # type: ignore[misc]
        return str(last.decode())

    def read(self, count: int) -> int:
        """So many entries at least, and how many."""
        found = 0
        while found < count:
            for position, _ in self.reader.read():
                self.reader.handled(position)
                found += 1
        return found


@pytest.fixture
def log(durable: Durable) -> Iterator[Log]:
    log = Log(durable)
    yield log
    log.admin.close()


def come_back(log: Log, keep: int | None) -> None:
    log.server.restart(keep)
    plane.create(log.admin, J, password="of the attempt")  # accounts are in no append-only file; this one stands in for an ACL file


@pytest.mark.parametrize("written_since", [0, 1, 30], ids=["nothing since", "less than is missing", "more than is missing"])
def test_a_reader_of_what_is_missing_notices(log: Log, written_since: int) -> None:
    log.write(5)
    keep = log.server.file.stat().st_size
    log.write(10)
    log.read(16)
    come_back(log, keep)
    if written_since:
        log.write(written_since)
    with pytest.raises(PlaneLost, match="without the end of this attempt's log"):
        log.read(1)


def test_after_a_restart_that_lost_nothing_reading_goes_on(log: Log) -> None:
    log.write(10)
    log.read(11)
    log.write(7)
    come_back(log, keep=None)
    log.write(3)
    assert log.read(10) == 10


def test_entries_that_were_trimmed_are_not_missed(log: Log) -> None:
    last = log.write(10)
    log.read(11)
    log.admin.xtrim(keys.log(J), minid=last, approximate=False)
    come_back(log, keep=None)
    log.write(2)
    assert log.read(2) == 2


@pytest.mark.parametrize("written_since", [0, 5])
def test_a_writer_misses_its_own_entry_also_if_nobody_has_read_it(log: Log, written_since: int) -> None:
    redis = Resp(log.access.url, user=log.access.user, password=log.access.password, block=BLOCK)
    log.write(3)
    keep = log.server.file.stat().st_size
    mine = log.write(1)
    check_written(redis, keys.log(J), mine)
    come_back(log, keep)
    for rank in range(written_since):
        plane.post(log.admin, J, Leave(rank, 0, "lost"))
    redis.close()
    with pytest.raises(PlaneLost, match=f"the entry {mine} was written there"):
        check_written(redis, keys.log(J), mine)
    redis.close()
