"""`gradstream stop`"""

from __future__ import annotations

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect


def command(job: JobReference, as_json: AsJson = False, url: Url = None, token_file: TokenFile = None) -> None:
    """Stop a job: it writes a last cut and ends as cancelled within about half a minute. `gradstream wait` waits for that.

    Example: gradstream stop digits && gradstream wait digits
    """
    from gradstream.cli.output import print_json, talk

    with connect(url, token_file) as client:
        stopped = client.stop(client.find(job).id)
    talk(f"{stopped.name} ({stopped.id}) is {stopped.status}")
    if as_json:
        print_json(stopped.as_dict())
