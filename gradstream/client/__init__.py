"""The Python SDK: what REST offers, as typed methods that raise `gradstream.errors`.

    with Client.from_environment() as client:
        job = client.submit(jobfile.load(Path("job.yaml")), code=Path("."))
        job = client.wait(job.id)
        client.download(job.id, "model.safetensors", into=Path("."))

The command line is written on top of it, so whatever a command does, a program can do.
"""

from gradstream.client.client import Client
from gradstream.client.credentials import Credentials
from gradstream.client.models import Artifact, Event, Job, JobSummary, LogChunk, Node, Plan, Process, Progress, SignInLink

__all__ = [
    "Artifact",
    "Client",
    "Credentials",
    "Event",
    "Job",
    "JobSummary",
    "LogChunk",
    "Node",
    "Plan",
    "Process",
    "Progress",
    "SignInLink",
]
