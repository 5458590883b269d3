"""`gradstream up`: the whole platform on this machine, until Ctrl-C."""

from __future__ import annotations

import shlex
import signal
from typing import TYPE_CHECKING

from gradstream.cli.common import AsJson
from gradstream.cli.platform.starting import (
    AllowedHosts,
    DataDir,
    Host,
    Isolation,
    JobNetwork,
    Join,
    LivePort,
    Mps,
    PlanePort,
    Port,
    Slots,
    Starting,
    Writable,
    isolate,
    options,
    stop_platform,
)

if TYPE_CHECKING:
    from gradstream.client import SignInLink
    from gradstream.local.folder import DataFolder, RunningPlatform
    from gradstream.local.options import Options
    from gradstream.local.platform import LocalPlatform


_BRIEFLY = 1.0
"""Seconds that the API has for an answer while Ctrl-C waits."""


def command(
    data_dir: DataDir = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    slots: Slots = None,
    join: Join = None,
    live_port: LivePort = None,
    plane_port: PlanePort = None,
    allowed_host: AllowedHosts = None,
    isolation: Isolation = "auto",
    job_network: JobNetwork = "internet",
    writable: Writable = None,
    mps: Mps = False,
    as_json: AsJson = False,
) -> None:
    """Start the platform on this machine: database, Redis, API with the web page, controller and one node agent.

    It runs until Ctrl-C and keeps everything in one folder, so the next `gradstream up` continues where this one ended. If the
    folder's platform runs already, it prints a new sign-in link for it. With --json it prints one line, {"url", "page_url",
    "sign_in_url", "data_dir", "pid"}, as soon as it is ready; "join" in it has the URL and token for other machines.

    Example: gradstream up --host 0.0.0.0
    """
    from gradstream.local.platform import LocalPlatform

    chosen = options(
        data_dir,
        host,
        port,
        slots,
        join=join,
        live_port=live_port,
        plane_port=plane_port,
        allowed_hosts=allowed_host,
        isolate=isolate(isolation, job_network, writable),
        mps=mps,
    )
    starting = Starting()
    platform = LocalPlatform(chosen, on_step=starting.step, on_trouble=starting.trouble)
    if not _runs_already(platform.folder, as_json):
        _run(platform, starting, chosen, as_json)


