"""Ctrl-C and SIGTERM at moments at which a command is not ready for them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.integration.cli.shared import COMMAND
from tests.support import TIMEOUT, eventually

JOB = "version: 1\nname: slow\nworkload: {entrypoint: 'slow:Slow'}\nstrategy: {name: sync}\nstop: {steps: 10}\n"
CODE = """\
import os, pathlib, time
import torch
from gradstream import Workload


class Slow(Workload):
    def model(self):
        pathlib.Path(os.environ["TEST_MARK"]).touch()
        time.sleep(1000)
        return torch.nn.Linear(2, 2)

    def dataset(self, split):
        return torch.utils.data.TensorDataset(torch.ones(9, 2), torch.ones(9).long())

    def loss(self, model, batch):
        return model(batch[0]).mean()
"""


@pytest.mark.more
def test_a_signal_before_the_first_step_ends_train_at_once(tmp_path: Path) -> None:
    """SIGTERM is handled as Ctrl-C is. `model()` of this job takes longer than the end of everything may take."""
    temporary, mark, out = tmp_path / "tmp", tmp_path / "mark", tmp_path / "out"
    temporary.mkdir()
    code = tmp_path / "code"
    code.mkdir()
    (code / "job.yaml").write_text(JOB + f"env: {{TEST_MARK: {mark}}}\n")
    (code / "slow.py").write_text(CODE)
    command = [*COMMAND, "train", str(code), "--out", str(out), "--json"]
    own = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        eventually(mark.exists, "the model to be made", 2 * TIMEOUT)
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        stdout, said = process.communicate(timeout=TIMEOUT)
    assert time.monotonic() - began < 20
    assert (process.returncode, json.loads(stdout)["status"]) == (11, "cancelled")
    assert "stopped before the first step, so there is no model" in said
    assert not list(temporary.glob("gradstream-*")), "its sockets are removed"


@pytest.mark.few(1)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("follow digits", "Detached before the platform answered; digits is not changed."),
        ("wait digits", "Interrupted before the platform answered; digits is not changed."),
        ("submit code --follow", "Interrupted before the platform confirmed the job"),
    ],
)
def test_a_signal_before_the_first_answer_is_told(number: signal.Signals, code: int, words: str, said: str, tmp_path: Path) -> None:
    """The server accepts the connection, and never answers."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "job.yaml").write_text(JOB)
    (tmp_path / "code" / "slow.py").write_text(CODE)
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text("gst_a")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(TIMEOUT)
        where = ["--url", f"http://127.0.0.1:{server.getsockname()[1]}", "--token-file", str(token)]
        command = [*COMMAND, *words.split(), *where]
        with (
            subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process,
            server.accept()[0] as connection,
        ):
            connection.recv(1)
            process.send_signal(number)
            _, told = process.communicate(timeout=TIMEOUT)
    assert process.returncode == code
    assert said in told
    assert "Traceback" not in told


DETACHES = """\
import os, subprocess, sys
from slow import Slow as Other


class Slow(Other):
    def model(self):
        import torch
        if os.fork() == 0:
            os.setsid()
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)", os.environ["TEST_MARK"]])
            os._exit(0)
        subprocess.Popen(["sh", "-c", "sleep 1000; : $TEST_MARK"], start_new_session=True)
        if os.environ.get("TEST_HANGS"):
            return super().model()
        return torch.nn.Linear(2, 2)
"""


@pytest.mark.more
@pytest.mark.parametrize("hangs", [False, True])
def test_run_local_leaves_no_process_of_user_code(hangs: bool, tmp_path: Path) -> None:
    """With `hangs`, SIGTERM ends it."""
    code, mark = tmp_path / "code", tmp_path / "mark"
    code.mkdir()
    (code / "job.yaml").write_text(JOB.replace("slow:Slow", "detaches:Slow"))
    (code / "slow.py").write_text(CODE)
    (code / "detaches.py").write_text(DETACHES)
    own = os.environ | {"TEST_MARK": str(mark)} | ({"TEST_HANGS": "1"} if hangs else {})
    command = [*COMMAND, "run", str(code), "--local"]
    with subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        if hangs:
            eventually(mark.exists, "the model to be made", 2 * TIMEOUT)
            process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=2 * TIMEOUT)
    assert process.returncode == (130 if hangs else 0), said
    assert not [found.pid for found in psutil.process_iter() if str(mark) in _words_of(found)]


def _words_of(process: psutil.Process) -> str:
    try:
        return f"{process.cmdline()} {process.environ()}"
    except psutil.Error:
        return ""


def test_the_package_is_imported_in_no_time() -> None:
    """Before `main`, nothing can catch Ctrl-C: what is imported until then counts."""
    text = "import sys; before = set(sys.modules); import gradstream; print(*sorted(set(sys.modules) - before))"
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({os.getcwd()!r}); {text}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["gradstream"]
