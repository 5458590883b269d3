"""`gradstream session list`, `gradstream session end`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import AsJson, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.client import BrowserSession, Client

command = typer.Typer(no_args_is_help=True, help="The browsers in which you are signed in.")


@command.command("list")
def show_all(as_json: AsJson = False, url: Url = None, token_file: TokenFile = None) -> None:
    """List the browsers in which you are signed in, the last used first.

    Example: gradstream session list
    """
    from gradstream.cli.terminal.output import ago, print_json, print_table

    with connect(url, token_file) as client:
        sessions = client.sessions()
    if as_json:
        print_json({"items": [one.as_dict() for one in sessions]})
        return
    print_table(
        ("id", "browser", "token", "began", "last used", "expires"),
        [
            (
                str(one.id)[:8],
                one.browser,
                one.token_name,
                ago(one.created_at),
                ago(one.last_used_at),
                f"{one.expires_at.astimezone():%Y-%m-%d %H:%M}",
            )
            for one in sessions
        ],
    )


@command.command()
def end(
    session: Annotated[str, typer.Argument(metavar="ID", help="As `gradstream session list` shows it, or its beginning")],
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Sign a browser out at once. The token that it came from stays: `gradstream token revoke` ends both.

    Example: gradstream session end 3f2a91c0
    """
    from gradstream.cli.terminal.output import print_json, talk

    with connect(url, token_file) as client:
        found = _find(client, session)
        client.end_session(found.id)
    talk(f"signed out {found.browser} ({str(found.id)[:8]})")
    if as_json:
        print_json(found.as_dict())


def _find(client: Client, reference: str) -> BrowserSession:
    """Raises: NotFound. Invalid: several fit."""
    from gradstream.client.references import begins_id
    from gradstream.errors import Invalid, NotFound

    fitting = [one for one in client.sessions() if begins_id(reference, one.id)]
    if len(fitting) > 1:
        raise Invalid(f"'{reference}' is the beginning of {len(fitting)} ids; write more of it")
    if not fitting:
        raise NotFound(f"you have no session '{reference}'; `gradstream session list` lists them")
    return fitting[0]
