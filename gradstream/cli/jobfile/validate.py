"""`gradstream validate`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradstream.cli.common import AsJson, Code, JobFile, Overrides

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradstream.cli.jobfile.jobsource import GivenJob
    from gradstream.spec import JobSpec


def command(job_file: JobFile, overrides: Overrides = None, code: Code = None, as_json: AsJson = False) -> None:
    """Check a job file and the code beside it, without a platform: what `gradstream submit` would refuse, and what looks wrong.
    Nothing of the code is run. Exits with 2 where something is wrong.

    Example: gradstream validate job.yaml --set strategy.name=easgd
    """
    from gradstream.advise.warnings import notes, warnings
    from gradstream.cli.jobfile.jobsource import find_job
    from gradstream.cli.terminal.output import print_json, talk

    given = find_job(job_file, code)
    spec = given.spec(overrides)
    found = [(each.pointer, each.text) for each in warnings(spec)] + _check_code(given, spec, overrides)
    noted = [(each.pointer, each.text) for each in notes(spec)]
    if as_json:
        print_json({"valid": True, "warnings": _as_dicts(found), "notes": _as_dicts(noted)})
        return
    for pointer, text in found:
        talk(f"warning: {pointer}: {text}", "yellow")
    for pointer, text in noted:
        talk(f"note: {pointer}: {text}")
    print(f"{spec.name} is valid" + (f", with {len(found)} warning{'s' * (len(found) != 1)}" if found else ""))


def _check_code(given: GivenJob, spec: JobSpec, overrides: list[str] | None) -> list[tuple[str, str]]:
    """Warnings about the code. Raises: InvalidJob, InvalidBundle: `submit` would refuse it."""
    from gradstream.jobfile.source import ResolvedJob

    packed = ResolvedJob(spec, given.code, given.text, overrides or [], None).pack_code()
    return [(each.pointer, each.message) for each in packed.warnings]


def _as_dicts(found: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"pointer": pointer, "message": text} for pointer, text in found]
