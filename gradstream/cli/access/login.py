"""`gradstream login`"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gradstream.cli.common import AsJson, TokenFile


def command(
    url: Annotated[str, typer.Argument(help="Address of the platform, e.g. https://gradstream.example.org")],
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """Keep the address and an API token of a platform, for all later commands.

    The token is asked for, or read from --token-file or standard input; make one on the page, under Settings.

    Example: gradstream login https://gradstream.example.org
    """
    from gradstream.cli.terminal.output import print_json, talk
    from gradstream.client import Client, Credentials
    from gradstream.client.credentials import ClientSettings, read_token
    from gradstream.errors import Invalid

    token = read_token(token_file) if token_file else _typed()
    if not token:
        raise Invalid("no token was given")
    credentials = Credentials.at(url, token)
    with Client(credentials) as client:
        name = client.user()
    kept_in = ClientSettings().login_file
    credentials.save(kept_in)
    talk(f"signed in to {credentials.url} as {name}; kept in {kept_in}")
    if as_json:
        print_json({"url": credentials.url, "user": name, "kept_in": str(kept_in)})


def _typed() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("API token", hide_input=True, err=True)).strip()
    return sys.stdin.readline().strip()
