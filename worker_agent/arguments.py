"""The agent's command line: no arguments but `--help`, and mistakes in its settings as sentences."""

from __future__ import annotations

import argparse
import textwrap

from pydantic import ValidationError

from worker_agent.settings import AgentSettings

_ABOUT = """The agent of one machine: it registers at a control plane and runs the processes that belong here.

`gradstream join URL` starts one with all settings filled in. Where the agent is started by itself, as in a container, it takes no
arguments; its settings are environment variables:"""


def read_settings(arguments: list[str]) -> AgentSettings:
    """Ends the program with a help or with exit code 2, naming each mistake."""
    parser = argparse.ArgumentParser(
        prog="python -m worker_agent",
        description=f"{_ABOUT}\n\n{_variables()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(arguments)
    try:
        return AgentSettings()
    except ValidationError as error:
        said = [f"  {_variable(str(one['loc'][0]))}: {one['msg']}" for one in error.errors(include_input=False)]
        parser.exit(2, "\n".join(["these settings are missing or wrong; --help explains each:", *said, ""]))


def _variables() -> str:
    lines = []
    for name, field in AgentSettings.model_fields.items():
        lines += [_variable(name) + ("  (required)" if field.is_required() else "")]
        lines += textwrap.wrap(field.description or "", 100, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def _variable(setting: str) -> str:
    return f"GRADSTREAM_{setting.upper()}"
