"""`gradstream tables`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.client import JobTables, TableKey

_SHOWN = 8
"""Weights of a row that are printed; `--json` has all."""


def command(
    job: JobReference,
    key: Annotated[int | None, typer.Option("--key", "-k", help="Look this key up in the newest export and checkpoint")] = None,
    text: Annotated[str | None, typer.Option("--text", help="The same for a string, as gradstream.nn.hashed takes it")] = None,
    field: Annotated[str | None, typer.Option("--field", help="With --text: the field of the hash; default: the table")] = None,
    table: Annotated[str | None, typer.Option("--table", "-t", help="One table; default: all")] = None,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """List a job's embedding tables with their hottest keys, or look one key up: its row, or why it is not there.

    Example: gradstream tables clicks --key 42 --table user
    """
    from gradstream.cli.terminal.output import print_json
    from gradstream.errors import Invalid

    if field is not None and text is None:
        raise Invalid("--field belongs to --text: a key stands for itself")
    with connect(url, token_file) as client:
        if key is None and text is None:
            found = _only(client.tables(job), table)
            print_json(found.as_dict()) if as_json else _print_tables(found)
            return
        keys = client.look_up_key(job, key, text=text, field=field, table=table)
    if as_json:
        print_json({"items": [each.as_dict() for each in keys]})
    else:
        for each in keys:
            _print_key(each)


def _only(found: JobTables, table: str | None) -> JobTables:
    """Leave the other tables out. Raises: NotFound: all tables are known, and this is none of them."""
    from gradstream.errors import NotFound

    shown = [each for each in found.items if table in (None, each.name)]
    if found.items and not shown and not found.left_out:
        raise NotFound(f"the job has no table '{table}'; it has {', '.join(each.name for each in found.items)}")
    return found.model_copy(update={"items": shown})


def _print_tables(found: JobTables) -> None:
    from gradstream.cli.terminal.output import number, print_table, size, talk

    if not found.items:
        talk("no server has told of such a table yet: the first summary comes after some seconds of training")
        return
    heads = ("table", ">rows", ">candidates", ">made", ">evicted", ">memory")
    print_table(
        heads,
        [
            (each.name, number(each.rows), number(each.candidates), number(each.made), number(each.evicted), size(each.bytes))
            for each in found.items
        ],
    )
    talk(f"as of {number(found.samples)} samples, version {number(found.version)}; {found.servers} of {found.of_servers} servers")
    rows = [
        (each.name, hot.key, str(hot.server), number(hot.updates), number(hot.shows), number(hot.clicks), number(hot.score))
        for each in found.items
        for hot in each.hottest
    ]
    print()
    print_table(("table", ">hottest key", ">server", ">updates", ">shows", ">clicks", ">score"), rows)


def _print_key(found: TableKey) -> None:
    from gradstream.cli.terminal.output import ago, number, print_text

    print_text(f"table {found.table}, key {found.key}")
    print_text(f"  {found.message}")
    if found.export:
        after = "" if found.export.passes is None else f", after pass {number(found.export.passes)}"
        print_text(
            f"  export {found.export.number}: version {number(found.export.version)}{after}, {ago(found.export.committed_at)}"
        )
    if found.values is not None:
        more = f" ... ({len(found.values)} weights)" if len(found.values) > _SHOWN else ""
        print_text(f"  {' '.join('not finite' if w is None else f'{w:.6g}' for w in found.values[:_SHOWN])}{more}")
    elif found.reads:
        print_text(f"  the model reads {'zeros' if found.reads == 'zeros' else 'first values, drawn from the key,'} for it")
    there = found.checkpoint
    print_text(f"  {there.message}")
    if there.score is not None:
        print_text(f"  shows {there.shows:.4g}, clicks {there.clicks:.4g}, score {there.score:.4g}")
