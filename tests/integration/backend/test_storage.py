"""The collection of what nobody needs: it takes all of that, and nothing that a job may need."""

from __future__ import annotations

import hashlib
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import httpx
from sqlalchemy import text

from backend.bundles import service as bundles
from backend.platform import Platform
from backend.storage.collecting import collect
from backend.submission.schemas import SubmitJob
from backend.submission.service import submit
from backend.users import service as users
from backend.web.uploads import Upload
from gradstream import bundle
from gradstream.errors import InvalidJob
from gradstream.spec import JobSpec
from tests.integration.backend.jobs import WORK, spec
from tests.integration.backend.running import Running

USERS, COLLECTORS, ROUNDS, BUNDLES = 4, 2, 30, 6
LONG_AGO = 2 * 3600.0


def age(path: Path, seconds: float = LONG_AGO) -> None:
    moment = time.time() - seconds
    os.utime(path, (moment, moment), follow_symlinks=False)


class Abandoned(Exception):
    """An upload whose transaction is rolled back."""


class Race:
    """Users who send and submit the same few bundles, while others collect whatever is unused at that moment."""

    def __init__(self, platform: Platform, token: str, folder: Path) -> None:
        self.platform, self.folder = platform, folder
        with platform.database.transaction() as session:
            self.caller = users.caller_of_token(session, token)
        self.packed = [self._pack(number) for number in range(BUNDLES)]
        self.over = threading.Event()
        self.kept: dict[UUID, str] = {}
        """Jobs that were accepted and not deleted."""

    def _pack(self, number: int) -> bundle.Bundle:
        code = self.folder / f"code-{number}"
        code.mkdir()
        (code / "work.py").write_text(f"{WORK}\nNUMBER = {number}\n")
        return bundle.pack(code)

    def send(self, packed: bundle.Bundle, *, abandon: bool = False) -> None:
        """As the API does. The file is as old as one that was left behind, so that only locks keep it."""
        path = self.folder / uuid4().hex
        path.write_bytes(packed.data)
        age(path)
        with suppress(Abandoned), self.platform.database.transaction() as session:
            bundles.store(session, self.platform.files, self.caller, Upload(path, len(packed.data), packed.hash))
            if abandon:
                raise Abandoned

    def submit(self, packed: bundle.Bundle) -> UUID | None:
        """None: refused, as the bundle is gone."""
        body = SubmitJob(spec=JobSpec.model_validate(spec()), bundle=packed.hash)
        try:
            with self.platform.database.transaction() as session:
                return submit(session, self.platform.files, self.caller, body, None).id
        except InvalidJob:
            return None

    def use(self, seed: int) -> int:
        """Send, submit and delete; return how many jobs were accepted."""
        dice, accepted = random.Random(seed), 0
        for _ in range(ROUNDS):
            packed = dice.choice(self.packed)
            self.send(packed, abandon=dice.random() < 0.2)
            job = self.submit(packed)
            if job is None:
                continue
            accepted += 1
            self.check(packed.hash)
            if dice.random() < 0.9:
                with self.platform.database.transaction() as session:
                    session.execute(text("DELETE FROM jobs WHERE id = :id"), {"id": job})
            else:
                self.kept[job] = packed.hash
        return accepted

    def check(self, hash: str) -> None:
        """The bytes of a bundle that a job names are there."""
        assert hashlib.sha256(self.platform.files.bundle(hash).read_bytes()).hexdigest() == hash

    def collect(self) -> int:
        """Until it is over; return how many bundles went."""
        gone = 0
        while not self.over.is_set():
            gone += sum(item.count for item in collect(self.platform, within=60).items)
        return gone


def test_no_accepted_job_loses_its_bundle_and_no_unused_one_stays(platform: Platform, token: str, tmp_path: Path) -> None:
    settings = platform.settings.model_copy(update={"unused_bundles_kept": timedelta(0)})
    race = Race(replace(platform, settings=settings), token, tmp_path)
    with ThreadPoolExecutor(USERS + COLLECTORS) as threads:
        collectors = [threads.submit(race.collect) for _ in range(COLLECTORS)]
        try:
            accepted = sum(threads.map(race.use, range(USERS)))
        finally:
            race.over.set()
    gone = sum(each.result() for each in collectors)
    race.send(race.packed[0], abandon=True)
    collect(race.platform, within=60)
    used = set(race.kept.values())
    for hash in used:
        race.check(hash)
    with platform.database.transaction() as session:
        assert set(session.scalars(text("SELECT hash FROM bundles"))) == used
    assert {path.name for path in platform.files.bundles.iterdir()} == {f"{hash}.tar.gz" for hash in used}
    assert accepted, "no submission came between an upload and a collection"
    assert gone, "no collection came between two uploads"


