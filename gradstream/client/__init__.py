"""The Python SDK: what REST offers, as typed methods that raise `gradstream.errors`.

    with Client() as client:
        job = client.submit("circle/job.yaml")
        job = client.wait(job)
        client.download(job, "model.safetensors", into="models")

The command line is written on top of it, so whatever a command does, a program can do.
"""

from gradstream.client.client import Client
from gradstream.client.credentials import Credentials
from gradstream.client.models import (
    Artifact,
    BrowserSession,
    CreatedToken,
    Event,
    Job,
    JobSummary,
    LogChunk,
    Node,
    Plan,
    Process,
    Progress,
    SignInLink,
    Token,
)

__all__ = [
    "Artifact",
    "BrowserSession",
    "Client",
    "CreatedToken",
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
    "Token",
]
