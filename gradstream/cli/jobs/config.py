"""`gradstream config`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.api.jobs import Config


def command(
    job: JobReference,
    as_sent: Annotated[bool, typer.Option("--as-sent", help="The text that was submitted, with its comments")] = False,
    full: Annotated[bool, typer.Option("--full", help="All values, with defaults filled in, as the processes receive it")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Print a job's file, by default only what differs from the defaults. It can be submitted again.

    Example: gradstream config digits --as-sent > job.yaml
    """
    from gradstream.cli.terminal.output import print_json

    if as_sent and full:
        raise typer.BadParameter("give one of --as-sent and --full")
    with connect(url, token_file) as client:
        config = client.config(client.find(job).id)
    if as_json:
        print_json(config.as_dict())
    elif as_sent:
        _print_source(config)
    else:
        _print_yaml(config.full if full else config.short)


def _print_source(config: Config) -> None:
    """Raises: NotFound: no text was sent."""
    from gradstream.cli.terminal.output import print_text, talk
    from gradstream.errors import NotFound

    if config.source is None:
        raise NotFound("the job was submitted without a text; leave out --as-sent to see what it says")
    print_text(config.source)
    for words in config.overrides:
        talk(f"set over it: --set {words}")


def _print_yaml(spec: object) -> None:
    import yaml

    from gradstream.cli.terminal.output import print_text

    print_text(yaml.safe_dump(spec, sort_keys=False, allow_unicode=True))
