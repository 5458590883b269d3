"""`gradstream token list`, `create`, `revoke`, `rotate`"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from gradstream.cli.common import AsJson, TokenFile, Url, connect, seconds

if TYPE_CHECKING:
    from gradstream.client import Client, CreatedToken, Token

command = typer.Typer(no_args_is_help=True, help="Tokens of programs (API) and of machines (join).")
Scope = Literal["read", "full"]
Reference = Annotated[str, typer.Argument(metavar="TOKEN", help="Its name, its id, or the beginning of its id")]
Expires = Annotated[
    str | None, typer.Option("--expires", metavar="DURATION", help="E.g. 12h, 30d; default: an API token never, a join token 1h")
]
Uses = Annotated[int | None, typer.Option("--uses", min=1, max=1000, help="Machines that may join with a join token; default: 1")]


@command.command("list")
def show_all(as_json: AsJson = False, url: Url = None, token_file: TokenFile = None) -> None:
    """List your tokens. The secrets themselves are kept nowhere.

    Example: gradstream token list
    """
    from gradstream.cli.terminal.output import ago, print_json, print_table

    with connect(url, token_file) as client:
        tokens = client.tokens()
    if as_json:
        print_json({"items": [token.as_dict() for token in tokens]})
        return
    print_table(
        ("id", "name", "kind", "scope", "created", "expires", "last used", "machines"),
        [
            (
                str(one.id)[:8],
                one.name,
                one.kind,
                one.scope or "",
                ago(one.created_at),
                _expiry(one.expires_at),
                ago(one.last_used_at) if one.last_used_at else "never",
                f"{one.used} of {one.uses}" if one.uses else "",
            )
            for one in tokens
        ],
    )


@command.command()
def create(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Purpose of the token, e.g. ci")] = None,
    join: Annotated[
        bool, typer.Option("--join", help="A token for machines (`gradstream join`), which allows nothing else")
    ] = False,
    scope: Annotated[
        Scope | None, typer.Option("--scope", help="Scope of an API token. read: sees everything, changes nothing. Default: full")
    ] = None,
    uses: Uses = None,
    expires: Expires = None,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Make a token, and print its secret, once. A join token lets one machine join, or --uses of them.

    Example: gradstream token create ci --scope read --expires 90d > token
    """
    if join and scope:
        raise typer.BadParameter("a join token has no scope; leave out --scope or --join", param_hint="--scope")
    if uses and not join:
        raise typer.BadParameter("only a join token is used up; add --join or leave out --uses", param_hint="--uses")
    with connect(url, token_file) as client:
        kind: Literal["api", "join"] = "join" if join else "api"
        made = client.create_token(name or _default(join), kind=kind, scope=scope, expires_in=seconds(expires), uses=uses)
        _tell(client, made, as_json)


@command.command()
def revoke(token: Reference, as_json: AsJson = False, url: Url = None, token_file: TokenFile = None) -> None:
    """End a token at once, with the browser sessions that came from it. Machines that have joined with it stay.

    Example: gradstream token revoke ci
    """
    from gradstream.cli.terminal.output import print_json, talk

    with connect(url, token_file) as client:
        found = _find(client, token)
        client.revoke_token(found.id)
    talk(f"revoked the {found.kind} token {found.name} ({str(found.id)[:8]})")
    if as_json:
        print_json(found.as_dict())


@command.command()
def rotate(
    token: Reference,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="DURATION", help="E.g. 12h, 30d; default: the lifetime of the other one")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Make a token with another one's name, kind, scope, uses and lifetime, print its secret, once, and revoke the other one.

    Browsers that signed in with the other one have to sign in again.

    Example: gradstream token rotate ci > token
    """
    with connect(url, token_file) as client:
        old = _find(client, token)
        kind: Literal["api", "join"] = "join" if old.kind == "join" else "api"
        scope = cast("Scope | None", old.scope)
        lifetime = seconds(expires) or _lifetime(old)
        fresh = client.create_token(old.name, kind=kind, scope=scope, expires_in=lifetime, uses=old.uses)
        _tell(client, fresh, as_json)
        client.revoke_token(old.id)


def _tell(client: Client, made: CreatedToken, as_json: bool) -> None:
    from gradstream.cli.terminal.output import print_json, talk

    until = f"It expires {made.expires_at.astimezone():%d %b %Y %H:%M}." if made.expires_at else "It does not expire."
    scope = f", scope {made.scope}" if made.scope else ""
    machines = f", for {made.uses} machine{'s' * (made.uses > 1)}" if made.uses else ""
    talk(f"the {made.kind} token {made.name} ({str(made.id)[:8]}){scope}{machines}. {until} Its secret is shown this once:", "dim")
    if as_json:
        print_json(made.as_dict())
    else:
        print(made.token, flush=True)
    if made.kind == "join":
        talk(f"on the other machine: gradstream join {client.url}", "dim")


def _find(client: Client, reference: str) -> Token:
    """Raises: NotFound. Invalid: several fit."""
    from gradstream.client.references import begins_id
    from gradstream.errors import Invalid, NotFound

    tokens = client.tokens()
    fitting = [one for one in tokens if one.name == reference]
    fitting = fitting or [one for one in tokens if begins_id(reference, one.id)]
    if len(fitting) > 1:
        raise Invalid(f"'{reference}' fits {len(fitting)} tokens; write the id: {', '.join(str(one.id)[:8] for one in fitting)}")
    if not fitting:
        raise NotFound(f"you have no token '{reference}'; `gradstream token list` lists them")
    return fitting[0]


def _lifetime(token: Token) -> float | None:
    """Whole seconds from its making to its end; None: it does not expire."""
    return max(1, round((token.expires_at - token.created_at).total_seconds())) if token.expires_at else None


def _default(join: bool) -> str:
    return f"{'machines' if join else 'token'} {datetime.now(UTC):%Y-%m-%d %H:%M}"


def _expiry(at: datetime | None) -> str:
    if at is None:
        return "never"
    return "expired" if at < datetime.now(UTC) else f"{at.astimezone():%Y-%m-%d %H:%M}"
