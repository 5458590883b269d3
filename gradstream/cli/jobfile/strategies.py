"""`gradstream strategies`"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import AsJson

if TYPE_CHECKING:
    from gradstream.strategies.base import Strategy

COLUMNS = ("strategy", "description", "gates", "settings besides lr")


def command(
    as_json: AsJson = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as it stands in README.md")] = False,
) -> None:
    """List the strategies with their gates, the default first, and settings; needs no platform.

    Example: gradstream strategies --json
    """
    from gradstream.cli.terminal.output import Column, print_json, print_table
    from gradstream.strategies import STRATEGIES

    if as_json:
        print_json([strategy.about() for strategy in STRATEGIES.values()])
    elif as_markdown:
        print("\n".join(markdown()))
    else:
        columns = (Column(COLUMNS[0]), *(Column(name, wraps=True) for name in COLUMNS[1:]))
        print_table(columns, [(name, cls.summary(), _gates(cls), _settings(cls)) for name, cls in STRATEGIES.items()])


def markdown() -> list[str]:
    """The lines of the table in README.md."""
    from gradstream.strategies import STRATEGIES

    rows = [(f"`{name}`", cls.summary(), _gates(cls), _settings(cls)) for name, cls in STRATEGIES.items()]
    header, *lines = [f"| {' | '.join(row)} |" for row in (COLUMNS, *rows)]
    return [header, "|---" * len(COLUMNS) + "|", *lines]


def _gates(cls: type[Strategy]) -> str:
    """The default first."""
    others = sorted(cls.gates - {cls.gate.mode})
    return " ".join([cls.gate.mode, *others])


def _settings(cls: type[Strategy]) -> str:
    """List a strategy's own fields with their defaults, without those that only matter beside another (`adaptive: ...`)."""
    fields = {name: field for name, field in cls.model_fields.items() if name not in ("name", "lr")}
    told = {name: field.description or "" for name, field in fields.items()}
    return " ".join(
        f"{name}={_default(field.default, told[name])}"
        for name, field in fields.items()
        if told[name].partition(":")[0] not in fields
    )


def _default(value: object, told: str) -> str:
    """Return a field's default. The description says what None means: `... default: n`."""
    if value is not None:
        return str(value)
    meant = re.search(r"default:? (\S+)", told)
    return meant[1] if meant else "-"