def _run(platform: LocalPlatform, starting: Starting, chosen: Options, as_json: bool) -> None:
    """Until Ctrl-C, or until it ends by itself."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # both ask for an orderly end
    try:
        with starting:
            platform.start()
        _say_where(platform, chosen, as_json)
        platform.wait()
    except KeyboardInterrupt:
        _say(f"stopping{_what_happens_first(platform)}. Ctrl-C again ends everything at once.", "dim")
    finally:
        stop_platform(platform)


def _what_happens_first(platform: LocalPlatform) -> str:
    """Say that jobs take a last checkpoint, if any runs, or if the API does not say at once."""
    from gradstream.client import Client, Credentials
    from gradstream.errors import GradstreamError

    account = Credentials.load(platform.folder.client_file)
    if platform.sign_in is None or account is None or platform.ended:
        return ""  # Ctrl-C came while it started
    try:
        with Client(account, timeout=_BRIEFLY) as client:
            page = client.jobs(status=["starting", "running", "stopping"], limit=1)
    except GradstreamError:
        return "; running jobs take a last checkpoint first"
    return "; running jobs take a last checkpoint first" if page.items else ""


def _runs_already(folder: DataFolder, as_json: bool) -> bool:
    """Say so, with a new link. False also for a platform that does not answer yet: starting a second one says what is wrong."""
    from gradstream.client import Client, Credentials
    from gradstream.errors import GradstreamError

    holder, account = folder.holder(), Credentials.load(folder.client_file)
    if holder is None or not holder.alive or account is None:
        return False
    try:
        with Client(Credentials(holder.url, account.token)) as client:
            link = client.create_sign_in_link()
    except GradstreamError:
        return False
    _say(f"The platform of {folder.path} runs already, as process {holder.pid} at {holder.url}. Nothing was started.")
    _say_entry(holder, link, as_json)
    return True


def _say_where(platform: LocalPlatform, options: Options, as_json: bool) -> None:
    from gradstream.hostnames import LOOPBACK

    holder = platform.folder.holder()
    assert holder, "it has started"
    assert platform.sign_in, "it has started"
    invitation = _invite(platform, options) if options.open_to_machines else None
    _say_entry(holder, platform.sign_in, as_json, invitation)
    _say_isolation(platform)
    if options.host not in LOOPBACK:
        _say(f"It listens on {options.host}, without TLS: put a proxy with TLS before it, or trust the whole network.", "yellow")
    _say("Ctrl-C stops the platform", "dim")


def _say_isolation(platform: LocalPlatform) -> None:
    from gradstream.client import Client, Credentials
    from gradstream.sandbox.sandbox import Isolation, Level

    account = Credentials.load(platform.folder.client_file)
    assert account, "it has started"
    with Client(account) as client:
        for node in client.nodes():
            if node.status == "ready" and node.isolation:
                isolation = Isolation.from_json(node.isolation.as_dict())
                _say(isolation.sentence, "yellow" if isolation.level is Level.NONE else "dim")


def _invite(platform: LocalPlatform, options: Options) -> dict[str, str]:
    """Say how other machines join, with a token made for them."""
    from gradstream.client import Client, Credentials
    from gradstream.errors import Unavailable
    from gradstream.local.addresses import url_for_others

    account = Credentials.load(platform.folder.client_file)
    if account is None:
        raise Unavailable(f"{platform.folder.client_file} has no token to make a join token with")
    with Client(account) as client:
        made = client.create_token("machines, by gradstream up", kind="join")
    assert made.expires_at, "a join token expires"
    where, (live, plane) = url_for_others(options.host, options.port), options.redis_ports
    until = f"for one machine, until {made.expires_at.astimezone():%d %b %H:%M}"
    _say(f"\nMore machines: gradstream join {where}    asks for the join token, {made.token}  ({until})")
    _say(f"     They need ports {options.port}, {live} and {plane}. `gradstream token create --join --uses N` makes others.", "dim")
    return {"url": where, "token": made.token, "expires_at": made.expires_at.isoformat()}


def _say_entry(holder: RunningPlatform, link: SignInLink, as_json: bool, invitation: dict[str, str] | None = None) -> None:
    from gradstream.cli.platform.browse import say_link
    from gradstream.cli.terminal.output import print_json
    from gradstream.hostnames import page_url

    if as_json:
        told = {
            "url": holder.url,
            "page_url": page_url(holder.url),
            "sign_in_url": link.url,
            "data_dir": holder.data_dir,
            "pid": holder.pid,
        }
        print_json({**told, "join": invitation} if invitation else told)
    _say("")
    say_link(link)
    _say("     `gradstream open` makes another link", "dim")
    _say(f"Data {holder.data_dir}")
    if variables := _needed_variables(holder):
        _say(f"In other terminals, first: export {variables}", "yellow")
    if example := _example():
        _say(f"Try  gradstream submit {example} --follow", "dim")


def _example() -> str | None:
    """Return a job file that is there, quoted for the shell: the user's own, else one that came with Gradstream."""
    from pathlib import Path

    from gradstream.local.examples import examples_folder

    here = Path("job.yaml")
    if here.is_file():
        return str(here)
    if (examples := examples_folder()) is None:
        return None
    ours = examples / "digits" / "job.yaml"
    return shlex.quote(str(ours.relative_to(Path.cwd()) if ours.is_relative_to(Path.cwd()) else ours))


def _needed_variables(holder: RunningPlatform) -> str:
    """Settings without which commands in another terminal would not find this platform."""
    from pathlib import Path

    from gradstream.client import Credentials
    from gradstream.client.credentials import DEFAULT_DATA_DIR, ClientSettings

    kept = Credentials.load(ClientSettings().login_file)
    folder = Path(holder.data_dir)
    found = [f"GRADSTREAM_URL={holder.url}"] if kept and kept.url != holder.url else []
    found += [f"GRADSTREAM_DATA_DIR={shlex.quote(str(folder))}"] if folder != DEFAULT_DATA_DIR.resolve() else []
    return " ".join(found)


def _say(words: str, style: str = "") -> None:
    from gradstream.cli.terminal.output import talk

    talk(words, style)
