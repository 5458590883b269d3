"""What an honest user notices of attackers: `python -m benchmarks.attackers`.

A platform of its own trains a job under bsp. One client asks for `/health`, another one for the list of jobs: first alone, then
beside attackers, eight without an account and eight with one each. `benchmarks/attacks.py` says what those do. A load above the
number of cores before the attack means that others used the machine: all times are upper bounds then."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
from sqlalchemy.orm import Session

from backend.users import service as users
from backend.users.schemas import CreateToken
from benchmarks import attacks, common
from benchmarks.memory import CODE
from benchmarks.rows import engine_of
from benchmarks.running import Failed, Running, running, until
from gradstream.api.jobs import Job
from gradstream.client import Client
from gradstream.spec import JobSpec

WANTED = {"/health": (0.99, 100.0), "/jobs": (0.95, 500.0)}
"""The quantile, and milliseconds that it may take."""
_EVERY = 0.05
_LET_GO = 30.0
"""Seconds that attackers may take to end after their time."""


@dataclass
class Asked:
    """How long an endpoint took to answer, again and again, in ms."""

    path: str
    token: str
    times: list[float] = field(default_factory=list)
    wrong: int = 0
    """Answers other than 200, and none."""

    def ask(self, url: str, ends: float) -> None:
        headers = {"Authorization": f"Bearer {self.token}"}
        with httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=30, trust_env=False) as client:
            while time.monotonic() < ends:
                began = time.perf_counter()
                try:
                    self.wrong += client.get(self.path).status_code != 200
                except httpx.HTTPError:
                    self.wrong += 1
                self.times.append(1000 * (time.perf_counter() - began))
                time.sleep(_EVERY)

    def quantile(self, share: float) -> float:
        return sorted(self.times)[min(len(self.times) - 1, int(share * len(self.times)))]

    def row(self, when: str) -> dict[str, Any]:
        share, wanted = WANTED[self.path]
        return {
            "path": self.path,
            "when": when,
            "asked": len(self.times),
            "wrong": self.wrong,
            "p50": self.quantile(0.5),
            "p95": self.quantile(0.95),
            "p99": self.quantile(0.99),
            "most": max(self.times),
            "share": share,
            "wanted": wanted,
            "good": not self.wrong and self.quantile(share) <= wanted,
        }


def ask_for(seconds: float, platform: Running, token: str) -> tuple[list[Asked], float]:
    """What honest clients see in this time, and the largest memory of the API, in MB."""
    ends, asked, most = time.monotonic() + seconds, [Asked(path, token) for path in WANTED], 0.0
    threads = [threading.Thread(target=each.ask, args=(platform.url, ends)) for each in asked]
    for thread in threads:
        thread.start()
    api = api_of(platform)
    while time.monotonic() < ends:
        most = max(most, api.memory_info().rss / 1e6)
        time.sleep(_EVERY)
    for thread in threads:
        thread.join()
    return asked, most


def api_of(platform: Running) -> psutil.Process:
    programs = psutil.Process(platform.pid).children(recursive=True)
    return next(each for each in programs if each.cmdline()[1:4] == ["-m", "backend", "api"])


def submit(client: Client, folder: Path) -> Job:
    """A job under bsp that trains until it is stopped. Raises: Failed: it does not begin."""
    (folder / "endless.py").write_text(CODE)
    spec = JobSpec.model_validate(
        {
            "name": "victim",
            "workload": {"entrypoint": "endless:Endless"},
            "batch_size": 64,
            "strategy": {"name": "sync", "lr": 0.001},
            "gate": "bsp",
            "roles": {"worker": {"count": 2, "device": "cpu"}},
            "stop": {"steps": 10**9},
            "checkpoint": {"every": "10s"},
        }
    )
    job = client.submit(spec, code=folder)
    until(lambda: client.job(job.id).progress.samples > 0, "the job does not train")
    return job


def tokens_of(platform: Running, count: int) -> list[str]:
    """Each of a user of its own."""
    engine = engine_of(platform.folder)
    with Session(engine) as session, session.begin():
        found = [users.ensure_user(session, f"user-{at}").id for at in range(count)]
        tokens = [users.create_token(session, user, CreateToken(name="benchmark")).token for user in found]
    engine.dispose()
    return tokens


def run(seconds: float, alone: float, anonymous: int, signed_in: int) -> dict[str, Any]:
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name, running(Path(name)) as platform, platform.client() as client:
        code = Path(name) / "code"
        code.mkdir()
        job, [token, *tokens] = submit(client, code), tokens_of(platform, 1 + signed_in)
        before, memory_before = ask_for(alone, platform, token)
        target = attacks.Target(platform.url, str(job.id), time.monotonic() + seconds)
        attackers = multiprocessing.get_context("fork").Process(
            target=attacks.attack, args=(target, anonymous, tokens), daemon=True
        )
        samples = client.job(job.id).progress.samples
        attackers.start()
        during, memory = ask_for(seconds, platform, token)
        attackers.join(_LET_GO)
        attackers.kill()
        attackers.join()
        if attackers.exitcode == 1:
            raise Failed("an attacker is broken, so this was no attack; its traceback is above")
        after = client.job(job.id)
        lost = [each.message or "" for each in client.processes(job.id) if each.ended_at]
        job_row = {"status": after.status, "attempt": after.attempt, "ended": lost, "samples": after.progress.samples - samples}
        job_row["good"] = after.status == "running" and after.attempt == 1 and not lost
    rows = [each.row(when) for when, asked in (("alone", before), ("attacked", during)) for each in asked]
    about = common.about(seconds=seconds, anonymous=anonymous, signed_in=signed_in)
    load = {"before": load_before, "after": os.getloadavg()[0]}
    return {**about, "rows": rows, "job": job_row, "load": load, "memory_mb": {"alone": memory_before, "attacked": memory}}


def document(result: dict[str, Any]) -> list[str]:
    settings, job, load, memory = result["settings"], result["job"], result["load"], result["memory_mb"]
    header = ("what", "when", "asked", "not answered", "p50, ms", "p95, ms", "p99, ms", "most, ms", "wanted", "")
    lines = [
        (
            f"GET {row['path']}",
            row["when"],
            f"{row['asked']:,}",
            str(row["wrong"]),
            *(f"{row[at]:,.0f}" for at in ("p50", "p95", "p99", "most")),
            f"p{100 * row['share']:.0f} {row['wanted']:.0f}",
            "" if row["good"] else "SLOW",
        )
        for row in result["rows"]
    ]
    alone, attacked = ({row["path"]: row for row in result["rows"] if row["when"] == when} for when in ("alone", "attacked"))
    ratios = ", ".join(f"{path} {attacked[path]['p95'] / alone[path]['p95']:.1f}" for path in WANTED)
    said = (
        f"{settings['anonymous']} attackers without an account and {settings['signed_in']} with one, for {settings['seconds']:g} s."
    )
    rest = (
        f"p95 over p95 alone: {ratios}. The job: {job['status']}, attempt {job['attempt']}, {len(job['ended'])} processes ended, "
        f"{job['samples']:,} samples meanwhile. "
        f"The API's memory: {memory['alone']:.0f} MB, at most {memory['attacked']:.0f} MB attacked. "
        f"Load average: {load['before']:.1f} before, {load['after']:.1f} after."
    )
    return ["# Attackers", "", *common.head(result), said, "", *common.table(header, lines), "", rest]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the attack")
    parser.add_argument("--alone", type=float, default=15.0, help="seconds before it")
    parser.add_argument("--anonymous", type=int, default=8)
    parser.add_argument("--signed-in", type=int, default=8)
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    options = parser.parse_args()
    try:
        result = run(options.seconds, options.alone, options.anonymous, options.signed_in)
    except Failed as error:
        raise SystemExit(str(error)) from error
    print(json.dumps(result) if options.json else "\n".join(document(result)))
    good = [row["good"] for row in result["rows"] if row["when"] == "attacked"]
    return 0 if all([*good, result["job"]["good"]]) else 1


if __name__ == "__main__":
    raise SystemExit(common.interruptible(main))
