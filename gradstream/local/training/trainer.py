"""A job from start to end on this machine: embedded Redis, zygote, one attempt, and what it has to say meanwhile."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path
from typing import Any, Self, TextIO

from rich.console import Console

from gradstream import marker
from gradstream.bundle.commit.origin import collect_origin
from gradstream.errors import Conflict, InvalidJob
from gradstream.local.servers.child import run_dir
from gradstream.local.servers.redis import Redis
from gradstream.local.training.attempt import LocalAttempt
from gradstream.local.training.gpus import assign, note_on
from gradstream.local.training.training_run import TrainingRun
from gradstream.process.gpus.driver import UsableGpus, usable_gpus
from gradstream.process.zygote.zygote import Zygote
from gradstream.spec import JobSpec
from gradstream.spec.start import NEEDS_A_FILE
from gradstream.wire.redis.client import connect


class Trainer:
    """Use it as a context manager: leaving it ends every process and removes the sockets."""

    def __init__(self, spec: JobSpec, code: Path, folder: Path, talk: TextIO) -> None:
        """Raises: Conflict, if `folder` holds an earlier run. InvalidJob: the job wants more GPUs than there are, or no
        network."""
        roles = spec.roles
        takes_none = roles.worker.effective_device == roles.server.device == "cpu"
        gpus = UsableGpus() if takes_none else usable_gpus(os.environ.get("CUDA_VISIBLE_DEVICES"))
        assign(spec.on_one_machine(), len(gpus.indices), gpus.obstacle)
        if spec.network == "platform":
            raise InvalidJob("network: gradstream train isolates nothing; take internet, or submit the job")
        if spec.start_from and spec.start_from.job:
            raise InvalidJob(NEEDS_A_FILE)
        if folder.exists() and any(folder.iterdir()):
            raise Conflict(f"{folder} is not empty; choose another folder with --out, or remove it")
        folder.mkdir(parents=True, exist_ok=True)
        marker.write_marker(folder, "training")  # so that no bundle takes it in
        self._spec, self._code, self._folder = spec.model_copy(update={"export": None}), code, folder.resolve()
        self._origin, self._gpus = collect_origin(code), gpus.indices
        self._console = Console(file=talk, soft_wrap=True, markup=False, emoji=False)
        self._run = run_dir()
        password_file = self._run / "password"
        password_file.touch(0o600)
        password_file.write_text(secrets.token_urlsafe(24))
        self._redis = Redis("plane", self._run / "plane", log=folder / "redis.log", password_file=password_file, maxmemory="2gb")
        self._zygote = Zygote()

    def __enter__(self) -> Self:
        try:
            self._zygote.start()
            self._redis.start()
            self._redis.wait()
        except BaseException:  # Ctrl-C, too
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._zygote.close()
        self._redis.stop()
        shutil.rmtree(self._run, ignore_errors=True)

    def run(self) -> dict[str, Any]:
        """Train to the end; Ctrl-C asks the workers to stop, and the model so far is kept. Returns the figures."""
        if note := note_on(self._spec.on_one_machine(), len(self._gpus)):
            self._console.print(f"note: {note}", highlight=False)
        return TrainingRun(self._spec, self._console, self._make_attempt).train()

    def _make_attempt(self, spec: JobSpec, number: int) -> LocalAttempt:
        admin, url = connect(self._redis.url, password=self._redis.password), self._redis.url
        return LocalAttempt(
            spec,
            self._code,
            self._folder,
            zygote=self._zygote,
            redis=admin,
            plane_url=url,
            number=number,
            origin=self._origin,
            gpus=self._gpus,
        )
