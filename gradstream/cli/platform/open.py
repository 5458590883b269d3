"""`gradstream open`: another sign-in link for a platform that runs."""

from __future__ import annotations

from typing import Annotated

import typer

from gradstream.cli.common import AsJson, TokenFile, Url
from gradstream.cli.platform.starting import DataDir


def command(
    data_dir: DataDir = None,
    only_print: Annotated[bool, typer.Option("--print", help="Only print the link, on stdout; open no browser")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Open the page in a browser, signed in. Without a display it shows the link, which works once, within ten minutes.

    Example: gradstream open
    """
    from gradstream.cli.common import connect
    from gradstream.cli.platform.browse import has_display, open_browser, say_link
    from gradstream.cli.terminal.output import print_json, talk
    from gradstream.client.credentials import ClientSettings

    with connect(url, token_file, data_dir=data_dir) as client:
        link = client.create_sign_in_link()
    if only_print and not as_json:
        print(link.url)
        return
    say_link(link)
    if as_json:
        print_json(link.as_dict())
        return
    if not has_display():
        talk("There is no display here: open the link in a browser that reaches this address.", "dim")
    elif not open_browser(link, ClientSettings().config_dir):
        talk("No browser could be started: open the link by hand.", "yellow")
