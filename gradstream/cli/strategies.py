"""`gradstream strategies`"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradstream.cli.common import AsJson

if TYPE_CHECKING:
    from gradstream.strategies.base import Strategy


def command(as_json: AsJson = False) -> None:
    """List the strategies with their gates and settings; needs no platform.

    Example: gradstream strategies --json
    """
    from gradstream.cli.output import print_json, print_table
    from gradstream.strategies import STRATEGIES

    if as_json:
        print_json([strategy.about() for strategy in STRATEGIES.values()])
        return
    print_table(
        ("strategy", "what it is", "gates", "settings"),
        [(name, cls.summary(), _gates(cls), _settings(cls)) for name, cls in STRATEGIES.items()],
    )


def _gates(cls: type[Strategy]) -> str:
    """The default first."""
    others = sorted(cls.gates - {cls.gate.mode})
    return " ".join([cls.gate.mode, *others])


def _settings(cls: type[Strategy]) -> str:
    return " ".join(f"{name}={field.default}" for name, field in cls.model_fields.items() if name != "name")
