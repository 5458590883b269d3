"""`gradstream schema`"""

from __future__ import annotations

from gradstream.cli.common import AsJson


def command(as_json: AsJson = False) -> None:
    """Print the JSON Schema of the job file; needs no platform. With --json: on one line.

    Example: gradstream schema > job.schema.json
    """
    import json

    from gradstream.spec import JobSpec

    print(json.dumps(JobSpec.model_json_schema(), indent=None if as_json else 2, ensure_ascii=False))
