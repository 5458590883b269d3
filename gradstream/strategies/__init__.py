"""Every algorithm, one file each. To add one: write its file, add its name to `AnyStrategy`. Everything else (job file,
REST schema, web form, CLI, docs table, contract tests) is derived from this union."""

from typing import Annotated, get_args

from pydantic import Field

from gradstream.strategies.adag import Adag
from gradstream.strategies.async_ import Async
from gradstream.strategies.base import Strategy
from gradstream.strategies.downpour import Downpour
from gradstream.strategies.sync import Sync

AnyStrategy = Annotated[Sync | Async | Downpour | Adag, Field(discriminator="name")]

STRATEGIES: dict[str, type[Strategy]] = {
    cls.model_fields["name"].default: cls for cls in get_args(get_args(AnyStrategy)[0])
}
