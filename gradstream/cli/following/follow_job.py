"""`gradstream follow`"""

from __future__ import annotations

from gradstream.cli.common import LONG, AsJson, JobReference, TokenFile, Url, connect, exit_with


def command(job: JobReference, as_json: AsJson = False, url: Url = None, token_file: TokenFile = None) -> None:
    """Show a job's events so far and its progress until it ends. Ctrl-C detaches, as SIGTERM does; the exit code is that of
    `gradstream wait`.

    Example: gradstream follow digits
    """
    from gradstream.cli.following.detaching import detaching

    with detaching(f"Detached before the platform answered; {job} is not changed.", "follow", "stop") as know:
        from gradstream.cli.following.follow import conclude, follow
        from gradstream.cli.terminal.output import print_json

        with connect(url, token_file, timeout=LONG) as client:
            found = client.find(job)
            know(found)
            ended = follow(client, found, seen=know)
            conclude(client, ended)
    if as_json:
        print_json(ended.as_dict())
    exit_with(ended)