def send_bundle(api: httpx.Client, folder: Path, name: str) -> str:
    (folder / name).mkdir()
    (folder / name / "work.py").write_text(f"{WORK}\nNAME = '{name}'\n")
    answer = api.post("/bundles", content=bundle.pack(folder / name).data, headers={"Content-Type": "application/gzip"})
    return str(answer.json()["hash"])


def write(path: Path, content: bytes = b"left behind") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def everything(folder: Path) -> set[Path]:
    """Files and links."""
    return {path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}


def test_a_collection_takes_what_nobody_needs_and_nothing_else(
    running: Running, platform: Platform, api: httpx.Client, tmp_path: Path
) -> None:
    files, ended = platform.files, platform.files.of_job(UUID(running.id))
    running.agent.commit_checkpoint(0)
    running.agent.put("worker-0", "checkpoints/6/worker-0.safetensors")
    running.agent.put("evaluator", "model.safetensors", b"the model")
    running.agent.exit()
    running.controller.run_once()
    live = Running(api, running.agent, running.controller, tmp_path)
    live.agent.put("worker-0", "checkpoints/6/worker-0.safetensors")
    unused, asked, _lately = (send_bundle(api, tmp_path, name) for name in ("unused", "asked", "lately"))
    with platform.database.transaction() as session:
        old = {"old": [unused, asked, running.job["bundle"]]}
        session.execute(text("UPDATE bundles SET used_at = now() - interval '8 days' WHERE hash = ANY(:old)"), old)
    assert api.get(f"/bundles/{asked}").status_code == 200
    outside = write(tmp_path / "outside" / "file")
    deleted, linked = uuid4(), uuid4()
    going = {
        files.bundle(unused),
        write(files.bundle("0" * 64)),
        write(files.incoming / uuid4().hex),
        write(files.of_attempt(deleted, 1, "checkpoints/3/shard-0.safetensors")),
        ended / "1/checkpoints/6/worker-0.safetensors",
        write(ended / "1/checkpoints/9/shard-0.safetensors"),
    }
    write(ended / "start/shard-0.safetensors")
    write(files.of_job(UUID(live.id)) / "1/job.yaml")
    write(files.jobs / "not-a-job" / "file")
    (files.of_job(linked)).symlink_to(outside.parent)
    (files.incoming / "link").symlink_to(outside)
    (ended / "link").symlink_to(outside.parent)
    for path in [*files.root.rglob("*"), outside, outside.parent]:
        age(path)
    write(files.incoming / uuid4().hex, b"on its way")
    write(files.of_job(uuid4()) / "start/shard-0.safetensors", b"of a job that is being submitted")
    before = everything(files.root)

    dry = api.post("/storage/collect", params={"dry_run": True}).json()
    assert everything(files.root) == before
    done = api.post("/storage/collect").json()
    assert before - everything(files.root) == going
    assert outside.exists()
    assert done == {**dry, "dry_run": False}
    kinds = {item["kind"]: item for item in done["items"]}
    counts = {kind: item["count"] for kind, item in kinds.items()}
    assert counts == {"bundle": 2, "upload": 1, "deleted job": 1, "stray file": 2}
    assert (done["complete"], kinds["deleted job"]["names"]) == (True, [str(deleted)])
    assert api.post("/storage/collect").json()["items"] == []

    stored = {file["path"] for file in api.get(f"/jobs/{running.id}/files").json()["files"]}
    assert {"model.safetensors", "checkpoints/0/shard-0.safetensors"} < stored
    assert "checkpoints/6/worker-0.safetensors" not in stored
    assert [api.get(f"/bundles/{hash}").status_code for hash in (unused, asked)] == [404, 200]
    kinds = {item["kind"]: item for item in api.get("/storage").json()["items"]}
    assert (kinds["bundles"]["count"], kinds["uploads"]["count"]) == (3, 1)


def test_unused_bundles_take_so_many_bytes(platform: Platform, api: httpx.Client, tmp_path: Path) -> None:
    _oldest, older, newest = sent = [send_bundle(api, tmp_path, name) for name in ("oldest", "older", "newest")]
    with platform.database.transaction() as session:
        for hash, hours in zip(sent, (4, 3, 0), strict=True):
            moment = {"hash": hash, "hours": hours}
            session.execute(text("UPDATE bundles SET used_at = now() - :hours * interval '1 hour' WHERE hash = :hash"), moment)
    size = sum(platform.files.bundle(hash).stat().st_size for hash in (older, newest))
    for most_bytes, left in ((size, {older, newest}), (0, {newest})):
        settings = platform.settings.model_copy(update={"unused_bundles_bytes": most_bytes})
        collect(replace(platform, settings=settings), within=60)
        assert {path.name.partition(".")[0] for path in platform.files.bundles.iterdir()} == left
